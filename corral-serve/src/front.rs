//! A front end: chooses on its own copy of the band, and takes rewards.
//!
//! `choose` waits for no file. A reward is written to a segment of this front end alone and synced, together with others that
//! wait, before it is acknowledged.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use corral_bases::band::Band;
use corral_core::{Arm, Context, EnsembleError, Metrics, Ticket, TicketId};
use corral_log::{Both, Change, Decided, Given, Member, Offered, Played, Record, Start, Watch};
use rand_pcg::Pcg64Dxsm;
use rand_pcg::rand_core::SeedableRng;

use crate::clock::Clock;
use crate::decisions::Decisions;
use crate::error::ServeError;
use crate::layout::{Layout, digest};
use crate::learner::{FoldLearner, Published, published};
use crate::lock::lock;
use crate::model::{Model, Served};
use crate::outbox::{Done, Outbox, next_segment};
use crate::slip::{DefaultMade, More, Sealer, Slip};
use crate::state::{self, Counts};
use crate::store::Store;
use crate::tickets::Tickets;

/// How a front end works.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontOptions {
    /// After how many milliseconds a reward is no longer taken.
    pub patience: u64,
    /// How many rewards may wait for a sync.
    pub waiting: usize,
    /// How many tickets may be kept for clients that keep an id alone.
    pub tickets: usize,
    /// Whether the log has the probabilities of the bases, so that each can be evaluated from it.
    pub log_bases: bool,
    /// Whether every decision is logged when it is made, and not only with its reward.
    pub log_decisions: bool,
}

impl Default for FrontOptions {
    fn default() -> Self {
        Self {
            patience: 7 * 24 * 3_600_000,
            waiting: 65_536,
            tickets: 100_000,
            log_bases: false,
            log_decisions: false,
        }
    }
}

/// A decision that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen<D> {
    /// What to play.
    pub decision: D,
    /// The probability with which it was made; `None` where a base cannot say its own.
    pub propensity: Option<f64>,
    /// What the reward is brought back with.
    pub token: String,
    /// Which decision it is.
    pub id: TicketId,
    /// After how many folds the band was that made it.
    pub fold: u64,
}

/// What was asked and taken since the start.
#[derive(Debug, Default)]
struct Asked {
    decisions: AtomicU64,
    rewards: AtomicU64,
    refused: AtomicU64,
    groups: AtomicU64,
    refreshes: AtomicU64,
}

/// What a front end has done since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrontCounts {
    /// Decisions that were made.
    pub decisions: u64,
    /// Rewards that were acknowledged.
    pub rewards: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Writes of rewards to the store: each has those of many requests.
    pub groups: u64,
    /// How often a newer state of the band was loaded.
    pub refreshes: u64,
    /// After how many folds the state is that is served.
    pub fold: u64,
    /// Rewards that wait to be written.
    pub waiting: usize,
    /// Decisions that could not be logged, where all of them are to be.
    pub unlogged: u64,
}

struct Desk<D> {
    band: Band<D>,
    fold: u64,
    /// What the learner had counted then.
    counts: Counts,
    /// What it knew of the values of the bases, where they are followed.
    watch: Option<Watch>,
}

/// A band to load the next state into, with the members that it has.
struct Spare<D> {
    band: Band<D>,
    members: String,
}

/// Chooses and takes rewards.
pub struct Front<D> {
    model: Arc<dyn Model<D>>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    layout: Layout,
    options: FrontOptions,
    sealer: Sealer,
    copy: u64,
    desk: Mutex<Desk<D>>,
    spare: Mutex<Option<Spare<D>>>,
    members: Mutex<String>,
    outbox: Outbox,
    tickets: Tickets,
    decisions: Option<Decisions>,
    asked: Asked,
}

/// What the log says of a decision of the band.
fn logged<D: Served>(ticket: &Ticket<D>, x: &Context, more: More) -> Decided {
    Decided { at: Some(more.at), unit: more.unit, full: more.full, ..D::logged(ticket, &more.pbar, x) }
}

/// What the log says of a decision that the band did not make.
fn logged_default(id: TicketId, made: DefaultMade, more: More) -> Decided {
    Decided {
        at: Some(more.at),
        unit: more.unit,
        propensity: Some(1.0),
        forced: true,
        offered: match made.offer {
            offer if offer.is_empty() => Offered::First(made.actions),
            offer => Offered::These(offer),
        },
        ..Decided::new(id, Played::Arm(made.action), made.actions)
    }
}

