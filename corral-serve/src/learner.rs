//! The learner: commits in which order rewards are learned, and learns them.
//!
//! State = f(snapshot, folds). Fold number n names ranges of segments; it is created once, whoever tries, and that is the
//! order, the lease and the fence in one. A second learner that loses the create rereads and stands by.

use std::collections::BTreeMap;
use std::sync::Arc;

use corral_core::{TicketId, snapshot};
use corral_log::{Chain, Member, Watch};
use serde::{Deserialize, Serialize};

use crate::error::ServeError;
use crate::event::{self, Event};
use crate::folds::{Folds, KEPT, Part};
use crate::layout::{Layout, state_fold, state_name};
use crate::model::{Model, Served};
use crate::rewarded::Rewarded;
use crate::state::{Counts, State};
use crate::store::Store;

pub(crate) const SNAPSHOT: &str = "snapshot of a served band";
const STATE: &str = "state for front ends";
pub(crate) const ORIGIN: &str = "origin of a served band";
pub(crate) const VERSION: u16 = 2;
/// The copy that the learner's band is: it chooses nothing, and segments are counted from 1.
const LEARNER: u64 = 0;

/// How a band is learned.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnerOptions {
    /// How many blocks of 4,096 decisions are remembered, so that none is learned twice.
    pub remembered: usize,
    /// How many lines and bytes of one segment a fold takes at most.
    pub lines: usize,
    /// See `lines`.
    pub bytes: usize,
    /// A snapshot is saved after so many rewards.
    pub snapshot: u64,
    /// Whether a segment with a damaged line is cut there; else it is an error that names it, and nothing is learned until
    /// it is mended.
    pub cut: bool,
    /// Whether segments, and the order in which they were learned, are kept as the log; else they go when two snapshots cover
    /// them.
    pub keep: bool,
}

impl Default for LearnerOptions {
    fn default() -> Self {
        Self { remembered: 32_768, lines: 50_000, bytes: 16 << 20, snapshot: 100_000, cut: false, keep: true }
    }
}

/// How far a segment is learned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Place {
    bytes: u64,
    chain: u128,
    /// A damaged line stands here: nothing behind it is learned.
    cut: bool,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Saved {
    pub fold: u64,
    cursor: BTreeMap<u64, Place>,
    pub state: Vec<u8>,
    watch: Option<Watch>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Origin {
    pub model: String,
    pub state: Vec<u8>,
}

impl Origin {
    /// That of the band with this layout, which must have begun.
    pub fn read(store: &dyn Store, layout: &Layout) -> Result<Self, ServeError> {
        let name = layout.origin();
        let bytes = store.get(&name)?.ok_or_else(|| ServeError::Store(format!("{name} is not there")))?;
        snapshot::open(ORIGIN, VERSION, &bytes).map_err(|e| ServeError::Damaged {
            name,
            at: 0,
            why: e.to_string(),
        })
    }
}

/// What a front end needs of what was learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Published {
    /// After how many folds.
    pub fold: u64,
    /// The bytes of each segment that are learned.
    pub learned: BTreeMap<u64, u64>,
    /// What the learner has counted.
    pub counts: Counts,
    /// The values of the bases, where they are followed.
    pub watch: Option<Watch>,
    pub(crate) members: String,
    pub(crate) band: Vec<u8>,
}

impl Published {
    pub(crate) fn members(&self) -> Result<Vec<Member>, ServeError> {
        serde_json::from_str(&self.members).map_err(|e| ServeError::Model(e.to_string()))
    }
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// There was nothing to learn.
    Idle,
    /// A fold was committed by this learner, with so many events.
    Folded(usize),
    /// A fold of another learner was learned, with so many events.
    Followed(usize),
}

/// Learns a band: commits the order of rewards in folds, and learns them.
pub struct FoldLearner<D> {
    model: Arc<dyn Model<D>>,
    store: Arc<dyn Store>,
    layout: Layout,
    folds: Folds,
    options: LearnerOptions,
    state: State<D>,
    /// What is learned next; empty between steps, and kept for its memory.
    events: Vec<Event<D>>,
    /// The next fold.
    fold: u64,
    cursor: BTreeMap<u64, Place>,
    /// The fold and the number of rewards of the last snapshot.
    saved: (u64, u64),
}

