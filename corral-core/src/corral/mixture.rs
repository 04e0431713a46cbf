//! Line "Set pbar": pbar = (1 - gamma) p + gamma/M, with the sums that make drawing from it fast.

use crate::omd::{Block, WIDTH};

/// pbar in blocks of 8, the sum of each block, and of each 8 blocks.
#[derive(Debug, Clone)]
pub(super) struct Mixture {
    /// 1 - gamma
    keep: f64,
    /// gamma/M; 0 for a retired base, and for what pads the last block.
    floor: Vec<Block>,
    mixed: Vec<Block>,
    sums: Vec<Block>,
    tops: Vec<f64>,
}

impl Mixture {
    pub fn new(size: usize) -> Self {
        let blocks = size.div_ceil(WIDTH);
        let groups = blocks.div_ceil(WIDTH);
        Self {
            keep: 1.0,
            floor: vec![[0.0; WIDTH]; blocks],
            mixed: vec![[0.0; WIDTH]; blocks],
            sums: vec![[0.0; WIDTH]; groups],
            tops: vec![0.0; groups],
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
    pub fn mixed(&self) -> &[f64] {
        self.mixed.as_flattened()
    }

    /// Takes in the blocks of p one by one; [`total`](Self::total) finishes.
    #[inline]
    pub fn sink(&mut self) -> impl FnMut(usize, &Block) {
        let Self { keep, floor, mixed, sums, .. } = self;
        let keep = *keep;
        let sums = sums.as_flattened_mut();
        move |b, p| {
            let (floor, mixed) = (&floor[b], &mut mixed[b]);
            // pbar = (1 - gamma) p + gamma/M        Algorithm 1
            for i in 0..WIDTH {
                mixed[i] = keep * p[i] + floor[i];
            }
            let m = &*mixed;
            sums[b] = ((m[0] + m[4]) + (m[2] + m[6])) + ((m[1] + m[5]) + (m[3] + m[7]));
        }
    }

    /// Finishes the sums after the blocks were taken in.
    #[inline]
    pub fn total(&mut self) {
        for (top, s) in self.tops.iter_mut().zip(&self.sums) {
            *top = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        }
    }

    /// Takes in all of p.
    pub fn fill(&mut self, p: &[Block]) {
        let mut sink = self.sink();
        for (b, block) in p.iter().enumerate() {
            sink(b, block);
        }
        drop(sink);
        self.total();
    }

    /// The place where the distribution function passes `u` in [0, 1).
    #[inline]
    pub fn at(&self, u: f64) -> usize {
        let mut left = u;
        let mut top = 0;
        while top + 1 < self.tops.len() && left >= self.tops[top] {
            left -= self.tops[top];
            top += 1;
        }
        let block = if self.mixed.len() > 1 {
            let (block, rest) = pick(&self.sums[top], left);
            left = rest;
            top * WIDTH + block
        } else {
            0
        };
        let (mut lane, _) = pick(&self.mixed[block], left);
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

/// Where the partial sums of `values` pass `left`, and what is left of it there; without a branch.
#[inline]
fn pick(values: &Block, left: f64) -> (usize, f64) {
    let mut sums = *values;
    for i in 1..WIDTH {
        sums[i] += sums[i - 1];
    }
    let mut place = 0;
    let mut before = 0.0;
    for sum in &sums[..WIDTH - 1] {
        let passed = left >= *sum;
        place += usize::from(passed);
        before = if passed { *sum } else { before };
    }
    (place, left - before)
}
