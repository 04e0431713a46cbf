//! The compiled plugins that a run may name.

use std::path::Path;

use corral_bases::Learner;
use corral_core::Setup;
use corral_core::registry::{BuildError, Kind};
use corral_plugin_abi::host::{self, Library, Policy};

use crate::spec::{BaseSpec, LearnerSpec};

/// The compiled plugins that a run may name.
#[derive(Default)]
pub struct Plugins {
    registry: host::Plugins,
}

impl Plugins {
    /// None at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Those of a folder, of which nothing is run before a spec names it. A folder that was `found` and not named must
    /// lie in one that is as trustworthy. One bad file never stops the others: see [`refused`](Plugins::refused).
    pub fn load(dir: &Path, found: bool, policy: Policy) -> Self {
        let mut registry = host::Plugins::new(policy);
        if found {
            registry.add_found_dir(dir)
        } else {
            registry.add_dir(dir)
        }
        Self { registry }
    }

    /// The files that were not loaded, and why.
    pub fn refused(&self) -> Vec<String> {
        self.registry.refused().iter().map(ToString::to_string).collect()
    }

    /// Key and SHA-256 of every file that `learners` use.
    pub fn used_by<'a>(&self, learners: impl IntoIterator<Item = &'a LearnerSpec>) -> Vec<(String, String)> {
        let mut names = Vec::new();
        learners.into_iter().for_each(|learner| base_names(learner, &mut names));
        let used = |plugin: &&Library| {
            names.iter().any(|name| self.registry.find(name).is_some_and(|(by, _)| std::ptr::eq(by, *plugin)))
        };
        self.registry.plugins().iter().filter(used).map(|p| (p.stem(), p.sha256.clone())).collect()
    }

    /// Kind and claimed alpha of one base.
    pub fn kind_and_alpha(&self, key: &str) -> Option<(Kind, Option<f64>)> {
        self.registry.find(key).map(|(_, base)| (base.kind, base.alpha))
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
            .map(|l| {
                vec![l.key, l.base.kind.to_string(), alpha(l.base.alpha), l.base.version, l.base.description]
            })
            .collect()
    }

    /// Builds the base that `spec` names.
    ///
    /// # Errors
    /// No plugin has it, or what the plugin says.
    pub fn build(&self, spec: &BaseSpec, setup: &Setup) -> Result<Learner, BuildError> {
        let mut params = spec.params.clone();
        params.insert("isolate".to_owned(), toml::Value::Boolean(spec.isolate));
        self.registry.build(&spec.name, &params, setup)
    }
}

/// The names of all plugin bases of a learner: those with a slash.
fn base_names<'a>(learner: &'a LearnerSpec, names: &mut Vec<&'a str>) {
    match learner {
        LearnerSpec::Base(base) if base.name.contains('/') => names.push(&base.name),
        LearnerSpec::Base(_) => {}
        LearnerSpec::Band(band) => band.bases.iter().for_each(|b| base_names(b, names)),
    }
}
