//! Specs and their runs, as Python asks for them.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use corral_core::memory;
use corral_core::params::describe::Field;
use corral_core::registry::{Entry, Registry};
use corral_lab::export::{Export, Value, What};
use corral_lab::findings::Findings;
use corral_lab::run::{self as runner, CellRecord, CellSpec, Progress, Resources, Timings};
use corral_lab::spec::{Source, Spec, StabilitySpec};
use corral_lab::store::{Shard, write_whole};
use corral_lab::summary::{Figure, Row};
use corral_lab::{advice, experiments, report};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde::Serialize;

use crate::convert;
use crate::errors::{Answer, Error, warn};
use crate::shelf::Shelf;

/// How often progress is told.
const TICK: Duration = Duration::from_millis(50);

/// The spec that Python names: a dictionary, a file, the name of a built-in experiment, or TOML itself.
fn read(spec: &Bound<'_, PyAny>, fast: bool) -> Answer<Spec> {
    let text = if let Ok(dict) = spec.cast::<PyDict>() {
        convert::table(dict)?.to_string()
    } else {
        let name = spec.cast::<PyString>().ok().map(|name| name.to_str()).transpose()?;
        let built_in = name.and_then(experiments::text).map(str::to_owned);
        match (built_in, name) {
            (Some(text), _) => text,
            (None, Some(text)) if text.contains('\n') => text.to_owned(),
            (None, Some(name)) if !name.ends_with(".toml") && !std::path::Path::new(name).exists() => {
                return Err(experiments::unknown(name).into());
            }
            _ => std::fs::read_to_string(spec.extract::<PathBuf>()?)?,
        }
    };
    let source = Source::parse(&text)?.overridden(fast, &[])?;
    let runs = StabilitySpec::of(&source)?.is_none();
    Error::unless(runs, "a spec that measures stability is run by the program: corral run")?;
    Ok(Spec::of(&source)?)
}

/// What a run has done so far.
struct Meter {
    rounds: AtomicU64,
    notes: Mutex<Vec<String>>,
}

impl Progress for Meter {
    fn advance(&self, rounds: u64) {
        self.rounds.fetch_add(rounds, Ordering::Relaxed);
    }
    fn cell(&self, _: &CellRecord) {}
    fn plan(&self, _: u64, _: u64, _: &dyn Fn() -> Option<Duration>) {}
    fn note(&self, text: &str) {
        if let Ok(mut notes) = self.notes.lock() {
            notes.push(text.to_owned());
        }
    }
}

/// Runs a spec into the folder `out`; `tell(done, total)` hears of the rounds played.
#[pyfunction]
#[pyo3(signature = (spec, out, *, jobs = None, fast = false, tell = None, plugins = None))]
pub fn run(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    out: PathBuf,
    jobs: Option<usize>,
    fast: bool,
    tell: Option<Py<PyAny>>,
    plugins: Option<PathBuf>,
) -> Answer<Outcome> {
    let spec = read(spec, fast)?;
    let plugins = Shelf::open(py, plugins.as_deref())?.plugins;
    let meter = Meter { rounds: AtomicU64::new(0), notes: Mutex::new(advice::warnings(&spec)) };
    let total: u64 = spec.runs.iter().map(|run| spec.rounds[run.horizon].saturating_mul(spec.seeds)).sum();
    let jobs = jobs.unwrap_or_else(Resources::cores).clamp(1, 1024);
    let resources = Resources { jobs, memory: memory::DEFAULT };
    let cancel = AtomicBool::new(false);
    let mut interrupt = None;
    let mut say = || {
        let said = Python::attach(|py| {
            py.check_signals()?;
            tell.as_ref().map_or(Ok(()), |tell| {
                tell.call1(py, (meter.rounds.load(Ordering::Relaxed).min(total), total)).map(drop)
            })
        });
        if let Err(error) = said {
            cancel.store(true, Ordering::Relaxed);
            interrupt.get_or_insert(error);
        }
    };
    let outcome = py.detach(|| {
        std::thread::scope(|scope| {
            let work = || runner::run(&spec, &plugins, &out, Shard::WHOLE, resources, &cancel, &meter);
            let worker = scope.spawn(work);
            while !worker.is_finished() {
                std::thread::sleep(TICK);
                say();
            }
            worker.join()
        })
    });
    if let Some(error) = interrupt {
        return Err(error.into());
    }
    let Ok(outcome) = outcome else { return Err(Error::Failed("a thread of the run panicked".into())) };
    let (cells, timings) = outcome?;
    for note in meter.notes.into_inner().unwrap_or_default() {
        warn(py, note)?;
    }
    Ok(Outcome(Findings::of(spec, cells, &timings)))
}

/// How many cells a spec has: one learner in one environment with one seed each.
#[pyfunction]
#[pyo3(signature = (spec, *, fast = false))]
pub fn count_cells(spec: &Bound<'_, PyAny>, fast: bool) -> Answer<u64> {
    Ok(read(spec, fast)?.cells())
}

