//! Choose, reward, fold, refresh: step by step, without threads.

use std::io::{self, Cursor};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use corral_core::EnsembleError;
use corral_log::{Change, Reader};
use corral_serve::{
    FoldLearner, Front, FrontOptions, LearnerOptions, Model, Segment, ServeError, Step, Store,
};

use crate::common::{Bench, Memory, SPEC, reward};

fn bench(store: &Memory) -> Bench {
    Bench::open(SPEC, Arc::new(store.clone())).unwrap()
}

fn segment(store: &Memory, number: u64) -> Vec<u8> {
    store.get(&format!("bands/shop/segments/{number:08}.jsonl")).unwrap().unwrap()
}

#[test]
fn a_reward_is_taken_once_and_told_apart_from_others() {
    let store = Memory::default();
    let mut bench = bench(&store);
    let chosen = bench.choose(&[]);
    assert!(chosen.propensity.is_some_and(|p| p > 0.0 && p <= 1.0));
    let bad = bench.reward(&chosen.token, 11.0).unwrap_err();
    assert!(matches!(bad, ServeError::Band(EnsembleError::Scale(_))), "{bad:?}");
    assert_eq!(bench.reward(&chosen.token, 5.0), Ok(()));
    assert_eq!(bench.reward(&chosen.token, 5.0), Err(ServeError::AlreadyRewarded(chosen.id)));
    bench.learn();
    assert_eq!(bench.reward(&chosen.token, 5.0), Err(ServeError::AlreadyRewarded(chosen.id)));
    assert_eq!(bench.learner.counts().learned, 1);
    assert_eq!(bench.front.metrics().learned, 1, "the front end serves what was learned");

    // Changed on its way: behind the band, in its context, and in what the service added.
    let other = bench.choose(&[]);
    for at in [30, other.token.len() - 30, other.token.len() - 3] {
        let mut token = other.token.clone().into_bytes();
        token[at] = if token[at] == b'A' { b'B' } else { b'A' };
        let token = String::from_utf8(token).unwrap();
        let error = bench.reward(&token, 5.0).unwrap_err();
        assert!(matches!(error, ServeError::Forged(_) | ServeError::Token(_)), "{at}: {error:?}");
    }
    // Pieces that can be read, and are not a token together.
    for text in [
        "nonsense",
        "",
        ".",
        "c2",
        "c2.",
        "d3",
        "d3.",
        "d3..",
        "d3.AAAAAAAAAAAAAAAA",
        "d2.AAAA.AAAAAAAAAAAAAAAA",
        "c2.AAAAAAAAAAAAAAAA",
        "c2.AA.AAAAAAAAAAAAAAAA",
    ] {
        assert!(matches!(bench.reward(text, 5.0), Err(ServeError::Token(_))), "{text:?}");
    }
    // Of another service that was built alike.
    let elsewhere = Bench::open(SPEC, Arc::new(Memory::default())).unwrap();
    let default = elsewhere.front.choose_default(1, &elsewhere.context(&[]), None).unwrap();
    for foreign in [elsewhere.choose(&[]), default] {
        let error = bench.reward(&foreign.token, 5.0).unwrap_err();
        assert!(matches!(&error, ServeError::Foreign { id, .. } if *id == foreign.id), "{error}");
        assert!(error.to_string().contains("of another band"), "{error}");
        elsewhere.reward(&foreign.token, 5.0).unwrap();
    }
    // In time to the millisecond, by a clock that has gone back, and too late.
    let week = 7 * 24 * 3_600_000;
    bench.clock.0.store(week, Ordering::Relaxed);
    assert_eq!(bench.reward(&other.token, 5.0), Ok(()));
    let ahead = bench.choose(&[]);
    let old = bench.choose(&[]);
    bench.clock.0.store(0, Ordering::Relaxed);
    assert_eq!(bench.reward(&ahead.token, 5.0), Ok(()));
    bench.clock.0.store(2 * week + 1, Ordering::Relaxed);
    assert_eq!(bench.reward(&old.token, 5.0), Err(ServeError::Late(old.id)));
    bench.learn();
    assert_eq!(bench.learner.counts().learned, 3);
}

