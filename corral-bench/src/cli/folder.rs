//! A results folder that is read: what was asked, and what came out.

use std::path::Path;

use super::Failure;
use crate::findings::Findings;
use crate::run::Timings;
use crate::store::{self, Results};

/// What the folder `dir` holds, which must be finished unless `partial`.
pub fn read(dir: &Path, partial: bool) -> Result<Findings, Failure> {
    let Results { manifest, spec, cells } = store::read(dir).map_err(Failure::usage)?;
    let (done, all) = (cells.len() as u64, manifest.cells);
    if done < all && !partial {
        return Err(Failure::usage(format!(
            "{}: the run is unfinished, {done} of {all} cells; finish it, or take what is there with --partial",
            dir.display()
        )));
    }
    if cells.is_empty() {
        return Err(Failure::usage(format!("{}: no cell has ended yet", dir.display())));
    }
    Ok(Findings::of(spec, cells, &Timings::default()))
}
