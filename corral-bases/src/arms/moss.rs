//! MOSS for losses: minimax optimal, without the logarithm of UCB1.
//!
//! Audibert, Bubeck 2009. Regret O(sqrt(K T)) with stochastic losses. Lazy; weakly stable with alpha = 1/2 up to a
//! factor ln(range) (docs/stability.md#lazy-bases).

use corral_core::catalog::{Entry, Field};
use corral_core::{BaseError, Setup};
use serde::{Deserialize, Serialize};

use super::index::{IndexBase, Moment, Rule, Tally, Ties};
use crate::common::{Clock, RangeChange, arm_count, keep_or_restart, non_negative};
use crate::registry::{Row, defaults};

pub(crate) const ROW: Row = Row {
    entry: Entry {
        name: "moss",
        summary: "Confidence bounds that shrink with an arm's share of the horizon: minimax optimal.",
        source: "Audibert, Bubeck 2009, Minimax policies for adversarial and stochastic bandits",
        regret: "O(sqrt(K T))",
        alpha: Some(0.5),
        fits: "stochastic arms",
        cost: "O(K)",
        kind: "arms",
        status: "standard",
        fields: &[
            Field {
                name: "scale",
                default: "1.0",
                doc: "Multiplies the width sqrt(2 max(0, ln(T/(K n)))/n).",
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
    build: |table, setup| super::context_free(&ROW.entry, table, setup, MossParams::check),
    bound: |setup| Some(((setup.actions() as f64).sqrt(), 0.5, 0.5)),
    defaults: defaults::<MossParams>,
};

/// Parameters of [`Moss`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MossParams {
    /// Multiplies the width.
    pub scale: f64,
    /// Which of several best arms is played.
    pub ties: Ties,
    /// What a larger range does: `Keep` or `Restart`.
    pub range_change: RangeChange,
}

impl Default for MossParams {
    fn default() -> Self {
        Self { scale: 1.0, ties: Ties::Lowest, range_change: RangeChange::Keep }
    }
}

/// MOSS.
pub type Moss = IndexBase<MossParams>;

impl MossParams {
    /// The base for the world of `setup`, with range 1.
    ///
    /// # Errors
    /// A parameter is out of bounds, or there are no arms.
    pub fn check(self, setup: &Setup) -> Result<Moss, BaseError> {
        let actions = arm_count(setup)?;
        non_negative("scale", self.scale)?;
        keep_or_restart(self.range_change)?;
        Ok(IndexBase::new(self, actions, Clock::new(setup)))
    }
}

impl Rule for MossParams {
    const NAME: &'static str = "moss";

    fn index(&self, tally: &Tally, moment: &Moment) -> f64 {
        if tally.count == 0.0 {
            return f64::NEG_INFINITY;
        }
        // mean - sqrt(2 max(0, ln(T/(K n)))/n); anytime: the losses seen stand for T   docs/bases.md#index-bases
        let horizon = moment.horizon.unwrap_or(1.0 + moment.seen);
        let log = (horizon / (moment.actions * tally.count)).ln().max(0.0);
        tally.mean - self.scale * (2.0 * log / tally.count).sqrt()
    }

    fn ties(&self) -> Ties {
        self.ties
    }

    fn range_change(&self) -> RangeChange {
        self.range_change
    }
}
