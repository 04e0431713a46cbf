//! Decisions that a band keeps until their rewards come.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use corral_core::TicketId;
use corral_lab::saved::SavedWaiting;
use pyo3::prelude::*;

use crate::decision::Decision;
use crate::errors::{Answer, Error};

/// Decisions that wait for their rewards, by their ids.
pub struct Waiting {
    /// The most that may wait; of as many others is known that they expired.
    most: usize,
    open: BTreeMap<TicketId, (u64, Py<Decision>)>,
    /// Those that wait, in the order of time.
    order: BTreeSet<(u64, TicketId)>,
    expired: VecDeque<TicketId>,
    count: u64,
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

impl Waiting {
    pub fn new(most: usize) -> Self {
        Self { most, open: BTreeMap::new(), order: BTreeSet::new(), expired: VecDeque::new(), count: 0 }
    }

    /// How many wait, and how many have expired.
    pub fn counts(&self) -> (usize, u64) {
        (self.open.len(), self.count)
    }

    /// Whether `more` may wait.
    pub fn admits(&self, more: usize) -> Answer<()> {
        let (there, most) = (self.open.len(), self.most);
        let full = format!("{there} decisions wait, and at most {most} may: learn or expire some");
        if there + more <= most { Ok(()) } else { Err(Error::Failed(full)) }
    }

    pub fn keep(&mut self, decision: &Bound<'_, Decision>) {
        let (id, since) = (decision.get().id, now());
        self.open.insert(id, (since, decision.clone().unbind()));
        self.order.insert((since, id));
    }

    pub fn find<'py>(&self, py: Python<'py>, id: TicketId) -> Answer<Bound<'py, Decision>> {
        match self.open.get(&id) {
            Some((_, decision)) => Ok(decision.bind(py).clone()),
            None if self.has_expired(id) => Err(Error::value(format!("the decision {id} has expired"))),
            None => Err(Error::value(format!(
                "no decision waits under the id {id}: there was none, or it was learned"
            ))),
        }
    }

    pub fn has_expired(&self, id: TicketId) -> bool {
        self.expired.contains(&id)
    }

    /// It was learned.
    pub fn settle(&mut self, id: TicketId) {
        if let Some((since, _)) = self.open.remove(&id) {
            self.order.remove(&(since, id));
        }
    }

    /// Those that wait since before the time `before`, those that wait longest first.
    pub fn late<'py>(&self, py: Python<'py>, before: u64) -> Vec<Bound<'py, Decision>> {
        let late = self.order.iter().take_while(|(since, _)| *since < before);
        late.filter_map(|(_, id)| Some(self.open.get(id)?.1.bind(py).clone())).collect()
    }

    /// It waited too long.
    pub fn expire(&mut self, id: TicketId) {
        self.settle(id);
        self.count += 1;
        self.expired.push_back(id);
        if self.expired.len() > self.most {
            self.expired.pop_front();
        }
    }

    pub fn save(&self) -> SavedWaiting {
        let open = self.open.values().map(|(since, decision)| (*since, decision.get().bytes()));
        let expired = self.expired.iter().copied().collect();
        SavedWaiting { most: self.most as u64, open: open.collect(), expired, count: self.count }
    }

    pub fn load(py: Python<'_>, saved: SavedWaiting) -> Answer<Self> {
        let mut waiting = Self::new(usize::try_from(saved.most).map_err(Error::value)?);
        for (since, bytes) in saved.open {
            let decision = Decision::read(&bytes)?;
            let id = decision.id;
            waiting.open.insert(id, (since, Py::new(py, decision)?));
            waiting.order.insert((since, id));
        }
        waiting.expired = saved.expired.into();
        waiting.count = saved.count;
        Ok(waiting)
    }
}
