//! Which learner is best in an environment, and which are not distinguishable from it: tests of pairs, and the answer in words.
//!
//! Learners of one seed face the same world, so that two of them are compared by their differences seed by seed: a paired t-test. In a
//! table the seeds play the same rows, which says nothing of other rows: there mean losses are compared
//! [over rows](crate::over_rows). The best is picked by the same data that it is tested on; the p-values of all pairs of learners are
//! therefore corrected together (Holm 1979), and every statement about the best holds with probability 0.95 at once.

use corral_envs::data::{Chance, Counts};
use serde::Serialize;

use crate::over_rows::{Gap, Sample, student};
use crate::run::CellRecord;
use crate::spec::{EnvironmentSpec, Spec};
use crate::summary::{FEWEST_SEEDS, SummaryRow, by_seed};

/// Two learners differ when their corrected p-value is below this.
pub const LEVEL: f64 = 0.05;

/// Learners of one world, or of all worlds together, ordered by a figure of which less is better.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// The environment's label, or "all N worlds".
    pub environment: String,
    /// Whether it is over all worlds.
    pub everywhere: bool,
    /// The horizon.
    pub rounds: u64,
    /// What is compared: "regret", "loss per round", "error rate", "loss per row".
    pub figure: &'static str,
    /// What the tests are over: "seeds", "rows", or "nothing" where there is too little.
    pub over: &'static str,
    /// How, for below the words; or why not.
    #[serde(skip)]
    pub how: How,
    /// Different rows that were played, in a table.
    pub rows: Option<u64>,
    /// What learning nothing costs, in a table.
    #[serde(skip)]
    pub chance: Option<Chance>,
    /// How many pairs of learners were compared, each corrected for all.
    pub comparisons: usize,
    /// Seeds in which every learner ended.
    pub seeds: usize,
    /// The learners, best first.
    pub learners: Vec<Placed>,
    /// The corrected p-values of all pairs of learners: of the first and the second, the first and the third, ...
    #[serde(skip)]
    pub pairs: Vec<f64>,
}

/// A learner in its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Placed {
    /// Its label.
    pub label: String,
    /// Its mean over the seeds.
    pub mean: f64,
    /// By how much that is above the best's.
    pub above_best: f64,
    /// The corrected p-value of the difference to the best; 1 for the best itself.
    pub p: f64,
    /// Seconds a round, with its world, where this process ran it.
    pub seconds_per_round: Option<f64>,
}

/// Where a learner stands towards the best of its world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgainstBest {
    /// Better than every other, beyond chance.
    Best,
    /// Not distinguishable from the best, or the best of those.
    Tied,
    /// Worse than the best, beyond chance.
    Behind,
}

impl AgainstBest {
    /// As tables say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Tied => "tied",
            Self::Behind => "",
        }
    }
}

/// How pairs of learners are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Differences of seeds, by a t-test.
    Seeds,
    /// Mean losses in a table.
    Rows(Counts),
    /// Mean losses of several tables, each of which weighs the same.
    Tables,
    /// Rows of a table, but nothing is known of their spread.
    Unknown,
}

/// A learner with what is compared.
struct Player {
    label: String,
    /// By seed; `None` where its cell failed or is missing.
    values: Vec<Option<f64>>,
    /// In each table that is looked at.
    samples: Vec<Sample>,
}

impl How {
    /// In a world, of whose cells one is `any`.
    fn of(world: &EnvironmentSpec, any: Option<&CellRecord>) -> Self {
        match any.and_then(|c| c.chance.as_ref()) {
            Some(chance) => Self::Rows(chance.counts),
            None if is_table(world) => Self::Unknown,
            None => Self::Seeds,
        }
    }

    fn figure(self) -> &'static str {
        match self {
            Self::Seeds => "regret",
            Self::Rows(Counts::Errors) => "error rate",
            Self::Rows(_) | Self::Tables | Self::Unknown => "loss per row",
        }
    }

    /// What a player is judged by in a cell.
    fn value(self, c: &CellRecord) -> f64 {
        if self == Self::Seeds { c.regret } else { c.loss / c.seen.max(1) as f64 }
    }

    /// The p-value of a pair, of whose seeds `whole` are looked at; `None` where nothing can be told.
    fn p(self, a: &Player, b: &Player, whole: &[usize]) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::Seeds => (whole.len() >= FEWEST_SEEDS).then(|| {
                let of = |p: &Player| whole.iter().filter_map(|s| p.values[*s]).collect::<Vec<_>>();
                paired_p(&of(a), &of(b))
            }),
            Self::Rows(_) | Self::Tables => {
                let gaps: Option<Vec<Gap>> =
                    a.samples.iter().zip(&b.samples).map(|(a, b)| a.gap(b)).collect();
                match gaps?.as_slice() {
                    [] => None,
                    [one] => Some(one.p()),
                    // Rows of different tables have nothing to do with each other.
                    gaps => {
                        let sum = |of: fn(&Gap) -> f64| gaps.iter().map(of).sum::<f64>();
                        let (gap, variance) = (sum(|g| g.gap), sum(|g| g.variance));
                        Some(Gap { gap, variance, freedom: f64::INFINITY }.p())
                    }
                }
            }
        }
    }
}

