//! Decisions that are logged when they are made.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use corral_log::{JoinOptions, Reader, Record, Writer, join};
use corral_serve::{DecisionExport, Export, FrontOptions, LearnerOptions};

use crate::common::{Bench, Memory, SPEC};

fn bench(store: &Memory) -> Bench {
    let options = FrontOptions { log_decisions: true, ..FrontOptions::default() };
    Bench::with(SPEC, Arc::new(store.clone()), LearnerOptions::default(), options).unwrap()
}

fn decisions(store: &Memory) -> (Vec<u8>, Vec<corral_log::Decided>) {
    let export = DecisionExport::of(Arc::new(store.clone()), "shop").unwrap();
    let log: Vec<u8> = export.flat_map(Result::unwrap).collect();
    let (mut reader, mut found) = (Reader::new(&log[..]).checked(0).strict(true), Vec::new());
    while let Some(record) = reader.read().unwrap() {
        match record {
            Record::Decision(decision) => found.push(decision),
            Record::Start(_) => assert!(found.is_empty(), "one start, and it comes first"),
            other => panic!("{other:?}"),
        }
    }
    (log, found)
}

#[test]
fn every_decision_is_logged_and_joined_with_its_reward() {
    let store = Memory::default();
    let mut bench = bench(&store);
    bench.clock.0.store(1_000_000, Ordering::Relaxed);
    let mut made: Vec<_> = (0..19).map(|_| bench.choose(&[])).collect();
    made.push(bench.front.choose_default(1, &bench.context(&[]), Some("u".into())).unwrap());
    for chosen in &made[12..] {
        bench.reward(&chosen.token, 5.0).unwrap();
    }
    bench.learn();
    let (log, found) = decisions(&store);
    assert_eq!(found.len(), 20);
    for (chosen, decision) in made.iter().zip(&found) {
        assert_eq!((decision.id, decision.propensity), (chosen.id, chosen.propensity));
    }
    assert_eq!(found.iter().filter(|d| d.unit.as_deref() == Some("u")).count(), 1);
    let rewards: Vec<u8> = Export::of(Arc::new(store), "shop").flat_map(Result::unwrap).collect();
    let options = JoinOptions { default: Some(0.0), ..JoinOptions::default() };
    let joined = join(Reader::new(&log[..]), Reader::new(&rewards[..]), Writer::new(Vec::new()), &options);
    let counts = joined.unwrap().counts;
    assert_eq!((counts.joined, counts.without, counts.orphans), (8, 12, 0));
}

/// An answer does not wait: what was decided in the last 200 ms is lost with the process, and nothing before that.
#[test]
fn decisions_are_written_in_groups_and_a_store_that_fails_loses_none() {
    let store = Memory::default();
    let bench = bench(&store);
    let at = |ms: u64| bench.clock.0.store(1_000_000 + ms, Ordering::Relaxed);
    let decide = |count: usize| (0..count).for_each(|_| drop(bench.choose(&[])));
    at(0);
    decide(3);
    bench.front.commit();
    assert_eq!(decisions(&store).1.len(), 3);
    at(100);
    decide(4);
    bench.front.commit();
    assert_eq!(decisions(&store).1.len(), 3, "they wait for more");
    at(200);
    bench.front.commit();
    assert_eq!(decisions(&store).1.len(), 7);
    // Nothing more can be written; later it can.
    store.0.lock().unwrap().space = Some(0);
    at(500);
    decide(5);
    bench.front.commit();
    store.0.lock().unwrap().space = None;
    at(400);
    decide(1);
    bench.front.commit();
    assert_eq!((decisions(&store).1.len(), bench.front.counts().unlogged), (13, 0));
    // The end of a process is not a crash.
    decide(2);
    bench.front.close();
    bench.front.commit();
    assert_eq!(decisions(&store).1.len(), 15);
}

#[test]
fn without_the_option_nothing_is_logged() {
    let store = Memory::default();
    let bench = Bench::open(SPEC, Arc::new(store.clone())).unwrap();
    drop(bench.choose(&[]));
    bench.front.commit();
    assert!(decisions(&store).1.is_empty());
}
