//! The log of a saved band, played again to the same bits.

use std::collections::HashMap;
use std::io::BufRead;

use corral_core::{Context, Feedback, Propensities, Scale, TicketId};
use corral_log::{Both, Change, Decided, Given, Member, Reader, Record};
use rand_pcg::Pcg64Dxsm;

use super::{Answer, Flying, Members, Objects, Plan, SavedBand, SavedError};
use crate::run::Plugins;
use crate::valuation::chain;

/// What a replay found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The lines of the log.
    pub lines: u64,
    /// Lines that the band had seen when it was saved.
    pub before: u64,
    /// Decisions that were made again.
    pub decisions: u64,
    /// Outcomes that were learned again.
    pub learned: u64,
    /// Whether the state after the last line is that of the other file, to the last bit. `None`: there is no other.
    pub same_state: Option<bool>,
}

/// A band whose log is played again.
struct Replay<'a> {
    plan: Plan,
    members: Members,
    rng: Pcg64Dxsm,
    plugins: &'a Plugins,
    objects: &'a mut dyn Objects,
    found: Replayed,
    /// Decisions that wait for their outcomes.
    out: HashMap<TicketId, (Context, Flying)>,
}

/// Plays a log again from a band that was saved with no decision out: every line must follow from the one before it, and every
/// decision and every probability come out to the same bits. With `end`, what was saved after the last line, the state must too.
///
/// # Errors
/// The band cannot be built here, or a line does not hold: the first is named.
pub fn verify(
    log: impl BufRead,
    mut start: SavedBand,
    end: Option<&SavedBand>,
    plugins: &Plugins,
    objects: &mut dyn Objects,
) -> Answer<Replayed> {
    let mut reader = Reader::new(log).strict(true).checked(0);
    let mut next = || {
        let record = reader.read().map_err(|e| SavedError::value(chain(&e)))?;
        Ok::<_, SavedError>(record.map(|record| (reader.lines(), record)))
    };
    // The first decision says what is known of probabilities.
    let (mut first, mut level) = (Vec::new(), Propensities::EveryBase);
    while let Some((line, record)) = next()? {
        let full = match &record {
            Record::Decision(decision) | Record::Both(Both { decision, .. }) => {
                Some(!decision.full.is_empty())
            }
            _ => None,
        };
        first.push((line, record));
        if let Some(full) = full {
            level = if full { Propensities::Full } else { level };
            break;
        }
    }
    let members = start.members(level, plugins, objects)?;
    let SavedBand { plan, rng, .. } = start;
    let (found, out) = (Replayed::default(), HashMap::new());
    let mut replay = Replay { plan, members, rng, plugins, objects, found, out };
    for (line, record) in first {
        replay.line(line, record)?;
    }
    while let Some((line, record)) = next()? {
        replay.line(line, record)?;
    }
    let same = |end: &SavedBand| replay.members.save() == end.members && replay.rng == end.rng;
    replay.found.same_state = end.map(same);
    Ok(replay.found)
}

/// What a line says of a decision, to the last bit.
fn said(decision: &Decided) -> impl PartialEq + '_ {
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let Decided { id, action, offered, propensity, exact, forced, base, pbar, q, full, .. } = decision;
    let numbers = (propensity.map(f64::to_bits), bits(pbar), bits(q), bits(full));
    (*id, action.clone(), offered.clone(), (*exact, *forced, *base), numbers)
}

/// The loss of what a line says, as the band learned it.
fn loss(scale: Scale, given: &Given) -> Answer<Feedback> {
    let plain = given.weight.is_none_or(|weight| weight == 1.0);
    SavedError::unless(plain, "it was learned with a weight, which a band in Python does not do")?;
    let (value, scale) = match (given.reward, given.loss) {
        (Some(reward), _) => (reward, scale),
        (None, Some(loss)) => (loss, Scale { rewards: false, ..scale }),
        (None, None) => return Err(SavedError::value("an outcome without a number")),
    };
    Ok(Feedback::plain(scale.loss(value).map_err(SavedError::value)?.0))
}

impl Replay<'_> {
    fn line(&mut self, line: u64, record: Record) -> Answer<()> {
        self.found.lines = line;
        self.play(record).map_err(|e| e.of(format_args!("line {line}")))
    }

    fn play(&mut self, record: Record) -> Answer<()> {
        let scale = self.plan.rewards;
        match record {
            Record::Start(start) => {
                let own = self.members.id();
                SavedError::unless(start.band == own, "it begins the log of another band than was saved")?;
            }
            Record::Decision(decision) => self.decide(&decision)?,
            Record::Both(both) => {
                let known = self.found.before;
                self.decide(&both.decision)?;
                if self.found.before == known {
                    self.learn(both.decision.id, loss(scale, &both.given)?)?;
                }
            }
            Record::Outcome(outcome) => self.learn(outcome.id, loss(scale, &outcome.given)?)?,
            Record::Expire(expire) => self.learn(expire.id, Feedback::unseen())?,
            Record::Member(member) => self.change(member)?,
        }
        self.objects.check()
    }

    /// The band must decide as the line says.
    fn decide(&mut self, decision: &Decided) -> Answer<()> {
        let (id, next) = (decision.id, self.members.next_id());
        if id.round < next.round {
            self.found.before += 1;
            return Ok(());
        }
        let Some(x) = &decision.context else {
            return Err(SavedError::value("a decision without its context"));
        };
        // Every process that goes on with a band is a copy of its own.
        self.members.set_copy(id.copy);
        let pbar = self.members.probabilities().to_vec();
        let made = self.members.choose(x, &mut self.rng)?;
        if said(&made.record(&pbar, x)) != said(decision) {
            return Err(SavedError::value(format!("decision {id} does not come out as it is written")));
        }
        self.found.decisions += 1;
        self.out.insert(id, (x.clone(), made));
        Ok(())
    }

    fn learn(&mut self, id: TicketId, heard: Feedback) -> Answer<()> {
        let Some((x, made)) = self.out.remove(&id) else {
            SavedError::unless(
                self.members.has_learned(id),
                format_args!(
                    "the outcome of decision {id}, which this log does not have or which was out when the band was saved"
                ),
            )?;
            self.found.before += 1;
            return Ok(());
        };
        self.members.learn(&x, made, heard).map_err(|refused| SavedError::from(refused.1))?;
        self.found.learned += 1;
        Ok(())
    }

    /// A base came or went.
    fn change(&mut self, member: Member) -> Answer<()> {
        let (base, share) = (member.base as usize, member.share.unwrap_or(0.0));
        match member.change {
            // It was there when the band was saved.
            Change::Add if base < self.plan.members.len() => Ok(()),
            Change::Add => {
                let why = format!("{} is a Python object, which a log does not hold", member.name);
                let table = member.params.ok_or_else(|| SavedError::value(why))?;
                let table = toml::Table::try_from(table).map_err(|e| SavedError::value(e).of("params"))?;
                let base = self.plan.join(table, Some(member.name.clone()), Some(share), self.plugins)?;
                Ok(self.members.add(&member.name, base, share)?)
            }
            Change::Retire if self.members.benched().iter().any(|b| b.base == base) => Ok(()),
            Change::Retire => Ok(self.members.retire(base)?),
            Change::Reinstate => Ok(self.members.reinstate(base, share)?),
            Change::Replace => {
                Err(SavedError::value("a base was replaced, which a band in Python does not do"))
            }
        }
    }
}
