//! A table as Parquet: every column may be null, rows in groups.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// Rows that are held until they are written.
const ROWS_IN_A_GROUP: usize = 100_000;
/// Numbers of lists that are held until they are written: 64 MB.
const ITEMS_IN_A_GROUP: usize = 8 << 20;

/// One value of a row, `None` where there is none; without a value it says what a column holds.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    /// Words.
    Text(Option<&'a str>),
    /// A whole number.
    Count(Option<u64>),
    /// A number.
    Real(Option<f64>),
    /// Yes or no.
    Flag(Option<bool>),
    /// Whole numbers.
    Counts(Option<&'a [u32]>),
    /// Numbers.
    Reals(Option<&'a [f64]>),
}

/// The values of one column that are there, and which ones are.
#[derive(Debug, Default)]
struct Column {
    texts: Vec<ByteArray>,
    counts: Vec<i64>,
    reals: Vec<f64>,
    flags: Vec<bool>,
    /// The definition level of each value: 0 where it is missing; in a list 1 where it is empty, and 2 for each item.
    there: Vec<i16>,
    /// The repetition level of each value of a list: 0 for the first.
    again: Vec<i16>,
}

impl Column {
    fn push(&mut self, cell: Cell<'_>) {
        let pushed = match cell {
            Cell::Text(text) => text.map(|text| self.texts.push(ByteArray::from(text))),
            Cell::Count(n) => n.map(|n| self.counts.push(n as i64)),
            Cell::Real(x) => x.map(|x| self.reals.push(x)),
            Cell::Flag(yes) => yes.map(|yes| self.flags.push(yes)),
            Cell::Counts(list) => {
                self.counts.extend(list.into_iter().flatten().map(|n| i64::from(*n)));
                return self.list(list.map(<[u32]>::len));
            }
            Cell::Reals(list) => {
                self.reals.extend(list.into_iter().flatten());
                return self.list(list.map(<[f64]>::len));
            }
        };
        self.there.push(i16::from(pushed.is_some()));
    }

    fn list(&mut self, items: Option<usize>) {
        let Some(items) = items.filter(|n| *n > 0) else {
            self.there.push(i16::from(items.is_some()));
            self.again.push(0);
            return;
        };
        self.there.resize(self.there.len() + items, 2);
        self.again.push(0);
        self.again.resize(self.there.len(), 1);
    }
}

/// Writes a table row by row.
pub struct Columns<W: Write + Send> {
    file: SerializedFileWriter<W>,
    kinds: Vec<Cell<'static>>,
    group: Vec<Column>,
    rows: usize,
}

impl<W: Write + Send> Columns<W> {
    /// A table with these columns.
    pub fn new<N: std::fmt::Display>(to: W, columns: &[(N, Cell<'static>)]) -> io::Result<Self> {
        let list = |name: &N, kind: &str| {
            format!("optional group {name} (LIST) {{ repeated group list {{ required {kind} element; }} }} ")
        };
        let fields = columns.iter().map(|(name, kind)| match kind {
            Cell::Text(_) => format!("optional binary {name} (UTF8); "),
            Cell::Count(_) => format!("optional int64 {name}; "),
            Cell::Real(_) => format!("optional double {name}; "),
            Cell::Flag(_) => format!("optional boolean {name}; "),
            Cell::Counts(_) => list(name, "int64"),
            Cell::Reals(_) => list(name, "double"),
        });
        let schema = format!("message corral {{ {} }}", fields.collect::<String>());
        let schema = parse_message_type(&schema).map_err(io::Error::other)?;
        let file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(WriterProperties::default()))
            .map_err(io::Error::other)?;
        let kinds: Vec<_> = columns.iter().map(|(_, kind)| *kind).collect();
        Ok(Self { file, group: kinds.iter().map(|_| Column::default()).collect(), kinds, rows: 0 })
    }

    /// Writes a row: a value for each column.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> io::Result<()> {
        self.group.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        self.rows += 1;
        let items: usize = self.group.iter().map(|column| column.again.len()).sum();
        if self.rows == ROWS_IN_A_GROUP || items > ITEMS_IN_A_GROUP {
            self.flush().map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let mut out = self.file.next_row_group()?;
        for (kind, column) in self.kinds.iter().zip(&mut self.group) {
            let Some(mut to) = out.next_column()? else { break };
            let Column { texts, counts, reals, flags, there, again } = std::mem::take(column);
            let (there, again) = (Some(&there[..]), (!again.is_empty()).then_some(&again[..]));
            match kind {
                Cell::Text(_) => to.typed::<ByteArrayType>().write_batch(&texts, there, again)?,
                Cell::Count(_) | Cell::Counts(_) => {
                    to.typed::<Int64Type>().write_batch(&counts, there, again)?
                }
                Cell::Real(_) | Cell::Reals(_) => {
                    to.typed::<DoubleType>().write_batch(&reals, there, again)?
                }
                Cell::Flag(_) => to.typed::<BoolType>().write_batch(&flags, there, again)?,
            };
            to.close()?;
        }
        out.close()?;
        self.rows = 0;
        Ok(())
    }

    /// Ends the table; `about` is what it says of itself.
    pub fn close(mut self, about: &[(&str, String)]) -> io::Result<()> {
        let mut close = || -> Result<()> {
            if self.rows > 0 {
                self.flush()?;
            }
            let about = about.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
            about.for_each(|pair| self.file.append_key_value_metadata(pair));
            self.file.finish().map(|_| ())
        };
        close().map_err(io::Error::other)
    }
}
