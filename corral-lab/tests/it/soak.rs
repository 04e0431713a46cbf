//! Ten million rounds: the sum of p is restored by every step and never drifts, though nothing renormalises it.

use corral_core::{Corral, CorralParams, Credit, Horizon, Master, Rate};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// Twenty times as many rounds, where time is taken for them.
fn long(rounds: u64) -> u64 {
    if std::env::var_os("CORRAL_SLOW").is_some() { 20 * rounds } else { rounds }
}

/// The largest |sum p - 1| seen, looked at every 64th round and at the end.
fn soak(bases: usize, rounds: u64, rate: Rate) -> f64 {
    let params = CorralParams { rate, ..CorralParams::new(bases, Horizon::Known(rounds)) };
    let mut corral = Corral::new(params).expect("parameters are valid");
    let mut rng = Pcg64Dxsm::seed_from_u64(bases as u64);
    let mut worst = 0.0f64;
    for t in 1..=rounds {
        let base = corral.draw(&mut rng).0;
        let weight = 1.0 / corral.probabilities()[base];
        // The best base changes half-way.
        let best = if t < rounds / 2 { 0 } else { bases - 1 };
        let loss = if base == best { 0.3 } else { 1.0 };
        corral.update(loss, Credit::Chosen { base, weight }).expect("the credit is valid");
        if t % 64 == 0 || t == rounds {
            worst = worst.max((corral.distribution().iter().sum::<f64>() - 1.0).abs());
        }
    }
    worst
}

#[test]
fn ten_million_rounds_of_five_bases() {
    let worst = soak(5, long(10_000_000), Rate::Balanced);
    assert!(worst <= 1e-12, "{worst:e}");
}

#[test]
fn ten_million_rounds_of_two_bases() {
    let worst = soak(2, long(10_000_000), Rate::Fast);
    assert!(worst <= 1e-12, "{worst:e}");
}

#[test]
fn a_million_rounds_of_forty_bases() {
    let worst = soak(40, long(1_000_000), Rate::Eager);
    assert!(worst <= 1e-12, "{worst:e}");
}
