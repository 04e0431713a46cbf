//! The author's side: a trait, a macro, and the shims behind the table.

mod export;
mod panic;
mod plugin;
mod view;

pub use export::{exported, named};
pub use plugin::{Crosses, Plugin};
#[cfg(feature = "host")]
pub(crate) use plugin::{kind_of, points};
