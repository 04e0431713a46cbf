//! From cells to a table: means, intervals, and the ratio to the best base alone.

use corral_envs::data::Chance;
use rand::RngExt;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::over_rows::Sample;
use crate::run::{CellRecord, Timings};
use crate::spec::{LearnerSpec, Spec};
use crate::streams::stream;

/// With fewer seeds than these nothing is said over seeds.
pub const FEWEST_SEEDS: usize = 4;

/// Mean, spread and extremes of one figure over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// Mean over seeds.
    pub mean: f64,
    /// Standard error of the mean; 0 for one seed.
    pub se: f64,
    /// Standard deviation over seeds; 0 for one seed.
    pub sd: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Figure {
    /// Of nothing that was measured.
    pub const NOTHING: Self =
        Self { mean: f64::NAN, se: f64::NAN, sd: f64::NAN, min: f64::NAN, max: f64::NAN };

    /// Of a list of values; `None` when it is empty.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let (min, max) =
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        let sd = if values.len() > 1 { (square / (n - 1.0)).sqrt() } else { 0.0 };
        Some(Self { mean, se: sd / n.sqrt(), sd, min, max })
    }

    /// Half the width of the 95% interval of the mean, by Student's t.
    pub fn half_width(&self, n: u64) -> f64 {
        student_95(n.saturating_sub(1)) * self.se
    }
}

/// A number with about four significant digits, as people write it.
pub fn number(x: f64) -> String {
    match x.abs() {
        _ if x.is_nan() => "-".to_owned(),
        a if (1e15..f64::INFINITY).contains(&a) => format!("{x:.3e}"),
        a if a >= 1000.0 => format!("{x:.0}"),
        a if a >= 100.0 => format!("{x:.1}"),
        a if a >= 10.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// A label in a sentence: in quotes where it has commas of its own.
pub fn quoted(label: &str) -> String {
    if label.contains(',') { format!("\"{label}\"") } else { label.to_owned() }
}

/// The 97.5% quantile of Student's t; infinite without a degree of freedom.
pub fn student_95(freedom: u64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975))
}

/// The 2.5% and 97.5% quantiles of resampled figures: a percentile bootstrap's interval; NaN where there are none.
pub fn percentile_95(mut drawn: Vec<f64>) -> (f64, f64) {
    drawn.sort_by(f64::total_cmp);
    let at =
        |q: f64| drawn.get(((drawn.len() as f64 - 1.0) * q).round() as usize).copied().unwrap_or(f64::NAN);
    (at(0.025), at(0.975))
}

/// What `of` gives for `count` resamples of the seeds, with replacement: each is a list of seeds.
pub fn resampled<T>(name: &str, count: usize, seeds: usize, mut of: impl FnMut(&[usize]) -> T) -> Vec<T> {
    let mut rng = stream(0, name);
    let mut pick = || (0..seeds).map(|_| rng.random_range(0..seeds)).collect::<Vec<_>>();
    (0..count).map(|_| of(&pick())).collect()
}

/// The interval of a percentile bootstrap over seeds; resamples of which `of` has nothing to say are left out.
pub fn bootstrap_95(
    name: &str,
    count: usize,
    seeds: usize,
    of: impl FnMut(&[usize]) -> Option<f64>,
) -> (f64, f64) {
    percentile_95(resampled(name, count, seeds, of).into_iter().flatten().collect())
}

/// A figure of a learner in one world at one horizon, by seed; `None` where its cell is missing or failed.
pub fn by_seed(
    spec: &Spec,
    cells: &[CellRecord],
    setting: (u64, &str, &str),
    of: impl Fn(&CellRecord) -> f64,
) -> Vec<Option<f64>> {
    let mut values = vec![None; spec.seeds as usize];
    for cell in cells.iter().filter(|c| c.setting() == setting && c.failed.is_none()) {
        let place = cell.seed.checked_sub(spec.first_seed);
        if let Some(slot) = place.and_then(|i| values.get_mut(i as usize)) {
            *slot = Some(of(cell));
        }
    }
    values
}

