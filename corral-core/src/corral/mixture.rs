//! Line "Set pbar": pbar = (1 - gamma) p + gamma/M, with the sums that make drawing from it fast.

use std::array;

use crate::omd::{Block, Sink, Target, WIDTH};

/// pbar in blocks of 8; where there are more than 8 blocks, the sum of each block, and of each 8 blocks.
#[derive(Debug, Clone)]
pub(super) struct Mixture {
    /// 1 - gamma
    keep: f64,
    /// gamma/M; 0 for a retired base, and for what pads the last block.
    floor: Vec<Block>,
    mixed: Vec<Block>,
    sums: Vec<Block>,
    tops: Vec<f64>,
    /// There are two places only.
    two: bool,
}

impl Mixture {
    pub fn new(size: usize) -> Self {
        let blocks = size.div_ceil(WIDTH);
        let groups = if blocks > WIDTH { blocks.div_ceil(WIDTH) } else { 0 };
        Self {
            keep: 1.0,
            floor: vec![[0.0; WIDTH]; blocks],
            mixed: vec![[0.0; WIDTH]; blocks],
            sums: vec![[0.0; WIDTH]; groups],
            tops: vec![0.0; groups],
            two: size == 2,
        }
    }

    /// Mixes with weight `gamma`, spread evenly over the places that are `active`.
    pub fn set(&mut self, gamma: f64, size: usize, active: impl Fn(usize) -> bool) {
        let count = (0..size).filter(|i| active(*i)).count();
        self.keep = 1.0 - gamma;
        for (i, floor) in self.floor.as_flattened_mut().iter_mut().enumerate() {
            *floor = if i < size && active(i) { gamma / count as f64 } else { 0.0 };
        }
    }

    /// The distribution pbar, and what pads it.
    #[inline]
    pub fn mixed(&self) -> &[f64] {
        self.mixed.as_flattened()
    }

    /// Finishes the sums after the blocks were taken in.
    #[inline]
    pub fn total(&mut self) {
        for (top, s) in self.tops.iter_mut().zip(&self.sums) {
            *top = sum(s);
        }
    }

    /// Takes in all of p.
    pub fn fill(&mut self, p: &[Block]) {
        {
            let mut sink = self.sink();
            p.iter().enumerate().for_each(|(b, block)| sink.take(b, block));
        }
        self.total();
    }

    /// The place where the distribution function passes `u` in [0, 1).
    #[inline]
    pub fn at(&self, u: f64) -> usize {
        if self.two {
            let second = u >= self.mixed[0][0];
            // Rounding may lead past the only place that is left.
            return usize::from(if self.mixed[0][usize::from(second)] > 0.0 { second } else { !second });
        }
        let mut left = u;
        let blocks = self.mixed.len();
        let block = if blocks == 1 {
            0
        } else if blocks <= WIDTH {
            // Few enough to be summed now: what was just written in pieces is slow to read back as a whole.
            let (mut block, mut passed, mut sums) = (0, 0.0, [0.0; WIDTH]);
            for (b, mixed) in self.mixed[..blocks - 1].iter().enumerate() {
                passed += sum(mixed);
                sums[b + 1] = passed;
                block = if left >= passed { b + 1 } else { block };
            }
            left -= sums[block & (WIDTH - 1)];
            block
        } else {
            let mut top = 0;
            while top + 1 < self.tops.len() && left >= self.tops[top] {
                left -= self.tops[top];
                top += 1;
            }
            let (block, before) = pick(&self.sums[top], left);
            left -= before;
            (top * WIDTH + block).min(blocks - 1)
        };
        let mut lane = pick(&self.mixed[block], left).0;
        // Rounding may lead past the last place of positive probability of its block.
        while self.mixed[block][lane] == 0.0 {
            if lane == 0 {
                return self.last();
            }
            lane -= 1;
        }
        block * WIDTH + lane
    }

    /// The last place of positive probability, for a `u` that rounding leads past everything.
    #[cold]
    fn last(&self) -> usize {
        self.mixed().iter().rposition(|p| *p > 0.0).unwrap_or(0)
    }
}

/// Blocks of p are taken in one by one; [`total`](Mixture::total) finishes.
impl Target for Mixture {
    #[inline(always)]
    fn sink(&mut self) -> impl Sink {
        let Self { keep, floor, mixed, sums, .. } = self;
        Taker { keep: *keep, floor, mixed, sums: sums.as_flattened_mut() }
    }
}

/// Turns blocks of p into blocks of pbar and their sums.
pub(super) struct Taker<'a> {
    keep: f64,
    floor: &'a [Block],
    mixed: &'a mut [Block],
    sums: &'a mut [f64],
}

impl Sink for Taker<'_> {
    #[inline(always)]
    fn take(&mut self, b: usize, p: &Block) {
        let floor = &self.floor[b];
        // pbar = (1 - gamma) p + gamma/M        Algorithm 1
        let m: Block = array::from_fn(|i| self.keep * p[i] + floor[i]);
        self.mixed[b] = m;
        if let Some(slot) = self.sums.get_mut(b) {
            *slot = sum(&m);
        }
    }

    #[inline(always)]
    fn take_two(&mut self, at: usize, p: f64, other: f64) {
        let (floor, mixed) = (&self.floor[0], &mut self.mixed[0]);
        let (i, j) = (at & 1, at & 1 ^ 1);
        (mixed[i], mixed[j]) = (self.keep * p + floor[i], self.keep * other + floor[j]);
    }
}

#[inline(always)]
fn sum(m: &Block) -> f64 {
    ((m[0] + m[4]) + (m[2] + m[6])) + ((m[1] + m[5]) + (m[3] + m[7]))
}

/// Where the partial sums of `values` pass `left`, and the partial sum before; without a branch.
#[inline(always)]
fn pick(v: &Block, left: f64) -> (usize, f64) {
    let (a, b, c) = (v[0] + v[1], v[2] + v[3], v[4] + v[5]);
    let half = a + b;
    let sums = [0.0, v[0], a, a + v[2], half, half + v[4], half + c, half + (c + v[6])];
    let place: usize = sums[1..].iter().map(|s| usize::from(left >= *s)).sum();
    (place, sums[place & (WIDTH - 1)])
}
