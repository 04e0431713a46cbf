//! Algorithm 2 in a time that does not depend on how many probabilities there are; the derivation, with a picture, is in
//! `docs/flat-step.md`.
//!
//! In a step every w_i = 1/p_i moves by the same multiple of its rate, but for the base that has a loss. So with
//! L the sum of all lambda so far,
//!
//! ```text
//! a_i = w_i/eta_i + L,   m_i = 1/eta_i,   d_i = a_i - L,   p_i = m_i/d_i,   sum_i m_i/(a_i - L) = 1
//! ```
//!
//! the state is a set of charges m_i at places a_i, seen from a level L left of all of them. A loss moves one place, and the
//! level follows. Places near each other are grouped into clusters, whose moments give their sum at any level by a
//! series ([`moments`]); a step solves for the level over clusters ([`solve`]), of which there are some tens whatever
//! the number of charges is. Members that get too far from the centre of their cluster are sent to another ([`clusters`]). A
//! base is drawn by its cluster's mass, and by rejection inside it ([`draw`]).
//!
//! What makes it exact. Moments are sums on a grid, without rounding: a charge is taken away without a trace. A place is
//! kept relative to its cluster's centre, and centres and level in twice the digits: nothing is lost while L grows. The level
//! is found anew in every step: errors of it are not carried along.

mod clusters;
mod draw;
mod moments;
mod solve;
mod state;

use self::clusters::Charges;
pub(crate) use self::state::FlatState;
use super::{Losses, OmdError, OmdInfo, OmdParams, check_start};

/// A distribution that moves by steps of Algorithm 2, in a time that does not depend on its size.
///
/// The same distribution as a [`LogBarrier`](super::LogBarrier)'s, up to rounding.
#[derive(Debug, Clone)]
pub struct FlatBarrier {
    params: OmdParams,
    charges: Charges,
    /// sum m/d: 1 until a base is retired. Then the distances of the others shrink by a common factor, which is kept here.
    goal: f64,
    /// Probabilities above 0.
    active: usize,
    /// An upper bound of the rates.
    largest: f64,
    /// What the last step left behind: sum m/d^2, and sum m/d^3 to a few hundredths.
    slope: f64,
    curve: f64,
}

impl FlatBarrier {
    /// The distribution p = 1/`inverse`, with a rate per probability. Infinity is a probability of 0, and stays so.
    ///
    /// # Errors
    /// As [`LogBarrier::new`](super::LogBarrier::new).
    pub fn new(inverse: &[f64], rates: &[f64]) -> Result<Self, OmdError> {
        check_start(inverse, rates)?;
        let mut barrier = Self {
            params: OmdParams::default(),
            charges: Charges::new(rates),
            goal: 1.0,
            active: 0,
            largest: rates.iter().copied().fold(0.0, f64::max),
            slope: 0.0,
            curve: 0.0,
        };
        barrier.fill(|i| inverse[i]);
        Ok(barrier)
    }

    /// Puts all bases at 1/p = `inverse`.
    fn fill(&mut self, inverse: impl Fn(usize) -> f64) {
        for i in 0..self.len() {
            let distance = inverse(i) / self.rate(i);
            if distance < f64::INFINITY {
                self.charges.settle(i, distance, 0.0);
                self.active += 1;
            }
        }
        self.weigh();
    }

    /// The sums at the level as it is.
    fn weigh(&mut self) {
        let sums = self.charges.evaluate(0.0);
        (self.slope, self.curve) = (sums.slope, sums.curve);
    }

    /// How many probabilities there are.
    pub fn len(&self) -> usize {
        self.charges.all.len()
    }

    /// Never: there is at least one.
    pub fn is_empty(&self) -> bool {
        self.charges.all.is_empty()
    }

    /// The probability p_i; 0 for retired bases.
    #[inline]
    pub fn probability(&self, i: usize) -> f64 {
        if i < self.len() { 1.0 / self.inverse(i) } else { 0.0 }
    }

    #[inline]
    fn inverse(&self, i: usize) -> f64 {
        self.goal * (self.rate(i) * self.charges.distance(i))
    }

    #[inline]
    pub(crate) fn rate(&self, i: usize) -> f64 {
        self.charges.all[i].rate
    }

    /// The rates.
    pub fn rates(&self) -> Vec<f64> {
        self.charges.all.iter().map(|charge| charge.rate).collect()
    }

    /// How many clusters there are.
    pub fn clusters(&self) -> usize {
        self.charges.clusters.iter().filter(|c| !c.members.is_empty()).count()
    }

    /// Makes one step. Dense losses are stepped as a [`LogBarrier`](super::LogBarrier) does, at its price.
    ///
    /// # Errors
    /// A loss is out of bounds, or no root was found; no probability changed then.
    pub fn step(&mut self, losses: Losses<'_>) -> Result<OmdInfo, OmdError> {
        match losses {
            Losses::OneHot { index, loss } => self.step_one(index, loss),
            Losses::Dense(_) => {
                let mut inverse: Vec<f64> = (0..self.len()).map(|i| self.inverse(i)).collect();
                let rates = self.rates();
                let info = super::step(&mut inverse, &rates, losses, &self.params)?;
                *self = Self { params: self.params, ..Self::new(&inverse, &rates)? };
                Ok(info)
            }
        }
    }

    pub(crate) fn active(&self) -> usize {
        self.active
    }

    pub(crate) fn is_retired(&self, i: usize) -> bool {
        !self.charges.is_there(i)
    }

    pub(crate) fn set_rate(&mut self, i: usize, rate: f64) {
        let (old, distance) = (self.rate(i), self.charges.distance(i));
        let there = self.charges.is_there(i);
        if there {
            self.charges.leave(i);
        }
        self.charges.all[i].rate = rate;
        self.largest = self.largest.max(rate);
        if 1.0 / rate > self.charges.grid.unit {
            self.charges.sum_afresh();
        }
        if there {
            // w = eta d stays
            self.charges.settle(i, distance * (old / rate), 0.0);
            self.weigh();
        }
    }

    /// From now on [`fallen`](Self::fallen) shows `i` where its probability is below `least`.
    pub(crate) fn watch(&mut self, i: usize, least: f64) {
        let distance = 1.0 / (self.goal * self.rate(i) * least);
        self.charges.set_alarm(i, if least > 0.0 { distance } else { f64::INFINITY });
    }

    /// Shows every base whose probability is below what is watched, or so near to it that rounding decides.
    pub(crate) fn fallen(&mut self, show: impl FnMut(usize)) {
        self.charges.alarmed(show);
    }

    /// Takes a probability out, and renormalises the others.
    pub(crate) fn retire(&mut self, i: usize) {
        self.charges.leave(i);
        self.active -= 1;
        // p_j/(1 - p_i) = m_j/(goal' d_j)
        let sums = self.charges.evaluate(0.0);
        (self.goal, self.slope, self.curve) = (sums.total, sums.slope, sums.curve);
    }
}

#[cfg(test)]
mod tests;
