//! Estimators against sums by hand, and what they owe.

use corral_core::Scale;
use corral_log::{
    Estimator, Evaluation, Header, Named, Offered, Options, Report, Row, Sums, Target, Validity,
};

const ROWS: [(f64, f64); 5] = [(0.5, 1.0), (2.0, 0.0), (1.5, 1.0), (0.0, 1.0), (0.25, 0.5)];

fn sums(rows: &[(f64, f64)]) -> Sums {
    let mut sums = Sums::default();
    rows.iter().for_each(|(w, r)| sums.add(*w, *r, 1.0, 1.0));
    sums
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12, "{a} {b}");
}

#[test]
fn sums_agree_with_the_formulas() {
    let sums = sums(&ROWS);
    near(sums.ips().value, (0.5 + 1.5 + 0.125) / 5.0);
    near(sums.snips(), (0.5 + 1.5 + 0.125) / 4.25);
    near(sums.clipped().value, (0.5 + 1.0 + 0.125) / 5.0);
    near(sums.effective(), 4.25 * 4.25 / (0.25 + 4.0 + 2.25 + 0.0625));
    // Below 1 in the mean: IPS plus what is missing times the mean reward.
    near(sums.cressie_read(), 0.425 + (1.0 - 0.85) * 0.7);
    let x = ROWS.map(|(w, r)| w * r);
    let mean = x.iter().sum::<f64>() / 5.0;
    let error = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>().sqrt() / 5.0;
    near(sums.ips().error, error);
}

/// Values from the formula in docs/evaluation.md, computed with Python's fractions.
#[test]
fn cressie_read_reweights_where_weights_are_too_large() {
    let sums = sums(&[(0.5, 1.0), (2.0, 0.0), (1.5, 1.0), (1.2, 0.25)]);
    near(sums.cressie_read(), CRESSIE_READ);
}
const CRESSIE_READ: f64 = 0.452_606_635_071_090_06;

/// A row that stands for two decisions is two rows.
#[test]
fn a_kept_row_counts_for_those_that_were_not_kept() {
    let mut half = Sums::default();
    ROWS.iter().for_each(|(w, r)| half.add(*w, *r, 2.0, 1.0));
    let twice = sums(&[ROWS, ROWS].concat());
    for (a, b) in [
        (half.ips().value, twice.ips().value),
        (half.clipped().value, twice.clipped().value),
        (half.snips(), twice.snips()),
        (half.cressie_read(), twice.cressie_read()),
    ] {
        near(a, b);
    }
}

fn evaluate(policies: &[&str], header: &Header, rows: &[Row], options: Options) -> Report {
    let policies = policies.iter().map(|p| Box::new(Named::read(p).unwrap()) as Box<dyn Target>).collect();
    let mut evaluation = Evaluation::new(policies, None, options);
    evaluation.meet(header).unwrap();
    rows.iter().for_each(|row| evaluation.add(row));
    evaluation.report(Vec::new())
}

fn row(action: u32, propensity: f64, reward: f64) -> Row {
    Row {
        action,
        offered: Offered::First(2),
        propensity: Some(propensity),
        reward: Some(reward),
        ..Row::default()
    }
}

/// The value of the policy that made the log is its mean reward.
#[test]
fn the_logger_is_worth_what_it_earned() {
    let rows: Vec<Row> = (0..1_000).map(|t| row(t % 2, 0.5, f64::from(t % 4 == 0))).collect();
    let report = evaluate(&["logger", "uniform"], &Header::default(), &rows, Options::default());
    for value in report.values.iter().filter(|v| v.estimator != Estimator::Direct) {
        near(value.value.unwrap(), 0.25);
    }
    assert!(report.alarms.is_empty(), "{:?}", report.alarms);
}

