//! Why a file is not loaded: a variant per stage.

use std::path::PathBuf;

use super::table::TableError;

/// A file that was not loaded, and why. The others are.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct Refused {
    /// The file, or the folder where that is refused as a whole.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub why: LoadError,
}

/// Why a file is not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// It is no regular file.
    #[error("not a regular file, but {0}")]
    NotRegular(&'static str),
    /// Others may write it.
    #[error("{0} can be written by everybody (mode {1:o}); forbid that, or allow it in the policy")]
    Writable(&'static str, u32),
    /// The policy's list does not have it.
    #[error("its digest {0} is not on the list of allowed ones")]
    NotAllowed(String),
    /// It was loaded under another name.
    #[error("the same file as {}, which is loaded", .0.display())]
    Duplicate(PathBuf),
    /// Its name in the registry is that of another file.
    #[error("its name {stem:?} is taken by {}", by.display())]
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
        what: &'static str,
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
    #[error("base {index}: {source}")]
    Table {
        /// Which of its bases.
        index: usize,
        /// Why.
        source: TableError,
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
    /// The child process that was to look at it failed.
    #[error("its child process failed: {0}")]
    Isolated(String),
}
