//! The log barrier of a polytope, and damped Newton on it.
//!
//! Nesterov and Nemirovskii 1994; docs/bases.md#sets-and-barriers lists barrier and parameter per set.

use corral_core::set::Polytope;

use crate::regression::{dot, packed};

/// The Newton iteration ends when its decrement falls below this,
const TOLERANCE: f64 = 1e-9;
/// and fails after so many steps.
const ITERATIONS: usize = 100;

/// The Newton iteration did not end.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("the barrier step ended with decrement {decrement} after {iterations} iterations")]
pub(crate) struct NewtonError {
    /// The last Newton decrement.
    pub decrement: f64,
    /// Iterations spent.
    pub iterations: usize,
}

/// Damped Newton on <linear, x> + R(x), R(x) = -sum ln(b_i - <a_i, x>), with its buffers and the Cholesky factor of the Hessian
/// where it ended.
#[derive(Debug, Clone)]
pub(crate) struct Newton {
    set: Polytope,
    step: Vec<f64>,
    gradient: Vec<f64>,
    factor: Vec<f64>,
}

impl Newton {
    pub fn new(set: &Polytope) -> Self {
        let zeros = || vec![0.0; set.dim()];
        let factor = vec![0.0; packed::size(set.dim())];
        Self { set: set.clone(), step: zeros(), gradient: zeros(), factor }
    }

    /// The lower factor A of the Hessian A A^T, row after row, where [`minimise`](Newton::minimise) ended.
    pub fn factor(&self) -> &[f64] {
        &self.factor
    }

    /// Whether `x` is a point of the interior.
    pub fn is_inside(&self, x: &[f64]) -> bool {
        slacks(&self.set, x).all(|(_, slack)| slack > 0.0 && slack.is_finite())
    }

    /// Moves `x`, a point of the interior, to the minimiser of <linear, x> + R(x), and says in how many steps: a warm
    /// start makes them few.
    ///
    /// # Errors
    /// The iteration did not end, or `x` was not in the interior.
    pub fn minimise(&mut self, linear: &[f64], x: &mut [f64]) -> Result<usize, NewtonError> {
        let mut decrement = f64::NAN;
        for iterations in 1..=ITERATIONS {
            self.refactor(x).ok_or(NewtonError { decrement, iterations })?;
            gradient(&self.set, x, &mut self.gradient);
            self.gradient.iter_mut().zip(linear).for_each(|(g, l)| *g += l);
            self.step.copy_from_slice(&self.gradient);
            packed::solve(&self.factor, &mut self.step);
            // lambda^2 = gr^T H^{-1} gr   docs/bases.md#scrible
            decrement = dot(&self.gradient, &self.step).max(0.0).sqrt();
            let damping = if decrement >= 0.25 { 1.0 / (1.0 + decrement) } else { 1.0 };
            x.iter_mut().zip(&self.step).for_each(|(x, s)| *x -= damping * s);
            if decrement < TOLERANCE {
                self.refactor(x).ok_or(NewtonError { decrement, iterations })?;
                return Ok(iterations);
            }
        }
        Err(NewtonError { decrement, iterations: ITERATIONS })
    }

    /// The factor of the Hessian at `x`; `None` where it has none.
    pub fn refactor(&mut self, x: &[f64]) -> Option<()> {
        hessian(&self.set, x, &mut self.factor);
        packed::cholesky(&mut self.factor, x.len())
    }
}

/// The rows a_i, each with b_i - <a_i, x>.
fn slacks<'a>(set: &'a Polytope, x: &'a [f64]) -> impl Iterator<Item = (&'a [f64], f64)> {
    (0..set.constraints()).map(move |i| (set.row(i), set.bounds()[i] - dot(set.row(i), x)))
}

/// Writes grad R(x) into `out`.
fn gradient(set: &Polytope, x: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (row, slack) in slacks(set, x) {
        let inverse = 1.0 / slack;
        out.iter_mut().zip(row).for_each(|(o, a)| *o += inverse * a);
    }
}

