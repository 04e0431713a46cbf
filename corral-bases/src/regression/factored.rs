//! Ridge regression by the Cholesky factor of V: for draws around it, and for few solutions of many examples.

use super::packed;
use crate::prelude::*;

/// L of V = lambda I + sum w z z^T = L L^T, and sum w y z.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factored {
    lower: Vec<f64>,
    moment: Vec<f64>,
    updates: u64,
}

impl Factored {
    /// Over `dim` features.
    pub(crate) fn new(dim: usize, lambda: f64) -> Self {
        let mut lower = vec![0.0; packed::size(dim)];
        packed::set_diagonal(&mut lower, lambda.sqrt());
        Self { lower, moment: vec![0.0; dim], updates: 0 }
    }

    /// L, packed.
    pub(crate) fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// sum w y z.
    pub(crate) fn moment(&self) -> &[f64] {
        &self.moment
    }

    /// Whether nothing was learned.
    pub(crate) fn is_new(&self) -> bool {
        self.updates == 0
    }

    /// Learns that `z` gave `y`, in O(d^2); `z` is spoilt.
    pub(crate) fn learn(&mut self, z: &mut [f64], y: f64, weight: f64) {
        packed::axpy(&mut self.moment, weight * y, z);
        let root = weight.sqrt();
        z.iter_mut().for_each(|v| *v *= root);
        packed::update_factor(&mut self.lower, z);
        self.updates = self.updates.saturating_add(1);
    }

    /// Checks a regression over `dim` features that was read back.
    pub(crate) fn valid(&self, dim: usize) -> Result<(), SnapshotError> {
        check_numbers("entries of the factor of V", &self.lower, packed::size(dim))?;
        check_numbers("sums", &self.moment, dim)?;
        let positive = (0..dim).all(|i| packed::entry(&self.lower, i, i) > 0.0);
        ensure(positive, "its regression is not positive definite")
    }
}
