//! A store that is full from the n-th write on, for every n. That write is done by half where it is a line of a segment.

use std::collections::BTreeMap;
use std::sync::Arc;

use corral_log::Change;
use corral_serve::{FrontOptions, LearnerOptions, ServeError};

use crate::common::{Bench, Memory, SPEC};

/// Decisions by their tokens, and whether their reward was acknowledged.
type Made = BTreeMap<String, bool>;

fn open(store: &Memory) -> Result<Bench, ServeError> {
    // Few lines in a fold, and snapshots often.
    let learner = LearnerOptions { lines: 3, snapshot: 4, ..LearnerOptions::default() };
    Bench::with(SPEC, Arc::new(store.clone()), learner, FrontOptions::default())
}

/// Rounds of a service. What cannot be written is an error, and the next request is served.
fn serve(store: &Memory, made: &mut Made) {
    let Ok(mut bench) = open(store) else { return };
    for round in 0..12 {
        let token = bench.choose(&[]).token;
        let given = bench.reward(&token, f64::from(round % 10));
        assert!(matches!(given, Ok(()) | Err(ServeError::Store(_))), "{given:?}");
        assert_eq!(made.insert(token, given.is_ok()), None, "a token was handed out twice");
        if round == 5 {
            bench.front.change(Change::Add, "moss", Some(0.4), None, Box::new(drop));
            bench.front.commit();
        }
        if round % 3 == 2 {
            let _ = bench.learner.step();
            let state = bench.learner.state().unwrap();
            let _ = bench.learner.publish(&state);
            bench.front.refresh(&state).unwrap();
        }
    }
}

#[test]
fn whichever_write_fails_first_the_service_starts_again_and_has_lost_nothing() {
    let full = |store: &Memory, space| store.0.lock().unwrap().space = space;
    let mut failed = true;
    let mut writes = 0;
    while failed {
        let (store, mut made) = (Memory::default(), Made::new());
        // Twice: what the second start finds was left by a failure, too.
        failed = false;
        for _ in 0..2 {
            full(&store, Some(writes));
            serve(&store, &mut made);
            failed |= store.0.lock().unwrap().space == Some(0);
        }
        full(&store, None);
        serve(&store, &mut made);
        let mut bench = open(&store).unwrap_or_else(|e| panic!("full after {writes} writes: {e}"));
        for (token, acknowledged) in &made {
            let again = bench.reward(token, 1.0);
            let there = matches!(again, Err(ServeError::AlreadyRewarded(_)));
            assert!(there || (!acknowledged && again.is_ok()), "full after {writes} writes: {again:?}");
        }
        bench.learn();
        let counts = bench.learner.counts();
        assert_eq!((counts.learned, counts.late), (made.len() as u64, 0), "full after {writes} writes");
        // Learned again from the beginning, it is the same to the last bit.
        let digest = bench.learner.digest().unwrap();
        store.0.lock().unwrap().files.retain(|name, _| !name.contains("/snapshots/"));
        assert_eq!(open(&store).unwrap().learner.digest().unwrap(), digest, "full after {writes} writes");
        writes += 1;
    }
    assert!(writes > 20, "{writes} writes");
}
