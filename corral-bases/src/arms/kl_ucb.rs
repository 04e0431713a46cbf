//! KL-UCB for losses: the confidence interval of a Bernoulli mean by its relative entropy.
//!
//! Garivier, Cappe 2011. Asymptotically optimal for Bernoulli losses, valid for any losses in [0, 1]. Lazy; weakly
//! stable with alpha = 1/2 in the worst case (docs/stability.md#lazy-bases).

use corral_core::relative_entropy;

use super::prelude::*;

base! {
    /// The arm with the lowest confidence bound by the relative entropy of Bernoulli losses.
    "kl-ucb": pub type KlUcb = IndexBase<KlUcbParams>;
    sqrt_bound |world| (world.k * world.t.ln()).sqrt();
    params {
        /// Multiplies the threshold ln T.
        scale: f64 = 1.0, Bounds::NON_NEGATIVE;
        /// The threshold is ln T + c ln ln T; 3 in theory, 0 in practice.
        c: f64 = 0.0, Bounds::NON_NEGATIVE;
    } with lowest_ties, lazy
}

impl Index for KlUcbParams {
    fn index(&self, tally: &ArmStats, moment: &Moment) -> f64 {
        if tally.count == 0.0 {
            return f64::NEG_INFINITY;
        }
        let log = moment.horizon.unwrap_or(1.0 + moment.seen).ln();
        // ln T + c ln ln T   docs/bases.md#index-bases
        let threshold = self.scale * (log + self.c * log.max(1.0).ln());
        lower_bound(tally.mean, threshold / tally.count)
    }
}

/// min { q in [0, mean] : kl(mean, q) <= level }.
///
/// kl(mean, .) is convex and falls on (0, mean), so that Newton from the left of the root rises to it and never
/// passes it. Two starts are known to be on the left: by Pinsker, mean - sqrt(level/2), and by leaving out
/// -(1 - mean) ln(1 - q) >= 0.
fn lower_bound(mean: f64, level: f64) -> f64 {
    let mean = mean.clamp(0.0, 1.0);
    if mean == 0.0 || level <= 0.0 {
        return mean;
    }
    if mean == 1.0 {
        return (-level).exp();
    }
    let rest = (1.0 - mean) * (1.0 - mean).ln();
    let mut q = (mean - (0.5 * level).sqrt()).max(mean * (-(level - rest) / mean).exp());
    if q <= 0.0 {
        return 0.0; // the root is below the smallest number
    }
    for _ in 0..100 {
        let off = relative_entropy(mean, q) - level;
        if off <= 1e-12 * level {
            break;
        }
        // d kl/d q = (q - mean)/(q (1 - q))
        let next = q + off * q * (1.0 - q) / (mean - q);
        if !(next > q && next < mean) {
            break;
        }
        q = next;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_index_solves_its_equation(count in 1.0..100_000f64, mean in 0.0..=1.0f64, horizon in 2.0..1e8f64) {
            let count = count.floor();
            let mean = (mean * count).round() / count;
            let threshold = f64::ln(horizon);
            let q = lower_bound(mean, threshold / count);
            prop_assert!((0.0..=mean).contains(&q));
            if mean > 0.0 && q > 1e-290 {
                // n kl(m, q) = ln T. The digits of q itself allow n m 2^-52, well below the tolerance.
                let direct = mean * (mean / q).ln()
                    + if mean < 1.0 { (1.0 - mean) * ((1.0 - mean) / (1.0 - q)).ln() } else { 0.0 };
                prop_assert!((count * direct - threshold).abs() <= 1e-9, "n kl = {}, ln T = {threshold}", count * direct);
            }
        }
    }

    #[test]
    fn the_ends_have_closed_forms() {
        assert_eq!(lower_bound(0.0, 0.3), 0.0);
        assert_eq!(lower_bound(1.0, 2.0), (-2f64).exp());
        assert_eq!(lower_bound(0.4, 0.0), 0.4);
        assert!(lower_bound(1e-3, 700.0) >= 0.0);
    }

    #[test]
    fn it_is_tighter_than_hoeffding() {
        for mean in [0.05, 0.3, 0.5, 0.9] {
            for level in [1e-4, 0.01, 0.3] {
                assert!(lower_bound(mean, level) >= mean - (level / 2.0).sqrt());
            }
        }
    }
}
