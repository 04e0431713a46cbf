//! Which ids were there before.

use std::collections::BTreeMap;

use corral_core::TicketId;

/// Rounds of one block.
const BLOCK: u64 = 4096;
/// Blocks that are kept: 16 MB, or 134 million rounds in a row. The oldest goes first.
const BLOCKS: usize = 32_768;

/// A block: its rounds, its band and its copy; and a bit for each of its rounds.
type Key = (u64, u64, u64);
type Bits = Box<[u64; BLOCK as usize / 64]>;

/// Which ids were there: a bit for each round of each copy.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    blocks: BTreeMap<Key, Bits>,
    /// The block of the last id, which is that of most next ones too.
    last: Option<(Key, Bits)>,
}

impl Seen {
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
