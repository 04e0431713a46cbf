//! Folds: which lines of which segments were learned, in which order.
//!
//! Fold number n is a file that is created once. Folds before the last snapshot but one, the floor, are needed by no start: they
//! are put together in packs, or removed. A learner that is so far behind that it creates a file under the number of a fold
//! that was taken away finds itself behind the floor: that is why the floor is looked at after the file.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::error::ServeError;
use crate::layout::{Layout, state_fold};
use crate::lock::lock;
use crate::store::Store;

/// Snapshots that are kept: the last, and one before it in case the last is damaged.
pub(crate) const KEPT: usize = 2;

/// A range of a segment that a fold takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub segment: u64,
    pub from: u64,
    pub to: u64,
    /// The segment ends here for good.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Fold {
    fold: u64,
    parts: Vec<Part>,
}

/// The folds of one band.
#[derive(Clone)]
pub(crate) struct Folds {
    store: Arc<dyn Store>,
    layout: Layout,
    /// The pack that was read last: whoever reads one fold of it reads the next ones too, and it never changes.
    pack: Arc<Mutex<Option<Pack>>>,
}

type Pack = (Range<u64>, Vec<Fold>);

fn damaged(name: String, why: impl ToString) -> ServeError {
    ServeError::Damaged { name, at: 0, why: why.to_string() }
}

impl Folds {
    pub fn new(store: Arc<dyn Store>, layout: Layout) -> Self {
        Self { store, layout, pack: Arc::default() }
    }

    /// The number of folds that the last snapshot but one covers; it never falls.
    pub fn floor(&self) -> Result<u64, ServeError> {
        let names = self.store.list(&self.layout.snapshots())?;
        Ok(names.iter().rev().filter_map(|name| state_fold(name)).nth(KEPT - 1).unwrap_or(0))
    }

    /// The parts of a fold, where it was committed and is there, and whether it is before the floor.
    pub fn get(&self, number: u64) -> Result<(Option<Vec<Part>>, bool), ServeError> {
        let name = self.layout.fold(number);
        let file = self.store.get(&name)?;
        let behind = number < self.floor()?;
        if let (Some(bytes), false) = (&file, behind) {
            return Ok((Some(read(name, bytes)?.parts), behind));
        }
        let parts = match self.packed(number)? {
            Some(parts) => Some(parts),
            None => file.map(|bytes| read(name, &bytes)).transpose()?.map(|fold| fold.parts),
        };
        Ok((parts, behind))
    }

    /// Commits a fold; `false`: another learner did, and what is there may be another.
    pub fn commit(&self, fold: u64, parts: Vec<Part>) -> Result<bool, ServeError> {
        let name = self.layout.fold(fold);
        let bytes =
            serde_json::to_vec(&Fold { fold, parts }).map_err(|e| ServeError::Store(e.to_string()))?;
        if !self.store.create(&name, &bytes)? {
            return Ok(false);
        }
        if fold < self.floor()? {
            // Its number was free because the fold of that number was taken away.
            self.store.delete(&name)?;
            return Ok(false);
        }
        Ok(true)
    }

    /// The first fold from `number` on that is there, where some are.
    pub fn next_from(&self, number: u64) -> Result<Option<u64>, ServeError> {
        let files = self.files()?.into_iter().find(|file| *file >= number);
        let packs = self.packs()?.into_iter().find(|pack| pack.end > number);
        Ok(files.into_iter().chain(packs.map(|pack| pack.start.max(number))).min())
    }

    /// Takes away the files of folds before the floor; with `keep` they are put into a pack first.
    pub fn compact(&self, keep: bool) -> Result<(), ServeError> {
        let floor = self.floor()?;
        let old: Vec<u64> = self.files()?.into_iter().filter(|number| *number < floor).collect();
        if keep {
            let mut folds = Vec::with_capacity(old.len());
            for number in &old {
                let name = self.layout.fold(*number);
                // Another learner may be at it: then it does the rest.
                let Some(bytes) = self.store.get(&name)? else { return Ok(()) };
                folds.push(read(name, &bytes)?);
            }
            // What is packed stays as it is.
            let packs = self.packs()?;
            folds.retain(|fold| !packs.iter().any(|pack| pack.contains(&fold.fold)));
            for run in folds.chunk_by(|a, b| a.fold + 1 == b.fold) {
                let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
                let bytes = serde_json::to_vec(run).map_err(|e| ServeError::Store(e.to_string()))?;
                self.store.create(&self.layout.pack(&(first.fold..last.fold + 1)), &bytes)?;
            }
        }
        old.iter().try_for_each(|number| self.store.delete(&self.layout.fold(*number)))?;
        Ok(())
    }

