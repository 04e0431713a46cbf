//! Sets of R^d as plain data: membership, projection, linear minimum, centre, radii. No learning.
//!
//! ```
//! use corral_core::Set;
//! let set = Set::polytope(&[vec![1.0, 0.0], vec![0.0, 1.0], vec![-1.0, -1.0]], &[1.0, 1.0, 1.0])?;
//! let mut point = [3.0, 0.5];
//! set.project(&mut point)?;
//! assert!(set.contains(&point) && (point[0] - 1.0).abs() < 1e-12);
//! assert!(Set::polytope(&[vec![1.0, 0.0]], &[1.0]).is_err());      // unbounded
//! # Ok::<(), corral_core::set::SetError>(())
//! ```

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod error;
mod finite;
mod lp;
mod polytope;
#[cfg(test)]
mod tests;

use crate::vectors::{dot, lowest};
pub use error::SetError;
pub use finite::Finite;
pub use polytope::Polytope;

/// How far the coordinates of a point of the simplex may sum from 1.
const SIMPLEX_SUM: f64 = 1e-9;

/// A set of points. Sizes are checked by the constructors and when a set is read; one written out as a literal is
/// checked by [`Set::check`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
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
    /// A bounded polytope {x : Ax <= b} with an interior.
    Polytope(Polytope),
    /// Finitely many points.
    Finite(Finite),
    /// The unit sphere of R^dim: not convex.
    Sphere {
        /// Dimension.
        dim: usize,
    },
    /// The corners {-1, 1}^dim / sqrt(dim), of length 1: not convex, and too many to list.
    Hypercube {
        /// Dimension.
        dim: usize,
    },
}

impl Serialize for Set {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Set {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)?.checked().map_err(D::Error::custom)
    }
}

impl Set {
    /// The unit ball of R^dim.
    ///
    /// # Errors
    /// `dim` is 0.
    pub fn ball(dim: usize) -> Result<Self, SetError> {
        Self::Ball { dim }.checked()
    }

    /// The cube [-1, 1]^dim.
    ///
    /// # Errors
    /// `dim` is 0.
    pub fn cube(dim: usize) -> Result<Self, SetError> {
        Self::Box { dim }.checked()
    }

    /// The unit sphere of R^dim.
    ///
    /// # Errors
    /// `dim` is 0.
    pub fn sphere(dim: usize) -> Result<Self, SetError> {
        Self::Sphere { dim }.checked()
    }

    /// The corners {-1, 1}^dim / sqrt(dim).
    ///
    /// # Errors
    /// `dim` is 0.
    pub fn hypercube(dim: usize) -> Result<Self, SetError> {
        Self::Hypercube { dim }.checked()
    }

    /// The probability simplex with `vertices` vertices.
    ///
    /// # Errors
    /// There are fewer than 2.
    pub fn simplex(vertices: usize) -> Result<Self, SetError> {
        Self::Simplex { vertices }.checked()
    }

    /// The polytope {x : <rows_i, x> <= bounds_i}.
    ///
    /// # Errors
    /// As [`Polytope::new`].
    pub fn polytope(rows: &[Vec<f64>], bounds: &[f64]) -> Result<Self, SetError> {
        Polytope::new(rows, bounds).map(Self::Polytope)
    }

    /// Finitely many points.
    ///
    /// # Errors
    /// As [`Finite::new`].
    pub fn finite(points: &[Vec<f64>]) -> Result<Self, SetError> {
        Finite::new(points).map(Self::Finite)
    }

    fn checked(self) -> Result<Self, SetError> {
        self.check()?;
        Ok(self)
    }

    /// Whether the set's sizes are such that it has something to decide on.
    ///
    /// # Errors
    /// The dimension is 0, or a simplex has fewer than 2 vertices.
    pub fn check(&self) -> Result<(), SetError> {
        match *self {
            Self::Ball { dim: 0 }
            | Self::Box { dim: 0 }
            | Self::Sphere { dim: 0 }
            | Self::Hypercube { dim: 0 } => Err(SetError::ZeroDimension),
            Self::Simplex { vertices } if vertices < 2 => Err(SetError::Vertices(vertices)),
            _ => Ok(()),
        }
    }

