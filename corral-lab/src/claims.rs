//! Claims of a spec, held against its cells: the measured figure with an interval, and whether it holds.
//!
//! The interval is a 95% percentile bootstrap over seeds, which are resampled jointly, so that learners of one seed,
//! who faced the same world, stay together. A claim whose bound lies inside the interval is neither held nor refuted.

use serde::Serialize;

use crate::curves::slope;
use crate::run::{AuditRecord, CellRecord};
use crate::spec::{ClaimSpec, LearnerSpec, Measure, Spec};
use crate::summary::{FEWEST_SEEDS, Figure, bootstrap_95, by_seed, number};

const RESAMPLES: usize = 1000;
const ALL_WORLDS: &str = "all worlds";

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval is on the claimed side.
    Holds,
    /// The whole interval is on the other side.
    Fails,
    /// The bound lies inside the interval.
    Undecided,
    /// The seeds are too few to say more than what was measured.
    NotTested,
    /// There is nothing to measure: cells failed, or the figure is not defined.
    Unmeasured,
}

impl Verdict {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
            Self::NotTested => "not tested",
            Self::Unmeasured => "unmeasured",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}

/// A claim and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Held {
    /// The claim in words.
    pub text: String,
    /// Where.
    pub environment: String,
    /// Who.
    pub learner: String,
    /// What was measured: "regret / regret of exp3".
    pub figure: String,
    /// Its value.
    pub measured: f64,
    /// 2.5% quantile.
    pub low: f64,
    /// 97.5% quantile.
    pub high: f64,
    /// The bound: "<= 2".
    pub bound: String,
    /// Beside which published figure it was held, if so.
    pub published: Option<Published>,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why it is not expected to show at this length, if so.
    pub unlikely: Option<String>,
}

impl Held {
    /// What was measured with its interval, where there is one.
    pub fn shown(&self) -> String {
        match self.low.is_nan() && self.high.is_nan() {
            true => number(self.measured),
            false => format!("{} [{}, {}]", number(self.measured), number(self.low), number(self.high)),
        }
    }
}

/// A published figure beside one's own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Published {
    /// The horizon.
    pub rounds: u64,
    /// The published mean.
    pub mean: f64,
    /// Its standard error; where that was not published, one's own stands for it.
    pub error: f64,
    /// The standard error of the measured mean.
    pub own_error: f64,
    /// (measured - published)/sqrt(sum of the squared errors): within 3 they agree.
    pub z: f64,
}

/// The largest |z| at which two means agree. For equal laws it is exceeded with probability 0.0027.
const AGREES: f64 = 3.0;

/// Holds every claim of `spec` against `cells`; a claim that names no environment is held in each.
pub fn hold(spec: &Spec, cells: &[CellRecord]) -> Vec<Held> {
    let mut held = Vec::new();
    for claim in &spec.claims {
        if !claim.rounds.is_none_or(|t| spec.rounds.contains(&t)) {
            continue;
        }
        if matches!(claim.measure, Measure::MeanGap | Measure::WorstGap) {
            held.extend(claim.learners.iter().map(|learner| one(spec, claim, ALL_WORLDS, learner, cells)));
            continue;
        }
        for environment in &spec.environments {
            let named = |list: &[String], label: &str| list.is_empty() || list.iter().any(|l| l == label);
            if !named(&claim.environments, &environment.label) {
                continue;
            }
            let here =
                |label: &&String| spec.learners.iter().any(|l| l.label == **label && l.plays_in(environment));
            for learner in claim.learners.iter().filter(here) {
                held.push(one(spec, claim, &environment.label, learner, cells));
            }
        }
    }
    held
}

