//! Greedy with ridge regression: the action with the lowest predicted loss, and nothing else.
//!
//! No guarantee: it explores only by accident (random ties, diverse contexts), and is often hard to beat where contexts
//! are diverse. alpha is not defined.

use super::features::Features;
use super::learner::{Choice, Linear, View, by_ridge, put_on_lowest};
use super::ridge::RidgeParams;
use crate::prelude::*;

corral_core::params! {
    /// Parameters of [`Greedy`].
    pub struct GreedyParams {
        /// Which of several best actions is played: random or lowest.
        ties: Ties = Ties::Random;
        /// What a larger range does: keep (sound, for it is lazy), or restart (as in the theorem).
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
        ..super::LINEAR
    };

    fn build(self, setup: &Setup) -> Result<Greedy, BaseError> {
        Linear::new(self, setup)
    }
}

by_ridge!(GreedyParams);

impl Choice for GreedyParams {
    fn needs_widths(&self) -> bool {
        false
    }

    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        put_on_lowest(self.ties, weights, |a| view.predictions[a]);
    }
}
