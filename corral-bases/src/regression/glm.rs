//! Generalised linear regression of the loss: E[c] = sigma(theta z), by maximal quasi-likelihood.

use corral_core::Link;

use super::ridge::block;
use super::{Regressor, Ridge, packed, usable};
use crate::prelude::*;

/// So many examples are kept and fitted anew with every loss; after that every loss is one Newton step.
const KEPT: usize = 512;
/// Newton steps of one fit, and halvings of one step.
const STEPS: usize = 8;
const HALVINGS: usize = 20;

/// Maximal quasi-likelihood with a ridge, |theta| <= bound, for each of several models: the mean loss is
/// sigma(theta z - shift).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Glm {
    link: Link,
    shift: f64,
    ridge: f64,
    bound: f64,
    dim: usize,
    theta: Vec<f64>,
    /// V = lambda I + sum z z^T of each model: for the widths.
    spread: Ridge,
    /// lambda I + sum sigma'(u) z z^T of each model, packed.
    hessian: Vec<f64>,
    /// Examples that are kept: their model, loss and features, one after the other.
    kept: Vec<f64>,
    #[serde(skip)]
    scratch: Vec<f64>,
}

impl Glm {
    /// `models` models of `dim` features.
    pub fn new(link: Link, ridge: f64, bound: f64, models: usize, dim: usize) -> Self {
        let size = packed::size(dim);
        let mut glm = Self {
            link,
            shift: 0.0,
            ridge,
            bound,
            dim,
            theta: vec![0.0; models * dim],
            spread: Ridge::new(ridge, 0.0, models, dim),
            hessian: vec![0.0; models * size],
            kept: Vec::with_capacity(KEPT * (dim + 2)),
            scratch: vec![0.0; 3 * dim + size],
        };
        glm.reset();
        glm
    }

    /// With sigma(u - shift) in place of sigma(u).
    #[must_use]
    pub fn shifted(self, shift: f64) -> Self {
        Self { shift, ..self }
    }

    /// The parameter vector of a model.
    pub fn theta(&self, model: usize) -> &[f64] {
        &self.theta[model * self.dim..(model + 1) * self.dim]
    }

    /// V of each model, and how many examples it has learned.
    pub(crate) fn spread(&self) -> &Ridge {
        &self.spread
    }

    /// What sigma is taken of at z.
    fn inner(&self, theta: &[f64], z: &[f64]) -> f64 {
        packed::dot(theta, z) - self.shift
    }

    /// The examples of one model: losses and features.
    fn examples(kept: &[f64], dim: usize, model: usize) -> impl Iterator<Item = (f64, &[f64])> {
        kept.chunks_exact(dim + 2).filter(move |e| e[0] == model as f64).map(|e| (e[1], &e[2..]))
    }

    /// sum_i (b(u_i) - c_i u_i) + lambda/2 |theta|^2
    fn objective(&self, model: usize, theta: &[f64]) -> f64 {
        let fit: f64 = Self::examples(&self.kept, self.dim, model)
            .map(|(c, z)| {
                let u = self.inner(theta, z);
                self.link.potential(u) - c * u
            })
            .sum();
        fit + 0.5 * self.ridge * packed::dot(theta, theta)
    }

