//! Multi-armed bandits: stochastic, oblivious and adaptive.

mod moving;
mod oblivious;
mod stationary;
mod stochastic;

use corral_core::ParamError;

pub use moving::{Moving, Noise, Path};
pub use oblivious::{Switching, SwitchingParams};
pub use stationary::{Law, Stationary};
pub use stochastic::{Bernoulli, BernoulliParams};

use crate::registry::Row;

pub(crate) const ROWS: &[Row] = &[stochastic::BERNOULLI, oblivious::SWITCHING];

/// Passes `means` on when there is at least one and all lie in [0, 1]. Written so that NaN fails.
pub(crate) fn check_means(name: &'static str, means: &[f64]) -> Result<(), ParamError> {
    if means.is_empty() {
        return Err(ParamError::new(name, "an empty list", "at least one number"));
    }
    match means.iter().position(|m| !(0.0..=1.0).contains(m)) {
        Some(i) => Err(ParamError::new(name, format!("{} at index {i}", means[i]), "in [0, 1]")),
        None => Ok(()),
    }
}
