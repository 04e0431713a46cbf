//! The optimistic point of a set: argmin over x of <x, c> - radius |x|_{V^{-1}}, that is, the best point for the best
//! parameter of an ellipsoid around c. See docs/bases.md#oful.

use corral_core::set::SetError;
use corral_core::{BaseError, Set};
use nalgebra::{DMatrix, SymmetricEigen};

use crate::common::lowest;
use crate::regression::{Ridge, dot, packed};

corral_core::params! {
    /// How the optimum over a polytope (or box) is found.
    pub enum Search {
        /// Vertices where there are few, else relaxed.
        #[default]
        Auto,
        /// Every vertex: exact.
        Vertices,
        /// The ellipsoid replaced by an l1 ball of 2d corners: a factor sqrt(d) wider, and 2d linear minima.
        Relaxed,
    }
}

/// No more vertices than this are listed.
const VERTICES: usize = 4096;

/// The confidence ellipsoid {z : |z - centre|_V <= radius}.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ellipsoid<'a> {
    pub centre: &'a [f64],
    /// V, packed.
    pub gram: &'a [f64],
    /// V^{-1}, packed.
    pub inverse: &'a [f64],
    pub radius: f64,
}

impl<'a> Ellipsoid<'a> {
    /// That of a regression.
    pub(crate) fn around(ridge: &'a Ridge, radius: f64) -> Self {
        Self { centre: ridge.theta(0), gram: ridge.gram(0), inverse: ridge.inverse(0), radius }
    }
}

/// A set, prepared for the search of its optimistic point.
#[derive(Debug, Clone)]
pub(crate) enum Optimist {
    /// The candidates, row-major: points of a finite set, or vertices (the objective is concave).
    List { dim: usize, points: Vec<f64> },
    /// The unit ball: a secular equation.
    Ball,
    /// 2d linear minima.
    Relaxed(Set),
}

impl Optimist {
    /// # Errors
    /// The search is by vertices, and the set has too many.
    pub(crate) fn new(set: &Set, search: Search) -> Result<Self, SetError> {
        let list = |points: Vec<Vec<f64>>| Self::List { dim: set.dim(), points: points.concat() };
        match (set, search) {
            (Set::Ball { .. }, _) => Ok(Self::Ball),
            (Set::Finite(points), _) => Ok(Self::List { dim: set.dim(), points: points.flat().to_vec() }),
            (_, Search::Relaxed) => Ok(Self::Relaxed(set.clone())),
            (_, Search::Auto) => Ok(set.vertices(VERTICES).map_or_else(|| Self::Relaxed(set.clone()), list)),
            (_, Search::Vertices) => set
                .vertices(1 << 20)
                .map(list)
                .ok_or(SetError::Unsupported { what: "a list of so many vertices", kind: set.kind() }),
        }
    }

    /// Writes the optimistic point into `out`, and returns its lower bound <out, z> over the ellipsoid.
    ///
    /// # Errors
    /// A linear program failed.
    pub(crate) fn choose(&self, e: Ellipsoid<'_>, out: &mut [f64]) -> Result<f64, BaseError> {
        match self {
            Self::List { dim, points } => {
                let value =
                    |x: &[f64]| dot(x, e.centre) - e.radius * packed::quadratic(e.inverse, x).max(0.0).sqrt();
                let (at, least) = lowest(points.chunks_exact(*dim).map(value));
                out.copy_from_slice(&points[at * dim..(at + 1) * dim]);
                Ok(least)
            }
            Self::Ball => {
                let norm = longest(e, out);
                out.iter_mut().for_each(|v| *v = if norm > 0.0 { -*v / norm } else { 0.0 });
                Ok(-norm)
            }
            Self::Relaxed(set) => relaxed(set, e, out),
        }
    }
}

