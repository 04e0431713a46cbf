//! How a base behaves when its losses are importance weighted: regret under E' against rho, and the fitted alpha.
//!
//! (alpha, R)-stability says that under every E' with weights up to rho the regret is at most rho^alpha R(T). On an
//! instance with a fixed gap the slope in log rho may exceed alpha without contradiction: the bound is about the worst
//! instance, whose gap shrinks as sqrt(rho K/T). So both curves are fitted.

use std::sync::atomic::{AtomicBool, Ordering};

use rand::RngExt;
use rayon::prelude::*;
use serde::Serialize;

use crate::report::curves::slope;
use crate::run::{CellSpec, Plugins, run_cell};
use crate::spec::{BaseSpec, EnvironmentSpec, LearnerSpec, NamedLearner, Spec, SpecError};
use crate::streams::stream;
use crate::summary::{Figure, percentile_95};

const RESAMPLES: usize = 500;

/// Regret above this part of uniform play's says nothing about alpha any more.
const SATURATED: f64 = 0.5;

/// The multiples of sqrt(rho K/T) that the minimax curve takes the worst of.
const MULTIPLES: [f64; 3] = [1.0, 2.0, 4.0];

/// What to measure.
#[derive(Debug, Clone)]
pub struct Stability {
    /// The base.
    pub base: BaseSpec,
    /// The world, as a function of its gap.
    pub world: World,
    /// Rounds of a run.
    pub rounds: u64,
    /// Seeds; the same ones at every rho.
    pub seeds: u64,
    /// The ranges.
    pub ranges: Vec<f64>,
    /// The schedules of E'.
    pub schedules: Vec<String>,
}

/// A family of worlds with a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// Five Bernoulli arms, the last one better by the gap.
    Arms,
    /// The tabular contextual instance of 64 policies.
    Contextual,
    /// Linear losses on the unit ball of the plane.
    Points,
}

impl World {
    /// Which family a kind of base is measured on.
    pub fn of_kind(kind: &str) -> Self {
        match kind {
            "points" => Self::Points,
            "contextual" => Self::Contextual,
            _ => Self::Arms,
        }
    }

    fn fixed_gap(self) -> f64 {
        if self == Self::Points { 0.5 } else { 0.3 }
    }

    /// K, or what takes its place in the smallest gap that can be told apart.
    fn size(self) -> f64 {
        match self {
            Self::Arms => 5.0,
            Self::Contextual => 3.0,
            Self::Points => 4.0,
        }
    }

    fn environment(self, gap: f64) -> (String, toml::Table) {
        let float = toml::Value::Float;
        let (name, key, value) = match self {
            Self::Arms => {
                let means = (0..5).map(|i| float(if i == 4 { 0.5 - gap } else { 0.5 })).collect();
                ("bernoulli", "means", toml::Value::Array(means))
            }
            Self::Contextual => ("planted", "gap", float(gap)),
            Self::Points => ("adversarial-linear", "gap", float(gap)),
        };
        (name.to_owned(), [(key.to_owned(), value)].into_iter().collect())
    }

    /// Mean regret a round of playing without looking.
    fn blind(self, gap: f64) -> f64 {
        match self {
            Self::Arms => gap * 4.0 / 5.0,
            Self::Contextual => gap * 2.0 / 3.0,
            Self::Points => gap / 2.0,
        }
    }
}

/// Regret at one range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtRange {
    /// rho.
    pub range: f64,
    /// Regret at the fixed gap.
    pub fixed: Figure,
    /// Regret at the worst of the shrinking gaps.
    pub minimax: Figure,
    /// Whether the fixed-gap figure is too close to uniform play to be used.
    pub fixed_saturated: bool,
    /// Whether the minimax figure is.
    pub minimax_saturated: bool,
}

/// A slope with its 95% bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fit {
    /// The fitted exponent of rho.
    pub alpha: f64,
    /// 2.5% quantile.
    pub low: f64,
    /// 97.5% quantile.
    pub high: f64,
    /// Ranges that were used.
    pub points: usize,
}

/// What was measured under one schedule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnderSchedule {
    /// The schedule.
    pub schedule: String,
    /// Regret against rho.
    pub curve: Vec<AtRange>,
    /// Exponent at the fixed gap.
    pub fixed: Option<Fit>,
    /// Exponent of the minimax curve: the one to hold against the claim.
    pub minimax: Option<Fit>,
    /// Cells that failed, the first reason.
    pub failed: Option<String>,
}

/// Measures a base.
///
/// # Errors
/// The base cannot be built for its world.
pub fn measure(
    what: &Stability,
    plugins: &Plugins,
    stop: &AtomicBool,
    advance: &(dyn Fn(u64) + Sync),
) -> Result<Vec<UnderSchedule>, SpecError> {
    let mut results = Vec::new();
    for schedule in &what.schedules {
        results.push(under(what, schedule, plugins, stop, advance)?);
    }
    Ok(results)
}

/// How many rounds [`measure`] will play.
pub fn total_rounds(what: &Stability) -> u64 {
    let instances = 1 + MULTIPLES.len() as u64;
    what.schedules.len() as u64 * what.ranges.len() as u64 * instances * what.seeds * what.rounds
}