impl<D: Served> FoldLearner<D> {
    /// Starts from what is in the store, or begins there: loads the last snapshot, and learns the folds after it.
    ///
    /// # Errors
    /// The store cannot be read, holds a band that was built from something else, or is damaged.
    pub fn open(
        band: &str,
        model: Arc<dyn Model<D>>,
        store: Arc<dyn Store>,
        options: LearnerOptions,
    ) -> Result<Self, ServeError> {
        let layout = Layout::of(band);
        let state = Self::origin(&layout, &*model, &*store, &options)?;
        let folds = Folds::new(store.clone(), layout.clone());
        let cursor = BTreeMap::new();
        let mut learner = Self {
            model,
            store,
            layout,
            folds,
            options,
            state,
            events: Vec::new(),
            fold: 0,
            cursor,
            saved: (0, 0),
        };
        learner.load()?;
        let watched = learner.state.watch.take();
        // Where it is asked for since the last snapshot, it begins now.
        let begins = || Watch::new(learner.state.band.len());
        learner.state.watch = learner.model.watch().then(|| watched.unwrap_or_else(begins));
        while let Step::Followed(_) = learner.follow()? {}
        Ok(learner)
    }

    /// The state before anything was learned, which the first process of all has written.
    fn origin(
        layout: &Layout,
        model: &dyn Model<D>,
        store: &dyn Store,
        options: &LearnerOptions,
    ) -> Result<State<D>, ServeError> {
        if store.get(&layout.origin())?.is_none() {
            begin(layout, model.band()?, model, store, options)?;
        }
        // Another process may have been first.
        let origin = Origin::read(store, layout)?;
        if origin.model != model.describe() {
            return Err(ServeError::Model(format!(
                "the store holds a band that was built from another spec:\n  there: {}\n  here:  {}\nGive it another name or another \
                 store; bases that come and go while it runs are added by POST /v1/bands/NAME/bases",
                origin.model,
                model.describe()
            )));
        }
        let mut state = State::load(model, &origin.state)?;
        state.band.set_copy(LEARNER);
        Ok(state)
    }

    /// Loads the last snapshot that is whole, where it is ahead.
    fn load(&mut self) -> Result<(), ServeError> {
        let folder = self.layout.snapshots();
        for name in self.store.list(&folder)?.iter().rev() {
            let Some(fold) = state_fold(name) else { continue };
            if fold <= self.fold {
                break;
            }
            // Where it is damaged, an older one and the folds after it say the same.
            let Some(saved) = self.saved(&folder, name)? else { continue };
            self.state = State::load(&*self.model, &saved.state)?;
            self.state.band.set_copy(LEARNER);
            self.state.watch = saved.watch;
            (self.fold, self.cursor) = (saved.fold, saved.cursor);
            self.saved = (self.fold, self.settled());
            break;
        }
        Ok(())
    }

    fn settled(&self) -> u64 {
        self.state.counts.band.count + self.state.counts.default.count
    }

    /// One step: learns the next fold of another learner; else commits what front ends have written as the next fold, and
    /// learns it. A snapshot is saved when it is time.
    ///
    /// # Errors
    /// The store cannot be read or written: nothing is lost, and the step may be tried again. A damaged segment is named.
    pub fn step(&mut self) -> Result<Step, ServeError> {
        let followed = self.follow()?;
        if followed != Step::Idle {
            return Ok(followed);
        }
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        let parts = self.gather(self.options.lines, self.options.bytes, &mut events)?;
        if parts.is_empty() {
            self.events = events;
            return Ok(Step::Idle);
        }
        if !self.folds.commit(self.fold, parts.iter().map(|(part, _)| part.clone()).collect())? {
            // Another learner was first.
            return self.follow();
        }
        let count = events.len();
        events.drain(..).for_each(|event| self.state.apply(event, &*self.model));
        self.events = events;
        self.advance(parts);
        if self.settled() - self.saved.1 >= self.options.snapshot {
            self.save()?;
        }
        Ok(Step::Folded(count))
    }

    fn advance(&mut self, parts: Vec<(Part, u128)>) {
        for (part, chain) in parts {
            self.cursor.insert(part.segment, Place { bytes: part.to, chain, cut: part.cut });
        }
        self.fold += 1;
    }

    /// Learns the next fold, where it is there. Far behind another learner it goes on from a snapshot.
    fn follow(&mut self) -> Result<Step, ServeError> {
        let (found, behind) = self.folds.get(self.fold)?;
        let before = self.fold;
        if behind {
            self.load()?;
            if self.fold > before {
                return Ok(Step::Followed(0));
            }
        }
        let Some(found) = found else {
            let why = "it was removed, and no snapshot behind it is whole".to_owned();
            let gone = ServeError::Damaged { name: self.layout.fold(self.fold), at: 0, why };
            return if behind { Err(gone) } else { Ok(Step::Idle) };
        };
        let (mut parts, mut events) = (Vec::new(), Vec::new());
        for part in found {
            let chain = self.part(&part, &mut events)?;
            parts.push((part, chain));
        }
        let count = events.len();
        events.into_iter().for_each(|event| self.state.apply(event, &*self.model));
        self.advance(parts);
        Ok(Step::Followed(count))
    }