fn one(spec: &Spec, claim: &ClaimSpec, environment: &str, learner: &str, cells: &[CellRecord]) -> Held {
    if claim.measure == Measure::Audit {
        return audited(claim, environment, learner, cells);
    }
    // Up to the horizon that the claim is about, the last one where it says nothing.
    let upto = claim.rounds.and_then(|t| spec.rounds.iter().position(|r| *r == t)).map(|i| i + 1);
    let horizons = &spec.rounds[..upto.unwrap_or(spec.rounds.len())];
    // Regret per horizon and seed, in the unit of the claim.
    let table = |environment: &str, label: &str| -> Vec<Vec<Option<f64>>> {
        let unit = |rounds: u64| claim.unit.map_or(1.0, |unit| unit.at(rounds as f64));
        let at =
            |rounds: &u64| by_seed(spec, cells, (*rounds, environment, label), |c| c.regret / unit(*rounds));
        horizons.iter().map(at).collect()
    };
    let elsewhere = claim.than_environment.as_deref().unwrap_or(environment);
    let mine = table(environment, learner);
    let theirs = claim.than.as_deref().map(|than| table(elsewhere, than));
    let horizons: Vec<f64> = horizons.iter().map(|t| *t as f64).collect();
    let worlds = losses(spec, claim, learner, cells);
    let value = |pick: &[usize]| -> Option<f64> {
        if matches!(claim.measure, Measure::MeanGap | Measure::WorstGap) {
            let gaps = worlds.iter().map(|world| gap(world, pick)).collect::<Option<Vec<f64>>>()?;
            return match claim.measure {
                Measure::MeanGap => Some(gaps.iter().sum::<f64>() / gaps.len() as f64),
                _ => gaps.into_iter().max_by(f64::total_cmp),
            };
        }
        let own = mean_at(&mine, pick)?;
        let last = *own.last()?;
        match claim.measure {
            Measure::Regret => Some(last),
            Measure::PerRound => Some(last / horizons.last()?),
            Measure::Ratio => {
                let other = *mean_at(theirs.as_ref()?, pick)?.last()?;
                (other > 0.0).then(|| last / other)
            }
            Measure::Difference => Some(last - mean_at(theirs.as_ref()?, pick)?.last()?),
            Measure::Exponent => {
                let log = |t: f64, r: f64| r.ln() - claim.logarithms * t.ln().ln();
                let points: Option<Vec<(f64, f64)>> = horizons
                    .iter()
                    .zip(&own)
                    .map(|(t, r)| (*r > 0.0).then(|| (t.ln(), log(*t, *r))))
                    .collect();
                slope(&points?)
            }
            Measure::Audit | Measure::MeanGap | Measure::WorstGap => None,
        }
    };
    let seeds = spec.seeds as usize;
    let all: Vec<usize> = (0..seeds).collect();
    let measured = value(&all).unwrap_or(f64::NAN);
    let (low, high) = bootstrap_95("claims", RESAMPLES, seeds, value);
    let few = seeds < FEWEST_SEEDS && measured.is_finite();
    let (low, high) = if few { (f64::NAN, f64::NAN) } else { (low, high) };
    let below = claim.at_most.is_none_or(|b| high <= b);
    let above = claim.at_least.is_none_or(|b| low >= b);
    let refuted = claim.at_most.is_some_and(|b| low > b) || claim.at_least.is_some_and(|b| high < b);
    let published = claim.published.map(|(mean, error)| {
        let own_error = standard_error(&at_last(&mine, theirs.as_deref()));
        let error = error.unwrap_or(own_error);
        let z = (measured - mean) / own_error.hypot(error);
        Published { rounds: horizons.last().map_or(0, |t| *t as u64), mean, error, own_error, z }
    });
    let refuted = refuted || published.is_some_and(|p| p.z.abs() > AGREES);
    let verdict = match () {
        () if few => Verdict::NotTested,
        () if !(measured.is_finite() && low.is_finite() && high.is_finite()) => Verdict::Unmeasured,
        () if published.is_some_and(|p| !p.z.is_finite()) => Verdict::Unmeasured,
        () if refuted => Verdict::Fails,
        () if below && above => Verdict::Holds,
        () => Verdict::Undecided,
    };
    let mut than = claim.than.clone().unwrap_or_default();
    if let Some(elsewhere) = &claim.than_environment {
        than += &format!(" in {elsewhere}");
    }
    let figure = match claim.measure {
        Measure::Regret if claim.unit.is_some() => "regret in the unit".to_owned(),
        Measure::Exponent if claim.unit.is_some() => "growth exponent in T of regret in the unit".to_owned(),
        Measure::Regret => "regret".to_owned(),
        Measure::PerRound => "regret per round".to_owned(),
        Measure::Ratio => format!("regret / regret of {than}"),
        Measure::Difference => format!("regret - regret of {than}"),
        Measure::Exponent => match claim.logarithms {
            0.0 => "growth exponent in T".to_owned(),
            1.0 => "growth exponent in T of regret/ln T".to_owned(),
            p => format!("growth exponent in T of regret/(ln T)^{p}"),
        },
        Measure::Audit => String::new(),
        Measure::MeanGap => "loss per round above the best base, mean".to_owned(),
        Measure::WorstGap => "loss per round above the best base, worst".to_owned(),
    };
    let bounds = [claim.at_least.map(|b| format!(">= {b}")), claim.at_most.map(|b| format!("<= {b}"))];
    Held {
        text: claim.text.clone(),
        environment: environment.to_owned(),
        learner: learner.to_owned(),
        figure,
        measured,
        low,
        high,
        bound: match published {
            Some(p) => format!("{} ± {:.4} (standard error), published: z = {:+.1}", p.mean, p.error, p.z),
            None => bounds.into_iter().flatten().collect::<Vec<_>>().join(" and "),
        },
        published,
        verdict,
        unlikely: claim.unlikely.clone(),
    }
}

