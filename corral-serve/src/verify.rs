//! A log that is played again: from the state that it began with, to the same bits.

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use corral_core::{Arm, Ticket, TicketId, snapshot};
use corral_log::{Both, Member, Reader, Record};

use crate::again::{Again, said};
use crate::error::ServeError;
use crate::event::Event;
use crate::export::Export;
use crate::layout::Layout;
use crate::learner::{FoldLearner, LearnerOptions, ORIGIN, Origin, SNAPSHOT, Saved, VERSION};
use crate::model::{Model, Served};
use crate::spec::ServedSpec;
use crate::state::State;
use crate::store::{Directory, Store};

/// What a replay found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// The lines of the log.
    pub lines: u64,
    /// Lines that the snapshot had learned already.
    pub before: u64,
    /// Decisions that were learned again.
    pub learned: u64,
    /// Decisions that were made again, and came out to the same bits: all that are in the log of decisions of the store, with the
    /// default ones and those before the snapshot left out.
    pub made: u64,
    /// Decisions of that log that could not be made again, because others before them are missing there.
    pub unmade: u64,
    /// Lines that no fold of the store has taken yet.
    pub ahead: u64,
    /// The first line that the band refuses, and why. Where the state is that of the store, the store has refused it too.
    pub refused: Option<(u64, String)>,
    /// Whether the state after the last line is that of the store, to the last bit. `None`: only a part of the log was given.
    pub same_state: Option<bool>,
}

/// Plays the log of a band in a store again from the state that it began with. Every line must be the one that the store has learned in
/// its place, follow from the line before it, say of its decision what the sealed ticket says, and be learned; none may be missing.
///
/// `partial`: the log is a part of what was learned, one segment of several, say. Then neither the order of its lines nor the state at
/// the end is compared.
///
/// # Errors
/// A line does not hold, or is missing: the first is named.
pub fn verify<D: Served>(
    log: impl BufRead,
    model: Arc<dyn Model<D>>,
    store: Arc<dyn Store>,
    band: &str,
    partial: bool,
) -> Result<Verified, ServeError> {
    let origin = Origin::read(&*store, &Layout::of(band))?;
    let held = (!partial).then(|| Held::of(model.clone(), store, band, 0)).transpose()?;
    Replay::new(State::load(&*model, &origin.state)?, model, held, false).play(log)
}

/// As [`verify`], from a file of a store in a directory: the `origin` of a band, or one of its snapshots, with the origin in the
/// folder above. The band is built from what the origin says.
///
/// # Errors
/// As [`verify`], or the file is none of these.
pub fn verify_from(log: impl BufRead, from: &Path, partial: bool) -> Result<Verified, ServeError> {
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
    let spec: ServedSpec =
        serde_json::from_str(&origin.model).map_err(|e| ServeError::Model(format!("the origin: {e}")))?;
    let state = State::<Arm>::load(&spec, saved.as_ref().map_or(&origin.state, |s| &s.state))?;
    let spec = Arc::new(spec);
    let held = if partial {
        None
    } else {
        let missing = || {
            let why =
                "it is not in the store of its band, with which a log is compared; --partial does without";
            ServeError::Store(format!("{}: {why}", origin_at.display()))
        };
        // .../bands/NAME/origin, also where the path is only a part of that.
        let whole = std::fs::canonicalize(&origin_at)?;
        let root =
            whole.ancestors().nth(3).filter(|root| root.join(Layout::of(&spec.name).origin()) == whole);
        let root = root.ok_or_else(missing)?;
        let (store, from) = (Arc::new(Directory::open(root)?), saved.as_ref().map_or(0, |s| s.fold));
        Some(Held::of(spec.clone(), store, &spec.name, from)?)
    };
    let from_snapshot = saved.is_some();
    Replay::new(state, spec, held, from_snapshot).play(log)
}

/// What tells a line from every other, and what is learned from it.
#[derive(Debug, PartialEq)]
enum Line {
    Reward(TicketId, Option<u64>),
    Member(Member),
}

impl Line {
    /// `None`: the line begins a log, and nothing is learned from it.
    fn of(record: &Record) -> Result<Option<Self>, String> {
        let bits = |value: Option<f64>| value.map(f64::to_bits);
        match record {
            Record::Start(_) => Ok(None),
            Record::Member(member) => Ok(Some(Self::Member(member.clone()))),
            Record::Both(Both { decision, given }) => {
                Ok(Some(Self::Reward(decision.id, bits(given.reward.or(given.loss)))))
            }
            other => Err(format!("a line of kind {:?} in the log of a service", other.kind())),
        }
    }

