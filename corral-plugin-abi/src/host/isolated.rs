//! A plugin in a process of its own: what it does to itself, it does not do to the host.
//!
//! The host program runs itself again with a hidden argument; [`isolated_main`], called first thing in `main`, makes
//! that copy the plugin's home. Requests and answers go over a socket pair, and so do the random numbers, which the
//! host draws when the child asks: the run is the same, bit for bit. The library is opened there and only there, from
//! the bytes that passed the pre-flight, which the child inherits.

#[cfg(target_os = "linux")]
mod base;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod home;
#[cfg(target_os = "linux")]
mod late;
#[cfg(target_os = "linux")]
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::loader::Door;
use super::sealed::Sealed;

#[cfg(target_os = "linux")]
pub use base::IsolatedBase;
#[cfg(target_os = "linux")]
pub(super) use base::build;
#[cfg(target_os = "linux")]
pub(super) use home::{describe, examine};

/// The argument that makes a program the home of a plugin.
#[cfg(target_os = "linux")]
const ARGUMENT: &str = "--corral-isolated-plugin";

/// How a plugin is isolated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Isolation {
    /// How much processor time the child may use for one call, all of its threads together: 1 second. By the clock a
    /// call may take sixty times as long, so that a busy machine benches no base; in an examination ten times, so that
    /// whoever waits has a verdict.
    pub time_limit: Duration,
    /// How much processor time it may use to start, to open the library, and to build the base: 10 seconds each. By the
    /// clock each may take six times as long.
    pub start_limit: Duration,
    /// A program that calls [`isolated_main`]; `None`: this one.
    pub program: Option<PathBuf>,
    /// What the program is told first: an interpreter, the script that calls [`isolated_main`].
    pub arguments: Vec<OsString>,
}

/// A library that is opened in a process of its own.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is opened there"))]
pub(super) struct Image<'a> {
    pub(super) bytes: &'a Sealed,
    pub(super) door: Door,
    pub(super) isolation: &'a Isolation,
}

impl Default for Isolation {
    fn default() -> Self {
        Self {
            time_limit: Duration::from_secs(1),
            start_limit: Duration::from_secs(10),
            program: None,
            arguments: Vec::new(),
        }
    }
}

/// Makes this process the home of an isolated plugin when it was started as one, and never returns then; returns at
/// once otherwise. A program that isolates plugins calls this before anything else.
pub fn isolated_main() {
    #[cfg(target_os = "linux")]
    if std::env::args_os().next_back().is_some_and(|last| last == ARGUMENT) {
        child::serve();
    }
}

/// A call into a plugin begins: told to whoever examines it in this process.
#[inline]
pub(super) fn count_call() {
    #[cfg(target_os = "linux")]
    late::count_call();
}

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{build, describe, examine};

/// Where there is no isolation, no file passes the pre-flight either: these say why for completeness.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use corral_core::{BaseError, Learner, Setup};

    use super::Image;
    use crate::host::check::Verdict;
    use crate::host::error::LoadError;
    use crate::host::loader::About;

    fn refused() -> BaseError {
        BaseError::Failed(LoadError::Platform.to_string())
    }

    pub(in crate::host) fn describe(_: Image<'_>) -> Result<About, LoadError> {
        Err(LoadError::Platform)
    }

    pub(in crate::host) fn build(_: Image<'_>, _: &str, _: &str, _: &Setup) -> Result<Learner, BaseError> {
        Err(refused())
    }

    pub(in crate::host) fn examine(_: Image<'_>, _: &str, _: &str) -> Result<Verdict, BaseError> {
        Err(refused())
    }
}
