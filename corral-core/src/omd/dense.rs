//! The dense step: a pass or two over all numbers.

use super::kernel::{self, Block, ONE_HOT, Rest, Sink, Sums, Target, WIDTH, blocks};
use super::{Losses, OmdError, OmdInfo, OmdParams, check_start, saved};
use crate::error::seldom;

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
    /// What the last step left behind: S1 = sum eta p^2, and 1/S1, so that the next step need not wait for it.
    pub(super) slope: f64,
    pace: f64,
    /// S2 = sum eta^2 p^3, and S2/S1^2.
    pub(super) curve: f64,
    bend: f64,
    /// sum p - 1
    residual: f64,
    /// Buffers for what an evaluation leaves behind, and for the w before a search.
    pub(super) q: Vec<Block>,
    z: Vec<Block>,
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
            pace: 0.0,
            curve: 0.0,
            bend: 0.0,
            residual: 0.0,
            q: blocks(inverse.iter().map(|_| 0.0), 0.0),
            z: blocks(inverse.iter().map(|_| 0.0), 0.0),
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

    /// sum p - 1, as the last step left it.
    pub fn residual(&self) -> f64 {
        self.residual
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
        let mut report = Report::default();
        match losses {
            Losses::OneHot { index, loss } => {
                if !self.step_one(index, loss, 1.0, &mut report)? {
                    self.search_one(index, loss, &mut report)?;
                }
            }
            Losses::Dense(losses) => self.step_all(losses, &mut report)?,
        }
        Ok(report.0)
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

    /// One step with a loss in one place, from a good start; `false` where there is none, and then [`search_one`](Self::search_one)
    /// makes it. The loss is a product, whose second factor is known last. Finished blocks of p are shown to `target`.
    #[inline]
    pub(crate) fn step_one(
        &mut self,
        index: usize,
        loss: f64,
        weight: f64,
        target: &mut impl Target,
    ) -> Result<bool, OmdError> {
        if index >= self.size {
            return Err(seldom(OmdError::Index { index, expected: self.size }));
        }
        let (block, lane) = (index / WIDTH, index % WIDTH);
        let (p, eta) = (self.p.as_flattened()[index], self.rates.as_flattened()[index]);
        let (push, share) = ((eta * loss) * weight, (eta * p) * loss);
        if !(push.abs() <= 1e300) {
            return Err(seldom(OmdError::Loss { index, value: loss * weight }));
        }
        let (charge, x) = (Charge { block, lane, push }, share * weight);
        if self.size > 2 && x.abs() <= SMALL && x != 0.0 && self.active > 1 {
            return Ok(match self.inverse.len() {
                // Most bands are this small, and need no loop.
                1 => self.step_near(1, charge, (eta, p, share, weight), target),
                n => self.step_near(n, charge, (eta, p, share, weight), target),
            });
        }
        if push == 0.0 || p == 0.0 || self.active == 1 {
            return Ok(true);
        }
        if self.size == 2 {
            self.step_two(index, loss, weight, target);
            return Ok(true);
        }
        Ok(self.step_far(charge, (eta, p, x), target))
    }

    /// From the root as a series in x = `share` times `weight`. With a = e p^2/S1 and b = p S2/S1^2,
    ///
    /// ```text
    /// lambda = (p/S1) (x + k x^2 + m x^3 + ...),   k = 2a - 1 - b,   m = 7a^2 - (5 + 6b) a + (1 + b)^2
    /// 1/F'   = (1/S1) (1 + 2 (a - b) x + ...)
    /// ```
    ///
    /// where the third of the sums, S3 = sum eta^3 p^4, is taken to be S2^2/S1 (docs/step.md, "How the root is found"). `n` is the
    /// number of blocks. Nothing between the weight and the new p waits that need not: not for a branch, and not for memory.
    #[inline(always)]
    fn step_near(
        &mut self,
        n: usize,
        charge: Charge,
        (eta, p, share, weight): (f64, f64, f64, f64),
        target: &mut impl Target,
    ) -> bool {
        let (ep, step, b) = (eta * p, p * self.pace, self.bend * p);
        let a = ep * step;
        let k = 2.0 * a - (1.0 + b);
        let m = (ep * (p * (7.0 * self.pace)) - (5.0 + 6.0 * b)) * a + (1.0 + b) * (1.0 + b);
        let (x, first) = (share * weight, (share * step) * weight);
        let lambda = first + (first * x) * (k + m * x);
        let pace = self.pace * (1.0 + 2.0 * (a - b) * x);
        // Where lambda is near enough to be evaluated at, F' is at most 8 times what it was, and 1/F' is known but for about x^2 of it:
        // the rest of the way is tiny where `most` times the square of what the sum lacks is at most 1, and what it lacks
        // then is below rounding.
        let near = self.reach(lambda, self.slope) <= FAR * FAR;
        let most = (8.0 / (SHORT * SHORT)) * (self.largest * pace) + 2.5e33 * (x * x) * (x * x);
        let before = self.push(charge);
        let Self { inverse, rates, q, z, p, .. } = self;
        let (w, rates, p) = (&mut inverse[..n], &rates[..n], &mut p[..n]);
        // What a single block leaves behind need not go through memory.
        let (mut one, mut other) = ([[0.0; WIDTH]], [[0.0; WIDTH]]);
        let (q, z) = if n == 1 { (&mut one[..], &mut other[..]) } else { (&mut q[..n], &mut z[..n]) };
        let sums = kernel::evaluate(w, rates, (lambda, pace), q, z);
        let missing = 1.0 - sums.total;
        if near && missing * missing * most <= 1.0 {
            let rest = Rest { lambda, pace, missing };
            let total = kernel::commit::<true>(w, rates, rest, (q, z), p, target.sink());
            self.finished(Sums { total, ..sums }, rest, 1, target);
            return true;
        }
        self.retry(near.then_some(lambda), charge, before, target)
    }

    /// Goes on from where one evaluation was not enough, or, without a lambda, gives up.
    #[cold]
    #[inline(never)]
    fn retry(&mut self, lambda: Option<f64>, charge: Charge, before: f64, target: &mut impl Target) -> bool {
        let mut later = Shifted { target, lambda: 0.0, iterations: 1 };
        lambda.is_some_and(|lambda| self.approach(lambda, &mut later)) || self.pull(charge, before)
    }

    /// From Halley's formula. At lambda = 0 only the term of the charged base differs from sum p = 1: it is p/y with y = 1 + x. So
    ///
    /// ```text
    /// 1 - F = x p/y,   F' = S1 - e p^2 + e p^2/y^2,   F''/2 = S2 - e^2 p^3 + e^2 p^3/y^3
    /// ```
    ///
    /// and with y multiplied out there is a single division.
    #[inline(never)]
    fn step_far(&mut self, charge: Charge, (eta, p, x): (f64, f64, f64), target: &mut impl Target) -> bool {
        let y = 1.0 + x;
        let (epp, eeppp) = (eta * p * p, eta * eta * p * p * p);
        let missing = x * p;
        let slope = (self.slope - epp) * (y * y) + epp;
        let curve = (self.curve - eeppp) * (y * y) * y + eeppp;
        let lambda = missing * y * slope / (slope * slope + curve * missing);
        if !(x > -0.5 && self.reach(lambda, self.slope) <= FAR * FAR) {
            return false;
        }
        let before = self.push(charge);
        self.approach(lambda, target) || self.pull(charge, before)
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
    fn pull(&mut self, Charge { block, lane, .. }: Charge, before: f64) -> bool {
        self.inverse[block][lane] = before;
        false
    }

    /// No (eta_j q_j lambda)^2 is larger than this, as eta_j q_j <= sqrt(max eta sum eta q^2).
    #[inline]
    pub(super) fn reach(&self, lambda: f64, slope: f64) -> f64 {
        lambda * lambda * (self.largest * slope)
    }

    /// One step with a loss everywhere.
    pub(crate) fn step_all(&mut self, losses: &[f64], target: &mut impl Target) -> Result<(), OmdError> {
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
            let mut target = Shifted { target, lambda: losses[1 - index], iterations: 0 };
            return self.step_one(index, loss, 1.0, &mut target).map(|_| ());
        }
        self.search(|i| losses[i], target)
    }

    /// Two probabilities in closed form. Without lambda, with a and b the rates of the charged base i and of the other one j,
    ///
    /// ```text
    /// b/p_i - a/p_j = K,   K = b w_i - a w_j + a b l,   p_i + p_j = 1
    /// p_i = 2b/(s + r),   s = K + a + b,   r = sqrt((K + a - b)^2 + 4ab)
    /// ```
    ///
    /// of which the smaller of the two is computed, and the other is what it leaves of 1.
    #[inline(never)]
    fn step_two(&mut self, index: usize, loss: f64, weight: f64, target: &mut impl Target) {
        let (i, j) = (index & 1, index & 1 ^ 1);
        let (a, b) = (self.rates[0][i], self.rates[0][j]);
        let (before, charge) = (b * self.inverse[0][i] - a * self.inverse[0][j], (a * b * loss) * weight);
        let (k, middle, loss) = (before + charge, (before + (a - b)) + charge, loss * weight);
        let root = (middle * middle + 4.0 * a * b).sqrt();
        // p_i <= 1/2 where K >= 2 (b - a). By symmetry p_j has -K for K, and a for b. Either may be the smaller one: signs and places
        // are computed, not branched on.
        let second = usize::from(middle + (a - b) < 0.0);
        let (at, other) = (i ^ second, j ^ second);
        let (key, top) = (f64::from_bits(k.to_bits() ^ ((second as u64) << 63)), self.rates[0][other]);
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
        target.sink().take_two(at, small, large);
        self.residual = (small + large) - 1.0;
        target.made(OmdInfo { lambda, residual: self.residual, iterations: 0 });
    }

    /// From an evaluation near the root, w being w + eta l already: seldom more than one other. `false` where the start was not good
    /// enough.
    #[inline(never)]
    pub(super) fn approach(&mut self, mut lambda: f64, target: &mut impl Target) -> bool {
        for iterations in 1..=4 {
            let sums = self.evaluate(lambda);
            let rest = sums.halley();
            let reach = self.reach(rest, sums.slope);
            if reach <= SERIES * SERIES {
                let solved = sums.residual(rest).abs() <= self.params.tolerance;
                if solved {
                    self.finish((sums, lambda, rest), iterations, target);
                }
                return solved;
            }
            if !(reach <= FAR * FAR) {
                return false;
            }
            lambda += rest;
        }
        false
    }

    pub(super) fn evaluate(&mut self, lambda: f64) -> Sums {
        kernel::evaluate(&self.inverse, &self.rates, (lambda, 1.0), &mut self.q, &mut self.z)
    }

    /// Goes the `rest` of the way from an evaluation at lambda.
    #[inline(always)]
    pub(super) fn finish(
        &mut self,
        (sums, lambda, rest): (Sums, f64, f64),
        iterations: usize,
        target: &mut impl Target,
    ) {
        let Self { inverse, rates, q, z, p, .. } = self;
        let rest = Rest { lambda, pace: 1.0, missing: rest };
        let total = kernel::commit::<false>(inverse, rates, rest, (q, z), p, target.sink());
        self.finished(Sums { total, ..sums }, rest, iterations, target);
    }

    #[inline(always)]
    fn finished(&mut self, sums: Sums, rest: Rest, iterations: usize, target: &mut impl Target) {
        self.weigh(sums.slope, sums.curve);
        self.residual = sums.total - 1.0;
        let lambda = rest.lambda + rest.pace * rest.missing;
        target.made(OmdInfo { lambda, residual: self.residual, iterations });
    }
}

/// What was made, for who asks.
#[derive(Default)]
struct Report(OmdInfo);

impl Target for Report {
    fn sink(&mut self) -> impl Sink {}

    fn made(&mut self, info: OmdInfo) {
        self.0 = info;
    }
}

/// A target that is told of a lambda that counts from another place, after evaluations before these.
pub(super) struct Shifted<'a, T> {
    pub target: &'a mut T,
    pub lambda: f64,
    pub iterations: usize,
}

impl<T: Target> Target for Shifted<'_, T> {
    fn sink(&mut self) -> impl Sink {
        self.target.sink()
    }

    fn made(&mut self, info: OmdInfo) {
        let (lambda, iterations) = (info.lambda + self.lambda, info.iterations + self.iterations);
        self.target.made(OmdInfo { lambda, iterations, ..info });
    }
}
