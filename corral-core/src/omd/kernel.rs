//! The two passes over the numbers of a step, in blocks that the compiler turns into vector code.

use std::array;
use std::iter::Sum;
use std::ops::Range;

use super::OmdInfo;

/// Numbers come in blocks, so that no loop has a remainder. What pads the last block has w infinite, eta and p zero.
pub(crate) type Block = [f64; WIDTH];
pub(crate) const WIDTH: usize = 8;
/// Independent sums: enough to hide the latency of an addition behind a division.
const LANES: usize = 4;
/// Blocks that are summed before their sum is added to the others': a million equal numbers, added one by one, are
/// all rounded the same way.
const RUN: usize = 128;

/// A one in each place of a block.
pub(crate) const ONE_HOT: [Block; WIDTH] = {
    let mut rows = [[0.0; WIDTH]; WIDTH];
    let mut i = 0;
    while i < WIDTH {
        rows[i][i] = 1.0;
        i += 1;
    }
    rows
};

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

impl<S: Sink> Sink for &mut S {
    #[inline(always)]
    fn take(&mut self, block: usize, p: &Block) {
        (**self).take(block, p);
    }

    #[inline(always)]
    fn take_two(&mut self, at: usize, p: f64, other: f64) {
        (**self).take_two(at, p, other);
    }
}

/// Where a step goes.
pub(crate) trait Target {
    /// Who is shown the next blocks.
    fn sink(&mut self) -> impl Sink;

    /// Is told of the step that was made.
    #[inline(always)]
    fn made(&mut self, _: OmdInfo) {}
}

/// Discards its input.
impl Sink for () {
    #[inline(always)]
    fn take(&mut self, _: usize, _: &Block) {}

    #[inline(always)]
    fn take_two(&mut self, _: usize, _: f64, _: f64) {}
}

