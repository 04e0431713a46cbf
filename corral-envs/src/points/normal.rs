//! Linear rewards with normal noise, not clipped: the point worlds of published model-selection experiments.

use corral_core::params::Bounds;
use corral_core::registry::{Entry, Row};
use corral_core::{LossDomain, ParamError, Set, params};

use super::{Named, POINTS, PointLoss, PointWorld, SetSpec, dot};
use crate::world::{Ask, Build, Builds, row};
use crate::{Draw, EnvError, World};

params! {
    /// Parameters of [`NormalLinear`].
    pub struct NormalLinearParams {
        /// The set of decisions.
        set: SetSpec = SetSpec::Named(Named::UnitSphere);
        /// Its dimension, where it is named by a word.
        dim: usize = 5;
        /// How many points, for sets that are listed.
        points: usize = 0;
        /// The parameter of the reward; empty: a ramp, whose coordinate i is i, counted from 0.
        theta: Vec<f64> = Vec::new(), Bounds::FINITE;
        /// How many coordinates the ramp has, the first ones; 0: all.
        support: usize = 0;
        /// The length of the ramp.
        length: f64 = 5.0, Bounds::POSITIVE;
        /// The mean of the noise.
        offset: f64 = 1.0, Bounds::FINITE;
        /// The standard deviation of the noise.
        sd: f64 = 1.0, Bounds::POSITIVE;
    }
}

impl Builds for NormalLinearParams {
    fn build(self, ask: Ask<'_>) -> Result<World, EnvError> {
        let set = self.set.build(self.dim, self.points, ask.rng)?;
        let dim = set.dim();
        let theta = if self.theta.is_empty() {
            let support = if self.support == 0 { dim } else { self.support };
            if !(2..=dim).contains(&support) {
                return Err(
                    ParamError::new("support", support, "at least 2 and at most the dimension").into()
                );
            }
            let ramp = |i: usize| if i < support { i as f64 } else { 0.0 };
            let norm: f64 = (0..support).map(|i| ramp(i) * ramp(i)).sum::<f64>().sqrt();
            (0..dim).map(|i| self.length * ramp(i) / norm).collect()
        } else {
            self.theta
        };
        if theta.len() != dim {
            let found = format!("{} numbers", theta.len());
            return Err(ParamError::new("theta", found, "as long as the dimension").into());
        }
        // The loss is 1 - reward: its linear part is -theta.
        let direction: Vec<f64> = theta.iter().map(|w| -w).collect();
        let least = 1.0 - self.offset + set.linear_min(&direction, &mut vec![0.0; dim])?;
        let losses = NormalLinear { direction, offset: self.offset, sd: self.sd, noise: 0.0, least };
        Ok(PointWorld::new(set, losses, ask.rounds).boxed())
    }
}

/// The reward of a point x is <theta, x> + N(offset, sd^2), and the loss 1 - reward, which may lie outside [0, 1]. The
/// best point is computed, not listed.
#[derive(Debug, Clone)]
pub struct NormalLinear {
    // -theta.
    direction: Vec<f64>,
    offset: f64,
    sd: f64,
    noise: f64,
    least: f64,
}

impl PointLoss for NormalLinear {
    fn losses(&self) -> LossDomain {
        LossDomain::Real
    }

    fn next(&mut self, _round: u64, draw: Draw) {
        self.noise = self.sd * draw.normal(0);
    }

    fn loss(&self, x: &[f64]) -> f64 {
        self.mean(x) - self.noise
    }

    fn mean(&self, x: &[f64]) -> f64 {
        1.0 - self.offset + dot(&self.direction, x)
    }

    fn best(&self, _set: &Set, rounds: f64) -> f64 {
        rounds * self.least
    }
}

pub(crate) const ROWS: &[Row<Build>] = &[row::<NormalLinearParams>(
    Entry {
        name: "normal-linear",
        summary: "linear rewards with normal noise on the unit sphere, the hypercube or another set; losses are not clipped",
        source: "experiments 10, 12 and 16 of Pacchiano, Dann, Gentile 2024, for reproducing their figures",
        fits: "stochastic linear losses that may lie outside [0, 1]: for the learners that take them",
        ..POINTS
    },
    "set = \"hypercube\"\ndim = 10",
)];
