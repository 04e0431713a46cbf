//! A results folder that is read: what was asked, and what came out.

use std::path::Path;

use super::Failure;
use crate::claims::{Held, hold};
use crate::overall::Overall;
use crate::run::CellRecord;
use crate::spec::Spec;
use crate::store::{self, Results};
use crate::summary::{Row, rows};

/// The spec of a folder, its cells, and what follows from them.
pub struct Folder {
    pub spec: Spec,
    pub cells: Vec<CellRecord>,
    pub rows: Vec<Row>,
}

impl Folder {
    /// Reads `dir`, which must be finished unless `partial`.
    pub fn read(dir: &Path, partial: bool) -> Result<Self, Failure> {
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
        let rows = rows(&spec, &cells, &|_, _, _| None);
        Ok(Self { spec, cells, rows })
    }

    /// What holds over all worlds.
    pub fn overall(&self) -> Overall {
        Overall::of(&self.spec, &self.cells, &self.rows)
    }

    /// The claims.
    pub fn held(&self) -> Vec<Held> {
        hold(&self.spec, &self.cells)
    }
}