#[test]
fn losses_are_reported_as_losses() {
    let header = Header { scale: Some(Scale::losses(0.0, 10.0)), ..Header::default() };
    let rows: Vec<Row> = (0..400).map(|t| row(t % 2, 0.5, f64::from(t % 2))).collect();
    let report = evaluate(&["action:0", "action:1"], &header, &rows, Options::default());
    assert!(!report.larger_is_better);
    let value = |at: usize| report.values[at].clone();
    assert_eq!(value(0).value, Some(10.0));
    assert!(value(0).low <= Some(10.0) && Some(10.0) <= value(0).high);
    let d = &report.differences[0];
    assert_eq!(d.value, Some(10.0));
    assert!(d.low > Some(5.0) && d.high == Some(10.0), "{d:?}");
    assert!(report.verdict.starts_with("action:1 is best; better than action:0 by 10"), "{}", report.verdict);
}

#[test]
fn an_undecided_race_says_how_long_it_may_take() {
    let rows: Vec<Row> = (0..200)
        .map(|t| row(t % 2, 0.5, f64::from(if t % 2 == 0 { t % 10 < 5 } else { t % 10 < 8 })))
        .collect();
    let report = evaluate(&["action:0", "action:1"], &Header::default(), &rows, Options::default());
    assert!(report.verdict.starts_with("not decided yet between"), "{}", report.verdict);
    assert!(report.verdict.contains("more decisions at this rate"), "{}", report.verdict);
}

#[test]
fn each_doubt_raises_its_alarm() {
    let alarms =
        |rows: &[Row]| evaluate(&["uniform"], &Header::default(), rows, Options::default()).alarms.join("\n");
    let fine: Vec<Row> = (0..1_000).map(|t| row(t % 2, 0.5, f64::from(t % 4) / 3.0)).collect();
    assert_eq!(alarms(&fine), "");
    let with = |change: fn(&mut Row)| {
        let mut rows = fine.clone();
        change(&mut rows[3]);
        alarms(&rows)
    };
    for (text, change) in [
        ("the effective sample size is", (|r| r.propensity = Some(1e-6)) as fn(&mut Row)),
        ("propensities are below 0.001, the least is 0.000001", |r| r.propensity = Some(1e-6)),
        ("the mean weight is", |r| r.propensity = Some(1e-4)),
        ("have a propensity that is an estimate", |r| r.exact = false),
        ("have no propensity", |r| r.propensity = None),
        ("have no outcome", |r| r.reward = None),
        ("kept with different probabilities", |r| r.keep = 0.5),
        ("the logger never took 1 of the actions that it could take (2)", |r| r.offered = Offered::First(3)),
    ] {
        assert!(with(change).contains(text), "{text}: {}", with(change));
    }
    // No click in 300 decisions is no certainty that there never is one.
    let alike: Vec<Row> = (0..300).map(|t| row(t % 2, 0.5, 0.0)).collect();
    let said =
        "uniform: an interval for one look has no width, as all decisions are alike: it is not to be trusted";
    assert_eq!(alarms(&alike), said);
    let forced = evaluate(
        &["uniform"],
        &Header::default(),
        &[row(0, 1.0, 1.0), Row { forced: true, ..row(1, 1.0, 1.0) }],
        Options::default(),
    );
    assert_eq!((forced.rows, forced.used), (2, 1));
}

