//! A generator that can be played again.

use std::convert::Infallible;

use rand_core::TryRng;
use rand_core::utils::fill_bytes_via_next_word;

use crate::split_mix;

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
        Ok(split_mix(&mut self.state))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        fill_bytes_via_next_word(bytes, || self.try_next_u64())
    }
}
