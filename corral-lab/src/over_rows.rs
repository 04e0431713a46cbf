//! How sure a mean loss in a table is. Seeds play the same rows and vary the learners' coins alone, which says nothing of other
//! rows: every interval and every test in a table is over its rows, of which those that were played are a sample. A row that was
//! played twice is one.
//!
//! - Errors: Wilson's interval (1927), and the test of [`duels`](crate::duels).
//! - Losses that are known of every action: the difference of two learners row by row, summed over blocks of rows in the order in
//!   which they were played, and a t-test of the blocks (batch means: Law, Carson 1979), so that rows that resemble their neighbours
//!   are no reason to be sure.
//! - Losses in a log: each learner used rows of its own, so that the variances of both means add up.

use corral_envs::data::Counts;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::record::{CellRecord, checkpoints};

/// The 97.5% quantile of the normal distribution.
const NORMAL_95: f64 = 1.959_964;

/// So many blocks are made of a run at most, as many as there are evenly spaced checkpoints; with fewer than `FEWEST` nothing is told.
const BLOCKS: u64 = 64;
const FEWEST: usize = 8;

/// What a row of a table cost a learner.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// What a loss is.
    pub counts: Counts,
    /// How many different rows it is of, in the seed with the fewest.
    pub rows: u64,
    /// How many rounds were played.
    pub rounds: u64,
    /// The mean loss of a row, over seeds.
    pub mean: f64,
    /// The variance of the loss of a row; none where rows count unequally.
    pub variance: Option<f64>,
    /// By seed: rows and regret of each block, in the order of seeds.
    #[serde(skip)]
    blocks: Vec<(u64, Vec<(f64, f64)>)>,
}

/// The difference between two means over rows, the variance of that, and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// The second mean less the first.
    pub gap: f64,
    /// Its squared standard error.
    pub variance: f64,
    /// Infinite where the variance is known.
    pub freedom: f64,
}

impl Sample {
    /// Of the cells of one learner in one table that ended; `None` elsewhere.
    pub fn of(cells: &[&CellRecord]) -> Option<Self> {
        let chance = cells.first()?.chance.as_ref()?;
        let own = |c: &&CellRecord| match &c.chance {
            // Older records do not say how many rows were played more than once.
            Some(chance) if chance.rows > 0 => c.seen.min(chance.rows),
            _ => c.seen,
        };
        let mean = |c: &CellRecord| c.loss / c.seen.max(1) as f64;
        let spread = |c: &&CellRecord| Some((c.squares? / c.seen.max(1) as f64 - mean(c).powi(2)).max(0.0));
        let average = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        Some(Self {
            counts: chance.counts,
            rows: cells.iter().map(own).min()?,
            rounds: cells.iter().map(|c| c.played).max()?,
            mean: average(cells.iter().map(|c| mean(c)).collect()),
            variance: cells.iter().map(spread).collect::<Option<_>>().map(average),
            blocks: cells.iter().map(|c| (c.seed, blocks(c))).collect(),
        })
    }

    /// The 95% interval of the mean; `None` where nothing can be told.
    pub fn interval_95(&self) -> Option<(f64, f64)> {
        let (n, p, z) = (self.rows as f64, self.mean, NORMAL_95);
        if !(n > 0.0 && p.is_finite()) {
            return None;
        }
        if self.counts == Counts::Errors {
            return Some(wilson(p, n));
        }
        let half = z * (self.variance? / n).sqrt();
        Some(((p - half).max(0.0), (p + half).min(1.0)))
    }

