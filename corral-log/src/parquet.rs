//! Parquet, behind the feature of this name: rows of a log in and out (docs/log-format.md#parquet), and a writer of tables.

mod columns;
mod input;
mod output;

pub use columns::{Cell, Columns};
pub use input::ParquetIn;
pub use output::ParquetOut;

use serde::{Deserialize, Serialize};

use crate::{Scale, VERSION};

/// The key under which the file says what the log is of.
const ABOUT: &str = "corral-log";

/// What the file says of the log as a whole: what a `start` line says.
#[derive(Debug, Serialize, Deserialize)]
struct About {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default)]
    bases: Vec<String>,
    #[serde(default)]
    actions: Vec<String>,
    #[serde(default)]
    scale: Option<Scale>,
}

impl Default for About {
    fn default() -> Self {
        Self { version: VERSION, model: None, bases: Vec::new(), actions: Vec::new(), scale: None }
    }
}
