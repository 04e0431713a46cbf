//! Where plugins come from, and which of them are loaded.

use std::path::PathBuf;

use clap::Args;
use corral_lab::run::Plugins;
use corral_plugin_abi::host::{LoadPolicy, RunIn};

use crate::{Failure, read_text, say};

/// Which plugins are loaded that somebody else may have changed.
#[derive(Debug, Clone, Default, Args)]
pub struct Trust {
    /// Also load plugins that everybody may write
    #[arg(long)]
    allow_world_writable: bool,
    /// Also load plugins that belong to somebody other than you and root
    #[arg(long)]
    allow_other_owners: bool,
}

impl Trust {
    pub fn policy(&self) -> LoadPolicy {
        let Self { allow_world_writable, allow_other_owners } = *self;
        #[cfg(not(feature = "wasm"))]
        let wasm = None;
        #[cfg(feature = "wasm")]
        let wasm = Some(corral_plugin_wasm::open as corral_plugin_abi::host::portable::OpenModule);
        LoadPolicy { allow_world_writable, allow_other_owners, wasm, ..LoadPolicy::default() }
    }
}

/// Where plugins come from.
#[derive(Debug, Clone, Args)]
pub struct PluginDir {
    /// Folder of compiled plugins [default: plugins/ here, if it exists, in a folder of yours]
    #[arg(long, value_name = "DIR", env = "CORRAL_PLUGINS")]
    plugins: Option<PathBuf>,
    #[command(flatten)]
    trust: Trust,
    /// Load only plugins whose SHA-256 stands in this file, one per line
    #[arg(long, value_name = "FILE")]
    allow_digests: Option<PathBuf>,
}

impl PluginDir {
    /// The folder, unless it is the default one and is not there.
    fn folder(&self) -> Option<PathBuf> {
        match &self.plugins {
            Some(dir) => Some(dir.clone()),
            None => Some(PathBuf::from("plugins")).filter(|dir| dir.is_dir()),
        }
    }

    /// What may be loaded. Only plugins that a spec uses without `isolate = true` run in this process.
    fn policy(&self) -> Result<LoadPolicy, Failure> {
        let allowed = match &self.allow_digests {
            None => None,
            Some(path) => {
                let text = read_text(path)?;
                // The output of sha256sum has the file's name behind the digest.
                Some(text.lines().filter_map(|l| l.split_whitespace().next()).map(str::to_owned).collect())
            }
        };
        Ok(LoadPolicy { allowed, run_in: RunIn::user_vouches(), ..self.trust.policy() })
    }

    /// Loads the plugins of the folder, saying what was refused.
    pub fn load(&self, quiet: bool) -> Result<Plugins, Failure> {
        let Some(dir) = self.folder() else { return Ok(Plugins::default()) };
        let missing = format_args!("{}: there is no such folder of plugins", dir.display());
        Failure::ensure(dir.is_dir(), missing)?;
        let mut plugins = Plugins::new(self.policy()?);
        if self.plugins.is_some() {
            plugins.add_dir(&dir)
        } else {
            plugins.add_found_dir(&dir)
        }
        if !quiet {
            plugins.refused().iter().for_each(|why| say(&format!("plugin refused: {why}")));
        }
        Ok(plugins)
    }
}
