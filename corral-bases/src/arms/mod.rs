//! Multi-armed bases: they see no context, and choose among the arms that a round offers.
//!
//! | losses | bases |
//! |---|---|
//! | stochastic | [`Thompson`], [`KlUcb`], [`Moss`], [`Ucb1`], [`UcbV`] |
//! | chosen by an adversary | [`Exp3`] |
//! | either, unknown which | [`Tsallis`] |
//! | any, as a yardstick | [`Random`], [`Fixed`] |
//!
//! A base is built from its parameters for a world, proposes, and learns what its proposal cost:
//!
//! ```
//! use corral_bases::BaseParams;
//! use corral_bases::arms::ThompsonParams;
//! use corral_core::{Arm, Base, Context, Setup};
//! # use rand::SeedableRng;
//! # let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
//! let mut base = ThompsonParams::default().build(&Setup::arms(3, None))?;
//! for round in 0..500 {
//!     // Every other round offers the first two arms alone.
//!     let x = Context::plain(if round % 2 == 0 { 3 } else { 2 });
//!     let made = base.propose(&x, &mut rng)?;
//!     let loss = [0.9, 0.5, 0.1][made.decision.index()];
//!     base.learn(&x, &made, loss.into())?;
//! }
//! let chance = |x: &Context, arm| base.likelihood(x, &Arm(arm)).map_or(0.0, |(p, _)| p);
//! assert!(chance(&Context::plain(3), 2) > 0.9);
//! assert!(chance(&Context::plain(2), 1) > 0.9);
//! # Ok::<(), corral_core::BaseError>(())
//! ```
//!
//! All of them are [`ArmBase`] with a rule: the frame keeps the clock, the range and the snapshots, the rule
//! ([`ArmRule`], and [`Index`] for rules that give every arm a number) is the algorithm.

use corral_core::registry::RegistryRow;

use crate::built::{Build, arms};

mod betas;
mod carried;
mod exp3;
mod fixed;
mod frame;
pub(crate) mod index;
mod kl_ucb;
mod moss;
mod posterior;
mod prelude;
mod random;
mod thompson;
mod tsallis;
mod ucb1;
mod ucb_v;

pub use exp3::{Exp3, Exp3Params, Exp3State};
pub use fixed::{Fixed, FixedParams};
pub use frame::{ArmBase, ArmRule, Now, Round};
pub use index::{ArmStats, Index, IndexBase, IndexState, Moment};
pub use kl_ucb::{KlUcb, KlUcbParams};
pub use moss::{Moss, MossParams};
pub use random::{Random, RandomParams};
pub use thompson::{Thompson, ThompsonParams, ThompsonState};
pub use tsallis::{Tsallis, TsallisParams, TsallisState};
pub use ucb_v::{Mode, UcbV, UcbVParams};
pub use ucb1::{Ucb1, Ucb1Params, Width};

/// The rows of the registry.
pub(crate) fn rows() -> Vec<RegistryRow<Build>> {
    vec![
        arms::<Exp3Params>(),
        arms::<TsallisParams>(),
        arms::<Ucb1Params>(),
        arms::<UcbVParams>(),
        arms::<KlUcbParams>(),
        arms::<MossParams>(),
        arms::<ThompsonParams>(),
        arms::<FixedParams>(),
        arms::<RandomParams>(),
    ]
}
