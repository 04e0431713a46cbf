//! From a folder to bases.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use corral_core::text::visible;
use corral_core::{BaseError, Learner, Setup};
use serde::{Deserialize, Serialize};

use super::check::{self, Verdict};
use super::error::{LoadError, Refused};
use super::foreign::here;
use super::isolated::{self, Image, Isolation};
use super::policy::{LoadPolicy, Process, RunIn};
use super::portable;
use super::preflight::{open, other_system, preflight_bytes, read};
use super::sealed::Sealed;
use super::table::{BaseInfo, Table};

/// Through which entry a library hands out its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Door {
    /// An abi_stable root module, with its layout.
    Rust,
    /// `corral_plugin_v1`.
    C,
    /// The same in a WebAssembly module.
    Wasm,
}

/// What a library says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The version of this crate that it was built with; `None` behind the C door.
    pub interface: Option<String>,
    /// Its bases.
    pub bases: Vec<BaseInfo>,
}

impl About {
    pub(super) fn of(interface: Option<String>, tables: &[Arc<Table>]) -> Self {
        Self { interface, bases: tables.iter().map(|t| t.base.clone()).collect() }
    }
}

/// A file that passed the pre-flight, with the bytes that passed it: they are what is opened, and not what the file
/// holds by then.
#[derive(Debug)]
pub struct Library {
    /// Where it is.
    pub path: PathBuf,
    /// Its digest.
    pub sha256: String,
    /// Through which door.
    pub door: Door,
    held: Held,
    run_in: RunIn,
    isolation: Isolation,
    about: OnceLock<Result<About, LoadError>>,
    /// Its tables, where it is opened in this process.
    tables: OnceLock<Result<Opened, LoadError>>,
}

/// What is opened: a library by the system, or a module by the program.
#[derive(Debug)]
enum Held {
    Library(Sealed),
    Module(portable::Bytes),
}

/// The tables of a library, and the version of this crate that it was built with (C libraries have none).
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) tables: Vec<Arc<Table>>,
    pub(super) interface: Option<String>,
}

impl Library {
    /// The first half of its bases' keys: the file's name without `lib` and suffix. Bytes that are no text are
    /// replaced, characters that act on a terminal are written out.
    pub fn stem(&self) -> String {
        stem(&self.path)
    }