/// Writes the lower triangle of the Hessian of R at x into `out`, row after row.
pub(super) fn hessian(set: &Polytope, x: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    slacks(set, x).for_each(|(row, slack)| packed::rank_one(out, slack.powi(-2), row));
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The cube and the simplex (in the coordinates of its hull, all but the last) as polytopes.
    pub fn cube_and_simplex(dim: usize) -> [Polytope; 2] {
        let axis =
            |i: usize, sign: f64| (0..dim).map(|j| if i == j { sign } else { 0.0 }).collect::<Vec<f64>>();
        let cube: Vec<_> = (0..dim).flat_map(|i| [axis(i, 1.0), axis(i, -1.0)]).collect();
        let mut corner: Vec<_> = (0..dim).map(|i| axis(i, -1.0)).collect();
        corner.push(vec![1.0; dim]);
        let mut bounds = vec![0.0; dim];
        bounds.push(1.0);
        [Polytope::new(&cube, &vec![1.0; 2 * dim]).unwrap(), Polytope::new(&corner, &bounds).unwrap()]
    }

    fn polytopes() -> Vec<Polytope> {
        let cut = Polytope::new(
            &[
                vec![1.0, 0.2, 0.0],
                vec![-1.0, 0.0, 0.3],
                vec![0.0, 1.0, 0.0],
                vec![0.1, -1.0, 0.0],
                vec![0.0, 0.0, 1.0],
                vec![0.2, 0.0, -1.0],
            ],
            &[1.0, 1.0, 0.8, 1.0, 1.0, 0.7],
        );
        cube_and_simplex(3).into_iter().chain(cut).collect()
    }

    fn value(set: &Polytope, x: &[f64]) -> f64 {
        slacks(set, x).map(|(_, slack)| if slack > 0.0 { -slack.ln() } else { f64::INFINITY }).sum()
    }

    /// A point of the interior: `share` of the way from the centre to where `push` would leave it.
    fn inside(set: &Polytope, push: &[f64], share: f64) -> Vec<f64> {
        let at = |step: f64| set.centre().iter().zip(push).map(|(s, p)| s + step * p).collect::<Vec<f64>>();
        let mut step = 1.0;
        while !value(set, &at(step)).is_finite() {
            step *= 0.7;
        }
        at(share * step)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Gradient and Hessian are derivatives, and |grad R|^2 in the dual local norm is at most nu, the number of rows.
        #[test]
        fn derivatives_are_derivatives(
            push in proptest::array::uniform3(-1.0f64..1.0), share in 0.0f64..0.9,
        ) {
            for set in polytopes() {
                let (d, h) = (set.dim(), 1e-6);
                let x = inside(&set, &push, share);
                let (mut g, mut hess) = (vec![0.0; d], vec![0.0; packed::size(d)]);
                gradient(&set, &x, &mut g);
                hessian(&set, &x, &mut hess);
                for i in 0..d {
                    let mut ahead = x.clone();
                    ahead[i] += h;
                    let mut behind = x.clone();
                    behind[i] -= h;
                    let slope = (value(&set, &ahead) - value(&set, &behind)) / (2.0 * h);
                    prop_assert!((slope - g[i]).abs() <= 1e-4 * (1.0 + g[i].abs()), "{set:?} {slope} {}", g[i]);
                    let (mut ga, mut gb) = (vec![0.0; d], vec![0.0; d]);
                    gradient(&set, &ahead, &mut ga);
                    gradient(&set, &behind, &mut gb);
                    for j in 0..d {
                        let bend = (ga[j] - gb[j]) / (2.0 * h);
                        prop_assert!((bend - packed::entry(&hess, i, j)).abs() <= 1e-4 * (1.0 + bend.abs()));
                    }
                }
                let mut a = hess.clone();
                prop_assert!(packed::cholesky(&mut a, d).is_some());
                let mut step = g.clone();
                packed::solve(&a, &mut step);
                prop_assert!(dot(&g, &step) <= set.constraints() as f64 + 1e-9);
            }
        }

        /// At the minimiser the gradient vanishes, from any start inside and for large forces too.
        #[test]
        fn newton_ends_where_the_gradient_vanishes(
            push in proptest::array::uniform3(-1.0f64..1.0), force in proptest::array::uniform3(-50.0f64..50.0),
        ) {
            for set in polytopes() {
                let mut x = inside(&set, &push, 0.9);
                let mut newton = Newton::new(&set);
                let iterations = newton.minimise(&force, &mut x).unwrap();
                prop_assert!(iterations <= 60 && newton.is_inside(&x));
                let mut g = vec![0.0; set.dim()];
                gradient(&set, &x, &mut g);
                prop_assert!(g.iter().zip(&force).all(|(g, f)| (g + f).abs() < 1e-8 * (1.0 + f.abs())), "{set:?}");
            }
        }
    }
}
