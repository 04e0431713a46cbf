//! A master over bases: choose, and later learn.

mod error;
mod nested;
mod seat;
mod state;

use serde::{Deserialize, Serialize};

use crate::ticket::{Share, Trace};
use crate::{Base, BaseError, Credit, Feedback, Master, MasterError, Proposal, Rerange, Rng, Space, Ticket};

pub use error::EnsembleError;
use seat::Seat;
pub use seat::Tally;

/// How the master credits a loss: base i's loss is estimated by `loss * weight_i`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Crediting {
    /// Algorithm 1: 1/pbar_i for the base that was followed, 0 for the others. Asks one base a round.
    #[default]
    Chosen,
    /// The remark after Algorithm 1: 1/sum of pbar_j over the bases that proposed the same decision, for each of them.
    /// Asks every base.
    SameDecision,
    /// pi_i(theta)/sum_j pbar_j pi_j(theta), with pi_i(theta) the probability with which base i proposes theta: lowest
    /// variance. A base that has no likelihood counts by the decision that it draws.
    Likelihood,
}

/// What the bases learn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feed {
    /// The loss with the weight of the credit rule: inside the theorem.
    #[default]
    Weighted,
    /// The observed loss with weight 1, where the credit rule gives a weight: for stochastic bases.
    Raw,
    /// As `Raw`, and every base that learns from others sees every round, whoever proposed: outside the theorem.
    Everyone,
}

/// How an ensemble is put together; the default is the paper's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EnsembleParams {
    /// How the master credits a loss.
    pub credit: Crediting,
    /// What the bases learn.
    pub feed: Feed,
    /// The number of rounds, told to the bases where the master does not know it.
    pub horizon: Option<u64>,
    /// Tells the tickets of this ensemble from those of others. By default it is derived from the master and the
    /// bases: give ensembles that are built alike different numbers.
    pub id: Option<u64>,
}

/// What became of a loss.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
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

/// A decision whose place in a space can be checked.
pub trait Decision<X: ?Sized> {
    /// Whether `self` may be played at `x`.
    fn lies_in(&self, space: &Space, x: &X) -> bool;
}

impl Decision<crate::Context> for crate::Arm {
    fn lies_in(&self, space: &Space, x: &crate::Context) -> bool {
        space.admits_arm(x, *self)
    }
}

impl Decision<()> for crate::Arm {
    fn lies_in(&self, space: &Space, _x: &()) -> bool {
        matches!(space, Space::Arms(actions) if self.index() < *actions)
    }
}

impl<X: ?Sized> Decision<X> for crate::Point {
    fn lies_in(&self, space: &Space, _x: &X) -> bool {
        space.admits_point(self)
    }
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

    /// Picks the base of the round, has it propose, and traces where the loss will have to go.
    fn serve(&mut self, x: &X, rng: &mut dyn Rng, trace: &mut Trace) -> Result<Proposal<D>, EnsembleError> {
        trace.ensemble = self.id;
        trace.era = self.era;
        trace.round = self.round;
        trace.shares.clear();
        trace.benched.clear();
        self.unfollowed.clear();
        let before = self.benched.len();
        let made = match self.params.credit {
            Crediting::Chosen => self.ask_one(x, rng, trace)?,
            Crediting::SameDecision => self.ask_all(x, rng, trace)?,
            Crediting::Likelihood => loop {
                let made = self.ask_one(x, rng, trace)?;
                if let Some(own) = self.own_likelihood(x, &made, trace) {
                    self.share_by_likelihood(x, rng, &made, own, trace);
                    break made;
                }
                self.recycle(made);
            },
        };
        if self.params.feed == Feed::Everyone {
            self.add_listeners(x, &made, trace);
        }
        trace.epoch = self.seats[trace.base as usize].epoch;
        self.tell_passed(x, trace);
        trace.benched.extend(self.benched[before..].iter().map(|b| b.base as u32));
        self.round += 1;
        Ok(made)
    }

    /// Draws a base and asks it alone, until one answers: i_t ~ pbar_t, weight 1/pbar_{t,i_t}.
    fn ask_one(&mut self, x: &X, rng: &mut dyn Rng, trace: &mut Trace) -> Result<Proposal<D>, EnsembleError> {
        let mut room = self.spare.pop();
        loop {
            let (base, probability) = self.draw(rng)?;
            trace.base = base as u32;
            trace.probability = probability;
            trace.weight = 1.0 / probability;
            match self.ask(base, trace.weight, x, rng, &mut room) {
                Ok(()) => {
                    if let Some(made) = room.take() {
                        return Ok(made);
                    }
                }
                Err(error) => self.bench(base, "propose", &error),
            }
        }
    }

