//! The dense step: a pass or two over all numbers.

use super::kernel::{self, Block, ONE_HOT, Rest, Sink, Sums, WIDTH, blocks};
use super::{Losses, OmdError, OmdInfo, OmdParams, check_start, saved};

/// A distribution that moves by steps of Algorithm 2. Read back, it continues to the last bit.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(into = "saved::Saved", try_from = "saved::Saved")]
pub struct LogBarrier {
    pub(super) params: OmdParams,
    pub(super) size: usize,
    /// Probabilities above 0.
    active: usize,
    /// w = 1/p
    pub(super) inverse: Vec<Block>,
    pub(super) p: Vec<Block>,
    pub(super) rates: Vec<Block>,
    /// An upper bound of the rates.
    pub(super) largest: f64,
    /// What the last step left behind: S1 = sum eta p^2 and S2 = sum eta^2 p^3.
    pub(super) slope: f64,
    pub(super) curve: f64,
    /// 1/S1 and S2/S1^2, so that the next step need not wait for them.
    pace: f64,
    bend: f64,
    /// Room for reciprocals, and for the w of before a search.
    pub(super) q: Vec<Block>,
    pub(super) backup: Vec<Block>,
}

/// What a loss adds to w, and where.
#[derive(Clone, Copy)]
struct Charge {
    block: usize,
    lane: usize,
    push: f64,
}

