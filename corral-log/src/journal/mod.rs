//! A band whose state follows from its log: what happens is written before it is answered, and played again at the start.
//!
//! A [`Journal`] owns a band, the tickets that wait for their outcome, and a [`Store`]: the log of the band, and a snapshot
//! of the state at one of its lines. It starts from the snapshot and the lines after it.
//!
//! - An outcome that the band would refuse is refused before it is written: it leaves no trace.
//! - A line that could not be written whole is cut off again, before anything else is written.
//! - A line is part of a [chain](crate::Chain) under the secret of the band: one that was lost, changed, doubled or moved is
//!   an error at the start, and so is one that the band refuses then.
//!
//! The chance of a decision follows from its id and the secret of the band, so that the decision can be made again.

mod error;
mod folder;
mod replay;
mod state;
mod store;

use corral_core::{
    Arm, Base, Context, Ensemble, Expiry, Master, Outcome as Learned, Pending, PendingError, Point, Ticket,
    TicketId,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Both, Chain, Change, Decision, Expire, Given, Member, Outcome, Played, Record, Writer};
use state::State;

pub use error::JournalError;
pub use folder::Folder;
pub use replay::{Builder, Recovered};
pub use store::Store;

/// A decision that a journal can write.
pub trait Written: corral_core::Decision + Serialize + DeserializeOwned {
    /// As the log writes it.
    fn played(&self) -> Played;
}

impl Written for Arm {
    fn played(&self) -> Played {
        Played::from(self)
    }
}

impl Written for Point {
    fn played(&self) -> Played {
        Played::from(self)
    }
}

/// A band, the tickets that wait for their outcome, and the log of both: see the [module](self).
pub struct Journal<D, M, S> {
    state: State<D, M>,
    store: S,
    chain: Chain,
    /// The bytes of the whole lines.
    length: u64,
    /// Whether something may stand behind them.
    torn: bool,
    /// What was done and could not be written: it is written before anything else.
    owed: Vec<Record>,
}

impl<D: Written, M: Master, S: Store> Journal<D, M, S> {
    /// Chooses for `x` at the time `now` (milliseconds since 1970). The decision is written before it is given out, and waits for
    /// its outcome; whoever is to bring that is given its token.
    ///
    /// # Errors
    /// The band refuses the context, too many decisions wait, or the line could not be written. In that last case the decision
    /// was made and waits; it is written before anything else, and given out to no one.
    pub fn choose(&mut self, x: Context, now: u64) -> Result<Chosen<D>, JournalError> {
        self.settle()?;
        let pbar = self.state.band.probabilities().to_vec();
        let id = self.state.choose(x, now)?;
        let (x, ticket) = self.state.pending.find(id)?;
        let chosen = Chosen {
            id,
            token: ticket.token_with(x)?,
            decision: ticket.decision.clone(),
            propensity: ticket.propensity(),
        };
        self.owed.push(Record::Decision(Decision { at: Some(now), ..written(ticket, &pbar, x)? }));
        self.settle()?;
        Ok(chosen)
    }

    /// Learns what became of a decision: a number in the units of the band's scale. It is on the disk when this returns.
    ///
    /// # Errors
    /// The token is not one of this band, was learned before, or has expired; the number is not one that the scale allows; or it
    /// could not be written. Nothing has changed then, and nothing was written.
    pub fn learn(&mut self, token: &str, value: f64) -> Result<Learned, JournalError> {
        let (x, ticket) = Ticket::<D>::from_token_with::<Context>(token)?;
        self.settle()?;
        let band = &self.state.band;
        band.check(&x, &ticket, value)?;
        let rewards = band.params().scale.is_some_and(|scale| scale.rewards);
        let given = if rewards { Given::reward(value) } else { Given::loss(value) };
        let id = ticket.id();
        let record = match self.state.pending.find(id) {
            Ok(_) => Record::Outcome(Outcome { id, given }),
            // Of another copy of the band, or it waits no longer here: the line holds the decision too.
            Err(PendingError::Unknown(_)) => {
                Record::Both(Both { decision: written(&ticket, &[], &x)?, given })
            }
            Err(settled) => return Err(settled.into()),
        };
        let mut foreign = matches!(record, Record::Both(_)).then_some(ticket);
        let learned = self.commit(&[record], |state, _| match foreign.take() {
            Some(ticket) => state.learn(&x, ticket, value),
            None => Ok(state.pending.reward(id, value, &mut state.band)?),
        });
        learned.map(|mut learned| learned.remove(0))
    }

    /// Ends the wait of every decision that was made before the time `before`; says of how many. Of an expired one no outcome
    /// is taken any more.
    ///
    /// # Errors
    /// The default loss is refused, or could not be written: those before it have expired, and it and the others have not.
    pub fn expire(&mut self, before: u64, expiry: Expiry) -> Result<usize, JournalError> {
        self.settle()?;
        let loss = match expiry {
            Expiry::Loss(loss) => Some(loss),
            Expiry::Drop => None,
        };
        let late: Vec<TicketId> = self.state.pending.late(before).collect();
        if late.is_empty() {
            return Ok(0);
        }
        for id in &late {
            let (x, ticket) = self.state.pending.find(*id)?;
            loss.map_or(Ok(()), |loss| self.state.band.check(x, ticket, loss))?;
        }
        let records: Vec<_> = late.iter().map(|id| Record::Expire(Expire { id: *id, loss })).collect();
        self.commit(&records, |state, at| state.expire(late[at], loss))?;
        Ok(late.len())
    }

