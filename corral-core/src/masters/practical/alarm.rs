//! Whether the losses of a band have risen: what was good has turned bad.
//!
//! The last block of 32, 64, 128, ... losses is held against the up to four blocks of that length before it, whenever one is full. With k
//! losses of mean r in it, n of mean o before it and q the mean of all, the alarm rings where r > o and
//!
//! ```text
//! k kl(r, q) + n kl(o, q) > ln(t + t0) + 2
//! ```
//!
//! with t the losses since it last rang, and kl the divergence of two Bernoulli laws: a likelihood-ratio test of one mean against two.
//! The losses of a band that learns fall, and ring nothing.

use serde::{Deserialize, Serialize};

use crate::relative_entropy;
use crate::snapshot::counted;

/// The length of the shortest block.
const SHORTEST: u64 = 32;
/// Lengths of blocks: up to 32 * 2^15 losses, a million.
const LENGTHS: usize = 16;
/// Blocks that are kept of each length: the last one, and those that it is held against.
const KEPT: usize = 5;

/// Listens to the losses of a band, in [0, 1].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Alarm {
    /// Sums of the last blocks of each length, the last one first.
    blocks: [[f64; KEPT]; LENGTHS],
    /// The sum of the losses since the last block.
    sum: f64,
    /// Losses since it last rang.
    losses: u64,
}

impl Alarm {
    /// Takes in a loss. Whether the alarm rings; it then begins anew.
    pub fn hear(&mut self, loss: f64, offset: f64) -> bool {
        self.sum += loss;
        self.losses += 1;
        let mut length = SHORTEST;
        let mut rings = false;
        for kept in &mut self.blocks {
            if !self.losses.is_multiple_of(length) {
                break;
            }
            kept.rotate_right(1);
            kept[0] = std::mem::take(&mut self.sum);
            let before = (self.losses / length - 1).min(KEPT as u64 - 1);
            rings |=
                before > 0 && rose(kept, length as f64, before as usize, (self.losses as f64 + offset).ln());
            // Two blocks are one of the next length, where that is full too.
            self.sum = kept[0] + kept[1];
            length *= 2;
        }
        if self.losses.is_multiple_of(SHORTEST) {
            self.sum = 0.0;
        }
        if rings {
            *self = Self::default();
        }
        rings
    }

    /// Whether this can be a state of it.
    pub fn is_sound(&self) -> bool {
        let sums = self.blocks.iter().flatten().chain([&self.sum]);
        counted(self.losses).is_ok() && sums.into_iter().all(|sum| (0.0..f64::INFINITY).contains(sum))
    }
}

/// Whether the first of these blocks has a higher mean than the `before` next ones.
fn rose(blocks: &[f64; KEPT], length: f64, before: usize, ln_t: f64) -> bool {
    let (last, earlier) = (blocks[0], blocks[1..=before].iter().sum::<f64>());
    let count = length * before as f64;
    // Sums of numbers in [0, 1] may be above their count by rounding.
    let mean = |sum: f64, count: f64| (sum / count).min(1.0);
    let (new, old, all) = (mean(last, length), mean(earlier, count), mean(last + earlier, length + count));
    new > old && length * relative_entropy(new, all) + count * relative_entropy(old, all) > ln_t + 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In which rounds it rings, where every `period(t)`-th loss is 1 and the others are 0.
    fn rings(rounds: u64, period: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut alarm = Alarm::default();
        (1..=rounds)
            .filter(|t| alarm.hear(f64::from(u8::from(t.is_multiple_of(period(*t)))), 256.0))
            .collect()
    }

    #[test]
    fn it_rings_when_losses_rise_and_only_then() {
        assert!(rings(100_000, |_| 5).is_empty(), "losses that stay");
        assert!(rings(10_000, |t| if t < 5_000 { 2 } else { 5 }).is_empty(), "losses that fall");
        // 0.2 becomes 0.5.
        let [rung] = rings(10_000, |t| if t < 5_000 { 5 } else { 2 })[..] else { panic!("once") };
        assert!((5_000..5_200).contains(&rung), "{rung}");
        // 0.1 becomes 0.125: found by a long block.
        let [rung] = rings(200_000, |t| if t < 50_000 { 10 } else { 8 })[..] else { panic!("once") };
        assert!((51_000..70_000).contains(&rung), "{rung}");
    }

    #[test]
    fn blocks_hold_every_loss_once() {
        let mut alarm = Alarm::default();
        (0..256).for_each(|t| assert!(!alarm.hear(1.0 - f64::from(t) / 256.0, 256.0)));
        let total: f64 = (0..256).map(|t| 1.0 - f64::from(t) / 256.0).sum();
        // Eight blocks of 32, of which five are kept; four of 64, two of 128, one of 256.
        assert_eq!(alarm.blocks[1].iter().sum::<f64>(), total);
        assert_eq!(alarm.blocks[2].iter().sum::<f64>(), total);
        assert_eq!((alarm.blocks[3][0], alarm.blocks[4]), (total, [0.0; KEPT]));
    }
}
