//! Outstanding tickets.

mod journal;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize, Serializer, de::DeserializeOwned};

use crate::snapshot::{self, SnapshotError};
use crate::{
    Ensemble, EnsembleError, Feedback, Master, Metrics, Observation, Outcome, Refused, Ticket, TokenError,
};

pub use journal::Event;
use journal::Journal;

const NAME: &str = "pending";
const VERSION: u16 = 2;
/// How many settled tickets are remembered for each that may wait.
const MEMORY: usize = 8;

/// Tickets that wait for their loss, with their contexts: at most `capacity` of them, each taken once. There is no
/// clock in here: time is whatever number the caller counts by.
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
#[derive(Serialize, Deserialize)]
#[serde(try_from = "State<X, D>")]
#[serde(bound(
    serialize = "X: Serialize, D: Serialize",
    deserialize = "X: Deserialize<'de>, D: DeserializeOwned"
))]
pub struct Pending<X, D> {
    capacity: usize,
    #[serde(serialize_with = "pairs")]
    waiting: BTreeMap<u64, Waiting<X, D>>,
    next: u64,
    /// What became of the last ids, in order; the last of them is `next - 1`.
    fates: VecDeque<Fate>,
    counts: PendingCounts,
    /// Losses and calls for tickets that do not wait: no part of a snapshot, for they change nothing.
    #[serde(skip)]
    refused: u64,
    #[serde(skip)]
    journal: Option<Journal<X, D>>,
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
    Waiting,
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
    pub id: u64,
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
    /// Why: the store is full, or the journal could not be written.
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
    /// No ticket ever had this id.
    #[error("no ticket has the id {0}")]
    Unknown(u64),
    /// The ticket was taken before.
    #[error("ticket {0} was rewarded already")]
    AlreadyRewarded(u64),
    /// The ticket waited too long.
    #[error("ticket {0} has expired")]
    Expired(u64),
    /// The ticket was taken or expired so long ago that it is not remembered which.
    #[error("ticket {0} was settled long ago")]
    Settled(u64),
    /// No more tickets may wait.
    #[error("{0} tickets are waiting, and no more may")]
    Full(usize),
    /// A journal names an id that was given before.
    #[error("a ticket was stored under the id {0} before")]
    Stored(u64),
    /// The journal could not be written: nothing was done.
    #[error("the journal could not be written: {0}")]
    Journal(String),
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
            next: 0,
            fates: VecDeque::new(),
            counts: PendingCounts::default(),
            refused: 0,
            journal: None,
        }
    }

    /// Stores a ticket at time `now`, and names the id under which it can be taken. Ids count up from 0.
    ///
    /// # Errors
    /// The store is full (make room with [`expire`](Pending::expire)), or its journal could not be written. The ticket and
    /// its context are given back.
    pub fn insert(&mut self, context: X, ticket: Ticket<D>, now: u64) -> Result<u64, Box<NotStored<X, D>>> {
        let id = self.next;
        let written = match self.is_full() {
            true => Err(PendingError::Full(self.capacity)),
            false => self.write(Event::Stored { id, since: now, context: &context, ticket: &ticket }),
        };
        if let Err(error) = written {
            return Err(Box::new(NotStored { error, context, ticket }));
        }
        self.waiting.insert(id, Waiting { since: now, context, ticket });
        self.remember(Fate::Waiting);
        Ok(id)
    }

    /// Gives the next id out.
    fn remember(&mut self, fate: Fate) {
        self.next += 1;
        self.fates.push_back(fate);
        if self.fates.len() > self.capacity.saturating_mul(MEMORY) {
            self.fates.pop_front();
        }
    }

    /// Takes the ticket `id`, once.
    ///
    /// # Errors
    /// Says what became of it, or the journal could not be written.
    pub fn take(&mut self, id: u64) -> Result<(X, Ticket<D>), PendingError> {
        if self.waiting.contains_key(&id) {
            self.write(Event::Taken { id })?;
        }
        let Some(found) = self.waiting.remove(&id) else {
            return Err(self.missing(id));
        };
        self.settle(id, Fate::Rewarded);
        self.counts.rewarded += 1;
        Ok((found.context, found.ticket))
    }

    /// Takes every ticket that waits since before the time `before`. With a default loss they are given out to be
    /// learned; dropped ones are only counted.
    ///
    /// # Errors
    /// The default loss is no number, or the journal could not be written; nothing expired then.
    pub fn expire(&mut self, before: u64, expiry: Expiry) -> Result<Vec<Expired<X, D>>, PendingError> {
        if let Expiry::Loss(loss) = expiry
            && !loss.is_finite()
        {
            return Err(PendingError::Loss(loss));
        }
        let late: Vec<u64> =
            self.waiting.iter().filter(|(_, w)| w.since < before).map(|(id, _)| *id).collect();
        if late.is_empty() {
            return Ok(Vec::new());
        }
        self.write(Event::Expired { before, expiry })?;
        let mut expired = Vec::new();
        for id in late {
            let Some(Waiting { context, ticket, .. }) = self.waiting.remove(&id) else { continue };
            self.settle(id, Fate::Expired);
            match expiry {
                Expiry::Loss(loss) => {
                    self.counts.defaulted += 1;
                    expired.push(Expired { id, context, ticket, loss });
                }
                Expiry::Drop => self.counts.dropped += 1,
            }
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

    fn settle(&mut self, id: u64, fate: Fate) {
        let first = self.next - self.fates.len() as u64;
        if let Some(place) = id.checked_sub(first).and_then(|at| self.fates.get_mut(at as usize)) {
            *place = fate;
        }
    }

    fn missing(&mut self, id: u64) -> PendingError {
        self.refused += 1;
        if id >= self.next {
            return PendingError::Unknown(id);
        }
        let first = self.next - self.fates.len() as u64;
        match id.checked_sub(first).and_then(|at| self.fates.get(at as usize)) {
            Some(Fate::Rewarded) => PendingError::AlreadyRewarded(id),
            Some(Fate::Expired) => PendingError::Expired(id),
            _ => PendingError::Settled(id),
        }
    }
}

impl<X: Observation, D: Clone + PartialEq> Pending<X, D> {
    /// Takes in a loss: takes the ticket `id`, and has `ensemble` learn. Where the ensemble refuses, the ticket goes on
    /// waiting.
    ///
    /// # Errors
    /// An id that does not wait, a journal that could not be written, or what the ensemble says: an invalid loss, a
    /// ticket of another ensemble.
    pub fn reward<M: Master>(
        &mut self,
        id: u64,
        loss: impl Into<Feedback>,
        ensemble: &mut Ensemble<X, D, M>,
    ) -> Result<Outcome, PendingError> {
        let feedback = loss.into();
        if self.waiting.contains_key(&id) {
            self.write(Event::Rewarded { id, feedback })?;
        }
        let Some(Waiting { since, context, ticket }) = self.waiting.remove(&id) else {
            return Err(self.missing(id));
        };
        match ensemble.learn(&context, ticket, feedback) {
            Ok(outcome) => {
                self.settle(id, Fate::Rewarded);
                self.counts.rewarded += 1;
                Ok(outcome)
            }
            Err(refused) => {
                let Refused { ticket, error } = *refused;
                self.waiting.insert(id, Waiting { since, context, ticket });
                Err(error.into())
            }
        }
    }
}

/// Tickets that wait, with their ids.
fn pairs<X: Serialize, D: Serialize, S: Serializer>(
    waiting: &BTreeMap<u64, Waiting<X, D>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(waiting)
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "X: Deserialize<'de>, D: DeserializeOwned"))]
struct State<X, D> {
    capacity: u64,
    #[serde(deserialize_with = "snapshot::untrusted")]
    waiting: Vec<(u64, Waiting<X, D>)>,
    next: u64,
    fates: VecDeque<Fate>,
    counts: PendingCounts,
}

