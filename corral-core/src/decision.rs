//! Decisions: what an environment consumes. Policies stay inside their base.

use std::fmt::Debug;

use crate::registry::Kind;
use crate::{Arm, Base, Context, Point, Space};

/// What can be decided: an arm or a point. A base and an environment that decide on different things do not meet: in Rust
/// that is a type error, in a spec a named one.
pub trait Decision: Clone + Default + PartialEq + Debug + Send + 'static {
    /// [`Kind::Arms`] or [`Kind::Points`].
    const KIND: Kind;

    /// Whether it may be played in `space`, in a round that offers `offered` actions (where it says how many).
    fn lies_in(&self, space: &Space, offered: Option<usize>) -> bool;

    /// How an error names it.
    fn describe(&self) -> String;

    /// The arm of this index, where decisions are arms and there is one.
    fn arm(_index: usize) -> Option<Self> {
        None
    }

    /// The index of the arm, where decisions are arms.
    fn arm_index(&self) -> Option<usize> {
        None
    }

    /// The base, if it decides on this.
    fn pick(learner: Learner) -> Option<Box<dyn Base<Context, Self>>>;
}

/// A base of either kind of decision, ready to be run alone or corralled.
pub enum Learner {
    /// It decides on arms.
    Arms(Box<dyn Base<Context, Arm>>),
    /// It decides on points.
    Points(Box<dyn Base<Context, Point>>),
}

impl Debug for Learner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Arms(_) => "Learner::Arms",
            Self::Points(_) => "Learner::Points",
        })
    }
}

impl Learner {
    /// The base, if it decides on arms.
    pub fn into_arms(self) -> Option<Box<dyn Base<Context, Arm>>> {
        Arm::pick(self)
    }

    /// The base, if it decides on points.
    pub fn into_points(self) -> Option<Box<dyn Base<Context, Point>>> {
        Point::pick(self)
    }
}

impl Decision for Arm {
    const KIND: Kind = Kind::Arms;

    #[inline]
    fn lies_in(&self, space: &Space, offered: Option<usize>) -> bool {
        match space {
            // the last number is no arm: Arm::at makes it of an index that is too large
            Space::Arms(actions) => {
                self.0 < u32::MAX && self.index() < offered.map_or(*actions, |n| n.min(*actions))
            }
            Space::Points(_) => false,
        }
    }

    fn describe(&self) -> String {
        format!("arm {}", self.0)
    }

    fn arm(index: usize) -> Option<Self> {
        Self::new(index)
    }

    fn arm_index(&self) -> Option<usize> {
        Some(self.index())
    }

    fn pick(learner: Learner) -> Option<Box<dyn Base<Context, Self>>> {
        match learner {
            Learner::Arms(base) => Some(base),
            Learner::Points(_) => None,
        }
    }
}

impl Decision for Point {
    const KIND: Kind = Kind::Points;

    fn lies_in(&self, space: &Space, _offered: Option<usize>) -> bool {
        match space {
            Space::Points(set) => set.contains(self.coordinates()),
            Space::Arms(_) => false,
        }
    }

    fn describe(&self) -> String {
        let shown = &self.0[..self.0.len().min(4)];
        let more = if self.0.len() > shown.len() { " and more" } else { "" };
        format!("the point {shown:?}{more}")
    }

    fn pick(learner: Learner) -> Option<Box<dyn Base<Context, Self>>> {
        match learner {
            Learner::Points(base) => Some(base),
            Learner::Arms(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn an_index_beyond_32_bits_is_never_another_arm() {
        let (huge, space) = ((1usize << 32) + 1, Space::Arms(1 << 40));
        assert_eq!((Arm::new(huge), <Arm as Decision>::arm(huge)), (None, None));
        assert!(!Arm::at(huge).lies_in(&space, None) && !Arm::at(huge).lies_in(&space, Some(huge)));
        assert_eq!(Arm::new(u32::MAX as usize), None);
        assert_eq!(Arm::new(7), Some(Arm::at(7)));
        assert!(Arm::at(7).lies_in(&space, None));
    }
}
