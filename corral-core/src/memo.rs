//! What a base wants back with its feedback.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Numbers that a base stores with its proposal and gets back when the loss arrives: the probability q_t(a) with
/// which it drew, a direction, an epoch. Few numbers stay inline; a direction of R^d spills, and a recycled memo
/// keeps the memory it once had.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memo(SmallVec<[f64; 4]>);

impl Memo {
    /// A memo of nothing.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A memo of one number.
    pub fn one(value: f64) -> Self {
        Self(SmallVec::from_slice(&[value]))
    }

    /// The numbers.
    #[inline]
    pub fn numbers(&self) -> &[f64] {
        &self.0
    }

    /// The number at `index`, if the memo has one there.
    pub fn get(&self, index: usize) -> Option<f64> {
        self.0.get(index).copied()
    }

    /// Replaces the numbers, keeping the memory.
    #[inline]
    pub fn set(&mut self, numbers: &[f64]) {
        // The usual memo is one number in the place of another: avoids a call.
        if let ([number], [place]) = (numbers, &mut self.0[..]) {
            *place = *number;
        } else {
            self.refill(numbers);
        }
    }

    #[inline(never)]
    fn refill(&mut self, numbers: &[f64]) {
        self.0.clear();
        self.0.extend_from_slice(numbers);
    }

    /// Forgets the numbers, keeping the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a number at the end.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Takes the number at the end.
    pub fn pop(&mut self) -> Option<f64> {
        self.0.pop()
    }

    /// Adds numbers at the end.
    pub fn extend(&mut self, numbers: &[f64]) {
        self.0.extend_from_slice(numbers);
    }
}

impl From<&[f64]> for Memo {
    fn from(numbers: &[f64]) -> Self {
        Self(SmallVec::from_slice(numbers))
    }
}
