//! The distribution pbar_i = 4/(eta (S_i - x))^2 over sums S_i, with x such that it sums to 1: follow the regularised
//! leader with the Tsallis-1/2 entropy, -(4/eta) sum_i sqrt(p_i).

use serde::{Deserialize, Serialize};

use super::rule::all;
use super::{Experience, Roster, lanes};
use crate::SnapshotError;
use crate::snapshot::ensure;

/// The sums, and the normaliser of the last distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Tsallis {
    /// S_i; infinite for a retired base.
    pub sums: Vec<f64>,
    /// x of the current distribution.
    normaliser: f64,
}

/// Newton steps after which the bracket alone decides.
const STEPS: usize = 100;
/// |sum pbar - 1| that ends the search.
const TOLERANCE: f64 = 1e-14;
/// Sums whose least is farther from 0 than this are moved back.
const FAR: f64 = 1024.0;

impl Tsallis {
    pub fn new(bases: usize) -> Self {
        Self { sums: vec![0.0; bases], normaliser: 0.0 }
    }

    /// Begins at the sums of the plays behind `experience`.
    pub fn begin(&mut self, experience: &[Experience]) {
        self.sums = Experience::estimates(experience, self.sums.len()).collect();
    }

    /// sum_i 4/(eta (S_i - x))^2 and half its derivative by x.
    fn evaluate(&self, eta: f64, x: f64) -> (f64, f64) {
        let [sum, slope] = lanes::sums(&self.sums, &self.sums, |s, _| {
            let z = 1.0 / (s - x);
            [z * z, z * z * z]
        });
        let scale = 4.0 / (eta * eta);
        (scale * sum, scale * slope)
    }

    /// x with sum pbar = 1, left of the least sum. F^(-1/2) is nearly linear in x: Newton on it, safeguarded by
    /// F(min S - 2/eta) >= 1 >= F(min S - 2 sqrt(M)/eta).
    fn solve(&mut self, roster: &Roster, eta: f64) -> f64 {
        let [mut least] = lanes::least(&self.sums, &self.sums, |s, _| [s]);
        if least.abs() > FAR {
            // Only differences matter: near 0 they have all their digits.
            self.sums.iter_mut().for_each(|s| *s -= least);
            self.normaliser -= least;
            least = 0.0;
        }
        let mut low = least - 2.0 * (roster.left() as f64).sqrt() / eta;
        let mut high = least - 2.0 / eta;
        let mut x = self.normaliser.clamp(low, high);
        for _ in 0..STEPS {
            let (sum, half_slope) = self.evaluate(eta, x);
            if (sum - 1.0).abs() <= TOLERANCE {
                break;
            }
            if sum > 1.0 {
                high = x
            } else {
                low = x
            }
            // x += 2 F (1 - sqrt F)/F'
            let newton = x + sum * (1.0 - sum.sqrt()) / half_slope;
            let next = if newton > low && newton < high { newton } else { low + 0.5 * (high - low) };
            if next == low || next == high || next == x {
                break;
            }
            x = next;
        }
        x
    }

    /// Writes the distribution with the rate `eta`.
    pub fn distribute(&mut self, roster: &Roster, eta: f64, out: &mut [f64]) {
        self.normaliser = self.solve(roster, eta);
        let scale = 2.0 / eta;
        for (p, s) in out.iter_mut().zip(&self.sums) {
            let z = scale / (s - self.normaliser);
            *p = z * z;
        }
    }

    /// A base joins with probability `share`; the others keep their ratios.
    pub fn admit(&mut self, base: usize, share: f64, eta: f64) {
        // pbar_i = 4/(eta (S_i - x))^2 becomes (1 - share) pbar_i where S_i - x grows by 1/sqrt(1 - share).
        let x = self.normaliser;
        self.sums.iter_mut().for_each(|s| *s = x + (*s - x) / (1.0 - share).sqrt());
        self.sums.resize(self.sums.len().max(base + 1), 0.0);
        self.sums[base] = x + 2.0 / (eta * share.sqrt());
    }

    pub fn validate(&self, bases: usize) -> Result<(), SnapshotError> {
        all("estimates", &self.sums, bases, |s| s > f64::NEG_INFINITY)?;
        ensure(self.normaliser.is_finite(), format_args!("its normaliser is {}", self.normaliser))
    }
}