impl<X: Serialize, D: Serialize> Pending<X, D> {
    /// Everything, as a framed snapshot ([`crate::snapshot`]).
    ///
    /// # Errors
    /// The tickets are those of a band without a [secret](crate::EnsembleParams::secret): they cannot leave the process.
    pub fn save(&self) -> Result<Vec<u8>, TokenError> {
        self.waiting.values().try_for_each(|w| w.ticket.to_bytes().map(drop))?;
        Ok(snapshot::seal(NAME, VERSION, self))
    }
}

impl<X: DeserializeOwned, D: DeserializeOwned> Pending<X, D> {
    /// Reads a snapshot back.
    ///
    /// # Errors
    /// The snapshot is damaged, of something else or of another version, or contradicts itself.
    pub fn load(bytes: &[u8]) -> Result<Self, PendingError> {
        let state: State<X, D> = snapshot::open(NAME, VERSION, bytes)?;
        Ok(Self::try_from(state).map_err(SnapshotError::State)?)
    }
}

impl<X, D> TryFrom<State<X, D>> for Pending<X, D> {
    type Error = String;

    fn try_from(state: State<X, D>) -> Result<Self, String> {
        let capacity = usize::try_from(state.capacity).map_err(|e| e.to_string())?;
        let remembered = (capacity.saturating_mul(MEMORY) as u64).min(state.next);
        if state.fates.len() as u64 != remembered {
            return Err(format!("{} fates are remembered of {} tickets", state.fates.len(), state.next));
        }
        let count = state.waiting.len();
        if count > capacity || !state.waiting.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(format!("{count} tickets wait where {capacity} may, or their ids are out of order"));
        }
        let first = state.next - remembered;
        let mut marked = state.fates.iter().enumerate().filter(|(_, f)| **f == Fate::Waiting);
        let recent = state.waiting.iter().filter(|(id, _)| *id >= first);
        if state.waiting.last().is_some_and(|(id, _)| *id >= state.next)
            || recent.map(|(id, _)| id - first).ne(marked.by_ref().map(|(at, _)| at as u64))
        {
            return Err("the tickets that wait are not those that are marked so".into());
        }
        Ok(Self {
            capacity,
            waiting: state.waiting.into_iter().collect(),
            next: state.next,
            fates: state.fates,
            counts: state.counts,
            refused: 0,
            journal: None,
        })
    }
}

impl<X: PartialEq, D: PartialEq> PartialEq for Pending<X, D> {
    /// Whether the same tickets wait and went the same ways; journals are not compared.
    fn eq(&self, other: &Self) -> bool {
        let parts = |p: &Self| (p.capacity, p.next, p.counts);
        parts(self) == parts(other) && self.waiting == other.waiting && self.fates == other.fates
    }
}

impl<X, D> fmt::Debug for Pending<X, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity, waiting, next, counts, .. } = self;
        write!(f, "Pending {{ capacity: {capacity}, waiting: {}, next: {next}, {counts:?} }}", waiting.len())
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
