//! From a spec to a world and its learners.

use corral_bases::band::{Assembler, Band, BandError};
use corral_core::memory::Budget;
use corral_core::{Arm, Base, Context, Decision, Point, Setup};
use corral_envs::{AnyEnvironment, Environment};

use super::{FromPlugins, Plugins};
use crate::spec::{EnvironmentSpec, LearnerSpec, SpecError};
use crate::streams::stream;

/// A learner that is ready to run.
pub enum Runner<D: 'static> {
    /// A base alone.
    Alone(Box<dyn Base<Context, D>>),
    /// A master over a band.
    Band(Box<Band<D>>),
}

/// Builds the world of `spec` for `rounds` rounds of `seed`.
///
/// # Errors
/// Names the place in the spec.
pub fn world(
    spec: &EnvironmentSpec,
    rounds: u64,
    seed: u64,
    budget: &Budget,
) -> Result<AnyEnvironment, SpecError> {
    let rng = &mut stream(seed, "world");
    let world = corral_envs::build_within(&spec.name, &spec.params, rounds, rng, budget)
        .map_err(|e| SpecError::built(&spec.origin, &e))?;
    match &spec.induced {
        Some(around) => corral_envs::induce(world, &around.params, rounds)
            .map_err(|e| SpecError::built(&around.origin, &e)),
        None => Ok(world),
    }
}

/// Builds `spec` once for `world` and lets it go: is it well formed?
///
/// # Errors
/// Names the place in the spec.
pub fn probe(
    world: &AnyEnvironment,
    spec: &LearnerSpec,
    rounds: u64,
    plugins: &Plugins,
    budget: &Budget,
) -> Result<(), SpecError> {
    match world {
        AnyEnvironment::Arms(env) => runner::<Arm>(spec, &given(&**env, rounds, budget), plugins).map(drop),
        AnyEnvironment::Points(env) => {
            runner::<Point>(spec, &given(&**env, rounds, budget), plugins).map(drop)
        }
    }
}

/// What learners are given of `env`, and may claim.
pub fn given<D>(env: &dyn Environment<Context, D>, rounds: u64, budget: &Budget) -> Setup {
    let setup = env.setup();
    // Data may end before the horizon.
    let horizon = setup.horizon.map_or(rounds, |rows| rows.min(rounds));
    Setup { horizon: Some(horizon), budget: budget.clone(), ..setup }
}

/// Builds a learner for the world of `setup`.
///
/// # Errors
/// Names the place in the spec.
pub fn runner<D: Decision>(
    spec: &LearnerSpec,
    setup: &Setup,
    plugins: &Plugins,
) -> Result<Runner<D>, SpecError> {
    let others = FromPlugins(plugins);
    let build = Assembler::new(setup).with(&others);
    let built = match spec {
        LearnerSpec::Base(base) => build.base(&base.recipe).map(Runner::Alone).map_err(BandError::from),
        LearnerSpec::Band(band) => build.band(&band.recipe()).map(|band| Runner::Band(Box::new(band))),
    };
    built.map_err(|BandError { path, why }| SpecError::built(spec.origin(&path), &why))
}
