//! Running a spec: cells are pure functions of it, and a pool of threads runs them.

mod build;
mod cell;
mod drive;
mod estimate;
mod plugins;
mod threads;

pub use crate::record::{AuditRecord, BandRecord, CellRecord, CellSpec, checkpoints};
pub use build::{Runner, runner};
pub use cell::{run_cell, run_cell_within, train};
pub use corral_plugin_abi::host::Plugins;
pub use drive::{Progress, Resources, RunError, Timings, check, check_telling, run};
pub use estimate::{about, costs, estimate, in_words};
pub use plugins::{FromPlugins, plugins_here, plugins_used};
pub use threads::in_threads;
