//! Results as tidy tables: one row for one observation, one column for one variable. Columns and meaning are written
//! down in `docs/results-format.md`.

use std::io::{self, Write};
use std::path::Path;

use corral_envs::data::Counts;
use serde::Serialize;
use serde_json::json;

use crate::choice::Choice;
use crate::claims::{Held, Published};
use crate::experience::{Lesson, alone, lessons};
use crate::findings::Findings;
use crate::harmless;
use crate::run::{BandRecord, CellRecord, checkpoints};
use crate::spec::{LearnerSpec, Level, Swept, sweep_column};
use crate::standing::{Placed, Standing};
use crate::store;
use crate::summary::{SummaryRow, number};
use Value::{Count, Flag, Real, Text};

#[cfg(feature = "parquet")]
mod parquet;

/// The version of the tables. Columns may be added at the end without another one; a column that goes, or means
/// something else, makes another.
pub const VERSION: u32 = 1;

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// One row per learner and environment: means, intervals, and the test against the best
    Summary,
    /// One row per pair of learners in an environment: their difference and its p-value
    Tests,
    /// One row per base alone: what it says to a band with `experience`
    Experience,
}

impl Choice for What {
    const ALL: &[(Self, &str, &str)] = &[
        (Self::Cells, "cells", "One row per cell: its regret and its loss"),
        (Self::Curves, "curves", "One row per cell and checkpoint: regret up to that round"),
        (Self::Bases, "bases", "One row per cell and base of a band: plays, weights, range changes"),
        (Self::Traces, "traces", "One row per traced cell, checkpoint and base: probability, rate, range"),
        (Self::Claims, "claims", "One row per claim and learner: measured, interval, verdict"),
        (
            Self::Summary,
            "summary",
            "One row per learner and environment: means, intervals, the test against the best",
        ),
        (
            Self::Tests,
            "tests",
            "One row per pair of learners in an environment: their difference and its p-value",
        ),
        (Self::Experience, "experience", "One row per base alone: what it says to a band with `experience`"),
    ];
}

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Text with a header line
    Csv,
    /// One object with a list of rows
    Json,
    /// A table for a paper, in LaTeX with booktabs
    Latex,
    /// A table in Markdown
    Md,
    /// A list of tables to put into a spec
    Toml,
    /// Parquet, where the program was built with it
    Parquet,
}

impl Choice for Form {
    const ALL: &[(Self, &str, &str)] = &[
        (Self::Csv, "csv", "Text with a header line"),
        (Self::Json, "json", "One object with a list of rows"),
        (Self::Latex, "latex", "A table for a paper, in LaTeX with booktabs"),
        (Self::Md, "md", "A table in Markdown"),
        (Self::Toml, "toml", "A list of tables to put into a spec"),
        (Self::Parquet, "parquet", "Parquet, where the program was built with it"),
    ];
}

/// One value of a row, `None` where there is none; without a value it says what a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value<'a> {
    /// Words.
    Text(Option<&'a str>),
    /// A whole number.
    Count(Option<u64>),
    /// A number; one that is not finite is written as none.
    Real(Option<f64>),
    /// Yes or no.
    Flag(Option<bool>),
}

/// The name of a column, and its value in a row.
pub type Field<'a> = (&'static str, Value<'a>);

fn real(x: Option<f64>) -> Value<'static> {
    Real(x.filter(|x| x.is_finite()))
}

fn values(fields: Vec<Field<'_>>) -> Vec<Value<'_>> {
    fields.into_iter().map(|(_, value)| value).collect()
}

/// The values of swept keys, as their columns have them.
fn levels<'a>(swept: &'a [(Value<'static>, Option<Level>)]) -> Vec<Value<'a>> {
    let value = |(kind, level): &'a (Value<'static>, Option<Level>)| match kind {
        Real(_) => Real(level.as_ref().and_then(|l| l.number)),
        _ => Text(level.as_ref().map(|l| &*l.text)),
    };
    swept.iter().map(value).collect()
}

/// What every row about a cell begins with. Like all that follow, it is the columns where there is no row.
fn cell(c: Option<&CellRecord>) -> Vec<Field<'_>> {
    vec![
        ("cell", Count(c.map(|c| c.cell))),
        ("rounds", Count(c.map(|c| c.rounds))),
        ("environment", Text(c.map(|c| &*c.environment))),
        ("learner", Text(c.map(|c| &*c.learner))),
        ("seed", Count(c.map(|c| c.seed))),
    ]
}

/// What came of a cell, and whether its learner is a base alone.
fn outcome(c: Option<&CellRecord>, alone: Option<bool>) -> Vec<Field<'_>> {
    vec![
        ("alone", Flag(alone)),
        ("played", Count(c.map(|c| c.played))),
        ("seen", Count(c.map(|c| c.seen))),
        ("regret", real(c.map(|c| c.regret))),
        ("loss", real(c.map(|c| c.loss))),
        ("failed", Text(c.and_then(|c| c.failed.as_deref()))),
    ]
}

