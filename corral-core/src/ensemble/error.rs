//! What can go wrong with an ensemble.

use crate::{BaseError, MasterError, SnapshotError};

/// Why an ensemble could not do what it was asked. Nothing was learned then.
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
    /// A loss outside [0, 1].
    #[error("a loss must be in [0, 1], but is {0}")]
    Loss(f64),
    /// The ticket was made by another ensemble.
    #[error("the ticket belongs to ensemble {found:016x}, not to {expected:016x}")]
    Foreign {
        /// The ensemble that made it.
        found: u64,
        /// The ensemble that was asked.
        expected: u64,
    },
    /// The ticket's content cannot be this ensemble's.
    #[error("the ticket of round {round} does not fit an ensemble of {bases} bases")]
    Ticket {
        /// The round it names.
        round: u64,
        /// How many bases there are.
        bases: usize,
    },
    /// Every base failed and was benched.
    #[error("no base is left: all {bases} are benched, the last one because {last}")]
    NoneLeft {
        /// How many bases there were.
        bases: usize,
        /// Why the last one was benched.
        last: String,
    },
    /// A base that could not be told its first range, or whose snapshot does not fit.
    #[error("base {base}: {source}")]
    Base {
        /// The base.
        base: usize,
        /// What it said.
        source: BaseError,
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
            EnsembleError::Snapshot(error) => Self::Snapshot(error),
            EnsembleError::Foreign { .. } | EnsembleError::Ticket { .. } => Self::Proposal(error.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}
