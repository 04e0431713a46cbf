//! A lower bound for a mean that may move, valid at any time: empirical Bernstein, mixed over bets.

use serde::{Deserialize, Serialize};

use crate::betting::log_sum_exp;

/// Bets lambda_j = 2^-j with weights proportional to 1/(j (j + 1)).
const BETS: usize = 24;

/// A lower bound for the mean of the means of X_1, X_2, ... >= 0, each given its past, which may move and of which at most
/// 1 is estimated. With xhat_t in [0, 1] known before X_t,
/// exp(lambda (X_t - E X_t) - psi(lambda) (X_t - xhat_t)^2), psi(l) = -ln(1 - l) - l, has mean at most 1 (Fan, Grama, Liu
/// 2015; Howard, Ramdas, McAuliffe, Sekhon 2021), because X_t - xhat_t >= -1. The bets are fixed in advance and mixed, so
/// that every round counts alike: bets that follow the data would bound a weighted mean, which is another one as soon as the
/// mean moves.
///
/// ```
/// let mut bound = corral_log::MixtureBernstein::default();
/// (0..1_000).for_each(|i| bound.add(f64::from(i % 2)));
/// assert!((0.4..0.5).contains(&bound.lower(0.025)));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MixtureBernstein {
    rounds: f64,
    sum: f64,
    squares: f64,
}

impl MixtureBernstein {
    /// Adds an observation, which is not negative.
    pub fn add(&mut self, x: f64) {
        self.rounds += 1.0;
        let xhat = ((self.sum + 0.5) / self.rounds).min(1.0);
        self.squares += (x - xhat) * (x - xhat);
        self.sum += x;
    }

    /// How many there were; `None`: none.
    pub fn rounds(&self) -> Option<f64> {
        (self.rounds > 0.0).then_some(self.rounds)
    }

    /// Their mean; `None`: there were none.
    pub fn mean(&self) -> Option<f64> {
        self.rounds().map(|n| self.sum / n)
    }

    /// The bound at level `alpha`, in [0, 1].
    pub fn lower(&self, alpha: f64) -> f64 {
        let needed = (1.0 / alpha).ln();
        let total: f64 = (1..=BETS).map(|j| 1.0 / (j * (j + 1)) as f64).sum();
        let wealth = |m: f64| {
            let logs: [f64; BETS] = std::array::from_fn(|j| {
                let lambda = 0.5f64.powi(j as i32 + 1);
                let psi = -(-lambda).ln_1p() - lambda;
                let weight = 1.0 / ((j + 1) * (j + 2)) as f64 / total;
                weight.ln() + lambda * (self.sum - self.rounds * m) - psi * self.squares
            });
            log_sum_exp(&logs)
        };
        if !(wealth(0.0) >= needed) {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, (self.sum / self.rounds).min(1.0));
        if wealth(high) >= needed {
            return high;
        }
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if wealth(middle) >= needed { low = middle } else { high = middle }
        }
        low
    }
}
