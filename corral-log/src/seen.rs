//! Which ids were there before.

use std::collections::BTreeMap;

use corral_core::TicketId;

/// Rounds of one block.
const BLOCK: u64 = 4096;
/// Blocks that are kept: 16 MB, or 134 million rounds in a row. The oldest goes first.
const BLOCKS: usize = 32_768;

/// Which ids were there: a bit for each round of each copy.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    blocks: BTreeMap<(u64, u64, u64), Box<[u64; BLOCK as usize / 64]>>,
}

impl Seen {
    /// Adds an id; whether it was there.
    pub fn add(&mut self, id: TicketId) -> bool {
        let block =
            self.blocks.entry((id.round / BLOCK, id.band, id.copy)).or_insert_with(|| Box::new([0; 64]));
        let at = (id.round % BLOCK) as usize;
        let (word, bit) = (&mut block[at / 64], 1u64 << (at % 64));
        let was = *word & bit != 0;
        *word |= bit;
        if self.blocks.len() > BLOCKS {
            self.blocks.pop_first();
        }
        was
    }
}
