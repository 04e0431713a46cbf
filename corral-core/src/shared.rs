//! One ensemble for many threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    Ensemble, EnsembleError, Feedback, Master, Metrics, Observation, Outcome, Refused, Rng, Ticket, TicketId,
};

/// A handle on an ensemble that many threads choose and learn with: cloned, sent and shared freely.
///
/// An [`Ensemble`] is `Send` and not `Sync`: every round changes it. The handle puts it behind one lock, which a call holds
/// while the ensemble decides or learns. So the cost is one lock a call (some tens of nanoseconds without contention), and
/// rounds go one after another: threads add no throughput to the ensemble itself, only to what is done around it. Where
/// one ensemble is too slow, run copies that choose side by side ([`EnsembleParams::copy`](crate::EnsembleParams)) and one
/// that learns the tickets of all.
///
/// Tickets may be learned by another thread than the one that chose. A base that panics is benched, as everywhere.
///
/// ```
/// use corral_core::{Context, Ensemble, Shared};
/// # use corral_core::{Arm, Base, BaseError, Feedback, Order, Proposal, Rng};
/// # use rand::SeedableRng;
/// # use rand_pcg::Pcg64Dxsm;
/// # struct Always(u32);
/// # impl Base<Context, Arm> for Always {
/// #     fn propose(&mut self, _: &Context, _: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
/// #         Ok(Proposal::new(Arm(self.0)))
/// #     }
/// #     fn learn(&mut self, _: &Context, _: &Proposal<Arm>, _: Feedback) -> Result<(), BaseError> { Ok(()) }
/// #     fn apply_order(&mut self, _: Order) -> Result<(), BaseError> { Ok(()) }
/// #     fn save(&self) -> Vec<u8> { Vec::new() }
/// #     fn load(&mut self, _: &[u8]) -> Result<(), BaseError> { Ok(()) }
/// # }
/// # let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![Box::new(Always(0)), Box::new(Always(1))];
/// let band = Shared::new(Ensemble::practical(bases)?);
/// std::thread::scope(|threads| {
///     for _ in 0..4 {
///         let band = band.clone();
///         threads.spawn(move || {
///             let x = Context::plain(2);
///             // The generator follows from the id of the ticket, so the decision can be made again.
///             let ticket = band.choose_by(&x, |id| Pcg64Dxsm::seed_from_u64(id.seed(42))).unwrap();
///             band.learn(&x, ticket, 0.5).unwrap();
///         });
///     }
/// });
/// assert_eq!(band.metrics().rounds, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shared<X: ?Sized, D, M>(Arc<Mutex<Ensemble<X, D, M>>>);

impl<X: ?Sized, D, M> Clone for Shared<X, D, M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<X: Observation + ?Sized, D: Clone + PartialEq, M: Master> Shared<X, D, M> {
    /// A first handle on `band`.
    pub fn new(band: Ensemble<X, D, M>) -> Self {
        Self(Arc::new(Mutex::new(band)))
    }

    /// As [`Ensemble::choose`]. The generator belongs to the calling thread.
    ///
    /// # Errors
    /// As [`Ensemble::choose`].
    pub fn choose(&self, x: &X, rng: &mut dyn Rng) -> Result<Ticket<D>, EnsembleError> {
        self.lock().choose(x, rng)
    }

    /// As [`Ensemble::choose`], with a generator that follows from the id of the ticket.
    ///
    /// # Errors
    /// As [`Ensemble::choose`].
    pub fn choose_by<R: Rng>(
        &self,
        x: &X,
        generator: impl FnOnce(TicketId) -> R,
    ) -> Result<Ticket<D>, EnsembleError> {
        let mut band = self.lock();
        let mut rng = generator(band.next_id());
        band.choose(x, &mut rng)
    }

    /// As [`Ensemble::learn`].
    ///
    /// # Errors
    /// As [`Ensemble::learn`].
    pub fn learn(
        &self,
        x: &X,
        ticket: Ticket<D>,
        feedback: impl Into<Feedback>,
    ) -> Result<Outcome, Box<Refused<D>>> {
        self.lock().learn(x, ticket, feedback)
    }

    /// As [`Ensemble::metrics`].
    pub fn metrics(&self) -> Metrics {
        self.lock().metrics()
    }

    /// Does `what` with the ensemble, with exclusive access: snapshots, bases that come and go.
    pub fn with<T>(&self, what: impl FnOnce(&mut Ensemble<X, D, M>) -> T) -> T {
        what(&mut self.lock())
    }

    /// The ensemble itself, where this is the last handle; else the handle.
    ///
    /// # Errors
    /// Others have handles still.
    pub fn into_inner(self) -> Result<Ensemble<X, D, M>, Self> {
        let lock = Arc::try_unwrap(self.0).map_err(Self)?;
        Ok(lock.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls of bases catch panics, so a lock is poisoned by the caller's own code in `with` alone.
    fn lock(&self) -> MutexGuard<'_, Ensemble<X, D, M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
