//! Base algorithms for Corral.

#![forbid(unsafe_code)]

mod registry;

pub mod adapters;
pub mod arms;
pub mod common;
pub mod hardness;
pub mod linear;
pub mod points;
pub mod policies;

pub use registry::{BuildError, Learner, build, default_params, entries, regret_bound};
