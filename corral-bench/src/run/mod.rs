//! Running a spec: cells are pure functions of it, and a pool of threads runs them.

mod build;
mod cell;
mod drive;
mod estimate;
mod plugins;
mod record;

pub use build::BuildError;
pub use cell::{CellSpec, run_cell};
pub use drive::{Progress, Resources, RunError, Timings, check, run, tables};
pub use estimate::{estimate, in_words};
pub use plugins::Plugins;
pub use record::{AuditRecord, BandRecord, CellRecord, checkpoints};