/// A row that stands for two decisions is two rows, for a model too.
#[test]
fn a_kept_row_counts_twice_for_a_model() {
    let of = |keep: f64, rows: &[Row]| {
        let kept: Vec<Row> =
            rows.iter().map(|row| Row { keep, logger: vec![0.5; 2], ..row.clone() }).collect();
        let estimators = vec![Estimator::Direct, Estimator::Dr];
        let options = Options { estimators, ..Options::default() };
        let mut evaluation = Evaluation::new(
            vec![Box::new(Named::read("uniform").unwrap())],
            Some(Box::new(crate::simulate::Means4::default())),
            options,
        );
        kept.iter().for_each(|row| evaluation.add(row));
        evaluation.report(Vec::new()).values
    };
    let rows: Vec<Row> = (0..400).map(|t| row(t % 2, 0.5, f64::from(t % 3 == 0))).collect();
    assert_eq!(of(0.5, &rows), of(1.0, &rows));
    // Of rows that are kept differently, those that stand for more count more.
    let mut uneven = rows.clone();
    uneven.iter_mut().for_each(|row| row.keep = if row.reward == Some(1.0) { 1.0 } else { 0.5 });
    let mut evaluation = Evaluation::new(
        vec![Box::new(Named::read("logger").unwrap())],
        Some(Box::new(crate::simulate::Means4::default())),
        Options::default(),
    );
    uneven.iter().for_each(|row| evaluation.add(&Row { logger: vec![0.5; 2], ..row.clone() }));
    let report = evaluation.report(Vec::new());
    let of = |estimator| report.values.iter().find(|v| v.estimator == estimator).unwrap().value.unwrap();
    // A third of the rows has a reward, and a fifth of the decisions.
    near(of(Estimator::Ips), of(Estimator::Snips));
    assert!((of(Estimator::Ips) - 0.2).abs() < 2e-3 && (of(Estimator::Dr) - 0.2).abs() < 0.02, "{report:?}");
}

/// One row as heavy as all others, with the worst reward: rows that all earned the same are not certain.
#[test]
fn intervals_of_ratios_allow_for_what_was_not_seen() {
    let all_paid: Vec<Row> = (0..60).map(|t| row(t % 2, 0.5, 1.0)).collect();
    let report = evaluate(&["action:0"], &Header::default(), &all_paid, Options::default());
    let of = |estimator| {
        let found = report.values.iter().find(|v| v.estimator == estimator && v.kind == Validity::FixedTime);
        let v = found.unwrap();
        (v.value.unwrap(), v.low.unwrap(), v.high.unwrap())
    };
    for estimator in [Estimator::Snips, Estimator::CressieRead] {
        let (value, low, high) = of(estimator);
        near(value, 1.0);
        assert!((0.5..0.97).contains(&low) && high == 1.0, "{estimator:?} [{low}, {high}]");
    }
    // By hand: 30 rows of weight 2 that paid and one that did not, 3.8415 (sum a^2 - 2 v sum a b + v^2 sum b^2) = (60 - 62 v)^2.
    let (_, low, _) = of(Estimator::Snips);
    let (a, ab, bb) = (120.0, 120.0, 124.0);
    let residual =
        (60.0 - 62.0 * low).powi(2) - 3.841_458_820_694_124 * (a - 2.0 * low * ab + low * low * bb);
    assert!(residual.abs() < 1e-9, "{residual}");
}

/// Where propensities are wrong, the lower bound of V may be above 1 less that of 1 - V: that is no interval, and nothing is best.
#[test]
fn bounds_that_contradict_each_other_are_no_interval() {
    let rows: Vec<Row> = (0..4_000).map(|t| row(t % 2, 1.0 / 3.0, f64::from(t % 4 < 2))).collect();
    for scale in [Scale::rewards(0.0, 1.0), Scale::losses(0.0, 1.0)] {
        let header = Header { scale: Some(scale), ..Header::default() };
        let report = evaluate(&["uniform", "logger"], &header, &rows, Options::default());
        for v in report.values.iter().filter(|v| v.policy == "uniform") {
            // The weights of a ratio need not have the mean 1.
            let own = v.estimator == Estimator::Snips && v.kind == Validity::FixedTime;
            assert_eq!(v.low.is_some(), own || v.low.is_some_and(|low| Some(low) <= v.high), "{v:?}");
            assert!(!(v.estimator == Estimator::Ips && v.low.is_some()), "{v:?}");
        }
        assert!(report.alarms.iter().any(|a| a.contains("contradict each other")), "{:?}", report.alarms);
        assert!(report.verdict.starts_with("nothing is decided: bounds contradict"), "{}", report.verdict);
    }
}

