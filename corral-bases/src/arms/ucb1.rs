//! UCB1 for losses: the lowest lower confidence bound is played.
//!
//! Auer, Cesa-Bianchi, Fischer 2002. Regret O(sqrt(K T ln T)) with stochastic losses. Weakly stable with alpha = 1/2,
//! lazily: w = 2 sqrt(2 ln T/n) has squared widths that sum to 8 K ln T (1 + ln T) over updates
//! (docs/stability.md#lazy-bases).

use corral_core::catalog::{Entry, Field};
use corral_core::{BaseError, Setup};
use serde::{Deserialize, Serialize};

use super::index::{IndexBase, Moment, Rule, Tally, Ties};
use crate::common::{Clock, RangeChange, arm_count, keep_or_restart, non_negative};
use crate::registry::{Row, bound_horizon, defaults};

pub(crate) const ROW: Row = Row {
    entry: Entry {
        name: "ucb1",
        summary: "The arm with the lowest confidence bound by Hoeffding's inequality.",
        source: "Auer, Cesa-Bianchi, Fischer 2002, Finite-time analysis of the multiarmed bandit problem",
        regret: "O(sqrt(K T ln T))",
        alpha: Some(0.5),
        fits: "stochastic arms",
        cost: "O(K)",
        kind: "arms",
        status: "standard",
        fields: &[
            Field { name: "scale", default: "1.0", doc: "Multiplies the width." },
            Field {
                name: "width",
                default: "\"hoeffding\"",
                doc: "hoeffding: sqrt(2 ln T/n), or sqrt(2 ln(1 + updates)/n) where T is not known; published: sqrt(ln((t + 1)/0.1)/(n + 1e-10)) after two random arms, as in published model-selection experiments.",
            },
            Field {
                name: "ties",
                default: "\"lowest\"",
                doc: "Which of several best arms is played: lowest or random.",
            },
            Field {
                name: "range_change",
                default: "\"keep\"",
                doc: "What a larger range does: keep (sound, because it is lazy), or restart (as in the paper).",
            },
        ],
    },
    build: |table, setup| super::context_free(&ROW.entry, table, setup, Ucb1Params::check),
    bound: |setup| {
        let k = setup.actions() as f64;
        Some(((k * bound_horizon(setup).ln()).sqrt(), 0.5, 0.5))
    },
    defaults: defaults::<Ucb1Params>,
};

/// How wide the confidence intervals of [`Ucb1`] are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// sqrt(2 ln T/n); where T is not known, the number of losses seen and 1 stand for it.
    #[default]
    Hoeffding,
    /// sqrt(ln((t + 1)/0.1)/(n + 1e-10)), t losses seen, after two random arms; an arm that was never seen has loss 1.
    Published,
}

/// Parameters of [`Ucb1`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ucb1Params {
    /// Multiplies the width.
    pub scale: f64,
    /// How wide the intervals are.
    pub width: Width,
    /// Which of several best arms is played.
    pub ties: Ties,
    /// What a larger range does: `Keep` or `Restart`.
    pub range_change: RangeChange,
}

impl Default for Ucb1Params {
    fn default() -> Self {
        Self { scale: 1.0, width: Width::Hoeffding, ties: Ties::Lowest, range_change: RangeChange::Keep }
    }
}

/// UCB1.
pub type Ucb1 = IndexBase<Ucb1Params>;

impl Ucb1Params {
    /// The base for the world of `setup`, with range 1.
    ///
    /// # Errors
    /// A parameter is out of bounds, or there are no arms.
    pub fn check(self, setup: &Setup) -> Result<Ucb1, BaseError> {
        let actions = arm_count(setup)?;
        non_negative("scale", self.scale)?;
        keep_or_restart(self.range_change)?;
        Ok(IndexBase::new(self, actions, Clock::new(setup)).with_losses(setup))
    }
}

impl Rule for Ucb1Params {
    const NAME: &'static str = "ucb1";

    fn index(&self, tally: &Tally, moment: &Moment) -> f64 {
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

    fn ties(&self) -> Ties {
        self.ties
    }

    fn range_change(&self) -> RangeChange {
        self.range_change
    }
}
