//! Bounded polytopes {x : Ax <= b}.

use serde::{Deserialize, Serialize};

use super::SetError;
use super::lp::{self, Outcome};
use crate::vectors::{distance, dot};

/// Vertices are listed for the outer radius when no more than this many choices of d rows have to be looked at.
const VERTEX_CHOICES: usize = 20_000;

/// A bounded polytope {x : Ax <= b} with an interior. Built once: the centre and the radii are computed then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct Polytope {
    dim: usize,
    rows: Vec<f64>,
    bounds: Vec<f64>,
    norms: Vec<f64>,
    centre: Vec<f64>,
    inner_radius: f64,
    outer_radius: f64,
}

/// As a spec file writes it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    rows: Vec<Vec<f64>>,
    bounds: Vec<f64>,
}

impl TryFrom<Raw> for Polytope {
    type Error = SetError;
    fn try_from(raw: Raw) -> Result<Self, SetError> {
        Self::new(&raw.rows, &raw.bounds)
    }
}

impl From<Polytope> for Raw {
    fn from(set: Polytope) -> Self {
        Self { rows: set.rows.chunks_exact(set.dim).map(<[f64]>::to_vec).collect(), bounds: set.bounds }
    }
}

impl Polytope {
    /// The polytope {x : <rows_i, x> <= bounds_i}.
    ///
    /// # Errors
    /// Lengths differ, a number is not finite, a row is zero, no point satisfies the constraints, they leave no
    /// interior, or they do not bound a coordinate.
    pub fn new(rows: &[Vec<f64>], bounds: &[f64]) -> Result<Self, SetError> {
        let dim = rows.first().map_or(0, Vec::len);
        if dim == 0 {
            return Err(SetError::ZeroDimension);
        }
        SetError::same_length("the list of bounds", bounds.len(), rows.len())?;
        SetError::finite("the list of bounds", bounds)?;
        let mut flat = Vec::with_capacity(rows.len() * dim);
        let mut norms = Vec::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            let name = format!("row {i}");
            SetError::same_length(&name, row.len(), dim)?;
            SetError::finite(&name, row)?;
            let norm = dot(row, row).sqrt();
            if !(norm > 0.0 && norm.is_finite()) {
                return Err(SetError::ZeroRow(i));
            }
            flat.extend_from_slice(row);
            norms.push(norm);
        }
        let mut set = Self {
            dim,
            rows: flat,
            bounds: bounds.to_vec(),
            norms,
            centre: Vec::new(),
            inner_radius: 0.0,
            outer_radius: 0.0,
        };
        set.find_centre()?;
        set.find_extent()?;
        Ok(set)
    }

    /// The Chebyshev centre: maximise r subject to <a_i, x> + |a_i| r <= b_i.
    fn find_centre(&mut self) -> Result<(), SetError> {
        let (d, m) = (self.dim, self.bounds.len());
        let reach: Vec<f64> = self.bounds.iter().zip(&self.norms).map(|(b, n)| b / n).collect();
        // x = 0 with r = min_i b_i/|a_i| is feasible: count r from there, so that the origin is.
        let start = reach.iter().copied().fold(f64::INFINITY, f64::min);
        let scale = 1.0 + reach.iter().fold(0.0f64, |s, v| s.max(v.abs()));
        let mut rows = Vec::with_capacity((m + 1) * (d + 1));
        let mut bounds = Vec::with_capacity(m + 1);
        for (i, reach) in reach.iter().enumerate() {
            rows.extend(self.row(i).iter().map(|a| a / self.norms[i]));
            rows.push(1.0);
            bounds.push(reach - start);
        }
        // A cap on r: sets that hold every ball are found to be unbounded below, with the coordinate.
        rows.extend(std::iter::repeat_n(0.0, d));
        rows.push(1.0);
        bounds.push(1e3 * scale);
        let mut objective = vec![0.0; d + 1];
        objective[d] = 1.0;
        let Outcome::Optimum(mut x) = lp::maximise(&objective, &rows, &bounds)? else {
            return Err(SetError::Unbounded { coordinate: 0 });
        };
        let _ = x.pop();
        let radius = self.margin(&x);
        if radius.is_nan() || radius <= -1e-9 * scale {
            return Err(SetError::Empty { violation: -radius });
        }
        if radius <= 1e-9 * scale {
            return Err(SetError::NoInterior { radius });
        }
        (self.centre, self.inner_radius) = (x, radius);
        Ok(())
    }

    fn find_extent(&mut self) -> Result<(), SetError> {
        let mut corner = 0.0;
        let mut direction = vec![0.0; self.dim];
        let mut at = vec![0.0; self.dim];
        for j in 0..self.dim {
            let mut reach: f64 = 0.0;
            for sign in [1.0, -1.0] {
                direction[j] = sign;
                self.maximise(&direction, &mut at)?.ok_or(SetError::Unbounded { coordinate: j })?;
                reach = reach.max((at[j] - self.centre[j]).abs());
            }
            direction[j] = 0.0;
            corner += reach * reach;
        }
        self.outer_radius = match self.vertices(VERTEX_CHOICES) {
            Some(vertices) => vertices.iter().map(|v| distance(v, &self.centre)).fold(0.0, f64::max),
            None => f64::sqrt(corner),
        };
        Ok(())
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many constraints there are.
    pub fn constraints(&self) -> usize {
        self.bounds.len()
    }

    /// The `index`-th row of A.
    pub fn row(&self, index: usize) -> &[f64] {
        &self.rows[index * self.dim..(index + 1) * self.dim]
    }

    /// The rows of A as one row-major block.
    pub fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// The bounds b.
    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// Centre of the largest ball inside.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Radius of the largest ball inside.
    pub fn inner_radius(&self) -> f64 {
        self.inner_radius
    }

    pub(super) fn outer_radius(&self) -> f64 {
        self.outer_radius
    }

    pub(super) fn contains(&self, point: &[f64]) -> bool {
        self.rows.chunks_exact(self.dim).zip(&self.bounds).all(|(row, b)| dot(row, point) <= *b)
    }

    /// min_i (b_i - <a_i, x>)/|a_i|: the radius of the largest ball around `point`, negative outside.
    pub(super) fn margin(&self, point: &[f64]) -> f64 {
        (0..self.constraints())
            .map(|i| (self.bounds[i] - dot(self.row(i), point)) / self.norms[i])
            .fold(f64::INFINITY, f64::min)
    }

    pub(super) fn linear_min(&self, direction: &[f64], at: &mut [f64]) -> Result<(), SetError> {
        let uphill: Vec<f64> = direction.iter().map(|g| -g).collect();
        // Boundedness was checked when the set was built.
        self.maximise(&uphill, at)?.ok_or(SetError::Unbounded { coordinate: 0 })
    }

    /// Maximises <direction, .>, in coordinates around the centre, where the origin is feasible; `None` when the
    /// maximum is infinite.
    fn maximise(&self, direction: &[f64], at: &mut [f64]) -> Result<Option<()>, SetError> {
        let size = dot(direction, direction).sqrt();
        if size == 0.0 {
            at.copy_from_slice(&self.centre);
            return Ok(Some(()));
        }
        let objective: Vec<f64> = direction.iter().map(|g| g / size).collect();
        let mut rows = Vec::with_capacity(self.rows.len());
        let mut bounds = Vec::with_capacity(self.bounds.len());
        for i in 0..self.constraints() {
            rows.extend(self.row(i).iter().map(|a| a / self.norms[i]));
            bounds.push((self.bounds[i] - dot(self.row(i), &self.centre)) / self.norms[i]);
        }
        Ok(match lp::maximise(&objective, &rows, &bounds)? {
            Outcome::Unbounded => None,
            Outcome::Optimum(x) => {
                for ((v, c), x) in at.iter_mut().zip(&self.centre).zip(&x) {
                    *v = c + x;
                }
                Some(())
            }
        })
    }

    /// The nearest point, by the dual active-set method of Goldfarb and Idnani (1983) with the identity as Hessian:
    /// constraints enter when they are violated, and leave when their multiplier falls to zero.
    pub(super) fn project(&self, point: &mut [f64]) -> Result<(), SetError> {
        let d = self.dim;
        let scale =
            1.0 + dot(point, point).sqrt() + dot(&self.centre, &self.centre).sqrt() + self.outer_radius;
        let tolerance = 1e-14 * scale;
        let mut active: Vec<usize> = Vec::new();
        let mut multipliers: Vec<f64> = Vec::new();
        // Orthonormal basis of the active normals, and the triangle that expresses them in it.
        let mut basis: Vec<f64> = Vec::new();
        let mut triangle: Vec<f64> = Vec::new();
        let limit = 100 * (self.constraints() + d);
        let mut spent = 0;
        loop {
            // The most violated constraint, with rows normalised.
            let violated = (0..self.constraints())
                .filter(|i| !active.contains(i))
                .map(|i| ((dot(self.row(i), point) - self.bounds[i]) / self.norms[i], i))
                .filter(|(excess, _)| *excess > tolerance)
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let Some((_, enter)) = violated else { return Ok(()) };
            let normal: Vec<f64> = self.row(enter).iter().map(|a| a / self.norms[enter]).collect();
            let mut multiplier = 0.0;
            loop {
                spent += 1;
                if spent > limit {
                    return Err(SetError::Iterations { what: "the projection", iterations: limit });
                }
                factor(self, &active, &mut basis, &mut triangle);
                let k = active.len();
                // normal = N r + z, with z orthogonal to the active normals N.
                let mut rest = normal.clone();
                let mut coefficients = vec![0.0; k];
                for (q, c) in basis.chunks_exact(d).zip(&mut coefficients) {
                    *c = dot(q, &rest);
                    for (r, q) in rest.iter_mut().zip(q) {
                        *r -= *c * q;
                    }
                }
                for i in (0..k).rev() {
                    let tail: f64 = (i + 1..k).map(|j| triangle[i * k + j] * coefficients[j]).sum();
                    coefficients[i] = (coefficients[i] - tail) / triangle[i * k + i];
                }
                let curvature = dot(&rest, &rest);
                let excess = dot(&normal, point) - self.bounds[enter] / self.norms[enter];
                let full = if curvature > 1e-20 { excess / curvature } else { f64::INFINITY };
                // The first active constraint whose multiplier reaches zero.
                let blocking = (0..k)
                    .filter(|j| coefficients[*j] > 1e-14)
                    .map(|j| (multipliers[j] / coefficients[j], j))
                    .min_by(|a, b| a.0.total_cmp(&b.0));
                let step = blocking.map_or(full, |(partial, _)| full.min(partial));
                if !step.is_finite() {
                    return Err(SetError::Empty { violation: excess });
                }
                if full.is_finite() {
                    for (x, z) in point.iter_mut().zip(&rest) {
                        *x -= step * z;
                    }
                }
                for (u, r) in multipliers.iter_mut().zip(&coefficients) {
                    *u = (*u - step * r).max(0.0);
                }
                multiplier += step;
                match blocking {
                    Some((partial, leave)) if partial < full => {
                        active.swap_remove(leave);
                        multipliers.swap_remove(leave);
                    }
                    _ => {
                        active.push(enter);
                        multipliers.push(multiplier);
                        break;
                    }
                }
            }
        }
    }

    /// The vertices, where at most `limit` choices of d rows have to be looked at.
    pub(super) fn vertices(&self, limit: usize) -> Option<Vec<Vec<f64>>> {
        let (d, m) = (self.dim, self.constraints());
        choices(m, d).filter(|c| *c <= limit)?;
        let mut found: Vec<Vec<f64>> = Vec::new();
        let mut picked: Vec<usize> = (0..d).collect();
        let mut matrix = vec![0.0; d * (d + 1)];
        let scale = dot(&self.centre, &self.centre).sqrt() + self.inner_radius;
        loop {
            for (k, i) in picked.iter().enumerate() {
                for (cell, a) in matrix[k * (d + 1)..].iter_mut().zip(self.row(*i)) {
                    *cell = a / self.norms[*i];
                }
                matrix[k * (d + 1) + d] = self.bounds[*i] / self.norms[*i];
            }
            if let Some(x) = solve(&mut matrix, d) {
                let tolerance = 1e-9 * (scale + dot(&x, &x).sqrt());
                if self.margin(&x) >= -tolerance && found.iter().all(|v| distance(v, &x) > tolerance) {
                    found.push(x);
                }
            }
            // The next choice in lexicographic order.
            let Some(place) = (0..d).rev().find(|k| picked[*k] < m - d + *k) else { return Some(found) };
            picked[place] += 1;
            for k in place + 1..d {
                picked[k] = picked[k - 1] + 1;
            }
        }
    }
}

