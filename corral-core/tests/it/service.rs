//! What a service needs: a handle for many threads, scales, metrics.
#![allow(missing_docs)]

use std::collections::HashSet;
use std::sync::mpsc;

use crate::common::*;
use corral_core::masters::Practical;
use corral_core::registry::Kind;
use corral_core::{
    Arm, Context, Ensemble, EnsembleError, EnsembleParams, Expiry, Feedback, Metrics, Pending, Scale, Setup,
    Shared, Ticket,
};

type Band = Ensemble<Context, Arm, Practical>;
type Store = Pending<Context, Arm>;

fn band() -> Band {
    let bases = (0..3).map(|i| Soft::boxed(3, 0.1 * f64::from(i))).collect();
    let open = opened(EnsembleParams::practical(Kind::Arms));
    let band = Band::practical_with(bases, Default::default(), open).unwrap();
    band.with_setup(&Setup::arms(3, None)).with_names(["still", "slow", "fast"])
}

fn scaled(scale: Scale) -> Ensemble<Context, Arm, Toy> {
    let params = EnsembleParams { scale: Some(scale), ..EnsembleParams::default() };
    Ensemble::with_params(Toy::new(2, 0.1), (0..2).map(|_| Soft::boxed(2, 0.1)).collect(), params).unwrap()
}

#[test]
fn handles_can_be_sent_and_shared() {
    fn both<T: Send + Sync + Clone>() {}
    fn sent<T: Send>() {}
    both::<Shared<Context, Arm, Practical>>();
    sent::<Band>();
    sent::<Store>();
}

/// Eight threads choose, another learns everything, two of them twice: every ticket is learned once, ids never repeat.
#[test]
fn many_threads_choose_and_learn() {
    let (threads, each) = (8, 500);
    let shared = Shared::new(band());
    let (send, receive) = mpsc::channel::<(Ticket<Arm>, Vec<u8>)>();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (shared, send) = (shared.clone(), send.clone());
            scope.spawn(move || {
                for _ in 0..each {
                    let ticket = shared.choose_by(&Context::plain(3), |id| generator(id.seed(7))).unwrap();
                    let copy = postcard::to_stdvec(&ticket).unwrap();
                    send.send((ticket, copy)).unwrap();
                }
            });
        }
        drop(send);
        let mut seen = HashSet::new();
        for (ticket, copy) in receive {
            assert!(seen.insert(ticket.id()), "an id is given once");
            let loss = if ticket.decision == Arm(1) { 0.2 } else { 0.8 };
            shared.learn(&Context::plain(3), ticket, loss).unwrap();
            let again: Ticket<Arm> = postcard::from_bytes(&copy).unwrap();
            assert!(shared.learn(&Context::plain(3), again, loss).is_err());
        }
        assert_eq!(seen.len(), threads * each);
    });
    let metrics = shared.metrics();
    let total = (threads * each) as u64;
    assert_eq!((metrics.rounds, metrics.learned, metrics.open, metrics.refused), (total, total, 0, total));
    assert_eq!(metrics.bases.iter().map(|b| b.plays).sum::<u64>(), total);
    let other = shared.clone();
    let shared = shared.into_inner().err().expect("another handle is left");
    drop(other);
    assert!(shared.into_inner().is_ok());
}

/// A base that panics is benched; the handle goes on.
#[test]
fn a_panic_of_a_base_leaves_the_handle_usable() {
    quiet_fixtures();
    let bad = Faulty { inner: Soft::new(3, 0.1), fails_in: In::Propose, how: How::Panic, after: 2.into() };
    let band = Band::practical(vec![Soft::boxed(3, 0.1), Box::new(bad)]).unwrap();
    let shared = Shared::new(band.with_names(["well", "ill"]));
    let mut rng = generator(1);
    for _ in 0..50 {
        let ticket = shared.choose(&Context::plain(3), &mut rng).unwrap();
        shared.learn(&Context::plain(3), ticket, 0.5).unwrap();
    }
    let report = shared.with(|band| band.report());
    assert!(report.contains("benched: ill in round") && report.contains("(propose)"), "{report}");
    assert!(shared.metrics().bases[1].benched.is_some());
}

