//! Rows of the four formats, one at a time: cells by column, or features by name, and always a label.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use corral_core::{Rng, params, uniform};
use csv::ByteRecord;

use super::arff::Arff;
use super::cells::finite;
use super::encoding::Charset;
use super::source::{Lines, at, broken, open_as};
use crate::EnvError;

/// More columns than this are a mistake.
const MOST_COLUMNS: usize = 65_536;

params! {
    /// How a file is written.
    pub enum Format {
        /// By the file's name: .arff, .libsvm or .svm, .vw, and CSV for all others; .gz behind it does not matter.
        #[default]
        Auto,
        /// Cells with commas (or another separator) between, and a header line.
        Csv,
        /// WEKA's attribute-relation format, dense or sparse.
        Arff,
        /// `label index:value ...`
        Libsvm,
        /// Vowpal Wabbit's `label |namespace feature:value ...`
        Vw,
    }
}

impl Format {
    /// The format of a file.
    pub fn of(self, path: &Path) -> Self {
        if self != Self::Auto {
            return self;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.').map(|(_, suffix)| suffix) {
            Some("arff") => Self::Arff,
            Some("libsvm" | "svm" | "svmlight") => Self::Libsvm,
            Some("vw") => Self::Vw,
            _ => Self::Csv,
        }
    }
}

/// Which file is read, and how.
#[derive(Debug, Clone)]
pub struct File {
    /// The file.
    pub path: PathBuf,
    /// How it is written.
    pub format: Format,
    /// What stands between the cells of a CSV.
    pub separator: u8,
    /// Whether the first line of a CSV names the columns; else they are called 1, 2, 3, ...
    pub header: bool,
    /// The first line that is not UTF-8, where one is not: the file is read as Windows-1252 then.
    pub foreign: Option<u64>,
}

impl File {
    /// A CSV with commas and a header.
    pub fn csv(path: PathBuf) -> Self {
        Self { path, format: Format::Csv, separator: b',', header: true, foreign: None }
    }

    /// Opens it as it is written.
    pub fn open(&self) -> Result<Lines, EnvError> {
        open_as(&self.path, if self.foreign.is_some() { Charset::Windows1252 } else { Charset::Utf8 })
    }

    /// That it is not UTF-8, where it is not.
    pub fn remark(&self) -> Option<String> {
        self.foreign
            .map(|line| format!("line {line} is not UTF-8: the file is read as Windows-1252 (Latin-1)"))
    }
}

/// A file that gives one row after the other.
pub struct Rows {
    path: PathBuf,
    kind: Kind,
    // The line that was read last.
    line: u64,
    /// Column names; empty where features have names of their own.
    pub columns: Vec<String>,
    /// For each column, whether the header says that it is categorical.
    pub nominal: Vec<bool>,
}

enum Kind {
    Csv(Box<csv::Reader<Lines>>),
    Lines { lines: Lines, text: Vec<u8>, reads: Reads },
}

/// How a line becomes a row.
enum Reads {
    Arff(Box<Arff>),
    Libsvm,
    Vw,
}

/// A file played row by row, once or for ever.
pub struct Source {
    /// The row of this round.
    pub row: Row,
    rows: Rows,
    file: File,
    repeat: bool,
    /// All rows in the order in which they are played, and the next of them; empty: that of the file.
    order: Vec<Row>,
    next: usize,
}

impl Source {
    /// From the first row of a file on.
    pub fn new(file: File, repeat: bool) -> Result<Self, EnvError> {
        Ok(Self { rows: Rows::open(&file)?, file, row: Row::default(), repeat, order: Vec::new(), next: 0 })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Reads all rows and puts them into a random order.
    pub fn shuffle(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        while self.rows.next(&mut self.row)? {
            self.order.push(self.row.clone());
        }
        for last in (1..self.order.len()).rev() {
            self.order.swap(last, (uniform(rng) * (last + 1) as f64) as usize);
        }
        Ok(())
    }

    /// How the file is written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.rows.columns
    }

