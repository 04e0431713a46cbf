//! Tickets that the service keeps for clients that can keep an id alone.
//!
//! They are lines of segments of their own, one token each, synced before the decision is answered. Any front end finds them
//! there, also after a restart. A segment takes lines for one patience, and goes when the last of them has expired.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Mutex;

use corral_core::TicketId;

use crate::chained::{LARGEST, next_of};
use crate::error::ServeError;
use crate::event::Lines;
use crate::layout::Layout;
use crate::lock::lock;
use crate::outbox::Done;
use crate::rewarded::Rewarded;
use crate::store::{Segment, Store};

/// Blocks of 4,096 decisions of which it is remembered which have expired.
const REMEMBERED: usize = 1_024;
/// Expired segments are looked for after so many milliseconds.
const SWEEP: u64 = 60_000;

/// Tokens by id, each for a limited time.
#[derive(Default)]
struct Tokens {
    tokens: HashMap<TicketId, String>,
    /// When each was made, in order; also of some that are gone.
    order: VecDeque<(u64, TicketId)>,
}

impl Tokens {
    fn put(&mut self, at: u64, id: TicketId, token: String) {
        self.tokens.insert(id, token);
        self.order.push_back((at, id));
        // It does not grow with those that are gone.
        if self.order.len() > 2 * self.tokens.len() + 64 {
            self.order.retain(|(_, id)| self.tokens.contains_key(id));
        }
    }

    fn expire(&mut self, now: u64, patience: u64, mut expired: impl FnMut(TicketId)) {
        while let Some((at, id)) = self.order.front().copied()
            && now.saturating_sub(at) > patience
        {
            self.order.pop_front();
            if self.tokens.remove(&id).is_some() {
                expired(id);
            }
        }
    }

    fn drop_oldest(&mut self) {
        while let Some((_, id)) = self.order.pop_front() {
            if self.tokens.remove(&id).is_some() {
                return;
            }
        }
    }
}

struct Kept {
    /// Of this front end.
    own: Tokens,
    /// Of others, as far as they were looked for: the last ones.
    others: Tokens,
    expired: Rewarded,
    /// How far each segment of others was read, and the time of its last line.
    read: BTreeMap<u64, (u64, u64)>,
}

/// Where this front end writes.
struct Own {
    number: u64,
    segment: Box<dyn Segment>,
    /// When its first line was written.
    since: u64,
    bytes: u64,
}

pub(crate) struct Tickets {
    layout: Layout,
    most: usize,
    patience: u64,
    kept: Mutex<Kept>,
    queue: Mutex<Vec<(String, Done)>>,
    own: Mutex<Option<Own>>,
    /// When expired segments were looked for.
    swept: Mutex<Option<u64>>,
}

impl Tickets {
    pub fn new(layout: Layout, most: usize, patience: u64) -> Self {
        let kept = Kept {
            own: Tokens::default(),
            others: Tokens::default(),
            expired: Rewarded::new(REMEMBERED),
            read: BTreeMap::new(),
        };
        Self {
            layout,
            most,
            patience,
            kept: Mutex::new(kept),
            queue: Mutex::default(),
            own: Mutex::default(),
            swept: Mutex::default(),
        }
    }

    /// Keeps a token; `done` is called when it lasts.
    pub fn put(&self, id: TicketId, token: String, now: u64, done: Done) {
        let mut kept = lock(&self.kept);
        kept.expire(now, self.patience);
        let waiting = kept.own.tokens.len();
        if waiting >= self.most {
            drop(kept);
            return done(Err(ServeError::Full { what: "tickets", waiting }));
        }
        kept.own.put(now, id, token.clone());
        drop(kept);
        lock(&self.queue).push((format!("{now} {id} {token}\n"), done));
    }

    /// The token of an id, where this front end has it in memory.
    pub fn here(&self, id: TicketId, now: u64) -> Result<Option<String>, ServeError> {
        let mut kept = lock(&self.kept);
        kept.expire(now, self.patience);
        if kept.expired.has(id) {
            return Err(ServeError::Late(id));
        }
        Ok(kept.own.tokens.get(&id).or_else(|| kept.others.tokens.get(&id)).cloned())
    }

    /// The token of an id: of this front end, or of another that has kept it.
    pub fn find(&self, store: &dyn Store, id: TicketId, now: u64) -> Result<Option<String>, ServeError> {
        if let Some(token) = self.here(id, now)? {
            return Ok(Some(token));
        }
        let own = lock(&self.own).as_ref().map(|own| own.number);
        lock(&self.kept).catch_up(store, &self.layout, own, self.most)?;
        self.here(id, now)
    }

    /// Forgets a ticket that was rewarded.
    pub fn forget(&self, id: TicketId) {
        let mut kept = lock(&self.kept);
        kept.own.tokens.remove(&id);
        kept.others.tokens.remove(&id);
    }

    pub fn has_work(&self) -> bool {
        !lock(&self.queue).is_empty()
    }

    pub fn len(&self) -> usize {
        lock(&self.kept).own.tokens.len()
    }

