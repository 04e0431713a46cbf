//! A results folder that is read: what was asked, and what came out.

use std::path::Path;

use corral_lab::findings::Findings;
use corral_lab::run::Timings;
use corral_lab::store::{self, Results};

use crate::Failure;

/// What the folder `dir` holds, which must be finished unless `partial`.
pub fn read(dir: &Path, partial: bool) -> Result<Findings, Failure> {
    let Results { manifest, spec, cells } = store::read(dir).map_err(Failure::usage)?;
    let (done, all) = (cells.len() as u64, manifest.cells);
    let dir = dir.display();
    let unfinished = format_args!(
        "{dir}: the run is unfinished, {done} of {all} cells; finish it, or take what is there with --partial"
    );
    Failure::ensure(done >= all || partial, unfinished)?;
    Failure::ensure(!cells.is_empty(), format_args!("{dir}: no cell has ended yet"))?;
    Ok(Findings::of(spec, cells, &Timings::default()))
}
