//! Decisions joined with outcomes from elsewhere.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, Write};

use corral_core::Scale;

use crate::scan::{self, Fields};
use crate::window::{Aggregate, Window, WindowCounts};
use crate::{Both, FaultKind, Faults, Given, ReadError, Reader, Record, Writer, ours};

/// How decisions are joined with outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinOptions {
    /// The field by which an outcome names its decision, and a decision is named: `id`, or a foreign key.
    pub key: String,
    /// How many decisions wait for outcomes at a time.
    pub window: usize,
    /// Outcomes that come later than this after their decision do not count, where lines have a time; milliseconds.
    pub wait: Option<f64>,
    /// The outcome of a decision without one; unset: it stays a decision.
    pub default: Option<f64>,
    /// Which outcome counts where there are several.
    pub aggregate: Aggregate,
}

impl Default for JoinOptions {
    fn default() -> Self {
        Self { key: "id".into(), window: 100_000, wait: None, default: None, aggregate: Aggregate::First }
    }
}

/// What came of a join.
#[derive(Debug, Clone, PartialEq)]
pub struct Joined {
    /// Decisions and outcomes.
    pub counts: WindowCounts,
    /// What was wrong with lines of decisions.
    pub decisions: Faults,
    /// What was wrong with lines of outcomes.
    pub outcomes: Faults,
}

