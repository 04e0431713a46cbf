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

crate::world::rows! {
    "bernoulli": BernoulliParams = "means = [0.9, 0.8, 0.5, 0.2]",
    "gaussian": GaussianParams = "means = [0.5, 0.0, 0.8, 0.9, 0.4]\nsd = 1.0",
    "beta": BetaParams = "a = [2.0, 0.5, 1.0]\nb = [1.0, 0.5, 3.0]",
    "heavy-tailed": HeavyTailedParams = "scales = [0.2, 0.1, 0.05]",
    "deterministic": DeterministicParams = "losses = [0.3, 0.1, 0.2]",
    "gap": GapParams = "arms = 5\ngap = 0.3",
    "exp3-hard": Exp3HardParams = "arms = 4",
    "bayesian": BayesianParams = "arms = 4\nprior = { one-good-arm = { probabilities = [1.0], gap = 0.2 } }",
    "switching": SwitchingParams = "means = [[0.2, 0.5, 0.5], [0.5, 0.5, 0.2]]",
    "drift": DriftParams = "arms = 3\nperiod = 200",
    "alternating": AlternatingParams,
    "ftl-killer": AlternatingParams,
    "stochastically-constrained": ConstrainedParams = "arms = 4",
    "change": ChangeParams,
    "replay": ReplayParams = "losses = [[0.0, 0.5], [1.0, 0.25], [0.5, 0.0]]\nrepeat = true",
    "anti-greedy": AntiGreedyParams = "arms = 3\nwindow = 5",
    "anti-cumulative": AntiCumulativeParams = "arms = 3",
    "slow-starter": SlowStarterParams = "plays = 100",
    "learning-curves": LearningCurvesParams = "file = 'tests/data/curves.csv'\nset = '44'",
}

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
