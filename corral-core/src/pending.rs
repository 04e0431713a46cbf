//! Outstanding tickets.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::snapshot::{self, SnapshotError, ensure};
use crate::{
    Ensemble, EnsembleError, Feedback, Master, Metrics, Observation, Outcome, Refused, Ticket, TicketId,
    TokenError,
};

const NAME: &str = "pending";
const VERSION: u16 = 2;

/// Tickets that wait for their loss, with their contexts: at most `capacity` of them, each under its own id and taken once.
/// What became of as many others is remembered. There is no clock in here: time is whatever number the caller counts by.
///
/// ```
/// use corral_core::{Context, Corral, CorralParams, Ensemble, Expiry, Feedback, Horizon, Pending, PendingError};
/// # use corral_core::{Arm, Base, BaseError, Order, Proposal, Rng};
/// # use rand::SeedableRng;
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
/// # let mut band = Ensemble::new(Corral::new(CorralParams::new(2, Horizon::Known(1_000)))?, bases)?;
/// # let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
/// let mut pending = Pending::new(1_000);
/// let x = Context::plain(2);
/// let ticket = band.choose(&x, &mut rng)?;
/// let id = pending.insert(x.clone(), ticket, 17)?;           // at time 17; hand `id` out with the decision
/// pending.reward(id, 0.25, &mut band)?;                      // its loss has come
/// assert_eq!(pending.reward(id, 0.25, &mut band), Err(PendingError::AlreadyRewarded(id)));
///
/// let ticket = band.choose(&x, &mut rng)?;
/// pending.insert(x, ticket, 18)?;
/// for late in pending.expire(100, Expiry::Loss(1.0))? {      // what has waited since before time 100
///     band.learn(&late.context, late.ticket, late.loss)?;
/// }
/// assert!(pending.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pending<X, D> {
    capacity: usize,
    waiting: BTreeMap<TicketId, Waiting<X, D>>,
    /// Those that wait, in the order of time.
    order: BTreeSet<(u64, TicketId)>,
    /// What became of the last ones, in the order in which it did.
    settled: VecDeque<(TicketId, Fate)>,
    fates: BTreeMap<TicketId, Fate>,
    counts: PendingCounts,
    /// Losses and calls for tickets that do not wait: no part of a snapshot, for they change nothing.
    refused: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "X: Deserialize<'de>, D: DeserializeOwned"))]
struct Waiting<X, D> {
    since: u64,
    context: X,
    ticket: Ticket<D>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Fate {
    Rewarded,
    Expired,
}

/// How many tickets went which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCounts {
    /// Taken for their loss.
    pub rewarded: u64,
    /// Expired, and given out with a default loss.
    pub defaulted: u64,
    /// Expired, and dropped.
    pub dropped: u64,
}

/// What becomes of tickets that waited too long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expiry {
    /// They count as this loss.
    Loss(f64),
    /// They are forgotten, and counted. If it depends on the decision whether a loss arrives, what is learned is biased.
    Drop,
}

/// A ticket that expired, with the loss that it is to be learned with.
#[derive(Debug, PartialEq)]
pub struct Expired<X, D> {
    /// The id it had.
    pub id: TicketId,
    /// The context it was chosen for.
    pub context: X,
    /// The ticket.
    pub ticket: Ticket<D>,
    /// The default loss.
    pub loss: f64,
}

/// What could not be stored is given back.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct NotStored<X, D> {
    /// Why: the store is full, or a ticket with this id waits.
    pub error: PendingError,
    /// The context.
    pub context: X,
    /// The ticket.
    pub ticket: Ticket<D>,
}

