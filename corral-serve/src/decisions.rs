//! Decisions as a log of their own, whether or not their rewards come.
//!
//! An answer does not wait for it: what was decided within [`EVERY`] before a crash may be missing. Nothing is learned from it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use corral_log::{Chain, Decided, Reader, Record, Start, Writer};

use crate::chained::{Chained, next_of};
use crate::error::ServeError;
use crate::layout::Layout;
use crate::lock::lock;
use crate::store::Store;

/// Decisions are written after so many milliseconds,
const EVERY: u64 = 200;
/// or when so many wait.
const MANY: usize = 4_096;
/// How many may wait while the store fails; others are left out, and counted.
const MOST: usize = 65_536;

#[derive(Default)]
struct Queue {
    waiting: Vec<Record>,
    /// When it was written last.
    written: u64,
}

pub(crate) struct Decisions {
    layout: Layout,
    queue: Mutex<Queue>,
    segment: Mutex<Chained>,
    lost: AtomicU64,
}

impl Decisions {
    pub fn new(layout: Layout, start: Start) -> Self {
        let segment = Mutex::new(Chained::new(start));
        Self { layout, queue: Mutex::default(), segment, lost: AtomicU64::new(0) }
    }

    pub fn put(&self, decision: Decided) {
        let mut queue = lock(&self.queue);
        if queue.waiting.len() < MOST {
            queue.waiting.push(Record::Decision(decision));
        } else {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// How many were left out.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// Writes what waits, where it is time, or `now_or_never`. What cannot be written is tried again with the next.
    pub fn commit(&self, store: &dyn Store, now: u64, now_or_never: bool) {
        let mut queue = lock(&self.queue);
        // A clock that has gone back does not make it wait.
        let waited = now.checked_sub(queue.written).is_none_or(|since| since >= EVERY);
        if queue.waiting.is_empty() || !(waited || queue.waiting.len() >= MANY || now_or_never) {
            return;
        }
        queue.written = now;
        let mut group = std::mem::take(&mut queue.waiting);
        drop(queue);
        // Threads may have put theirs in another order than they were made.
        group.sort_by_key(|record| match record {
            Record::Decision(decision) => decision.id.round,
            _ => 0,
        });
        let next =
            |after| next_of(store, &self.layout.decisions(), after, |n| self.layout.decision_segment(n));
        if lock(&self.segment).append(group.iter(), next).is_err() {
            let mut queue = lock(&self.queue);
            let left = MOST.saturating_sub(queue.waiting.len());
            self.lost.fetch_add(group.len().saturating_sub(left) as u64, Relaxed);
            queue.waiting.splice(..0, group.into_iter().take(left));
        }
    }
}

/// How much of a segment is read at a time.
const PIECE: usize = 4 << 20;

/// Gives the decisions of all front ends as one log, piece by piece.
pub struct DecisionExport {
    store: Arc<dyn Store>,
    layout: Layout,
    /// Segments that are left, the next one last, and how far it was read.
    left: Vec<u64>,
    from: u64,
    started: bool,
    chain: Chain,
}

impl DecisionExport {
    /// The decisions of a band in a store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn of(store: Arc<dyn Store>, band: &str) -> Result<Self, ServeError> {
        let layout = Layout::of(band);
        let names = store.list(&layout.decisions())?;
        let mut left: Vec<u64> = names.iter().filter_map(|name| Layout::segment_number(name)).collect();
        left.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Self { store, layout, left, from: 0, started: false, chain: Chain::new(0) })
    }

    fn piece(&mut self) -> Result<Option<Vec<u8>>, ServeError> {
        while let Some(number) = self.left.last() {
            let name = self.layout.decision_segment(*number);
            let mut bytes = self.store.read(&name, self.from, PIECE)?;
            // What is behind the last line break was not written whole.
            let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
            bytes.truncate(whole);
            if bytes.is_empty() {
                self.left.pop();
                self.from = 0;
                continue;
            }
            let damaged = |at: u64, e: corral_log::ReadError| ServeError::Damaged {
                name: name.clone(),
                at,
                why: e.to_string(),
            };
            let (mut reader, at) = (Reader::new(&bytes[..]).strict(true), self.from);
            let mut lines = Writer::with(Vec::with_capacity(bytes.len()), self.chain);
            while let Some(record) = reader.read().map_err(|e| damaged(at, e))? {
                // Each segment begins with the same line.
                if matches!(record, Record::Start(_)) && std::mem::replace(&mut self.started, true) {
                    continue;
                }
                lines.write(&record)?;
            }
            self.from += whole as u64;
            self.chain = lines.chain();
            return Ok(Some(lines.into_inner()));
        }
        Ok(None)
    }
}

impl Iterator for DecisionExport {
    type Item = Result<Vec<u8>, ServeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.piece().transpose()
    }
}
