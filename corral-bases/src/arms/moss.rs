//! MOSS for losses: minimax optimal, without the logarithm of UCB1.
//!
//! Audibert, Bubeck 2009. Regret O(sqrt(K T)) with stochastic losses. Lazy; weakly stable with alpha = 1/2 up to a
//! factor ln(range) (docs/stability.md#lazy-bases).

use super::prelude::*;

base! {
    /// Confidence bounds that shrink with an arm's share of the horizon: minimax optimal.
    "moss": pub type Moss = IndexBase<MossParams>;
    sqrt_bound |world| world.k.sqrt();
    params {
        /// Multiplies the width sqrt(2 max(0, ln(T/(K n)))/n).
        scale: f64 = 1.0, Bounds::NON_NEGATIVE;
    } with lowest_ties, lazy
}

impl Index for MossParams {
    fn index(&self, tally: &ArmStats, moment: &Moment) -> f64 {
        if tally.count == 0.0 {
            return f64::NEG_INFINITY;
        }
        // mean - sqrt(2 max(0, ln(T/(K n)))/n); anytime: the losses seen stand for T   docs/bases.md#index-bases
        let horizon = moment.horizon.unwrap_or(1.0 + moment.seen);
        let log = (horizon / (moment.actions * tally.count)).ln().max(0.0);
        tally.mean - self.scale * (2.0 * log / tally.count).sqrt()
    }
}
