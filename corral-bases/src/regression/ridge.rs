//! Ridge regression, one model or several of the same size, updated one example at a time.

use super::{Regressor, packed, usable};
use crate::prelude::*;

/// After how many updates of a model its inverse is computed afresh, so that rounding does not add up.
const REFRESH: u64 = 256;

/// V = lambda I + sum w z z^T, theta = V^-1 sum w (y - centre) z, for each of several models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ridge {
    ridge: f64,
    centre: f64,
    dim: usize,
    /// V^-1 of each model, packed.
    inverse: Vec<f64>,
    /// V of each model, packed.
    gram: Vec<f64>,
    /// sum w (y - centre) z of each model.
    moment: Vec<f64>,
    /// theta of each model.
    theta: Vec<f64>,
    /// ln det(V/lambda) of each model.
    log_det: Vec<f64>,
    /// Updates of each model.
    updates: Vec<u64>,
    /// dim numbers, then a packed matrix.
    #[serde(skip)]
    scratch: Vec<f64>,
}

impl Ridge {
    /// `models` models of `dim` features, that predict `centre` before anything was learned.
    pub fn new(ridge: f64, centre: f64, models: usize, dim: usize) -> Self {
        let size = packed::size(dim);
        let mut ridge = Self {
            ridge,
            centre,
            dim,
            inverse: vec![0.0; models * size],
            gram: vec![0.0; models * size],
            moment: vec![0.0; models * dim],
            theta: vec![0.0; models * dim],
            log_det: vec![0.0; models],
            updates: vec![0; models],
            scratch: vec![0.0; dim + size],
        };
        ridge.reset();
        ridge
    }

    /// The parameter vector of a model.
    pub fn theta(&self, model: usize) -> &[f64] {
        &self.theta[model * self.dim..(model + 1) * self.dim]
    }

    /// sum w (y - centre) z of a model.
    pub(crate) fn moment(&self, model: usize) -> &[f64] {
        &self.moment[model * self.dim..(model + 1) * self.dim]
    }

    /// V^-1 of a model, packed.
    pub(crate) fn inverse(&self, model: usize) -> &[f64] {
        let size = packed::size(self.dim);
        &self.inverse[model * size..(model + 1) * size]
    }

    /// V of a model, packed.
    pub(crate) fn gram(&self, model: usize) -> &[f64] {
        let size = packed::size(self.dim);
        &self.gram[model * size..(model + 1) * size]
    }

    /// How many examples a model has learned.
    pub(crate) fn updates(&self, model: usize) -> u64 {
        self.updates[model]
    }

    /// |theta - that of the first model|_V^2.
    pub(crate) fn distance_squared(&self, theta: &[f64]) -> f64 {
        let off: Vec<f64> = theta.iter().zip(self.theta(0)).map(|(a, b)| a - b).collect();
        packed::quadratic(self.gram(0), &off).max(0.0)
    }

    /// L of V = L L^T of a model, into `factor`. `None` where rounding made V indefinite.
    pub(crate) fn factor(&self, model: usize, factor: &mut [f64]) -> Option<()> {
        factor.copy_from_slice(self.gram(model));
        packed::cholesky(factor, self.dim)
    }

    /// Computes the inverse and theta of a model from V and the moment.
    fn refresh(&mut self, model: usize) {
        let (dim, size) = (self.dim, packed::size(self.dim));
        let factor = &mut self.scratch[dim..];
        factor.copy_from_slice(&self.gram[model * size..(model + 1) * size]);
        if packed::cholesky(factor, dim).is_some() {
            let inverse = &mut self.inverse[model * size..(model + 1) * size];
            self.log_det[model] = packed::invert(factor, dim, inverse) - dim as f64 * self.ridge.ln();
            let (moment, theta) =
                (&self.moment[model * dim..], &mut self.theta[model * dim..(model + 1) * dim]);
            packed::multiply(inverse, &moment[..dim], theta);
        }
    }
}

/// Where the numbers of a model stand, of which each has `size`.
pub(super) fn block(model: usize, size: usize) -> std::ops::Range<usize> {
    model * size..(model + 1) * size
}

impl Regressor for Ridge {
    #[inline]
    fn predict(&self, model: usize, z: &[f64]) -> f64 {
        self.centre + packed::dot(self.theta(model), z)
    }

    #[inline]
    fn variance(&self, model: usize, z: &[f64]) -> f64 {
        packed::quadratic(self.inverse(model), z).max(0.0)
    }

    fn log_det(&self, model: usize) -> f64 {
        self.log_det[model]
    }

    /// u = V^-1 z, q = z u, k = w/(1 + w q): theta += k e u, V^-1 -= k u u^T.   docs/data.md#regression-learners
    fn update(&mut self, model: usize, z: &[f64], loss: f64, weight: f64) -> Result {
        let (dim, size) = (self.dim, packed::size(self.dim));
        let error = loss - self.predict(model, z);
        let direction = &mut self.scratch[..dim];
        let inverse = &mut self.inverse[model * size..(model + 1) * size];
        packed::multiply(inverse, z, direction);
        let variance = packed::dot(z, direction).max(0.0);
        usable(error.is_finite() && (weight * variance).is_finite(), z)?;
        let gain = weight / (1.0 + weight * variance);
        packed::rank_one(inverse, -gain, direction);
        packed::axpy(&mut self.theta[model * dim..(model + 1) * dim], gain * error, direction);
        packed::rank_one(&mut self.gram[model * size..(model + 1) * size], weight, z);
        packed::axpy(&mut self.moment[model * dim..(model + 1) * dim], weight * (loss - self.centre), z);
        self.log_det[model] += (weight * variance).ln_1p();
        self.updates[model] = self.updates[model].saturating_add(1);
        if self.updates[model].is_multiple_of(REFRESH) {
            self.refresh(model);
        }
        Ok(())
    }

