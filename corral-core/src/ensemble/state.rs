//! Snapshots of an ensemble: the master, every base, and what the ensemble itself remembers.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use super::guard::Guard;
use super::learned::Learned;
use super::{Crediting, Ensemble, EnsembleError, Feed, Tally};
use crate::feature_range::{Features, Span};
use crate::scale::ValueRange;
use crate::snapshot::{self, SnapshotError, ensure};
use crate::{Benched, Master, MasterError};

const NAME: &str = "ensemble";
const VERSION: u16 = 5;

/// How far an ensemble has come, apart from its master and its bases.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Standing {
    /// The range of the weights that reach this ensemble from above; 1 at the top.
    pub range: f64,
    pub remaining: Option<u64>,
    /// The round in which `remaining` was told.
    pub since: u64,
    /// The rounds that were chosen here.
    pub round: u64,
    /// The losses that were learned, whichever copy chose.
    pub home: u64,
    pub learned: Learned,
    /// Losses that were cut to the range of the scale.
    pub clipped: u64,
    /// Where the parameters ask for one and the world has no contexts.
    pub guard: Option<Guard>,
    /// How often the master started over.
    pub era: u64,
    #[serde(deserialize_with = "snapshot::untrusted")]
    pub benched: Vec<Benched>,
    /// The losses that were learned.
    pub losses: Span,
    /// The values that were learned, where their range is.
    pub values: ValueRange,
    /// Where the range of features is bounded.
    pub features: Option<Features>,
}

#[derive(Serialize, Deserialize)]
struct State {
    id: u64,
    secret: Option<NonZeroU64>,
    credit: Crediting,
    feed: Feed,
    now: Standing,
    master: Vec<u8>,
    #[serde(deserialize_with = "snapshot::untrusted")]
    seats: Vec<SeatState>,
    /// Of the guard: see [`Guard::missed`].
    #[serde(with = "snapshot::later")]
    missed: Vec<(u64, f64)>,
}

#[derive(Serialize, Deserialize)]
struct SeatState {
    name: String,
    epoch: u64,
    range: f64,
    benched: bool,
    tally: Tally,
    base: Vec<u8>,
}