/// Whether an environment plays the rows of a file, the same ones for every seed.
fn is_table(world: &EnvironmentSpec) -> bool {
    ["dataset", "logged"].contains(&world.name.as_str())
}

impl Standing {
    /// One for every world that has two learners, in the order of the spec; for several environments one more, over all of
    /// them at the longest horizon.
    pub fn all(spec: &Spec, cells: &[CellRecord], rows: &[SummaryRow]) -> Vec<Self> {
        let mut found = Vec::new();
        for (rounds, world) in spec.worlds() {
            let here =
                |c: &&CellRecord| c.environment == world.label && c.rounds == rounds && c.failed.is_none();
            let any = cells.iter().find(here);
            let how = How::of(world, any);
            let row = |label: &str| {
                let mine =
                    |r: &&SummaryRow| r.rounds == rounds && r.environment == world.label && r.label == label;
                rows.iter().find(mine)
            };
            let players = spec.learners.iter().filter(|l| l.plays_in(world)).map(|l| Player {
                label: l.label.clone(),
                values: by_seed(spec, cells, (rounds, &world.label, &l.label), |c| how.value(c)),
                samples: row(&l.label).and_then(|r| r.sample.clone()).into_iter().collect(),
            });
            let speed = |label: &str| row(label)?.rounds_per_second.map(|s| 1.0 / s);
            let standing = Self::of(&world.label, rounds, how, players.collect(), &speed);
            found.extend(standing.map(|s| Self { chance: any.and_then(|c| c.chance.clone()), ..s }));
        }
        // What holds everywhere is first.
        over_all_worlds(spec, cells, rows).into_iter().chain(found).collect()
    }

    /// Of learners with their figures by seed; seeds in which one of them failed are left out. `None` for fewer than two
    /// learners, or without a seed that all ended.
    fn of(
        environment: &str,
        rounds: u64,
        how: How,
        mut players: Vec<Player>,
        speed: &dyn Fn(&str) -> Option<f64>,
    ) -> Option<Self> {
        // A learner without any result is not compared, and does not take the others' seeds away.
        players.retain(|p| p.values.iter().any(Option::is_some));
        let seeds = players.iter().map(|p| p.values.len()).max()?;
        let whole: Vec<usize> =
            (0..seeds).filter(|s| players.iter().all(|p| p.values[*s].is_some())).collect();
        if players.len() < 2 || whole.is_empty() {
            return None;
        }
        let mean = |p: &Player| whole.iter().filter_map(|s| p.values[*s]).sum::<f64>() / whole.len() as f64;
        let mut table: Vec<(Player, f64)> =
            players.into_iter().map(|p| (mean(&p), p)).map(|(m, p)| (p, m)).collect();
        table.sort_by(|a, b| a.1.total_cmp(&b.1));
        // All pairs, those with the best first.
        let pairs = (0..table.len()).flat_map(|i| (i + 1..table.len()).map(move |j| (i, j)));
        let tested: Option<Vec<f64>> =
            pairs.clone().map(|(i, j)| how.p(&table[i].0, &table[j].0, &whole)).collect();
        let over = match (&tested, how) {
            (None, _) => "nothing",
            (Some(_), How::Seeds) => "seeds",
            (Some(_), _) => "rows",
        };
        let corrected = holm(&tested.unwrap_or_else(|| vec![1.0; pairs.count()]));
        let rows = table.iter().flat_map(|(p, _)| &p.samples).map(|s| s.rows);
        Some(Self {
            environment: environment.to_owned(),
            everywhere: false,
            rounds,
            figure: how.figure(),
            over,
            how,
            rows: rows.min(),
            chance: None,
            comparisons: corrected.len(),
            seeds: whole.len(),
            learners: (0..table.len())
                .map(|j| Placed {
                    label: table[j].0.label.clone(),
                    mean: table[j].1,
                    above_best: table[j].1 - table[0].1,
                    p: if j == 0 { 1.0 } else { corrected[j - 1] },
                    seconds_per_round: speed(&table[j].0.label),
                })
                .collect(),
            pairs: corrected,
        })
    }

