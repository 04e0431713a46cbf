//! Saved, loaded and continued equals never stopped, bit for bit; damage is named and changes nothing.
#![allow(missing_docs)]

use crate::common::*;
use corral_core::{
    Arm, Context, Corral, CorralParams, Crediting, Ensemble, EnsembleError, EnsembleParams, Feed, Horizon,
    Master, Pending, Rate, SnapshotError, TicketId,
};
use rand::RngExt;

const RULES: [Crediting; 3] = [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood];
const FEEDS: [Feed; 3] = [Feed::Weighted, Feed::Raw, Feed::Everyone];

type Band<M> = Ensemble<Context, Arm, M>;

fn band<M: Master>(master: M, params: EnsembleParams) -> Band<M> {
    let bases = (0..3).map(|i| Soft::boxed(3, 0.05 + 0.1 * f64::from(i))).collect();
    Band::with_params(master, bases, params).unwrap()
}

fn corral(horizon: Horizon) -> Corral {
    Corral::new(CorralParams { rate: Rate::Fixed(0.5), ..CorralParams::new(3, horizon) }).unwrap()
}

/// Rounds of a service: losses come late, out of order, some never.
fn serve<M: Master>(
    band: &mut Band<M>,
    store: &mut Pending<Context, Arm>,
    rounds: std::ops::Range<u64>,
) -> Vec<u32> {
    let x = Context::plain(3);
    rounds
        .map(|t| {
            // The generators are functions of the round: nothing of them needs saving.
            let mut rng = generator(t);
            let ticket = band.choose(&x, &mut rng).unwrap();
            let arm = ticket.decision.0;
            store.insert(x.clone(), ticket, t).unwrap();
            let id = TicketId { round: rng.random_range(0..=t), ..band.next_id() };
            if let Ok((x, ticket)) = store.take(id) {
                let loss = 0.3 * f64::from(ticket.decision.0) + 0.4 * rng.random::<f64>();
                band.learn(&x, ticket, loss).unwrap();
            }
            if t % 50 == 49 {
                for late in store.expire(t - 40, corral_core::Expiry::Loss(1.0)).unwrap() {
                    band.learn(&late.context, late.ticket, late.loss).unwrap();
                }
            }
            arm
        })
        .collect()
}

