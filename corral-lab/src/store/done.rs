//! Which cells are done: as intervals, so that it stays small however many cells there are.

use std::collections::BTreeMap;

/// A set of numbers, most of them in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// First number to one past the last, of intervals that do not touch.
    intervals: BTreeMap<u64, u64>,
    len: u64,
}

impl Done {
    /// Adds `number`; whether it is new.
    pub fn insert(&mut self, number: u64) -> bool {
        let before = self.intervals.range(..=number).next_back().map(|(a, b)| (*a, *b));
        let start = match before {
            Some((_, end)) if number < end => return false,
            Some((start, end)) if number == end => start,
            _ => number,
        };
        let end = self.intervals.remove(&(number + 1)).unwrap_or(number + 1);
        self.intervals.insert(start, end);
        self.len += 1;
        true
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The numbers below `limit` that are not in it, in order, one at a time.
    pub fn missing(&self, limit: u64) -> impl Iterator<Item = u64> + '_ {
        let starts = self.intervals.keys().copied().chain([limit]);
        let ends = [0].into_iter().chain(self.intervals.values().copied());
        ends.zip(starts).flat_map(move |(from, to)| from..to.min(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn it_is_the_set_that_a_list_of_flags_would_be() {
        let mut rng = crate::streams::stream(1, "done");
        for _ in 0..50 {
            let (mut done, mut flags) = (Done::default(), [false; 40]);
            for _ in 0..60 {
                let number = rng.random_range(0..40);
                assert_eq!(done.insert(number), !std::mem::replace(&mut flags[number as usize], true));
                let missing: Vec<u64> = (0..40).filter(|n| !flags[*n as usize]).collect();
                assert_eq!(done.missing(40).collect::<Vec<_>>(), missing);
                assert_eq!(done.len(), 40 - missing.len() as u64);
            }
        }
        assert_eq!(Done::default().missing(u64::MAX).nth(5), Some(5));
    }
}
