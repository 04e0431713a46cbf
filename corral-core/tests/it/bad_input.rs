//! Calls that cannot be meant: each is a named error, and leaves the master as it was.

use corral_core::{Corral, CorralParams, Credit, Horizon, Master, MasterError, MasterExtra, Rate};
use proptest::prelude::*;

/// One call of a random sequence. Numbers are drawn so that many are out of bounds.
#[derive(Debug, Clone)]
enum Call {
    Chosen { loss: f64, base: usize, weight: f64 },
    Honest { loss: f64, base: usize },
    Shared { loss: f64, weights: Vec<f64> },
    Retire(usize),
    StartOver(f64, Option<u64>),
    Load { at: usize, bit: u8 },
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0f64..1.0,
        1 => -2.0f64..3.0,
        1 => 0.0f64..100.0,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300, 5e-324, 1.0]),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => (0.0f64..=1.0, 0usize..5).prop_map(|(loss, base)| Call::Honest { loss, base }),
        3 => (number(), 0usize..7, number()).prop_map(|(loss, base, weight)| Call::Chosen { loss, base, weight }),
        2 => (number(), prop::collection::vec(number(), 4..7)).prop_map(|(loss, weights)| Call::Shared { loss, weights }),
        1 => (0usize..7).prop_map(Call::Retire),
        1 => (number(), prop::option::of(0u64..100)).prop_map(|(range, left)| Call::StartOver(range, left)),
        1 => (0usize..1_000, 0u8..8).prop_map(|(at, bit)| Call::Load { at, bit }),
    ]
}

/// Whether the call must succeed, as the documentation has it.
fn is_valid(corral: &Corral, call: &Call) -> bool {
    let within = |base: usize, weight: f64| weight >= 0.0 && weight <= corral.range(base).unwrap_or(0.0);
    let unit = |loss: f64| (0.0..=1.0).contains(&loss);
    match call {
        Call::Chosen { loss, base, weight } => unit(*loss) && *base < 5 && within(*base, *weight),
        Call::Honest { .. } => true,
        Call::Shared { loss, weights } => {
            unit(*loss) && weights.len() == 5 && weights.iter().enumerate().all(|(i, w)| within(i, *w))
        }
        Call::Retire(base) => {
            let left = corral.probabilities().iter().filter(|p| **p > 0.0).count();
            *base < 5 && corral.probabilities()[*base] > 0.0 && left > 1
        }
        Call::StartOver(range, _) => *range >= 1.0 && range.is_finite(),
        Call::Load { .. } => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_error_leaves_the_master_as_it_was(
        calls in prop::collection::vec(call(), 1..60),
        known in prop::bool::ANY,
        baseline in prop::bool::weighted(0.3),
        rate in -3.0f64..1.0,
    ) {
        let horizon = if known { Horizon::Known(40) } else { Horizon::Restart };
        let rate = Rate::Fixed(10f64.powf(rate));
        let mut corral = Corral::new(CorralParams { rate, baseline, ..CorralParams::new(5, horizon) }).unwrap();
        for call in calls {
            let before = corral.save();
            let valid = is_valid(&corral, &call);
            let outcome = match &call {
                Call::Chosen { loss, base, weight } => {
                    corral.update(*loss, Credit::Chosen { base: *base, weight: *weight }).map(drop)
                }
                Call::Honest { loss, base } => {
                    let p = corral.probabilities()[*base];
                    let weight = if p > 0.0 { 1.0 / p } else { 0.0 };
                    corral.update(*loss, Credit::Chosen { base: *base, weight }).map(drop)
                }
                Call::Shared { loss, weights } => corral.update(*loss, Credit::Shared(weights)).map(drop),
                Call::Retire(base) => corral.retire(*base),
                Call::StartOver(range, remaining) => corral.start_over(*range, *remaining),
                Call::Load { at, bit } => {
                    let mut bytes = before.clone();
                    let at = at % bytes.len();
                    bytes[at] ^= 1 << bit;
                    corral.load(&bytes)
                }
            };
            match outcome {
                Ok(()) => {
                    let sum: f64 = corral.distribution().iter().sum();
                    prop_assert!((sum - 1.0).abs() <= 1e-12, "{sum}");
                    let sum: f64 = corral.probabilities().iter().sum();
                    prop_assert!((sum - 1.0).abs() <= 1e-12, "{sum}");
                }
                Err(error) => {
                    prop_assert!(!valid, "{error} on {call:?}");
                    prop_assert_eq!(&corral.save(), &before, "{} on {:?}", error, call);
                }
            }
            // Everything that a run can reach can be loaded.
            let mut other = corral.clone();
            prop_assert_eq!(other.load(&corral.save()), Ok(()));
        }
    }
}

#[test]
fn errors_name_the_value() {
    let mut corral = Corral::new(CorralParams::new(2, Horizon::Known(10))).unwrap();
    let mut update = |loss, credit: Credit<'_>| corral.update(loss, credit).unwrap_err();
    let chosen = |base, weight| Credit::Chosen { base, weight };
    assert_eq!(update(1.5, chosen(0, 2.0)), MasterError::Loss(1.5));
    assert_eq!(update(-1e-300, chosen(0, 2.0)), MasterError::Loss(-1e-300));
    assert!(matches!(update(f64::NAN, chosen(0, 2.0)), MasterError::Loss(l) if l.is_nan()));
    assert_eq!(update(0.5, chosen(2, 2.0)), MasterError::Index { base: 2, bases: 2 });
    for weight in [-1.0, 4.1, f64::INFINITY] {
        assert_eq!(update(0.5, chosen(1, weight)), MasterError::Weight { base: 1, weight, range: 4.0 });
        let error = update(0.0, Credit::Shared(&[1.0, weight]));
        assert_eq!(error, MasterError::Weight { base: 1, weight, range: 4.0 });
    }
    assert!(matches!(update(0.0, chosen(1, f64::NAN)), MasterError::Weight { base: 1, .. }));
    assert_eq!(update(0.5, Credit::Shared(&[1.0])), MasterError::Length { found: 1, bases: 2 });
    assert_eq!(update(0.5, chosen(1, 4.1)).to_string(), "the weight of base 1 must be in [0, 4], but is 4.1");
}
