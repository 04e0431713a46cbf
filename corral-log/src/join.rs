//! Decisions joined with outcomes from elsewhere.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, Write};

use corral_core::Scale;

use crate::scan::{self, Fields};
use crate::seen::Seen;
use crate::window::{Aggregate, Window, WindowCounts};
use crate::{Both, Fault, FaultKind, Faults, Given, ReadError, Reader, Record, Writer, ours};

/// How decisions are joined with outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinOptions {
    /// The field by which an outcome names its decision, and a decision is named: `id`, or a foreign key. A decision without it is
    /// named by its `key`.
    pub key: String,
    /// How many decisions wait for outcomes at a time.
    pub window: usize,
    /// Outcomes that come later than this after their decision do not count, where lines have a time; milliseconds.
    pub wait: Option<f64>,
    /// The reward of a decision without an outcome; unset: it stays a decision.
    pub default: Option<f64>,
    /// The same as a loss, where outcomes are losses.
    pub default_loss: Option<f64>,
    /// Which outcome counts where there are several.
    pub aggregate: Aggregate,
}

impl Default for JoinOptions {
    fn default() -> Self {
        Self {
            key: "id".into(),
            window: 100_000,
            wait: None,
            default: None,
            default_loss: None,
            aggregate: Aggregate::First,
        }
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
    /// The default is not one of these outcomes.
    #[error("the outcome of a decision without one: {0}")]
    Default(String),
    /// No decision, or no outcome, has the field that they are joined by.
    #[error("no {what} can be joined by the field {key:?}; the first line: {first}")]
    Key {
        /// Decision or outcome.
        what: &'static str,
        /// The field.
        key: String,
        /// What was wrong with the first line.
        first: Fault,
    },
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
    /// Whether a decision was given the default.
    defaulted: bool,
    /// Whether decisions, and outcomes, were read that have a key.
    keyed: [bool; 2],
    seen: Seen,
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
        defaulted: false,
        keyed: [false; 2],
        seen: Seen::default(),
        to,
    };
    if options.default.is_some() && options.default_loss.is_some() {
        return Err(JoinError::Default("a reward or a loss, not both".to_owned()));
    }
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
    // The first outcome may have come after the first default.
    if join.defaulted && join.losses.is_some() {
        join.default()?;
    }
    for (what, keyed, faults) in
        [("decision", join.keyed[0], decisions.faults()), ("outcome", join.keyed[1], outcomes.faults())]
    {
        let first = faults.iter().map(|(_, first)| first).find(|first| first.kind == FaultKind::Garbage);
        if let Some(first) = first.filter(|_| !keyed) {
            let key = options.key.clone();
            return Err(JoinError::Key { what, key, first: first.clone() });
        }
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
            Record::Decision(_) => match self.key_of(from.last()) {
                Some(key) if self.seen.add_text(&key) => self.window.counts.duplicates += 1,
                Some(key) => {
                    let early = self.early.by_key.remove(&key);
                    self.window.decide(key.clone(), from.last().to_vec(), 0);
                    early.into_iter().flatten().for_each(|early| self.add(&key, early));
                }
                None => {
                    let why = format!("a decision without the field {:?}", self.options.key);
                    from.fault(FaultKind::Garbage, &why).map_err(JoinError::Decisions)?;
                }
            },
            Record::Outcome(_) => self.take(from).map_err(JoinError::Decisions)?,
            Record::Both(_) if self.key_of(from.last()).is_some_and(|key| self.seen.add_text(&key)) => {
                self.window.counts.duplicates += 1;
            }
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
        let is_start = field(line, "kind") == Some(b"\"start\"");
        let start = is_start.then(|| Record::read(line).map(drop));
        let taken = match start {
            Some(Ok(())) => from.strays(true).map(drop),
            Some(Err(error)) => from.refuse(&error),
            None => match from.strays(false) {
                Ok(false) => self.take(from),
                strayed => strayed.map(drop),
            },
        };
        taken.map_err(JoinError::Outcomes)?;
        Ok(true)
    }

    /// Takes the line that was read last as an outcome.
    fn take<R: BufRead>(&mut self, from: &mut Reader<R>) -> Result<(), ReadError> {
        match ours::outcome(from.last(), &self.options.key) {
            Ok(given) if *self.losses.get_or_insert(given.is_loss) != given.is_loss => {
                from.fault(FaultKind::Garbage, &"outcomes are rewards or losses, not both")
            }
            Ok(given) => {
                self.keyed[1] = true;
                self.add(&given.key, (given.value, given.at));
                Ok(())
            }
            Err((kind, why)) => from.fault(kind, &why),
        }
    }

    /// What a decision is known by.
    fn key_of(&mut self, line: &[u8]) -> Option<String> {
        let found = key_of(line, &self.options.key).or_else(|| key_of(line, "key"));
        self.keyed[0] |= found.is_some();
        found
    }

    fn add(&mut self, key: &str, (value, at): (f64, Option<f64>)) {
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
                let losses = self.losses.unwrap_or_default();
                self.window.outcome(key, value, Given::of(value, losses));
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
        let outcome = match outcome {
            Some(value) => Some(Given::of(value, self.losses.unwrap_or_default())),
            None => {
                let default = self.default()?;
                self.defaulted |= default.is_some();
                default
            }
        };
        let record = match outcome {
            Some(given) => Record::Both(Both { decision, given }),
            None => Record::Decision(decision),
        };
        self.to.write(&record).map_err(JoinError::Write)
    }
}

impl<W> Join<'_, W> {
    /// The outcome of a decision without one. A reward among losses is refused: what is the worst reward is the best loss, and a
    /// decision without an outcome is not meant to be the best.
    fn default(&self) -> Result<Option<Given>, JoinError> {
        let (value, is_loss) = match (self.options.default, self.options.default_loss) {
            (Some(reward), _) => (reward, false),
            (None, Some(loss)) => (loss, true),
            (None, None) => return Ok(None),
        };
        let losses = self.losses.or(self.scale.map(|scale| !scale.rewards)).unwrap_or(is_loss);
        let why = match (losses, is_loss) {
            (true, false) => Err("the outcomes are losses, so say what it loses (--default-loss)".to_owned()),
            (false, true) => {
                Err("the outcomes are rewards, so say what it earns (--default-reward)".to_owned())
            }
            _ => crate::row::reward(self.scale, value, is_loss).map(drop),
        };
        why.map(|()| Some(Given::of(value, is_loss))).map_err(JoinError::Default)
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