#[test]
fn a_reward_that_comes_twice_at_once_is_not_answered_before_it_is_written() {
    use std::sync::Mutex;
    let store = Memory::default();
    let bench = bench(&store);
    let chosen = bench.choose(&[]);
    let answers = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..3 {
        let answers = answers.clone();
        bench.front.reward(&chosen.token, 5.0, Box::new(move |result| answers.lock().unwrap().push(result)));
    }
    assert!(answers.lock().unwrap().is_empty());
    assert!(bench.front.commit());
    let again = Err(ServeError::AlreadyRewarded(chosen.id));
    assert_eq!(*answers.lock().unwrap(), [Ok(()), again.clone(), again]);

    // The disk is full: none of them was rewarded, and it may be brought again.
    let second = bench.choose(&[]);
    store.0.lock().unwrap().space = Some(1);
    answers.lock().unwrap().clear();
    for _ in 0..2 {
        let answers = answers.clone();
        bench.front.reward(&second.token, 5.0, Box::new(move |result| answers.lock().unwrap().push(result)));
    }
    bench.front.commit();
    assert!(answers.lock().unwrap().iter().all(|a| matches!(a, Err(ServeError::Store(_)))));
    assert!(matches!(bench.reward(&second.token, 5.0), Err(ServeError::Store(_))), "still full");
    store.0.lock().unwrap().space = None;
    assert_eq!(bench.reward(&second.token, 5.0), Ok(()));
}

#[test]
fn segments_are_logs_that_can_be_verified() {
    let store = Memory::default();
    let mut bench = bench(&store);
    for _ in 0..20 {
        let chosen = bench.choose(&[]);
        bench.reward(&chosen.token, 4.0).unwrap();
    }
    bench.learn();
    let log = segment(&store, bench.front.copy());
    let mut reader = Reader::new(Cursor::new(log)).checked(0).strict(true);
    let mut kinds = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        kinds.push(record.kind());
    }
    assert_eq!((kinds[0], kinds.len()), ("start", 21));
    assert!(kinds[1..].iter().all(|kind| *kind == "both"));
}

#[test]
fn what_was_learned_is_there_after_a_restart_and_nothing_is_taken_twice() {
    let store = Memory::default();
    let mut first = bench(&store);
    let (mut rewarded, mut open) = (Vec::new(), Vec::new());
    for i in 0..50 {
        let chosen = first.choose(&[]);
        if i % 3 == 0 {
            open.push(chosen.token);
        } else {
            first.reward(&chosen.token, f64::from(i % 10)).unwrap();
            rewarded.push(chosen.token);
        }
        if i % 20 == 0 {
            first.learn();
        }
        if i == 25 {
            first.learner.save().unwrap();
        }
    }
    drop(first);

    // Without a clean end: a snapshot, folds after it, and lines that no fold has taken.
    let mut second = bench(&store);
    assert_eq!(second.front.copy(), 2);
    for token in &rewarded {
        assert!(matches!(second.reward(token, 1.0), Err(ServeError::AlreadyRewarded(_))));
    }
    for token in &open {
        assert_eq!(second.reward(token, 1.0), Ok(()));
    }
    second.learn();
    assert_eq!(second.learner.counts().learned, 50);

    // Learned again from the beginning, it is the same to the last bit.
    let whole = second.learner.digest().unwrap();
    store.0.lock().unwrap().files.retain(|name, _| !name.contains("/snapshots/"));
    assert_eq!(bench(&store).learner.digest().unwrap(), whole);
}

#[test]
fn a_damaged_snapshot_is_passed_over() {
    let store = Memory::default();
    let mut first = bench(&store);
    for _ in 0..2 {
        let chosen = first.choose(&[]);
        first.reward(&chosen.token, 5.0).unwrap();
        first.learn();
        first.learner.save().unwrap();
    }
    let whole = first.learner.digest().unwrap();
    let newest = store.list("bands/shop/snapshots").unwrap().pop().unwrap();
    store.0.lock().unwrap().files.get_mut(&format!("bands/shop/snapshots/{newest}")).unwrap()[30] ^= 1;
    assert_eq!(bench(&store).learner.digest().unwrap(), whole);
}

