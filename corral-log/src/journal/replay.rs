//! The start of a journal: from its snapshot, and the lines after it.

use std::io::{self, BufRead, Read};

use corral_core::{
    Base, Context, Ensemble, EnsembleError, Master, Pending, SnapshotError, TokenError, snapshot,
};
use serde::{Deserialize, Serialize};

use super::state::State;
use super::{Journal, JournalError, Store, Written};
use crate::{Chain, Member, Record, Start};

const NAME: &str = "journal";
const VERSION: u16 = 1;
/// The longest line that is read.
const LONGEST: u64 = 64 << 20;

/// Builds the base of a line `add` or `replace`, from the name and the parameters that it was added with.
pub type Builder<'a, D> = &'a dyn Fn(&Member) -> Result<Box<dyn Base<Context, D>>, String>;

/// What was found at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The lines after the snapshot, which were played again.
    pub lines: u64,
    /// The bytes of a last line that was never answered: they were cut off.
    pub cut: u64,
    /// Why they were.
    pub why: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    /// The bytes of the log that it holds, and the value of its chain there.
    length: u64,
    chain: u128,
    band: Vec<u8>,
    pending: Vec<u8>,
    /// As JSON: parameters of bases have no other form.
    members: String,
}

impl<D: Written, M: Master, S: Store> Journal<D, M, S> {
    /// Starts from what is in `store`, or begins there. `band` is as it was built at first; at most `capacity` decisions wait.
    /// Bases that came later are built by `build`.
    ///
    /// The band goes on as a copy of its own, unless it was built with the number that it had.
    ///
    /// # Errors
    /// The band has no secret; what is in the store cannot be read, is damaged, or is not what this band wrote: the line is
    /// named. Nothing is cut off then.
    pub fn open(
        band: Ensemble<Context, D, M>,
        capacity: usize,
        store: S,
        build: Builder<'_, D>,
    ) -> Result<(Self, Recovered), JournalError> {
        let state = State { band, pending: Pending::new(capacity), members: Vec::new() };
        let secret = state.band.params().secret.ok_or(TokenError::NoSecret)?.get();
        let (chain, owed) = (Chain::new(secret), Vec::new());
        let mut journal = Self { state, store, chain, length: 0, torn: false, owed };
        let mut recovered = Recovered::default();
        match journal.store.snapshot()? {
            None => journal.begin()?,
            Some(saved) => {
                let own = journal.state.band.next_id().copy;
                journal.restore(&saved, build)?;
                recovered = journal.replay(build)?;
                journal.state.band.set_copy(own);
            }
        }
        if journal.length == 0 {
            let band = &journal.state.band;
            let bases = (0..band.len()).map(|base| band.name(base)).collect();
            let start = Start { bases, scale: band.params().scale, ..Start::new(band.id()) };
            journal.append(&[Record::Start(start)])?;
        }
        Ok((journal, recovered))
    }

    /// A new log. The snapshot is first: it has the secret of the chain.
    fn begin(&mut self) -> Result<(), JournalError> {
        let there = io::copy(&mut self.store.read(0)?, &mut io::sink())?;
        if there == 0 { self.save() } else { Err(JournalError::NoSnapshot(there)) }
    }

    /// Saves the state: the next start begins here, and plays only the lines after it.
    ///
    /// # Errors
    /// It could not be written: the snapshot before is still there.
    pub fn save(&mut self) -> Result<(), JournalError> {
        self.settle()?;
        // The snapshot may not be ahead of the log.
        self.store.sync()?;
        let saved = Saved {
            length: self.length,
            chain: self.chain.value(),
            band: self.state.band.save(),
            pending: self.state.pending.save()?,
            members: serde_json::to_string(&self.state.members).map_err(io::Error::from)?,
        };
        Ok(self.store.save(&snapshot::seal(NAME, VERSION, &saved))?)
    }

    fn restore(&mut self, saved: &[u8], build: Builder<'_, D>) -> Result<(), JournalError> {
        let saved: Saved = snapshot::open(NAME, VERSION, saved)?;
        let members: Vec<Member> = serde_json::from_str(&saved.members).map_err(SnapshotError::state)?;
        for member in members {
            let new = State::<D, M>::build(&member, build)?;
            self.state.change(member, new)?;
        }
        self.state.band.load(&saved.band)?;
        self.state.pending = Pending::load(&saved.pending)?;
        (self.length, self.chain) = (saved.length, Chain::after(self.state.secret(), saved.chain));
        Ok(())
    }

    /// Plays the lines after the snapshot. A last line that is not whole was never answered, and neither was one that the
    /// master could not solve.
    fn replay(&mut self, build: Builder<'_, D>) -> Result<Recovered, JournalError> {
        let Self { state, store, chain, length, .. } = self;
        let mut recovered = Recovered::default();
        let mut log = store.read(*length)?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = log.by_ref().take(LONGEST).read_until(b'\n', &mut line)? as u64;
            if read == 0 {
                break;
            }
            let last = log.fill_buf()?.is_empty();
            let place = (recovered.lines + 1, *length);
            let wrong = |why: String| JournalError::Line { line: place.0, at: place.1, why };
            if line.pop_if(|byte| *byte == b'\n').is_none() {
                if !last {
                    return Err(wrong("it is longer than any record".into()));
                }
                (recovered.cut, recovered.why) = (read, Some("the log ends within the last line".into()));
                break;
            }
            let before = *chain;
            chain.check(&line).map_err(|broken| wrong(broken.to_string()))?;
            let record = Record::read(&line).map_err(|error| wrong(error.to_string()))?;
            match state.play(record, build) {
                Ok(()) => {}
                Err(JournalError::Band(EnsembleError::Master(why))) if last => {
                    (*chain, recovered.cut, recovered.why) = (before, read, Some(why.to_string()));
                    break;
                }
                Err(JournalError::Line { why, .. }) => return Err(wrong(why)),
                Err(error) => return Err(wrong(error.to_string())),
            }
            *length += read;
            recovered.lines += 1;
        }
        drop(log);
        if recovered.cut > 0 {
            self.store.cut(self.length)?;
        }
        Ok(recovered)
    }
}
