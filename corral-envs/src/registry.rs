//! Environments by name.
//!
//! Each module with environments exports its rows; a new module adds one line to [`REGISTRY`].

use corral_core::params::Params;
use corral_core::registry::{BuildError, Entry, Registry, Row};
use corral_core::{Arm, Context, Point, Rng, Scale, Setup};
use serde::Deserialize;

use crate::bandit::{Bandit, Game};
use crate::rescaled::Rescaled;
use crate::{EnvError, Environment};

/// An environment of either kind of decision.
pub enum World {
    /// Decisions are arms (with or without contexts).
    Arms(Box<dyn Environment<Context, Arm>>),
    /// Decisions are points of R^d.
    Points(Box<dyn Environment<Context, Point>>),
}

impl World {
    /// What a learner is told before the first round.
    pub fn setup(&self) -> Setup {
        match self {
            Self::Arms(world) => world.setup(),
            Self::Points(world) => world.setup(),
        }
    }

    /// The columns that it is made of, where it comes from a file.
    pub fn table(&self) -> Option<&crate::data::Table> {
        match self {
            Self::Arms(world) => world.table(),
            Self::Points(world) => world.table(),
        }
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("World").field(&self.setup()).finish()
    }
}

/// What can be built.
pub const REGISTRY: Registry<Build> = Registry::new(
    "environment",
    &[
        crate::arms::STOCHASTIC,
        crate::arms::BAYESIAN,
        crate::arms::OBLIVIOUS,
        crate::arms::REPLAY,
        crate::arms::ADAPTIVE,
        crate::arms::CURVES,
        crate::contextual::TABULAR,
        crate::contextual::REFERENCE,
        crate::contextual::TREE,
        crate::contextual::LINEAR,
        crate::contextual::SPHERE,
        crate::contextual::REPRESENTATIONS,
        crate::contextual::ADVICE,
        crate::contextual::CONTRARY,
        crate::data::DATASET,
        crate::data::LOGGED,
        crate::hardness::ROWS,
        crate::points::ADVERSARIAL,
        crate::points::CONVEX,
        crate::points::STOCHASTIC,
        crate::points::NORMAL,
        crate::points::REFERENCE,
    ],
);

/// How an environment is built.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// A table of keys that builds it: see [`example`].
    example: &'static str,
    make: fn(&toml::Table, Ask<'_>) -> Result<World, BuildError>,
}

/// What a world is built for.
pub struct Ask<'a> {
    /// The name of the environment.
    pub name: &'static str,
    /// The rounds that will be played.
    pub rounds: u64,
    /// What is drawn before the first round is drawn from this.
    pub rng: &'a mut dyn Rng,
}

impl Ask<'_> {
    /// The world of a game.
    pub fn game(&self, game: impl Game + 'static) -> Result<World, EnvError> {
        Ok(World::Arms(Box::new(Bandit::new(game, self.rounds))))
    }
}

/// Parameters of an environment.
pub(crate) trait Builds: Params {
    /// The world that they describe.
    fn build(self, ask: Ask<'_>) -> Result<World, EnvError>;
}

/// The row of the environment with the parameters `P`, and keys, as TOML, that build it.
pub(crate) const fn row<P: Builds>(entry: Entry, example: &'static str) -> Row<Build> {
    Row::of::<P>(entry, Build { example, make: make::<P> })
}

fn make<P: Builds>(params: &toml::Table, ask: Ask<'_>) -> Result<World, BuildError> {
    let name = ask.name;
    let params: P = REGISTRY.read(name, params.clone())?;
    params.build(ask).map_err(|e| BuildError::refused(REGISTRY.what(), name, e))
}

/// What is said of every environment.
pub fn entries() -> impl Iterator<Item = &'static Entry> + Clone {
    REGISTRY.entries()
}

/// Keys, as TOML, that build the environment `name`: what a spec may start from, and what the tests over all
/// environments use.
pub fn example(name: &str) -> Option<&'static str> {
    REGISTRY.find(name).ok().map(|row| row.build.example)
}

/// The key of every environment that shows its losses in [0, 1]: see [`Rescaled`].
const RESCALE: &str = "rescale";

/// Builds the environment `name` with the keys of `params` for a run of `rounds` rounds. Environments that are drawn
/// at random themselves (priors, planted policies) draw from `rng`. The key `rescale` of every environment shows
/// its losses in [0, 1], see [`Rescaled`]: `{ low, high, clip, rewards }`, or `[low, high]` for losses that are clipped.
///
/// # Errors
/// An unknown name or key (with the nearest known ones), or a value that cannot be used.
pub fn build(name: &str, params: &toml::Table, rounds: u64, rng: &mut dyn Rng) -> Result<World, BuildError> {
    let row = REGISTRY.find(name)?;
    let ask = Ask { name: row.entry.name, rounds, rng };
    let Some(range) = params.get(RESCALE) else { return (row.build.make)(params, ask) };
    let mut others = params.clone();
    others.remove(RESCALE);
    let world = (row.build.make)(&others, ask)?;
    let refuse = |why: &dyn std::fmt::Display| BuildError::refused(REGISTRY.what(), name, why);
    let scale = match range {
        toml::Value::Table(_) => Scale::deserialize(range.clone()),
        _ => <[f64; 2]>::deserialize(range.clone())
            .map(|[low, high]| Scale { clip: true, ..Scale::losses(low, high) }),
    };
    let scale = scale.map_err(|e| {
        refuse(&format!(
            "{RESCALE} must be [low, high], or {{ low, high, clip, rewards }}: {}",
            e.to_string().trim()
        ))
    })?;
    Ok(match world {
        World::Arms(world) => World::Arms(Box::new(Rescaled::new(world, scale).map_err(|e| refuse(&e))?)),
        World::Points(world) => World::Points(Box::new(Rescaled::new(world, scale).map_err(|e| refuse(&e))?)),
    })
}

/// How something around an environment (a schedule, a delay) is built, from its name and its own keys.
pub type Make<T> = fn(&'static str, toml::Table) -> Result<T, BuildError>;

/// The row of what `table` names under `key`, and the other keys.
pub(crate) fn named<B>(
    registry: &Registry<B>,
    key: &str,
    table: &toml::Table,
) -> Result<(&'static Row<B>, toml::Table), BuildError> {
    let refuse = |why: String| BuildError::refused(REGISTRY.what(), registry.what(), why);
    let mut own = table.clone();
    match own.remove(key) {
        Some(toml::Value::String(name)) => Ok((registry.find(&name)?, own)),
        Some(other) => Err(refuse(format!("{key} must be a name, but is {other}"))),
        None => Err(refuse(format!("the key {key:?} is missing"))),
    }
}

/// The schema of a value that is a table of its own.
#[cfg(feature = "describe")]
pub(crate) fn any_table(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object" })
}
