//! A log as columns.

use std::path::PathBuf;

use corral_lab::valuation::{self, Request};
use corral_log::{Header, Row, Wants};
use numpy::ndarray::Array2;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{Answer, Error};
use crate::exit;

/// The columns that grow with the rows.
#[derive(Default)]
struct Columns {
    ids: Vec<Option<String>>,
    /// By the names that the log had at the row: files of several bands may have several.
    actions: Vec<String>,
    numbered: bool,
    offered: Vec<i64>,
    propensities: Vec<f64>,
    rewards: Vec<f64>,
    forced: Vec<bool>,
    exact: Vec<bool>,
    pbar: Vec<Vec<f64>>,
    q: Vec<Vec<f64>>,
    features: Vec<Vec<f64>>,
}

impl Columns {
    fn push(&mut self, row: &Row, header: &Header) {
        let units = |part: f64| header.scale.map_or(part, |s| s.low + part * (s.high - s.low));
        self.ids.push(row.id.map(|id| id.to_string()));
        self.actions.push(header.action(row.action));
        self.numbered |= header.actions.is_empty();
        self.offered.push(row.offered.len() as i64);
        self.propensities.push(row.propensity.unwrap_or(f64::NAN));
        self.rewards.push(row.reward.map_or(f64::NAN, units));
        self.forced.push(row.forced);
        self.exact.push(row.exact);
        self.pbar.push(row.pbar.clone());
        self.q.push(row.q.clone());
        self.features.push(row.context.as_ref().map(|x| x.features().to_vec()).unwrap_or_default());
    }

    fn table<'py>(self, py: Python<'py>, header: &Header) -> Answer<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let texts = |all: Vec<Option<String>>| py.import("numpy")?.call_method1("array", (all, "object"));
        dict.set_item("id", texts(self.ids)?)?;
        // Where all are numbers they are.
        let numbers: Result<Vec<i64>, _> = self.actions.iter().map(|action| action.parse()).collect();
        match numbers.ok().filter(|_| self.numbered || self.actions.is_empty() && header.actions.is_empty()) {
            Some(numbers) => dict.set_item("action", PyArray1::from_vec(py, numbers))?,
            None => dict.set_item("action", texts(self.actions.into_iter().map(Some).collect())?)?,
        }
        dict.set_item("offered", PyArray1::from_vec(py, self.offered))?;
        dict.set_item("propensity", PyArray1::from_vec(py, self.propensities))?;
        dict.set_item("reward", PyArray1::from_vec(py, self.rewards))?;
        dict.set_item("forced", PyArray1::from_vec(py, self.forced))?;
        dict.set_item("exact", PyArray1::from_vec(py, self.exact))?;
        for (name, lists) in [("pbar", self.pbar), ("q", self.q), ("features", self.features)] {
            if let Some(column) = matrix(py, &lists)? {
                dict.set_item(name, column)?;
            }
        }
        dict.set_item("bases", PyList::new(py, &header.bases)?)?;
        Ok(dict)
    }
}

/// Lists of one length, or empty, as an array of two dimensions with NaN for what is empty; others as a list of arrays. `None`
/// where all are empty.
fn matrix<'py>(py: Python<'py>, lists: &[Vec<f64>]) -> Answer<Option<Bound<'py, PyAny>>> {
    let Some(width) = lists.iter().map(Vec::len).max().filter(|width| *width > 0) else { return Ok(None) };
    if lists.iter().any(|list| ![0, width].contains(&list.len())) {
        let each = lists.iter().map(|list| PyArray1::from_slice(py, list));
        return Ok(Some(PyList::new(py, each.collect::<Vec<_>>())?.into_any()));
    }
    let mut whole = Array2::from_elem((lists.len(), width), f64::NAN);
    for (mut row, list) in whole.rows_mut().into_iter().zip(lists).filter(|(_, list)| !list.is_empty()) {
        row.iter_mut().zip(list).for_each(|(cell, value)| *cell = *value);
    }
    Ok(Some(whole.to_pyarray(py).into_any()))
}

/// See `corral.log.read`.
#[pyfunction]
#[pyo3(signature = (path, *, strict = false))]
pub fn read_log(py: Python<'_>, path: PathBuf, strict: bool) -> Answer<Bound<'_, PyDict>> {
    std::fs::metadata(&path).map_err(Error::file(&path))?;
    let read = || -> Result<_, String> {
        let wants = Wants { pbar: true, q: true, context: true, ..Wants::default() };
        let request = Request { strict, ..Request::default() };
        let mut source = valuation::open(&path, &request, wants).map_err(|e| e.to_string())?;
        let (mut row, mut columns) = (Row::default(), Columns::default());
        while source.next(&mut row).map_err(|e| valuation::chain(&e))? {
            columns.push(&row, source.header());
        }
        Ok((columns, source.header().clone(), valuation::source_notes(&*source)))
    };
    let (columns, header, notes) =
        exit::detach(py, read).map_err(|why| Error::value(why).of(path.display()))?;
    for note in notes {
        crate::errors::warn(py, format!("{}: {note}", path.display()))?;
    }
    columns.table(py, &header)
}
