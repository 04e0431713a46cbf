//! Rows of the four formats, one at a time: cells by column, or features by name, and always a label.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use csv::ByteRecord;
use serde::Deserialize;

use super::source::{at, broken, open};
use crate::EnvError;

/// How a file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// By the file's name: .arff, .libsvm or .svm, .vw, and CSV for all others; .gz behind it does not matter.
    #[default]
    Auto,
    /// Cells with commas between, a header line.
    Csv,
    /// WEKA's attribute-relation format, dense.
    Arff,
    /// `label index:value ...`
    Libsvm,
    /// Vowpal Wabbit's `label |namespace feature:value ...`
    Vw,
}

impl Format {
    fn of(self, path: &Path) -> Self {
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

/// A file that gives one row after the other.
pub struct Rows {
    path: PathBuf,
    kind: Kind,
    /// Column names; empty where features have names of their own.
    pub columns: Vec<String>,
    /// For each column, whether the header says that it is categorical.
    pub nominal: Vec<bool>,
}

enum Kind {
    Cells { reader: csv::Reader<Box<dyn BufRead + Send>>, skipped: u64 },
    Features { reader: Box<dyn BufRead + Send>, line: u64, text: String, vw: bool },
}

/// A file played row by row, once or for ever.
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// The row of this round.
    pub row: Row,
    rows: Rows,
    format: Format,
    repeat: bool,
}

impl Source {
    /// From the first row of a file on.
    pub fn new(path: PathBuf, format: Format, repeat: bool) -> Result<Self, EnvError> {
        Ok(Self { rows: Rows::open(&path, format)?, path, row: Row::default(), format, repeat })
    }

    /// Reads the next row; false at the end.
    pub fn advance(&mut self) -> Result<bool, EnvError> {
        if self.rows.next(&mut self.row)? {
            return Ok(true);
        }
        if !self.repeat {
            return Ok(false);
        }
        self.rows = Rows::open(&self.path, self.format)?;
        self.rows.next(&mut self.row)
    }
}

/// One row; its room is used again.
#[derive(Default)]
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
    pub fn open(path: &Path, format: Format) -> Result<Self, EnvError> {
        let reader = open(path)?;
        match format.of(path) {
            Format::Libsvm => Ok(Self::features(path, reader, false)),
            Format::Vw => Ok(Self::features(path, reader, true)),
            Format::Arff => Self::arff(path, reader),
            Format::Csv | Format::Auto => Self::csv(path, reader),
        }
    }

    fn features(path: &Path, reader: Box<dyn BufRead + Send>, vw: bool) -> Self {
        let kind = Kind::Features { reader, line: 0, text: String::new(), vw };
        Self { path: path.to_owned(), kind, columns: Vec::new(), nominal: Vec::new() }
    }

    fn csv(path: &Path, reader: Box<dyn BufRead + Send>) -> Result<Self, EnvError> {
        let mut reader =
            csv::ReaderBuilder::new().flexible(true).buffer_capacity(1 << 16).from_reader(reader);
        let header = reader.byte_headers().map_err(|e| csv_error(path, 0, e))?;
        let columns: Vec<String> = header.iter().map(|c| String::from_utf8_lossy(c).into_owned()).collect();
        if columns.iter().all(String::is_empty) {
            return Err(at(path, None, "the file is empty"));
        }
        // The convention of the bundled data sets: c0, c1, .. are categories by code.
        let coded = |c: &String| {
            c.strip_prefix('c').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let nominal = columns.iter().map(coded).collect();
        Ok(Self { path: path.to_owned(), kind: Kind::Cells { reader, skipped: 0 }, columns, nominal })
    }

    fn arff(path: &Path, mut reader: Box<dyn BufRead + Send>) -> Result<Self, EnvError> {
        let (mut columns, mut nominal) = (Vec::new(), Vec::new());
        let mut text = String::new();
        let mut line = 0;
        loop {
            text.clear();
            line += 1;
            if reader.read_line(&mut text).map_err(|e| broken(path, Some(line), &e))? == 0 {
                return Err(at(path, Some(line), "the header has no @data"));
            }
            let trimmed = text.trim();
            let lower = trimmed.to_ascii_lowercase();
            if lower.starts_with("@data") {
                break;
            }
            if !lower.starts_with("@attribute") {
                continue;
            }
            let (name, kind) = attribute(trimmed["@attribute".len()..].trim())
                .ok_or_else(|| at(path, Some(line), format!("not an attribute: {trimmed:?}")))?;
            columns.push(name);
            nominal.push(kind.starts_with('{') || kind.eq_ignore_ascii_case("string"));
        }
        if columns.is_empty() {
            return Err(at(path, Some(line), "there is no @attribute"));
        }
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quote(b'\'')
            .comment(Some(b'%'))
            .trim(csv::Trim::All)
            .from_reader(reader);
        Ok(Self { path: path.to_owned(), kind: Kind::Cells { reader, skipped: line }, columns, nominal })
    }

    /// Reads the next row; false at the end.
    pub fn next(&mut self, row: &mut Row) -> Result<bool, EnvError> {
        match &mut self.kind {
            Kind::Cells { reader, skipped } => {
                let more = reader
                    .read_byte_record(&mut row.cells)
                    .map_err(|e| csv_error(&self.path, *skipped, e))?;
                if !more {
                    return Ok(false);
                }
                row.line = row.cells.position().map_or(0, |p| p.line()) + *skipped;
                if row.cells.len() != self.columns.len() {
                    let why =
                        format!("{} cells where the header has {}", row.cells.len(), self.columns.len());
                    return Err(at(&self.path, Some(row.line), why));
                }
                Ok(true)
            }
            Kind::Features { reader, line, text, vw } => loop {
                text.clear();
                *line += 1;
                row.line = *line;
                if reader.read_line(text).map_err(|e| broken(&self.path, Some(*line), &e))? == 0 {
                    return Ok(false);
                }
                let bare = text.split('#').next().unwrap_or_default().trim();
                if bare.is_empty() {
                    continue;
                }
                row.text.clear();
                row.text.push_str(bare);
                let parsed = if *vw { row.parse_vw() } else { row.parse_libsvm() };
                return parsed.map(|()| true).map_err(|why| at(&self.path, Some(*line), why));
            },
        }
    }
}

impl Row {
    fn parse_libsvm(&mut self) -> Result<(), String> {
        self.features.clear();
        self.label.clear();
        let text = std::mem::take(&mut self.text);
        let result = (|| {
            let mut words = words(&text);
            let label = words.next().ok_or("there is no label")?;
            self.label.push_str(&text[label]);
            for word in words {
                let whole = &text[word.clone()];
                let (name, value) =
                    whole.split_once(':').ok_or_else(|| format!("{whole:?} is not index:value"))?;
                name.parse::<u64>().map_err(|_| format!("{name:?} is not an index"))?;
                self.features.push((word.start..word.start + name.len(), finite(value)?));
            }
            Ok(())
        })();
        self.text = text;
        result
    }

