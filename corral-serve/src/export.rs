//! The log of a band: what was learned, in the order in which it was, as one chain.

use std::sync::Arc;

use corral_log::{Reader, Record, Writer};

use crate::error::ServeError;
use crate::event::Lines;
use crate::folds::{Folds, Part};
use crate::layout::Layout;
use crate::store::Store;

/// Gives the log fold by fold: lines of `corral log`.
pub struct Export {
    store: Arc<dyn Store>,
    layout: Layout,
    folds: Folds,
    fold: u64,
    started: bool,
    chain: corral_log::Chain,
}

impl Export {
    /// The log of a band in a store.
    pub fn of(store: Arc<dyn Store>, band: &str) -> Self {
        let layout = Layout::of(band);
        let folds = Folds::new(store.clone(), layout.clone());
        Self { store, layout, folds, fold: 0, started: false, chain: corral_log::Chain::new(0) }
    }

    /// The number of the next fold.
    pub(crate) fn next_number(&self) -> u64 {
        self.fold
    }

    fn part(&mut self) -> Result<Option<Vec<u8>>, ServeError> {
        let parts = match self.folds.get(self.fold)?.0 {
            Some(parts) => parts,
            // The first ones may have been removed.
            None => match self.folds.next_from(self.fold)? {
                Some(next) if next > self.fold => {
                    self.fold = next;
                    return self.part();
                }
                _ => return Ok(None),
            },
        };
        self.fold += 1;
        let mut lines = Writer::with(Vec::new(), self.chain);
        for Part { segment, from, to, .. } in parts {
            let name = self.layout.segment(segment);
            let mut bytes = self.store.read(&name, from, (to - from) as usize)?;
            if !self.started && from > 0 {
                // It begins in the middle of a segment: that has the first line.
                let mut begins = self.store.read(&name, 0, from as usize)?;
                let first = Lines::of(&begins).next().map_or(0, |(place, _)| place.end);
                begins.truncate(first);
                bytes.splice(..0, begins);
            }
            let mut reader = Reader::new(&bytes[..]).strict(true);
            let damaged = |e: corral_log::ReadError| ServeError::Damaged {
                name: name.clone(),
                at: from,
                why: e.to_string(),
            };
            while let Some(record) = reader.read().map_err(damaged)? {
                // Each segment begins with the same line.
                if matches!(record, Record::Start(_)) && std::mem::replace(&mut self.started, true) {
                    continue;
                }
                lines.write(&record)?;
            }
        }
        self.chain = lines.chain();
        Ok(Some(lines.into_inner()))
    }
}

impl Iterator for Export {
    type Item = Result<Vec<u8>, ServeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.part().transpose()
    }
}
