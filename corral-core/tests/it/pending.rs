//! The store of outstanding tickets.
#![allow(missing_docs)]

use crate::common::*;
use corral_core::{
    Arm, Context, Corral, CorralParams, Ensemble, EnsembleError, EnsembleParams, Expiry, Horizon, LossDomain,
    Pending, PendingError, SnapshotError, Ticket,
};

type Band = Ensemble<Context, Arm, Toy>;
type Store = Pending<Context, Arm>;

fn band() -> Band {
    let bases = (0..3).map(|_| Soft::boxed(3, 0.1)).collect();
    Band::with_params(Toy::new(3, 0.05), bases, opened(EnsembleParams::default())).unwrap()
}

fn tickets(band: &mut Band, count: usize) -> Vec<Ticket<Arm>> {
    let mut rng = generator(1);
    (0..count).map(|_| band.choose(&Context::plain(3), &mut rng).unwrap()).collect()
}

#[test]
fn a_ticket_is_taken_once() {
    let mut band = band();
    let mut store = Store::new(10);
    let mut ids = Vec::new();
    for (at, ticket) in tickets(&mut band, 4).into_iter().enumerate() {
        let id = ticket.id();
        assert_eq!(store.insert(Context::plain(3), ticket, at as u64), Ok(id));
        ids.push(id);
    }
    assert_eq!((store.len(), store.find(ids[2]).unwrap().1.id()), (4, ids[2]));
    let (context, ticket) = store.take(ids[2]).unwrap();
    assert_eq!((context.actions(), ticket.round()), (3, 2));
    assert_eq!(store.take(ids[2]).unwrap_err(), PendingError::AlreadyRewarded(ids[2]));
    let unknown = band.next_id();
    assert_eq!(store.take(unknown).unwrap_err(), PendingError::Unknown(unknown));
    assert_eq!(store.expire(2, Expiry::Drop), Ok(vec![]));
    assert_eq!(store.take(ids[0]).unwrap_err(), PendingError::Expired(ids[0]));
    assert_eq!(store.take(ids[1]).unwrap_err(), PendingError::Expired(ids[1]));
    assert!(store.take(ids[3]).is_ok());
    assert!(store.is_empty());
    let counts = store.counts();
    assert_eq!((counts.rewarded, counts.defaulted, counts.dropped), (2, 0, 2));
    assert_eq!(store.refused(), 4);
    // Taken and brought back, it waits again, also after saving.
    store.insert(context, ticket, 9).unwrap();
    assert_eq!(Store::load(&store.save().unwrap()), Ok(store));
}

#[test]
fn the_store_is_bounded_and_so_is_its_memory() {
    let mut band = band();
    let mut store = Store::new(2);
    let mut waiting = tickets(&mut band, 100).into_iter();
    let ids: Vec<_> =
        (0..2).map(|_| store.insert(Context::plain(3), waiting.next().unwrap(), 0).unwrap()).collect();
    assert!(store.is_full());
    let refused = store.insert(Context::plain(3), waiting.next().unwrap(), 0);
    let given_back = *refused.unwrap_err();
    assert_eq!((given_back.error, given_back.ticket.round()), (PendingError::Full(2), 2));
    // The first waits through many others; what became of the old ones is forgotten.
    let mut last = ids[1];
    for ticket in waiting.by_ref().take(50) {
        assert!(store.take(last).is_ok());
        last = store.insert(Context::plain(3), ticket, 0).unwrap();
    }
    assert_eq!(store.take(ids[1]).unwrap_err(), PendingError::Unknown(ids[1]));
    assert_eq!(store.take(ids[0]).unwrap().1.round(), 0);
    assert_eq!(store.take(ids[0]).unwrap_err(), PendingError::AlreadyRewarded(ids[0]));
}

