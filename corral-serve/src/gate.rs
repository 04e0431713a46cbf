//! Who gets the default action: a share that is held out, and as many as the gate asks for.
//!
//! The gate keeps the worst that the band can have cost, compared to the default action, below a share of all decisions: with
//! n_b and n_d rewards of the band and of the default, U_b an upper bound for the band's mean loss and L_d a lower bound for the
//! default's, the band decides while n_b max(0, U_b - L_d) + 1 <= budget (n_b + n_d + 1). (The budget is that of
//! conservative bandits: Wu, Shariff, Lattimore, Szepesvari 2016.) The bounds hold at all times at once, also for a band that
//! learns: |sum of losses - sum of their conditional means| <= sqrt((n/4 + r) ln((n/4 + r)/(r a^2))) with probability 1 - a
//! (Robbins 1970; a loss in [0, 1] is 1/4-sub-Gaussian, by Hoeffding).

use crate::state::{Counts, Sum};

/// With which probability one of the two bounds may ever be wrong.
const ALPHA: f64 = 0.025;
/// Where the bound is tightest: at about a hundred rewards.
const MIXING: f64 = 25.0;

/// The half width of the interval around the mean of `count` losses.
pub(crate) fn width(count: u64) -> f64 {
    if count == 0 {
        return 1.0;
    }
    let variance = count as f64 / 4.0 + MIXING;
    ((variance * (variance / (MIXING * ALPHA * ALPHA)).ln()).sqrt() / count as f64).min(1.0)
}

fn bounds(sum: &Sum) -> (f64, f64) {
    let (mean, width) = (sum.mean().unwrap_or(0.5), width(sum.count));
    ((mean - width).max(0.0), (mean + width).min(1.0))
}

/// Whether the band may decide once more.
pub(crate) fn allows(counts: &Counts, budget: f64) -> bool {
    let (band, default) = (counts.band.count as f64, counts.default.count as f64);
    let worst = band * (bounds(&counts.band).1 - bounds(&counts.default).0).max(0.0);
    worst + 1.0 <= budget * (band + default + 1.0)
}

/// What is known of the difference between the band's mean reward and the default's, as a share of the reward's range: the
/// mean, and an interval that holds at all times at once with probability 95 %.
pub(crate) fn lift(counts: &Counts) -> Option<(f64, f64, f64)> {
    let mean = counts.default.mean()? - counts.band.mean()?;
    let width = width(counts.band.count) + width(counts.default.count);
    Some((mean, (mean - width).max(-1.0), (mean + width).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(count: u64, mean: f64) -> Sum {
        Sum { count, sum: count as f64 * mean, squares: count as f64 * mean * mean }
    }

    /// Plays a gate whose band has this mean loss against a default of 0.5; the share of the last half that the band had.
    fn play(band: f64, budget: f64, rounds: u64) -> (f64, f64) {
        let mut counts = Counts::default();
        let mut late = 0;
        for round in 0..rounds {
            // One in twenty is held out.
            if round % 20 != 0 && allows(&counts, budget) {
                counts.band = sum(counts.band.count + 1, band);
                late += u64::from(round >= rounds / 2);
            } else {
                counts.default = sum(counts.default.count + 1, 0.5);
            }
        }
        (2.0 * late as f64 / rounds as f64, counts.band.count as f64 * (band - 0.5) / rounds as f64)
    }

    #[test]
    fn a_band_that_is_not_worse_gets_its_traffic_and_a_bad_one_stays_within_the_budget() {
        let (better, _) = play(0.3, 0.05, 100_000);
        let (equal, _) = play(0.5, 0.05, 100_000);
        assert!(better > 0.94 && equal > 0.9, "{better} {equal}");
        let (share, cost) = play(0.9, 0.05, 100_000);
        assert!(share < 0.2 && cost <= 0.05, "{share} of the traffic at a cost of {cost}");
        assert!(!allows(&Counts::default(), 0.05), "nothing is known yet");
    }

    #[test]
    fn the_interval_shrinks_and_is_never_wider_than_the_range() {
        assert_eq!((width(0), width(1)), (1.0, 1.0));
        assert!(width(100) < 0.5 && width(10_000) < 0.025 && width(1_000_000) < 0.003, "{}", width(10_000));
    }
}
