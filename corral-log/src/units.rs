//! The units of a log.

use crate::{Header, Scale};

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

    /// An interval, whose ends change places where losses are meant. One that is empty, as its bounds contradict each other, is none;
    /// NaN is none.
    pub fn interval(self, low: f64, high: f64, of: fn(Self, f64) -> f64) -> (f64, f64) {
        match (low <= high, self.0.rewards) {
            (false, _) => (f64::NAN, f64::NAN),
            (true, true) => (of(self, low), of(self, high)),
            (true, false) => (of(self, high), of(self, low)),
        }
    }
}
