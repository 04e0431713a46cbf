//! Snapshots of an ensemble: the master, every base, and what the ensemble itself remembers.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::{Crediting, Ensemble, EnsembleError, Feed, Guard, Learned, Tally};
use crate::snapshot::{self, SnapshotError};
use crate::{Benched, Master};

const NAME: &str = "ensemble";
const VERSION: u16 = 3;

#[derive(Serialize, Deserialize)]
struct State {
    id: u64,
    credit: Crediting,
    feed: Feed,
    range: f64,
    remaining: Option<u64>,
    since: u64,
    round: u64,
    home: u64,
    learned: Learned,
    clipped: u64,
    guard: Option<Guard>,
    era: u64,
    #[serde(deserialize_with = "snapshot::untrusted")]
    benched: Vec<Benched>,
    master: Vec<u8>,
    #[serde(deserialize_with = "snapshot::untrusted")]
    seats: Vec<SeatState>,
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
    /// A number that depends on how the ensemble was built, and on how many were built before it: two that are built alike
    /// do not take each other's tickets.
    pub(super) fn fingerprint(&self) -> u64 {
        static BUILT: AtomicU64 = AtomicU64::new(0);
        let instance = BUILT.fetch_add(1, Ordering::Relaxed);
        snapshot::checksum(&[&self.save()[..], &instance.to_le_bytes()].concat())
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
            credit: self.params.credit,
            feed: self.params.feed,
            range: self.range,
            remaining: self.remaining,
            since: self.since,
            round: self.round,
            home: self.home,
            learned: self.learned.clone(),
            clipped: self.clipped,
            guard: self.guard.clone(),
            era: self.era,
            benched: self.benched.clone(),
            master: self.master.save(),
            seats: seats.collect(),
        }
    }

    /// Continues from a snapshot of an ensemble that was built alike. On error nothing changed.
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
        let state: State = snapshot::open(NAME, VERSION, bytes)?;
        let old = self.seats.len().checked_sub(new.len()).ok_or(EnsembleError::Empty)?;
        if let Some((_, (name, _))) = (old..).zip(new).find(|(base, (name, _))| self.name(*base) != *name) {
            return Err(EnsembleError::NoSuchBase((*name).into()));
        }
        self.check(&state, old).map_err(SnapshotError::State)?;
        let before = self.state();
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
        self.survey();
        Ok(())
    }

    /// As strict as a constructor would be. Comparisons are written so that NaN fails.
    fn check(&self, state: &State, bases: usize) -> Result<(), String> {
        let range = |r: f64| (1.0..f64::INFINITY).contains(&r);
        if state.seats.len() != bases {
            return Err(format!("{} bases, where {bases} are expected", state.seats.len()));
        }
        if (state.credit, state.feed) != (self.params.credit, self.params.feed) {
            return Err(format!("credit {:?} and feed {:?} differ", state.credit, state.feed));
        }
        let guarded = match (&self.guard, &state.guard) {
            (Some(own), Some(read)) => own.admits(read),
            (own, read) => own.is_none() && read.is_none(),
        };
        if !guarded {
            return Err("its guard is of another world".into());
        }
        if !state.learned.is_sound() {
            return Err("the rounds that were learned cannot be these".into());
        }
        if !range(state.range) || state.since > state.round.max(state.home) {
            return Err(format!("range {} since round {} of {}", state.range, state.since, state.round));
        }
        for (base, seat) in state.seats.iter().enumerate() {
            if !range(seat.range) {
                return Err(format!("base {base} has range {}", seat.range));
            }
            if !seat.tally.is_sound() {
                return Err(format!("base {base} has weights or losses that cannot be"));
            }
        }
        let mut listed = vec![false; bases];
        for entry in &state.benched {
            match listed.get_mut(entry.base) {
                Some(listed) if !*listed => *listed = true,
                _ => return Err(format!("base {} is benched twice, or does not exist", entry.base)),
            }
        }
        if listed.iter().zip(&state.seats).any(|(listed, seat)| *listed != seat.benched) {
            return Err("the benched bases and their list differ".into());
        }
        Ok(())
    }

    fn restore(&mut self, state: &State) -> Result<(), EnsembleError> {
        self.master.load_of(&state.master, self.seats.len())?;
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
        (self.id, self.range, self.remaining) = (state.id, state.range, state.remaining);
        (self.since, self.round, self.era) = (state.since, state.round, state.era);
        (self.home, self.clipped) = (state.home, state.clipped);
        self.learned.clone_from(&state.learned);
        self.guard.clone_from(&state.guard);
        self.benched.clone_from(&state.benched);
        Ok(())
    }
}