#[test]
fn values_outside_their_scale_are_refused_or_clipped_and_counted() {
    let x = Context::plain(2);
    let mut strict = scaled(Scale::losses(0.0, 60.0));
    let ticket = strict.choose(&x, &mut generator(1)).unwrap();
    let before = strict.save();
    let refused = strict.learn(&x, ticket, 61.0).unwrap_err();
    assert_eq!(refused.error.to_string(), "a loss must be in [0, 60], but is 61");
    assert_eq!((strict.save(), strict.metrics().refused), (before, 1));
    let outcome = strict.learn(&x, refused.ticket, 15.0).unwrap();
    assert_eq!(strict.metrics().bases[outcome.base].mean_loss, Some(0.25));

    let mut clips = scaled(Scale { clip: true, ..Scale::rewards(0.0, 60.0) });
    let ticket = clips.choose(&x, &mut generator(1)).unwrap();
    let outcome = clips.learn(&x, ticket, 70.0).unwrap();
    assert_eq!((clips.metrics().clipped, clips.metrics().bases[outcome.base].mean_loss), (1, Some(0.0)));
    let ticket = clips.choose(&x, &mut generator(1)).unwrap();
    let refused = clips.learn(&x, ticket, f64::NAN).unwrap_err();
    assert!(matches!(refused.error, EnsembleError::Scale(_)));
    assert!(clips.learn(&x, refused.ticket, Feedback::unseen()).is_ok());

    let params = EnsembleParams { scale: Some(Scale::losses(1.0, 0.0)), ..EnsembleParams::default() };
    let bases = vec![Soft::boxed(2, 0.1)];
    let built = Ensemble::<Context, Arm, _>::with_params(Toy::new(1, 0.1), bases, params);
    assert!(matches!(built.err(), Some(EnsembleError::Param(_))));
}

#[test]
fn metrics_count_what_happened() {
    let (mut band, x) = (band(), Context::plain(3));
    let (mut store, mut ids) = (Store::new(10), Vec::new());
    let mut rng = generator(3);
    for now in 0..9 {
        let ticket = band.choose(&x, &mut rng).unwrap();
        ids.push(store.insert(x.clone(), ticket, now).unwrap());
    }
    for id in &ids[..4] {
        store.reward(*id, 0.5, &mut band).unwrap();
    }
    assert!(store.reward(ids[4], 1.5, &mut band).is_err());
    assert!(store.reward(ids[3], 0.5, &mut band).is_err());
    store.expire(6, Expiry::Drop).unwrap();
    band.retire(2).unwrap();
    let metrics = band.metrics().with_pending(&store);
    let Metrics { rounds, learned, open, expired, refused, clipped, .. } = metrics;
    assert_eq!((rounds, learned, open, expired, refused, clipped), (9, 4, 3, 2, 2, 0));
    assert_eq!(metrics.bases.iter().map(|b| b.plays).sum::<u64>(), 4);
    let sum: f64 = metrics.bases.iter().map(|b| b.probability).sum();
    assert!((sum - 1.0).abs() < 1e-12 && metrics.bases[2].probability == 0.0);
    assert!(metrics.bases.iter().all(|b| b.restarts == 0), "no base is restarted");
    let bytes = postcard::to_stdvec(&metrics).unwrap();
    assert_eq!(postcard::from_bytes::<Metrics>(&bytes).unwrap(), metrics);

    let text = metrics.prometheus("a \"b\"\\");
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("corral_") && name.contains(r#"band="a \"b\"\\""#), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(text.contains("corral_base_benched{band=\"a \\\"b\\\"\\\\\",base=\"fast\"} 1\n"), "{text}");
    assert_eq!(text.matches("# TYPE ").count(), 13);
}

#[test]
fn a_report_says_what_the_preset_chose_and_who_did_what() {
    let (mut band, x, mut rng) = (band(), Context::plain(3), generator(3));
    for _ in 0..20 {
        let ticket = band.choose(&x, &mut rng).unwrap();
        band.learn(&x, ticket, 0.25).unwrap();
    }
    band.retire(0).unwrap();
    let report = band.report();
    let mut lines = report.lines();
    assert!(
        lines.next().unwrap().starts_with("master: practical (rate: Adaptive, scale: 1.4, cap: 8.0"),
        "{report}"
    );
    let chosen = "band: credit likelihood, feed everyone, weights cut at 1, guarded where there are no contexts, no horizon";
    assert_eq!(lines.next(), Some(chosen));
    assert_eq!(lines.next(), Some("rounds: 20, learned 20, open 0, refused 0, clipped 0"));
    assert!(lines.next().unwrap().starts_with("base   "), "{report}");
    assert!(lines.next().unwrap().starts_with("still "), "{report}");
    assert_eq!(report.lines().last(), Some("benched: still in round 20 (retired): the caller retired it"));
}

/// Where there is no propensity, the base that cannot say its own is named.
#[test]
fn a_missing_propensity_comes_with_a_name() {
    let silent = Constant { arm: 1, diary: Diary::default(), frank: false, listens: false };
    let params = EnsembleParams {
        propensities: corral_core::Propensities::Decision,
        ..EnsembleParams::practical(Kind::Arms)
    };
    let bases = vec![Soft::boxed(3, 0.1), Box::new(silent) as _];
    let band = Band::practical_with(bases, Default::default(), params).unwrap();
    let mut band = band.with_names(["frank", "silent"]);
    let ticket = band.choose(&Context::plain(3), &mut generator(1)).unwrap();
    assert_eq!((ticket.propensity(), band.without_likelihood(&ticket).as_deref()), (None, Some("silent")));
}
