//! Algorithm 2: one step of online mirror descent with the log barrier.
//!
//! The state is w = 1/p, the quantity that adds:
//!
//! ```text
//! find lambda with  F(lambda) = sum_i 1/(w_i + eta_i (l_i - lambda)) = 1,  left of the first pole
//! return            w'_i = w_i + eta_i (l_i - lambda)
//! ```
//!
//! The interval [min l, max l] of the paper may hold a pole, and beyond it further roots that give negative
//! probabilities; left of the first pole F is increasing and convex, and the root is unique. There is no upper limit
//! on a rate, and losses may have any sign: the step depends on them only up to a constant.
//!
//! How it is solved. At lambda = 0 a one-hot loss changes one term of F, so that F, F' and F'' there follow from what
//! the last step left behind: Halley's formula gives a start for free. One pass evaluates F, F', F'' at the start and
//! keeps the reciprocals; as soon as what is missing moves no probability by more than a few parts in a million, a second
//! pass adds it by a series, without a division. Otherwise, and for dense losses, a bracket
//! [min l, min(max l, min_j(l_j + (w_j - 1)/eta_j))] guards Newton's method on 1/F - 1. Two probabilities
//! have a closed form. The sum is restored by each step; nothing is ever renormalised.

mod flat;
mod kernel;
mod root;
mod saved;
mod wide;

pub use flat::FlatBarrier;
pub(crate) use flat::FlatState;
pub(crate) use kernel::{Block, Sink, WIDTH, blocks};
use kernel::{Sums, commit, evaluate};
pub use root::settle;
pub(crate) use saved::BarrierState;
use wide::Wide;

/// When a step counts as solved, and when it gives up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OmdParams {
    /// The largest |sum p - 1| of a step that is made.
    pub tolerance: f64,
    /// Evaluations of F after which the step gives up.
    pub iterations: usize,
}

impl Default for OmdParams {
    fn default() -> Self {
        Self { tolerance: 1e-12, iterations: 200 }
    }
}

/// How a step was solved.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OmdInfo {
    /// The multiplier lambda.
    pub lambda: f64,
    /// What remained: sum p - 1.
    pub residual: f64,
    /// How often F was evaluated: 0 for a closed form, or where nothing moved.
    pub iterations: usize,
}

