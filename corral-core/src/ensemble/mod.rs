//! A master over bases: choose, and later learn.

mod bench;
mod choose;
mod distribution;
mod error;
mod guard;
mod learn;
mod learned;
mod members;
mod metrics;
mod nested;
mod ranges;
mod rules;
mod seat;
mod state;
mod whole;
mod world;

use std::num::NonZeroU64;

use crate::feature_range::Features;
use crate::masters::{LARGEST_WEIGHT, MasterSetup, Practical, PracticalParams};
use crate::ticket::{Share, Trace};
use crate::{
    Abilities, Base, BaseError, Benched, Commons, Decision, Feedback, Master, MasterError, Observation,
    Order, Proposal, Rng, Scale, Setup, Ticket, TicketId, require,
};

pub use error::{EnsembleError, Refused};
pub use metrics::{BaseMetrics, Metrics};
pub use rules::{Crediting, EnsembleParams, Feed, Propensities};
use seat::Seat;
pub use seat::Tally;

use guard::Guard;
use state::Standing;
use world::BuiltFor;

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
    /// How many bases were given an order by the master.
    pub ordered: usize,
    /// The bases that failed and were benched, at the choice or now.
    pub benched: Vec<usize>,
}

/// Less than this is no probability: nothing can be divided by it that a master takes as a weight.
const LEAST: f64 = 1.0 / LARGEST_WEIGHT;

/// Proposals kept for their memory: more than this many tickets that are learned at once are dropped.
const SPARE: usize = 64;