/// Up to this x = eta l p the root is a series in x; beyond it Halley's formula is the better start.
const SMALL: f64 = 1.0 / 64.0;
/// A start must not move any eta_j p_j lambda by more than this: far enough from every pole.
const FAR: f64 = 0.5;
/// A series in z = eta q rest is cut after z^2: |z| up to this leaves less than half a unit in the last place.
pub(super) const SERIES: f64 = 4e-6;
/// Up to this it is cut after z.
const SHORT: f64 = 1e-8;

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
            pace: 0.0,
            bend: 0.0,
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
            Losses::OneHot { index, loss } => match self.step_one(index, loss, ())? {
                Some(info) => Ok(info),
                None => self.search_one(index, loss, ()),
            },
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
        self.weigh(self.slope + (rate - old) * p * p, self.curve + (rate * rate - old * old) * p * p * p);
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
        self.weigh(slope, curve);
    }

    #[inline]
    pub(super) fn weigh(&mut self, slope: f64, curve: f64) {
        let pace = 1.0 / slope;
        (self.slope, self.curve, self.pace, self.bend) = (slope, curve, pace, curve * pace * pace);
    }

    /// One step with a loss in one place, from a good start; `None` where there is none, and then [`search_one`](Self::search_one)
    /// makes it. Finished blocks of p are shown to `sink`.
    #[inline]
    pub(crate) fn step_one(
        &mut self,
        index: usize,
        loss: f64,
        sink: impl Sink,
    ) -> Result<Option<OmdInfo>, OmdError> {
        if index >= self.size {
            return Err(OmdError::Index { index, expected: self.size });
        }
        let (block, lane) = (index / WIDTH, index % WIDTH);
        let (p, eta) = (self.p[block][lane], self.rates[block][lane]);
        let push = eta * loss;
        if !(push.abs() <= 1e300) {
            return Err(OmdError::Loss { index, value: loss });
        }
        if push == 0.0 || p == 0.0 || self.active == 1 {
            return Ok(Some(OmdInfo::default()));
        }
        if self.size == 2 {
            return Ok(Some(self.step_two(index, loss, sink)));
        }
        let (charge, x) = (Charge { block, lane, push }, loss * (eta * p));
        Ok(if x.abs() <= SMALL {
            self.step_near(charge, (eta, p, x), sink)
        } else {
            self.step_far(charge, (eta, p, x), sink)
        })
    }

    /// From the root as a series in x. With a = e p^2/S1 and b = p S2/S1^2,
    ///
    /// ```text
    /// lambda = (p/S1) (x + k x^2 + m x^3 + ...),   k = 2a - 1 - b,   m = 1 - 3a (1 - a) - b^2 + 2 (a - b) k
    /// 1/F'   = (1/S1) (1 + 2 (a - b) x + ...)
    /// ```
    ///
    /// where the third of the sums, S3 = sum eta^3 p^4, is taken to be S2^2/S1 (docs/step.md, "How the root is found").
    #[inline(always)]
    fn step_near(
        &mut self,
        charge: Charge,
        (eta, p, x): (f64, f64, f64),
        mut sink: impl Sink,
    ) -> Option<OmdInfo> {
        let (a, b) = ((eta * self.pace) * (p * p), self.bend * p);
        let k = 2.0 * a - (1.0 + b);
        let m = (1.0 - 3.0 * a * (1.0 - a)) - b * b + 2.0 * (a - b) * k;
        let first = x * (p * self.pace);
        let lambda = first + (first * x) * (k + m * x);
        let pace = self.pace + self.pace * (2.0 * (a - b)) * x;
        if !(self.reach(lambda, self.slope) <= FAR * FAR) {
            return None;
        }
        let before = self.push(charge);
        let sums = kernel::evaluate::<false>(&self.inverse, &self.rates, lambda, &mut self.q);
        let missing = 1.0 - sums.total;
        let rest = missing * pace;
        // F' is at most 8 times what it was, and 1/F' is known but for about x^2 of it: what the sum lacks then is below rounding.
        if self.reach(rest, 8.0 * self.slope) <= SHORT * SHORT && missing.abs() * (x * x) <= 2e-17 {
            return Some(self.finish::<true>(Rest { lambda, pace, missing }, 1, &mut sink));
        }
        let info =
            self.approach(lambda, sink).map(|info| OmdInfo { iterations: info.iterations + 1, ..info });
        info.or_else(|| self.pull(charge, before))
    }

    /// From Halley's formula. At lambda = 0 only the term of the charged base differs from sum p = 1: it is p/y with y = 1 + x. So
    ///
    /// ```text
    /// 1 - F = x p/y,   F' = S1 - e p^2 + e p^2/y^2,   F''/2 = S2 - e^2 p^3 + e^2 p^3/y^3
    /// ```
    ///
    /// and with y multiplied out there is a single division.
    #[inline(never)]
    fn step_far(&mut self, charge: Charge, (eta, p, x): (f64, f64, f64), sink: impl Sink) -> Option<OmdInfo> {
        let y = 1.0 + x;
        let (epp, eeppp) = (eta * p * p, eta * eta * p * p * p);
        let missing = x * p;
        let slope = (self.slope - epp) * (y * y) + epp;
        let curve = (self.curve - eeppp) * (y * y) * y + eeppp;
        let lambda = missing * y * slope / (slope * slope + curve * missing);
        if !(x > -0.5 && self.reach(lambda, self.slope) <= FAR * FAR) {
            return None;
        }
        let before = self.push(charge);
        self.approach(lambda, sink).or_else(|| self.pull(charge, before))
    }

    /// Adds a charge to its w, and returns what that was.
    #[inline(always)]
    fn push(&mut self, Charge { block, lane, push }: Charge) -> f64 {
        let before = self.inverse[block][lane];
        // A single number that was just written would be slow to read back as part of a vector.
        for (w, hot) in self.inverse[block].iter_mut().zip(&ONE_HOT[lane]) {
            *w += hot * push;
        }
        before
    }

    /// Takes the charge back: no step was made.
    #[cold]
    fn pull(&mut self, Charge { block, lane, .. }: Charge, before: f64) -> Option<OmdInfo> {
        self.inverse[block][lane] = before;
        None
    }

    /// No (eta_j q_j lambda)^2 is larger than this, as eta_j q_j <= sqrt(max eta sum eta q^2).
    #[inline]
    pub(super) fn reach(&self, lambda: f64, slope: f64) -> f64 {
        lambda * lambda * (self.largest * slope)
    }

    /// One step with a loss everywhere.
    pub(crate) fn step_all(&mut self, losses: &[f64], sink: impl Sink) -> Result<OmdInfo, OmdError> {
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
            let mut info = self.step_one(index, loss, sink)?.unwrap_or_default();
            info.lambda += losses[1 - index];
            return Ok(info);
        }
        self.search(|i| losses[i], sink)
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
    fn step_two(&mut self, index: usize, loss: f64, mut sink: impl Sink) -> OmdInfo {
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

    /// From an evaluation near the root, w being w + eta l already: seldom more than one other. `None` where the start was not good
    /// enough.
    #[inline(never)]
    pub(super) fn approach(&mut self, mut lambda: f64, mut sink: impl Sink) -> Option<OmdInfo> {
        for iterations in 1..=4 {
            let sums = self.evaluate(lambda);
            let rest = sums.halley();
            let reach = self.reach(rest, sums.slope);
            if reach <= SERIES * SERIES {
                let solved = sums.residual(rest).abs() <= self.params.tolerance;
                return solved.then(|| {
                    self.finish::<false>(Rest { lambda, pace: rest, missing: 1.0 }, iterations, &mut sink)
                });
            }
            if !(reach <= FAR * FAR) {
                return None;
            }
            lambda += rest;
        }
        None
    }

    pub(super) fn evaluate(&mut self, lambda: f64) -> Sums {
        kernel::evaluate::<true>(&self.inverse, &self.rates, lambda, &mut self.q)
    }

    /// Goes the rest of the way.
    #[inline(always)]
    pub(super) fn finish<const SHORT: bool>(
        &mut self,
        rest: Rest,
        iterations: usize,
        sink: &mut impl Sink,
    ) -> OmdInfo {
        let Self { inverse, rates, q, p, .. } = self;
        let sums = kernel::commit::<SHORT>(inverse, rates, rest, q, p, sink);
        self.weigh(sums.slope, sums.curve);
        OmdInfo { lambda: rest.lambda + rest.pace * rest.missing, residual: sums.total - 1.0, iterations }
    }
}
