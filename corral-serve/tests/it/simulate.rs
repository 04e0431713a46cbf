//! Histories of a service in which everything fails: one seed is one history.
//!
//! Two front ends and two learners share a store that tears writes, loses answers and dies in the middle of a call; the machine
//! stops, and what was written and not synced is lost or half there; requests are doubled and come in any order; bases come and
//! go; clocks jump. In each history: no reward is lost that was acknowledged, none is learned twice, what is learned is to the
//! last bit what one undisturbed learner learns, and the log can be verified.
//!
//! More of them: `CORRAL_SIM_SECONDS=3600 cargo test -p corral-serve --release --test it simulate`.
//! One of them: `CORRAL_SIM_SEED=17 cargo test -p corral-serve --test it simulate`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use corral_bases::band::{Assembler, Band, MasterRecipe, Recipe};
use corral_core::registry::Kind;
use corral_core::{Arm, Base, Context, EnsembleParams, Propensities, Scale, Setup, TicketId};
use corral_log::{Change, Member, Reader, Record};
use corral_serve::{
    Export, FoldLearner, Front, FrontOptions, LearnerOptions, Model, Segment, ServeError, Step, Store,
};
use rand_pcg::Pcg64Dxsm;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::common::{Hands, Memory};

/// A band with an id and a secret that follow from nothing.
struct Small;

impl Small {
    fn member(name: &str) -> corral_bases::band::Member<Arm> {
        Assembler::new(&Setup::arms(2, None)).member(&MasterRecipe::default(), &Recipe::from(name)).unwrap()
    }
}

impl Model<Arm> for Small {
    fn band(&self) -> Result<Band<Arm>, ServeError> {
        let (setup, master) = (Setup::arms(2, None), MasterRecipe::default());
        let params = EnsembleParams {
            id: Some(7),
            secret: 42_u64.try_into().ok(),
            copy: Some(0),
            scale: Some(Scale::rewards(0.0, 1.0)),
            propensities: Propensities::Full,
            ..master.ensemble_params(Kind::Arms, &setup)
        };
        let members = ["ucb1", "exp3"].map(Self::member).into();
        let band = Assembler::new(&setup).ensemble(&master, members, params).unwrap();
        Ok(band.with_names(["ucb1", "exp3"]))
    }
    fn base(&self, member: &Member) -> Result<Box<dyn Base<Context, Arm>>, ServeError> {
        let name = member.name.split('-').next().unwrap_or_default();
        Ok(Self::member(name).base)
    }
    fn describe(&self) -> String {
        "small".into()
    }
    fn watch(&self) -> bool {
        true
    }
}

struct Dice(Pcg64Dxsm);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The store as one process sees it.
struct Faulty {
    disk: Memory,
    dice: Arc<Mutex<Dice>>,
    /// One call in so many fails; 0: none.
    faults: usize,
    /// The machine of this process has stopped.
    dead: Arc<Mutex<bool>>,
    /// A learner that takes its turn while this one tries to commit.
    rival: Option<Arc<Mutex<Option<FoldLearner<Arm>>>>>,
}

enum Fate {
    Done,
    /// Nothing was done, a part was, or all of it and the answer is lost.
    Nothing,
    Half,
    Unanswered,
}

fn broken() -> io::Error {
    io::Error::other("broken")
}

impl Faulty {
    fn fate(&self) -> io::Result<Fate> {
        let mut dead = self.dead.lock().unwrap();
        if *dead {
            return Err(broken());
        }
        let mut dice = self.dice.lock().unwrap();
        if self.faults == 0 || !dice.one_in(self.faults) {
            return Ok(Fate::Done);
        }
        *dead = dice.one_in(2);
        Ok([Fate::Nothing, Fate::Half, Fate::Unanswered].into_iter().nth(dice.below(3)).unwrap())
    }

    fn looked<T>(&self, look: impl FnOnce(&Memory) -> io::Result<T>) -> io::Result<T> {
        match self.fate()? {
            Fate::Done => look(&self.disk),
            _ => Err(broken()),
        }
    }

