//! The host's side: everything that opens, checks and calls a plugin.

mod check;
#[cfg(target_os = "linux")]
mod door;
mod error;
mod float;
mod foreign;
mod isolated;
#[cfg(target_os = "linux")]
mod layout;
mod lender;
mod loader;
mod plugins;
mod policy;
pub mod portable;
mod preflight;
mod scaffold;
mod sealed;
mod table;

pub use check::{ISOLATE, Inspection, Verdict, inspect};
pub use error::{LoadError, Refused};
pub use foreign::ForeignBase;
#[cfg(target_os = "linux")]
pub use isolated::IsolatedBase;
pub use isolated::{Isolation, isolated_main};
pub use loader::{About, Door, Library, load_dir, load_file};
pub use plugins::{Listing, Plugins};
pub use policy::{LoadPolicy, RunIn};
pub use portable::Module;
pub use preflight::{Preflight, preflight, preflight_bytes};
pub use scaffold::{scaffold, scaffold_wasm};
pub use table::{BaseInfo, Table, VtableError};