/// Runs one cell of a spec: a pure function, so that any engine may run the cells of a spec in any order and anywhere.
/// `collect` makes a result of them.
#[pyfunction]
#[pyo3(signature = (spec, cell, *, fast = false, plugins = None))]
pub fn run_cell<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyAny>,
    cell: u64,
    fast: bool,
    plugins: Option<PathBuf>,
) -> Answer<Bound<'py, PyAny>> {
    let spec = read(spec, fast)?;
    Error::unless(cell < spec.cells(), format_args!("cell {cell} of {}", spec.cells()))?;
    let (plugins, stopped) = (Shelf::open(py, plugins.as_deref())?.plugins, AtomicBool::new(false));
    let record = py.detach(|| {
        runner::check(&spec, &plugins, memory::DEFAULT)?;
        let advance = |_| {
            let going = Python::attach(|py| py.check_signals().map_err(|e| e.restore(py)).is_ok());
            stopped.fetch_or(!going, Ordering::Relaxed);
        };
        let stop = || stopped.load(Ordering::Relaxed);
        Ok::<_, Error>(runner::run_cell(&spec, &CellSpec::of(&spec, cell), &plugins, &stop, &advance))
    })?;
    match record {
        Some(record) => convert::plain(py, &record),
        None => Err(PyErr::fetch(py).into()),
    }
}

/// The result of a spec whose cells were run one by one.
#[pyfunction]
#[pyo3(signature = (spec, cells, *, fast = false))]
pub fn collect(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    cells: &Bound<'_, PyAny>,
    fast: bool,
) -> Answer<Outcome> {
    let spec = read(spec, fast)?;
    let cells = PyList::new(py, cells.try_iter()?.collect::<PyResult<Vec<_>>>()?)?;
    let text: String = py.import("json")?.call_method1("dumps", (cells,))?.extract()?;
    let mut cells: Vec<CellRecord> =
        serde_json::from_str(&text).map_err(|e| Error::value(format!("cells: {e}")))?;
    cells.sort_by_key(|c| c.cell);
    let (there, all) = (cells.len() as u64, spec.cells());
    for (i, cell) in (0..).zip(&cells) {
        let why = format_args!("cells: number {i} of {all} is missing or there twice");
        Error::unless(cell.cell == i, why)?;
    }
    Error::unless(there == all, format_args!("cells: {there} of {all} are there"))?;
    Ok(Outcome(Findings::of(spec, cells, &Timings::default())))
}

/// What came of a run.
#[pyclass(frozen, name = "Result", module = "corral")]
pub struct Outcome(Findings);

impl Outcome {
    fn columns<'py>(&self, py: Python<'py>, what: What) -> Answer<Bound<'py, PyDict>> {
        let names = what.columns();
        let mut columns: Vec<Column> = names.iter().map(|(_, kind)| Column::new(kind)).collect();
        Export(&self.0).rows(what, &mut |row| {
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(*value));
            Ok(())
        })?;
        let dict = PyDict::new(py);
        for ((name, _), column) in names.iter().zip(columns) {
            dict.set_item(name, column.array(py)?)?;
        }
        Ok(dict)
    }
}

/// A column of a table: numbers, words or flags, for numpy.
enum Column {
    Text(Vec<Option<String>>),
    Count(Vec<Option<u64>>),
    Real(Vec<f64>),
    Flag(Vec<bool>),
}

impl Column {
    fn new(kind: &Value<'_>) -> Self {
        match kind {
            Value::Text(_) => Self::Text(Vec::new()),
            Value::Count(_) => Self::Count(Vec::new()),
            Value::Real(_) => Self::Real(Vec::new()),
            Value::Flag(_) => Self::Flag(Vec::new()),
        }
    }

    fn push(&mut self, value: Value<'_>) {
        match (self, value) {
            (Self::Text(all), Value::Text(text)) => all.push(text.map(str::to_owned)),
            (Self::Count(all), Value::Count(n)) => all.push(n),
            (Self::Real(all), Value::Real(x)) => all.push(x.unwrap_or(f64::NAN)),
            (Self::Flag(all), Value::Flag(yes)) => all.push(yes == Some(true)),
            // A column holds one kind.
            _ => {}
        }
    }

