//! Bases of plugins by name.

use std::path::Path;
use std::time::Duration;

use corral_core::catalog::Unknown;
use corral_core::{BaseError, Setup};
use serde::Serialize;

use super::error::Refused;
use super::loader::{BaseInfo, Loaded, PluginBase, Seen};
use super::policy::Policy;

/// The plugins of a program: bases by the key `file-stem/base`.
#[derive(Debug, Default)]
pub struct Registry {
    policy: Policy,
    seen: Seen,
    plugins: Vec<Loaded>,
    refused: Vec<Refused>,
}

/// A base of the registry.
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

/// Why a base could not be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No plugin has it; the nearest keys are named.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The base said no.
    #[error("base {key:?}: {source}")]
    Base {
        /// Which.
        key: String,
        /// Why.
        source: BaseError,
    },
    /// A value of another type than the key's.
    #[error("base {key:?}: {why}")]
    Value {
        /// Which base.
        key: String,
        /// What is wrong.
        why: String,
    },
}

impl Registry {
    /// A registry of nothing.
    pub fn new(policy: Policy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Loads every library of a folder; those that are refused are kept in [`refused`](Registry::refused).
    pub fn add_dir(&mut self, path: &Path) {
        for outcome in self.seen.load_dir(path, &self.policy) {
            match outcome {
                Ok(loaded) => self.plugins.push(loaded),
                Err(refused) => self.refused.push(refused),
            }
        }
    }

    /// Loads one file.
    ///
    /// # Errors
    /// The reason why not.
    pub fn add_file(&mut self, path: &Path) -> Result<&Loaded, Refused> {
        let loaded = self.seen.load(path, &self.policy)?;
        self.plugins.push(loaded);
        Ok(&self.plugins[self.plugins.len() - 1])
    }

    /// The plugins that were loaded.
    pub fn plugins(&self) -> &[Loaded] {
        &self.plugins
    }

    /// The files of [`add_dir`](Registry::add_dir) that were not loaded.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Every base, in the order of files and of bases within them.
    pub fn list(&self) -> Vec<Listing> {
        let each = |plugin: &Loaded, base: &BaseInfo| Listing {
            key: format!("{}/{}", plugin.stem(), base.name),
            path: plugin.path.display().to_string(),
            base: base.clone(),
        };
        self.plugins.iter().flat_map(|p| p.bases.iter().map(move |b| each(p, b))).collect()
    }

    /// The plugin and base of a key. The file's whole stem (`libmine/base`) is understood as well.
    pub fn find(&self, key: &str) -> Option<(&Loaded, &BaseInfo)> {
        let (stem, name) = key.rsplit_once('/')?;
        let plugin = self.plugins.iter().find(|p| {
            p.stem() == stem || p.path.file_stem().is_some_and(|whole| whole.to_string_lossy() == stem)
        })?;
        Some((plugin, plugin.bases.iter().find(|b| b.name == name)?))
    }

    /// Builds the base `key` with the keys of `params` for the world of `setup`, with range 1. Two keys are the host's
    /// and not the plugin's: `isolate = true` runs the base in a process of its own, where a call may take
    /// `time-limit` seconds (1.0).
    ///
    /// # Errors
    /// An unknown key (with the nearest known ones), or what the plugin says.
    pub fn build(&self, key: &str, params: &toml::Table, setup: &Setup) -> Result<PluginBase, RegistryError> {
        let Some((plugin, base)) = self.find(key) else {
            let known: Vec<String> = self.list().into_iter().map(|l| l.key).collect();
            return Err(Unknown::new("plugin base", key, known.iter().map(String::as_str)).into());
        };
        let wrong = |why: String| RegistryError::Value { key: key.to_owned(), why };
        let mut params = params.clone();
        let isolate = match params.remove("isolate") {
            None => false,
            Some(toml::Value::Boolean(isolate)) => isolate,
            Some(other) => return Err(wrong(format!("isolate must be true or false, but is {other}"))),
        };
        let time_limit = match params.remove("time-limit") {
            None => None,
            Some(given) => {
                let seconds = given.as_float().or(given.as_integer().map(|s| s as f64));
                let limit = seconds.filter(|s| *s > 0.0).and_then(|s| Duration::try_from_secs_f64(s).ok());
                Some(limit.ok_or_else(|| {
                    wrong(format!("time-limit must be a number of seconds, but is {given}"))
                })?)
            }
        };
        let text = toml::to_string(&params).map_err(|e| wrong(e.to_string()))?;
        let built = if isolate || time_limit.is_some() {
            isolated(plugin, &base.name, &text, setup, &self.policy, time_limit)
        } else {
            plugin.build(&base.name, &text, setup)
        };
        built.map_err(|source| RegistryError::Base { key: key.to_owned(), source })
    }
}

#[cfg(unix)]
fn isolated(
    plugin: &Loaded,
    base: &str,
    params: &str,
    setup: &Setup,
    policy: &Policy,
    time_limit: Option<Duration>,
) -> Result<PluginBase, BaseError> {
    let mut isolation = policy.isolation.clone().unwrap_or_default();
    isolation.time_limit = time_limit.unwrap_or(isolation.time_limit);
    plugin.build_isolated(base, params, setup, &isolation)
}

#[cfg(not(unix))]
fn isolated(
    _: &Loaded,
    _: &str,
    _: &str,
    _: &Setup,
    _: &Policy,
    _: Option<Duration>,
) -> Result<PluginBase, BaseError> {
    Err(BaseError::Failed("bases can only be isolated on Unix".into()))
}
