//! Running a spec: cells are pure functions of it, and a pool of threads runs them.

mod build;
mod cell;
mod drive;
mod record;

pub use build::{BuildError, Plugins};
pub use cell::{CellSpec, run_cell};
pub use drive::{Progress, RunError, Timings, check, run};
pub use record::{BandRecord, CellRecord, checkpoints};
