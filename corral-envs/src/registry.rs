//! Environments by name.
//!
//! Each module with environments exports its rows; a new module adds one line to [`TABLES`].

use std::sync::OnceLock;

use corral_core::catalog::{Entry, Field, Unknown};
use corral_core::{Arm, Context, Point, Rng, Setup};
use serde::Deserialize;
use serde::de::DeserializeOwned;

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

/// Why an environment could not be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A name or key that is not known.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A value that cannot be used.
    #[error("environment {name:?}: {source}")]
    Env {
        /// The environment.
        name: String,
        /// Why.
        source: EnvError,
    },
    /// A value of another type than the key's, or a key that is missing.
    #[error("environment {name:?}: {why}")]
    Value {
        /// The environment.
        name: String,
        /// What serde said.
        why: String,
    },
}

/// The modules that bring environments, one line each.
const TABLES: &[&[Row]] = &[
    crate::arms::ROWS,
    crate::contextual::ROWS,
    crate::data::ROWS,
    crate::hardness::ROWS,
    crate::points::ROWS,
];

/// One environment that can be built by name.
pub(crate) struct Row {
    /// What is told of it.
    pub entry: Entry,
    /// A table of keys that builds it: see [`example`].
    pub example: &'static str,
    /// Builds it.
    pub build: fn(&Request<'_>, &mut dyn Rng) -> Result<World, BuildError>,
}

/// The entry of an environment: regret and alpha are a base's affair.
pub(crate) const fn entry(
    name: &'static str,
    kind: &'static str,
    summary: &'static str,
    source: &'static str,
    fits: &'static str,
    cost: &'static str,
    fields: &'static [Field],
) -> Entry {
    Entry { name, summary, source, regret: "", alpha: None, fits, cost, kind, status: "standard", fields }
}

/// The description of one key; an empty default: it must be given; "unset": it may be left out, and then means what
/// its sentence says.
pub(crate) const fn field(name: &'static str, default: &'static str, doc: &'static str) -> Field {
    Field { name, default, doc }
}

/// What a row is asked to build.
pub(crate) struct Request<'a> {
    /// The row's entry.
    pub entry: &'a Entry,
    /// The keys that were given.
    pub params: &'a toml::Table,
    /// The rounds that will be played.
    pub rounds: u64,
}

impl Request<'_> {
    /// The keys as parameters.
    pub fn read<P: DeserializeOwned>(&self) -> Result<P, BuildError> {
        read(self.entry.name, self.entry.fields.iter().map(|f| f.name), self.params)
    }

    /// The error of a value that cannot be used.
    pub fn refuse(&self, source: impl Into<EnvError>) -> BuildError {
        BuildError::Env { name: self.entry.name.to_owned(), source: source.into() }
    }

    /// The world of a game.
    pub fn game<G: Game + 'static>(
        &self,
        built: Result<G, impl Into<EnvError>>,
    ) -> Result<World, BuildError> {
        built.map(|g| World::Arms(Box::new(Bandit::new(g, self.rounds)))).map_err(|e| self.refuse(e))
    }

    /// A world of arms.
    pub fn arms<E, F>(&self, built: Result<E, F>) -> Result<World, BuildError>
    where
        E: Environment<Context, Arm> + 'static,
        F: Into<EnvError>,
    {
        built.map(|e| World::Arms(Box::new(e))).map_err(|e| self.refuse(e))
    }

    /// A world of points.
    pub fn points<E, F>(&self, built: Result<E, F>) -> Result<World, BuildError>
    where
        E: Environment<Context, Point> + 'static,
        F: Into<EnvError>,
    {
        built.map(|e| World::Points(Box::new(e))).map_err(|e| self.refuse(e))
    }
}

/// Reads parameters from a table: a key outside `known` is answered with the nearest known ones, a value of another
/// type with what serde says of it.
pub(crate) fn read<'a, P: DeserializeOwned>(
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    params: &toml::Table,
) -> Result<P, BuildError> {
    if let Some(key) = params.keys().find(|key| !known.clone().any(|k| k == key.as_str())) {
        return Err(Unknown::new(format!("key of {name}"), key, known).into());
    }
    P::deserialize(params.clone()).map_err(|e| BuildError::Value {
        name: name.to_owned(),
        why: e.to_string().trim().replace('\n', ", "),
    })
}

/// Every row.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    TABLES.iter().copied().flatten()
}

/// What can be built.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| rows().map(|r| r.entry).collect())
}

/// Keys, as TOML, that build the environment `name`: what a spec may start from, and what the tests over all
/// environments use.
pub fn example(name: &str) -> Option<&'static str> {
    rows().find(|r| r.entry.name == name).map(|r| r.example)
}

/// Builds the environment `name` with the keys of `params` for a run of `rounds` rounds. Environments that are drawn
/// at random themselves (priors, planted policies) draw from `rng`. The key `rescale = [low, high]` of every environment
/// shows its losses in [0, 1], see [`Rescaled`].
///
/// # Errors
/// An unknown name or key (with the nearest known ones), or a value that cannot be used.
pub fn build(name: &str, params: &toml::Table, rounds: u64, rng: &mut dyn Rng) -> Result<World, BuildError> {
    let row = rows()
        .find(|r| r.entry.name == name)
        .ok_or_else(|| Unknown::new("environment", name, rows().map(|r| r.entry.name)))?;
    let Some(range) = params.get(RESCALE) else {
        return (row.build)(&Request { entry: &row.entry, params, rounds }, rng);
    };
    let others: toml::Table =
        params.iter().filter(|(k, _)| *k != RESCALE).map(|(k, v)| (k.clone(), v.clone())).collect();
    let request = Request { entry: &row.entry, params: &others, rounds };
    let [low, high] = <[f64; 2]>::deserialize(range.clone()).map_err(|e| BuildError::Value {
        name: name.to_owned(),
        why: format!("{RESCALE} must be [low, high]: {}", e.to_string().trim()),
    })?;
    match (row.build)(&request, rng)? {
        World::Arms(world) => request.arms(Rescaled::new(world, low, high)),
        World::Points(world) => request.points(Rescaled::new(world, low, high)),
    }
}

/// The key of every environment that shows its losses by the map of [low, high] to [0, 1]: see [`Rescaled`].
const RESCALE: &str = "rescale";
