//! The distribution function of a standard normal number.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};
use std::sync::LazyLock;

/// Beyond this it is 0 or 1, as far as digits go.
const END: f64 = 8.5;
/// Points of the table per unit.
const DENSE: f64 = 32.0;
const THIRD: f64 = 1.0 / 3.0;

/// Phi and its density at -END, -END + 1/DENSE, ..
static TABLE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
    let at = |i: u32| f64::from(i) / DENSE - END;
    let both = |z: f64| (0.5 * libm::erfc(-z * FRAC_1_SQRT_2), (-0.5 * z * z).exp() / TAU.sqrt());
    (0..=(2.0 * END * DENSE) as u32).map(|i| both(at(i))).collect()
});

/// Phi(z), to 1e-13: five terms of Taylor's series around the nearest point of a table.
#[inline]
pub(crate) fn phi(z: f64) -> f64 {
    if !(z.abs() < END) {
        // Written so that NaN stays one.
        return if z.is_nan() { z } else { f64::from(z > 0.0) };
    }
    let near = ((z + END) * DENSE + 0.5) as usize;
    let (value, density) = TABLE[near];
    let at = near as f64 / DENSE - END;
    let (d, square) = (z - at, at * at);
    // phi'/phi = -z, and so on: Hermite's polynomials
    let fifth = 0.2 * d * (square * (square - 6.0) + 3.0);
    let fourth = 0.25 * d * (at * (3.0 - square) + fifth);
    let third = THIRD * d * (square - 1.0 + fourth);
    value + density * d * (1.0 + 0.5 * d * (third - at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_error_function() {
        for i in -100_000..=100_000 {
            let z = f64::from(i) * 9.1e-5;
            let known = 0.5 * libm::erfc(-z * FRAC_1_SQRT_2);
            assert!((phi(z) - known).abs() < 1e-13, "{z}: {} and {known}", phi(z));
        }
        assert_eq!((phi(f64::NEG_INFINITY), phi(f64::INFINITY)), (0.0, 1.0));
        assert!(phi(f64::NAN).is_nan());
    }
}
