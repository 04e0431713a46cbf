//! Convex Lipschitz losses that an oblivious adversary chooses.

use std::f64::consts::PI;

use corral_core::set::SetError;
use corral_core::vectors::distance;

use super::adversarial::check_variant;
use super::{PointLoss, PointWorld, SetSpec, fill_sphere, misleads};
use crate::prelude::*;

params! {
    /// Parameters of [`AdversarialConvex`].
    pub struct AdversarialConvexParams {
        /// The set of decisions; it must be convex.
        set: SetSpec = SetSpec::default();
        /// Its dimension, where it is named by a word.
        dim: usize = 2;
        /// 0: the target stays on one side; 1: it is on the other side in the first third.
        variant: u8 = 0;
        /// How the loss grows.
        shape: Shape = Shape::Norm;
    }

    /// How the loss grows with the distance from the target.
    pub enum Shape {
        /// The Euclidean norm.
        #[default]
        Norm,
        /// Quadratic near the target, then linear (Huber).
        Huber,
        /// The largest coordinate: a maximum of 2d affine functions.
        MaxAffine,
    }
}

impl Builds for AdversarialConvexParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let Ask { rounds, rng, .. } = ask;
        check_variant(self.variant)?;
        let set = self.set.build(self.dim, 0, rng, &ask.budget)?;
        if !set.is_convex() {
            return Err(SetError::Unsupported { what: "a convex loss", kind: set.kind() }.into());
        }
        let losses = AdversarialConvex::new(&set, self.shape, self.variant, rounds);
        Ok(PointWorld::new(set, losses, rounds).boxed())
    }
}

/// Distance of the target's mean from the centre, in inner radii.
const TARGET: f64 = 0.6;
/// Size of the target's noise, in inner radii.
const JITTER: f64 = 0.2;
/// Where Huber's loss becomes linear, in outer radii.
const KNEE: f64 = 0.5;
/// Size of the additive noise of the maximum of affine functions.
const RIPPLE: f64 = 0.05;

/// f_t(x) = |x - z_t|/(2R), z_t = centre + r(-0.6 v_t + 0.2 u_t), with r and R the inner and outer radius, u_t uniform on the
/// sphere and v_t a direction (variant 1: the opposite one in the first third). On the ball, where
/// v_t = e_1, this is the reference instance. Huber's loss takes the place of the norm, or the largest coordinate of
/// x - (centre - 0.6 r v_t) with additive noise.
#[derive(Debug, Clone, Default)]
pub struct AdversarialConvex {
    shape: Shape,
    variant: u8,
    horizon: u64,
    inner: f64,
    outer: f64,
    centre: Vec<f64>,
    /// The direction v, in the affine hull.
    axis: Vec<f64>,
    /// z_t, and its mean.
    target: Vec<f64>,
    mean_target: Vec<f64>,
    ripple: f64,
    /// Rounds with v_t = axis, and with the opposite.
    ahead: f64,
    behind: f64,
    /// Nodes and weights of <u, e> for u uniform on the sphere.
    nodes: Vec<(f64, f64)>,
}

impl AdversarialConvex {
    pub(super) fn new(set: &Set, shape: Shape, variant: u8, horizon: u64) -> Self {
        let dim = set.dim();
        let mut axis = vec![0.0; dim];
        axis[0] = 1.0;
        if set.affine_dim() < dim {
            axis.iter_mut().for_each(|v| *v -= 1.0 / dim as f64);
            let norm = dot(&axis, &axis).sqrt();
            axis.iter_mut().for_each(|v| *v /= norm);
        }
        Self {
            shape,
            variant,
            horizon,
            inner: set.inner_radius(),
            outer: set.outer_radius(),
            centre: set.centre(),
            axis,
            target: vec![0.0; dim],
            mean_target: vec![0.0; dim],
            nodes: sphere_nodes(dim),
            ..Self::default()
        }
    }

