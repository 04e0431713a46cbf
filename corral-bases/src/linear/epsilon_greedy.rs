//! epsilon-greedy: a random action with probability epsilon, else the one with the lowest predicted loss.
//!
//! With contexts the predictions are those of a ridge regression; without, they are the means of the arms. Regret
//! O((K ln T)^{1/3} T^{2/3}) with stochastic losses (linear ones, with contexts). Lazy; weakly stable with alpha = 1/3:
//! epsilon = min(1, (range K ln T/T)^{1/3}) (docs/stability.md#bases-that-explore-first).

use corral_core::Learner;
use corral_core::registry::{BuildError, Row};

use super::features::Features;
use super::learner::{Choice, Linear, View, by_ridge, put_on_lowest};
use super::ridge::RidgeParams;
use crate::arms::ArmBase;
use crate::built::{Build, read_for, row};
use crate::prelude::*;

/// Over features where there are some, or where the base makes some; else over plain arms.
pub(crate) const ROW: Row<Build> = row::<EpsilonGreedyParams>(|table, setup| {
    let params: EpsilonGreedyParams = read_for(table, setup)?;
    let has_features = setup.context.features + setup.context.row_features > 0;
    if has_features || params.features != Features::Raw {
        return super::build_over_features::<EpsilonGreedyParams>(table, setup);
    }
    match ArmBase::new(params, setup) {
        Ok(base) => Ok(Learner::Arms(Box::new(base))),
        Err(e) => Err(BuildError::refused("base", EpsilonGreedyParams::ENTRY.name, e)),
    }
});

corral_core::params! {
    /// Parameters of [`LinearEpsilonGreedy`].
    pub struct EpsilonGreedyParams {
        /// The probability of a random action; auto: min(1, (range K ln T/T)^(1/3)), the round standing for T
        /// where it is not known.
        epsilon: Setting = Setting::Auto, Bounds::UNIT;
        /// Which of several best actions is played: random or lowest.
        ties: Ties = Ties::Random;
        /// What a larger range does: retune epsilon and keep what was learned, keep both, or restart (as in the theorem).
        range_change: RangeChange = RangeChange::Retune;
        /// How the context is seen: raw, bias, one-hot, polynomial, { block = { from, to } }, { hashed = {
        /// dims, seed } }, { hashed-pairs = { dims, seed } } or { fourier = { dims, bandwidth, seed } }.
        features: Features = Features::Raw;
        /// The regression: ridge (strength), centre (first prediction), parameters (auto, shared: one vector
        /// over the actions' features, disjoint: one per action), weighted (count examples by importance
        /// weight).
        model: RidgeParams = RidgeParams::default();
    }
}

/// A random action with probability epsilon, else the one with the lowest predicted loss.
pub type LinearEpsilonGreedy = Linear<EpsilonGreedyParams>;

impl BaseParams for EpsilonGreedyParams {
    type Base = LinearEpsilonGreedy;

    const ENTRY: Entry = Entry {
        name: "epsilon-greedy",
        summary: "A random action with probability epsilon, else the one with the lowest predicted loss.",
        source: "Sutton, Barto 1998, Reinforcement learning: an introduction",
        regret: "O((K ln T)^(1/3) T^(2/3))",
        alpha: Some(1.0 / 3.0),
        fits: "stochastic arms; linear losses with contexts",
        cost: "O(K); with contexts O(K d) + O(d^2) per loss",
        ..super::LINEAR
    };

    fn build(self, setup: &Setup) -> Result<LinearEpsilonGreedy, BaseError> {
        Linear::new(self, setup)
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let k = setup.actions() as f64;
        Some(RegretBound {
            scale: (k * bound_horizon(setup).ln()).cbrt(),
            exponent: 2.0 / 3.0,
            alpha: 1.0 / 3.0,
        })
    }
}

impl EpsilonGreedyParams {
    /// epsilon = min(1, (rho K ln T/T)^{1/3})                                          docs/bases.md#epsilon-greedy
    pub(crate) fn probability(&self, actions: f64, horizon: f64, range: f64) -> f64 {
        self.epsilon.or(|| (range * actions * horizon.ln() / horizon).cbrt().min(1.0))
    }
}

by_ridge!(EpsilonGreedyParams, RangeChange::ANY);

impl Choice for EpsilonGreedyParams {
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
}