/// Why a ticket could not be taken or learned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PendingError {
    /// No ticket waits under this id, and none was settled of late.
    #[error("no ticket waits under the id {0}: there was none, or it was settled long ago")]
    Unknown(TicketId),
    /// The ticket was taken before.
    #[error("the ticket {0} was rewarded already")]
    AlreadyRewarded(TicketId),
    /// The ticket waited too long.
    #[error("the ticket {0} has expired")]
    Expired(TicketId),
    /// No more tickets may wait.
    #[error("{0} tickets are waiting, and no more may")]
    Full(usize),
    /// A ticket with this id waits.
    #[error("a ticket waits under the id {0} already")]
    Stored(TicketId),
    /// A default loss that is no number.
    #[error("a loss must be a number, but is {0}")]
    Loss(f64),
    /// The ensemble refused the ticket.
    #[error(transparent)]
    Ensemble(#[from] EnsembleError),
    /// A snapshot that cannot be used.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl<X, D> Pending<X, D> {
    /// A store for at most `capacity` tickets.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            waiting: BTreeMap::new(),
            order: BTreeSet::new(),
            settled: VecDeque::new(),
            fates: BTreeMap::new(),
            counts: PendingCounts::default(),
            refused: 0,
        }
    }

    /// Stores a ticket at time `now`, under its id.
    ///
    /// # Errors
    /// The store is full (free space with [`expire`](Pending::expire)), or the ticket waits already. It is given back with its
    /// context.
    pub fn insert(
        &mut self,
        context: X,
        ticket: Ticket<D>,
        now: u64,
    ) -> Result<TicketId, Box<NotStored<X, D>>> {
        let id = ticket.id();
        let error = match self.waiting.contains_key(&id) {
            true => Some(PendingError::Stored(id)),
            false => self.is_full().then_some(PendingError::Full(self.capacity)),
        };
        if let Some(error) = error {
            return Err(Box::new(NotStored { error, context, ticket }));
        }
        if self.fates.remove(&id).is_some() {
            // Taken, and brought back.
            self.settled.retain(|(settled, _)| *settled != id);
        }
        self.put(id, Waiting { since: now, context, ticket });
        Ok(id)
    }

    fn put(&mut self, id: TicketId, waiting: Waiting<X, D>) {
        self.order.insert((waiting.since, id));
        self.waiting.insert(id, waiting);
    }

    fn remove(&mut self, id: TicketId) -> Result<Waiting<X, D>, PendingError> {
        if let Err(missing) = self.find(id).map(drop) {
            self.refused += 1;
            return Err(missing);
        }
        let Some(found) = self.waiting.remove(&id) else { return Err(PendingError::Unknown(id)) };
        self.order.remove(&(found.since, id));
        Ok(found)
    }

    /// The ticket that waits under an id, with its context.
    ///
    /// # Errors
    /// Says what became of it.
    pub fn find(&self, id: TicketId) -> Result<(&X, &Ticket<D>), PendingError> {
        match (self.waiting.get(&id), self.fates.get(&id)) {
            (Some(waiting), _) => Ok((&waiting.context, &waiting.ticket)),
            (None, Some(Fate::Rewarded)) => Err(PendingError::AlreadyRewarded(id)),
            (None, Some(Fate::Expired)) => Err(PendingError::Expired(id)),
            (None, None) => Err(PendingError::Unknown(id)),
        }
    }

    /// Takes the ticket `id`, once.
    ///
    /// # Errors
    /// Says what became of it.
    pub fn take(&mut self, id: TicketId) -> Result<(X, Ticket<D>), PendingError> {
        let found = self.remove(id)?;
        self.settle(id, Fate::Rewarded);
        self.counts.rewarded += 1;
        Ok((found.context, found.ticket))
    }

    /// The tickets that wait since before the time `before`, those that wait longest first.
    pub fn late(&self, before: u64) -> impl Iterator<Item = TicketId> + '_ {
        self.order.iter().take_while(move |(since, _)| *since < before).map(|(_, id)| *id)
    }

    /// Takes the ticket `id` because it waited too long; dropped or not, it is given out.
    ///
    /// # Errors
    /// Says what became of it.
    pub fn expire_one(&mut self, id: TicketId, dropped: bool) -> Result<(X, Ticket<D>), PendingError> {
        let found = self.remove(id)?;
        self.settle(id, Fate::Expired);
        *(if dropped { &mut self.counts.dropped } else { &mut self.counts.defaulted }) += 1;
        Ok((found.context, found.ticket))
    }

    /// Takes every ticket that waits since before the time `before`. With a default loss they are given out to be
    /// learned; dropped ones are only counted. Tickets that are not late cost nothing.
    ///
    /// # Errors
    /// The default loss is no number; nothing expired then.
    pub fn expire(&mut self, before: u64, expiry: Expiry) -> Result<Vec<Expired<X, D>>, PendingError> {
        let loss = match expiry {
            Expiry::Loss(loss) if !loss.is_finite() => return Err(PendingError::Loss(loss)),
            Expiry::Loss(loss) => Some(loss),
            Expiry::Drop => None,
        };
        let late: Vec<TicketId> = self.late(before).collect();
        let mut expired = Vec::new();
        for id in late {
            let (context, ticket) = self.expire_one(id, loss.is_none())?;
            expired.extend(loss.map(|loss| Expired { id, context, ticket, loss }));
        }
        Ok(expired)
    }

    /// How many tickets wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no ticket waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether no further ticket can be stored.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= self.capacity
    }

    /// How many tickets went which way.
    pub fn counts(&self) -> PendingCounts {
        self.counts
    }

    /// How often a ticket was asked for that does not wait (unknown, taken before, expired), since the store was built.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn settle(&mut self, id: TicketId, fate: Fate) {
        self.fates.insert(id, fate);
        self.settled.push_back((id, fate));
        if self.settled.len() > self.capacity
            && let Some((old, _)) = self.settled.pop_front()
        {
            self.fates.remove(&old);
        }
    }
}