    /// A call that is done whole or not at all.
    fn done<T>(&self, act: impl FnOnce(&Memory) -> io::Result<T>) -> io::Result<T> {
        match self.fate()? {
            Fate::Done => act(&self.disk),
            Fate::Unanswered => self.unsynced(|| act(&self.disk)).and(Err(broken())),
            _ => Err(broken()),
        }
    }

    /// Does something that failed before it was synced, or after.
    fn unsynced<T>(&self, act: impl FnOnce() -> T) -> T {
        let unsynced = self.dice.lock().unwrap().one_in(2);
        self.disk.0.lock().unwrap().unsynced = unsynced;
        let done = act();
        self.disk.0.lock().unwrap().unsynced = false;
        done
    }
}

impl Store for Faulty {
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        if let Some(rival) = self.rival.as_ref().filter(|_| name.contains("/folds/"))
            && self.dice.lock().unwrap().one_in(3)
            && let Ok(mut rival) = rival.try_lock()
            && let Some(learner) = rival.as_mut()
        {
            let _ = learner.step();
        }
        self.done(|disk| disk.create(name, bytes))
    }
    fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.looked(|disk| disk.get(name))
    }
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.looked(|disk| disk.list(folder))
    }
    fn delete(&self, name: &str) -> io::Result<()> {
        self.done(|disk| disk.delete(name))
    }
    fn segment(&self, name: &str) -> io::Result<Option<Box<dyn Segment>>> {
        let made = self.done(|disk| disk.segment(name))?;
        let store = Self {
            disk: self.disk.clone(),
            dice: self.dice.clone(),
            dead: self.dead.clone(),
            rival: None,
            ..*self
        };
        Ok(made.map(|segment| Box::new(Torn { store, segment }) as Box<dyn Segment>))
    }
    fn is_closed(&self, name: &str) -> io::Result<bool> {
        self.looked(|disk| disk.is_closed(name))
    }
    fn read(&self, name: &str, from: u64, most: usize) -> io::Result<Vec<u8>> {
        self.looked(|disk| disk.read(name, from, most))
    }
}

struct Torn {
    store: Faulty,
    segment: Box<dyn Segment>,
}

impl Segment for Torn {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = match self.store.fate()? {
            Fate::Done => return self.segment.append(bytes),
            Fate::Nothing => 0,
            Fate::Half => self.store.dice.lock().unwrap().below(bytes.len()),
            Fate::Unanswered => bytes.len(),
        };
        let Self { store, segment } = self;
        store.unsynced(|| segment.append(&bytes[..written]))?;
        Err(broken())
    }
}

/// What a client knows of a decision.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Known {
    Open,
    Acknowledged,
}

/// What runs, and whether its machine has stopped.
type Process<T> = Option<(T, Arc<Mutex<bool>>)>;

