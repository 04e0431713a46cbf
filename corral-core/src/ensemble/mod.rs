//! A master over bases: choose, and later learn.

mod admit;
mod choose;
mod error;
mod learn;
mod nested;
mod rules;
mod seat;
mod state;

use serde::{Deserialize, Serialize};

use crate::ticket::Trace;
use crate::{Base, BaseError, Commons, Feedback, Master, Proposal, Rerange, Rng, Space, Ticket};

pub use admit::Decision;
pub use error::EnsembleError;
pub use rules::{Crediting, EnsembleParams, Feed};
use seat::Seat;
pub use seat::Tally;

/// What became of a loss.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The base that was followed.
    pub base: usize,
    /// Its importance weight.
    pub weight: f64,
    /// Whether the master learned. It did not when the base was benched meanwhile, or when the master itself started
    /// over and the weight is beyond its new ranges.
    pub credited: bool,
    /// How many bases learned. A base that was restarted or benched since the choice did not.
    pub learned: usize,
    /// How many bases were told a new range.
    pub reranged: usize,
    /// The bases that failed and were benched, at the choice or now.
    pub benched: Vec<usize>,
}

/// A base that failed and plays no more, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Benched {
    /// The base.
    pub base: usize,
    /// The round in which it failed.
    pub round: u64,
    /// What it was asked to do.
    pub during: String,
    /// What went wrong.
    pub reason: String,
}

type Check<X, D> = fn(&D, &Space, &X) -> bool;

/// Proposals kept for their room: more than this many tickets coming home at once are let go.
const SPARE: usize = 64;

/// A master over bases: [`choose`](Ensemble::choose) a decision, and [`learn`](Ensemble::learn) its loss when it is
/// known. An ensemble is itself a [`Base`], so ensembles nest.
///
/// Under [`Crediting::Chosen`] one round asks one base and allocates nothing.
pub struct Ensemble<X: ?Sized, D, M> {
    id: u64,
    master: M,
    seats: Vec<Seat<X, D>>,
    params: EnsembleParams,
    space: Option<(Space, Check<X, D>)>,
    /// The range of the weights that reach this ensemble from above; 1 at the top.
    range: f64,
    remaining: Option<u64>,
    /// The round in which `remaining` was told.
    since: u64,
    round: u64,
    /// How often the master started over.
    era: u64,
    benched: Vec<Benched>,
    /// The bases for which a round without them is something.
    heeding: Vec<u32>,
    // Room that is used again.
    spare: Vec<Proposal<D>>,
    asked: Vec<Option<Proposal<D>>>,
    unfollowed: Vec<u32>,
    trace: Trace,
    changes: Vec<Rerange>,
    weights: Vec<f64>,
}

