//! The compiled plugins that a run may name.

use std::path::Path;

use corral_bases::Learner;
use corral_core::Setup;
use corral_plugin_abi::host::{PluginBase, Policy, Registry};

use crate::spec::BaseSpec;

/// The compiled plugins that a run may name.
#[derive(Default)]
pub struct Plugins {
    registry: Registry,
}

impl Plugins {
    /// None at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Those of a folder. One bad file never stops the others: see [`refused`](Plugins::refused).
    pub fn load(dir: &Path, policy: Policy) -> Self {
        let mut registry = Registry::new(policy);
        registry.add_dir(dir);
        Self { registry }
    }

    /// The files that were not loaded, and why.
    pub fn refused(&self) -> impl Iterator<Item = String> + '_ {
        self.registry.refused().iter().map(ToString::to_string)
    }

    /// Key and SHA-256 of every file.
    pub fn digests(&self) -> Vec<(String, String)> {
        self.registry.plugins().iter().map(|p| (p.stem(), p.sha256.clone())).collect()
    }

    /// Kind and claimed alpha of one base.
    pub fn kind_and_alpha(&self, key: &str) -> Option<(String, Option<f64>)> {
        self.registry.find(key).map(|(_, base)| (base.kind.clone(), base.alpha))
    }

    /// The key of every base.
    pub fn keys(&self) -> Vec<String> {
        self.registry.list().into_iter().map(|l| l.key).collect()
    }

    /// Key, kind, alpha, version and description of every base.
    pub fn described(&self) -> Vec<Vec<String>> {
        let alpha = |a: Option<f64>| a.map_or(String::new(), |a| format!("{a:.2}"));
        self.registry
            .list()
            .into_iter()
            .map(|l| vec![l.key, l.base.kind, alpha(l.base.alpha), l.base.version, l.base.description])
            .collect()
    }

    /// Why the file that would have the base `key` was refused, if it was.
    fn refusal(&self, key: &str) -> Option<String> {
        if self.registry.find(key).is_some() {
            return None;
        }
        let stem = key.split('/').next()?;
        let library = format!("{}{stem}", std::env::consts::DLL_PREFIX);
        let of = |path: &Path| path.is_dir() || path.file_stem().is_some_and(|s| s == stem || s == &*library);
        let refused = self.registry.refused().iter().find(|r| of(&r.path))?;
        Some(format!("plugin refused: {refused}"))
    }

    /// Builds the base that `spec` names.
    ///
    /// # Errors
    /// No plugin has it, or what the plugin says.
    pub fn build(&self, spec: &BaseSpec, setup: &Setup) -> Result<Learner, String> {
        let mut params = spec.params.clone();
        params.insert("isolate".to_owned(), toml::Value::Boolean(spec.isolate));
        let built = self.registry.build(&spec.name, &params, setup);
        match built.map_err(|e| self.refusal(&spec.name).unwrap_or_else(|| e.to_string()))? {
            PluginBase::Arms(base) => Ok(Learner::Arms(base)),
            PluginBase::Points(base) => Ok(Learner::Points(base)),
        }
    }
}