    /// How much more another learner lost in the same table; `None` where nothing can be told.
    pub fn gap(&self, other: &Self) -> Option<Gap> {
        let gap = other.mean - self.mean;
        let n = self.rows.min(other.rows) as f64;
        let known = |variance: f64| Some(Gap { gap, variance, freedom: f64::INFINITY });
        match self.counts {
            Counts::Errors => known((self.mean * (1.0 - self.mean) + other.mean * (1.0 - other.mean)) / n),
            Counts::Logged => known(self.variance? / self.rows as f64 + other.variance? / other.rows as f64),
            Counts::Losses => {
                let pairs: Vec<(f64, usize)> = (self.blocks.iter())
                    .filter_map(|(seed, own)| Some((own, &other.blocks.iter().find(|(s, _)| s == seed)?.1)))
                    .map(|(a, b)| paired(a, b, n))
                    .collect::<Option<_>>()?;
                // Seeds add nothing: their variances are averaged.
                let variance = pairs.iter().map(|(v, _)| v).sum::<f64>() / pairs.len() as f64;
                let fewest = pairs.iter().map(|(_, blocks)| *blocks).min()?;
                (fewest >= FEWEST).then_some(Gap { gap, variance, freedom: fewest as f64 - 1.0 })
            }
        }
    }
}

impl Gap {
    /// The two-sided p-value of the difference.
    pub fn p(self) -> f64 {
        match self.gap.abs() {
            0.0 => 1.0,
            gap if self.freedom.is_finite() => student(gap / self.variance.sqrt(), self.freedom),
            gap => 2.0 * Normal::standard().sf(gap / self.variance.sqrt()),
        }
    }
}

/// The 95% interval of a share of errors among `n` rows (Wilson 1927).
pub fn wilson(p: f64, n: f64) -> (f64, f64) {
    let z = NORMAL_95;
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    (centre - half, centre + half)
}

/// P(|T| > t) of Student's t with `freedom` degrees of freedom; 1 where nothing can be told.
pub fn student(t: f64, freedom: f64) -> f64 {
    let law = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| !t.is_nan());
    law.map_or(1.0, |law| 2.0 * law.sf(t.abs()))
}

/// Rows and regret of blocks of a run, about equally long.
fn blocks(c: &CellRecord) -> Vec<(f64, f64)> {
    let marks = checkpoints(c.rounds).into_iter().zip(&c.curve).filter(|(t, _)| *t < c.played);
    let marks = marks.map(|(t, regret)| (t, *regret)).chain([(c.played, c.regret)]);
    let (mut found, mut last) = (Vec::new(), (0, 0.0));
    for (t, regret) in marks {
        if t == c.played || (t - last.0) * BLOCKS >= c.played {
            found.push(((t - last.0) as f64, regret - last.1));
            last = (t, regret);
        }
    }
    found
}

