//! What happens to tickets, written down as it happens: they survive a crash without saving everything.

use serde::{Deserialize, Serialize};

use super::{Expiry, Fate, Pending, PendingError, Waiting};
use crate::{Ensemble, Feedback, Master, Observation, Ticket};

/// What happened in a [`Pending`]: written before it is done, read back by [`replay`](Pending::replay). Written by reference
/// (`Event<&X, &Ticket<D>>`), read as a value; both serialise alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event<X, T> {
    /// A ticket waits.
    Stored {
        /// The id under which it waits.
        id: u64,
        /// Since when.
        since: u64,
        /// The context it was chosen for.
        context: X,
        /// The ticket.
        ticket: T,
    },
    /// A loss came for a ticket that waits.
    Rewarded {
        /// Its id.
        id: u64,
        /// The loss.
        feedback: Feedback,
    },
    /// A ticket was taken by the caller, to be learned elsewhere.
    Taken {
        /// Its id.
        id: u64,
    },
    /// Every ticket that waited since before a time expired.
    Expired {
        /// The time.
        before: u64,
        /// What became of them.
        expiry: Expiry,
    },
}

/// Writes an event; an error is the reason why it could not be written.
pub(super) type Journal<X, D> = Box<dyn FnMut(Event<&X, &Ticket<D>>) -> Result<(), String> + Send>;

impl<X, D> Pending<X, D> {
    /// Writes every event through `write`, before it is done: what cannot be written is not done. The journal is no part of
    /// a snapshot, and a snapshot makes what was written before it superfluous.
    #[must_use]
    pub fn with_journal(
        mut self,
        write: impl FnMut(Event<&X, &Ticket<D>>) -> Result<(), String> + Send + 'static,
    ) -> Self {
        self.journal = Some(Box::new(write));
        self
    }

    pub(super) fn write(&mut self, event: Event<&X, &Ticket<D>>) -> Result<(), PendingError> {
        match &mut self.journal {
            Some(write) => write(event).map_err(PendingError::Journal),
            None => Ok(()),
        }
    }
}

impl<X: Observation, D: Clone + PartialEq> Pending<X, D> {
    /// Does again what a journal says: call it with every event, in order, on what was there when the journal was begun.
    /// Nothing is written. What the ensemble refused then it refuses again, which is no error here.
    ///
    /// `ensemble` learns what it had learned. What its bases did when they were asked (a round passed, an arm counted) is
    /// not in a ticket: to have that back too, choose again before an event `Stored`, for the same context and with a generator that
    /// follows from the id of its ticket ([`Ensemble::next_id`]), and let that ticket go.
    ///
    /// # Errors
    /// An id that is given twice, or more tickets than may wait: it is no journal of this store.
    pub fn replay<M: Master>(
        &mut self,
        event: Event<X, Ticket<D>>,
        ensemble: &mut Ensemble<X, D, M>,
    ) -> Result<(), PendingError> {
        let journal = self.journal.take();
        let done = match event {
            Event::Stored { id, since, context, ticket } => self.store_again(id, since, context, ticket),
            Event::Rewarded { id, feedback } => match self.reward(id, feedback, ensemble) {
                Ok(_) | Err(PendingError::Ensemble(_)) => Ok(()),
                Err(error) => Err(error),
            },
            Event::Taken { id } => self.take(id).map(drop),
            Event::Expired { before, expiry } => self.expire(before, expiry).map(|late| {
                for ticket in late {
                    // As then: what is refused is let go.
                    let _ = ensemble.learn(&ticket.context, ticket.ticket, ticket.loss);
                }
            }),
        };
        self.journal = journal;
        done
    }

    fn store_again(
        &mut self,
        id: u64,
        since: u64,
        context: X,
        ticket: Ticket<D>,
    ) -> Result<(), PendingError> {
        if id < self.next {
            return Err(PendingError::Stored(id));
        }
        if self.is_full() {
            return Err(PendingError::Full(self.capacity));
        }
        // Ids between were given to tickets that could not be written.
        while self.next < id {
            self.remember(Fate::Expired);
        }
        self.waiting.insert(id, Waiting { since, context, ticket });
        self.remember(Fate::Waiting);
        Ok(())
    }
}
