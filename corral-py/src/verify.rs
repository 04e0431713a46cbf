//! A log of a band that is played again: from a file that `Band.save` wrote, to the same bits.

use std::path::{Path, PathBuf};

use corral_lab::saved::{self, Replayed, SavedBand};
use corral_lab::valuation;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Answer, Error};
use crate::plan::Pickled;
use crate::shelf::Shelf;

/// See `corral.log.verify`.
#[pyfunction]
#[pyo3(signature = (path, start, *, end = None, plugins = None))]
pub fn verify_log(
    py: Python<'_>,
    path: PathBuf,
    start: PathBuf,
    end: Option<PathBuf>,
    plugins: Option<PathBuf>,
) -> Answer<Bound<'_, PyDict>> {
    let read = |path: &Path| {
        let bytes = std::fs::read(path).map_err(Error::file(path))?;
        SavedBand::open(&bytes).map_err(|e| Error::from(e).of(path.display()))
    };
    let (saved, end) = (read(&start)?, end.as_deref().map(read).transpose()?);
    let shelf = Shelf::open(py, plugins.as_deref())?;
    let log = valuation::bytes(&path).map_err(Error::file(&path))?;
    let mut pickled = Pickled::new(py, &saved.plan);
    let found = saved::verify(log, saved, end.as_ref(), &shelf.plugins, &mut pickled);
    let Replayed { lines, before, decisions, learned, same_state } =
        found.map_err(|e| pickled.error(e).of(path.display()))?;
    let found = PyDict::new(py);
    for (name, count) in
        [("lines", lines), ("before", before), ("decisions", decisions), ("learned", learned)]
    {
        found.set_item(name, count)?;
    }
    found.set_item("same_state", same_state)?;
    Ok(found)
}