    fn learned<D>(event: &Event<D>) -> Option<Self> {
        match event {
            Event::Start => None,
            Event::Member(member) => Some(Self::Member(member.clone())),
            Event::Reward { ticket, value, .. } => Some(Self::Reward(ticket.id(), Some(value.to_bits()))),
            Event::Default { id, value } => Some(Self::Reward(*id, Some(value.to_bits()))),
        }
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reward(id, Some(value)) => write!(f, "decision {id} with {}", f64::from_bits(*value)),
            Self::Reward(id, None) => write!(f, "decision {id}"),
            Self::Member(member) => write!(f, "the change of base {:?}", member.name),
        }
    }
}

/// What a store has learned, line by line, fold by fold.
struct Held<D> {
    store: Arc<dyn Store>,
    band: String,
    export: Export,
    /// The first fold that is played; those before it are in the snapshot.
    from: u64,
    /// The lines of the fold that is read, the next one first, and its number.
    lines: VecDeque<Line>,
    fold: u64,
    /// What was decided, and up to which fold it was made again.
    again: Again<D>,
    made: u64,
}

impl<D: Served> Held<D> {
    fn of(
        model: Arc<dyn Model<D>>,
        store: Arc<dyn Store>,
        band: &str,
        from: u64,
    ) -> Result<Self, ServeError> {
        let export = Export::of(store.clone(), band);
        let again = Again::of(model, store.clone(), &Layout::of(band), from)?;
        let lines = VecDeque::new();
        Ok(Self { store, band: band.to_owned(), export, from, lines, fold: 0, again, made: from })
    }

    /// The state is that after `folds` folds, and after those since the last call, which had no lines.
    fn reach(&mut self, folds: u64, state: &State<D>) -> Result<(), ServeError> {
        (self.made..=folds).try_for_each(|fold| self.again.make(fold, state))?;
        self.made = self.made.max(folds + 1);
        Ok(())
    }

    /// The next line, and the number of its fold.
    fn next(&mut self) -> Result<Option<(u64, Line)>, ServeError> {
        while self.lines.is_empty() {
            let last = self.export.next_number();
            let Some(bytes) = self.export.next().transpose()? else { return Ok(None) };
            self.fold = self.export.next_number() - 1;
            if last == 0 && self.fold > self.from {
                return Err(ServeError::Store(format!(
                    "the store begins at fold {}, and what was learned before is no longer there: begin from the snapshot of that fold",
                    self.fold
                )));
            }
            let mut reader = Reader::new(&bytes[..]).strict(true);
            while let Some(record) = reader.read().map_err(|e| ServeError::Store(e.to_string()))? {
                self.lines.extend(Line::of(&record).map_err(ServeError::Store)?);
            }
        }
        Ok(self.lines.pop_front().map(|line| (self.fold, line)))
    }
}

/// What is learned from a line, where it says what its sealed ticket says.
fn event<D: Served>(record: Record) -> Result<Event<D>, String> {
    let both = match record {
        Record::Member(member) => return Ok(Event::Member(member)),
        Record::Both(both) => both,
        _ => return Ok(Event::Start),
    };
    let id = both.decision.id;
    let value = both.given.reward.or(both.given.loss).ok_or("an outcome without a number")?;
    let (Some(token), Some(context)) = (&both.decision.ticket, both.decision.context.clone()) else {
        return Ok(Event::Default { id, value });
    };
    let ticket: Ticket<D> = Ticket::from_token(token).map_err(|e| e.to_string())?;
    let sealed = D::logged(&ticket, &both.decision.pbar, &context);
    if said(&both.decision) != said(&sealed) {
        return Err(format!("decision {id} is not the one that its ticket was sealed for"));
    }
    Ok(Event::Reward { ticket, context, value, full: both.decision.full })
}

struct Replay<D> {
    state: State<D>,
    model: Arc<dyn Model<D>>,
    held: Option<Held<D>>,
    /// Of a part of a log: what the snapshot had learned.
    learned: Option<crate::rewarded::Rewarded>,
    found: Verified,
    /// The state when the folds of the store had ended.
    end: Option<Vec<u8>>,
    /// Lines that no fold has taken, and where they stand.
    ahead: Vec<(u64, Line)>,
}

