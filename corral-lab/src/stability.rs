//! How a base behaves when its losses are importance weighted: regret under E' against rho, and the fitted alpha.
//!
//! (alpha, R)-stability says that under every E' with weights up to rho the regret is at most rho^alpha R(T). That is
//! about the worst instance, and which one that is depends on rho: for EXP3 it has a gap of about sqrt(rho K/T), for
//! an algorithm that explores first the largest gap there is. So regret is measured over a grid of gaps, from the
//! largest down to about R(T)/T, each half the one before, and the slope is that of the worst at each rho.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use corral_core::memory;
use corral_core::registry::{Kind, Unknown};
use serde::Serialize;
use toml::Value;

use crate::claims::{Held, Verdict};
use crate::curves::slope;
use crate::run::{CellRecord, CellSpec, Plugins, Resources, in_threads, run_cell};
use crate::spec::{BaseSpec, Spec, SpecError};
use crate::summary::{Figure, bootstrap_95};

const RESAMPLES: usize = 500;

/// Regret above this part of blind play's, at the largest gap that there is, says nothing about alpha any more.
const SATURATED: f64 = 0.5;

/// A fitted exponent may exceed the claimed one by this much: the grid knows the worst gap within a factor of 2, which
/// leaves some 10% of its regret open, and logarithms that R hides depend on rho.
const TOLERANCE: f64 = 0.1;

/// With fewer ranges that are not saturated, an exponent is no evidence.
const FEWEST_RANGES: usize = 3;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Stability {
    /// The base.
    pub base: BaseSpec,
    /// The world, as a function of its gap.
    pub world: Family,
    /// The alpha that is claimed.
    pub claimed: Option<f64>,
    /// Rounds of a run.
    pub rounds: u64,
    /// Seeds; the same ones at every rho.
    pub seeds: u64,
    /// The ranges.
    pub ranges: Vec<f64>,
}

/// A family of worlds with a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Five Bernoulli arms, the last one better by the gap.
    Arms,
    /// The tabular contextual instance of 64 policies.
    Contextual,
    /// Linear losses on the unit ball of the plane.
    Points,
}

impl Family {
    /// Which family a kind of base is measured on.
    pub fn of_kind(kind: Kind) -> Self {
        match kind {
            Kind::Points => Self::Points,
            Kind::Contextual => Self::Contextual,
            _ => Self::Arms,
        }
    }

    /// The largest gap that is tried.
    fn largest_gap(self) -> f64 {
        if self == Self::Points { 0.5 } else { 0.45 }
    }

    /// K, or what takes its place in the smallest gap that can be told apart.
    fn size(self) -> f64 {
        match self {
            Self::Arms => 5.0,
            Self::Contextual => 3.0,
            Self::Points => 4.0,
        }
    }

    fn environment(self, gap: f64) -> toml::Table {
        let (name, key, value) = match self {
            Self::Arms => {
                let means = (0..5).map(|i| Value::Float(if i == 4 { 0.5 - gap } else { 0.5 })).collect();
                ("bernoulli", "means", Value::Array(means))
            }
            Self::Contextual => ("planted", "gap", Value::Float(gap)),
            Self::Points => ("adversarial-linear", "gap", Value::Float(gap)),
        };
        table([("name", name.into()), (key, value)])
    }

