//! Environments by name.

use corral_core::catalog::{Entry, Unknown};
use corral_core::{Arm, Context, Point, Rng};

use crate::{EnvError, Environment};

/// An environment of either kind of decision.
pub enum World {
    /// Decisions are arms (with or without contexts).
    Arms(Box<dyn Environment<Context, Arm>>),
    /// Decisions are points of R^d.
    Points(Box<dyn Environment<Context, Point>>),
}

/// Why an environment could not be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A name or key that is not known.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A value that cannot be used.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// A value of another type than the key's.
    #[error("environment {name:?}: {why}")]
    Value {
        /// The environment.
        name: String,
        /// What serde said.
        why: String,
    },
}

/// What can be built.
pub fn entries() -> &'static [Entry] {
    &[]
}

/// Builds the environment `name` with the keys of `params` for a run of `rounds` rounds. Environments that are drawn
/// at random themselves (priors, planted policies) draw from `rng`.
///
/// # Errors
/// An unknown name or key (with the nearest known ones), or a value that cannot be used.
pub fn build(
    name: &str,
    _params: &toml::Table,
    _rounds: u64,
    _rng: &mut dyn Rng,
) -> Result<World, BuildError> {
    Err(Unknown::new("environment", name, entries().iter().map(|e| e.name)).into())
}