    /// What it says of itself. Asked once, by opening it: foreign code runs, in a child or (with
    /// [`RunIn::this_process`]) in this process.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn about(&self) -> Result<&About, &LoadError> {
        let look = || match (&self.held, self.run_in.0) {
            (Held::Module(bytes), _) => {
                let module = bytes.module().map_err(Clone::clone)?;
                Ok(About { interface: None, bases: module.bases() })
            }
            (Held::Library(bytes), Process::Children | Process::ChildrenUnlessUsed) => {
                isolated::describe(self.image(bytes, &self.isolation))
            }
            (Held::Library(_), Process::This) => {
                let opened = self.tables().map_err(Clone::clone)?;
                Ok(About::of(opened.interface.clone(), &opened.tables))
            }
        };
        self.about.get_or_init(look).as_ref()
    }

    /// Its bases; none where it cannot be used.
    pub fn bases(&self) -> &[BaseInfo] {
        self.about().map_or(&[], |about| &about.bases)
    }

    /// Why it cannot be used, where that is known by now.
    pub(super) fn refused(&self) -> Option<Refused> {
        let why = self.about.get()?.as_ref().err()?;
        Some(Refused { path: self.path.clone(), why: why.clone() })
    }

    /// Opens it in this process, once.
    fn tables(&self) -> Result<&Opened, &LoadError> {
        let open = || match &self.held {
            Held::Library(bytes) => open_here(bytes, self.door),
            Held::Module(_) => Err(LoadError::NotAPlugin),
        };
        self.tables.get_or_init(open).as_ref()
    }

    /// Builds `base` from TOML text for the world of `setup`, with range 1, where the policy says. Unless that is in children,
    /// foreign code runs in this process, now and in every call of the base, on the promise of whoever chose [`RunIn`].
    ///
    /// # Errors
    /// No such base, or what the plugin says.
    pub fn build(&self, base: &str, params: &str, setup: &Setup) -> Result<Learner, BaseError> {
        self.has(base)?;
        if let Held::Module(bytes) = &self.held {
            return bytes.module().map_err(|why| self.unusable(why))?.build(base, params, setup);
        }
        if self.run_in == RunIn::CHILDREN {
            return self.build_isolated(base, params, setup, &self.isolation);
        }
        let opened = self.tables().map_err(|why| self.unusable(why))?;
        let table = opened.tables.iter().find(|t| t.base.name == base).cloned();
        let table = table.ok_or_else(|| self.unknown(base))?;
        here(table, params, setup)
    }

    /// As [`build`](Library::build), in a process of its own, whatever the policy says.
    ///
    /// # Errors
    /// As [`build`](Library::build), and when the process does not start. A WebAssembly module is refused: it needs none.
    pub fn build_isolated(
        &self,
        base: &str,
        params: &str,
        setup: &Setup,
        isolation: &Isolation,
    ) -> Result<Learner, BaseError> {
        self.has(base)?;
        match &self.held {
            Held::Library(bytes) => isolated::build(self.image(bytes, isolation), base, params, setup),
            Held::Module(_) => Err(BaseError::Failed(portable::NO_PROCESS.into())),
        }
    }

    /// Examines `base`, built from TOML text, by the laws of `corral_core::contract`, where the policy says.
    ///
    /// # Errors
    /// No such base, or no child opens the library. A child that ends or is late in a law has broken that law.
    pub fn examine(&self, base: &str, params: &str) -> Result<Verdict, BaseError> {
        let about = self.has(base)?;
        match (&self.held, self.run_in.0) {
            (Held::Library(bytes), Process::Children | Process::ChildrenUnlessUsed) => {
                isolated::examine(self.image(bytes, &self.isolation), base, params)
            }
            (Held::Module(_), _) | (_, Process::This) => {
                let build = |setup: &Setup| self.build(base, params, setup);
                Ok(check::examine(base, about.kind, None, &build))
            }
        }
    }

    fn image<'a>(&self, bytes: &'a Sealed, isolation: &'a Isolation) -> Image<'a> {
        Image { bytes, door: self.door, isolation }
    }

    fn has(&self, base: &str) -> Result<&BaseInfo, BaseError> {
        let about = self.about().map_err(|why| self.unusable(why))?;
        about.bases.iter().find(|b| b.name == base).ok_or_else(|| self.unknown(base))
    }

    fn unknown(&self, base: &str) -> BaseError {
        BaseError::Failed(format!("{} has no base {base:?}", visible(&self.path.to_string_lossy())))
    }

    fn unusable(&self, why: &LoadError) -> BaseError {
        BaseError::Failed(Refused { path: self.path.clone(), why: why.clone() }.to_string())
    }
}

#[cfg(target_os = "linux")]
fn open_here(bytes: &Sealed, door: Door) -> Result<Opened, LoadError> {
    // SAFETY: the promise given to `RunIn::this_process`, or the user's by `RunIn::user_vouches`: no other policy leads here.
    // The pre-flight found an entry.
    unsafe { super::door::open(bytes.descriptor()?, door) }
}

#[cfg(not(target_os = "linux"))]
fn open_here(_: &Sealed, _: Door) -> Result<Opened, LoadError> {
    Err(LoadError::Platform)
}

pub(super) fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let bare = stem.strip_prefix(std::env::consts::DLL_PREFIX).filter(|bare| !bare.is_empty());
    visible(bare.unwrap_or(&stem)).into_owned()
}

/// Loads one file: the pre-flight, then [`Library::about`], where the policy says ([`RunIn`]).
///
/// # Errors
/// The reason why not.
pub fn load_file(path: &Path, policy: &LoadPolicy) -> Result<Library, Refused> {
    looked_at(Seen::default().examine(path, policy)?)
}

/// Loads every library of a folder, in the order of their names: files that end like libraries of this system. One
/// that is refused never stops the others. A folder that cannot be read, or must not be trusted, is one refusal.
pub fn load_dir(path: &Path, policy: &LoadPolicy) -> Vec<Result<Library, Refused>> {
    let found = Seen::default().examine_dir(path, policy);
    found.into_iter().map(|library| looked_at(library?)).collect()
}

