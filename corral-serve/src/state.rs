//! What is learned: the same for everyone who applies the same events in the same order.

use corral_bases::band::Band;
use corral_core::snapshot::{self, SnapshotError};
use corral_core::{EnsembleError, TicketId};
use corral_log::{Change, Member, Watch};
use serde::{Deserialize, Serialize};

use crate::error::ServeError;
use crate::event::Event;
use crate::model::{Model, Served};
use crate::rewarded::Rewarded;

const NAME: &str = "served band";
const VERSION: u16 = 2;

/// What the learner has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Rewards of decisions of the band that were learned.
    pub learned: u64,
    /// Rewards that came a second time, by another front end or after a restart, and were passed over.
    pub repeated: u64,
    /// Rewards of decisions so old that it is not known whether they were rewarded.
    pub late: u64,
    /// Rewards and changes of bases that the band refused after all.
    pub refused: u64,
    /// Changes of bases.
    pub changes: u64,
    /// Decisions of the band: how many rewards, their sum and the sum of their squares, as losses in [0, 1].
    pub band: Sum,
    /// Decisions that got the default action.
    pub default: Sum,
}

/// A running sum of losses in [0, 1].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
}

impl Sum {
    fn add(&mut self, loss: f64) {
        self.count += 1;
        self.sum += loss;
        self.squares += loss * loss;
    }

    /// Their mean, where there are any.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// A band, the bases that joined it, and which decisions were rewarded.
pub(crate) struct State<D> {
    pub band: Band<D>,
    /// The bases that came after the band was built, in order.
    pub members: Vec<Member>,
    pub rewarded: Rewarded,
    pub counts: Counts,
    /// Why the last change of bases was refused, where it was.
    pub refusal: Option<String>,
    /// The values of the bases, where they are followed. What is learned does not depend on it.
    pub watch: Option<Watch>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    band: Vec<u8>,
    /// As JSON: parameters of bases have no other form.
    members: String,
    rewarded: Rewarded,
    counts: Counts,
}

/// Builds a band with these members and loads what it had learned.
pub(crate) fn build<D: Served>(
    model: &dyn Model<D>,
    members: &[Member],
    saved: &[u8],
) -> Result<Band<D>, ServeError> {
    let mut band = model.band()?;
    for member in members {
        change(&mut band, model, member)?;
    }
    band.load(saved)?;
    Ok(band)
}

/// The longest name of a base that joins.
const LONGEST: usize = 256;

/// Passes over a change that a band can do and go on from: its snapshot afterwards can be loaded. `saved` is that of the band before.
pub(crate) fn check<D: Served>(
    model: &dyn Model<D>,
    members: &[Member],
    saved: &[u8],
    member: &Member,
) -> Result<(), ServeError> {
    let plain = !member.name.chars().any(char::is_control) && member.name.len() <= LONGEST;
    if member.change == Change::Add && (member.name.is_empty() || !plain) {
        let why =
            format!("a name has 1 to {LONGEST} bytes and no control characters, but is {:?}", member.name);
        return Err(ServeError::Asked(why));
    }
    let mut band = build(model, members, saved)?;
    change(&mut band, model, member)?;
    let new = matches!(member.change, Change::Add | Change::Replace).then(|| member.clone());
    let members: Vec<Member> = members.iter().cloned().chain(new).collect();
    build(model, &members, &band.save()).map(drop)
}

/// Does what a line says of a base.
pub(crate) fn change<D: Served>(
    band: &mut Band<D>,
    model: &dyn Model<D>,
    member: &Member,
) -> Result<(), ServeError> {
    let (base, share) = (member.base as usize, member.share.unwrap_or(f64::NAN));
    let unknown = || EnsembleError::NoSuchBase(member.name.clone());
    if member.change != Change::Add && (base >= band.len() || band.name(base) != member.name) {
        return Err(unknown().into());
    }
    match member.change {
        Change::Add if base == band.len() => {
            let taken = (0..base).any(|other| band.name(other) == member.name);
            if taken {
                return Err(ServeError::Asked(format!("a base of the name {:?} is there", member.name)));
            }
            band.add(&member.name, model.base(member)?, share)?;
        }
        Change::Add => return Err(unknown().into()),
        Change::Replace => drop(band.replace(base, model.base(member)?)?),
        Change::Retire => band.retire(base)?,
        Change::Reinstate => band.reinstate(base, share)?,
    }
    Ok(())
}

impl<D: Served> State<D> {
    pub fn new(band: Band<D>, remembered: usize) -> Self {
        Self {
            band,
            members: Vec::new(),
            rewarded: Rewarded::new(remembered),
            counts: Counts::default(),
            refusal: None,
            watch: None,
        }
    }

