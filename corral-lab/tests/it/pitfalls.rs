//! The figures of `docs/pitfalls.md` that no spec can give.

use corral_core::uniform;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const ROUNDS: u64 = 5_000;
const RANGE: f64 = 32.0;
const GAP: f64 = 0.3;

/// UCB1 over two arms, the second better by the gap, seen with probability 1/range; the regret of its proposals. Lazy:
/// it learns the observed loss. Else it takes loss * weight for an ordinary loss, 0 where nothing was seen.
fn ucb1(lazy: bool, seed: u64) -> f64 {
    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
    let (mut count, mut sum, mut regret) = ([0.0f64; 2], [0.0f64; 2], 0.0);
    let log = (ROUNDS as f64).ln();
    for _ in 0..ROUNDS {
        let index = |arm: usize| match count[arm] {
            0.0 => f64::NEG_INFINITY,
            n => sum[arm] / n - (2.0 * log / n).sqrt(),
        };
        let arm = usize::from(index(1) < index(0));
        let mean = 0.5 - if arm == 1 { GAP } else { 0.0 };
        regret += if arm == 1 { 0.0 } else { GAP };
        let loss = f64::from(uniform(&mut rng) < mean);
        let seen = uniform(&mut rng) < 1.0 / RANGE;
        if seen || !lazy {
            count[arm] += 1.0;
            sum[arm] += loss
                * if lazy {
                    1.0
                } else if seen {
                    RANGE
                } else {
                    0.0
                };
        }
    }
    regret
}

// docs/pitfalls.md#weighted-losses-in-a-confidence-bound
#[test]
fn a_confidence_bound_fed_with_weighted_losses_locks_on_the_wrong_arm() {
    let regrets = |lazy| {
        let mut all: Vec<f64> = (0..400).map(|seed| ucb1(lazy, seed)).collect();
        all.sort_by(f64::total_cmp);
        let worst = GAP * ROUNDS as f64;
        let locked = all.iter().filter(|r| **r > 0.5 * worst).count();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        println!(
            "lazy {lazy}: mean {mean:.0}, median {:.0}, max {:.0} of {worst:.0}, locked {locked} of {}",
            all[all.len() / 2],
            all[all.len() - 1],
            all.len()
        );
        (locked, all[all.len() / 2], all[all.len() - 1])
    };
    let (weighted, lazy) = (regrets(false), regrets(true));
    // Seeds are fixed, so that nothing here is left to chance.
    assert!(weighted.0 >= 4 && lazy.0 == 0, "{weighted:?} {lazy:?}");
    // The median of the wrong one looks better: only means and maxima show it.
    assert!(weighted.1 < lazy.1 && weighted.2 > 1.5 * lazy.2, "{weighted:?} {lazy:?}");
}