/// The variance of the mean difference of two runs over the same rows, `n` of which are different, and of how many blocks: that of a
/// ratio of sums (Cochran 1977, section 2.11).
fn paired(a: &[(f64, f64)], b: &[(f64, f64)], n: f64) -> Option<(f64, usize)> {
    let all: f64 = a.iter().map(|(rows, _)| rows).sum();
    if a.len() != b.len() || a.len() < 2 {
        return None;
    }
    let differences: Vec<(f64, f64)> = a.iter().zip(b).map(|((rows, a), (_, b))| (*rows, b - a)).collect();
    let mean = differences.iter().map(|(_, d)| d).sum::<f64>() / all;
    let squares: f64 = differences.iter().map(|(rows, d)| (d - mean * rows).powi(2)).sum();
    let k = a.len() as f64;
    // Rows that were played again are no new ones.
    Some((k / (k - 1.0) * squares / (all * all) * (all / n).max(1.0), a.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use corral_envs::data::Chance;
    use rand::RngExt;

    /// A run over rows with these losses.
    fn cell(seed: u64, losses: &[f64], counts: Counts) -> CellRecord {
        let rows = losses.len() as u64;
        let sums: Vec<f64> = losses.iter().scan(0.0, |sum, l| (*sum += l, Some(*sum)).1).collect();
        let total = losses.iter().sum();
        CellRecord {
            seed,
            rounds: rows,
            played: rows,
            seen: rows,
            regret: total,
            loss: total,
            curve: checkpoints(rows).iter().map(|t| sums[*t as usize - 1]).collect(),
            squares: Some(losses.iter().map(|l| l * l).sum()),
            chance: Some(Chance { class: "a".into(), always: 0.5, random: 0.5, counts, rows }),
            ..CellRecord::default()
        }
    }

    fn sample(runs: &[Vec<f64>], counts: Counts) -> Sample {
        let cells: Vec<CellRecord> = (0..).zip(runs).map(|(seed, l)| cell(seed, l, counts)).collect();
        Sample::of(&cells.iter().collect::<Vec<_>>()).unwrap()
    }

    /// Tables of one law: two learners whose losses of a row have the same mean are told apart no more often than said, over rows that
    /// they share, however many seeds there are. 300 tables at level 0.05: 28 or more have probability 0.001.
    #[test]
    fn equal_learners_are_told_apart_no_more_often_than_said() {
        let mut rng = crate::streams::stream(5, "rows");
        for (counts, seeds) in
            [(Counts::Losses, 1), (Counts::Losses, 6), (Counts::Logged, 1), (Counts::Errors, 1)]
        {
            let mut told = 0;
            for _ in 0..300 {
                let rows: Vec<f64> = (0..400).map(|_| rng.random_range(0.0..0.5)).collect();
                let mut run = || -> Vec<f64> {
                    let own = |hard: &f64| hard + rng.random_range(0.0..0.5);
                    let errs = |l: f64| if counts == Counts::Errors { l.round() } else { l };
                    rows.iter().map(own).map(errs).collect()
                };
                // Seeds play what the learner plays: its coins alone differ, and here it has none.
                let (a, b) = (vec![run(); seeds], vec![run(); seeds]);
                let p = sample(&a, counts).gap(&sample(&b, counts)).unwrap().p();
                told += usize::from(p < 0.05);
            }
            assert!(told < 28, "{counts:?}, {seeds} seeds: {told} of 300");
        }
    }

    /// What differs in every row by a little is found by pairs of rows, and not by the spread of rows.
    #[test]
    fn rows_are_paired() {
        let mut rng = crate::streams::stream(6, "rows");
        let a: Vec<f64> = (0..2000).map(|_| rng.random_range(0.0..0.9)).collect();
        let b: Vec<f64> = a.iter().map(|l| l + rng.random_range(0.0..0.02)).collect();
        let run = |losses: &Vec<f64>, counts| sample(std::slice::from_ref(losses), counts);
        let of = |counts| run(&a, counts).gap(&run(&b, counts)).unwrap();
        assert!(of(Counts::Losses).p() < 1e-6, "{}", of(Counts::Losses).p());
        assert!(of(Counts::Logged).p() > 0.1, "{}", of(Counts::Logged).p());
        assert!((of(Counts::Losses).gap - 0.01).abs() < 1e-3);
    }

    /// Rows that are played again make no test and no interval surer.
    #[test]
    fn rows_that_are_played_again_are_no_new_ones() {
        let mut rng = crate::streams::stream(7, "rows");
        let once: Vec<Vec<f64>> =
            (0..2).map(|_| (0..640).map(|_| rng.random_range(0.0..1.0)).collect()).collect();
        for counts in [Counts::Errors, Counts::Losses, Counts::Logged] {
            let of = |times: usize, run: usize| {
                let mut cell = cell(0, &once[run].repeat(times), counts);
                cell.chance.as_mut().unwrap().rows = 640;
                Sample::of(&[&cell]).unwrap()
            };
            let width = |s: &Sample| s.interval_95().map(|(low, high)| high - low).unwrap();
            assert!((width(&of(1, 0)) - width(&of(4, 0))).abs() < 1e-9, "{counts:?}");
            let variance = |times| of(times, 0).gap(&of(times, 1)).unwrap().variance;
            // Four rows of the table make a block now: they agree up to the chance of that.
            let ratio = variance(4) / variance(1);
            assert!(ratio > 0.5 && ratio < 2.0, "{counts:?}: {ratio}");
        }
    }

    #[test]
    fn nothing_is_told_where_there_is_too_little() {
        let few = sample(&[vec![0.1; 6]], Counts::Losses);
        assert_eq!(few.gap(&few), None);
        let weighted = Sample { variance: None, ..sample(&[vec![0.1; 60]], Counts::Logged) };
        assert_eq!((weighted.interval_95(), weighted.gap(&weighted)), (None, None));
        assert_eq!(Sample::of(&[]), None);
        let (low, high) = wilson(0.0, 10.0);
        assert!(low.abs() < 1e-12 && (high - 0.2775).abs() < 1e-4);
    }
}
