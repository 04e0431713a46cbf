//! Random sequences of valid and invalid calls: an error is named, and leaves the state as it was.
#![allow(missing_docs)]

use crate::common::*;
use corral_core::{
    Arm, Base, BaseExtra, Context, Corral, CorralParams, Crediting, Ensemble, EnsembleError, EnsembleParams,
    Expiry, Feed, Feedback, Horizon, Memo, Order, Pending, PendingError, Proposal, Rate, Ticket,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[derive(Debug, Clone)]
enum Call {
    Choose,
    Learn(usize, f64),
    BadLoss(usize, f64),
    Foreign(f64),
    TakeTwice(usize),
    Expire(u64),
    StartOver(f64),
    Propose(f64, f64),
    BadMemo(Vec<f64>),
    LoadDamaged(usize, u8),
    SaveAndLoad,
    Pass,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let bad = prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        -1e3..-1e-9f64,
        1.0f64.next_up()..1e9,
    ];
    let call = prop_oneof![
        8 => Just(Call::Choose),
        8 => (any::<usize>(), 0.0..=1.0f64).prop_map(|(at, loss)| Call::Learn(at, loss)),
        2 => (any::<usize>(), bad.clone()).prop_map(|(at, loss)| Call::BadLoss(at, loss)),
        1 => (0.0..=1.0f64).prop_map(Call::Foreign),
        1 => any::<usize>().prop_map(Call::TakeTwice),
        1 => (0..100u64).prop_map(Call::Expire),
        1 => prop_oneof![bad.clone(), 1.0..50.0f64].prop_map(Call::StartOver),
        2 => (0.0..=1.0f64, prop_oneof![bad, 0.0..60.0f64]).prop_map(|(l, w)| Call::Propose(l, w)),
        1 => prop::collection::vec(prop_oneof![any::<f64>(), (0..9u32).prop_map(f64::from)], 0..14)
            .prop_map(Call::BadMemo),
        1 => (any::<usize>(), 1..=255u8).prop_map(|(at, flip)| Call::LoadDamaged(at, flip)),
        1 => Just(Call::SaveAndLoad),
        1 => Just(Call::Pass),
    ];
    prop::collection::vec(call, 1..80)
}

fn rules() -> impl Strategy<Value = EnsembleParams> {
    let credit =
        prop_oneof![Just(Crediting::Chosen), Just(Crediting::SameDecision), Just(Crediting::Likelihood)];
    let feed = prop_oneof![Just(Feed::Weighted), Just(Feed::Raw), Just(Feed::Everyone)];
    (credit, feed).prop_map(|(credit, feed)| EnsembleParams { credit, feed, ..EnsembleParams::default() })
}

type Band = Ensemble<Context, Arm, Corral>;