/// A point of a curve.
fn point(p: Option<(u64, f64)>) -> Vec<Field<'static>> {
    vec![("round", Count(p.map(|p| p.0))), ("regret", real(p.map(|p| p.1)))]
}

/// A base of a band.
fn base(b: Option<(&BandRecord, usize)>) -> Vec<Field<'_>> {
    let at = |of: fn(&BandRecord) -> &[f64]| real(b.and_then(|(band, i)| of(band).get(i).copied()));
    let changes = |(band, i): (&BandRecord, usize)| band.range_changes.iter().filter(|c| c.1 == i).count();
    let benched = b.and_then(|(band, i)| band.benched.iter().find(|b| b.1 == i));
    vec![
        ("base", Count(b.map(|(_, i)| i as u64))),
        ("name", Text(b.map(|(band, i)| &*band.bases[i]))),
        ("plays", Count(b.and_then(|(band, i)| band.plays.get(i).copied()))),
        ("effective_samples", at(|band| &band.effective)),
        ("max_weight", at(|band| &band.max_weight)),
        ("range_changes", Count(b.map(|b| changes(b) as u64))),
        ("benched_round", Count(benched.map(|b| b.0))),
        ("benched_why", Text(benched.map(|b| &*b.2))),
    ]
}

/// A base of a band at a checkpoint: its number, and the round.
fn trace(t: Option<(&BandRecord, usize, (usize, u64))>) -> Vec<Field<'_>> {
    let at = |of: fn(&BandRecord) -> &[Vec<f64>]| {
        real(t.and_then(|(band, i, (k, _))| of(band).get(k)?.get(i).copied()))
    };
    vec![
        ("round", Count(t.map(|(.., (_, round))| round))),
        ("base", Count(t.map(|(_, i, _)| i as u64))),
        ("name", Text(t.map(|(band, i, _)| &*band.bases[i]))),
        ("probability", at(|band| &band.probabilities)),
        ("rate", at(|band| &band.rates)),
        ("range", at(|band| &band.ranges)),
    ]
}

/// A claim.
fn claim(h: Option<&Held>) -> Vec<Field<'_>> {
    let published = |of: fn(&Published) -> f64| real(h.and_then(|h| h.published.as_ref()).map(of));
    vec![
        ("claim", Text(h.map(|h| &*h.text))),
        ("environment", Text(h.map(|h| &*h.environment))),
        ("learner", Text(h.map(|h| &*h.learner))),
        ("figure", Text(h.map(|h| &*h.figure))),
        ("measured", real(h.map(|h| h.measured))),
        ("low", real(h.map(|h| h.low))),
        ("high", real(h.map(|h| h.high))),
        ("bound", Text(h.map(|h| &*h.bound))),
        ("verdict", Text(h.map(|h| h.verdict.word()))),
        ("published", published(|p| p.mean)),
        ("published_error", published(|p| p.error)),
        ("own_error", published(|p| p.own_error)),
        ("z", published(|p| p.z)),
        ("unlikely", Text(h.and_then(|h| h.unlikely.as_deref()))),
    ]
}

