//! What a master has its bases do beside proposing and learning.

use serde::{Deserialize, Serialize};

use crate::BaseError;

/// What a base is told about the weights to come and the rounds that are left. Two different things can happen, and each
/// is a variant.
///
/// ```
/// use corral_core::Order;
/// let order = Order::Widen { range: 8.0, remaining: Some(500) };
/// assert_eq!((order.range(), order.remaining()), (8.0, Some(500)));
/// assert!(Order::Widen { range: 0.5, remaining: None }.check().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// From now on weights are at most `range`, and `remaining` rounds are left (`None`: not known). The base says by
    /// itself whether it starts over, re-tunes or keeps what it learned.
    Widen {
        /// The largest weight to come.
        range: f64,
        /// The rounds that are left, where that is known.
        remaining: Option<u64>,
    },
    /// Forget everything, and begin as a new base with this range and horizon.
    StartOver {
        /// The largest weight to come.
        range: f64,
        /// The rounds that are left, where that is known.
        remaining: Option<u64>,
    },
}

impl Order {
    /// To start `over`, or to widen.
    pub(crate) fn new(over: bool, range: f64, remaining: Option<u64>) -> Self {
        if over { Self::StartOver { range, remaining } } else { Self::Widen { range, remaining } }
    }

    /// The largest weight to come.
    pub fn range(self) -> f64 {
        match self {
            Self::Widen { range, .. } | Self::StartOver { range, .. } => range,
        }
    }

    /// The rounds that are left, where that is known.
    pub fn remaining(self) -> Option<u64> {
        match self {
            Self::Widen { remaining, .. } | Self::StartOver { remaining, .. } => remaining,
        }
    }

    /// Whether everything is to be forgotten.
    pub fn starts_over(self) -> bool {
        matches!(self, Self::StartOver { .. })
    }

    /// Passes the order on when its range is finite and at least 1.
    ///
    /// # Errors
    /// Names the range otherwise.
    pub fn check(self) -> Result<Self, BaseError> {
        BaseError::check_range(self.range()).map(|_| self)
    }
}