    /// What playing without looking costs per round.
    fn blind(self, gap: f64) -> f64 {
        match self {
            Self::Arms => gap * 4.0 / 5.0,
            Self::Contextual => gap * 2.0 / 3.0,
            Self::Points => gap / 2.0,
        }
    }
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> toml::Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Regret at one range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtRange {
    /// rho.
    pub range: f64,
    /// Regret at the largest gap.
    pub fixed: Figure,
    /// Regret at the worst gap.
    pub worst: Figure,
    /// The worst gap.
    pub gap: f64,
    /// Regret at the worst gap over that of blind play.
    pub share: f64,
    /// Whether that is too much to be used: the largest gap is the worst, and the base is near blind play there.
    pub saturated: bool,
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
    /// Exponent of the worst gap's curve, without saturated ranges: the one to hold against the claim.
    pub worst: Option<Fit>,
    /// Exponent at the largest gap, for itself.
    pub fixed: Option<Fit>,
    /// Cells that failed, the first reason.
    pub failed: Option<String>,
}

/// One base, measured.
pub struct Measured {
    /// The base, and how it was run.
    pub what: Stability,
    /// What came of it.
    pub found: UnderSchedule,
    /// What that says of the claim.
    pub held: Held,
}

/// Kind and claimed alpha of a base, built in or of a plugin.
///
/// # Errors
/// There is none of this name.
pub fn kind_and_alpha(name: &str, plugins: &Plugins) -> Result<(Kind, Option<f64>), Unknown> {
    if let Some(entry) = corral_bases::entries().find(|e| e.name == name) {
        return Ok((entry.kind, entry.alpha));
    }
    plugins.find(name).map(|(_, base)| (base.kind, base.alpha)).ok_or_else(|| {
        let listed = plugins.list();
        let known = corral_bases::entries().map(|e| e.name).chain(listed.iter().map(|l| l.key.as_str()));
        Unknown::new("base", name, known)
    })
}

impl Stability {
    /// Measures the base under `schedule`. Meaningless when `stop` said so before the end.
    ///
    /// # Errors
    /// The base cannot be built for its world.
    pub fn measure(
        &self,
        schedule: &str,
        plugins: &Plugins,
        stop: &AtomicBool,
        advance: &(dyn Fn(u64) + Sync),
    ) -> Result<UnderSchedule, SpecError> {
        let spec = self.spec(schedule)?;
        crate::run::check(&spec, plugins, memory::DEFAULT).map_err(|e| SpecError::whole(e.why))?;
        let cells = Mutex::new(Vec::new());
        in_threads(Resources::cores(), 0..spec.cells(), |n| {
            let stop = || stop.load(Ordering::Relaxed);
            let cell = run_cell(&spec, &CellSpec::of(&spec, n), plugins, &stop, &|n| advance(n));
            let ended = cell.is_some();
            cells.lock().unwrap_or_else(PoisonError::into_inner).extend(cell);
            ended
        })
        .map_err(SpecError::whole)?;
        let mut cells = cells.into_inner().unwrap_or_else(PoisonError::into_inner);
        cells.sort_by_key(|cell| cell.cell);
        Ok(self.analyse(schedule, &cells))
    }

    /// How many rounds [`measure`](Self::measure) will play.
    pub fn total_rounds(&self) -> u64 {
        (self.ranges.len() * self.gaps().len()) as u64 * self.seeds * self.rounds
    }

    /// The grid of gaps: halves of the largest one down to sqrt(K) T^-alpha, which is R(T)/T for all bases of Table 1
    /// (T^(1 - alpha) is their R).
    fn gaps(&self) -> Vec<f64> {
        let smallest = self.world.size().sqrt() * (self.rounds as f64).powf(-self.claimed.unwrap_or(0.5));
        let halves = (0..8).map(|k| self.world.largest_gap() * 0.5f64.powi(k));
        halves.enumerate().take_while(|(k, gap)| *k < 2 || *gap >= smallest).map(|(_, gap)| gap).collect()
    }

    /// The runs to make, as a spec like any other: a world per range and gap.
    ///
    /// # Errors
    /// The schedule or the base cannot be said in a spec.
    pub fn spec(&self, schedule: &str) -> Result<Spec, SpecError> {
        let mut worlds = Vec::new();
        for range in &self.ranges {
            for gap in self.gaps() {
                let induced = table([("schedule", schedule.into()), ("range", Value::Float(*range))]);
                let mut world = self.world.environment(gap);
                world.insert("label".to_owned(), format!("rho {range}, gap {gap}").into());
                world.insert("induced".to_owned(), induced.into());
                worlds.push(Value::Table(world));
            }
        }
        let mut base = self.base.recipe.params.clone();
        base.insert("name".to_owned(), self.base.recipe.name.clone().into());
        for (key, set) in [
            ("isolate", self.base.recipe.isolate),
            ("smoothed", self.base.recipe.smoothed),
            ("rescaled", self.base.recipe.rescaled),
        ] {
            if set {
                base.insert(key.to_owned(), true.into());
            }
        }
        let learner = table([("label", self.base.label.clone().into()), ("base", base.into())]);
        let whole = |n: u64| Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
        let spec = table([
            ("name", format!("stability of {}", self.base.label).into()),
            ("rounds", whole(self.rounds)),
            ("seeds", whole(self.seeds)),
            ("environment", Value::Array(worlds)),
            ("learner", Value::Array(vec![learner.into()])),
        ]);
        Spec::parse(&toml::to_string(&spec).map_err(SpecError::whole)?)
    }

