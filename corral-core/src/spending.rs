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
}
