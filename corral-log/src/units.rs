//! The units of a log.

use crate::{Header, Scale};

/// Whether two bounds contradict each other, by more than rounding does: probabilities of single precision are wrong by 1e-7.
pub(crate) fn contradict(low: f64, high: f64) -> bool {
    low > high + 1e-6
}

/// From rewards in [0, 1] to the units of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Units(pub Scale);

impl Units {
    /// The units of a log; rewards in [0, 1] where it does not say.
    pub fn of(header: &Header) -> Self {
        Self(header.scale.unwrap_or(Scale::rewards(0.0, 1.0)))
    }

    pub fn value(self, v: f64) -> f64 {
        let Scale { low, high, rewards, .. } = self.0;
        low + (high - low) * if rewards { v } else { 1.0 - v }
    }

    pub fn difference(self, d: f64) -> f64 {
        (self.0.high - self.0.low) * if self.0.rewards { d } else { -d }
    }

    /// An interval, whose ends change places where losses are meant. One that is empty, as its bounds contradict each other, is none.
    pub fn interval(self, low: f64, high: f64, of: fn(Self, f64) -> f64) -> (f64, f64) {
        if contradict(low, high) {
            return (f64::NAN, f64::NAN);
        }
        let (a, b) = (of(self, low), of(self, high));
        (a.min(b), a.max(b))
    }
}
