//! NLMS: greedy with a constant-step tracker, for losses that drift.
//!
//! Normalised least mean squares (Nagumo, Noda 1967), greedy on top. No guarantee of regret: it never stops moving, and
//! that is what it is for. On drifting data it was far better than every ridge base (docs/data.md#what-was-found).

use super::prelude::*;
use crate::regression::packed::{axpy, dot};

base! {
    /// Greedy on a linear tracker with a constant step, for losses that drift.
    "nlms": pub type Nlms = Linear<NlmsParams>;
    params {
        /// The step, in (0, 2).
        rate: f64 = 0.3, Bounds { low: 0.0, high: 2.0, above: true, below: true };
        /// What is predicted before anything was learned.
        centre: f64 = 0.0, Bounds::FINITE;
        /// shared: one vector over the actions' features; disjoint: one per action; auto: shared where actions
        /// have features.
        parameters: Parameters = Parameters::Auto;
        /// Whether the step grows with the importance weight, up to 1.
        weighted: bool = false;
    } with random_ties, lazy, features, no_matrices
}

impl Regression for NlmsParams {
    type Model = Lms;

    fn model(&self, models: usize, dim: usize) -> Lms {
        Lms { rate: self.rate, centre: self.centre, dim, theta: vec![0.0; models * dim] }
    }

    fn parameters(&self) -> Parameters {
        self.parameters
    }

    fn weighted(&self) -> bool {
        self.weighted
    }
}

impl ActionRule for NlmsParams {
    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        put_on_lowest(self.ties, weights, |a| view.predictions[a]);
    }
}

/// Normalised least mean squares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lms {
    rate: f64,
    centre: f64,
    dim: usize,
    theta: Vec<f64>,
}

impl Regressor for Lms {
    fn predict(&self, model: usize, z: &[f64]) -> f64 {
        self.centre + dot(&self.theta[model * self.dim..(model + 1) * self.dim], z)
    }

    fn variance(&self, _model: usize, _z: &[f64]) -> f64 {
        0.0
    }

    fn log_det(&self, _model: usize) -> f64 {
        0.0
    }

    /// theta += mu e x/(|x|^2 + 0.001), mu w up to 1 with weights   docs/data.md#regression-learners
    fn update(&mut self, model: usize, z: &[f64], loss: f64, weight: f64) -> Result {
        let error = loss - self.predict(model, z);
        let square = dot(z, z);
        usable(error.is_finite() && square.is_finite(), z)?;
        let rate = if weight == 1.0 { self.rate } else { (self.rate * weight).min(1.0) };
        axpy(&mut self.theta[model * self.dim..(model + 1) * self.dim], rate * error / (square + 0.001), z);
        Ok(())
    }

    fn copy_model(&mut self, other: &Self, model: usize) {
        let own = model * self.dim..(model + 1) * self.dim;
        self.theta[own.clone()].copy_from_slice(&other.theta[own]);
    }

    fn reset(&mut self) {
        self.theta.fill(0.0);
    }

    fn restore(&mut self, fresh: &Self) -> Result<(), SnapshotError> {
        let same = (self.rate, self.centre, self.dim) == (fresh.rate, fresh.centre, fresh.dim);
        ensure(same, "a tracker of other parameters")?;
        check_numbers("parameters", &self.theta, fresh.theta.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_closes_its_part_of_the_error() {
        let mut lms = NlmsParams::default().model(2, 2);
        let z = [3.0, 4.0];
        lms.update(1, &z, 1.0, 1.0).unwrap();
        // m = 0.3 * 25/(25.001)
        assert!((lms.predict(1, &z) - 0.3 * 25.0 / 25.001).abs() < 1e-15);
        assert_eq!(lms.predict(0, &z), 0.0);
        lms.update(1, &z, 1.0, 100.0).unwrap();
        assert!((lms.predict(1, &z) - 1.0).abs() < 1e-3);
    }
}
