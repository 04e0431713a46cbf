//! Whether a decision may be played.

use crate::{Arm, Context, Point, Space};

/// A decision whose place in a space can be checked.
pub trait Decision<X: ?Sized> {
    /// Whether `self` may be played at `x`.
    fn lies_in(&self, space: &Space, x: &X) -> bool;
}

impl Decision<Context> for Arm {
    fn lies_in(&self, space: &Space, x: &Context) -> bool {
        space.admits_arm(x, *self)
    }
}

impl Decision<()> for Arm {
    fn lies_in(&self, space: &Space, _x: &()) -> bool {
        matches!(space, Space::Arms(actions) if self.index() < *actions)
    }
}

impl<X: ?Sized> Decision<X> for Point {
    fn lies_in(&self, space: &Space, _x: &X) -> bool {
        space.admits_point(self)
    }
}
