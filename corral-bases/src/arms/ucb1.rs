//! UCB1 for losses: the lowest lower confidence bound is played.
//!
//! Auer, Cesa-Bianchi, Fischer 2002. Regret O(sqrt(K T ln T)) with stochastic losses. Weakly stable with alpha = 1/2,
//! lazily: w = 2 sqrt(2 ln T/n) has squared widths that sum to 8 K ln T (1 + ln T) over updates
//! (docs/stability.md#lazy-bases).

use super::prelude::*;

corral_core::params! {
    /// How wide the confidence intervals of [`Ucb1`] are.
    pub enum Width {
        /// sqrt(2 ln T/n); where T is not known, the number of losses seen and 1 stand for it.
        #[default]
        Hoeffding,
        /// sqrt(ln((t + 1)/0.1)/(n + 1e-10)), t losses seen, after two random arms; an arm that was never seen has loss 1.
        Published,
    }
}

base! {
    /// The arm with the lowest confidence bound by Hoeffding's inequality.
    "ucb1": pub type Ucb1 = IndexBase<Ucb1Params>;
    sqrt_bound |world| (world.k * world.t.ln()).sqrt();
    params {
        /// Multiplies the width.
        scale: f64 = 1.0, Bounds::NON_NEGATIVE;
        /// hoeffding: sqrt(2 ln T/n), or sqrt(2 ln(1 + updates)/n) where T is not known; published: sqrt(ln((t
        /// + 1)/0.1)/(n + 1e-10)) after two random arms, as in published model-selection experiments.
        width: Width = Width::Hoeffding;
    } with lowest_ties, lazy, real_losses
}

impl Index for Ucb1Params {
    fn index(&self, tally: &ArmStats, moment: &Moment) -> f64 {
        match self.width {
            // mean - sqrt(2 ln T/n)   docs/bases.md#index-bases
            Width::Hoeffding if tally.count > 0.0 => {
                let log = moment.horizon.unwrap_or(1.0 + moment.seen).ln();
                tally.mean - self.scale * (2.0 * log / tally.count).sqrt()
            }
            Width::Hoeffding => f64::NEG_INFINITY,
            Width::Published => {
                let mean = if tally.count > 0.0 { tally.mean } else { 1.0 };
                mean - self.scale * (((moment.seen + 1.0) / 0.1).ln() / (tally.count + 1e-10)).sqrt()
            }
        }
    }

    fn is_local(&self) -> bool {
        self.width == Width::Hoeffding
    }

    fn random_start(&self) -> u64 {
        if self.width == Width::Published { 2 } else { 0 }
    }
}
