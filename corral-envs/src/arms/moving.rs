//! Arms whose mean losses move: by the clock, or with what was played.

use corral_core::{Arm, Context, Feedback, Rng, Setup};
use serde::Deserialize;

use crate::{ArmSums, Draw, EnvError, Environment};

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

/// What is added to a mean to make a loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// The loss is 1 with the mean's probability, else 0.
    #[default]
    Bernoulli,
    /// The loss is the mean.
    None,
}

impl Noise {
    pub(super) fn none() -> Self {
        Self::None
    }
}

/// A bandit whose mean losses move along a [`Path`].
#[derive(Debug, Clone)]
pub struct Moving<P> {
    path: P,
    noise: Noise,
    horizon: u64,
    context: Context,
    draw: Draw,
    rounds: u64,
    means: Vec<f64>,
    sums: ArmSums,
}

impl<P: Path> Moving<P> {
    /// The bandit that moves along `path`.
    pub fn new(path: P, noise: Noise, horizon: u64) -> Self {
        let arms = path.arms();
        Self {
            path,
            noise,
            horizon,
            context: Context::plain(arms),
            draw: Draw::none(),
            rounds: 0,
            means: vec![0.0; arms],
            sums: ArmSums::new(arms),
        }
    }
}

impl<P: Path> Environment<Context, Arm> for Moving<P> {
    fn setup(&self) -> Setup {
        Setup::arms(self.means.len(), Some(self.horizon))
    }

    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        self.draw = Draw::new(rng);
        self.path.means(self.rounds, self.draw, &mut self.means);
        self.sums.add(&self.means);
        self.rounds += 1;
        Ok(())
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn loss(&self, decision: &Arm) -> f64 {
        let mean = self.mean_loss(decision);
        match self.noise {
            Noise::Bernoulli if !mean.is_nan() => f64::from(self.draw.uniform(u64::from(decision.0)) < mean),
            _ => mean,
        }
    }

    fn mean_loss(&self, decision: &Arm) -> f64 {
        self.means.get(decision.index()).copied().unwrap_or(f64::NAN)
    }

    fn play(&mut self, decision: &Arm) -> Result<Feedback, EnvError> {
        EnvError::check_arm(*decision, self.means.len())?;
        let loss = self.loss(decision);
        self.path.played(decision.index());
        Ok(Feedback::plain(loss))
    }

    fn best_so_far(&self) -> f64 {
        self.path.best_alone(self.rounds).unwrap_or_else(|| self.sums.best())
    }
}
