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
//! #     fn apply_order(&mut self, order: corral_core::Order) -> Result<(), BaseError> {
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

/// Refuses unless it `holds`: says what was seen.
fn demand(holds: bool, seen: impl fmt::Display) -> Finding {
    if holds { Ok(()) } else { Err(seen.to_string()) }
}

/// What checks a law.
pub type Law<X, D> = fn(&Subject<'_, X, D>) -> Result<(), Violation>;

/// Laws, each with its name and what checks it.
macro_rules! laws {
    ($( $(#[$doc:meta])* $law:ident: $name:literal, $check:path; )*) => {
        $(
            $(#[$doc])*
            pub fn $law<X, D: Clone + PartialEq + fmt::Debug>(subject: &Subject<'_, X, D>) -> Result<(), Violation> {
                verdict(subject, $name, || $check(subject))
            }
        )*

        /// Every law, by name.
        pub fn every<X, D: Clone + PartialEq + fmt::Debug>() -> Vec<(&'static str, Law<X, D>)> {
            vec![$( ($name, $law) ),*]
        }
    };
}

laws! {
    /// Proposals lie in the space and are finite; so are their memos; `propose_into` proposes the same.
    ///
    /// # Errors
    /// What was proposed.
    proposals: "proposals", laws::proposals;
    /// All randomness comes from the generator: the same numbers give the same proposals, and a base that says it
    /// hesitates draws some.
    ///
    /// # Errors
    /// The round in which two lives part.
    randomness: "randomness", laws::randomness;
    /// `pass` changes nothing that was learned. A base that declares to count rounds may count; one that wants no
    /// passes may not even do that, and one that wants them has the `extra` that gets them.
    ///
    /// # Errors
    /// The state that changed.
    pass: "pass", laws::pass;
    /// `learn` with weight 0 changes nothing that was learned; the loss, which was not seen, changes nothing at all.
    ///
    /// # Errors
    /// The state that changed.
    unseen: "unseen", laws::unseen;
    /// Several proposals may be outstanding, and their feedback may come in any order.
    ///
    /// # Errors
    /// What the base refused.
    outstanding: "outstanding", laws::outstanding;
    /// Likelihoods, where the base has them: probabilities that sum to one over the decisions, do not change by being
    /// asked, agree with how often decisions are proposed, and carry the memo that the proposal carries.
    ///
    /// Frequencies are judged by Bernstein's inequality at an error rate of 1e-9 a decision.
    ///
    /// # Errors
    /// The sum, frequency or memo that is off.
    likelihoods: "likelihoods", laws::likelihoods;
    /// After a wider range the base is what it declares: as a new one with that range, or going on. An invalid range is
    /// refused, and changes nothing.
    ///
    /// # Errors
    /// Where the two lives part.
    widen: "widen", laws::widen;
    /// After the order to start over the base is as a new one that was given the same order.
    ///
    /// # Errors
    /// Where the two lives part.
    start_over: "start over", laws::start_over;
    /// A base that was saved, loaded and continued does to the last bit what one that never stopped does; with proposals
    /// outstanding, and whatever the loading base did before.
    ///
    /// # Errors
    /// Where the two lives part.
    continuation: "continuation", snapshots::continuation;
    /// Snapshots that are cut, damaged, of another algorithm or of another version are refused without a panic, and leave
    /// the state as it was. A state that was tampered with behind a right checksum may be refused or loaded, but never
    /// makes the base panic.
    ///
    /// # Errors
    /// What was accepted, or did harm.
    bad_snapshots: "bad snapshots", snapshots::bad_snapshots;
    /// Losses outside [0, 1] and weights that are negative or not finite are refused, and change nothing.
    ///
    /// # Errors
    /// What was accepted.
    bad_feedback: "bad feedback", laws::bad_feedback;
    /// The base survives long runs of the worst that a master may feed it: weights at the range, losses of 0 and 1, long
    /// silences, one arm praised and then damned.
    ///
    /// # Errors
    /// The round and the feedback after which it failed.
    survival: "survival", laws::survival;
}

/// Runs every law; one that is broken does not stop the others.
pub fn check_all<X, D: Clone + PartialEq + fmt::Debug>(
    subject: &Subject<'_, X, D>,
) -> Vec<(&'static str, Result<(), Violation>)> {
    every().into_iter().map(|(name, law)| (name, law(subject))).collect()
}

/// Runs the laws until one is broken.
///
/// # Errors
/// The first violation.
pub fn check<X, D: Clone + PartialEq + fmt::Debug>(subject: &Subject<'_, X, D>) -> Result<(), Violation> {
    every().into_iter().try_for_each(|(_, law)| law(subject))
}

/// Runs the body of a law: a panic is a violation like any other.
fn verdict<X, D>(
    subject: &Subject<'_, X, D>,
    law: &'static str,
    body: impl FnOnce() -> Finding,
) -> Result<(), Violation> {
    guard(body).and_then(|finding| finding).map_err(|text| Violation {
        base: subject.name.clone(),
        law,
        text,
    })
}
