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

/// The columns of a table of decisions.
#[derive(Clone, Copy)]
pub struct Columns {
    action: usize,
    reward: usize,
    propensity: usize,
}

impl Columns {
    /// Finds them.
    pub fn find(rows: &Rows, params: &LoggedParams) -> Result<Self, EnvError> {
        Ok(Self {
            action: rows.find(&params.action)?,
            reward: rows.find(&params.reward)?,
            propensity: rows.find(&params.propensity)?,
        })
    }

    /// Reads a row.
    pub fn read(&self, path: &Path, row: &Row) -> Result<Entry, EnvError> {
        let number = |column: usize| {
            let text = String::from_utf8_lossy(&row.cells[column]);
            finite(&text).map_err(|why| at(path, Some(row.line), why))
        };
        let check = |holds: bool, what: &str, value: f64, must: &str| match holds {
            true => Ok(()),
            false => Err(at(path, Some(row.line), format!("the {what} must be {must}, but is {value}"))),
        };
        let (action, reward, propensity) =
            (number(self.action)?, number(self.reward)?, number(self.propensity)?);
        let whole = action >= 0.0 && action.fract() == 0.0 && action < 65_536.0;
        check(whole, "action", action, "a whole number from 0 to 65535")?;
        check((0.0..=1.0).contains(&reward), "reward", reward, "in [0, 1]")?;
        check(propensity > 0.0 && propensity <= 1.0, "propensity", propensity, "in (0, 1]")?;
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