#[test]
fn any_front_end_takes_any_reward_and_it_is_learned_once() {
    let store = Memory::default();
    let mut one = bench(&store);
    let two = bench(&store);
    let chosen = one.choose(&[]);
    // The second does not know yet that the first has it: both answer, and it is learned once.
    assert_eq!(reward(&two.front, &chosen.token, 5.0), Ok(()));
    assert_eq!(one.reward(&chosen.token, 5.0), Ok(()));
    one.learn();
    assert_eq!((one.learner.counts().learned, one.learner.counts().repeated), (1, 1));
    one.learner.publish(&one.learner.state().unwrap()).unwrap();
    assert!(two.front.look().unwrap());
    assert!(!two.front.look().unwrap(), "nothing newer is there");
    let third = one.choose(&[]);
    one.reward(&third.token, 5.0).unwrap();
    one.learn();
    one.learner.publish(&one.learner.state().unwrap()).unwrap();
    two.front.look().unwrap();
    assert_eq!(reward(&two.front, &third.token, 5.0), Err(ServeError::AlreadyRewarded(third.id)));
}

#[test]
fn two_learners_end_in_the_same_state() {
    let store = Memory::default();
    let mut bench = bench(&store);
    let model: Arc<dyn Model<_>> = bench.spec.clone();
    let mut other = FoldLearner::open("shop", model, bench.store.clone(), LearnerOptions::default()).unwrap();
    for i in 0..40 {
        let chosen = bench.choose(&[]);
        bench.reward(&chosen.token, f64::from(i % 7)).unwrap();
        if i % 3 == 0 {
            other.step().unwrap();
        } else {
            bench.learner.step().unwrap();
        }
    }
    bench.learn();
    while other.step().unwrap() != Step::Idle {}
    assert_eq!(other.digest().unwrap(), bench.learner.digest().unwrap());
    assert_eq!(other.folds(), bench.learner.folds());
}

#[test]
fn a_damaged_segment_is_named_or_cut_as_configured() {
    let store = Memory::default();
    let first = bench(&store);
    for _ in 0..10 {
        let chosen = first.choose(&[]);
        first.reward(&chosen.token, 4.0).unwrap();
    }
    let name = "bands/shop/segments/00000001.jsonl";
    let lines: Vec<usize> =
        segment(&store, 1).iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1).collect();
    // The sixth line, a digit of its propensity or its reward.
    store.0.lock().unwrap().files.get_mut(name).unwrap()[lines[4] + 60] ^= 1;
    let error = Bench::open(SPEC, Arc::new(store.clone())).err().expect("it is damaged");
    let ServeError::Damaged { name: found, at, .. } = &error else { panic!("{error:?}") };
    assert_eq!((&**found, *at), (name, lines[4] as u64), "{error}");

    let cutting = LearnerOptions { cut: true, ..LearnerOptions::default() };
    let cut = Bench::with(SPEC, Arc::new(store.clone()), cutting, FrontOptions::default()).unwrap();
    assert_eq!(cut.learner.counts().learned, 4, "the start and four rewards stand before it");
    // It is cut for everyone from then on.
    assert_eq!(Bench::open(SPEC, Arc::new(store)).unwrap().learner.counts().learned, 4);
}

#[test]
fn a_torn_last_line_is_left_alone() {
    let store = Memory::default();
    let first = bench(&store);
    let chosen = first.choose(&[]);
    first.reward(&chosen.token, 4.0).unwrap();
    let torn = b"{\"kind\":\"both\",\"id\":\"0";
    store
        .0
        .lock()
        .unwrap()
        .files
        .get_mut("bands/shop/segments/00000001.jsonl")
        .unwrap()
        .extend_from_slice(torn);
    assert_eq!(bench(&store).learner.counts().learned, 1);
}

