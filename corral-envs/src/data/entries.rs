//! The decisions of a log, one after the other: rows of a table, or lines of a decision log.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use corral_core::{Context, ContextShape};
use corral_log::{Ours, Reader, RowSource as _, Wants};

use super::cells::finite;
use super::encode::Schema;
use super::logged::LoggedParams;
use super::rows::{Row, Rows, Source};
use super::source::{Lines, at, open};
use crate::EnvError;
use crate::table::Table;

/// What a log says of one decision.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entry {
    /// What was played: the action's number among all.
    pub action: usize,
    /// What it cost.
    pub loss: f64,
    /// With which probability it was played.
    pub propensity: f64,
}

/// Actions have numbers below this.
pub const MOST_ACTIONS: usize = 65_536;

/// The columns of a table of decisions.
#[derive(Clone)]
pub struct Columns([Role; 3]);

/// A column, and the key that names it.
#[derive(Clone)]
struct Role {
    key: &'static str,
    name: String,
    place: usize,
}

impl Role {
    fn find(rows: &Rows, key: &'static str, name: &str) -> Result<Self, EnvError> {
        let place = rows.find_for(name, key)?;
        Ok(Self { key, name: name.to_owned(), place })
    }

    /// The number of its cell in a row, which `must` be one of those that are `allowed`.
    fn number(
        &self,
        path: &Path,
        row: &Row,
        must: &str,
        allowed: impl Fn(f64) -> bool,
    ) -> Result<f64, EnvError> {
        let Self { key, name, place } = self;
        let refuse = |why: String| at(path, Some(row.line), format!("the {key} (column {name:?}) {why}"));
        let text = String::from_utf8_lossy(&row.cells[*place]);
        if super::cells::missing(text.as_bytes(), false) {
            return Err(refuse(format!("must be {must}, but is missing")));
        }
        match finite(&text) {
            Ok(value) if allowed(value) => Ok(value),
            Ok(value) => Err(refuse(format!("must be {must}, but is {value}"))),
            Err(_) => Err(refuse(format!("must be {must}, but is {text:?}"))),
        }
    }
}

impl Columns {
    /// Finds them.
    pub fn find(rows: &Rows, params: &LoggedParams) -> Result<Self, EnvError> {
        Ok(Self([
            Role::find(rows, "action", &params.action)?,
            Role::find(rows, "reward", &params.reward)?,
            Role::find(rows, "propensity", &params.propensity)?,
        ]))
    }

    /// Reads a row.
    pub fn read(&self, path: &Path, row: &Row) -> Result<Entry, EnvError> {
        let Self([action, reward, propensity]) = self;
        let number = |x: f64| x >= 0.0 && x < MOST_ACTIONS as f64 && x.fract() == 0.0;
        let action = action.number(path, row, "a whole number from 0 to 65535", number)?;
        let reward = reward.number(path, row, "in [0, 1]", |x| (0.0..=1.0).contains(&x))?;
        let propensity = propensity.number(path, row, "in (0, 1]", |x| x > 0.0 && x <= 1.0)?;
        Ok(Entry { action: action as usize, loss: 1.0 - reward, propensity })
    }
}

/// The decisions of a log.
pub enum Entries {
    /// Of a table.
    Table {
        /// Its rows.
        source: Box<Source>,
        /// Its columns of features.
        schema: Box<Schema>,
        /// Its other columns.
        columns: Columns,
    },
    /// Of a decision log.
    Records(Box<Records>),
}

impl Entries {
    /// Reads the next decision, and its features into `context`; `None` at the end.
    pub fn advance(&mut self, context: &mut Context) -> Result<Option<Entry>, EnvError> {
        match self {
            Self::Table { source, schema, columns } => {
                if !source.advance(|row| schema.drops(row))? {
                    return Ok(None);
                }
                let entry = columns.read(source.path(), &source.row)?;
                schema.encode(source.path(), &source.row, context.features_mut())?;
                Ok(Some(entry))
            }
            Self::Records(records) => records.advance(context),
        }
    }

    /// The line of the decision that was read last.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Table { source, .. } => Some(source.row.line),
            Self::Records(records) => Some(records.lines.reader().lines()),
        }
    }

    /// What contexts look like.
    pub fn shape(&self) -> ContextShape {
        match self {
            Self::Table { schema, .. } => {
                ContextShape { features: schema.features(), ..ContextShape::default() }
            }
            Self::Records(records) => records.shape,
        }
    }

    /// What is known of the whole.
    pub fn table(&self) -> &Table {
        match self {
            Self::Table { schema, .. } => &schema.table,
            Self::Records(records) => &records.table,
        }
    }

    /// The same, to be completed.
    pub fn table_mut(&mut self) -> &mut Table {
        match self {
            Self::Table { schema, .. } => &mut schema.table,
            Self::Records(records) => &mut records.table,
        }
    }
}

/// The lines of a decision log that can be played: with an outcome and a propensity, and made by a policy.
pub struct Records {
    path: PathBuf,
    lines: Ours<Lines>,
    row: corral_log::Row,
    repeat: bool,
    played: bool,
    shape: ContextShape,
    table: Table,
}

/// Whether a file holds lines of JSON.
pub fn is_records(path: &Path) -> Result<bool, EnvError> {
    let mut lines = open(path)?;
    let head = lines.fill_buf().map_err(|e| super::source::broken(path, None, &e))?;
    Ok(head.trim_ascii_start().first() == Some(&b'{'))
}

impl Records {
    /// Reads a log from its first line on; rows of actions are features where lines have them.
    pub fn open(path: &Path, repeat: bool) -> Result<Self, EnvError> {
        let table = Table { file: path.display().to_string(), ..Table::default() };
        let lines = Self::lines(path)?;
        let shape = ContextShape::default();
        Ok(Self {
            path: path.to_owned(),
            lines,
            row: corral_log::Row::default(),
            repeat,
            played: false,
            shape,
            table,
        })
    }

    fn lines(path: &Path) -> Result<Ours<Lines>, EnvError> {
        let wants = Wants { context: true, ..Wants::default() };
        Ok(Ours::new(Reader::new(open(path)?).strict(true), wants))
    }

    /// The shape of the first context is that of all.
    pub fn learn_shape(&mut self, context: &Context) {
        self.shape =
            ContextShape { features: context.features().len(), row_features: context.row_dim(), cells: None };
    }

    fn advance(&mut self, context: &mut Context) -> Result<Option<Entry>, EnvError> {
        loop {
            let read = self.lines.next(&mut self.row);
            if !read.map_err(|e| at(&self.path, None, e.to_string()))? {
                if !(self.repeat && self.played) {
                    return Ok(None);
                }
                self.lines = Self::lines(&self.path)?;
                self.played = false;
                continue;
            }
            let row = &self.row;
            let (Some(reward), Some(propensity), false) = (row.reward, row.propensity, row.forced) else {
                continue;
            };
            self.played = true;
            let line = Some(self.lines.reader().lines());
            if !row.seen(context) {
                let why =
                    "the numbers of the offered actions do not increase, or are not those of the context";
                return Err(at(&self.path, line, why));
            }
            return Ok(Some(Entry { action: row.action as usize, loss: 1.0 - reward, propensity }));
        }
    }
}
