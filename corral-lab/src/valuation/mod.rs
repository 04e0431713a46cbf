//! Policies valued from a decision log: which file it is, which policies, and the models behind them. The estimators are
//! those of [`corral_log`].

mod open;
mod replayed;
mod ridge;

use std::path::Path;

use corral_log::{Estimator, Evaluation, Model, Named, Options, Report, Row, RowSource, Sink, Target, Wants};

pub use open::{Form, OpenError, WITHOUT_PARQUET, bytes, open};
pub use replayed::Replayed;
pub use ridge::RidgeModel;

use crate::summary::number;
use crate::table::{fitted, paged};

/// What to value, and how to read the log.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The policies: those of [`Named`], and `learner:NAME` for a base of ours that is replayed step by step.
    pub policies: Vec<String>,
    /// How the log is written; unset: it is found out.
    pub form: Option<Form>,
    /// Where outcomes lie, where the log does not say: low and high.
    pub range: Option<(f64, f64)>,
    /// The field that decisions are grouped by.
    pub unit: Option<String>,
    /// Whether a line with a fault is an error.
    pub strict: bool,
    /// Whether the chain is checked.
    pub chain: bool,
    /// How many decisions may wait for outcomes that are lines of their own.
    pub window: Option<usize>,
    /// What is computed.
    pub options: Options,
}

/// Values policies from the log at `path`.
///
/// # Errors
/// The log cannot be read, or a policy cannot be valued from it; says which and why.
pub fn value(path: &Path, request: &Request) -> Result<Report, String> {
    value_with(path, request, Vec::new())
}

/// The same, with `own` policies behind those of the request; they see contexts.
///
/// # Errors
/// As [`value`].
pub fn value_with(path: &Path, request: &Request, own: Vec<Box<dyn Target>>) -> Result<Report, String> {
    let mut policies: Vec<Box<dyn Target>> = Vec::new();
    let (mut columns, mut bases) = (Vec::new(), false);
    for text in &request.policies {
        if text.starts_with("snapshot:") {
            return Err(format!(
                "{text}: a learner that is frozen at the end of its log has seen the rewards that it is valued by, so the \
                 value would be too large; learner:NAME replays it step by step"
            ));
        }
        if let Some(name) = text.strip_prefix("learner:") {
            policies.push(Box::new(Replayed::new(text, name)?));
            continue;
        }
        let policy = Named::read(text)?;
        columns.extend(policy.column().map(str::to_owned));
        bases |= policy.needs_bases();
        policies.push(Box::new(policy));
    }
    let seeing = !own.is_empty();
    policies.extend(own);
    let asks = |e: Estimator| request.options.estimators.contains(&e);
    let modelled = asks(Estimator::Dr) || asks(Estimator::Direct);
    let learner = request.policies.iter().any(|p| p.starts_with("learner:"));
    let wants = Wants {
        pbar: false,
        q: bases,
        full: modelled || request.options.differences && policies.len() > 1,
        context: modelled || learner || seeing,
        labels: false,
        unit: request.unit.clone(),
        columns,
    };
    let mut lacks = Lacks::of(&wants);
    let mut source = open(path, request, wants).map_err(|e| e.to_string())?;
    let model = modelled.then(|| Box::new(RidgeModel::default()) as Box<dyn Model>);
    let mut evaluation = Evaluation::new(policies, model, request.options.clone());
    let mut row = Row::default();
    let mut met = None;
    while source.next(&mut row).map_err(|e| chain(&e))? {
        if met.as_ref() != Some(source.header()) {
            evaluation.meet(source.header())?;
            met = Some(source.header().clone());
        }
        lacks.see(&row);
        evaluation.add(&row);
    }
    if met.is_some() {
        lacks.none(path)?;
        evaluation.met()?;
    }
    Ok(evaluation.report(source_notes(&*source)))
}

/// The fields that were asked for and that no decision had so far: lines of JSON have no header that says so before the first.
struct Lacks {
    columns: Vec<(String, bool)>,
    unit: Option<(String, bool)>,
}

impl Lacks {
    fn of(wants: &Wants) -> Self {
        let columns = wants.columns.iter().map(|name| (name.clone(), true)).collect();
        Self { columns, unit: wants.unit.clone().map(|name| (name, true)) }
    }

