//! Masters ranked over the worlds of a spec.
//!
//! In every world masters are ordered by mean regret, 1 for the least, ties sharing their mean place. A rank does not
//! care by how much, so that no world outweighs the others. The interval of a mean rank is a 95% percentile bootstrap
//! over seeds, resampled jointly in every world: it is about these worlds only.

use corral_core::masters::REGISTRY;
use corral_core::registry::Status;
use serde::Serialize;

use crate::run::CellRecord;
use crate::spec::{LearnerSpec, Spec, distinct};
use crate::summary::{FEWEST_SEEDS, SummaryRow, by_seed, percentile_95, resampled};

const RESAMPLES: usize = 500;

/// The place of a master among the masters of a spec.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rank {
    /// Its label.
    pub label: String,
    /// Mean rank over all worlds.
    pub mean: f64,
    /// 2.5% quantile; not a number with too few seeds.
    pub low: f64,
    /// 97.5% quantile.
    pub high: f64,
    /// Mean rank over the worlds of each band, where worlds name one.
    pub by_band: Vec<(String, f64)>,
    /// Worlds in which it is within two standard errors of the best.
    pub near_best: usize,
    /// How many worlds.
    pub worlds: usize,
    /// The time of a round with its bases over that of the quickest master in the same world, the median over worlds
    /// that this process ran.
    pub cost: Option<f64>,
}

impl Rank {
    /// Its row of a table: label, mean, interval, how often it is near the best, and its mean in each band.
    pub fn cells(&self) -> Vec<String> {
        let interval = match self.low.is_nan() {
            true => "not tested".to_owned(),
            false => format!("[{:.1}, {:.1}]", self.low, self.high),
        };
        let near = format!("{} of {}", self.near_best, self.worlds);
        let own = [self.label.clone(), format!("{:.1}", self.mean), interval, near];
        own.into_iter().chain(self.by_band.iter().map(|(_, mean)| format!("{mean:.1}"))).collect()
    }
}

/// The masters of a spec by label, and whether they are left out: their constants were not checked against the original, and
/// the spec does not ask for them.
fn masters(spec: &Spec) -> impl Iterator<Item = (&str, bool)> {
    spec.learners.iter().filter_map(|learner| {
        let LearnerSpec::Band(band) = &learner.learner else { return None };
        let unsure =
            || REGISTRY.find(&band.master.name).is_ok_and(|row| row.entry.status == Status::FromMemory);
        Some((learner.label.as_str(), !spec.rank_from_memory && unsure()))
    })
}

/// The masters that are not ranked: a rank says something of a method, and these may be another one than their papers'.
pub fn unranked(spec: &Spec) -> Vec<&str> {
    distinct(masters(spec).filter(|(_, unsure)| *unsure).map(|(label, _)| label))
}

/// The ranks of the masters at the longest horizon, best first, without those that are [`unranked`]; empty with fewer than three
/// masters or worlds.
pub fn ranks(spec: &Spec, cells: &[CellRecord], rows: &[SummaryRow]) -> Vec<Rank> {
    let labels = distinct(masters(spec).filter(|(_, unsure)| !unsure).map(|(label, _)| label));
    let Some(&rounds) = spec.rounds.iter().max() else { return Vec::new() };
    // Regret by world, master and seed.
    let worlds: Vec<Vec<Vec<f64>>> =
        spec.environments.iter().filter_map(|e| regrets(spec, cells, &labels, rounds, &e.label)).collect();
    if labels.len() < 3 || worlds.len() < 3 || worlds.len() < spec.environments.len() {
        return Vec::new();
    }
    let seeds = spec.seeds as usize;
    let all: Vec<usize> = (0..seeds).collect();
    let measured = table(&worlds, &all);
    let drawn: Vec<Vec<f64>> = resampled("ranks", RESAMPLES, seeds, |pick| {
        let ranks = table(&worlds, pick);
        (0..labels.len()).map(|m| mean(ranks.iter().map(|r| r[m]))).collect()
    });
    let bands = distinct(spec.environments.iter().filter_map(|e| e.band.as_deref()));
    let mut found: Vec<Rank> = labels
        .iter()
        .enumerate()
        .map(|(m, label)| {
            let (low, high) = match seeds < FEWEST_SEEDS {
                true => (f64::NAN, f64::NAN),
                false => percentile_95(drawn.iter().map(|d| d[m]).collect()),
            };
            let in_band = |band: &str| {
                let here = spec.environments.iter().zip(&measured);
                mean(here.filter(|(e, _)| e.band.as_deref() == Some(band)).map(|(_, ranks)| ranks[m]))
            };
            Rank {
                label: (*label).to_owned(),
                mean: mean(measured.iter().map(|ranks| ranks[m])),
                low,
                high,
                by_band: bands.iter().map(|b| ((*b).to_owned(), in_band(b))).collect(),
                near_best: worlds.iter().filter(|w| near_best(w, m)).count(),
                worlds: worlds.len(),
                cost: cost(rows, rounds, &labels, label),
            }
        })
        .collect();
    found.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    found
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(s, n), v| (s + v, n + 1.0));
    sum / count
}

