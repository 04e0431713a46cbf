//! The laws that every base owes, as functions that an author calls from a test.
//!
//! ```
//! use corral_core::contract::{self, Subject};
//! # use corral_core::{snapshot, Arm, Base, BaseError, Feedback, Memo, Proposal, Rng, Setup, SnapshotError};
//! # struct First { arms: usize }
//! # impl First { fn new(arms: usize) -> Self { Self { arms } } }
//! # impl<X: ?Sized> Base<X, Arm> for First {
//! #     fn propose(&mut self, _x: &X, _rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
//! #         Ok(Proposal::new(Arm(0)))
//! #     }
//! #     fn learn(&mut self, _x: &X, _made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
//! #         feedback.check(f64::MAX).map(drop)
//! #     }
//! #     fn obey(&mut self, order: corral_core::Order) -> Result<(), BaseError> {
//! #         order.check().map(drop)
//! #     }
//! #     fn save(&self) -> Vec<u8> {
//! #         snapshot::seal("first", 1, &(self.arms as u64))
//! #     }
//! #     fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
//! #         let arms: u64 = snapshot::open("first", 1, state)?;
//! #         if arms as usize == self.arms { Ok(()) } else { Err(SnapshotError::state("another number of arms").into()) }
//! #     }
//! # }
//! let setup = Setup::arms(3, Some(1_000));
//! let subject = Subject::arms("first", &setup, || Ok(Box::new(First::new(3))));
//! for (law, verdict) in contract::check_all(&subject) {
//!     assert!(verdict.is_ok(), "{law}: {}", verdict.unwrap_err());
//! }
//! ```

mod laws;
mod snapshots;
mod subject;
mod tape;

use std::fmt;

pub use laws::{
    bad_feedback, likelihoods, outstanding, pass, proposals, randomness, start_over, survival, unseen, widen,
};
pub use snapshots::{bad_snapshots, continuation};
pub use subject::{OnRange, Subject};
pub use tape::Tape;

use crate::guard::guard;

/// How a base breaks a law.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{base} breaks the law {law:?}: {text}")]
pub struct Violation {
    /// The base.
    pub base: String,
    /// The law.
    pub law: &'static str,
    /// What was seen, with the values.
    pub text: String,
}

/// What a law finds: `Err` says what was seen.
type Finding = Result<(), String>;

type Law<X, D> = fn(&Subject<'_, X, D>) -> Result<(), Violation>;

/// Every law, by name.
fn laws<X, D: Clone + PartialEq + fmt::Debug>() -> [(&'static str, Law<X, D>); 12] {
    [
        ("proposals", proposals),
        ("randomness", randomness),
        ("pass", pass),
        ("unseen", unseen),
        ("outstanding", outstanding),
        ("likelihoods", likelihoods),
        ("widen", widen),
        ("start over", start_over),
        ("continuation", continuation),
        ("bad snapshots", bad_snapshots),
        ("bad feedback", bad_feedback),
        ("survival", survival),
    ]
}

/// Runs every law; one that is broken does not stop the others.
pub fn check_all<X, D: Clone + PartialEq + fmt::Debug>(
    subject: &Subject<'_, X, D>,
) -> Vec<(&'static str, Result<(), Violation>)> {
    laws().into_iter().map(|(name, law)| (name, law(subject))).collect()
}

/// Runs the laws until one is broken.
///
/// # Errors
/// The first violation.
pub fn check<X, D: Clone + PartialEq + fmt::Debug>(subject: &Subject<'_, X, D>) -> Result<(), Violation> {
    laws().into_iter().try_for_each(|(_, law)| law(subject))
}

/// Runs the body of a law: a panic is a violation like any other.
fn verdict<X, D>(
    subject: &Subject<'_, X, D>,
    law: &'static str,
    body: impl FnOnce() -> Finding,
) -> Result<(), Violation> {
    guard(body).and_then(|finding| finding).map_err(|text| Violation {
        base: subject.name().to_owned(),
        law,
        text,
    })
}
