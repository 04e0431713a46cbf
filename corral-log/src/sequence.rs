//! Intervals that are valid at any time.

use serde::Serialize;

use crate::{Betting, MixtureBernstein};

/// Whether what is estimated stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// The policy does not change, and neither does the environment.
    Still,
    /// The policy learns, or the environment changes.
    Moves,
}

/// An interval for the mean of a quantity Z >= -floor with mean at most 1, from two lower bounds: that of Z and that of what
/// has the mean opposite to it.
#[derive(Debug, Clone)]
pub struct Sequence {
    floor: f64,
    top: f64,
    sides: Sides,
}

#[derive(Debug, Clone)]
enum Sides {
    Still([Betting; 2]),
    Moves([MixtureBernstein; 2]),
}

impl Sequence {
    /// For a value in [0, 1]: the two quantities are w r and w (1 - r), whose means are V and 1 - V.
    pub fn value(motion: Motion) -> Self {
        Self::new(motion, 0.0, 1.0)
    }

    /// For a difference in [-1, 1]: the two quantities have means D and -D and are at least -1.
    pub fn difference(motion: Motion) -> Self {
        Self::new(motion, 1.0, 0.0)
    }

    /// For a value in [0, 1], from two quantities that are at least -`floor`, with means V and 1 - V.
    pub fn above(motion: Motion, floor: f64) -> Self {
        Self::new(motion, floor, 1.0)
    }

    /// The mean of the second quantity is `top` less that of the first.
    fn new(motion: Motion, floor: f64, top: f64) -> Self {
        let sides = match motion {
            Motion::Still => Sides::Still(Default::default()),
            Motion::Moves => Sides::Moves(Default::default()),
        };
        Self { floor, top, sides }
    }

    /// Adds both quantities of a round.
    pub fn add(&mut self, first: f64, second: f64) {
        // (Z + floor)/(1 + floor) is not negative, and its mean is in [0, 1].
        let unit = |z: f64| ((z + self.floor) / (1.0 + self.floor)).max(0.0);
        let (first, second) = (unit(first), unit(second));
        match &mut self.sides {
            Sides::Still([low, high]) => {
                low.add(first);
                high.add(second);
            }
            Sides::Moves([low, high]) => {
                low.add(first);
                high.add(second);
            }
        }
    }

    /// The interval that misses with probability at most `alpha`, at any time.
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let [low, high] = match &self.sides {
            Sides::Still(sides) => sides.each_ref().map(|s| s.lower(alpha / 2.0)),
            Sides::Moves(sides) => sides.each_ref().map(|s| s.lower(alpha / 2.0)),
        }
        .map(|unit| unit * (1.0 + self.floor) - self.floor);
        // A value is in [0, 1], a difference in [-1, 1].
        (low.max(self.top - 1.0), (self.top - high).min(1.0))
    }
}
