//! Which compiled plugins a run uses.

use corral_bases::band::{BaseRecipe, OtherBases};
use corral_core::registry::BuildError;
use corral_core::{Learner, Setup};
use corral_plugin_abi::host::{Library, Plugins};

use crate::spec::LearnerSpec;

/// Plugins as a source of bases.
pub struct FromPlugins<'a>(pub &'a Plugins);

impl OtherBases for FromPlugins<'_> {
    fn build(&self, base: &BaseRecipe, setup: &Setup) -> Result<Learner, BuildError> {
        self.0.build(&base.name, &base.params, base.isolate, setup)
    }

    fn needs_horizon(&self, base: &BaseRecipe) -> bool {
        self.0.find(&base.name).is_some_and(|(_, info)| info.needs_horizon)
    }
}

/// Key and SHA-256 of every file of `plugins` that `learners` use.
pub fn plugins_used<'a>(
    plugins: &Plugins,
    learners: impl IntoIterator<Item = &'a LearnerSpec>,
) -> Vec<(String, String)> {
    let mut names = Vec::new();
    learners.into_iter().for_each(|learner| plugin_bases(learner, &mut |base| names.push(&*base.name)));
    let used = |plugin: &&Library| {
        names.iter().any(|name| plugins.find(name).is_some_and(|(by, _)| std::ptr::eq(by, *plugin)))
    };
    plugins.plugins().iter().filter(used).map(|p| (p.stem(), p.sha256.clone())).collect()
}

/// The names of the plugin bases of `learners` that are not isolated: they run in this process.
pub fn plugins_here<'a>(learners: impl IntoIterator<Item = &'a LearnerSpec>) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut add = |base: &'a BaseRecipe| {
        let here = !base.isolate && !base.params.contains_key("time-limit");
        if here && !names.contains(&&*base.name) {
            names.push(&*base.name);
        }
    };
    learners.into_iter().for_each(|learner| plugin_bases(learner, &mut add));
    names
}

/// Tells of all plugin bases of a learner: those with a slash in their names.
fn plugin_bases<'a>(learner: &'a LearnerSpec, tell: &mut dyn FnMut(&'a BaseRecipe)) {
    match learner {
        LearnerSpec::Base(base) if base.recipe.name.contains('/') => tell(&base.recipe),
        LearnerSpec::Base(_) => {}
        LearnerSpec::Band(band) => band.bases.iter().for_each(|b| plugin_bases(b, tell)),
    }
}
