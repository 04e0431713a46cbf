//! What a band with a budget has spent.

use serde::{Deserialize, Serialize};

/// What a band with a budget has spent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    /// What a decision may cost on average.
    pub per_round: f64,
    /// Decisions whose cost is known.
    pub rounds: u64,
    /// Their mean cost; 0 before the first.
    pub mean: f64,
    /// Decisions whose cost is not known, or not yet.
    #[serde(default)]
    pub unknown: u64,
    /// The mean cost of all decisions, with those whose cost is not known at what their action costs on average: what the budget is held
    /// against.
    #[serde(default)]
    pub expected: f64,
}
