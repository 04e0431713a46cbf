//! The decisions that an environment takes.

use serde::{Deserialize, Serialize};

use crate::{Arm, Context, Point, Set};

/// The decisions that an environment takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Space {
    /// At most this many actions; a round may offer fewer ([`Context::actions`]).
    Arms(usize),
    /// Points of a set in R^d.
    Points(Set),
}

impl Space {
    /// Whether `arm` may be played in the round of `context`.
    #[inline]
    pub fn admits_arm(&self, context: &Context, arm: Arm) -> bool {
        match self {
            Self::Arms(actions) => arm.index() < (*actions).min(context.actions()),
            Self::Points(_) => false,
        }
    }

    /// Whether `point` lies in the space, to the last bit.
    pub fn admits_point(&self, point: &Point) -> bool {
        match self {
            Self::Arms(_) => false,
            Self::Points(set) => set.contains(point.coordinates()),
        }
    }
}
