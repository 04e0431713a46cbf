//! Bases whose decisions are points of R^d.

use corral_core::registry::Row;
use corral_core::{Point, Rng, Set, Setup, Space};
use rand_distr::{Distribution, StandardNormal};

use crate::arms::context_free;
use crate::built::{Build, points};

mod affine;
mod barrier;
mod bgd;
mod cholesky;
mod geometry;
mod glm;
mod group;
mod lazy;
mod oful;
mod optimism;
mod restricted;
mod ridge;
mod scrible;
mod shrink;
mod sl_ucb;
mod sparse;
#[cfg(test)]
mod tests;

pub use affine::AffineMap;
pub use barrier::{Barrier, Newton, NewtonError, NewtonInfo, NewtonParams};
pub use bgd::{Bgd, BgdParams};
pub use glm::{GlmModel, GlmOful, GlmOfulParams, PointLink};
pub use group::{GroupModel, GroupSparse, GroupSparseParams};
pub use lazy::{Lazy, Model};
pub use oful::{Oful, OfulModel, OfulParams};
pub use optimism::Search;
pub use scrible::{Direction, Scrible, ScribleArms, ScribleArmsParams, ScribleParams};
pub use shrink::Shrunk;
pub use sl_ucb::{SlUcb, SlUcbModel, SlUcbParams};
pub use sparse::{SparseModel, SparseOful, SparseOfulParams};

/// The rows of the registry.
pub(crate) const ROWS: &[Row<Build>] = &[
    points::<ScribleParams>(),
    context_free::<ScribleArmsParams>(),
    points::<BgdParams>(),
    points::<OfulParams>(),
    points::<SparseOfulParams>(),
    points::<SlUcbParams>(),
    points::<GroupSparseParams>(),
    points::<GlmOfulParams>(),
];

/// <a, b>.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The set of `setup`, where decisions are points.
pub(crate) fn point_set(setup: &Setup) -> Result<&Set, corral_core::BaseError> {
    match &setup.space {
        Space::Points(set) => {
            set.check()?;
            Ok(set)
        }
        Space::Arms(_) => Err(corral_core::ParamError::new("the space", "arms", "a set of points").into()),
    }
}

/// Fills `u` with a direction uniform on the unit sphere: a normalised Gaussian.
pub(crate) fn fill_sphere(u: &mut [f64], mut rng: &mut dyn Rng) {
    loop {
        u.iter_mut().for_each(|v| *v = StandardNormal.sample(&mut rng));
        let norm = dot(u, u).sqrt();
        if norm > 1e-12 {
            return u.iter_mut().for_each(|v| *v /= norm);
        }
    }
}

/// Makes room for `dim` coordinates, keeping what room there is.
pub(crate) fn resize(point: &mut Point, dim: usize) -> &mut [f64] {
    point.0.resize(dim, 0.0);
    &mut point.0
}
