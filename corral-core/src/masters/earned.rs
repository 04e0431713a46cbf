//! Plays and rewards per base, for the masters that keep plain means.

use serde::{Deserialize, Serialize};

use super::rule::{Credited, all};
use crate::SnapshotError;

/// n_i plays and u_i rewards, r = 1 - f.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Earned {
    pub(super) plays: Vec<f64>,
    pub(super) rewards: Vec<f64>,
}

impl Earned {
    pub(super) fn new(bases: usize) -> Self {
        Self { plays: vec![0.0; bases], rewards: vec![0.0; bases] }
    }

    /// Counts the loss for every credited base, then calls `seen(earned, base)`. A weight of at least 1 is one
    /// observation of the raw loss, a smaller one that fraction of an observation.
    #[inline]
    pub(super) fn count(&mut self, round: Credited<'_>, mut seen: impl FnMut(&Self, usize)) {
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
