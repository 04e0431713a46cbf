//! Algorithm 2 against computations of more digits.

use std::fs;
use std::path::Path;

use corral_core::omd::{LogBarrier, Losses, OmdError, OmdParams, step};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

/// The numbers of `key=(a,b,c)`.
fn numbers(line: &str, key: &str) -> Vec<f64> {
    let from =
        line.find(&format!("{key}=(")).unwrap_or_else(|| panic!("no {key} in {line:?}")) + key.len() + 2;
    let to = from + line[from..].find(')').unwrap();
    line[from..to].split(',').map(|n| n.parse().unwrap()).collect()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance * e.abs(), "{what}: p[{i}] is {f:e}, not {e:e} ({found:?})");
    }
}

#[test]
fn cases_in_text_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/omd");
    let mut cases = 0;
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let lines: Vec<&str> = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
        for case in lines.chunks(4) {
            let [input, dashes, output, lambda] = case else { panic!("an incomplete case: {case:?}") };
            assert_eq!(*dashes, "----");
            let (p, rates, losses) = (numbers(input, "p"), numbers(input, "eta"), numbers(input, "l"));
            let mut inverse: Vec<f64> = p.iter().map(|p| 1.0 / p).collect();
            let info = step(&mut inverse, &rates, Losses::Dense(&losses), &OmdParams::default()).unwrap();
            let found: Vec<f64> = inverse.iter().map(|w| 1.0 / w).collect();
            assert_close(&found, &numbers(output, "p"), 1e-12, input);
            // lambda is ill conditioned where rates are small: it is known to the last place of w/eta only.
            let expected: f64 = lambda.strip_prefix("lambda=").unwrap().parse().unwrap();
            let slack = 1e-12 * expected.abs() + 1e-15 * inverse[0] / rates[0];
            assert!((info.lambda - expected).abs() <= slack, "{input}: {info:?}, not {expected}");
            let hot: Vec<usize> = (0..losses.len()).filter(|i| losses[*i] != 0.0).collect();
            if let [index] = hot[..] {
                let mut inverse: Vec<f64> = p.iter().map(|p| 1.0 / p).collect();
                let one_hot = Losses::OneHot { index, loss: losses[index] };
                step(&mut inverse, &rates, one_hot, &OmdParams::default()).unwrap();
                let found: Vec<f64> = inverse.iter().map(|w| 1.0 / w).collect();
                assert_close(&found, &numbers(output, "p"), 1e-12, &format!("one-hot {input}"));
            }
            cases += 1;
        }
    }
    assert_eq!(cases, 26);
}

/// A random state: probabilities down to 1e-9, rates up to 10, a loss as Algorithm 1 makes it, or one per base.
struct Random {
    inverse: Vec<f64>,
    rates: Vec<f64>,
    losses: Vec<f64>,
    hot: Option<usize>,
}

fn random(rng: &mut Pcg64Dxsm) -> Random {
    let m = 2 + rng.random_range(0..12usize) * rng.random_range(1..4usize);
    let spread = 9.0 * rng.random::<f64>();
    let mut p: Vec<f64> = (0..m).map(|_| 10f64.powf(-spread * rng.random::<f64>())).collect();
    let sum: f64 = p.iter().sum();
    for p in &mut p {
        *p = (*p / sum).max(1e-9);
    }
    // What is left goes to the largest, so that the sum is 1 but for rounding.
    let largest = (0..m).max_by(|i, j| p[*i].total_cmp(&p[*j])).unwrap();
    p[largest] = 0.0;
    p[largest] = 1.0 - p.iter().sum::<f64>();
    let rate = 10f64.powf(1.0 - 6.0 * rng.random::<f64>());
    let rates =
        (0..m).map(|_| rate * (1.0 + 3.2 * rng.random::<f64>() * f64::from(rng.random::<bool>()))).collect();
    let mut losses = vec![0.0; m];
    let mut hot = None;
    match rng.random_range(0..4) {
        0 => {
            // One per base, signed.
            for (l, p) in losses.iter_mut().zip(&p) {
                *l = (rng.random::<f64>() - 0.3) / p.max(1e-3);
            }
        }
        1 => {
            // A shared decision.
            let same: Vec<bool> = (0..m).map(|_| rng.random()).collect();
            let total: f64 = p.iter().zip(&same).filter(|(_, s)| **s).map(|(p, _)| p).sum();
            for (l, same) in losses.iter_mut().zip(same) {
                *l = if same { rng.random::<f64>().round() / total } else { 0.0 };
            }
        }
        kind => {
            let k = rng.random_range(0..m);
            let loss = if kind == 2 { 1.0 } else { rng.random() };
            losses[k] = loss / p[k];
            hot = Some(k);
        }
    }
    Random { inverse: p.iter().map(|p| 1.0 / p).collect(), rates, losses, hot }
}

