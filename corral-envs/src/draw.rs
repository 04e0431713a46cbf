//! The randomness of one round as a value.

use std::convert::Infallible;

use corral_core::{Rng, box_muller, split_mix, uniform};
use rand::TryRng;
use rand::rand_core::utils::fill_bytes_via_next_word;

/// 2^64 divided by the golden ratio, made odd: the increment of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The randomness of one round: one 64-bit number of the generator. Everything that the round needs is derived from
/// it, and only when it is asked for, so that
/// - an environment draws exactly one number a round, whatever was played and however many arms there are;
/// - f_t is fixed by `next`, and can be evaluated anywhere, any number of times, with the same answer.
///
/// The `index`-th number is the `index`-th output of SplitMix64 (Steele, Lea, Flood 2014) started at the drawn seed,
/// which its counter makes addressable: numbers of one round are as independent as that generator's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw(u64);

impl Draw {
    /// Draws the seed of a round: one `next_u64`.
    #[inline]
    pub fn new(rng: &mut (impl Rng + ?Sized)) -> Self {
        Self(rng.next_u64())
    }

    /// The draw of a given seed.
    pub(crate) fn at(seed: u64) -> Self {
        Self(seed)
    }

    /// The round before the first.
    pub fn none() -> Self {
        Self(0)
    }

    /// What comes from the `index`-th number on.
    #[inline]
    fn from(self, index: u64) -> Stream {
        Stream(self.0.wrapping_add(STEP.wrapping_mul(index)))
    }

    /// The `index`-th 64 bits.
    #[inline]
    pub fn bits(self, index: u64) -> u64 {
        self.from(index).next_u64()
    }

    /// The `index`-th number as a uniform one in [0, 1).
    #[inline]
    pub fn uniform(self, index: u64) -> f64 {
        self.from(index).uniform()
    }

    /// The `index`-th standard normal number, by Box and Muller from numbers 2 `index` and 2 `index` + 1.
    #[inline]
    pub fn normal(self, index: u64) -> f64 {
        box_muller(self.uniform(2 * index), self.uniform(2 * index + 1))
    }

    /// A generator of its own for the `index`-th purpose, for as many numbers as are wanted.
    #[inline]
    pub fn stream(self, index: u64) -> Stream {
        Stream(self.bits(index))
    }
}

/// A small generator derived from a [`Draw`]: SplitMix64.
#[derive(Debug, Clone)]
pub struct Stream(u64);

impl Stream {
    /// A number uniform in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        uniform(self)
    }

    /// A standard normal number.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let radius = self.uniform();
        box_muller(radius, self.uniform())
    }

    /// An index below `n` (0 where `n` is 0); its bias is below n / 2^64.
    #[inline]
    pub fn index(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.next_u64() >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(split_mix(&mut self.0))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        fill_bytes_via_next_word(bytes, || self.try_next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // First outputs of SplitMix64 from seed 1234567, as published with its reference implementation.
        let mut stream = Stream(1_234_567);
        assert_eq!(stream.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(stream.next_u64(), 3_203_168_211_198_807_973);
        assert_eq!(Draw(1_234_567).bits(0), 6_457_827_717_110_365_317);
        assert_eq!(Draw(1_234_567).bits(1), 3_203_168_211_198_807_973);
    }

    /// Mean and variance of 2^16 numbers; each assertion fails by chance with probability below 1e-4 (4 standard
    /// errors) for a random seed.
    #[test]
    fn moments_are_those_of_the_laws() {
        let n = 1u64 << 16;
        let moments = |f: &dyn Fn(u64) -> f64| {
            let mean = (0..n).map(f).sum::<f64>() / n as f64;
            (mean, (0..n).map(|i| (f(i) - mean).powi(2)).sum::<f64>() / n as f64)
        };
        let draw = Draw(7);
        let (mean, var) = moments(&|i| draw.uniform(i));
        assert!((mean - 0.5).abs() < 4.0 * (1.0f64 / 12.0 / n as f64).sqrt(), "{mean}");
        assert!((var - 1.0 / 12.0).abs() < 4.0 * (1.0 / 180.0 / n as f64).sqrt(), "{var}");
        let (mean, var) = moments(&|i| draw.normal(i));
        assert!(mean.abs() < 4.0 / (n as f64).sqrt(), "{mean}");
        assert!((var - 1.0).abs() < 4.0 * (2.0 / n as f64).sqrt(), "{var}");
    }

    /// The same index of consecutive rounds, and neighbouring indices of one round, are not correlated: 4 standard
    /// errors, chance below 1e-4.
    #[test]
    fn neighbours_are_uncorrelated() {
        let n = 1u64 << 16;
        let mut seeds = Stream(99);
        let draws: Vec<Draw> = (0..=n).map(|_| Draw::new(&mut seeds)).collect();
        let correlation = |pair: &dyn Fn(usize) -> (f64, f64)| {
            (0..n as usize).map(pair).map(|(a, b)| (a - 0.5) * (b - 0.5) * 12.0).sum::<f64>() / n as f64
        };
        let bound = 4.0 / (n as f64).sqrt();
        assert!(correlation(&|t| (draws[t].uniform(0), draws[t].uniform(1))).abs() < bound);
        assert!(correlation(&|t| (draws[t].uniform(0), draws[t + 1].uniform(0))).abs() < bound);
        assert!(correlation(&|t| (draws[t].uniform(3), draws[t + 1].uniform(4))).abs() < bound);
    }

    #[test]
    fn an_index_stays_below_its_bound() {
        let mut stream = Stream(5);
        assert_eq!(stream.index(0), 0);
        assert_eq!(stream.index(1), 0);
        let mut seen = [0; 3];
        (0..3000).for_each(|_| seen[stream.index(3)] += 1);
        assert!(seen.iter().all(|n| (880..1120).contains(n)), "{seen:?}");
    }
}