    /// Asks every base, then draws one: the weight is shared by those that proposed the same decision.
    fn ask_all(&mut self, x: &X, rng: &mut dyn Rng, trace: &mut Trace) -> Result<Proposal<D>, EnsembleError> {
        let mut asked = std::mem::take(&mut self.asked);
        asked.resize_with(self.seats.len(), || None);
        for (base, slot) in asked.iter_mut().enumerate() {
            *slot = None;
            if self.seats[base].benched {
                continue;
            }
            let mut room = self.spare.pop();
            match self.ask(base, 1.0 / self.master.probabilities()[base], x, rng, &mut room) {
                Ok(()) => *slot = room,
                Err(error) => self.bench(base, "propose", &error),
            }
        }
        let (chosen, probability) = self.draw(rng)?;
        let Some(made) = asked[chosen].take() else {
            return Err(MasterError::Retired(chosen).into());
        };
        // 1/sum_{j: theta_j = theta} pbar_j, for every base that proposed theta            remark after Algorithm 1
        let same =
            |slot: &Option<Proposal<D>>| slot.as_ref().is_some_and(|other| other.decision == made.decision);
        let others = asked.iter().zip(self.master.probabilities()).filter(|(slot, _)| same(slot));
        let weight = 1.0 / (probability + others.map(|(_, p)| p).sum::<f64>());
        trace.base = chosen as u32;
        trace.probability = probability;
        trace.weight = weight;
        for (base, slot) in asked.iter_mut().enumerate() {
            let Some(other) = slot.take() else { continue };
            if other.decision == made.decision {
                let epoch = self.seats[base].epoch;
                trace.shares.push(Share { base: base as u32, epoch, weight, memo: other.memo });
            } else {
                // Asked, and not followed: fed zero.
                if let Err(error) = self.seats[base].learn(x, &other, Feedback::unseen()) {
                    self.bench(base, "learn", &error);
                }
                self.recycle(other);
            }
        }
        self.asked = asked;
        Ok(made)
    }

    /// The probability with which the chosen base proposes what it did; 1 where it has no likelihood, for given its
    /// draw it proposes that for sure. `None`: it contradicts itself, and is benched.
    fn own_likelihood(&mut self, x: &X, made: &Proposal<D>, trace: &Trace) -> Option<f64> {
        let base = trace.base as usize;
        let error = match self.seats[base].likelihood(x, &made.decision) {
            Ok(None) => return Some(1.0),
            Ok(Some((q, _))) if q > 0.0 => return Some(q),
            Ok(Some(_)) => BaseError::Failed("it proposed a decision to which it gives probability 0".into()),
            Err(error) => error,
        };
        self.bench(base, "likelihood", &error);
        None
    }

    /// Weighs every base by the probability with which it proposes the decision that was made.
    fn share_by_likelihood(
        &mut self,
        x: &X,
        rng: &mut dyn Rng,
        made: &Proposal<D>,
        own: f64,
        trace: &mut Trace,
    ) {
        let chosen = trace.base as usize;
        for base in 0..self.seats.len() {
            if base == chosen || self.seats[base].benched {
                continue;
            }
            let bound = 1.0 / self.master.probabilities()[base];
            let likelihood =
                self.widen(base, bound).and_then(|()| self.seats[base].likelihood(x, &made.decision));
            let found = match likelihood {
                Ok(None) => self.draws_the_same(base, x, rng, made).map(|memo| (1.0, memo)),
                Ok(found) => found,
                Err(error) => {
                    self.bench(base, "likelihood", &error);
                    continue;
                }
            };
            if let Some((weight, memo)) = found.filter(|(q, _)| *q > 0.0) {
                let epoch = self.seats[base].epoch;
                trace.shares.push(Share { base: base as u32, epoch, weight, memo });
            }
        }
        // A base that failed here has no part in the draw: the others have their restricted probabilities.
        let probabilities = self.master.probabilities();
        trace.probability = probabilities[chosen];
        // pi_i(theta)/sum_j pbar_j pi_j(theta)
        let mixture = trace.probability * own
            + trace.shares.iter().map(|s| probabilities[s.base as usize] * s.weight).sum::<f64>();
        trace.weight = own / mixture;
        trace.shares.iter_mut().for_each(|s| s.weight /= mixture);
    }

