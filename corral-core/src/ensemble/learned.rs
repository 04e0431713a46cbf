//! Which rounds were learned already.

use serde::{Deserialize, Serialize};

/// Rounds that are remembered of each copy: a ticket of one of the last 16,384 rounds is learned once. One that returns
/// later than that is taken on trust.
pub(super) const WINDOW: u64 = 16_384;
const WORDS: usize = (WINDOW / 64) as usize;
/// Copies that are remembered; beyond that, the one that was heard of longest ago is forgotten.
const COPIES: usize = 64;

/// The rounds that were learned of late, copy by copy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Learned {
    #[serde(deserialize_with = "crate::snapshot::untrusted")]
    copies: Vec<Copy>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Copy {
    copy: u64,
    /// The window ends before this round.
    end: u64,
    /// A bit for each round of the window, at its number modulo the window.
    bits: Vec<u64>,
}

impl Copy {
    fn place(round: u64) -> (usize, u64) {
        let at = round % WINDOW;
        ((at / 64) as usize, 1 << (at % 64))
    }

    /// Moves the window so that it holds `round`; the rounds that enter it were not learned.
    fn reach(&mut self, round: u64) {
        if round < self.end {
            return;
        }
        if round - self.end >= WINDOW {
            self.bits.fill(0);
        } else {
            for entering in self.end..=round {
                let (word, bit) = Self::place(entering);
                self.bits[word] &= !bit;
            }
        }
        self.end = round.saturating_add(1);
    }
}

impl Learned {
    /// Whether this round of this copy is remembered as learned.
    pub fn has(&self, copy: u64, round: u64) -> bool {
        self.copies.iter().rfind(|c| c.copy == copy).is_some_and(|c| {
            let (word, bit) = Copy::place(round);
            round < c.end && c.end - round <= WINDOW && c.bits[word] & bit != 0
        })
    }

    /// Remembers this round of this copy.
    pub fn add(&mut self, copy: u64, round: u64) {
        let at = self.copies.iter().rposition(|c| c.copy == copy).unwrap_or_else(|| {
            if self.copies.len() >= COPIES {
                self.copies.remove(0);
            }
            self.copies.push(Copy { copy, end: 0, bits: vec![0; WORDS] });
            self.copies.len() - 1
        });
        // In the order in which they were heard of.
        self.copies[at..].rotate_left(1);
        let Some(found) = self.copies.last_mut() else { return };
        found.reach(round);
        if found.end - round <= WINDOW {
            let (word, bit) = Copy::place(round);
            found.bits[word] |= bit;
        }
    }

    /// Whether this can be what was remembered.
    pub fn is_sound(&self) -> bool {
        self.copies.len() <= COPIES && self.copies.iter().all(|c| c.bits.len() == WORDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_remembered_for_a_window() {
        let mut learned = Learned::default();
        assert!(!learned.has(0, 5));
        learned.add(0, 5);
        assert!(learned.has(0, 5) && !learned.has(1, 5) && !learned.has(0, 4) && !learned.has(0, 6));
        learned.add(0, 3);
        assert!(learned.has(0, 3));
        learned.add(0, 5 + WINDOW - 1);
        assert!(learned.has(0, 5) && !learned.has(0, 3), "the window has moved past round 3");
        learned.add(0, 5 + WINDOW);
        assert!(!learned.has(0, 5));
        learned.add(0, 10 * WINDOW);
        assert!(!learned.has(0, 5 + WINDOW) && learned.has(0, 10 * WINDOW));
        learned.add(0, 1);
        assert!(!learned.has(0, 1), "too old to be remembered");
    }

    #[test]
    fn a_round_that_enters_the_window_was_not_learned() {
        let mut learned = Learned::default();
        [5, 10, 5 + WINDOW + 3].into_iter().for_each(|round| learned.add(0, round));
        assert!(!learned.has(0, 5 + WINDOW), "it has the place of round 5");
        assert!(learned.has(0, 10) && learned.has(0, 5 + WINDOW + 3));
    }

    #[test]
    fn copies_are_bounded() {
        let mut learned = Learned::default();
        (0..1000).for_each(|copy| learned.add(copy, 7));
        assert!(learned.has(999, 7) && !learned.has(0, 7) && learned.is_sound());
        // The one that was heard of longest ago is forgotten, and not the one that came first.
        learned.add(999 - 63, 8);
        learned.add(1000, 7);
        assert!(learned.has(999 - 63, 7) && !learned.has(999 - 62, 7));
    }
}
