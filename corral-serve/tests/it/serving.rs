//! A band with its threads: what is served when, and to whom twice.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use corral_core::Context;
use corral_serve::{
    Clock, FrontOptions, Question, Role, Segment, ServeError, Serving, ServingOptions, Step, Store,
    SystemClock, spec,
};

use crate::common::{Bench, Hands, Memory, SPEC};

/// Longer than any test.
const NEVER: Duration = Duration::from_secs(3_600);

fn open(store: &Memory, more: &str, clock: Arc<dyn Clock>, options: ServingOptions) -> Serving {
    let band = spec::read(&format!("{SPEC}{more}")).unwrap().remove(0);
    Serving::open(band, Arc::new(store.clone()), clock, options).unwrap()
}

fn question() -> Question {
    Question { context: Context::plain(3), ..Question::default() }
}

/// Waits until something holds.
fn wait(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_front_end_whose_learner_is_elsewhere_looks_for_a_newer_state_after_some_decisions() {
    let store = Memory::default();
    let options = ServingOptions { role: Role::Front, refresh: (20, NEVER), ..ServingOptions::default() };
    let front = open(&store, "", Arc::new(SystemClock), options);
    let mut bench = Bench::open(SPEC, Arc::new(store.clone())).unwrap();
    let chosen = bench.choose(&[]);
    bench.reward(&chosen.token, 5.0).unwrap();
    while bench.learner.step().unwrap() != Step::Idle {}
    bench.learner.publish(&bench.learner.state().unwrap()).unwrap();
    for _ in 0..40 {
        front.choose(question()).unwrap();
    }
    wait("the state is not looked for", || front.counts().refreshes == 1);
}

#[test]
fn a_learner_publishes_after_some_rewards() {
    let store = Memory::default();
    let options = ServingOptions {
        role: Role::Learner,
        refresh: (usize::MAX, Duration::from_millis(5)),
        publish: (30, NEVER),
        ..ServingOptions::default()
    };
    let learner = open(&store, "", Arc::new(SystemClock), options);
    let bench = Bench::open(SPEC, Arc::new(store.clone())).unwrap();
    let published = || store.list("bands/shop/states").unwrap().len();
    let first = published();
    for _ in 0..40 {
        let chosen = bench.choose(&[]);
        bench.reward(&chosen.token, 5.0).unwrap();
    }
    wait("nothing is published", || published() > first && learner.learned().learned >= 30);
}

#[test]
fn no_decision_is_made_behind_the_staleness_that_is_allowed() {
    let (store, clock) = (Memory::default(), Arc::new(Hands::default()));
    let options = ServingOptions {
        role: Role::Front,
        max_stale: Some(Duration::from_secs(10)),
        ..ServingOptions::default()
    };
    let front = open(&store, "", clock.clone(), options);
    let chosen = front.choose(question()).unwrap().chosen;
    front.front().unwrap().reward_now(&chosen.token, 5.0).unwrap();
    clock.0.store(10_000, Ordering::Relaxed);
    assert!(front.choose(question()).is_ok() && front.unready().is_none());
    clock.0.store(11_000, Ordering::Relaxed);
    assert_eq!(front.choose(question()), Err(ServeError::Stale(11.0)));
    assert!(front.unready().is_some());
    // A learner takes it: decisions are made again.
    let mut bench = Bench::open(SPEC, Arc::new(store)).unwrap();
    while bench.learner.step().unwrap() != Step::Idle {}
    bench.learner.publish(&bench.learner.state().unwrap()).unwrap();
    front.front().unwrap().look().unwrap();
    assert!(front.choose(question()).is_ok());
}

/// Requests with one key, or for one sticky unit, that come at the same time are given one decision.
#[test]
fn requests_at_the_same_time_with_one_key_or_unit_get_one_decision() {
    let serving =
        open(&Memory::default(), "sticky = 3600\n", Arc::new(SystemClock), ServingOptions::default());
    let start = Barrier::new(4);
    for round in 0..300 {
        let answers = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let name = Some(format!("n{round}"));
                    let asked = match round % 2 {
                        0 => Question { key: name, ..question() },
                        _ => Question { unit: name, ..question() },
                    };
                    start.wait();
                    answers.lock().unwrap().push(serving.choose(asked).unwrap().chosen.id);
                });
            }
        });
        let answers = answers.into_inner().unwrap();
        assert!(answers.iter().all(|id| *id == answers[0]), "round {round}: {answers:?}");
    }
    assert_eq!(serving.counts().decisions, 300);
}

/// Counts how often it is asked for a list.
struct Counted(Memory, AtomicUsize);

impl Store for Counted {
    fn create(&self, name: &str, bytes: &[u8]) -> std::io::Result<bool> {
        self.0.create(name, bytes)
    }
    fn get(&self, name: &str) -> std::io::Result<Option<Vec<u8>>> {
        self.0.get(name)
    }
    fn list(&self, folder: &str) -> std::io::Result<Vec<String>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.list(folder)
    }
    fn delete(&self, name: &str) -> std::io::Result<()> {
        self.0.delete(name)
    }
    fn segment(&self, name: &str) -> std::io::Result<Option<Box<dyn Segment>>> {
        self.0.segment(name)
    }
    fn is_closed(&self, name: &str) -> std::io::Result<bool> {
        self.0.is_closed(name)
    }
    fn read(&self, name: &str, from: u64, most: usize) -> std::io::Result<Vec<u8>> {
        self.0.read(name, from, most)
    }
}

#[test]
fn an_id_that_cannot_be_elsewhere_is_not_looked_for_in_the_store() {
    let store = Arc::new(Counted(Memory::default(), AtomicUsize::new(0)));
    let bench = Bench::with(SPEC, store.clone(), Default::default(), FrontOptions::default()).unwrap();
    let unknown = |id: String| {
        let (slot, answer) =
            (Arc::new(Mutex::new(None)), |slot: &Arc<Mutex<Option<_>>>| slot.lock().unwrap().take());
        let send = slot.clone();
        bench.front.reward_kept(&id, 5.0, Box::new(move |result| *send.lock().unwrap() = Some(result)));
        assert!(matches!(answer(&slot), Some(Err(ServeError::UnknownId(_)))));
    };
    let chosen = bench.choose(&[]);
    let before = store.1.load(Ordering::Relaxed);
    for round in 0..50 {
        // Of this front end, which has not kept it; of another band; and no id at all.
        unknown(corral_core::TicketId { round, ..chosen.id }.to_string());
        unknown(corral_core::TicketId { band: !chosen.id.band, copy: 9, round }.to_string());
        unknown("x".into());
    }
    assert_eq!(store.1.load(Ordering::Relaxed), before);
    unknown(corral_core::TicketId { copy: 9, ..chosen.id }.to_string());
    assert_eq!(store.1.load(Ordering::Relaxed), before + 1);
}
