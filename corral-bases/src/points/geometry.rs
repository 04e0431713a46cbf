//! Follow-the-regularised-leader points of barriers, with factors of the Hessian there: closed forms on the ball, the
//! box and the simplex, damped Newton on polytopes.

use corral_core::Set;
use corral_core::set::SetError;

use super::barrier::{Newton, NewtonError};
use crate::regression::{dot, packed};

/// The FTRL point x = argmin <linear, x> + R(x) and a factor A of the Hessian A A^T at x. Coordinates are those of the
/// affine hull (the first K - 1 on the simplex).
#[derive(Debug, Clone)]
pub(crate) struct Leader {
    /// The parameter of the barrier: |grad R(x)|^2 in the dual local norm is at most nu.
    pub(crate) nu: f64,
    form: Form,
    /// x, in coordinates of the affine hull.
    pub(crate) point: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Form {
    /// x = -r n with n the direction of the force; eigenvalues q across and q(q - 1) along n, where q = 2/(1 - r^2).
    Ball { direction: Vec<f64>, q: f64 },
    /// The roots of the diagonal of the Hessian, q_i(q_i - 1).
    Box { roots: Vec<f64> },
    /// x_K, and per coordinate the root of the pivot and the column's multiplier.
    Simplex { last: f64, pivots: Vec<f64>, columns: Vec<f64> },
    /// The factor lives in the Newton iteration.
    Newton { newton: Box<Newton>, start: Vec<f64> },
}

impl Leader {
    /// At the analytic centre of `set`.
    ///
    /// # Errors
    /// The set has no barrier.
    pub(crate) fn new(set: &Set) -> Result<Self, SetError> {
        set.check()?;
        let d = set.affine_dim();
        let zeros = || vec![0.0; d];
        let (nu, form) = match set {
            // -ln(1 - |x|^2)
            Set::Ball { .. } => (1.0, Form::Ball { direction: zeros(), q: 2.0 }),
            // -sum ln(1 - x_i^2)
            Set::Box { dim } => (*dim as f64, Form::Box { roots: zeros() }),
            // -sum ln x_i, with x_K = 1 - the others
            Set::Simplex { vertices } => {
                (*vertices as f64, Form::Simplex { last: 0.0, pivots: zeros(), columns: zeros() })
            }
            // -sum ln(b_i - <a_i, x>)
            Set::Polytope(polytope) => {
                let mut newton = Newton::new(polytope);
                let mut start = polytope.centre().to_vec();
                newton.minimise(&zeros(), &mut start).map_err(|e| SetError::Iterations {
                    what: "the search of the analytic centre",
                    iterations: e.iterations,
                })?;
                (polytope.constraints() as f64, Form::Newton { newton: Box::new(newton), start })
            }
            other => return Err(SetError::Unsupported { what: "a barrier", kind: other.kind() }),
        };
        let mut leader = Self { nu, form, point: zeros() };
        leader.reset();
        Ok(leader)
    }

    pub(crate) fn dim(&self) -> usize {
        self.point.len()
    }

    /// Back to the analytic centre.
    pub(crate) fn reset(&mut self) {
        if let Form::Newton { newton, start } = &mut self.form {
            self.point.copy_from_slice(start);
            // The Hessian has a factor in the interior.
            let _ = newton.refactor(&self.point);
        } else {
            // Closed forms do not fail.
            let _ = self.follow(&vec![0.0; self.point.len()], 0.0);
        }
    }

    /// Takes `point` for x, as a snapshot has it. Closed forms compute their own.
    ///
    /// # Errors
    /// The point is not in the interior.
    pub(crate) fn resume(&mut self, point: &[f64]) -> Result<(), SetError> {
        if let Form::Newton { newton, .. } = &mut self.form {
            if !newton.is_inside(point) {
                return Err(SetError::CentreOutside { radius: 0.0 });
            }
            self.point.copy_from_slice(point);
            newton.refactor(&self.point).ok_or(SetError::Singular { pivot: 0.0, column: 0 })?;
        }
        Ok(())
    }