    /// The loss at distance `s` from the target.
    fn grow(&self, s: f64) -> f64 {
        let knee = KNEE * self.outer;
        match self.shape {
            Shape::Huber if s <= knee => s * s / (4.0 * knee * self.outer),
            Shape::Huber => (s - 0.5 * knee) / (2.0 * self.outer),
            Shape::Norm | Shape::MaxAffine => s / (2.0 * self.outer),
        }
    }

    /// The mean loss at Euclidean distance `s` from the mean target: E |w - 0.2 r u| depends on |w| = s alone.
    fn mean_at(&self, s: f64) -> f64 {
        let jitter = JITTER * self.inner;
        self.nodes
            .iter()
            .map(|(tau, weight)| {
                weight * self.grow((s * s - 2.0 * s * jitter * tau + jitter * jitter).max(0.0).sqrt())
            })
            .sum()
    }
}

/// Nodes and weights for the first coordinate of a uniform direction of R^dim: tau = cos(phi) with phi of density
/// ~ sin^{d-2}, by the midpoint rule, which converges fast on such periodic integrands.
fn sphere_nodes(dim: usize) -> Vec<(f64, f64)> {
    if dim == 1 {
        return vec![(1.0, 0.5), (-1.0, 0.5)];
    }
    let count = 64 + 4 * (dim as f64).sqrt() as usize;
    let mut nodes: Vec<(f64, f64)> = (0..count)
        .map(|k| {
            let phi = PI * (k as f64 + 0.5) / count as f64;
            (libm::cos(phi), libm::pow(libm::sin(phi), dim as f64 - 2.0))
        })
        .collect();
    let total: f64 = nodes.iter().map(|n| n.1).sum();
    nodes.iter_mut().for_each(|n| n.1 /= total);
    nodes
}

fn largest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

impl PointLoss for AdversarialConvex {
    fn next(&mut self, round: u64, draw: Draw) {
        let sign = if misleads(self.variant, round, self.horizon) { -1.0 } else { 1.0 };
        if sign > 0.0 {
            self.ahead += 1.0;
        } else {
            self.behind += 1.0;
        }
        fill_sphere(&mut self.target, draw);
        for i in 0..self.target.len() {
            self.mean_target[i] = self.centre[i] - TARGET * self.inner * sign * self.axis[i];
            self.target[i] = self.mean_target[i] + JITTER * self.inner * self.target[i];
        }
        self.ripple = RIPPLE * (2.0 * draw.uniform(u64::MAX - 1) - 1.0);
    }

    fn loss(&self, x: &[f64]) -> f64 {
        match self.shape {
            Shape::MaxAffine => RIPPLE + self.grow(largest(x, &self.mean_target)) + self.ripple,
            _ => self.grow(distance(x, &self.target)),
        }
    }

    fn mean(&self, x: &[f64]) -> f64 {
        match self.shape {
            Shape::MaxAffine => RIPPLE + self.grow(largest(x, &self.mean_target)),
            _ => self.mean_at(distance(x, &self.mean_target)),
        }
    }

    fn best(&self, _set: &Set, _rounds: f64) -> f64 {
        let rounds = self.ahead + self.behind;
        if self.shape == Shape::MaxAffine {
            // n |x - z| + n' |x - z'| >= min(n, n') |z - z'|, attained at the target of more rounds.
            let reach = 2.0 * TARGET * self.inner * largest(&self.axis, &vec![0.0; self.axis.len()]);
            return RIPPLE * rounds + self.ahead.min(self.behind) * self.grow(reach);
        }
        // The mean grows with the distance from each of two targets inside the set: the best point lies between them.
        let reach = 2.0 * TARGET * self.inner;
        let total = |s: f64| self.ahead * self.mean_at(s) + self.behind * self.mean_at(reach - s);
        golden_section(total, reach)
    }
}

/// The minimum of a convex function over [0, end], to the accuracy that comparing values allows.
fn golden_section(f: impl Fn(f64) -> f64, end: f64) -> f64 {
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = (0.0, end);
    for _ in 0..80 {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        if f(a) <= f(b) {
            high = b;
        } else {
            low = a;
        }
    }
    f(0.0).min(f(end)).min(f(0.5 * (low + high)))
}
