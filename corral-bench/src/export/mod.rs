//! Results as tidy tables: one row for one observation, one column for one variable. Columns and meaning are written
//! down in `docs/results-format.md`.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use crate::claims::Held;
use crate::run::{CellRecord, checkpoints};
use crate::spec::{LearnerSpec, Spec};
use crate::{store, sweeps};

#[cfg(feature = "parquet")]
mod parquet;

/// The version of the tables. Columns may be added at the end without another one; a column that goes, or means
/// something else, makes another.
pub const VERSION: u32 = 1;

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum What {
    /// One row per cell: its regret and its loss
    Cells,
    /// One row per cell and checkpoint: regret up to that round
    Curves,
    /// One row per cell and base of a band: plays, weights, range changes
    Bases,
    /// One row per traced cell, checkpoint and base: probability, rate, range
    Traces,
    /// One row per claim and learner: measured, interval, verdict
    Claims,
}

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Text with a header line
    Csv,
    /// One object with a list of rows
    Json,
    /// Parquet, where the program was built with it
    Parquet,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words.
    Text,
    /// Whole numbers.
    Count,
    /// Numbers.
    Real,
    /// Yes or no.
    Flag,
}

/// One value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value<'a> {
    /// Words.
    Text(&'a str),
    /// A whole number.
    Count(u64),
    /// A number; one that is not finite is written as none.
    Real(f64),
    /// Yes or no.
    Flag(bool),
    /// There is none.
    Nothing,
}

impl Value<'_> {
    fn real(x: Option<&f64>) -> Self {
        x.filter(|x| x.is_finite()).map_or(Self::Nothing, |x| Self::Real(*x))
    }
}

impl<'a> Value<'a> {
    fn text(x: Option<&'a str>) -> Self {
        x.map_or(Self::Nothing, Self::Text)
    }
}

/// A results folder that is exported.
#[derive(Debug, Clone, Copy)]
pub struct Export<'a> {
    /// What was run.
    pub spec: &'a Spec,
    /// What came out.
    pub cells: &'a [CellRecord],
    /// The claims.
    pub held: &'a [Held],
}

/// Takes rows one by one.
pub type Each<'e> = &'e mut dyn FnMut(&[Value<'_>]) -> io::Result<()>;

impl What {
    /// The table's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cells => "cells",
            Self::Curves => "curves",
            Self::Bases => "bases",
            Self::Traces => "traces",
            Self::Claims => "claims",
        }
    }

    /// The columns that the table always has.
    pub fn columns(self) -> Vec<(&'static str, Kind)> {
        use Kind::{Count, Flag, Real, Text};
        let cell =
            [("cell", Count), ("rounds", Count), ("environment", Text), ("learner", Text), ("seed", Count)];
        let own: &[(&str, Kind)] = match self {
            Self::Cells => &[
                ("alone", Flag),
                ("played", Count),
                ("seen", Count),
                ("regret", Real),
                ("loss", Real),
                ("failed", Text),
            ],
            Self::Curves => &[("round", Count), ("regret", Real)],
            Self::Bases => &[
                ("base", Count),
                ("name", Text),
                ("plays", Count),
                ("effective_samples", Real),
                ("max_weight", Real),
                ("range_changes", Count),
                ("benched_round", Count),
                ("benched_why", Text),
            ],
            Self::Traces => &[
                ("round", Count),
                ("base", Count),
                ("name", Text),
                ("probability", Real),
                ("rate", Real),
                ("range", Real),
            ],
            Self::Claims => {
                return vec![
                    ("claim", Text),
                    ("environment", Text),
                    ("learner", Text),
                    ("figure", Text),
                    ("measured", Real),
                    ("low", Real),
                    ("high", Real),
                    ("bound", Text),
                    ("verdict", Text),
                    ("published", Real),
                    ("published_error", Real),
                    ("own_error", Real),
                    ("z", Real),
                    ("unlikely", Text),
                ];
            }
        };
        cell.iter().chain(own).copied().collect()
    }
}

