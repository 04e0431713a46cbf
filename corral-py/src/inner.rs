//! What the lock of a band guards, and who is benched in it.

use std::sync::{Arc, MutexGuard};

use corral_core::{Context, Duty, Feedback, Quota, Scale};
use corral_lab::saved::{Flying, Members, Plan};
use corral_log::{Change, Member, WATCH_ERROR, Watch, Watched, parse_id};
use pyo3::prelude::*;
use pyo3::types::PyString;
use rand::TryRng;
use rand::rngs::SysRng;
use rand_pcg::Pcg64Dxsm;

use crate::args::natural;
use crate::base::{Raised, describe};
use crate::decision::Decision;
use crate::errors::{Answer, BenchedWarning, Error};
use crate::history::History;
use crate::label::Label;
use crate::log::Log;
use crate::shelf::Shelf;
use crate::turn::Held;
use crate::waiting::Waiting;

/// What the lock guards.
pub struct Inner {
    pub members: Members,
    /// The process in which the copy number of the band was drawn.
    pub process: u32,
    pub rng: Pcg64Dxsm,
    pub plan: Plan,
    pub names: Vec<Arc<str>>,
    pub raised: Vec<Raised>,
    pub shelf: Shelf,
    /// How much one client may say.
    pub quota: Option<Quota>,
    /// The decisions that wait for their rewards, where the band keeps them.
    pub waiting: Option<Waiting>,
    /// Where decisions and rewards are written, where they are.
    pub log: Option<Log>,
    pub history: History,
    /// Follows the values of the bases, where that is asked for.
    pub watch: Option<Watch>,
}

/// A thread that is inside a band. What the lock guards is let go before the turn ends.
pub struct Entered<'a> {
    pub inner: MutexGuard<'a, Inner>,
    pub turn: Held<'a>,
}

/// A base that plays no more, and why.
#[pyclass(frozen, get_all, module = "corral")]
pub struct Benched {
    /// What the band calls it.
    name: String,
    /// The round in which it failed.
    round: u64,
    /// What it was asked to do: "propose", "learn", "likelihood", "apply_order"; "retired" where the caller took it out.
    during: String,
    /// What went wrong, in a line.
    reason: String,
    /// What a Python base raised, with its traceback.
    pub exception: Option<Py<PyAny>>,
}

#[pymethods]
impl Benched {
    fn __repr__(&self) -> String {
        format!("<Benched {} in round {}, {}: {}>", self.name, self.round, self.during, self.reason)
    }
}

impl Inner {
    /// The bases that were benched since there were `before`.
    pub fn benched(&self, py: Python<'_>, before: usize) -> Vec<Benched> {
        let list = self.members.benched().get(before..).unwrap_or_default();
        list.iter()
            .map(|b| {
                let raised = self.raised.get(b.base).and_then(|r| r.last(py));
                // A likelihood has no error of its own: what failed is NaN to the band.
                let unsaid = raised.as_ref().filter(|_| b.during == Duty::Likelihood);
                Benched {
                    name: b.name.clone(),
                    round: b.round,
                    during: b.during.to_string(),
                    reason: unsaid.map_or_else(|| b.reason.clone(), |error| describe(py, error)),
                    exception: raised.map(|e| e.into_value(py).into_any()),
                }
            })
            .collect()
    }

    /// A process that was forked from another is a copy of its own: both would hand out the same ids.
    pub fn part_from_parent(&mut self) -> Answer<()> {
        let process = std::process::id();
        if process != self.process {
            self.members.set_copy(SysRng.try_next_u64().map_err(Error::value)?);
            self.process = process;
        }
        Ok(())
    }

    /// What is learned of a loss that `client` says: nothing, where it said too much of late, or none.
    pub fn heard(&self, client: Option<&str>, loss: Option<f64>) -> Answer<Feedback> {
        let said = || loss.map_or(Feedback::unseen(), Feedback::plain);
        match (&self.quota, client) {
            (None, None) => Ok(said()),
            (Some(quota), Some(client)) if quota.allows(client) => Ok(said()),
            (Some(_), Some(_)) => Ok(Feedback::unseen()),
            (Some(_), None) => {
                Err(Error::Type("the band has a quota: say whose reward it is, client=".into()))
            }
            (None, Some(_)) => Err(Error::Type("client: the band has no quota".into())),
        }
    }

    /// Counts a loss that was learned, or was not for the quota of its client.
    pub fn count(&mut self, client: Option<&str>) {
        if let (Some(quota), Some(client)) = (&mut self.quota, client) {
            quota.admit(client);
        }
    }

    /// Chooses for `x`, and writes it down.
    pub fn choose(&mut self, py: Python<'_>, x: &Context) -> Answer<Flying> {
        let pbar = self.log.is_some().then(|| self.members.probabilities().to_vec());
        let made = self.members.choose(x, &mut self.rng);
        self.callers()?;
        let ticket = made.map_err(|error| {
            let cause = self.benched(py, 0).pop().and_then(|b| b.exception);
            let error = PyErr::from(Error::from(error));
            error.set_cause(py, cause.map(|c| PyErr::from_value(c.into_bound(py))));
            Error::from(error)
        })?;
        self.history.note(self.members.rounds(), self.members.probabilities());
        if let (Some(log), Some(pbar)) = (&mut self.log, pbar) {
            log.decision(&ticket, &pbar, x)?;
        }
        Ok(ticket)
    }