    /// Reads the events of a range that was committed; gives the chain after it.
    fn part(&self, part: &Part, events: &mut Vec<Event<D>>) -> Result<u128, ServeError> {
        let place = self.place(part.segment);
        let name = self.layout.segment(part.segment);
        let damaged = |at: u64, why: String| ServeError::Damaged { name: name.clone(), at, why };
        if part.from != place.bytes || part.to < part.from {
            let why = format!("fold {} takes bytes {} to {}", self.fold, part.from, part.to);
            return Err(damaged(place.bytes, why));
        }
        let length = (part.to - part.from) as usize;
        let mut bytes = if length > 0 { self.store.read(&name, part.from, length)? } else { Vec::new() };
        bytes.truncate(length);
        let mut chain = Chain::after(0, place.chain);
        let (end, fault) = event::events(&bytes, &mut chain, usize::MAX, events);
        if let Some(fault) = fault {
            return Err(damaged(part.from + fault.at as u64, fault.why));
        }
        if end < length {
            let why =
                format!("the segment ends before byte {}, which fold {} has learned", part.to, self.fold);
            return Err(damaged(part.from + end as u64, why));
        }
        Ok(chain.value())
    }

    fn place(&self, segment: u64) -> Place {
        self.cursor.get(&segment).copied().unwrap_or_default()
    }

    /// Reads what front ends have written and no fold has taken into `events`; gives the chain after each part.
    fn gather(
        &self,
        lines: usize,
        most: usize,
        events: &mut Vec<Event<D>>,
    ) -> Result<Vec<(Part, u128)>, ServeError> {
        let mut parts = Vec::new();
        for listed in self.store.list(&self.layout.segments())? {
            let Some(segment) = Layout::segment_number(&listed) else { continue };
            let Place { bytes: from, chain, cut } = self.place(segment);
            if cut {
                continue;
            }
            let name = self.layout.segment(segment);
            let bytes = match self.store.read(&name, from, most) {
                // Another learner has learned it and removed it: its folds and snapshots say so.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                read => read?,
            };
            let mut chain = Chain::after(0, chain);
            let (end, fault) = event::events(&bytes, &mut chain, lines, events);
            let cut = match fault {
                Some(fault) if !self.options.cut => {
                    return Err(ServeError::Damaged { name, at: from + fault.at as u64, why: fault.why });
                }
                fault => fault.is_some(),
            };
            if end > 0 || cut {
                parts.push((Part { segment, from, to: from + end as u64, cut }, chain.value()));
            }
        }
        Ok(parts)
    }

    /// Saves a snapshot: the next start begins here. Older ones are removed.
    ///
    /// # Errors
    /// It could not be written: the one before is still there.
    pub fn save(&mut self) -> Result<(), ServeError> {
        if self.saved.0 == self.fold {
            return Ok(());
        }
        let saved = Saved {
            fold: self.fold,
            cursor: self.cursor.clone(),
            state: self.state.save()?,
            watch: self.state.watch.clone(),
        };
        self.put(&self.layout.snapshots(), &snapshot::seal(SNAPSHOT, VERSION, &saved))?;
        self.saved = (self.fold, self.settled());
        self.folds.compact(self.options.keep)?;
        if self.options.keep { Ok(()) } else { self.forget() }
    }

    /// Removes segments that no start needs: all that is in them was learned before the last snapshot but one, and whoever
    /// wrote them has ended.
    fn forget(&self) -> Result<(), ServeError> {
        let (folder, floor) = (self.layout.snapshots(), self.folds.floor()?);
        let names = self.store.list(&folder)?;
        let Some(name) = names.iter().find(|name| state_fold(name) == Some(floor)) else { return Ok(()) };
        let Some(saved) = self.saved(&folder, name)? else { return Ok(()) };
        for listed in self.store.list(&self.layout.segments())? {
            let learned = Layout::segment_number(&listed).and_then(|segment| saved.cursor.get(&segment));
            let Some(Place { bytes, cut: false, .. }) = learned else { continue };
            let name = format!("{}/{listed}", self.layout.segments());
            // What has a writer may get more lines.
            if *bytes > 0
                && self.store.is_closed(&name)?
                && !self.store.read(&name, *bytes, usize::MAX)?.contains(&b'\n')
            {
                self.store.delete_segment(&name)?;
            }
        }
        Ok(())
    }

