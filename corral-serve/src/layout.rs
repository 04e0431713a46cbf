//! The names of what a band has in the store.

use std::ops::Range;

use sha2::{Digest, Sha256};

/// The names of one band.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    band: String,
}

impl Layout {
    pub fn of(band: &str) -> Self {
        Self { band: format!("bands/{band}") }
    }

    /// What the band was built from, its id and its secret: written once.
    pub fn origin(&self) -> String {
        format!("{}/origin", self.band)
    }

    pub fn segments(&self) -> String {
        format!("{}/segments", self.band)
    }

    pub fn segment(&self, number: u64) -> String {
        format!("{}/segments/{number:08}.jsonl", self.band)
    }

    /// The folder of the tickets that are kept for clients.
    pub fn tickets(&self) -> String {
        format!("{}/tickets", self.band)
    }

    pub fn ticket_segment(&self, number: u64) -> String {
        format!("{}/tickets/{number:08}.txt", self.band)
    }

    /// The folder of decisions, where all of them are logged.
    pub fn decisions(&self) -> String {
        format!("{}/decisions", self.band)
    }

    pub fn decision_segment(&self, number: u64) -> String {
        format!("{}/decisions/{number:08}.jsonl", self.band)
    }

    pub fn segment_number(name: &str) -> Option<u64> {
        name.split_once('.')?.0.parse().ok()
    }

    pub fn folds(&self) -> String {
        format!("{}/folds", self.band)
    }

    pub fn fold(&self, number: u64) -> String {
        format!("{}/folds/{number:012}", self.band)
    }

    /// The folder of folds that are put together.
    pub fn packs(&self) -> String {
        format!("{}/packs", self.band)
    }

    pub fn pack(&self, folds: &Range<u64>) -> String {
        format!("{}/packs/{:012}-{:012}", self.band, folds.start, folds.end)
    }

    /// The folds of a pack, from its name.
    pub fn pack_range(name: &str) -> Option<Range<u64>> {
        let (start, end) = name.split_once('-')?;
        Some(start.parse().ok()?..end.parse().ok()?)
    }

    /// The folder of the states that the learner starts from.
    pub fn snapshots(&self) -> String {
        format!("{}/snapshots", self.band)
    }

    /// The folder of the states that front ends load.
    pub fn states(&self) -> String {
        format!("{}/states", self.band)
    }
}

/// The name of a state after `fold` folds: it has the hash of its content, by which a damaged one is found.
pub(crate) fn state_name(fold: u64, bytes: &[u8]) -> String {
    format!("{fold:012}-{}", digest(bytes))
}

/// The first half of the SHA-256 of some bytes, in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The number of folds in the name of a state.
pub(crate) fn state_fold(name: &str) -> Option<u64> {
    name.split_once('-')?.0.parse().ok()
}