/// The regrets of the masters in a world, by seed; `None` where a cell is missing, failed or without bound.
fn regrets(
    spec: &Spec,
    cells: &[CellRecord],
    labels: &[&str],
    rounds: u64,
    world: &str,
) -> Option<Vec<Vec<f64>>> {
    let of = |label: &&str| by_seed(spec, cells, (rounds, world, label), |c| c.regret);
    labels.iter().map(|l| of(l).into_iter().map(|r| r.filter(|r| r.is_finite())).collect()).collect()
}

/// The rank of every master in every world, by its mean over the picked seeds.
fn table(worlds: &[Vec<Vec<f64>>], pick: &[usize]) -> Vec<Vec<f64>> {
    worlds
        .iter()
        .map(|world| {
            let means: Vec<f64> = world.iter().map(|seeds| mean(pick.iter().map(|s| seeds[*s]))).collect();
            let place = |own: &f64| {
                let below = means.iter().filter(|r| *r < own).count() as f64;
                let equal = means.iter().filter(|r| *r == own).count() as f64;
                below + (equal + 1.0) / 2.0
            };
            means.iter().map(place).collect()
        })
        .collect()
}

/// Whether a master's regret is within two standard errors of the least, seed by seed.
fn near_best(world: &[Vec<f64>], m: usize) -> bool {
    let means: Vec<f64> = world.iter().map(|seeds| mean(seeds.iter().copied())).collect();
    let Some(best) = (0..means.len()).min_by(|a, b| means[*a].total_cmp(&means[*b])) else { return false };
    let gaps: Vec<f64> = world[m].iter().zip(&world[best]).map(|(a, b)| a - b).collect();
    crate::summary::Figure::of(&gaps).is_some_and(|gap| gap.mean <= 2.0 * gap.se)
}

