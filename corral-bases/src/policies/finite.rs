//! Finitely many policies, enumerated. The oracle looks at all of them.

use std::collections::HashSet;
use std::sync::Arc;

use corral_core::policy::Policy;
use corral_core::{BaseError, Setup, require};

use super::class::{Erm, ErmOracle};
use super::data::{Costs, Reads, Sites};
use super::workspace::Workspace;
use crate::common::lowest;

/// Finitely many policies, in the order in which they were given; ties go to the first.
#[derive(Debug, Clone)]
pub struct FiniteClass {
    reads: Reads,
    policies: Vec<Arc<Policy>>,
    known: HashSet<Arc<Policy>>,
}

impl FiniteClass {
    /// These policies in the world of `setup`.
    ///
    /// # Errors
    /// There is none, or one does not fit the world.
    pub fn new(policies: impl IntoIterator<Item = Policy>, setup: &Setup) -> Result<Self, BaseError> {
        let policies: Vec<Arc<Policy>> = policies.into_iter().map(Arc::new).collect();
        require(!policies.is_empty(), "policies", "empty", "at least one policy")?;
        for policy in &policies {
            policy.check(&setup.context, setup.actions())?;
        }
        let tables = policies.iter().any(|p| matches!(**p, Policy::Table(_)));
        let features = policies.iter().any(|p| match &**p {
            Policy::Tree(tree) => tree.features() > 0,
            Policy::Linear(_) => true,
            _ => false,
        });
        let reads = Reads {
            actions: setup.actions(),
            cells: if tables { setup.context.cells } else { None },
            features: features.then_some(setup.context.features),
        };
        Ok(Self { reads, known: policies.iter().cloned().collect(), policies })
    }

    /// How many policies there are.
    pub fn len(&self) -> usize {
        self.policies.len()
    }

    /// Never: a class has a policy.
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// Whether `policy` is one of them.
    pub fn contains(&self, policy: &Policy) -> bool {
        self.known.contains(policy)
    }

    /// The actions of all policies at the sites that the workspace does not know yet.
    fn extend_profile(&self, sites: &Sites, work: &mut Workspace) -> Result<(), BaseError> {
        for site in work.profile.len() / self.len()..sites.len() {
            for policy in &self.policies {
                match sites.act(policy, site) {
                    Some(a) if a < self.reads.actions => work.profile.push(a as u16),
                    _ => {
                        work.profile.truncate(site * self.len());
                        return Err(BaseError::Failed(format!("a policy is not defined at site {site}")));
                    }
                }
            }
        }
        Ok(())
    }
}

impl ErmOracle for FiniteClass {
    fn reads(&self) -> Reads {
        self.reads
    }

    /// O(N) per site of the dense block, and O(N) once per single entry: with finite contexts independent of the
    /// number of rounds (docs/bases.md#policy-classes-and-oracles).
    fn minimise(&self, sites: &Sites, costs: &Costs, work: &mut Workspace) -> Result<Erm, BaseError> {
        let (n, k) = (self.len(), self.reads.actions);
        work.policies = n;
        self.extend_profile(sites, work)?;
        work.sums.resize(n, 0.0);
        for e in &costs.sparse()[work.counted.min(costs.sparse().len())..] {
            let at = e.site as usize * n;
            for (sum, action) in work.sums.iter_mut().zip(&work.profile[at..at + n]) {
                *sum += if u32::from(*action) == e.action { e.weight * e.loss } else { 0.0 };
            }
        }
        work.counted = costs.sparse().len();
        work.totals.clone_from(&work.sums);
        for (row, actions) in costs.dense().chunks_exact(k).zip(work.profile.chunks_exact(n)) {
            for (total, action) in work.totals.iter_mut().zip(actions) {
                *total += row[usize::from(*action)];
            }
        }
        let (best, _) = lowest(work.totals.iter().copied());
        Ok(Erm { policy: Arc::clone(&self.policies[best]), value: work.totals[best], exact: true })
    }

    fn ln_size(&self, _horizon: f64) -> f64 {
        (self.len().max(2) as f64).ln()
    }

    fn is_incremental(&self) -> bool {
        true
    }

    fn enumerate(&self) -> Result<Vec<Arc<Policy>>, BaseError> {
        Ok(self.policies.clone())
    }
}