impl Export<'_> {
    /// The table's columns: those it always has, and one for every swept key.
    fn columns(&self, what: What) -> Vec<(String, Kind)> {
        let fixed = what.columns().into_iter().map(|(name, kind)| (name.to_owned(), kind));
        let swept = if what == What::Claims { Vec::new() } else { self.spec.swept() };
        let swept = swept.into_iter().map(|key| {
            let word: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            (format!("sweep_{word}"), self.kind(key))
        });
        fixed.chain(swept).collect()
    }

    /// Numbers, where every value of a swept key is one.
    fn kind(&self, key: &str) -> Kind {
        let worlds = self.spec.environments.iter().flat_map(|e| &e.swept);
        let mut values = worlds
            .chain(self.spec.learners.iter().flat_map(|l| &l.swept))
            .filter(|s| s.key == key || s.name == key)
            .map(|s| sweeps::Value::of(&s.value));
        let numbers = values.all(|v| v.number.is_some());
        if numbers { Kind::Real } else { Kind::Text }
    }

    /// The values of the swept keys in a cell.
    fn swept(&self, cell: &CellRecord) -> Vec<Option<sweeps::Value>> {
        let setting = self.spec.setting(&cell.environment, &cell.learner);
        let value = |key: &str| {
            let value = sweeps::Value::of(setting.as_ref()?.value(key)?);
            let number = value.number.filter(|_| self.kind(key) == Kind::Real);
            Some(sweeps::Value { number, ..value })
        };
        self.spec.swept().into_iter().map(value).collect()
    }

    /// Gives the rows of a table, in the order of cells, rounds and bases.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn rows(&self, what: What, each: Each<'_>) -> io::Result<()> {
        if what == What::Claims {
            return self.claims(each);
        }
        let mut swept = Vec::new();
        let mut before: Option<(&str, &str)> = None;
        for c in self.cells {
            // Seeds of one learner follow each other.
            let pair = (c.environment.as_str(), c.learner.as_str());
            if before.replace(pair) != Some(pair) {
                swept = self.swept(c);
            }
            let swept: Vec<Value<'_>> = swept
                .iter()
                .map(|value| match value {
                    Some(value) => value.number.map_or(Value::Text(&value.text), Value::Real),
                    None => Value::Nothing,
                })
                .collect();
            let cell = [
                Value::Count(c.cell),
                Value::Count(c.rounds),
                Value::Text(&c.environment),
                Value::Text(&c.learner),
                Value::Count(c.seed),
            ];
            let mut row = |own: &[Value<'_>]| each(&[&cell, own, &swept].concat());
            match what {
                What::Cells => row(&[
                    Value::Flag(self.is_alone(&c.learner)),
                    Value::Count(c.played),
                    Value::Count(c.seen),
                    Value::real(Some(&c.regret)),
                    Value::real(Some(&c.loss)),
                    Value::text(c.failed.as_deref()),
                ])?,
                What::Curves => {
                    for (round, regret) in curve(c) {
                        row(&[Value::Count(round), Value::real(Some(&regret))])?;
                    }
                }
                What::Bases => bases(c, &mut row)?,
                What::Traces => traces(c, &mut row)?,
                What::Claims => {}
            }
        }
        Ok(())
    }

    fn is_alone(&self, label: &str) -> bool {
        let named = self.spec.learners.iter().find(|l| l.label == label);
        named.is_some_and(|l| matches!(l.learner, LearnerSpec::Base(_)))
    }

    fn claims(&self, each: Each<'_>) -> io::Result<()> {
        for h in self.held {
            let p = h.published.as_ref();
            each(&[
                Value::Text(&h.text),
                Value::Text(&h.environment),
                Value::Text(&h.learner),
                Value::Text(&h.figure),
                Value::real(Some(&h.measured)),
                Value::real(Some(&h.low)),
                Value::real(Some(&h.high)),
                Value::Text(&h.bound),
                Value::Text(&h.verdict.to_string().to_lowercase()),
                Value::real(p.map(|p| &p.mean)),
                Value::real(p.map(|p| &p.error)),
                Value::real(p.map(|p| &p.own_error)),
                Value::real(p.map(|p| &p.z)),
                Value::text(h.unlikely.as_deref()),
            ])?;
        }
        Ok(())
    }

    /// Writes a table.
    ///
    /// # Errors
    /// The writer failed, or the program was built without the form.
    pub fn write(&self, what: What, form: Form, out: &mut (dyn Write + Send)) -> io::Result<()> {
        match form {
            Form::Csv => self.csv(what, out),
            Form::Json => self.json(what, out),
            #[cfg(feature = "parquet")]
            Form::Parquet => parquet::write(self, what, out),
            #[cfg(not(feature = "parquet"))]
            Form::Parquet => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this program was built without parquet; build it with --features parquet, or export csv or json",
            )),
        }
    }

    fn csv(&self, what: What, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        // The writer's own error: a closed pipe must be told from others.
        let failed = |e: csv::Error| match e.into_kind() {
            csv::ErrorKind::Io(e) => e,
            other => io::Error::other(format!("{other:?}")),
        };
        csv.write_record(self.columns(what).iter().map(|c| &c.0)).map_err(failed)?;
        self.rows(what, &mut |row| {
            let words = row.iter().map(|v| match v {
                Value::Text(text) => (*text).to_owned(),
                Value::Count(n) => n.to_string(),
                Value::Real(x) => x.to_string(),
                Value::Flag(yes) => yes.to_string(),
                Value::Nothing => String::new(),
            });
            csv.write_record(words).map_err(failed)
        })?;
        csv.flush()
    }

    fn json(&self, what: What, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let columns = self.columns(what);
        let name = json!(self.spec.name);
        write!(out, "{{\"format\":\"corral-export\",\"version\":{VERSION},\"what\":\"{}\",", what.name())?;
        write!(out, "\"run\":{name},\"rows\":[")?;
        let mut first = true;
        self.rows(what, &mut |row| {
            let object: serde_json::Map<String, serde_json::Value> =
                columns.iter().zip(row).map(|((name, _), value)| (name.clone(), json!(value))).collect();
            out.write_all(if std::mem::take(&mut first) { b"\n" } else { b",\n" })?;
            serde_json::to_writer(&mut *out, &object)?;
            Ok(())
        })?;
        writeln!(out, "\n]}}")
    }

    /// Writes a table to a file whose name never holds half of it.
    ///
    /// # Errors
    /// As [`Export::write`]; what stood at `path` before is still there then.
    pub fn write_file(&self, what: What, form: Form, path: &Path) -> io::Result<()> {
        store::replace(path, |e| e, |out| self.write(what, form, out))
    }
}

