//! Environments for Corral: worlds with a known answer, and the induced environment E' around any of them.
//!
//! ```
//! use corral_core::Arm;
//! use corral_envs::{AnyEnvironment, build, induce};
//! use rand::SeedableRng;
//! use rand_pcg::Pcg64Dxsm;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut rng = Pcg64Dxsm::seed_from_u64(1);
//! let world = build("bernoulli", &"means = [0.9, 0.2]".parse()?, 1000, &mut rng)?;
//! let world = induce(world, &"schedule = 'constant'\nrange = 8".parse()?, 1000)?;
//! let AnyEnvironment::Arms(mut world) = world else { return Ok(()) };
//!
//! let mut regret = 0.0;
//! for _ in 0..1000 {
//!     world.next(&mut rng)?; // f_t is fixed now, and hidden
//!     regret += world.mean_loss(&Arm(0));
//!     let feedback = world.play(&Arm(0))?; // weight 8 or 0
//!     assert!([0.0, 8.0].contains(&feedback.weight()));
//! }
//! regret -= world.best_so_far();
//! assert!((regret - 700.0).abs() < 1e-6);
//! # Ok(())
//! # }
//! ```
//!
//! An environment draws one number a round and derives the round from it ([`Draw`]), so that every learner of a seed
//! faces the same world. [`build`] knows environments by name ([`REGISTRY`]), [`induce`] puts E' around one, [`delay`]
//! makes feedback late outside of it, [`alone`] runs a learner in one and measures its regret. K arms, d features, T rounds:
//!
#![doc = include_str!("worlds.md")]
#![forbid(unsafe_code)]

mod alone;
mod bandit;
mod delay;
mod draw;
mod environment;
mod prelude;
mod registry;
mod regret;
mod rescaled;
mod table;
mod world;

pub mod arms;
pub mod contextual;
pub mod data;
pub mod hardness;
pub mod induced;
pub mod points;

pub use alone::{Run, RunError, alone};
pub use bandit::{Bandit, Game, Round};
pub use corral_core::registry::BuildError;
pub use delay::{
    Arrival, DELAYS, Delay, FixedParams, GeometricParams, HeavyTailedParams, LostParams, Mailbox,
    ReorderedParams, delay,
};
pub use draw::{Draw, Stream};
pub use environment::{About, EnvError, Environment};
pub use induced::{Induced, induce};
pub use registry::{REGISTRY, build, build_within, entries, example};
pub use regret::{ArmSums, CellSums};
pub use rescaled::Rescaled;
pub use world::{AnyEnvironment, Ask, Build, Make};
