//! A generator that can be played again.

use std::convert::Infallible;

use rand_core::TryRng;

/// SplitMix64 with a count of what was drawn: two tapes of one seed give the same numbers. For tests of bases only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tape {
    state: u64,
    drawn: u64,
}

impl Tape {
    /// The tape of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed, drawn: 0 }
    }

    /// How often it was asked.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }
}

impl TryRng for Tape {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|v| (v >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.drawn += 1;
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Ok(z ^ (z >> 31))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let Ok(value) = self.try_next_u64();
            chunk.copy_from_slice(&value.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}