    fn parse_vw(&mut self) -> Result<(), String> {
        self.features.clear();
        self.label.clear();
        let text = std::mem::take(&mut self.text);
        let result = (|| {
            let bar = text.find('|').ok_or("there is no |")?;
            let label = text[..bar].split_whitespace().next().ok_or("there is no label before |")?;
            self.label.push_str(label);
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
                self.features.push((from..from + name.len(), value));
            }
            Ok(())
        })();
        self.text = text;
        result
    }
}

/// The words of a line as ranges.
fn words(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    text.split_whitespace().map(move |word| {
        let from = word.as_ptr() as usize - text.as_ptr() as usize;
        from..from + word.len()
    })
}

/// The number that a cell holds, if it holds one; it need not be finite.
#[inline]
pub fn number(cell: &[u8]) -> Option<f64> {
    short_decimal(cell).or_else(|| std::str::from_utf8(cell).ok()?.trim().parse().ok())
}

/// The powers of ten that divide a [`short_decimal`].
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// A number of few digits without an exponent, as most are; `None` for all else. Digits and power of ten are exact, so
/// that their quotient is rounded once, and is the number that a full parser finds (Clinger 1990).
#[inline]
fn short_decimal(cell: &[u8]) -> Option<f64> {
    let (negative, text) = match cell {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, cell),
    };
    if text.len() > POWERS.len() {
        return None;
    }
    let (mut whole, mut digits, mut decimals) = (0u64, 0, None);
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            whole = 10 * whole + u64::from(digit);
            digits += 1;
        } else if *byte == b'.' && decimals.is_none() {
            decimals = Some(digits);
        } else {
            return None;
        }
    }
    if digits == 0 || whole > 1 << 53 {
        return None;
    }
    let value = whole as f64 / POWERS.get(decimals.map_or(0, |before| digits - before))?;
    Some(if negative { -value } else { value })
}

/// A finite number, or the error that names it.
pub fn finite(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        Ok(x) => Err(format!("{x} is not finite")),
        Err(_) => Err(format!("{text:?} is not a number")),
    }
}

/// Name and kind of an ARFF attribute; the name may be quoted.
fn attribute(text: &str) -> Option<(String, &str)> {
    let (name, rest) = match text.chars().next()? {
        quote @ ('\'' | '"') => {
            let end = text[1..].find(quote)? + 1;
            (&text[1..end], &text[end + 1..])
        }
        _ => text.split_once(char::is_whitespace)?,
    };
    let kind = rest.trim();
    (!kind.is_empty()).then(|| (name.to_owned(), kind))
}

fn csv_error(path: &Path, skipped: u64, e: csv::Error) -> EnvError {
    let line = e.position().map(|p| p.line() + skipped);
    match e.into_kind() {
        csv::ErrorKind::Io(e) => broken(path, line, &e),
        other => at(path, line, format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::number;
    use corral_core::Rng;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    #[test]
    fn numbers_are_those_of_the_full_parser() {
        let full = |text: &str| text.trim().parse::<f64>().ok().map(f64::to_bits);
        let mut texts: Vec<String> = [
            "",
            "-",
            ".",
            "-.",
            "5.",
            ".5",
            "-0",
            "+1",
            "1.2.3",
            "--1",
            "1e3",
            "1e400",
            "inf",
            "nan",
            " 7 ",
            "7 8",
            "0x1",
            "9007199254740992",
            "9007199254740993",
            "9999999999999999",
            "99999999999999999",
            "0.000000000000001",
            ".0000000000000001",
            "-123456789012345",
            "1,5",
            "\u{a0}2\u{a0}",
            "0.1",
            "123456.7",
            "red",
        ]
        .map(String::from)
        .to_vec();
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        for _ in 0..20_000 {
            let bits = rng.next_u64();
            let (digits, decimals) = (bits >> (8 + bits % 54), (bits as usize >> 6) % 9);
            let sign = if bits & 32 == 0 { "" } else { "-" };
            let text = format!("{digits:0>9}");
            let (whole, rest) = text.split_at(text.len() - decimals);
            texts.push(format!("{sign}{whole}.{rest}"));
            texts.push(format!("{sign}{digits}"));
        }
        for text in &texts {
            assert_eq!(number(text.as_bytes()).map(f64::to_bits), full(text), "{text:?}");
        }
        assert_eq!(number(b"\xff1"), None);
    }
}
