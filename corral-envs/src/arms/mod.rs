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
use corral_core::params::Bounds;

use moving::{Moving, Past};
use oblivious::FTL_KILLER;
use stationary::Stationary;

pub use adaptive::{AntiCumulativeParams, AntiGreedyParams, SlowStarterParams};
pub use bayesian::BayesianParams;
pub use curves::LearningCurvesParams;
pub use moving::Noise;
pub use oblivious::{AlternatingParams, ChangeParams, ConstrainedParams, DriftParams, SwitchingParams};
pub use replay::{Replay, ReplayParams};
pub use stochastic::{
    BernoulliParams, BetaParams, DeterministicParams, Exp3HardParams, GapParams, GaussianParams,
    HeavyTailedParams, clipped_mean,
};

pub(crate) use adaptive::AntiGreedy;
pub(crate) use adaptive::WINDOW;
pub(crate) use stochastic::deterministic;

crate::world::rows![
    BernoulliParams,
    GaussianParams,
    BetaParams,
    HeavyTailedParams,
    DeterministicParams,
    GapParams,
    Exp3HardParams,
    BayesianParams,
    SwitchingParams,
    DriftParams,
    AlternatingParams,
    AlternatingParams(FTL_KILLER),
    ConstrainedParams,
    ChangeParams,
    ReplayParams,
    AntiGreedyParams,
    AntiCumulativeParams,
    SlowStarterParams,
    LearningCurvesParams,
];

/// How many arms there may be.
pub(crate) const ARMS: Bounds = Bounds::between(1.0, MOST_ARMS);

/// How many arms there may be where one is too few.
pub(crate) const SEVERAL_ARMS: Bounds = Bounds::between(2.0, MOST_ARMS);

/// 2^24: an arm's index has 32 bits, and every arm a few numbers.
const MOST_ARMS: f64 = 16_777_216.0;

/// Refuses an empty list.
pub(crate) fn given<T>(name: &'static str, list: &[T]) -> Result<(), ParamError> {
    if list.is_empty() { Err(ParamError::choice(name, "give at least one number")) } else { Ok(()) }
}
