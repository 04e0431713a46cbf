//! A base in a process of its own: what it does to itself, it does not do to the host.
//!
//! The host program runs itself again with a hidden argument; [`isolated_main`], called first thing in `main`, makes
//! that copy the plugin's home. Requests and answers go over a socket pair, and so do the random numbers, which the
//! host draws when the child asks: the run is the same, bit for bit.

mod base;
mod child;
mod wire;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

pub use base::IsolatedBase;
pub(super) use base::describe;

/// The argument that makes a program the home of a plugin.
const ARGUMENT: &str = "--corral-isolated-plugin";

/// How a base is isolated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Isolation {
    /// How long one call may take, from request to answer. Starting the process and building the base may take ten
    /// seconds whatever this says.
    pub time_limit: Duration,
    /// A program that calls [`isolated_main`]; `None`: this one.
    pub program: Option<PathBuf>,
}

impl Default for Isolation {
    fn default() -> Self {
        Self { time_limit: Duration::from_secs(1), program: None }
    }
}

/// Makes this process the home of an isolated plugin when it was started as one, and never returns then; returns at
/// once otherwise. A program that isolates plugins calls this before anything else.
pub fn isolated_main() {
    if std::env::args_os().nth(1).as_deref() == Some(OsStr::new(ARGUMENT)) {
        child::serve();
    }
}
