//! The host's side: everything that opens, checks and calls a plugin.

mod check;
mod door;
mod error;
mod foreign;
#[cfg(unix)]
mod isolated;
mod layout;
mod loader;
mod policy;
mod preflight;
mod registry;
mod scaffold;
mod table;

pub use check::{Inspection, Verdict, check, check_base, inspect};
pub use error::{LoadError, Refused};
pub use foreign::ForeignBase;
#[cfg(unix)]
pub use isolated::{IsolatedBase, Isolation, isolated_main};
pub use loader::{BaseInfo, Door, Loaded, PluginBase, load_dir, load_file};
pub use policy::Policy;
pub use preflight::{Preflight, preflight, preflight_bytes};
pub use registry::{Listing, Registry, RegistryError};
pub use scaffold::{ScaffoldError, scaffold};
pub use table::{Table, TableError};