    /// A snapshot, where it is there and whole.
    fn saved(&self, folder: &str, name: &str) -> Result<Option<Saved>, ServeError> {
        let Some(bytes) = self.store.get(&format!("{folder}/{name}"))? else { return Ok(None) };
        if state_fold(name).is_none_or(|fold| state_name(fold, &bytes) != name) {
            return Ok(None);
        }
        let saved = snapshot::open(SNAPSHOT, VERSION, &bytes);
        Ok(Some(saved.map_err(corral_core::EnsembleError::from)?))
    }

    /// Writes the state for front ends in other processes.
    ///
    /// # Errors
    /// It could not be written.
    pub fn publish(&self, state: &Published) -> Result<(), ServeError> {
        self.put(&self.layout.states(), &snapshot::seal(STATE, VERSION, state))
    }

    fn put(&self, folder: &str, bytes: &[u8]) -> Result<(), ServeError> {
        let name = state_name(self.fold, bytes);
        self.store.create(&format!("{folder}/{name}"), bytes)?;
        let names = self.store.list(folder)?;
        let old = names.iter().filter(|n| state_fold(n).is_some_and(|fold| fold < self.fold));
        for name in old.rev().skip(KEPT - 1) {
            self.store.delete(&format!("{folder}/{name}"))?;
        }
        Ok(())
    }

    /// What front ends need of what was learned so far.
    ///
    /// # Errors
    /// Parameters of bases that cannot be written.
    pub fn state(&self) -> Result<Published, ServeError> {
        let members =
            serde_json::to_string(&self.state.members).map_err(|e| ServeError::Store(e.to_string()))?;
        Ok(Published {
            fold: self.fold,
            learned: self.cursor.iter().map(|(segment, place)| (*segment, place.bytes)).collect(),
            counts: self.state.counts,
            watch: self.state.watch.clone(),
            members,
            band: self.state.band.save(),
        })
    }

    /// Everything that was learned, as bytes: equal wherever the same folds were learned.
    ///
    /// # Errors
    /// Parameters of bases that cannot be written.
    pub fn digest(&self) -> Result<Vec<u8>, ServeError> {
        self.state.save()
    }

    /// The number of folds that were learned.
    pub fn folds(&self) -> u64 {
        self.fold
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.state.counts
    }

    /// The band.
    pub fn band(&self) -> &corral_bases::band::Band<D> {
        &self.state.band
    }

    /// What the band is and has done, for people.
    pub fn report(&mut self) -> String {
        self.state.band.report()
    }

    /// The values of the bases, where they are followed.
    pub fn watch(&self) -> Option<&Watch> {
        self.state.watch.as_ref()
    }

    /// Whether a decision was rewarded, and is remembered as such.
    pub fn is_rewarded(&self, id: TicketId) -> bool {
        self.state.rewarded.has(id)
    }

    /// Why the last change of bases was refused, where it was.
    pub fn refusal(&self) -> Option<&str> {
        self.state.refusal.as_deref()
    }

    /// The decisions that were rewarded: those that were learned, and those that are written and wait for a fold.
    ///
    /// # Errors
    /// The store cannot be read, or a segment is damaged.
    pub(crate) fn rewarded(&self) -> Result<Rewarded, ServeError> {
        let mut rewarded = self.state.rewarded.clone();
        for event in self.waiting()? {
            event.id().map(|id| rewarded.add(id));
        }
        Ok(rewarded)
    }

    /// What is written and waits for a fold.
    ///
    /// # Errors
    /// The store cannot be read, or a segment is damaged.
    pub(crate) fn waiting(&self) -> Result<Vec<Event<D>>, ServeError> {
        let mut events = Vec::new();
        self.gather(usize::MAX, usize::MAX, &mut events)?;
        Ok(events)
    }
}

/// Has a band begin in a store; `false`: it has begun already.
pub(crate) fn begin<D: Served>(
    layout: &Layout,
    band: corral_bases::band::Band<D>,
    model: &dyn Model<D>,
    store: &dyn Store,
    options: &LearnerOptions,
) -> Result<bool, ServeError> {
    let state = State::new(band, options.remembered).save()?;
    let origin = Origin { model: model.describe(), state };
    Ok(store.create(&layout.origin(), &snapshot::seal(ORIGIN, VERSION, &origin))?)
}

/// The last state that a learner has published after `fold` folds, where there is one.
pub(crate) fn published(
    store: &dyn Store,
    layout: &Layout,
    after: u64,
) -> Result<Option<Published>, ServeError> {
    let folder = layout.states();
    for name in store.list(&folder)?.iter().rev() {
        match state_fold(name) {
            Some(fold) if fold > after => {}
            _ => break,
        }
        let Some(bytes) = store.get(&format!("{folder}/{name}"))? else { continue };
        if let Ok(state) = snapshot::open(STATE, VERSION, &bytes) {
            return Ok(Some(state));
        }
    }
    Ok(None)
}
