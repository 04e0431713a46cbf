//! The laws of a base, held against a Python object.

use corral_core::contract::{OnRange, Subject, check_all};
use corral_core::{BaseError, ContextShape, Setup};
use pyo3::prelude::*;

use crate::base::{Place, PyBase, Raised, loads};
use crate::errors::{Answer, Error};

/// Runs every law of the contract kit on a base: each law, and how the base breaks it (None: it holds). The base itself is
/// not touched: copies are made by pickle.
#[pyfunction]
#[pyo3(signature = (base, *, actions = 3, features = 0, row_features = 0, rounds = 2_000, seed = 1))]
pub fn laws(
    base: &Bound<'_, PyAny>,
    actions: usize,
    features: usize,
    row_features: usize,
    rounds: u64,
    seed: u64,
) -> Answer<Vec<(&'static str, Option<String>)>> {
    let (py, raised) = (base.py(), Raised::default());
    let place = || Place { names: std::sync::Arc::new([]), raised: raised.clone() };
    let first = PyBase::new(base, place())?;
    let (widens, heeds) = first.heeds();
    let pickle = first.first();
    if pickle.is_empty() {
        return Err(Error::Type(
            "the base cannot be pickled, so it cannot be copied, saved or started over".into(),
        ));
    }
    let context = ContextShape { features, row_features, cells: None };
    let setup = Setup { context, ..Setup::arms(actions, Some(rounds)) };
    let fresh = || {
        let built = Python::attach(|py| PyBase::new(&loads(py, &pickle)?, place()));
        match built {
            Ok(base) => Ok(Box::new(base) as Box<_>),
            Err(error) => Err(BaseError::Failed(PyErr::from(error).to_string())),
        }
    };
    let name = base.get_type().name()?.to_string();
    let mut subject = Subject::arms(name, &setup, fresh).rounds(rounds).seed(seed);
    subject = subject.on_range(if widens { OnRange::Retune } else { OnRange::Keep });
    if heeds {
        subject = subject.counts_rounds();
    }
    let found = check_all(&subject);
    py.check_signals()?;
    raised.callers()?;
    Ok(found.into_iter().map(|(law, verdict)| (law, verdict.err().map(|v| v.text))).collect())
}
