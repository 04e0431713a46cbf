//! The host's side: everything that opens, checks and calls a plugin.

mod foreign;
mod table;

pub use foreign::ForeignBase;
pub use table::{Table, TableError};
