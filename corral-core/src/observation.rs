//! What a learner sees before it decides.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::{BaseError, Context, ContextShape, Space};

/// What a learner sees before it decides.
pub trait Observation {
    /// Whether it is one of the announced kind: as many features, actions and rows, all of them finite.
    ///
    /// # Errors
    /// Names what differs.
    fn check(&self, space: &Space, shape: &ContextShape) -> Result<(), BaseError>;

    /// How many actions it offers, where it says so.
    fn offered(&self) -> Option<usize>;

    /// The numbers of the offered actions among all, which increase; `None`: the first ones are offered.
    fn offer(&self) -> Option<&[u32]> {
        None
    }

    /// A number that differs from that of every other observation, but by chance of 2^-64: a ticket is bound to what it was
    /// made for by it. Equal observations have the same. Without `key` other observations with it cannot be found.
    fn digest(&self, key: u64) -> u64;

    /// Its shared features, and those of its action rows, one row after the other.
    fn numbers(&self) -> [&[f64]; 2] {
        [&[], &[]]
    }

    /// A copy whose [numbers](Observation::numbers) `change` has changed; `None` where it has no numbers.
    fn changed(&self, _change: &dyn Fn([&mut [f64]; 2])) -> Option<Box<Self>> {
        None
    }
}

impl Observation for () {
    fn check(&self, _: &Space, _: &ContextShape) -> Result<(), BaseError> {
        Ok(())
    }

    fn offered(&self) -> Option<usize> {
        None
    }

    fn digest(&self, _: u64) -> u64 {
        0
    }
}

impl Observation for Context {
    fn check(&self, space: &Space, shape: &ContextShape) -> Result<(), BaseError> {
        BaseError::check_count("features", self.features().len(), shape.features)?;
        if let Space::Arms(actions) = space
            && !(1..=*actions).contains(&self.actions())
        {
            return Err(BaseError::Context { what: "actions", found: self.actions(), expected: *actions });
        }
        if let (Some(offer), Space::Arms(actions)) = (self.offer(), space) {
            BaseError::check_count("numbers of actions", offer.len(), self.actions())?;
            let increasing = offer.windows(2).all(|pair| pair[0] < pair[1]);
            if !increasing || offer.last().is_some_and(|last| *last as usize >= *actions) {
                return Err(BaseError::Numbers { numbers: offer.to_vec(), actions: *actions });
            }
        }
        if shape.row_features > 0 {
            BaseError::check_count("features per action", self.row_dim(), shape.row_features)?;
            BaseError::check_count("action features", self.rows().len(), self.actions() * self.row_dim())?;
        }
        if let Some(cells) = shape.cells
            && self.cell().is_none_or(|cell| cell >= cells)
        {
            return Err(BaseError::Context {
                what: "cells",
                found: self.cell().map_or(0, |cell| cell + 1),
                expected: cells,
            });
        }
        for numbers in [self.features(), self.rows()] {
            if let Some(index) = numbers.iter().position(|v| !v.is_finite()) {
                return Err(BaseError::Feature { index, value: numbers[index] });
            }
        }
        Ok(())
    }

    fn offered(&self) -> Option<usize> {
        Some(self.actions())
    }

    fn offer(&self) -> Option<&[u32]> {
        self.offer()
    }

    fn digest(&self, key: u64) -> u64 {
        let head = (self.cell().map_or(0, |cell| cell as u64 + 1) << 32) | self.actions() as u64;
        if self.features().is_empty()
            && self.rows().is_empty()
            && self.row_dim() == 0
            && self.offer().is_none()
        {
            return head;
        }
        let mut hash = SipHasher13::new_with_keys(key, head);
        hash.write_u64(((self.row_dim() as u64) << 32) | self.features().len() as u64);
        for value in self.features().iter().chain(self.rows()) {
            // Both zeros are equal.
            hash.write_u64((value + 0.0).to_bits());
        }
        self.offer().unwrap_or_default().iter().for_each(|number| hash.write_u32(*number));
        hash.finish()
    }

    fn numbers(&self) -> [&[f64]; 2] {
        [self.features(), self.rows()]
    }

    fn changed(&self, change: &dyn Fn([&mut [f64]; 2])) -> Option<Box<Self>> {
        let mut copy = Box::new(self.clone());
        change(copy.numbers_mut());
        Some(copy)
    }
}
