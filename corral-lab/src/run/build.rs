//! From a spec to a world and its learners.

use corral_bases::{Rescaled, Smoothed};
use corral_core::masters::{self, MasterSetup, PracticalRule, RegretBound, Rule};
use corral_core::registry::BuildError;
use corral_core::{Arm, Base, Context, Decision, Ensemble, EnsembleParams, LossDomain, Master, Point, Setup};
use corral_envs::{Environment, World};

use super::Plugins;
use crate::spec::{BandSpec, BaseSpec, EnvironmentSpec, LearnerSpec, Place, SpecError};
use crate::streams::stream;

/// What a registry said, at `place`.
fn registered(place: &Place) -> impl Fn(BuildError) -> SpecError {
    move |e| SpecError { unknown: matches!(e, BuildError::Unknown(_)), ..SpecError::at(place, e) }
}

/// A learner that is ready to run.
pub enum Runner<D: 'static> {
    /// A base alone.
    Alone(Box<dyn Base<Context, D>>),
    /// A master over a band.
    Band(Box<Band<D>>),
}

/// An ensemble with the kind of master that a spec names.
pub type Band<D> = Ensemble<Context, D, Box<dyn Master>>;

/// A base, or what is wrong with its spec.
type Built<D> = Result<Box<dyn Base<Context, D>>, SpecError>;

/// Builds the world of `spec` for `rounds` rounds of `seed`.
///
/// # Errors
/// Names the place in the spec.
pub fn world(spec: &EnvironmentSpec, rounds: u64, seed: u64) -> Result<World, SpecError> {
    let world = corral_envs::build(&spec.name, &spec.params, rounds, &mut stream(seed, "world"))
        .map_err(|e| SpecError::at(&spec.place, e))?;
    match &spec.induced {
        Some(around) => {
            corral_envs::induce(world, &around.params, rounds).map_err(|e| SpecError::at(&around.place, e))
        }
        None => Ok(world),
    }
}

/// Builds `spec` once for `world` and lets it go: is it well formed?
///
/// # Errors
/// Names the place in the spec.
pub fn probe(world: &World, spec: &LearnerSpec, rounds: u64, plugins: &Plugins) -> Result<(), SpecError> {
    match world {
        World::Arms(env) => runner::<Arm>(spec, &told(&**env, rounds), plugins).map(drop),
        World::Points(env) => runner::<Point>(spec, &told(&**env, rounds), plugins).map(drop),
    }
}

/// What learners are told of `env`.
pub fn told<D>(env: &dyn Environment<Context, D>, rounds: u64) -> Setup {
    let setup = env.setup();
    // Data may end before the horizon.
    let horizon = setup.horizon.map_or(rounds, |rows| rows.min(rounds));
    Setup { horizon: Some(horizon), ..setup }
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
    match spec {
        LearnerSpec::Base(spec) => base(spec, setup, plugins).map(Runner::Alone),
        LearnerSpec::Band(spec) => band(spec, setup, plugins).map(|band| Runner::Band(Box::new(band))),
    }
}

/// Builds a base of a band, or a band that is one, for the world of `setup`.
///
/// # Errors
/// Names the place in the spec.
pub fn member<D: Decision>(spec: &LearnerSpec, setup: &Setup, plugins: &Plugins) -> Built<D> {
    match spec {
        LearnerSpec::Base(spec) => base(spec, setup, plugins),
        LearnerSpec::Band(spec) => Ok(Box::new(band(spec, setup, plugins)?)),
    }
}

/// The bound that a base of a band claims for its regret.
pub fn bound(spec: &LearnerSpec, setup: &Setup) -> Option<RegretBound> {
    match spec {
        LearnerSpec::Base(b) => corral_bases::regret_bound(&b.name, &b.params, setup),
        LearnerSpec::Band(_) => None,
    }
}

fn base<D: Decision>(spec: &BaseSpec, setup: &Setup, plugins: &Plugins) -> Built<D> {
    if (spec.smoothed || spec.rescaled) && setup.losses == LossDomain::Real {
        let how = if spec.smoothed { "smoothed" } else { "rescaled" };
        let why = format!("base {:?} is {how}, which needs losses in [0, 1]", spec.name);
        return Err(SpecError::at(&spec.place, why));
    }
    let one = || -> Built<D> {
        let base = plain_base(spec, setup, plugins)?;
        Ok(if spec.rescaled { Box::new(Rescaled::new(base)) } else { base })
    };
    Ok(if spec.smoothed { Box::new(Smoothed::new(one()?, one()?)) } else { one()? })
}

fn plain_base<D: Decision>(spec: &BaseSpec, setup: &Setup, plugins: &Plugins) -> Built<D> {
    let at = |why: String| SpecError::at(&spec.place, why);
    let learner = if spec.name.contains('/') {
        if setup.losses == LossDomain::Real {
            return Err(at(format!("base {:?} needs losses in [0, 1]: plugins take no others", spec.name)));
        }
        let mut params = spec.params.clone();
        params.insert("isolate".to_owned(), spec.isolate.into());
        plugins.build(&spec.name, &params, setup).map_err(registered(&spec.place))?
    } else if spec.isolate {
        return Err(at(format!("base {:?} is built in: only plugins can be isolated", spec.name)));
    } else {
        corral_bases::build(&spec.name, &spec.params, setup).map_err(registered(&spec.place))?
    };
    D::pick(learner).ok_or_else(|| {
        at(format!("base {:?} does not decide on {}, as this environment needs", spec.name, D::KIND))
    })
}

fn band<D: Decision>(spec: &BandSpec, setup: &Setup, plugins: &Plugins) -> Result<Band<D>, SpecError> {
    let practical = spec.master == PracticalRule::NAME;
    let preset = if practical { EnsembleParams::practical(D::KIND) } else { EnsembleParams::default() };
    // The practical band needs no horizon; whoever in it can do without one is not told.
    let known = setup;
    let untold = Setup { horizon: None, ..setup.clone() };
    let setup = if practical { &untold } else { setup };
    let mut bases: Vec<Box<dyn Base<Context, D>>> = Vec::with_capacity(spec.bases.len());
    let mut bounds = Vec::with_capacity(spec.bases.len());
    for member in &spec.bases {
        for _ in 0..spec.copies.of(setup.horizon.unwrap_or(1)) {
            // A base that cannot do without the horizon is told what the spec knows.
            let built = self::member(member, setup, plugins).or_else(|e| match member {
                LearnerSpec::Base(_) => self::member(member, known, plugins).map_err(|_| e),
                LearnerSpec::Band(_) => Err(e),
            })?;
            bases.push(built);
            bounds.push(bound(member, setup));
        }
    }
    let told = MasterSetup::new(bases.len(), setup.horizon).with_bounds(bounds).with_losses(setup.losses);
    let master = masters::build(&spec.master, spec.params.clone(), &told).map_err(registered(&spec.place))?;
    let params = EnsembleParams {
        credit: spec.credit.unwrap_or(preset.credit),
        feed: spec.feed.unwrap_or(preset.feed),
        cut: spec.cut.or(preset.cut),
        guard: spec.guard.unwrap_or(preset.guard),
        losses: setup.losses,
        horizon: setup.horizon,
        ..preset
    };
    let ensemble = Ensemble::with_params(master, bases, params).map_err(|e| SpecError::at(&spec.place, e))?;
    Ok(ensemble.with_setup(setup))
}