    pub fn save(&self) -> Result<Vec<u8>, ServeError> {
        let members = serde_json::to_string(&self.members).map_err(|e| ServeError::Store(e.to_string()))?;
        let saved =
            Saved { band: self.band.save(), members, rewarded: self.rewarded.clone(), counts: self.counts };
        Ok(snapshot::seal(NAME, VERSION, &saved))
    }

    pub fn load(model: &dyn Model<D>, bytes: &[u8]) -> Result<Self, ServeError> {
        let damaged = |e: SnapshotError| ServeError::Band(e.into());
        let saved: Saved = snapshot::open(NAME, VERSION, bytes).map_err(damaged)?;
        let members: Vec<Member> =
            serde_json::from_str(&saved.members).map_err(|e| damaged(SnapshotError::state(e)))?;
        snapshot::ensure(saved.rewarded.is_sound(), "its rewarded decisions cannot be these")
            .map_err(damaged)?;
        Ok(Self {
            band: build(model, &members, &saved.band)?,
            members,
            rewarded: saved.rewarded,
            counts: saved.counts,
            refusal: None,
            watch: None,
        })
    }

    /// Applies one event. What cannot be applied is counted, in every process alike.
    pub fn apply(&mut self, event: Event<D>, model: &dyn Model<D>) {
        match event {
            Event::Start => {}
            Event::Reward { ticket, context, value, full } => {
                let id = ticket.id();
                if !self.is_first(id) {
                    return;
                }
                let scaled = self.loss(value);
                if let (Some(watch), Some(loss)) = (&mut self.watch, scaled)
                    && self.band.check(&context, &ticket, value).is_ok()
                {
                    watch.see_with(&ticket, &full, 1.0 - loss);
                }
                match self.band.learn(&context, ticket, value) {
                    Ok(_) => {
                        self.counts.learned += 1;
                        self.rewarded.add(id);
                        scaled.into_iter().for_each(|loss| self.counts.band.add(loss));
                    }
                    Err(_) => self.counts.refused += 1,
                }
            }
            Event::Default { id, value } => {
                if !self.is_first(id) {
                    return;
                }
                match self.loss(value) {
                    Some(loss) => {
                        self.rewarded.add(id);
                        self.counts.default.add(loss);
                    }
                    None => self.counts.refused += 1,
                }
            }
            Event::Member(member) => {
                let done = check(model, &self.members, &self.band.save(), &member)
                    .and_then(|()| change(&mut self.band, model, &member));
                self.refusal = done.err().map(|e| e.to_string());
                if self.refusal.is_some() {
                    self.counts.refused += 1;
                    return;
                }
                self.counts.changes += 1;
                if let Some(watch) = &mut self.watch {
                    match member.change {
                        Change::Add => watch.grow(self.band.len()),
                        Change::Replace => watch.replace(member.base as usize),
                        Change::Retire | Change::Reinstate => {}
                    }
                }
                if matches!(member.change, Change::Add | Change::Replace) {
                    self.members.push(member);
                }
            }
        }
    }

    /// Whether the reward of this decision is the first; counts it where it is not.
    fn is_first(&mut self, id: TicketId) -> bool {
        let (late, again) = (self.rewarded.is_late(id), self.rewarded.has(id));
        self.counts.late += u64::from(late);
        self.counts.repeated += u64::from(again && !late);
        !late && !again
    }

    /// A value as a loss in [0, 1].
    fn loss(&self, value: f64) -> Option<f64> {
        match self.band.params().scale {
            Some(scale) => scale.loss(value).ok().map(|(loss, _)| loss),
            None => (0.0..=1.0).contains(&value).then_some(value),
        }
    }
}
