//! Environments for Corral: worlds with a known answer, and the induced environment E' around any of them.

#![forbid(unsafe_code)]

mod draw;
mod environment;
mod registry;

pub mod arms;

pub use draw::{Draw, Stream};
pub use environment::{EnvError, Environment};
pub use registry::{BuildError, World, build, entries, example};
