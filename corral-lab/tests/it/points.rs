//! Regret of the bases over points: reference figures, growth in T, and weak stability under E'.
//!
//! Figures are pseudo-regrets of the proposals, evaluated with mean losses. The reference values come from prototypes
//! with generators of their own, so that they are compared statistically: 4 combined standard errors, a false-positive
//! rate below 1e-4 per row. Seeds are fixed.

use crate::harness::{mean_and_error, regret};

/// Mean and standard error of the regret over `seeds` runs.
fn runs(env: (&str, &str), induced: Option<&str>, base: (&str, &str), rounds: u64, seeds: u64) -> (f64, f64) {
    let all: Vec<f64> = (0..seeds).map(|s| regret(env, induced, base, rounds, 1000 + s).base).collect();
    mean_and_error(&all)
}

const SEEDS: u64 = 60;
const LINEAR: (&str, &str) = ("reference-ball", "dim = 2");
const LIPSCHITZ: (&str, &str) = ("reference-ball", "dim = 2\nloss = 'lipschitz'");
const SIMPLEX: (&str, &str) = ("reference-simplex", "arms = 3");
const SCRIBLE: (&str, &str) = ("scrible", "");
const BGD: (&str, &str) = ("bgd", "lipschitz = 0.5");

#[test]
fn reference_regrets_at_5000_rounds() {
    for (env, base, reference, reference_se) in [
        (LINEAR, SCRIBLE, 236.3, 2.2),
        (LINEAR, BGD, 867.3, 23.6),
        (LIPSCHITZ, BGD, 236.1, 5.5),
        (SIMPLEX, SCRIBLE, 272.2, 3.9),
    ] {
        let (mean, se) = runs(env, None, base, 5000, SEEDS);
        let bound = 4.0 * (se * se + f64::powi(reference_se, 2)).sqrt();
        println!("{} in {} {}: {mean:.1} +- {se:.1}, reference {reference}", base.0, env.0, env.1);
        assert!((mean - reference).abs() <= bound, "{base:?} in {env:?}: {mean} +- {se} against {reference}");
    }
}

/// The local exponent from T = 5000 to 20000 is within 0.1 of the reference.
#[test]
fn regret_grows_as_in_the_reference() {
    for (env, base, exponent) in
        [(LINEAR, SCRIBLE, 0.58), (SIMPLEX, SCRIBLE, 0.64), (LINEAR, BGD, 0.79), (LIPSCHITZ, BGD, 0.70)]
    {
        let (short, _) = runs(env, None, base, 5000, 40);
        let (long, _) = runs(env, None, base, 20_000, 40);
        let measured = (long / short).ln() / 4f64.ln();
        println!("{} in {} {}: exponent {measured:.3}, reference {exponent}", base.0, env.0, env.1);
        assert!((measured - exponent).abs() <= 0.1, "{base:?} in {env:?}: {measured} against {exponent}");
    }
}

/// mean + 2 s.e. <= C rho^alpha R(T) for every schedule, with the constants of the bounds: SCRiBLe 2 d sqrt(2 nu T ln T), BGD
/// 2 sqrt(3 d (L + 1)) T^{3/4}.
#[test]
fn regret_under_the_induced_environment_is_within_the_bound() {
    let rounds = 5000u64;
    let t = rounds as f64;
    let scrible = 2.0 * 2.0 * (2.0 * t * t.ln()).sqrt();
    let bgd = 2.0 * (3.0 * 2.0 * 1.5f64).sqrt() * t.powf(0.75);
    for rho in [2.0, 8.0, 32.0] {
        for schedule in ["constant", "decay", "half", "staircase", "bursts"] {
            let induced = format!("schedule = '{schedule}'\nrange = {rho}");
            for (env, base, alpha, bound) in
                [(LINEAR, SCRIBLE, 0.5, scrible), (LINEAR, BGD, 0.25, bgd), (LIPSCHITZ, BGD, 0.25, bgd)]
            {
                let (mean, se) = runs(env, Some(&induced), base, rounds, 12);
                let most = f64::powf(rho, alpha) * bound;
                println!(
                    "{} in {} under {schedule} {rho}: {mean:.0} +- {se:.0}, bound {most:.0}",
                    base.0, env.1
                );
                assert!(
                    mean + 2.0 * se <= most,
                    "{base:?} in {env:?} under {induced}: {mean} +- {se} > {most}"
                );
            }
        }
    }
}