#[test]
fn ten_thousand_random_steps_agree_with_32_digits() {
    let mut rng = Pcg64Dxsm::seed_from_u64(2017);
    let (mut worst, mut worst_sum, mut evaluations, mut most) = (0.0f64, 0.0f64, 0, 0);
    for _ in 0..10_000 {
        let state = random(&mut rng);
        let (expected, _) = crate::reference::step(&state.inverse, &state.rates, &state.losses);
        let losses = match state.hot {
            Some(index) => Losses::OneHot { index, loss: state.losses[index] },
            None => Losses::Dense(&state.losses),
        };
        let mut barrier = LogBarrier::new(&state.inverse, &state.rates).unwrap();
        let info = barrier.step(losses).unwrap();
        for (i, expected) in expected.iter().enumerate() {
            let error = (barrier.distribution()[i] / expected - 1.0).abs();
            let inverse = (barrier.inverse()[i] * expected - 1.0).abs();
            worst = worst.max(error).max(inverse);
            assert!(error.max(inverse) <= 1e-11, "p[{i}] off by {error:e}: {:?} {losses:?}", state.inverse);
        }
        let sum: f64 = barrier.distribution().iter().sum();
        worst_sum = worst_sum.max((sum - 1.0).abs());
        evaluations += info.iterations;
        most = most.max(info.iterations);
    }
    println!("worst p {worst:e}, sum {worst_sum:e}, evaluations {evaluations}, at most {most}");
    assert!(worst_sum <= 4e-15, "{worst_sum:e}");
    // The search is a fast one: a slow safeguard that did all the work would show here.
    assert!(evaluations < 30_000 && most <= 40, "{evaluations} evaluations, at most {most}");
}

#[test]
fn a_loss_of_zero_is_an_exact_no_op() {
    let p = [0.123, 0.456, 0.421];
    let before: Vec<f64> = p.iter().map(|p| 1.0 / p).collect();
    for losses in [Losses::OneHot { index: 1, loss: 0.0 }, Losses::Dense(&[0.0; 3]), Losses::Dense(&[7.5; 3])]
    {
        let mut inverse = before.clone();
        let info = step(&mut inverse, &[0.3; 3], losses, &OmdParams::default()).unwrap();
        assert_eq!(inverse, before);
        assert_eq!((info.residual, info.iterations), (0.0, 0));
    }
}

#[test]
fn a_single_probability_never_moves() {
    for loss in [1.0, -3.0, 1e9] {
        let mut inverse = [1.0];
        step(&mut inverse, &[10.0], Losses::OneHot { index: 0, loss }, &OmdParams::default()).unwrap();
        step(&mut inverse, &[10.0], Losses::Dense(&[loss]), &OmdParams::default()).unwrap();
        assert_eq!(inverse, [1.0]);
    }
}

#[test]
fn a_million_probabilities() {
    let m = 1_000_000;
    let mut barrier = LogBarrier::new(&vec![m as f64; m], &vec![0.5; m]).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(3);
    for round in 0..6 {
        let index = rng.random_range(0..m);
        let loss = 1.0 / barrier.distribution()[index];
        let before = barrier.distribution()[index];
        let info = barrier.step(Losses::OneHot { index, loss }).unwrap();
        assert!(info.iterations <= 3 && info.residual.abs() < 1e-12, "round {round}: {info:?}");
        assert!((barrier.distribution()[index] * (1.0 + 0.5) - before).abs() < 1e-6 * before);
    }
    let sum: f64 = barrier.distribution().chunks(1_000).map(|c| c.iter().sum::<f64>()).sum();
    assert!((sum - 1.0).abs() <= 1e-12, "{sum}");
}

#[test]
fn a_probability_of_zero_stays_zero_and_takes_no_part() {
    let inverse = [2.0, f64::INFINITY, 4.0, 4.0];
    let rates = [0.2, 0.1, 0.3, 0.4];
    let mut all = LogBarrier::new(&inverse, &rates).unwrap();
    all.step(Losses::OneHot { index: 2, loss: 4.0 }).unwrap();
    all.step(Losses::Dense(&[1.0, -5.0, 0.5, 2.0])).unwrap();
    all.step(Losses::OneHot { index: 1, loss: 1.0 }).unwrap();
    let mut rest = LogBarrier::new(&[2.0, 4.0, 4.0], &[0.2, 0.3, 0.4]).unwrap();
    rest.step(Losses::OneHot { index: 1, loss: 4.0 }).unwrap();
    rest.step(Losses::Dense(&[1.0, 0.5, 2.0])).unwrap();
    let p = all.distribution();
    assert_eq!(p[1], 0.0);
    assert_close(&[p[0], p[2], p[3]], rest.distribution(), 1e-14, "the others");
}

