//! Which ids were there before.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use corral_core::TicketId;

use crate::{Row, blocks, parse_id};

/// Rounds of one block.
const BLOCK: u64 = 4096;
/// Blocks that are kept: 16 MB, or 134 million rounds in a row. The oldest goes first.
const BLOCKS: usize = 32_768;
/// Of ids that are not ours a hash is kept, of so many rows: 14 MB. Two of a million differ and have one with probability 1e-12.
const WINDOW: usize = 500_000;

/// A block: its rounds, its band and its copy; and a bit for each of its rounds.
type Key = (u64, u64, u64);
type Bits = Box<[u64; BLOCK as usize / 64]>;

/// The hash of a hash.
#[derive(Debug, Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Which ids were there: a bit for each round of each copy; of ids from elsewhere, those of the last rows.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    blocks: BTreeMap<Key, Bits>,
    /// The block of the last id, which is that of most next ones too.
    last: Option<(Key, Bits)>,
    /// Hashes of ids from elsewhere, in their order.
    order: VecDeque<u64>,
    hashes: HashSet<u64, BuildHasherDefault<Itself>>,
}

impl Seen {
    /// Adds the id of a row, or the key that it has in its place; whether it was there. A row may have neither.
    pub fn add_row(&mut self, row: &Row) -> bool {
        match (&row.id, &row.key) {
            (Some(id), _) => self.add(*id),
            (None, Some(key)) => self.add_text(key),
            (None, None) => false,
        }
    }

    /// Adds an id as text, ours or from elsewhere; whether it was there.
    pub fn add_text(&mut self, text: &str) -> bool {
        if let Some(id) = parse_id(text) {
            return self.add(id);
        }
        let hash = blocks::hash(text);
        if !self.hashes.insert(hash) {
            return true;
        }
        self.order.push_back(hash);
        if self.order.len() > WINDOW
            && let Some(oldest) = self.order.pop_front()
        {
            self.hashes.remove(&oldest);
        }
        false
    }

    /// Adds an id; whether it was there.
    pub fn add(&mut self, id: TicketId) -> bool {
        let key = (id.round / BLOCK, id.band, id.copy);
        if self.last.as_ref().is_none_or(|(last, _)| *last != key) {
            let bits = self.blocks.remove(&key).unwrap_or_else(|| Box::new([0; 64]));
            self.blocks.extend(self.last.replace((key, bits)));
            if self.blocks.len() > BLOCKS {
                self.blocks.pop_first();
            }
        }
        let Some((_, bits)) = &mut self.last else { return false };
        let at = (id.round % BLOCK) as usize;
        let (word, bit) = (&mut bits[at / 64], 1u64 << (at % 64));
        let was = *word & bit != 0;
        *word |= bit;
        was
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids from elsewhere are known again within the window, in memory that does not grow.
    #[test]
    fn the_last_ids_from_elsewhere_are_kept() {
        let mut seen = Seen::default();
        let text = |t: usize| format!("event {t}");
        assert!((0..WINDOW + 10).all(|t| !seen.add_text(&text(t))));
        assert!(seen.add_text(&text(10)) && seen.add_text(&text(WINDOW + 9)) && !seen.add_text(&text(0)));
        assert_eq!((seen.order.len(), seen.hashes.len()), (WINDOW, WINDOW));
    }
}
