//! What can go wrong with a journal.

use std::io;

use corral_core::{EnsembleError, PendingError, SnapshotError, TokenError};

/// Why a journal could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// What the band refuses: a context, a loss, a ticket, a base.
    #[error(transparent)]
    Band(#[from] EnsembleError),
    /// What the store of tickets refuses.
    #[error(transparent)]
    Pending(#[from] PendingError),
    /// The text is not a token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Too many decisions wait.
    #[error("{0} decisions wait for their outcome, and no more may")]
    Full(usize),
    /// The log could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The snapshot cannot be used.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// There are lines, and no snapshot that says what they follow.
    #[error("the journal has {0} bytes of log and no snapshot that it begins with")]
    NoSnapshot(u64),
    /// A line cannot be played again: the log was changed, or belongs to another band.
    #[error("line {line} after the snapshot, at byte {at} of the log, cannot be played again: {why}")]
    Line {
        /// The line, counted from 1 after the snapshot.
        line: u64,
        /// Where it begins.
        at: u64,
        /// What is wrong.
        why: String,
    },
}
