//! Bases whose decisions are points of R^d.
//!
//! | losses | bases |
//! |---|---|
//! | linear, with noise | [`Oful`], [`LinTsPoints`] |
//! | linear in few coordinates, with noise | [`SparseOful`], [`SlUcb`], [`GroupSparse`] |
//! | linear through a link function, with noise | [`GlmOful`] |
//! | linear, chosen by an adversary | [`Scrible`], and [`ScribleArms`] over arms |
//! | convex, chosen by an adversary | [`Bgd`] |
//!
//! The set of points is part of the world that a base is built for:
//!
//! ```
//! use corral_bases::BaseParams;
//! use corral_bases::points::OfulParams;
//! use corral_core::{Base, Set, Setup, Space};
//! # use rand::SeedableRng;
//! # let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
//! let disc = Setup::new(Space::Points(Set::ball(2)?), Some(300));
//! let mut base = OfulParams { scale: 0.1, ..OfulParams::default() }.build(&disc)?;
//! for _ in 0..300 {
//!     let made = base.propose(&(), &mut rng)?;
//!     let loss = 0.5 + 0.4 * made.decision.coordinates()[0];      // least at (-1, 0)
//!     base.learn(&(), &made, loss.into())?;
//! }
//! assert!(base.propose(&(), &mut rng)?.decision.coordinates()[0] < -0.9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use corral_core::registry::RegistryRow;
use corral_core::{Point, Rng, Set, Setup, Space};
use rand_distr::{Distribution, StandardNormal};

use crate::built::{Build, arms, points};
use crate::regression::dot;

mod affine;
mod barrier;
mod bgd;
mod frame;
mod geometry;
mod glm;
mod group;
mod lints;
mod oful;
mod optimism;
mod prelude;
mod restricted;
mod scrible;
mod shrink;
mod sl_ucb;
mod sparse;
#[cfg(test)]
mod tests;

pub use affine::AffineMap;
pub use bgd::{Bgd, BgdParams, BgdWork};
pub use frame::{PointBase, PointRule};
pub use glm::{GlmOful, GlmOfulParams, GlmWork};
pub use group::{GroupSparse, GroupSparseParams, GroupState};
pub use lints::{LinTsPoints, LinTsPointsParams};
pub use oful::{Oful, OfulParams, OfulWork};
pub use optimism::Search;
pub use scrible::{
    Direction, Scrible, ScribleArms, ScribleArmsParams, ScribleParams, ScribleState, ScribleWork,
};
pub use shrink::Shrunk;
pub use sl_ucb::{SlUcb, SlUcbParams, SlUcbState};
pub use sparse::{SparseOful, SparseOfulParams, SparseState, SparseWork};

/// The rows of the registry.
pub(crate) fn rows() -> Vec<RegistryRow<Build>> {
    vec![
        points::<ScribleParams>(),
        arms::<ScribleArmsParams>(),
        points::<BgdParams>(),
        points::<OfulParams>(),
        points::<LinTsPointsParams>(),
        points::<SparseOfulParams>(),
        points::<SlUcbParams>(),
        points::<GroupSparseParams>(),
        points::<GlmOfulParams>(),
    ]
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

/// Makes the buffer `dim` coordinates long, keeping its memory.
pub(crate) fn resize(point: &mut Point, dim: usize) -> &mut [f64] {
    point.0.resize(dim, 0.0);
    &mut point.0
}
