//! Self-concordant barriers of convex sets, and damped Newton on them.
//!
//! Nesterov and Nemirovskii 1994; docs/bases.md#sets-and-barriers lists barrier and parameter per set.

use corral_core::Set;
use corral_core::set::{Polytope, SetError};

use crate::regression::{dot, packed};

/// A self-concordant barrier R of a convex set. Points are in coordinates of the affine hull: those of the set, but
/// on the simplex the first K - 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Barrier {
    /// -ln(1 - |x|^2) on the unit ball.
    Ball {
        /// Dimension.
        dim: usize,
    },
    /// -sum ln(1 - x_i^2) on the cube.
    Box {
        /// Dimension.
        dim: usize,
    },
    /// -sum ln x_i on the simplex, with x_K = 1 - the others.
    Simplex {
        /// Number of vertices.
        vertices: usize,
    },
    /// -sum ln(b_i - <a_i, x>) on a polytope.
    Polytope(Polytope),
}

impl Barrier {
    /// The barrier of `set`.
    ///
    /// # Errors
    /// The set is finite, or its sizes are not usable.
    pub fn of(set: &Set) -> Result<Self, SetError> {
        set.check()?;
        match set {
            Set::Ball { dim } => Ok(Self::Ball { dim: *dim }),
            Set::Box { dim } => Ok(Self::Box { dim: *dim }),
            Set::Simplex { vertices } => Ok(Self::Simplex { vertices: *vertices }),
            Set::Polytope(polytope) => Ok(Self::Polytope(polytope.clone())),
            other => Err(SetError::Unsupported { what: "a barrier", kind: other.kind() }),
        }
    }

    /// Dimension of the affine hull.
    pub fn dim(&self) -> usize {
        match self {
            Self::Ball { dim } | Self::Box { dim } => *dim,
            Self::Simplex { vertices } => vertices - 1,
            Self::Polytope(polytope) => polytope.dim(),
        }
    }

    /// The parameter nu: |grad R(x)|^2 in the dual local norm is at most nu.
    pub fn nu(&self) -> f64 {
        match self {
            Self::Ball { .. } => 1.0,
            Self::Box { dim } => *dim as f64,
            Self::Simplex { vertices } => *vertices as f64,
            Self::Polytope(polytope) => polytope.constraints() as f64,
        }
    }

    /// R(x), infinite outside the interior.
    pub fn value(&self, x: &[f64]) -> f64 {
        let log = |slack: f64| if slack > 0.0 { -slack.ln() } else { f64::INFINITY };
        match self {
            Self::Ball { .. } => log(1.0 - dot(x, x)),
            Self::Box { .. } => x.iter().map(|v| log(1.0 - v * v)).sum(),
            Self::Simplex { .. } => x.iter().map(|v| log(*v)).sum::<f64>() + log(1.0 - x.iter().sum::<f64>()),
            Self::Polytope(p) => (0..p.constraints()).map(|i| log(p.bounds()[i] - dot(p.row(i), x))).sum(),
        }
    }

    /// Writes grad R(x) into `out`.
    pub fn gradient(&self, x: &[f64], out: &mut [f64]) {
        match self {
            Self::Ball { .. } => {
                let factor = 2.0 / (1.0 - dot(x, x));
                out.iter_mut().zip(x).for_each(|(o, v)| *o = factor * v);
            }
            Self::Box { .. } => out.iter_mut().zip(x).for_each(|(o, v)| *o = 2.0 * v / (1.0 - v * v)),
            Self::Simplex { .. } => {
                let last = 1.0 / (1.0 - x.iter().sum::<f64>());
                out.iter_mut().zip(x).for_each(|(o, v)| *o = last - 1.0 / v);
            }
            Self::Polytope(p) => {
                out.fill(0.0);
                for i in 0..p.constraints() {
                    let row = p.row(i);
                    let inverse = 1.0 / (p.bounds()[i] - dot(row, x));
                    out.iter_mut().zip(row).for_each(|(o, a)| *o += inverse * a);
                }
            }
        }
    }

