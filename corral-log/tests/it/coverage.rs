//! Intervals miss as seldom as they promise, on logs of a logger that learns.

use corral_log::{Estimator, Evaluation, Named, Options, Report, Target, Validity};

use crate::simulate::{K, Logger, Means, Means4, moving, still};

const POLICIES: [&str; 5] = ["uniform", "action:0", "action:3", "base:greedy", "base:fixed"];

/// How often an interval missed, by (policy, estimator, kind) and by pair of policies, out of `logs`: at the end, and at any
/// of the looks.
#[derive(Default)]
struct Misses {
    rows: Vec<(String, u32, u32, f64)>,
    logs: u32,
}

fn evaluation(options: &Options) -> Evaluation {
    let policies = POLICIES.iter().map(|p| Box::new(Named::read(p).unwrap()) as Box<dyn Target>).collect();
    let mut evaluation = Evaluation::new(policies, Some(Box::new(Means4::default())), options.clone());
    evaluation.meet(&Logger::header()).unwrap();
    evaluation
}

fn truth(logger: &Logger, t: f64) -> [f64; POLICIES.len()] {
    let means = logger.actions.map(|sum| sum / t);
    let fixed = [0.1, 0.2, 0.3, 0.4].iter().zip(means).map(|(p, m)| p * m).sum();
    [means.iter().sum::<f64>() / K as f64, means[0], means[3], logger.greedy / t, fixed]
}

/// What every interval of a report says, with the truth.
fn said(report: &Report, truth: &[f64; POLICIES.len()]) -> Vec<(String, f64, Option<f64>, Option<f64>)> {
    let of = |name: &str| truth[POLICIES.iter().position(|p| *p == name).unwrap()];
    let values = report.values.iter().map(|v| {
        let kind = if v.kind == Validity::AnyTime { "any-time" } else { "fixed-time" };
        (format!("{} {} {kind}", v.policy, v.estimator.name()), of(&v.policy), v.low, v.high)
    });
    let differences = report
        .differences
        .iter()
        .map(|d| (format!("{} - {} any-time", d.a, d.b), of(&d.a) - of(&d.b), d.low, d.high));
    values.chain(differences).collect()
}

fn simulate(means: Means, options: &Options, logs: u64, rounds: usize, looks: usize) -> Misses {
    let mut misses = Misses { logs: logs as u32, ..Misses::default() };
    for seed in 0..logs {
        let mut logger = Logger::new(seed, means, rounds);
        let mut evaluation = evaluation(options);
        let mut ever: Vec<bool> = Vec::new();
        for t in 1..=rounds {
            logger.play();
            evaluation.add(&logger.row);
            if t % (rounds / looks) != 0 {
                continue;
            }
            let found = said(&evaluation.report(Vec::new()), &truth(&logger, t as f64));
            ever.resize(found.len(), false);
            misses.rows.resize_with(found.len(), Default::default);
            for (i, (name, truth, low, high)) in found.into_iter().enumerate() {
                let (Some(low), Some(high)) = (low, high) else { continue };
                let missed = !(low - 1e-12..=high + 1e-12).contains(&truth);
                ever[i] |= missed;
                let row = &mut misses.rows[i];
                row.0 = name;
                if t == rounds {
                    row.1 += u32::from(missed);
                    row.2 += u32::from(ever[i]);
                    row.3 += (high - low) / logs as f64;
                }
            }
        }
    }
    misses
}

impl Misses {
    fn named(&self, contains: &str) -> impl Iterator<Item = &(String, u32, u32, f64)> {
        let contains = contains.to_owned();
        self.rows.iter().filter(move |row| row.0.contains(&contains))
    }

    fn print(&self, title: &str) {
        println!("{title}: {} logs\n{:40} {:>6} {:>6} {:>7}", self.logs, "interval", "end", "ever", "width");
        for (name, end, ever, width) in self.rows.iter().filter(|r| !r.0.is_empty()) {
            println!("{name:40} {end:6} {ever:6} {width:7.4}");
        }
    }
}

/// More misses than this among n have probability below 1e-6 where each has probability at most `rate`.
fn allowed(n: u32, rate: f64) -> u32 {
    let mut term = (1.0 - rate).powi(n as i32);
    let (mut below, mut k) = (term, 0);
    while 1.0 - below > 1e-6 && k < n {
        term *= f64::from(n - k) / f64::from(k + 1) * rate / (1.0 - rate);
        below += term;
        k += 1;
    }
    k
}