/// A master over bases: [`choose`](Ensemble::choose) a decision, and [`learn`](Ensemble::learn) its loss when it is
/// known. An ensemble is itself a [`Base`], so ensembles nest.
///
/// Under [`Crediting::Chosen`] one round asks one base and allocates nothing.
///
/// ```
/// use corral_core::{Context, Corral, CorralParams, Ensemble, EnsembleError, Feedback, Horizon, Setup};
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
/// let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![Box::new(Always(0)), Box::new(Always(1))];   // yours
/// let master = Corral::new(CorralParams::new(2, Horizon::Known(1_000)))?;
/// let mut band = Ensemble::new(master, bases)?.with_setup(&Setup::arms(2, Some(1_000))).with_names(["left", "right"]);
///
/// let (x, mut rng) = (Context::plain(2), rand_pcg::Pcg64Dxsm::seed_from_u64(1));
/// let (first, second) = (band.choose(&x, &mut rng)?, band.choose(&x, &mut rng)?);
/// band.learn(&x, second, 0.25)?;                                  // losses come in any order
/// let refused = band.learn(&x, first, 7.0).unwrap_err();          // what the caller did wrong changes nothing,
/// assert_eq!(refused.error, EnsembleError::Loss(7.0));
/// let outcome = band.learn(&x, refused.ticket, Feedback::unseen())?;   // and the ticket comes back
/// assert!(!outcome.credited && band.benched().is_empty());
///
/// let snapshot = band.save();                                     // continues bit for bit
/// assert!(band.load(&snapshot).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ensemble<X: ?Sized, D, M> {
    id: u64,
    master: M,
    seats: Vec<Seat<X, D>>,
    params: EnsembleParams,
    world: Option<BuiltFor<X, D>>,
    now: Standing,
    /// Losses that were refused: no part of a snapshot, for what is refused changes nothing.
    refused: u64,
    /// Whether the master has to know what decisions cost.
    needs_cost: bool,
    /// Whether it or a base learns from costs.
    takes_cost: bool,
    /// The bases that need to see every round.
    wanting_passes: Vec<u32>,
    /// Whether a band among the bases learns its part of draws that others made.
    parted: bool,
    // Buffers that are used again.
    spare: Vec<Proposal<D>>,
    spare_shares: Vec<Vec<Share>>,
    asked: Vec<Option<Proposal<D>>>,
    unfollowed: Vec<u32>,
    /// What each base's own probability of the decision is, and what part of the draw is its own.
    laws: Vec<f64>,
    parts: Vec<f64>,
    trace: Trace,
    orders: Vec<(usize, Order)>,
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
        mut master: M,
        bases: Vec<Box<dyn Base<X, D>>>,
        params: EnsembleParams,
    ) -> Result<Self, EnsembleError> {
        if bases.is_empty() {
            return Err(EnsembleError::Empty);
        }
        params.scale.map(Scale::check).transpose()?;
        let numbered = params.secret.is_none() || params.copy.is_some();
        require(numbered, "copy", "unset", "given to a band with a secret: a random number, say")?;
        let count = master.probabilities().len();
        if count != bases.len() {
            return Err(EnsembleError::Bases { master: count, bases: bases.len() });
        }
        let needs_cost = master.extra().is_some_and(|extra| extra.needs_cost());
        let mut ensemble = Self {
            id: 0,
            master,
            needs_cost,
            takes_cost: needs_cost,
            // How it was built and no more decides its id.
            params: EnsembleParams { secret: None, ..params },
            world: None,
            now: Standing { range: 1.0, remaining: params.horizon, ..Standing::default() },
            refused: 0,
            wanting_passes: Vec::with_capacity(count),
            spare: Vec::with_capacity(SPARE),
            spare_shares: Vec::with_capacity(SPARE),
            asked: Vec::new(),
            unfollowed: Vec::new(),
            parted: false,
            laws: Vec::new(),
            parts: Vec::new(),
            trace: Trace::default(),
            orders: Vec::with_capacity(count.min(64)),
            weights: vec![0.0; count],
            seats: bases.into_iter().map(Seat::new).collect(),
        };
        ensemble.introduce()?;
        ensemble.survey();
        for base in 0..count {
            ensemble.first_range(base, false).map_err(|why| EnsembleError::Base { base, why })?;
        }
        ensemble.survey();
        // To be told the first range is no restart.
        ensemble.seats.iter_mut().for_each(|seat| seat.tally.restarts = 0);
        ensemble.id = params.id.unwrap_or_else(|| ensemble.fingerprint());
        ensemble.params.secret = params.secret;
        Ok(ensemble)
    }

    /// Introduces bases that learn alike to each other: what is the same in them may be kept once.
    fn introduce(&mut self) -> Result<(), EnsembleError> {
        if self.params.feed != Feed::Everyone {
            return Ok(());
        }
        let mut commons = Commons::default();
        let mut seats = self.seats.iter_mut().enumerate();
        seats.try_for_each(|(base, seat)| {
            seat.share(&mut commons).map_err(|why| EnsembleError::Base { base, why })
        })
    }

    /// Says what the ensemble is built for. Every context is then checked before any base sees it, and every decision of a
    /// base against the space: a base that proposes one outside it is benched.
    #[must_use]
    pub fn with_setup(mut self, setup: &Setup) -> Self
    where
        X: Observation,
        D: Decision,
    {
        let world = BuiltFor::new(setup);
        // A range that cannot be used is refused with every context.
        self.now.features = Features::new(&setup.range, &setup.context).unwrap_or_default();
        let guarded = self.params.guard && self.params.credit == Crediting::Likelihood;
        self.now.guard = world.plain_arms().filter(|_| guarded).map(Guard::new);
        self.world = Some(world);
        self
    }

    /// Gives the bases names, in order: reports, benches and metrics use them.
    #[must_use]
    pub fn with_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        for (seat, name) in self.seats.iter_mut().zip(names) {
            seat.name = name.into();
        }
        self
    }

    /// Chooses a decision for `x`: draws a base from the master, and asks it.
    ///
    /// A base that fails is benched, and another stands in with the probability that it is then drawn with.
    ///
    /// # Errors
    /// A context that the ensemble was not built for: nothing changed, and no base is benched. No base is left.
    pub fn choose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Ticket<D>, EnsembleError>
    where
        X: Observation,
    {
        if let Some(world) = &self.world {
            world.check(x)?;
        }
        if x.offer().is_some()
            && let Some(base) = self.rigid()
        {
            return Err(EnsembleError::Context(BaseError::LeftOut { base: self.name(base) }));
        }
        let shares = self.spare_shares.pop().unwrap_or_default();
        let mut trace = Trace { digest: x.digest(self.key()), shares, ..Trace::default() };
        let clipped = self.clipped(x)?;
        let seen = clipped.as_deref().unwrap_or(x);
        // Before anything is asked: asking may change a base.
        let whole =
            if self.params.propensities == Propensities::Full { self.whole(seen) } else { Vec::new() };
        let made = self.serve(seen, rng, &mut trace, true)?;
        trace.whole = whole;
        if self.needs_cost {
            let action = self.action(seen, &made.decision);
            if let Some(extra) = self.master.extra() {
                extra.chose(action);
            }
        }
        Ok(Ticket::new(made, trace, self.params.secret))
    }

    /// Learns what became of a decision that was chosen for `x`, now or long ago: a plain loss, a [`Feedback`] with a weight
    /// of its own, or [`Feedback::unseen`], [with what it cost](Feedback::with_cost) where the band has a budget; in the units of the [scale](EnsembleParams::scale), where there is one. A ticket is learned once: one of the last 16,384 rounds that comes a second
    /// time is refused.
    ///
    /// # Errors
    /// A loss outside [0, 1] or its scale, a ticket of another ensemble, one that was changed, one that was learned before,
    /// another context than the ticket was made for, a step that the master could not solve: nothing changed, and the ticket
    /// is given back.
    pub fn learn(
        &mut self,
        x: &X,
        mut ticket: Ticket<D>,
        feedback: impl Into<Feedback>,
    ) -> Result<Outcome, Box<Refused<D>>>
    where
        X: Observation,
    {
        match self.learn_from(x, &mut ticket, feedback.into()) {
            Ok(outcome) => {
                let (made, mut shares) = ticket.into_buffers();
                self.recycle(made);
                if shares.capacity() > 0 && self.spare_shares.len() < SPARE {
                    shares.clear();
                    self.spare_shares.push(shares);
                }
                Ok(outcome)
            }
            Err(error) => {
                self.refused += 1;
                Err(Box::new(Refused { ticket, error }))
            }
        }
    }

    fn learn_from(
        &mut self,
        x: &X,
        ticket: &mut Ticket<D>,
        feedback: Feedback,
    ) -> Result<Outcome, EnsembleError>
    where
        X: Observation,
    {
        let raw = feedback;
        let (feedback, clipped) = self.unseal(x, ticket, feedback)?;
        let TicketId { copy, round, .. } = ticket.id();
        let (made, trace) = ticket.parts();
        let within = self.clipped(x)?;
        let outcome = self.settle(within.as_deref().unwrap_or(x), made, trace, feedback)?;
        if let Some(loss) = feedback.observed() {
            self.now.losses.add(loss);
        }
        if let Some(scale) = self.params.scale {
            self.now.values = scale.see(self.now.values, raw);
        }
        if let Some(features) = &mut self.now.features {
            features.note(x.numbers());
        }
        self.now.clipped += u64::from(clipped);
        self.now.learned.add(copy, round);
        if copy == self.copy() {
            // Made after the snapshot that this ensemble continues from: its id is not given out again.
            self.now.round = self.now.round.max(round.saturating_add(1));
        } else {
            // Another copy played it: a guard that counts its own rounds alone would look at arms that were looked at.
            let (made, trace) = ticket.parts();
            self.count_in_guard(x, &made.decision, trace.played_with());
        }
        Ok(outcome)
    }

    /// Whether [`learn`](Ensemble::learn) would take this: all that it looks at before anything changes, but for a step that
    /// the master cannot solve.
    ///
    /// # Errors
    /// As [`learn`](Ensemble::learn).
    pub fn check(&self, x: &X, ticket: &Ticket<D>, feedback: impl Into<Feedback>) -> Result<(), EnsembleError>
    where
        X: Observation,
    {
        let (feedback, _) = self.unseal(x, ticket, feedback.into())?;
        let within = self.clipped(x)?;
        self.admit(within.as_deref().unwrap_or(x), &ticket.decision, ticket.trace(), feedback)
    }

    /// A copy of `x` with its features in their ranges; `None` where they are, which allocates nothing.
    fn clipped(&self, x: &X) -> Result<Option<Box<X>>, EnsembleError>
    where
        X: Observation,
    {
        let (Some(features), Some(world)) = (&self.now.features, &self.world) else { return Ok(None) };
        world.check(x)?;
        if features.contain(x.numbers()).map_err(EnsembleError::Context)? {
            return Ok(None);
        }
        Ok(x.changed(&|numbers| features.clip(numbers)))
    }

    /// Whether a ticket is this ensemble's, not learned, and of this context; then the loss in [0, 1], and whether it was
    /// clipped.
    fn unseal(&self, x: &X, ticket: &Ticket<D>, feedback: Feedback) -> Result<(Feedback, bool), EnsembleError>
    where
        X: Observation,
    {
        let TicketId { band, copy, round } = ticket.id();
        if band != self.id {
            return Err(EnsembleError::Foreign { found: band, expected: self.id });
        }
        if !ticket.is_genuine(self.params.secret) {
            return Err(EnsembleError::Changed { round });
        }
        if self.now.learned.has(copy, round) {
            return Err(EnsembleError::AlreadyLearned { round });
        }
        if ticket.trace().digest != x.digest(self.key()) {
            return Err(EnsembleError::OtherContext { round });
        }
        if let Some(cost) = feedback.cost().filter(|_| !self.takes_cost) {
            return Err(EnsembleError::NoBudget(cost));
        }
        let Some(scale) = self.params.scale else { return Ok((feedback, false)) };
        Ok(scale.within(scale.see(self.now.values, feedback)).feedback(feedback)?)
    }

    /// How values become losses now: with the range that was learned, where one is.
    pub fn scale(&self) -> Option<Scale> {
        self.params.scale.map(|scale| scale.within(self.now.values))
    }

    /// What contexts are digested with.
    fn key(&self) -> u64 {
        self.params.secret.map_or(0, NonZeroU64::get)
    }

    fn copy(&self) -> u64 {
        self.params.copy.unwrap_or(0)
    }

    /// Makes this another copy of the band: tickets that are made from now on are its own. For a process that was forked from
    /// another; with the number that a band had before it was saved, one goes on to the last bit of every id.
    pub fn set_copy(&mut self, copy: u64) {
        self.params.copy = Some(copy);
    }

    /// Goes on with this id: [`choose`](Ensemble::choose) makes it next. For a front end that loads what another process
    /// learned and hands out ids of its own: none of them may be given out twice.
    pub fn set_next(&mut self, copy: u64, round: u64) {
        self.set_copy(copy);
        self.now.round = round;
    }

    /// The id of the ticket that [`choose`](Ensemble::choose) makes next: a generator may be seeded by it.
    pub fn next_id(&self) -> TicketId {
        TicketId { band: self.id, copy: self.copy(), round: self.now.round }
    }

    /// Whether the loss of this ticket is remembered as learned: see [`learn`](Ensemble::learn).
    pub fn has_learned(&self, id: TicketId) -> bool {
        id.band == self.id && self.now.learned.has(id.copy, id.round)
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
        &self.now.benched
    }

    /// The name of a base; its number where it was given none.
    pub fn name(&self, base: usize) -> String {
        match self.seats.get(base) {
            Some(seat) if !seat.name.is_empty() => seat.name.clone(),
            _ => base.to_string(),
        }
    }

    /// The name of the base because of which a ticket has no [propensity](Ticket::propensity): it cannot say its own.
    pub fn without_likelihood(&self, ticket: &Ticket<D>) -> Option<String> {
        ticket.without_likelihood().map(|base| self.name(base))
    }

    /// The rounds that were played: those that were chosen here, or learned here, where these are more (a learner that is
    /// fed the tickets of other copies).
    pub fn rounds(&self) -> u64 {
        self.now.round.max(self.now.home)
    }

    /// How the ensemble is put together.
    pub fn params(&self) -> &EnsembleParams {
        &self.params
    }

    /// What tells the tickets of this ensemble from those of others.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Notes whether a base listens to others, and whether it learns with weights.
    fn note_ways(&mut self, base: usize) -> Abilities {
        let seat = &mut self.seats[base];
        let abilities = seat.base().abilities();
        seat.listens = abilities.learns_from_others;
        seat.wants_memo = abilities.wants_memo;
        seat.takes_offers = abilities.takes_offers;
        let others = self.params.credit != Crediting::Chosen && !seat.listens;
        seat.weighted = self.params.feed == Feed::Weighted || others;
        // Under feed `raw` and credit `chosen` a band learns of its own draws alone.
        let heard = self.params.credit != Crediting::Chosen || self.params.feed == Feed::Everyone;
        seat.parted = !seat.weighted && seat.listens && heard && seat.is_band();
        abilities
    }

    /// Notes what the bases can do: who wants to hear of rounds without it, who listens to others, who learns with weights.
    fn survey(&mut self) {
        self.wanting_passes.clear();
        for base in 0..self.seats.len() {
            if self.note_ways(base).wants_passes {
                self.wanting_passes.push(base as u32);
            }
        }
        self.parted = self.seats.iter().any(|seat| seat.parted);
        self.takes_cost = self.needs_cost || self.seats.iter_mut().any(Seat::takes_cost);
    }

    /// The first base that cannot take a round that leaves actions out.
    fn rigid(&self) -> Option<usize> {
        self.seats.iter().position(|seat| !(seat.benched || seat.takes_offers))
    }

    fn recycle(&mut self, made: Proposal<D>) {
        if self.spare.len() < SPARE {
            self.spare.push(made);
        }
    }
}