    /// Writes what waits, in one piece, and answers each; removes what has expired.
    pub fn commit(&self, store: &dyn Store, now: u64) {
        let group = std::mem::take(&mut *lock(&self.queue));
        if !group.is_empty() {
            let written = self.write(store, &group, now);
            for (_, done) in group {
                done(written.clone());
            }
        }
        let mut swept = lock(&self.swept);
        if swept.is_none_or(|last| now.abs_diff(last) >= SWEEP) {
            *swept = Some(now);
            // What fails now is done the next time.
            let _ = self.sweep(store, now);
        }
    }

    fn write(&self, store: &dyn Store, group: &[(String, Done)], now: u64) -> Result<(), ServeError> {
        let mut own = lock(&self.own);
        let lines: String = group.iter().map(|(line, _)| line.as_str()).collect();
        // So no line outlasts its segment's first by more than a patience, and each is gone after two.
        let ended = |own: &Own| own.bytes > LARGEST || now.saturating_sub(own.since) > self.patience;
        if own.as_ref().is_none_or(ended) {
            // Numbers follow the clock, so that none comes again when the segments before it are gone.
            let (number, segment) =
                next_of(store, &self.layout.tickets(), now, |n| self.layout.ticket_segment(n))?;
            *own = Some(Own { number, segment, since: now, bytes: 0 });
        }
        let Some(Own { segment, bytes, .. }) = own.as_mut() else { return Ok(()) };
        if let Err(error) = segment.append(lines.as_bytes()) {
            *own = None;
            return Err(error.into());
        }
        *bytes += lines.len() as u64;
        Ok(())
    }

    /// Removes segments that have no writer, and of which the last line has expired.
    fn sweep(&self, store: &dyn Store, now: u64) -> Result<(), ServeError> {
        let mut own = lock(&self.own);
        // Its lines may all have expired.
        if own.as_ref().is_some_and(|own| now.saturating_sub(own.since) > self.patience) {
            *own = None;
        }
        let current = own.as_ref().map(|own| own.number);
        drop(own);
        let mut kept = lock(&self.kept);
        kept.expire(now, self.patience);
        let listed = store.list(&self.layout.tickets())?;
        let numbers: Vec<u64> = listed.iter().filter_map(|name| Layout::segment_number(name)).collect();
        kept.read.retain(|number, _| numbers.contains(number));
        for number in numbers.into_iter().filter(|number| Some(*number) != current) {
            let name = self.layout.ticket_segment(number);
            if store.is_closed(&name)? {
                let last = kept.read_segment(store, &self.layout, number, self.most)?;
                if now.saturating_sub(last) > self.patience {
                    store.delete_segment(&name)?;
                    kept.read.remove(&number);
                }
            }
        }
        Ok(())
    }
}

impl Kept {
    fn expire(&mut self, now: u64, patience: u64) {
        let Self { own, others, expired, .. } = self;
        for tokens in [own, others] {
            tokens.expire(now, patience, |id| {
                expired.add(id);
            });
        }
    }

    /// Reads what was written since the last time, but by this front end.
    fn catch_up(
        &mut self,
        store: &dyn Store,
        layout: &Layout,
        own: Option<u64>,
        most: usize,
    ) -> Result<(), ServeError> {
        for name in store.list(&layout.tickets())? {
            if let Some(number) = Layout::segment_number(&name).filter(|number| Some(*number) != own) {
                self.read_segment(store, layout, number, most)?;
            }
        }
        Ok(())
    }

    /// Reads what is new in a segment; gives the time of its last line.
    fn read_segment(
        &mut self,
        store: &dyn Store,
        layout: &Layout,
        number: u64,
        most: usize,
    ) -> Result<u64, ServeError> {
        let (from, mut last) = self.read.get(&number).copied().unwrap_or_default();
        let bytes = match store.read(&layout.ticket_segment(number), from, usize::MAX) {
            // Another front end has removed it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let mut end = 0;
        for (place, line) in Lines::of(&bytes) {
            end = place.end;
            let mut words = std::str::from_utf8(line).unwrap_or_default().split(' ');
            let (at, id, token) = (words.next(), words.next(), words.next());
            let parsed = at.and_then(|at| at.parse().ok()).zip(id.and_then(corral_log::parse_id));
            if let (Some((at, id)), Some(token)) = (parsed, token) {
                last = last.max(at);
                if !self.own.tokens.contains_key(&id) && !self.expired.has(id) {
                    self.others.put(at, id, token.to_owned());
                }
                if self.others.tokens.len() > most {
                    self.others.drop_oldest();
                }
            }
        }
        self.read.insert(number, (from + end as u64, last));
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is forgotten leaves nothing behind, however long the patience is.
    #[test]
    fn tokens_that_are_gone_take_no_memory() {
        let mut tokens = Tokens::default();
        let id = |round| TicketId { band: 7, copy: 1, round };
        for round in 0..10_000 {
            tokens.put(round, id(round), "token".into());
            if round % 100 != 0 {
                tokens.tokens.remove(&id(round));
            }
        }
        assert_eq!(tokens.tokens.len(), 100);
        assert!(tokens.order.len() <= 264, "{}", tokens.order.len());
        let mut expired = Vec::new();
        tokens.expire(10_000, 5_000, |id| expired.push(id.round));
        assert_eq!((expired.len(), tokens.tokens.len()), (50, 50));
    }
}