    /// Has a base without a likelihood draw, before anybody knows who is followed: given its draw it is a base that
    /// proposes that decision for sure. The memo of the draw where it is the decision that was made.
    fn draws_the_same(
        &mut self,
        base: usize,
        x: &X,
        rng: &mut dyn Rng,
        made: &Proposal<D>,
    ) -> Option<crate::Memo> {
        let mut room = self.spare.pop();
        let weight = 1.0 / self.master.probabilities()[base];
        if let Err(error) = self.ask(base, weight, x, rng, &mut room) {
            self.bench(base, "propose", &error);
            return None;
        }
        let mut other = room?;
        if other.decision == made.decision {
            let memo = std::mem::take(&mut other.memo);
            self.recycle(other);
            return Some(memo);
        }
        self.unfollowed.push(base as u32);
        if let Err(error) = self.seats[base].learn(x, &other, Feedback::unseen()) {
            self.bench(base, "learn", &error);
        }
        self.recycle(other);
        None
    }

    /// Adds the bases that learn from others and have no part in the decision: weight 0 to the master.
    fn add_listeners(&mut self, x: &X, made: &Proposal<D>, trace: &mut Trace) {
        for base in 0..self.seats.len() {
            let seat = &self.seats[base];
            if seat.benched || trace.takes_part(base) || !seat.base().learns_from_others() {
                continue;
            }
            match seat.likelihood(x, &made.decision) {
                Ok(found) => {
                    let memo = found.map(|(_, memo)| memo).unwrap_or_default();
                    trace.shares.push(Share { base: base as u32, epoch: seat.epoch, weight: 0.0, memo });
                }
                Err(error) => self.bench(base, "likelihood", &error),
            }
        }
    }

    /// A round went by that these bases did not see. The others were asked, or will learn.
    fn tell_passed(&mut self, x: &X, trace: &Trace) {
        for at in 0..self.heeding.len() {
            let base = self.heeding[at] as usize;
            let seat = &mut self.seats[base];
            if base == trace.base as usize || seat.benched {
                continue;
            }
            // Under the remark's rule every base was asked.
            let asked =
                self.params.credit == Crediting::SameDecision || self.unfollowed.contains(&(base as u32));
            if asked || trace.takes_part(base) {
                continue;
            }
            if let Err(error) = seat.pass(x) {
                self.bench(base, "pass", &error);
            }
        }
    }

    /// i_t ~ pbar_t, with its probability.
    #[inline]
    fn draw(&self, rng: &mut dyn Rng) -> Result<(usize, f64), EnsembleError> {
        if self.benched.len() >= self.seats.len() {
            let last = self.benched.last().map(|b| b.reason.clone()).unwrap_or_default();
            return Err(EnsembleError::NoneLeft { bases: self.seats.len(), last });
        }
        let base = self.master.sample(rng);
        let probability = self.master.probabilities().get(base).copied().unwrap_or(0.0);
        match self.seats.get(base) {
            None => Err(MasterError::Index { base, bases: self.seats.len() }.into()),
            Some(seat) if seat.benched || !(probability > 0.0) => Err(MasterError::Retired(base).into()),
            Some(_) => Ok((base, probability)),
        }
    }

