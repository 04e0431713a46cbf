//! Linear rewards with normal noise, not clipped: the point worlds of published model-selection experiments.

use corral_core::catalog::{Entry, Field};
use corral_core::{LossDomain, ParamError, Rng, Set};
use serde::Deserialize;

use super::adversarial::SET_FIELDS;
use super::{Kind, PointLoss, PointWorld, SetSpec, dot};
use crate::registry::Row;
use crate::{Draw, EnvError};

/// Parameters of [`NormalLinear`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NormalLinearParams {
    /// The set of decisions.
    pub set: SetSpec,
    /// Its dimension, where it is named by a word.
    pub dim: usize,
    /// How many points, for sets that are listed.
    pub points: usize,
    /// The parameter of the reward; empty: a ramp, whose coordinate i is i, counted from 0.
    pub theta: Vec<f64>,
    /// How many coordinates the ramp has, the first ones; 0: all.
    pub support: usize,
    /// The length of the ramp.
    pub length: f64,
    /// The mean of the noise.
    pub offset: f64,
    /// The standard deviation of the noise.
    pub sd: f64,
}

impl Default for NormalLinearParams {
    fn default() -> Self {
        Self {
            set: SetSpec::Named(Kind::UnitSphere),
            dim: 5,
            points: 0,
            theta: Vec::new(),
            support: 0,
            length: 5.0,
            offset: 1.0,
            sd: 1.0,
        }
    }
}

impl NormalLinearParams {
    /// The world of `rounds` rounds.
    ///
    /// # Errors
    /// The set cannot be built, the parameter does not fit it, or a number is not finite.
    pub fn check(self, rounds: u64, rng: &mut dyn Rng) -> Result<PointWorld<NormalLinear>, EnvError> {
        ParamError::positive("sd", self.sd)?;
        ParamError::positive("length", self.length)?;
        if !self.offset.is_finite() {
            return Err(ParamError::new("offset", self.offset, "finite").into());
        }
        let set = self.set.build(self.dim, self.points, rng)?;
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
        if let Some(i) = theta.iter().position(|w| !w.is_finite()) {
            return Err(ParamError::new("theta", format!("{} at index {i}", theta[i]), "finite").into());
        }
        // The loss is 1 - reward: its linear part is -theta.
        let direction: Vec<f64> = theta.iter().map(|w| -w).collect();
        let least = 1.0 - self.offset + set.linear_min(&direction, &mut vec![0.0; dim])?;
        let losses =
            NormalLinear { direction, offset: self.offset, sd: self.sd, noise: 0.0, least, rounds: 0.0 };
        Ok(PointWorld::new(set, losses, rounds))
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
    rounds: f64,
}

impl PointLoss for NormalLinear {
    fn losses(&self) -> LossDomain {
        LossDomain::Real
    }

    fn next(&mut self, _round: u64, draw: Draw) {
        self.noise = self.sd * draw.normal(0);
        self.rounds += 1.0;
    }

    fn loss(&self, x: &[f64]) -> f64 {
        self.mean(x) - self.noise
    }

    fn mean(&self, x: &[f64]) -> f64 {
        1.0 - self.offset + dot(&self.direction, x)
    }

    fn best(&self, _set: &Set) -> f64 {
        self.rounds * self.least
    }
}

pub(super) const ROW: Row = Row {
    entry: Entry {
        name: "normal-linear",
        summary: "linear rewards with normal noise on the unit sphere, the hypercube or another set; losses are not clipped",
        source: "experiments 10, 12 and 16 of Pacchiano, Dann, Gentile 2024, for reproducing their figures",
        regret: "",
        alpha: None,
        fits: "stochastic linear losses that may lie outside [0, 1]: for the learners that take them",
        cost: "O(d)",
        kind: "points",
        status: "standard",
        fields: &[
            Field { default: "\"unit-sphere\"", ..SET_FIELDS[0] },
            Field { default: "5", ..SET_FIELDS[1] },
            SET_FIELDS[2],
            Field {
                name: "theta",
                default: "[]",
                doc: "parameter of the REWARD; empty: a ramp 0, 1, 2, ...",
            },
            Field {
                name: "support",
                default: "0",
                doc: "how many coordinates the ramp has, the first ones; 0: all",
            },
            Field { name: "length", default: "5.0", doc: "length of the ramp" },
            Field { name: "offset", default: "1.0", doc: "mean of the noise" },
            Field { name: "sd", default: "1.0", doc: "standard deviation of the noise" },
        ],
    },
    example: "set = \"hypercube\"\ndim = 10",
    build: |request, rng| {
        let params: NormalLinearParams = request.read()?;
        request.points(params.check(request.rounds, rng))
    },
};
