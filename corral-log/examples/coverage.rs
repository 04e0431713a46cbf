//! How far estimates are off, and how often intervals miss, on logs of a band that learns.
//!
//! `cargo run --release -p corral-log --example coverage -- [LOGS] [ROUNDS]` plays the practical band over four bases with four
//! actions, once where mean rewards stand still and once where they move, and prints for each estimate the mean error over the logs
//! with its standard error, the logs in which the interval missed at the end and at any of 20 looks, and its mean width.

use std::collections::BTreeMap;

use corral_bases::band::{Assembler, MasterRecipe, Recipe};
use corral_core::registry::Kind;
use corral_core::{Arm, Context, EnsembleParams, Propensities, Setup, uniform};
use corral_log::{Evaluation, Header, Model, Named, Offered, Options, Row, Target, Validity};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

type Failure = Box<dyn std::error::Error>;

const K: usize = 4;
const BASES: [&str; 4] = ["ucb1", "exp3", "thompson", "epsilon-greedy"];
const POLICIES: [&str; 7] =
    ["uniform", "action:0", "action:3", "base:ucb1", "base:exp3", "base:thompson", "base:epsilon-greedy"];

/// Mean rewards at round t of T.
type Means = fn(usize, usize) -> [f64; K];

fn still(_: usize, _: usize) -> [f64; K] {
    [0.3, 0.5, 0.45, 0.6]
}

/// The first half is not like the second.
fn moving(t: usize, rounds: usize) -> [f64; K] {
    if 2 * t < rounds { [0.2, 0.1, 0.3, 0.2] } else { [0.8, 0.9, 0.7, 0.6] }
}

/// A model that predicts the running mean of each action.
#[derive(Default)]
struct Running([(f64, f64); K]);

impl Model for Running {
    fn predict(&mut self, _: &Row, into: &mut Vec<f64>) {
        into.extend(self.0.iter().map(|(sum, n)| (sum + 0.5) / (n + 1.0)));
    }

    fn learn(&mut self, row: &Row) {
        let arm = &mut self.0[row.action as usize];
        *arm = (arm.0 + row.reward.unwrap_or(0.0), arm.1 + 1.0);
    }
}

/// What is known of one kind of estimate.
#[derive(Default)]
pub struct Found {
    /// Of the errors: how many, their sum and the sum of their squares.
    pub errors: (f64, f64, f64),
    /// How many intervals there were.
    pub intervals: f64,
    /// How many of them missed at the end.
    pub end: u32,
    /// How many missed at some look.
    pub ever: u32,
    /// The sum of their widths.
    pub width: f64,
}

/// Logs where mean rewards stand still, or where they move, by policy, estimator and kind of interval; with so many looks at each.
pub fn coverage(
    drift: bool,
    logs: u64,
    rounds: usize,
    looks: usize,
) -> Result<BTreeMap<String, Found>, Failure> {
    let (means, options) =
        (if drift { moving as Means } else { still }, Options { drift, ..Options::default() });
    let mut found = BTreeMap::new();
    (0..logs).try_for_each(|seed| play(seed, (rounds, looks), means, &options, &mut found))?;
    Ok(found)
}

