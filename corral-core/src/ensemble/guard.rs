//! A guard for bands without contexts that learn from everybody: copies of one greedy learner would all lock on the same
//! wrong arm, and no base would ever look at another.
//!
//! With N_b the times that arm b was played, S = sum_s (1 - Q_s(a_s)) what the band explored by itself in t rounds, and
//! g = (ln t)^2/2: where S < min(K g, t/2), the arm with the fewest plays is played, of those with N_b < g that may yet be
//! the best. (Without t/2 the first rounds are all the guard's: K g > t.) An arm may not be when
//! n_b kl(mean_b, mean) >= ln t, with mean_b that of its n_b losses and mean the least of an arm with g losses or more (what
//! KL-UCB asks of an arm; Garivier, Cappe 2011). The rule looks at the past alone, so nothing that is learned from such a
//! round is biased; the master is not credited in it (docs/practical.md).

use serde::{Deserialize, Serialize};

use crate::entropy::relative_entropy;

/// What the guard has counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Guard {
    /// N_b
    #[serde(deserialize_with = "crate::snapshot::untrusted")]
    plays: Vec<u64>,
    /// Sum and number of the losses in [0, 1] that each arm has had.
    #[serde(deserialize_with = "crate::snapshot::untrusted")]
    losses: Vec<(f64, f64)>,
    /// S
    explored: f64,
    /// t
    rounds: u64,
}

impl Guard {
    /// A guard over `arms` arms.
    pub fn new(arms: usize) -> Self {
        Self { plays: vec![0; arms], losses: vec![(0.0, 0.0); arms], explored: 0.0, rounds: 0 }
    }

    /// The arm that has to be played now, where one has to.
    pub fn demands(&self) -> Option<usize> {
        let ln_t = ((self.rounds + 1) as f64).ln();
        let enough = 0.5 * ln_t.powi(2);
        // S >= min(K g, t/2)
        if self.explored >= (self.plays.len() as f64 * enough).min(0.5 * self.rounds as f64) {
            return None;
        }
        // With one pseudo-observation of 1: a rival without a loss so far may have some.
        let rivals = self.losses.iter().filter(|(_, n)| *n >= enough).map(|(sum, n)| (sum + 1.0) / (n + 1.0));
        let least = rivals.fold(1.0, f64::min);
        let may_be_best = |(sum, n): (f64, f64)| {
            n == 0.0 || sum / n <= least || n * relative_entropy(sum / n, least) < ln_t
        };
        let open = self.plays.iter().zip(&self.losses).enumerate();
        open.filter(|(_, (plays, losses))| (**plays as f64) < enough && may_be_best(**losses))
            .min_by_key(|(_, (plays, _))| **plays)
            .map(|(arm, _)| arm)
    }

    /// Takes in the loss of a round in which `arm` was played.
    pub fn learn(&mut self, arm: usize, loss: f64) {
        if let Some((sum, n)) = self.losses.get_mut(arm).filter(|_| (0.0..=1.0).contains(&loss)) {
            *sum += loss;
            *n += 1.0;
        }
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
        other.plays.len() == self.plays.len()
            && other.losses.len() == self.plays.len()
            && other.losses.iter().all(|(sum, n)| *sum >= 0.0 && sum <= n && n.is_finite())
            && (0.0..f64::INFINITY).contains(&other.explored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_that_is_surely_worse_is_left_alone() {
        let mut guard = Guard::new(2);
        for t in 0..200 {
            guard.count(0, 1.0);
            guard.learn(0, f64::from(t % 5 == 0));
        }
        assert_eq!(guard.demands(), Some(1));
        // ln 204 = 5.3: three losses of 1 weigh 3 ln(201/41) = 4.8, four 6.4.
        for demanded in [Some(1), Some(1), Some(1), None] {
            guard.count(1, 1.0);
            guard.learn(1, 1.0);
            assert_eq!(guard.demands(), demanded);
        }
        (0..4).for_each(|_| guard.learn(1, 0.0));
        assert_eq!(guard.demands(), Some(1), "a mean of 1/2 after eight losses may yet fall");
    }

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

    #[test]
    fn a_band_that_explores_in_every_second_round_is_left_alone() {
        // K g = 10 (ln 51)^2/2 = 77 is more than 50 rounds can have explored.
        let after_fifty = |propensity| {
            let mut guard = Guard::new(10);
            (0..50).for_each(|_| guard.count(0, propensity));
            guard.demands()
        };
        assert_eq!(after_fifty(0.5), None);
        assert_eq!(after_fifty(0.51), Some(1));
    }
}
