//! Linear argmax policies, by ridge regression of the costs: cost-sensitive one against all.
//!
//! Exact cost-sensitive minimisation over linear policies is hard; the policy takes the action whose predicted cost
//! is least. Single entries are regressed with their importance weight on their loss (far less variance than the
//! weighted estimate as a target), a dense block with all its costs.

use std::collections::HashSet;
use std::sync::Arc;

use corral_core::memory::Budget;
use corral_core::policy::{Linear, Policy};

use super::class::{Erm, ErmOracle};
use super::data::{Costs, Reads, Sites};
use super::workspace::Workspace;
use crate::prelude::*;
use crate::regression::{Factored, packed};
use crate::seeded::Seeded;

corral_core::params! {
    /// Parameters of [`LinearClass`].
    pub struct LinearParams {
        /// The ridge: how strongly weights are pulled to 0.
        ridge: f64 = 1.0, SIZE;
        /// What tuning formulas take for ln N; auto: K (d + 1) ln T, a covering number.
        ln_size: Setting = Setting::Auto, Bounds::POSITIVE;
        /// How many policies the sub-class for EXP4 has, the constant ones among them.
        sample: usize = 1000, Bounds::between(1.0, 16_777_216.0);
        /// The seed that states the sub-class for EXP4.
        seed: u64 = 0;
    }
}

/// theta(x) = argmin_a of the predicted costs <w_a, (x, 1)>.
#[derive(Debug, Clone)]
pub struct LinearClass {
    params: LinearParams,
    reads: Reads,
    budget: Budget,
}

impl LinearClass {
    /// The class in the world of `setup`.
    ///
    /// # Errors
    /// A parameter is out of bounds, or there are no features.
    pub fn new(params: &LinearParams, setup: &Setup) -> Result<Self> {
        params.check()?;
        let features = setup.context.features;
        let must = "1 to 4096 for linear policies";
        require((1..=1 << 12).contains(&features), "features", features, must)?;
        let reads = Reads { actions: setup.actions(), cells: None, features: Some(features) };
        Ok(Self { params: params.clone(), reads, budget: setup.budget.clone() })
    }

    fn dim(&self) -> usize {
        self.reads.features.unwrap_or(0)
    }

    /// The policy that takes the action of least predicted cost, given one row (weights, intercept) per action.
    fn policy(&self, rows: &[f64]) -> Result<Policy> {
        let d = self.dim();
        let mut weights = Vec::with_capacity(self.reads.actions * d);
        let mut intercepts = Vec::with_capacity(self.reads.actions);
        for row in rows.chunks_exact(d + 1) {
            weights.extend(row[..d].iter().map(|w| -w));
            intercepts.push(-row[d]);
        }
        Ok(Linear::new(d, intercepts, weights)?.into())
    }
}

/// The regressions of each action.
#[derive(Debug, Clone, Default)]
pub(crate) struct Regressions {
    /// Entries (or, with a dense block, sites) that are in.
    counted: usize,
    /// One per action over its single entries; with a dense block one in all, for the sites.
    each: Vec<Factored>,
    dense: bool,
    /// (row, 1)
    row: Vec<f64>,
}

impl Regressions {
    fn learn(&mut self, at: usize, row: &[f64], y: f64, weight: f64) {
        self.row.clear();
        self.row.extend(row.iter().chain(&[1.0]));
        self.each[at].learn(&mut self.row, y, weight);
    }
}

impl ErmOracle for LinearClass {
    fn reads(&self) -> Reads {
        self.reads
    }

    /// Single entries: O(d^2) per new entry, then O(K d^2). A dense block: O(d^2) per new site, then O(n d K).
    fn minimise(&self, sites: &Sites, costs: &Costs, work: &mut Workspace) -> Result<Erm> {
        let (n, k) = (self.dim() + 1, self.reads.actions);
        let regressions = &mut work.regressions;
        let dense = !costs.dense().is_empty();
        if regressions.each.is_empty() || regressions.dense != dense {
            let each = vec![Factored::new(n, self.params.ridge); if dense { 1 } else { k }];
            *regressions = Regressions { each, dense, ..Regressions::default() };
        }
        let mut rows = vec![0.0; k * n];
        if dense {
            for site in regressions.counted..sites.len() {
                regressions.learn(0, sites.row(site), 0.0, 1.0);
            }
            regressions.counted = sites.len();
            let all = costs.combined(sites);
            for (site, row) in all.chunks_exact(k).enumerate() {
                for (a, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                    packed::axpy(&mut rows[a * n..(a + 1) * n - 1], *v, sites.row(site));
                    rows[(a + 1) * n - 1] += v;
                }
            }
        } else {
            for e in &costs.sparse()[regressions.counted.min(costs.sparse().len())..] {
                regressions.learn(e.action as usize, sites.row(e.site as usize), e.loss, e.weight);
            }
            regressions.counted = costs.sparse().len();
            rows.chunks_exact_mut(n)
                .zip(&regressions.each)
                .for_each(|(row, r)| row.copy_from_slice(r.moment()));
        }
        for (a, row) in rows.chunks_exact_mut(n).enumerate() {
            packed::solve(regressions.each[if dense { 0 } else { a }].lower(), row);
        }
        if rows.iter().any(|w| !w.is_finite()) {
            return Err(BaseError::Failed(String::from(
                "the ridge regression of linear policies overflowed",
            )));
        }
        let policy = self.policy(&rows)?;
        let value = costs.of(sites, &policy);
        Ok(Erm { policy: Arc::new(policy), value, exact: false })
    }

    fn ln_size(&self, horizon: f64) -> f64 {
        let numbers = (self.reads.actions * (self.dim() + 1)) as f64;
        self.params.ln_size.or(|| (numbers * horizon.max(2.0).ln()).max(2f64.ln()))
    }

    fn is_incremental(&self) -> bool {
        true
    }

    /// A stated sub-class: the constant policies, and random ones with weights uniform in [-1, 1].
    fn enumerate(&self) -> Result<Vec<Arc<Policy>>> {
        let (d, k) = (self.dim(), self.reads.actions);
        let numbers = self.params.sample as u128 * (d as u128 + 1) * k as u128;
        self.budget.claim("sample", self.params.sample, numbers)?;
        let mut rng = Seeded(self.params.seed ^ 0x11ea);
        let mut all = Vec::with_capacity(self.params.sample);
        let mut known = HashSet::new();
        for i in 0..self.params.sample {
            let policy = if i < k {
                let intercepts = (0..k).map(|a| f64::from(u8::from(a == i))).collect();
                Linear::new(d, intercepts, vec![0.0; k * d])?
            } else {
                let mut draw = || 2.0 * uniform(&mut rng) - 1.0;
                let intercepts = (0..k).map(|_| draw()).collect();
                Linear::new(d, intercepts, (0..k * d).map(|_| draw()).collect())?
            };
            let policy = Arc::new(Policy::from(policy));
            if known.insert(Arc::clone(&policy)) {
                all.push(policy);
            }
        }
        Ok(all)
    }
}