    /// What the cells of [`spec`](Self::spec) say.
    pub fn analyse(&self, schedule: &str, cells: &[CellRecord]) -> UnderSchedule {
        let (gaps, seeds) = (self.gaps(), self.seeds as usize);
        // regret[range][gap][seed]: the order of the cells is that of the spec
        let mut regret = vec![vec![vec![f64::NAN; seeds]; gaps.len()]; self.ranges.len()];
        for cell in cells.iter().filter(|c| c.failed.is_none()) {
            let (world, seed) = (cell.cell as usize / seeds, cell.cell as usize % seeds);
            if let Some(slot) = regret.get_mut(world / gaps.len()) {
                slot[world % gaps.len()][seed] = cell.regret;
            }
        }
        let figure = |values: &[f64]| Figure::of(values).unwrap_or(Figure::NOTHING);
        let curve: Vec<AtRange> = self
            .ranges
            .iter()
            .zip(&regret)
            .map(|(range, by_gap)| {
                let means: Vec<Figure> = by_gap.iter().map(|v| figure(v)).collect();
                let at =
                    (0..gaps.len()).max_by(|a, b| means[*a].mean.total_cmp(&means[*b].mean)).unwrap_or(0);
                let share = means[at].mean / (self.world.blind(gaps[at]) * self.rounds as f64);
                AtRange {
                    range: *range,
                    fixed: means[0],
                    worst: means[at],
                    gap: gaps[at],
                    share,
                    saturated: at == 0 && !(share <= SATURATED),
                }
            })
            .collect();
        let useful: Vec<bool> = curve.iter().map(|p| !p.saturated).collect();
        UnderSchedule {
            schedule: schedule.to_owned(),
            worst: fit(&self.ranges, &regret, &useful),
            fixed: {
                let largest: Vec<_> = regret.iter().map(|by_gap| by_gap[..1].to_vec()).collect();
                fit(&self.ranges, &largest, &useful)
            },
            curve,
            failed: cells.iter().find_map(|c| c.failed.clone()),
        }
    }

