//! What the lock of a band guards, and who is benched in it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyString;
use rand_pcg::Pcg64Dxsm;

use crate::base::Raised;
use crate::errors::{Answer, BenchedWarning};
use crate::members::Members;
use crate::plan::Plan;
use crate::shelf::Shelf;

/// What the lock guards.
pub struct Inner {
    pub members: Members,
    pub rng: Pcg64Dxsm,
    pub plan: Plan,
    pub names: Vec<Arc<str>>,
    pub raised: Vec<Raised>,
    pub shelf: Shelf,
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

    /// See [`callers`].
    pub fn callers(&self) -> Answer<()> {
        callers(&self.raised)
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