/// Why a step could not be made. The state is as it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OmdError {
    /// There is nothing to step.
    #[error("a distribution over nothing has no step")]
    Empty,
    /// Lists of different lengths.
    #[error("{found} {what} were given for {expected} probabilities")]
    Length {
        /// What was counted: "rates", "losses".
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many probabilities there are.
        expected: usize,
    },
    /// A one-hot loss outside the distribution.
    #[error("there is no probability {index} among {expected}")]
    Index {
        /// The index that was given.
        index: usize,
        /// How many probabilities there are.
        expected: usize,
    },
    /// A loss that is not finite, or overflows when multiplied by its rate.
    #[error("loss {index} must be finite, and times its rate too, but is {value}")]
    Loss {
        /// Its place.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A rate that is zero, negative or not finite.
    #[error("rate {index} must be positive and finite, but is {value}")]
    Rate {
        /// Its place.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// An inverse probability below 1.
    #[error("inverse probability {index} must be at least 1, but is {value}")]
    Inverse {
        /// Its place.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// The probabilities do not sum to 1.
    #[error("probabilities must sum to 1, but sum to {0}")]
    Sum(f64),
    /// No root was found.
    #[error("|sum p - 1| = {residual} after {iterations} iterations")]
    Residual {
        /// What remained.
        residual: f64,
        /// How often F was evaluated.
        iterations: usize,
    },
}

/// The losses of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Losses<'a> {
    /// Zero but in one place.
    OneHot {
        /// The place.
        index: usize,
        /// The loss there.
        loss: f64,
    },
    /// One loss per probability.
    Dense(&'a [f64]),
}

impl Losses<'_> {
    /// The loss of probability `i`.
    pub fn get(&self, i: usize) -> f64 {
        match *self {
            Self::OneHot { index, loss } => {
                if i == index {
                    loss
                } else {
                    0.0
                }
            }
            Self::Dense(losses) => losses.get(i).copied().unwrap_or(0.0),
        }
    }
}

/// Makes one step of `inverse` = 1/p in place, where infinity is a probability of 0 and stays so. For many steps keep a
/// [`LogBarrier`].
///
/// # Errors
/// A value is out of bounds, or no root was found; `inverse` is unchanged then.
pub fn step(
    inverse: &mut [f64],
    rates: &[f64],
    losses: Losses<'_>,
    params: &OmdParams,
) -> Result<OmdInfo, OmdError> {
    let mut barrier = LogBarrier::new(inverse, rates)?;
    barrier.params = *params;
    let info = barrier.step(losses)?;
    inverse.copy_from_slice(barrier.inverse());
    Ok(info)
}

/// Whether `inverse` is 1/p of a distribution, and every rate one.
fn check_start(inverse: &[f64], rates: &[f64]) -> Result<(), OmdError> {
    let expected = inverse.len();
    if expected == 0 {
        return Err(OmdError::Empty);
    }
    if rates.len() != expected {
        return Err(OmdError::Length { what: "rates", found: rates.len(), expected });
    }
    // Every comparison is written so that NaN fails.
    if let Some((index, &value)) = inverse.iter().enumerate().find(|(_, w)| !(**w >= 1.0 - 1e-9)) {
        return Err(OmdError::Inverse { index, value });
    }
    if let Some((index, &value)) = rates.iter().enumerate().find(|(_, r)| !(**r > 0.0 && r.is_finite())) {
        return Err(OmdError::Rate { index, value });
    }
    let sum: f64 = inverse.iter().map(|w| 1.0 / w).sum();
    if !((sum - 1.0).abs() <= 1e-6) {
        return Err(OmdError::Sum(sum));
    }
    Ok(())
}

/// A distribution that moves by steps of Algorithm 2. Read back, it continues to the last bit.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(into = "saved::Saved", try_from = "saved::Saved")]
pub struct LogBarrier {
    params: OmdParams,
    size: usize,
    /// Probabilities above 0.
    active: usize,
    /// w = 1/p
    inverse: Vec<Block>,
    p: Vec<Block>,
    rates: Vec<Block>,
    /// An upper bound of the rates.
    largest: f64,
    /// What the last step left behind: sum eta p^2 and sum eta^2 p^3.
    slope: f64,
    curve: f64,
    /// Room for the next w, the next p, and the w of before a search.
    next: Vec<Block>,
    q: Vec<Block>,
    backup: Vec<Block>,
}

/// A series in z = eta q rest is cut after z^2: |z| up to this leaves less than half a unit in the last place.
const SERIES: f64 = 4e-6;

impl LogBarrier {
    /// The distribution p = 1/`inverse`, with a rate per probability. Infinity is a probability of 0, and stays so.
    ///
    /// # Errors
    /// An inverse is below 1, the probabilities do not sum to 1 (within 1e-6), a rate is not positive and finite, or
    /// the lengths differ.
    pub fn new(inverse: &[f64], rates: &[f64]) -> Result<Self, OmdError> {
        check_start(inverse, rates)?;
        let expected = inverse.len();
        let mut barrier = Self {
            params: OmdParams::default(),
            size: expected,
            active: 0,
            inverse: blocks(inverse.iter().copied(), f64::INFINITY),
            p: blocks(inverse.iter().map(|w| 1.0 / w), 0.0),
            rates: blocks(rates.iter().copied(), 0.0),
            largest: 0.0,
            slope: 0.0,
            curve: 0.0,
            next: blocks(inverse.iter().copied(), f64::INFINITY),
            q: blocks(inverse.iter().map(|_| 0.0), 0.0),
            backup: blocks(inverse.iter().copied(), f64::INFINITY),
        };
        barrier.refresh();
        Ok(barrier)
    }

    /// The distribution p.
    pub fn distribution(&self) -> &[f64] {
        &self.p.as_flattened()[..self.size]
    }

    /// 1/p.
    pub fn inverse(&self) -> &[f64] {
        &self.inverse.as_flattened()[..self.size]
    }

    /// The rates.
    pub fn rates(&self) -> &[f64] {
        &self.rates.as_flattened()[..self.size]
    }

    /// Makes one step.
    ///
    /// # Errors
    /// A loss is out of bounds, or no root was found; nothing changed then.
    pub fn step(&mut self, losses: Losses<'_>) -> Result<OmdInfo, OmdError> {
        match losses {
            Losses::OneHot { index, loss } => self.step_one(index, loss, ()),
            Losses::Dense(losses) => self.step_all(losses, ()),
        }
    }

    pub(crate) fn active(&self) -> usize {
        self.active
    }

    pub(crate) fn is_retired(&self, i: usize) -> bool {
        self.inverse()[i] == f64::INFINITY
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.p
    }

    /// Puts the distribution at 1/`inverse`, unchecked, with one rate for all.
    pub(crate) fn reset(&mut self, inverse: impl Fn(usize) -> f64, rate: f64) {
        for i in 0..self.size {
            let w = inverse(i);
            self.inverse.as_flattened_mut()[i] = w;
            self.p.as_flattened_mut()[i] = 1.0 / w;
            self.rates.as_flattened_mut()[i] = rate;
        }
        self.refresh();
    }

    pub(crate) fn set_rate(&mut self, i: usize, rate: f64) {
        let (old, p) = (self.rates()[i], self.distribution()[i]);
        self.rates.as_flattened_mut()[i] = rate;
        self.slope += (rate - old) * p * p;
        self.curve += (rate * rate - old * old) * p * p * p;
        self.largest = self.largest.max(rate);
    }

    /// Takes a probability out, and renormalises the others.
    pub(crate) fn retire(&mut self, i: usize) {
        let w = self.inverse.as_flattened_mut();
        w[i] = f64::INFINITY;
        let rest: f64 = w.iter().map(|w| 1.0 / w).sum();
        for (w, p) in w.iter_mut().zip(self.p.as_flattened_mut()) {
            *w *= rest;
            *p = 1.0 / *w;
        }
        self.refresh();
    }

    /// Replaces the distribution, keeping the rates.
    pub(crate) fn overwrite(&mut self, p: &[f64]) {
        for (i, p) in p.iter().enumerate() {
            self.inverse.as_flattened_mut()[i] = 1.0 / p;
            self.p.as_flattened_mut()[i] = *p;
        }
        self.refresh();
    }

    /// Counts and sums that follow from w, p and the rates.
    fn refresh(&mut self) {
        self.active = self.inverse().iter().filter(|w| w.is_finite()).count();
        self.largest = self.rates().iter().copied().fold(0.0, f64::max);
        let (slope, curve) =
            self.rates().iter().zip(self.distribution()).fold((0.0, 0.0), |(s, c), (e, p)| {
                let ep = e * p;
                (s + ep * p, c + ep * ep * p)
            });
        (self.slope, self.curve) = (slope, curve);
    }

    /// One step with a loss in one place. Finished blocks of p are shown to `sink`; when the step fails they mean
    /// nothing.
    #[inline]
    pub(crate) fn step_one(
        &mut self,
        index: usize,
        loss: f64,
        mut sink: impl Sink,
    ) -> Result<OmdInfo, OmdError> {
        if index >= self.size {
            return Err(OmdError::Index { index, expected: self.size });
        }
        let (block, lane) = (index / WIDTH, index % WIDTH);
        let (w, p, eta) = (self.inverse[block][lane], self.p[block][lane], self.rates[block][lane]);
        let push = eta * loss;
        if !(push.abs() <= 1e300) {
            return Err(OmdError::Loss { index, value: loss });
        }
        if push == 0.0 || p == 0.0 || self.active == 1 {
            return Ok(OmdInfo::default());
        }
        if self.size == 2 {
            return Ok(self.step_two(index, loss, &mut sink));
        }
        self.inverse[block][lane] = w + push;
        let x = push * p;
        if x > -0.5 {
            // At lambda = 0 only the term of `index` differs from sum p = 1: it is p/y, y = 1 + eta l p. So
            //     1 - F = x p/y,   F' = S1 - e p^2 + e p^2/y^2,   F''/2 = S2 - e^2 p^3 + e^2 p^3/y^3,
            // and Halley's step, with y multiplied out, has a single division.
            let y = 1.0 + x;
            let (epp, eeppp) = (eta * p * p, eta * eta * p * p * p);
            let missing = x * p;
            let slope = (self.slope - epp) * (y * y) + epp;
            let curve = (self.curve - eeppp) * (y * y) * y + eeppp;
            let lambda = missing * y * slope / (slope * slope + curve * missing);
            // No eta_j p_j lambda is larger than the root of this, as eta_j p_j <= sqrt(max eta sum eta p^2).
            let reach = lambda * lambda * (self.largest * self.slope);
            // 1/F' at lambda follows but for a part of some 3 `reach`, and need not wait for the pass.
            let pace = y * y / (slope + 2.0 * lambda * ((self.curve - eeppp) * (y * y) + eeppp));
            // And far enough from every pole.
            if reach <= 0.25
                && let Some(info) = self.descend(lambda, Some((pace, reach)), &mut sink)
            {
                return Ok(info);
            }
        }
        self.inverse[block][lane] = w;
        self.search(|i| if i == index { loss } else { 0.0 }, &mut sink)
    }

    /// One step with a loss everywhere.
    pub(crate) fn step_all(&mut self, losses: &[f64], mut sink: impl Sink) -> Result<OmdInfo, OmdError> {
        if losses.len() != self.size {
            return Err(OmdError::Length { what: "losses", found: losses.len(), expected: self.size });
        }
        for (index, (&value, eta)) in losses.iter().zip(self.rates()).enumerate() {
            if !((value * eta).abs() <= 1e300 && value.is_finite()) {
                return Err(OmdError::Loss { index, value });
            }
        }
        if self.size == 2 && self.active == 2 {
            // Up to a constant, the loss is in one place.
            let (index, loss) =
                if losses[0] >= losses[1] { (0, losses[0] - losses[1]) } else { (1, losses[1] - losses[0]) };
            let mut info = self.step_one(index, loss, sink)?;
            info.lambda += losses[1 - index];
            return Ok(info);
        }
        self.search(|i| losses[i], &mut sink)
    }

    /// Two probabilities in closed form. Without lambda,
    ///
    /// ```text
    /// b/p_0 - a/p_1 = K,   K = b w_0 - a w_1 + a b (l_0 - l_1),   p_0 + p_1 = 1,   a = eta_0, b = eta_1
    /// p_0 = 2b/(s + r),   s = K + a + b,   r = sqrt((K + a - b)^2 + 4ab)
    /// ```
    ///
    /// of which the smaller of the two is computed, and the other is what it leaves of 1.
    #[inline]
    fn step_two(&mut self, index: usize, loss: f64, sink: &mut impl Sink) -> OmdInfo {
        let ([w0, w1, ..], [a, b, ..]) = (self.inverse[0], self.rates[0]);
        // Either of two bases may be the charged one, and the smaller one: signs and places are computed, not branched on.
        let k = (b * w0 - a * w1) + a * b * [1.0, -1.0][index & 1] * loss;
        let middle = k + (a - b);
        let root = (middle * middle + 4.0 * a * b).sqrt();
        // p_0 <= 1/2 where K >= 2 (b - a). By symmetry p_1 has -K for K, and a for b.
        let first = middle + (a - b);
        let (at, other) = (usize::from(first < 0.0), usize::from(first >= 0.0));
        let (key, top) = (k * [1.0, -1.0][at], self.rates[0][other]);
        let s = key + (a + b);
        // Where s < 0, s + r would cancel: the same root is (s - r)/(2K).
        let (top, bottom) = if s >= 0.0 { (2.0 * top, s + root) } else { (root - s, -2.0 * key) };
        let small = top / bottom;
        let large = 1.0 - small;
        let (w_small, w_large) = (bottom / top, 1.0 / large);
        // w' = w + eta (l - lambda), read backwards where w is small
        let pushed = if other == index { loss } else { 0.0 };
        let lambda = (self.inverse[0][other] - w_large) / self.rates[0][other] + pushed;
        let lambda = lambda.max(loss.min(0.0)).min(loss.max(0.0));
        (self.inverse[0][at], self.inverse[0][other]) = (w_small, w_large);
        (self.p[0][at], self.p[0][other]) = (small, large);
        sink.take_two(at, small, large);
        OmdInfo { lambda, residual: (small + large) - 1.0, iterations: 0 }
    }

    /// From a good start, w being w + eta l already: one or two evaluations and a commit. `None` where the start was
    /// not good enough; w is as it was then. `known` is 1/F' at the start, where
    /// it is known, and a third of its relative error.
    #[inline]
    fn descend(&mut self, start: f64, known: Option<(f64, f64)>, sink: &mut impl Sink) -> Option<OmdInfo> {
        let mut lambda = start;
        for iterations in 1..=4 {
            let sums = evaluate(&self.inverse, &self.rates, lambda, &mut self.q);
            let missing = 1.0 - sums.total;
            let rest = match known {
                Some((pace, error)) if iterations == 1 && missing.abs() * error <= 2e-17 => missing * pace,
                _ => sums.halley(),
            };
            // As above: no eta_j q_j |rest| is larger than the root of this.
            let reach = rest * rest * (self.largest * sums.slope);
            if reach <= SERIES * SERIES {
                return self.finish(lambda, rest, iterations, &sums, sink);
            }
            if !(reach <= 0.25) {
                return None;
            }
            lambda += rest;
        }
        None
    }

    /// Commits lambda + rest, if the sum comes out right.
    #[inline]
    fn finish(
        &mut self,
        lambda: f64,
        rest: f64,
        iterations: usize,
        sums: &Sums,
        sink: &mut impl Sink,
    ) -> Option<OmdInfo> {
        let total = commit(&self.inverse, &self.rates, (lambda, rest), &mut self.q, &mut self.next, sink);
        let residual = total - 1.0;
        if !(residual.abs() <= self.params.tolerance) {
            return None;
        }
        std::mem::swap(&mut self.inverse, &mut self.next);
        std::mem::swap(&mut self.p, &mut self.q);
        self.slope = sums.slope + 2.0 * sums.curve * rest;
        self.curve = sums.curve;
        Some(OmdInfo { lambda: lambda + rest, residual, iterations })
    }

    /// The guarded search, for any losses and rates.
    #[cold]
    #[inline(never)]
    fn search(&mut self, loss: impl Fn(usize) -> f64, sink: &mut impl Sink) -> Result<OmdInfo, OmdError> {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for (i, w) in self.inverse().iter().enumerate() {
            if w.is_finite() {
                least = least.min(loss(i));
                most = most.max(loss(i));
            }
        }
        if !(most > least) {
            // Equal losses move nothing: an exact no-op.
            return Ok(OmdInfo { lambda: least, ..OmdInfo::default() });
        }
        self.backup.copy_from_slice(&self.inverse);
        // w + eta (l - min l), whose root is in [0, max l - min l].
        self.count_from(Wide(least, 0.0), &loss);
        let sums = evaluate(&self.inverse, &self.rates, 0.0, &mut self.q);
        let start = sums.halley();
        let near = start * start * (self.largest * sums.slope) <= 0.25;
        if near && let Some(mut info) = self.descend(start, None, sink) {
            info.lambda += least;
            info.iterations += 1;
            return Ok(info);
        }
        self.bracketed(loss, (least, most), sink).inspect_err(|_| self.inverse.copy_from_slice(&self.backup))
    }

    /// Losses count from `frame`: w + eta (l - frame), from the w of before the step.
    fn count_from(&mut self, frame: Wide, loss: impl Fn(usize) -> f64) {
        let (rates, before) = (self.rates.as_flattened(), self.backup.as_flattened());
        for (i, w) in self.inverse.as_flattened_mut()[..self.size].iter_mut().enumerate() {
            *w = (before[i] + rates[i] * (loss(i) - frame.0)) - rates[i] * frame.1;
        }
    }

    /// Newton's method in a bracket. What is added to w and taken away again costs digits of it, so losses count from the
    /// least at first, and in the end from the root.
    fn bracketed(
        &mut self,
        loss: impl Fn(usize) -> f64,
        (least, most): (f64, f64),
        sink: &mut impl Sink,
    ) -> Result<OmdInfo, OmdError> {
        let (mut frame, mut low, mut high, mut lambda) = (Wide(least, 0.0), 0.0, most - least, 0.0);
        // Beyond (w_j - 1)/eta_j the next p_j would exceed 1; the pole is further right.
        for (w, e) in self.inverse().iter().zip(self.rates()) {
            high = high.min((w - 1.0) / e);
        }
        high = high.max(0.0);
        let mut residual = f64::INFINITY;
        for iterations in 1..=self.params.iterations {
            let sums = evaluate(&self.inverse, &self.rates, lambda, &mut self.q);
            residual = sums.total - 1.0;
            let rest = sums.halley();
            let close = rest * rest * (self.largest * sums.slope) <= SERIES * SERIES;
            if !close {
                if residual > 0.0 {
                    high = lambda;
                } else {
                    low = lambda;
                }
                let newton = lambda + sums.newton();
                let next = if newton > low && newton < high { newton } else { low + 0.5 * (high - low) };
                if next > low && next < high {
                    lambda = next;
                    continue;
                }
            } else if lambda == 0.0 || (frame.0 + lambda).abs() >= lambda.abs() {
                let Some(mut info) = self.finish(lambda, rest, iterations, &sums, sink) else { break };
                info.lambda += frame.0;
                return Ok(info);
            }
            // As near as can be seen from this frame.
            frame = frame.plus(lambda);
            self.count_from(frame, &loss);
            let reach = 4.0 * f64::EPSILON * lambda.abs().max(least.abs());
            (low, high, lambda) = (-reach, reach, 0.0);
        }
        Err(OmdError::Residual { residual: residual.abs(), iterations: self.params.iterations })
    }
}
