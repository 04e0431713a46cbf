//! Which decisions were rewarded.

use std::collections::BTreeMap;

use corral_core::TicketId;
use serde::{Deserialize, Serialize};

/// Rounds of one block.
const BLOCK: u64 = 4096;
const BYTES: usize = BLOCK as usize / 8;

/// Which decisions were rewarded: a bit for each round of each copy. It is bounded: where there are too many blocks the
/// oldest goes, and with it whether its decisions were rewarded; they are [late](Rewarded::is_late) from then on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rewarded {
    blocks: BTreeMap<(u64, u64), Vec<u8>>,
    /// Copy and block before which nothing is known any more. Copies are numbered in the order in which they began.
    floor: (u64, u64),
    most: usize,
}

fn place(id: TicketId) -> ((u64, u64), usize, u8) {
    let at = id.round % BLOCK;
    ((id.copy, id.round / BLOCK), at as usize / 8, 1 << (at % 8))
}

impl Rewarded {
    /// Remembers `blocks` times 4,096 decisions, in half a kilobyte for each block.
    pub fn new(blocks: usize) -> Self {
        Self { blocks: BTreeMap::new(), floor: (0, 0), most: blocks.max(1) }
    }

    /// Whether a decision was rewarded.
    pub fn has(&self, id: TicketId) -> bool {
        let (block, byte, bit) = place(id);
        self.blocks.get(&block).and_then(|bytes| bytes.get(byte)).is_some_and(|b| b & bit != 0)
    }

    /// Whether it is too old to know.
    pub fn is_late(&self, id: TicketId) -> bool {
        place(id).0 < self.floor
    }

    /// Notes that a decision was rewarded; says whether it was not before.
    pub fn add(&mut self, id: TicketId) -> bool {
        let (block, byte, bit) = place(id);
        let bytes = self.blocks.entry(block).or_insert_with(|| vec![0; BYTES]);
        let Some(found) = bytes.get_mut(byte) else { return false };
        let new = *found & bit == 0;
        *found |= bit;
        if self.blocks.len() > self.most
            && let Some(((copy, block), _)) = self.blocks.pop_first()
        {
            self.floor = (copy, block + 1);
        }
        new
    }

    /// Whether this can be what was saved.
    pub(crate) fn is_sound(&self) -> bool {
        self.most > 0 && self.blocks.len() <= self.most && self.blocks.values().all(|b| b.len() == BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_block_goes_and_its_decisions_are_late() {
        let id = |copy, round| TicketId { band: 7, copy, round };
        let mut rewarded = Rewarded::new(2);
        assert!(rewarded.add(id(1, 5)) && !rewarded.add(id(1, 5)) && rewarded.has(id(1, 5)));
        assert!(!rewarded.has(id(1, 6)) && !rewarded.has(id(2, 5)));
        rewarded.add(id(1, 4096));
        rewarded.add(id(2, 0));
        assert!(rewarded.is_late(id(1, 4095)) && !rewarded.is_late(id(1, 4096)) && rewarded.has(id(1, 4096)));
    }
}
