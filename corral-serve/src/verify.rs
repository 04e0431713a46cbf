//! A log that is played again: from the state that it began with, to the same bits.

use std::collections::HashSet;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use corral_core::{Arm, Ticket, TicketId, snapshot};
use corral_log::{Decided, Offered, Played, Reader, Record};

use crate::error::ServeError;
use crate::event::Event;
use crate::learner::{Learner, LearnerOptions, ORIGIN, Origin, SNAPSHOT, Saved, VERSION};
use crate::spec::BandSpec;
use crate::state::{Counts, State};
use crate::store::Directory;

/// What a replay found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The lines of the log.
    pub lines: u64,
    /// Lines that the snapshot had learned already.
    pub before: u64,
    /// Decisions that were learned again.
    pub learned: u64,
    /// Whether the state after the last line is that of the store, to the last bit. `None`: the store has learned more
    /// than the log holds, or is not there.
    pub same_state: Option<bool>,
}

/// Plays a log of the service again, from a file of its store: the `origin` of a band, or one of its snapshots, with the origin in
/// the folder above. Every line must follow from the one before it, say of its decision what the sealed ticket says, and be
/// learned.
///
/// # Errors
/// The file is none of these, or a line does not hold: the first is named.
pub fn verify(log: impl BufRead, from: &Path) -> Result<Verified, ServeError> {
    let read =
        |path: &Path| std::fs::read(path).map_err(|e| ServeError::Store(format!("{}: {e}", path.display())));
    let bytes = read(from)?;
    let (origin_at, saved) = match snapshot::open::<Origin>(ORIGIN, VERSION, &bytes) {
        Ok(_) => (from.to_owned(), None),
        Err(_) => {
            let saved: Saved = snapshot::open(SNAPSHOT, VERSION, &bytes).map_err(|e| {
                let why = "it is neither the origin of a band in a store nor one of its snapshots";
                ServeError::Store(format!("{}: {why}: {e}", from.display()))
            })?;
            let above = from.parent().and_then(Path::parent).unwrap_or(Path::new("."));
            (above.join("origin"), Some(saved))
        }
    };
    let origin: Origin = snapshot::open(ORIGIN, VERSION, &read(&origin_at)?)
        .map_err(|e| ServeError::Store(format!("{}: {e}", origin_at.display())))?;
    let spec: BandSpec =
        serde_json::from_str(&origin.model).map_err(|e| ServeError::Model(format!("the origin: {e}")))?;
    let mut state = State::<Arm>::load(&spec, saved.as_ref().map_or(&origin.state, |s| &s.state))?;
    state.band.set_copy(0);
    let mut found = play(log, &mut state, &spec)?;
    found.same_state = compare(&origin_at, &spec, &state)?;
    Ok(found)
}

/// What a line says of its decision and a ticket says too, to the last bit.
type Said<'a> = (TicketId, &'a Played, &'a Offered, Option<u64>, bool, Option<u32>, Vec<u64>);

fn said(decision: &Decided) -> Said<'_> {
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect();
    let Decided { id, action, offered, propensity, forced, base, q, .. } = decision;
    (*id, action, offered, propensity.map(f64::to_bits), *forced, *base, bits(q))
}

fn play(log: impl BufRead, state: &mut State<Arm>, spec: &BandSpec) -> Result<Verified, ServeError> {
    let mut reader = Reader::new(log).strict(true).checked(0);
    let mut found = Verified { lines: 0, before: 0, learned: 0, same_state: None };
    let mut seen = HashSet::new();
    loop {
        let record = reader.read().map_err(|e| ServeError::Store(e.to_string()))?;
        let Some(record) = record else { break };
        found.lines = reader.lines();
        let wrong = |why: String| ServeError::Store(format!("line {}: {why}", reader.lines()));
        let event = match record {
            Record::Start(start) if start.band == state.band.id() => continue,
            Record::Start(_) => return Err(wrong("it begins the log of another band".into())),
            Record::Member(member) => Event::Member(member),
            Record::Both(both) => {
                let id = both.decision.id;
                if !seen.insert(id) {
                    return Err(wrong(format!("decision {id} is there a second time")));
                }
                if state.rewarded.has(id) {
                    found.before += 1;
                    continue;
                }
                let value = both.given.reward.or(both.given.loss);
                let value = value.ok_or_else(|| wrong("an outcome without a number".into()))?;
                match (&both.decision.ticket, both.decision.context.clone()) {
                    (Some(token), Some(context)) => {
                        let ticket: Ticket<Arm> =
                            Ticket::from_token(token).map_err(|e| wrong(e.to_string()))?;
                        let sealed = Decided::of(&ticket, &both.decision.pbar, &context);
                        if said(&both.decision) != said(&sealed) {
                            return Err(wrong(format!(
                                "decision {id} is not the one that its ticket was sealed for"
                            )));
                        }
                        Event::Reward { ticket, context, value, full: both.decision.full }
                    }
                    _ => Event::Default { id, value },
                }
            }
            other => return Err(wrong(format!("a line of kind {:?} in the log of a service", other.kind()))),
        };
        let before = state.counts;
        state.apply(event, spec);
        let refused = state.counts.refused > before.refused || state.counts.late > before.late;
        if refused {
            let why = state.refusal.clone().unwrap_or_else(|| "the band refuses it".into());
            return Err(wrong(format!("it cannot be learned again: {why}")));
        }
        found.learned += state.counts.learned - before.learned;
    }
    Ok(found)
}

/// Whether the state is the one that the store has come to; `None` where that has learned more, or less.
fn compare(origin: &Path, spec: &BandSpec, state: &State<Arm>) -> Result<Option<bool>, ServeError> {
    // .../bands/NAME/origin
    let Some(root) = origin.parent().and_then(Path::parent).and_then(Path::parent) else { return Ok(None) };
    let store = Arc::new(Directory::open(root)?);
    let learner = Learner::open(&spec.name, Arc::new(spec.clone()), store, LearnerOptions::default())?;
    let size = |c: Counts| (c.learned, c.default.count, c.changes);
    if size(learner.counts()) != size(state.counts) {
        return Ok(None);
    }
    Ok(Some(learner.digest()? == state.save()?))
}
