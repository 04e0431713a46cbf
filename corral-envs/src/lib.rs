//! Environments for Corral: worlds with a known answer, and the induced environment E' around any of them.

#![forbid(unsafe_code)]

mod delay;
mod draw;
mod environment;
mod registry;
mod regret;

pub mod arms;
pub mod contextual;
pub mod hardness;
pub mod induced;
pub mod points;

pub use delay::{Arrival, Delay, Mailbox, delay, delays};
pub use draw::{Draw, Stream};
pub use environment::{EnvError, Environment};
pub use induced::{Induced, induce};
pub use registry::{BuildError, World, build, entries, example};
pub use regret::{ArmSums, CellSums};
