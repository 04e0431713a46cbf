//! A band of bandit algorithms as a service.
//!
//! - A [`Front`] chooses on its own copy of the band, without waiting for anything, and takes rewards: each is in the store
//!   before it is acknowledged. Many run side by side.
//! - A [`FoldLearner`] commits in which order rewards are learned, and learns them. One is enough; more stand by.
//! - A [`Store`] lies between them: a [`Directory`], or a bucket.
//!
//! None of them has a thread of its own or reads a clock by itself: their steps are called, by threads or by a simulation.

#![forbid(unsafe_code)]

mod again;
mod chained;
mod clock;
mod decisions;
mod error;
mod event;
mod export;
mod folds;
mod front;
mod gate;
mod history;
#[cfg(feature = "http")]
pub mod http;
mod layout;
mod learner;
mod lock;
mod model;
mod options;
mod outbox;
mod recent;
mod rewarded;
mod serving;
mod slip;
pub mod spec;
mod state;
mod store;
mod threads;
mod tickets;
mod verify;
mod warm;

pub use clock::{Clock, SystemClock};
pub use decisions::DecisionExport;
pub use error::ServeError;
pub use export::Export;
pub use front::{Chosen, Front, FrontCounts, FrontOptions};
pub use history::Point;
pub use learner::{FoldLearner, LearnerOptions, Published, Step};
pub use model::{Model, Served};
pub use options::{Role, ServingOptions};
pub use outbox::Done;
pub use serving::{Answer, Question, Serving};
pub use spec::ServedSpec;
pub use state::{Counts, Sum};
#[cfg(feature = "bucket")]
pub use store::Bucket;
pub use store::{Directory, Segment, Store};
pub use verify::{Verified, verify, verify_from};
pub use warm::{Open, Warmed, warm_up};