/// Why a join ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The decisions cannot be read.
    #[error("the decisions")]
    Decisions(#[source] ReadError),
    /// The outcomes cannot be read.
    #[error("the outcomes")]
    Outcomes(#[source] ReadError),
    /// The result cannot be written.
    #[error("the joined log cannot be written")]
    Write(#[source] std::io::Error),
}

/// Outcomes whose decisions were not read yet: value and time, by key.
#[derive(Default)]
struct Early {
    by_key: HashMap<String, Vec<(f64, Option<f64>)>>,
    order: VecDeque<String>,
}

/// A join in the making.
struct Join<'a, W> {
    options: &'a JoinOptions,
    window: Window,
    early: Early,
    scale: Option<Scale>,
    /// Whether outcomes are losses, once one was read.
    losses: Option<bool>,
    to: Writer<W>,
}

/// Writes every decision with its outcome. Both streams advance side by side, so that outcomes may stand up to
/// [`window`](JoinOptions::window) decisions before or after theirs; memory does not depend on the length of the streams.
///
/// # Errors
/// A stream cannot be read or written, or has a fault and its reader is strict.
pub fn join<D: BufRead, O: BufRead, W: Write>(
    mut decisions: Reader<D>,
    mut outcomes: Reader<O>,
    to: Writer<W>,
    options: &JoinOptions,
) -> Result<Joined, JoinError> {
    let mut join = Join {
        options,
        window: Window::new(options.window, options.aggregate),
        early: Early::default(),
        scale: None,
        losses: None,
        to,
    };
    let (mut more_decisions, mut more_outcomes) = (true, true);
    while more_decisions || more_outcomes {
        if more_decisions {
            more_decisions = join.decision(&mut decisions)?;
        }
        if more_outcomes {
            more_outcomes = join.outcome(&mut outcomes)?;
        }
        while let Some(leaves) = join.window.leave(false) {
            join.write(leaves.line, leaves.outcome)?;
        }
    }
    join.window.counts.orphans += join.early.by_key.values().map(|list| list.len() as u64).sum::<u64>();
    while let Some(leaves) = join.window.leave(true) {
        join.write(leaves.line, leaves.outcome)?;
    }
    Ok(Joined {
        counts: join.window.counts,
        decisions: decisions.faults().clone(),
        outcomes: outcomes.faults().clone(),
    })
}

impl<W: Write> Join<'_, W> {
    /// Reads a line of the decisions; whether there was one.
    fn decision<D: BufRead>(&mut self, from: &mut Reader<D>) -> Result<bool, JoinError> {
        let Some(record) = from.read().map_err(JoinError::Decisions)? else { return Ok(false) };
        match &record {
            Record::Decision(_) => match key_of(from.last(), &self.options.key) {
                Some(key) => {
                    let early = self.early.by_key.remove(&key);
                    self.window.decide(key.clone(), from.last().to_vec(), 0);
                    early.into_iter().flatten().for_each(|(value, at)| self.add(&key, value, at));
                }
                None => {
                    let why = format!("a decision without the field {:?}", self.options.key);
                    from.fault(FaultKind::Garbage, &why).map_err(JoinError::Decisions)?;
                }
            },
            Record::Outcome(_) => self.take(from).map_err(JoinError::Decisions)?,
            // What is said of the log holds for the decisions behind it, and for none before.
            Record::Start(_) | Record::Both(_) | Record::Member(_) | Record::Expire(_) => {
                self.window.follow(from.last().to_vec());
            }
        }
        Ok(true)
    }

    /// Reads a line of the outcomes; whether there was one.
    fn outcome<O: BufRead>(&mut self, from: &mut Reader<O>) -> Result<bool, JoinError> {
        let Some(line) = from.line().map_err(JoinError::Outcomes)? else { return Ok(false) };
        if !line.starts_with(b"{\"kind\":\"start\"") {
            self.take(from).map_err(JoinError::Outcomes)?;
        }
        Ok(true)
    }

    /// Takes the line that was read last as an outcome.
    fn take<R: BufRead>(&mut self, from: &mut Reader<R>) -> Result<(), ReadError> {
        match ours::outcome(from.last(), &self.options.key) {
            Ok(given) if *self.losses.get_or_insert(given.is_loss) != given.is_loss => {
                from.fault(FaultKind::Garbage, &"outcomes are rewards or losses, not both")
            }
            Ok(given) => {
                self.add(&given.key, given.value, given.at);
                Ok(())
            }
            Err((kind, why)) => from.fault(kind, &why),
        }
    }

    fn add(&mut self, key: &str, value: f64, at: Option<f64>) {
        if !self.window.waits(key) {
            self.early.by_key.entry(key.to_owned()).or_default().push((value, at));
            self.early.order.push_back(key.to_owned());
            if self.early.order.len() > self.options.window
                && let Some(first) = self.early.order.pop_front()
                && let Some(list) = self.early.by_key.remove(&first)
            {
                self.window.counts.orphans += list.len() as u64;
            }
            return;
        }
        let made = || self.window.waiting(key).and_then(|waits| scan::number(field(&waits.line, "at")?));
        let after = self.options.wait.map(|wait| (wait, made().zip(at).map(|(made, at)| at - made)));
        match after {
            Some((wait, Some(after))) if after > wait => self.window.counts.late += 1,
            after => {
                self.window.counts.untimed += u64::from(after.is_some_and(|(_, after)| after.is_none()));
                self.window.outcome(key, value);
            }
        }
    }

    fn write(&mut self, line: Vec<u8>, outcome: Option<f64>) -> Result<(), JoinError> {
        let decision = match Record::read(&line) {
            Ok(Record::Decision(decision)) => decision,
            Ok(other) => {
                if let Record::Start(start) = &other {
                    self.scale = start.scale;
                }
                return self.to.write(&other).map_err(JoinError::Write);
            }
            // It was read before, and was right.
            Err(_) => return Ok(()),
        };
        let losses = self.losses.unwrap_or(self.scale.is_some_and(|scale| !scale.rewards));
        let given = |value| if losses { Given::loss(value) } else { Given::reward(value) };
        let outcome = outcome.or(self.options.default).map(given);
        let record = match outcome {
            Some(given) => Record::Both(Both { decision, given }),
            None => Record::Decision(decision),
        };
        self.to.write(&record).map_err(JoinError::Write)
    }
}

fn field<'a>(line: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    Fields::of(line)?.find(|(name, _)| *name == wanted.as_bytes()).map(|(_, value)| value)
}

fn key_of(line: &[u8], key: &str) -> Option<String> {
    let value = field(line, key)?;
    Some(match scan::text(value) {
        Some(text) => text.into_owned(),
        None => String::from_utf8_lossy(value).into_owned(),
    })
}
