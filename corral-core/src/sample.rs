//! Drawing from a generator that the caller owns.

use rand_core::Rng;

/// The next number of the SplitMix64 generator (Steele, Lea, Flood 2014) in `state`.
#[inline]
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

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
    // Blocks first: among many, subtracting one by one is a long wait.
    let (blocks, _) = weights.as_chunks::<8>();
    let mut from = 0;
    for w in blocks {
        let sum = ((w[0] + w[4]) + (w[2] + w[6])) + ((w[1] + w[5]) + (w[3] + w[7]));
        if left < sum {
            break;
        }
        left -= sum;
        from += w.len();
    }
    for (i, &w) in weights.iter().enumerate().skip(from) {
        if left < w {
            return Some(i);
        }
        left -= w;
    }
    weights.iter().rposition(|w| *w > 0.0)
}

/// A standard normal number from exactly two uniform ones (Box and Muller 1958), so that the number of any index is known by itself;
/// `libm`, so that it is the same on every platform. Samplers that reject have neither.
#[inline]
pub fn box_muller(u: f64, v: f64) -> f64 {
    // 1 - u is in (0, 1], so the logarithm is finite.
    libm::sqrt(-2.0 * libm::log(1.0 - u)) * libm::cos(std::f64::consts::TAU * v)
}

/// A standard normal number (Marsaglia's polar method; the second number of a pair is thrown away, so that nothing is
/// remembered between calls). docs/why.md#why-are-there-three-normal-samplers says who takes another.
pub fn normal(rng: &mut (impl Rng + ?Sized)) -> f64 {
    loop {
        let (u, v) = (2.0 * uniform(rng) - 1.0, 2.0 * uniform(rng) - 1.0);
        let s = u * u + v * v;
        if s > 0.0 && s < 1.0 {
            return u * (-2.0 * s.ln() / s).sqrt();
        }
    }
}

/// The logarithm of a Gamma(shape, 1) number, shape > 0 (Marsaglia and Tsang 2000). The logarithm, because for small
/// shapes the number itself underflows.
fn ln_gamma_draw(shape: f64, rng: &mut (impl Rng + ?Sized)) -> f64 {
    if shape < 1.0 {
        // G(a) = G(a + 1) U^(1/a)
        let boost = (1.0 - uniform(rng)).ln() / shape;
        return ln_gamma_draw(shape + 1.0, rng) + boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        // Accept when ln U < x^2/2 + d - d v + d ln v; a NaN (v <= 0) is not accepted.
        if v > 0.0 && (1.0 - uniform(rng)).ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
            return (d * v).ln();
        }
    }
}

/// A Beta(a, b) number, a, b > 0, in [0, 1]; NaN for parameters that are not positive.
pub fn beta(a: f64, b: f64, rng: &mut (impl Rng + ?Sized)) -> f64 {
    if !(a > 0.0 && b > 0.0) {
        return f64::NAN;
    }
    // X/(X + Y) of two gammas, by their logarithms.
    let (x, y) = (ln_gamma_draw(a, rng), ln_gamma_draw(b, rng));
    1.0 / (1.0 + (y - x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    /// The index where the sum of the weights up to it passes u, whatever blocks there are, and never one without weight.
    #[test]
    fn an_index_is_where_the_sum_passes() {
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        for n in 1..40 {
            let weight = |i: usize| if i % 3 == 1 { 0.0 } else { (i * 7 % 5) as f64 };
            let weights: Vec<f64> = (0..n).map(weight).collect();
            let total: f64 = weights.iter().sum();
            for _ in 0..200 {
                let u = uniform(&mut rng.clone()) * total;
                let sums = weights.iter().scan(0.0, |sum, w| {
                    *sum += w;
                    Some(*sum)
                });
                let expected = sums.into_iter().position(|sum| u < sum);
                assert_eq!(sample_index(&weights, total, &mut rng), expected, "{u} of {weights:?}");
            }
        }
    }
}