    fn files(&self) -> Result<Vec<u64>, ServeError> {
        Ok(self.store.list(&self.layout.folds())?.iter().filter_map(|name| name.parse().ok()).collect())
    }

    fn packs(&self) -> Result<Vec<Range<u64>>, ServeError> {
        Ok(self
            .store
            .list(&self.layout.packs())?
            .iter()
            .filter_map(|name| Layout::pack_range(name))
            .collect())
    }

    fn packed(&self, number: u64) -> Result<Option<Vec<Part>>, ServeError> {
        let mut last = lock(&self.pack);
        if last.as_ref().is_none_or(|(range, _)| !range.contains(&number)) {
            let Some(range) = self.packs()?.into_iter().find(|pack| pack.contains(&number)) else {
                return Ok(None);
            };
            let name = self.layout.pack(&range);
            let Some(bytes) = self.store.get(&name)? else { return Ok(None) };
            *last = Some((range, serde_json::from_slice(&bytes).map_err(|e| damaged(name, e))?));
        }
        let Some((range, folds)) = &*last else { return Ok(None) };
        // They are in order, without gaps.
        let fold = folds.get((number - range.start) as usize).filter(|fold| fold.fold == number);
        let missing = || damaged(self.layout.pack(range), format!("fold {number} is not in its place"));
        fold.map(|fold| Some(fold.parts.clone())).ok_or_else(missing)
    }
}

fn read(name: String, bytes: &[u8]) -> Result<Fold, ServeError> {
    serde_json::from_slice(bytes).map_err(|e| damaged(name, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Directory;

    /// A log of many folds is read in one pass: a pack is not read again for each of its folds.
    #[test]
    fn a_pack_is_read_once() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Arc::new(Directory::open(folder.path()).unwrap());
        let layout = Layout::of("x");
        let folds = Folds::new(Arc::clone(&store) as Arc<dyn Store>, layout.clone());
        let part = |from: u64| vec![Part { segment: 1, from, to: from + 1, cut: false }];
        for fold in 0..9 {
            assert!(folds.commit(fold, part(fold)).unwrap());
        }
        for covered in [8, 9] {
            assert!(store.create(&format!("{}/{covered:012}-0", layout.snapshots()), b"").unwrap());
        }
        folds.compact(true).unwrap();
        assert_eq!(folds.get(0).unwrap(), (Some(part(0)), true));
        store.delete(&layout.pack(&(0..8))).unwrap();
        for fold in 1..8 {
            assert_eq!(folds.get(fold).unwrap(), (Some(part(fold)), true));
        }
        assert_eq!(Folds::new(store, layout).get(3).unwrap(), (None, true), "it was there");
    }

    /// A learner that slept while folds were taken away finds their numbers free, and must not learn under them again.
    #[test]
    fn a_fold_behind_the_floor_is_not_committed() {
        for keep in [true, false] {
            let folder = tempfile::TempDir::new().unwrap();
            let store = Arc::new(Directory::open(folder.path()).unwrap());
            let layout = Layout::of("x");
            let folds = Folds::new(Arc::clone(&store) as Arc<dyn Store>, layout.clone());
            let part = |from: u64| vec![Part { segment: 1, from, to: from + 1, cut: false }];
            for fold in 0..4 {
                assert!(folds.commit(fold, part(fold)).unwrap());
                assert!(!folds.commit(fold, part(7)).unwrap());
            }
            for covered in [3, 4] {
                let name = format!("{}/{covered:012}-0", layout.snapshots());
                assert!(store.create(&name, b"").unwrap());
            }
            assert_eq!(folds.floor().unwrap(), 3);
            folds.compact(keep).unwrap();
            assert!(!folds.commit(1, part(7)).unwrap(), "a number that is free again was taken");
            let (parts, behind) = folds.get(1).unwrap();
            assert_eq!((parts, behind), (keep.then(|| part(1)), true));
            assert_eq!(folds.get(3).unwrap(), (Some(part(3)), false));
            assert!(folds.commit(4, part(4)).unwrap());
        }
    }
}
