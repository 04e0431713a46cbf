//! What an ensemble was built for: contexts and decisions are held against it before any base sees them.

use super::EnsembleError;
use crate::{BaseError, ContextShape, Decision, Observation, ParamError, Setup, Space};

/// What an ensemble was built for.
pub(super) struct BuiltFor<X: ?Sized, D> {
    space: Space,
    shape: ContextShape,
    observation: fn(&X, &Space, &ContextShape) -> Result<(), BaseError>,
    decision: fn(&D, &Space, &X) -> bool,
    arm: fn(usize) -> Option<D>,
    index: fn(&D) -> Option<usize>,
    offered: fn(&X) -> Offered<'_>,
    /// Why the range of features cannot be used, where it cannot.
    fault: Option<ParamError>,
}

/// The arms that a round offers: those with these numbers, or the first `count` of all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offered<'a> {
    pub numbers: Option<&'a [u32]>,
    pub count: usize,
}

impl Offered<'_> {
    /// Without a word of what is offered it is every arm.
    #[cfg(test)]
    pub const ALL: Self = Self { numbers: None, count: usize::MAX };

    /// How many of `arms` arms are offered.
    pub fn len(&self, arms: usize) -> usize {
        self.count.min(arms)
    }

    /// At which place the arm with this number is offered, where it is.
    pub fn place(&self, number: usize) -> Option<usize> {
        match self.numbers {
            Some(numbers) => numbers.binary_search(&u32::try_from(number).ok()?).ok(),
            None => (number < self.count).then_some(number),
        }
    }

    /// The number of the arm that is offered at a place.
    pub fn number(&self, place: usize) -> usize {
        self.numbers.map_or(place, |numbers| numbers.get(place).map_or(usize::MAX, |number| *number as usize))
    }
}

impl<X: ?Sized, D> BuiltFor<X, D> {
    pub fn new(setup: &Setup) -> Self
    where
        X: Observation,
        D: Decision,
    {
        Self {
            space: setup.space.clone(),
            shape: setup.context,
            observation: X::check,
            decision: |decision, space, x| decision.lies_in(space, x.offered()),
            arm: D::arm,
            index: D::arm_index,
            offered: |x| Offered { numbers: x.offer(), count: x.offered().unwrap_or(usize::MAX) },
            fault: setup.range.check(&setup.context).err(),
        }
    }

    /// Whether `x` is a context of this world.
    pub fn check(&self, x: &X) -> Result<(), EnsembleError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone().into());
        }
        (self.observation)(x, &self.space, &self.shape).map_err(EnsembleError::Context)
    }

    /// How many arms there are, where there are no contexts.
    pub fn plain_arms(&self) -> Option<usize> {
        let ContextShape { features, row_features, cells } = self.shape;
        match self.space {
            Space::Arms(arms) if features == 0 && row_features == 0 && cells.is_none() => Some(arms),
            _ => None,
        }
    }

    /// The arms that `x` offers.
    pub fn offered<'a>(&self, x: &'a X) -> Offered<'a> {
        (self.offered)(x)
    }

    /// The decision that plays the arm with this number, where `x` offers it.
    pub fn arm(&self, number: usize, x: &X) -> Option<D> {
        (self.arm)(self.offered(x).place(number)?)
    }

    /// The decision that plays the arm at a place of what is offered.
    pub fn at(&self, place: usize) -> Option<D> {
        (self.arm)(place)
    }

    /// The number of the arm that a decision plays.
    pub fn number(&self, decision: &D, x: &X) -> Option<usize> {
        Some(self.offered(x).number((self.index)(decision)?))
    }

    /// Whether `decision` may be played at `x`.
    pub fn admits(&self, decision: &D, x: &X) -> bool {
        (self.decision)(decision, &self.space, x)
    }
}
