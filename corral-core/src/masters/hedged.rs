//! Hedged follow the regularised leader (Foster, Gentile, Mohri, Zimmert 2020, "Adapting to misspecification in contextual
//! bandits", NeurIPS): Corral's kind of theorem with the Tsallis-1/2 entropy, without ln T, and with a regret of its own for
//! every base.
//!
//! ```text
//! p = argmin <p, L - B> - 2 sqrt(T) sum_i sqrt(p_i),  that is p_i = T/(L_i - B_i - x)^2,  x with sum p = 1
//! B_i = (rho_i^alpha_i - rho_{1,i}^alpha_i) R_i,  rho_i = max(rho_{1,i}, 1/p_{s,i} for s up to now)
//! L_i += f w_i
//! ```
//!
//! with w_i = 1{i = i_t}/p_i or the weights of another credit rule, rho_1 = 2M, R_i = R_i(T) the regret of base i alone and
//! alpha_i its stability exponent. What Corral's growing rates earn (the negative term -rho_i/eta) is given here as the
//! bias B_i. p and rho are found together: a larger rho_i makes p_i larger, so that rho_i = 1/p_i has one solution. (If rho_i were
//! doubled when 1/p_i exceeds it, B_i would jump by (2^alpha_i - 1) rho_i^alpha_i R_i, and for R_i above 2.4 sqrt(T) one
//! jump makes the worst base the leader.) Bases are told a range that doubles where rho_i exceeds it.
//!
//! Feed: weighted. For any losses and (alpha, R_i)-stable bases, where each R_i is known:
//! O(sqrt(M T) + M^alpha R_i + M^(alpha - 1) sum_j R_j) against base i run alone. The last term is what the biases of the others
//! cost: p_j B_j <= p_j^(1 - alpha) R_j, whose sum over j is largest where p is uniform. It needs T. Proved in
//! docs/master-bounds.md#hedged, with the constants 3, 2^alpha and 2^(alpha - 1) alpha/(1 - alpha). The paper's rule may be another:
//! rho_1 = 2M and the joint solution are ours, and where losses themselves carry weights up to rho, T and rho_i are multiplied
//! by rho.

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
    largest: Vec<f64>,
    /// What bases are told: at least rho_i, at most twice.
    ranges: Vec<f64>,
    #[serde(skip)]
    widened: Vec<usize>,
}

/// Ranges do not grow beyond this: no base with such a probability is ever drawn.
const LARGEST_RANGE: f64 = (1u64 << 60) as f64;
/// Newton steps after which the bracket is narrow enough: each that is not taken halves it.
const STEPS: usize = 200;

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
            largest: vec![2.0 * setup.bases as f64; setup.bases],
            ranges: vec![2.0 * setup.bases as f64; setup.bases],
            widened: Vec::with_capacity(setup.bases),
        })
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        self.weights.begin(experience);
        Ok(())
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
        self.weights.distribute(roster, self.rate, out);
        if roster.iter().all(|i| !self.exceeds(i, out[i])) {
            return;
        }
        let x = self.solve(roster, out);
        for i in roster.iter() {
            let distance = self.weights.sums[i] - x;
            let (shifted, _) = self.shifted(i, distance);
            self.largest[i] = self.largest[i].max(1.0 / self.probability(shifted)).min(LARGEST_RANGE);
            self.weights.sums[i] -= distance - shifted;
            if self.largest[i] > self.ranges[i] {
                self.widened.push(i);
            }
            while self.largest[i] > self.ranges[i] {
                self.ranges[i] *= 2.0;
            }
        }
        self.weights.distribute(roster, self.rate, out);
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

    fn resize_buffers(&mut self) {
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
        all("largest weights", &state.largest, bases, |r| (first..=LARGEST_RANGE).contains(&r))?;
        all("ranges", &state.ranges, bases, |r| (first..=2.0 * LARGEST_RANGE).contains(&r))
    }
}

impl HedgedRule {
    /// p = T/z^2, and T where losses carry weights.
    fn probability(&self, z: f64) -> f64 {
        let root = 2.0 / (self.rate * z);
        root * root
    }

    fn exceeds(&self, i: usize, p: f64) -> bool {
        p * self.largest[i] < 1.0 - 1e-12 && self.largest[i] < LARGEST_RANGE
    }

    /// z = S_i - x less what B_i grows by where rho_i becomes 1/p_i = z^2/T, from S_i - x; and its derivative.
    fn shifted(&self, i: usize, distance: f64) -> (f64, f64) {
        if !self.exceeds(i, self.probability(distance)) {
            return (distance, 1.0);
        }
        let (alpha, regret) = (self.alphas[i], self.regrets[i]);
        let bias = |range: f64| (range * self.outer).powf(alpha) * regret;
        let before = bias(self.largest[i]);
        // z + B(z^2/T) - B before = S_i - x: increasing in z, and z lies between that of the range before and S_i - x.
        let (mut low, mut high) = (2.0 * self.largest[i].sqrt() / self.rate, distance);
        let (mut z, mut slope) = (low, 1.0);
        for _ in 0..STEPS {
            let grown = bias(1.0 / self.probability(z));
            slope = 1.0 + 2.0 * alpha * grown / z;
            let excess = z + grown - before - distance;
            if excess > 0.0 {
                high = z;
            } else {
                low = z;
            }
            let newton = z - excess / slope;
            let next = if newton > low && newton < high { newton } else { low + 0.5 * (high - low) };
            if excess.abs() <= 1e-15 * distance || next == low || next == high {
                break;
            }
            z = next;
        }
        (z, 1.0 / slope)
    }

    /// x with sum p = 1, where every rho_i is that of its p_i. `p` is the solution for the rho_i before, whose x is too large.
    fn solve(&self, roster: &Roster, p: &[f64]) -> f64 {
        // sum_i p_i, and half its derivative by x
        let total = |x: f64| {
            roster.iter().fold((0.0, 0.0), |(sum, slope), i| {
                let (z, shrinks) = self.shifted(i, self.weights.sums[i] - x);
                let p = self.probability(z);
                (sum + p, slope + p / z * shrinks)
            })
        };
        let leader = roster.iter().fold(0, |best, i| if p[i] > p[best] { i } else { best });
        let mut high = self.weights.sums[leader] - 2.0 / (self.rate * p[leader].sqrt());
        let mut step = 2.0 / self.rate;
        let mut low = high - step;
        while total(low).0 > 1.0 {
            step *= 2.0;
            low -= step;
        }
        let mut x = high;
        for _ in 0..STEPS {
            let (sum, half_slope) = total(x);
            if (sum - 1.0).abs() <= 1e-14 {
                break;
            }
            if sum > 1.0 {
                high = x;
            } else {
                low = x;
            }
            // Newton on sum^(-1/2), which is nearly linear in x.
            let newton = x + sum * (1.0 - sum.sqrt()) / half_slope;
            let next = if newton > low && newton < high { newton } else { low + 0.5 * (high - low) };
            if next == low || next == high {
                break;
            }
            x = next;
        }
        x
    }
}