impl<X: Observation, D: Clone + PartialEq> Pending<X, D> {
    /// Takes in a loss: takes the ticket `id`, and has `ensemble` learn. Where the ensemble refuses, the ticket goes on
    /// waiting.
    ///
    /// # Errors
    /// An id that does not wait, or what the ensemble says: an invalid loss, a ticket of another ensemble.
    pub fn reward<M: Master>(
        &mut self,
        id: TicketId,
        loss: impl Into<Feedback>,
        ensemble: &mut Ensemble<X, D, M>,
    ) -> Result<Outcome, PendingError> {
        let Waiting { since, context, ticket } = self.remove(id)?;
        match ensemble.learn(&context, ticket, loss) {
            Ok(outcome) => {
                self.settle(id, Fate::Rewarded);
                self.counts.rewarded += 1;
                Ok(outcome)
            }
            Err(refused) => {
                let Refused { ticket, error } = *refused;
                self.put(id, Waiting { since, context, ticket });
                Err(error.into())
            }
        }
    }
}

#[derive(Serialize)]
#[serde(bound(serialize = "X: Serialize, D: Serialize"))]
struct Saved<'a, X, D> {
    capacity: u64,
    waiting: Vec<&'a Waiting<X, D>>,
    settled: &'a VecDeque<(TicketId, Fate)>,
    counts: PendingCounts,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "X: Deserialize<'de>, D: DeserializeOwned"))]
struct State<X, D> {
    capacity: u64,
    #[serde(deserialize_with = "snapshot::untrusted")]
    waiting: Vec<Waiting<X, D>>,
    #[serde(deserialize_with = "snapshot::untrusted")]
    settled: Vec<(TicketId, Fate)>,
    counts: PendingCounts,
}

impl<X: Serialize, D: Serialize> Pending<X, D> {
    /// Everything, as a framed snapshot ([`crate::snapshot`]).
    ///
    /// # Errors
    /// The tickets are those of a band without a [secret](crate::EnsembleParams::secret): they cannot leave the process.
    pub fn save(&self) -> Result<Vec<u8>, TokenError> {
        self.waiting.values().try_for_each(|w| w.ticket.to_bytes().map(drop))?;
        let (waiting, capacity) = (self.waiting.values().collect(), self.capacity as u64);
        let state = Saved { capacity, waiting, settled: &self.settled, counts: self.counts };
        Ok(snapshot::seal(NAME, VERSION, &state))
    }
}

impl<X: DeserializeOwned, D: DeserializeOwned> Pending<X, D> {
    /// Reads a snapshot back.
    ///
    /// # Errors
    /// The snapshot is damaged, of something else or of another version, or contradicts itself.
    pub fn load(bytes: &[u8]) -> Result<Self, PendingError> {
        let State { capacity, waiting, settled, counts } = snapshot::open(NAME, VERSION, bytes)?;
        let mut store =
            Self { counts, ..Self::new(usize::try_from(capacity).map_err(SnapshotError::state)?) };
        let sorted = waiting.is_sorted_by(|a: &Waiting<X, D>, b| a.ticket.id() < b.ticket.id());
        let few = waiting.len().max(settled.len()) <= store.capacity;
        ensure(
            sorted && few,
            format_args!("{} tickets wait where {capacity} may, or out of order", waiting.len()),
        )?;
        for waiting in waiting {
            store.put(waiting.ticket.id(), waiting);
        }
        let open = settled.iter().all(|(id, _)| !store.waiting.contains_key(id));
        ensure(open, "a ticket waits that was settled")?;
        store.fates = settled.iter().copied().collect();
        ensure(store.fates.len() == settled.len(), "a ticket was settled twice")?;
        store.settled = settled.into();
        Ok(store)
    }
}

impl<X: PartialEq, D: PartialEq> PartialEq for Pending<X, D> {
    /// Whether the same tickets wait and went the same ways.
    fn eq(&self, other: &Self) -> bool {
        let parts = |p: &Self| (p.capacity, p.counts);
        parts(self) == parts(other) && self.waiting == other.waiting && self.settled == other.settled
    }
}

impl<X, D> fmt::Debug for Pending<X, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity, waiting, counts, .. } = self;
        write!(f, "Pending {{ capacity: {capacity}, waiting: {}, {counts:?} }}", waiting.len())
    }
}

impl Metrics {
    /// The same, with the tickets that wait in `pending`, and those that expired or were refused there.
    #[must_use]
    pub fn with_pending<X, D>(mut self, pending: &Pending<X, D>) -> Self {
        self.open = pending.len() as u64;
        self.refused += pending.refused();
        self.expired = pending.counts().defaulted + pending.counts().dropped;
        self
    }
}