    /// Writes the lower triangle of the Hessian of R at x into `out`, row after row.
    pub fn hessian(&self, x: &[f64], out: &mut [f64]) {
        match self {
            Self::Ball { .. } => {
                let slack = 1.0 - dot(x, x);
                packed::set_diagonal(out, 2.0 / slack);
                packed::rank_one(out, 4.0 / (slack * slack), x);
            }
            Self::Box { .. } => {
                packed::fill_diagonal(out, x.iter().map(|x| (1.0 - x).powi(-2) + (1.0 + x).powi(-2)), 0.0);
            }
            Self::Simplex { .. } => {
                let last = (1.0 - x.iter().sum::<f64>()).powi(-2);
                packed::fill_diagonal(out, x.iter().map(|x| last + x.powi(-2)), last);
            }
            Self::Polytope(p) => {
                out.fill(0.0);
                for k in 0..p.constraints() {
                    let row = p.row(k);
                    packed::rank_one(out, (p.bounds()[k] - dot(row, x)).powi(-2), row);
                }
            }
        }
    }

    /// A point of the interior to start from, in coordinates of the affine hull.
    pub fn start(&self) -> Vec<f64> {
        match self {
            Self::Ball { dim } | Self::Box { dim } => vec![0.0; *dim],
            Self::Simplex { vertices } => vec![1.0 / *vertices as f64; vertices - 1],
            Self::Polytope(polytope) => polytope.centre().to_vec(),
        }
    }
}

/// The Newton iteration ends when its decrement falls below this,
const TOLERANCE: f64 = 1e-9;
/// and fails after so many steps.
const ITERATIONS: usize = 100;

/// The Newton iteration did not end.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("the barrier step ended with decrement {decrement} after {iterations} iterations")]
pub struct NewtonError {
    /// The last Newton decrement.
    pub decrement: f64,
    /// Iterations spent.
    pub iterations: usize,
}

/// Damped Newton on <linear, x> + R(x), with its room and the Cholesky factor of the Hessian where it ended.
#[derive(Debug, Clone)]
pub struct Newton {
    step: Vec<f64>,
    gradient: Vec<f64>,
    factor: Vec<f64>,
}

impl Newton {
    /// Room for `dim` coordinates.
    pub fn new(dim: usize) -> Self {
        Self { step: vec![0.0; dim], gradient: vec![0.0; dim], factor: vec![0.0; packed::size(dim)] }
    }

    /// The lower factor A of the Hessian A A^T, row after row, where [`minimise`](Newton::minimise) ended.
    pub fn factor(&self) -> &[f64] {
        &self.factor
    }

    /// Moves `x`, a point of the interior, to the minimiser of <linear, x> + R(x), and says in how many steps: a warm
    /// start makes them few.
    ///
    /// # Errors
    /// The iteration did not end, or `x` was not in the interior.
    pub fn minimise(
        &mut self,
        barrier: &Barrier,
        linear: &[f64],
        x: &mut [f64],
    ) -> Result<usize, NewtonError> {
        let mut decrement = f64::NAN;
        for iterations in 1..=ITERATIONS {
            self.refactor(barrier, x).ok_or(NewtonError { decrement, iterations })?;
            barrier.gradient(x, &mut self.gradient);
            self.gradient.iter_mut().zip(linear).for_each(|(g, l)| *g += l);
            self.step.copy_from_slice(&self.gradient);
            packed::solve(&self.factor, &mut self.step);
            // lambda^2 = gr^T H^{-1} gr   docs/bases.md#scrible
            decrement = dot(&self.gradient, &self.step).max(0.0).sqrt();
            let damping = if decrement >= 0.25 { 1.0 / (1.0 + decrement) } else { 1.0 };
            x.iter_mut().zip(&self.step).for_each(|(x, s)| *x -= damping * s);
            if decrement < TOLERANCE {
                self.refactor(barrier, x).ok_or(NewtonError { decrement, iterations })?;
                return Ok(iterations);
            }
        }
        Err(NewtonError { decrement, iterations: ITERATIONS })
    }