    /// Solves sum_i (c_i - sigma(theta z_i)) z_i = lambda theta by damped Newton, from the last solution.
    /// docs/bases.md#linear-bases
    fn fit(&mut self, model: usize) {
        let (dim, size) = (self.dim, packed::size(self.dim));
        let mut scratch = std::mem::take(&mut self.scratch);
        {
            let (theta, rest) = scratch.split_at_mut(dim);
            let (step, rest) = rest.split_at_mut(dim);
            let (trial, hessian) = rest.split_at_mut(dim);
            theta.copy_from_slice(self.theta(model));
            let mut value = self.objective(model, theta);
            for _ in 0..STEPS {
                packed::set_diagonal(hessian, self.ridge);
                for (s, t) in step.iter_mut().zip(theta.iter()) {
                    *s = -self.ridge * t;
                }
                for (c, z) in Self::examples(&self.kept, dim, model) {
                    let u = self.inner(theta, z);
                    packed::axpy(step, c - self.link.mean(u), z);
                    packed::rank_one(hessian, self.link.slope(u), z);
                }
                self.hessian[model * size..(model + 1) * size].copy_from_slice(hessian);
                let gradient = packed::dot(step, step);
                if packed::cholesky(hessian, dim).is_none() {
                    break;
                }
                packed::solve(hessian, step);
                let mut length = 1.0;
                let mut next = f64::INFINITY;
                for _ in 0..HALVINGS {
                    trial.copy_from_slice(theta);
                    packed::axpy(trial, length, step);
                    next = self.objective(model, trial);
                    if next <= value {
                        break;
                    }
                    length *= 0.5;
                }
                // Written so that NaN stops.
                if !(next <= value) {
                    break;
                }
                theta.copy_from_slice(trial);
                value = next;
                if gradient <= 1e-18 * (1.0 + self.kept.len() as f64) {
                    break;
                }
            }
            self.theta[model * dim..(model + 1) * dim].copy_from_slice(theta);
        }
        self.scratch = scratch;
    }

    /// One Newton step on one example: H += sigma'(u) z z^T, theta += H^-1 z (c - sigma(u)).
    fn step(&mut self, model: usize, z: &[f64], loss: f64) {
        let (dim, size) = (self.dim, packed::size(self.dim));
        let u = self.inner(self.theta(model), z);
        packed::rank_one(&mut self.hessian[model * size..(model + 1) * size], self.link.slope(u), z);
        let (direction, rest) = self.scratch.split_at_mut(dim);
        let factor = &mut rest[2 * dim..];
        factor.copy_from_slice(&self.hessian[model * size..(model + 1) * size]);
        if packed::cholesky(factor, dim).is_some() {
            direction.copy_from_slice(z);
            packed::solve(factor, direction);
            let theta = &mut self.theta[model * dim..(model + 1) * dim];
            packed::axpy(theta, loss - self.link.mean(u), direction);
        }
    }
}

impl Regressor for Glm {
    fn predict(&self, model: usize, z: &[f64]) -> f64 {
        self.link.mean(self.inner(self.theta(model), z))
    }

    fn variance(&self, model: usize, z: &[f64]) -> f64 {
        self.spread.variance(model, z)
    }

    fn log_det(&self, model: usize) -> f64 {
        self.spread.log_det(model)
    }

    fn update(&mut self, model: usize, z: &[f64], loss: f64, _weight: f64) -> Result {
        let dim = self.dim;
        usable(packed::dot(z, z).is_finite(), z)?;
        self.spread.update(model, z, loss, 1.0)?;
        if self.kept.len() < KEPT * (dim + 2) {
            self.kept.extend_from_slice(&[model as f64, loss]);
            self.kept.extend_from_slice(z);
            self.fit(model);
        } else {
            self.step(model, z, loss);
        }
        // Back onto |theta| <= S.
        let theta = &mut self.theta[model * dim..(model + 1) * dim];
        let norm = packed::dot(theta, theta).sqrt();
        if norm > self.bound {
            theta.iter_mut().for_each(|t| *t *= self.bound / norm);
        }
        Ok(())
    }

    fn copy_model(&mut self, other: &Self, model: usize) {
        self.spread.copy_model(&other.spread, model);
        let (vector, matrix) = (block(model, self.dim), block(model, packed::size(self.dim)));
        self.theta[vector.clone()].copy_from_slice(&other.theta[vector]);
        self.hessian[matrix.clone()].copy_from_slice(&other.hessian[matrix]);
        let kept = self.kept.len();
        self.kept.extend_from_slice(&other.kept[kept..]);
    }

    fn reset(&mut self) {
        self.spread.reset();
        let size = packed::size(self.dim).max(1);
        self.hessian.chunks_exact_mut(size).for_each(|m| packed::set_diagonal(m, self.ridge));
        self.theta.fill(0.0);
        self.kept.clear();
    }