/// The rounds and regrets of a cell's curve: its checkpoints up to where it ended, and its end.
fn curve(c: &CellRecord) -> impl Iterator<Item = (u64, f64)> + '_ {
    let points: Vec<(u64, f64)> = checkpoints(c.rounds)
        .into_iter()
        .zip(&c.curve)
        .map(|(t, r)| (t, *r))
        .filter(|(t, _)| *t <= c.played)
        .collect();
    let end =
        (points.last().is_none_or(|(t, _)| *t < c.played) && c.played > 0).then_some((c.played, c.regret));
    points.into_iter().chain(end)
}

fn bases(c: &CellRecord, row: Each<'_>) -> io::Result<()> {
    let Some(band) = &c.band else { return Ok(()) };
    for (i, name) in band.bases.iter().enumerate() {
        let benched = band.benched.iter().find(|b| b.1 == i);
        row(&[
            Value::Count(i as u64),
            Value::Text(name),
            band.plays.get(i).map_or(Value::Nothing, |n| Value::Count(*n)),
            Value::real(band.effective.get(i)),
            Value::real(band.max_weight.get(i)),
            Value::Count(band.range_changes.iter().filter(|change| change.1 == i).count() as u64),
            benched.map_or(Value::Nothing, |b| Value::Count(b.0)),
            Value::text(benched.map(|b| b.2.as_str())),
        ])?;
    }
    Ok(())
}

fn traces(c: &CellRecord, row: Each<'_>) -> io::Result<()> {
    let Some(band) = &c.band else { return Ok(()) };
    for (k, round) in checkpoints(c.rounds).into_iter().enumerate().take(band.probabilities.len()) {
        for (i, name) in band.bases.iter().enumerate() {
            let at = |trace: &[Vec<f64>]| trace.get(k).and_then(|row| row.get(i)).copied();
            row(&[
                Value::Count(round),
                Value::Count(i as u64),
                Value::Text(name),
                Value::real(at(&band.probabilities).as_ref()),
                Value::real(at(&band.rates).as_ref()),
                Value::real(at(&band.ranges).as_ref()),
            ])?;
        }
    }
    Ok(())
}
