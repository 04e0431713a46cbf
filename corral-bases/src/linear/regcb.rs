//! RegCB, optimistic, with linear regression: the lowest lower bound over regressors that fit the past well.
//!
//! Foster, Agarwal, Dudik, Luo, Schapire 2018. For linear classes the regressors that fit well are an ellipsoid, and
//! the bound is m_a - sqrt(beta) ||z||_{V^-1}, clipped to [0, 1]. Lazy; weakly stable with alpha = 1/2 where squared
//! widths are summable, as for linear classes (docs/stability.md#lazy-bases). Classes other than linear are not
//! offered.

use corral_core::masters::RegretBound;
use corral_core::params::{Bounds, Params};
use corral_core::registry::{Entry, Kind, Status};
use corral_core::{BaseError, Setup};

use super::features::{Features, Represented};
use super::learner::{Choice, Linear, View, put_on_lowest};
use super::regressor::Layout;
use super::ridge::{Ridge, RidgeParams};
use crate::arms::Ties;
use crate::built::{BaseParams, bound_horizon, inside};
use crate::common::{RangeChange, keep_or_restart};

corral_core::params! {
    /// Parameters of [`RegCb`].
    pub struct RegCbParams {
        /// How well a regressor must fit: the width is sqrt(c ln(K n + 1)) ||z||_{V^-1} after n - 1 updates.
        c: f64 = 0.003, Bounds::NON_NEGATIVE;
        /// Which of several best actions is played: random or lowest.
        ties: Ties = Ties::Random;
        /// What a larger range does: keep (sound, for it is lazy), or restart (the paper's letter).
        range_change: RangeChange = RangeChange::Keep;
        /// How the context is seen: raw, bias, one-hot, polynomial, { block = { from, to } }, { hashed = {
        /// dims, seed } }, { hashed-pairs = { dims, seed } } or { fourier = { dims, bandwidth, seed } }.
        features: Features = Features::Raw;
        /// The regression: ridge (strength), centre (first prediction), parameters (auto, shared: one vector
        /// over the actions' features, disjoint: one per action), weighted (count examples by importance
        /// weight).
        model: RidgeParams = RidgeParams::default();
    }
}

/// The action with the lowest loss that a well-fitting linear regressor predicts.
pub type RegCb = Linear<RegCbParams>;

impl BaseParams for RegCbParams {
    type Base = RegCb;

    const ENTRY: Entry = Entry {
        name: "regcb",
        summary: "The action with the lowest loss that a well-fitting linear regressor predicts.",
        source: "Foster, Agarwal, Dudik, Luo, Schapire 2018, Practical contextual bandits with regression oracles",
        regret: "O~(d sqrt T) for linear classes",
        alpha: Some(0.5),
        fits: "linear losses",
        cost: "O(K d^2)",
        kind: Kind::Contextual,
        status: Status::Standard,
    };

    fn build(self, setup: &Setup) -> Result<RegCb, BaseError> {
        self.check()?;
        inside("model", self.model.check())?;
        keep_or_restart(self.range_change)?;
        let layout = Layout::new(self.model.parameters, setup)?;
        Ok(Linear::new(self, layout, setup))
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let d = setup.context.features.max(setup.context.row_features).max(1) as f64;
        Some(RegretBound::new(d * bound_horizon(setup).ln(), 0.5))
    }
}

impl Represented for RegCbParams {
    fn features(&self) -> &Features {
        &self.features
    }
}

impl Choice for RegCbParams {
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

    fn range_change(&self) -> RangeChange {
        self.range_change
    }

    fn weighted(&self) -> bool {
        self.model.weighted
    }
}
