//! Convex sets of R^d as plain data: membership, projection, linear minimum, centre, radii. No learning.

use serde::{Deserialize, Serialize};

/// A set of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Set {
    /// The unit ball of R^dim.
    Ball {
        /// Dimension.
        dim: usize,
    },
    /// The cube [-1, 1]^dim.
    Box {
        /// Dimension.
        dim: usize,
    },
    /// The probability simplex with this many vertices.
    Simplex {
        /// Number of vertices, one more than the affine dimension.
        vertices: usize,
    },
}

impl Set {
    /// Number of coordinates of a point.
    pub fn dim(&self) -> usize {
        match *self {
            Self::Ball { dim } | Self::Box { dim } => dim,
            Self::Simplex { vertices } => vertices,
        }
    }

    /// Whether `point` lies in the set. Written so that NaN fails.
    pub fn contains(&self, point: &[f64]) -> bool {
        point.len() == self.dim()
            && match self {
                Self::Ball { .. } => point.iter().map(|v| v * v).sum::<f64>() <= 1.0,
                Self::Box { .. } => point.iter().all(|v| v.abs() <= 1.0),
                Self::Simplex { .. } => {
                    point.iter().all(|v| *v >= 0.0) && (point.iter().sum::<f64>() - 1.0).abs() <= 1e-9
                }
            }
    }
}
