//! Exponential weights over cumulative estimates, in a form that neither overflows nor ties.

use serde::{Deserialize, Serialize};

use super::Roster;
use super::rule::all;
use crate::SnapshotError;

/// q_i proportional to exp(-rate * (S_i - anchor)). The anchor is the least sum whenever everything is computed
/// afresh, so no raw sum is ever exponentiated; between those times only the weights whose sums moved are computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ExponentialWeights {
    sums: Vec<f64>,
    weights: Vec<f64>,
    anchor: f64,
    rate: f64,
}

/// When the heaviest weights have lost this much, they are anchored anew: exponents stay small and exact.
const FADED: f64 = 1e-6;
/// And so they are when they have grown this much, as negative losses make them; others never do.
const GROWN: f64 = 1e30;

impl ExponentialWeights {
    pub(super) fn new(bases: usize, rate: f64) -> Self {
        Self { sums: vec![0.0; bases], weights: vec![1.0; bases], anchor: 0.0, rate }
    }

    /// S_i += estimate.
    #[inline]
    pub(super) fn add(&mut self, base: usize, estimate: f64) {
        self.sums[base] += estimate;
        self.weights[base] = (-self.rate * (self.sums[base] - self.anchor)).exp();
    }

    /// S_i += estimate for a sum whose weight is not needed before [`refresh`](Self::refresh).
    #[inline]
    pub(super) fn add_lazily(&mut self, base: usize, estimate: f64) {
        self.sums[base] += estimate;
    }

    /// Computes every weight afresh, at `rate`.
    pub(super) fn refresh(&mut self, roster: &Roster, rate: f64) {
        self.rate = rate;
        self.anchor = roster.iter().map(|i| self.sums[i]).fold(f64::INFINITY, f64::min);
        for (weight, sum) in self.weights.iter_mut().zip(&self.sums) {
            *weight = (-rate * (sum - self.anchor)).exp();
        }
    }

    /// pbar = (1 - mixing) q + mixing/M over the roster.
    pub(super) fn distribute(&mut self, roster: &Roster, mixing: f64, out: &mut [f64]) {
        let total = self.total(roster);
        if !(FADED..GROWN).contains(&total) {
            self.refresh(roster, self.rate);
        }
        let scale = (1.0 - mixing) / self.total(roster);
        let floor = mixing / roster.left() as f64;
        for (i, (p, weight)) in out.iter_mut().zip(&self.weights).enumerate() {
            *p = if roster.has(i) { scale * weight + floor } else { 0.0 };
        }
    }

    /// As [`distribute`](Self::distribute), with every exponent -rate * S_i cut at `cap`.
    pub(super) fn distribute_capped(&mut self, roster: &Roster, cap: f64, mixing: f64, out: &mut [f64]) {
        let Self { sums, weights, anchor, rate } = self;
        let exponent = |sum: f64| (-*rate * sum).min(cap);
        let largest = roster.iter().map(|i| exponent(sums[i])).fold(f64::NEG_INFINITY, f64::max);
        for (weight, sum) in weights.iter_mut().zip(sums.iter()) {
            // Less the largest: the weights are the same but for a factor, and do not overflow.
            *weight = (exponent(*sum) - largest).exp();
        }
        *anchor = 0.0;
        let scale = (1.0 - mixing) / self.total(roster);
        let floor = mixing / roster.left() as f64;
        for (i, (p, weight)) in out.iter_mut().zip(&self.weights).enumerate() {
            *p = if roster.has(i) { scale * weight + floor } else { 0.0 };
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sums.len()
    }

    fn total(&self, roster: &Roster) -> f64 {
        if roster.left() == roster.bases() {
            self.weights.iter().sum()
        } else {
            roster.iter().map(|i| self.weights[i]).sum()
        }
    }

    pub(super) fn validate(&self, bases: usize) -> Result<(), SnapshotError> {
        all("estimates", &self.sums, bases, f64::is_finite)?;
        all("weights", &self.weights, bases, |w| (0.0..f64::INFINITY).contains(&w))?;
        if !(self.anchor.is_finite() && self.rate >= 0.0 && self.rate.is_finite()) {
            return Err(SnapshotError::state(format!("rate {}, anchor {}", self.rate, self.anchor)));
        }
        Ok(())
    }
}
