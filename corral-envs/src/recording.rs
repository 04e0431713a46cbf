//! An environment that keeps what happened in it.

use corral_core::{Feedback, Rng, Setup};

use crate::induced::Decision;
use crate::{EnvError, Environment};

/// One round that was played.
#[derive(Debug, Clone, PartialEq)]
pub struct Record<D> {
    /// What was decided.
    pub decision: D,
    /// What the learner got to see.
    pub feedback: Feedback,
    /// The mean loss of the decision.
    pub mean: f64,
    /// f_t at every decision, where decisions can be listed; else empty. Rows of these are what `replay` plays back.
    pub losses: Vec<f64>,
}

/// Keeps every round of `E`: memory grows with the run.
#[derive(Debug, Clone)]
pub struct Recording<E, D> {
    world: E,
    records: Vec<Record<D>>,
}

impl<E, D> Recording<E, D> {
    /// Records `world` from now on.
    pub fn new(world: E) -> Self {
        Self { world, records: Vec::new() }
    }

    /// The rounds so far.
    pub fn records(&self) -> &[Record<D>] {
        &self.records
    }

    /// The world, and the rounds so far.
    pub fn into_parts(self) -> (E, Vec<Record<D>>) {
        (self.world, self.records)
    }
}

impl<X: ?Sized, D: Decision<X>, E: Environment<X, D>> Environment<X, D> for Recording<E, D> {
    fn setup(&self) -> Setup {
        self.world.setup()
    }

    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        self.world.next(rng)
    }

    fn context(&self) -> &X {
        self.world.context()
    }

    fn loss(&self, decision: &D) -> f64 {
        self.world.loss(decision)
    }

    fn mean_loss(&self, decision: &D) -> f64 {
        self.world.mean_loss(decision)
    }

    fn play(&mut self, decision: &D) -> Result<Feedback, EnvError> {
        let mean = self.world.mean_loss(decision);
        let losses = D::losses(&self.world);
        let feedback = self.world.play(decision)?;
        self.records.push(Record { decision: decision.clone(), feedback, mean, losses });
        Ok(feedback)
    }

    fn range(&self) -> f64 {
        self.world.range()
    }

    fn best_so_far(&self) -> f64 {
        self.world.best_so_far()
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        self.world.facts()
    }
}
