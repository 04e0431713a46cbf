//! Arguments whose errors name them: Python's own would say `OverflowError` of a negative seed, and take no list for a pair.

use corral_core::Propensities;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{Answer, Error};

macro_rules! naturals {
    ($($(#[$doc:meta])* $name:ident $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name(pub u64);

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                natural($word, &given).map(Self)
            }
        }
    )*};
}

naturals! {
    /// What runs are drawn by.
    Seed "seed";
    /// How many features a round has.
    Features "features";
    /// How many features an action has.
    RowFeatures "row_features";
    /// How many rounds there will be.
    Horizon "horizon";
    /// How many rounds are played.
    Rounds "rounds";
    /// The number of a copy.
    CopyNumber "copy";
    /// How many decisions may wait.
    Waiting "pending";
    /// How many decisions are made.
    Count "count";
    /// How many actions there may be.
    MaxActions "max_actions";
    /// How many cells run at once.
    Jobs "jobs";
    /// Which cell of a spec.
    Cell "cell";
}

/// A whole number from 0, of the thing called `word`.
pub fn natural(word: &str, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    let whole = given.call_method0("__index__").map_err(|_| {
        let kind = given.get_type().name().map_or_else(|_| "another type".into(), |name| name.to_string());
        Error::Type(format!("{word} must be a whole number, but is {kind}"))
    })?;
    let fits = || Error::value(format!("{word} must be a whole number from 0 to 2^64 - 1, but is {whole}"));
    Ok(whole.extract().map_err(|_| fits())?)
}

macro_rules! reals {
    ($($(#[$doc:meta])* $name:ident $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name(pub f64);

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                real(&given).map(Self).map_err(|error| error.of($word).into())
            }
        }
    )*};
}

reals! {
    /// What a decision earned.
    Reward "reward";
    /// What it lost.
    Loss "loss";
    /// What it cost in money.
    Cost "cost";
    /// How long a decision has waited.
    Seconds "seconds";
    /// With what probability a base is followed at first.
    Share "share";
}

/// A number; a whole one that no double holds is an error of its value, where Python says `OverflowError`.
pub fn real(given: &Bound<'_, PyAny>) -> Answer<f64> {
    given.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(given.py()) {
            Error::value("a whole number of more than 308 digits, which no double holds")
        } else {
            error.into()
        }
    })
}

macro_rules! pairs {
    ($($(#[$doc:meta])* $name:ident $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name(pub f64, pub f64);

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                let (low, high) = pair(&given).ok_or_else(|| Error::Type(format!("{}: two numbers are needed", $word)))?;
                Ok(Self(low, high))
            }
        }
    )*};
}

pairs! {
    /// The most rewards of a client, and the window.
    Limits "quota";
}

pub fn pair(given: &Bound<'_, PyAny>) -> Option<(f64, f64)> {
    match given.extract::<Vec<f64>>().ok()?.as_slice() {
        [low, high] => Some((*low, *high)),
        _ => None,
    }
}

/// A range of features, as Python says it.
pub enum Ranged {
    Word(String),
    Pairs(Vec<(f64, f64)>),
}

impl Default for Ranged {
    fn default() -> Self {
        Self::Word("learned".into())
    }
}

impl<'py> FromPyObject<'_, 'py> for Ranged {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(word) = given.cast::<PyString>() {
            return Ok(Self::Word(word.to_str()?.to_owned()));
        }
        let pairs = || given.try_iter().ok()?.map(|each| pair(&each.ok()?)).collect();
        let found = pair(&given).map(|pair| vec![pair]).or_else(pairs).map(Self::Pairs);
        let need =
            "feature_range: \"learned\", a pair (low, high), a pair for each feature, or None is needed";
        Ok(found.ok_or_else(|| Error::Type(need.into()))?)
    }
}

/// What decisions know of probabilities: nothing, that of their action, or "full".
#[derive(Clone, Copy)]
pub struct Wanted(pub Propensities);

impl Default for Wanted {
    fn default() -> Self {
        Self(Propensities::Decision)
    }
}

impl<'py> FromPyObject<'_, 'py> for Wanted {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = given.cast::<PyString>() {
            return match text.to_str()? {
                "full" => Ok(Self(Propensities::Full)),
                other => {
                    let why = format!("propensities must be True, False or \"full\", but is {other:?}");
                    Err(Error::value(why).into())
                }
            };
        }
        Ok(Self(if given.extract()? { Propensities::Decision } else { Propensities::None }))
    }
}
