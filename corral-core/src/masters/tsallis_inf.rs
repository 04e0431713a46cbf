//! Tsallis-INF over bases (Zimmert, Seldin 2021, "Tsallis-INF: an optimal algorithm for stochastic and adversarial
//! bandits", JMLR).
//!
//! ```text
//! S_i  += l_i,   pbar_i = 4/(eta_t (S_i - x))^2,   x with sum pbar = 1
//! importance-weighted:  l_i = f w_i,                                             eta_t = 2/sqrt(t)
//! reduced-variance:     l_i = (f - B_i) w_i + B_i,  B_i = 1/2 1{pbar_i >= eta_t^2},  eta_t = 4/sqrt(t)
//! ```
//!
//! with w_i = 1{i = i_t}/pbar_i or the weights of another credit rule.
//!
//! Feed: raw or weighted. Against each base's *actual* run the regret is about 4 sqrt(M T) for any losses and
//! logarithmic where one base is best in expectation throughout; T need not be known. Nothing is guaranteed against
//! the base run alone: 1/pbar grows like the square of a base's lag, and a slow starter is starved. (The Corral with
//! this regulariser of Arora, Marinov, Mohri 2021 is another algorithm.) Constants from memory. Under delay B_i uses
//! the distribution in force when the loss arrives.

use serde::{Deserialize, Serialize};

use super::rule::{Rule, Ruled, all};
use super::{MasterSetup, Roster, lanes};
use crate::params::Bounds;
use crate::registry::{Entry, Kind, Status};
use crate::{Credit, MasterError, ParamError, SnapshotError};

/// How losses are estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// f w_i
    #[default]
    ImportanceWeighted,
    /// (f - B_i) w_i + B_i
    ReducedVariance,
}

crate::params! {
    /// Parameters of [`TsallisInf`].
    pub struct TsallisInfParams {
        /// How losses are estimated.
        estimator: Estimator = Estimator::ImportanceWeighted;
        /// A factor on eta_t = 2/sqrt(t) (4/sqrt(t) with reduced variance).
        scale: f64 = 1.0, Bounds::POSITIVE;
    }
}

/// Tsallis-INF over bases.
pub type TsallisInf = Ruled<TsallisInfRule>;

/// The rule of [`TsallisInf`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TsallisInfRule {
    reduced: bool,
    /// eta_t sqrt(t)
    rate: f64,
    round: u64,
    /// S_i; infinite for a retired base.
    sums: Vec<f64>,
    /// x of the current distribution.
    normaliser: f64,
}

/// Newton steps after which the bracket alone decides.
const STEPS: usize = 100;
/// |sum pbar - 1| that ends the search.
const TOLERANCE: f64 = 1e-14;
/// Independent sums, which the compiler turns into vector code.
const LANES: usize = 4;
/// Sums whose least is farther from 0 than this are moved back.
const FAR: f64 = 1024.0;

impl TsallisInfRule {
    /// eta_t
    fn eta(&self) -> f64 {
        self.rate / (self.round as f64).sqrt()
    }

    /// sum_i 4/(eta (S_i - x))^2 and half its derivative by x.
    fn evaluate(&self, eta: f64, x: f64) -> (f64, f64) {
        let (mut sum, mut slope) = ([0.0; LANES], [0.0; LANES]);
        let mut add = |j: usize, s: f64| {
            let z = 1.0 / (s - x);
            sum[j] += z * z;
            slope[j] += z * z * z;
        };
        let (whole, rest) = self.sums.as_chunks::<LANES>();
        for s in whole {
            for (j, s) in s.iter().enumerate() {
                add(j, *s);
            }
        }
        rest.iter().for_each(|s| add(0, *s));
        let total = |x: [f64; LANES]| (x[0] + x[2]) + (x[1] + x[3]);
        let scale = 4.0 / (eta * eta);
        (scale * total(sum), scale * total(slope))
    }

    /// x with sum pbar = 1, left of the least sum. F^(-1/2) is nearly linear in x: Newton on it, safeguarded by
    /// F(min S - 2/eta) >= 1 >= F(min S - 2 sqrt(M)/eta).
    fn solve(&mut self, roster: &Roster, eta: f64) -> f64 {
        let mut least = lanes::least(&self.sums, &self.sums, |s, _| s);
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
}

impl Rule for TsallisInfRule {
    type Params = TsallisInfParams;

    const ENTRY: Entry = Entry {
        name: "tsallis-inf",
        summary: "mirror descent with the Tsallis-1/2 entropy, anytime",
        source: "Zimmert, Seldin 2021, Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits",
        regret: "about 4 sqrt(M T) against each base's actual run, logarithmic where one base is best throughout",
        alpha: None,
        fits: "feed raw or weighted; any losses, bases that learn fast",
        cost: "O(M) per Newton step, a few steps",
        kind: Kind::Any,
        status: Status::FromMemory,
    };

    fn new(params: &TsallisInfParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let reduced = params.estimator == Estimator::ReducedVariance;
        let scale = params.scale;
        // Losses whose own weights reach rho have second moments up to rho.
        let rate = scale * if reduced { 4.0 } else { 2.0 } / setup.range.sqrt();
        Ok(Self { reduced, rate, round: 1, sums: vec![0.0; setup.bases], normaliser: 0.0 })
    }

    fn takes_real_losses(_: &TsallisInfParams) -> bool {
        true
    }

    fn learn(
        &mut self,
        loss: f64,
        credit: Credit<'_>,
        roster: &Roster,
        current: &[f64],
    ) -> Result<(), MasterError> {
        let eta = self.eta();
        let (reduced, sums) = (self.reduced, &mut self.sums);
        // B_i = 1/2 1{pbar_i >= eta_t^2}
        let baseline = |i: usize| if reduced && current[i] >= eta * eta { 0.5 } else { 0.0 };
        if reduced {
            for i in roster.iter() {
                sums[i] += baseline(i);
            }
        }
        roster.credited(credit, |i, weight| sums[i] += (loss - baseline(i)) * weight);
        self.round += 1;
        Ok(())
    }

    fn retired(&mut self, base: usize, _: &Roster) {
        self.sums[base] = f64::INFINITY;
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        let eta = self.eta();
        self.normaliser = self.solve(roster, eta);
        let scale = 2.0 / eta;
        for (p, s) in out.iter_mut().zip(&self.sums) {
            let z = scale / (s - self.normaliser);
            *p = z * z;
        }
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        all("estimates", &state.sums, self.sums.len(), |s| s > f64::NEG_INFINITY)?;
        if (state.reduced, state.rate) != (self.reduced, self.rate) || state.round == 0 {
            return Err(SnapshotError::state("its constants do not follow from its parameters"));
        }
        if !state.normaliser.is_finite() {
            return Err(SnapshotError::state(format!("its normaliser is {}", state.normaliser)));
        }
        Ok(())
    }
}
