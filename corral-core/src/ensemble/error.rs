//! What can go wrong with an ensemble.

use crate::{BaseError, MasterError, ParamError, ScaleError, SnapshotError, Ticket};

/// Why an ensemble could not do what it was asked. Nothing changed then, and no base was benched for it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EnsembleError {
    /// An ensemble of nothing.
    #[error("an ensemble needs at least one base")]
    Empty,
    /// The master is over another number of bases.
    #[error("a master over {master} bases was given {bases}")]
    Bases {
        /// Bases of the master.
        master: usize,
        /// Bases that were given.
        bases: usize,
    },
    /// A loss outside [0, 1], or where losses may leave it, no number.
    #[error("{}", crate::error::loss_text(*.0))]
    Loss(f64),
    /// A cost that is negative or no number.
    #[error("a cost must be a number of at least 0, but is {0}")]
    Cost(f64),
    /// The band has a budget, and the cost of a decision was not said.
    #[error("the band has a budget: say what the decision cost (`Feedback::with_cost`; in Python `cost=`)")]
    NoCost,
    /// A cost was said, and nothing in the band learns from costs.
    #[error(
        "the band has no budget to hold a cost of {0} against: build it with one (`BandRecipe::paced`; in Python `budget=`), or leave the cost out"
    )]
    NoBudget(f64),
    /// A value outside the range of its scale.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// A parameter that cannot be used.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A weight that is negative, not finite or above the range.
    #[error("a weight must be in [0, {range}], but is {weight}")]
    Weight {
        /// The offending weight.
        weight: f64,
        /// The range in force.
        range: f64,
    },
    /// The context is not one that the ensemble was built for.
    #[error(transparent)]
    Context(BaseError),
    /// The ticket was made by another ensemble.
    #[error("the ticket belongs to ensemble {found:016x}, not to {expected:016x}")]
    Foreign {
        /// The ensemble that made it.
        found: u64,
        /// The ensemble that was asked.
        expected: u64,
    },
    /// The ticket's content cannot be this ensemble's.
    #[error("the ticket of round {round} is damaged: {why}")]
    Ticket {
        /// The round it names.
        round: u64,
        /// What cannot be.
        why: &'static str,
    },
    /// The ticket is not as it was made, or was made with another [secret](crate::EnsembleParams::secret).
    #[error("the ticket of round {round} was changed since it was made, or made with another secret")]
    Changed {
        /// The round it names.
        round: u64,
    },
    /// The context is not the one that the ticket was made for.
    #[error("the ticket of round {round} was made for another context than it came back with")]
    OtherContext {
        /// The round of the ticket.
        round: u64,
    },
    /// The loss of this ticket was learned before.
    #[error("the ticket of round {round} was learned already")]
    AlreadyLearned {
        /// Its round.
        round: u64,
    },
    /// No base has this index or name.
    #[error("there is no base {0}")]
    NoSuchBase(String),
    /// A base cannot say the probabilities of its decisions.
    #[error("base {0} cannot say the probabilities of its decisions")]
    NoLikelihood(String),
    /// Probabilities of arms were asked for, and decisions are points.
    #[error("decisions are points, and no arms that have a probability each")]
    NoArms,
    /// Every base failed and was benched.
    #[error("no base is left: all {bases} are benched, the last one because {last}")]
    NoneLeft {
        /// How many bases there were.
        bases: usize,
        /// Why the last one was benched.
        last: String,
    },
    /// A base that refused an order, or whose snapshot does not fit.
    #[error("base {base}: {why}")]
    Base {
        /// The base.
        base: usize,
        /// What it said.
        why: BaseError,
    },
    /// The master refused.
    #[error(transparent)]
    Master(#[from] MasterError),
    /// A snapshot that cannot be used.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl From<EnsembleError> for BaseError {
    fn from(error: EnsembleError) -> Self {
        match error {
            EnsembleError::Loss(loss) => Self::Loss(loss),
            EnsembleError::Weight { weight, range } => Self::Weight { weight, range },
            EnsembleError::Context(error) => error,
            EnsembleError::Snapshot(error) => Self::Snapshot(error),
            EnsembleError::Foreign { .. } | EnsembleError::Ticket { .. } => Self::Proposal(error.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// A ticket that could not be learned, given back, and why.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct Refused<D> {
    /// The ticket, as it was: its loss can still be learned.
    pub ticket: Ticket<D>,
    /// What is wrong.
    pub error: EnsembleError,
}