struct World {
    disk: Memory,
    dice: Arc<Mutex<Dice>>,
    clock: Arc<Hands>,
    faults: usize,
    /// Whether the log is kept when snapshots cover it.
    keep: bool,
    fronts: [Process<Front<Arm>>; 2],
    learner: Process<FoldLearner<Arm>>,
    rival: Arc<Mutex<Option<FoldLearner<Arm>>>>,
    rival_dead: Arc<Mutex<bool>>,
    tokens: Vec<(TicketId, String, f64)>,
    known: Arc<Mutex<BTreeMap<TicketId, Known>>>,
    changes: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(Pcg64Dxsm::seed_from_u64(seed));
        let faults = [0, 40, 15, 6][dice.below(4)];
        let keep = dice.one_in(2);
        Self {
            disk: Memory::default(),
            dice: Arc::new(Mutex::new(dice)),
            clock: Arc::new(Hands(AtomicU64::new(1_000_000))),
            faults,
            keep,
            fronts: [None, None],
            learner: None,
            rival: Arc::default(),
            rival_dead: Arc::default(),
            tokens: Vec::new(),
            known: Arc::default(),
            changes: 0,
        }
    }

    fn roll(&self, n: usize) -> usize {
        self.dice.lock().unwrap().below(n)
    }

    fn store(&self, dead: &Arc<Mutex<bool>>, rival: bool) -> Arc<dyn Store> {
        Arc::new(Faulty {
            disk: self.disk.clone(),
            dice: self.dice.clone(),
            faults: self.faults,
            dead: dead.clone(),
            rival: rival.then(|| self.rival.clone()),
        })
    }

    fn options(&self) -> LearnerOptions {
        // Few lines in a fold, and snapshots often.
        LearnerOptions { lines: 1 + self.roll(4), snapshot: 3, keep: self.keep, ..LearnerOptions::default() }
    }

    fn open_learner(&self, dead: &Arc<Mutex<bool>>, rival: bool) -> Result<FoldLearner<Arm>, ServeError> {
        FoldLearner::open("x", Arc::new(Small), self.store(dead, rival), self.options())
    }

    fn open_front(&self, dead: &Arc<Mutex<bool>>) -> Result<Front<Arm>, ServeError> {
        let store = self.store(dead, false);
        let learner = FoldLearner::open("x", Arc::new(Small), store.clone(), self.options())?;
        let options = FrontOptions { log_decisions: true, ..FrontOptions::default() };
        Front::open("x", Arc::new(Small), store, self.clock.clone(), options, &learner)
    }

    /// Starts what does not run, and drops what is dead.
    fn revive(&mut self) {
        for i in 0..2 {
            if self.fronts[i].as_ref().is_some_and(|(_, dead)| *dead.lock().unwrap()) {
                self.fronts[i] = None;
            }
            if self.fronts[i].is_none() {
                let dead = Arc::default();
                self.fronts[i] = self.open_front(&dead).ok().map(|front| (front, dead));
            }
        }
        if self.learner.as_ref().is_some_and(|(_, dead)| *dead.lock().unwrap()) {
            self.learner = None;
        }
        if self.learner.is_none() {
            let dead = Arc::default();
            self.learner = self.open_learner(&dead, true).ok().map(|learner| (learner, dead));
        }
        let mut rival = self.rival.lock().unwrap();
        if rival.is_none() || *self.rival_dead.lock().unwrap() {
            *self.rival_dead.lock().unwrap() = false;
            *rival = self.open_learner(&self.rival_dead, false).ok();
        }
    }

    fn reward(&mut self) {
        if self.tokens.is_empty() {
            return;
        }
        let at = self.roll(self.tokens.len());
        let (id, token, value) = self.tokens[at].clone();
        // Doubled: at one front end or at both, before or after it is written.
        for _ in 0..1 + self.roll(2) {
            let Some((front, _)) = &self.fronts[self.roll(2)] else { continue };
            let known = self.known.clone();
            let done = move |result: Result<(), ServeError>| match result {
                Ok(()) | Err(ServeError::AlreadyRewarded(_)) => {
                    known.lock().unwrap().insert(id, Known::Acknowledged);
                }
                // What is not acknowledged may be lost.
                Err(ServeError::Store(_) | ServeError::Full { .. }) => {}
                Err(other) => panic!("{id}: {other}"),
            };
            front.reward(&token, value, Box::new(done));
        }
    }

    fn step(&mut self) {
        let which = self.roll(2);
        match self.roll(20) {
            0..5 => {
                if let Some((front, _)) = &self.fronts[which]
                    && let Ok(chosen) = front.choose(&Context::plain(2), None)
                {
                    let value = if chosen.decision.0 == 1 { 0.75 } else { 0.25 };
                    let before = self.known.lock().unwrap().insert(chosen.id, Known::Open);
                    assert_eq!(before, None, "the id {} was given twice", chosen.id);
                    self.tokens.push((chosen.id, chosen.token, value));
                }
            }
            5..10 => self.reward(),
            10..13 => drop(self.fronts[which].as_ref().map(|(front, _)| front.commit())),
            13 | 14 => drop(self.learner.as_mut().map(|(learner, _)| learner.step())),
            15 => drop(self.rival.lock().unwrap().as_mut().map(FoldLearner::step)),
            16 => {
                if let Some((learner, _)) = &mut self.learner {
                    let _ = learner.state().and_then(|state| learner.publish(&state));
                    let _ = learner.save();
                }
                let _ = self.fronts[which].as_ref().map(|(front, _)| front.look());
            }
            17 => {
                // A crash: what was queued is gone.
                match self.roll(5) {
                    4 => self.stop(),
                    0 => self.learner = None,
                    1 => *self.rival.lock().unwrap() = None,
                    _ => self.fronts[which] = None,
                }
                self.revive();
            }
            18 => {
                let back = self.roll(2) == 0;
                let by = self.roll(100_000) as u64;
                let now = self.clock.0.load(Ordering::Relaxed);
                self.clock.0.store(if back { now - by.min(now) } else { now + by }, Ordering::Relaxed);
            }
            _ => {
                if let Some((front, _)) = &self.fronts[which] {
                    self.changes += 1;
                    let (change, name, share) = match self.roll(4) {
                        0 => (Change::Add, format!("moss-{}", self.changes), Some(0.25)),
                        1 => (Change::Replace, "ucb1".into(), None),
                        2 => (Change::Retire, "exp3".into(), None),
                        _ => (Change::Reinstate, "exp3".into(), Some(0.25)),
                    };
                    front.change(change, &name, share, None, Box::new(|_| ()));
                }
            }
        }
    }

    /// The machine of all of them stops, and with it what was not synced.
    fn stop(&mut self) {
        self.fronts = [None, None];
        self.learner = None;
        *self.rival.lock().unwrap() = None;
        let mut dice = self.dice.lock().unwrap();
        self.disk.0.lock().unwrap().stop(|n| dice.below(n));
    }

    /// Everything works again.
    fn heal(&mut self) {
        self.faults = 0;
        self.fronts = [None, None];
        self.learner = None;
        *self.rival.lock().unwrap() = None;
        self.revive();
    }

    /// Everything is written and learned, and held against what was promised.
    fn check(mut self) -> (usize, u64) {
        // What waits at front ends that still work is written first.
        self.faults = 0;
        for (front, _) in self.fronts.iter().flatten() {
            front.commit();
        }
        self.heal();
        let (mut learner, _) = self.learner.take().unwrap();
        while learner.step().unwrap() != Step::Idle {}
        let digest = learner.digest().unwrap();
        let counts = learner.counts();
        // None is lost that was acknowledged.
        let known = self.known.lock().unwrap();
        let acknowledged = known.iter().filter(|(_, k)| **k == Known::Acknowledged);
        acknowledged.clone().for_each(|(id, _)| assert!(learner.is_rewarded(*id), "{id} is lost"));
        // None is learned twice: as many were learned as there are different ones in the segments.
        let mut written = BTreeSet::new();
        let mut files = self.disk.0.lock().unwrap().files.clone();
        let mut disk = self.disk.clone();
        if !self.keep {
            // What was removed must have been covered: with it, the log is whole. A fold is what it was when it first went.
            let deleted = self.disk.0.lock().unwrap().deleted.clone();
            files.extend(
                deleted
                    .into_iter()
                    .filter(|(name, _)| name.contains("/segments/") || name.contains("/folds/")),
            );
            disk = Memory::default();
            disk.0.lock().unwrap().files = files.clone();
        }
        for (name, bytes) in files.iter().filter(|(name, _)| name.contains("/segments/")) {
            // A line without its end was never acknowledged, even where nothing but the end is missing.
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let mut reader = Reader::new(&bytes[..whole]).checked(0);
            while let Some(record) = reader.read().unwrap() {
                if let Record::Both(both) = record {
                    written.insert(both.decision.id);
                }
            }
            assert_eq!(reader.faults().count(), 0, "{name}");
        }
        // Changes of bases that contradict each other are refused; rewards never are.
        assert_eq!((counts.learned, counts.late), (written.len() as u64, 0));
        // Both learners, and one that begins at the beginning, end in the same state.
        let mut rival = self.rival.lock().unwrap().take().unwrap();
        while rival.step().unwrap() != Step::Idle {}
        assert!(rival.digest().unwrap() == digest, "the second learner differs");
        assert!(
            learner.watch().is_some() && rival.watch() == learner.watch(),
            "their values of bases differ"
        );
        // So does whoever is given the log in one piece, and finds every line in its place.
        let log: Vec<u8> = Export::of(Arc::new(disk.clone()), "x").flat_map(Result::unwrap).collect();
        let verified = corral_serve::verify(&log[..], Arc::new(Small), Arc::new(disk), "x", false).unwrap();
        assert_eq!((verified.same_state, verified.learned, verified.ahead), (Some(true), counts.learned, 0));
        if acknowledged.clone().count() % 4 != 0 {
            return (acknowledged.count(), counts.learned);
        }
        // A learner that is given it as a segment has the same values of bases too.
        let undisturbed = Memory::default();
        undisturbed.create("bands/x/origin", &files["bands/x/origin"]).unwrap();
        undisturbed.segment("bands/x/segments/00000001.jsonl").unwrap().unwrap().append(&log).unwrap();
        let mut alone =
            FoldLearner::open("x", Arc::new(Small), Arc::new(undisturbed), LearnerOptions::default())
                .unwrap();
        while alone.step().unwrap() != Step::Idle {}
        assert!(alone.digest().unwrap() == digest, "the undisturbed learner differs");
        assert!(alone.watch() == learner.watch(), "its values of bases differ");
        (acknowledged.count(), counts.learned)
    }
}