/// F = sum 1/(w - eta lambda), its derivative F' and half its second derivative.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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

    /// How far F is from 1 after a small step.
    #[inline]
    pub fn residual(&self, rest: f64) -> f64 {
        (self.total - 1.0) + (self.slope + self.curve * rest) * rest
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

/// As [`fold`], where fewer registers count for more than latency.
#[inline(always)]
fn fold_narrow(sums: &mut [f64; 2], values: &Block) {
    for j in 0..2 {
        sums[j] += (values[j] + values[j + 4]) + (values[j + 2] + values[j + 6]);
    }
}

#[inline]
fn add(sums: [f64; LANES]) -> f64 {
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

impl Sum for Sums {
    fn sum<I: Iterator<Item = Self>>(runs: I) -> Self {
        runs.fold(Self::default(), |a, b| Self {
            total: a.total + b.total,
            slope: a.slope + b.slope,
            curve: a.curve + b.curve,
        })
    }
}

/// The sums of a run of blocks, in lanes.
struct Lanes {
    total: [f64; LANES],
    slope: [f64; 2],
    curve: [f64; 2],
}

impl Lanes {
    /// To -0 anything is added without an addition: -0 + x is x, and 0 + x is not where x is -0.
    const EMPTY: Self = Self { total: [-0.0; LANES], slope: [-0.0; 2], curve: [-0.0; 2] };

    #[inline(always)]
    fn sums(&self) -> Sums {
        Sums {
            total: add(self.total),
            slope: self.slope[0] + self.slope[1],
            curve: self.curve[0] + self.curve[1],
        }
    }
}

/// The sums at `lambda`; leaves the reciprocals in `q`, and `pace` times eta q^2 in `z`.
#[inline(always)]
pub(crate) fn evaluate(
    w: &[Block],
    rates: &[Block],
    (lambda, pace): (f64, f64),
    q: &mut [Block],
    z: &mut [Block],
) -> Sums {
    if w.len() <= RUN {
        evaluate_run(w, rates, (lambda, pace), q, z)
    } else {
        evaluate_long(w, rates, (lambda, pace), q, z)
    }
}

#[cold]
fn evaluate_long(w: &[Block], rates: &[Block], at: (f64, f64), q: &mut [Block], z: &mut [Block]) -> Sums {
    let runs = w.chunks(RUN).zip(rates.chunks(RUN)).zip(q.chunks_mut(RUN).zip(z.chunks_mut(RUN)));
    runs.map(|((w, rates), (q, z))| evaluate_run(w, rates, at, q, z)).sum()
}

#[inline(always)]
fn evaluate_run(
    w: &[Block],
    rates: &[Block],
    (lambda, pace): (f64, f64),
    q: &mut [Block],
    z: &mut [Block],
) -> Sums {
    let mut lanes = Lanes::EMPTY;
    let n = w.len();
    let (rates, q, z) = (&rates[..n], &mut q[..n], &mut z[..n]);
    for b in 0..n {
        let (w, e) = (&w[b], &rates[b]);
        let r: Block = array::from_fn(|i| 1.0 / (w[i] - e[i] * lambda));
        let er: Block = array::from_fn(|i| e[i] * r[i]);
        let err: Block = array::from_fn(|i| er[i] * r[i]);
        let eerrr: Block = array::from_fn(|i| er[i] * err[i]);
        q[b] = r;
        z[b] = array::from_fn(|i| err[i] * pace);
        fold(&mut lanes.total, &r);
        fold_narrow(&mut lanes.slope, &err);
        fold_narrow(&mut lanes.curve, &eerrr);
    }
    lanes.sums()
}

/// What is left of the way from an evaluation at lambda to the root: a product, whose second factor is known last.
#[derive(Clone, Copy)]
pub(crate) struct Rest {
    pub lambda: f64,
    pub pace: f64,
    pub missing: f64,
}

/// Moves on from an evaluation at `lambda` by a small `rest`, without a division:
///
/// ```text
/// p' = 1/(1/q - eta rest) = q (1 + y + y^2 + O(y^3)),   y = eta q rest,   w' = (w - eta lambda) - eta rest
/// ```
///
/// Where `SHORT`, y^2 is left out and w' is w - eta (lambda + rest): for a tiny rest, and a lambda that moves no w by more than half. Each
/// finished block of p' is shown to `sink`. Returns sum p'.
#[inline(always)]
pub(crate) fn commit<const SHORT: bool>(
    w: &mut [Block],
    rates: &[Block],
    at: Rest,
    (q, z): (&[Block], &[Block]),
    p: &mut [Block],
    sink: impl Sink,
) -> f64 {
    if w.len() <= RUN {
        commit_run::<SHORT>(0..w.len(), w, rates, at, (q, z), p, sink)
    } else {
        commit_long::<SHORT>(w, rates, at, (q, z), p, sink)
    }
}

#[cold]
#[inline(never)]
fn commit_long<const SHORT: bool>(
    w: &mut [Block],
    rates: &[Block],
    at: Rest,
    (q, z): (&[Block], &[Block]),
    p: &mut [Block],
    mut sink: impl Sink,
) -> f64 {
    let n = w.len();
    let runs = (0..n).step_by(RUN).map(|b| b..n.min(b + RUN));
    runs.map(|run| commit_run::<SHORT>(run, w, rates, at, (q, z), p, &mut sink)).sum()
}

#[inline(always)]
fn commit_run<const SHORT: bool>(
    run: Range<usize>,
    w: &mut [Block],
    rates: &[Block],
    Rest { lambda, pace, missing }: Rest,
    (q, z): (&[Block], &[Block]),
    p: &mut [Block],
    mut sink: impl Sink,
) -> f64 {
    let mut total = [-0.0; LANES];
    let (n, rest) = (run.end, pace * missing);
    let all = lambda + rest;
    let (w, rates, q, z, p) = (&mut w[..n], &rates[..n], &q[..n], &z[..n], &mut p[..n]);
    for b in run {
        let (old, e, r, z) = (w[b], &rates[b], &q[b], &z[b]);
        let next: Block;
        if SHORT {
            next = array::from_fn(|i| r[i] + z[i] * missing);
            w[b] = array::from_fn(|i| old[i] - e[i] * all);
        } else {
            next = array::from_fn(|i| r[i] + z[i] * missing * (1.0 + e[i] * r[i] * rest));
            w[b] = array::from_fn(|i| (old[i] - e[i] * lambda) - e[i] * rest);
        }
        p[b] = next;
        sink.take(b, &next);
        // Without a sum the compiler would take two blocks at once, and shuffle.
        fold(&mut total, &next);
    }
    add(total)
}
