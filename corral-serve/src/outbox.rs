//! Rewards on their way to the store: many are written and synced together, and each is answered when it lasts.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use corral_core::TicketId;
use corral_log::{Record, Start};

use crate::chained::{Chained, Numbered, next_of};
use crate::error::ServeError;
use crate::layout::Layout;
use crate::lock::lock;
use crate::rewarded::Rewarded;
use crate::store::Store;

/// What is called when a line is written, or cannot be.
pub type Done = Box<dyn FnOnce(Result<(), ServeError>) + Send>;

struct Waiting {
    record: Record,
    id: Option<TicketId>,
    done: Done,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// Decisions whose reward is being written, and who brought it once more meanwhile.
    underway: HashMap<TicketId, Vec<Done>>,
    /// The writer is wanted for something else.
    nudged: bool,
    closed: bool,
}

#[derive(Default)]
struct Acknowledged {
    /// What was written and is not learned yet: up to which byte of which segment, and when.
    waiting: VecDeque<(u64, u64, u64)>,
    /// Up to which byte each segment is learned. What is in the store may be learned before its write returns.
    learned: BTreeMap<u64, u64>,
}

impl Acknowledged {
    fn has_learned(&self, segment: u64, bytes: u64) -> bool {
        self.learned.get(&segment).is_some_and(|learned| *learned >= bytes)
    }
}

pub(crate) struct Outbox {
    layout: Layout,
    most: usize,
    queue: Mutex<Queue>,
    wake: Condvar,
    rewarded: Mutex<Rewarded>,
    segment: Mutex<Chained>,
    acknowledged: Mutex<Acknowledged>,
}

/// Creates the next segment of rewards.
pub(crate) fn next_segment(store: &dyn Store, layout: &Layout, after: u64) -> io::Result<Numbered> {
    next_of(store, &layout.segments(), after, |number| layout.segment(number))
}

impl Outbox {
    pub fn new(layout: Layout, start: Start, rewarded: Rewarded, begun: Numbered, most: usize) -> Self {
        Self {
            layout,
            most,
            queue: Mutex::default(),
            wake: Condvar::new(),
            rewarded: Mutex::new(rewarded),
            segment: Mutex::new(Chained::begun(start, begun)),
            acknowledged: Mutex::default(),
        }
    }

    /// Whether a decision was rewarded, or is too old to know.
    pub fn check(&self, id: TicketId) -> Result<(), ServeError> {
        let rewarded = lock(&self.rewarded);
        match () {
            () if rewarded.is_late(id) => Err(ServeError::Late(id)),
            () if rewarded.has(id) => Err(ServeError::AlreadyRewarded(id)),
            () => Ok(()),
        }
    }

    /// Queues a line; `done` is called when it lasts. A reward that is being written is not answered as given before it is.
    pub fn put(&self, record: Record, id: Option<TicketId>, done: Done) {
        let mut queue = lock(&self.queue);
        if let Some(id) = id {
            if let Some(others) = queue.underway.get_mut(&id) {
                others.push(done);
                return;
            }
            // It may have been acknowledged since it was looked up.
            if let Err(error) = self.check(id) {
                drop(queue);
                return done(Err(error));
            }
        }
        let waiting = queue.waiting.len();
        if queue.closed || waiting >= self.most {
            drop(queue);
            return done(Err(ServeError::Full { what: "rewards", waiting }));
        }
        id.map(|id| queue.underway.insert(id, Vec::new()));
        queue.waiting.push(Waiting { record, id, done });
        drop(queue);
        self.wake.notify_one();
    }

    /// Waits until something is queued, at most so long; says whether the outbox is open.
    pub fn wait(&self, most: Duration) -> bool {
        let mut queue = lock(&self.queue);
        if queue.waiting.is_empty() && !queue.closed && !queue.nudged {
            queue = self.wake.wait_timeout(queue, most).unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.nudged = false;
        !(queue.closed && queue.waiting.is_empty())
    }

    /// Wakes the writer.
    pub fn nudge(&self) {
        lock(&self.queue).nudged = true;
        self.wake.notify_one();
    }

    /// Takes no more.
    pub fn close(&self) {
        lock(&self.queue).closed = true;
        self.wake.notify_all();
    }

    /// Whether it takes no more.
    pub fn is_closed(&self) -> bool {
        lock(&self.queue).closed
    }

    /// How many lines wait.
    pub fn len(&self) -> usize {
        lock(&self.queue).waiting.len()
    }

    /// Writes and syncs all that waits, in one piece, and answers each; says whether something was written, and how many rewards. `settled` is called for
    /// each decision that is rewarded now.
    pub fn commit(&self, store: &dyn Store, now: u64, settled: impl Fn(TicketId)) -> Option<usize> {
        let group = std::mem::take(&mut lock(&self.queue).waiting);
        if group.is_empty() {
            return None;
        }
        let written = self.write(store, &group, now);
        if written.is_ok() {
            let mut rewarded = lock(&self.rewarded);
            for id in group.iter().filter_map(|w| w.id) {
                rewarded.add(id);
                settled(id);
            }
        }
        let mut others = Vec::new();
        let mut queue = lock(&self.queue);
        for id in group.iter().filter_map(|w| w.id) {
            others.extend(queue.underway.remove(&id).into_iter().flatten().map(|done| (id, done)));
        }
        drop(queue);
        let count = group.iter().filter(|w| w.id.is_some()).count();
        match written {
            Ok(()) => {
                group.into_iter().for_each(|w| (w.done)(Ok(())));
                others.into_iter().for_each(|(id, done)| done(Err(ServeError::AlreadyRewarded(id))));
                Some(count)
            }
            Err(error) => {
                let all = group.into_iter().map(|w| w.done).chain(others.into_iter().map(|(_, done)| done));
                all.for_each(|done| done(Err(error.clone())));
                None
            }
        }
    }

    fn write(&self, store: &dyn Store, group: &[Waiting], now: u64) -> Result<(), ServeError> {
        let mut segment = lock(&self.segment);
        loop {
            let lines = group.iter().map(|waiting| &waiting.record);
            match segment.append(lines, |after| next_segment(store, &self.layout, after)) {
                Ok(()) => break,
                // Another process has ended it, because it was quiet for long: the next one takes the lines.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (number, bytes) = segment.place();
        let mut acknowledged = lock(&self.acknowledged);
        if !acknowledged.has_learned(number, bytes) {
            acknowledged.waiting.push_back((number, bytes, now));
        }
        Ok(())
    }

    /// The number of the segment that is written to, and its bytes.
    pub fn place(&self) -> (u64, u64) {
        lock(&self.segment).place()
    }

    /// Notes up to which byte each segment is learned.
    pub fn learned(&self, learned: &BTreeMap<u64, u64>) {
        let mut acknowledged = lock(&self.acknowledged);
        acknowledged.learned.clone_from(learned);
        let Acknowledged { waiting, learned } = &mut *acknowledged;
        waiting.retain(|(segment, end, _)| learned.get(segment).is_none_or(|bytes| bytes < end));
    }

    /// Whether a segment is learned up to this byte.
    pub fn has_learned(&self, segment: u64, bytes: u64) -> bool {
        lock(&self.acknowledged).has_learned(segment, bytes)
    }

    /// When the oldest line was acknowledged that is not learned yet.
    pub fn oldest(&self) -> Option<u64> {
        lock(&self.acknowledged).waiting.front().map(|(_, _, at)| *at)
    }
}
