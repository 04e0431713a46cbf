//! Estimates of what every action would have cost, from the cost of the one that was played.

use corral_core::snapshot::SnapshotError;
use corral_core::{BaseError, Context};
use serde::{Deserialize, Serialize};

use super::data::Reads;
use crate::regression::{Regressor, Ridge};

corral_core::params! {
    /// How the costs of actions that were not played are estimated.
    pub enum Estimates {
        /// By the importance weight alone, as in the paper.
        #[default]
        ImportanceWeighted,
        /// Around a ridge regression of the losses seen before (Dudik, Langford, Li 2011): unbiased too, with as little
        /// variance as the regression leaves. Needs features.
        DoublyRobust,
    }
}

/// What was seen of a round: the action that was played, what it cost, the importance weight that this came with, and
/// the probability with which the action was played.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub arm: usize,
    pub loss: f64,
    pub weight: f64,
    pub probability: f64,
}

/// An unbiased estimate of the costs of all actions in a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Estimator {
    /// The losses of each action, regressed on the shared features.
    model: Option<Ridge>,
}

impl Estimator {
    /// An estimator that has seen nothing.
    ///
    /// # Errors
    /// There are no features to regress on.
    pub(super) fn new(kind: Estimates, reads: &Reads) -> Result<Self, BaseError> {
        let model = match (kind, reads.features) {
            (Estimates::ImportanceWeighted, _) => None,
            (Estimates::DoublyRobust, Some(dim)) if dim > 0 => Some(Ridge::new(1.0, 0.5, reads.actions, dim)),
            (Estimates::DoublyRobust, _) => {
                return Err(BaseError::Failed(String::from("doubly robust estimates need shared features")));
            }
        };
        Ok(Self { model })
    }

    /// Adds the estimates of a round at `x` to `row`, one number per action, and learns.
    pub(super) fn add(&mut self, x: &Context, seen: Option<Seen>, row: &mut [f64]) -> Result<(), BaseError> {
        let Some(model) = &mut self.model else {
            // v[a] = s c/Q(a) for the action that was played
            if let Some(seen) = seen {
                row[seen.arm] += seen.loss * seen.weight / seen.probability;
            }
            return Ok(());
        };
        // v[a] = m_a(x) + (s/Q(a)) (c - m_a(x)) for the action that was played, m_a(x) for the others
        let z = x.features();
        for (arm, v) in row.iter_mut().enumerate() {
            let mean = model.predict(arm, z).clamp(0.0, 1.0);
            *v += mean;
            if let Some(seen) = seen.filter(|s| s.arm == arm) {
                *v += seen.weight / seen.probability * (seen.loss - mean);
            }
        }
        match seen {
            Some(seen) => model.update(seen.arm, z, seen.loss, 1.0),
            None => Ok(()),
        }
    }

    /// Checks an estimator that was read back against a new one.
    pub(super) fn restore(&mut self, fresh: &Self) -> Result<(), SnapshotError> {
        match (&mut self.model, &fresh.model) {
            (None, None) => Ok(()),
            (Some(model), Some(fresh)) => model.restore(fresh),
            _ => Err(SnapshotError::state("estimates of another kind")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corral_core::uniform;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    /// The mean and the mean square error of the estimates over `draws` rounds with losses of 0 and 1.
    fn drawn(kind: Estimates, draws: usize) -> ([f64; 3], [f64; 3], [f64; 3]) {
        let (truth, q) = ([0.9, 0.3, 0.6], [0.1, 0.7, 0.2]);
        let reads = Reads { actions: 3, cells: None, features: Some(2) };
        let mut estimator = Estimator::new(kind, &reads).unwrap();
        let x = Context::shared(vec![1.0, -0.5], 3);
        let mut rng = Pcg64Dxsm::seed_from_u64(4);
        let (mut sum, mut square) = ([0.0; 3], [0.0; 3]);
        for _ in 0..draws {
            let u = uniform(&mut rng);
            let arm = if u < q[0] { 0 } else { 1 + usize::from(u >= q[0] + q[1]) };
            let loss = f64::from(u8::from(uniform(&mut rng) < truth[arm]));
            // A quarter of the rounds is seen, with four times the weight.
            let seen = Seen { arm, loss, weight: 4.0, probability: q[arm] };
            let seen = (uniform(&mut rng) < 0.25).then_some(seen);
            let mut row = [0.0; 3];
            estimator.add(&x, seen, &mut row).unwrap();
            for a in 0..3 {
                sum[a] += row[a];
                square[a] += (row[a] - truth[a]).powi(2);
            }
        }
        let n = draws as f64;
        (truth, sum.map(|s| s / n), square.map(|s| s / n))
    }

    #[test]
    fn both_are_unbiased_and_one_has_less_variance() {
        // Five standard errors of 40,000 draws: false alarms below 6 * 6e-7.
        let (truth, mean, plain) = drawn(Estimates::ImportanceWeighted, 40_000);
        let (_, robust, less) = drawn(Estimates::DoublyRobust, 40_000);
        for a in 0..3 {
            assert!((mean[a] - truth[a]).abs() < 5.0 * (plain[a] / 40_000.0).sqrt(), "{mean:?}");
            assert!((robust[a] - truth[a]).abs() < 5.0 * (less[a] / 40_000.0).sqrt(), "{robust:?}");
            assert!(less[a] < plain[a], "{less:?} and {plain:?}");
        }
        // Of a loss that is nearly always 1 hardly anything is left.
        assert!(less[0] < 0.2 * plain[0], "{less:?} and {plain:?}");
    }

    #[test]
    fn doubly_robust_estimates_need_features() {
        let reads = Reads { actions: 3, cells: Some(4), features: None };
        assert!(Estimator::new(Estimates::DoublyRobust, &reads).is_err());
        assert!(Estimator::new(Estimates::ImportanceWeighted, &reads).is_ok());
    }
}
