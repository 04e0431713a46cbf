//! The portable door, as far as it is the host's: WebAssembly modules beside libraries. What runs them is a crate of its own,
//! `corral-plugin-wasm`, which a program names in the field `wasm` of its [`LoadPolicy`](super::LoadPolicy).

use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use corral_core::{BaseError, Learner, Setup};

use super::error::LoadError;
use super::table::BaseInfo;

#[doc(hidden)]
pub use super::foreign::{check_decision, check_memo, check_probability, memo_capacity_of, set_code};
#[doc(hidden)]
pub use super::table::info;

/// A WebAssembly module that was opened.
pub trait Module: Debug + Send + Sync {
    /// Its bases.
    fn bases(&self) -> Vec<BaseInfo>;

    /// Builds one of them, as [`Library::build`](super::Library::build) does.
    ///
    /// # Errors
    /// No such base, or what the module says.
    fn build(&self, base: &str, params: &str, setup: &Setup) -> Result<Learner, BaseError>;
}

/// What opens a module: `corral_plugin_wasm::open`.
pub type OpenModule = fn(&[u8]) -> Result<Arc<dyn Module>, LoadError>;

/// How modules begin.
pub(super) const MAGIC: &[u8] = b"\0asm";
/// Why there is no process for a module.
pub(super) const NO_PROCESS: &str = "a WebAssembly module needs no process of its own, because it reaches nothing of this one: leave \
     out isolate and time-limit (`fuel` limits the steps of a call)";

/// Whether a file is to be a module, by its name.
pub(super) fn named(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "wasm")
}

/// A file that is called a module is one, and the other way round: who reads the name knows what runs.
pub(super) fn check_name(module: bool, data: &[u8]) -> Result<(), LoadError> {
    match (module, data.starts_with(MAGIC)) {
        (true, false) => Err(LoadError::Wasm("it does not begin as one".into())),
        (false, true) => {
            Err(LoadError::NotALibrary("a WebAssembly module, whose name must end in .wasm".into()))
        }
        _ => Ok(()),
    }
}

/// The bytes of a module, opened when they are asked for.
#[derive(Debug)]
pub(super) struct Bytes {
    pub(super) bytes: Vec<u8>,
    pub(super) open: OpenModule,
    pub(super) opened: OnceLock<Result<Arc<dyn Module>, LoadError>>,
}

impl Bytes {
    pub(super) fn module(&self) -> Result<&Arc<dyn Module>, &LoadError> {
        self.opened.get_or_init(|| (self.open)(&self.bytes)).as_ref()
    }
}
