//! Files, plain or compressed, and where they are looked for.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::cells::number;
use super::encoding::{Charset, decoded, foreign_line};
use crate::EnvError;

/// The variable that names a folder in which data files are looked for when they are not here.
pub const DATA_FOLDER: &str = "CORRAL_DATA";

/// The most bytes that one line may have (one record, where a quoted cell holds line ends): a small compressed file
/// can hold a line that no memory can hold.
pub const LONGEST_LINE: usize = 16 << 20;

/// Where `file` is: as it is written, or else in the folder that [`DATA_FOLDER`] names.
pub fn resolve(file: &str) -> PathBuf {
    let path = Path::new(file);
    match std::env::var_os(DATA_FOLDER) {
        Some(folder) if path.is_relative() && !path.exists() => Path::new(&folder).join(path),
        _ => path.to_owned(),
    }
}

/// The first line of a file that is not UTF-8, where one is not.
pub fn foreign(path: &Path) -> Result<Option<u64>, EnvError> {
    open(path).map(|mut lines| foreign_line(&mut lines.bytes))
}

/// Opens a regular file for reading; gzip and UTF-16 are recognised by their first bytes.
pub fn open(path: &Path) -> Result<Lines, EnvError> {
    open_as(path, Charset::Utf8)
}

/// As [`open`], where the characters of a file without a byte order mark are those of `charset`.
pub fn open_as(path: &Path, charset: Charset) -> Result<Lines, EnvError> {
    let failed = |e: io::Error| broken(path, None, &e);
    // Asked before it is opened, which waits on a pipe, and of the open file again.
    let regular = |meta: fs::Metadata| match meta.is_file() {
        true => Ok(()),
        false => Err(at(path, None, "not a regular file")),
    };
    regular(fs::metadata(path).map_err(failed)?)?;
    let mut file = File::open(path).map_err(failed)?;
    regular(file.metadata().map_err(failed)?)?;
    let mut magic = [0; 2];
    let read = file.read(&mut magic).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let bytes: Box<dyn Read + Send> =
        if read == 2 && magic == [0x1f, 0x8b] { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let bytes = decoded(BufReader::with_capacity(1 << 16, bytes), charset).map_err(failed)?;
    Ok(Lines { bytes, spent: 0, read: 0, last: Vec::new() })
}

/// The bytes of a file, of which no line is longer than [`LONGEST_LINE`].
pub struct Lines {
    bytes: BufReader<Box<dyn Read + Send>>,
    spent: usize,
    /// Bytes that [`Read`] gave away, and the last part of them.
    read: u64,
    last: Vec<u8>,
}

impl Lines {
    /// A line (or record) begins.
    pub fn begin(&mut self) {
        self.spent = 0;
    }

    /// Whether the byte before place `end` ends a line. Whoever reads through a buffer asks for places in what is buffered.
    pub fn ends_line(&self, end: u64) -> bool {
        let from_last = self.read.checked_sub(end).and_then(|n| usize::try_from(n).ok());
        let place = from_last.and_then(|n| self.last.len().checked_sub(n + 1));
        place.is_some_and(|place| self.last[place] == b'\n')
    }

    /// Reads a line into `line`, without its end; false at the end of the file.
    pub fn read(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        self.begin();
        line.clear();
        if self.read_until(b'\n', line)? == 0 {
            return Ok(false);
        }
        while line.last().is_some_and(|b| matches!(b, b'\n' | b'\r')) {
            line.pop();
        }
        Ok(true)
    }
}

impl BufRead for Lines {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.spent > LONGEST_LINE {
            let why = format!("a line is longer than {} MiB", LONGEST_LINE >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        self.bytes.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.spent += bytes;
        self.bytes.consume(bytes);
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        if read > 0 {
            self.read += read as u64;
            self.last.clear();
            self.last.extend_from_slice(&buffer[..read]);
        }
        Ok(read)
    }
}

/// The most numbers that a matrix may have: half a gigabyte.
const MOST_NUMBERS: usize = 1 << 26;

/// Reads rows of equally many numbers with commas between; blank lines and lines that begin with # are passed over. A
/// number that is not `allowed` is no `what`.
pub fn matrix(path: &Path, what: &str, allowed: impl Fn(f64) -> bool) -> Result<Vec<Vec<f64>>, EnvError> {
    let (mut lines, mut text) = (open(path)?, Vec::new());
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for line in 1.. {
        if !lines.read(&mut text).map_err(|e| broken(path, Some(line), &e))? {
            break;
        }
        let refuse = |why: String| Err(at(path, Some(line), why));
        let cells = text.trim_ascii();
        if cells.is_empty() || cells.starts_with(b"#") {
            continue;
        }
        let mut row = Vec::new();
        for (column, cell) in cells.split(|b| *b == b',').enumerate() {
            match number(cell) {
                Some(x) if allowed(x) => row.push(x),
                _ => {
                    let cell = String::from_utf8_lossy(cell.trim_ascii());
                    return refuse(format!("column {column} holds {cell:?}, no {what}"));
                }
            }
        }
        let first = rows.first().map_or(row.len(), Vec::len);
        if first != row.len() {
            return refuse(format!("{} cells, where the first row has {first}", row.len()));
        }
        if rows.len() * first > MOST_NUMBERS {
            return refuse(format!("more than {MOST_NUMBERS} numbers"));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// `why`, at a line of a file.
pub fn at(path: &Path, line: Option<u64>, why: impl Into<String>) -> EnvError {
    EnvError::Data { file: path.display().to_string(), line, why: why.into() }
}

/// A failure of the file system, or of the compressed data.
pub fn broken(path: &Path, line: Option<u64>, e: &io::Error) -> EnvError {
    let why = match e.kind() {
        io::ErrorKind::NotFound => {
            // Named as it was written, not as it was looked for.
            let folder = std::env::var_os(DATA_FOLDER).unwrap_or_default();
            let written = path.strip_prefix(&folder).unwrap_or(path);
            let why = format!("no such file, neither here nor in the folder of {DATA_FOLDER}");
            return at(written, line, why);
        }
        io::ErrorKind::UnexpectedEof => "the compressed data is cut short".to_owned(),
        _ => e.to_string(),
    };
    at(path, line, why)
}
