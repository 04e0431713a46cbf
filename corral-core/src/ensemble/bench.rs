//! Bases that fail are benched: the others go on without them.

use super::Ensemble;
use crate::{BaseError, Benched, Duty, Master};

impl<X: ?Sized, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// What `call` answers; a base that fails in it by itself is benched.
    #[inline]
    pub(super) fn attempt<T>(
        &mut self,
        base: usize,
        during: Duty,
        call: impl FnOnce(&mut Self) -> Result<T, BaseError>,
    ) -> Option<T> {
        match call(self) {
            Ok(answer) => Some(answer),
            // No base is benched for an interrupt.
            Err(BaseError::Caller(_)) => None,
            Err(error) => {
                self.bench(base, during, &error);
                None
            }
        }
    }

    /// Takes a base out, for a fault of its own.
    #[cold]
    pub(super) fn bench(&mut self, base: usize, during: Duty, error: &BaseError) {
        if self.seats[base].benched {
            return;
        }
        self.note_benched(base, during, error.to_string());
        if self.now.benched.len() < self.seats.len() {
            // A master that cannot retire a base is found out when it draws it again.
            let _ = self.master.retire(base);
        }
    }

    pub(super) fn note_benched(&mut self, base: usize, during: Duty, reason: String) {
        self.seats[base].benched = true;
        self.now.benched.push(Benched { base, round: self.now.round, name: self.name(base), during, reason });
    }
}
