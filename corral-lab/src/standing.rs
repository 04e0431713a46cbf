//! Which learner is best in an environment, and which are not distinguishable from it: paired tests over seeds, and the answer in words.
//!
//! Learners of one seed face the same world, so that two of them are compared by their differences seed by seed: a paired
//! t-test. In a table the seeds play the same rows and vary the learners' coins alone, which says nothing of other rows:
//! there the mean errors are compared over rows, by the test of [`duels`](crate::duels). The best is picked by the same data that it is tested on; the p-values of all pairs of learners are therefore
//! corrected together (Holm 1979), and every statement about the best holds with probability 0.95 at once.

use serde::Serialize;
use statrs::function::beta::beta_reg;

use crate::duels::two_sided as two_sided_over_rows;
use crate::run::CellRecord;
use crate::spec::Spec;
use crate::summary::{Row, by_seed, number};

/// Two learners differ when their corrected p-value is below this.
const LEVEL: f64 = 0.05;
/// So many names are listed in words.
const NAMED: usize = 4;
/// With fewer seeds than these nothing is tested over seeds.
const FEWEST_SEEDS: usize = 4;
/// So many worlds are put into words.
const WORLDS: usize = 4;

/// Learners of one world, or of all worlds together, ordered by a figure of which less is better.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// The environment's label, or "all N worlds".
    pub environment: String,
    /// Whether it is over all worlds.
    pub everywhere: bool,
    /// The horizon.
    pub rounds: u64,
    /// What is compared: "regret", "loss per round", "error rate".
    pub figure: &'static str,
    /// What the tests are over: "seeds", "rows", or "nothing" where there is too little.
    pub over: &'static str,
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

impl Standing {
    /// One for every world that has two learners, in the order of the spec; for several environments one more, over all of
    /// them at the longest horizon.
    pub fn all(spec: &Spec, cells: &[CellRecord], rows: &[Row]) -> Vec<Self> {
        let mut found = Vec::new();
        for (rounds, world) in spec.worlds() {
            let errors = cells.iter().any(|c| c.environment == world.label && c.chance.is_some());
            let figure = |c: &CellRecord| if errors { c.loss / c.seen.max(1) as f64 } else { c.regret };
            let players = spec.learners.iter().filter(|l| l.plays_in(world)).map(|l| {
                let own = by_seed(spec, cells, (rounds, &world.label, &l.label), figure);
                (l.label.clone(), own)
            });
            let here =
                |c: &&CellRecord| c.environment == world.label && c.rounds == rounds && c.failed.is_none();
            let rows_seen = || cells.iter().filter(here).map(|c| c.seen).min().unwrap_or(0);
            let speed = |label: &str| {
                let here = |r: &&Row| r.rounds == rounds && r.environment == world.label && r.label == label;
                rows.iter().find(here).and_then(|r| r.rounds_per_second).map(|s| 1.0 / s)
            };
            let test = if errors { Test::Rows(rows_seen()) } else { Test::Seeds };
            let figure = if errors { "error rate" } else { "regret" };
            found.extend(Self::of(&world.label, rounds, (figure, test), players.collect(), &speed));
        }
        // What holds everywhere is first.
        over_all_worlds(spec, cells).into_iter().chain(found).collect()
    }

