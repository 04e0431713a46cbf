//! From a folder to bases.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use corral_core::{Arm, Base, BaseError, Context, Point, Setup, Space};
use serde::{Deserialize, Serialize};

use super::door;
use super::error::{LoadError, Refused};
use super::foreign::ForeignBase;
#[cfg(unix)]
use super::isolated::{IsolatedBase, Isolation};
use super::policy::Policy;
use super::preflight::{Preflight, preflight, regular, unreadable};
use super::table::Table;
use crate::author::Kind;

/// Through which entry a library hands out its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Door {
    /// An abi_stable root module, with its layout.
    Rust,
    /// `corral_plugin_v1`.
    C,
}

/// What a catalogue says of a base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaseInfo {
    /// Its name within the library.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Version of the plugin.
    pub version: String,
    /// "arms", "contextual" or "points".
    pub kind: String,
    /// The stability exponent, where one is known.
    pub alpha: Option<f64>,
}

impl BaseInfo {
    pub(super) fn of(table: &Table) -> Self {
        Self {
            name: table.name.clone(),
            description: table.description.clone(),
            version: table.version.clone(),
            kind: table.kind.name().into(),
            alpha: table.alpha,
        }
    }

    /// Whether it decides on points.
    pub fn decides_on_points(&self) -> bool {
        self.kind == Kind::Points.name()
    }
}

/// A base of either kind of decision.
pub enum PluginBase {
    /// It decides on arms.
    Arms(Box<dyn Base<Context, Arm>>),
    /// It decides on points.
    Points(Box<dyn Base<Context, Point>>),
}

impl std::fmt::Debug for PluginBase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Arms(_) => "PluginBase::Arms",
            Self::Points(_) => "PluginBase::Points",
        })
    }
}

/// A library that was loaded.
#[derive(Debug)]
pub struct Loaded {
    /// Where it is.
    pub path: PathBuf,
    /// Its digest.
    pub sha256: String,
    /// Through which door.
    pub door: Door,
    /// The version of this crate that it was built with; `None` behind the C door.
    pub interface: Option<String>,
    /// Its bases.
    pub bases: Vec<BaseInfo>,
    home: Home,
}

/// Where the bases of a library run.
#[derive(Debug)]
enum Home {
    Here(Vec<Arc<Table>>),
    #[cfg(unix)]
    Apart(Isolation),
}

impl Loaded {
    /// The first half of its bases' keys: the file's name without `lib` and suffix. Bytes that are no text are
    /// replaced.
    pub fn stem(&self) -> String {
        stem(&self.path)
    }

    /// Builds `base` from TOML text for the world of `setup`, with range 1.
    ///
    /// # Errors
    /// No such base, or what the plugin says.
    pub fn build(&self, base: &str, params: &str, setup: &Setup) -> Result<PluginBase, BaseError> {
        match &self.home {
            Home::Here(tables) => {
                let table = tables.iter().find(|t| t.name == base).cloned();
                let table = table.ok_or_else(|| self.unknown(base))?;
                Ok(match setup.space {
                    Space::Arms(_) => {
                        PluginBase::Arms(Box::new(ForeignBase::<Arm>::build(table, params, setup)?))
                    }
                    Space::Points(_) => {
                        PluginBase::Points(Box::new(ForeignBase::<Point>::build(table, params, setup)?))
                    }
                })
            }
            #[cfg(unix)]
            Home::Apart(isolation) => self.build_isolated(base, params, setup, isolation),
        }
    }

    /// As [`build`](Loaded::build), in a process of its own.
    ///
    /// # Errors
    /// As [`build`](Loaded::build), and when the process does not start.
    #[cfg(unix)]
    pub fn build_isolated(
        &self,
        base: &str,
        params: &str,
        setup: &Setup,
        isolation: &Isolation,
    ) -> Result<PluginBase, BaseError> {
        if !self.bases.iter().any(|b| b.name == base) {
            return Err(self.unknown(base));
        }
        let (path, sha256) = (&self.path, &self.sha256);
        Ok(match setup.space {
            Space::Arms(_) => {
                let base = IsolatedBase::<Arm>::build(path, sha256, base, params, setup, isolation)?;
                PluginBase::Arms(Box::new(base))
            }
            Space::Points(_) => {
                let base = IsolatedBase::<Point>::build(path, sha256, base, params, setup, isolation)?;
                PluginBase::Points(Box::new(base))
            }
        })
    }

    fn unknown(&self, base: &str) -> BaseError {
        BaseError::Failed(format!("{} has no base {base:?}", self.path.display()))
    }
}

pub(super) fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let bare = stem.strip_prefix(std::env::consts::DLL_PREFIX).filter(|bare| !bare.is_empty());
    bare.unwrap_or(&stem).to_owned()
}

/// Loads one file.
///
/// # Errors
/// The reason why not.
pub fn load_file(path: &Path, policy: &Policy) -> Result<Loaded, Refused> {
    Seen::default().load(path, policy)
}