fn cost(rows: &[SummaryRow], rounds: u64, masters: &[&str], label: &str) -> Option<f64> {
    let here = |r: &&SummaryRow| r.rounds == rounds && masters.contains(&r.label.as_str());
    let quickest = |world: &str| {
        let speeds = rows.iter().filter(here).filter(|r| r.environment == world);
        speeds.filter_map(|r| r.rounds_per_second).fold(0.0, f64::max)
    };
    let mine = rows.iter().filter(here).filter(|r| r.label == label);
    let mut found: Vec<f64> =
        mine.filter_map(|r| r.rounds_per_second.map(|s| quickest(&r.environment) / s)).collect();
    found.sort_by(f64::total_cmp);
    found.get(found.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_ties_and_follow_the_seeds() {
        let world = vec![vec![1.0, 9.0], vec![2.0, 2.0], vec![1.0, 9.0]];
        assert_eq!(table(std::slice::from_ref(&world), &[0, 1]), [[2.5, 1.0, 2.5]]);
        assert_eq!(table(std::slice::from_ref(&world), &[0]), [[1.5, 3.0, 1.5]]);
        assert!(near_best(&world, 1) && near_best(&world, 0));
    }

    #[test]
    fn masters_are_ranked_over_three_worlds() {
        let spec = Spec::parse(
            r#"
            rounds = 10
            seeds = 2
            [[environment]]
            label = "a"
            name = "bernoulli"
            band = "x"
            [[environment]]
            label = "b"
            name = "bernoulli"
            band = "x"
            [[environment]]
            label = "c"
            name = "bernoulli"
            band = "y"
            [bands]
            x = ["moss", "ucb1"]
            y = ["moss"]
            [[learner]]
            master = "corral"
            [[learner]]
            master = "exp3"
            [[learner]]
            master = "uniform"
            [[learner]]
            master = "arbe"
            [[learner]]
            alone = "x"
            "#,
        )
        .unwrap();
        // Four masters in three worlds, two bases alone in two of them.
        assert_eq!(spec.runs.len(), 4 * 3 + 2 * 2);
        let mut cells = Vec::new();
        for number in 0..spec.cells() {
            let cell = crate::run::CellSpec::of(&spec, number);
            let (world, learner) = (&spec.environments[cell.environment], &spec.learners[cell.learner]);
            let regret = match learner.label.as_str() {
                "corral" => 1.0,
                "exp3" => {
                    if world.label == "c" {
                        0.5
                    } else {
                        2.0
                    }
                }
                _ => 3.0,
            } + cell.seed as f64;
            cells.push(CellRecord {
                cell: number,
                rounds: 10,
                environment: world.label.clone(),
                learner: learner.label.clone(),
                seed: cell.seed,
                failed: None,
                played: 10,
                seen: 10,
                regret,
                loss: 0.0,
                curve: Vec::new(),
                chance: None,
                squares: None,
                band: None,
            });
        }
        let found = ranks(&spec, &cells, &[]);
        let names: Vec<&str> = found.iter().map(|r| r.label.as_str()).collect();
        assert_eq!(names, ["corral", "exp3", "uniform"]);
        assert_eq!(unranked(&spec), ["arbe"]);
        assert!((found[0].mean - 4.0 / 3.0).abs() < 1e-12 && (found[2].mean - 3.0).abs() < 1e-12);
        assert_eq!(found[0].by_band, [("x".to_owned(), 1.0), ("y".to_owned(), 2.0)]);
        assert_eq!((found[0].near_best, found[0].worlds), (2, 3));
        // Two seeds are too few for an interval.
        assert!(found[0].low.is_nan() && found[0].cells()[2] == "not tested");
        let asked = Spec { rank_from_memory: true, ..spec };
        assert_eq!((ranks(&asked, &cells, &[]).len(), unranked(&asked).len()), (4, 0));
    }
    #[test]
    fn an_environment_without_a_band_has_no_bases_for_a_master_without_any() {
        let spec = |worlds: &str, learners: &str| {
            let text = format!(
                "rounds = 10\nseeds = 1\n{worlds}\n[bands]\nx = [\"moss\"]\ny = [\"moss\"]\n{learners}"
            );
            Spec::parse(&text).map(|spec| spec.runs.len()).map_err(|e| e.to_string())
        };
        let world = |label: &str, band: &str| {
            format!("[[environment]]\nlabel = \"{label}\"\nname = \"bernoulli\"\n{band}\n")
        };
        let (with, without) = (world("a", "band = \"x\""), world("b", ""));
        let corral = "[[learner]]\nmaster = \"corral\"";
        assert_eq!(spec(&with, corral), Ok(1));
        let lacking = spec(&(with.clone() + &without), corral).unwrap_err();
        assert!(lacking.contains("a band in every environment"), "{lacking}");
        // Bases of its own go everywhere, members alone go where their band is.
        let learners = "[[learner]]\nmaster = \"corral\"\nbases = \"y\"\n[[learner]]\nalone = \"x\"";
        assert_eq!(spec(&(with + &without), learners), Ok(3));
        let unknown = spec(&world("a", "band = \"z\""), corral).unwrap_err();
        assert!(unknown.contains("unknown band \"z\""), "{unknown}");
    }
}
