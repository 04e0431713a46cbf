//! A guard for bands without contexts that learn from everybody: copies of one greedy learner would all lock on the same
//! wrong arm, and no base would ever look at another.
//!
//! Of each arm b it counts the t_b rounds that offered it, the N_b in which it was played, and S_b = sum_s (1 - Q_s(a_s)), what the
//! band explored by itself in those t_b rounds. With g_b = (ln t_b)^2/2 and K offered arms: where S_b < min(K g_b, t_b/2), the arm with
//! the fewest plays is played, of the offered arms with N_b < g_b that may yet be the best. (Without t_b/2 the first rounds are all the
//! guard's: K g > t.) An arm may not be when n_b kl(mean_b, mean) >= ln t_b, with mean_b that of its n_b losses and mean the least of an
//! offered arm with g losses or more, g the largest of the offered arms (what KL-UCB asks of an arm; Garivier, Cappe 2011). An arm
//! that joins late or is offered now and then is so looked at as in a game of the rounds that offered it, and one that is never
//! offered changes nothing. The rule looks at the past alone, so nothing that is learned from such a round is biased; the master
//! is not credited in it (docs/practical.md#the-guard).

use serde::{Deserialize, Serialize};

use super::world::Offered;
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
    /// What the band explored in all rounds.
    explored: f64,
    /// All rounds.
    rounds: u64,
    /// Of each arm, the rounds that did not offer it, and what the band explored in them; empty while every round offered all.
    /// The ensemble writes it at the end of its state.
    #[serde(skip)]
    pub missed: Vec<(u64, f64)>,
}

/// What the guard asks of an arm.
#[derive(Clone, Copy)]
struct Ask {
    /// t_b
    rounds: u64,
    /// ln(t_b + 1)
    ln_t: f64,
    /// g_b
    enough: f64,
}

impl Ask {
    fn after(rounds: u64) -> Self {
        let ln_t = ((rounds + 1) as f64).ln();
        Self { rounds, ln_t, enough: 0.5 * ln_t.powi(2) }
    }
}

impl Guard {
    /// A guard over `arms` arms.
    pub fn new(arms: usize) -> Self {
        Self {
            plays: vec![0; arms],
            losses: vec![(0.0, 0.0); arms],
            explored: 0.0,
            rounds: 0,
            missed: Vec::new(),
        }
    }

    /// The arm of those that are offered that has to be played now, where one has to.
    pub fn demands(&self, offered: Offered<'_>) -> Option<usize> {
        let arms = self.plays.len();
        let numbers = || (0..offered.len(arms)).map(|place| offered.number(place)).filter(|arm| *arm < arms);
        let missed = |arm: usize| self.missed.get(arm).copied().unwrap_or_default();
        let most = numbers().map(|arm| self.rounds - missed(arm).0).max()?;
        let longest = Ask::after(most);
        // S_b < min(K g_b, t_b/2)
        let count = offered.len(arms) as f64;
        let unexplored = |arm: usize, ask: Ask| {
            self.explored - missed(arm).1 < (count * ask.enough).min(0.5 * ask.rounds as f64)
        };
        if self.missed.is_empty() && !unexplored(0, longest) {
            return None;
        }
        // With one pseudo-observation of 1: a rival without a loss so far may have some.
        let rivals = numbers().map(|arm| self.losses[arm]).filter(|(_, n)| *n >= longest.enough);
        let least = rivals.map(|(sum, n)| (sum + 1.0) / (n + 1.0)).fold(1.0, f64::min);
        let may_be_best = |(sum, n): (f64, f64), ln_t: f64| {
            n == 0.0 || sum / n <= least || n * relative_entropy(sum / n, least) < ln_t
        };
        let mut ask = longest;
        let open = numbers().filter(|arm| {
            let rounds = self.rounds - missed(*arm).0;
            if rounds != ask.rounds {
                ask = Ask::after(rounds);
            }
            (self.plays[*arm] as f64) < ask.enough
                && unexplored(*arm, ask)
                && may_be_best(self.losses[*arm], ask.ln_t)
        });
        open.min_by_key(|arm| self.plays[*arm])
    }