#[test]
fn saved_loaded_and_continued_equals_never_stopped() {
    for credit in RULES {
        for feed in FEEDS {
            for horizon in [Horizon::Known(600), Horizon::Restart] {
                let params = opened(EnsembleParams { credit, feed, ..EnsembleParams::default() });
                let mut whole = band(corral(horizon), params);
                let mut store = Pending::new(1_000);
                serve(&mut whole, &mut store, 0..300);
                assert!(store.len() > 10, "tickets are outstanding");
                let (saved, waiting) = (whole.save(), store.save().unwrap());
                let first = serve(&mut whole, &mut store, 300..600);

                let mut loaded = band(corral(horizon), params);
                loaded.load(&saved).unwrap();
                assert_eq!(loaded.save(), saved);
                let mut loaded_store = Pending::load(&waiting).unwrap();
                assert_eq!(serve(&mut loaded, &mut loaded_store, 300..600), first);
                assert_eq!(loaded.save(), whole.save(), "{credit:?} {feed:?} {horizon:?}");
                assert_eq!(loaded_store, store);
                assert!(whole.benched().is_empty(), "{:?}", whole.benched());
            }
        }
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let mut source = band(corral(Horizon::Known(600)), EnsembleParams::default());
    serve(&mut source, &mut Pending::new(1_000), 0..100);
    let saved = source.save();
    let mut target = band(corral(Horizon::Known(600)), EnsembleParams::default());
    serve(&mut target, &mut Pending::new(1_000), 0..10);
    let before = target.save();
    for cut in 0..saved.len() {
        assert!(matches!(target.load(&saved[..cut]), Err(EnsembleError::Snapshot(_))), "cut to {cut}");
    }
    for at in 0..saved.len() {
        for bit in 0..8 {
            let mut bad = saved.clone();
            bad[at] ^= 1 << bit;
            assert!(matches!(target.load(&bad), Err(EnsembleError::Snapshot(_))), "bit {bit} of byte {at}");
        }
    }
    assert_eq!(target.save(), before);
    assert_eq!(target.load(&saved), Ok(()));
}

#[test]
fn snapshots_of_others_are_refused_and_change_nothing() {
    let mut target = band(Toy::new(3, 0.1), EnsembleParams::default());
    serve(&mut target, &mut Pending::new(1_000), 0..50);
    let before = target.save();
    let refuse = |target: &mut Band<Toy>, bytes: &[u8]| {
        let error = target.load(bytes).unwrap_err();
        assert_eq!(target.save(), before, "{error}");
        error
    };
    // Another master, another number of bases, other rules, other bases, something else, a later version.
    let error = refuse(&mut target, &band(corral(Horizon::Known(9)), EnsembleParams::default()).save());
    assert!(matches!(error, EnsembleError::Master(_)), "{error}");
    let two = Band::new(Toy::new(2, 0.1), vec![Soft::boxed(3, 0.1), Soft::boxed(3, 0.1)]).unwrap();
    let error = refuse(&mut target, &two.save());
    assert!(matches!(error, EnsembleError::Snapshot(SnapshotError::State(_))), "{error}");
    let raw = EnsembleParams { feed: Feed::Raw, ..EnsembleParams::default() };
    let error = refuse(&mut target, &band(Toy::new(3, 0.1), raw).save());
    assert!(matches!(error, EnsembleError::Snapshot(SnapshotError::State(_))), "{error}");
    // The last base differs: the master and the first two were loaded already, and are put back.
    let bases = vec![Soft::boxed(3, 0.1), Soft::boxed(3, 0.1), Soft::boxed(4, 0.1)];
    let error = refuse(&mut target, &Band::new(Toy::new(3, 0.1), bases).unwrap().save());
    assert!(matches!(error, EnsembleError::Base { base: 2, .. }), "{error}");
    let error = refuse(&mut target, &Toy::new(3, 0.1).save());
    assert!(matches!(error, EnsembleError::Snapshot(SnapshotError::Algorithm { .. })), "{error}");
    let error = refuse(&mut target, &corral_core::snapshot::seal("ensemble", 99, &0u8));
    assert!(matches!(error, EnsembleError::Snapshot(SnapshotError::Version { found: 99, .. })), "{error}");
}

#[test]
fn benched_bases_stay_benched_after_loading() {
    quiet_fixtures();
    for fails_in in [In::Propose, In::Save] {
        let build = || {
            let faulty = Faulty::new(fails_in, How::Error, 2);
            let bases: Vec<Box<dyn corral_core::Base<Context, Arm>>> =
                vec![Soft::boxed(3, 0.1), Box::new(faulty), Soft::boxed(3, 0.2)];
            Band::new(Toy::new(3, 0.05), bases).unwrap()
        };
        let mut whole = build();
        serve(&mut whole, &mut Pending::new(1_000), 0..100);
        let saved = whole.save();
        let mut loaded = build();
        if fails_in == In::Save {
            // A base that plays and cannot be saved: the snapshot says so when it is read.
            assert!(matches!(loaded.load(&saved), Err(EnsembleError::Base { base: 1, .. })));
            continue;
        }
        assert_eq!(whole.benched().len(), 1);
        loaded.load(&saved).unwrap();
        assert_eq!(loaded.benched(), whole.benched());
        let mut stores = (Pending::new(1_000), Pending::new(1_000));
        assert_eq!(serve(&mut whole, &mut stores.0, 0..100), serve(&mut loaded, &mut stores.1, 0..100));
        assert_eq!(whole.save(), loaded.save());
    }
}
