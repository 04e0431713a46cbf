//! The laws of a base, held against a Python object.

use corral_core::contract::{OnRange, Subject, check_all};
use corral_core::{BaseError, Context, ContextShape, Decision, Setup, Space};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::base::{BandInfo, PyBase, Raised, loads};
use crate::convert;
use crate::errors::{Answer, Error};
use crate::exit;

/// Runs every law of the contract kit on a base: each law, and how the base breaks it (None: it holds). The base itself is
/// not touched: copies are made by pickle. points: the set that it plays in, as for a band, instead of actions.
#[pyfunction]
#[pyo3(signature = (base, *, actions = 3, points = None, features = 0, row_features = 0, rounds = 2_000, seed = 1))]
pub fn laws(
    base: &Bound<'_, PyAny>,
    actions: usize,
    points: Option<&Bound<'_, PyDict>>,
    features: usize,
    row_features: usize,
    rounds: u64,
    seed: u64,
) -> Answer<Vec<(&'static str, Option<String>)>> {
    let (py, raised) = (base.py(), Raised::default());
    let place =
        || BandInfo { names: std::sync::Arc::new([]), rows: row_features > 0, raised: raised.clone() };
    let space = match points {
        Some(_) => convert::space(None, None, points)?.0,
        None => Space::Arms(actions),
    };
    let context = ContextShape { features, row_features, cells: None };
    let setup = Setup { context, ..Setup::new(space, Some(rounds)) };
    let first = PyBase::new(base, place())?.join(&setup.space, &setup.context)?;
    let (widens, wants_passes) = first.wants();
    let pickle = first.first();
    if pickle.is_empty() {
        return Err(Error::Type(
            "the base cannot be pickled, so it cannot be copied, saved or started over".into(),
        ));
    }
    let fresh = || {
        let built = exit::attach(|py| PyBase::new(&loads(py, &pickle)?, place()));
        built.map_err(|error| BaseError::Failed(PyErr::from(error).to_string()))
    };
    let name = base.get_type().name()?.to_string();
    let range = if widens { OnRange::Retune } else { OnRange::Keep };
    let found = match setup.space {
        Space::Arms(_) => {
            held(Subject::arms(name, &setup, || Ok(Box::new(fresh()?))), rounds, seed, range, wants_passes)
        }
        Space::Points(_) => {
            held(Subject::points(name, &setup, || Ok(Box::new(fresh()?))), rounds, seed, range, wants_passes)
        }
    };
    py.check_signals()?;
    raised.callers()?;
    Ok(found)
}

fn held<D: Decision>(
    subject: Subject<'_, Context, D>,
    rounds: u64,
    seed: u64,
    range: OnRange,
    wants_passes: bool,
) -> Vec<(&'static str, Option<String>)> {
    let subject = subject.rounds(rounds).seed(seed).on_range(range);
    let subject = if wants_passes { subject.counts_rounds() } else { subject };
    check_all(&subject).into_iter().map(|(law, verdict)| (law, verdict.err().map(|v| v.text))).collect()
}
