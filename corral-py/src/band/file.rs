//! Bands that are read from files.

use std::path::PathBuf;

use pyo3::prelude::*;

use super::{Band, build};
use crate::args::CopyNumber;
use crate::errors::{Answer, Error};
use crate::shelf::Shelf;

/// Reads a band that `Band.save` wrote. It goes on bit for bit, as a copy of its own: it learns the decisions of the band that
/// was saved, and hands out none of its ids.
///
/// Python bases are unpickled, which runs their code: load files that you trust.
///
/// Parameters
/// ----------
/// path : path
/// copy : int, optional
///     The number of the copy, where ids are to be the same in every run.
/// plugins : path, optional
///     The folder of its plugins, where it has some; they must be the very files that it was saved with.
/// log : path, optional
///     Where it writes its decisions and rewards, as for `Band`.
///
/// Returns
/// -------
/// Band
#[pyfunction]
#[pyo3(signature = (path, *, copy = None, plugins = None, log = None))]
pub fn load(
    py: Python<'_>,
    path: PathBuf,
    copy: Option<CopyNumber>,
    plugins: Option<PathBuf>,
    log: Option<PathBuf>,
) -> Answer<Band> {
    let shelf = Shelf::open(py, plugins.as_deref())?;
    let bytes = std::fs::read(&path).map_err(Error::file(&path))?;
    build::read(py, &bytes, copy.map(|c| c.0), shelf, log.as_deref()).map_err(|e| e.of(path.display()))
}