#[test]
fn units_widen_intervals_where_rows_of_one_are_alike() {
    let rows: Vec<Row> = (0..400)
        .map(|t| Row { unit: Some((t / 20).to_string()), ..row(0, 1.0, f64::from((t / 20) % 2)) })
        .collect();
    let width = |units: bool| {
        let options = Options { units, ..Options::default() };
        let report = evaluate(&["logger"], &Header::default(), &rows, options);
        // Decisions of a unit are alike: no sequence of them holds at any time.
        assert_eq!(report.values.iter().any(|v| v.kind == Validity::AnyTime), !units);
        let of = |estimator| report.values.iter().find(|v| v.estimator == estimator).unwrap();
        assert!(of(Estimator::CressieRead).low.is_none() == units, "{report:?}");
        [Estimator::Ips, Estimator::Snips, Estimator::Clipped].map(|estimator| {
            let v = of(estimator);
            assert_eq!(v.value, Some(0.5));
            v.high.unwrap() - v.low.unwrap()
        })
    };
    let (units, rows) = (width(true), width(false));
    // Of 20 means around their own mean 19 are free.
    near(units[0] / rows[0], (20.0 * 20.0 / 19.0f64).sqrt());
    near(units[2] / rows[2], (20.0 * 20.0 / 19.0f64).sqrt());
    // The further row of a unit is as heavy as one.
    assert!((3.8..5.5).contains(&(units[1] / rows[1])), "{units:?} {rows:?}");
}

#[test]
fn what_is_no_policy_is_refused() {
    for text in ["best", "base", "mix:a=0.5", "mix:a=0.5,b=0.6", "mix:a", "mix:a=2,b=-1"] {
        assert!(Named::read(text).is_err(), "{text}");
    }
    let mut policy = Named::read("action:x").unwrap();
    let header = Header { actions: vec!["a".into(), "b".into()], ..Header::default() };
    assert_eq!(policy.meet(&header).unwrap_err(), "the log has no action \"x\"; it has: a, b");
}

/// Rows of two actions, in units of `each` decisions.
fn grouped(rows: usize, each: usize) -> Vec<Row> {
    let reward =
        |t: usize| f64::from(u8::from(if t.is_multiple_of(2) { t.is_multiple_of(6) } else { t % 10 < 8 }));
    (0..rows)
        .map(|t| Row { unit: Some((t / each).to_string()), ..row((t % 2) as u32, 0.5, reward(t)) })
        .collect()
}

fn between_units(rows: &[Row]) -> Report {
    let options = Options { units: true, ..Options::default() };
    evaluate(&["action:0", "action:1", "uniform"], &Header::default(), rows, options)
}

/// A misspelt field is no unit, and neither is a decision without one.
#[test]
fn decisions_without_a_unit_are_left_out_and_said() {
    let (rows, mut more) = (grouped(400, 4), grouped(400, 4));
    more.extend(grouped(100, 1).into_iter().map(|row| Row { unit: None, ..row }));
    let (with, without) = (between_units(&more), between_units(&rows));
    assert_eq!((with.values, with.differences), (without.values, without.differences));
    assert_eq!((with.rows, with.used), (500, 400));
    let said = "100 of 500 decisions have no unit: they are left out";
    assert!(with.alarms.iter().any(|a| a == said), "{:?}", with.alarms);
    let none: Vec<Row> = rows.iter().map(|row| Row { unit: None, ..row.clone() }).collect();
    let none = between_units(&none);
    assert!(none.used == 0 && none.alarms[0].contains("no decision could be used"), "{:?}", none.alarms);
}

