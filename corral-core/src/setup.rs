//! What a learner is told about the world before the first round.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::memory::Budget;
use crate::{ContextSampler, ContextShape, FeatureRange, Policy, Space};

/// What a learner is told about the world before the first round. Constructors of bases take it, environments fill it.
///
/// ```
/// use corral_core::{ContextShape, Set, Setup, Space};
/// let arms = Setup::arms(3, Some(10_000));                                 // three arms, ten thousand rounds
/// let news = Setup {
///     context: ContextShape { features: 20, ..ContextShape::default() },    // twenty features a round
///     ..Setup::arms(5, None)                                               // for as long as it takes
/// };
/// let ball = Setup::new(Space::Points(Set::ball(2)?), Some(1_000));        // points of the unit disc
/// assert_eq!((arms.actions(), news.actions(), ball.actions()), (3, 5, 0));
/// # Ok::<(), corral_core::set::SetError>(())
/// ```
#[derive(Clone)]
pub struct Setup {
    /// The decisions that can be played.
    pub space: Space,
    /// What contexts look like.
    pub context: ContextShape,
    /// Which features are taken; bases need not know it.
    pub range: FeatureRange,
    /// Where losses lie.
    pub losses: LossDomain,
    /// The number of rounds, where it is known.
    pub horizon: Option<u64>,
    /// The policy class that comes with the environment, where there is one.
    pub policies: Option<Arc<[Policy]>>,
    /// The distribution of contexts, where they are i.i.d. and can be sampled.
    pub sampler: Option<Arc<dyn ContextSampler>>,
    /// What a learner may claim of memory.
    pub budget: Budget,
}

impl Setup {
    /// A multi-armed bandit with `actions` arms and no side information.
    pub fn arms(actions: usize, horizon: Option<u64>) -> Self {
        Self::new(Space::Arms(actions), horizon)
    }

    /// Decisions in `space`, no side information.
    pub fn new(space: Space, horizon: Option<u64>) -> Self {
        Self {
            space,
            context: ContextShape::default(),
            range: FeatureRange::Any,
            losses: LossDomain::Unit,
            horizon,
            policies: None,
            sampler: None,
            budget: Budget::default(),
        }
    }

    /// The number of actions; 0 where decisions are points.
    pub fn actions(&self) -> usize {
        match &self.space {
            Space::Arms(actions) => *actions,
            Space::Points(_) => 0,
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("space", &self.space)
            .field("context", &self.context)
            .field("range", &self.range)
            .field("losses", &self.losses)
            .field("horizon", &self.horizon)
            .field("policies", &self.policies.as_ref().map(|p| p.len()))
            .field("sampler", &self.sampler.is_some())
            .finish()
    }
}

/// Where losses lie. An environment says it, and learners that are not defined there refuse to be built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossDomain {
    /// In [0, 1], as everywhere in the paper.
    #[default]
    Unit,
    /// Anywhere (up to 1e100 in size, so that squares stay finite): no guarantee of the paper holds. For reproducing
    /// published experiments that did not clip their losses.
    Real,
}

impl LossDomain {
    /// Whether `loss` lies there. Written so that NaN does not.
    #[inline]
    pub fn contains(self, loss: f64) -> bool {
        match self {
            Self::Unit => (0.0..=1.0).contains(&loss),
            Self::Real => loss.abs() <= 1e100,
        }
    }
}
