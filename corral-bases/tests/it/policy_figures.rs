//! Bases over policies against the reference figures of independent prototypes: T = 5000, range 1, the tabular
//! contextual instance with 8 contexts, 3 actions and 64 policies.
//!
//! The prototypes ran 100 seeds (BISTRO+ 12); here it is 50 and 12. A mean passes within 4 combined standard errors. With 12 rows, two-sided, the chance of a false alarm is 12 * 6.4e-5
//! = 8e-4 for a correct program; seeds are fixed.

use crate::common::Scene;

const ROUNDS: u64 = 5000;
const K: f64 = 3.0;
const T: f64 = ROUNDS as f64;
/// ln 64.
const LN_SIZE: f64 = 6.0 * std::f64::consts::LN_2;

fn scene(variant: &str, around: String) -> Scene {
    let params = format!("variant = {variant:?}");
    Scene { world: "reference-contextual", params, rounds: ROUNDS, around }
}

/// One row of the figures: stochastic and hybrid, mean and s.e. each.
fn row(name: &str, params: &str, seeds: u64, figures: [(f64, f64); 2]) {
    for (variant, (reference, se)) in ["stochastic", "hybrid"].into_iter().zip(figures) {
        scene(variant, String::new()).compare(name, params, seeds, reference, se);
    }
}

#[test]
fn exp4() {
    row("exp4", "", 50, [(207.0, 1.6), (191.6, 8.7)]);
}

#[test]
fn epoch_greedy_first() {
    row("epoch-greedy", "", 50, [(361.1, 0.6), (775.5, 1.4)]);
}

#[test]
fn epoch_greedy_epochs() {
    row("epoch-greedy", "variant = \"epochs\"", 50, [(257.5, 2.4), (421.2, 9.7)]);
}

#[test]
fn iltcb_theory() {
    row("iltcb", "preset = \"theory\"", 50, [(625.6, 2.5), (573.1, 1.7)]);
}

#[test]
fn iltcb_practical() {
    row("iltcb", "", 50, [(169.5, 4.1), (283.4, 4.0)]);
}

#[test]
fn bistro_leader() {
    row("bistro", "", 12, [(769.9, 10.0), (644.9, 14.2)]);
}

/// Stability under E' on the planted stochastic instance: mean + 2 s.e. <= C range^alpha R(T), for three schedules. At
/// range 4 all right sides are below the 1000 of uniform play.
fn stable(name: &str, params: &str, seeds: u64, alpha: f64, bound: f64) {
    for range in [4.0, 16.0] {
        for schedule in ["constant", "starve-good", "starve-bad"] {
            let around = format!("schedule = {schedule:?}\nrange = {range:?}");
            let (mean, se) = scene("stochastic", around).regrets(name, params, seeds);
            let most = f64::powf(range, alpha) * bound;
            println!("{name} {params} range {range} {schedule}: {mean:.1} +- {se:.1}, at most {most:.0}");
            assert!(
                mean + 2.0 * se <= most,
                "{name} {params} {range} {schedule}: {mean} +- {se}, above {most}"
            );
        }
    }
}

#[test]
fn exp4_is_stable() {
    // C = 1: sqrt(2 rho K T ln N)
    stable("exp4", "", 20, 0.5, (2.0 * K * T * LN_SIZE).sqrt());
}

#[test]
fn epoch_greedy_is_stable() {
    // T0 = rho^(1/3) T^(2/3) sqrt(K ln(T N)) uniform rounds cost 0.2 each; C = 1/4 leaves a quarter of that for errors.
    let ln = T.ln() + LN_SIZE;
    stable("epoch-greedy", "", 20, 1.0 / 3.0, 0.25 * T.powf(2.0 / 3.0) * (K * ln).sqrt());
    // C = 1/2: (rho K ln(T N))^(1/3) T^(2/3)/2
    stable("epoch-greedy", "variant = \"epochs\"", 20, 1.0 / 3.0, 0.5 * T.powf(2.0 / 3.0) * (K * ln).cbrt());
}

#[test]
fn iltcb_is_stable() {
    // C = 1: sqrt(rho K T ln N)
    stable("iltcb", "", 20, 0.5, (K * T * LN_SIZE).sqrt());
}

#[test]
fn bistro_is_stable() {
    // kappa = 1/8, C = 1/2: (K T)^(2/3) (rho ln N)^(1/3)/2
    stable("bistro", "kappa = 0.125", 8, 1.0 / 3.0, 0.5 * (K * T).powf(2.0 / 3.0) * LN_SIZE.cbrt());
}