    /// The claimed alpha, held against what was measured.
    pub fn hold(&self, found: &UnderSchedule) -> Held {
        let nothing = Fit { alpha: f64::NAN, low: f64::NAN, high: f64::NAN, points: 0 };
        let (fit, bound) = (found.worst.unwrap_or(nothing), self.claimed.map(|a| a + TOLERANCE));
        let saturated = fit.points < FEWEST_RANGES && found.failed.is_none();
        let verdict = match bound {
            _ if saturated => Verdict::Undecided,
            Some(bound) if fit.high <= bound => Verdict::Holds,
            Some(bound) if fit.low > bound => Verdict::Fails,
            Some(_) if fit.alpha.is_finite() => Verdict::Undecided,
            _ => Verdict::Unmeasured,
        };
        let most = found.curve.iter().map(|p| p.share).fold(0.0, f64::max);
        let unlikely = saturated.then(|| {
            format!(
                "at {} rounds its regret is up to {:.0}% of blind play's, at the largest gap: that leaves {} ranges",
                self.rounds,
                100.0 * most,
                fit.points
            )
        });
        Held {
            text: "Table 1: regret under weights up to rho grows as rho^alpha at most".to_owned(),
            environment: format!("{:?}", self.world).to_lowercase(),
            learner: self.base.label.clone(),
            figure: "alpha".to_owned(),
            measured: fit.alpha,
            low: fit.low,
            high: fit.high,
            bound: self.claimed.map_or("nothing".to_owned(), |a| format!("<= {a:.2} + {TOLERANCE}")),
            published: None,
            verdict,
            unlikely,
        }
    }
}

/// The slope of log regret (the worst gap's mean) against log rho, with a bootstrap that resamples the seeds of all
/// ranges jointly.
fn fit(ranges: &[f64], regret: &[Vec<Vec<f64>>], useful: &[bool]) -> Option<Fit> {
    let seeds = regret.iter().flatten().map(Vec::len).min()?;
    let slope_of = |pick: &[usize]| {
        let mean = |values: &[f64]| pick.iter().map(|s| values[*s]).sum::<f64>() / pick.len() as f64;
        let points: Option<Vec<(f64, f64)>> = (0..ranges.len())
            .filter(|r| useful[*r])
            .map(|r| {
                let worst = regret[r].iter().map(|v| mean(v)).max_by(f64::total_cmp)?;
                (worst > 0.0).then(|| (ranges[r].ln(), worst.ln()))
            })
            .collect();
        slope(&points?)
    };
    let alpha = slope_of(&(0..seeds).collect::<Vec<_>>()).filter(|a| a.is_finite())?;
    let (low, high) = bootstrap_95("bootstrap", RESAMPLES, seeds, slope_of);
    Some(Fit { alpha, low, high, points: useful.iter().filter(|u| **u).count() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exp3(ranges: &[f64]) -> Stability {
        let base = BaseSpec::named("exp3", crate::spec::Place::Line(1));
        let (world, claimed, ranges) = (Family::Arms, Some(0.5), ranges.to_vec());
        Stability { base, world, claimed, rounds: 10_000, seeds: 4, ranges }
    }

    /// Cells whose regret is `of(rho, gap)`, the same for every seed.
    fn cells(what: &Stability, of: impl Fn(f64, f64) -> f64) -> Vec<CellRecord> {
        let spec = what.spec("constant").unwrap();
        let gaps = what.gaps();
        (0..spec.cells())
            .map(|n| {
                let world = (n / what.seeds) as usize;
                CellRecord {
                    cell: n,
                    rounds: what.rounds,
                    environment: spec.environments[world].label.clone(),
                    learner: "exp3".to_owned(),
                    seed: n % what.seeds,
                    failed: None,
                    played: what.rounds,
                    seen: what.rounds,
                    regret: of(what.ranges[world / gaps.len()], gaps[world % gaps.len()]),
                    loss: 0.0,
                    curve: Vec::new(),
                    chance: None,
                    squares: None,
                    band: None,
                }
            })
            .collect()
    }

    #[test]
    fn gaps_halve_down_to_what_the_claim_can_tell_apart() {
        let mut what = exp3(&[1.0]);
        // sqrt(5/10,000) = 0.022
        assert_eq!(what.gaps(), [0.45, 0.225, 0.1125, 0.05625, 0.028125]);
        what.claimed = Some(0.25);
        assert_eq!(what.gaps(), [0.45, 0.225], "sqrt(5)/10 = 0.22");
    }

    #[test]
    fn the_slope_is_that_of_the_worst_gap() {
        // The regret of EXP3, min(gap T, rho/gap): worst at gap = sqrt(rho/T), where it is sqrt(rho T).
        let what = exp3(&[1.0, 4.0, 16.0, 64.0]);
        let t = what.rounds as f64;
        let found = what.analyse("constant", &cells(&what, |rho, gap| (gap * t).min(5.0 * rho / gap)));
        let fit = found.worst.unwrap();
        assert!((fit.alpha - 0.5).abs() < 0.06, "{fit:?}");
        assert!(fit.low == fit.alpha && fit.points == 4, "{fit:?}");
        // At the largest gap alone it is 1.
        assert!((found.fixed.unwrap().alpha - 1.0).abs() < 1e-9);
        assert!(found.curve[3].gap > found.curve[0].gap && !found.curve[3].saturated);
    }

    #[test]
    fn ranges_near_blind_play_are_left_out() {
        // Explores for a part of the run that grows as rho^(1/3), until that is all of it.
        let what = exp3(&[1.0, 8.0, 64.0, 512.0]);
        let t = what.rounds as f64;
        let part = |rho: f64| (0.1 * rho.cbrt()).min(1.0);
        let found = what.analyse("constant", &cells(&what, |rho, gap| 0.8 * gap * t * part(rho)));
        let saturated: Vec<bool> = found.curve.iter().map(|p| p.saturated).collect();
        assert_eq!(saturated, [false, false, false, true]);
        let fit = found.worst.unwrap();
        assert!((fit.alpha - 1.0 / 3.0).abs() < 1e-9 && fit.points == 3, "{fit:?}");
        assert_eq!(what.hold(&found).verdict, Verdict::Holds);
        // Too few that are not: no evidence, and it says so.
        let found = what.analyse("constant", &cells(&what, |rho, gap| 0.8 * gap * t * part(27.0 * rho)));
        let held = what.hold(&found);
        assert_eq!(held.verdict, Verdict::Undecided);
        assert!(held.unlikely.unwrap().contains("100% of blind play"));
    }

    #[test]
    fn a_slope_above_the_claim_refutes_it() {
        let what = exp3(&[1.0, 2.0, 4.0, 8.0]);
        let found = what.analyse("constant", &cells(&what, |rho, gap| if gap < 0.3 { rho } else { 0.0 }));
        let held = what.hold(&found);
        assert_eq!((held.verdict, held.measured, held.unlikely), (Verdict::Fails, 1.0, None));
        assert_eq!(held.bound, "<= 0.50 + 0.1");
    }

    #[test]
    fn a_failed_cell_leaves_nothing_to_fit() {
        let what = exp3(&[1.0, 4.0]);
        let mut cells = cells(&what, |rho, _| rho);
        cells[3].failed = Some("why".to_owned());
        let found = what.analyse("constant", &cells);
        assert_eq!((found.worst, found.failed.as_deref()), (None, Some("why")));
    }
}
