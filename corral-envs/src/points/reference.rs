//! The instances over points on which reference regrets are published, by name.

use super::adversarial::{AdversarialLinearParams, check_variant};
use super::convex::AdversarialConvexParams;
use super::{PointLoss, PointWorld, misleads};
use crate::prelude::*;

params! {
    /// Parameters of the reference ball: the unit ball with the linear losses of `adversarial-linear` at gap and noise
    /// 1/2, or the norm of `adversarial-convex`.
    pub struct ReferenceBallParams {
        /// The loss.
        loss: ReferenceLoss = ReferenceLoss::Linear;
        /// Dimension.
        dim: usize = 2;
        /// 0: stays; 1: points the other way in the first third.
        variant: u8 = 0;
    }

    /// Which loss the reference ball has.
    pub enum ReferenceLoss {
        /// f(x) = 1/2 + <x, c_t>/2.
        #[default]
        Linear,
        /// f(x) = |x - z_t|/2.
        Lipschitz,
    }
}

impl Builds for ReferenceBallParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let Self { loss, dim, variant } = self;
        match loss {
            ReferenceLoss::Linear => {
                AdversarialLinearParams { dim, variant, ..Default::default() }.build(ask)
            }
            ReferenceLoss::Lipschitz => {
                AdversarialConvexParams { dim, variant, ..Default::default() }.build(ask)
            }
        }
    }
}

params! {
    /// Parameters of [`ReferenceSimplex`].
    pub struct ReferenceSimplexParams {
        /// Number of vertices.
        arms: usize = 3;
        /// 0: vertex 0 is best throughout; 1: the last vertex is best in the first third.
        variant: u8 = 0;
    }
}

impl Builds for ReferenceSimplexParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        check_variant(self.variant)?;
        ask.budget.claim("arms", self.arms, self.arms as u128 * 4)?;
        let set = Set::simplex(self.arms)?;
        let losses = ReferenceSimplex {
            variant: self.variant,
            horizon: ask.rounds,
            best: 0,
            costs: vec![0.0; self.arms],
            ahead: 0.0,
            behind: 0.0,
        };
        Ok(PointWorld::new(set, losses, ask.rounds).boxed())
    }
}

/// f_t(y) = <y, c_t> on the simplex, c_t a vector of independent Bernoulli numbers of mean 1/2, but 1/2 - 0.3 at the
/// best vertex: 0 (variant 1: the last one in the first third).
#[derive(Debug, Clone)]
pub struct ReferenceSimplex {
    variant: u8,
    horizon: u64,
    best: usize,
    costs: Vec<f64>,
    /// Rounds in which vertex 0 was best, and in which the last one was.
    ahead: f64,
    behind: f64,
}

const GAP: f64 = 0.3;

impl PointLoss for ReferenceSimplex {
    fn next(&mut self, round: u64, draw: Draw) {
        let misled = misleads(self.variant, round, self.horizon);
        self.best = if misled { self.costs.len() - 1 } else { 0 };
        *(if misled { &mut self.behind } else { &mut self.ahead }) += 1.0;
        for (i, c) in self.costs.iter_mut().enumerate() {
            let mean = if i == self.best { 0.5 - GAP } else { 0.5 };
            *c = f64::from(draw.uniform(i as u64) < mean);
        }
    }

    fn loss(&self, x: &[f64]) -> f64 {
        dot(&self.costs, x).clamp(0.0, 1.0)
    }

    fn mean(&self, x: &[f64]) -> f64 {
        0.5 - GAP * x[self.best]
    }

    fn best(&self, _set: &Set, _rounds: f64) -> f64 {
        0.5 * (self.ahead + self.behind) - GAP * self.ahead.max(self.behind)
    }
}
