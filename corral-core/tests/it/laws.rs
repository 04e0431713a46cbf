//! What holds for every step and every run of the master, as equalities where there are any; and the proof that the
//! checks can fail: seven wrong masters, each caught.

use corral_core::audit::{AuditedRound, Auditor, Check};
use corral_core::omd::{LogBarrier, Losses};
use corral_core::{Corral, CorralParams, Credit, Horizon, Master, Rate};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

/// h(1 + x) = x - ln(1 + x)
fn h(x: f64) -> f64 {
    x - x.ln_1p()
}

prop_compose! {
    /// A distribution with probabilities down to 1e-12, a rate per base, T, the base that was drawn and its loss.
    fn state()(m in 2usize..12)(
        logs in prop::collection::vec(-12.0f64..0.0, m),
        growth in prop::collection::vec(1.0f64..4.2, m),
        rate in -5.0f64..1.6,
        rounds in 2u64..10_000_000,
        drawn in 0..m,
        loss in prop_oneof![Just(1.0), 0.0f64..1.0],
    ) -> (Vec<f64>, Vec<f64>, u64, usize, f64) {
        let p: Vec<f64> = logs.iter().map(|l| 10f64.powf(*l)).collect();
        let sum: f64 = p.iter().sum();
        let rates = growth.iter().map(|g| g * 10f64.powf(rate)).collect();
        (p.iter().map(|p| p / sum).collect(), rates, rounds, drawn, loss)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The identity, the lemma, the order and the ratios of one step.
    #[test]
    fn one_step((p, rates, rounds, k, f) in state()) {
        let m = p.len();
        let gamma = 1.0 / rounds as f64;
        let mixed: Vec<f64> = p.iter().map(|p| (1.0 - gamma) * p + gamma / m as f64).collect();
        let loss = f / mixed[k];
        let inverse: Vec<f64> = p.iter().map(|p| 1.0 / p).collect();
        let mut barrier = LogBarrier::new(&inverse, &rates).unwrap();
        let info = barrier.step(Losses::OneHot { index: k, loss }).unwrap();
        let next = barrier.distribution();

        // <p_t - u, l_t> = D_t(u, p_t) - D_t(u, p_{t+1}) + D_t(p_t, p_{t+1}), for u that leans to each base in turn.
        for i in 0..m {
            let u = |j: usize| gamma / m as f64 + if j == i { 1.0 - gamma } else { 0.0 };
            let left = (p[k] - u(k)) * loss;
            let (mut right, mut scale) = (0.0, left.abs());
            for j in 0..m {
                let r = (p[j] - next[j]) / next[j];
                right += (r.ln_1p() - u(j) * r / p[j] + h(r)) / rates[j];
                scale += (1.0 + u(j) / p[j]) / rates[j];
            }
            prop_assert!((left - right).abs() <= 1e-12 * scale, "{left} {right} {scale}");
        }
        // D_t(p_t, p_{t+1}) <= sum_j h(1 + eta_j p_j l_j)/eta_j <= (1/2) sum_j eta_j p_j^2 l_j^2
        let moved: f64 = (0..m).map(|j| h((p[j] - next[j]) / next[j]) / rates[j]).sum();
        let x = rates[k] * p[k] * loss;
        let middle = h(x) / rates[k];
        prop_assert!(moved <= middle * (1.0 + 1e-9) + 1e-14 / rates[k], "{moved} {middle}");
        prop_assert!(middle <= 0.5 * x * x / rates[k] * (1.0 + 1e-9) + 1e-14 / rates[k]);
        // The chosen base falls, the others rise; nothing moves without a loss. The step also mends what rounding left of
        // sum p - 1, and leaves a residual of its own (docs/step.md, "What rounding may do to a step").
        let rounding = 0.5 * f64::EPSILON;
        let off = (p.iter().sum::<f64>() - 1.0).abs() + info.residual.abs() + 24.0 * rounding;
        let pushed = |j: usize| p[j] / if j == k { 1.0 + rates[k] * p[k] * loss } else { 1.0 };
        let slope: f64 = (0..m).map(|j| rates[j] * pushed(j) * pushed(j)).sum();
        let mended = |j: usize| 10.0 * rounding + off * rates[j] * p[j] / slope;
        for j in 0..m {
            if f == 0.0 {
                prop_assert_eq!(next[j], p[j]);
            } else if j == k {
                prop_assert!(next[j] <= p[j] * (1.0 + mended(j)));
            } else {
                prop_assert!(next[j] >= p[j] * (1.0 - mended(j)));
            }
            prop_assert!(next[j] > 0.0);
        }
        // 0 <= lambda <= min(l, mu)
        let weight = |j: usize| rates[j] * p[j] * p[j];
        let mu = weight(k) * loss / (0..m).map(weight).sum::<f64>();
        let slack = 1e-14 / rates.iter().zip(&p).map(|(e, p)| e * p).fold(0.0, f64::max);
        prop_assert!(info.lambda >= -slack && info.lambda <= loss.min(mu) * (1.0 + 1e-9) + slack, "{info:?} {mu}");
        prop_assert!((next.iter().sum::<f64>() - 1.0).abs() <= 4e-15);
        // <pbar_t, l_t> = f_t, and the growth of 1/pbar in one step
        prop_assert!((mixed[k] * loss - f).abs() <= 1e-15);
        let after = (1.0 - gamma) * next[k] + gamma / m as f64;
        let growth = 1.0 + rates[k] * f * p[k] / mixed[k];
        prop_assert!(1.0 / after <= growth / mixed[k] * (1.0 + 1e-12));
        prop_assert!(growth <= (1.0 + rates[k] / (1.0 - gamma)) * (1.0 + 1e-12));
        // stability: sum_j eta_j p_j^2 l_j^2 <= max eta/(1 - gamma)^2
        let most = rates.iter().copied().fold(0.0, f64::max);
        prop_assert!(weight(k) * loss * loss <= most / (1.0 - gamma).powi(2) * (1.0 + 1e-12));
    }

    /// Losses count up to a constant, whatever their sign.
    #[test]
    fn a_constant_moves_nothing((p, rates, _, k, f) in state(), shift in -50.0f64..50.0) {
        let inverse: Vec<f64> = p.iter().map(|p| 1.0 / p).collect();
        let mut losses = vec![0.0; p.len()];
        losses[k] = f / p[k].max(1e-6);
        let mut plain = LogBarrier::new(&inverse, &rates).unwrap();
        plain.step(Losses::Dense(&losses)).unwrap();
        losses.iter_mut().for_each(|l| *l += shift);
        let mut shifted = LogBarrier::new(&inverse, &rates).unwrap();
        shifted.step(Losses::Dense(&losses)).unwrap();
        // What the shift rounds away of a loss, a rate brings into w.
        for (j, (a, b)) in plain.distribution().iter().zip(shifted.distribution()).enumerate() {
            let lost = 1e-13 * (1.0 + rates[j] * (shift.abs() + losses[k].abs()));
            prop_assert!((a / b - 1.0).abs() <= lost, "{a} {b}");
        }
    }

    /// Whole runs, whoever is drawn: every check of the audit.
    #[test]
    fn whole_runs(
        m in 1usize..7,
        rounds in prop::sample::select(vec![1u64, 2, 3, 4, 5, 8, 16, 33, 64, 100, 300]),
        rate in -3.5f64..1.0,
        prior in prop::option::of(prop::collection::vec(0.01f64..1.0, 7)),
        draw in 0..4usize,
        kind in 0..3usize,
        sharing in prop::bool::weighted(0.3),
        seed: u64,
    ) {
        let params = CorralParams {
            rate: Rate::Fixed(10f64.powf(rate)),
            prior: prior.map(|p| p[..m].to_vec()),
            ..CorralParams::new(m, Horizon::Known(rounds))
        };
        for comparator in 0..m {
            let mut corral = Corral::new(params.clone()).unwrap();
            corral.start_audit(comparator).unwrap();
            let mut rng = Pcg64Dxsm::seed_from_u64(seed);
            for t in 0..rounds as usize {
                let mixed = corral.probabilities();
                let by = |i: &usize, j: &usize| mixed[*i].total_cmp(&mixed[*j]);
                let base = match draw {
                    0 => corral.draw(&mut rng).0,
                    1 => 0,
                    2 => t % m,
                    _ => (0..m).min_by(by).unwrap(),
                };
                let loss = match kind {
                    0 => 1.0,
                    1 => rng.random(),
                    _ => f64::from(u8::from(rng.random::<f64>() < (base as f64 + 1.0) / (m as f64 + 1.0))),
                };
                let same: Vec<bool> = (0..m).map(|i| i == base || sharing && rng.random()).collect();
                let total: f64 = (0..m).filter(|i| same[*i]).map(|i| mixed[i]).sum();
                let weights: Vec<f64> = same.iter().map(|s| if *s { 1.0 / total } else { 0.0 }).collect();
                let credit = if sharing {
                    Credit::Shared(&weights)
                } else {
                    Credit::Chosen { base, weight: weights[base] }
                };
                corral.update(loss, credit).unwrap();
                for i in 0..m {
                    prop_assert!(1.0 / corral.probabilities()[i] <= corral.ranges()[i] * (1.0 + 1e-15));
                }
            }
            let audit = corral.audit().unwrap();
            prop_assert_eq!(audit.failures(1e-11), vec![], "{:?}", audit);
            prop_assert_eq!(audit.rounds, rounds);
            prop_assert_eq!(audit.theorem.is_some(), m > 1 && rounds > 1);
        }
    }
}

/// A wrong master.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mutant {
    None,
    /// p is overwritten by pbar.
    Overwrite,
    /// Rates shrink by beta.
    Shrink,
    /// Gains are fed as losses.
    Gains,
    /// Ranges are cut to whole numbers.
    WholeRanges,
    /// lambda is rounded to four places.
    RoundLambda,
    /// Weights are 1/p instead of 1/pbar.
    PlainWeight,
    /// The step uses rates that are 5% too large.
    WrongRate,
}

