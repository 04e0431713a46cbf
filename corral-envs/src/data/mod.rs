//! Data sets as environments: supervised data as a bandit, and logged bandit feedback.
//!
//! Files are read twice: once, when the environment is built, to learn its columns and to check every row, and then as
//! the rounds go. Memory does not grow with the file.

mod arff;
mod cells;
mod columns;
mod dataset;
mod dates;
mod dialect;
mod encode;
mod encoding;
mod entries;
mod first_pass;
mod inspect;
mod logged;
mod params;
mod questions;
mod reading;
mod rows;
mod source;
mod style;
mod target;
mod written;

pub use crate::table::{Chance, ColumnInfo, Counts, Table};
pub use columns::{Missing, PerColumn};
pub use dataset::DataSet;
pub use inspect::{Inspection, inspect};
pub use logged::{Logged, LoggedParams, Replay};
pub use params::{DataSetParams, Encoding, Scaling};
pub use reading::{NewRows, Reading};
pub use rows::Format;
pub(crate) use rows::{File, Row, Rows};
pub use source::{DATA_FOLDER, LONGEST_LINE};
pub(crate) use source::{at, matrix, resolve};

crate::world::rows! {
    "dataset": DataSetParams = "file = 'tests/data/small.csv'\nrepeat = true",
    "logged": LoggedParams = "file = 'tests/data/logged.csv'\naction = 'action'\nreward = 'reward'\npropensity = 'propensity'\nrepeat = true",
}
