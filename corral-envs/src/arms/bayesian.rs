//! A bandit drawn from a prior: the same object that Thompson sampling starts from.

use corral_core::prior::{Noise, Prior};
use corral_core::{ParamError, Rng};
use serde::Deserialize;

use super::stochastic::check_arms;
use super::{BernoulliParams, Gaussian, GaussianParams, Law, Stationary, stochastic};
use crate::Draw;
use crate::registry::{Row, entry, field};

/// Parameters of a Bayesian bandit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BayesianParams {
    /// The number of arms.
    pub arms: usize,
    /// What the mean losses are drawn from.
    #[serde(default)]
    pub prior: Prior,
    /// Whether normal losses are clipped to [0, 1].
    #[serde(default = "yes")]
    pub clip: bool,
}

fn yes() -> bool {
    true
}

impl BayesianParams {
    /// Draws the world: losses follow the prior's likelihood around the drawn means. Means of Bernoulli losses that a
    /// finite family puts outside [0, 1] are refused.
    ///
    /// # Errors
    /// The prior is none for so many arms.
    pub fn draw(&self, rng: &mut dyn Rng) -> Result<Drawn, ParamError> {
        check_arms(self.arms, 1)?;
        self.prior.check(self.arms)?;
        let mut means = vec![0.0; self.arms];
        self.prior.draw(rng, &mut means);
        let variance = match &self.prior {
            Prior::Gaussian { noise, .. } | Prior::Correlated { noise, .. } => Some(*noise),
            Prior::Finite { noise, .. } | Prior::Particles { noise, .. } => match noise {
                Noise::Gaussian(variance) => Some(*variance),
                Noise::Bernoulli => None,
            },
            _ => None,
        };
        match variance {
            Some(v) => {
                GaussianParams { means, sd: libm::sqrt(v), clip: self.clip }.check().map(Drawn::Gaussian)
            }
            None => BernoulliParams { means, scale: 1.0 }.check().map(Drawn::Bernoulli),
        }
    }

    /// H(q), the entropy of which arm is best: exact where the prior allows it, else from 10000 draws.
    pub fn entropy(&self, rng: &mut dyn Rng) -> f64 {
        self.prior.entropy(self.arms, 10_000, rng)
    }
}

/// The laws that a prior led to.
#[derive(Debug, Clone)]
pub enum Drawn {
    /// Losses are 0 or 1.
    Bernoulli(stochastic::Bernoulli),
    /// Losses are normal.
    Gaussian(Gaussian),
}

impl Law for Drawn {
    fn arms(&self) -> usize {
        match self {
            Self::Bernoulli(law) => law.arms(),
            Self::Gaussian(law) => law.arms(),
        }
    }

    fn mean(&self, arm: usize) -> f64 {
        match self {
            Self::Bernoulli(law) => law.mean(arm),
            Self::Gaussian(law) => law.mean(arm),
        }
    }

    fn loss(&self, arm: usize, draw: Draw) -> f64 {
        match self {
            Self::Bernoulli(law) => law.loss(arm, draw),
            Self::Gaussian(law) => law.loss(arm, draw),
        }
    }
}

pub(super) const BAYESIAN: Row = Row {
    entry: entry(
        "bayesian",
        "arms",
        "arms whose mean losses are drawn from a prior before the first round",
        "the paper's Thompson sampling corollary; reports H(q), the entropy of which arm is best",
        "Bayesian",
        "O(1)",
        &[
            field("arms", "", "number of arms"),
            field(
                "prior",
                "{ beta = { a = [1.0], b = [1.0] } }",
                "what the mean losses are drawn from: beta, gaussian, correlated, finite, particles, one-good-arm",
            ),
            field("clip", "true", "whether normal losses are clipped to [0, 1]"),
        ],
    ),
    example: "arms = 4\nprior = { one-good-arm = { probabilities = [1.0], gap = 0.2 } }",
    build: |request, rng| {
        let params: BayesianParams = request.read()?;
        let law = params.draw(rng).map_err(|e| request.refuse(e))?;
        let entropy = params.entropy(rng);
        let world = Stationary::new(law);
        request.game(Ok::<_, ParamError>(world.with_facts(vec![("entropy of the best arm", entropy)])))
    },
};
