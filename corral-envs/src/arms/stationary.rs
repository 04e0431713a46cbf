//! Arms whose losses are independent draws from laws that never change.

use corral_core::{Arm, Context, Feedback, LossDomain, Rng, Setup};

use crate::{Draw, EnvError, Environment};

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
    horizon: u64,
    context: Context,
    draw: Draw,
    rounds: u64,
    least: f64,
    facts: Vec<(&'static str, f64)>,
}

impl<L: Law> Stationary<L> {
    /// The bandit with these laws.
    pub fn new(law: L, horizon: u64) -> Self {
        let least = (0..law.arms()).map(|a| law.mean(a)).fold(f64::INFINITY, f64::min);
        Self {
            context: Context::plain(law.arms()),
            law,
            horizon,
            draw: Draw::none(),
            rounds: 0,
            least,
            facts: Vec::new(),
        }
    }

    /// The same, with numbers that a report should show.
    pub fn with_facts(mut self, facts: Vec<(&'static str, f64)>) -> Self {
        self.facts = facts;
        self
    }

    /// The laws.
    pub fn law(&self) -> &L {
        &self.law
    }
}

impl<L: Law> Environment<Context, Arm> for Stationary<L> {
    fn setup(&self) -> Setup {
        Setup { losses: self.law.losses(), ..Setup::arms(self.law.arms(), Some(self.horizon)) }
    }

    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        self.draw = Draw::new(rng);
        self.rounds += 1;
        Ok(())
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn loss(&self, decision: &Arm) -> f64 {
        let arm = decision.index();
        if arm < self.law.arms() { self.law.loss(arm, self.draw) } else { f64::NAN }
    }

    fn mean_loss(&self, decision: &Arm) -> f64 {
        let arm = decision.index();
        if arm < self.law.arms() { self.law.mean(arm) } else { f64::NAN }
    }

    fn play(&mut self, decision: &Arm) -> Result<Feedback, EnvError> {
        EnvError::check_arm(*decision, self.law.arms())?;
        Ok(Feedback::plain(self.loss(decision)))
    }

    fn best_so_far(&self) -> f64 {
        self.rounds as f64 * self.least
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        self.facts.clone()
    }
}
