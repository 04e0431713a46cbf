//! Bases over classes of policies, the classes, and their oracles.
//!
//! A class is a list, depth-limited trees or linear argmax policies ([`PolicyClass`]); its oracle ([`ErmOracle`]) finds
//! the policy that costs least on a data set ([`Sites`], [`Costs`]). None of these bases takes action sets that change
//! from round to round: policies name actions by number, and a round with another number of actions is an error. None
//! learns from decisions of others at large: their estimates divide by the probability of their own proposal.

mod bistro;
mod class;
mod data;
mod epoch_greedy;
mod estimates;
mod exp4;
mod finite;
mod iltcb;
mod linear;
mod op;
#[cfg(test)]
mod oracle_tests;
mod seeded;
mod trees;
mod workspace;

pub use bistro::{Bistro, BistroParams, BistroRule};
pub use class::{Erm, ErmOracle, Policies, PolicyClass};
pub use data::{Costs, OneHot, Reads, Sites};
pub use epoch_greedy::{EpochGreedy, EpochGreedyParams, EpochGreedyVariant};
pub use estimates::Estimates;
pub use exp4::{Exp4, Exp4Params};
pub use finite::FiniteClass;
pub use iltcb::{Iltcb, IltcbParams, IltcbPreset};
pub use linear::{LinearClass, LinearParams};
pub use op::OpInfo;
pub use trees::{TreeClass, TreeParams, TreeSearch};
pub use workspace::Workspace;

use corral_core::registry::Row;
use corral_core::{BaseError, Memo, Order, Setup};

use crate::built::{Build, arms, bound_horizon};
use crate::common::Clock;

/// The rows of the registry.
pub(crate) const ROWS: &[Row<Build>] =
    &[arms::<Exp4Params>(), arms::<EpochGreedyParams>(), arms::<IltcbParams>(), arms::<BistroParams>()];

/// ln N of the class that `policies` names in the world of `setup`, for regret bounds.
fn ln_size(policies: &Policies, setup: &Setup) -> Option<f64> {
    Some(policies.class(setup).ok()?.ln_size(bound_horizon(setup)))
}

/// The probability that a proposal's memo begins with, in (0, 1].
fn propensity(memo: &Memo) -> Result<f64, BaseError> {
    match memo.get(0) {
        // A little above 1 by rounding is 1.
        Some(q) if q > 0.0 && q <= 1.0 + 1e-9 => Ok(q),
        Some(q) => Err(BaseError::Proposal(format!("its memo has the probability {q}"))),
        None => Err(BaseError::Proposal(String::from("its memo has no probability"))),
    }
}

/// What is left of the horizon of `clock`, where it is known: for bases that cannot do without, when they restart and
/// are not told.
fn rounds_left(clock: &Clock) -> Option<u64> {
    clock.horizon.map(|horizon| horizon.saturating_sub(clock.rounds).max(1))
}

/// The clock of a base that keeps what it learned, with the rounds that `order` says are left.
fn go_on(clock: Clock, order: Order) -> Clock {
    let horizon = order.remaining().map(|left| clock.rounds.saturating_add(left)).or(clock.horizon);
    Clock { horizon, ..clock }
}