#[test]
fn a_store_of_another_spec_is_refused() {
    let store = Memory::default();
    drop(bench(&store));
    let other = SPEC.replace("\"exp3\", ", "");
    let error = Bench::open(&other, Arc::new(store)).err().expect("other bases").to_string();
    assert!(error.contains("another spec") && error.contains("exp3"), "{error}");
}

#[test]
fn bases_come_and_go_and_open_tickets_stay_good() {
    let store = Memory::default();
    let mut bench = bench(&store);
    let stale = Bench::open(SPEC, Arc::new(store.clone())).unwrap();
    let before: Vec<_> = (0..20).map(|_| bench.choose(&[]).token).collect();
    let ask = |bench: &Bench, change, name: &str, share| {
        let slot = Arc::new(std::sync::Mutex::new(None));
        let answer = slot.clone();
        bench.front.change(change, name, share, None, Box::new(move |r| *answer.lock().unwrap() = Some(r)));
        bench.front.commit();
        slot.lock().unwrap().take().unwrap()
    };
    assert_eq!(ask(&bench, Change::Add, "moss", Some(0.4)), Ok(()));
    assert!(ask(&bench, Change::Add, "no-such-base", Some(0.4)).is_err());
    assert!(ask(&bench, Change::Add, "exp3", Some(0.4)).is_err(), "it is there");
    assert!(ask(&bench, Change::Retire, "not-there", None).is_err());
    bench.learn();
    assert_eq!(bench.front.metrics().bases.len(), 5);
    assert_eq!(ask(&bench, Change::Retire, "exp3", None), Ok(()));
    bench.learn();
    // A front end that has not heard of the new base takes the reward of its decisions.
    for token in before.iter().chain(&(0..30).map(|_| bench.choose(&[]).token).collect::<Vec<_>>()) {
        assert_eq!(reward(&stale.front, token, 5.0), Ok(()));
    }
    assert_eq!(ask(&bench, Change::Reinstate, "exp3", Some(0.2)), Ok(()));
    assert_eq!(ask(&bench, Change::Replace, "ucb1", None), Ok(()));
    bench.learn();
    let counts = bench.learner.counts();
    assert_eq!((counts.learned, counts.refused, counts.changes), (50, 0, 4), "{counts:?}");
    let again = Bench::open(SPEC, Arc::new(store)).unwrap();
    assert_eq!(again.learner.digest().unwrap(), bench.learner.digest().unwrap());
}

/// No change of bases leaves a band that cannot be loaded: the service would never start again.
#[test]
fn a_change_that_cannot_be_gone_on_from_is_refused() {
    let store = Memory::default();
    let (mut taken, mut refused) = (0, 0);
    let shares = [1e-320, f64::MIN_POSITIVE, 1e-200, 2e-100, 1e-12, 1.0 - 1e-16, 1.0, 0.0, -1.0, f64::NAN];
    for (i, share) in shares.into_iter().chain([1.0 - 1e-16; 24]).enumerate() {
        let mut bench = bench(&store);
        let answer = Arc::new(Mutex::new(None));
        let slot = answer.clone();
        let done = Box::new(move |result| *slot.lock().unwrap() = Some(result));
        let params = Some("ucb1".into());
        bench.front.change(Change::Add, &format!("base {i}"), Some(share), params, done);
        bench.front.commit();
        let answer = answer.lock().unwrap().take().unwrap();
        (taken, refused) = (taken + u64::from(answer.is_ok()), refused + u64::from(answer.is_err()));
        let chosen = bench.choose(&[]);
        bench.reward(&chosen.token, 5.0).unwrap();
        bench.learn();
        bench.learner.save().unwrap();
        assert_eq!((bench.learner.counts().changes, bench.learner.counts().refused), (taken, 0), "{share}");
    }
    assert!(taken >= 3 && refused >= 7, "{taken} and {refused}");
    let bench = bench(&store);
    for name in ["", "a\nb", "nul\0", &"x".repeat(257)] {
        let answer = Arc::new(Mutex::new(None));
        let slot = answer.clone();
        let done = Box::new(move |result| *slot.lock().unwrap() = Some(result));
        bench.front.change(Change::Add, name, Some(0.1), Some("ucb1".into()), done);
        let answer = answer.lock().unwrap().take().expect("it is refused at once");
        assert!(matches!(&answer, Err(ServeError::Asked(why)) if why.contains("name")), "{answer:?}");
    }
}

