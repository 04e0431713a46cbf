//! A decision log as a file: which format it has, and its rows.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Cursor, Read};
use std::path::Path;

use corral_log::{Csv, Dsjson, Ours, Reader, RowSource, Scale, TableError, Wants, actions_of};
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
    "this build has no Parquet: use csv, or the program `corral` built with --features parquet";

/// Why a log cannot be opened; whoever names the log says which.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be read.
    #[error("{0}")]
    File(String),
    /// It is a table without a column that is needed.
    #[error("{0}")]
    Table(TableError),
    /// It is a table and not a file.
    #[error("a table is read twice, and a pipe is read once: name a file")]
    Pipe,
    /// It is Parquet, and the program cannot read it.
    #[error("{WITHOUT_PARQUET}")]
    Parquet,
    /// The range is empty.
    #[error("a range is low,high with low below high, but is {0},{1}")]
    Range(f64, f64),
}

/// Opens the log at `path`, plain or gzip; lines may come from a pipe.
///
/// # Errors
/// It cannot be read, or is a table without the columns of a log.
pub fn open(path: &Path, request: &Request, wants: Wants) -> Result<Box<dyn RowSource>, OpenError> {
    let scale = request.range.map(|(low, high)| Scale::rewards(low, high));
    if let Some(scale) = scale {
        scale.check().map_err(|_| OpenError::Range(scale.low, scale.high))?;
    }
    let failed = |e: io::Error| OpenError::File(e.to_string());
    let (mut head, mut from) = (Vec::new(), bytes(path).map_err(failed)?);
    from.by_ref().take(4096).read_to_end(&mut head).map_err(failed)?;
    let form = request.form.unwrap_or_else(|| found(&head));
    if matches!(form, Form::Csv | Form::Parquet) && !path.metadata().map_err(failed)?.is_file() {
        return Err(OpenError::Pipe);
    }
    let from = Cursor::new(head).chain(from);
    let lines = |from| {
        let reader = Reader::new(from).strict(request.strict);
        if request.chain { reader.checked(0) } else { reader }
    };
    Ok(match form {
        Form::Corral => {
            let ours = Ours::new(lines(from), wants).scaled(scale);
            Box::new(match request.window {
                Some(window) => ours.waiting(window),
                None => ours,
            })
        }
        Form::Dsjson => Box::new(Dsjson::new(lines(from), wants, scale)),
        Form::Csv => {
            let actions = actions_of(from).map_err(OpenError::Table)?;
            let again = bytes(path).map_err(failed)?;
            Box::new(Csv::new(again, &wants, actions, scale, request.strict).map_err(OpenError::Table)?)
        }
        #[cfg(feature = "parquet")]
        Form::Parquet => {
            let file = File::open(path).map_err(failed)?;
            let rows = corral_log::parquet::ParquetIn::new(file, wants, scale, request.strict);
            Box::new(rows.map_err(OpenError::Table)?)
        }
        #[cfg(not(feature = "parquet"))]
        Form::Parquet => return Err(OpenError::Parquet),
    })
}

/// The bytes of a file or a pipe; gzip is recognised by its first bytes.
///
/// # Errors
/// It cannot be read.
pub fn bytes(path: &Path) -> io::Result<BufReader<Box<dyn Read>>> {
    let (mut file, mut magic) = (File::open(path)?, Vec::new());
    (&mut file).take(2).read_to_end(&mut magic)?;
    let gzip = magic == [0x1f, 0x8b];
    // A pipe is read once: what was looked at comes first.
    let from = Cursor::new(magic).chain(file);
    let from: Box<dyn Read> = if gzip { Box::new(MultiGzDecoder::new(from)) } else { Box::new(from) };
    Ok(BufReader::with_capacity(1 << 17, from))
}

/// The fields of the first decision of a log in lines of JSON; none of what cannot be read twice.
pub(super) fn fields(path: &Path) -> Vec<String> {
    let file = path.metadata().is_ok_and(|about| about.is_file());
    let Some(mut from) = file.then(|| bytes(path).ok()).flatten() else { return Vec::new() };
    for _ in 0..1_000 {
        let mut line = Vec::new();
        if !from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            break;
        }
        let Ok(fields) = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&line) else {
            continue;
        };
        if fields.contains_key("action") || fields.contains_key("_label_Action") {
            return fields.into_iter().map(|(name, _)| name).collect();
        }
    }
    Vec::new()
}

/// The format of a log, from how it begins.
fn found(head: &[u8]) -> Form {
    let text = String::from_utf8_lossy(head);
    match text.trim_start() {
        t if t.starts_with("PAR1") => Form::Parquet,
        // Its first line may be garbage.
        t if t.lines().any(|line| line.starts_with("{\"kind\"")) => Form::Corral,
        t if t.starts_with('{') && t.contains("\"_label_") => Form::Dsjson,
        t if t.starts_with('{') => Form::Corral,
        _ => Form::Csv,
    }
}
