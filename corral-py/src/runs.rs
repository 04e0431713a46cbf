//! Specs and their runs, as Python asks for them.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use corral_core::memory;
use corral_core::params::describe::Field;
use corral_core::registry::{BuildError, Entry, Registry};
use corral_core::{Learner, Space, snapshot};
use corral_lab::export::{Export, Value, What};
use corral_lab::findings::Findings;
use corral_lab::run::{self as runner, CellRecord, CellSpec, Plugins, Progress, Resources, Timings};
use corral_lab::spec::{Spec, SpecText, StabilitySpec};
use corral_lab::store::{Shard, write_whole};
use corral_lab::summary::{Figure, SummaryRow};
use corral_lab::{advice, experiments, report};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde::Serialize;

use crate::args::{Cell, Jobs};
use crate::base::{BandInfo, PyBase, Raised, loads};
use crate::convert;
use crate::errors::{Answer, Error, warn};
use crate::exit;
use crate::shelf::Shelf;

/// How often progress is told.
const TICK: Duration = Duration::from_millis(50);

/// A spec, with what is needed to read it again.
#[derive(Clone)]
struct Asked {
    spec: Spec,
    text: String,
    fast: bool,
}

impl Asked {
    fn read(text: String, fast: bool) -> Answer<Self> {
        let source = SpecText::parse(&text)?.overridden(fast, &[])?;
        let runs = StabilitySpec::of(&source)?.is_none();
        Error::unless(runs, "a spec that measures stability is run by the program: corral run")?;
        Ok(Self { spec: Spec::of(&source)?, text, fast })
    }

    fn found(self, cells: Vec<CellRecord>, timings: &Timings) -> Outcome {
        Outcome { findings: Findings::of(self.spec, cells, timings), text: self.text, fast: self.fast }
    }
}

/// The spec that Python names: a dictionary, a file, the name of a built-in experiment, or TOML itself. Python objects
/// among the bases of a dictionary are offered by `plugins`.
fn read(spec: &Bound<'_, PyAny>, fast: bool, plugins: &mut Plugins) -> Answer<Asked> {
    let text = if let Ok(dict) = spec.cast::<PyDict>() {
        let mut known = Vec::new();
        convert::table_naming(dict, &mut |object| offer(object, plugins, &mut known))?.to_string()
    } else {
        let name = spec.cast::<PyString>().ok().map(|name| name.to_str()).transpose()?;
        let built_in = name.and_then(experiments::text).map(str::to_owned);
        match (built_in, name) {
            (Some(text), _) => text,
            (None, Some(text)) if text.contains('\n') => text.to_owned(),
            (None, Some(name)) if !name.ends_with(".toml") && !std::path::Path::new(name).exists() => {
                return Err(experiments::unknown(name).into());
            }
            _ => {
                let path = spec.extract::<PathBuf>()?;
                std::fs::read_to_string(&path).map_err(Error::file(&path))?
            }
        }
    };
    Asked::read(text, fast)
}