impl<X: ?Sized, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// The paper's ensemble: `master` over `bases`, each told its first range.
    ///
    /// # Errors
    /// No bases, or not as many as the master is over; a base that refuses its range.
    pub fn new(master: M, bases: Vec<Box<dyn Base<X, D>>>) -> Result<Self, EnsembleError> {
        Self::with_params(master, bases, EnsembleParams::default())
    }

    /// As [`new`](Ensemble::new), with another credit rule, feed, horizon or id.
    ///
    /// # Errors
    /// As [`new`](Ensemble::new).
    pub fn with_params(
        master: M,
        bases: Vec<Box<dyn Base<X, D>>>,
        params: EnsembleParams,
    ) -> Result<Self, EnsembleError> {
        if bases.is_empty() {
            return Err(EnsembleError::Empty);
        }
        let count = master.probabilities().len();
        if count != bases.len() {
            return Err(EnsembleError::Bases { master: count, bases: bases.len() });
        }
        let mut ensemble = Self {
            id: 0,
            master,
            params,
            space: None,
            range: 1.0,
            remaining: params.horizon,
            since: 0,
            round: 0,
            era: 0,
            benched: Vec::new(),
            heeding: Vec::with_capacity(count),
            spare: Vec::with_capacity(SPARE),
            asked: Vec::new(),
            unfollowed: Vec::new(),
            trace: Trace::default(),
            changes: Vec::with_capacity(count),
            weights: vec![0.0; count],
            seats: bases.into_iter().map(Seat::new).collect(),
        };
        if params.feed == Feed::Everyone {
            let mut commons = Commons::default();
            for (base, seat) in ensemble.seats.iter_mut().enumerate() {
                seat.share(&mut commons).map_err(|source| EnsembleError::Base { base, source })?;
            }
        }
        for base in 0..count {
            ensemble.first_range(base).map_err(|source| EnsembleError::Base { base, source })?;
        }
        ensemble.survey();
        ensemble.id = params.id.unwrap_or_else(|| ensemble.fingerprint());
        Ok(ensemble)
    }

    /// Checks every decision against `space`; a base that proposes one outside it is benched.
    #[must_use]
    pub fn with_space(mut self, space: Space) -> Self
    where
        D: Decision<X>,
    {
        self.space = Some((space, D::lies_in));
        self
    }

    /// Chooses a decision for `x`: draws a base from the master, and asks it.
    ///
    /// A base that fails is benched, and another stands in with the probability that it is then drawn with.
    ///
    /// # Errors
    /// No base is left.
    pub fn choose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Ticket<D>, EnsembleError> {
        let mut trace = Trace::default();
        let made = self.serve(x, rng, &mut trace)?;
        Ok(Ticket::new(made, trace))
    }

    /// Learns the loss of a decision that was chosen for `x`, now or long ago.
    ///
    /// # Errors
    /// A loss outside [0, 1], a ticket of another ensemble, a step that the master could not solve: nothing changed.
    pub fn learn(&mut self, x: &X, ticket: Ticket<D>, loss: f64) -> Result<Outcome, EnsembleError> {
        let mut made = Proposal { decision: ticket.decision, memo: ticket.memo };
        let mut trace = ticket.trace;
        let outcome = self.settle(x, &mut made, &mut trace, Feedback::plain(loss))?;
        self.recycle(made);
        Ok(outcome)
    }

    /// The distribution pbar_t over the bases.
    pub fn probabilities(&self) -> &[f64] {
        self.master.probabilities()
    }

    /// The master.
    pub fn master(&self) -> &M {
        &self.master
    }

    /// How many bases there are, the benched ones included.
    pub fn len(&self) -> usize {
        self.seats.len()
    }

    /// Never: an ensemble has at least one base.
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// One of the bases.
    pub fn base(&self, base: usize) -> Option<&dyn Base<X, D>> {
        self.seats.get(base).map(Seat::base)
    }

    /// What each base did and was told.
    pub fn tallies(&self) -> impl ExactSizeIterator<Item = &Tally> + '_ {
        self.seats.iter().map(|s| &s.tally)
    }

    /// The bases that failed, in the order in which they did, and why.
    pub fn benched(&self) -> &[Benched] {
        &self.benched
    }

    /// The rounds that were chosen so far.
    pub fn rounds(&self) -> u64 {
        self.round
    }

    /// How the ensemble is put together.
    pub fn params(&self) -> &EnsembleParams {
        &self.params
    }

    /// What tells the tickets of this ensemble from those of others.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Doubles the range of a base whose weights, up to `bound`, would exceed it. Only masters that know no ranges
    /// leave this to be done; theirs are kept as Algorithm 1 keeps its own: rho <- 2/pbar.
    #[inline]
    fn widen(&mut self, base: usize, bound: f64) -> Result<(), BaseError> {
        if self.params.feed != Feed::Weighted || self.range * bound <= self.seats[base].range * (1.0 + 1e-9) {
            return Ok(());
        }
        let remaining = self.remaining();
        let seat = &mut self.seats[base];
        seat.range = 2.0 * self.range * bound;
        seat.rerange(seat.range, remaining)
    }

    /// The first range of a base: the master's under the weighted feed, 1 under the others, which carry no weights.
    fn first_range(&mut self, base: usize) -> Result<(), BaseError> {
        let (bases, remaining) = (self.seats.len() as f64, self.remaining());
        let known = self.master.range(base);
        let seat = &mut self.seats[base];
        // rho_1 = 2M, and ranges multiply                                                  Algorithm 1, line 1
        seat.range = if known.is_finite() { known } else { 2.0 * bases * self.range };
        let range = if self.params.feed == Feed::Weighted { seat.range } else { 1.0 };
        seat.rerange(range, remaining)
    }

    /// The rounds that are left, where anybody knows: at least 1, for something is still to come.
    fn remaining(&self) -> Option<u64> {
        let own = || self.remaining.map(|r| r.saturating_sub(self.round - self.since));
        self.master.remaining().or_else(own).map(|rounds| rounds.max(1))
    }

    /// Takes a base out for good.
    #[cold]
    fn bench(&mut self, base: usize, during: &str, error: &BaseError) {
        if std::mem::replace(&mut self.seats[base].benched, true) {
            return;
        }
        self.benched.push(Benched {
            base,
            round: self.round,
            during: during.to_owned(),
            reason: error.to_string(),
        });
        if self.benched.len() < self.seats.len() {
            // A master that cannot retire a base is found out when it draws it again.
            let _ = self.master.retire(base);
        }
    }

    /// Notes which bases want to hear of rounds without them.
    fn survey(&mut self) {
        self.heeding.clear();
        let heeding = self.seats.iter().enumerate().filter(|(_, s)| s.base().heeds_passes());
        self.heeding.extend(heeding.map(|(base, _)| base as u32));
    }

    fn recycle(&mut self, made: Proposal<D>) {
        if self.spare.len() < SPARE {
            self.spare.push(made);
        }
    }
}