/// One learner in one environment at one horizon, over all seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SummaryRow {
    /// The learner's label.
    pub label: String,
    /// The environment's label.
    pub environment: String,
    /// The horizon.
    pub rounds: u64,
    /// Seeds that ended.
    pub seeds: u64,
    /// Pseudo-regret over the whole run.
    pub regret: Figure,
    /// Observed loss per round.
    pub loss: Figure,
    /// Rounds whose loss was seen; of the seed that saw the fewest.
    pub played: u64,
    /// Whether this is a base alone.
    pub alone: bool,
    /// Mean regret over that of the best base alone in the same world, where that is positive.
    pub ratio_to_best_base: Option<f64>,
    /// Mean regret above that of the best base alone in the same world, where there is one.
    pub above_best_base: Option<f64>,
    /// Rounds a second on one core, where this process ran it.
    pub rounds_per_second: Option<f64>,
    /// What learning nothing costs in its table.
    pub chance: Option<Chance>,
    /// What a row of its table cost, of which intervals and tests are.
    pub sample: Option<Sample>,
    /// Cells that failed, with their reason.
    pub failed: Vec<String>,
    /// Bases that failed while their run went on over the others: seed, round, base and reason.
    pub benched: Vec<String>,
}

impl SummaryRow {
    /// The 95% interval of the mean loss of a row of a table, over rows.
    pub fn over_rows_95(&self) -> Option<(f64, f64)> {
        self.sample.as_ref()?.interval_95()
    }

    /// The regret against the best base's: how many times as much, or how much more where that means nothing.
    pub fn to_best_base(&self) -> Option<String> {
        match (self.ratio_to_best_base, self.above_best_base?) {
            (Some(ratio), _) => Some(format!("× {ratio:.2}")),
            (None, 0.0) => Some("+ 0".to_owned()),
            (None, more) => Some(format!("{} {}", if more < 0.0 { "-" } else { "+" }, number(more.abs()))),
        }
    }
}

/// The rows of a spec, in its order.
pub fn rows(spec: &Spec, cells: &[CellRecord], timings: &Timings) -> Vec<SummaryRow> {
    let mut rows: Vec<SummaryRow> = Vec::new();
    for (rounds, environment) in spec.worlds() {
        let from = rows.len();
        for learner in spec.learners.iter().filter(|l| l.plays_in(environment)) {
            let here = (rounds, environment.label.as_str(), learner.label.as_str());
            let group: Vec<&CellRecord> = cells.iter().filter(|c| c.setting() == here).collect();
            let ended: Vec<&&CellRecord> = group.iter().filter(|c| c.failed.is_none()).collect();
            let regret: Vec<f64> = ended.iter().map(|c| c.regret).collect();
            let loss: Vec<f64> = ended.iter().map(|c| c.loss / c.seen.max(1) as f64).collect();
            let failed =
                group.iter().filter_map(|c| c.failed.as_ref().map(|w| format!("seed {}: {w}", c.seed)));
            if group.is_empty() {
                continue;
            }
            rows.push(SummaryRow {
                label: learner.label.clone(),
                environment: environment.label.clone(),
                rounds,
                seeds: ended.len() as u64,
                regret: Figure::of(&regret).unwrap_or(Figure::NOTHING),
                loss: Figure::of(&loss).unwrap_or(Figure::NOTHING),
                played: ended.iter().map(|c| c.seen).min().unwrap_or(0),
                alone: matches!(learner.learner, LearnerSpec::Base(_)),
                ratio_to_best_base: None,
                above_best_base: None,
                rounds_per_second: timings.speed(rounds, &environment.label, &learner.label),
                chance: group.iter().find_map(|c| c.chance.clone()),
                sample: Sample::of(&ended.iter().map(|c| **c).collect::<Vec<_>>()),
                failed: failed.collect(),
                benched: group.iter().flat_map(|c| c.benched()).collect(),
            });
        }
        let best = rows[from..]
            .iter()
            .filter(|r| r.alone && r.regret.mean.is_finite())
            .map(|r| r.regret.mean)
            .fold(f64::INFINITY, f64::min);
        if best.is_finite() {
            // Nothing is so many times a regret that is rounding, or negative.
            let ratio = best > 1e-9 * rounds as f64;
            for row in &mut rows[from..] {
                row.ratio_to_best_base = ratio.then_some(row.regret.mean / best);
                row.above_best_base = Some(row.regret.mean - best);
            }
        }
    }
    rows
}

