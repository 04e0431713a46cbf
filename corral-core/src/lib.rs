//! The pure master of Corral (Agarwal, Luo, Neyshabur, Schapire 2017, "Corralling a Band of Bandit Algorithms").
//!
//! You have several learners and do not know which will do best on your problem. Put them under a master: it follows one
//! of them each round, and does nearly as well as the best of them would alone.
//!
//! ```
//! use corral_core::{Base, Context, Corral, CorralParams, Ensemble, Horizon};
//! # use corral_core::{Arm, BaseError, Feedback, Proposal, Rng};
//! # use rand::SeedableRng;
//! # struct Always(u32);
//! # impl Base<Context, Arm> for Always {
//! #     fn propose(&mut self, _: &Context, _: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
//! #         Ok(Proposal::new(Arm(self.0)))
//! #     }
//! #     fn learn(&mut self, _: &Context, _: &Proposal<Arm>, _: Feedback) -> Result<(), BaseError> { Ok(()) }
//! #     fn apply_order(&mut self, _: corral_core::Order) -> Result<(), BaseError> { Ok(()) }
//! #     fn save(&self) -> Vec<u8> { Vec::new() }
//! #     fn load(&mut self, _: &[u8]) -> Result<(), BaseError> { Ok(()) }
//! # }
//! # let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
//! # let play = |arm: &Arm| if arm.0 == 0 { 0.2 } else { 0.7 };
//! let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![Box::new(Always(0)), Box::new(Always(1))];   // yours
//! let master = Corral::new(CorralParams::new(bases.len(), Horizon::Known(10_000)))?;
//! let mut band = Ensemble::new(master, bases)?;
//! for _ in 0..10_000 {
//!     let x = Context::plain(2);                        // what is known before deciding
//!     let ticket = band.choose(&x, &mut rng)?;          // one base decides
//!     let loss = play(&ticket.decision);                // a number in [0, 1]; any time may pass
//!     band.learn(&x, ticket, loss)?;                    // that base and the master learn
//! }
//! assert!(band.probabilities()[0] > 0.9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | see |
//! |---|---|
//! | write a learner | [`Base`], and the laws it owes: `contract` (feature `contract`) |
//! | put learners under a master | [`Ensemble`]: credit rules, feeds, failing bases, nesting |
//! | wait for losses | [`Ticket`], [`Pending`] |
//! | run in a service | [`Shared`], [`Scale`], [`FeatureRange`], [`Quota`], [`Metrics`] |
//! | stop and go on | [`snapshot`], [`Ensemble::save`] |
//! | pick a master | [`Corral`] (Algorithm 1 and 2: [`omd`]), [`masters`] |
//! | describe a world | [`Setup`], [`Space`], [`Context`], [`policy`], [`set`], [`prior`] |
//!
//! The core decides, the caller acts: nothing here does IO, reads a clock, owns a generator or starts a thread. The same
//! calls with the same generator give the same run.
#![forbid(unsafe_code)]

pub mod audit;
mod base;
mod commons;
mod context;
mod corral;
mod decision;
mod ensemble;
mod entropy;
mod error;
mod feature_range;
mod forward;
mod guard;
mod link;
mod master;
mod memo;
mod observation;
mod order;
mod pending;
mod quota;
mod sample;
mod scale;
mod setup;
mod shared;
mod space;
mod spending;
mod ticket;

#[cfg(feature = "contract")]
pub mod contract;
pub mod masters;
pub mod memory;
pub mod omd;
pub mod params;
pub mod policy;
pub mod prior;
pub mod registry;
pub mod set;
pub mod snapshot;
pub mod text;
pub mod vectors;

pub use base::{Abilities, Base, BaseExtra, Benched, Duty, Feedback, Proposal};
pub use commons::Commons;
pub use context::{Context, ContextSampler, ContextShape};
pub use corral::{Corral, CorralParams, Horizon, Rate, Step, restart_factor};
pub use decision::{Decision, Learner};
pub use ensemble::{
    BaseMetrics, Crediting, Ensemble, EnsembleError, EnsembleParams, Feed, Metrics, Outcome, Propensities,
    Refused, Tally,
};
pub use entropy::relative_entropy;
pub use error::{BaseError, ParamError, require};
pub use feature_range::FeatureRange;
pub use link::Link;
pub use master::{Credit, Limits, Master, MasterError, MasterExtra, Telemetry, draw_base};
pub use memo::Memo;
pub use observation::Observation;
pub use order::Order;
pub use pending::{Expired, Expiry, NotStored, Pending, PendingCounts, PendingError};
pub use policy::Policy;
pub use prior::Prior;
pub use quota::Quota;
pub use rand_core::Rng;
pub use sample::{beta, box_muller, normal, sample_index, split_mix, uniform};
pub use scale::{Scale, ScaleError};
pub use set::Set;
pub use setup::{LossDomain, Setup};
pub use shared::Shared;
pub use snapshot::SnapshotError;
pub use space::{Arm, Point, Space};
pub use spending::Spending;
pub use ticket::{Ticket, TicketId, TokenError};
