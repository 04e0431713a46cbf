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
    /// The arm as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<usize> for Arm {
    /// # Panics
    /// Never in practice: spaces of more than 2^32 arms are refused when they are built.
    fn from(index: usize) -> Self {
        Self(index as u32)
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

    /// Keeps the room.
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl Point {
    /// The coordinates.
    pub fn coordinates(&self) -> &[f64] {
        &self.0
    }

    /// Replaces the coordinates, keeping the room.
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
