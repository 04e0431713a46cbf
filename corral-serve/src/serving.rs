//! A band that is served: a front end, a learner or both, with the threads that drive them.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use corral_core::{Arm, Context, Metrics};
use corral_log::{Change, Watched};
use rand_pcg::Pcg64Dxsm;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::clock::Clock;
use crate::decisions::DecisionExport;
use crate::error::ServeError;
use crate::export::Export;
use crate::front::{Chosen, Front, FrontCounts};
use crate::gate;
use crate::history::Point;
use crate::learner::{FoldLearner, Step};
use crate::lock::lock;
use crate::model::Model;
use crate::options::{Role, ServingOptions};
use crate::outbox::Done;
use crate::recent::Recent;
use crate::spec::ServedSpec;
use crate::state::Counts;
use crate::store::Store;
use crate::threads::{self, Shared};

/// What is asked for.
#[derive(Debug, Default)]
pub struct Question {
    /// What is known before deciding.
    pub context: Context,
    /// For whom: a user, a session.
    pub unit: Option<String>,
    /// A request with the same key is given the same answer.
    pub key: Option<String>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The decision: a place among the actions that were offered.
    pub chosen: Chosen<Arm>,
    /// The number of the action among all actions of the band.
    pub action: u32,
    /// Whether it is the default action, and not a decision of the band.
    pub default: bool,
}

/// How many answers are kept for requests that come again.
const ANSWERS: usize = 100_000;
/// For how long an answer is given again to the same key, in milliseconds.
const AGAIN: u64 = 24 * 3_600_000;

/// How many requests with different keys are answered at a time.
const TURNS: usize = 64;

/// Answers that are given again. Of several requests with one key at the same time, one is answered, and the others after it.
struct Answers<T> {
    recent: Mutex<Recent<T>>,
    turns: [Mutex<()>; TURNS],
    hasher: RandomState,
}

impl<T: Clone> Default for Answers<T> {
    fn default() -> Self {
        let turns = std::array::from_fn(|_| Mutex::default());
        Self { recent: Mutex::new(Recent::new(ANSWERS)), turns, hasher: RandomState::new() }
    }
}

impl<T: Clone> Answers<T> {
    /// Until it is dropped no other request with this key is answered.
    fn turn(&self, key: &str) -> Option<MutexGuard<'_, ()>> {
        self.turns.get(self.hasher.hash_one(key) as usize % TURNS).map(lock)
    }

    fn get(&self, key: &str, since: u64) -> Option<T> {
        lock(&self.recent).get(key, since)
    }

    fn put(&self, key: String, at: u64, answer: T) {
        lock(&self.recent).put(key, at, answer);
    }
}

