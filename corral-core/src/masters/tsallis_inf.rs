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
//! Feed: raw or weighted. Against each base's *actual* run the regret is at most 4 sqrt(M T) for any losses and
//! logarithmic where one base is best in expectation throughout; T need not be known. Nothing is guaranteed against
//! the base run alone: 1/pbar grows like the square of a base's lag, and a slow starter is starved. (The Corral with
//! this regulariser of Arora, Marinov, Mohri 2021 is another algorithm.) Proofs, for reduced variance with (7/3) sqrt(M T) + 20 M (1 +
//! ln T) + 3: docs/master-bounds.md#tsallis-inf. Under delay B_i uses
//! the distribution in force when the loss arrives.

use super::prelude::*;

crate::params! {
    /// Parameters of [`TsallisInf`].
    pub struct TsallisInfParams {
        /// How losses are estimated.
        estimator: Estimator = Estimator::ImportanceWeighted;
        /// A factor on eta_t = 2/sqrt(t) (4/sqrt(t) with reduced variance).
        scale: f64 = 1.0, Bounds::between(1e-9, 1e9);
    }

    /// How losses are estimated.
    pub enum Estimator {
        /// f w_i
        #[default]
        ImportanceWeighted,
        /// (f - B_i) w_i + B_i
        ReducedVariance,
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
    weights: Tsallis,
}

impl TsallisInfRule {
    /// eta_t
    fn eta(&self) -> f64 {
        self.rate / (self.round as f64).sqrt()
    }
}

impl Rule for TsallisInfRule {
    type Params = TsallisInfParams;

    const NAME: &'static str = "tsallis-inf";

    fn new(params: &TsallisInfParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let reduced = params.estimator == Estimator::ReducedVariance;
        let scale = params.scale;
        // Losses whose own weights reach rho have second moments up to rho.
        let rate = scale * if reduced { 4.0 } else { 2.0 } / setup.range.sqrt();
        Ok(Self { reduced, rate, round: 1, weights: Tsallis::new(setup.bases) })
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        self.weights.begin(experience);
        Ok(())
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, roster, current, .. } = round;
        let eta = self.eta();
        let (reduced, sums) = (self.reduced, &mut self.weights.sums);
        // B_i = 1/2 1{pbar_i >= eta_t^2}
        let baseline = |i: usize| if reduced && current[i] >= eta * eta { 0.5 } else { 0.0 };
        if reduced {
            for i in roster.iter() {
                sums[i] += baseline(i);
            }
        }
        round.each(|i, weight| sums[i] += (loss - baseline(i)) * weight);
        self.round += 1;
        Ok(())
    }

    fn retired(&mut self, base: usize, _: &Roster) {
        self.weights.sums[base] = f64::INFINITY;
    }

    fn admitted(&mut self, base: usize, share: f64, _: &Roster, _: Self) -> bool {
        let eta = self.eta();
        self.weights.admit(base, share, eta);
        true
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        let eta = self.eta();
        self.weights.distribute(roster, eta, out);
    }

    fn constants(&self) -> impl Serialize {
        (self.reduced, self.rate, self.round > 0)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        counted(state.round)?;
        state.weights.validate(self.weights.sums.len())
    }
}