impl<D: Served> Replay<D> {
    fn new(
        mut state: State<D>,
        model: Arc<dyn Model<D>>,
        held: Option<Held<D>>,
        from_snapshot: bool,
    ) -> Self {
        state.band.set_copy(0);
        let learned = (held.is_none() && from_snapshot).then(|| state.rewarded.clone());
        Self { state, model, held, learned, found: Verified::default(), end: None, ahead: Vec::new() }
    }

    fn play(mut self, log: impl BufRead) -> Result<Verified, ServeError> {
        let mut reader = Reader::new(log).strict(true).checked(0);
        while let Some(record) = reader.read().map_err(|e| ServeError::Store(e.to_string()))? {
            let at = reader.lines();
            self.found.lines = at;
            self.line(at, record).map_err(|error| match error {
                ServeError::Asked(why) => ServeError::Store(format!("line {at}: {why}")),
                other => other,
            })?;
        }
        let Some(mut held) = self.held.take() else { return Ok(self.found) };
        if let Some((_, next)) = held.next()? {
            let mut missing = 1;
            while held.next()?.is_some() {
                missing += 1;
            }
            return Err(ServeError::Store(format!(
                "the log ends at line {}, and the store has learned {missing} more lines: the first is {next}. The whole log is \
                 GET .../log of the service; --partial checks a part",
                self.found.lines
            )));
        }
        if self.end.is_none() {
            held.reach(held.export.next_number(), &self.state)?;
        }
        (self.found.made, self.found.unmade) = (held.again.same, held.again.left);
        let learner = FoldLearner::open(&held.band, self.model, held.store, LearnerOptions::default())?;
        self.found.ahead = self.ahead.len() as u64;
        let waiting = learner.waiting()?;
        let mut waiting = waiting.iter().filter_map(Line::learned);
        if let Some((at, line)) = self.ahead.iter().find(|(_, line)| waiting.next().as_ref() != Some(line)) {
            return Err(ServeError::Store(format!("line {at}: {line} is in no segment of the store")));
        }
        let end = self.end.map_or_else(|| self.state.save(), Ok)?;
        self.found.same_state = Some(learner.digest()? == end);
        Ok(self.found)
    }

    /// One line. What is wrong with it is `Asked`.
    fn line(&mut self, at: u64, record: Record) -> Result<(), ServeError> {
        if let Record::Start(start) = &record
            && start.band != self.state.band.id()
        {
            return Err(ServeError::Asked("it begins the log of another band".into()));
        }
        let Some(line) = Line::of(&record).map_err(ServeError::Asked)? else { return Ok(()) };
        if let Some(held) = &mut self.held {
            match held.next()? {
                Some((_, next)) if next != line => {
                    return Err(ServeError::Asked(format!(
                        "{line} stands where the store has learned {next}: a line was removed, changed, doubled or moved, or this \
                         is a part of the log. The whole log is GET .../log of the service; --partial checks a part"
                    )));
                }
                Some((fold, _)) if fold < held.from => {
                    self.found.before += 1;
                    return Ok(());
                }
                Some((fold, _)) => held.reach(fold, &self.state)?,
                None => {
                    if self.end.is_none() {
                        held.reach(held.export.next_number(), &self.state)?;
                        self.end = Some(self.state.save()?);
                    }
                    self.ahead.push((at, line));
                }
            }
        } else if let (Line::Reward(id, _), Some(learned)) = (&line, &self.learned)
            && learned.has(*id)
        {
            self.found.before += 1;
            return Ok(());
        }
        let event = event(record).map_err(ServeError::Asked)?;
        let (id, before) = (event.id(), self.state.counts);
        self.state.refusal = None;
        self.state.apply(event, &*self.model);
        let now = self.state.counts;
        self.found.learned += now.learned - before.learned;
        if now.refused > before.refused || now.late > before.late {
            let why = self.state.refusal.take().unwrap_or_else(|| "the band refuses it".into());
            if self.held.is_none() {
                return Err(ServeError::Asked(format!("it cannot be learned again: {why}")));
            }
            // The store may have refused it too: then its state says so.
            self.found.refused.get_or_insert((at, why));
        }
        if now.repeated > before.repeated && self.held.is_none() {
            let id = id.map(|id| id.to_string()).unwrap_or_default();
            return Err(ServeError::Asked(format!("decision {id} is there a second time")));
        }
        Ok(())
    }
}
