//! A decision log as a file: which format it has, and its rows.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use corral_log::{Csv, Dsjson, Ours, Reader, Scale, Source, TableError, Wants, actions_of};
use flate2::read::MultiGzDecoder;

use super::Request;
use crate::choice::Choice;

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Our lines of JSON.
    Corral,
    /// Vowpal Wabbit's.
    Dsjson,
    /// A table.
    Csv,
    /// A table in Parquet, where the program was built with it.
    Parquet,
}

impl Choice for Form {
    const ALL: &[(Self, &str, &str)] = &[
        (Self::Corral, "corral", "Our lines of JSON (docs/log-format.md)"),
        (Self::Dsjson, "dsjson", "Vowpal Wabbit's lines of JSON"),
        (Self::Csv, "csv", "A table with the columns action, propensity, reward"),
        (Self::Parquet, "parquet", "A table in Parquet, where the program was built with it"),
    ];
}

/// What is said where Parquet is asked for and not there.
pub const WITHOUT_PARQUET: &str =
    "this program was built without parquet; build it with --features parquet, or use csv";

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be read.
    #[error("{0}")]
    File(String),
    /// It is a table without a column that is needed.
    #[error("{file}: {why}")]
    Table {
        /// The file.
        file: String,
        /// What is missing.
        why: TableError,
    },
    /// It is Parquet, and the program cannot read it.
    #[error("{WITHOUT_PARQUET}")]
    Parquet,
    /// The range is empty.
    #[error("a range is low,high with low below high, but is {0},{1}")]
    Range(f64, f64),
}

/// Opens the log at `path`, plain or gzip.
///
/// # Errors
/// It cannot be read, or is a table without the columns of a log.
pub fn open(path: &Path, request: &Request, wants: Wants) -> Result<Box<dyn Source>, OpenError> {
    let scale = request.range.map(|(low, high)| Scale::rewards(low, high));
    if let Some(scale) = scale {
        scale.check().map_err(|_| OpenError::Range(scale.low, scale.high))?;
    }
    let bytes = || bytes(path).map_err(|e| OpenError::File(format!("{}: {e}", path.display())));
    let form = match request.form {
        Some(form) => form,
        None => found(bytes()?),
    };
    let lines = || -> Result<_, OpenError> {
        let reader = Reader::new(bytes()?).strict(request.strict);
        Ok(if request.chain { reader.checked(0) } else { reader })
    };
    Ok(match form {
        Form::Corral => {
            let ours = Ours::new(lines()?, wants).scaled(scale);
            Box::new(match request.window {
                Some(window) => ours.waiting(window),
                None => ours,
            })
        }
        Form::Dsjson => Box::new(Dsjson::new(lines()?, wants, scale)),
        Form::Csv => {
            let table = |why| OpenError::Table { file: path.display().to_string(), why };
            let actions = actions_of(bytes()?).map_err(table)?;
            Box::new(Csv::new(bytes()?, &wants, actions, scale, request.strict).map_err(table)?)
        }
        #[cfg(feature = "parquet")]
        Form::Parquet => {
            let file = File::open(path).map_err(|e| OpenError::File(format!("{}: {e}", path.display())))?;
            let rows = corral_log::parquet::ParquetIn::new(file, wants, scale, request.strict);
            Box::new(rows.map_err(|why| OpenError::Table { file: path.display().to_string(), why })?)
        }
        #[cfg(not(feature = "parquet"))]
        Form::Parquet => return Err(OpenError::Parquet),
    })
}

/// The bytes of a file; gzip is recognised by its first bytes.
///
/// # Errors
/// It cannot be read.
pub fn bytes(path: &Path) -> io::Result<BufReader<Box<dyn Read>>> {
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    (&file).take(2).read_to_end(&mut magic)?;
    file.rewind()?;
    let from: Box<dyn Read> =
        if magic == [0x1f, 0x8b] { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    Ok(BufReader::with_capacity(1 << 17, from))
}

/// The format of a log, from how it begins.
fn found(from: impl BufRead) -> Form {
    let mut head = Vec::new();
    // What cannot be read now cannot be read later, and is said then.
    let _ = from.take(4096).read_to_end(&mut head);
    let text = String::from_utf8_lossy(&head);
    match text.trim_start() {
        t if t.starts_with("PAR1") => Form::Parquet,
        t if t.starts_with("{\"kind\"") => Form::Corral,
        t if t.starts_with('{') && t.contains("\"_label_") => Form::Dsjson,
        t if t.starts_with('{') => Form::Corral,
        _ => Form::Csv,
    }
}