/// A learner in an environment, and where it stands there.
fn summary<'a>(r: Option<(&'a SummaryRow, Option<(&'a Standing, &'a Placed)>)>) -> Vec<Field<'a>> {
    let row = r.map(|r| r.0);
    let placed = r.and_then(|r| r.1);
    let sample = row.and_then(|r| r.sample.as_ref());
    let chance = row.and_then(|r| r.chance.as_ref());
    // In a table seeds play the same rows: an interval over them would be one of coins.
    let half = row.filter(|r| r.chance.is_none()).map(|r| r.regret.half_width(r.seeds));
    let over_rows = row.and_then(SummaryRow::over_rows_95);
    let errors = row.zip(chance).filter(|(_, chance)| chance.counts == Counts::Errors);
    let bound = |sign: f64| real(row.zip(half).map(|(r, half)| r.regret.mean + sign * half));
    vec![
        ("environment", Text(row.map(|r| &*r.environment))),
        ("rounds", Count(row.map(|r| r.rounds))),
        ("learner", Text(row.map(|r| &*r.label))),
        ("alone", Flag(row.map(|r| r.alone))),
        ("seeds", Count(row.map(|r| r.seeds))),
        ("regret", real(row.map(|r| r.regret.mean))),
        ("low", bound(-1.0)),
        ("high", bound(1.0)),
        ("worst", real(row.map(|r| r.regret.max))),
        ("loss_per_round", real(row.map(|r| r.loss.mean))),
        ("to_best_base", real(row.and_then(|r| r.ratio_to_best_base))),
        ("above_best", real(placed.map(|(_, p)| p.above_best))),
        ("p", real(placed.filter(|(s, _)| s.over != "nothing").map(|(_, p)| p.p))),
        ("tested_over", Text(placed.map(|(s, _)| s.over))),
        ("rows", Count(sample.map(|s| s.rows))),
        ("error_rate", real(errors.map(|(r, _)| r.loss.mean))),
        ("loss_low", real(over_rows.map(|(low, _)| low))),
        ("loss_high", real(over_rows.map(|(_, high)| high))),
        ("always", Text(chance.map(|c| &*c.class))),
        ("always_loss", real(chance.map(|c| c.always))),
        ("random_loss", real(chance.map(|c| c.random))),
    ]
}

/// Two learners in an environment.
fn test<'a>(t: Option<(&'a Standing, (&'a Placed, &'a Placed, f64))>) -> Vec<Field<'a>> {
    vec![
        ("environment", Text(t.map(|(s, _)| &*s.environment))),
        ("rounds", Count(t.map(|(s, _)| s.rounds))),
        ("figure", Text(t.map(|(s, _)| s.figure))),
        ("tested_over", Text(t.map(|(s, _)| s.over))),
        ("better", Text(t.map(|(_, (a, ..))| &*a.label))),
        ("than", Text(t.map(|(_, (_, b, _))| &*b.label))),
        ("difference", real(t.map(|(_, (a, b, _))| b.mean - a.mean))),
        ("p", real(t.filter(|(s, _)| s.over != "nothing").map(|(_, (.., p))| p))),
    ]
}

/// What a run says of a base.
fn lesson(l: Option<&Lesson>) -> Vec<Field<'_>> {
    vec![
        ("base", Text(l.map(|l| &*l.base))),
        ("relative", real(l.map(|l| l.relative))),
        ("plays", real(l.map(|l| l.plays))),
    ]
}

/// How a table for people is written.
struct Typeset {
    begin: &'static str,
    between: &'static str,
    end: &'static str,
    foot: &'static str,
    /// What stands above the rows: which columns are to the right, and the line of names.
    head: fn(&[bool], &str) -> String,
    /// A text without what has a meaning there.
    text: fn(&str) -> String,
}

const LATEX: Typeset = Typeset {
    begin: "",
    between: " & ",
    end: r" \\",
    foot: "\\bottomrule\n\\end{tabular}\n",
    head: |right, names| {
        let columns: String = right.iter().map(|right| if *right { 'r' } else { 'l' }).collect();
        format!(
            "% needs \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{names}\\midrule\n"
        )
    },
    text: |text| {
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '\\' => out.push_str("\\textbackslash{}"),
                '~' => out.push_str("\\textasciitilde{}"),
                '^' => out.push_str("\\textasciicircum{}"),
                '#' | '$' | '%' | '&' | '_' | '{' | '}' => out.extend(['\\', c]),
                c => out.push(c),
            }
        }
        out
    },
};

const MARKDOWN: Typeset = Typeset {
    begin: "| ",
    between: " | ",
    end: " |",
    foot: "",
    head: |right, names| {
        let rule: Vec<&str> = right.iter().map(|right| if *right { "---:" } else { "---" }).collect();
        format!("{names}| {} |\n", rule.join(" | "))
    },
    text: |text| text.replace('|', "\\|").replace('\n', " "),
};

