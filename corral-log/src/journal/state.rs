//! What a log is played into: the same when it happens and when it is played again.

use corral_core::{Base, Context, Ensemble, EnsembleError, Master, Outcome, Pending, Ticket, TicketId};
use rand_pcg::Pcg64Dxsm;
use rand_pcg::rand_core::SeedableRng;

use super::{Builder, JournalError, Written};
use crate::{Change, Given, Member, Record};

pub(super) struct State<D, M> {
    pub band: Ensemble<Context, D, M>,
    pub pending: Pending<Context, D>,
    /// The bases that came after the band was built, in order.
    pub members: Vec<Member>,
}

impl<D: Written, M: Master> State<D, M> {
    pub fn secret(&self) -> u64 {
        self.band.params().secret.map_or(0, |secret| secret.get())
    }

    /// Makes a decision, which waits from now on. Its chance follows from its id.
    pub fn choose(&mut self, x: Context, now: u64) -> Result<TicketId, JournalError> {
        if self.pending.is_full() {
            return Err(JournalError::Full(self.pending.len()));
        }
        let mut rng = Pcg64Dxsm::seed_from_u64(self.band.next_id().seed(self.secret()));
        let ticket = self.band.choose(&x, &mut rng)?;
        Ok(self.pending.insert(x, ticket, now).map_err(|refused| refused.error)?)
    }

    pub fn learn(&mut self, x: &Context, ticket: Ticket<D>, value: f64) -> Result<Outcome, JournalError> {
        Ok(self.band.learn(x, ticket, value).map_err(|refused| refused.error)?)
    }

    pub fn expire(&mut self, id: TicketId, loss: Option<f64>) -> Result<(), JournalError> {
        let (x, ticket) = self.pending.expire_one(id, loss.is_none())?;
        loss.map_or(Ok(()), |loss| self.learn(&x, ticket, loss).map(drop))
    }

    pub fn change(
        &mut self,
        member: Member,
        new: Option<Box<dyn Base<Context, D>>>,
    ) -> Result<(), JournalError> {
        let (base, share) = (member.base as usize, member.share.unwrap_or(f64::NAN));
        match (member.change, new) {
            (Change::Add, Some(new)) if base == self.band.len() => {
                self.band.add(&member.name, new, share)?;
            }
            (Change::Replace, Some(new)) => drop(self.band.replace(base, new)?),
            (Change::Retire, _) => self.band.retire(base)?,
            (Change::Reinstate, _) => self.band.reinstate(base, share)?,
            _ => return Err(EnsembleError::NoSuchBase(member.name).into()),
        }
        if matches!(member.change, Change::Add | Change::Replace) {
            self.members.push(member);
        }
        Ok(())
    }

    /// Builds the base of a member that is new.
    pub fn build(
        member: &Member,
        build: Builder<'_, D>,
    ) -> Result<Option<Box<dyn Base<Context, D>>>, JournalError> {
        match member.change {
            Change::Add | Change::Replace => {
                let unknown = |why| EnsembleError::NoSuchBase(format!("{}: {why}", member.name));
                Ok(Some(build(member).map_err(unknown)?))
            }
            Change::Retire | Change::Reinstate => Ok(None),
        }
    }

    /// Does again what a line says. Nothing that is refused is passed over.
    pub fn play(&mut self, record: Record, build: Builder<'_, D>) -> Result<(), JournalError> {
        let other = |why: &str| JournalError::Line { line: 0, at: 0, why: why.to_owned() };
        match record {
            Record::Start(start) if start.band == self.band.id() => Ok(()),
            Record::Start(_) => Err(other("it begins the log of another band")),
            Record::Decision(decision) => {
                self.band.set_copy(decision.id.copy);
                if self.band.next_id() != decision.id {
                    let next = self.band.next_id();
                    return Err(other(&format!("the decision {} where {next} is next", decision.id)));
                }
                let x = decision.context.ok_or_else(|| other("a decision without its context"))?;
                let id = self.choose(x, decision.at.unwrap_or(0))?;
                let again = self.pending.find(id)?.1.token()?;
                if decision.ticket != Some(again) {
                    return Err(other("another decision is made now: the band is not the one that wrote it"));
                }
                Ok(())
            }
            Record::Outcome(outcome) => {
                let value = value(&outcome.given).ok_or_else(|| other("an outcome without a number"))?;
                self.pending.reward(outcome.id, value, &mut self.band)?;
                Ok(())
            }
            Record::Both(both) => {
                let value = value(&both.given).ok_or_else(|| other("an outcome without a number"))?;
                let (Some(x), Some(token)) = (both.decision.context, both.decision.ticket) else {
                    return Err(other("a decision without its context or its ticket"));
                };
                self.learn(&x, Ticket::from_token(&token)?, value).map(drop)
            }
            Record::Member(member) => {
                let new = Self::build(&member, build)?;
                self.change(member, new)
            }
            Record::Expire(expire) => self.expire(expire.id, expire.loss),
        }
    }
}

fn value(given: &Given) -> Option<f64> {
    given.reward.or(given.loss)
}