/// Time may run in any order: who waits since longest ago expires first, and the others are not looked at.
#[test]
fn expired_tickets_come_back_with_the_default_loss() {
    let mut band = band();
    let mut store = Store::new(10);
    let mut ids = Vec::new();
    for (at, ticket) in [40, 10, 30, 0, 20].into_iter().zip(tickets(&mut band, 5)) {
        ids.push(store.insert(Context::plain(3), ticket, at).unwrap());
    }
    for bad in [f64::NAN, f64::INFINITY] {
        assert!(matches!(store.expire(100, Expiry::Loss(bad)), Err(PendingError::Loss(_))));
        assert_eq!(store.len(), 5);
    }
    assert_eq!(store.late(30).collect::<Vec<_>>(), [ids[3], ids[1], ids[4]]);
    let expired = store.expire(30, Expiry::Loss(1.0)).unwrap();
    let found: Vec<_> = expired.iter().map(|e| (e.id, e.loss)).collect();
    assert_eq!(found, [(ids[3], 1.0), (ids[1], 1.0), (ids[4], 1.0)]);
    for e in expired {
        band.learn(&e.context, e.ticket, e.loss).unwrap();
    }
    assert_eq!((store.len(), store.counts().defaulted), (2, 3));
    assert_eq!(store.take(ids[1]).unwrap_err(), PendingError::Expired(ids[1]));
}

#[test]
fn a_bad_loss_leaves_the_ticket_waiting() {
    let mut band = band();
    let mut store = Store::new(10);
    let ticket = tickets(&mut band, 1).remove(0);
    let id = store.insert(Context::plain(3), ticket, 0).unwrap();
    let before = band.save();
    assert!(matches!(
        store.reward(id, f64::NAN, &mut band),
        Err(PendingError::Ensemble(EnsembleError::Loss(_)))
    ));
    assert_eq!((store.len(), band.save() == before), (1, true));
    assert!(store.reward(id, 0.5, &mut band).unwrap().credited);
    assert_eq!(store.reward(id, 0.5, &mut band).unwrap_err(), PendingError::AlreadyRewarded(id));
}

#[test]
fn losses_outside_the_unit_interval_are_taken_where_the_ensemble_takes_them() {
    let losses = LossDomain::Real;
    let master = Corral::new(CorralParams { losses, ..CorralParams::new(2, Horizon::Known(100)) }).unwrap();
    let (bases, diaries): (Vec<_>, Vec<_>) = (0..2).map(Constant::boxed).unzip();
    let params = EnsembleParams { losses, ..EnsembleParams::default() };
    let mut band = Ensemble::<Context, Arm, Corral>::with_params(master, bases, params).unwrap();
    let mut store = Store::new(10);
    let mut rng = generator(1);
    for loss in [-3.5, 7.25] {
        let ticket = band.choose(&Context::plain(2), &mut rng).unwrap();
        let id = store.insert(Context::plain(2), ticket, 0).unwrap();
        assert!(matches!(
            store.reward(id, f64::INFINITY, &mut band),
            Err(PendingError::Ensemble(EnsembleError::Loss(_)))
        ));
        assert!(store.reward(id, loss, &mut band).unwrap().credited);
    }
    assert_eq!((store.counts().rewarded, band.benched().len()), (2, 0));
    let notes: Vec<Note> = diaries.iter().flat_map(Diary::notes).collect();
    for told in [-3.5, 7.25] {
        assert!(notes.iter().any(|n| matches!(n, Note::Learned(_, loss, _) if *loss == told)), "{notes:?}");
    }
}

#[test]
fn a_store_survives_saving_and_damage_is_named() {
    let mut band = band();
    let mut store = Store::new(3);
    let mut ids = Vec::new();
    for ticket in tickets(&mut band, 30) {
        if store.is_full() {
            let _ = store.take(ids.remove(1)).unwrap();
        }
        ids.push(store.insert(Context::shared(vec![0.25, -1.0], 3), ticket, 7).unwrap());
    }
    let saved = store.save().unwrap();
    let loaded = Store::load(&saved).unwrap();
    assert_eq!(loaded, store);
    assert_eq!(loaded.save(), Ok(saved.clone()));
    for cut in 0..saved.len() {
        assert!(matches!(Store::load(&saved[..cut]), Err(PendingError::Snapshot(_))), "cut to {cut}");
    }
    for at in 0..saved.len() {
        for bit in 0..8 {
            let mut bad = saved.clone();
            bad[at] ^= 1 << bit;
            assert!(matches!(Store::load(&bad), Err(PendingError::Snapshot(_))), "bit {bit} of byte {at}");
        }
    }
    let other = corral_core::snapshot::seal("pending", 9, &0u8);
    assert!(matches!(Store::load(&other), Err(PendingError::Snapshot(SnapshotError::Version { .. }))));
}
