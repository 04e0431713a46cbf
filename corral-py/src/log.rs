//! The decision log, as Python writes, reads and evaluates it.

mod read;
mod value;
mod write;

pub use read::read_log;
pub use value::{Valuation, evaluate};
pub use write::Log;
