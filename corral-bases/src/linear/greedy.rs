//! Greedy with ridge regression: the action with the lowest predicted loss, and nothing else.
//!
//! No guarantee: it explores only by accident (random ties, diverse contexts), and is often hard to beat where contexts
//! are diverse. alpha is not defined.

use corral_core::catalog::{Entry, Field};
use corral_core::{BaseError, Setup};
use serde::{Deserialize, Serialize};

use super::features::{FEATURES_DEFAULT, FEATURES_DOC, Features};
use super::learner::{Choice, Linear, View, put_on_lowest};
use super::regressor::Layout;
use super::ridge::{RIDGE_DEFAULT, RIDGE_DOC, Ridge, RidgeParams};
use crate::arms::Ties;
use crate::common::{RangeChange, keep_or_restart};
use crate::registry::{Row, defaults};

pub(crate) const ROW: Row = Row {
    entry: Entry {
        name: "greedy",
        summary: "The action with the lowest predicted loss.",
        source: "Bastani, Bayati, Khosravi 2021, Mostly exploration-free algorithms for contextual bandits",
        regret: "none in general",
        alpha: None,
        fits: "linear losses with diverse contexts",
        cost: "O(K d) + O(d^2) per loss",
        kind: "contextual",
        status: "standard",
        fields: &[
            Field {
                name: "ties",
                default: "\"random\"",
                doc: "Which of several best actions is played: random or lowest.",
            },
            Field {
                name: "range_change",
                default: "\"keep\"",
                doc: "What a larger range does: keep (sound, because it is lazy), or restart (as in the paper).",
            },
            Field { name: "features", default: FEATURES_DEFAULT, doc: FEATURES_DOC },
            Field { name: "model", default: RIDGE_DEFAULT, doc: RIDGE_DOC },
        ],
    },
    build: |table, setup| {
        super::build(&ROW.entry, table, setup, |p: &GreedyParams| p.features.clone(), GreedyParams::check)
    },
    bound: |_| None,
    defaults: defaults::<GreedyParams>,
};

/// Parameters of [`Greedy`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GreedyParams {
    /// Which of several best actions is played.
    pub ties: Ties,
    /// What a larger range does.
    pub range_change: RangeChange,
    /// The representation of the context.
    pub features: Features,
    /// The regression.
    pub model: RidgeParams,
}

impl Default for GreedyParams {
    fn default() -> Self {
        Self {
            ties: Ties::Random,
            range_change: RangeChange::Keep,
            features: Features::Raw,
            model: RidgeParams::default(),
        }
    }
}

/// The action with the lowest predicted loss.
pub type Greedy = Linear<GreedyParams>;

impl GreedyParams {
    /// The base for the world of `setup`, whose contexts are already those of [`features`](GreedyParams::features).
    ///
    /// # Errors
    /// A parameter is out of bounds, or the world has no features.
    pub fn check(self, setup: &Setup) -> Result<Greedy, BaseError> {
        self.model.check()?;
        keep_or_restart(self.range_change)?;
        let layout = Layout::new(self.model.parameters, setup)?;
        Ok(Linear::new(self, layout, setup))
    }
}

impl Choice for GreedyParams {
    const NAME: &'static str = "greedy";
    type Model = Ridge;

    fn model(&self, models: usize, dim: usize) -> Ridge {
        Ridge::new(&self.model, models, dim)
    }

    fn needs_widths(&self) -> bool {
        false
    }

    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        put_on_lowest(self.ties, weights, |a| view.predictions[a]);
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
