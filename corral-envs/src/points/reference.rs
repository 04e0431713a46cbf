//! The instances over points on which reference regrets are published, by name.

use corral_core::catalog::{Entry, Field};
use corral_core::{Rng, Set, memory};
use serde::{Deserialize, Serialize};

use super::adversarial::{AdversarialLinear, AdversarialLinearParams, check_variant};
use super::convex::{AdversarialConvex, AdversarialConvexParams};
use super::{PointLoss, PointWorld, misleads};
use crate::registry::Row;
use crate::{Draw, EnvError};

/// Which loss the reference ball has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceLoss {
    /// f(x) = 1/2 + <x, c_t>/2.
    Linear,
    /// f(x) = |x - z_t|/2.
    Lipschitz,
}

/// Parameters of the reference ball: the unit ball with the linear losses of [`AdversarialLinear`] at gap and noise
/// 1/2, or the norm of [`AdversarialConvex`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReferenceBallParams {
    /// The loss.
    pub loss: ReferenceLoss,
    /// Dimension.
    pub dim: usize,
    /// 0: stays; 1: points the other way in the first third.
    pub variant: u8,
}

impl Default for ReferenceBallParams {
    fn default() -> Self {
        Self { loss: ReferenceLoss::Linear, dim: 2, variant: 0 }
    }
}

impl ReferenceBallParams {
    /// The linear instance of `rounds` rounds, whatever `loss` says.
    ///
    /// # Errors
    /// The dimension is 0 or the variant none.
    pub fn linear(self, rounds: u64, rng: &mut dyn Rng) -> Result<PointWorld<AdversarialLinear>, EnvError> {
        let (dim, variant) = (self.dim, self.variant);
        AdversarialLinearParams { dim, variant, ..Default::default() }.check(rounds, rng)
    }

    /// The Lipschitz instance of `rounds` rounds, whatever `loss` says.
    ///
    /// # Errors
    /// The dimension is 0 or the variant none.
    pub fn lipschitz(
        self,
        rounds: u64,
        rng: &mut dyn Rng,
    ) -> Result<PointWorld<AdversarialConvex>, EnvError> {
        let (dim, variant) = (self.dim, self.variant);
        AdversarialConvexParams { dim, variant, ..Default::default() }.check(rounds, rng)
    }
}

/// Parameters of [`ReferenceSimplex`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReferenceSimplexParams {
    /// Number of vertices.
    pub arms: usize,
    /// 0: vertex 0 is best throughout; 1: the last vertex is best in the first third.
    pub variant: u8,
}

impl Default for ReferenceSimplexParams {
    fn default() -> Self {
        Self { arms: 3, variant: 0 }
    }
}

impl ReferenceSimplexParams {
    /// The instance of `rounds` rounds.
    ///
    /// # Errors
    /// There are fewer than 2 vertices, or the variant is none.
    pub fn check(self, rounds: u64) -> Result<PointWorld<ReferenceSimplex>, EnvError> {
        check_variant(self.variant)?;
        memory::claim("arms", self.arms, self.arms as u128 * 4)?;
        let set = Set::simplex(self.arms)?;
        let losses = ReferenceSimplex {
            variant: self.variant,
            horizon: rounds,
            best: 0,
            costs: vec![0.0; self.arms],
            ahead: 0.0,
            behind: 0.0,
        };
        Ok(PointWorld::new(set, losses, rounds))
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
        super::dot(&self.costs, x).clamp(0.0, 1.0)
    }

    fn mean(&self, x: &[f64]) -> f64 {
        0.5 - GAP * x[self.best]
    }

    fn best(&self, _set: &Set) -> f64 {
        0.5 * (self.ahead + self.behind) - GAP * self.ahead.max(self.behind)
    }
}

pub(super) const BALL_ROW: Row = Row {
    entry: Entry {
        name: "reference-ball",
        summary: "the unit ball with the linear or Lipschitz losses of the reference regrets",
        source: "reference instances for SCRiBLe and BGD",
        regret: "",
        alpha: None,
        fits: "adversarial linear or convex",
        cost: "O(d)",
        kind: "points",
        status: "standard",
        fields: &[
            Field { name: "loss", default: "\"linear\"", doc: "linear or lipschitz" },
            Field { name: "dim", default: "2", doc: "dimension" },
            Field { name: "variant", default: "0", doc: "0: stays; 1: the other way in the first third" },
        ],
    },
    example: "loss = \"lipschitz\"\ndim = 2\nvariant = 0",
    build: |request, rng| {
        let params: ReferenceBallParams = request.read()?;
        match params.loss {
            ReferenceLoss::Linear => request.points(params.linear(request.rounds, rng)),
            ReferenceLoss::Lipschitz => request.points(params.lipschitz(request.rounds, rng)),
        }
    },
};

pub(super) const SIMPLEX_ROW: Row = Row {
    entry: Entry {
        name: "reference-simplex",
        summary: "the simplex with the Bernoulli losses of the reference regrets",
        source: "reference instance for SCRiBLe on the simplex",
        regret: "",
        alpha: None,
        fits: "adversarial linear",
        cost: "O(K)",
        kind: "points",
        status: "standard",
        fields: &[
            Field { name: "arms", default: "3", doc: "number of vertices" },
            Field {
                name: "variant",
                default: "0",
                doc: "0: vertex 0 is best; 1: the last one in the first third",
            },
        ],
    },
    example: "arms = 3",
    build: |request, _| {
        let params: ReferenceSimplexParams = request.read()?;
        request.points(params.check(request.rounds))
    },
};
