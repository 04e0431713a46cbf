//! Rewards on their way to the store: many are written and synced together, and each is answered when it lasts.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use corral_core::TicketId;
use corral_log::{Chain, Record, Start, Writer};

use crate::error::ServeError;
use crate::layout::Layout;
use crate::lock::lock;
use crate::rewarded::Rewarded;
use crate::store::{Segment, Store};

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

/// What was written and acknowledged and is not learned yet: up to which byte of which segment, and when.
type Acknowledged = VecDeque<(u64, u64, u64)>;

pub(crate) struct Outbox {
    layout: Layout,
    most: usize,
    queue: Mutex<Queue>,
    wake: Condvar,
    rewarded: Mutex<Rewarded>,
    segment: Mutex<Writing>,
    acknowledged: Mutex<Acknowledged>,
    start: Start,
}

/// The segment that is written to.
struct Writing {
    number: u64,
    segment: Option<Box<dyn Segment>>,
    chain: Chain,
    bytes: u64,
}

/// Creates the next segment: its number is that of no other, in whatever process.
pub(crate) fn next_segment(
    store: &dyn Store,
    layout: &Layout,
    after: u64,
) -> io::Result<(u64, Box<dyn Segment>)> {
    next_of(store, &layout.segments(), after, |number| layout.segment(number))
}

/// The same in any folder.
pub(crate) fn next_of(
    store: &dyn Store,
    folder: &str,
    after: u64,
    name: impl Fn(u64) -> String,
) -> io::Result<(u64, Box<dyn Segment>)> {
    let listed = store.list(folder)?;
    let last = listed.iter().filter_map(|name| Layout::segment_number(name)).max().unwrap_or(0);
    let mut number = last.max(after) + 1;
    loop {
        if let Some(segment) = store.segment(&name(number))? {
            return Ok((number, segment));
        }
        number += 1;
    }
}

/// A segment is followed by another when it has this many bytes.
pub(crate) const LARGEST: u64 = 64 << 20;

impl Outbox {
    pub fn new(
        layout: Layout,
        start: Start,
        rewarded: Rewarded,
        (number, segment): (u64, Box<dyn Segment>),
        most: usize,
    ) -> Self {
        Self {
            layout,
            most,
            queue: Mutex::default(),
            wake: Condvar::new(),
            rewarded: Mutex::new(rewarded),
            segment: Mutex::new(Writing { number, segment: Some(segment), chain: Chain::new(0), bytes: 0 }),
            acknowledged: Mutex::default(),
            start,
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
        let mut writing = lock(&self.segment);
        if writing.bytes > LARGEST {
            writing.segment = None;
        }
        loop {
            if writing.segment.is_none() {
                // What a segment holds behind a failed write is not known: nothing is written there any more.
                let (number, segment) = next_segment(store, &self.layout, writing.number)?;
                *writing = Writing { number, segment: Some(segment), chain: Chain::new(0), bytes: 0 };
            }
            let mut lines = Writer::with(Vec::with_capacity(group.len() * 512), writing.chain);
            if writing.bytes == 0 {
                lines.write(&Record::Start(self.start.clone()))?;
            }
            for waiting in group {
                lines.write(&waiting.record)?;
            }
            let (chain, bytes) = (lines.chain(), lines.into_inner());
            let Some(segment) = writing.segment.as_mut() else { return Ok(()) };
            match segment.append(&bytes) {
                Ok(()) => {
                    writing.chain = chain;
                    writing.bytes += bytes.len() as u64;
                    lock(&self.acknowledged).push_back((writing.number, writing.bytes, now));
                    return Ok(());
                }
                // Another process has ended it, because it was quiet for long: the next one takes the lines.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => writing.segment = None,
                Err(error) => {
                    writing.segment = None;
                    return Err(error.into());
                }
            }
        }
    }

    /// The number of the segment that is written to, and its bytes.
    pub fn place(&self) -> (u64, u64) {
        let writing = lock(&self.segment);
        (writing.number, writing.bytes)
    }

    /// Forgets what is learned.
    pub fn learned(&self, learned: &std::collections::BTreeMap<u64, u64>) {
        let mut waiting = lock(&self.acknowledged);
        waiting.retain(|(segment, end, _)| learned.get(segment).is_none_or(|bytes| bytes < end));
    }

    /// When the oldest line was acknowledged that is not learned yet.
    pub fn oldest(&self) -> Option<u64> {
        lock(&self.acknowledged).front().map(|(_, _, at)| *at)
    }
}
