//! Arms whose mean losses move: by the clock, or with what was played.

use corral_core::{Context, Setup};
use serde::{Deserialize, Serialize};

use crate::bandit::{Game, Round, coin};
use crate::{ArmSums, Draw, EnvError};

/// How the mean losses of K arms move.
///
/// # What an implementation owes
/// `means` sees the past only: `played` is called after the round, never before its means are fixed.
pub trait Path: Send {
    /// The number of arms.
    fn arms(&self) -> usize;

    /// Writes the mean losses of round `round` (counted from 0).
    fn means(&mut self, round: u64, draw: Draw, means: &mut [f64]);

    /// Puts the decision of the round that ends into the history.
    fn played(&mut self, _arm: usize) {}

    /// The cumulative mean loss of the best arm had it been played always, where that is not the smallest sum of the
    /// arms' mean losses: paths that depend on an arm's own plays.
    fn best_alone(&self, _rounds: u64) -> Option<f64> {
        None
    }
}

/// How a loss follows its mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// The loss is 1 with the mean's probability, else 0.
    #[default]
    Bernoulli,
    /// The loss is the mean.
    None,
}

impl Noise {
    /// The loss of a mean, by the `index`-th number of a draw.
    #[inline]
    pub(crate) fn loss(self, mean: f64, draw: Draw, index: u64) -> f64 {
        match self {
            Self::Bernoulli => coin(mean, draw, index),
            Self::None => mean,
        }
    }
}

/// A bandit whose mean losses move along a [`Path`].
#[derive(Debug, Clone)]
pub struct Moving<P> {
    path: P,
    noise: Noise,
    sums: ArmSums,
}

impl<P: Path> Moving<P> {
    /// The bandit that moves along `path`.
    pub fn new(path: P, noise: Noise) -> Self {
        Self { sums: ArmSums::new(path.arms()), path, noise }
    }
}

impl<P: Path> Game for Moving<P> {
    const SUMS_LEAST: bool = false;

    fn setup(&self) -> Setup {
        Setup::arms(self.path.arms(), None)
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        self.path.means(round.number, round.draw, round.means);
        self.sums.add(round.means);
        Ok(())
    }

    fn loss(&self, arm: usize, mean: f64, draw: Draw) -> f64 {
        self.noise.loss(mean, draw, arm as u64)
    }

    fn played(&mut self, arm: usize, _context: &Context) {
        self.path.played(arm);
    }

    fn best(&self, rounds: u64, _least: f64) -> f64 {
        self.path.best_alone(rounds).unwrap_or_else(|| self.sums.best())
    }
}