    /// Takes in the loss of a round in which `arm` was played.
    pub fn learn(&mut self, arm: usize, loss: f64) {
        if let Some((sum, n)) = self.losses.get_mut(arm).filter(|_| (0.0..=1.0).contains(&loss)) {
            *sum += loss;
            *n += 1.0;
        }
    }

    /// Counts a round in which `arm` was played, of those that were offered, of its own accord with probability `propensity`.
    pub fn count(&mut self, arm: usize, offered: Offered<'_>, propensity: f64) {
        if let Some(plays) = self.plays.get_mut(arm) {
            *plays += 1;
        }
        let explored = 1.0 - propensity.min(1.0);
        if offered.len(self.plays.len()) < self.plays.len() {
            self.missed.resize(self.plays.len(), (0, 0.0));
            let absent = self.missed.iter_mut().enumerate().filter(|(arm, _)| offered.place(*arm).is_none());
            absent.for_each(|(_, missed)| *missed = (missed.0 + 1, missed.1 + explored));
        }
        self.explored += explored;
        self.rounds += 1;
    }

    /// Whether `other` can be a state of this guard.
    pub fn admits(&self, other: &Self) -> bool {
        other.plays.len() == self.plays.len()
            && other.losses.len() == self.plays.len()
            && other.losses.iter().all(|(sum, n)| *sum >= 0.0 && sum <= n && n.is_finite())
            && (0.0..f64::INFINITY).contains(&other.explored)
            && (other.missed.is_empty() || other.missed.len() == self.plays.len())
            && other
                .missed
                .iter()
                .all(|(rounds, explored)| *rounds <= other.rounds && *explored >= 0.0 && explored.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_that_is_surely_worse_is_left_alone() {
        let mut guard = Guard::new(2);
        for t in 0..200 {
            guard.count(0, Offered::ALL, 1.0);
            guard.learn(0, f64::from(t % 5 == 0));
        }
        assert_eq!(guard.demands(Offered::ALL), Some(1));
        // ln 204 = 5.3: three losses of 1 weigh 3 ln(201/41) = 4.8, four 6.4.
        for demanded in [Some(1), Some(1), Some(1), None] {
            guard.count(1, Offered::ALL, 1.0);
            guard.learn(1, 1.0);
            assert_eq!(guard.demands(Offered::ALL), demanded);
        }
        (0..4).for_each(|_| guard.learn(1, 0.0));
        assert_eq!(guard.demands(Offered::ALL), Some(1), "a mean of 1/2 after eight losses may yet fall");
    }

    #[test]
    fn the_arm_with_the_fewest_plays_is_demanded_until_it_has_enough() {
        let mut guard = Guard::new(3);
        assert_eq!(guard.demands(Offered::ALL), None, "ln 1 = 0");
        for _ in 0..10 {
            guard.count(0, Offered::ALL, 1.0);
        }
        assert_eq!(guard.demands(Offered::ALL), Some(1));
        for _ in 0..6 {
            guard.count(1, Offered::ALL, 1.0);
            guard.count(2, Offered::ALL, 1.0);
        }
        assert_eq!(guard.demands(Offered::ALL), None, "6 plays of each are above (ln 23)^2/2 = 4.9");
        let mut curious = Guard::new(2);
        (0..100).for_each(|_| curious.count(0, Offered::ALL, 0.76));
        assert_eq!(
            curious.demands(Offered::ALL),
            None,
            "a band that explores by itself, 24 > 2 * 10.7, is left alone"
        );
    }

    #[test]
    fn a_band_that_explores_in_every_second_round_is_left_alone() {
        // K g = 10 (ln 51)^2/2 = 77 is more than 50 rounds can have explored.
        let after_fifty = |propensity| {
            let mut guard = Guard::new(10);
            (0..50).for_each(|_| guard.count(0, Offered::ALL, propensity));
            guard.demands(Offered::ALL)
        };
        assert_eq!(after_fifty(0.5), None);
        assert_eq!(after_fifty(0.51), Some(1));
    }
}
