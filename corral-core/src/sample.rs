//! Drawing from a generator that the caller owns.

use rand_core::Rng;

/// A number uniform in [0, 1) with 53 random bits: one `next_u64`.
#[inline]
pub fn uniform(rng: &mut (impl Rng + ?Sized)) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Draws an index with probability proportional to `weights` (non-negative, summing to `total`): inverse CDF, whose
/// fall-through by rounding goes to the last index of positive weight. `None` when no weight is positive.
#[inline]
pub fn sample_index(weights: &[f64], total: f64, rng: &mut (impl Rng + ?Sized)) -> Option<usize> {
    let mut left = uniform(rng) * total;
    let mut last = None;
    for (i, &w) in weights.iter().enumerate() {
        if w > 0.0 {
            if left < w {
                return Some(i);
            }
            left -= w;
            last = Some(i);
        }
    }
    last
}