/// How far a learner's loss per round is from that of the best base alone, over several worlds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gap {
    /// The learner's label.
    pub label: String,
    /// Mean over the worlds.
    pub mean: f64,
    /// The largest, and where.
    pub worst: f64,
    /// The world of the largest.
    pub worst_in: String,
    /// In how many worlds.
    pub worlds: usize,
}

impl Gap {
    /// Its row of a table: label, mean, worst and where that is.
    pub fn cells(&self) -> [String; 4] {
        let Self { label, mean, worst, worst_in, .. } = self;
        [label.clone(), format!("{mean:.4}"), format!("{worst:.4}"), worst_in.clone()]
    }
}

/// The gap of every learner that was run in all worlds where bases are run alone, in the order of the spec; empty where
/// there is one world only. The best base is picked per world after the fact: an oracle that is not known beforehand.
pub fn gaps(spec: &Spec, rows: &[SummaryRow]) -> Vec<Gap> {
    let mut best: Vec<((u64, &str), f64)> = Vec::new();
    for row in rows.iter().filter(|r| r.alone && r.loss.mean.is_finite()) {
        let world = (row.rounds, row.environment.as_str());
        match best.iter_mut().find(|(w, _)| *w == world) {
            Some((_, least)) => *least = least.min(row.loss.mean),
            None => best.push((world, row.loss.mean)),
        }
    }
    if best.len() < 2 || spec.environments.len() < 2 {
        return Vec::new();
    }
    let mut gaps: Vec<Gap> = Vec::new();
    for learner in &spec.learners {
        if gaps.iter().any(|g| g.label == learner.label) {
            continue;
        }
        let found: Vec<(f64, &str)> = rows
            .iter()
            .filter(|r| r.label == learner.label && r.loss.mean.is_finite())
            .filter_map(|r| {
                let world = (r.rounds, r.environment.as_str());
                best.iter().find(|(w, _)| *w == world).map(|(_, least)| (r.loss.mean - least, world.1))
            })
            .collect();
        // Elsewhere it was not tried: its mean would be over other worlds than the others'.
        if found.len() < best.len() {
            continue;
        }
        let Some((worst, worst_in)) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        gaps.push(Gap {
            label: learner.label.clone(),
            mean: found.iter().map(|g| g.0).sum::<f64>() / found.len() as f64,
            worst: *worst,
            worst_in: (*worst_in).to_owned(),
            worlds: found.len(),
        });
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_known_numbers() {
        let f = Figure::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((f.mean, f.min, f.max), (2.5, 1.0, 4.0));
        assert!((f.sd - (5.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!((f.se - f.sd / 2.0).abs() < 1e-15);
        assert_eq!(Figure::of(&[]), None);
    }

    #[test]
    fn student_agrees_with_the_table() {
        // Two-sided 95% points from the usual table, to three decimals.
        for (freedom, t) in
            [(6, 2.447), (9, 2.262), (19, 2.093), (30, 2.042), (99, 1.984), (1_000_000, 1.960)]
        {
            assert!((student_95(freedom) - t).abs() < 2e-3, "{freedom}: {}", student_95(freedom));
        }
    }

    #[test]
    fn numbers_keep_four_digits() {
        assert_eq!(number(12345.6), "12346");
        assert_eq!(number(0.12345), "0.123");
        assert_eq!(number(f64::NAN), "-");
        assert_eq!(number(-1e308), "-1.000e308");
    }
}
