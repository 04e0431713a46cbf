//! Tickets that the service keeps for clients that can keep an id alone.
//!
//! They are lines of segments of their own, one token each, synced before the decision is answered. Any front end finds them
//! there, also after a restart.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Mutex;

use corral_core::TicketId;

use crate::error::ServeError;
use crate::event::Lines;
use crate::layout::Layout;
use crate::outbox::{Done, lock, next_of};
use crate::rewarded::Rewarded;
use crate::store::{Segment, Store};

/// Blocks of 4,096 decisions of which it is remembered which have expired.
const REMEMBERED: usize = 1_024;

struct Kept {
    tokens: HashMap<TicketId, String>,
    expired: Rewarded,
    /// When each was made, in order.
    order: VecDeque<(u64, TicketId)>,
    /// How far each segment was read.
    read: BTreeMap<u64, u64>,
}

/// Where this front end writes.
struct Own {
    number: u64,
    segment: Box<dyn Segment>,
}

pub(crate) struct Tickets {
    layout: Layout,
    most: usize,
    patience: u64,
    kept: Mutex<Kept>,
    queue: Mutex<Vec<(String, Done)>>,
    own: Mutex<Option<Own>>,
}

impl Tickets {
    pub fn new(layout: Layout, most: usize, patience: u64) -> Self {
        let kept = Kept {
            tokens: HashMap::new(),
            expired: Rewarded::new(REMEMBERED),
            order: VecDeque::new(),
            read: BTreeMap::new(),
        };
        Self {
            layout,
            most,
            patience,
            kept: Mutex::new(kept),
            queue: Mutex::default(),
            own: Mutex::default(),
        }
    }

    /// Keeps a token; `done` is called when it lasts.
    pub fn put(&self, id: TicketId, token: String, now: u64, done: Done) {
        let mut kept = lock(&self.kept);
        kept.expire(now, self.patience);
        let waiting = kept.tokens.len();
        if waiting >= self.most {
            drop(kept);
            return done(Err(ServeError::Full { what: "tickets", waiting }));
        }
        kept.tokens.insert(id, token.clone());
        kept.order.push_back((now, id));
        drop(kept);
        lock(&self.queue).push((format!("{now} {id} {token}\n"), done));
    }

    /// The token of an id: of this front end, or of another that has kept it.
    pub fn find(&self, store: &dyn Store, id: TicketId, now: u64) -> Result<Option<String>, ServeError> {
        let mut kept = lock(&self.kept);
        if let Some(token) = kept.tokens.get(&id) {
            return Ok(Some(token.clone()));
        }
        kept.catch_up(store, &self.layout, self.most)?;
        kept.expire(now, self.patience);
        if kept.expired.has(id) {
            return Err(ServeError::Late(id));
        }
        Ok(kept.tokens.get(&id).cloned())
    }

    /// Forgets a ticket that was rewarded.
    pub fn forget(&self, id: TicketId) {
        lock(&self.kept).tokens.remove(&id);
    }

    pub fn has_work(&self) -> bool {
        !lock(&self.queue).is_empty()
    }

    pub fn len(&self) -> usize {
        lock(&self.kept).tokens.len()
    }

    /// Writes what waits, in one piece, and answers each.
    pub fn commit(&self, store: &dyn Store) {
        let group = std::mem::take(&mut *lock(&self.queue));
        if group.is_empty() {
            return;
        }
        let written = self.write(store, &group);
        for (_, done) in group {
            done(written.clone());
        }
    }

    fn write(&self, store: &dyn Store, group: &[(String, Done)]) -> Result<(), ServeError> {
        let mut own = lock(&self.own);
        if own.is_none() {
            let (number, segment) =
                next_of(store, &self.layout.tickets(), 0, |n| self.layout.ticket_segment(n))?;
            // What this front end writes it need not read.
            lock(&self.kept).read.insert(number, u64::MAX);
            *own = Some(Own { number, segment });
        }
        let lines: String = group.iter().map(|(line, _)| line.as_str()).collect();
        let Some(Own { number, segment }) = own.as_mut() else { return Ok(()) };
        if let Err(error) = segment.append(lines.as_bytes()) {
            lock(&self.kept).read.insert(*number, u64::MAX);
            *own = None;
            return Err(error.into());
        }
        Ok(())
    }
}

impl Kept {
    fn expire(&mut self, now: u64, patience: u64) {
        while let Some((at, id)) = self.order.front().copied()
            && now.saturating_sub(at) > patience
        {
            self.order.pop_front();
            if self.tokens.remove(&id).is_some() {
                self.expired.add(id);
            }
        }
    }

    /// Reads what was written since the last time.
    fn catch_up(&mut self, store: &dyn Store, layout: &Layout, most: usize) -> Result<(), ServeError> {
        for name in store.list(&layout.tickets())? {
            let Some(number) = Layout::segment_number(&name) else { continue };
            let from = self.read.get(&number).copied().unwrap_or(0);
            if from == u64::MAX {
                continue;
            }
            let bytes = store.read(&layout.ticket_segment(number), from, usize::MAX)?;
            let mut end = 0;
            for (place, line) in Lines::of(&bytes) {
                end = place.end;
                let mut words = std::str::from_utf8(line).unwrap_or_default().split(' ');
                let (at, id, token) = (words.next(), words.next(), words.next());
                let parsed = at.and_then(|at| at.parse().ok()).zip(id.and_then(corral_log::parse_id));
                if let (Some((at, id)), Some(token)) = (parsed, token)
                    && self.tokens.len() < most
                {
                    self.tokens.insert(id, token.to_owned());
                    self.order.push_back((at, id));
                }
            }
            self.read.insert(number, from + end as u64);
        }
        Ok(())
    }
}
