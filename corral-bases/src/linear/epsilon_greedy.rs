//! epsilon-greedy: a random action with probability epsilon, else the one with the lowest predicted loss.
//!
//! With contexts the predictions are those of a ridge regression; without, they are the means of the arms. Regret
//! O((K ln T)^{1/3} T^{2/3}) with stochastic losses (linear ones, with contexts). Lazy; weakly stable with alpha = 1/3:
//! epsilon = min(1, (range K ln T/T)^{1/3}) (docs/stability.md#bases-that-explore-first).

use corral_core::Learner;
use corral_core::registry::RegistryRow;

use super::PlainEpsilonGreedy;
use super::prelude::*;
use crate::built::{self, Build, read_for, refused};

/// Over features where there are some, or where the base makes some; else over plain arms.
pub(crate) fn row() -> RegistryRow<Build> {
    built::row::<EpsilonGreedyParams>(|table, setup| {
        let params: EpsilonGreedyParams = read_for(table, setup)?;
        let has_features = setup.context.features + setup.context.row_features > 0;
        if has_features || params.features != Features::Raw {
            return super::build_over_features::<EpsilonGreedyParams>(table, setup);
        }
        let base = params.build_as::<PlainEpsilonGreedy>(setup).map_err(refused::<EpsilonGreedyParams>)?;
        Ok(Learner::Arms(Box::new(base)))
    })
}

base! {
    /// A random action with probability epsilon, else the one with the lowest predicted loss.
    "epsilon-greedy": pub type LinearEpsilonGreedy = Linear<EpsilonGreedyParams>;
    bound |world| RegretBound { scale: (world.k * world.t.ln()).cbrt(), exponent: 2.0 / 3.0, alpha: 1.0 / 3.0 };
    params {
        /// The probability of a random action; auto: min(1, (range K ln T/T)^(1/3)), the round standing for T
        /// where it is not known.
        epsilon: Setting = Setting::Auto, Bounds::UNIT;
    } with random_ties, {
        /// What a larger range does: retune epsilon and keep what was learned, keep both, or restart (as in the theorem).
        range_change: RangeChange = RangeChange::Retune;
    }, [RangeChange::ANY], ridge
}

impl EpsilonGreedyParams {
    /// epsilon = min(1, (rho K ln T/T)^{1/3})                                          docs/bases.md#epsilon-greedy
    pub(crate) fn probability(&self, actions: f64, horizon: f64, range: f64) -> f64 {
        self.epsilon.or(|| (range * actions * horizon.ln() / horizon).cbrt().min(1.0))
    }
}

impl ActionRule for EpsilonGreedyParams {
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