fn logs() -> (u64, usize) {
    if std::env::var_os("CORRAL_SLOW").is_some() { (200, 10_000) } else { (40, 2_000) }
}

/// alpha = 0.05 for each interval; the test fails by chance with probability below 1e-6 for each of about 35.
#[test]
fn any_time_intervals_hold_at_all_looks_where_values_stand_still() {
    let (n, rounds) = logs();
    let found = simulate(still, &Options::default(), n, rounds, 20);
    found.print("still");
    let most = allowed(n as u32, 0.05);
    let rows: Vec<_> = found.named("any-time").collect();
    assert_eq!(rows.len(), 4 * POLICIES.len() + POLICIES.len() * (POLICIES.len() - 1) / 2);
    for (name, _, ever, width) in rows {
        assert!(*ever <= most, "{name}: missed {ever} of {n} times, {most} allowed");
        // What weights above the cut carry is not known, and may be most of it.
        let widest = [(" - ", 1.5), ("clipped", 1.0)]
            .iter()
            .find(|(part, _)| name.contains(part))
            .map_or(0.8, |w| w.1);
        assert!(*width < widest, "{name}: width {width} says nothing");
    }
}

/// The same where the values move: a policy that stands still is valued as one that does not (`drift`).
#[test]
fn any_time_intervals_hold_at_all_looks_where_values_move() {
    let (n, rounds) = logs();
    let found = simulate(moving, &Options { drift: true, ..Options::default() }, n, rounds, 20);
    found.print("moving");
    let most = allowed(n as u32, 0.05);
    for (name, _, ever, _) in found.named("any-time") {
        assert!(*ever <= most, "{name}: missed {ever} of {n} times, {most} allowed");
    }
}

/// One look: at most the 5% that are promised; below 1e-6 by chance for each of 50 intervals.
#[test]
fn fixed_time_intervals_hold_at_the_end() {
    let (n, rounds) = logs();
    let most = allowed(n as u32, 0.05);
    for (title, means, drift) in [("still", still as Means, false), ("moving", moving, true)] {
        let options = Options { any_time: false, differences: false, drift, ..Options::default() };
        let found = simulate(means, &options, n, rounds, 1);
        found.print(&format!("fixed time, {title}"));
        for estimator in Estimator::ALL {
            let rows: Vec<_> = found.named(&format!(" {} ", estimator.name())).collect();
            let intervals = if estimator == Estimator::Direct { 0 } else { POLICIES.len() };
            assert_eq!(rows.len(), intervals, "{}", estimator.name());
            for (name, end, _, width) in rows {
                assert!(*end <= most, "{title}, {name}: missed {end} of {n} times, {most} allowed");
                // What weights above the cut carry is not known, and may be most of it.
                let widest = if estimator == Estimator::Clipped { 1.0 } else { 0.9 };
                assert!(*width < widest, "{title}, {name}: width {width} says nothing");
            }
        }
    }
}

/// The same on logs of the practical band over four bases: every interval, at the end or at any look, as it promises. alpha =
/// 0.05 for each; the test fails by chance with probability below 1e-6 for each of about 170.
#[test]
fn intervals_hold_on_logs_of_a_practical_band() {
    let slow = std::env::var_os("CORRAL_SLOW").is_some();
    let (n, rounds, looks) = if slow { (200, 5_000, 20) } else { (40, 400, 5) };
    let most = allowed(n as u32, 0.05);
    for drift in [false, true] {
        let found = crate::band::coverage(drift, n, rounds, looks).unwrap();
        let intervals = found.iter().filter(|(_, f)| f.intervals > 0.0);
        assert!(intervals.clone().count() >= 7 * 5 + 7 * 4 + 21, "{}", intervals.count());
        for (name, found) in intervals {
            let missed = if name.ends_with("any time") { found.ever } else { found.end };
            assert!(missed <= most, "drift {drift}, {name}: missed {missed} of {n} times, {most} allowed");
        }
    }
}

