//! A guard for bands without contexts that learn from everybody: copies of one greedy learner would all lock on the same
//! wrong arm, and nobody would ever look at another.
//!
//! With N_b the times that arm b was played, S = sum_s (1 - Q_s(a_s)) what the band explored by itself, and g = (ln t)^2/2: where
//! min_b N_b < g and S < K g, the arm with the fewest plays is played. The rule looks at the past alone, so nothing that is
//! learned from such a round is biased; the master is not credited in it (docs/practical.md).

use serde::{Deserialize, Serialize};

/// What the guard has counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Guard {
    /// N_b
    #[serde(deserialize_with = "crate::snapshot::untrusted")]
    plays: Vec<u64>,
    /// S
    explored: f64,
    /// t
    rounds: u64,
}

impl Guard {
    /// A guard over `arms` arms.
    pub fn new(arms: usize) -> Self {
        Self { plays: vec![0; arms], explored: 0.0, rounds: 0 }
    }

    /// The arm that has to be played now, where one has to.
    pub fn demands(&self) -> Option<usize> {
        let enough = 0.5 * ((self.rounds + 1) as f64).ln().powi(2);
        if self.explored >= self.plays.len() as f64 * enough {
            return None;
        }
        let (arm, plays) = self.plays.iter().enumerate().min_by_key(|(_, plays)| **plays)?;
        ((*plays as f64) < enough).then_some(arm)
    }

    /// Counts a round in which `arm` was played, of its own accord with probability `propensity`.
    pub fn count(&mut self, arm: usize, propensity: f64) {
        if let Some(plays) = self.plays.get_mut(arm) {
            *plays += 1;
        }
        self.explored += 1.0 - propensity.min(1.0);
        self.rounds += 1;
    }

    /// Whether `other` can be a state of this guard.
    pub fn admits(&self, other: &Self) -> bool {
        other.plays.len() == self.plays.len() && (0.0..f64::INFINITY).contains(&other.explored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arm_with_the_fewest_plays_is_demanded_until_it_has_enough() {
        let mut guard = Guard::new(3);
        assert_eq!(guard.demands(), None, "ln 1 = 0");
        for _ in 0..10 {
            guard.count(0, 1.0);
        }
        assert_eq!(guard.demands(), Some(1));
        for _ in 0..6 {
            guard.count(1, 1.0);
            guard.count(2, 1.0);
        }
        assert_eq!(guard.demands(), None, "6 plays of each are above (ln 23)^2/2 = 4.9");
        let mut curious = Guard::new(2);
        (0..100).for_each(|_| curious.count(0, 0.76));
        assert_eq!(curious.demands(), None, "a band that explores by itself, 24 > 2 * 10.7, is left alone");
    }
}
