//! Classes of policies, and the oracle that finds the cheapest policy of a class on a data set.

use std::ops::Deref;
use std::sync::Arc;

use corral_core::policy::{Policy, Tree};

use super::data::{Costs, Reads, Sites};
use super::finite::FiniteClass;
use super::linear::{LinearClass, LinearParams};
use super::trees::{TreeClass, TreeParams};
use super::workspace::Workspace;
use crate::prelude::*;

/// Empirical risk minimisation: the policy of a class that costs least on a data set.
///
/// # What an implementation owes
/// - Costs may have either sign. Ties go to the same policy every time.
/// - The answer depends on the data and the class alone: the workspace only saves work.
/// - `value` is the cost of the policy that is returned, also where it is not the least.
pub trait ErmOracle {
    /// What its policies read of a context.
    fn reads(&self) -> Reads;

    /// The cheapest policy on the data. `work` belongs to this data set, see [`Workspace`].
    ///
    /// # Errors
    /// A policy of the class is not defined at a site.
    fn minimise(&self, sites: &Sites, costs: &Costs, work: &mut Workspace) -> Result<Erm>;

    /// ln N, at least ln 2, or what stands in for it where the class is not finite; tuning formulas use this.
    fn ln_size(&self, horizon: f64) -> f64;

    /// Whether one more observation costs little: then there is no reason to save calls.
    fn is_incremental(&self) -> bool;

    /// The policies, or a stated sub-class of them: what EXP4 needs.
    ///
    /// # Errors
    /// The parameters of the sub-class cannot be used.
    fn enumerate(&self) -> Result<Vec<Arc<Policy>>>;
}

/// What an oracle found.
#[derive(Debug, Clone, PartialEq)]
pub struct Erm {
    /// The policy.
    pub policy: Arc<Policy>,
    /// What it costs on the data.
    pub value: f64,
    /// Whether no policy of the class costs less.
    pub exact: bool,
}

/// Which policies, as a spec file says it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Policies {
    /// The class that comes with the environment where there is one; without side information the constant policies;
    /// else trees with their defaults.
    #[default]
    Auto,
    /// The class that comes with the environment.
    Environment,
    /// Depth-limited decision trees over the shared features.
    Trees(TreeParams),
    /// Linear argmax policies over the shared features.
    Linear(LinearParams),
}

/// What trees and linear policies need: they would pass over rows without a word, and play at random where rows tell.
const WITHOUT_ROWS: &str = "an environment whose actions have no features of their own (row_features = 0): its policies see shared \
     features alone; bases by regression (linucb, lints, squarecb, ..) see both";

impl Policies {
    /// What the world of `setup` would have to have for this class, and does not.
    pub fn needs(&self, setup: &Setup) -> Option<&'static str> {
        // A class that comes with the environment is given knowing what there is to see.
        let rows = setup.context.row_features > 0;
        match self {
            Self::Trees(_) | Self::Linear(_) if rows => Some(WITHOUT_ROWS),
            Self::Auto if rows && setup.policies.is_none() => Some(WITHOUT_ROWS),
            Self::Environment if setup.policies.is_none() => {
                Some("an environment with a policy class, or policies = { trees = {} } or { linear = {} }")
            }
            Self::Trees(_) | Self::Linear(_) if setup.context.features == 0 => {
                Some("an environment with shared features for its policies")
            }
            Self::Auto if setup.policies.is_none() && setup.context.features == 0 => {
                setup.context.cells.and(Some("an environment with a policy class or shared features"))
            }
            _ => None,
        }
    }

    /// ln N of the class in the world of `setup`, for regret bounds.
    pub(crate) fn ln_size(&self, setup: &Setup) -> Option<f64> {
        Some(self.class(setup).ok()?.ln_size(bound_horizon(setup)))
    }

    /// The class in the world of `setup`.
    ///
    /// # Errors
    /// The world has not what the class needs, or a parameter cannot be used.
    pub fn class(&self, setup: &Setup) -> Result<PolicyClass> {
        let actions = setup.actions();
        let must = "between 1 and 65536 for policies";
        require((1..=1 << 16).contains(&actions), "the number of actions", actions, must)?;
        if let Some(needs) = self.needs(setup) {
            return Err(BaseError::Failed(format!("policies need {needs}")));
        }
        match (self, &setup.policies) {
            (Self::Auto | Self::Environment, Some(policies)) => {
                FiniteClass::new(policies.iter().cloned(), setup).map(PolicyClass::Finite)
            }
            (Self::Auto | Self::Environment, None) if setup.context.features == 0 => {
                let constant = (0..actions).map(|a| Policy::from(Tree::leaf(a as u16)));
                FiniteClass::new(constant, setup).map(PolicyClass::Finite)
            }
            (Self::Auto | Self::Environment, None) => {
                TreeClass::new(&TreeParams::default(), setup).map(PolicyClass::Trees)
            }
            (Self::Trees(params), _) => TreeClass::new(params, setup).map(PolicyClass::Trees),
            (Self::Linear(params), _) => LinearClass::new(params, setup).map(PolicyClass::Linear),
        }
    }
}

/// A class of policies with its oracle.
#[derive(Debug, Clone)]
pub enum PolicyClass {
    /// Finitely many, enumerated.
    Finite(FiniteClass),
    /// Depth-limited decision trees.
    Trees(TreeClass),
    /// Linear argmax policies.
    Linear(LinearClass),
}

/// A class is its oracle.
impl Deref for PolicyClass {
    type Target = dyn ErmOracle;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Finite(class) => class,
            Self::Trees(class) => class,
            Self::Linear(class) => class,
        }
    }
}

impl PolicyClass {
    /// Whether an observed loss of 0 changes what the oracle answers: true of regression.
    pub fn learns_from_zeros(&self) -> bool {
        matches!(self, Self::Linear(_))
    }

    /// Checks a policy that was read back: it acts in this world, and is one of the class where that is a list.
    ///
    /// # Errors
    /// It is not.
    pub fn valid(&self, policy: &Policy) -> Result<(), SnapshotError> {
        let reads = self.reads();
        let fits = match (self, policy) {
            (Self::Finite(class), _) => class.contains(policy),
            (Self::Trees(_), Policy::Tree(t)) => {
                t.actions() <= reads.actions && reads.features.is_some_and(|d| t.features() <= d)
            }
            (Self::Linear(_), Policy::Linear(l)) => {
                l.actions() == reads.actions && reads.features == Some(l.features())
            }
            _ => false,
        };
        ensure(fits, "it holds a policy that is not of the class")
    }
}