/// Offers a Python object as a base, and says how the spec names it. Every cell plays with a copy of its own.
fn offer(
    object: &Bound<'_, PyAny>,
    plugins: &mut Plugins,
    known: &mut Vec<(String, String)>,
) -> Answer<toml::Table> {
    let kind = object.get_type().name()?.to_string();
    let place = |rows: bool| BandInfo { names: std::sync::Arc::new([]), rows, raised: Raised::default() };
    let first = PyBase::new(object, place(false))?.first();
    Error::unless(
        !first.is_empty(),
        format_args!("a {kind} cannot be pickled, so cells cannot have copies of it"),
    )?;
    // A folder of results is of this very object.
    let digest = format!("{:016x}", snapshot::checksum(&first));
    let same = known.iter().filter(|(own, _)| *own == kind).position(|(_, known)| *known == digest);
    let number = same.unwrap_or_else(|| known.iter().filter(|(own, _)| *own == kind).count());
    let label = if number == 0 { kind.clone() } else { format!("{kind}-{}", number + 1) };
    let key = format!("python/{label}");
    if same.is_none() {
        known.push((kind, digest.clone()));
        let name = key.clone();
        let offered = plugins.offer(key.clone(), move |setup| {
            let built =
                exit::attach(|py| PyBase::new(&loads(py, &first)?, place(setup.context.row_features > 0)));
            let built = built.and_then(|base| base.join(&setup.space, &setup.context));
            let base = built.map_err(|e| BuildError::refused("base", &name, PyErr::from(e)))?;
            Ok(match setup.space {
                Space::Arms(_) => Learner::Arms(Box::new(base)),
                Space::Points(_) => Learner::Points(Box::new(base)),
            })
        });
        offered.map_err(|e| Error::value(e.to_string()))?;
    }
    let keys = [("name", key), ("label", label), ("pickle", digest)];
    Ok(keys.into_iter().map(|(key, text)| (key.to_owned(), toml::Value::String(text))).collect())
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
///
/// `corral.run` is what to call.
#[pyfunction]
#[pyo3(signature = (spec, out, *, jobs = None, fast = false, tell = None, plugins = None))]
pub fn run(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    out: PathBuf,
    jobs: Option<Jobs>,
    fast: bool,
    tell: Option<Py<PyAny>>,
    plugins: Option<PathBuf>,
) -> Answer<Outcome> {
    let mut plugins = Shelf::open(py, plugins.as_deref())?.plugins;
    let asked = read(spec, fast, &mut plugins)?;
    let spec = asked.spec.clone();
    let meter = Meter { rounds: AtomicU64::new(0), notes: Mutex::new(advice::warnings(&spec)) };
    let total: u64 = spec.runs.iter().map(|run| spec.rounds[run.horizon].saturating_mul(spec.seeds)).sum();
    let jobs = jobs
        .map_or_else(Resources::cores, |jobs| usize::try_from(jobs.0).unwrap_or(usize::MAX))
        .clamp(1, 1024);
    let resources = Resources { jobs, memory: memory::DEFAULT };
    let cancel = AtomicBool::new(false);
    let mut interrupt = None;
    let mut say = || {
        let said = exit::attach(|py| {
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
    let outcome = exit::detach(py, || {
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
    let found = asked.found(cells, &timings);
    for note in found.failures() {
        warn(py, note)?;
    }
    Ok(found)
}

/// How many cells a spec has: one learner in one environment with one seed each.
///
/// Parameters
/// ----------
/// spec : path, str or dict
///     As for `run`.
/// fast : bool
///     The spec's fast preset.
///
/// Returns
/// -------
/// int
#[pyfunction]
#[pyo3(signature = (spec, *, fast = false))]
pub fn count_cells(spec: &Bound<'_, PyAny>, fast: bool) -> Answer<u64> {
    Ok(read(spec, fast, &mut Plugins::default())?.spec.cells())
}

/// Runs one cell of a spec: a pure function, so that any engine may run the cells of a spec in any order and anywhere.
/// `collect` makes a result of them.
///
/// Parameters
/// ----------
/// spec : path, str or dict
///     As for `run`.
/// cell : int
///     Which one: from 0 to `count_cells(spec) - 1`.
/// fast : bool
///     The spec's fast preset.
/// plugins : path, optional
///     A folder of compiled plugins, where the spec names some.
///
/// Returns
/// -------
/// dict
#[pyfunction]
#[pyo3(signature = (spec, cell, *, fast = false, plugins = None))]
pub fn run_cell<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyAny>,
    cell: Cell,
    fast: bool,
    plugins: Option<PathBuf>,
) -> Answer<Bound<'py, PyAny>> {
    let mut plugins = Shelf::open(py, plugins.as_deref())?.plugins;
    let spec = read(spec, fast, &mut plugins)?.spec;
    let Cell(cell) = cell;
    Error::unless(cell < spec.cells(), format_args!("cell {cell} of {}", spec.cells()))?;
    let stopped = AtomicBool::new(false);
    let record = exit::detach(py, || {
        runner::check(&spec, &plugins, memory::DEFAULT)?;
        let advance = |_| {
            let going = exit::attach(|py| py.check_signals().map_err(|e| e.restore(py)).is_ok());
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
///
/// Parameters
/// ----------
/// spec : path, str or dict
///     As for `run`.
/// cells : iterable of dict
///     What `run_cell` returned, each cell once, in any order.
/// fast : bool
///     The spec's fast preset.
///
/// Returns
/// -------
/// Result
#[pyfunction]
#[pyo3(signature = (spec, cells, *, fast = false))]
pub fn collect(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    cells: &Bound<'_, PyAny>,
    fast: bool,
) -> Answer<Outcome> {
    let asked = read(spec, fast, &mut Plugins::default())?;
    let cells = PyList::new(py, cells.try_iter()?.collect::<PyResult<Vec<_>>>()?)?;
    let text: String = py.import("json")?.call_method1("dumps", (cells,))?.extract()?;
    let mut cells: Vec<CellRecord> =
        serde_json::from_str(&text).map_err(|e| Error::value(format!("cells: {e}")))?;
    cells.sort_by_key(|c| c.cell);
    let (there, all) = (cells.len() as u64, asked.spec.cells());
    for (i, cell) in (0..).zip(&cells) {
        let why = format_args!("cells: number {i} of {all} is missing or there twice");
        Error::unless(cell.cell == i, why)?;
    }
    Error::unless(there == all, format_args!("cells: {there} of {all} are there"))?;
    Ok(asked.found(cells, &Timings::default()))
}

/// What came of a run. It pickles, but for how fast it ran.
#[pyclass(frozen, name = "Result", module = "corral")]
pub struct Outcome {
    findings: Findings,
    text: String,
    fast: bool,
}

impl Outcome {
    /// What failed, in a sentence for each learner: the first reason stands for all.
    fn failures(&self) -> Vec<String> {
        let say = |row: &SummaryRow| {
            let (all, failed) = (row.seeds, row.failed.len());
            let what = match (row.failed.first(), row.benched.first()) {
                (Some(first), _) => format!("{failed} of {all} runs failed ({first})"),
                (None, Some(first)) => format!("bases failed and were benched ({first})"),
                (None, None) => return None,
            };
            Some(format!("learner {} in {}: {what}", row.label, row.environment))
        };
        self.findings.rows.iter().filter_map(say).collect()
    }

    fn columns<'py>(&self, py: Python<'py>, what: What) -> Answer<Bound<'py, PyDict>> {
        let names = what.columns();
        let mut columns: Vec<Column> = names.iter().map(|(_, kind)| Column::new(kind)).collect();
        Export(&self.findings)
            .rows(what, &mut |row| {
                columns.iter_mut().zip(row).for_each(|(column, value)| column.push(*value));
                Ok(())
            })
            .map_err(|e: std::io::Error| Error::Files(e.to_string()))?;
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
        let texts = |of: fn(&SummaryRow) -> &str| {
            Column::Text(self.findings.rows.iter().map(|r| Some(of(r).to_owned())).collect())
        };
        let counts = |of: fn(&SummaryRow) -> u64| {
            Column::Count(self.findings.rows.iter().map(|r| Some(of(r))).collect())
        };
        let reals =
            |of: &dyn Fn(&SummaryRow) -> f64| Column::Real(self.findings.rows.iter().map(of).collect());
        let dict = PyDict::new(py);
        let put = |name: &str, column: Column| Ok::<_, Error>(dict.set_item(name, column.array(py)?)?);
        put("environment", texts(|r| &r.environment))?;
        put("learner", texts(|r| &r.label))?;
        put("alone", Column::Flag(self.findings.rows.iter().map(|r| r.alone).collect()))?;
        put("rounds", counts(|r| r.rounds))?;
        put("seeds", counts(|r| r.seeds))?;
        type Of = fn(&SummaryRow) -> Figure;
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
        report::html(&self.findings)
    }

    /// Writes the report to a file.
    fn save(&self, path: PathBuf) -> Answer<()> {
        Ok(write_whole(&path, self.html().as_bytes())?)
    }

    /// The name of the run.
    #[getter]
    fn name(&self) -> &str {
        &self.findings.spec.name
    }

    fn __len__(&self) -> usize {
        self.findings.cells.len()
    }

    fn __str__(&self) -> String {
        report::text(&self.findings, None)
    }

    fn __repr__(&self) -> String {
        format!("<Result of {:?}: {} cells>", self.findings.spec.name, self.findings.cells.len())
    }

    /// The report in a frame, as a notebook shows it.
    fn _repr_html_(&self) -> String {
        convert::framed(&self.html())
    }

    /// Draws the regret of every learner over the rounds with matplotlib: the mean over seeds, and one standard error around it.
    ///
    /// Parameters
    /// ----------
    /// environment : str, optional
    ///     Which one, where there are several; by default the first.
    /// ax : matplotlib axes, optional
    ///     Where; by default new ones.
    ///
    /// Returns
    /// -------
    /// matplotlib axes
    #[pyo3(signature = (environment = None, *, ax = None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        environment: Option<&str>,
        ax: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("corral._plot")?.call_method1("plot", (slf, environment, ax))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Answer<(Bound<'py, PyAny>, (String, bool, String))> {
        let own = slf.get();
        let cells = serde_json::to_string(&own.findings.cells).map_err(Error::value)?;
        Ok((slf.get_type().getattr("_from_parts")?, (own.text.clone(), own.fast, cells)))
    }

    #[staticmethod]
    fn _from_parts(text: String, fast: bool, cells: &str) -> Answer<Self> {
        let asked = Asked::read(text, fast)?;
        let cells = serde_json::from_str(cells).map_err(|e| Error::value(e).of("a pickled result"))?;
        Ok(asked.found(cells, &Timings::default()))
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
