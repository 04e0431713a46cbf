//! A log of a band that is played again: from a file that `Band.save` wrote, to the same bits.

use std::collections::HashMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use corral_core::{Context, Feedback, Propensities, Scale, TicketId};
use corral_log::{Change, Decision, Given, Member, Reader, Record};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::band::{add, from_bytes, kept};
use crate::convert;
use crate::errors::{Answer, Error};
use crate::inner::Inner;
use crate::members::Flying;
use crate::shelf::Shelf;

/// Where a replay is.
#[derive(Default)]
struct Replay {
    lines: u64,
    /// Lines that the band had seen when it was saved.
    before: u64,
    decisions: u64,
    learned: u64,
    /// Decisions that wait for their outcomes.
    out: HashMap<TicketId, (Context, Flying)>,
}

/// See `corral.log.verify`.
#[pyfunction]
#[pyo3(signature = (path, start, *, end = None, plugins = None))]
pub fn verify_log(
    py: Python<'_>,
    path: PathBuf,
    start: PathBuf,
    end: Option<PathBuf>,
    plugins: Option<PathBuf>,
) -> Answer<Bound<'_, PyDict>> {
    let read = |path: &Path| std::fs::read(path).map_err(Error::file(path));
    let bytes = read(&start)?;
    let shelf = Shelf::open(py, plugins.as_deref())?;
    let level = level(&path)?;
    let band = from_bytes(py, &bytes, shelf, level).map_err(|e| e.of(start.display()))?;
    let log = BufReader::new(std::fs::File::open(&path).map_err(Error::file(&path))?);
    let mut reader = Reader::new(log).strict(true).checked(0);
    let mut replay = Replay::default();
    let same = band.watched(py, |inner| {
        while let Some(record) = reader.read().map_err(|e| Error::value(corral_lab::valuation::chain(&e)))? {
            replay.lines = reader.lines();
            let line = || format!("line {}", reader.lines());
            replay.line(py, inner, record).map_err(|e| e.of(line()))?;
        }
        let saved = end.as_deref().map(|end| kept(&read(end)?).map_err(|e| e.of(end.display())));
        Ok(saved.transpose()?.map(|(members, rng)| members == inner.members.save() && rng == inner.rng))
    });
    let same = same.map_err(|e| e.of(path.display()))?;
    let found = PyDict::new(py);
    found.set_item("lines", replay.lines)?;
    found.set_item("before", replay.before)?;
    found.set_item("decisions", replay.decisions)?;
    found.set_item("learned", replay.learned)?;
    found.set_item("same_state", same)?;
    Ok(found)
}

/// What the decisions of a log say of probabilities: the band must say as much.
fn level(path: &Path) -> Answer<Propensities> {
    let log = BufReader::new(std::fs::File::open(path).map_err(Error::file(path))?);
    let mut reader = Reader::new(log);
    while let Some(record) = reader.read().map_err(Error::value)? {
        if let Record::Decision(decision) | Record::Both(corral_log::Both { decision, .. }) = record {
            return Ok(if decision.full.is_empty() { Propensities::EveryBase } else { Propensities::Full });
        }
    }
    Ok(Propensities::EveryBase)
}

/// What a line says of a decision, to the last bit.
fn said(decision: &Decision) -> impl PartialEq + '_ {
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let Decision { id, action, offered, propensity, exact, forced, base, pbar, q, full, .. } = decision;
    let numbers = (propensity.map(f64::to_bits), bits(pbar), bits(q), bits(full));
    (*id, action.clone(), offered.clone(), (*exact, *forced, *base), numbers)
}

/// The loss of what a line says, as the band learned it.
fn loss(scale: Scale, given: &Given) -> Answer<Feedback> {
    let plain = given.weight.is_none_or(|weight| weight == 1.0);
    Error::unless(plain, "it was learned with a weight, which a band in Python does not do")?;
    let (value, scale) = match (given.reward, given.loss) {
        (Some(reward), _) => (reward, scale),
        (None, Some(loss)) => (loss, Scale { rewards: false, ..scale }),
        (None, None) => return Err(Error::value("an outcome without a number")),
    };
    Ok(Feedback::plain(scale.loss(value).map_err(Error::value)?.0))
}

impl Replay {
    fn line(&mut self, py: Python<'_>, inner: &mut Inner, record: Record) -> Answer<()> {
        match record {
            Record::Start(start) => {
                let own = inner.members.id();
                Error::unless(start.band == own, "it begins the log of another band than was saved")?;
            }
            Record::Decision(decision) => self.decide(inner, &decision)?,
            Record::Both(both) => {
                let known = self.before;
                self.decide(inner, &both.decision)?;
                if self.before == known {
                    self.learn(inner, both.decision.id, loss(inner.plan.rewards, &both.given)?)?;
                }
            }
            Record::Outcome(outcome) => {
                self.learn(inner, outcome.id, loss(inner.plan.rewards, &outcome.given)?)?;
            }
            Record::Expire(expire) => self.learn(inner, expire.id, Feedback::unseen())?,
            Record::Member(member) => change(py, inner, member)?,
        }
        inner.callers()
    }

    /// The band must decide as the line says.
    fn decide(&mut self, inner: &mut Inner, decision: &Decision) -> Answer<()> {
        let (id, next) = (decision.id, inner.members.next_id());
        if id.round < next.round {
            self.before += 1;
            return Ok(());
        }
        let Some(x) = &decision.context else { return Err(Error::value("a decision without its context")) };
        // Every process that goes on with a band is a copy of its own.
        inner.members.set_copy(id.copy);
        let pbar = inner.members.probabilities().to_vec();
        let made = inner.members.choose(x, &mut inner.rng)?;
        if said(&made.record(&pbar, x)) != said(decision) {
            return Err(Error::value(format!("decision {id} does not come out as it is written")));
        }
        self.decisions += 1;
        self.out.insert(id, (x.clone(), made));
        Ok(())
    }

    fn learn(&mut self, inner: &mut Inner, id: TicketId, heard: Feedback) -> Answer<()> {
        let Some((x, made)) = self.out.remove(&id) else {
            Error::unless(
                inner.members.has_learned(id),
                format_args!(
                    "the outcome of decision {id}, which this log does not have or which was out when the band was saved"
                ),
            )?;
            self.before += 1;
            return Ok(());
        };
        inner.members.learn(&x, made, heard).map_err(|refused| Error::from(refused.1))?;
        self.learned += 1;
        Ok(())
    }
}

fn change(py: Python<'_>, inner: &mut Inner, member: Member) -> Answer<()> {
    let (base, share) = (member.base as usize, member.share.unwrap_or(0.0));
    match member.change {
        // It was there when the band was saved.
        Change::Add if base < inner.names.len() => Ok(()),
        Change::Add => {
            let why = format!("{} is a Python object, which a log does not hold", member.name);
            let spec = member.params.ok_or_else(|| Error::value(why))?;
            let given = convert::plain(py, &spec)?;
            add(inner, &given, share, Some(member.name)).map(|_| ())
        }
        Change::Retire if inner.members.benched().iter().any(|b| b.base == base) => Ok(()),
        Change::Retire => Ok(inner.members.retire(base)?),
        Change::Reinstate => Ok(inner.members.reinstate(base, share)?),
        Change::Replace => Err(Error::value("a base was replaced, which a band in Python does not do")),
    }
}