    /// Has a base propose, and checks what it proposes. `bound` is the largest weight that it may be given for it.
    #[inline]
    fn ask(
        &mut self,
        base: usize,
        bound: f64,
        x: &X,
        rng: &mut dyn Rng,
        room: &mut Option<Proposal<D>>,
    ) -> Result<(), BaseError> {
        self.widen(base, bound)?;
        self.seats[base].propose(x, rng, room)?;
        match (&self.space, room) {
            (Some((space, check)), Some(made)) if !check(&made.decision, space, x) => {
                Err(BaseError::Failed("its decision lies outside the space".into()))
            }
            _ => Ok(()),
        }
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

    /// Brings a loss home. `feedback` carries the weight of the ensemble above: 1 at the top, 0 where nothing was seen.
    fn settle(
        &mut self,
        x: &X,
        made: &mut Proposal<D>,
        trace: &mut Trace,
        feedback: Feedback,
    ) -> Result<Outcome, EnsembleError> {
        let (loss, above) = (feedback.observed().unwrap_or(0.0), feedback.weight());
        // Written so that NaN fails.
        if !(0.0..=1.0).contains(&loss) {
            return Err(EnsembleError::Loss(loss));
        }
        if trace.ensemble != self.id {
            return Err(EnsembleError::Foreign { found: trace.ensemble, expected: self.id });
        }
        if !trace.fits(self.seats.len()) {
            return Err(EnsembleError::Ticket { round: trace.round, bases: self.seats.len() });
        }
        let chosen = trace.base as usize;
        self.changes.clear();
        let credited = above > 0.0 && self.credit(loss, above, trace)?;
        let mut outcome = Outcome {
            base: chosen,
            weight: above * trace.weight,
            credited,
            learned: 0,
            reranged: 0,
            benched: trace.benched.iter().map(|b| *b as usize).collect(),
        };
        let before = self.benched.len();
        self.seats[chosen].tally.plays += u64::from(above > 0.0);
        if credited {
            self.seats[chosen].tally.credit(outcome.weight);
            trace.shares.iter().for_each(|s| self.seats[s.base as usize].tally.credit(above * s.weight));
        }
        outcome.learned += usize::from(self.feed(x, chosen, trace.epoch, made, loss, above, trace.weight));
        for share in &mut trace.shares {
            std::mem::swap(&mut made.memo, &mut share.memo);
            let learned = self.feed(x, share.base as usize, share.epoch, made, loss, above, share.weight);
            outcome.learned += usize::from(learned);
            std::mem::swap(&mut made.memo, &mut share.memo);
        }
        if !self.changes.is_empty() {
            outcome.reranged = self.deliver_ranges();
        }
        if self.benched.len() > before {
            outcome.benched.extend(self.benched[before..].iter().map(|b| b.base));
        }
        Ok(outcome)
    }

    /// Has the master step. `false`: nothing of this loss concerns it any more.
    fn credit(&mut self, loss: f64, above: f64, trace: &Trace) -> Result<bool, EnsembleError> {
        let chosen = trace.base as usize;
        let sole = trace.shares.iter().all(|s| s.weight == 0.0);
        let changes = if sole {
            let weight = above * trace.weight;
            if self.seats[chosen].benched {
                return Ok(false);
            }
            self.master.update(loss, Credit::Chosen { base: chosen, weight })
        } else {
            self.weights.fill(0.0);
            self.weights[chosen] = above * trace.weight;
            for share in &trace.shares {
                self.weights[share.base as usize] = above * share.weight;
            }
            let mut any = false;
            for (base, seat) in self.seats.iter().enumerate() {
                if seat.benched {
                    self.weights[base] = 0.0;
                }
                any |= self.weights[base] > 0.0;
            }
            if !any {
                return Ok(false);
            }
            self.master.update(loss, Credit::Shared(&self.weights))
        };
        match changes {
            Ok(changes) => {
                self.changes.extend_from_slice(changes);
                Ok(true)
            }
            // A weight of before the master started over, beyond the ranges that it has now.
            Err(MasterError::Weight { .. }) if trace.era != self.era => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells one base, if it is still the instance that was asked. Whether it learned.
    #[allow(clippy::too_many_arguments)]
    fn feed(
        &mut self,
        x: &X,
        base: usize,
        epoch: u64,
        made: &Proposal<D>,
        loss: f64,
        above: f64,
        weight: f64,
    ) -> bool {
        let seat = &mut self.seats[base];
        if seat.benched {
            return false;
        }
        if seat.epoch != epoch {
            return false;
        }
        let feedback = match self.params.feed {
            _ if !(above > 0.0) => Feedback::unseen(),
            // f' = loss * weight: the weight travels beside the loss                      line "send f_t/pbar to base"
            Feed::Weighted => Feedback::new(loss, above * weight),
            Feed::Raw | Feed::Everyone => Feedback::plain(loss),
        };
        match seat.learn(x, made, feedback) {
            Ok(()) => true,
            Err(error) => {
                self.bench(base, "learn", &error);
                false
            }
        }
    }

    /// Tells the bases whose range changed.
    fn deliver_ranges(&mut self) -> usize {
        let changes = std::mem::take(&mut self.changes);
        let mut told = 0;
        let remaining = self.remaining();
        // A range that shrinks: the master has started over.
        let restarted = changes.iter().any(|c| self.seats.get(c.base).is_some_and(|s| c.range < s.range));
        self.era += u64::from(restarted);
        for change in &changes {
            let Some(seat) = self.seats.get_mut(change.base) else { continue };
            seat.range = change.range;
            if seat.benched || self.params.feed != Feed::Weighted {
                continue;
            }
            match seat.rerange(change.range, change.remaining.or(remaining)) {
                Ok(()) => told += 1,
                Err(error) => self.bench(change.base, "rerange", &error),
            }
        }
        self.changes = changes;
        self.changes.clear();
        told
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
        let own = || self.remaining.map(|r| r.saturating_sub(self.round - self.since).max(1));
        self.master.remaining().or_else(own)
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