    /// All pairs of learners with their corrected p-values.
    pub fn tests(&self) -> impl Iterator<Item = (&Placed, &Placed, f64)> {
        let count = self.learners.len();
        let pairs = (0..count).flat_map(move |i| (i + 1..count).map(move |j| (i, j)));
        pairs.zip(&self.pairs).map(|((i, j), p)| (&self.learners[i], &self.learners[j], *p))
    }

    /// The place of a learner; `None` where it was not compared.
    pub fn place(&self, label: &str) -> Option<AgainstBest> {
        if self.over == "nothing" {
            return None;
        }
        let at = self.learners.iter().position(|l| l.label == label)?;
        Some(match at {
            0 if self.learners[1..].iter().all(|l| l.p < LEVEL) => AgainstBest::Best,
            0 => AgainstBest::Tied,
            _ if self.learners[at].p < LEVEL => AgainstBest::Behind,
            _ => AgainstBest::Tied,
        })
    }
}

/// Learners that were run in every environment, by their loss per round averaged over the environments. Nothing is said where some are
/// tables and others are not: what one is sure of over rows, and the other over seeds.
fn over_all_worlds(spec: &Spec, cells: &[CellRecord], rows: &[SummaryRow]) -> Option<Standing> {
    let rounds = *spec.rounds.iter().max()?;
    let worlds = &spec.environments;
    let tables = worlds.iter().filter(|w| is_table(w)).count();
    if worlds.len() < 2 || tables != 0 && tables != worlds.len() {
        return None;
    }
    let mut players: Vec<Player> = Vec::new();
    for learner in &spec.learners {
        let label = &learner.label;
        let everywhere =
            worlds.iter().all(|w| spec.learners.iter().any(|l| l.label == *label && l.plays_in(w)));
        if !everywhere || players.iter().any(|p| p.label == *label) {
            continue;
        }
        let mut mean = vec![Some(0.0); spec.seeds as usize];
        let mut samples = Vec::new();
        for world in worlds {
            let loss = |c: &CellRecord| c.loss / c.seen.max(1) as f64 / worlds.len() as f64;
            let here = by_seed(spec, cells, (rounds, &world.label, label), loss);
            mean = mean.into_iter().zip(here).map(|(a, b)| Some(a? + b?)).collect();
            let mine =
                |r: &&SummaryRow| r.rounds == rounds && r.environment == world.label && r.label == *label;
            samples.extend(rows.iter().find(mine).and_then(|r| r.sample.clone()));
        }
        players.push(Player { label: label.clone(), values: mean, samples });
    }
    // One that failed in a table is compared in none.
    players.retain(|p| tables == 0 || p.samples.len() == tables);
    let errors = players.iter().flat_map(|p| &p.samples).all(|s| s.counts == Counts::Errors);
    let (all, how, figure) = match tables {
        0 => (format!("all {} worlds", worlds.len()), How::Seeds, "loss per round"),
        _ if errors => (format!("all {tables} tables"), How::Tables, "error rate"),
        _ => (format!("all {tables} tables"), How::Tables, "loss per row"),
    };
    let found = Standing::of(&all, rounds, how, players, &|_| None)?;
    Some(Standing { everywhere: true, figure, ..found })
}

/// The two-sided p-value of a paired t-test; 1 where nothing can be told.
fn paired_p(a: &[f64], b: &[f64]) -> f64 {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let Some(d) = crate::summary::Figure::of(&differences).filter(|_| differences.len() > 1) else {
        return 1.0;
    };
    if d.mean == 0.0 {
        return 1.0;
    }
    // Equal differences in every seed: se is 0, t is infinite.
    let (t, freedom) = (d.mean / d.se, differences.len() as f64 - 1.0);
    student(t, freedom)
}