    /// What kind of set this is: "ball", "box", "simplex", "polytope", "finite set", "sphere", "hypercube".
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ball { .. } => "ball",
            Self::Box { .. } => "box",
            Self::Simplex { .. } => "simplex",
            Self::Polytope(_) => "polytope",
            Self::Finite(_) => "finite set",
            Self::Sphere { .. } => "sphere",
            Self::Hypercube { .. } => "hypercube",
        }
    }

    /// Number of coordinates of a point.
    pub fn dim(&self) -> usize {
        match self {
            Self::Ball { dim } | Self::Box { dim } | Self::Sphere { dim } | Self::Hypercube { dim } => *dim,
            Self::Simplex { vertices } => *vertices,
            Self::Polytope(polytope) => polytope.dim(),
            Self::Finite(points) => points.dim(),
        }
    }

    /// Dimension of the affine hull: one less than [`dim`](Set::dim) on the simplex. (A finite set answers with the
    /// number of its coordinates.)
    pub fn affine_dim(&self) -> usize {
        match self {
            Self::Simplex { vertices } => vertices.saturating_sub(1),
            other => other.dim(),
        }
    }

    /// Whether the set is convex: all but finite sets, the sphere and the hypercube.
    pub fn is_convex(&self) -> bool {
        !matches!(self, Self::Finite(_) | Self::Sphere { .. } | Self::Hypercube { .. })
    }

    /// Whether `point` lies in the set. Written so that NaN fails. Points of a finite set are compared to the last
    /// bit; the coordinates on the simplex must sum to 1 within 1e-9, as must the squares on the sphere.
    pub fn contains(&self, point: &[f64]) -> bool {
        point.len() == self.dim()
            && match self {
                Self::Ball { .. } => dot(point, point) <= 1.0,
                Self::Box { .. } => point.iter().all(|v| v.abs() <= 1.0),
                Self::Simplex { .. } => {
                    point.iter().all(|v| *v >= 0.0) && (point.iter().sum::<f64>() - 1.0).abs() <= SIMPLEX_SUM
                }
                Self::Polytope(polytope) => polytope.contains(point),
                Self::Finite(points) => points.index_of(point).is_some(),
                Self::Sphere { .. } => (dot(point, point) - 1.0).abs() <= SIMPLEX_SUM,
                Self::Hypercube { dim } => {
                    let corner = corner(*dim);
                    point.iter().all(|v| (v.abs() - corner).abs() <= SIMPLEX_SUM)
                }
            }
    }

    /// Moves `point` to the nearest point of the set; [`contains`](Set::contains) accepts the result.
    ///
    /// # Errors
    /// The point is of another dimension or not finite.
    pub fn project(&self, point: &mut [f64]) -> Result<(), SetError> {
        self.accept(point)?;
        match self {
            Self::Ball { .. } => {
                let norm = dot(point, point).sqrt();
                if norm > 1.0 {
                    point.iter_mut().for_each(|v| *v /= norm);
                }
            }
            Self::Box { .. } => point.iter_mut().for_each(|v| *v = v.clamp(-1.0, 1.0)),
            Self::Simplex { .. } => project_simplex(point),
            Self::Polytope(polytope) => polytope.project(point)?,
            Self::Finite(points) => {
                if let Some(nearest) = points.get(points.nearest(point)) {
                    point.copy_from_slice(nearest);
                }
            }
            Self::Sphere { .. } => normalise(point),
            Self::Hypercube { dim } => point.iter_mut().for_each(|v| *v = corner(*dim).copysign(*v)),
        }
        self.pull_inside(point);
        Ok(())
    }

    /// Writes into `at` a point of the set that minimises <direction, .>, and returns the minimum. The support
    /// function at g is minus the minimum of -g.
    ///
    /// # Errors
    /// The direction is of another dimension or not finite.
    pub fn linear_min(&self, direction: &[f64], at: &mut [f64]) -> Result<f64, SetError> {
        self.accept(direction)?;
        SetError::same_length("the buffer for the minimiser", at.len(), self.dim())?;
        match self {
            Self::Ball { .. } => {
                let norm = dot(direction, direction).sqrt();
                for (x, g) in at.iter_mut().zip(direction) {
                    *x = if norm > 0.0 { -g / norm } else { 0.0 };
                }
            }
            Self::Box { .. } | Self::Hypercube { .. } => {
                let corner = if let Self::Hypercube { dim } = self { corner(*dim) } else { 1.0 };
                for (x, g) in at.iter_mut().zip(direction) {
                    *x = if *g > 0.0 { -corner } else { corner };
                }
            }
            Self::Simplex { .. } => {
                at.fill(0.0);
                at[lowest(direction.iter().copied()).0] = 1.0;
            }
            Self::Polytope(polytope) => polytope.linear_min(direction, at)?,
            Self::Finite(points) => {
                if let Some(point) = points.get(points.minimiser(direction)) {
                    at.copy_from_slice(point);
                }
            }
            Self::Sphere { .. } => {
                at.iter_mut().zip(direction).for_each(|(x, g)| *x = -g);
                normalise(at);
            }
        }
        self.pull_inside(at);
        Ok(dot(direction, at))
    }

    /// The centre: of the ball, the box, the sphere and the hypercube (of the last two it is no point), the uniform point of the simplex, the centre of the largest ball inside
    /// a polytope, the mean of finitely many points.
    pub fn centre(&self) -> Vec<f64> {
        match self {
            Self::Ball { dim } | Self::Box { dim } | Self::Sphere { dim } | Self::Hypercube { dim } => {
                vec![0.0; *dim]
            }
            Self::Simplex { vertices } => vec![1.0 / *vertices as f64; *vertices],
            Self::Polytope(polytope) => polytope.centre().to_vec(),
            Self::Finite(points) => points.centre().to_vec(),
        }
    }

    /// Radius of the largest ball (of the affine hull) around the centre inside the set; 0 for sets that are not convex.
    pub fn inner_radius(&self) -> f64 {
        match self {
            Self::Ball { .. } | Self::Box { .. } => 1.0,
            Self::Simplex { vertices } => {
                let k = *vertices as f64;
                1.0 / (k * (k - 1.0)).sqrt()
            }
            Self::Polytope(polytope) => polytope.inner_radius(),
            Self::Finite(_) | Self::Sphere { .. } | Self::Hypercube { .. } => 0.0,
        }
    }

    /// Radius of a ball around the centre that holds the set: the smallest one, but for polytopes of too many
    /// vertices to list, where it is that of the bounding box.
    pub fn outer_radius(&self) -> f64 {
        match self {
            Self::Ball { .. } | Self::Sphere { .. } | Self::Hypercube { .. } => 1.0,
            Self::Box { dim } => (*dim as f64).sqrt(),
            Self::Simplex { vertices } => {
                let k = *vertices as f64;
                ((k - 1.0) / k).sqrt()
            }
            Self::Polytope(polytope) => polytope.outer_radius(),
            Self::Finite(points) => points.outer_radius(),
        }
    }

    /// A bound on |x| over the set, attained but for polytopes away from the origin.
    pub fn norm_bound(&self) -> f64 {
        match self {
            Self::Simplex { .. } => 1.0,
            Self::Finite(points) => points.iter().map(|p| dot(p, p).sqrt()).fold(0.0, f64::max),
            other => {
                let centre = other.centre();
                dot(&centre, &centre).sqrt() + other.outer_radius()
            }
        }
    }

    /// Radius of the largest ball (of the affine hull) around `point` that fits in the set; negative outside.
    ///
    /// # Errors
    /// The point is of another dimension or not finite, or the set is not convex.
    pub fn margin(&self, point: &[f64]) -> Result<f64, SetError> {
        self.accept(point)?;
        Ok(match self {
            Self::Ball { .. } => 1.0 - dot(point, point).sqrt(),
            Self::Box { .. } => point.iter().map(|v| 1.0 - v.abs()).fold(f64::INFINITY, f64::min),
            Self::Simplex { vertices } => {
                // The face x_i = 0 lies at distance x_i sqrt(K/(K-1)) within the hull.
                let k = *vertices as f64;
                point.iter().fold(f64::INFINITY, |m, v| m.min(*v)) * (k / (k - 1.0)).sqrt()
            }
            Self::Polytope(polytope) => polytope.margin(point),
            Self::Finite(_) | Self::Sphere { .. } | Self::Hypercube { .. } => {
                return Err(SetError::Unsupported { what: "a ball inside", kind: self.kind() });
            }
        })
    }

    /// The vertices, where the set has at most `limit` of them and (for polytopes) at most `limit` choices of d rows
    /// have to be looked at. `None` for the ball and the sphere.
    pub fn vertices(&self, limit: usize) -> Option<Vec<Vec<f64>>> {
        match self {
            Self::Ball { .. } | Self::Sphere { .. } => None,
            Self::Hypercube { dim } => {
                let mut corners = Self::Box { dim: *dim }.vertices(limit)?;
                corners.iter_mut().flatten().for_each(|v| *v *= corner(*dim));
                Some(corners)
            }
            Self::Box { dim } => (*dim < 32 && 1usize << dim <= limit).then(|| {
                (0..1usize << dim)
                    .map(|mask| (0..*dim).map(|j| if mask >> j & 1 == 1 { 1.0 } else { -1.0 }).collect())
                    .collect()
            }),
            Self::Simplex { vertices } => (*vertices <= limit).then(|| {
                (0..*vertices)
                    .map(|i| (0..*vertices).map(|j| if i == j { 1.0 } else { 0.0 }).collect())
                    .collect()
            }),
            Self::Polytope(polytope) => {
                let mut vertices = polytope.vertices(limit)?;
                vertices.iter_mut().for_each(|v| self.pull_inside(v));
                Some(vertices)
            }
            Self::Finite(points) => {
                (points.count() <= limit).then(|| points.iter().map(<[f64]>::to_vec).collect())
            }
        }
    }

    /// Undoes rounding: a point that lies outside by a few units of the last place is drawn towards the centre until
    /// [`contains`](Set::contains) accepts it. Points inside, and points of sets that are not convex, stay as they are.
    pub fn pull_inside(&self, point: &mut [f64]) {
        if self.contains(point) || !self.is_convex() || point.len() != self.dim() {
            return;
        }
        let mut pull = f64::EPSILON;
        while pull <= 1.0 && !self.contains(point) {
            match self {
                Self::Polytope(polytope) => {
                    for (v, c) in point.iter_mut().zip(polytope.centre()) {
                        *v += pull * (c - *v);
                    }
                }
                Self::Simplex { vertices } => {
                    let centre = 1.0 / *vertices as f64;
                    point.iter_mut().for_each(|v| *v += pull * (centre - *v));
                }
                _ => point.iter_mut().for_each(|v| *v *= 1.0 - pull),
            }
            pull *= 2.0;
        }
    }

    fn accept(&self, point: &[f64]) -> Result<(), SetError> {
        SetError::same_length("the point", point.len(), self.dim())?;
        SetError::finite("the point", point)
    }
}

/// The coordinates of the hypercube's corners, up to sign.
fn corner(dim: usize) -> f64 {
    1.0 / (dim as f64).sqrt()
}

/// Divides by the length; the first unit vector where that is 0.
fn normalise(point: &mut [f64]) {
    let norm = dot(point, point).sqrt();
    if norm > 0.0 {
        point.iter_mut().for_each(|v| *v /= norm);
    } else {
        point[0] = 1.0;
    }
}

/// The nearest point of the simplex, by raising the threshold until nothing more falls below it (Michelot 1986): no
/// sorting and no buffer needed.
fn project_simplex(point: &mut [f64]) {
    // A common shift changes nothing, and keeps the digits of points far away.
    let top = point.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    point.iter_mut().for_each(|v| *v -= top);
    let mut threshold = f64::NEG_INFINITY;
    loop {
        let (mut sum, mut count) = (0.0, 0.0);
        for v in point.iter().filter(|v| **v > threshold) {
            sum += v;
            count += 1.0;
        }
        let next = (sum - 1.0) / count;
        // The threshold only rises; when rounding stops it, the support has settled.
        if next <= threshold {
            break;
        }
        threshold = next;
    }
    point.iter_mut().for_each(|v| *v = (*v - threshold).max(0.0));
}
