//! Bases by name.

use corral_core::catalog::{Entry, Unknown};
use corral_core::{Arm, Base, BaseError, Context, Point, Setup};

/// A base of either kind of decision, ready to be run alone or corralled.
pub enum Learner {
    /// It decides on arms.
    Arms(Box<dyn Base<Context, Arm>>),
    /// It decides on points.
    Points(Box<dyn Base<Context, Point>>),
}

/// Why a base could not be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A name or key that is not known.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A value that the base is not defined for.
    #[error("base {name:?}: {source}")]
    Base {
        /// The base.
        name: String,
        /// Why.
        source: BaseError,
    },
    /// A value of another type than the key's.
    #[error("base {name:?}: {why}")]
    Value {
        /// The base.
        name: String,
        /// What serde said.
        why: String,
    },
    /// The base does not fit the environment.
    #[error("base {name:?} needs {needs}")]
    Unfit {
        /// The base.
        name: String,
        /// What is missing: "an environment with points", "a known horizon", "a context sampler".
        needs: &'static str,
    },
}

/// What can be built.
pub fn entries() -> &'static [Entry] {
    &[]
}

/// Builds the base `name` with the keys of `params` for the world of `setup`, with range 1.
///
/// # Errors
/// An unknown name or key (with the nearest known ones), a value that cannot be used, or a world that the base does
/// not fit.
pub fn build(name: &str, _params: &toml::Table, _setup: &Setup) -> Result<Learner, BuildError> {
    Err(Unknown::new("base", name, entries().iter().map(|e| e.name)).into())
}

/// The base's regret bound R(n) = scale * n^exponent at range 1 in the world of `setup`, with its stability
/// exponent alpha, where it has one: `(scale, exponent, alpha)`. Masters that balance bounds start from these.
pub fn regret_bound(_name: &str, _setup: &Setup) -> Option<(f64, f64, f64)> {
    None
}