/// Holm's step-down correction: the i-th smallest of m p-values times m - i + 1, never falling.
fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let (mut out, mut least) = (vec![1.0; p.len()], 0.0f64);
    for (rank, i) in order.into_iter().enumerate() {
        least = least.max((p[i] * (p.len() - rank) as f64).min(1.0));
        out[i] = least;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(players: &[(&str, &[f64])]) -> Standing {
        let player = |(label, values): &(&str, &[f64])| Player {
            label: (*label).to_owned(),
            values: values.iter().map(|x| Some(*x)).collect(),
            samples: Vec::new(),
        };
        Standing::of("w", 100, How::Seeds, players.iter().map(player).collect(), &|_| None).unwrap()
    }

    #[test]
    fn the_t_test_agrees_with_the_table() {
        // Two-sided 5% and 0.1% points of Student's t from the usual table, to three decimals.
        for (freedom, t, p) in [
            (1.0, 12.706, 0.05),
            (4.0, 2.776, 0.05),
            (19.0, 2.093, 0.05),
            (100.0, 1.984, 0.05),
            (9.0, 4.781, 0.001),
            (30.0, 3.646, 0.001),
        ] {
            let found = student(t, freedom);
            assert!((found / p - 1.0).abs() < 2e-3, "{freedom}: {found}");
        }
        assert_eq!((student(f64::INFINITY, 4.0), student(0.0, 4.0)), (0.0, 1.0));
        // Differences 1, 2, 3, 4: t = 2.5/sqrt(5/12) = 3.873 with 3 degrees of freedom, p = 0.0305.
        assert!((paired_p(&[1.0, 2.0, 3.0, 4.0], &[0.0; 4]) - 0.0305).abs() < 1e-4);
        assert_eq!(paired_p(&[1.0, 2.0], &[1.0, 2.0]), 1.0);
        assert_eq!(paired_p(&[1.0, 2.0], &[0.0, 1.0]), 0.0);
    }

    #[test]
    fn holm_multiplies_and_never_falls() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn a_tie_is_never_called_best() {
        let a: Vec<f64> = (0..10).map(|s| 10.0 + f64::from(s % 3)).collect();
        let b: Vec<f64> = (0..10).map(|s| 10.1 + f64::from((s + 1) % 3)).collect();
        let far: Vec<f64> = (0..10).map(|s| 30.0 + f64::from(s % 4)).collect();
        let tie = standing(&[("far", &far), ("b", &b), ("a", &a)]);
        let places = ["a", "b", "far", "absent"].map(|l| tie.place(l));
        assert_eq!(
            places,
            [Some(AgainstBest::Tied), Some(AgainstBest::Tied), Some(AgainstBest::Behind), None]
        );
        assert_eq!(tie.comparisons, 3);
        let words = tie.words();
        assert!(
            words.starts_with(
                "w, 100 rounds: a has the least regret, 10.90; b is not distinguishable from it ("
            ),
            "{words}"
        );
        assert!(words.ends_with("; far is worse by 20.40 (p < 0.001)."), "{words}");
        let clear = standing(&[("far", &far), ("a", &a)]);
        assert_eq!(clear.place("a"), Some(AgainstBest::Best));
        assert!(
            clear.words().contains("a is best, regret 10.90; far is worse by 20.40"),
            "{}",
            clear.words()
        );
        let one = standing(&[("a", &[1.0]), ("b", &[2.0])]);
        assert_eq!(one.place("a"), None);
        assert!(
            one.words().ends_with("not tested: 1 seed is too few to tell it from chance."),
            "{}",
            one.words()
        );
        let three = standing(&[("a, b", &[1.0, 1.0, 1.0]), ("c", &[9.0, 9.1, 9.0])]);
        assert!(
            three.words().starts_with("w, 100 rounds: \"a, b\" has the least regret"),
            "{}",
            three.words()
        );
        assert!(three.words().contains("not tested: 3 seeds"), "{}", three.words());
    }

    #[test]
    fn equal_learners_are_called_different_no_more_often_than_said() {
        // Five learners of one law, 400 worlds of 12 seeds: somebody is told from the best in at most 5% of the worlds.
        // With probability 0.05 each, 35 or more of 400 have probability 0.0012.
        use rand::RngExt;
        let mut rng = crate::streams::stream(7, "standing");
        let told = (0..400)
            .filter(|_| {
                let draw: Vec<Vec<f64>> =
                    (0..5).map(|_| (0..12).map(|_| rng.random_range(0.0..1.0)).collect()).collect();
                let names = ["a", "b", "c", "d", "e"];
                let players: Vec<(&str, &[f64])> =
                    names.iter().zip(&draw).map(|(l, v)| (*l, v.as_slice())).collect();
                standing(&players).learners.iter().any(|l| l.p < LEVEL)
            })
            .count();
        assert!(told < 35, "{told} of 400");
    }
}