#[test]
fn staleness_is_the_age_of_what_is_acknowledged_and_not_served() {
    let store = Memory::default();
    let mut bench = bench(&store);
    bench.clock.0.store(1_000, Ordering::Relaxed);
    assert_eq!(bench.front.staleness(), 0);
    let chosen = bench.choose(&[]);
    bench.reward(&chosen.token, 5.0).unwrap();
    bench.clock.0.store(1_250, Ordering::Relaxed);
    assert_eq!(bench.front.staleness(), 250);
    bench.learn();
    assert_eq!(bench.front.staleness(), 0);
}

/// What is done there.
type Meanwhile = Arc<Mutex<Option<Box<dyn FnMut() + Send>>>>;

/// A store in which something is done between a write and its return.
#[derive(Clone, Default)]
struct Slow {
    store: Memory,
    meanwhile: Meanwhile,
}

struct SlowSegment(Box<dyn Segment>, Slow);

impl Segment for SlowSegment {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)?;
        self.1.meanwhile.lock().unwrap().iter_mut().for_each(|act| act());
        Ok(())
    }
}

impl Store for Slow {
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        self.store.create(name, bytes)
    }
    fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.store.get(name)
    }
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.store.list(folder)
    }
    fn delete(&self, name: &str) -> io::Result<()> {
        self.store.delete(name)
    }
    fn segment(&self, name: &str) -> io::Result<Option<Box<dyn Segment>>> {
        let segment = self.store.segment(name)?;
        Ok(segment.map(|segment| Box::new(SlowSegment(segment, self.clone())) as Box<dyn Segment>))
    }
    fn is_closed(&self, name: &str) -> io::Result<bool> {
        self.store.is_closed(name)
    }
    fn read(&self, name: &str, from: u64, most: usize) -> io::Result<Vec<u8>> {
        self.store.read(name, from, most)
    }
}

/// What the learner finds in the store before the write has returned is served, and does not wait for ever.
#[test]
fn a_reward_that_is_learned_before_its_write_returns_is_not_stale() {
    let slow = Slow::default();
    let Bench { spec, store, clock, mut learner, .. } = Bench::open(SPEC, Arc::new(slow.clone())).unwrap();
    let options = FrontOptions::default();
    let front = Arc::new(Front::open("shop", spec, store, clock.clone(), options, &learner).unwrap());
    let served = front.clone();
    *slow.meanwhile.lock().unwrap() = Some(Box::new(move || {
        while learner.step().unwrap() != Step::Idle {}
        served.refresh(&learner.state().unwrap()).unwrap();
    }));
    let chosen = front.choose(&corral_core::Context::plain(3), None).unwrap();
    reward(&front, &chosen.token, 5.0).unwrap();
    clock.0.fetch_add(250, Ordering::Relaxed);
    assert_eq!((front.metrics().learned, front.staleness()), (1, 0));
    *slow.meanwhile.lock().unwrap() = None;
}

