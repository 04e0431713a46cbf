//! What the lock of a band guards, and who is benched in it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};

use corral_core::{Feedback, Quota};
use pyo3::prelude::*;
use pyo3::types::PyString;
use rand::TryRng;
use rand::rngs::SysRng;
use rand_pcg::Pcg64Dxsm;

use crate::base::Raised;
use crate::decision::Decision;
use crate::errors::{Answer, BenchedWarning, Error};
use crate::members::Members;
use crate::plan::Plan;
use crate::shelf::Shelf;

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
}

/// A thread that is inside a band.
pub struct Entered<'a> {
    pub inner: MutexGuard<'a, Inner>,
    pub inside: &'a AtomicUsize,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.inside.store(0, Ordering::Relaxed);
    }
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
            .map(|b| Benched {
                name: b.name.clone(),
                round: b.round,
                during: b.during.to_string(),
                reason: b.reason.clone(),
                exception: self
                    .raised
                    .get(b.base)
                    .and_then(|r| r.last(py))
                    .map(|e| e.into_value(py).into_any()),
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

    /// What is learned of a loss that `client` says: nothing, where it said too much of late.
    pub fn heard(&self, client: Option<&str>, loss: f64) -> Answer<Feedback> {
        match (&self.quota, client) {
            (None, None) => Ok(Feedback::plain(loss)),
            (Some(quota), Some(client)) if quota.allows(client) => Ok(Feedback::plain(loss)),
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

    /// See [`callers`].
    pub fn callers(&self) -> Answer<()> {
        callers(&self.raised)
    }

    /// A decision, or what a token says of one.
    pub fn given<'py>(&self, given: &Bound<'py, PyAny>) -> Answer<Bound<'py, Decision>> {
        let Ok(token) = given.cast::<PyString>() else { return Ok(given.cast::<Decision>()?.clone()) };
        let (context, ticket) = self.members.flying(token.to_str()?).map_err(Error::value)?;
        let (played, base) = (ticket.played(), self.names.get(ticket.base()).cloned().unwrap_or_default());
        Ok(Bound::new(given.py(), Decision::new(ticket, context, played, base))?)
    }

    pub fn find(&self, base: &Bound<'_, PyAny>) -> Answer<usize> {
        if let Ok(name) = base.cast::<PyString>() {
            let (name, names) = (name.to_str()?, &self.names);
            let unknown =
                || corral_core::registry::Unknown::new("base of this band", name, names.iter().map(|n| &**n));
            return Ok(names.iter().position(|n| **n == *name).ok_or_else(unknown)?);
        }
        Ok(base.extract()?)
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