    /// Adds a base that is followed with probability `share` at first; says which number it has. `params` is what the [`Builder`]
    /// builds it from at the next start.
    ///
    /// # Errors
    /// The band refuses it, and nothing has changed; or it could not be written: it holds from now on, and is written before
    /// anything else.
    pub fn add(
        &mut self,
        name: &str,
        base: Box<dyn Base<Context, D>>,
        share: f64,
        params: Option<serde_json::Value>,
    ) -> Result<usize, JournalError> {
        let place = self.state.band.len();
        self.change(Change::Add, (place as u32, name.to_owned(), Some(share), params), Some(base))?;
        Ok(place)
    }

    /// Exchanges a base; the new one keeps the probability.
    ///
    /// # Errors
    /// As [`add`](Journal::add).
    pub fn replace(
        &mut self,
        base: usize,
        new: Box<dyn Base<Context, D>>,
        params: Option<serde_json::Value>,
    ) -> Result<(), JournalError> {
        let name = self.state.band.name(base);
        self.change(Change::Replace, (base as u32, name, None, params), Some(new))
    }

    /// Takes a base out.
    ///
    /// # Errors
    /// As [`add`](Journal::add).
    pub fn retire(&mut self, base: usize) -> Result<(), JournalError> {
        self.change(Change::Retire, (base as u32, self.state.band.name(base), None, None), None)
    }

    /// Puts a base back that was benched or retired; it is followed with probability `share` at first.
    ///
    /// # Errors
    /// As [`add`](Journal::add).
    pub fn reinstate(&mut self, base: usize, share: f64) -> Result<(), JournalError> {
        self.change(Change::Reinstate, (base as u32, self.state.band.name(base), Some(share), None), None)
    }

    fn change(
        &mut self,
        change: Change,
        (base, name, share, params): (u32, String, Option<f64>, Option<serde_json::Value>),
        new: Option<Box<dyn Base<Context, D>>>,
    ) -> Result<(), JournalError> {
        self.settle()?;
        let member = Member { change, base, name, share, params };
        self.state.change(member.clone(), new)?;
        self.owed.push(Record::Member(member));
        self.settle()?;
        Ok(self.store.sync()?)
    }

    /// The band.
    pub fn band(&self) -> &Ensemble<Context, D, M> {
        &self.state.band
    }

    /// The decisions that wait for their outcome.
    pub fn pending(&self) -> &Pending<Context, D> {
        &self.state.pending
    }

    /// The bases that came after the band was built, in order.
    pub fn members(&self) -> &[Member] {
        &self.state.members
    }

    /// Writes lines, does what each says, and gives the answers. What the master cannot do after all is cut off again, with the
    /// lines after it.
    fn commit<T>(
        &mut self,
        records: &[Record],
        mut apply: impl FnMut(&mut State<D, M>, usize) -> Result<T, JournalError>,
    ) -> Result<Vec<T>, JournalError> {
        let before = self.append(records)?;
        if let (Err(error), Some(first)) = (self.store.sync(), before.first()) {
            self.cut_to(*first);
            return Err(error.into());
        }
        let done = before.into_iter().enumerate();
        done.map(|(at, place)| apply(&mut self.state, at).inspect_err(|_| self.cut_to(place))).collect()
    }

    /// Cuts off what stands behind the last whole line, and writes what is owed.
    fn settle(&mut self) -> Result<(), JournalError> {
        if self.torn {
            self.store.cut(self.length)?;
            self.torn = false;
        }
        if !self.owed.is_empty() {
            let owed = std::mem::take(&mut self.owed);
            if let Err(error) = self.append(&owed) {
                self.owed = owed;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes lines in one piece; where the log was before each.
    fn append(&mut self, records: &[Record]) -> Result<Vec<(u64, Chain)>, JournalError> {
        let mut writer = Writer::with(Vec::new(), self.chain);
        let mut before = Vec::with_capacity(records.len());
        for record in records {
            before.push((self.length + writer.get_mut().len() as u64, writer.chain()));
            writer.write(record)?;
        }
        let (chain, lines) = (writer.chain(), writer.into_inner());
        if let Err(error) = self.store.append(&lines) {
            self.cut_to((self.length, self.chain));
            return Err(error.into());
        }
        (self.length, self.chain) = (self.length + lines.len() as u64, chain);
        Ok(before)
    }

    /// Goes back to where the log was. Where that cannot be done now, it is done before the next line.
    fn cut_to(&mut self, (length, chain): (u64, Chain)) {
        (self.length, self.chain) = (length, chain);
        self.torn = self.store.cut(length).is_err();
    }
}

/// A decision that was made and written.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen<D> {
    /// What to play.
    pub decision: D,
    /// What its outcome is brought back with: [`Journal::learn`].
    pub token: String,
    /// Which decision it is.
    pub id: TicketId,
    /// The probability with which it was made, where the band was asked for it.
    pub propensity: Option<f64>,
}

fn written<D: Written>(ticket: &Ticket<D>, pbar: &[f64], x: &Context) -> Result<Decision, JournalError> {
    let token = ticket.token()?;
    Ok(Decision { ticket: Some(token), ..Decision::made(ticket, ticket.decision.played(), pbar, x) })
}