    /// The factor of the Hessian at `x`; `None` where it has none.
    pub(crate) fn refactor(&mut self, barrier: &Barrier, x: &[f64]) -> Option<()> {
        barrier.hessian(x, &mut self.factor);
        packed::cholesky(&mut self.factor, x.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn barriers() -> Vec<Barrier> {
        let cut = Set::polytope(
            &[
                vec![1.0, 0.2, 0.0],
                vec![-1.0, 0.0, 0.3],
                vec![0.0, 1.0, 0.0],
                vec![0.1, -1.0, 0.0],
                vec![0.0, 0.0, 1.0],
                vec![0.2, 0.0, -1.0],
            ],
            &[1.0, 1.0, 0.8, 1.0, 1.0, 0.7],
        )
        .unwrap();
        [Set::Ball { dim: 3 }, Set::Box { dim: 3 }, Set::Simplex { vertices: 4 }, cut]
            .iter()
            .map(|set| Barrier::of(set).unwrap())
            .collect()
    }

    /// A point of the interior: `share` of the way from the start to where `push` would leave it.
    fn inside(barrier: &Barrier, push: &[f64], share: f64) -> Vec<f64> {
        let start = barrier.start();
        let mut step = 1.0;
        loop {
            let x: Vec<f64> = start.iter().zip(push).map(|(s, p)| s + step * p).collect();
            if barrier.value(&x).is_finite() {
                return start.iter().zip(push).map(|(s, p)| s + share * step * p).collect();
            }
            step *= 0.7;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Gradient and Hessian are derivatives, and |grad R|^2 in the dual local norm is at most nu.
        #[test]
        fn derivatives_are_derivatives(
            push in proptest::array::uniform3(-1.0f64..1.0), share in 0.0f64..0.9,
        ) {
            for barrier in barriers() {
                let (d, h) = (barrier.dim(), 1e-6);
                let x = inside(&barrier, &push, share);
                let (mut g, mut hess) = (vec![0.0; d], vec![0.0; packed::size(d)]);
                barrier.gradient(&x, &mut g);
                barrier.hessian(&x, &mut hess);
                for i in 0..d {
                    let mut ahead = x.clone();
                    ahead[i] += h;
                    let mut behind = x.clone();
                    behind[i] -= h;
                    let slope = (barrier.value(&ahead) - barrier.value(&behind)) / (2.0 * h);
                    prop_assert!((slope - g[i]).abs() <= 1e-4 * (1.0 + g[i].abs()), "{barrier:?} {slope} {}", g[i]);
                    let (mut ga, mut gb) = (vec![0.0; d], vec![0.0; d]);
                    barrier.gradient(&ahead, &mut ga);
                    barrier.gradient(&behind, &mut gb);
                    for j in 0..d {
                        let bend = (ga[j] - gb[j]) / (2.0 * h);
                        prop_assert!((bend - packed::entry(&hess, i, j)).abs() <= 1e-4 * (1.0 + bend.abs()));
                    }
                }
                let mut a = hess.clone();
                prop_assert!(packed::cholesky(&mut a, d).is_some());
                let mut step = g.clone();
                packed::solve(&a, &mut step);
                prop_assert!(dot(&g, &step) <= barrier.nu() + 1e-9);
            }
        }

        /// At the minimiser the gradient vanishes, from any start inside and for large forces too.
        #[test]
        fn newton_ends_where_the_gradient_vanishes(
            push in proptest::array::uniform3(-1.0f64..1.0), force in proptest::array::uniform3(-50.0f64..50.0),
        ) {
            for barrier in barriers() {
                let d = barrier.dim();
                let mut x = inside(&barrier, &push, 0.9);
                let mut newton = Newton::new(d);
                let iterations = newton.minimise(&barrier, &force, &mut x).unwrap();
                prop_assert!(iterations <= 60);
                let mut g = vec![0.0; d];
                barrier.gradient(&x, &mut g);
                prop_assert!(g.iter().zip(&force).all(|(g, f)| (g + f).abs() < 1e-8 * (1.0 + f.abs())), "{barrier:?}");
            }
        }
    }
}
