//! The probability with which each of several jointly normal numbers is the lowest: an estimate from fixed draws.
//!
//! The numbers are seen from the one with the lowest mean, the leader. Of the others those are left out that are below it
//! with a probability of less than 4e-6. The rest differ from it by gap_b + <L_b, g>, g standard normal, where the first
//! coordinate of g is the direction of the strongest rival. That one is integrated: given the other coordinates the numbers
//! are lines, and each is the lowest of all in an interval. The other coordinates are drawn, [`DRAWS`] times, in pairs g and -g.
//!
//! So the probabilities sum to 1, and are exact where two numbers are left; else the standard error is at most
//! 1/(2 sqrt(DRAWS)) = 0.04, mostly a few times smaller. The draws are fixed: the same question has the same answer.

use std::array::from_fn;

use corral_core::normal;

use crate::phi::phi;
use crate::regression::{dot, packed};
use crate::seeded::Seeded;

/// Draws of jointly normal numbers.
const DRAWS: usize = 128;
const PAIRS: usize = DRAWS / 2;
/// No number that can be the lowest has a smaller probability: what was drawn is never said to be impossible.
const FLOOR: f64 = 4e-5;
/// A number whose mean is more deviations above that of the leader is left out.
const HOPELESS: f64 = 4.5;

/// One number for each draw.
type Draws = [f64; DRAWS];

/// Buffers for the numbers that were looked at last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Joint {
    /// Fixed draws of each coordinate but the first.
    draws: Vec<[f64; PAIRS]>,
    leader: usize,
    /// Whether each number is the leader, or differs from it by more than its mean; how many do.
    possible: Vec<bool>,
    count: usize,
    /// Those that are not left out: deviations of the mean from the leader's, and which. The strongest comes first.
    rivals: Vec<(f64, usize)>,
    /// By how much each number differs from the leader, in `dim` dimensions.
    differences: Vec<f64>,
    /// L, packed.
    lower: Vec<f64>,
    /// The lines of leader and rivals: where they are at 0 in each draw, and how fast they rise.
    heights: Vec<Draws>,
    slopes: Vec<f64>,
}

impl Joint {
    /// Number a is means[a] + <rows[a], g>, g standard normal in `dim` dimensions; of equal numbers the first is the lowest.
    pub fn look(&mut self, means: &[f64], rows: &[f64], dim: usize) {
        let row = |a: usize| &rows[a * dim..(a + 1) * dim];
        let (leader, lowest) = corral_core::vectors::lowest(means.iter().copied());
        let size = dot(row(leader), row(leader));
        self.leader = leader;
        self.possible.clear();
        self.rivals.clear();
        self.differences.clear();
        for (b, mean) in means.iter().enumerate() {
            self.differences.extend(row(b).iter().zip(row(leader)).map(|(b, l)| b - l));
            let difference = &self.differences[b * dim..];
            let square = dot(difference, difference);
            let differs = square > 1e-24 * (dot(row(b), row(b)) + size);
            self.possible.push(differs || b == leader);
            let far = (mean - lowest) / square.sqrt();
            if differs && far < HOPELESS {
                self.rivals.push((far, b));
            }
        }
        self.count = self.possible.iter().filter(|possible| **possible).count();
        self.rivals.sort_unstable_by(|(a, i), (b, j)| a.total_cmp(b).then(i.cmp(j)));
        self.factorise(dim);
        self.draw_lines(|b| means[b] - lowest);
    }

    /// L of the rivals' differences, L L^T their products.
    fn factorise(&mut self, dim: usize) {
        let Self { rivals, differences, lower, .. } = self;
        let difference = |b: usize| &differences[b * dim..(b + 1) * dim];
        lower.clear();
        for (i, (_, b)) in rivals.iter().enumerate() {
            lower.extend(rivals[..=i].iter().map(|(_, c)| dot(difference(*b), difference(*c))));
        }
        let largest = (0..rivals.len()).map(|i| lower[packed::size(i) + i]).fold(0.0, f64::max);
        // A direction that is nearly one of those before it is one of them.
        packed::factorise(lower, rivals.len(), |pivot| {
            Some(if pivot > 1e-12 * largest { pivot.sqrt() } else { 0.0 })
        });
    }

    fn draw_lines(&mut self, gap: impl Fn(usize) -> f64) {
        let Self { draws, rivals, lower, heights, slopes, .. } = self;
        while draws.len() + 1 < rivals.len() {
            let mut rng = Seeded(draws.len() as u64);
            draws.push(from_fn(|_| normal(&mut rng)));
        }
        heights.clear();
        slopes.clear();
        heights.push([0.0; DRAWS]);
        slopes.push(0.0);
        for (i, (_, b)) in rivals.iter().enumerate() {
            let factors = &lower[packed::size(i)..=packed::size(i) + i];
            let mut sums = [0.0; PAIRS];
            for (factor, draws) in factors[1..].iter().zip(&*draws).filter(|(factor, _)| **factor != 0.0) {
                for j in 0..PAIRS {
                    sums[j] += factor * draws[j];
                }
            }
            let gap = gap(*b);
            let mut height = [0.0; DRAWS];
            for j in 0..PAIRS {
                (height[j], height[j + PAIRS]) = (gap + sums[j], gap - sums[j]);
            }
            heights.push(height);
            slopes.push(factors[0]);
        }
    }

    /// The probability with which the number `a` is the lowest.
    pub fn lowest(&self, a: usize) -> f64 {
        let at = if a == self.leader {
            Some(0)
        } else {
            self.rivals.iter().position(|(_, b)| *b == a).map(|i| i + 1)
        };
        let drawn = at.map_or(0.0, |at| self.share(at));
        // Mixed with the floor, so that the sum stays 1.
        drawn + FLOOR * (f64::from(self.possible[a]) - self.count as f64 * drawn)
    }

    /// The part of the draws, and of the direction that is integrated, where a line is the lowest.
    fn share(&self, at: usize) -> f64 {
        let (mut from, mut to) = ([f64::NEG_INFINITY; DRAWS], [f64::INFINITY; DRAWS]);
        let (height, slope) = (&self.heights[at], self.slopes[at]);
        for (other, (theirs, rise)) in self.heights.iter().zip(&self.slopes).enumerate() {
            if other == at {
                continue;
            }
            // theirs + rise t > height + slope t
            let (faster, scale) = (rise - slope, 1.0 / (slope - rise));
            if faster > 0.0 {
                // Written without `max`, whose care for NaN takes the lanes away.
                for j in 0..DRAWS {
                    let meet = (theirs[j] - height[j]) * scale;
                    from[j] = if meet > from[j] { meet } else { from[j] };
                }
            } else if faster < 0.0 {
                for j in 0..DRAWS {
                    let meet = (theirs[j] - height[j]) * scale;
                    to[j] = if meet < to[j] { meet } else { to[j] };
                }
            } else {
                for j in 0..DRAWS {
                    if theirs[j] < height[j] || (theirs[j] == height[j] && other < at) {
                        to[j] = f64::NEG_INFINITY;
                    }
                }
            }
        }
        let won = from.iter().zip(&to).filter(|(from, to)| from < to).map(|(from, to)| phi(*to) - phi(*from));
        won.sum::<f64>() / DRAWS as f64
    }
}
