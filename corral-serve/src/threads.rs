//! The threads of a band that is served: one writes, one learns or looks for what was learned elsewhere.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use corral_core::{Arm, Metrics};
use corral_log::{WATCH_ERROR, Watched};

use crate::clock::Clock;
use crate::error::ServeError;
use crate::front::Front;
use crate::history::{History, Point};
use crate::learner::{FoldLearner, Published, Step};
use crate::lock::lock;
use crate::options::{Role, ServingOptions};

/// What is known of the learner of this process.
#[derive(Default)]
pub(crate) struct Learning {
    pub last: Option<Arc<Published>>,
    pub metrics: Option<Metrics>,
    pub report: String,
    pub error: Option<ServeError>,
    pub refusal: Option<String>,
}

/// What the threads of a band share.
pub(crate) struct Shared {
    pub front: Option<Front<Arm>>,
    pub clock: Arc<dyn Clock>,
    pub learning: Mutex<Learning>,
    pub history: Mutex<History>,
    pub stop: AtomicBool,
    /// Decisions since a newer state was looked for.
    decided: AtomicUsize,
    /// Wakes the learner, or whoever looks for newer states.
    news: (Mutex<bool>, Condvar),
}

impl Shared {
    pub fn new(front: Option<Front<Arm>>, clock: Arc<dyn Clock>) -> Self {
        Self {
            front,
            clock,
            learning: Mutex::default(),
            history: Mutex::default(),
            stop: AtomicBool::new(false),
            decided: AtomicUsize::new(0),
            news: (Mutex::new(false), Condvar::new()),
        }
    }

    /// Counts a decision; after so many a newer state is looked for at once.
    pub fn decided(&self, most: usize) {
        if self.decided.fetch_add(1, Ordering::Relaxed) + 1 >= most {
            self.decided.store(0, Ordering::Relaxed);
            self.tell();
        }
    }

    /// What the band has done, as far as it is known here.
    pub fn metrics(&self) -> Metrics {
        match &self.front {
            Some(front) => front.metrics(),
            None => lock(&self.learning).metrics.clone().unwrap_or_default(),
        }
    }

    /// What is known of the values of the bases, as shares of the rewards' range.
    pub fn watched(&self) -> Option<Watched> {
        let watch = match (&lock(&self.learning).last, &self.front) {
            (Some(state), _) => state.watch.clone(),
            (None, front) => front.as_ref().and_then(Front::watch),
        };
        Some(watch?.now(WATCH_ERROR))
    }

    /// Keeps a point of the history, where it is time.
    fn remember(&self) {
        let now = self.clock.now();
        if lock(&self.history).is_due(now) {
            let (metrics, watched) = (self.metrics(), self.watched());
            lock(&self.history).put(Point::of(now, &metrics, watched.as_ref()));
        }
    }

    pub fn tell(&self) {
        *lock(&self.news.0) = true;
        self.news.1.notify_all();
    }

    fn stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Waits for news, at most so long.
    fn pause(&self, most: Duration) {
        let mut news = lock(&self.news.0);
        if !*news {
            news = self.news.1.wait_timeout(news, most).unwrap_or_else(PoisonError::into_inner).0;
        }
        *news = false;
    }
}

/// How long the writer sleeps at most.
const NAP: Duration = Duration::from_millis(200);

pub(crate) fn write(shared: &Shared, options: &ServingOptions) {
    let Some(front) = &shared.front else { return };
    loop {
        let open = front.wait(NAP);
        if !options.group.is_zero() && !shared.stopping() && front.has_work() {
            std::thread::sleep(options.group);
        }
        if front.commit() && options.role == Role::All {
            shared.tell();
        }
        if !open {
            return;
        }
    }
}

pub(crate) fn look(shared: &Shared, options: &ServingOptions) {
    let Some(front) = &shared.front else { return };
    while !shared.stopping() {
        let looked = front.look();
        lock(&shared.learning).error = looked.err();
        shared.remember();
        shared.pause(options.refresh.1);
    }
}

/// Makes the state known in this process, and serves it.
pub(crate) fn note(shared: &Shared, learner: &mut FoldLearner<Arm>) -> Result<Arc<Published>, ServeError> {
    let state = Arc::new(learner.state()?);
    if let Some(front) = &shared.front {
        front.refresh(&state)?;
    }
    let mut learning = lock(&shared.learning);
    if shared.front.is_none() {
        learning.metrics = Some(learner.band().metrics());
        learning.report = learner.report();
    }
    learning.refusal = learner.refusal().map(str::to_owned);
    learning.last = Some(state.clone());
    Ok(state)
}

pub(crate) fn learn(shared: &Shared, options: &ServingOptions, mut learner: FoldLearner<Arm>) {
    let (mut new, mut refreshed) = (0, Instant::now());
    let (mut published, mut unpublished) = (Instant::now(), true);
    // Front ends elsewhere wait for these.
    let (mut unseen, most) = match options.role {
        Role::Learner => (0, options.publish.0),
        _ => (0, usize::MAX),
    };
    loop {
        let stopping = shared.stopping();
        let step = learner.step();
        let idle = !matches!(step, Ok(Step::Folded(_) | Step::Followed(_)));
        let mut failed = None;
        match step {
            Ok(Step::Folded(events) | Step::Followed(events)) => {
                new += events.max(1);
                unseen += events;
            }
            Ok(Step::Idle) => {}
            Err(error) => failed = Some(error),
        }
        let full = unseen >= most;
        let due = new >= options.refresh.0 || refreshed.elapsed() >= options.refresh.1 || full || stopping;
        if new > 0 && due {
            (new, refreshed, unpublished) = (0, Instant::now(), true);
            failed = note(shared, &mut learner).err().or(failed);
        }
        if unpublished && (published.elapsed() >= options.publish.1 || full || stopping) {
            (published, unseen) = (Instant::now(), 0);
            match learner.state().and_then(|state| learner.publish(&state)) {
                Ok(()) => unpublished = false,
                Err(error) => failed = Some(error),
            }
        }
        let stuck = failed.is_some();
        lock(&shared.learning).error = failed;
        shared.remember();
        if stopping && (idle || stuck) {
            break;
        }
        // While rewards come in, they are learned together; else the learner waits for the next.
        if stuck {
            std::thread::sleep(NAP);
        } else if idle {
            shared.pause(options.refresh.1);
        } else if !stopping {
            std::thread::sleep(options.fold);
        }
    }
    // The next start begins here.
    if let Err(error) = learner.save() {
        lock(&shared.learning).error = Some(error);
    }
}
