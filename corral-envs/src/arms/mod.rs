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

pub use adaptive::{
    AntiCumulative, AntiCumulativeParams, AntiGreedy, AntiGreedyParams, SlowStarter, SlowStarterParams,
};
pub use bayesian::{BayesianParams, Drawn};
pub use curves::{LearningCurves, LearningCurvesParams};
pub use moving::{Moving, Noise, Path};
pub use oblivious::{
    Alternating, AlternatingParams, ChangeParams, Constrained, ConstrainedParams, Drift, DriftParams,
    FtlKiller, Switching, SwitchingParams,
};
pub use replay::{Replay, ReplayParams};
pub use stationary::{Law, Stationary};
pub use stochastic::{
    Bernoulli, BernoulliParams, Beta, BetaParams, Deterministic, DeterministicParams, Exp3HardParams,
    GapParams, Gaussian, GaussianParams, HeavyTailed, HeavyTailedParams, clipped_mean,
};

pub(crate) use adaptive::ROWS as ADAPTIVE;
pub(crate) use adaptive::WINDOW;
pub(crate) use bayesian::ROWS as BAYESIAN;
pub(crate) use curves::ROWS as CURVES;
pub(crate) use oblivious::ROWS as OBLIVIOUS;
pub(crate) use replay::ROWS as REPLAY;
pub(crate) use stochastic::ROWS as STOCHASTIC;

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
