//! epsilon-greedy: a random action with probability epsilon, else the one with the lowest predicted loss.
//!
//! With contexts the predictions are those of a ridge regression; without, they are the means of the arms. Regret
//! O((K ln T)^{1/3} T^{2/3}) with stochastic losses (linear ones, with contexts). Lazy; weakly stable with alpha = 1/3:
//! epsilon = min(1, (range K ln T/T)^{1/3}) (docs/stability.md#bases-that-explore-first).

use corral_core::catalog::{Entry, Field};
use corral_core::{BaseError, ParamError, Setup};
use serde::{Deserialize, Serialize};

use super::features::{FEATURES_DEFAULT, FEATURES_DOC, Features};
use super::learner::{Choice, Linear, View, put_on_lowest};
use super::regressor::Layout;
use super::ridge::{RIDGE_DEFAULT, RIDGE_DOC, Ridge, RidgeParams};
use crate::arms::Ties;
use crate::common::{RangeChange, Setting};
use crate::registry::{Row, bound_horizon, defaults};

pub(crate) const ROW: Row = Row {
    entry: Entry {
        name: "epsilon-greedy",
        summary: "A random action with probability epsilon, else the one with the lowest predicted loss.",
        source: "Sutton, Barto 1998, Reinforcement learning: an introduction",
        regret: "O((K ln T)^(1/3) T^(2/3))",
        alpha: Some(1.0 / 3.0),
        fits: "stochastic arms; linear losses with contexts",
        cost: "O(K); with contexts O(K d) + O(d^2) per loss",
        kind: "contextual",
        status: "standard",
        fields: &[
            Field {
                name: "epsilon",
                default: "\"auto\"",
                doc: "The probability of a random action; auto: min(1, (range K ln T/T)^(1/3)), the round standing for T where it is not known.",
            },
            Field {
                name: "ties",
                default: "\"random\"",
                doc: "Which of several best actions is played: random or lowest.",
            },
            Field {
                name: "range_change",
                default: "\"retune\"",
                doc: "What a larger range does: retune epsilon and keep what was learned, keep both, or restart (as in the paper).",
            },
            Field { name: "features", default: FEATURES_DEFAULT, doc: FEATURES_DOC },
            Field { name: "model", default: RIDGE_DEFAULT, doc: RIDGE_DOC },
        ],
    },
    build: |table, setup| {
        let params: EpsilonGreedyParams = crate::registry::params(&ROW.entry, table)?;
        let has_features = setup.context.features + setup.context.row_features > 0;
        if has_features || params.features != Features::Raw {
            super::build(
                &ROW.entry,
                table,
                setup,
                |p: &EpsilonGreedyParams| p.features.clone(),
                EpsilonGreedyParams::check,
            )
        } else {
            crate::arms::context_free(&ROW.entry, table, setup, crate::arms::EpsilonGreedy::new)
        }
    },
    bound: |setup| {
        let k = setup.actions() as f64;
        Some(((k * bound_horizon(setup).ln()).cbrt(), 2.0 / 3.0, 1.0 / 3.0))
    },
    defaults: defaults::<EpsilonGreedyParams>,
};

/// Parameters of [`LinearEpsilonGreedy`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpsilonGreedyParams {
    /// The probability of a random action.
    pub epsilon: Setting,
    /// Which of several best actions is played.
    pub ties: Ties,
    /// What a larger range does.
    pub range_change: RangeChange,
    /// The representation of the context.
    pub features: Features,
    /// The regression.
    pub model: RidgeParams,
}

impl Default for EpsilonGreedyParams {
    fn default() -> Self {
        Self {
            epsilon: Setting::Auto,
            ties: Ties::Random,
            range_change: RangeChange::Retune,
            features: Features::Raw,
            model: RidgeParams::default(),
        }
    }
}

/// A random action with probability epsilon, else the one with the lowest predicted loss.
pub type LinearEpsilonGreedy = Linear<EpsilonGreedyParams>;

impl EpsilonGreedyParams {
    /// The base for the world of `setup`, whose contexts are already those of [`features`](EpsilonGreedyParams::features).
    ///
    /// # Errors
    /// A parameter is out of bounds, or the world has no features.
    pub fn check(self, setup: &Setup) -> Result<LinearEpsilonGreedy, BaseError> {
        self.validate()?;
        self.model.check()?;

        let layout = Layout::new(self.model.parameters, setup)?;
        Ok(Linear::new(self, layout, setup))
    }
}

impl EpsilonGreedyParams {
    /// Whether epsilon is a probability.
    pub(crate) fn validate(&self) -> Result<(), ParamError> {
        if let Setting::Given(epsilon) = self.epsilon {
            ParamError::unit("epsilon", epsilon)?;
        }
        Ok(())
    }

    /// epsilon = min(1, (rho K ln T/T)^{1/3})   docs/bases.md#epsilon-greedy
    pub(crate) fn probability(&self, actions: f64, horizon: f64, range: f64) -> f64 {
        self.epsilon.or(|| (range * actions * horizon.ln() / horizon).cbrt().min(1.0))
    }
}

impl Choice for EpsilonGreedyParams {
    const NAME: &'static str = "epsilon-greedy";
    type Model = Ridge;

    fn model(&self, models: usize, dim: usize) -> Ridge {
        Ridge::new(&self.model, models, dim)
    }

    fn needs_widths(&self) -> bool {
        false
    }

    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        let horizon = view.horizon_or_round();
        let epsilon = self.probability(view.actions(), horizon, view.range);
        put_on_lowest(self.ties, weights, |a| view.predictions[a]);
        for weight in weights.iter_mut() {
            *weight = epsilon / view.actions() + (1.0 - epsilon) * *weight;
        }
    }

    fn counts_rounds(&self) -> bool {
        self.epsilon == Setting::Auto
    }

    fn features(&self) -> &Features {
        &self.features
    }

    fn range_change(&self) -> RangeChange {
        self.range_change
    }

    fn weighted(&self) -> bool {
        self.model.weighted
    }
}
