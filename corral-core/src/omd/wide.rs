//! A number of twice the digits.

/// The sum of two numbers, the second below half a unit in the last place of the first. Places and the level grow for ever, and
/// only their differences matter; a frame is moved by what is far smaller than it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Wide(pub f64, pub f64);

impl Wide {
    /// The sum with `x`, which keeps what rounding takes away (Knuth's two-sum).
    #[inline]
    pub fn plus(self, x: f64) -> Self {
        let (high, lost) = two_sum(self.0, x);
        let (high, low) = two_sum(high, lost + self.1);
        Self(high, low)
    }

    /// The difference, exact but for its own last place.
    #[inline]
    pub fn minus(self, other: Self) -> f64 {
        (self.0 - other.0) + (self.1 - other.1)
    }
}

#[inline]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_number_keeps_what_a_long_sum_adds() {
        let mut level = Wide(1e9, 0.0);
        for _ in 0..1_000_000 {
            level = level.plus(0.1);
        }
        let expected = Wide(1e9, 0.0).plus(1e5);
        assert!((level.minus(expected) - 1_000_000.0 * 5.551115123125783e-18).abs() < 1e-15);
    }
}