    /// Whether the point depends on the way to it, so that a snapshot must hold it.
    pub(crate) fn has_history(&self) -> bool {
        matches!(self.form, Form::Newton { .. })
    }

    /// Moves to argmin rate <force, x> + R(x).
    ///
    /// # Errors
    /// Newton's iteration did not end.
    pub(crate) fn follow(&mut self, force: &[f64], rate: f64) -> Result<(), NewtonError> {
        match &mut self.form {
            Form::Ball { direction, q } => {
                let norm = dot(force, force).sqrt();
                let a = rate * norm;
                // r = a/(1 + sqrt(1 + a^2)), q = 2/(1 - r^2) = 1 + sqrt(1 + a^2)
                *q = 1.0 + (1.0 + a * a).sqrt();
                let r = if a > 0.0 { a / *q } else { 0.0 };
                for ((x, n), f) in self.point.iter_mut().zip(direction.iter_mut()).zip(force) {
                    *n = if norm > 0.0 { f / norm } else { 0.0 };
                    *x = -r * *n;
                }
            }
            Form::Box { roots } => {
                for ((x, h), f) in self.point.iter_mut().zip(roots).zip(force) {
                    // x_i = -a/(1 + sqrt(1 + a^2)); H_ii = 1/(1-x)^2 + 1/(1+x)^2 = q(q - 1)
                    let a = rate * f;
                    let q = 1.0 + (1.0 + a * a).sqrt();
                    *x = -a / q;
                    *h = (q * (q - 1.0)).sqrt();
                }
            }
            Form::Simplex { last, pivots, columns } => {
                *last = follow_simplex(force, rate, &mut self.point);
                // Cholesky of H = diag(1/x_i^2) + 11^T/x_K^2, in closed form: with S_j = x_K^2 + sum_{i<j} x_i^2 the
                // pivot is S_{j+1}/(x_j^2 S_j), and every entry below it x_j^2/S_{j+1} times that.
                let mut sum = *last * *last;
                for ((x, pivot), column) in self.point.iter().zip(pivots).zip(columns) {
                    let next = sum + x * x;
                    *pivot = (next / sum).sqrt() / x;
                    *column = x * x / next;
                    sum = next;
                }
            }
            Form::Newton { newton, .. } => {
                let linear: Vec<f64> = force.iter().map(|f| rate * f).collect();
                let mut x = self.point.clone();
                newton.minimise(&linear, &mut x)?;
                self.point = x;
            }
        }
        Ok(())
    }

    /// out <- A u.
    pub(crate) fn stretch(&self, u: &[f64], out: &mut [f64]) {
        match &self.form {
            Form::Ball { direction, q } => {
                let (across, along) = (q.sqrt(), (q * (q - 1.0)).sqrt());
                let extra = (along - across) * dot(direction, u);
                for ((o, u), n) in out.iter_mut().zip(u).zip(direction) {
                    *o = across * u + extra * n;
                }
            }
            Form::Box { roots } => out.iter_mut().zip(u).zip(roots).for_each(|((o, u), h)| *o = h * u),
            Form::Simplex { pivots, columns, .. } => {
                let mut below = 0.0;
                for (i, o) in out.iter_mut().enumerate() {
                    let scaled = pivots[i] * u[i];
                    *o = scaled + below;
                    below += columns[i] * scaled;
                }
            }
            Form::Newton { newton, .. } => packed::multiply_lower(newton.factor(), u, out),
        }
    }

