//! OFUL on a part of the coordinates of the unit ball.

use corral_core::set::SetError;

use super::optimism::{Ellipsoid, Optimist};
use crate::prelude::*;
use crate::regression::{Ridge, packed};

/// How wide the confidence set is: beta = scale (noise sqrt(2 ln(1/delta) + ln det V - k ln lambda) + sqrt(lambda) norm).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Width {
    pub noise: f64,
    pub norm: f64,
    pub delta: f64,
    pub scale: f64,
}

/// The optimistic point of the unit ball whose coordinates outside `support` are 0, for the regression `ridge` (with
/// lambda = 1) restricted to `support`.
///
/// # Errors
/// The regression is not positive definite.
pub(crate) fn choose(ridge: &Ridge, support: &[usize], width: Width, out: &mut [f64]) -> Result {
    let k = support.len();
    let entry = |i: usize, j: usize| packed::entry(ridge.gram(0), support[i], support[j]);
    let gram: Vec<f64> = (0..k).flat_map(|i| (0..=i).map(move |j| entry(i, j))).collect();
    let mut factor = gram.clone();
    packed::cholesky(&mut factor, k)
        .ok_or_else(|| BaseError::Failed(String::from("the regression is not positive definite")))?;
    let mut centre: Vec<f64> = support.iter().map(|i| ridge.moment(0)[*i]).collect();
    packed::solve(&factor, &mut centre);
    let log_det: f64 = (0..k).map(|i| 2.0 * packed::entry(&factor, i, i).ln()).sum();
    let spread = (2.0 * (1.0 / width.delta).ln() + log_det).max(0.0).sqrt();
    let radius = width.scale * (width.noise * spread + width.norm);
    let mut part = vec![0.0; k];
    // The ball's search needs V alone.
    Optimist::Ball.choose(Ellipsoid { centre: &centre, gram: &gram, inverse: &[], radius }, &mut part)?;
    out.fill(0.0);
    for (i, v) in support.iter().zip(&part) {
        out[*i] = *v;
    }
    Ok(())
}

/// Buffers for a point of `set`, which must be the unit ball.
pub(crate) fn unit_ball(set: &Set, what: &'static str) -> Result<Vec<f64>> {
    match set {
        Set::Ball { dim } => Ok(vec![0.0; *dim]),
        other => Err(SetError::Unsupported { what, kind: other.kind() }.into()),
    }
}

/// Checks coordinates that were read back: below `dim`, rising.
pub(crate) fn check_support(support: &[usize], dim: usize) -> Result<(), SnapshotError> {
    ensure(
        support.iter().all(|i| *i < dim) && support.windows(2).all(|w| w[0] < w[1]),
        format_args!("its coordinates {support:?} are not rising below {dim}"),
    )
}