    /// Reads the next row that is not to be passed over; false at the end, where nothing begins again.
    pub fn advance_once(&mut self, passes: impl Fn(&Row) -> bool) -> Result<bool, EnvError> {
        while self.rows.next(&mut self.row)? {
            if !passes(&self.row) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the next row that is not to be passed over; false at the end.
    pub fn advance(&mut self, passes: impl Fn(&Row) -> bool) -> Result<bool, EnvError> {
        let mut again = self.repeat;
        while !self.order.is_empty() {
            if let Some(row) = self.order.get(self.next) {
                self.next += 1;
                if !passes(row) {
                    self.row.clone_from(row);
                    return Ok(true);
                }
            } else if std::mem::take(&mut again) {
                self.next = 0;
            } else {
                return Ok(false);
            }
        }
        loop {
            while self.rows.next(&mut self.row)? {
                if !passes(&self.row) {
                    return Ok(true);
                }
            }
            if !again {
                return Ok(false);
            }
            again = false;
            self.rows = Rows::open(&self.file)?;
        }
    }
}

/// One row; its memory is used again.
#[derive(Default, Clone)]
pub struct Row {
    /// Cells, where the format has columns.
    pub cells: ByteRecord,
    /// Named features, where it has none: where the name stands in `text`, and the value.
    pub features: Vec<(std::ops::Range<usize>, f64)>,
    /// The line that features point into.
    pub text: String,
    /// The label, where the format has no columns.
    pub label: String,
    /// Where it stands.
    pub line: u64,
}

impl Rows {
    /// Opens a file and reads its header.
    pub fn open(file: &File) -> Result<Self, EnvError> {
        let path = &file.path;
        let mut lines = file.open()?;
        let (reads, columns, nominal, line) = match file.format.of(path) {
            Format::Csv | Format::Auto => return Self::csv(file, lines),
            Format::Libsvm => (Reads::Libsvm, Vec::new(), Vec::new(), 0),
            Format::Vw => (Reads::Vw, Vec::new(), Vec::new(), 0),
            Format::Arff => {
                let mut header = Box::new(Arff::read(path, &mut lines)?);
                let (columns, nominal) = (header.names.clone(), std::mem::take(&mut header.nominal));
                let line = header.lines;
                (Reads::Arff(header), columns, nominal, line)
            }
        };
        let kind = Kind::Lines { lines, text: Vec::new(), reads };
        Self { path: path.clone(), kind, line, columns, nominal }.checked()
    }

    fn csv(file: &File, lines: Lines) -> Result<Self, EnvError> {
        let path = &file.path;
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .has_headers(file.header)
            .delimiter(file.separator)
            .buffer_capacity(1 << 16)
            .from_reader(lines);
        // Where the first line is no header, it is looked at and comes again as a row.
        let header = reader.byte_headers().map_err(|e| csv_error(path, e))?;
        if header.iter().all(<[u8]>::is_empty) {
            return Err(at(path, None, "the file is empty"));
        }
        let columns: Vec<String> = match file.header {
            true => header.iter().map(|c| String::from_utf8_lossy(c.trim_ascii()).into_owned()).collect(),
            false => (1..=header.len()).map(|n| n.to_string()).collect(),
        };
        // The convention of the bundled data sets: c0, c1, .. are categories by code.
        let coded = |c: &String| {
            c.strip_prefix('c').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let nominal = columns.iter().map(coded).collect();
        Self { path: path.clone(), kind: Kind::Csv(Box::new(reader)), line: 1, columns, nominal }.checked()
    }

    /// Refuses a header that has a name twice, or more names than a table has columns.
    fn checked(self) -> Result<Self, EnvError> {
        if self.columns.len() > MOST_COLUMNS {
            let why = format!("{} columns; at most {MOST_COLUMNS} are read", self.columns.len());
            return Err(at(&self.path, Some(self.line), why));
        }
        let mut seen = HashMap::new();
        for (place, name) in self.columns.iter().enumerate() {
            if let Some(before) = seen.insert(name, place) {
                let why = format!(
                    "the header has the name {name:?} twice, in columns {} and {}",
                    before + 1,
                    place + 1
                );
                return Err(at(&self.path, Some(self.line), why));
            }
        }
        Ok(self)
    }

    /// What is wrong on a line.
    pub fn at(&self, line: u64, why: String) -> EnvError {
        at(&self.path, Some(line), why)
    }

    /// The place of a column.
    pub fn find(&self, name: &str) -> Result<usize, EnvError> {
        self.columns.iter().position(|c| c == name).ok_or_else(|| {
            let known = self.columns.iter().map(String::as_str);
            at(&self.path, None, corral_core::registry::Unknown::new("column", name, known).to_string())
        })
    }

    /// The same, where the key that names it is not `class` or one of its kind.
    pub fn find_for(&self, name: &str, key: &str) -> Result<usize, EnvError> {
        self.columns.iter().position(|c| c == name).ok_or_else(|| {
            let known = self.columns.iter().map(String::as_str);
            let unknown = corral_core::registry::Unknown::new("column", name, known);
            at(&self.path, None, format!("{unknown}; `{key}` names the column of the {key}"))
        })
    }

    /// Whether `?` alone is a missing cell: the format has words of its own for all else.
    pub fn strict(&self) -> bool {
        matches!(self.kind, Kind::Lines { reads: Reads::Arff(_), .. })
    }

    /// Reads the next row; false at the end.
    pub fn next(&mut self, row: &mut Row) -> Result<bool, EnvError> {
        let (path, columns) = (&self.path, self.columns.len());
        match &mut self.kind {
            Kind::Csv(reader) => {
                reader.get_mut().begin();
                if !reader.read_byte_record(&mut row.cells).map_err(|e| csv_error(path, e))? {
                    return Ok(false);
                }
                row.line = line_of(reader, &row.cells);
                if row.cells.len() != columns {
                    let why = format!("{} cells where the header has {columns}", row.cells.len());
                    return Err(at(path, Some(row.line), why));
                }
                Ok(true)
            }
            Kind::Lines { lines, text, reads } => loop {
                self.line += 1;
                row.line = self.line;
                if !lines.read(text).map_err(|e| broken(path, Some(row.line), &e))? {
                    return Ok(false);
                }
                let read = match reads {
                    Reads::Arff(header) => header.row(text, &mut row.cells),
                    Reads::Libsvm => row.parse(text, Row::libsvm),
                    Reads::Vw => row.parse(text, Row::vw),
                };
                if read.map_err(|why| at(path, Some(row.line), why))? {
                    return Ok(true);
                }
            },
        }
    }
}

impl Row {
    /// Reads a line of named features; `false` where there is nothing on it.
    fn parse(&mut self, line: &[u8], read: fn(&mut Self) -> Result<(), String>) -> Result<bool, String> {
        // What follows # is a comment; an empty line is none.
        let bare = line.split(|b| *b == b'#').next().unwrap_or_default().trim_ascii();
        if bare.is_empty() {
            return Ok(false);
        }
        self.features.clear();
        self.label.clear();
        self.text.clear();
        self.text.push_str(std::str::from_utf8(bare).map_err(|_| "not UTF-8")?);
        read(self).map(|()| true)
    }

    fn libsvm(&mut self) -> Result<(), String> {
        let Self { features, text, label, .. } = self;
        let mut words = words(text);
        label.push_str(&text[words.next().ok_or("there is no label")?]);
        for word in words {
            let whole = &text[word.clone()];
            let (name, value) =
                whole.split_once(':').ok_or_else(|| format!("{whole:?} is not index:value"))?;
            name.parse::<u64>().map_err(|_| format!("{name:?} is not an index"))?;
            features.push((word.start..word.start + name.len(), finite(value)?));
        }
        Ok(())
    }

    fn vw(&mut self) -> Result<(), String> {
        let Self { features, text, label, .. } = self;
        let bar = text.find('|').ok_or("there is no |")?;
        label.push_str(text[..bar].split_whitespace().next().ok_or("there is no label before |")?);
        for word in words(&text[bar..]) {
            let (from, to) = (word.start + bar, word.end + bar);
            let whole = &text[from..to];
            // `|name` opens a namespace; its features are told apart by their own names.
            if whole.starts_with('|') {
                continue;
            }
            let (name, value) = match whole.rsplit_once(':') {
                Some((name, value)) => (name, finite(value)?),
                None => (whole, 1.0),
            };
            features.push((from..from + name.len(), value));
        }
        Ok(())
    }
}

/// The words of a line as ranges.
fn words(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    text.split_whitespace().map(move |word| {
        let from = word.as_ptr() as usize - text.as_ptr() as usize;
        from..from + word.len()
    })
}

/// The line on which a record that was just read begins. The reader says where it began to look for it, which is before
/// blank lines, and before the \n of the \r\n that ended the last one.
fn line_of(reader: &csv::Reader<Lines>, cells: &ByteRecord) -> u64 {
    let (from, to) = (cells.position().map_or(0, csv::Position::line), reader.position());
    let ended = u64::from(reader.get_ref().ends_line(to.byte()));
    // Line ends before the record, and inside its quotes.
    let passed = (to.line() - from).saturating_sub(ended);
    if passed == 0 {
        return from;
    }
    let inside = cells.as_slice().iter().filter(|b| **b == b'\n').count() as u64;
    from + passed.saturating_sub(inside)
}

fn csv_error(path: &Path, e: csv::Error) -> EnvError {
    let line = e.position().map(|p| p.line());
    match e.into_kind() {
        csv::ErrorKind::Io(e) => broken(path, line, &e),
        other => at(path, line, format!("{other:?}")),
    }
}