    /// Writes into `out`, in the set's own coordinates, the point x + `share` A^{-T} u.
    pub(crate) fn displace(&self, u: &[f64], share: f64, out: &mut [f64]) {
        let d = self.dim();
        let (head, tail) = out.split_at_mut(d);
        match &self.form {
            Form::Ball { direction, q } => {
                let (across, along) = (share / q.sqrt(), share / (q * (q - 1.0)).sqrt());
                let extra = (along - across) * dot(direction, u);
                for (i, o) in head.iter_mut().enumerate() {
                    *o = self.point[i] + across * u[i] + extra * direction[i];
                }
            }
            Form::Box { roots } => {
                for (i, o) in head.iter_mut().enumerate() {
                    *o = self.point[i] + share * u[i] / roots[i];
                }
            }
            Form::Simplex { last, pivots, columns } => {
                let mut later = 0.0;
                for i in (0..d).rev() {
                    let w = share * u[i] / pivots[i] - columns[i] * later;
                    head[i] = self.point[i] + w;
                    later += w;
                }
                tail[0] = last - later;
            }
            Form::Newton { newton, .. } => {
                head.iter_mut().zip(u).for_each(|(o, u)| *o = share * u);
                packed::solve_upper(newton.factor(), head);
                head.iter_mut().zip(&self.point).for_each(|(o, x)| *o += x);
            }
        }
    }
}

/// x_i = 1/(rate F_i + l) with l such that they sum to 1, where F_K = 0; returns x_K. Newton on 1/sum, which is concave in l
/// and so approaches the root from the left without overshooting.
fn follow_simplex(force: &[f64], rate: f64, x: &mut [f64]) -> f64 {
    let least = force.iter().fold(0.0f64, |m, f| m.min(rate * f));
    let top = -least;
    // With every term shifted by its minimum, l lies in [1, K].
    let mut l = 1.0;
    for _ in 0..60 {
        let (mut sum, mut slope) = (0.0, 0.0);
        for f in force {
            let v = 1.0 / (rate * f - least + l);
            sum += v;
            slope += v * v;
        }
        let v = 1.0 / (top + l);
        sum += v;
        slope += v * v;
        let next = l + sum * (sum - 1.0) / slope;
        if next <= l {
            break;
        }
        l = next;
    }
    for (x, f) in x.iter_mut().zip(force) {
        *x = 1.0 / (rate * f - least + l);
    }
    1.0 / (top + l)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::barrier::{self, tests::cube_and_simplex};
    use proptest::prelude::*;

    /// A A^T is the `hessian` there, and |grad R|^2 in the dual local norm is at most nu.
    fn agrees(leader: &Leader, hessian: &[f64], force: &[f64], rate: f64) -> Result<(), TestCaseError> {
        let d = force.len();
        // A A^T by columns: stretch of the basis gives A.
        let column = |i: usize| {
            let u: Vec<f64> = (0..d).map(|j| f64::from(i == j)).collect();
            let mut out = vec![0.0; d];
            leader.stretch(&u, &mut out);
            out
        };
        let columns: Vec<Vec<f64>> = (0..d).map(column).collect();
        let at = |i, j| packed::entry(hessian, i, j);
        for i in 0..d {
            for j in 0..d {
                let h: f64 = columns.iter().map(|c| c[i] * c[j]).sum();
                let scale = (at(i, i) * at(j, j)).sqrt();
                prop_assert!((h - at(i, j)).abs() < 1e-6 * scale, "{leader:?}");
            }
        }
        let mut factor = hessian.to_vec();
        prop_assert!(packed::cholesky(&mut factor, d).is_some());
        let gradient: Vec<f64> = force.iter().map(|f| rate * f).collect();
        let mut step = gradient.clone();
        packed::solve(&factor, &mut step);
        prop_assert!(dot(&gradient, &step) <= leader.nu + 1e-9);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// Newton and the closed forms agree to 1e-9, and so do A A^T and the Hessian.
        #[test]
        fn closed_forms_agree_with_newton(
            force in proptest::collection::vec(-20.0f64..20.0, 1..6), rate in prop_oneof![Just(0.01), Just(0.3), Just(3.0)],
        ) {
            let d = force.len();
            let linear: Vec<f64> = force.iter().map(|f| rate * f).collect();
            let mut hessian = vec![0.0; packed::size(d)];
            let closed = [Set::Box { dim: d }, Set::Simplex { vertices: d + 1 }];
            for (set, polytope) in closed.iter().zip(cube_and_simplex(d)) {
                let mut leader = Leader::new(set).unwrap();
                leader.follow(&force, rate).unwrap();
                let mut x = polytope.centre().to_vec();
                Newton::new(&polytope).minimise(&linear, &mut x).unwrap();
                for (a, b) in leader.point.iter().zip(&x) {
                    prop_assert!((a - b).abs() < 1e-9, "{} {a} {b}", set.kind());
                }
                barrier::hessian(&polytope, &x, &mut hessian);
                agrees(&leader, &hessian, &force, rate)?;
            }
        }

        /// On the ball the gradient 2 x/(1 - |x|^2) of the barrier balances the force, and A A^T is its Hessian.
        #[test]
        fn the_leader_of_the_ball_is_where_the_gradient_vanishes(
            force in proptest::collection::vec(-20.0f64..20.0, 1..6), rate in prop_oneof![Just(0.01), Just(0.3), Just(3.0)],
        ) {
            let mut leader = Leader::new(&Set::Ball { dim: force.len() }).unwrap();
            leader.follow(&force, rate).unwrap();
            let x = &leader.point;
            let slack = 1.0 - dot(x, x);
            for (x, f) in x.iter().zip(&force) {
                prop_assert!((2.0 * x / slack + rate * f).abs() < 1e-9 * (1.0 + (rate * f).abs()), "{x} {f}");
            }
            let mut hessian = vec![0.0; packed::size(force.len())];
            packed::set_diagonal(&mut hessian, 2.0 / slack);
            packed::rank_one(&mut hessian, 4.0 / (slack * slack), x);
            agrees(&leader, &hessian, &force, rate)?;
        }

        /// <A u, A^{-T} v> = <u, v> on every kind of set.
        #[test]
        fn displacement_and_stretch_are_dual(
            force in proptest::array::uniform3(-9.0f64..9.0),
            u in proptest::array::uniform3(-1.0f64..1.0),
            v in proptest::array::uniform3(-1.0f64..1.0),
        ) {
            let cube: Vec<Vec<f64>> = (0..6).map(|k| (0..3).map(|j| if j == k / 2 { if k % 2 == 0 { 1.0 } else { -1.0 } } else { 0.1 }).collect()).collect();
            let polytope = Set::polytope(&cube, &[1.0; 6]).unwrap();
            for set in [Set::Ball { dim: 3 }, Set::Box { dim: 3 }, Set::Simplex { vertices: 4 }, polytope] {
                let mut leader = Leader::new(&set).unwrap();
                leader.follow(&force, 0.5).unwrap();
                let mut at = vec![0.0; set.dim()];
                leader.displace(&v, 1.0, &mut at);
                let moved: Vec<f64> = at.iter().zip(&leader.point).map(|(a, x)| a - x).collect();
                let mut stretched = vec![0.0; 3];
                leader.stretch(&u, &mut stretched);
                let (left, right) = (dot(&stretched, &moved), dot(&u, &v));
                prop_assert!((left - right).abs() < 1e-7, "{} {left} {right}", set.kind());
            }
        }
    }

    #[test]
    fn the_simplex_leader_sums_to_one_under_huge_forces() {
        for force in [[1e9, -1e9], [-1e12, 0.0], [0.0, 0.0], [1e-300, 1e300]] {
            let mut x = [0.0; 2];
            let last = follow_simplex(&force, 1.0, &mut x);
            let sum = x[0] + x[1] + last;
            assert!((sum - 1.0).abs() < 1e-12, "{force:?} {sum}");
            assert!(x.iter().all(|v| *v >= 0.0) && last >= 0.0);
        }
    }
}