    fn see(&mut self, row: &Row) {
        self.columns.iter_mut().zip(&row.columns).for_each(|((_, lacks), own)| *lacks &= own.is_empty());
        if let Some((_, lacks)) = &mut self.unit {
            *lacks &= row.unit.is_none();
        }
    }

    fn none(&self, path: &Path) -> Result<(), String> {
        let Some((name, _)) = self.columns.iter().chain(&self.unit).find(|(_, lacks)| *lacks) else {
            return Ok(());
        };
        let fields = open::fields(path);
        let known =
            if fields.is_empty() { String::new() } else { format!("; there are: {}", fields.join(", ")) };
        Err(format!("no decision has the field {name:?}{known}"))
    }
}

/// Writes the rows of the log at `path` into `sink`; says how many, and what is to be said of them.
///
/// # Errors
/// The log cannot be read or written.
pub fn convert(path: &Path, request: &Request, sink: &mut dyn Sink) -> Result<(u64, Vec<String>), String> {
    let wants = Wants { pbar: true, q: true, full: true, context: true, labels: true, ..Wants::default() };
    let mut source = open(path, request, wants).map_err(|e| e.to_string())?;
    let (mut row, mut written) = (Row::default(), 0);
    while source.next(&mut row).map_err(|e| chain(&e))? {
        written += u64::from(sink.write(&row, source.header()).map_err(|e| e.to_string())?);
    }
    sink.finish().map_err(|e| e.to_string())?;
    let notes = source_notes(&*source).into_iter().chain(source.not_in_rows());
    Ok((written, notes.chain(sink.notes()).collect()))
}

/// What was wrong with lines, and what else is to be said of them.
pub fn source_notes(source: &dyn RowSource) -> Vec<String> {
    let faults = source.faults().iter();
    let mut notes: Vec<String> =
        faults.map(|(count, first)| format!("{count} lines: {}; the first is {first}", first.kind)).collect();
    notes.extend(source.notes());
    notes
}

/// An error and its causes in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        out.push_str(&format!(": {error}"));
        cause = error.source();
    }
    out
}

/// A report as text; where lines may have `width` characters at most, it is broken.
pub fn text(report: &Report, width: Option<usize>) -> String {
    let table =
        |header: &[&str], align: &str, rows: Vec<Vec<String>>| fitted(header, align, &rows, width, &[]);
    let mut out = format!("{} decisions, {} used\n", report.rows, report.used);
    report.alarms.iter().for_each(|alarm| out.push_str(&format!("ALARM: {alarm}\n")));
    out.push('\n');
    let cell = |v: Option<f64>| v.map_or("-".to_owned(), shown);
    let rows = report.values.iter().map(|v| {
        let kind = match v.kind {
            corral_log::Validity::FixedTime => "fixed-time",
            corral_log::Validity::AnyTime => "any-time",
        };
        let interval = format!("[{}, {}]", cell(v.low), cell(v.high));
        vec![
            v.policy.clone(),
            v.estimator.name().into(),
            cell(v.value),
            interval,
            kind.into(),
            v.assumes.clone(),
        ]
    });
    let header = ["policy", "estimator", "value", "interval", "kind", "assumes"];
    out.push_str(&table(&header, "llrrll", rows.collect()));
    if !report.differences.is_empty() {
        let rows = report.differences.iter().map(|d| {
            let interval = format!("[{}, {}]", cell(d.low), cell(d.high));
            vec![format!("{} - {}", d.a, d.b), cell(d.value), interval, d.assumes.clone()]
        });
        out.push('\n');
        out.push_str(&table(&["difference", "value", "interval", "assumes"], "lrrl", rows.collect()));
    }
    let rows = report.weights.iter().map(|w| {
        vec![
            w.policy.clone(),
            w.rows.to_string(),
            format!("{:.0}", w.effective),
            w.mean.map_or("-".to_owned(), number),
            number(w.largest),
        ]
    });
    out.push('\n');
    let header = ["policy", "rows", "effective", "mean weight", "largest weight"];
    out.push_str(&table(&header, "lrrrr", rows.collect()));
    if !report.verdict.is_empty() {
        out.push_str(&format!("\n{}\n", report.verdict));
    }
    paged(&out, width)
}

/// Five places for what is small, as click rates are.
pub(crate) fn shown(value: f64) -> String {
    if value.abs() < 1.0 { format!("{value:.5}") } else { number(value) }
}
