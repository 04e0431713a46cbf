//! Bases of plugins by name.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corral_core::registry::{BuildError, Unknown};
use corral_core::text::visible;
use corral_core::{Learner, Setup};
use serde::Serialize;

use super::error::Refused;
use super::loader::{Library, Seen, stem, trusted_folder};
use super::policy::LoadPolicy;
use super::table::BaseInfo;

/// The plugins of a program: bases by the key `file-stem/base`.
#[derive(Debug, Default)]
pub struct Plugins {
    policy: LoadPolicy,
    seen: Seen,
    plugins: Vec<Library>,
    refused: Vec<Refused>,
    /// Where they were looked for.
    folders: Vec<PathBuf>,
    offered: Vec<Offered>,
}

/// Builds a base of the program itself.
type Build = dyn Fn(&Setup) -> Result<Learner, BuildError> + Send + Sync;

/// A base of the program itself.
struct Offered {
    key: String,
    build: Box<Build>,
}

impl std::fmt::Debug for Offered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offered").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A base of a plugin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listing {
    /// `file-stem/base`.
    pub key: String,
    /// Its file.
    pub path: String,
    /// What it is.
    #[serde(flatten)]
    pub base: BaseInfo,
}

impl Plugins {
    /// None at all.
    pub fn new(policy: LoadPolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Examines every library of a folder; nothing of them is run before a base is asked for. Those that are refused
    /// are kept in [`refused`](Plugins::refused).
    pub fn add_dir(&mut self, path: &Path) {
        self.folders.push(path.to_owned());
        for outcome in self.seen.examine_dir(path, &self.policy) {
            match outcome {
                Ok(library) => self.plugins.push(library),
                Err(refused) => self.refused.push(refused),
            }
        }
    }

    /// As [`add_dir`](Plugins::add_dir), of a folder that was not named, such as `plugins` in the working directory:
    /// the folder around it must be as trustworthy as itself.
    pub fn add_found_dir(&mut self, path: &Path) {
        let around = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match trusted_folder(around, &self.policy) {
            Ok(()) => self.add_dir(path),
            Err(why) => self.refused.push(Refused { path: around.to_owned(), why }),
        }
    }

    /// Examines one file.
    ///
    /// # Errors
    /// The reason why it is refused.
    pub fn add_file(&mut self, path: &Path) -> Result<&Library, Refused> {
        let library = self.seen.examine(path, &self.policy)?;
        self.plugins.push(library);
        Ok(&self.plugins[self.plugins.len() - 1])
    }

    /// Offers a base of the program itself under a key with a slash, beside those of files: one that is written in another
    /// language, say.
    ///
    /// # Errors
    /// The key is that of another base, which stays what it is.
    pub fn offer(
        &mut self,
        key: impl Into<String>,
        build: impl Fn(&Setup) -> Result<Learner, BuildError> + Send + Sync + 'static,
    ) -> Result<(), BuildError> {
        let key = key.into();
        let by = match self.find(&key) {
            Some((plugin, _)) => Some(visible(&plugin.path.to_string_lossy()).into_owned()),
            None => self
                .offered
                .iter()
                .any(|own| own.key == key)
                .then(|| "another base of this program".to_owned()),
        };
        if let Some(by) = by {
            return Err(BuildError::refused("base", key, format_args!("the name is taken by {by}")));
        }
        self.offered.push(Offered { key, build: Box::new(build) });
        Ok(())
    }

    /// The plugins that passed the pre-flight.
    pub fn plugins(&self) -> &[Library] {
        &self.plugins
    }

    /// The folders that were looked through.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The files that were refused, by the pre-flight or when they were opened.
    pub fn refused(&self) -> Vec<Refused> {
        let opened = self.plugins.iter().filter_map(Library::refused);
        self.refused.iter().cloned().chain(opened).collect()
    }

    /// Every base, in the order of files and of bases within them. Every library is looked at for that: see
    /// [`Library::about`].
    pub fn list(&self) -> Vec<Listing> {
        let each = |plugin: &Library, base: &BaseInfo| Listing {
            key: format!("{}/{}", plugin.stem(), base.name),
            path: visible(&plugin.path.to_string_lossy()).into_owned(),
            base: base.clone(),
        };
        self.plugins.iter().flat_map(|p| p.bases().iter().map(move |b| each(p, b))).collect()
    }

    /// The plugin and base of a key. The file's whole stem (`libmine/base`) is understood as well. Only that library is
    /// looked at.
    pub fn find(&self, key: &str) -> Option<(&Library, &BaseInfo)> {
        let (stem, name) = key.rsplit_once('/')?;
        let plugin = self.plugins.iter().find(|p| named(&p.path, stem))?;
        Some((plugin, plugin.bases().iter().find(|b| b.name == name)?))
    }

    /// Builds the base `key` with the keys of `params` for the world of `setup`, with range 1: with `isolate` in
    /// a process of its own, where a call may take `time-limit` seconds (1.0) of processor time. That key is the host's
    /// and not the plugin's, and isolates too. Where it is not isolated, the policy says which process runs it
    /// ([`RunIn`](super::RunIn)).
    ///
    /// # Errors
    /// An unknown key (with the nearest known ones), or what the plugin says.
    pub fn build(
        &self,
        key: &str,
        params: &toml::Table,
        isolate: bool,
        setup: &Setup,
    ) -> Result<Learner, BuildError> {
        if let Some(own) = self.offered.iter().find(|own| own.key == key) {
            return (own.build)(setup);
        }
        let wrong = |why: &dyn Display| BuildError::refused("base", key, why);
        let Some((plugin, base)) = self.find(key) else {
            let file = key.rsplit_once('/').map_or("", |(stem, _)| stem);
            let refused = self.refused();
            let answer = |why: &Refused| wrong(&format_args!("plugin refused: {why}"));
            if let Some(why) = refused.iter().find(|r| named(&r.path, file)) {
                return Err(answer(why));
            }
            let files = self.list().into_iter().map(|l| l.key);
            let known: Vec<String> = files.chain(self.offered.iter().map(|own| own.key.clone())).collect();
            let unknown = Unknown::new("plugin base", key, known.iter().map(String::as_str));
            // What is near is the answer; else it may stand in a folder that was refused, or it helps to know where was looked.
            return Err(match refused.iter().find(|r| r.path.is_dir()) {
                _ if !unknown.nearest.is_empty() => unknown.into(),
                Some(why) => answer(why),
                None => wrong(&self.looked(&known)),
            });
        };
        let mut params = params.clone();
        let time_limit = match params.remove("time-limit") {
            None => None,
            Some(given) => {
                let seconds = given.as_float().or(given.as_integer().map(|s| s as f64));
                let limit = seconds.filter(|s| *s > 0.0).and_then(|s| Duration::try_from_secs_f64(s).ok());
                Some(limit.ok_or_else(|| {
                    wrong(&format_args!("time-limit must be a number of seconds, but is {given}"))
                        .about(Some("time-limit"))
                })?)
            }
        };
        let text = toml::to_string(&params).map_err(|e| wrong(&e))?;
        let built = if isolate || time_limit.is_some() {
            let mut isolation = self.policy.isolation.clone();
            isolation.time_limit = time_limit.unwrap_or(isolation.time_limit);
            plugin.build_isolated(&base.name, &text, setup, &isolation)
        } else {
            plugin.build(&base.name, &text, setup)
        };
        built.map_err(|why| wrong(&why).about(why.key()))
    }
}

impl Plugins {
    /// Where plugin bases were looked for, and which are there.
    fn looked(&self, known: &[String]) -> String {
        let folders: Vec<_> =
            self.folders.iter().map(|f| visible(&f.to_string_lossy()).into_owned()).collect();
        match (folders.as_slice(), known) {
            ([], _) => {
                "no folder of plugins was named (--plugins or CORRAL_PLUGINS, plugins= in Python, or a folder `plugins` here)"
                    .to_owned()
            }
            (_, []) => format!("there is no such plugin base: {} has no plugins", folders.join(", ")),
            _ => format!("there is no such plugin base: {} has {}", folders.join(", "), known.join(", ")),
        }
    }
}

/// Whether the bases of the file at `path` have keys that begin with `name`.
fn named(path: &Path, name: &str) -> bool {
    stem(path) == name || path.file_stem().is_some_and(|whole| whole.to_string_lossy() == name)
}
