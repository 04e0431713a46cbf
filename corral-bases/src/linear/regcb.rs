//! RegCB, optimistic, with linear regression: the lowest lower bound over regressors that fit the past well.
//!
//! Foster, Agarwal, Dudik, Luo, Schapire 2018. For linear classes the regressors that fit well are an ellipsoid, and
//! the bound is m_a - sqrt(beta) ||z||_{V^-1}, clipped to [0, 1]. Lazy; weakly stable with alpha = 1/2 where squared
//! widths are summable, as for linear classes (docs/stability.md#lazy-bases). Classes other than linear are not
//! offered.

use corral_core::catalog::{Entry, Field};
use corral_core::{BaseError, Setup};
use serde::{Deserialize, Serialize};

use super::features::{FEATURES_DEFAULT, FEATURES_DOC, Features};
use super::learner::{Choice, Linear, View, put_on_lowest};
use super::regressor::Layout;
use super::ridge::{RIDGE_DEFAULT, RIDGE_DOC, Ridge, RidgeParams};
use crate::arms::Ties;
use crate::common::{RangeChange, keep_or_restart, non_negative};
use crate::registry::{Row, bound_horizon, defaults};

pub(crate) const ROW: Row = Row {
    entry: Entry {
        name: "regcb",
        summary: "The action with the lowest loss that a well-fitting linear regressor predicts.",
        source: "Foster, Agarwal, Dudik, Luo, Schapire 2018, Practical contextual bandits with regression oracles",
        regret: "O~(d sqrt T) for linear classes",
        alpha: Some(0.5),
        fits: "linear losses",
        cost: "O(K d^2)",
        kind: "contextual",
        status: "standard",
        fields: &[
            Field {
                name: "c",
                default: "0.003",
                doc: "How well a regressor must fit: the width is sqrt(c ln(K n + 1)) ||z||_{V^-1} after n - 1 updates.",
            },
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
        super::build(&ROW.entry, table, setup, |p: &RegCbParams| p.features.clone(), RegCbParams::check)
    },
    bound: |setup| {
        let d = setup.context.features.max(setup.context.row_features).max(1) as f64;
        Some((d * bound_horizon(setup).ln(), 0.5, 0.5))
    },
    defaults: defaults::<RegCbParams>,
};

/// Parameters of [`RegCb`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RegCbParams {
    /// How well a regressor must fit: the radius is sqrt(c ln(K n + 1)).
    pub c: f64,
    /// Which of several best actions is played.
    pub ties: Ties,
    /// What a larger range does.
    pub range_change: RangeChange,
    /// The representation of the context.
    pub features: Features,
    /// The regression.
    pub model: RidgeParams,
}

impl Default for RegCbParams {
    fn default() -> Self {
        Self {
            c: 0.003,
            ties: Ties::Random,
            range_change: RangeChange::Keep,
            features: Features::Raw,
            model: RidgeParams::default(),
        }
    }
}

/// The action with the lowest loss that a well-fitting linear regressor predicts.
pub type RegCb = Linear<RegCbParams>;

impl RegCbParams {
    /// The base for the world of `setup`, whose contexts are already those of [`features`](RegCbParams::features).
    ///
    /// # Errors
    /// A parameter is out of bounds, or the world has no features.
    pub fn check(self, setup: &Setup) -> Result<RegCb, BaseError> {
        non_negative("c", self.c)?;
        self.model.check()?;
        keep_or_restart(self.range_change)?;
        let layout = Layout::new(self.model.parameters, setup)?;
        Ok(Linear::new(self, layout, setup))
    }
}

impl Choice for RegCbParams {
    const NAME: &'static str = "regcb";
    type Model = Ridge;

    fn model(&self, models: usize, dim: usize) -> Ridge {
        Ridge::new(&self.model, models, dim)
    }

    fn needs_widths(&self) -> bool {
        true
    }

    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        // argmin clip01(m_a - sqrt(c ln(K n + 1)) s_a), n = updates + 1   docs/data.md#regression-learners
        let radius = (self.c * (view.actions() * (view.seen + 1.0)).ln_1p()).sqrt();
        put_on_lowest(self.ties, weights, |a| {
            (view.predictions[a] - radius * view.widths[a]).clamp(0.0, 1.0)
        });
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
