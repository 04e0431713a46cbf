//! Finitely many points of R^d.

use serde::{Deserialize, Serialize};

use super::SetError;
use crate::vectors::{distance, dot, lowest};

/// Finitely many points of R^d, in the order in which they were given. Not convex: its projection is the nearest
/// point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct Finite {
    dim: usize,
    points: Vec<f64>,
    centre: Vec<f64>,
    outer_radius: f64,
}

/// As a spec file writes it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    points: Vec<Vec<f64>>,
}

impl TryFrom<Raw> for Finite {
    type Error = SetError;
    fn try_from(raw: Raw) -> Result<Self, SetError> {
        Self::new(&raw.points)
    }
}

impl From<Finite> for Raw {
    fn from(set: Finite) -> Self {
        Self { points: set.iter().map(<[f64]>::to_vec).collect() }
    }
}

impl Finite {
    /// The set of `points`.
    ///
    /// # Errors
    /// There are none, they differ in length, are of R^0, hold a number that is not finite, or one is there twice.
    pub fn new(points: &[Vec<f64>]) -> Result<Self, SetError> {
        let first = points.first().ok_or(SetError::NoPoints)?;
        let dim = first.len();
        if dim == 0 {
            return Err(SetError::ZeroDimension);
        }
        let mut flat = Vec::with_capacity(points.len() * dim);
        for (i, point) in points.iter().enumerate() {
            let name = format!("point {i}");
            SetError::same_length(&name, point.len(), dim)?;
            SetError::finite(&name, point)?;
            flat.extend_from_slice(point);
        }
        let mut order: Vec<usize> = (0..points.len()).collect();
        let row = |i: usize| &flat[i * dim..(i + 1) * dim];
        order
            .sort_by(|a, b| row(*a).partial_cmp(row(*b)).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b)));
        if let Some(twins) = order.windows(2).find(|w| row(w[0]) == row(w[1])) {
            return Err(SetError::Duplicate(twins[0], twins[1]));
        }
        let mut centre = vec![0.0; dim];
        for point in flat.chunks_exact(dim) {
            for (c, v) in centre.iter_mut().zip(point) {
                *c += v / points.len() as f64;
            }
        }
        let outer_radius = flat.chunks_exact(dim).map(|p| distance(p, &centre)).fold(0.0, f64::max);
        Ok(Self { dim, points: flat, centre, outer_radius })
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many points there are.
    pub fn count(&self) -> usize {
        self.points.len() / self.dim
    }

    /// The `index`-th point.
    pub fn get(&self, index: usize) -> Option<&[f64]> {
        self.points.get(index * self.dim..(index + 1) * self.dim)
    }

    /// The points in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'_, f64> {
        self.points.chunks_exact(self.dim)
    }

    /// The points as one row-major block.
    pub fn flat(&self) -> &[f64] {
        &self.points
    }

    /// The index of `point`, compared to the last bit.
    pub fn index_of(&self, point: &[f64]) -> Option<usize> {
        self.iter().position(|p| p == point)
    }

    /// The index of the point that minimises <direction, .>; the lowest where several do.
    pub fn minimiser(&self, direction: &[f64]) -> usize {
        lowest(self.iter().map(|p| dot(p, direction))).0
    }

    /// The index of the nearest point; the lowest where several are.
    pub fn nearest(&self, point: &[f64]) -> usize {
        lowest(self.iter().map(|p| distance(p, point))).0
    }

    pub(super) fn centre(&self) -> &[f64] {
        &self.centre
    }

    pub(super) fn outer_radius(&self) -> f64 {
        self.outer_radius
    }
}