/// The pathwise theorem: it is about every run, so that one run beyond it refutes it, and nothing is resampled. The
/// interval is that of the runs.
fn audited(claim: &ClaimSpec, environment: &str, learner: &str, cells: &[CellRecord]) -> Held {
    let found: Option<Vec<_>> = cells
        .iter()
        .filter(|c| c.environment == environment && c.learner == learner)
        .map(|c| c.band.as_ref().and_then(|b| b.audit).filter(|_| c.failed.is_none()))
        .collect();
    let found = found.unwrap_or_default();
    let most = |of: fn(&AuditRecord) -> f64| found.iter().map(of).max_by(f64::total_cmp).unwrap_or(f64::NAN);
    let low = found.iter().map(|a| a.share).min_by(f64::total_cmp).unwrap_or(f64::NAN);
    let (high, bound) = (most(|a| a.share), claim.at_most.unwrap_or(1.0));
    let beyond = found.iter().filter(|a| !(a.share <= bound)).count();
    Held {
        text: claim.text.clone(),
        environment: environment.to_owned(),
        learner: learner.to_owned(),
        figure: format!(
            "{beyond} of {} runs beyond the bound, identities to {:.0e}, left/right at most",
            found.len(),
            most(|a| a.gap)
        ),
        measured: high,
        low,
        high,
        bound: format!("<= {bound}"),
        published: None,
        verdict: match () {
            () if !high.is_finite() => Verdict::Unmeasured,
            () if beyond == 0 => Verdict::Holds,
            () => Verdict::Fails,
        },
        unlikely: claim.unlikely.clone(),
    }
}

/// Loss per round in one world at the claim's horizon, the longest where it says nothing, by seed: that of a learner, and those of the bases alone.
struct Losses {
    own: Vec<Option<f64>>,
    alone: Vec<Vec<Option<f64>>>,
}

