//! Stochastic arms: fixed laws, one draw a round.

use corral_core::ParamError;
use corral_core::catalog::{Entry, Field};
use serde::Deserialize;

use super::{Law, Stationary, check_means};
use crate::Draw;
use crate::registry::Row;

/// Parameters of [`Bernoulli`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BernoulliParams {
    /// The probability of loss 1, per arm.
    pub means: Vec<f64>,
}

impl BernoulliParams {
    /// The laws, or the mean that is no probability.
    ///
    /// # Errors
    /// No mean is given, or one is outside [0, 1].
    pub fn check(self) -> Result<Bernoulli, ParamError> {
        check_means("means", &self.means)?;
        Ok(Bernoulli { means: self.means })
    }
}

/// Arms that cost 1 with a fixed probability, else 0.
#[derive(Debug, Clone)]
pub struct Bernoulli {
    means: Vec<f64>,
}

impl Law for Bernoulli {
    fn arms(&self) -> usize {
        self.means.len()
    }

    fn mean(&self, arm: usize) -> f64 {
        self.means[arm]
    }

    #[inline]
    fn loss(&self, arm: usize, draw: Draw) -> f64 {
        f64::from(draw.uniform(arm as u64) < self.means[arm])
    }
}

pub(super) const BERNOULLI: Row = Row {
    entry: Entry {
        name: "bernoulli",
        summary: "arms that cost 1 with a fixed probability, else 0",
        source: "Robbins 1952; the paper's multi-armed example",
        regret: "",
        alpha: None,
        fits: "stochastic",
        cost: "O(1)",
        kind: "arms",
        status: "standard",
        fields: &[Field { name: "means", default: "", doc: "mean LOSS per arm, each in [0, 1]" }],
    },
    example: "means = [0.9, 0.8, 0.5, 0.2]",
    build: |request, _| {
        let params: BernoulliParams = request.read()?;
        request.arms(params.check().map(|law| Stationary::new(law, request.rounds)))
    },
};