    /// Learns what is heard of a decision, and writes it down.
    pub fn learn(&mut self, py: Python<'_>, decision: &Decision, heard: Feedback) -> Answer<()> {
        let gone = self.waiting.as_ref().is_some_and(|waiting| waiting.has_expired(decision.id));
        Error::unless(!gone, format_args!("the decision {} has expired", decision.id))?;
        self.settle(py, decision, heard)?;
        if let Some(waiting) = &mut self.waiting {
            waiting.settle(decision.id);
        }
        self.history.note(self.members.rounds(), self.members.probabilities());
        if let Some(log) = &mut self.log {
            log.outcome(decision.id, heard.observed(), self.plan.rewards)?;
        }
        self.callers()
    }

    /// Teaches the members what is heard of a decision, and shows it to whoever follows their values.
    pub fn settle(&mut self, py: Python<'_>, decision: &Decision, heard: Feedback) -> Answer<()> {
        let (members, watch) = (&mut self.members, &mut self.watch);
        decision.settle(py, |x, ticket| {
            if let (Some(watch), Some(loss)) = (watch, heard.observed())
                && members.check(x, &ticket, heard).is_ok()
            {
                ticket.watched(watch, 1.0 - loss);
            }
            members.learn(x, ticket, heard)
        })
    }

    /// The values of the bases as text, where they are followed.
    pub fn values_text(&self) -> Option<String> {
        let names: Vec<String> = self.names.iter().map(|name| name.to_string()).collect();
        self.values().map(|values| values.text(&names))
    }

    /// What is known of the values of the bases, in the units of the rewards.
    pub fn values(&self) -> Option<Watched> {
        let Scale { low, high, .. } = self.plan.rewards;
        self.watch.as_ref().map(|watch| watch.now(WATCH_ERROR).scaled(low, high))
    }

    /// Writes down that a base came or went.
    pub fn came_or_went(&mut self, change: Change, base: usize, share: Option<f64>) -> Answer<()> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let params = if change == Change::Add { self.plan.members[base].params()? } else { None };
        let (name, base) = (self.names[base].to_string(), u32::try_from(base).map_err(Error::value)?);
        log.member(Member { change, base, name, share, params })
    }

    /// See [`callers`].
    pub fn callers(&self) -> Answer<()> {
        callers(&self.raised)
    }

    /// A decision, or what a token says of one, or the one that waits under an id.
    pub fn given<'py>(&self, given: &Bound<'py, PyAny>) -> Answer<Bound<'py, Decision>> {
        let Ok(text) = given.cast::<PyString>() else { return Ok(given.cast::<Decision>()?.clone()) };
        if let Some(id) = parse_id(text.to_str()?) {
            let keeps = "this is the id of a decision, and the band keeps none: build it with pending=, or give the decision or \
                         its token";
            return self.waiting.as_ref().ok_or_else(|| Error::value(keeps))?.find(given.py(), id);
        }
        let (context, ticket) = self.members.flying(text.to_str()?).map_err(Error::value)?;
        let (played, base) =
            (Label::from(&ticket), self.names.get(ticket.base()).cloned().unwrap_or_default());
        Ok(Bound::new(given.py(), Decision::new(ticket, context, played, base))?)
    }

    pub fn find(&self, base: &Bound<'_, PyAny>) -> Answer<usize> {
        if let Ok(name) = base.cast::<PyString>() {
            let (name, names) = (name.to_str()?, &self.names);
            let unknown =
                || corral_core::registry::Unknown::new("base of this band", name, names.iter().map(|n| &**n));
            return Ok(names.iter().position(|n| **n == *name).ok_or_else(unknown)?);
        }
        let number = natural("a base, by name or number,", base)?;
        Ok(usize::try_from(number).unwrap_or(usize::MAX))
    }
}

/// Passes on what is the caller's and came up inside a base of the band.
pub fn callers(raised: &[Raised]) -> Answer<()> {
    raised.first().map_or(Ok(()), Raised::callers)
}

/// Warns of bases that were benched; raises where warnings are errors.
pub fn warn(py: Python<'_>, benched: Vec<Benched>) -> Answer<()> {
    for b in benched {
        let text = format!(
            "base {} was benched in round {} while it was asked to {}: {}; the band goes on over the others",
            b.name, b.round, b.during, b.reason
        );
        let warning = py.get_type::<BenchedWarning>().call1((text,))?;
        if let Some(cause) = &b.exception {
            warning.setattr("__cause__", cause)?;
        }
        py.import("warnings")?.call_method1("warn", (warning,))?;
    }
    Ok(())
}
