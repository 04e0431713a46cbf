//! Base algorithms for Corral.

#![forbid(unsafe_code)]

mod registry;

pub use registry::{BuildError, Learner, build, entries, regret_bound};
