//! Decisions that wait for their outcomes.

use std::collections::{HashMap, VecDeque};

use crate::Given;

/// Which outcome counts where a decision has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// The first.
    First,
    /// The last.
    Last,
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The largest.
    Max,
}

/// Decisions in their order, each with what came of it so far. A decision leaves when more than `size` lines came after it.
#[derive(Debug)]
pub(crate) struct Window {
    size: usize,
    aggregate: Aggregate,
    /// Keys in the order of the decisions, and the number of the first of them.
    order: VecDeque<Waits>,
    first: u64,
    places: HashMap<String, u64>,
    pub counts: WindowCounts,
}

/// What happened to decisions and outcomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// Decisions that left with an outcome.
    pub joined: u64,
    /// Decisions that left without one.
    pub without: u64,
    /// Outcomes of decisions that have one already.
    pub repeated: u64,
    /// Outcomes without a decision.
    pub orphans: u64,
    /// Outcomes that came after the time that is waited.
    pub late: u64,
    /// Outcomes of which it is not known how late they are: they, or their decisions, do not say when.
    pub untimed: u64,
    /// Decisions whose key another waiting decision had.
    pub duplicates: u64,
}

#[derive(Debug)]
pub(crate) struct Waits {
    /// `None`: a line that is no decision, in its place among them.
    key: Option<String>,
    pub line: Vec<u8>,
    /// Which header its log had.
    pub header: usize,
    pub outcome: Option<f64>,
    /// The first outcome as it was said.
    pub given: Option<Given>,
    outcomes: u32,
}

impl Waits {
    fn new(key: Option<String>, line: Vec<u8>, header: usize) -> Self {
        Self { key, line, header, outcome: None, given: None, outcomes: 0 }
    }
}

impl Window {
    pub fn new(size: usize, aggregate: Aggregate) -> Self {
        Self {
            size: size.max(1),
            aggregate,
            order: VecDeque::new(),
            first: 0,
            places: HashMap::new(),
            counts: WindowCounts::default(),
        }
    }

    /// A decision begins to wait, unless one with its key does.
    pub fn decide(&mut self, key: String, line: Vec<u8>, header: usize) {
        if self.places.contains_key(&key) {
            self.counts.duplicates += 1;
            return;
        }
        self.places.insert(key.clone(), self.first + self.order.len() as u64);
        self.order.push_back(Waits::new(Some(key), line, header));
    }

    /// A line that is no decision, and stays behind those that wait.
    pub fn follow(&mut self, line: Vec<u8>) {
        self.order.push_back(Waits::new(None, line, 0));
    }

    /// Whether a decision with this key waits.
    pub fn waits(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// The decision with this key.
    pub fn waiting(&self, key: &str) -> Option<&Waits> {
        Some(&self.order[(self.places.get(key)? - self.first) as usize])
    }

    /// An outcome came: a number, and what was said.
    pub fn outcome(&mut self, key: &str, value: f64, given: Given) {
        let Some(place) = self.places.get(key) else {
            self.counts.orphans += 1;
            return;
        };
        let waits = &mut self.order[(place - self.first) as usize];
        waits.outcomes += 1;
        let Some(sum) = waits.outcome else {
            (waits.outcome, waits.given) = (Some(value), Some(given));
            return;
        };
        self.counts.repeated += 1;
        waits.outcome = Some(match self.aggregate {
            Aggregate::First => sum,
            Aggregate::Last => value,
            Aggregate::Sum | Aggregate::Mean => sum + value,
            Aggregate::Max => sum.max(value),
        });
    }

    /// The first decision, if more than enough wait or if `all` are to leave.
    pub fn leave(&mut self, all: bool) -> Option<Waits> {
        if self.order.len() <= self.size && !all {
            return None;
        }
        let mut waits = self.order.pop_front()?;
        self.first += 1;
        let Some(key) = &waits.key else { return Some(waits) };
        self.places.remove(key);
        match &mut waits.outcome {
            Some(outcome) => {
                self.counts.joined += 1;
                if self.aggregate == Aggregate::Mean {
                    *outcome /= f64::from(waits.outcomes);
                }
            }
            None => self.counts.without += 1,
        }
        Some(waits)
    }

    /// What there is to say of it.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let WindowCounts { repeated, orphans, late, duplicates, .. } = self.counts;
        [
            (repeated, "outcomes are of decisions that have one already"),
            (orphans, "outcomes have no decision"),
            (late, "outcomes came too late"),
            (duplicates, "decisions have the key of another"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
    }
}