/// One unit says nothing of how units differ: no interval, and not one of width 0.
#[test]
fn few_units_have_no_interval_or_an_alarm() {
    for (units, alarm) in
        [(1, "all decisions are of one unit"), (2, "there are 2 units"), (29, "there are 29 units")]
    {
        let report = between_units(&grouped(20 * units, 20));
        assert!(report.alarms.iter().any(|a| a.starts_with(alarm)), "{units}: {:?}", report.alarms);
        let all = report.values.iter().map(|v| (v.estimator, v.low, v.high));
        for (estimator, low, high) in all.filter(|v| v.0 != Estimator::CressieRead) {
            assert_eq!((low.is_some(), high.is_some()), (units > 1, units > 1), "{units} {estimator:?}");
        }
        assert!(report.differences.iter().all(|d| d.low.is_some() == (units > 1)), "{report:?}");
        assert_eq!(report.verdict.is_empty(), units == 1, "{}", report.verdict);
    }
    let alarms = between_units(&grouped(600, 20)).alarms;
    assert!(!alarms.iter().any(|a| a.contains("unit")), "{alarms:?}");
}

/// Differences between units hold at one look. Where every row is its own unit the error is that of rows, by hand.
#[test]
fn differences_between_units_are_those_of_their_sums() {
    let rows = grouped(600, 1);
    let report = between_units(&rows);
    let d = &report.differences[0];
    assert_eq!((&*d.a, &*d.b, d.kind), ("action:0", "action:1", Validity::FixedTime));
    assert!(d.assumes.contains("units") && !report.verdict.contains("any time"), "{d:?} {}", report.verdict);
    assert!(report.verdict.starts_with("action:1 is best"), "{}", report.verdict);
    // Both policies play one action: Z = 2 r - 1 where the first was played, 2 (1 - r) - 1 where the second was.
    let z: Vec<f64> =
        rows.iter().map(|r| (2.0 * r.reward.unwrap() - 1.0) * [1.0, -1.0][r.action as usize]).collect();
    let mean = z.iter().sum::<f64>() / 600.0;
    let error = (z.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / 599.0 / 600.0).sqrt();
    near(d.low.unwrap(), mean - 1.959_963_984_540_054 * error);
    near(d.high.unwrap(), mean + 1.959_963_984_540_054 * error);
    // Decisions of a unit that are alike widen it.
    let alike: Vec<Row> = rows.iter().flat_map(|row| std::iter::repeat_n(row.clone(), 5)).collect();
    let wide = &between_units(&alike).differences[0];
    near(wide.low.unwrap(), d.low.unwrap());
    near(wide.high.unwrap(), d.high.unwrap());
}

/// A base may come later, so that its name is known to be wrong only at the end.
#[test]
fn a_policy_that_the_log_never_has_is_an_error() {
    let header = |bases: &[&str]| Header {
        bases: bases.iter().map(|b| (*b).to_owned()).collect(),
        ..Header::default()
    };
    let found = |policy: &str, headers: &[Header]| {
        let mut evaluation =
            Evaluation::new(vec![Box::new(Named::read(policy).unwrap())], None, Options::default());
        for header in headers {
            evaluation.meet(header).unwrap();
            evaluation.add(&Row { q: vec![0.5; header.bases.len()], ..row(0, 0.5, 1.0) });
        }
        evaluation.met()
    };
    let headers = [header(&["a", "b"]), header(&["a", "c"])];
    for policy in ["base:a", "base:c", "mix:a=0.5,b=0.5", "uniform", "action:1"] {
        assert_eq!(found(policy, &headers), Ok(()), "{policy}");
    }
    let wrong = |policy| found(policy, &headers).unwrap_err();
    assert_eq!(wrong("base:nope"), "the log has no base \"nope\"; it has: a, b, c");
    assert_eq!(wrong("mix:a=0.5,d=0.5"), "the log has no base \"d\"; it has: a, b, c");
    assert_eq!(wrong("action:7"), "the log never offers the action \"7\"");
    let none = found("base:a", &[header(&[])]).unwrap_err();
    assert_eq!(none, "the log has no base \"a\"; it names none");
}
