//! Tickets that are kept for clients: found by every front end, and gone when they have expired.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use corral_serve::{Front, FrontOptions, LearnerOptions, ServeError, Store};

use crate::common::{Bench, Memory, SPEC};

const PATIENCE: u64 = 100_000;

fn options() -> FrontOptions {
    FrontOptions { patience: PATIENCE, tickets: 50, ..FrontOptions::default() }
}

/// Calls with an answer, and writes.
fn asked(front: &Front<corral_core::Arm>, ask: impl FnOnce(corral_serve::Done)) -> Result<(), ServeError> {
    let answer = Arc::new(Mutex::new(None));
    let slot = answer.clone();
    ask(Box::new(move |result| *slot.lock().unwrap() = Some(result)));
    front.commit();
    answer.lock().unwrap().take().expect("an answer after the commit")
}

#[test]
fn expired_tickets_go_from_memory_and_from_the_store() {
    let store = Memory::default();
    let bench = Bench::with(SPEC, Arc::new(store.clone()), LearnerOptions::default(), options()).unwrap();
    let (front, clock) = (&bench.front, &bench.clock);
    let segments = || store.list("bands/shop/tickets").unwrap().len();
    let bytes = || -> usize {
        let content = store.0.lock().unwrap();
        content.files.iter().filter(|(name, _)| name.contains("/tickets/")).map(|(_, b)| b.len()).sum()
    };
    let mut first = None;
    let mut most = (0, 0, 0);
    for round in 0..60_u64 {
        clock.0.store(10 * PATIENCE + round * PATIENCE / 4, Ordering::Relaxed);
        for i in 0..8 {
            let chosen = bench.choose(&[]);
            asked(front, |done| front.keep(chosen.id, chosen.token.clone(), done)).unwrap();
            if i % 2 == 0 {
                asked(front, |done| front.reward_kept(&chosen.id.to_string(), 5.0, done)).unwrap();
            } else {
                first.get_or_insert(chosen.id);
            }
        }
        most = (most.0.max(segments()), most.1.max(bytes()), most.2.max(front.kept()));
    }
    // Eight rounds of a patience each are 64 tickets, of some 400 bytes.
    assert!(most.0 <= 4 && most.1 < 120 * 600 && most.2 <= 24, "{most:?}");
    let late = asked(front, |done| front.reward_kept(&first.unwrap().to_string(), 5.0, done));
    assert!(matches!(late, Err(ServeError::Late(_))), "{late:?}");
    // When all have expired nothing is left.
    clock.0.fetch_add(3 * PATIENCE, Ordering::Relaxed);
    front.commit();
    assert_eq!((segments(), front.kept()), (0, 0));
}

/// The tickets of one front end are found by another, and leave it all its own places.
#[test]
fn any_front_end_finds_a_ticket_and_none_takes_the_places_of_another() {
    let store = Memory::default();
    let open = || Bench::with(SPEC, Arc::new(store.clone()), LearnerOptions::default(), options()).unwrap();
    let (one, two) = (open(), open());
    let keep = |bench: &Bench| {
        let chosen = bench.choose(&[]);
        asked(&bench.front, |done| bench.front.keep(chosen.id, chosen.token.clone(), done))
            .map(|()| chosen.id)
    };
    let ids: Vec<_> = (0..50).map(|_| keep(&one).unwrap()).collect();
    assert!(matches!(keep(&one), Err(ServeError::Full { .. })), "50 are the most");
    let bring = |bench: &Bench, id: &str| {
        let (front, id) = (&bench.front, id.to_owned());
        asked(front, |done| front.reward_kept(&id, 5.0, done))
    };
    assert_eq!(bring(&two, &ids[7].to_string()), Ok(()));
    for _ in 0..50 {
        keep(&two).unwrap();
    }
    assert_eq!(bring(&two, &ids[49].to_string()), Ok(()));
    assert!(matches!(bring(&two, "0000000000000007-9-9"), Err(ServeError::UnknownId(_))));
    // What was removed by another front end is not missed: both sweep.
    for bench in [&one, &two] {
        bench.clock.0.fetch_add(4 * PATIENCE, Ordering::Relaxed);
        bench.front.commit();
        bench.front.commit();
    }
    for bench in [&one, &two] {
        bench.clock.0.fetch_add(4 * PATIENCE, Ordering::Relaxed);
        bench.front.commit();
    }
    assert!(store.list("bands/shop/tickets").unwrap().is_empty());
}