/// The losses of the claim's worlds; none where the claim does not ask for them.
fn losses(spec: &Spec, claim: &ClaimSpec, learner: &str, cells: &[CellRecord]) -> Vec<Losses> {
    if !matches!(claim.measure, Measure::MeanGap | Measure::WorstGap) {
        return Vec::new();
    }
    let rounds = claim.rounds.or(spec.rounds.iter().max().copied()).unwrap_or(0);
    let by_seed = |world: &str, label: &str| {
        by_seed(spec, cells, (rounds, world, label), |c| c.loss / c.seen.max(1) as f64)
    };
    let named = |label: &String| claim.environments.is_empty() || claim.environments.contains(label);
    let worlds = spec.environments.iter().filter(|e| named(&e.label));
    worlds
        .map(|world| {
            let bases = spec.learners.iter().filter(|l| matches!(l.learner, LearnerSpec::Base(_)));
            let alone = bases.filter(|l| l.plays_in(world)).map(|l| by_seed(&world.label, &l.label));
            Losses { own: by_seed(&world.label, learner), alone: alone.collect() }
        })
        .collect()
}

/// The learner's mean loss over the picked seeds, less the least mean of a base alone.
fn gap(world: &Losses, pick: &[usize]) -> Option<f64> {
    Some(mean(&world.own, pick)? - mean_at(&world.alone, pick)?.into_iter().min_by(f64::total_cmp)?)
}

/// The regret at the last horizon of each seed, or how much it is above the other's of that seed.
fn at_last(mine: &[Vec<Option<f64>>], theirs: Option<&[Vec<Option<f64>>]>) -> Vec<Option<f64>> {
    let own = mine.last().map_or(&[][..], Vec::as_slice);
    match theirs.and_then(<[_]>::last) {
        None => own.to_vec(),
        Some(other) => own.iter().zip(other).map(|(a, b)| Some((*a)? - (*b)?)).collect(),
    }
}

/// The standard error of a mean over all seeds; NaN where one is missing or alone.
fn standard_error(by_seed: &[Option<f64>]) -> f64 {
    let values: Option<Vec<f64>> = by_seed.iter().copied().collect();
    match values.as_deref() {
        Some(values @ [_, _, ..]) => Figure::of(values).map_or(f64::NAN, |f| f.se),
        _ => f64::NAN,
    }
}

/// The mean over the picked seeds.
fn mean(by_seed: &[Option<f64>], pick: &[usize]) -> Option<f64> {
    let values: Option<Vec<f64>> = pick.iter().map(|s| by_seed[*s]).collect();
    values.map(|v| v.iter().sum::<f64>() / v.len() as f64)
}