/// Algorithm 1 written plainly, on top of the reference step, with one fault; and what the audit says.
fn run(mutant: Mutant) -> Vec<Check> {
    let (m, t, eta) = (4usize, 400u64, 0.1);
    let gamma = 1.0 / t as f64;
    let beta = (1.0 / (t as f64).ln()).exp();
    let mix = |p: &[f64]| p.iter().map(|p| (1.0 - gamma) * p + gamma / m as f64).collect::<Vec<f64>>();
    let mut p = vec![1.0 / m as f64; m];
    let mut mixed = mix(&p);
    let mut rates = vec![eta; m];
    let mut ranges = vec![2.0 * m as f64; m];
    let mut auditor = Auditor::new(t, 0, &p, eta, &ranges);
    let mut rng = Pcg64Dxsm::seed_from_u64(17);
    let mut changes = 0;
    for _ in 0..t {
        let base = corral_core::sample_index(&mixed, 1.0, &mut rng).unwrap();
        let f = f64::from(u8::from(rng.random::<f64>() < [0.02, 0.5, 0.9, 0.97][base]));
        // What should be learned.
        let mut losses = vec![0.0; m];
        losses[base] = f / mixed[base];
        // What is learned.
        let mut fed = losses.clone();
        match mutant {
            Mutant::Gains => fed[base] = (1.0 - f) / mixed[base],
            Mutant::PlainWeight => fed[base] = f / p[base],
            _ => {}
        }
        let off = if mutant == Mutant::WrongRate { 1.05 } else { 1.0 };
        let used: Vec<f64> = rates.iter().map(|r| r * off).collect();
        let inverse: Vec<f64> = p.iter().map(|p| 1.0 / p).collect();
        let (next, lambda) = crate::reference::step(&inverse, &used, &fed);
        p = next;
        if mutant == Mutant::RoundLambda {
            let lambda = (lambda * 1e4).round() / 1e4;
            p = (0..m).map(|i| 1.0 / (inverse[i] + used[i] * (fed[i] - lambda))).collect();
        }
        mixed = mix(&p);
        for i in 0..m {
            if 1.0 / mixed[i] > ranges[i] {
                ranges[i] = 2.0 / mixed[i];
                rates[i] *= if mutant == Mutant::Shrink { 1.0 / beta } else { beta };
                changes += 1;
                if mutant == Mutant::WholeRanges {
                    ranges[i] = ranges[i].trunc();
                }
            }
        }
        if mutant == Mutant::Overwrite {
            p.clone_from(&mixed);
        }
        auditor.observe(&AuditedRound {
            losses: Losses::Dense(&losses),
            distribution: &p,
            probabilities: &mixed,
            rates: &rates,
            ranges: &ranges,
        });
    }
    assert!(changes > 0, "the run is too short to show a fault of the schedule");
    auditor.report().failures(1e-11)
}