/// What came of a spec, to be exported.
#[derive(Debug, Clone, Copy)]
pub struct Export<'a>(pub &'a Findings);

/// Takes rows one by one.
pub type Each<'e> = &'e mut dyn FnMut(&[Value<'_>]) -> io::Result<()>;

impl What {
    /// The table's name, as the command line takes it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(what, ..)| *what == self).map_or("", |(_, name, _)| name)
    }

    /// The columns that the table always has.
    pub fn columns(self) -> Vec<Field<'static>> {
        let own = match self {
            Self::Cells => outcome(None, None),
            Self::Curves => point(None),
            Self::Bases => base(None),
            Self::Traces => trace(None),
            Self::Claims => return claim(None),
            Self::Summary => return summary(None),
            Self::Tests => return test(None),
            Self::Experience => return lesson(None),
        };
        [cell(None), own].concat()
    }
}

impl Export<'_> {
    /// The table's columns: those it always has, and one for every swept key.
    fn columns(&self, what: What) -> Vec<(String, Value<'static>)> {
        let fixed = what.columns().into_iter().map(|(name, kind)| (name.to_owned(), kind));
        let of_cells = !matches!(what, What::Claims | What::Tests | What::Experience);
        let swept = if of_cells { self.0.spec.swept() } else { Vec::new() };
        let swept = swept.into_iter().map(|key| (sweep_column(key), self.kind(key)));
        fixed.chain(swept).collect()
    }

    /// Numbers, where every value of a swept key is one.
    fn kind(&self, key: &str) -> Value<'static> {
        let worlds = self.0.spec.environments.iter().flat_map(|e| &e.swept);
        let mut values = worlds
            .chain(self.0.spec.learners.iter().flat_map(|l| &l.swept))
            .filter(|s| s.key == key || s.name == key)
            .map(Swept::level);
        let numbers = values.all(|level| level.number.is_some());
        if numbers { Real(None) } else { Text(None) }
    }

    /// The values of the swept keys in a cell, and of which kind those of each key are.
    fn swept(&self, environment: &str, learner: &str) -> Vec<(Value<'static>, Option<Level>)> {
        let setting = self.0.spec.setting(environment, learner);
        let value = |key: &str| setting.as_ref()?.value(key).cloned();
        self.0.spec.swept().into_iter().map(|key| (self.kind(key), value(key))).collect()
    }

    /// Gives the rows of a table, in the order of cells, rounds and bases.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn rows(&self, what: What, each: Each<'_>) -> io::Result<()> {
        match what {
            What::Claims => return self.0.held.iter().try_for_each(|held| each(&values(claim(Some(held))))),
            What::Summary => {
                return self.0.rows.iter().try_for_each(|row| {
                    let swept = self.swept(&row.environment, &row.label);
                    let own = values(summary(Some((row, self.0.standing(row)))));
                    each(&[own, levels(&swept)].concat())
                });
            }
            What::Tests => {
                let pairs = self.0.standings.iter().flat_map(|s| s.tests().map(move |pair| (s, pair)));
                return pairs.into_iter().try_for_each(|pair| each(&values(test(Some(pair)))));
            }
            What::Experience => {
                let all = lessons(&alone(&self.0.rows));
                return all.iter().try_for_each(|one| each(&values(lesson(Some(one)))));
            }
            What::Cells | What::Curves | What::Bases | What::Traces => {}
        }
        let mut swept = Vec::new();
        let mut before: Option<(&str, &str)> = None;
        for c in &self.0.cells {
            // Seeds of one learner follow each other.
            let pair = (c.environment.as_str(), c.learner.as_str());
            if before.replace(pair) != Some(pair) {
                swept = self.swept(pair.0, pair.1);
            }
            let (cell, swept) = (values(cell(Some(c))), levels(&swept));
            let mut row = |own: Vec<Field<'_>>| each(&[&*cell, &values(own), &swept].concat());
            match what {
                What::Cells => row(outcome(Some(c), Some(self.is_alone(&c.learner))))?,
                What::Curves => curve(c).try_for_each(|p| row(point(Some(p))))?,
                What::Bases => bases(c).try_for_each(|b| row(base(Some(b))))?,
                What::Traces => {
                    let traced = c.band.as_ref().map_or(0, |band| band.probabilities.len());
                    for at in checkpoints(c.rounds).into_iter().enumerate().take(traced) {
                        bases(c).try_for_each(|(band, i)| row(trace(Some((band, i, at)))))?;
                    }
                }
                What::Claims | What::Summary | What::Tests | What::Experience => {}
            }
        }
        Ok(())
    }

    fn is_alone(&self, label: &str) -> bool {
        let named = self.0.spec.learners.iter().find(|l| l.label == label);
        named.is_some_and(|l| matches!(l.learner, LearnerSpec::Base(_)))
    }

    /// Writes a table.
    ///
    /// # Errors
    /// The writer failed, or the program was built without the form.
    pub fn write(&self, what: What, form: Form, out: &mut (dyn Write + Send)) -> io::Result<()> {
        match form {
            Form::Csv => self.csv(what, out),
            Form::Json => self.json(what, out),
            Form::Latex => self.typeset(what, out, &LATEX),
            Form::Md => self.typeset(what, out, &MARKDOWN),
            Form::Toml => self.toml(what, out),
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
                Text(text) => text.map(|text| harmless::cell(text).into_owned()),
                Count(n) => n.map(|n| n.to_string()),
                Real(x) => x.map(|x| x.to_string()),
                Flag(yes) => yes.map(|yes| yes.to_string()),
            });
            let words = words.map(Option::unwrap_or_default);
            csv.write_record(words).map_err(failed)
        })?;
        csv.flush()
    }

    /// A table for people: numbers to four figures.
    fn typeset(&self, what: What, out: &mut (dyn Write + Send), style: &Typeset) -> io::Result<()> {
        let columns = self.columns(what);
        let line =
            |cells: Vec<String>| format!("{}{}{}\n", style.begin, cells.join(style.between), style.end);
        let right = |(_, kind): &(String, Value<'_>)| matches!(kind, Count(_) | Real(_));
        out.write_all(
            (style.head)(
                &columns.iter().map(right).collect::<Vec<_>>(),
                &line(columns.iter().map(|(name, _)| (style.text)(name)).collect()),
            )
            .as_bytes(),
        )?;
        self.rows(what, &mut |row| {
            let cells = row.iter().map(|v| match v {
                Text(text) => text.map(|text| (style.text)(text)),
                Count(n) => n.map(|n| n.to_string()),
                Real(x) => x.map(figures),
                Flag(yes) => yes.map(|yes| yes.to_string()),
            });
            out.write_all(line(cells.map(|c| c.unwrap_or_else(|| "-".to_owned())).collect()).as_bytes())
        })?;
        out.write_all(style.foot.as_bytes())
    }

    fn toml(&self, what: What, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let columns = self.columns(what);
        writeln!(out, "{} = [", what.name())?;
        self.rows(what, &mut |row| {
            let value = |value: &Value<'_>| match value {
                Text(text) => text.map(toml::Value::from),
                Count(n) => n.and_then(|n| i64::try_from(n).ok()).map(toml::Value::from),
                Real(x) => x.map(toml::Value::from),
                Flag(yes) => yes.map(toml::Value::from),
            };
            let pairs = columns.iter().zip(row).filter_map(|((name, _), v)| Some((name, value(v)?)));
            let pairs: Vec<_> = pairs.map(|(name, value)| format!("{name} = {value}")).collect();
            writeln!(out, "  {{ {} }},", pairs.join(", "))
        })?;
        writeln!(out, "]")
    }

    fn json(&self, what: What, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let columns = self.columns(what);
        let name = json!(self.0.spec.name);
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

/// A number with about four figures; a small one keeps two.
fn figures(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        a if a < 1e-5 => format!("{x:.1e}"),
        a if a < 1e-2 => {
            let places = 1 - a.log10().floor() as i32;
            let text = format!("{x:.0$}", places.max(0) as usize);
            text.trim_end_matches('0').to_owned()
        }
        _ => number(x),
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

/// The bases of a cell's band.
fn bases(c: &CellRecord) -> impl Iterator<Item = (&BandRecord, usize)> {
    c.band.iter().flat_map(|band| (0..band.bases.len()).map(move |i| (band, i)))
}
