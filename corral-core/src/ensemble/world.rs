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
    number: fn(usize, &X) -> usize,
    place: fn(usize, &X) -> Option<usize>,
    /// Why the range of features cannot be used, where it cannot.
    fault: Option<ParamError>,
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
            number: |place, x| match x.offer() {
                Some(offer) => offer.get(place).map_or(usize::MAX, |number| *number as usize),
                None => place,
            },
            place: |number, x| match x.offer() {
                Some(offer) => offer.binary_search(&u32::try_from(number).ok()?).ok(),
                None => Some(number),
            },
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

    /// The decision that plays the arm with this number, where `x` offers it.
    pub fn arm(&self, number: usize, x: &X) -> Option<D> {
        (self.arm)((self.place)(number, x)?)
    }

    /// The decision that plays the arm at a place of what is offered.
    pub fn at(&self, place: usize) -> Option<D> {
        (self.arm)(place)
    }

    /// The number of the arm that a decision plays.
    pub fn number(&self, decision: &D, x: &X) -> Option<usize> {
        Some((self.number)((self.index)(decision)?, x))
    }

    /// Whether `decision` may be played at `x`.
    pub fn admits(&self, decision: &D, x: &X) -> bool {
        (self.decision)(decision, &self.space, x)
    }
}
