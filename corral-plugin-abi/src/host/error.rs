//! Why a file is not loaded: a variant per stage.

use std::borrow::Cow;
use std::path::PathBuf;

use corral_core::text::visible;
use serde::{Deserialize, Serialize};

use super::table::VtableError;

/// A file that was not loaded, and why. The others are.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}: {why}", visible(&path.to_string_lossy()))]
pub struct Refused {
    /// The file, or the folder where that is refused as a whole.
    pub path: PathBuf,
    /// The reason.
    pub why: LoadError,
}

/// Why a file is not loaded.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Read(String),
    /// Plugins are loaded on Linux only.
    #[error("plugins are loaded on Linux only, and this is {}", std::env::consts::OS)]
    Platform,
    /// It is a library of another system.
    #[error(
        "a library for {0}, and plugins are loaded on Linux only: build it there as a .so, or as a WebAssembly module (`corral plugin \
         new --wasm`), which runs on every system; link the base into a program of your own (corral_core::Base), or write it in \
         Python (corral.Base)"
    )]
    OtherSystem(Cow<'static, str>),
    /// It is no regular file.
    #[error("not a regular file, but {0}")]
    NotRegular(Cow<'static, str>),
    /// Others may write it.
    #[error(
        "{0} can be written by everybody (mode {1:o}); forbid that (chmod o-w); the program allows it with --allow-world-writable"
    )]
    Writable(Cow<'static, str>, u32),
    /// It belongs to somebody else.
    #[error(
        "{0} belongs to user {1}, who is neither you nor root; take it over (chown); the program allows it with --allow-other-owners"
    )]
    Owner(Cow<'static, str>, u32),
    /// The policy's list does not have it.
    #[error("its digest {0} is not on the list of allowed ones (--allow-digests)")]
    NotAllowed(String),
    /// It was loaded under another name.
    #[error("the same file as {}, which is loaded", visible(&.0.to_string_lossy()))]
    Duplicate(PathBuf),
    /// Its name in the registry is that of another file.
    #[error("its name {stem:?} is taken by {}", visible(&by.to_string_lossy()))]
    NameTaken {
        /// The name.
        stem: String,
        /// The file that has it.
        by: PathBuf,
    },
    /// It is no library.
    #[error("not a library: {0}")]
    NotALibrary(String),
    /// It ends before its parts do.
    #[error("cut short: {found} bytes, but its {what} end at byte {needed}")]
    CutShort {
        /// Which part is missing.
        what: Cow<'static, str>,
        /// Where that part ends.
        needed: u64,
        /// Length of the file.
        found: u64,
    },
    /// It is for another machine.
    #[error("built for {found}, this host is {}", std::env::consts::ARCH)]
    Architecture {
        /// What it is built for.
        found: String,
    },
    /// It exports no entry.
    #[error("a library, but not a plugin: it exports neither `corral_plugin_v1` nor a root module")]
    NotAPlugin,
    /// The system's loader refused it.
    #[error("cannot be opened: {0}")]
    Open(String),
    /// It is built with another abi_stable.
    #[error("built with abi_stable {0}; this host needs {1}")]
    AbiStable(String, String),
    /// It is built with another version of this crate.
    #[error("built with corral-plugin-abi {found}; this host has {host}")]
    Version {
        /// The plugin's.
        found: String,
        /// The host's.
        host: String,
    },
    /// It switched its layout check off.
    #[error("its layout check is switched off")]
    Unchecked,
    /// Its table is laid out differently.
    #[error("its table differs from this host's:\n{0}")]
    Layout(String),
    /// A table of it cannot be used.
    #[error("base {index}: {why}")]
    Table {
        /// Which of its bases.
        index: usize,
        /// Why.
        why: VtableError,
    },
    /// It has no bases.
    #[error("it has no bases")]
    Empty,
    /// It has more bases than anyone has.
    #[error("it has more than {0} bases")]
    TooMany(usize),
    /// Two of its bases have the same name.
    #[error("two of its bases are called {0:?}")]
    SameName(String),
    /// The child that was to look at it could not be started, ended, or took too long.
    #[error("a child process was to open it: {0}")]
    Child(String),
    /// It is a WebAssembly module, and the program runs none.
    #[error(
        "a WebAssembly module, and this program is built without them: build it with `--features wasm` (of corral-cli), or take the \
         plugin as a library"
    )]
    NoWasm,
    /// It is no WebAssembly module that can be a plugin.
    #[error("not a usable WebAssembly module: {0}")]
    Wasm(String),
}

impl From<std::io::Error> for LoadError {
    fn from(e: std::io::Error) -> Self {
        Self::Read(e.to_string())
    }
}