fn looked_at(library: Library) -> Result<Library, Refused> {
    let _ = library.about();
    library.refused().map_or(Ok(library), Err)
}

/// The files that were examined, by device and inode, and the names that are taken.
#[derive(Debug, Default)]
pub(super) struct Seen {
    files: HashMap<(u64, u64), PathBuf>,
    stems: HashMap<String, PathBuf>,
}

impl Seen {
    /// Examines the files of a folder; runs nothing of them.
    pub(super) fn examine_dir(&mut self, path: &Path, policy: &LoadPolicy) -> Vec<Result<Library, Refused>> {
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
        paths.retain(|p| {
            p.extension() == Some(OsStr::new(suffix)) || portable::named(p) || other_system(p).is_some()
        });
        paths.sort();
        paths.iter().map(|p| self.examine(p, policy)).collect()
    }

    /// Examines a file; runs nothing of it.
    pub(super) fn examine(&mut self, path: &Path, policy: &LoadPolicy) -> Result<Library, Refused> {
        self.try_examine(path, policy).map_err(|why| Refused { path: path.to_owned(), why })
    }

    fn try_examine(&mut self, path: &Path, policy: &LoadPolicy) -> Result<Library, LoadError> {
        if let Some(system) = other_system(path) {
            return Err(LoadError::OtherSystem(system.into()));
        }
        let module = portable::named(path);
        if module && policy.wasm.is_none() {
            return Err(LoadError::NoWasm);
        }
        if !cfg!(target_os = "linux") && !module {
            return Err(LoadError::Platform);
        }
        // Everything below is about what is open here: whatever takes the file's name meanwhile is another one.
        let (file, about) = open(path)?;
        let id = identity(&about);
        if let Some(other) = id.and_then(|id| self.files.get(&id)) {
            return Err(LoadError::Duplicate(other.clone()));
        }
        let stem = stem(path);
        if let Some(by) = self.stems.get(&stem).cloned() {
            return Err(LoadError::NameTaken { stem, by });
        }
        trusted("the file", &about, 0o002, policy)?;
        // A link is trusted where it points to.
        if let Some(folder) = path.canonicalize()?.parent() {
            trusted_folder(folder, policy)?;
        }
        let data = read(&file)?;
        portable::check_name(module, &data)?;
        let seen = preflight_bytes(&data)?;
        if !policy.allows(&seen.sha256) {
            return Err(LoadError::NotAllowed(seen.sha256));
        }
        let library = Library {
            path: path.to_owned(),
            sha256: seen.sha256,
            door: seen.door,
            held: match policy.wasm.filter(|_| module) {
                Some(open) => Held::Module(portable::Bytes { bytes: data, open, opened: OnceLock::new() }),
                None => Held::Library(Sealed::new(&data)?),
            },
            run_in: policy.run_in,
            isolation: policy.isolation.clone(),
            about: OnceLock::new(),
            tables: OnceLock::new(),
        };
        if let Some(id) = id {
            self.files.insert(id, path.to_owned());
        }
        self.stems.insert(stem, path.to_owned());
        Ok(library)
    }
}

/// No one else may put files into the folder, or (by its sticky bit) replace those of others.
pub(super) fn trusted_folder(path: &Path, policy: &LoadPolicy) -> Result<(), LoadError> {
    let about = std::fs::metadata(path)?;
    trusted("its folder", &about, 0o1002, policy)
}

#[cfg(unix)]
fn identity(about: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((about.dev(), about.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// Only the user and root may change it: of the bits of `writable` not only the last is set, and they own it.
#[cfg(target_os = "linux")]
fn trusted(
    what: &'static str,
    about: &Metadata,
    writable: u32,
    policy: &LoadPolicy,
) -> Result<(), LoadError> {
    use std::os::unix::fs::MetadataExt;
    if about.mode() & writable == 0o002 && !policy.allow_world_writable {
        return Err(LoadError::Writable(what.into(), about.mode() & 0o7777));
    }
    let owner = about.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() && !policy.allow_other_owners {
        return Err(LoadError::Owner(what.into(), owner));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn trusted(_: &'static str, _: &Metadata, _: u32, _: &LoadPolicy) -> Result<(), LoadError> {
    Ok(())
}
