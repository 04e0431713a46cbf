//! A bandit drawn from a prior: the same object that Thompson sampling starts from.

use corral_core::prior::{Noise, Prior};

use super::ARMS;
use super::stochastic::{bernoulli, gaussian};
use crate::prelude::*;

params! {
    /// Parameters of a Bayesian bandit.
    pub struct BayesianParams {
        /// The number of arms.
        arms: usize, ARMS;
        /// What the mean losses are drawn from: beta, gaussian, correlated, finite, particles, one-good-arm.
        #[cfg_attr(feature = "describe", schemars(schema_with = "crate::world::any_table"))]
        prior: Prior = Prior::default();
        /// Whether normal losses are clipped to [0, 1].
        clip: bool = true;
    }
}

impl Builds for BayesianParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        self.prior.check(self.arms)?;
        let mut means = vec![0.0; self.arms];
        self.prior.draw(ask.rng, &mut means);
        let variance = match &self.prior {
            Prior::Gaussian { noise, .. } | Prior::Correlated { noise, .. } => Some(*noise),
            Prior::Finite { noise, .. } | Prior::Particles { noise, .. } => match noise {
                Noise::Gaussian(variance) => Some(*variance),
                Noise::Bernoulli => None,
            },
            _ => None,
        };
        // H(q): exact where the prior allows it, else from 10000 draws.
        let entropy = self.prior.entropy(self.arms, 10_000, ask.rng);
        let named = "entropy of the best arm";
        match variance {
            Some(v) => ask.game(gaussian(means, libm::sqrt(v), self.clip).with_fact(named, entropy)),
            None => {
                corral_core::params::Bounds::UNIT.check("means", &means)?;
                ask.game(bernoulli(means, 1.0, 0.0).with_fact(named, entropy))
            }
        }
    }
}
