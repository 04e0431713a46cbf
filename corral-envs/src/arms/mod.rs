//! Multi-armed bandits: stochastic, oblivious and adaptive.

mod adaptive;
mod bayesian;
mod curves;
mod moving;
mod oblivious;
mod replay;
mod stationary;
mod stochastic;

use corral_core::ParamError;

pub use adaptive::{
    AntiCumulative, AntiCumulativeParams, AntiGreedy, AntiGreedyParams, SlowStarter, SlowStarterParams,
};
pub use bayesian::{BayesianParams, Drawn};
pub use curves::{LearningCurves, LearningCurvesParams};
pub use moving::{Moving, Noise, Path};
pub use oblivious::{
    Alternating, AlternatingParams, ChangeParams, Constrained, ConstrainedParams, Drift, DriftParams,
    Exp3HardParams, FtlKiller, Switching, SwitchingParams,
};
pub use replay::{Replay, ReplayParams};
pub use stationary::{Law, Stationary};
pub use stochastic::{
    Bernoulli, BernoulliParams, Beta, BetaParams, Deterministic, DeterministicParams, GapParams, Gaussian,
    GaussianParams, HeavyTailed, HeavyTailedParams, clipped_mean,
};

use crate::registry::Row;

pub(crate) const ROWS: &[Row] = &[
    stochastic::BERNOULLI,
    stochastic::GAUSSIAN,
    stochastic::BETA,
    stochastic::HEAVY_TAILED,
    stochastic::DETERMINISTIC,
    stochastic::GAP,
    bayesian::BAYESIAN,
    oblivious::SWITCHING,
    oblivious::DRIFT,
    oblivious::ALTERNATING,
    oblivious::FTL_KILLER,
    oblivious::EXP3_HARD,
    oblivious::CONSTRAINED,
    oblivious::CHANGE,
    replay::REPLAY,
    adaptive::ANTI_GREEDY,
    adaptive::ANTI_CUMULATIVE,
    adaptive::SLOW_STARTER,
    curves::LEARNING_CURVES,
];

/// Passes `means` on when there is at least one and all lie in [0, 1]. Written so that NaN fails.
pub(crate) fn check_means(name: &'static str, means: &[f64]) -> Result<(), ParamError> {
    if means.is_empty() {
        return Err(ParamError::choice(name, "give at least one number"));
    }
    match means.iter().position(|m| !(0.0..=1.0).contains(m)) {
        Some(i) => Err(ParamError::new(name, format!("{} at index {i}", means[i]), "in [0, 1]")),
        None => Ok(()),
    }
}