    /// Of learners with their figures by seed; seeds in which one of them failed are left out. `None` for fewer than two
    /// learners, or without a seed that all ended.
    fn of(
        environment: &str,
        rounds: u64,
        (figure, test): (&'static str, Test),
        mut players: Vec<(String, Vec<Option<f64>>)>,
        speed: &dyn Fn(&str) -> Option<f64>,
    ) -> Option<Self> {
        // A learner without any result is not compared, and does not take the others' seeds away.
        players.retain(|(_, values)| values.iter().any(Option::is_some));
        let seeds = players.iter().map(|(_, values)| values.len()).max()?;
        let whole: Vec<usize> = (0..seeds).filter(|s| players.iter().all(|(_, v)| v[*s].is_some())).collect();
        if players.len() < 2 || whole.is_empty() {
            return None;
        }
        let mut table: Vec<(String, Vec<f64>, f64)> = players
            .into_iter()
            .map(|(label, values)| {
                let values: Vec<f64> = whole.iter().filter_map(|s| values[*s]).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                (label, values, mean)
            })
            .collect();
        table.sort_by(|a, b| a.2.total_cmp(&b.2));
        // All pairs, those with the best first.
        let pairs = (0..table.len()).flat_map(|i| (i + 1..table.len()).map(move |j| (i, j)));
        let tested = match test {
            Test::Seeds if whole.len() < FEWEST_SEEDS => "nothing",
            Test::Seeds => "seeds",
            Test::Rows(_) => "rows",
        };
        let p = |(i, j): (usize, usize)| match test {
            Test::Seeds if whole.len() < FEWEST_SEEDS => 1.0,
            Test::Seeds => paired_p(&table[i].1, &table[j].1),
            Test::Rows(rows) => two_sided_over_rows(table[i].2, table[j].2, rows as f64),
        };
        let corrected = holm(&pairs.map(p).collect::<Vec<_>>());
        Some(Self {
            environment: environment.to_owned(),
            everywhere: false,
            rounds,
            figure,
            over: tested,
            comparisons: corrected.len(),
            seeds: whole.len(),
            learners: (0..table.len())
                .map(|j| Placed {
                    label: table[j].0.clone(),
                    mean: table[j].2,
                    above_best: table[j].2 - table[0].2,
                    p: if j == 0 { 1.0 } else { corrected[j - 1] },
                    seconds_per_round: speed(&table[j].0),
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

    /// Which learner is best, by how much, and whether that is more than chance.
    pub fn words(&self) -> String {
        let [best, others @ ..] = self.learners.as_slice() else { return String::new() };
        let (behind, tied): (Vec<&Placed>, Vec<&Placed>) = others.iter().partition(|l| l.p < LEVEL);
        let unit = if self.over == "rows" { "rows" } else { "rounds" };
        let mut out = format!("{}, {} {unit}: ", self.environment, self.rounds);
        let (name, mean) = (quoted(&best.label), self.shown(best.mean));
        out += &match (self.over != "nothing" && tied.is_empty(), self.figure) {
            (true, figure) => format!("{name} is best, {figure} {mean}"),
            (false, figure) => format!("{name} has the least {figure}, {mean}"),
        };
        if self.over == "nothing" {
            let seeds =
                if self.seeds == 1 { "1 seed is".to_owned() } else { format!("{} seeds are", self.seeds) };
            return out + &format!("; not tested: {seeds} too few to tell it from chance.");
        }
        if let [first, ..] = tied.as_slice() {
            let most = tied.iter().map(|l| l.above_best).fold(0.0, f64::max);
            let least = tied.iter().map(|l| l.p).fold(1.0, f64::min);
            out += &match tied.len() {
                1 => format!(
                    "; {} is not distinguishable from it ({} more, p = {})",
                    quoted(&first.label),
                    self.shown(first.above_best),
                    p_value(first.p)
                ),
                _ => format!(
                    "; {} are not distinguishable from it (at most {} more, p >= {})",
                    list(&tied, |l| quoted(&l.label)),
                    self.shown(most),
                    p_value(least)
                ),
            };
        }
        if let Some(first) = behind.first() {
            let p = behind.iter().map(|l| l.p).fold(0.0, f64::max);
            let more = |l: &&Placed| format!("{} (+{})", quoted(&l.label), self.shown(l.above_best));
            let p = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p <= {}", p_value(p)) };
            out += &match behind.len() {
                1 => format!("; {} is worse by {} ({p})", quoted(&first.label), self.shown(first.above_best)),
                _ => format!("; {} are worse ({p})", list(&behind, more)),
            };
        }
        out + "."
    }

    /// A value of the figure, as people write it.
    fn shown(&self, value: f64) -> String {
        if self.figure == "error rate" { percent(value) } else { number(value) }
    }

    /// What a round costs in time: of the best, and of the quickest where that is another; empty where nothing was run.
    pub fn cost(&self) -> String {
        let best = &self.learners[0];
        let timed = self.learners.iter().filter_map(|l| Some((l, l.seconds_per_round?)));
        match (best.seconds_per_round, timed.min_by(|a, b| a.1.total_cmp(&b.1))) {
            (Some(own), Some((least, its))) if least.label != best.label => format!(
                " A round of {} takes {}, of {}, the quickest, {}.",
                best.label,
                time(own),
                least.label,
                time(its)
            ),
            (Some(own), _) => format!(" A round of {} takes {}, the least of all.", best.label, time(own)),
            _ => String::new(),
        }
    }
}

/// The answer, a sentence each: what holds over all worlds, and then the first worlds; with what a round costs in time, or
/// without.
pub fn words(standings: &[Standing], cost: bool) -> Vec<String> {
    let over_all = standings.iter().take_while(|s| s.everywhere).count();
    let shown = (over_all + WORLDS).min(standings.len());
    let sentence = |s: &Standing| if cost { s.words() + &s.cost() } else { s.words() };
    let mut words: Vec<String> = standings[..shown].iter().map(sentence).collect();
    if standings.len() > shown {
        words.truncate(shown - 1);
        words.push(format!("{} more worlds: each has its table.", standings.len() - shown + 1));
    }
    words
}

/// How the tests were done, for below the words.
pub fn method(standings: &[Standing]) -> Option<String> {
    let most = standings.iter().map(|s| s.comparisons).max()?;
    let over = |over: &str| standings.iter().any(|s| s.over == over);
    let tests = [
        ("seeds", "paired t-tests over seeds"),
        ("rows", "z-tests over rows (those of the contextual bandit bake-off; seeds play the same rows)"),
    ];
    let used: Vec<&str> = tests.iter().filter(|(o, _)| over(o)).map(|(_, words)| *words).collect();
    if used.is_empty() {
        return Some(format!("Nothing is tested with fewer than {FEWEST_SEEDS} seeds."));
    }
    let used = used.join(" and ");
    let used = used[..1].to_uppercase() + &used[1..];
    Some(format!(
        "{used} at {LEVEL}, corrected by Holm's method for all pairs of learners of a world (up to {most})."
    ))
}

/// What a difference is tested over.
#[derive(Debug, Clone, Copy)]
enum Test {
    /// Seeds, in pairs.
    Seeds,
    /// So many rows of a table.
    Rows(u64),
}

/// A label in a sentence: in quotes where it has commas of its own.
fn quoted(label: &str) -> String {
    if label.contains(',') { format!("\"{label}\"") } else { label.to_owned() }
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    if share.is_nan() { "-".to_owned() } else { format!("{:.1} %", 100.0 * share) }
}

fn list(of: &[&Placed], word: impl Fn(&&Placed) -> String) -> String {
    let named: Vec<String> = of.iter().take(NAMED).map(&word).collect();
    match (of.len() - named.len(), named.as_slice()) {
        (0, [all @ .., last]) if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        (0, _) => named.join(", "),
        (more, _) => format!("{} and {more} more", named.join(", ")),
    }
}

fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "0.000".to_owned(),
        p if p > 0.995 => "1".to_owned(),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

/// A time below a second, in words.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s => format!("{:.1} ms", s * 1e3),
    }
}

/// Learners that were run in every environment, by their loss per round averaged over the environments.
fn over_all_worlds(spec: &Spec, cells: &[CellRecord]) -> Option<Standing> {
    let rounds = *spec.rounds.iter().max()?;
    let worlds = &spec.environments;
    if worlds.len() < 2 {
        return None;
    }
    let mut players: Vec<(String, Vec<Option<f64>>)> = Vec::new();
    for learner in &spec.learners {
        let everywhere =
            worlds.iter().all(|w| spec.learners.iter().any(|l| l.label == learner.label && l.plays_in(w)));
        if !everywhere || players.iter().any(|(label, _)| *label == learner.label) {
            continue;
        }
        let mut mean = vec![Some(0.0); spec.seeds as usize];
        for world in worlds {
            let loss = |c: &CellRecord| c.loss / c.seen.max(1) as f64 / worlds.len() as f64;
            let here = by_seed(spec, cells, (rounds, &world.label, &learner.label), loss);
            mean = mean.into_iter().zip(here).map(|(a, b)| Some(a? + b?)).collect();
        }
        players.push((learner.label.clone(), mean));
    }
    let all = format!("all {} worlds", worlds.len());
    // Seeds play the same rows of a table: they say nothing of other rows.
    if worlds.iter().any(|w| w.name == "dataset") {
        return None;
    }
    let found = Standing::of(&all, rounds, ("loss per round", Test::Seeds), players, &|_| None)?;
    Some(Standing { everywhere: true, ..found })
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
    two_sided(t, freedom)
}

/// P(|T| > t) of Student's t: I_x(f/2, 1/2) with x = f/(f + t^2), f the degrees of freedom (DLMF 8.17).
fn two_sided(t: f64, freedom: f64) -> f64 {
    let x = if t.is_finite() { freedom / (freedom + t * t) } else { 0.0 };
    beta_reg(freedom / 2.0, 0.5, x)
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
        let players =
            players.iter().map(|(l, v)| ((*l).to_owned(), v.iter().map(|x| Some(*x)).collect())).collect();
        Standing::of("w", 100, ("regret", Test::Seeds), players, &|_| None).unwrap()
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
            let found = two_sided(t, freedom);
            assert!((found / p - 1.0).abs() < 2e-3, "{freedom}: {found}");
        }
        assert_eq!((two_sided(f64::INFINITY, 4.0), two_sided(0.0, 4.0)), (0.0, 1.0));
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