/// The mean of each list over the picked seeds.
fn mean_at(table: &[Vec<Option<f64>>], pick: &[usize]) -> Option<Vec<f64>> {
    table.iter().map(|by_seed| mean(by_seed, pick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(claim: &str) -> Spec {
        let text = format!(
            r#"
            rounds = [100, 400]
            seeds = 8
            environment = {{ name = "bernoulli", means = [0.5, 0.2] }}
            [[learner]]
            label = "a"
            base = {{ name = "exp3" }}
            [[learner]]
            label = "b"
            base = {{ name = "ucb1" }}
            [[claim]]
            text = "t"
            learner = "a"
            {claim}
            "#
        );
        Spec::parse(&text).unwrap()
    }

    /// a has regret sqrt(T) and b has twice that, each with a little spread over seeds.
    fn cells() -> Vec<CellRecord> {
        let mut cells = Vec::new();
        for rounds in [100u64, 400] {
            for (learner, factor) in [("a", 1.0), ("b", 2.0)] {
                for seed in 0..8 {
                    let regret = factor * (rounds as f64).sqrt() * (1.0 + 0.01 * (seed as f64 - 3.5));
                    cells.push(CellRecord {
                        cell: cells.len() as u64,
                        rounds,
                        environment: "bernoulli".to_owned(),
                        learner: learner.to_owned(),
                        seed,
                        failed: None,
                        played: rounds,
                        seen: rounds,
                        regret,
                        loss: regret,
                        curve: Vec::new(),
                        chance: None,
                        squares: None,
                        band: None,
                    });
                }
            }
        }
        cells
    }

    #[test]
    fn each_measure_has_its_value_and_its_verdict() {
        let cases = [
            ("measure = \"ratio\"\nthan = \"b\"\nat-most = 0.6", 0.5, Verdict::Holds),
            ("measure = \"ratio\"\nthan = \"b\"\nat-most = 0.4", 0.5, Verdict::Fails),
            ("measure = \"exponent\"\nat-least = 0.4\nat-most = 0.6", 0.5, Verdict::Holds),
            // 20/(3 * 20 ln(1 + .2 * 20/4)) = 1/(3 ln 2) and 10/(3 * 10 ln(1 + .2 * 10/4)) = 1/(3 ln 1.5)
            (
                "unit = { bases = 4, gap = 0.2, rate = 1 }\nat-most = 0.5",
                0.480_898_346_962_987_83,
                Verdict::Holds,
            ),
            (
                "unit = { bases = 4, gap = 0.2, rate = 1 }\nrounds = 100\nat-most = 0.5",
                0.822_101_154_125_477_2,
                Verdict::Fails,
            ),
            // ln(ln 1.5/ln 2)/ln 4; twice the rate is half of 1/eta: 20/(3 * 10 ln(1 + .2 * 40/4))
            (
                "measure = \"exponent\"\nunit = { bases = 4, gap = 0.2, rate = 1 }\nat-most = 0",
                -0.386_791_975_914_156_5,
                Verdict::Holds,
            ),
            (
                "unit = { bases = 4, gap = 0.2, rate = 2 }\nat-least = 0.59",
                0.606_826_151_084_558_3,
                Verdict::Holds,
            ),
            // 1/2 - ln(ln 400/ln 100)/ln 4
            ("measure = \"exponent\"\nlogarithms = 1\nat-most = 0.5", 0.3101728878819018, Verdict::Holds),
            ("measure = \"regret\"\nat-most = 20", 20.0, Verdict::Undecided),
            ("measure = \"per-round\"\nat-least = 0.01", 0.05, Verdict::Holds),
            ("measure = \"difference\"\nthan = \"b\"\nat-most = 0", -20.0, Verdict::Holds),
            ("rounds = 100\nat-most = 11", 10.0, Verdict::Holds),
            ("published = 20.5\nerror = 0.1", 20.0, Verdict::Holds),
            ("published = 20.7\nerror = 0.1", 20.0, Verdict::Fails),
            ("published = 10.3\nerror = 0.1\nrounds = 100", 10.0, Verdict::Holds),
            ("measure = \"mean-gap\"\nat-most = 0.01", 0.0, Verdict::Holds),
            ("measure = \"worst-gap\"\nat-least = 0.01", 0.0, Verdict::Fails),
            ("measure = \"worst-gap\"\nat-most = 0.01\nrounds = 100", 0.0, Verdict::Holds),
        ];
        for (claim, value, verdict) in cases {
            let held = hold(&spec(claim), &cells());
            assert_eq!(held.len(), 1);
            assert!((held[0].measured - value).abs() < 1e-9, "{claim}: {:?}", held[0]);
            assert_eq!(held[0].verdict, verdict, "{claim}: {:?}", held[0]);
        }
    }

    #[test]
    fn a_learner_is_compared_with_one_elsewhere() {
        let text = r#"
            rounds = 100
            seeds = 8
            [[environment]]
            label = "here"
            name = "bernoulli"
            means = [0.5, 0.2]
            [[environment]]
            label = "there"
            name = "bernoulli"
            means = [0.5, 0.4]
            [[learner]]
            label = "a"
            base = { name = "exp3" }
            [[claim]]
            text = "t"
            learner = "a"
            environment = "there"
            measure = "ratio"
            than = "a"
            than-environment = "here"
            at-most = 4
        "#;
        let records = cells().into_iter().filter(|c| c.rounds == 100).map(|c| CellRecord {
            environment: if c.learner == "a" { "here" } else { "there" }.to_owned(),
            learner: "a".to_owned(),
            ..c
        });
        let held = hold(&Spec::parse(text).unwrap(), &records.collect::<Vec<_>>()).remove(0);
        assert!((held.measured - 2.0).abs() < 1e-12, "{held:?}");
        assert_eq!((held.verdict, &*held.figure), (Verdict::Holds, "regret / regret of a in here"));
        let wrong = |from: &str, to: &str| Spec::parse(&text.replace(from, to)).unwrap_err().to_string();
        assert!(wrong("= \"here\"\n            at", "= \"hero\"\n            at").contains("hero"));
        assert!(
            wrong("measure = \"ratio\"", "measure = \"regret\"").contains("belongs to a claim that compares")
        );
        let unit = "unit = { bases = 4, gap = 0.2 }\n            at-most";
        assert!(wrong("at-most", unit).contains("bases, gap and rate"));
        let unit = "unit = { bases = 4, gap = 0.2, rate = 1 }\n            at-most";
        assert!(wrong("at-most", unit).contains("belongs to regret"));
    }

    #[test]
    fn one_run_beyond_the_theorem_refutes_it() {
        use crate::run::BandRecord;
        let held = |shares: [Option<f64>; 2]| {
            let mut cells = cells();
            for (i, cell) in cells.iter_mut().filter(|c| c.learner == "a").enumerate() {
                let audit = shares[usize::from(i == 5)].map(|share| AuditRecord { share, gap: 1e-13 });
                cell.band = Some(BandRecord { audit, ..BandRecord::default() });
            }
            hold(&spec("measure = \"audit\"\nat-most = 1"), &cells).remove(0)
        };
        let fine = held([Some(0.25), Some(0.5)]);
        assert_eq!((fine.verdict, fine.low, fine.measured), (Verdict::Holds, 0.25, 0.5));
        assert!(fine.figure.starts_with("0 of 16 runs"), "{}", fine.figure);
        assert_eq!(held([Some(0.25), Some(1.01)]).verdict, Verdict::Fails);
        assert_eq!(held([Some(0.25), Some(f64::NAN)]).verdict, Verdict::Unmeasured);
        assert_eq!(held([Some(0.25), None]).verdict, Verdict::Unmeasured);
    }

    #[test]
    fn a_published_mean_is_held_within_three_combined_standard_errors() {
        // Eight regrets 20 (1 + .01 (seed - 3.5)): their standard error is .2 sqrt(6/8) = .1732.
        let held = hold(&spec("published = 20.5\nerror = 0.1"), &cells());
        let p = held[0].published.unwrap();
        assert!((p.own_error - 0.2 * 0.75f64.sqrt()).abs() < 1e-12, "{p:?}");
        assert!((p.z + 0.5 / 0.04f64.sqrt()).abs() < 1e-9, "{p:?}");
        // Differences are taken seed by seed: -20 (1 + .01 (seed - 3.5)) has the same error.
        let claim = "measure = \"difference\"\nthan = \"b\"\npublished = -20.5\nerror = 0.1";
        let p = hold(&spec(claim), &cells())[0].published.unwrap();
        assert!((p.own_error - 0.2 * 0.75f64.sqrt()).abs() < 1e-12 && (p.z - 2.5).abs() < 1e-9, "{p:?}");
        // Where no error was published: sqrt(2) times one's own.
        let p = hold(&spec("published = 20.5"), &cells())[0].published.unwrap();
        assert!((p.z + 0.5 / (2.0 * 0.03f64).sqrt()).abs() < 1e-9, "{p:?}");
        // A horizon that is not run is not held: a fast preset may be shorter.
        assert!(hold(&spec("published = 1\nerror = 1\nrounds = 7"), &cells()).is_empty());
    }

    #[test]
    fn a_missing_cell_leaves_a_claim_unmeasured() {
        let mut cells = cells();
        cells.retain(|c| !(c.learner == "a" && c.seed == 3 && c.rounds == 400));
        let held = hold(&spec("measure = \"regret\"\nat-most = 20"), &cells);
        assert_eq!(held[0].verdict, Verdict::Unmeasured);
    }
}