#[test]
fn what_cannot_be_stepped_is_named_and_nothing_moves() {
    let good = ([2.0, 4.0, 4.0], [0.1, 0.1, 0.1]);
    let run = |inverse: &[f64], rates: &[f64], losses: Losses<'_>| {
        let mut state = inverse.to_vec();
        let error = step(&mut state, rates, losses, &OmdParams::default()).unwrap_err();
        assert!(state.iter().zip(inverse).all(|(a, b)| a.to_bits() == b.to_bits()));
        error
    };
    let hot = Losses::OneHot { index: 0, loss: 1.0 };
    assert_eq!(run(&[], &[], hot), OmdError::Empty);
    let lengths = OmdError::Length { what: "rates", found: 2, expected: 3 };
    assert_eq!(run(&good.0, &[0.1, 0.1], hot), lengths);
    let lengths = OmdError::Length { what: "losses", found: 2, expected: 3 };
    assert_eq!(run(&good.0, &good.1, Losses::Dense(&[1.0, 0.0])), lengths);
    let index = OmdError::Index { index: 3, expected: 3 };
    assert_eq!(run(&good.0, &good.1, Losses::OneHot { index: 3, loss: 1.0 }), index);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e305] {
        let rates = [0.1, 1e9, 0.1];
        let is = |e| matches!(e, OmdError::Loss { index: 1, value: v } if v.to_bits() == value.to_bits());
        assert!(is(run(&good.0, &rates, Losses::OneHot { index: 1, loss: value })));
        assert!(is(run(&good.0, &rates, Losses::Dense(&[0.0, value, 0.0]))));
    }
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let e = run(&good.0, &[0.1, 0.1, value], hot);
        assert!(matches!(e, OmdError::Rate { index: 2, .. }), "{e}");
    }
    for value in [0.5, -2.0, 0.0, f64::NAN] {
        let e = run(&[2.0, value, 4.0], &good.1, hot);
        assert!(matches!(e, OmdError::Inverse { index: 1, .. }), "{e}");
    }
    assert_eq!(run(&[2.0, 4.0, 8.0], &good.1, hot), OmdError::Sum(0.875));
}

#[test]
fn a_step_that_may_not_iterate_says_what_remained() {
    let before = [1.0 / 0.001, 1.0 / 0.949, 1.0 / 0.05];
    let losses = [1000.0, 700.0, 0.0];
    let params = OmdParams { iterations: 1, ..OmdParams::default() };
    let mut inverse = before;
    let error = step(&mut inverse, &[30.0; 3], Losses::Dense(&losses), &params).unwrap_err();
    assert!(matches!(error, OmdError::Residual { residual, iterations: 1 } if residual > 0.1), "{error}");
    assert_eq!(inverse, before);
    let params = OmdParams { tolerance: 0.0, ..OmdParams::default() };
    // Not every step ends with a sum of exactly 1.
    let mut rng = Pcg64Dxsm::seed_from_u64(5);
    let failures = (0..100)
        .filter(|_| {
            let state = random(&mut rng);
            let mut inverse = state.inverse.clone();
            let failed = step(&mut inverse, &state.rates, Losses::Dense(&state.losses), &params).is_err();
            assert!(!failed || inverse == state.inverse);
            failed
        })
        .count();
    assert!(failures > 0);
}

/// A gain of a base that is hardly ever drawn: 1/p of the others moves little, and by the same for all.
#[test]
fn a_large_gain_costs_the_others_no_digits() {
    for gain in [-4.75e6, -9.9e6, -1e7, -3e9] {
        let p = [1e-7, 0.4, 0.25, 0.35 - 1e-7];
        let inverse = p.map(|p| 1.0 / p);
        let mut barrier = LogBarrier::new(&inverse, &[1.0; 4]).unwrap();
        barrier.step(Losses::OneHot { index: 0, loss: gain }).unwrap();
        let moved = [1, 2, 3].map(|i| barrier.inverse()[i] - inverse[i]);
        let apart = (moved[0] - moved[1]).abs().max((moved[0] - moved[2]).abs());
        assert!(apart <= 4.0 * f64::EPSILON * barrier.inverse()[2], "{gain}: {moved:?}, {apart:e}");
    }
}
