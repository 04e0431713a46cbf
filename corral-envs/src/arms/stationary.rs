//! Arms whose losses are independent draws from laws that never change.

use crate::prelude::*;

/// A stochastic multi-armed bandit: the paper's "stochastic environment" of its multi-armed example. `law` is the loss of an
/// arm in the round of a draw.
pub struct Stationary<L> {
    law: L,
    means: Vec<f64>,
    least: f64,
    losses: LossDomain,
    facts: Vec<(&'static str, f64)>,
}

impl<L: Fn(usize, Draw) -> f64 + Send> Stationary<L> {
    /// The bandit whose arms have these mean losses, with losses in [0, 1].
    pub fn new(means: Vec<f64>, law: L) -> Self {
        let least = means.iter().copied().fold(f64::INFINITY, f64::min);
        Self { law, means, least, losses: LossDomain::Unit, facts: Vec::new() }
    }

    /// The same, with losses anywhere unless `unit`.
    pub fn within(self, unit: bool) -> Self {
        Self { losses: if unit { LossDomain::Unit } else { LossDomain::Real }, ..self }
    }

    /// The same, with a number that a report should show.
    pub fn with_fact(mut self, name: &'static str, value: f64) -> Self {
        self.facts.push((name, value));
        self
    }
}

impl<L: Fn(usize, Draw) -> f64 + Send> Game for Stationary<L> {
    const SUMS_LEAST: bool = false;

    fn setup(&self) -> Setup {
        Setup { losses: self.losses, ..Setup::arms(self.means.len(), None) }
    }

    fn first(&self, means: &mut [f64]) {
        means.copy_from_slice(&self.means);
    }

    fn next(&mut self, _round: Round<'_>) -> Result<(), EnvError> {
        Ok(())
    }

    fn loss(&self, arm: usize, _mean: f64, draw: Draw) -> f64 {
        (self.law)(arm, draw)
    }

    fn best(&self, rounds: u64, _least: f64) -> f64 {
        rounds as f64 * self.least
    }

    fn facts(&self) -> &[(&'static str, f64)] {
        &self.facts
    }
}