impl<X: ?Sized, D: Decision> Ensemble<X, D, Practical> {
    /// The practical preset, in one line: no horizon, no tuning. What it chose is in its [`report`](Ensemble::report). Say what
    /// it is built for by [`with_setup`](Ensemble::with_setup), and give bases names by [`with_names`](Ensemble::with_names).
    ///
    /// # Errors
    /// No bases, or one that refuses its range.
    pub fn practical(bases: Vec<Box<dyn Base<X, D>>>) -> Result<Self, EnsembleError> {
        Self::practical_with(bases, PracticalParams::default(), EnsembleParams::practical(D::KIND))
    }

    /// As [`practical`](Ensemble::practical), with choices of one's own: begin with [`EnsembleParams::practical`].
    ///
    /// # Errors
    /// As [`practical`](Ensemble::practical), or a parameter that cannot be used.
    pub fn practical_with(
        bases: Vec<Box<dyn Base<X, D>>>,
        master: PracticalParams,
        params: EnsembleParams,
    ) -> Result<Self, EnsembleError> {
        if bases.is_empty() {
            return Err(EnsembleError::Empty);
        }
        let setup = MasterSetup::new(bases.len(), None).with_losses(params.losses);
        let master = Practical::new(master, &setup).map_err(MasterError::from)?;
        Self::with_params(master, bases, params)
    }
}
