//! Exponential weights over cumulative estimates, in a form that neither overflows nor ties.

#[cfg(feature = "published")]
mod capped;

use serde::{Deserialize, Serialize};

use super::rule::all;
use super::{Experience, Roster, lanes};
use crate::SnapshotError;
use crate::snapshot::ensure;

/// q_i proportional to exp(-rate * (S_i - anchor)). The anchor is the least sum whenever everything is computed
/// afresh, so no raw sum is ever exponentiated; between those times only the weights whose sums moved are computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ExponentialWeights {
    sums: Vec<f64>,
    weights: Vec<f64>,
    anchor: f64,
    rate: f64,
    /// Rounds in which weights were multiplied since they were computed afresh.
    age: u32,
}

/// Up to this exponent six terms of the series of exp are exact to 2e-15.
const SMALL: f64 = 0.01;
/// Weights that were multiplied so often are computed afresh, before their rounding adds up.
const OLD: u32 = 64;
/// The least probability by which a bonus is divided.
const LEAST: f64 = 1e-100;
/// When the heaviest weights have lost this much, they are anchored anew: exponents stay small and exact.
const FADED: f64 = 1e-6;
/// And so they are when they have grown this much, as negative losses make them; others never do.
const GROWN: f64 = 1e30;

impl ExponentialWeights {
    pub(super) fn new(bases: usize, rate: f64) -> Self {
        Self { sums: vec![0.0; bases], weights: vec![1.0; bases], anchor: 0.0, rate, age: 0 }
    }

    /// Begins at the sums of the plays behind `experience`.
    pub(super) fn begin(&mut self, experience: &[Experience]) {
        let bases = self.sums.len();
        self.sums = Experience::estimates(experience, bases).collect();
        self.refresh(&Roster::new(bases), self.rate);
    }

    /// S_i += estimate.
    #[inline]
    pub(super) fn add(&mut self, base: usize, estimate: f64) {
        self.sums[base] += estimate;
        self.weights[base] = (-self.rate * (self.sums[base] - self.anchor)).exp();
    }

    /// S_i -= bonus/p_i for every base of the roster. Where the weights hardly move they are multiplied by the series
    /// of exp, which is vector code; else they are computed afresh, as they are now and then.
    pub(super) fn favour(&mut self, roster: &Roster, bonus: f64, current: &[f64]) {
        let unit = self.rate * bonus;
        // Without mixing p may underflow, and the bonus with it is capped.
        let least = lanes::least(current, current, |p, _| [p])[0].max(LEAST);
        if roster.left() != roster.bases() || !(unit <= SMALL * least) || self.age >= OLD {
            for i in roster.iter() {
                self.sums[i] -= bonus / current[i].max(LEAST);
            }
            return self.refresh(roster, self.rate);
        }
        self.age += 1;
        for ((sum, weight), p) in self.sums.iter_mut().zip(&mut self.weights).zip(current) {
            let inverse = 1.0 / p;
            *sum -= bonus * inverse;
            let y = unit * inverse;
            *weight *= 1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0 + y * (1.0 / 24.0 + y * (1.0 / 120.0)))));
        }
    }

    /// Computes every weight afresh, at `rate`.
    pub(super) fn refresh(&mut self, roster: &Roster, rate: f64) {
        self.age = 0;
        self.rate = rate;
        self.anchor = roster.iter().map(|i| self.sums[i]).fold(f64::INFINITY, f64::min);
        for (weight, sum) in self.weights.iter_mut().zip(&self.sums) {
            *weight = (-rate * (sum - self.anchor)).exp();
        }
    }

    /// pbar = (1 - mixing) q + mixing/M over the roster.
    pub(super) fn distribute(&mut self, roster: &Roster, mixing: f64, out: &mut [f64]) {
        let mut total = self.total(roster);
        if !(FADED..GROWN).contains(&total) {
            self.refresh(roster, self.rate);
            total = self.total(roster);
        }
        self.spread(roster, mixing, total, out);
    }

    /// The weights as a distribution, with the even one mixed in.
    #[inline]
    fn spread(&self, roster: &Roster, mixing: f64, total: f64, out: &mut [f64]) {
        let scale = (1.0 - mixing) / total;
        let floor = mixing / roster.left() as f64;
        for (i, (p, weight)) in out.iter_mut().zip(&self.weights).enumerate() {
            *p = if roster.has(i) { scale * weight + floor } else { 0.0 };
        }
    }

    /// The weights at `rate` with one more, of probability `share`; the others keep theirs. `None`: a rate of 0, at which all
    /// weights are alike.
    pub(super) fn joined(&self, base: usize, share: f64, roster: &Roster, rate: f64) -> Option<Self> {
        if !(self.rate > 0.0 && rate > 0.0) {
            return None;
        }
        let mut all = self.clone();
        all.refresh(roster, self.rate);
        let odds = all.total(roster) * share / (1.0 - share);
        for sum in &mut all.sums {
            *sum = (*sum - all.anchor) * self.rate / rate;
        }
        all.sums.resize(all.sums.len().max(base + 1), 0.0);
        all.sums[base] = -odds.ln() / rate;
        (all.anchor, all.rate) = (0.0, rate);
        all.weights = all.sums.iter().map(|sum| (-rate * sum).exp()).collect();
        Some(all)
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn len(&self) -> usize {
        self.sums.len()
    }

    fn total(&self, roster: &Roster) -> f64 {
        if roster.left() == roster.bases() {
            lanes::sums(&self.weights, &self.weights, |w, _| [w])[0]
        } else {
            roster.iter().map(|i| self.weights[i]).sum()
        }
    }

    pub(super) fn validate(&self, bases: usize) -> Result<(), SnapshotError> {
        all("estimates", &self.sums, bases, f64::is_finite)?;
        all("weights", &self.weights, bases, |w| (0.0..f64::INFINITY).contains(&w))?;
        let rate = self.rate >= 0.0 && self.rate.is_finite();
        let sound = rate && self.age <= OLD && self.anchor.is_finite();
        ensure(sound, format_args!("rate {}, anchor {}", self.rate, self.anchor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uniform;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    /// Multiplied or computed afresh, the distribution is that of the sums, to 1e-12.
    #[test]
    fn favours_add_up() {
        let roster = Roster::new(5);
        let mut rng = Pcg64Dxsm::seed_from_u64(6);
        let mut weights = ExponentialWeights::new(5, 0.02);
        let mut p = vec![0.2; 5];
        for t in 0..1_000 {
            // Small enough for the series but for every seventh round.
            weights.favour(&roster, if t % 7 == 0 { 0.3 } else { 0.01 }, &p);
            weights.add(t % 5, -uniform(&mut rng) / p[t % 5]);
            weights.distribute(&roster, 0.1, &mut p);
            let least = weights.sums.iter().copied().fold(f64::INFINITY, f64::min);
            let exact: Vec<f64> = weights.sums.iter().map(|s| (-0.02 * (s - least)).exp()).collect();
            let total: f64 = exact.iter().sum();
            for (p, w) in p.iter().zip(&exact) {
                assert!((p - (0.9 * w / total + 0.02)).abs() < 1e-12, "round {t}: {p}");
            }
        }
    }
}
