//! How environments are built from parameters: what each of them says of itself, and a row of the registry of it.

use corral_core::memory::Budget;
use corral_core::params::Params;
use corral_core::registry::{BuildError, Entry, Registry, RegistryRow, read, table};
use corral_core::{Arm, Context, Point, Rng, Setup};

use crate::bandit::{Bandit, Game};
use crate::{EnvError, Environment};

/// What is built.
pub(crate) const WHAT: &str = "environment";

/// An environment of either kind of decision.
pub enum AnyEnvironment {
    /// Decisions are arms (with or without contexts).
    Arms(Box<dyn Environment<Context, Arm>>),
    /// Decisions are points of R^d.
    Points(Box<dyn Environment<Context, Point>>),
}

impl AnyEnvironment {
    /// What a learner is told before the first round.
    pub fn setup(&self) -> Setup {
        match self {
            Self::Arms(world) => world.setup(),
            Self::Points(world) => world.setup(),
        }
    }

    /// The columns that it is made of, where it comes from a file.
    pub fn table(&self) -> Option<&crate::table::Table> {
        match self {
            Self::Arms(world) => world.about().table,
            Self::Points(world) => world.about().table,
        }
    }
}

impl std::fmt::Debug for AnyEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnyEnvironment").field(&self.setup()).finish()
    }
}

/// How an environment is built.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// A table of keys that builds it: see [`example`].
    pub(crate) example: &'static str,
    pub(crate) make: fn(&toml::Table, Ask<'_>) -> Result<AnyEnvironment, BuildError>,
}

/// What a world is built for.
pub struct Ask<'a> {
    /// The name of the environment.
    pub name: &'static str,
    /// The rounds that will be played.
    pub rounds: u64,
    /// What is drawn before the first round is drawn from this.
    pub rng: &'a mut dyn Rng,
    /// What may be claimed of memory.
    pub budget: Budget,
}

impl Ask<'_> {
    /// The world of a game.
    pub fn game(&self, game: impl Game + 'static) -> Result<AnyEnvironment, EnvError> {
        Ok(AnyEnvironment::Arms(Box::new(Bandit::new(game, self.rounds))))
    }
}

/// Parameters of an environment.
pub(crate) trait Builds: Params {
    /// The world that they describe.
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError>;
}

/// The row of the environment `name` with the parameters `P`, which `example` builds.
pub(crate) fn row<P: Builds>(name: &'static str, example: &'static str) -> RegistryRow<Build> {
    // A test of the registry holds that each has its row.
    let entry = entry(name).unwrap_or(Entry { name, ..Entry::EMPTY });
    RegistryRow::of::<P>(entry, Build { example, make: make::<P> })
}

/// The table of environments.
pub(crate) const PAGE: &str = include_str!("worlds.md");

/// What the table says of the environment `name`.
fn entry(name: &'static str) -> Option<Entry> {
    let [summary, source, fits, cost, kind] = table::cells(PAGE, name)?;
    Some(Entry { name, summary, source, fits, cost, kind: table::kind(kind)?, ..Entry::EMPTY })
}

/// The environments of a folder: the name of each, its parameters, and the keys, as TOML, that build it where it cannot do
/// without.
macro_rules! rows {
    ($($name:literal: $params:ident $(= $example:literal)?),* $(,)?) => {
        pub(crate) fn rows() -> Vec<corral_core::registry::RegistryRow<crate::world::Build>> {
            vec![$( crate::world::row::<$params>($name, concat!($($example)?)) ),*]
        }
    };
}
pub(crate) use rows;

fn make<P: Builds>(params: &toml::Table, ask: Ask<'_>) -> Result<AnyEnvironment, BuildError> {
    let name = ask.name;
    let params: P = read(WHAT, name, params.clone())?;
    params.build(ask).map_err(|e| refused(name, &e))
}

/// What is said of an environment that cannot be built. Apart from [`make`], of which every environment has its own.
#[cold]
#[inline(never)]
fn refused(name: &str, why: &EnvError) -> BuildError {
    BuildError::refused(WHAT, name, why).about(why.key())
}

/// How something around an environment (a schedule, a delay) is built, from its name and its own keys.
pub type Make<T> = fn(&'static str, toml::Table) -> Result<T, BuildError>;

/// The row of what `table` names under `key`, and the other keys.
pub(crate) fn named<'a, B>(
    registry: &'a Registry<B>,
    key: &str,
    table: &toml::Table,
) -> Result<(&'a RegistryRow<B>, toml::Table), BuildError> {
    let refuse = |why: String| BuildError::refused(WHAT, registry.what(), why).about(Some(key));
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