    fn array(self, py: Python<'_>) -> Answer<Bound<'_, PyAny>> {
        Ok(match self {
            Self::Text(all) => {
                let kind = if all.iter().all(Option::is_some) { "str" } else { "object" };
                py.import("numpy")?.call_method1("array", (all, kind))?
            }
            Self::Count(all) => match all.iter().map(|n| n.map(|n| n as i64)).collect::<Option<Vec<_>>>() {
                Some(whole) => PyArray1::from_vec(py, whole).into_any(),
                None => {
                    PyArray1::from_iter(py, all.iter().map(|n| n.map_or(f64::NAN, |n| n as f64))).into_any()
                }
            },
            Self::Real(all) => PyArray1::from_vec(py, all).into_any(),
            Self::Flag(all) => PyArray1::from_vec(py, all).into_any(),
        })
    }
}

#[pymethods]
impl Outcome {
    /// One row for each learner in each environment, as columns: regret and loss with their standard errors over seeds, and
    /// how the regret compares with that of the best base alone.
    fn table<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        let texts =
            |of: fn(&Row) -> &str| Column::Text(self.0.rows.iter().map(|r| Some(of(r).to_owned())).collect());
        let counts = |of: fn(&Row) -> u64| Column::Count(self.0.rows.iter().map(|r| Some(of(r))).collect());
        let reals = |of: &dyn Fn(&Row) -> f64| Column::Real(self.0.rows.iter().map(of).collect());
        let dict = PyDict::new(py);
        let put = |name: &str, column: Column| Ok::<_, Error>(dict.set_item(name, column.array(py)?)?);
        put("environment", texts(|r| &r.environment))?;
        put("learner", texts(|r| &r.label))?;
        put("alone", Column::Flag(self.0.rows.iter().map(|r| r.alone).collect()))?;
        put("rounds", counts(|r| r.rounds))?;
        put("seeds", counts(|r| r.seeds))?;
        type Of = fn(&Row) -> Figure;
        for (name, of) in [("regret", (|r| r.regret) as Of), ("loss", |r| r.loss)] {
            put(name, reals(&|r| of(r).mean))?;
            put(&format!("{name}_se"), reals(&|r| of(r).se))?;
            put(&format!("{name}_min"), reals(&|r| of(r).min))?;
            put(&format!("{name}_max"), reals(&|r| of(r).max))?;
        }
        put("ratio_to_best_base", reals(&|r| r.ratio_to_best_base.unwrap_or(f64::NAN)))?;
        put("rounds_per_second", reals(&|r| r.rounds_per_second.unwrap_or(f64::NAN)))?;
        put("failed", counts(|r| r.failed.len() as u64))?;
        put("benched", counts(|r| r.benched.len() as u64))?;
        Ok(dict)
    }

    /// One row for each cell, as columns.
    fn cells<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        self.columns(py, What::Cells)
    }

    /// One row for each cell and checkpoint, as columns: the regret up to that round.
    fn curves<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        self.columns(py, What::Curves)
    }

    /// One row for each cell and base of a band, as columns.
    fn bases<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        self.columns(py, What::Bases)
    }

    /// One row for each claim and learner, as columns: what was measured, and the verdict.
    fn claims<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        self.columns(py, What::Claims)
    }

    /// The report as one HTML page.
    fn html(&self) -> String {
        report::html(&self.0)
    }

    /// Writes the report to a file.
    fn save(&self, path: PathBuf) -> Answer<()> {
        Ok(write_whole(&path, self.html().as_bytes())?)
    }

    /// The name of the run.
    #[getter]
    fn name(&self) -> &str {
        &self.0.spec.name
    }

    fn __len__(&self) -> usize {
        self.0.cells.len()
    }

    fn __str__(&self) -> String {
        report::text(&self.0)
    }

    fn __repr__(&self) -> String {
        format!("<Result of {:?}: {} cells>", self.0.spec.name, self.0.cells.len())
    }

    /// The report in a frame, as a notebook shows it.
    fn _repr_html_(&self) -> String {
        let page = self.html().replace('&', "&amp;").replace('"', "&quot;");
        format!("<iframe srcdoc=\"{page}\" style=\"width:100%;height:40em;border:0\"></iframe>")
    }
}

/// What is listed of one thing.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    entry: Entry,
    parameters: Vec<Field>,
    /// Keys that build it, where it needs some.
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<toml::Table>,
}

fn listed<'py, B>(
    py: Python<'py>,
    registry: &Registry<B>,
    example: fn(&str) -> Option<&'static str>,
) -> Answer<Bound<'py, PyAny>> {
    let all = registry.rows().map(|row| Listed {
        entry: row.entry,
        parameters: row.fields(),
        example: example(row.entry.name).and_then(|keys| keys.parse().ok()),
    });
    convert::plain(py, &all.collect::<Vec<_>>())
}

/// What is said of every base, with its parameters.
///
/// >>> import corral
/// >>> [b["name"] for b in corral.list_bases()][:3]
/// ['exp3', 'tsallis-inf', 'ucb1']
#[pyfunction]
pub fn list_bases(py: Python<'_>) -> Answer<Bound<'_, PyAny>> {
    listed(py, &corral_bases::REGISTRY, |_| None)
}

/// What is said of every master, with its parameters.
#[pyfunction]
pub fn list_masters(py: Python<'_>) -> Answer<Bound<'_, PyAny>> {
    listed(py, &corral_core::masters::REGISTRY, |_| None)
}

/// What is said of every environment, with its parameters and keys that build it.
///
/// >>> import corral
/// >>> one = corral.list_environments()[0]
/// >>> world = corral.World({"name": one["name"], **one["example"]})
#[pyfunction]
pub fn list_environments(py: Python<'_>) -> Answer<Bound<'_, PyAny>> {
    listed(py, &corral_envs::REGISTRY, corral_envs::example)
}

/// The built-in experiments, and what each asks.
#[pyfunction]
pub fn list_experiments(py: Python<'_>) -> Answer<Bound<'_, PyAny>> {
    let all = experiments::ALL.iter();
    let all = all.map(|(name, text)| serde_json::json!({ "name": name, "asks": experiments::asks(text) }));
    convert::plain(py, &all.collect::<Vec<_>>())
}
