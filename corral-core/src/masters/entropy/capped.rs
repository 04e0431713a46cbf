//! Exponential weights whose exponents are cut, as published code does it.

use super::{ExponentialWeights, Roster};

impl ExponentialWeights {
    /// S_i += estimate for a sum whose weight is not needed before [`distribute_capped`](Self::distribute_capped).
    #[inline]
    pub(in crate::masters) fn add_lazily(&mut self, base: usize, estimate: f64) {
        self.sums[base] += estimate;
    }

    /// As [`distribute`](Self::distribute), with every exponent -rate * S_i cut at `cap`.
    pub(in crate::masters) fn distribute_capped(
        &mut self,
        roster: &Roster,
        cap: f64,
        mixing: f64,
        out: &mut [f64],
    ) {
        let Self { sums, weights, anchor, rate, .. } = self;
        let exponent = |sum: f64| (-*rate * sum).min(cap);
        let largest = roster.iter().map(|i| exponent(sums[i])).fold(f64::NEG_INFINITY, f64::max);
        for (weight, sum) in weights.iter_mut().zip(sums.iter()) {
            // Less the largest: the weights are the same but for a factor, and do not overflow.
            *weight = (exponent(*sum) - largest).exp();
        }
        *anchor = 0.0;
        self.spread(roster, mixing, self.total(roster), out);
    }
}