/// What is too old to be known is late everywhere: no front end that knows it takes its reward, and no learner learns it.
#[test]
fn a_reward_that_is_too_old_to_be_known_is_late_and_not_learned() {
    let store = Memory::default();
    let options = LearnerOptions { remembered: 1, ..LearnerOptions::default() };
    let open =
        || Bench::with(SPEC, Arc::new(store.clone()), options.clone(), FrontOptions::default()).unwrap();
    let mut first = open();
    let (given, left) = (first.choose(&[]), first.choose(&[]));
    let default = first.front.choose_default(1, &first.context(&[]), None).unwrap();
    first.reward(&given.token, 5.0).unwrap();
    first.learn();
    // It remembers the decisions of the first; the learner forgets them for those of the third.
    let second = open();
    let mut third = open();
    let newer = third.choose(&[]);
    third.reward(&newer.token, 5.0).unwrap();
    third.learn();
    assert_eq!((third.learner.counts().learned, third.learner.counts().late), (2, 0));
    for token in [&left.token, &default.token] {
        assert_eq!(reward(&second.front, token, 5.0), Ok(()), "it cannot know");
    }
    third.learn();
    let counts = third.learner.counts();
    assert_eq!((counts.learned, counts.default.count), (2, 0), "neither is learned");
    assert_eq!((counts.late, counts.repeated, counts.refused), (2, 0, 0));
    let fourth = open();
    for old in [given, left, default] {
        assert_eq!(fourth.reward(&old.token, 5.0), Err(ServeError::Late(old.id)));
    }
}

/// Rewards in front ends that come and go, with a snapshot after every few.
fn many(store: &Memory, keep: bool) -> Vec<u8> {
    let options = LearnerOptions { snapshot: 5, keep, ..LearnerOptions::default() };
    let mut digest = Vec::new();
    for _ in 0..4 {
        let front = FrontOptions::default();
        let mut bench = Bench::with(SPEC, Arc::new(store.clone()), options.clone(), front).unwrap();
        for i in 0..12 {
            let chosen = bench.choose(&[]);
            bench.reward(&chosen.token, f64::from(i % 9)).unwrap();
            bench.learn();
        }
        digest = bench.learner.digest().unwrap();
    }
    digest
}

/// Folds that two snapshots cover are few files, and a start without snapshots still finds them.
#[test]
fn folds_are_packed_and_learned_again_from_their_packs() {
    let store = Memory::default();
    let digest = many(&store, true);
    let (folds, packs) = (store.list("bands/shop/folds").unwrap(), store.list("bands/shop/packs").unwrap());
    assert!(folds.len() < 15 && packs.len() >= 5, "{folds:?} {packs:?}");
    assert_eq!(store.list("bands/shop/segments").unwrap().len(), 4, "the log is kept");
    let log: Vec<u8> =
        corral_serve::Export::of(Arc::new(store.clone()), "shop").flat_map(Result::unwrap).collect();
    assert_eq!(log.iter().filter(|byte| **byte == b'\n').count(), 49, "a start and 48 rewards");
    store.0.lock().unwrap().files.retain(|name, _| !name.contains("/snapshots/"));
    let again = bench(&store);
    assert!(again.learner.digest().unwrap() == digest);
    assert_eq!(again.learner.counts().learned, 48);
}

/// Without the log a start has the same state; what is damaged then is named, and nothing begins anew in its place.
#[test]
fn a_log_that_is_not_kept_goes_when_two_snapshots_cover_it() {
    let store = Memory::default();
    let digest = many(&store, false);
    assert!(store.list("bands/shop/packs").unwrap().is_empty());
    let segments = store.list("bands/shop/segments").unwrap();
    assert!(segments.len() <= 2, "{segments:?}");
    assert!(bench(&store).learner.digest().unwrap() == digest);
    let log: Vec<u8> =
        corral_serve::Export::of(Arc::new(store.clone()), "shop").flat_map(Result::unwrap).collect();
    let mut reader = Reader::new(Cursor::new(log)).checked(0).strict(true);
    assert_eq!(reader.read().unwrap().unwrap().kind(), "start");
    while let Some(record) = reader.read().unwrap() {
        assert_eq!(record.kind(), "both");
    }
    for (name, bytes) in &mut store.0.lock().unwrap().files {
        if name.contains("/snapshots/") {
            bytes[30] ^= 1;
        }
    }
    let error = Bench::open(SPEC, Arc::new(store)).err().expect("nothing is left to start from");
    assert!(matches!(&error, ServeError::Damaged { why, .. } if why.contains("removed")), "{error}");
}
