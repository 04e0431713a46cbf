//! The two passes over the numbers of a step, in blocks that the compiler turns into vector code.

use std::array;
use std::ops::Range;

/// Numbers come in blocks, so that no loop has a remainder. What pads the last block has w infinite, eta and p zero.
pub(crate) type Block = [f64; WIDTH];
pub(crate) const WIDTH: usize = 8;
/// Independent sums: enough to hide the latency of an addition behind a division.
const LANES: usize = 4;
/// Blocks that are summed before their sum is added to the others': a million equal numbers, added one by one, are
/// all rounded the same way.
const RUN: usize = 128;

/// The blocks of `values`, padded with `pad`.
pub(crate) fn blocks(values: impl ExactSizeIterator<Item = f64>, pad: f64) -> Vec<Block> {
    let mut out = vec![[pad; WIDTH]; values.len().div_ceil(WIDTH)];
    for (slot, value) in out.as_flattened_mut().iter_mut().zip(values) {
        *slot = value;
    }
    out
}

/// Who is shown the blocks of the next p as they are finished.
pub(crate) trait Sink {
    fn take(&mut self, block: usize, p: &Block);

    /// As [`take`](Self::take), of the only two: `p` is that of `at`.
    fn take_two(&mut self, at: usize, p: f64, other: f64);
}

/// Nobody.
impl Sink for () {
    #[inline(always)]
    fn take(&mut self, _: usize, _: &Block) {}

    #[inline(always)]
    fn take_two(&mut self, _: usize, _: f64, _: f64) {}
}

/// F = sum 1/(w - eta lambda), its derivative F' and half its second derivative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sums {
    pub total: f64,
    pub slope: f64,
    pub curve: f64,
}

impl Sums {
    /// The step from here to the root of F - 1, by Halley's formula: the error is of third order.
    #[inline]
    pub fn halley(&self) -> f64 {
        let missing = 1.0 - self.total;
        missing * self.slope / (self.slope * self.slope + self.curve * missing)
    }

    /// The step from here to the root of 1/F - 1 by Newton's formula, which never overshoots from the right.
    #[inline]
    pub fn newton(&self) -> f64 {
        (1.0 - self.total) * self.total / self.slope
    }
}

#[inline(always)]
fn fold(sums: &mut [f64; LANES], values: &Block) {
    for j in 0..LANES {
        sums[j] += values[j] + values[j + LANES];
    }
}

#[inline]
fn add(sums: [f64; LANES]) -> f64 {
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// The sums at `lambda`; leaves the reciprocals in `q`.
#[inline]
pub(crate) fn evaluate(w: &[Block], rates: &[Block], lambda: f64, q: &mut [Block]) -> Sums {
    if w.len() <= RUN {
        return evaluate_run(w, rates, lambda, q);
    }
    evaluate_long(w, rates, lambda, q)
}

#[cold]
fn evaluate_long(w: &[Block], rates: &[Block], lambda: f64, q: &mut [Block]) -> Sums {
    let mut sums = Sums { total: 0.0, slope: 0.0, curve: 0.0 };
    for ((w, rates), q) in w.chunks(RUN).zip(rates.chunks(RUN)).zip(q.chunks_mut(RUN)) {
        let run = evaluate_run(w, rates, lambda, q);
        sums.total += run.total;
        sums.slope += run.slope;
        sums.curve += run.curve;
    }
    sums
}

#[inline(always)]
fn evaluate_run(w: &[Block], rates: &[Block], lambda: f64, q: &mut [Block]) -> Sums {
    let (mut total, mut slope, mut curve) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let n = w.len();
    let (rates, q) = (&rates[..n], &mut q[..n]);
    for b in 0..n {
        let (w, e) = (&w[b], &rates[b]);
        let r: Block = array::from_fn(|i| 1.0 / (w[i] - e[i] * lambda));
        let er: Block = array::from_fn(|i| e[i] * r[i]);
        let err: Block = array::from_fn(|i| er[i] * r[i]);
        let eerrr: Block = array::from_fn(|i| er[i] * err[i]);
        q[b] = r;
        fold(&mut total, &r);
        fold(&mut slope, &err);
        fold(&mut curve, &eerrr);
    }
    Sums { total: add(total), slope: add(slope), curve: add(curve) }
}

/// Moves on from the reciprocals `q` at `lambda` by a small `rest`, without a division: with z = eta q rest,
///
/// ```text
/// p' = 1/(1/q - eta rest) = q (1 + z + z^2 + O(z^3)),   w' = (w - eta lambda) - eta rest
/// ```
///
/// `q` becomes p', `next` w', and each finished block of p' is shown to `sink`. Returns sum p'.
#[inline]
pub(crate) fn commit(
    w: &[Block],
    rates: &[Block],
    (lambda, rest): (f64, f64),
    q: &mut [Block],
    next: &mut [Block],
    sink: &mut impl Sink,
) -> f64 {
    let n = w.len();
    if n <= RUN {
        return commit_run(0..n, w, rates, (lambda, rest), q, next, sink);
    }
    commit_long(w, rates, (lambda, rest), q, next, sink)
}

#[cold]
fn commit_long(
    w: &[Block],
    rates: &[Block],
    at: (f64, f64),
    q: &mut [Block],
    next: &mut [Block],
    sink: &mut impl Sink,
) -> f64 {
    let runs = (0..w.len()).step_by(RUN).map(|b| b..w.len().min(b + RUN));
    runs.map(|run| commit_run(run, w, rates, at, q, next, sink)).sum()
}

#[inline(always)]
fn commit_run(
    run: Range<usize>,
    w: &[Block],
    rates: &[Block],
    (lambda, rest): (f64, f64),
    q: &mut [Block],
    next: &mut [Block],
    sink: &mut impl Sink,
) -> f64 {
    let n = run.end;
    let (w, rates, q, next) = (&w[..n], &rates[..n], &mut q[..n], &mut next[..n]);
    let mut total = [0.0; LANES];
    for b in run {
        let (w, e, r) = (&w[b], &rates[b], &q[b]);
        // Written so that little waits for `rest`.
        let er: Block = array::from_fn(|i| e[i] * r[i]);
        let err: Block = array::from_fn(|i| er[i] * r[i]);
        let p: Block = array::from_fn(|i| r[i] + err[i] * rest * (1.0 + er[i] * rest));
        next[b] = array::from_fn(|i| (w[i] - e[i] * lambda) - e[i] * rest);
        q[b] = p;
        fold(&mut total, &p);
        sink.take(b, &p);
    }
    add(total)
}