#[test]
fn the_faithful_master_passes_every_check() {
    assert_eq!(run(Mutant::None), []);
}

#[test]
fn p_overwritten_by_pbar_is_caught_by_the_chain_of_steps() {
    assert_eq!(run(Mutant::Overwrite), [Check::Step, Check::Run, Check::Mixing]);
}

#[test]
fn rates_that_shrink_are_caught_by_the_schedule_alone() {
    assert_eq!(run(Mutant::Shrink), [Check::Rates]);
}

#[test]
fn gains_fed_as_losses_are_caught_by_the_identities() {
    let caught = run(Mutant::Gains);
    assert!(caught.starts_with(&[Check::Step, Check::Run]), "{caught:?}");
}

#[test]
fn ranges_cut_to_whole_numbers_are_caught_by_the_value_at_a_change() {
    // And by the rates of those bases whose next change comes earlier for it; not by any identity.
    assert_eq!(run(Mutant::WholeRanges), [Check::Rates, Check::Ranges]);
}

#[test]
fn a_rounded_lambda_is_caught_by_the_identities_and_the_sum() {
    assert_eq!(run(Mutant::RoundLambda), [Check::Step, Check::Run, Check::Sum]);
}

#[test]
fn weights_of_1_over_p_are_caught_by_the_identities() {
    assert_eq!(run(Mutant::PlainWeight), [Check::Step, Check::Run]);
}

#[test]
fn a_wrong_rate_in_the_step_is_caught_by_the_identities() {
    assert_eq!(run(Mutant::WrongRate), [Check::Step, Check::Run]);
}
