//! UCB-V for losses: confidence bounds by the empirical variance (Bernstein).
//!
//! Audibert, Munos, Szepesvari 2009. Regret O(sqrt(K T ln T)) with stochastic losses. In its lazy mode weakly stable
//! with alpha = 1/2, without being told the range. Its range mode counts loss * weight of every round, zeros
//! included, with the range inside the width: the only optimistic choice where a master cannot tell weight and loss
//! apart, O(sqrt(range K T ln T) + range K ln^2 T), and markedly worse in practice. In range mode weight 0 is an
//! observation: the law "weight 0 changes nothing" cannot hold.

use corral_core::catalog::{Entry, Field};
use corral_core::{BaseError, Setup};
use serde::{Deserialize, Serialize};

use super::index::{IndexBase, Moment, Rule, Tally, Ties};
use crate::common::{Clock, RangeChange, arm_count, keep_or_restart, non_negative};
use crate::registry::{Row, bound_horizon, defaults};

pub(crate) const ROW: Row = Row {
    entry: Entry {
        name: "ucb-v",
        summary: "Confidence bounds by the empirical variance.",
        source: "Audibert, Munos, Szepesvari 2009, Exploration-exploitation tradeoff using variance estimates",
        regret: "O(sqrt(K T ln T))",
        alpha: Some(0.5),
        fits: "stochastic arms",
        cost: "O(K)",
        kind: "arms",
        status: "standard",
        fields: &[
            Field {
                name: "scale",
                default: "1.0",
                doc: "Multiplies the width sqrt(2 v ln T/n) + 3 b ln T/n.",
            },
            Field {
                name: "mode",
                default: "\"lazy\"",
                doc: "lazy: observed losses, b = 1; range: loss * weight of every round, b = range.",
            },
            Field {
                name: "range_change",
                default: "\"keep\"",
                doc: "What a larger range does: keep (sound, because it is lazy), or restart (as in the paper).",
            },
        ],
    },
    build: |table, setup| super::context_free(&ROW.entry, table, setup, UcbVParams::check),
    bound: |setup| {
        let k = setup.actions() as f64;
        Some(((k * bound_horizon(setup).ln()).sqrt(), 0.5, 0.5))
    },
    defaults: defaults::<UcbVParams>,
};

/// What [`UcbV`] counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The observed loss of rounds that it saw.
    #[default]
    Lazy,
    /// loss * weight of every round, zeros included.
    Range,
}

/// Parameters of [`UcbV`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UcbVParams {
    /// Multiplies the width.
    pub scale: f64,
    /// What is counted.
    pub mode: Mode,
    /// What a larger range does: `Keep` or `Restart`.
    pub range_change: RangeChange,
}

impl Default for UcbVParams {
    fn default() -> Self {
        Self { scale: 1.0, mode: Mode::Lazy, range_change: RangeChange::Keep }
    }
}

/// UCB-V.
pub type UcbV = IndexBase<UcbVParams>;

impl UcbVParams {
    /// The base for the world of `setup`, with range 1.
    ///
    /// # Errors
    /// A parameter is out of bounds, or there are no arms.
    pub fn check(self, setup: &Setup) -> Result<UcbV, BaseError> {
        let actions = arm_count(setup)?;
        non_negative("scale", self.scale)?;
        keep_or_restart(self.range_change)?;
        Ok(IndexBase::new(self, actions, Clock::new(setup)))
    }
}

impl Rule for UcbVParams {
    const NAME: &'static str = "ucb-v";

    fn index(&self, tally: &Tally, moment: &Moment) -> f64 {
        if tally.count == 0.0 {
            return f64::NEG_INFINITY;
        }
        let log = moment.horizon.unwrap_or(1.0 + moment.seen).ln();
        let range = if self.mode == Mode::Range { moment.range } else { 1.0 };
        // mean - sqrt(2 v ln T/n) - 3 b ln T/n   docs/bases.md#index-bases
        let width = (2.0 * tally.variance() * log / tally.count).sqrt() + 3.0 * range * log / tally.count;
        tally.mean - self.scale * width
    }

    fn ties(&self) -> Ties {
        Ties::Lowest
    }

    fn range_change(&self) -> RangeChange {
        self.range_change
    }

    fn counts_estimates(&self) -> bool {
        self.mode == Mode::Range
    }
}
