//! Ridge regression, one model or one per action, updated one example at a time.

use super::packed;
use super::regressor::{Regressor, unusable};
use crate::prelude::*;

corral_core::params! {
    /// Parameters of the regression that linear bases share.
    pub struct RidgeParams {
        /// The strength lambda of the ridge.
        ridge: f64 = 1.0, SIZE;
        /// What is predicted before anything was learned: m(x) = centre + theta x.
        centre: f64 = 0.5, Bounds::FINITE;
        /// One parameter vector for all actions, or one for each.
        parameters: Parameters = Parameters::Auto;
        /// Whether examples count by their importance weight; else each counts once.
        weighted: bool = false;
    }
}

words! {
    /// Which parameter vectors a linear model has.
    pub enum Parameters {
        /// Shared where actions have features, else disjoint.
        #[default]
        Auto,
        /// One vector, over the features of the actions.
        Shared,
        /// One vector per action, over the shared features (over the action's own where there are none).
        Disjoint,
    }
}

/// After how many updates of a model its inverse is computed afresh.
const REFRESH: u32 = 256;

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
    /// Updates of each model since its inverse was computed afresh.
    age: Vec<u32>,
    /// dim numbers, then a packed matrix.
    #[serde(skip)]
    scratch: Vec<f64>,
}

impl Ridge {
    /// `models` models of `dim` features.
    pub fn new(params: &RidgeParams, models: usize, dim: usize) -> Self {
        let size = packed::size(dim);
        let mut ridge = Self {
            ridge: params.ridge,
            centre: params.centre,
            dim,
            inverse: vec![0.0; models * size],
            gram: vec![0.0; models * size],
            moment: vec![0.0; models * dim],
            theta: vec![0.0; models * dim],
            log_det: vec![0.0; models],
            age: vec![0; models],
            scratch: vec![0.0; dim + size],
        };
        ridge.reset();
        ridge
    }

    /// The parameter vector of a model.
    pub fn theta(&self, model: usize) -> &[f64] {
        &self.theta[model * self.dim..(model + 1) * self.dim]
    }

    fn inverse(&self, model: usize) -> &[f64] {
        let size = packed::size(self.dim);
        &self.inverse[model * size..(model + 1) * size]
    }

    /// L of V = L L^T of a model, into `factor`. `None` where rounding made V indefinite.
    pub(crate) fn factor(&self, model: usize, factor: &mut [f64]) -> Option<()> {
        let size = packed::size(self.dim);
        factor.copy_from_slice(&self.gram[model * size..(model + 1) * size]);
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
        self.age[model] = 0;
    }
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
    fn update(&mut self, model: usize, z: &[f64], loss: f64, weight: f64) -> Result<(), BaseError> {
        let (dim, size) = (self.dim, packed::size(self.dim));
        let error = loss - self.predict(model, z);
        let direction = &mut self.scratch[..dim];
        let inverse = &mut self.inverse[model * size..(model + 1) * size];
        packed::multiply(inverse, z, direction);
        let variance = packed::dot(z, direction).max(0.0);
        if !(error.is_finite() && (weight * variance).is_finite()) {
            return Err(unusable(z));
        }
        let gain = weight / (1.0 + weight * variance);
        packed::rank_one(inverse, -gain, direction);
        packed::axpy(&mut self.theta[model * dim..(model + 1) * dim], gain * error, direction);
        packed::rank_one(&mut self.gram[model * size..(model + 1) * size], weight, z);
        packed::axpy(&mut self.moment[model * dim..(model + 1) * dim], weight * (loss - self.centre), z);
        self.log_det[model] += (weight * variance).ln_1p();
        self.age[model] += 1;
        if self.age[model] >= REFRESH {
            self.refresh(model);
        }
        Ok(())
    }

    fn reset(&mut self) {
        let size = packed::size(self.dim);
        for model in 0..self.age.len() {
            packed::set_diagonal(&mut self.inverse[model * size..(model + 1) * size], 1.0 / self.ridge);
            packed::set_diagonal(&mut self.gram[model * size..(model + 1) * size], self.ridge);
        }
        self.moment.fill(0.0);
        self.theta.fill(0.0);
        self.log_det.fill(0.0);
        self.age.fill(0);
    }

    fn restore(&mut self, fresh: &Self) -> Result<(), SnapshotError> {
        if (self.ridge, self.centre, self.dim) != (fresh.ridge, fresh.centre, fresh.dim) {
            return Err(SnapshotError::state("a regression of other parameters"));
        }
        check_numbers("inverses", &self.inverse, fresh.inverse.len())?;
        check_numbers("gram matrices", &self.gram, fresh.gram.len())?;
        check_numbers("moments", &self.moment, fresh.moment.len())?;
        check_numbers("parameters", &self.theta, fresh.theta.len())?;
        check_numbers("determinants", &self.log_det, fresh.log_det.len())?;
        if self.age.len() != fresh.age.len() || self.age.iter().any(|a| *a >= REFRESH) {
            return Err(SnapshotError::state("models of an impossible age"));
        }
        let size = packed::size(self.dim);
        let floor = self.ridge * (1.0 - 1e-9);
        for model in 0..self.age.len() {
            for i in 0..self.dim {
                let at = model * size + packed::size(i) + i;
                ensure(
                    self.inverse[at] > 0.0 && self.gram[at] >= floor,
                    "a regression that is not positive definite",
                )?;
            }
        }
        self.scratch = vec![0.0; self.dim + size];
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
        let params = RidgeParams { ridge: 0.5, centre: 0.3, ..RidgeParams::default() };
        let mut ridge = Ridge::new(&params, 2, dim);
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
        }
    }

    #[test]
    fn features_that_are_not_finite_change_nothing() {
        let mut ridge = Ridge::new(&RidgeParams::default(), 1, 2);
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
