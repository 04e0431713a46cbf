//! Plays and rewards per base, for the masters that keep plain means.

use serde::{Deserialize, Serialize};

use super::experience::Experience;
use super::rule::{Credited, all};
use crate::SnapshotError;

/// n_i plays and u_i rewards, r = 1 - f. With experience (docs/experience.md) they are those of n0_i more plays, at the level of
/// this run:
///
/// ```text
/// n_i + n0_i,   u_i + n0_i (level + rel_i),   level = (1/2 + sum_i (u_i - n_i rel_i))/(1 + sum_i n_i)
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Earned {
    pub(super) plays: Vec<f64>,
    pub(super) rewards: Vec<f64>,
    /// n0_i and rel_i; given again after a snapshot was read.
    #[serde(skip)]
    known: Vec<Experience>,
}

impl Earned {
    pub(super) fn new(bases: usize) -> Self {
        Self { plays: vec![0.0; bases], rewards: vec![0.0; bases], known: Vec::new() }
    }

    /// Begins with experience, and calls `seen(earned, base)` for every base that has some.
    pub(super) fn begin(&mut self, known: &[Experience], mut seen: impl FnMut(&Self, usize)) {
        self.recall(known);
        for (i, one) in known.iter().enumerate() {
            self.plays[i] = one.plays;
            self.rewards[i] = one.plays * (0.5 + one.relative);
        }
        self.each(&mut seen);
    }

    /// What is no part of the state.
    pub(super) fn recall(&mut self, known: &[Experience]) {
        self.known = known.to_vec();
    }

    /// Whether there is experience. Then `count` shows every base, for the level of all moves with each loss.
    pub(super) fn experienced(&self) -> bool {
        !self.known.is_empty()
    }

    fn each(&self, seen: &mut impl FnMut(&Self, usize)) {
        (0..self.plays.len()).filter(|&i| self.plays[i] > 0.0).for_each(|i| seen(self, i));
    }

    /// Counts the loss, and moves the plays behind the experience to the new level.
    fn count_experienced(&mut self, round: Credited<'_>) {
        let known = |i: usize| Experience::of(&self.known, i);
        let (mut top, mut count, mut given) = (0.5, 1.0, 0.0);
        for (i, (n, u)) in self.plays.iter().zip(&self.rewards).enumerate() {
            (top, count, given) = (top + u - n * known(i).relative, count + n, given + known(i).plays);
        }
        // Of the plays with those behind the experience it is the same level.
        let level = top / count;
        let plays = count - given;
        let (mut sum, mut more) = (level * plays, plays);
        round.each(|i, weight| {
            let share = weight.min(1.0);
            self.plays[i] += share;
            self.rewards[i] += share * (1.0 - round.loss);
            (sum, more) = (sum + share * (1.0 - round.loss - known(i).relative), more + share);
        });
        let moved = sum / more - level;
        for (u, one) in self.rewards.iter_mut().zip(&self.known) {
            *u += one.plays * moved;
        }
    }

    /// Counts the loss for every credited base, then calls `seen(earned, base)`. A weight of at least 1 is one
    /// observation of the raw loss, a smaller one that fraction of an observation.
    #[inline]
    pub(super) fn count(&mut self, round: Credited<'_>, mut seen: impl FnMut(&Self, usize)) {
        if self.experienced() {
            self.count_experienced(round);
            return self.each(&mut seen);
        }
        round.each(|i, weight| {
            let share = weight.min(1.0);
            self.plays[i] += share;
            self.rewards[i] += share * (1.0 - round.loss);
            seen(self, i);
        });
    }

    /// u_i/n_i
    #[inline]
    pub(super) fn mean(&self, base: usize) -> f64 {
        self.rewards[base] / self.plays[base]
    }

    pub(super) fn validate(&self, bases: usize) -> Result<(), SnapshotError> {
        all("plays", &self.plays, bases, |n| (0.0..f64::INFINITY).contains(&n))?;
        all("rewards", &self.rewards, bases, f64::is_finite)
    }
}

/// b(n) = c sqrt(ln(M max(1, ln n)/delta)/n): the confidence width of the balancing papers. The guard of ln n is ours;
/// without it n <= 2 has no logarithm of a logarithm.
#[inline]
pub(super) fn iterated_width(scale: f64, bases: f64, delta: f64, plays: f64) -> f64 {
    scale * ((bases * plays.ln().max(1.0) / delta).ln() / plays).sqrt()
}

/// 1 on `base`, 0 elsewhere.
#[inline]
pub(super) fn follow(base: usize, out: &mut [f64]) {
    out.fill(0.0);
    if let Some(p) = out.get_mut(base) {
        *p = 1.0;
    }
}