/// Loads every library of a folder, in the order of their names: files that end like libraries of this system. One
/// that is refused never stops the others. A folder that cannot be read, or must not be trusted, is one refusal.
pub fn load_dir(path: &Path, policy: &Policy) -> Vec<Result<Loaded, Refused>> {
    Seen::default().load_dir(path, policy)
}

/// The files that were loaded, by device and inode, and the names that are taken.
#[derive(Debug, Default)]
pub(super) struct Seen {
    files: HashMap<(u64, u64), PathBuf>,
    stems: HashMap<String, PathBuf>,
}

impl Seen {
    pub(super) fn load_dir(&mut self, path: &Path, policy: &Policy) -> Vec<Result<Loaded, Refused>> {
        let refused = |why| vec![Err(Refused { path: path.to_owned(), why })];
        let files = match trusted_folder(path, policy).and_then(|()| Ok(std::fs::read_dir(path)?)) {
            Ok(files) => files,
            Err(why) => return refused(why),
        };
        let mut paths = Vec::new();
        for file in files {
            match file {
                Ok(file) => paths.push(file.path()),
                Err(e) => return refused(e.into()),
            }
        }
        let suffix = std::env::consts::DLL_EXTENSION;
        paths.retain(|p| p.extension() == Some(OsStr::new(suffix)));
        paths.sort();
        paths.iter().map(|p| self.load(p, policy)).collect()
    }

    pub(super) fn load(&mut self, path: &Path, policy: &Policy) -> Result<Loaded, Refused> {
        self.try_load(path, policy).map_err(|why| Refused { path: path.to_owned(), why })
    }

    fn try_load(&mut self, path: &Path, policy: &Policy) -> Result<Loaded, LoadError> {
        let about = std::fs::metadata(path).map_err(|e| unreadable(path, e))?;
        regular(&about)?;
        let id = identity(&about);
        if let Some(other) = id.and_then(|id| self.files.get(&id)) {
            return Err(LoadError::Duplicate(other.clone()));
        }
        let stem = stem(path);
        if let Some(by) = self.stems.get(&stem).cloned() {
            return Err(LoadError::NameTaken { stem, by });
        }
        // A link is trusted where it points to.
        let real = path.canonicalize()?;
        trusted(&about, policy)?;
        if let Some(folder) = real.parent() {
            trusted_folder(folder, policy)?;
        }
        let seen = preflight(&real)?;
        if !policy.allows(&seen.sha256) {
            return Err(LoadError::NotAllowed(seen.sha256));
        }
        let (interface, bases, home) = open(&real, &seen, policy)?;
        if let Some(id) = id {
            self.files.insert(id, path.to_owned());
        }
        self.stems.insert(stem, path.to_owned());
        Ok(Loaded { path: path.to_owned(), sha256: seen.sha256, door: seen.door, interface, bases, home })
    }
}

/// Opens the library here, or has a child look at it.
fn open(
    path: &Path,
    seen: &Preflight,
    policy: &Policy,
) -> Result<(Option<String>, Vec<BaseInfo>, Home), LoadError> {
    #[cfg(unix)]
    if let Some(isolation) = &policy.isolation {
        let about = super::isolated::describe(path, &seen.sha256, isolation);
        let (interface, bases) = about.map_err(LoadError::Isolated)?;
        return Ok((interface, bases, Home::Apart(isolation.clone())));
    }
    #[cfg(not(unix))]
    let _ = policy;
    // SAFETY: the user put the library there to be run, and the pre-flight found an entry in it.
    let opened = unsafe { door::open(path, seen.door) }?;
    let bases = opened.tables.iter().map(|t| BaseInfo::of(t)).collect();
    Ok((opened.interface, bases, Home::Here(opened.tables)))
}

#[cfg(unix)]
fn identity(about: &std::fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((about.dev(), about.ino()))
}

#[cfg(not(unix))]
fn identity(_about: &std::fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// Nobody else may write the file.
fn trusted(about: &std::fs::Metadata, policy: &Policy) -> Result<(), LoadError> {
    match mode(about) {
        Some(mode) if mode & 0o002 != 0 && !policy.allow_world_writable => {
            Err(LoadError::Writable("the file", mode & 0o7777))
        }
        _ => Ok(()),
    }
}

/// Nobody else may put files into the folder, or (by its sticky bit) replace those of others.
fn trusted_folder(path: &Path, policy: &Policy) -> Result<(), LoadError> {
    match mode(&std::fs::metadata(path)?) {
        Some(mode) if mode & 0o1002 == 0o002 && !policy.allow_world_writable => {
            Err(LoadError::Writable("its folder", mode & 0o7777))
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn mode(about: &std::fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    Some(about.mode())
}

#[cfg(not(unix))]
fn mode(_about: &std::fs::Metadata) -> Option<u32> {
    None
}