fn band(bases: usize, horizon: Horizon, params: EnsembleParams) -> Band {
    let master =
        Corral::new(CorralParams { rate: Rate::Fixed(0.8), ..CorralParams::new(bases, horizon) }).unwrap();
    Band::with_params(master, (0..bases).map(|i| Soft::boxed(3, 0.1 * (i + 1) as f64)).collect(), params)
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_error_leaves_the_state_as_it_was(
        calls in calls(), params in rules(), bases in 1..5usize, known in any::<bool>(), seed in any::<u64>(),
    ) {
        let horizon = if known { Horizon::Known(100) } else { Horizon::Restart };
        let x = Context::plain(3);
        let mut rng = generator(seed);
        let mut band = band(bases, horizon, params);
        let mut other = Band::with_params(
            Corral::new(CorralParams::new(bases, horizon)).unwrap(),
            (0..bases).map(|_| Soft::boxed(3, 0.1)).collect(),
            EnsembleParams { id: Some(1), ..params },
        ).unwrap();
        let mut waiting: Vec<Ticket<Arm>> = Vec::new();
        let mut store: Pending<Context, Arm> = Pending::new(20);
        let mut outer = 1.0;
        for (now, call) in calls.into_iter().enumerate() {
            let before = band.save();
            let mut refused = true;
            match call {
                Call::Choose => {
                    let ticket = band.choose(&x, &mut rng).unwrap();
                    prop_assert!(ticket.decision.index() < 3 && ticket.probability() > 0.0);
                    if now % 2 == 0 || store.is_full() {
                        waiting.push(ticket);
                    } else {
                        store.insert(x.clone(), ticket, now as u64).unwrap();
                    }
                    refused = false;
                }
                Call::Learn(at, loss) if !waiting.is_empty() => {
                    let ticket = waiting.swap_remove(at % waiting.len());
                    let outcome = band.learn(&x, ticket, loss).unwrap();
                    prop_assert!(outcome.benched.is_empty() && outcome.weight > 0.0);
                    refused = false;
                }
                Call::BadLoss(at, loss) if !waiting.is_empty() => {
                    let ticket = waiting.swap_remove(at % waiting.len());
                    let error = band.learn(&x, ticket, loss).unwrap_err();
                    prop_assert!(matches!(error.error, EnsembleError::Loss(l) if l == loss || l.is_nan()));
                }
                Call::Foreign(loss) => {
                    let ticket = other.choose(&x, &mut rng).unwrap();
                    let error = band.learn(&x, ticket, loss).unwrap_err();
                    prop_assert_eq!(error.error, EnsembleError::Foreign { found: 1, expected: band.id() });
                }
                Call::TakeTwice(at) if !store.is_empty() => {
                    let Some(id) = store.late(u64::MAX).nth(at % 20) else { continue };
                    if store.reward(id, 0.5, &mut band).is_ok() {
                        refused = false;
                        let error = store.reward(id, 0.5, &mut band).unwrap_err();
                        prop_assert_eq!(error, PendingError::AlreadyRewarded(id));
                    }
                }
                Call::Expire(before) => {
                    for late in store.expire(before, Expiry::Loss(1.0)).unwrap() {
                        band.learn(&late.context, late.ticket, late.loss).unwrap();
                        refused = false;
                    }
                }
                Call::StartOver(range) => {
                    let done = band.apply_order(Order::Widen { range, remaining: Some(50) }).is_ok();
                    prop_assert_eq!(done, range >= 1.0 && range.is_finite());
                    if done {
                        outer = range;
                        refused = false;
                    }
                }
                Call::Propose(loss, weight) => {
                    let made = band.propose(&x, &mut rng).unwrap();
                    let before = band.save();
                    let done = Base::learn(&mut band, &x, &made, Feedback::new(loss, weight)).is_ok();
                    prop_assert_eq!(done, (0.0..=outer * (1.0 + 1e-9)).contains(&weight));
                    prop_assert!(done || band.save() == before);
                    refused = false;
                }
                Call::BadMemo(numbers) => {
                    let made = Proposal::with_memo(Arm(0), Memo::from(&numbers[..]));
                    let heard = Base::learn(&mut band, &x, &made, Feedback::plain(0.5)).is_ok();
                    // No base's decision: only bases that learn from others would be given it, and there is none here.
                    prop_assert!(!heard || (numbers.is_empty() && params.feed == Feed::Everyone));
                }
                Call::LoadDamaged(at, flip) => {
                    let mut bytes = before.clone();
                    let at = at % bytes.len();
                    bytes[at] ^= flip;
                    prop_assert!(band.load(&bytes).is_err());
                }
                Call::SaveAndLoad => band.load(&before).unwrap(),
                Call::Pass => {
                    band.pass(&x).unwrap();
                    refused = false;
                }
                _ => {}
            }
            if refused {
                prop_assert_eq!(band.save(), before);
            }
            let total: f64 = band.probabilities().iter().sum();
            prop_assert!((total - 1.0).abs() < 1e-9);
            prop_assert!(band.benched().is_empty(), "{:?}", band.benched());
        }
    }
}
