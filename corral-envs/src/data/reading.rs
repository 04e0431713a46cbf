//! Rows of new files as contexts, by what was learned from a table.

use std::path::PathBuf;

use corral_core::Context;
use serde::{Deserialize, Serialize};

use super::dialect;
use super::encode::Schema;
use super::rows::{File, Format, Row, Rows};
use super::source::{at, resolve};
use crate::EnvError;

/// How rows become contexts: what was learned from a table, to be kept with a model.
#[derive(Serialize, Deserialize)]
pub struct Reading {
    schema: Schema,
    columns: Vec<String>,
    /// Columns in which a cell may be missing.
    allowed: Vec<bool>,
    actions: Vec<String>,
    separator: u8,
    header: bool,
    text: bool,
}

impl Reading {
    pub(super) fn new(
        schema: Schema,
        columns: Vec<String>,
        allowed: Vec<bool>,
        actions: Vec<String>,
        file: &File,
    ) -> Self {
        let text = file.format == Format::Csv;
        Self { schema, columns, allowed, actions, separator: file.separator, header: file.header, text }
    }

    /// The names of the actions.
    pub fn actions(&self) -> &[String] {
        &self.actions
    }

    /// The number of features of a context.
    pub fn features(&self) -> usize {
        self.schema.features()
    }

    /// Opens a file with the columns of the table, in any order; that of the answer may be missing. Cells may be separated by something
    /// else than in the table.
    ///
    /// # Errors
    /// It cannot be read, or a column of features is not there.
    pub fn open(&mut self, file: &str) -> Result<NewRows<'_>, EnvError> {
        let path = resolve(file);
        let opened = |separator: Option<u8>| {
            let file = dialect::file(&path, Format::Auto, separator, Some(self.header))
                .map_err(|trouble| trouble.into_error(&path))?;
            let rows = Rows::open(&file)?;
            let place = |(column, name): (usize, &String)| {
                self.schema.uses(column).then(|| rows.find(name)).transpose()
            };
            let places = self.columns.iter().enumerate().map(place).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, EnvError>((rows, file.remark(), places))
        };
        let own = opened(self.text.then_some(self.separator));
        // What is wrong with the table's separator is said, where no other fits.
        let (rows, remark, places) = own.or_else(|e| opened(None).map_err(|_| e))?;
        Ok(NewRows {
            path,
            reading: self,
            rows,
            places,
            read: Row::default(),
            row: Row::default(),
            unknown: 0,
            remark,
        })
    }
}

/// The rows of a new file.
pub struct NewRows<'a> {
    path: PathBuf,
    reading: &'a mut Reading,
    rows: Rows,
    /// Where each column of the table stands in the new file.
    places: Vec<Option<usize>>,
    read: Row,
    row: Row,
    unknown: u64,
    remark: Option<String>,
}

impl NewRows<'_> {
    /// Reads the next row into a context; false at the end.
    ///
    /// # Errors
    /// Names file, line and value.
    pub fn next(&mut self, context: &mut Context) -> Result<bool, EnvError> {
        if !self.rows.next(&mut self.read)? {
            return Ok(false);
        }
        let line = self.read.line;
        std::mem::swap(&mut self.row, &mut self.read);
        if !self.places.is_empty() {
            std::mem::swap(&mut self.row.cells, &mut self.read.cells);
            self.row.cells.clear();
            for (column, place) in self.places.iter().enumerate() {
                let cell = place.map_or(&b""[..], |place| &self.read.cells[place]);
                if place.is_some() && self.reading.schema.is_missing(cell) && !self.reading.allowed[column] {
                    let why = format!(
                        "column {:?}: a cell is missing, and none was in the table",
                        self.reading.columns[column]
                    );
                    return Err(at(&self.path, Some(line), why));
                }
                self.unknown += u64::from(place.is_some() && self.reading.schema.is_new(column, cell));
                self.row.cells.push_field(cell);
            }
        }
        self.reading.schema.encode(&self.path, &self.row, context.features_mut())?;
        Ok(true)
    }

    /// Cells with a category that the table did not have: they count as no category.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// That the file is not UTF-8, where it is not.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// The line of the row that was read last.
    pub fn line(&self) -> u64 {
        self.row.line
    }
}
