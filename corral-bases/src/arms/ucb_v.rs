//! UCB-V for losses: confidence bounds by the empirical variance (Bernstein).
//!
//! Audibert, Munos, Szepesvari 2009. Regret O(sqrt(K T ln T)) with stochastic losses. In its lazy mode weakly stable
//! with alpha = 1/2, without being told the range. Its range mode counts loss * weight of every round, zeros
//! included, with the range inside the width: the only optimistic choice where a master cannot tell weight and loss
//! apart, O(sqrt(range K T ln T) + range K ln^2 T), and markedly worse in practice. In range mode weight 0 is an
//! observation: the law "weight 0 changes nothing" cannot hold.

use super::index::{ArmStats, Index, IndexBase, Moment};
use crate::prelude::*;

/// What [`UcbV`] counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The observed loss of rounds that it saw.
    #[default]
    Lazy,
    /// loss * weight of every round, zeros included.
    Range,
}

corral_core::params! {
    /// Parameters of [`UcbV`].
    pub struct UcbVParams {
        /// Multiplies the width sqrt(2 v ln T/n) + 3 b ln T/n.
        scale: f64 = 1.0, Bounds::NON_NEGATIVE;
        /// lazy: observed losses, b = 1; range: loss * weight of every round, b = range.
        mode: Mode = Mode::Lazy;
        /// What a larger range does: keep (sound, for it is lazy), or restart (as in the theorem).
        range_change: RangeChange = RangeChange::Keep;
    }
}

/// UCB-V.
pub type UcbV = IndexBase<UcbVParams>;

impl BaseParams for UcbVParams {
    type Base = UcbV;

    const ENTRY: Entry = Entry {
        name: "ucb-v",
        summary: "Confidence bounds by the empirical variance.",
        source: "Audibert, Munos, Szepesvari 2009, Exploration-exploitation tradeoff using variance estimates",
        regret: "O(sqrt(K T ln T))",
        ..super::ARMS
    };

    fn build(self, setup: &Setup) -> Result<UcbV, BaseError> {
        IndexBase::new(self, setup)
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let k = setup.actions() as f64;
        Some(RegretBound::new((k * bound_horizon(setup).ln()).sqrt(), 0.5))
    }
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

    fn range_change(&self) -> RangeChange {
        self.range_change
    }

    fn counts_estimates(&self) -> bool {
        self.mode == Mode::Range
    }
}
