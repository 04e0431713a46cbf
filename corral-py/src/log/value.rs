//! Policies valued from a log.

use std::path::PathBuf;

use corral_lab::report::valuation as page;
use corral_lab::valuation::{self, Request};
use corral_log::{Estimator, Header, Motion, Offered, Options, Report, Row, Target, Validity, Value};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::base::view;
use crate::convert;
use crate::errors::{Answer, Error};
use crate::exit;

/// A function of Python as a policy: `policy(x, actions)` answers with an action, or with a probability for each.
struct Function {
    name: String,
    call: Py<PyAny>,
    actions: Vec<String>,
    /// Its answer in the row that was asked last.
    answer: Vec<f64>,
    /// What it raised first.
    raised: std::sync::Arc<std::sync::Mutex<Option<PyErr>>>,
}

impl Function {
    fn ask(&mut self, row: &Row) -> bool {
        self.answer.clear();
        let Ok(mut raised) = self.raised.lock() else { return false };
        if raised.is_some() {
            return false;
        }
        match exit::attach(|py| self.called(py, row)) {
            Ok(answer) => self.answer = answer,
            Err(error) => *raised = Some(error),
        }
        !self.answer.is_empty()
    }

    fn called(&self, py: Python<'_>, row: &Row) -> PyResult<Vec<f64>> {
        let x = row.context.as_ref().map_or(Ok(py.None().into_bound(py)), |x| view(py, x))?;
        let numbers: Vec<u32> = match &row.offered {
            Offered::First(n) => (0..*n).collect(),
            Offered::These(list) => list.clone(),
        };
        let named = !self.actions.is_empty();
        let name = |a: &u32| self.actions.get(*a as usize).cloned().unwrap_or_else(|| a.to_string());
        let names: Vec<String> = numbers.iter().map(name).collect();
        let offered = if named { PyList::new(py, &names)? } else { PyList::new(py, &numbers)? };
        let said = self.call.bind(py).call1((x, offered))?;
        let place = match said.cast::<PyString>() {
            Ok(own) => names.iter().position(|name| own.to_str().is_ok_and(|own| own == name)),
            Err(_) => said.extract::<u32>().ok().and_then(|own| numbers.iter().position(|a| *a == own)),
        };
        if let Some(place) = place {
            return Ok((0..numbers.len()).map(|at| if at == place { 1.0 } else { 0.0 }).collect());
        }
        let mut probabilities = Vec::new();
        let need = || {
            Error::value(format!(
                "{}: an action that was offered, or a probability for each of {}, is needed",
                self.name,
                names.len()
            ))
        };
        convert::append(&said, &mut probabilities).map_err(|_| need())?;
        let whole = (probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-6;
        let each = probabilities.iter().all(|p| (0.0..=1.0 + 1e-9).contains(p));
        if probabilities.len() != names.len() || !whole || !each {
            return Err(need().into());
        }
        Ok(probabilities)
    }
}

impl Target for Function {
    fn name(&self) -> &str {
        &self.name
    }

    /// What a function does may follow from what it has seen.
    fn motion(&self) -> Motion {
        Motion::Moves
    }

    fn meet(&mut self, header: &Header) -> Result<(), String> {
        self.actions.clone_from(&header.actions);
        Ok(())
    }

    fn probability(&mut self, row: &Row) -> Option<f64> {
        let place = row.offered.position(row.action)?;
        if self.ask(row) { self.answer.get(place).copied() } else { None }
    }

