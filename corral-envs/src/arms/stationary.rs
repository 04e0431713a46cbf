//! Arms whose losses are independent draws from laws that never change.

use corral_core::{LossDomain, Setup};

use crate::bandit::{Game, Round};
use crate::{Draw, EnvError};

/// The laws of K arms.
pub trait Law: Send {
    /// The number of arms.
    fn arms(&self) -> usize;

    /// The mean loss of an arm below `arms`.
    fn mean(&self, arm: usize) -> f64;

    /// The loss of an arm below `arms` in the round of `draw`.
    fn loss(&self, arm: usize, draw: Draw) -> f64;

    /// Where the losses lie.
    fn losses(&self) -> LossDomain {
        LossDomain::Unit
    }
}

/// A stochastic multi-armed bandit: the paper's "stochastic environment" of its multi-armed example.
#[derive(Debug, Clone)]
pub struct Stationary<L> {
    law: L,
    least: f64,
    facts: Vec<(&'static str, f64)>,
}

impl<L: Law> Stationary<L> {
    /// The bandit with these laws.
    pub fn new(law: L) -> Self {
        let least = (0..law.arms()).map(|a| law.mean(a)).fold(f64::INFINITY, f64::min);
        Self { law, least, facts: Vec::new() }
    }

    /// The same, with numbers that a report should show.
    pub fn with_facts(self, facts: Vec<(&'static str, f64)>) -> Self {
        Self { facts, ..self }
    }
}

impl<L: Law> Game for Stationary<L> {
    const SUMS_LEAST: bool = false;

    fn setup(&self) -> Setup {
        Setup { losses: self.law.losses(), ..Setup::arms(self.law.arms(), None) }
    }

    fn first(&self, means: &mut [f64]) {
        means.iter_mut().enumerate().for_each(|(arm, mean)| *mean = self.law.mean(arm));
    }

    fn next(&mut self, _round: Round<'_>) -> Result<(), EnvError> {
        Ok(())
    }

    fn loss(&self, arm: usize, _mean: f64, draw: Draw) -> f64 {
        self.law.loss(arm, draw)
    }

    fn best(&self, rounds: u64, _least: f64) -> f64 {
        rounds as f64 * self.least
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        self.facts.clone()
    }
}
