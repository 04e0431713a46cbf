//! Ridge regression kept up to date: V = lambda I + sum x x^T, V^{-1}, ln det and the estimate.

use corral_core::snapshot::SnapshotError;
use serde::{Deserialize, Serialize};

use super::optimism::Ellipsoid;
use super::{cholesky, dot};
use crate::common::check_numbers;

/// The inverse is computed afresh after this many rank-one updates.
const REFRESH: u64 = 256;

/// Ridge regression of numbers y on points x.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ridge {
    dim: usize,
    lambda: f64,
    gram: Vec<f64>,
    inverse: Vec<f64>,
    vector: Vec<f64>,
    estimate: Vec<f64>,
    /// ln det V - d ln lambda.
    log_det: f64,
    updates: u64,
}

impl Ridge {
    pub(crate) fn new(dim: usize, lambda: f64) -> Self {
        let diagonal = |v: f64| (0..dim * dim).map(|k| if k / dim == k % dim { v } else { 0.0 }).collect();
        Self {
            dim,
            lambda,
            gram: diagonal(lambda),
            inverse: diagonal(1.0 / lambda),
            vector: vec![0.0; dim],
            estimate: vec![0.0; dim],
            log_det: 0.0,
            updates: 0,
        }
    }

    pub(crate) fn updates(&self) -> u64 {
        self.updates
    }

    /// V, row-major.
    pub(crate) fn gram(&self) -> &[f64] {
        &self.gram
    }

    /// sum y x.
    pub(crate) fn vector(&self) -> &[f64] {
        &self.vector
    }

    /// V^{-1} sum y x.
    pub(crate) fn estimate(&self) -> &[f64] {
        &self.estimate
    }

    /// ln det V - d ln lambda.
    pub(crate) fn log_det(&self) -> f64 {
        self.log_det
    }

    /// The confidence ellipsoid of this radius.
    pub(crate) fn ellipsoid(&self, radius: f64) -> Ellipsoid<'_> {
        Ellipsoid { centre: &self.estimate, gram: &self.gram, inverse: &self.inverse, radius }
    }

    /// |theta - estimate|_V^2.
    pub(crate) fn distance_squared(&self, theta: &[f64]) -> f64 {
        let off: Vec<f64> = theta.iter().zip(&self.estimate).map(|(a, b)| a - b).collect();
        quadratic(&self.gram, &off)
    }

    /// Learns that `x` gave `y`. O(d^2).
    pub(crate) fn learn(&mut self, x: &[f64], y: f64) {
        let d = self.dim;
        // Sherman and Morrison: V^{-1} -= (V^{-1} x)(V^{-1} x)^T/(1 + x^T V^{-1} x)
        let moved: Vec<f64> = (0..d).map(|i| dot(&self.inverse[i * d..(i + 1) * d], x)).collect();
        let growth = 1.0 + dot(&moved, x);
        for i in 0..d {
            for j in 0..d {
                self.inverse[i * d + j] -= moved[i] * moved[j] / growth;
                self.gram[i * d + j] += x[i] * x[j];
            }
            self.vector[i] += y * x[i];
        }
        self.log_det += growth.ln();
        self.updates += 1;
        if self.updates.is_multiple_of(REFRESH) {
            self.refresh();
        }
        for i in 0..d {
            self.estimate[i] = dot(&self.inverse[i * d..(i + 1) * d], &self.vector);
        }
    }

    /// V^{-1} and ln det from V itself, so that rounding does not add up.
    fn refresh(&mut self) {
        let d = self.dim;
        let mut factor = self.gram.clone();
        // V >= lambda I has a factor.
        if cholesky::factor(&mut factor, d).is_none() {
            return;
        }
        let mut column = vec![0.0; d];
        for j in 0..d {
            column.fill(0.0);
            column[j] = 1.0;
            cholesky::solve(&factor, d, &mut column);
            for (i, v) in column.iter().enumerate() {
                self.inverse[i * d + j] = *v;
            }
        }
        self.log_det =
            (0..d).map(|i| 2.0 * factor[i * d + i].ln()).sum::<f64>() - d as f64 * self.lambda.ln();
    }

    /// Checks a regression that was read back.
    pub(crate) fn valid(&self, dim: usize, lambda: f64) -> Result<(), SnapshotError> {
        if self.dim != dim || self.lambda != lambda {
            return Err(SnapshotError::state("its regression is of another size"));
        }
        check_numbers("entries of V", &self.gram, dim * dim)?;
        check_numbers("entries of the inverse of V", &self.inverse, dim * dim)?;
        check_numbers("sums", &self.vector, dim)?;
        check_numbers("estimates", &self.estimate, dim)?;
        let mut factor = self.gram.clone();
        if cholesky::factor(&mut factor, dim).is_none() || self.log_det.is_nan() || self.log_det < -1e-6 {
            return Err(SnapshotError::state("its regression is not positive definite"));
        }
        Ok(())
    }
}

/// x^T M x.
pub(crate) fn quadratic(matrix: &[f64], x: &[f64]) -> f64 {
    let d = x.len();
    (0..d).map(|i| x[i] * dot(&matrix[i * d..(i + 1) * d], x)).sum::<f64>().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Dxsm;

    #[test]
    fn the_inverse_and_the_determinant_stay_true() {
        let d = 4;
        let mut ridge = Ridge::new(d, 0.5);
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        for _ in 0..600 {
            let x: Vec<f64> = (0..d).map(|_| rng.random::<f64>() - 0.5).collect();
            ridge.learn(&x, rng.random::<f64>());
        }
        let mut fresh = ridge.clone();
        fresh.refresh();
        assert!((fresh.log_det - ridge.log_det).abs() < 1e-9);
        assert!(fresh.inverse.iter().zip(&ridge.inverse).all(|(a, b)| (a - b).abs() < 1e-10));
        // V estimate = vector
        for i in 0..d {
            assert!((dot(&ridge.gram[i * d..(i + 1) * d], &ridge.estimate) - ridge.vector[i]).abs() < 1e-9);
        }
    }
}