    /// It was asked for the probability of the action before.
    fn distribution(&mut self, row: &Row, into: &mut Vec<f64>) -> bool {
        let known = self.answer.len() == row.offered.len();
        if known {
            into.extend_from_slice(&self.answer);
        }
        known
    }
}

/// See `corral.evaluate`.
#[pyfunction]
#[pyo3(signature = (path, policies, *, estimators = None, alpha = 0.05, clip = 10.0, range = None, unit = None, strict = false, drift = false))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a function in Python")]
pub fn evaluate(
    py: Python<'_>,
    path: PathBuf,
    policies: Vec<Bound<'_, PyAny>>,
    estimators: Option<Vec<String>>,
    alpha: f64,
    clip: f64,
    range: Option<(f64, f64)>,
    unit: Option<String>,
    strict: bool,
    drift: bool,
) -> Answer<Valuation> {
    std::fs::metadata(&path).map_err(Error::file(&path))?;
    Error::unless(alpha > 0.0 && alpha < 1.0, format_args!("alpha must be in (0, 1), but is {alpha}"))?;
    Error::unless(clip > 0.0, format_args!("clip must be positive, but is {clip}"))?;
    let known = || Estimator::ALL.iter().map(|e| e.name());
    let find = |name: &String| {
        let unknown = || corral_core::registry::Unknown::new("estimator", name, known());
        Estimator::ALL.into_iter().find(|e| e.name() == name).ok_or_else(unknown)
    };
    let estimators = match &estimators {
        None => Estimator::ALL.to_vec(),
        Some(names) => names.iter().map(find).collect::<Result<_, _>>()?,
    };
    let raised = std::sync::Arc::default();
    let (mut names, mut functions): (Vec<String>, Vec<Box<dyn Target + Send>>) = Default::default();
    for policy in policies {
        if let Ok(name) = policy.cast::<PyString>() {
            names.push(name.to_str()?.to_owned());
            continue;
        }
        let kind = policy.get_type().name()?.to_string();
        if !policy.is_callable() {
            return Err(Error::Type(format!("a policy is a name or a function, but one is a {kind}")));
        }
        let name = policy.getattr_opt("__name__")?.map_or(Ok(kind), |name| name.extract())?;
        let (call, raised) = (policy.unbind(), std::sync::Arc::clone(&raised));
        functions.push(Box::new(Function { name, call, actions: Vec::new(), answer: Vec::new(), raised }));
    }
    let options =
        Options { estimators, alpha, clip, units: unit.is_some(), drift, looks: true, ..Options::default() };
    let request = Request { policies: names, range, unit, strict, options, ..Request::default() };
    let valued = exit::detach(py, || {
        let own = functions.into_iter().map(|f| f as Box<dyn Target>).collect();
        valuation::value_with(&path, &request, own)
    });
    if let Some(error) =
        raised.lock().ok().and_then(|mut raised: std::sync::MutexGuard<'_, Option<PyErr>>| raised.take())
    {
        return Err(error.into());
    }
    let title = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let report = valued.map_err(|why| Error::value(why).of(path.display()))?;
    Ok(Valuation { title, report })
}

/// What policies would have earned: see `corral.evaluate`.
#[pyclass(frozen, name = "Evaluation", module = "corral")]
pub struct Valuation {
    title: String,
    report: Report,
}

impl Valuation {
    fn columns<'py>(&self, py: Python<'py>, of: &[&Value]) -> Answer<Bound<'py, PyDict>> {
        let numpy = py.import("numpy")?;
        let texts = |own: &dyn Fn(&Value) -> String| {
            numpy.call_method1("array", (of.iter().map(|v| own(v)).collect::<Vec<_>>(), "str"))
        };
        let reals = |own: &dyn Fn(&Value) -> Option<f64>| {
            PyArray1::from_iter(py, of.iter().map(|v| own(v).unwrap_or(f64::NAN)))
        };
        let dict = PyDict::new(py);
        dict.set_item("policy", texts(&|v| v.policy.clone())?)?;
        dict.set_item("estimator", texts(&|v| v.estimator.name().to_owned())?)?;
        dict.set_item("value", reals(&|v| v.value))?;
        dict.set_item("low", reals(&|v| v.low))?;
        dict.set_item("high", reals(&|v| v.high))?;
        dict.set_item("kind", texts(&|v| self::kind(v.kind).to_owned())?)?;
        dict.set_item("assumes", texts(&|v| v.assumes.clone())?)?;
        Ok(dict)
    }
}

fn kind(kind: Validity) -> &'static str {
    match kind {
        Validity::FixedTime => "fixed-time",
        Validity::AnyTime => "any-time",
    }
}

#[pymethods]
impl Valuation {
    /// One row for each policy and estimator, as columns: value, the interval from low to high, when it holds ("fixed-time":
    /// one look that was planned in advance, "any-time": however often one looks), and what it assumes.
    fn table<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        self.columns(py, &self.report.values.iter().collect::<Vec<_>>())
    }

    /// The intervals that hold however often one looks (kind="any-time"), or at one look (kind="fixed-time"), as columns.
    #[pyo3(signature = (kind = "any-time"))]
    fn intervals<'py>(&self, py: Python<'py>, kind: &str) -> Answer<Bound<'py, PyDict>> {
        let known = ["any-time", "fixed-time"];
        if !known.contains(&kind) {
            return Err(corral_core::registry::Unknown::new("kind of interval", kind, known).into());
        }
        let of = self.report.values.iter().filter(|v| self::kind(v.kind) == kind);
        self.columns(py, &of.collect::<Vec<_>>())
    }

    /// One row for each pair of policies, as columns: the value of a less that of b, with an interval that holds at any time; with
    /// units at one look.
    fn differences<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        let all = &self.report.differences;
        let numpy = py.import("numpy")?;
        let dict = PyDict::new(py);
        let texts = |all: Vec<&str>| numpy.call_method1("array", (all, "str"));
        dict.set_item("a", texts(all.iter().map(|d| &*d.a).collect())?)?;
        dict.set_item("b", texts(all.iter().map(|d| &*d.b).collect())?)?;
        for (name, of) in [
            ("value", (|d| d.value) as fn(&corral_log::Difference) -> _),
            ("low", |d| d.low),
            ("high", |d| d.high),
        ] {
            dict.set_item(name, PyArray1::from_iter(py, all.iter().map(|d| of(d).unwrap_or(f64::NAN))))?;
        }
        dict.set_item("kind", texts(all.iter().map(|d| kind(d.kind)).collect())?)?;
        dict.set_item("assumes", texts(all.iter().map(|d| &*d.assumes).collect())?)?;
        Ok(dict)
    }

    /// Decisions that were read.
    #[getter]
    fn rows(&self) -> u64 {
        self.report.rows
    }

    /// Decisions that were used.
    #[getter]
    fn used(&self) -> u64 {
        self.report.used
    }

    /// What makes the figures doubtful.
    #[getter]
    fn alarms(&self) -> Vec<String> {
        self.report.alarms.clone()
    }

    /// Which policy is best, if that is decided.
    #[getter]
    fn verdict(&self) -> &str {
        &self.report.verdict
    }

    /// The report as one HTML page.
    fn html(&self) -> String {
        page::html(&self.title, &self.report)
    }

    fn __str__(&self) -> String {
        valuation::text(&self.report, None)
    }

    fn __repr__(&self) -> String {
        format!("<Evaluation of {}: {} decisions, {} used>", self.title, self.report.rows, self.report.used)
    }

    /// The report in a frame, as a notebook shows it.
    fn _repr_html_(&self) -> String {
        convert::framed(&self.html())
    }
}
