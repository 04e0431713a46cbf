//! UCB-V for losses: confidence bounds by the empirical variance (Bernstein).
//!
//! Audibert, Munos, Szepesvari 2009. Regret O(sqrt(K T ln T)) with stochastic losses. In its lazy mode weakly stable
//! with alpha = 1/2, without being told the range. Its range mode counts loss * weight of every round, zeros
//! included, with the range inside the width: the only optimistic choice where a master cannot tell weight and loss
//! apart, O(sqrt(range K T ln T) + range K ln^2 T), and markedly worse in practice. In range mode weight 0 is an
//! observation: the law "weight 0 changes nothing" cannot hold.

use super::prelude::*;

corral_core::params! {
    /// What [`UcbV`] counts.
    pub enum Mode {
        /// The observed loss of rounds that it saw.
        #[default]
        Lazy,
        /// loss * weight of every round, zeros included.
        Range,
    }
}

base! {
    /// Confidence bounds by the empirical variance.
    "ucb-v": pub type UcbV = IndexBase<UcbVParams>;
    sqrt_bound |world| (world.k * world.t.ln()).sqrt();
    params {
        /// Multiplies the width sqrt(2 v ln T/n) + 3 b ln T/n.
        scale: f64 = 1.0, Bounds::NON_NEGATIVE;
        /// lazy: observed losses, b = 1; range: loss * weight of every round, b = range.
        mode: Mode = Mode::Lazy;
    } with lazy
}

impl Index for UcbVParams {
    fn index(&self, tally: &ArmStats, moment: &Moment) -> f64 {
        if tally.count == 0.0 {
            return f64::NEG_INFINITY;
        }
        let log = moment.horizon.unwrap_or(1.0 + moment.seen).ln();
        let range = if self.mode == Mode::Range { moment.range } else { 1.0 };
        // mean - sqrt(2 v ln T/n) - 3 b ln T/n   docs/bases.md#index-bases
        let width = (2.0 * tally.variance() * log / tally.count).sqrt() + 3.0 * range * log / tally.count;
        tally.mean - self.scale * width
    }

    fn counts_estimates(&self) -> bool {
        self.mode == Mode::Range
    }
}
