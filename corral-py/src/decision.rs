//! A decision in flight, as Python holds it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_core::{Context, EnsembleError, TicketId, snapshot};
use corral_lab::saved::Flying;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};

use crate::errors::{Answer, Error};
use crate::label::Label;

const NAME: &str = "corral decision";
const VERSION: u16 = 3;

/// What a band chose, and where its reward must go. `band.learn` takes it or its token, now or later, here or in another
/// process that loaded the band; each is learned once.
///
/// Examples
/// --------
/// >>> import corral
/// >>> band = corral.Band(["ucb1", "exp3"], actions=["left", "right"], seed=1)
/// >>> d = band.choose()
/// >>> d.action in ("left", "right"), d.base in ("ucb1", "exp3"), 0 < d.propensity <= 1
/// (True, True, True)
/// >>> token = d.token                    # text, for a page, a queue or a database
/// >>> band.learn(token, reward=1)
#[pyclass(frozen, generic, module = "corral")]
#[derive(Serialize, Deserialize)]
pub struct Decision {
    pub id: TicketId,
    action: Label,
    base: Arc<str>,
    /// The probability with which that base was followed.
    #[pyo3(get, name = "base_probability")]
    probability: f64,
    /// The probability with which the action was chosen, over all bases; None where a base cannot say its own.
    #[pyo3(get)]
    propensity: Option<f64>,
    flight: Mutex<Flight>,
}

/// What the band wants back.
#[derive(Serialize, Deserialize)]
pub struct Flight {
    /// What was known when the decision was made.
    pub context: Context,
    /// None: it was learned.
    pub ticket: Option<Flying>,
}

impl Decision {
    pub fn new(ticket: Flying, context: Context, action: Label, base: Arc<str>) -> Self {
        let (id, probability, propensity) = (ticket.id(), ticket.probability(), ticket.propensity());
        let flight = Mutex::new(Flight { context, ticket: Some(ticket) });
        Self { id, action, base, probability, propensity, flight }
    }

    /// Lets `settle` have the ticket, which it keeps or gives back with its error.
    pub fn settle<T>(
        &self,
        py: Python<'_>,
        settle: impl FnOnce(&Context, Flying) -> Result<T, Box<(Flying, EnsembleError)>>,
    ) -> Answer<T> {
        let taken = {
            let mut flight = self.enter(py);
            flight.ticket.take().map(|ticket| (std::mem::take(&mut flight.context), ticket))
        };
        let Some((context, ticket)) = taken else { return Err(self.learned()) };
        // Bases run here: nothing of the decision is locked meanwhile.
        let settled = settle(&context, ticket);
        let mut flight = self.enter(py);
        flight.context = context;
        settled.map_err(|refused| {
            let (ticket, error) = *refused;
            flight.ticket = Some(ticket);
            error.into()
        })
    }

    /// Whether `check` takes it: it was not learned, and what `check` says.
    pub fn look(
        &self,
        py: Python<'_>,
        check: impl FnOnce(&Context, &Flying) -> Result<(), EnsembleError>,
    ) -> Answer<()> {
        let flight = self.enter(py);
        let ticket = flight.ticket.as_ref().ok_or_else(|| self.learned())?;
        Ok(check(&flight.context, ticket)?)
    }

    fn enter(&self, py: Python<'_>) -> MutexGuard<'_, Flight> {
        self.flight.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything, for a file.
    pub fn bytes(&self) -> Vec<u8> {
        snapshot::seal(NAME, VERSION, self)
    }

    /// Reads it back.
    pub fn read(bytes: &[u8]) -> Answer<Self> {
        snapshot::open(NAME, VERSION, bytes).map_err(|e| Error::value(e).of("a pickled decision"))
    }

    pub fn learned(&self) -> Error {
        Error::value(format!("the decision of round {} was learned already", self.id.round))
    }
}

#[pymethods]
impl Decision {
    /// The action to play: its name, or its number where the band was built with a number of actions; or the point.
    #[getter]
    fn action<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.action.to_python(py)
    }

    /// What tells it from every other decision: band, copy and round.
    #[getter]
    fn id(&self) -> String {
        self.id.to_string()
    }

    /// The decision as one line of text that is safe in JSON and in a URL: `learn` of this band, or of one that was loaded
    /// from it, takes it. It is sealed: one that was changed or made up is refused.
    #[getter]
    fn token(&self, py: Python<'_>) -> Answer<String> {
        let flight = self.enter(py);
        let ticket = flight.ticket.as_ref().ok_or_else(|| self.learned())?;
        ticket.token(&flight.context).map_err(Error::value)
    }

    /// The name of the base that proposed it.
    #[getter]
    fn base(&self) -> &str {
        &self.base
    }

    /// The round of the band in which it was made, from 0.
    #[getter]
    fn round(&self) -> u64 {
        self.id.round
    }

    /// Whether its reward was learned.
    #[getter(learned)]
    fn was_learned(&self, py: Python<'_>) -> bool {
        self.enter(py).ticket.is_none()
    }

    /// Decisions are equal where their ids are, and what they say.
    fn __eq__(&self, other: &Self) -> bool {
        let said = |d: &Self| (d.id, d.probability.to_bits(), d.propensity.map(f64::to_bits));
        said(self) == said(other) && self.action == other.action && self.base == other.base
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.id.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let Self { id, action, base, propensity, .. } = self;
        let propensity = propensity.map_or("None".to_owned(), |p| format!("{p:.4}"));
        format!("<Decision {id}: action {action} by {base}, propensity {propensity}>")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = PyBytes::new(slf.py(), &slf.get().bytes());
        Ok((slf.get_type().getattr("_from_bytes")?, (bytes,)))
    }

    #[staticmethod]
    fn _from_bytes(bytes: &[u8]) -> Answer<Self> {
        Self::read(bytes)
    }
}
