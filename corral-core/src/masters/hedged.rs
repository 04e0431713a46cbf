//! Hedged follow the regularised leader (Foster, Gentile, Mohri, Zimmert 2020, "Adapting to misspecification in contextual
//! bandits", NeurIPS): Corral's kind of theorem with the Tsallis-1/2 entropy, without ln T, and with a regret of its own for
//! every base.
//!
//! ```text
//! p = argmin <p, L - B> - 2 sqrt(T) sum_i sqrt(p_i),  that is p_i = T/(L_i - B_i - x)^2,  x with sum p = 1
//! L_i += f w_i
//! while 1/p_i > rho_i for some i:  rho_i <- 2 rho_i,  B_i = (rho_i^alpha_i - rho_{1,i}^alpha_i) R_i,  p anew;  base i starts over
//! ```
//!
//! with w_i = 1{i = i_t}/p_i or the weights of another credit rule, rho_1 = 2M, R_i = R_i(T) the regret of base i alone and
//! alpha_i its stability exponent. What Corral's growing rates earn (the negative term -rho_i/eta) is given here as the
//! bias B_i. Of several bases beyond their range the first goes first.
//!
//! Feed: weighted. For any losses and (alpha_i, R_i)-stable bases: O(sqrt(M T) + M^alpha_i R_i) against base i run alone, for
//! every i at once, where each R_i is known. It needs T. **Experimental**: the rule is from memory; rho_1 = 2M and the order
//! of the loop are ours, and where losses themselves carry weights up to rho, T and rho_i are multiplied by rho.

use super::prelude::*;

crate::params! {
    /// Parameters of [`Hedged`].
    pub struct HedgedParams {
        /// A bound `{ scale, exponent, alpha }` per base on its regret alone; unset: what is known of the bases.
        bounds: Option<Vec<RegretBound>> = None;
    }
}

/// Hedged follow the regularised leader.
pub type Hedged = Ruled<HedgedRule>;

/// The rule of [`Hedged`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HedgedRule {
    /// 2/sqrt(T)
    rate: f64,
    /// The largest weight that losses carry from outside.
    outer: f64,
    /// The rounds that were told, and those that were played.
    horizon: u64,
    round: u64,
    /// R_i(T) and alpha_i
    regrets: Vec<f64>,
    alphas: Vec<f64>,
    /// L_i - B_i
    weights: Tsallis,
    /// rho_i
    ranges: Vec<f64>,
    #[serde(skip)]
    widened: Vec<usize>,
}

/// Ranges do not grow beyond this: no base with such a probability is ever drawn.
const LARGEST_RANGE: f64 = (1u64 << 60) as f64;

impl Rule for HedgedRule {
    type Params = HedgedParams;

    const NAME: &'static str = "hedged";

    fn new(params: &HedgedParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let horizon = setup.known_horizon("known")?;
        let bounds = setup.bounds_or(params.bounds.as_deref())?;
        let rounds = horizon as f64;
        Ok(Self {
            rate: 2.0 / (rounds * setup.range).sqrt(),
            outer: setup.range,
            horizon,
            round: 0,
            regrets: bounds.iter().map(|b| b.at(rounds)).collect(),
            alphas: bounds.iter().map(|b| b.alpha).collect(),
            weights: Tsallis::new(setup.bases),
            ranges: vec![2.0 * setup.bases as f64; setup.bases],
            widened: Vec::with_capacity(setup.bases),
        })
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let loss = round.loss;
        self.widened.clear();
        round.each(|i, weight| self.weights.sums[i] += loss * weight);
        self.round += 1;
        Ok(())
    }

    fn retired(&mut self, base: usize, _: &Roster) {
        self.widened.clear();
        self.weights.sums[base] = f64::INFINITY;
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        loop {
            self.weights.distribute(roster, self.rate, out);
            let beyond =
                |i: &usize| out[*i] * self.ranges[*i] < 1.0 - 1e-12 && self.ranges[*i] < LARGEST_RANGE;
            let Some(i) = roster.iter().find(beyond) else { return };
            // B_i = (rho_i^alpha_i - rho_{1,i}^alpha_i) R_i
            let bias = |range: f64| (range * self.outer).powf(self.alphas[i]) * self.regrets[i];
            self.weights.sums[i] -= bias(2.0 * self.ranges[i]) - bias(self.ranges[i]);
            self.ranges[i] *= 2.0;
            if !self.widened.contains(&i) {
                self.widened.push(i);
            }
        }
    }

    fn range_of(&self, base: usize) -> Option<f64> {
        self.ranges.get(base).copied()
    }

    fn widened(&self) -> &[usize] {
        &self.widened
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.horizon.saturating_sub(self.round))
    }

    fn make_room(&mut self) {
        self.widened.reserve(self.ranges.len());
    }

    fn constants(&self) -> impl Serialize {
        (self.rate, self.outer, self.horizon, &self.regrets, &self.alphas)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.ranges.len();
        counted(state.round)?;
        state.weights.validate(bases)?;
        let first = 2.0 * bases as f64;
        all("ranges", &state.ranges, bases, |r| (first..=2.0 * LARGEST_RANGE).contains(&r))
    }
}
