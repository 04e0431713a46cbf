//! The decisions that an environment takes.

use serde::{Deserialize, Serialize};

use crate::Set;

/// The decisions that an environment takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Space {
    /// At most this many actions; a round may offer fewer ([`Context::actions`](crate::Context::actions)).
    Arms(usize),
    /// Points of a set in R^d.
    Points(Set),
}

/// One of finitely many actions, counted from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Arm(pub u32);

impl Arm {
    /// The arm of an index, where there can be one: below 2^32 - 1.
    pub fn new(index: usize) -> Option<Self> {
        u32::try_from(index).ok().filter(|number| *number < u32::MAX).map(Self)
    }

    /// The arm of an index that lies below a number of actions. A larger one than there can be becomes the last number, which
    /// lies in no space: it is refused where it is played, and is never another arm.
    pub fn at(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The arm as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A point of R^d. Two points are the same decision only when they are equal to the last bit.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Point(pub Vec<f64>);

impl Clone for Point {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// Keeps the memory.
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl Point {
    /// The coordinates.
    pub fn coordinates(&self) -> &[f64] {
        &self.0
    }

    /// Replaces the coordinates, keeping the memory.
    pub fn set(&mut self, coordinates: &[f64]) {
        self.0.clear();
        self.0.extend_from_slice(coordinates);
    }
}

impl From<Vec<f64>> for Point {
    fn from(coordinates: Vec<f64>) -> Self {
        Self(coordinates)
    }
}