    fn copy_model(&mut self, other: &Self, model: usize) {
        let matrix = block(model, packed::size(self.dim));
        self.inverse[matrix.clone()].copy_from_slice(&other.inverse[matrix.clone()]);
        self.gram[matrix.clone()].copy_from_slice(&other.gram[matrix]);
        let vector = block(model, self.dim);
        self.moment[vector.clone()].copy_from_slice(&other.moment[vector.clone()]);
        self.theta[vector.clone()].copy_from_slice(&other.theta[vector]);
        (self.log_det[model], self.updates[model]) = (other.log_det[model], other.updates[model]);
    }

    fn reset(&mut self) {
        let size = packed::size(self.dim).max(1);
        self.inverse.chunks_exact_mut(size).for_each(|m| packed::set_diagonal(m, 1.0 / self.ridge));
        self.gram.chunks_exact_mut(size).for_each(|m| packed::set_diagonal(m, self.ridge));
        self.moment.fill(0.0);
        self.theta.fill(0.0);
        self.log_det.fill(0.0);
        self.updates.fill(0);
    }

    fn restore(&mut self, fresh: &Self) -> Result<(), SnapshotError> {
        let shape = |r: &Self| (r.ridge, r.centre, r.dim, r.updates.len());
        ensure(shape(self) == shape(fresh), "a regression of other parameters")?;
        check_numbers("inverses", &self.inverse, fresh.inverse.len())?;
        check_numbers("gram matrices", &self.gram, fresh.gram.len())?;
        check_numbers("moments", &self.moment, fresh.moment.len())?;
        check_numbers("parameters", &self.theta, fresh.theta.len())?;
        check_numbers("determinants", &self.log_det, fresh.log_det.len())?;
        let size = packed::size(self.dim);
        self.scratch = vec![0.0; self.dim + size];
        let (floor, mut factor) = (self.ridge * (1.0 - 1e-9), vec![0.0; size]);
        for model in 0..self.updates.len() {
            let (inverse, gram) = (self.inverse(model), self.gram(model));
            let sound = |i: usize| inverse[packed::size(i) + i] > 0.0 && gram[packed::size(i) + i] >= floor;
            ensure(
                (0..self.dim).all(sound)
                    && self.log_det[model] >= -1e-6
                    && self.factor(model, &mut factor).is_some(),
                "a regression that is not positive definite",
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Dxsm;

    #[test]
    fn it_is_the_regression_of_all_its_examples() {
        // 1,000 updates over two models, so that both inverses are computed afresh on the way.
        let dim = 6;
        let mut ridge = Ridge::new(0.5, 0.3, 2, dim);
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        let mut gram = [DMatrix::identity(dim, dim) * 0.5, DMatrix::identity(dim, dim) * 0.5];
        let mut moment = [DVector::zeros(dim), DVector::zeros(dim)];
        for _ in 0..1000 {
            let model = usize::from(rng.random::<f64>() < 0.4);
            let z = DVector::from_fn(dim, |_, _| rng.random::<f64>() - 0.5);
            let (loss, weight) = (rng.random::<f64>(), 1.0 + 3.0 * rng.random::<f64>());
            ridge.update(model, z.as_slice(), loss, weight).unwrap();
            gram[model] += &z * z.transpose() * weight;
            moment[model] += &z * (weight * (loss - 0.3));
        }
        for model in 0..2 {
            let inverse = gram[model].clone().try_inverse().unwrap();
            let theta = &inverse * &moment[model];
            let z = DVector::from_fn(dim, |i, _| 0.3 * i as f64 - 0.7);
            assert!((ridge.predict(model, z.as_slice()) - 0.3 - theta.dot(&z)).abs() < 1e-10);
            assert!((ridge.variance(model, z.as_slice()) - (z.transpose() * &inverse * &z)[0]).abs() < 1e-11);
            let log_det = gram[model].determinant().ln() - dim as f64 * 0.5f64.ln();
            assert!((ridge.log_det(model) - log_det).abs() < 1e-8);
            if model == 0 {
                let off = DVector::from_fn(dim, |i, _| 0.1 * i as f64);
                let distance = (off.transpose() * &gram[model] * &off)[0];
                assert!((ridge.distance_squared((&theta + &off).as_slice()) - distance).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn features_that_are_not_finite_change_nothing() {
        let mut ridge = Ridge::new(1.0, 0.5, 1, 2);
        let before = ridge.inverse.clone();
        for bad in [f64::NAN, f64::INFINITY, 1e200] {
            assert!(matches!(
                ridge.update(0, &[0.1, bad], 0.5, 1.0),
                Err(BaseError::Feature { index: 1, .. })
            ));
        }
        assert_eq!(ridge.inverse, before);
        assert_eq!(ridge.theta, [0.0, 0.0]);
    }
}
