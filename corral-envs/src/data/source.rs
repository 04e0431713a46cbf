//! Files, plain or compressed, and where they are looked for.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::EnvError;

/// The variable that names a folder in which data files are looked for when they are not here.
pub const DATA_FOLDER: &str = "CORRAL_DATA";

/// Where `file` is: as it is written, or else in the folder that [`DATA_FOLDER`] names.
pub fn resolve(file: &str) -> PathBuf {
    let path = Path::new(file);
    match std::env::var_os(DATA_FOLDER) {
        Some(folder) if path.is_relative() && !path.exists() => Path::new(&folder).join(path),
        _ => path.to_owned(),
    }
}

/// Opens a file for reading; gzip is recognised by its first bytes.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, EnvError> {
    let failed = |e: io::Error| broken(path, None, &e);
    // Before it is opened: opening a pipe waits for somebody who writes.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(at(path, None, "not a regular file"));
    }
    let mut file = File::open(path).map_err(failed)?;
    let mut magic = [0; 2];
    let read = file.read(&mut magic).map_err(failed)?;
    file.rewind().map_err(failed)?;
    Ok(if read == 2 && magic == [0x1f, 0x8b] {
        Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file)))
    } else {
        Box::new(BufReader::with_capacity(1 << 16, file))
    })
}

/// `why`, at a line of a file.
pub fn at(path: &Path, line: Option<u64>, why: impl Into<String>) -> EnvError {
    EnvError::Data { file: path.display().to_string(), line, why: why.into() }
}

/// A failure of the file system, or of the compressed data.
pub fn broken(path: &Path, line: Option<u64>, e: &io::Error) -> EnvError {
    let why = match e.kind() {
        io::ErrorKind::NotFound => format!("no such file, neither here nor in the folder of {DATA_FOLDER}"),
        io::ErrorKind::UnexpectedEof => "the compressed data is cut short".to_owned(),
        _ => e.to_string(),
    };
    at(path, line, why)
}