/// Gram-Schmidt of the (normalised) active rows: `basis` holds the orthonormal vectors, `triangle` (k x k) the
/// coefficients.
fn factor(set: &Polytope, active: &[usize], basis: &mut Vec<f64>, triangle: &mut Vec<f64>) {
    let (d, k) = (set.dim, active.len());
    basis.clear();
    triangle.clear();
    triangle.resize(k * k, 0.0);
    for (j, i) in active.iter().enumerate() {
        let mut v: Vec<f64> = set.row(*i).iter().map(|a| a / set.norms[*i]).collect();
        // Twice is enough: the second pass removes what rounding left of the first.
        for _ in 0..2 {
            for (q, l) in basis.chunks_exact(d).zip(0..j) {
                let c = dot(q, &v);
                triangle[l * k + j] += c;
                for (x, q) in v.iter_mut().zip(q) {
                    *x -= c * q;
                }
            }
        }
        let norm = dot(&v, &v).sqrt();
        triangle[j * k + j] = norm;
        basis.extend(v.iter().map(|x| x / norm));
    }
}

/// m choose d, where it fits.
fn choices(m: usize, d: usize) -> Option<usize> {
    if d > m {
        return None;
    }
    (0..d).try_fold(1usize, |c, k| Some(c.checked_mul(m - k)? / (k + 1)))
}

/// Gaussian elimination with partial pivoting on the d x (d+1) matrix; `None` when it is singular.
fn solve(matrix: &mut [f64], d: usize) -> Option<Vec<f64>> {
    let w = d + 1;
    for col in 0..d {
        let best = (col..d).max_by(|a, b| matrix[a * w + col].abs().total_cmp(&matrix[b * w + col].abs()))?;
        if matrix[best * w + col].abs() <= 1e-10 {
            return None;
        }
        for j in 0..w {
            matrix.swap(col * w + j, best * w + j);
        }
        for i in col + 1..d {
            let factor = matrix[i * w + col] / matrix[col * w + col];
            for j in col..w {
                matrix[i * w + j] -= factor * matrix[col * w + j];
            }
        }
    }
    let mut x = vec![0.0; d];
    for i in (0..d).rev() {
        let tail: f64 = (i + 1..d).map(|j| matrix[i * w + j] * x[j]).sum();
        x[i] = (matrix[i * w + d] - tail) / matrix[i * w + i];
    }
    Some(x)
}