fn history(seed: u64, lazy: bool) -> (usize, u64) {
    let mut world = World::new(seed);
    world.disk.0.lock().unwrap().lazy = lazy;
    world.revive();
    for _ in 0..40 + world.roll(50) {
        world.step();
        world.revive();
    }
    world.check()
}

#[test]
fn histories_of_crashes_lose_and_double_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("CORRAL_SIM_SEED") {
        println!("{:?}", history(seed, false));
        return;
    }
    let slow = std::env::var_os("CORRAL_SLOW").is_some();
    let until = number("CORRAL_SIM_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let most = match until {
        Some(_) => u64::MAX,
        None if slow => 100_000,
        None => 10_000,
    };
    let (next, failed) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let totals = Mutex::new((0, 0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let over = until.is_some_and(|until| Instant::now() > until);
                    if seed >= most || over || failed.load(Ordering::Relaxed) != u64::MAX {
                        break;
                    }
                    match std::panic::catch_unwind(|| history(seed, false)) {
                        Ok((acknowledged, learned)) => {
                            let mut totals = totals.lock().unwrap();
                            *totals = (totals.0 + acknowledged, totals.1 + learned);
                        }
                        Err(_) => failed.store(seed, Ordering::Relaxed),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    assert_eq!(failed, u64::MAX, "CORRAL_SIM_SEED={failed} cargo test -p corral-serve --test it simulate");
    let (acknowledged, learned) = totals.into_inner().unwrap();
    println!("{} histories, {acknowledged} rewards acknowledged, {learned} learned", next.into_inner());
    assert!(acknowledged as u64 > most.min(10_000) && learned >= acknowledged as u64);
}

/// What was read and not synced may be gone after it was learned: a store that allows it is found out.
#[test]
fn a_store_that_does_not_sync_what_it_reads_is_found_out() {
    let lost = (0..3_000).find(|seed| std::panic::catch_unwind(|| history(*seed, true)).is_err());
    assert!(lost.is_some(), "the histories do not look for it");
    println!("found out by history {lost:?}");
}