/// A band that is served. Threads run until it is dropped or [stopped](Serving::stop).
pub struct Serving {
    spec: Arc<ServedSpec>,
    store: Arc<dyn Store>,
    options: ServingOptions,
    shared: Arc<Shared>,
    keyed: Answers<(u64, Answer)>,
    sticky: Answers<Answer>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Serving {
    /// Opens a band in a store, learns what waits there, and starts.
    ///
    /// # Errors
    /// The store cannot be read, is damaged, or holds a band that was built from another spec.
    pub fn open(
        spec: ServedSpec,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        mut options: ServingOptions,
    ) -> Result<Self, ServeError> {
        let spec = Arc::new(spec);
        (options.front.log_bases, options.front.log_decisions) = (spec.log_bases, spec.log_decisions);
        if let Some(seconds) = spec.patience {
            options.front.patience = seconds.saturating_mul(1000);
        }
        let model: Arc<dyn Model<Arm>> = spec.clone();
        let mut learner =
            FoldLearner::open(&spec.name, model.clone(), store.clone(), options.learner.clone())?;
        if options.role != Role::Front {
            while learner.step()? != Step::Idle {}
        }
        let front = match options.role {
            Role::Learner => None,
            _ => {
                let (clock, how) = (clock.clone(), options.front.clone());
                Some(Front::open(&spec.name, model, store.clone(), clock, how, &learner)?)
            }
        };
        let shared = Arc::new(Shared::new(front, clock));
        let mut threads = Vec::new();
        let mut spawn = |name: &str, run: Box<dyn FnOnce() + Send>| -> Result<(), ServeError> {
            let name = format!("{name} {}", spec.name);
            threads.push(std::thread::Builder::new().name(name).spawn(run)?);
            Ok(())
        };
        if shared.front.is_some() {
            let (shared, how) = (shared.clone(), options.clone());
            spawn("write", Box::new(move || threads::write(&shared, &how)))?;
        }
        let (own, how) = (shared.clone(), options.clone());
        if options.role == Role::Front {
            drop(learner);
            spawn("look", Box::new(move || threads::look(&own, &how)))?;
        } else {
            threads::note(&shared, &mut learner)?;
            spawn("learn", Box::new(move || threads::learn(&own, &how, learner)))?;
        }
        Ok(Self {
            spec,
            store,
            options,
            shared,
            keyed: Answers::default(),
            sticky: Answers::default(),
            threads: Mutex::new(threads),
        })
    }

    /// What it was built from.
    pub fn spec(&self) -> &ServedSpec {
        &self.spec
    }

    /// The front end.
    ///
    /// # Errors
    /// This process has none.
    pub fn front(&self) -> Result<&Front<Arm>, ServeError> {
        let none = || ServeError::Asked("this process learns, and neither decides nor takes rewards".into());
        self.shared.front.as_ref().ok_or_else(none)
    }

    /// Decides.
    ///
    /// # Errors
    /// The context is not one of this band, or the key was given with another request.
    pub fn choose(&self, question: Question) -> Result<Answer, ServeError> {
        let front = self.front()?;
        let Question { context, unit, key } = question;
        let default = self.spec.default_index().filter(|_| self.spec.holdout > 0.0);
        if let Some(number) = default
            && context.place(number).is_none()
        {
            let why = format!(
                "the default action {} is not offered: a band with a holdout needs it in every request",
                self.spec.actions.name(number).map_or_else(|| number.to_string(), |name| format!("{name:?}"))
            );
            return Err(ServeError::Asked(why));
        }
        let now = front.clock().now();
        let digest = corral_core::Observation::digest(&context, front.secret());
        // Those for one unit wait behind those with one key, never the other way round.
        let _keyed = key.as_deref().and_then(|key| self.keyed.turn(key));
        if let Some(key) = &key
            && let Some((asked, answer)) = self.keyed.get(key, now.saturating_sub(AGAIN))
        {
            let other = || ServeError::Asked(format!("the key {key:?} was given with another request"));
            return if asked == digest { Ok(answer) } else { Err(other()) };
        }
        let sticky = self.spec.sticky.zip(unit.as_ref());
        let _stuck = sticky.and_then(|(_, unit)| self.sticky.turn(unit));
        if let Some((seconds, unit)) = sticky
            && let Some(answer) = self.sticky.get(unit, now.saturating_sub(seconds.saturating_mul(1000)))
            && context.place(answer.action as usize).is_some()
        {
            return Ok(answer);
        }
        let stale = self.staleness();
        if self.options.max_stale.is_some_and(|most| stale > most) {
            return Err(ServeError::Stale(stale.as_secs_f64()));
        }
        let held = self.held_out(front, unit.as_deref());
        let default = default.filter(|_| held);
        let chosen = match default {
            Some(number) => front.choose_default(number as u32, &context, unit.clone())?,
            None => front.choose(&context, unit.clone())?,
        };
        let place = chosen.decision.0 as usize;
        let answer = Answer { action: context.number(place) as u32, default: default.is_some(), chosen };
        if let Some(key) = key {
            self.keyed.put(key, now, (digest, answer.clone()));
        }
        if self.options.role == Role::Front {
            self.shared.decided(self.options.refresh.0);
        }
        if let Some((_, unit)) = sticky {
            self.sticky.put(unit.clone(), now, answer.clone());
        }
        Ok(answer)
    }

    /// Whether this decision is the default action: the same units are held out in every front end.
    fn held_out(&self, front: &Front<Arm>, unit: Option<&str>) -> bool {
        if self.spec.holdout == 0.0 {
            return false;
        }
        let seed = match unit {
            Some(unit) => siphasher::sip::SipHasher24::new_with_keys(front.secret(), 0).hash(unit.as_bytes()),
            None => front.next_id().seed(!front.secret()),
        };
        let draw = Pcg64Dxsm::seed_from_u64(seed).next_u64() as f64 / 2f64.powi(64);
        draw < self.spec.holdout || self.spec.gate.is_some_and(|budget| !front.allows(budget))
    }

    /// Keeps the ticket of a decision, so that its reward can be brought by its id.
    ///
    /// # Errors
    /// This process takes no rewards.
    pub fn keep(&self, chosen: &Chosen<Arm>, done: Done) -> Result<(), ServeError> {
        self.front()?.keep(chosen.id, chosen.token.clone(), done);
        Ok(())
    }

    /// Has a base join, leave or come back.
    ///
    /// # Errors
    /// This process takes no changes.
    pub fn change(
        &self,
        change: Change,
        name: &str,
        share: Option<f64>,
        params: Option<serde_json::Value>,
        done: Done,
    ) -> Result<(), ServeError> {
        self.front()?.change(change, name, share, params, done);
        Ok(())
    }

    /// What the band has done, as far as it is known here.
    pub fn metrics(&self) -> Metrics {
        self.shared.metrics()
    }

    /// What the band is and has done, for people.
    pub fn report(&self) -> String {
        match &self.shared.front {
            Some(front) => front.report(),
            None => lock(&self.shared.learning).report.clone(),
        }
    }

    /// What the front end has done since its start.
    pub fn counts(&self) -> FrontCounts {
        self.shared.front.as_ref().map(Front::counts).unwrap_or_default()
    }

    /// What was learned.
    pub fn learned(&self) -> Counts {
        match (&lock(&self.shared.learning).last, &self.shared.front) {
            (Some(state), _) => state.counts,
            (None, Some(front)) => front.learned(),
            (None, None) => Counts::default(),
        }
    }

    /// What is known of the values of the bases, in the units of the rewards; `None` where they are not followed. All of it together is
    /// wrong with probability at most [`WATCH_ERROR`](corral_log::WATCH_ERROR), however often it is asked.
    pub fn watched(&self) -> Option<Watched> {
        let scale = self.spec.scale();
        Some(self.shared.watched()?.scaled(scale.low, scale.high))
    }

    /// What the bases were since this process began, after a time in milliseconds since 1970: some hundreds of points, fewer the
    /// longer ago. Values are in the units of the rewards.
    pub fn history(&self, since: u64) -> Vec<Point> {
        let scale = self.spec.scale();
        lock(&self.shared.history).since(since).map(|point| point.scaled(&scale)).collect()
    }

    /// How many folds were learned.
    pub fn folds(&self) -> u64 {
        let last = lock(&self.shared.learning).last.as_ref().map(|state| state.fold);
        last.unwrap_or_else(|| self.counts().fold)
    }

    /// The band's mean reward less that of the default action, as a share of the reward's range, with an interval.
    pub fn lift(&self) -> Option<(f64, f64, f64)> {
        gate::lift(&self.learned())
    }

    /// The half width of the interval around the mean of `count` rewards, as a share of their range.
    pub fn width(count: u64) -> f64 {
        gate::width(count)
    }

    /// For how long a reward has waited that is acknowledged and not part of what is served.
    pub fn staleness(&self) -> Duration {
        Duration::from_millis(self.shared.front.as_ref().map_or(0, Front::staleness))
    }

    /// Why it is not ready to serve, where it is not.
    pub fn unready(&self) -> Option<String> {
        if let Some(error) = &lock(&self.shared.learning).error {
            return Some(format!("the learner has stopped: {error}"));
        }
        let (stale, most) = (self.staleness(), self.options.stale);
        (stale > self.options.max_stale.map_or(most, |max| max.min(most)))
            .then(|| format!("the state is {:.1} s behind the rewards that were taken", stale.as_secs_f64()))
    }

    /// Why the last change of bases was refused by the learner of this process, where it was.
    pub fn refusal(&self) -> Option<String> {
        lock(&self.shared.learning).refusal.clone()
    }

    /// What was learned, as a log, in the order in which it was.
    pub fn export(&self) -> Export {
        Export::of(self.store.clone(), &self.spec.name)
    }

    /// The decisions that were logged when they were made.
    ///
    /// # Errors
    /// The spec does not ask for them, or the store cannot be read.
    pub fn export_decisions(&self) -> Result<DecisionExport, ServeError> {
        if !self.spec.log_decisions {
            let why = "decisions are not logged until they are rewarded: log_decisions = true in the spec";
            return Err(ServeError::Asked(why.into()));
        }
        DecisionExport::of(self.store.clone(), &self.spec.name)
    }

    /// Takes no more, writes and learns what waits, saves a snapshot, and ends the threads.
    pub fn stop(&self) {
        if let Some(front) = &self.shared.front {
            front.close();
        }
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.tell();
        // In the order in which they were started: the writer first, so that the learner finds all of it.
        for thread in lock(&self.threads).drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop();
    }
}