impl<D: Served> Front<D> {
    /// A front end beside a learner, or one that begins where a learner, opened for it, is: `learner` is looked at and may be
    /// dropped.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn open(
        band: &str,
        model: Arc<dyn Model<D>>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: FrontOptions,
        learner: &FoldLearner<D>,
    ) -> Result<Self, ServeError> {
        let layout = Layout::of(band);
        let now = learner.state()?;
        let known = now.learned.keys().next_back().copied().unwrap_or(0);
        let rewarded = learner.rewarded()?;
        let (copy, segment) = next_segment(&*store, &layout, known)?;
        let mut copied = state::build(&*model, &now.members()?, &now.band)?;
        copied.set_next(copy, 0);
        let params = copied.params();
        let secret = params.secret.ok_or(corral_core::TokenError::NoSecret)?.get();
        let start = Start {
            model: Some(digest(model.describe().as_bytes())),
            bases: (0..copied.len()).map(|base| copied.name(base)).collect(),
            actions: model.actions(),
            scale: params.scale,
            ..Start::new(copied.id())
        };
        let decisions = options.log_decisions.then(|| Decisions::new(layout.clone(), start.clone()));
        let outbox = Outbox::new(layout.clone(), start, rewarded, (copy, segment), options.waiting);
        outbox.learned(&now.learned);
        Ok(Self {
            sealer: Sealer { secret, band: copied.id() },
            desk: Mutex::new(Desk { band: copied, fold: now.fold, counts: now.counts, watch: now.watch }),
            spare: Mutex::new(None),
            members: Mutex::new(now.members),
            asked: Asked::default(),
            tickets: Tickets::new(layout.clone(), options.tickets, options.patience),
            model,
            store,
            clock,
            layout,
            options,
            copy,
            outbox,
            decisions,
        })
    }

    /// Chooses for `x`.
    ///
    /// # Errors
    /// The band refuses the context, or no base is left.
    pub fn choose(&self, x: &Context, unit: Option<String>) -> Result<Chosen<D>, ServeError> {
        let at = self.clock.now();
        let made = self.make(x);
        self.asked.refused.fetch_add(u64::from(made.is_err()), Relaxed);
        let (ticket, pbar, fold) = made?;
        let more = More { at, unit, pbar, full: ticket.whole().to_vec() };
        let token = self.sealer.made(&ticket, x, &more)?;
        self.asked.decisions.fetch_add(1, Relaxed);
        if let Some(decisions) = &self.decisions {
            decisions.put(Decided { fold: Some(fold), ..logged(&ticket, x, more) });
        }
        Ok(Chosen {
            propensity: ticket.propensity(),
            id: ticket.id(),
            decision: ticket.decision.clone(),
            token,
            fold,
        })
    }

    fn make(&self, x: &Context) -> Result<(Ticket<D>, Vec<f64>, u64), ServeError> {
        let mut desk = lock(&self.desk);
        let pbar = if self.options.log_bases { desk.band.probabilities().to_vec() } else { Vec::new() };
        // Its chance follows from its id, so that it can be made again.
        let mut rng = Pcg64Dxsm::seed_from_u64(desk.band.next_id().seed(self.sealer.secret));
        let ticket = desk.band.choose(x, &mut rng)?;
        Ok((ticket, pbar, desk.fold))
    }

    /// Gives the default action, by its number: a decision that the band did not make, to which it is compared.
    ///
    /// # Errors
    /// It is not offered, or the token cannot be written.
    pub fn choose_default(
        &self,
        action: u32,
        x: &Context,
        unit: Option<String>,
    ) -> Result<Chosen<Arm>, ServeError> {
        let missing = || ServeError::Asked(format!("the default action {action} is not offered"));
        let place = Arm(x.place(action as usize).ok_or_else(missing)? as u32);
        let at = self.clock.now();
        let mut desk = lock(&self.desk);
        let id = desk.band.next_id();
        desk.band.set_next(id.copy, id.round + 1);
        let fold = desk.fold;
        drop(desk);
        let offer = x.offer().unwrap_or_default().to_vec();
        let made = DefaultMade {
            band: id.band,
            copy: id.copy,
            round: id.round,
            action,
            actions: x.actions() as u32,
            offer,
        };
        let more = More { at, unit, ..More::default() };
        let token = self.sealer.default(&made, &more)?;
        self.asked.decisions.fetch_add(1, Relaxed);
        if let Some(decisions) = &self.decisions {
            decisions.put(Decided { fold: Some(fold), ..logged_default(id, made, more) });
        }
        Ok(Chosen { decision: place, propensity: Some(1.0), token, id, fold })
    }

    /// Keeps the ticket of a decision, so that its reward can be brought by its id; `done` is called when it lasts.
    pub fn keep(&self, id: TicketId, token: String, done: Done) {
        self.tickets.put(id, token, self.clock.now(), done);
        self.outbox.nudge();
    }

    /// As [`reward`](Front::reward), of a ticket that is kept.
    pub fn reward_kept(&self, id: &str, value: f64, done: Done) {
        let unknown = || ServeError::UnknownId(id.to_owned());
        let found = corral_log::parse_id(id).ok_or_else(unknown).and_then(|ticket| {
            if ticket.band != self.sealer.band {
                return Err(unknown());
            }
            self.outbox.check(ticket)?;
            let now = self.clock.now();
            // What this front end has kept it has here: the store is not asked.
            let found = match ticket.copy == self.copy {
                true => self.tickets.here(ticket, now)?,
                false => self.tickets.find(&*self.store, ticket, now)?,
            };
            found.ok_or_else(unknown)
        });
        match found {
            Ok(token) => self.reward(&token, value, done),
            Err(error) => {
                self.asked.refused.fetch_add(1, Relaxed);
                done(Err(error));
            }
        }
    }

    /// Takes the reward of a decision, in the units of the band's scale. `done` is called once: when it is in the store, or
    /// cannot be taken.
    pub fn reward(&self, token: &str, value: f64, done: Done) {
        match self.accept(token, value) {
            Ok((record, id)) => self.outbox.put(record, Some(id), done),
            Err(error) => {
                self.asked.refused.fetch_add(1, Relaxed);
                done(Err(error));
            }
        }
    }

    /// The line of a reward that can be taken.
    fn accept(&self, token: &str, value: f64) -> Result<(Record, TicketId), ServeError> {
        let slip: Slip<D> = self.sealer.open(token)?;
        let id = slip.id();
        self.outbox.check(id)?;
        if self.clock.now().saturating_sub(slip.more().at) > self.options.patience {
            return Err(ServeError::Late(id));
        }
        let desk = lock(&self.desk);
        let scale = desk.band.params().scale;
        let given =
            if scale.is_some_and(|scale| scale.rewards) { Given::reward(value) } else { Given::loss(value) };
        let decision = match slip {
            Slip::Made { ticket, context, text, more } => {
                match desk.band.check(&context, &ticket, value) {
                    Err(EnsembleError::AlreadyLearned { .. }) => return Err(ServeError::AlreadyRewarded(id)),
                    Err(EnsembleError::Changed { .. } | EnsembleError::Foreign { .. }) => {
                        return Err(ServeError::Forged(id));
                    }
                    // Of a base that joined after the state that is served here: the learner knows it.
                    Err(EnsembleError::Ticket { .. }) => {}
                    checked => checked?,
                }
                drop(desk);
                Decided { ticket: Some(text), ..logged(&ticket, &context, more) }
            }
            Slip::Default { made, more, .. } => {
                drop(desk);
                match scale {
                    Some(scale) => drop(scale.loss(value).map_err(EnsembleError::from)?),
                    None if (0.0..=1.0).contains(&value) => {}
                    None => return Err(EnsembleError::Loss(value).into()),
                }
                logged_default(id, made, more)
            }
        };
        Ok((Record::Both(Both { decision, given }), id))
    }

    /// As [`reward`](Front::reward), and waits for the answer: some thread has to [`commit`](Front::commit) meanwhile.
    ///
    /// # Errors
    /// It cannot be taken, or not written.
    pub fn reward_now(&self, token: &str, value: f64) -> Result<(), ServeError> {
        let (send, answer) = mpsc::channel();
        self.reward(token, value, Box::new(move |result| drop(send.send(result))));
        answer.recv().unwrap_or_else(|_| Err(ServeError::Store("the writer has stopped".into())))
    }

    /// Has a base join, leave or come back, by its name: checked against the state that is served here, and written. The
    /// learner does it in its turn.
    pub fn change(
        &self,
        change: Change,
        name: &str,
        share: Option<f64>,
        params: Option<serde_json::Value>,
        done: Done,
    ) {
        match self.checked(change, name, share, params) {
            Ok(member) => self.outbox.put(Record::Member(member), None, done),
            Err(error) => done(Err(error)),
        }
    }

    fn checked(
        &self,
        change: Change,
        name: &str,
        share: Option<f64>,
        params: Option<serde_json::Value>,
    ) -> Result<Member, ServeError> {
        let (bytes, members) = (lock(&self.desk).band.save(), lock(&self.members).clone());
        let members: Vec<Member> =
            serde_json::from_str(&members).map_err(|e| ServeError::Model(e.to_string()))?;
        let band = state::build(&*self.model, &members, &bytes)?;
        let known = (0..band.len()).find(|base| band.name(*base) == name).filter(|_| change != Change::Add);
        let base = known.unwrap_or(band.len()) as u32;
        let member = Member { change, base, name: name.to_owned(), share, params };
        state::check(&*self.model, &members, &bytes, &member)?;
        Ok(member)
    }

    /// Writes and syncs what waits, in one piece; says whether something was written. One thread calls it.
    pub fn commit(&self) -> bool {
        let now = self.clock.now();
        self.tickets.commit(&*self.store, now);
        let written = self.outbox.commit(&*self.store, now, |id| self.tickets.forget(id));
        if let Some(decisions) = &self.decisions {
            decisions.commit(&*self.store, now, self.outbox.is_closed());
        }
        if let Some(rewards) = written {
            self.asked.groups.fetch_add(1, Relaxed);
            self.asked.rewards.fetch_add(rewards as u64, Relaxed);
        }
        written.is_some()
    }

    /// Serves a newer state from now on. The band is not locked while it is loaded.
    ///
    /// # Errors
    /// It cannot be loaded: the one before is served.
    pub fn refresh(&self, state: &Published) -> Result<(), ServeError> {
        let mut spare = lock(&self.spare);
        let mut next = match spare.take() {
            Some(mut spare) if spare.members == state.members => {
                spare.band.load(&state.band)?;
                spare.band
            }
            _ => state::build(&*self.model, &state.members()?, &state.band)?,
        };
        let mut desk = lock(&self.desk);
        if state.fold > desk.fold {
            next.set_next(self.copy, desk.band.next_id().round);
            std::mem::swap(&mut desk.band, &mut next);
            (desk.fold, desk.counts) = (state.fold, state.counts);
            desk.watch.clone_from(&state.watch);
            drop(desk);
            let members = std::mem::replace(&mut *lock(&self.members), state.members.clone());
            *spare = Some(Spare { band: next, members });
            self.outbox.learned(&state.learned);
            self.asked.refreshes.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    /// Looks in the store for a newer state, and serves it; says whether there was one.
    ///
    /// # Errors
    /// The store cannot be read, or the state cannot be loaded.
    pub fn look(&self) -> Result<bool, ServeError> {
        let fold = lock(&self.desk).fold;
        let found = published(&*self.store, &self.layout, fold)?;
        found.map_or(Ok(false), |state| self.refresh(&state).map(|()| true))
    }

    /// For how many milliseconds a reward has waited that was acknowledged here and is not part of the state that is served;
    /// 0 where there is none.
    pub fn staleness(&self) -> u64 {
        self.outbox.oldest().map_or(0, |at| self.clock.now().saturating_sub(at))
    }

    /// What it has done since its start.
    pub fn counts(&self) -> FrontCounts {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        FrontCounts {
            decisions: count(&self.asked.decisions),
            rewards: count(&self.asked.rewards),
            refused: count(&self.asked.refused),
            groups: count(&self.asked.groups),
            refreshes: count(&self.asked.refreshes),
            fold: lock(&self.desk).fold,
            waiting: self.outbox.len(),
            unlogged: self.decisions.as_ref().map_or(0, Decisions::lost),
        }
    }

    /// What the learner had counted, as far as it is known here.
    pub fn learned(&self) -> Counts {
        lock(&self.desk).counts
    }

    /// What the learner knew of the values of the bases, as far as it is known here, where they are followed.
    pub fn watch(&self) -> Option<Watch> {
        lock(&self.desk).watch.clone()
    }

    /// Waits for something to write, at most so long; says whether more may come.
    pub fn wait(&self, most: std::time::Duration) -> bool {
        self.outbox.wait(most)
    }

    /// Whether something waits to be written.
    pub fn has_work(&self) -> bool {
        self.outbox.len() > 0 || self.tickets.has_work()
    }

    /// Takes no more rewards: those that wait can be written.
    pub fn close(&self) {
        self.outbox.close();
    }

    /// The segment that is written to, and up to which byte.
    pub fn place(&self) -> (u64, u64) {
        self.outbox.place()
    }

    /// How many tickets are kept for clients.
    pub fn kept(&self) -> usize {
        self.tickets.len()
    }

    /// What the band has done, as far as it is known here.
    pub fn metrics(&self) -> Metrics {
        lock(&self.desk).band.metrics()
    }

    /// What the band is and has done, for people.
    pub fn report(&self) -> String {
        lock(&self.desk).band.report()
    }

    /// Which copy of the band this is: the number of its first segment.
    pub fn copy(&self) -> u64 {
        self.copy
    }

    /// Whether the gate lets the band decide.
    pub(crate) fn allows(&self, budget: f64) -> bool {
        crate::gate::allows(&lock(&self.desk).counts, budget)
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn next_id(&self) -> TicketId {
        lock(&self.desk).band.next_id()
    }

    pub(crate) fn secret(&self) -> u64 {
        self.sealer.secret
    }

    /// Whether the learner has learned a segment up to this byte, as far as it is known here.
    pub(crate) fn has_learned(&self, segment: u64, bytes: u64) -> bool {
        self.outbox.has_learned(segment, bytes)
    }
}