/// Users who decide ten times each, of whom some earn more than others: the intervals between them hold, and those between rows do
/// not. Of 300 logs each interval misses more often than allowed with probability below 1e-6.
#[test]
fn intervals_between_units_hold_where_decisions_of_one_are_alike() {
    use corral_log::{Offered, Row};
    use rand::{RngExt, SeedableRng};
    let policies = ["action:0", "action:3", "uniform"];
    let above = [-0.1, 0.0, 0.05, 0.1];
    let truth = |name: &str| match name {
        "action:0" => 0.4,
        "action:3" => 0.6,
        _ => 0.5 + above.iter().sum::<f64>() / 4.0,
    };
    let missed = |units: bool| {
        let mut missed = std::collections::BTreeMap::<String, u32>::new();
        for seed in 0..300 {
            let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(seed);
            let own = policies.iter().map(|p| Box::new(Named::read(p).unwrap()) as Box<dyn Target>).collect();
            let options = Options { units, any_time: false, ..Options::default() };
            let mut evaluation = Evaluation::new(own, Some(Box::new(Means4::default())), options);
            evaluation.meet(&corral_log::Header::default()).unwrap();
            for user in 0..100 {
                let mean = if rng.random::<bool>() { 0.15 } else { 0.85 };
                for _ in 0..10 {
                    let action = rng.random_range(0..K);
                    let paid = rng.random::<f64>() < mean + above[action];
                    evaluation.add(&Row {
                        action: action as u32,
                        offered: Offered::First(K as u32),
                        propensity: Some(0.25),
                        reward: Some(f64::from(u8::from(paid))),
                        unit: Some(user.to_string()),
                        logger: vec![0.25; K],
                        ..Row::default()
                    });
                }
            }
            let report = evaluation.report(Vec::new());
            let values = report.values.iter().filter(|v| v.estimator != Estimator::Clipped);
            let values = values
                .map(|v| (format!("{} {}", v.policy, v.estimator.name()), truth(&v.policy), v.low, v.high));
            let differences = report
                .differences
                .iter()
                .map(|d| (format!("{} - {}", d.a, d.b), truth(&d.a) - truth(&d.b), d.low, d.high));
            for (name, truth, low, high) in values.chain(differences) {
                let (Some(low), Some(high)) = (low, high) else { continue };
                *missed.entry(name).or_default() += u32::from(!(low..=high).contains(&truth));
            }
        }
        missed
    };
    let (between_users, between_rows) = (missed(true), missed(false));
    let most = allowed(300, 0.05);
    // Three policies by ips, snips and dr, and three differences.
    assert_eq!(between_users.len(), 12, "{between_users:?}");
    assert!(between_users.values().all(|missed| *missed <= most), "{most} allowed: {between_users:?}");
    assert!(between_rows["uniform ips"] > 2 * most, "{most} allowed: {between_rows:?}");
    println!("between users: {between_users:?}\nbetween rows: {between_rows:?}");
}

/// Intervals for one look are not for many: this is why there are two kinds.
#[test]
fn looking_often_breaks_intervals_that_are_for_one_look() {
    let options = Options { any_time: false, differences: false, ..Options::default() };
    let found = simulate(still, &options, 40, 2_000, 100);
    let worst = found.named("ips fixed-time").map(|row| row.2).max().unwrap();
    assert!(worst >= 8, "missed at some look in {worst} of 40 logs");
}

/// Where policies agree, their difference is known: the total-variation form is far narrower than two intervals.
#[test]
fn differences_are_narrower_than_two_intervals() {
    let found = simulate(still, &Options::default(), 10, 2_000, 1);
    let width = |name: &str| found.named(name).next().unwrap().3;
    let both = width("uniform ips any-time") + width("base:fixed ips any-time");
    let one = width("uniform - base:fixed any-time");
    assert!(one < 0.6 * both, "{one} against {both}");
}

/// A sequence that bets by what it has seen so far bounds a weighted mean. Ours does not: on rewards that move it covers.
#[test]
fn bernstein_covers_the_mean_of_means_that_move() {
    use rand::{RngExt, SeedableRng};
    let mut missed = 0;
    for seed in 0..20 {
        let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(seed);
        let (mut low, mut high) =
            (corral_log::MixtureBernstein::default(), corral_log::MixtureBernstein::default());
        for t in 0..10_000 {
            let mean = if t < 5_000 { 0.2 } else { 0.8 };
            let x = f64::from(u8::from(rng.random::<f64>() < mean));
            low.add(x);
            high.add(1.0 - x);
        }
        let (low, high) = (low.lower(0.025), 1.0 - high.lower(0.025));
        missed += u32::from(!(low..=high).contains(&0.5));
        assert!(high - low < 0.06, "[{low}, {high}]");
    }
    assert_eq!(missed, 0);
}
