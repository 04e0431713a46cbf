//! What is played, as Python names it.

use std::sync::Arc;

use corral_lab::saved::Flying;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde::{Deserialize, Serialize};

/// What is played: an action by its name where the caller gave names, else by its number; or a point.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum Label {
    /// From 0.
    Number(usize),
    /// As the caller named it.
    Name(Arc<str>),
    /// Its coordinates.
    Point(Box<[f64]>),
}

impl From<&Flying> for Label {
    /// What Python plays: a point, or the number of an action.
    fn from(made: &Flying) -> Self {
        match made {
            Flying::Arm(t) => Self::Number(t.decision.index()),
            Flying::Point(t) => Self::Point(t.decision.coordinates().into()),
        }
    }
}

impl Label {
    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Number(number) => Ok(number.into_pyobject(py)?.into_any()),
            Self::Name(name) => Ok(PyString::new(py, name).into_any()),
            Self::Point(point) => Ok(PyArray1::from_slice(py, point).into_any()),
        }
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "'{name}'"),
            Self::Point(point) => write!(f, "{point:?}"),
        }
    }
}
