//! Bases over classes of policies, the classes, and their oracles.
//!
//! A class is a list, depth-limited trees or linear argmax policies ([`PolicyClass`]); its oracle ([`ErmOracle`]) finds
//! the policy that costs least on a data set ([`Sites`], [`Costs`]). A round may offer fewer actions than were announced: a
//! policy whose action is not offered plays the last one that is (docs/bases.md#actions-that-are-not-offered). None of these
//! bases learns from decisions of others at large: their estimates divide by the probability of their own proposal.
//!
//! | contexts and losses | bases |
//! |---|---|
//! | any, with a class that can be listed | [`Exp4`] |
//! | stochastic | [`Iltcb`], [`EpochGreedy`] |
//! | contexts from a known distribution, losses chosen by an adversary | [`Bistro`] |
//!
//! A class that comes with the world is in its [`Setup`](corral_core::Setup); trees and linear policies are made from its features:
//!
//! ```
//! use corral_bases::BaseParams;
//! use corral_bases::policies::Exp4Params;
//! use corral_core::{Base, Context, Policy, Setup};
//! # use rand::SeedableRng;
//! # let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
//! let mut world = Setup::arms(2, Some(2_000));
//! world.context.cells = Some(2);
//! let tables = [vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1]];                  // what each plays in both contexts
//! world.policies = Some(tables.into_iter().map(Policy::Table).collect());
//! let mut base = Exp4Params::default().build(&world)?;
//! let mut late = 0.0;
//! for round in 0..2_000 {
//!     let x = Context::tabular(round % 2, 2);
//!     let made = base.propose(&x, &mut rng)?;
//!     let loss = if made.decision.index() == round % 2 { 0.0 } else { 1.0 };       // (0, 1) is right
//!     base.learn(&x, &made, loss.into())?;
//!     late += if round >= 1_000 { loss } else { 0.0 };
//! }
//! assert!(late < 200.0, "{late}");
//! # Ok::<(), corral_core::BaseError>(())
//! ```

mod bistro;
mod class;
mod data;
mod epoch_greedy;
mod estimates;
mod exp4;
mod finite;
mod frame;
mod iltcb;
mod linear;
mod op;
#[cfg(test)]
mod oracle_tests;
mod prelude;
mod trees;
mod workspace;

pub use bistro::{Bistro, BistroParams, BistroRule, BistroState, BistroWork};
pub use class::{Erm, ErmOracle, Policies, PolicyClass};
pub use data::{Costs, OneHot, Reads, Sites};
pub use epoch_greedy::{EpochGreedy, EpochGreedyParams, EpochGreedyState, EpochGreedyVariant};
pub use estimates::Estimates;
pub use exp4::{Exp4, Exp4Params, Exp4State, Exp4Work};
pub use finite::FiniteClass;
pub use frame::{Offer, OverPolicies, PolicyBase, PolicyRule};
pub use iltcb::{Iltcb, IltcbParams, IltcbPreset, IltcbState, IltcbWork};
pub use linear::{LinearClass, LinearParams};
pub use op::OpInfo;
pub use trees::{TreeClass, TreeParams, TreeSearch};
pub use workspace::Workspace;

use corral_core::registry::RegistryRow;

use crate::built::{Build, arms};

/// The rows of the registry.
pub(crate) fn rows() -> Vec<RegistryRow<Build>> {
    vec![arms::<Exp4Params>(), arms::<EpochGreedyParams>(), arms::<IltcbParams>(), arms::<BistroParams>()]
}
