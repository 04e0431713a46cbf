//! The pure master of Corral (Agarwal, Luo, Neyshabur, Schapire 2017, "Corralling a Band of Bandit Algorithms").
//!
//! The core decides, the caller acts: nothing here does IO, reads a clock, owns a generator or starts a thread.
#![forbid(unsafe_code)]

mod base;
mod context;
mod corral;
mod decision;
mod ensemble;
mod error;
mod guard;
mod master;
mod memo;
mod pending;
mod sample;
mod setup;
mod space;
mod ticket;

pub mod catalog;
#[cfg(feature = "contract")]
pub mod contract;
pub mod masters;
pub mod omd;
pub mod policy;
pub mod prior;
pub mod set;
pub mod snapshot;

pub use base::{Base, BaseError, Feedback, Proposal};
pub use context::{Context, ContextSampler, ContextShape};
pub use corral::{Corral, CorralParams, CorralRules, Horizon, Rate, audit, restart_factor};
pub use decision::{Arm, Point};
pub use ensemble::{
    Benched, Crediting, Decision, Ensemble, EnsembleError, EnsembleParams, Feed, Outcome, Tally,
};
pub use error::ParamError;
pub use master::{Credit, Master, MasterError, Rerange};
pub use memo::Memo;
pub use pending::{Expired, Expiry, Pending, PendingCounts, PendingError};
pub use policy::Policy;
pub use prior::Prior;
pub use rand_core::Rng;
pub use sample::{beta, normal, sample_index, uniform};
pub use set::Set;
pub use setup::Setup;
pub use snapshot::SnapshotError;
pub use space::Space;
pub use ticket::Ticket;
