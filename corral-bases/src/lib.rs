//! Base algorithms for Corral: they propose decisions and learn from losses, alone or under a master.
//!
//! ```
//! use corral_bases::{Learner, build};
//! use corral_core::{Context, Feedback, Setup};
//! # use rand::SeedableRng;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let setup = Setup::arms(3, Some(1_000));
//! let Learner::Arms(mut base) = build("ucb1", &"scale = 0.5".parse()?, &setup)? else { panic!() };
//! let (x, mut rng) = (Context::plain(3), rand_pcg::Pcg64Dxsm::seed_from_u64(1));
//! for _ in 0..1_000 {
//!     let made = base.propose(&x, &mut rng)?;
//!     let loss = [0.5, 0.2, 0.7][made.decision.index()];
//!     base.learn(&x, &made, Feedback::plain(loss))?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`entries`] lists what can be built by name, with every parameter. `alpha` is the exponent of weak stability: under
//! importance weights up to rho the regret is at most rho^alpha times the one below. K actions, d features, N policies,
//! T rounds. Status: `paper` is named in Table 1 or a theorem of the paper, `standard` is textbook, `from memory` has
//! constants that were not checked against the original.
//!
#![doc = include_str!("bases.md")]
#![forbid(unsafe_code)]

#[macro_use]
mod base;
mod built;
mod joint;
mod law;
mod normals;
mod phi;
mod quadrature;
mod registry;
mod seeded;
mod table;
mod winner;

pub mod arms;
pub mod band;
pub mod candidate;
mod cheapest;
pub mod common;
pub mod hardness;
pub mod linear;
pub mod points;
pub mod policies;
mod prelude;
pub mod priced;
pub mod regression;
pub mod rescaled;
pub mod smoothed;

pub use band::{band, band_over_points};
pub use built::{BaseParams, Build, Make};
pub use candidate::Candidate;
pub use cheapest::Cheapest;
pub use corral_core::Learner;
pub use corral_core::registry::BuildError;
pub use priced::Priced;
pub use registry::{REGISTRY, build, entries, needs_horizon, regret_bound};
pub use rescaled::Rescaled;
pub use smoothed::Smoothed;