/// Plays one log, and notes what is found.
fn play(
    seed: u64,
    (rounds, looks): (usize, usize),
    means: Means,
    options: &Options,
    found: &mut BTreeMap<String, Found>,
) -> Result<(), Failure> {
    let (setup, master) = (Setup::arms(K, None), MasterRecipe::default());
    let build = Assembler::new(&setup);
    let members = BASES.iter().map(|name| build.member::<Arm>(&master, &Recipe::from(*name)));
    let params = EnsembleParams { propensities: Propensities::Full, ..EnsembleParams::practical(Kind::Arms) };
    let mut band = build.ensemble(&master, members.collect::<Result<_, _>>()?, params)?;
    let policies = POLICIES.iter().map(|p| Ok(Box::new(Named::read(p)?) as Box<dyn Target>));
    let policies = policies.collect::<Result<Vec<_>, String>>()?;
    let mut evaluation = Evaluation::new(policies, Some(Box::new(Running::default())), options.clone());
    evaluation.meet(&Header { bases: BASES.map(str::to_owned).to_vec(), ..Header::default() })?;
    let (mut rng, x) = (Pcg64Dxsm::seed_from_u64(seed), Context::plain(K));
    let (mut truth, mut used) = ([0.0; POLICIES.len()], 0.0);
    let mut missed: BTreeMap<String, bool> = BTreeMap::new();
    for t in 0..rounds {
        let now = means(t, rounds);
        let pbar = band.probabilities().to_vec();
        let ticket = band.choose(&x, &mut rng)?;
        let action = ticket.decision.index();
        let reward = f64::from(u8::from(uniform(&mut rng) < now[action]));
        // A round of the guard is no policy's: an evaluation leaves it out.
        if !ticket.is_forced() {
            used += 1.0;
            let value = |p: &[f64]| p.iter().zip(now).map(|(p, m)| p * m).sum::<f64>();
            let own = ticket.whole().chunks_exact(K).map(value);
            let fixed = [now.iter().sum::<f64>() / K as f64, now[0], now[3]];
            truth.iter_mut().zip(fixed.into_iter().chain(own)).for_each(|(sum, value)| *sum += value);
            let mut logger = vec![0.0; K];
            for (pbar, own) in pbar.iter().zip(ticket.whole().chunks_exact(K)) {
                logger.iter_mut().zip(own).for_each(|(p, own)| *p += pbar * own);
            }
            evaluation.add(&Row {
                id: Some(ticket.id()),
                action: action as u32,
                offered: Offered::First(K as u32),
                propensity: ticket.propensity(),
                reward: Some(reward),
                pbar,
                q: ticket.likelihoods().to_vec(),
                full: ticket.whole().to_vec(),
                logger,
                ..Row::default()
            });
        }
        band.learn(&x, ticket, 1.0 - reward).map_err(|refused| refused.error)?;
        if (t + 1) % (rounds / looks) != 0 {
            continue;
        }
        let last = t + 1 == rounds;
        let report = evaluation.report(Vec::new());
        let of = |name: &str| POLICIES.iter().position(|p| *p == name).map_or(f64::NAN, |p| truth[p] / used);
        let kind = |kind| if kind == Validity::AnyTime { "any time" } else { "one look" };
        let values = report.values.iter().map(|v| {
            let name = format!("{} | {} | {}", v.policy, v.estimator.name(), kind(v.kind));
            (name, of(&v.policy), v.value, v.low, v.high)
        });
        let differences = report.differences.iter().map(|d| {
            (format!("{} - {} | ips | any time", d.a, d.b), of(&d.a) - of(&d.b), d.value, d.low, d.high)
        });
        for (name, truth, value, low, high) in values.chain(differences) {
            let outside = match (low, high) {
                (Some(low), Some(high)) => Some(!(low - 1e-12..=high + 1e-12).contains(&truth)),
                _ => None,
            };
            let ever = missed.entry(name.clone()).or_default();
            *ever |= outside == Some(true);
            if !last {
                continue;
            }
            let found = found.entry(name).or_default();
            if let Some(error) = value.map(|value| value - truth) {
                let (n, sum, squares) = found.errors;
                found.errors = (n + 1.0, sum + error, squares + error * error);
            }
            if let (Some(outside), Some(low), Some(high)) = (outside, low, high) {
                found.intervals += 1.0;
                found.end += u32::from(outside);
                found.ever += u32::from(*ever);
                found.width += high - low;
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let number = |at: usize, otherwise: usize| {
        std::env::args().nth(at).and_then(|word| word.parse().ok()).unwrap_or(otherwise)
    };
    let (logs, rounds) = (number(1, 200), number(2, 5_000));
    for (title, drift) in [("still", false), ("moving", true)] {
        let found = coverage(drift, logs as u64, rounds, 20)?;
        println!("## {title}: {logs} logs of {rounds} rounds\n");
        println!(
            "| policy | estimator | interval | mean error | missed at the end | missed at some look | width |"
        );
        println!("|---|---|---|---|---|---|---|");
        for (name, Found { errors: (n, sum, squares), intervals, end, ever, width }) in &found {
            let mean = sum / n;
            let deviation = ((squares / n - mean * mean).max(0.0) / (n - 1.0).max(1.0)).sqrt();
            let (end, ever, width) = match *intervals > 0.0 {
                true => (end.to_string(), ever.to_string(), format!("{:.3}", width / intervals)),
                false => ("-".into(), "-".into(), "-".into()),
            };
            println!("| {name} | {mean:+.4} ± {deviation:.4} | {end} | {ever} | {width} |");
        }
        println!();
    }
    Ok(())
}
