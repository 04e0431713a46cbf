//! What can go wrong, and whose fault it is.

use std::io;

use corral_core::{EnsembleError, TicketId, TokenError};

/// Why a request or a step of the engine was not done. Where it is the caller's fault nothing has changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The token is not one, or was cut.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The token was changed.
    #[error("the token of decision {0} was changed on its way, or was not made by this band")]
    Forged(TicketId),
    /// The token is of another band.
    #[error("the token of decision {id} is of another band or another store: this band is {band:016x}")]
    Foreign {
        /// Of which decision, with its band in front.
        id: TicketId,
        /// The band that it was brought to.
        band: u64,
    },
    /// The reward was given before.
    #[error("decision {0} was rewarded already")]
    AlreadyRewarded(TicketId),
    /// The reward comes too late.
    #[error("decision {0} is too old: its reward is no longer taken")]
    Late(TicketId),
    /// No ticket is kept under this id.
    #[error(
        "no ticket is kept under the id {0}: it was not stored, or has expired, or another front end has it"
    )]
    UnknownId(String),
    /// The band refuses the context or the reward.
    #[error(transparent)]
    Band(#[from] EnsembleError),
    /// What was asked cannot be.
    #[error("{0}")]
    Asked(String),
    /// Too much waits.
    #[error("{waiting} {what} wait, and no more may: try again later")]
    Full {
        /// What waits.
        what: &'static str,
        /// How many.
        waiting: usize,
    },
    /// A client gave more rewards than it may.
    #[error("this client gave {0} rewards in the last minute, and no more may come from it")]
    Quota(u64),
    /// What is served is too far behind.
    #[error(
        "no decisions are made: the state is {0:.1} s behind the rewards that were taken here. Try again later"
    )]
    Stale(f64),
    /// The store could not be written or read. A reward that was not acknowledged may be brought again.
    #[error("the store failed: {0}")]
    Store(String),
    /// What is in the store cannot be what the service wrote.
    #[error("{name} is damaged at byte {at}: {why}")]
    Damaged {
        /// Which object or segment.
        name: String,
        /// Where.
        at: u64,
        /// What is wrong.
        why: String,
    },
    /// The band cannot be built, or is not the one that the store holds.
    #[error("{0}")]
    Model(String),
}

impl From<io::Error> for ServeError {
    fn from(error: io::Error) -> Self {
        Self::Store(error.to_string())
    }
}