fn under(
    what: &Stability,
    schedule: &str,
    plugins: &Plugins,
    stop: &AtomicBool,
    advance: &(dyn Fn(u64) + Sync),
) -> Result<UnderSchedule, SpecError> {
    let smallest = |range: f64| (range * what.world.size() / what.rounds as f64).sqrt();
    let gaps = |range: f64| {
        std::iter::once(what.world.fixed_gap())
            .chain(MULTIPLES.iter().map(move |c| (c * smallest(range)).min(0.45)))
            .collect::<Vec<f64>>()
    };
    let environments = what
        .ranges
        .iter()
        .flat_map(|range| gaps(*range).into_iter().map(move |gap| (*range, gap)))
        .map(|(range, gap)| {
            let (name, params) = what.world.environment(gap);
            let mut induced = toml::Table::new();
            induced.insert("schedule".to_owned(), toml::Value::String(schedule.to_owned()));
            induced.insert("range".to_owned(), toml::Value::Float(range));
            let label = format!("{range}/{gap}");
            EnvironmentSpec { label, name, params, induced: Some(induced), delay: None, band: None, line: 0 }
        })
        .collect();
    let spec = Spec {
        name: format!("stability of {}", what.base.name),
        asks: None,
        rounds: vec![what.rounds],
        seeds: what.seeds,
        environments,
        learners: vec![NamedLearner {
            label: what.base.name.clone(),
            learner: LearnerSpec::Base(what.base.clone()),
            band: None,
        }],
        claims: Vec::new(),
        text: String::new(),
    };
    crate::run::check(&spec, plugins).map_err(|e| SpecError::whole(e.why))?;
    let cells: Vec<_> = (0..spec.cells())
        .into_par_iter()
        .map(|n| {
            run_cell(&spec, &CellSpec::of(&spec, n), plugins, &|| stop.load(Ordering::Relaxed), &|n| {
                advance(n)
            })
        })
        .collect();
    let failed = cells.iter().flatten().find_map(|c| c.failed.clone());
    let instances = 1 + MULTIPLES.len();
    // regret[range][instance][seed]
    let seeds = what.seeds as usize;
    let regret: Vec<Vec<Vec<f64>>> = (0..what.ranges.len())
        .map(|r| {
            (0..instances)
                .map(|i| {
                    let from = (r * instances + i) * seeds;
                    cells[from..from + seeds].iter().flatten().map(|c| c.regret).collect()
                })
                .collect()
        })
        .collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let blind = |gap: f64| SATURATED * what.world.blind(gap) * what.rounds as f64;
    let curve: Vec<AtRange> = what
        .ranges
        .iter()
        .zip(&regret)
        .map(|(range, by_instance)| {
            let worst = (1..instances)
                .max_by(|a, b| mean(&by_instance[*a]).total_cmp(&mean(&by_instance[*b])))
                .unwrap_or(0);
            let fixed = Figure::of(&by_instance[0]).unwrap_or(Figure::NOTHING);
            let minimax = Figure::of(&by_instance[worst]).unwrap_or(Figure::NOTHING);
            let gaps = gaps(*range);
            AtRange {
                range: *range,
                fixed_saturated: !(fixed.mean <= blind(gaps[0])),
                minimax_saturated: !(minimax.mean <= blind(gaps[worst])),
                fixed,
                minimax,
            }
        })
        .collect();
    let fixed_kept: Vec<bool> = curve.iter().map(|p| !p.fixed_saturated).collect();
    // Saturation cannot be told on the minimax curve: its gap is at the edge of what can be learned.
    let minimax_kept = vec![true; curve.len()];
    Ok(UnderSchedule {
        schedule: schedule.to_owned(),
        fixed: fit(&what.ranges, &regret, 0..1, &fixed_kept),
        minimax: fit(&what.ranges, &regret, 1..instances, &minimax_kept),
        curve,
        failed,
    })
}

/// The slope of log regret (the worst instance's mean) against log rho, with a bootstrap that resamples the seeds of
/// all ranges jointly.
fn fit(
    ranges: &[f64],
    regret: &[Vec<Vec<f64>>],
    instances: std::ops::Range<usize>,
    kept: &[bool],
) -> Option<Fit> {
    let seeds = regret.iter().flatten().map(Vec::len).min()?;
    let slope_of = |pick: &[usize]| {
        let points: Option<Vec<(f64, f64)>> = (0..ranges.len())
            .filter(|r| kept[*r])
            .map(|r| {
                let worst = instances
                    .clone()
                    .map(|i| pick.iter().map(|s| regret[r][i][*s]).sum::<f64>() / pick.len() as f64)
                    .fold(f64::NEG_INFINITY, f64::max);
                (worst > 0.0).then(|| (ranges[r].ln(), worst.ln()))
            })
            .collect();
        slope(&points?)
    };
    let all: Vec<usize> = (0..seeds).collect();
    let alpha = slope_of(&all)?;
    let mut rng = stream(0, "bootstrap");
    let slopes = (0..RESAMPLES)
        .filter_map(|_| {
            let pick: Vec<usize> = (0..seeds).map(|_| rng.random_range(0..seeds)).collect();
            slope_of(&pick)
        })
        .collect();
    let (low, high) = percentile_95(slopes);
    Some(Fit { alpha, low, high, points: kept.iter().filter(|k| **k).count() })
}
