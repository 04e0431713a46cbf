//! The model behind direct and doubly robust estimates.

use corral_bases::regression::{Regressor, Ridge};
use corral_core::Context;
use corral_log::{Model, Row};

/// Ridge regression of the reward: one model for each action over the shared features, or one for all where actions have
/// features of their own. What it does not know it takes to be the mean reward. It predicts from the rows before alone.
#[derive(Debug, Default)]
pub struct RidgeModel {
    /// Of the reward less the mean reward so far.
    models: Vec<Ridge>,
    rewards: f64,
    rows: f64,
    dim: usize,
    z: Vec<f64>,
}

/// Actions that have a model of their own at most.
const MODELS: usize = 10_000;

impl RidgeModel {
    fn mean(&self) -> f64 {
        (self.rewards + 0.5) / (self.rows + 1.0)
    }

    /// The features of an action and the number of its model.
    fn features(&mut self, x: Option<&Context>, at: usize, action: u32) -> usize {
        self.z.clear();
        self.z.push(1.0);
        let row = x.and_then(|x| x.row(at));
        if let Some(x) = x {
            self.z.extend_from_slice(x.features());
        }
        self.z.extend_from_slice(row.unwrap_or_default());
        if row.is_some() { 0 } else { (action as usize).min(MODELS) }
    }
}

impl Model for RidgeModel {
    fn predict(&mut self, row: &Row, into: &mut Vec<f64>) {
        for at in 0..row.offered.len() {
            let model = self.features(row.context.as_ref(), at, row.offered.at(at).unwrap_or(0));
            let fits = self.z.len() == self.dim;
            let known = self.models.get(model).filter(|_| fits);
            into.push(self.mean() + known.map_or(0.0, |m| m.predict(0, &self.z)));
        }
    }

    fn learn(&mut self, row: &Row) {
        let (Some(reward), Some(at)) = (row.reward, row.offered.position(row.action)) else { return };
        let model = self.features(row.context.as_ref(), at, row.action);
        if self.dim == 0 {
            self.dim = self.z.len();
        }
        if self.z.len() != self.dim {
            return;
        }
        if self.models.len() <= model {
            self.models.resize_with(model + 1, || Ridge::new(1.0, 0.0, 1, self.dim));
        }
        // A row whose features cannot be used teaches nothing.
        let off = reward - self.mean();
        let _ = self.models[model].update(0, &self.z, off, 1.0);
        self.rewards += reward;
        self.rows += 1.0;
    }
}