impl<X: ?Sized, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// A number that depends on how the ensemble was built, and on nothing else.
    pub(super) fn fingerprint(&self) -> u64 {
        snapshot::checksum(&self.save())
    }

    /// Everything that decides the future but the generator, as a framed snapshot: the master, the bases, and what
    /// the ensemble remembers. Outstanding tickets are values of their own, and stay good.
    pub fn save(&self) -> Vec<u8> {
        snapshot::seal(NAME, VERSION, &self.state())
    }

    fn state(&self) -> State {
        let seats = self.seats.iter().map(|seat| SeatState {
            name: seat.name.clone(),
            epoch: seat.epoch,
            range: seat.range,
            benched: seat.benched,
            tally: seat.tally,
            base: seat.save(),
        });
        State {
            id: self.id,
            secret: self.params.secret,
            credit: self.params.credit,
            feed: self.params.feed,
            now: self.now.clone(),
            master: self.master.save(),
            seats: seats.collect(),
            missed: self.now.guard.as_ref().map_or(Vec::new(), |guard| guard.missed.clone()),
        }
    }

    /// Continues from a snapshot of an ensemble that was built alike, as a [copy](crate::EnsembleParams::copy) of its own: it
    /// takes the tickets of the one that was saved, and hands out none of its ids. An ensemble that is beyond the
    /// snapshot itself becomes another copy. On error nothing changed.
    ///
    /// # Errors
    /// The snapshot is damaged, of something else or of another version, or the master or a base refuses its part.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), EnsembleError> {
        self.load_with(bytes, &[])
    }

    /// Continues from a snapshot of an ensemble that had not yet the bases of `new`, the last ones here, by name: each joins
    /// as after [`add`](Ensemble::add), with its share. On error nothing changed.
    ///
    /// # Errors
    /// As [`load`](Ensemble::load) and [`add`](Ensemble::add), or the last bases have other names.
    pub fn load_with(&mut self, bytes: &[u8], new: &[(&str, f64)]) -> Result<(), EnsembleError> {
        let mut state: State = snapshot::open(NAME, VERSION, bytes)?;
        if let Some(guard) = &mut state.now.guard {
            guard.missed = std::mem::take(&mut state.missed);
        }
        let old = self.seats.len().checked_sub(new.len()).ok_or(EnsembleError::Empty)?;
        if let Some((_, (name, _))) = (old..).zip(new).find(|(base, (name, _))| self.name(*base) != *name) {
            return Err(EnsembleError::NoSuchBase((*name).into()));
        }
        self.fits(&state, old)?;
        let before = self.state();
        let next = self.next_id();
        let mut joining = self.seats.split_off(old);
        let loaded = self.restore(&state).and_then(|()| {
            new.iter().try_for_each(|(_, share)| {
                self.seats.push(joining.remove(0));
                self.join(*share)
            })
        });
        if let Err(error) = loaded {
            // What was there a moment ago can be read back.
            self.seats.append(&mut joining);
            let _ = self.restore(&before);
            return Err(error);
        }
        if next.round > self.now.round {
            // The ids between were handed out by this copy.
            self.set_copy(next.seed(self.key()));
        }
        self.survey();
        // Each was loaded by itself. A base that fails here shows it when it is asked.
        let _ = self.introduce();
        Ok(())
    }

    /// As strict as a constructor would be. Comparisons are written so that NaN fails.
    fn fits(&self, state: &State, bases: usize) -> Result<(), SnapshotError> {
        let State { credit, feed, now, seats, .. } = state;
        let range = |r: f64| (1.0..f64::INFINITY).contains(&r);
        ensure(seats.len() == bases, format_args!("{} bases, where {bases} are expected", seats.len()))?;
        let same = (*credit, *feed) == (self.params.credit, self.params.feed);
        ensure(same, format_args!("credit {credit:?} and feed {feed:?} differ"))?;
        let guarded = match (&self.now.guard, &now.guard) {
            (Some(own), Some(read)) => own.admits(read),
            (own, read) => own.is_none() && read.is_none(),
        };
        ensure(guarded, "its guard is of another world")?;
        match (&self.now.features, &now.features) {
            (Some(own), Some(read)) => own.admits(read)?,
            (own, read) => ensure(own.is_none() && read.is_none(), "its features have other ranges")?,
        }
        ensure(now.losses.is_sound() && now.values.is_sound(), "its losses cannot be these")?;
        ensure(now.learned.is_sound(), "the rounds that were learned cannot be these")?;
        let told = range(now.range) && now.since <= now.round.max(now.home);
        ensure(told, format_args!("range {} since round {} of {}", now.range, now.since, now.round))?;
        for (base, seat) in seats.iter().enumerate() {
            ensure(range(seat.range), format_args!("base {base} has range {}", seat.range))?;
            ensure(seat.tally.is_sound(), format_args!("base {base} has weights or losses that cannot be"))?;
        }
        let mut listed = vec![false; bases];
        for Benched { base, .. } in &now.benched {
            let new = listed.get_mut(*base).is_some_and(|listed| !std::mem::replace(listed, true));
            ensure(new, format_args!("base {base} is benched twice, or does not exist"))?;
        }
        let agree = listed.iter().zip(seats).all(|(listed, seat)| *listed == seat.benched);
        ensure(agree, "the benched bases and their list differ")
    }

    fn restore(&mut self, state: &State) -> Result<(), EnsembleError> {
        let same = self.seats.len() == self.master.probabilities().len();
        match self.master.extra() {
            Some(extra) => extra.load_of(&state.master, self.seats.len())?,
            None if same => self.master.load(&state.master)?,
            None => return Err(MasterError::Fixed.into()),
        }
        self.weights.resize(self.seats.len(), 0.0);
        let bases = self.master.probabilities().len();
        if bases != self.seats.len() {
            return Err(EnsembleError::Bases { master: bases, bases: self.seats.len() });
        }
        for (base, (seat, saved)) in self.seats.iter_mut().zip(&state.seats).enumerate() {
            match seat.load(&saved.base) {
                Ok(()) => {}
                // A benched base may be in no state to be saved.
                Err(_) if saved.benched => {}
                Err(why) => return Err(EnsembleError::Base { base, why }),
            }
        }
        for (seat, saved) in self.seats.iter_mut().zip(&state.seats) {
            (seat.epoch, seat.range, seat.benched, seat.tally) =
                (saved.epoch, saved.range, saved.benched, saved.tally);
            seat.name.clone_from(&saved.name);
        }
        self.id = state.id;
        self.params.secret = state.secret.or(self.params.secret);
        self.now.clone_from(&state.now);
        Ok(())
    }
}
