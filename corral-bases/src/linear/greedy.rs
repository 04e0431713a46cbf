//! Greedy with ridge regression: the action with the lowest predicted loss, and nothing else.
//!
//! No guarantee: it explores only by accident (random ties, diverse contexts), and is often hard to beat where contexts
//! are diverse. alpha is not defined.

use corral_core::params::Params;
use corral_core::registry::{Entry, Kind, Status};
use corral_core::{BaseError, Setup};

use super::features::{Features, Represented};
use super::learner::{Choice, Linear, View, put_on_lowest};
use super::regressor::Layout;
use super::ridge::{Ridge, RidgeParams};
use crate::arms::Ties;
use crate::built::{BaseParams, inside};
use crate::common::{RangeChange, keep_or_restart};

corral_core::params! {
    /// Parameters of [`Greedy`].
    pub struct GreedyParams {
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

/// The action with the lowest predicted loss.
pub type Greedy = Linear<GreedyParams>;

impl BaseParams for GreedyParams {
    type Base = Greedy;
    const REAL_LOSSES: bool = true;

    const ENTRY: Entry = Entry {
        name: "greedy",
        summary: "The action with the lowest predicted loss.",
        source: "Bastani, Bayati, Khosravi 2021, Mostly exploration-free algorithms for contextual bandits",
        regret: "none in general",
        alpha: None,
        fits: "linear losses with diverse contexts",
        cost: "O(K d) + O(d^2) per loss",
        kind: Kind::Contextual,
        status: Status::Standard,
    };

    fn build(self, setup: &Setup) -> Result<Greedy, BaseError> {
        self.check()?;
        inside("model", self.model.check())?;
        keep_or_restart(self.range_change)?;
        let layout = Layout::new(self.model.parameters, setup)?;
        Ok(Linear::new(self, layout, setup))
    }
}

impl Represented for GreedyParams {
    fn features(&self) -> &Features {
        &self.features
    }
}

impl Choice for GreedyParams {
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

    fn range_change(&self) -> RangeChange {
        self.range_change
    }

    fn weighted(&self) -> bool {
        self.model.weighted
    }
}
