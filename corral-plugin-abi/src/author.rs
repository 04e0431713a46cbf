//! The author's side: a trait, a macro, and the shims behind the table.

mod export;
mod panic;
mod plugin;
mod view;

pub use export::{exported, named};
pub use plugin::{Decision, Kind, Plugin};