    fn restore(&mut self, fresh: &Self) -> Result<(), SnapshotError> {
        let shape = |g: &Self| (g.link, g.shift, g.ridge, g.bound, g.dim);
        ensure(shape(self) == shape(fresh), "a regression of other parameters")?;
        self.spread.restore(&fresh.spread)?;
        check_numbers("parameters", &self.theta, fresh.theta.len())?;
        check_numbers("hessians", &self.hessian, fresh.hessian.len())?;
        let (width, size) = (self.dim + 2, packed::size(self.dim));
        let models = self.theta.len() / self.dim.max(1);
        let learned =
            (0..models).fold(0, |sum: usize, m| sum.saturating_add(self.spread.updates(m) as usize));
        check_numbers("numbers of the examples", &self.kept, learned.min(KEPT) * width)?;
        let sound = |e: &[f64]| {
            (0.0..models as f64).contains(&e[0]) && e[0].fract() == 0.0 && (0.0..=1.0).contains(&e[1])
        };
        ensure(self.kept.chunks_exact(width).all(sound), "examples that no losses can give")?;
        self.scratch = vec![0.0; 3 * self.dim + size];
        for hessian in self.hessian.chunks_exact(size.max(1)) {
            let factor = &mut self.scratch[3 * self.dim..];
            factor.copy_from_slice(hessian);
            ensure(packed::cholesky(factor, self.dim).is_some(), "a curvature that is not positive")?;
        }
        self.kept.reserve_exact(KEPT * width - self.kept.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Dxsm;

    const LINKS: [Link; 4] = [Link::Logistic, Link::Exponential, Link::Probit, Link::Identity];

    #[test]
    fn links_agree_with_their_derivatives() {
        for link in LINKS {
            for u in [-3.0, -1.1, -0.4, 0.3, 1.7] {
                let h = 1e-5;
                let mean = (link.potential(u + h) - link.potential(u - h)) / (2.0 * h);
                assert!((mean - link.mean(u)).abs() < 1e-8, "{link:?} {u}");
                let slope = (link.mean(u + h) - link.mean(u - h)) / (2.0 * h);
                assert!((slope - link.slope(u)).abs() < 1e-8, "{link:?} {u}");
            }
        }
    }

    #[test]
    fn the_fit_solves_its_equation_and_finds_the_truth() {
        let truth = [0.8, -0.5, -0.9];
        for link in LINKS {
            let mut rng = Pcg64Dxsm::seed_from_u64(5);
            let mut glm = Glm::new(link, 1.0, 3.0, 2, 3);
            for round in 0..2000 {
                let mut z: [f64; 3] = std::array::from_fn(|_| rng.random::<f64>() - 0.3);
                z[2] = 1.0;
                let mean = link.mean(packed::dot(&truth, &z)).clamp(0.0, 1.0);
                glm.update(1, &z, f64::from(rng.random::<f64>() < mean), 1.0).unwrap();
                if round == 400 {
                    // sum (c - sigma(u)) z = lambda theta, in every coordinate
                    let mut gradient = [0.0; 3];
                    for (c, z) in Glm::examples(&glm.kept, 3, 1) {
                        packed::axpy(&mut gradient, c - link.mean(packed::dot(glm.theta(1), z)), z);
                    }
                    packed::axpy(&mut gradient, -1.0, &glm.theta[3..]);
                    assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{link:?}: {gradient:?}");
                }
            }
            assert_eq!(glm.theta(0), [0.0; 3]);
            if link != Link::Identity {
                // 2,000 losses leave about 0.15 of error in theta; predictions are looked at, and are well inside 0.1.
                for z in [[0.0, 0.0, 1.0], [0.5, 0.5, 1.0], [-0.3, 0.7, 1.0]] {
                    let off = glm.predict(1, &z) - link.mean(packed::dot(&truth, &z));
                    assert!(off.abs() < 0.1, "{link:?}: {off} at {z:?}");
                }
            }
        }
    }
}