/// Writes the longest vector of the ellipsoid into `out` and returns its length: the optimistic parameter of the ball.
///
/// Maximise |z|^2 subject to |z - c|_V <= radius. With multiplier mu, (mu V - I) z = mu V c; in the eigenbasis of V
/// (eigenvalues v_i) z_i - c_i = c_i/(mu v_i - 1), and the global branch is mu >= 1/min v: there
/// sum v_i c_i^2/(mu v_i - 1)^2 falls from infinity to 0 and meets radius^2 once. In the hard case (no part of c along the
/// least eigenvalue) what is missing is taken along it.
fn longest(e: Ellipsoid<'_>, out: &mut [f64]) -> f64 {
    let d = out.len();
    let eigen = SymmetricEigen::new(DMatrix::from_fn(d, d, |i, j| packed::entry(e.gram, i, j)));
    let values: Vec<f64> = eigen.eigenvalues.iter().map(|v| v.max(f64::MIN_POSITIVE)).collect();
    let least = (0..d).fold(0, |best, i| if values[i] < values[best] { i } else { best });
    let floor = values[least];
    let along: Vec<f64> =
        (0..d).map(|i| (0..d).map(|k| eigen.eigenvectors[(k, i)] * e.centre[k]).sum()).collect();
    // mu v_i - 1 with mu = (1 + s)/min v, written without cancellation at the least eigenvalue.
    let gap = |s: f64, i: usize| (values[i] - floor) / floor + s * values[i] / floor;
    let spent = |s: f64| -> f64 { (0..d).map(|i| values[i] * (along[i] / gap(s, i)).powi(2)).sum() };
    let budget = e.radius * e.radius;
    let (mut low, mut high) = (1e-14f64, 1e14f64);
    for _ in 0..120 {
        let middle = (low * high).sqrt();
        if spent(middle) > budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    let s = high;
    let mut z: Vec<f64> = (0..d).map(|i| along[i] + along[i] / gap(s, i)).collect();
    // Along the least eigenvalue goes what the others leave of the budget: so in the hard case too.
    let others: f64 =
        (0..d).filter(|i| *i != least).map(|i| values[i] * (along[i] / gap(s, i)).powi(2)).sum();
    let left = ((budget - others).max(0.0) / floor).sqrt();
    z[least] = along[least] + if along[least] < 0.0 { -left } else { left };
    for (k, o) in out.iter_mut().enumerate() {
        *o = (0..d).map(|i| eigen.eigenvectors[(k, i)] * z[i]).sum();
    }
    dot(out, out).sqrt()
}

/// ConfidenceBall_1 (Dani, Hayes, Kakade 2008): the ellipsoid lies in the l1 ball with corners
/// c +- radius sqrt(d) A^{-T} e_i, V = A A^T; the least <x, corner> over corners and points is a linear minimum per corner.
fn relaxed(set: &Set, e: Ellipsoid<'_>, out: &mut [f64]) -> Result<f64, BaseError> {
    let d = out.len();
    let mut factor = e.gram.to_vec();
    packed::cholesky(&mut factor, d)
        .ok_or_else(|| BaseError::Failed(String::from("the regression is not positive definite")))?;
    let mut best = f64::INFINITY;
    let (mut corner, mut at) = (vec![0.0; d], vec![0.0; d]);
    for i in 0..d {
        for sign in [1.0, -1.0] {
            corner.fill(0.0);
            corner[i] = sign * e.radius * (d as f64).sqrt();
            packed::solve_upper(&factor, &mut corner);
            corner.iter_mut().zip(e.centre).for_each(|(v, c)| *v += c);
            let value = set.linear_min(&corner, &mut at)?;
            if value < best {
                best = value;
                out.copy_from_slice(&at);
            }
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::fill_sphere;
    use crate::regression::Regressor;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Dxsm;

    fn data(dim: usize, n: usize, seed: u64) -> Ridge {
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        let mut ridge = Ridge::new(1.0, 0.0, 1, dim);
        for _ in 0..n {
            let x: Vec<f64> = (0..dim).map(|j| (rng.random::<f64>() - 0.5) / (1 + j) as f64).collect();
            ridge.update(0, &x, rng.random::<f64>() - 0.5, 1.0).unwrap();
        }
        ridge
    }

    fn value(ridge: &Ridge, radius: f64, x: &[f64]) -> f64 {
        ridge.predict(0, x) - radius * ridge.variance(0, x).sqrt()
    }

    /// On the ball no random direction, and no direction near the answer, beats the secular equation's.
    #[test]
    fn the_ball_is_solved_globally() {
        let mut rng = Pcg64Dxsm::seed_from_u64(9);
        for (dim, n, radius) in
            [(1, 5, 0.3), (2, 0, 1.0), (2, 40, 0.5), (3, 100, 0.1), (5, 30, 2.0), (4, 500, 1e-6)]
        {
            let ridge = data(dim, n, dim as u64);
            let mut x = vec![0.0; dim];
            let bound = Optimist::Ball.choose(Ellipsoid::around(&ridge, radius), &mut x).unwrap();
            assert!((dot(&x, &x) - 1.0).abs() < 1e-12);
            let best = value(&ridge, radius, &x);
            assert!((best - bound).abs() < 1e-9 * (1.0 + bound.abs()), "{dim} {n}: {best} {bound}");
            let mut u = vec![0.0; dim];
            for k in 0..2000 {
                fill_sphere(&mut u, &mut rng);
                if k % 2 == 0 {
                    u.iter_mut().zip(&x).for_each(|(u, x)| *u = x + 0.01 * *u);
                    let norm = dot(&u, &u).sqrt();
                    u.iter_mut().for_each(|v| *v /= norm);
                }
                assert!(value(&ridge, radius, &u) >= best - 1e-9, "{dim} {n}");
            }
        }
    }

    /// The hard case: the centre has no part along the least eigenvalue.
    #[test]
    fn the_hard_case_is_solved() {
        let (gram, inverse) = ([1.0, 0.0, 100.0], [1.0, 0.0, 0.01]);
        let e = Ellipsoid { centre: &[0.0, 0.1], gram: &gram, inverse: &inverse, radius: 1.0 };
        let mut x = [0.0; 2];
        let bound = Optimist::Ball.choose(e, &mut x).unwrap();
        let value = |x: &[f64]| dot(x, e.centre) - packed::quadratic(&inverse, x).sqrt();
        assert!((value(&x) - bound).abs() < 1e-6, "{x:?} {bound}");
        for k in 0..1000 {
            let phi = k as f64 * 0.00628;
            assert!(value(&[phi.cos(), phi.sin()]) >= bound - 1e-6);
        }
    }

    /// Vertices are exact; the relaxation is optimistic, and by no more than its factor sqrt(d).
    #[test]
    fn the_relaxation_is_optimistic_and_not_too_much() {
        let set = Set::Box { dim: 3 };
        for seed in 0..20 {
            let ridge = data(3, 50, seed);
            let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
            let exact = Optimist::new(&set, Search::Vertices)
                .unwrap()
                .choose(Ellipsoid::around(&ridge, 0.5), &mut a)
                .unwrap();
            let relaxed = Optimist::new(&set, Search::Relaxed)
                .unwrap()
                .choose(Ellipsoid::around(&ridge, 0.5), &mut b)
                .unwrap();
            let wide = Optimist::new(&set, Search::Vertices)
                .unwrap()
                .choose(Ellipsoid::around(&ridge, 0.5 * 3f64.sqrt()), &mut a)
                .unwrap();
            assert!(relaxed <= exact + 1e-9 && relaxed >= wide - 1e-9, "{wide} {relaxed} {exact}");
            assert!(set.contains(&b));
        }
        assert!(Optimist::new(&Set::Box { dim: 40 }, Search::Vertices).is_err());
        assert!(matches!(Optimist::new(&Set::Box { dim: 40 }, Search::Auto), Ok(Optimist::Relaxed(_))));
    }
}
