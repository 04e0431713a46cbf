//! Rows from every format, and what is wrong with lines of it.

use corral_core::Scale;
use corral_log::{
    Aggregate, Both, Chain, Csv, CsvOut, Decided, Dsjson, DsjsonOut, FaultKind, Given, JoinOptions, Offered,
    Ours, OursOut, Played, Reader, Record, RewardLine, Row, RowSource, Sink, Start, Wants, Writer,
    actions_of, join,
};
use proptest::prelude::*;

use crate::common::{id, lines, names};

fn rows(source: &mut dyn RowSource) -> Vec<Row> {
    let (mut found, mut row) = (Vec::new(), Row::default());
    while source.next(&mut row).unwrap() {
        found.push(row.clone());
    }
    found
}

fn all() -> Wants {
    Wants { pbar: true, q: true, full: true, context: true, ..Wants::default() }
}

fn ours(text: &str, wants: Wants) -> (Vec<Row>, Ours<&[u8]>) {
    let mut source = Ours::new(Reader::new(text.as_bytes()), wants);
    (rows(&mut source), source)
}

fn decision(round: u64) -> Decided {
    Decided { propensity: Some(0.5), ..Decided::new(id(round), Played::Arm((round % 2) as u32), 2) }
}

/// The fast reader of rows and the reader of records see the same line.
fn same(decision: &Decided, given: &Given, row: &Row) {
    assert_eq!(row.id, Some(decision.id));
    assert_eq!(Played::Arm(row.action), decision.action);
    assert_eq!(row.offered, decision.offered);
    assert_eq!(
        (row.propensity, row.exact, row.forced),
        (decision.propensity, decision.exact, decision.forced)
    );
    assert_eq!((row.keep, row.reward), (decision.keep, given.reward));
    assert_eq!((&row.pbar, &row.q, &row.full), (&decision.pbar, &decision.q, &decision.full));
    assert_eq!(row.context, decision.context);
}

proptest! {
    #[test]
    fn rows_are_what_records_say(
        propensity in prop::option::of(1e-300..=1.0f64), keep in 1e-9..=1.0f64, reward in 0.0..=1.0f64,
        exact: bool, forced: bool, listed: bool, numbers in prop::collection::vec(0.0..=1.0f64, 4),
        unit in prop::option::of(".*"),
    ) {
        let offered = if listed { Offered::These(vec![7, 1]) } else { Offered::First(2) };
        let context = corral_core::Context::shared(numbers.clone(), 2);
        let made = Decided {
            offered, propensity, exact, forced, keep, unit,
            pbar: numbers[..2].to_vec(), q: numbers[2..].to_vec(), full: numbers,
            context: Some(context), ..decision(1)
        };
        let given = Given::reward(reward);
        let both = Record::Both(Both { decision: made.clone(), given: given.clone() });
        let text = lines(&[Record::Start(Start::new(1)), both], Chain::new(0)).concat();
        let (found, source) = ours(&text, all());
        prop_assert_eq!(source.faults().count(), 0);
        same(&made, &given, &found[0]);
    }
}

#[test]
fn the_loggers_distribution_is_that_of_its_bases() {
    let made = Decided {
        pbar: vec![0.25, 0.75, 0.0],
        full: vec![1.0, 0.0, 0.5, 0.5, f64::NAN, f64::NAN],
        ..decision(0)
    };
    let text =
        lines(&[Record::Both(Both { decision: made, given: Given::loss(0.25) })], Chain::new(0)).concat();
    let (found, _) = ours(&text, all());
    assert_eq!((found[0].logger.clone(), found[0].reward), (vec![0.625, 0.375], Some(0.75)));
}

#[test]
fn outcomes_find_their_decisions_within_the_window() {
    let mut records = vec![Record::Start(Start { scale: Some(Scale::rewards(0.0, 10.0)), ..Start::new(1) })];
    records.extend((0..6).map(|t| Record::Decision(decision(t))));
    let outcome = |t: u64, v: f64| Record::Outcome(RewardLine::new(id(t), Given::reward(v)));
    records.extend([outcome(4, 10.0), outcome(2, 5.0), outcome(2, 9.0), outcome(99, 1.0)]);
    let text = lines(&records, Chain::new(0)).concat();
    let (found, source) = ours(&text, Wants::default());
    let rewards: Vec<_> = found.iter().map(|r| r.reward).collect();
    assert_eq!(rewards, [None, None, Some(0.5), None, Some(1.0), None]);
    let notes = source.notes().join("; ");
    assert_eq!(notes, "1 outcomes are of decisions that have one already; 1 outcomes have no decision");

    let mut short = Ours::new(Reader::new(text.as_bytes()), Wants::default()).waiting(2);
    let rewards: Vec<_> = rows(&mut short).iter().map(|r| r.reward).collect();
    assert_eq!(rewards, [None, None, None, None, Some(1.0), None]);
}

/// Logs of two bands in one file: names and units are those of each, also for decisions that wait while the second begins.
#[test]
fn a_decision_keeps_the_names_and_units_of_its_own_log() {
    let start = |actions: &[&str], high: f64| {
        let (actions, scale) = (names(actions), Some(Scale::rewards(0.0, high)));
        Record::Start(Start { actions, scale, ..Start::new(1) })
    };
    let both = |t: u64| Record::Both(Both { decision: decision(t), given: Given::reward(1.0) });
    let outcome = |t: u64, v: f64| Record::Outcome(RewardLine::new(id(t), Given::reward(v)));
    let decisions = [
        start(&["a", "b"], 10.0),
        Record::Decision(decision(0)),
        start(&["x", "y"], 1.0),
        both(1),
        Record::Decision(decision(2)),
    ];
    let outcomes = [outcome(0, 10.0), outcome(2, 1.0)];
    let named = |text: &str| {
        let mut source = Ours::new(Reader::new(text.as_bytes()), Wants::default());
        let (mut row, mut found) = (Row::default(), Vec::new());
        while source.next(&mut row).unwrap() {
            found.push((row.id.unwrap().round, source.header().action(row.action), row.reward));
        }
        assert_eq!(source.faults().count(), 0, "{:?}", source.faults());
        found.sort_by_key(|(round, ..)| *round);
        found
    };
    let wanted =
        [(0, "a".to_owned(), Some(1.0)), (1, "y".to_owned(), Some(1.0)), (2, "x".to_owned(), Some(1.0))];
    let (first, second) =
        (lines(&decisions, Chain::new(0)).concat(), lines(&outcomes, Chain::new(0)).concat());
    assert_eq!(named(&(first.clone() + &second)), wanted);

    let mut out = Vec::new();
    let [from, with] = [&first, &second].map(|text| Reader::new(text.as_bytes()));
    join(from, with, Writer::new(&mut out), &JoinOptions::default()).unwrap();
    let joined = String::from_utf8(out).unwrap();
    assert_eq!(named(&joined), wanted);
    let (mut again, mut source) = (Vec::new(), Ours::new(Reader::new(joined.as_bytes()), all()));
    let (mut sink, mut row) = (OursOut::new(&mut again), Row::default());
    while source.next(&mut row).unwrap() {
        sink.write(&row, source.header()).unwrap();
    }
    assert_eq!(named(std::str::from_utf8(&again).unwrap()), wanted);
}

#[test]
fn faults_of_rows_are_counted() {
    let base = decision(0);
    let both = |t: u64, change: &dyn Fn(&mut Decided), reward: f64| {
        let mut decision = Decided { id: id(t), ..base.clone() };
        change(&mut decision);
        Record::Both(Both { decision, given: Given::reward(reward) })
    };
    let text = lines(
        &[
            Record::Start(Start::new(1)),
            both(0, &|_| (), 1.0),
            both(0, &|_| (), 1.0),
            both(1, &|d| d.propensity = Some(0.0), 1.0),
            both(2, &|d| d.propensity = Some(1.5), 1.0),
            both(3, &|d| d.action = Played::Arm(2), 1.0),
            both(4, &|d| d.action = Played::Point(vec![0.5]), 1.0),
            both(5, &|_| (), 2.0),
            both(6, &|_| (), f64::NAN),
            both(7, &|d| d.keep = 0.0, 1.0),
            Record::Both(Both {
                decision: Decided { id: id(9), ..base.clone() },
                given: Given { loss: Some(0.5), ..Given::reward(0.5) },
            }),
        ],
        Chain::new(0),
    );
    let text = text.concat() + "{\"kind\":\"both\",\"id\":\"fedcba9876543210-3-8\",\"action\":1}\nrubbish\n";
    let (found, source) = ours(&text, all());
    assert_eq!(found.len(), 1);
    let of = |kind| source.faults().of(kind);
    assert_eq!((of(FaultKind::Duplicate), of(FaultKind::Propensity), of(FaultKind::Action)), (1, 3, 2));
    assert_eq!((of(FaultKind::Reward), of(FaultKind::Garbage)), (1, 4));
    let mut strict = Ours::new(Reader::new(text.as_bytes()).strict(true), all());
    let mut row = Row::default();
    assert!(strict.next(&mut row).unwrap() && strict.next(&mut row).is_err());
}

#[test]
fn further_fields_are_policies() {
    let mut text =
        lines(&[Record::Both(Both { decision: decision(1), given: Given::reward(1.0) })], Chain::new(0));
    text[0] = text[0].replace(",\"chain\"", ",\"new\":0.25,\"wide\":[0.75, 0.25],\"user\":\"u\",\"chain\"");
    let wants = Wants { columns: names(&["new", "wide"]), unit: Some("user".into()), ..Wants::default() };
    let (found, _) = ours(&text.concat(), wants);
    assert_eq!(found[0].columns, [vec![0.25], vec![0.75, 0.25]]);
    assert!(found[0].unit.is_some());
}

const DSJSON: &str = r#"{"_label_cost":-1,"_label_probability":0.8,"_label_Action":2,"_labelIndex":1,"o":[{"v":1.0,"EventId":"e","ActionTaken":false}],"Timestamp":"2026-01-01T00:00:00Z","Version":"1","EventId":"e","a":[2,1,3],"c":{"u":{"x":1},"_multi":[{"i":1},{"i":2},{"i":3}]},"p":[0.8,0.1,0.1],"VWState":{"m":"v"},"pdrop":0.5}
{"_label_cost":-0.0,"_label_probability":0.1,"_label_Action":3,"_labelIndex":2,"EventId":"f","a":[2,1,3],"c":{},"p":[0.8,0.1,0.1]}
{"_label_cost":0,"_label_probability":0.1,"_label_Action":3,"_labelIndex":2,"EventId":"g","_deferred":true,"a":[2,1,3],"c":{},"p":[0.8,0.1,0.1]}
{"_label_cost":0,"_label_probability":0.1,"_label_Action":4,"a":[2,1,3],"p":[0.8,0.1,0.1]}
"#;

#[test]
fn dsjson_is_read_as_vowpal_wabbit_reads_it() {
    let mut source = Dsjson::new(Reader::new(DSJSON.as_bytes()), all(), None);
    let found = rows(&mut source);
    assert_eq!(found.len(), 2);
    let first = &found[0];
    assert_eq!((first.action, first.propensity, first.reward, first.keep), (1, Some(0.8), Some(1.0), 0.5));
    assert_eq!((first.offered.clone(), first.logger.clone()), (Offered::First(3), vec![0.1, 0.8, 0.1]));
    assert_eq!((found[1].action, found[1].reward), (2, Some(0.0)));
    assert_eq!((source.faults().of(FaultKind::Action), source.notes().len()), (1, 1));
}

/// An action that was not activated earned nothing of its own (`_skipLearn`); in apprentice mode `_original_label_cost` is what another
/// action cost. The last line may have no line break.
#[test]
fn dsjson_says_which_lines_do_not_count() {
    let line = |event: u32, more: &str, last: &str| {
        format!(
            r#"{{"_label_cost":-1.0,"_label_probability":0.5,"_label_Action":1,"_labelIndex":0,{more}"o":[],"Version":"1","EventId":"e{event}","a":[1,2],"c":{{}},"p":[0.5,0.5]{last}}}"#
        )
    };
    let same = r#","_original_label_cost":-1.0"#;
    let text = [
        // What was deferred has the event of the line in which it is activated.
        line(1, r#""_skipLearn":true,"#, ""),
        line(1, r#""_skipLearn":false,"#, same),
        line(2, "", r#","_original_label_cost":-0.25"#),
        line(3, "", ""),
    ]
    .join("\n");
    let mut source = Dsjson::new(Reader::new(text.as_bytes()), all(), None);
    let rewards: Vec<_> = rows(&mut source).iter().map(|row| row.reward).collect();
    assert_eq!((rewards, source.faults().count()), (vec![Some(1.0); 3], 0));
    let notes = source.notes();
    assert!(notes[0].starts_with("1 decisions were deferred or are not to be learned"), "{notes:?}");
    assert!(notes[1].starts_with("1 rows have another _original_label_cost"), "{notes:?}");
}

/// Rows that were written are read as the same rows, in every format that holds them.
#[test]
fn what_is_written_is_read_again() {
    let mut source = Dsjson::new(Reader::new(DSJSON.as_bytes()), all(), None);
    let found = rows(&mut source);
    let header = source.header().clone();
    let (mut dsjson, mut lines, mut table) = (Vec::new(), Vec::new(), Vec::new());
    {
        let mut out = DsjsonOut::new(&mut dsjson);
        let (mut ours, mut csv) = (OursOut::new(&mut lines), CsvOut::new(&mut table));
        for row in &found {
            assert!(
                out.write(row, &header).unwrap()
                    && ours.write(row, &header).unwrap()
                    && csv.write(row, &header).unwrap()
            );
        }
        assert!(out.notes().is_empty());
    }
    let text = String::from_utf8(dsjson).unwrap();
    let keys = [
        "_label_cost",
        "_label_probability",
        "_label_Action",
        "_labelIndex",
        "o",
        "Timestamp",
        "Version",
        "EventId",
    ];
    let first = text.lines().next().unwrap();
    let mut rest = first;
    for key in keys.iter().chain(&["a", "c", "p", "VWState", "pdrop"]) {
        let at =
            rest.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} is not in its place: {first}"));
        rest = &rest[at..];
    }
    assert!(
        first.starts_with(
            r#"{"_label_cost":-1.0,"_label_probability":0.8,"_label_Action":2,"_labelIndex":1,"#
        ),
        "{first}"
    );
    assert!(first.contains(r#""a":[2,1,3]"#) && first.contains(r#""p":[0.8,0.1,0.1]"#), "{first}");
    let again = rows(&mut Dsjson::new(Reader::new(text.as_bytes()), all(), None));
    let facts = |rows: &[Row]| {
        let of = |r: &Row| (r.action, r.propensity, r.reward, r.keep, r.offered.len());
        rows.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(
        again.iter().map(|r| r.logger.clone()).collect::<Vec<_>>(),
        found.iter().map(|r| r.logger.clone()).collect::<Vec<_>>()
    );
    let (read, _) = ours(std::str::from_utf8(&lines).unwrap(), all());
    let actions = actions_of(&table[..]).unwrap();
    let mut csv = Csv::new(&table[..], &Wants::default(), actions, None, true).unwrap();
    assert_eq!((facts(&again), facts(&read)), (facts(&found), facts(&found)));
    let table = rows(&mut csv);
    assert_eq!(
        table.iter().map(|r| (r.propensity, r.reward, r.keep)).collect::<Vec<_>>(),
        found.iter().map(|r| (r.propensity, r.reward, r.keep)).collect::<Vec<_>>()
    );
}

#[test]
fn csv_is_read_by_its_columns() {
    let text = "user,action,propensity,reward,new\nu,b,0.5,1,0.25\nv,a,0.5,0,0.75 0.25\nw,a,0,0,1\nw,a,x,0,1\nw,a,1,7,1\n";
    let wants = Wants { columns: names(&["new"]), unit: Some("user".into()), ..Wants::default() };
    let actions = actions_of(text.as_bytes()).unwrap();
    assert_eq!(actions, ["b", "a"]);
    let mut source = Csv::new(text.as_bytes(), &wants, actions, None, false).unwrap();
    let found = rows(&mut source);
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].action, found[0].reward, found[0].unit.as_deref()), (0, Some(1.0), Some("u")));
    assert_eq!(found[1].columns, [vec![0.75, 0.25]]);
    assert_eq!((source.faults().of(FaultKind::Propensity), source.faults().of(FaultKind::Reward)), (2, 1));
    let numbers = actions_of("item_id\n10\n2\n10\n0\n".as_bytes()).unwrap();
    assert_eq!(numbers, ["0", "2", "10"]);
    // As they are written, without the spaces that cells are read without.
    assert_eq!(actions_of("item_id\n010\n 007\n007\n".as_bytes()).unwrap(), ["007", "010"]);
    let table = |text: &'static str| {
        Csv::new(text.as_bytes(), &Wants::default(), names(&["0", "1", "2"]), None, false)
    };
    let both = table("action,propensity,reward,loss\n").err().unwrap();
    assert_eq!(both.to_string(), "a table has a column of rewards or one of losses, not both");
    let mut source =
        table("action,propensity,reward,offered\n1,0.5,1,2.0\n1,0.5,1,2.5\n1,0.5,1,-2\n").unwrap();
    assert_eq!((rows(&mut source).len(), source.faults().of(FaultKind::Action)), (1, 2));
    let missing = Csv::new("a,b\n".as_bytes(), &wants, Vec::new(), None, false).err().unwrap();
    assert_eq!(missing.to_string(), "no column action or item_id; the columns are: a, b");
}

/// Joins `outcomes` to five decisions.
fn joined(outcomes: &str, options: &JoinOptions) -> (Vec<Option<f64>>, corral_log::Joined) {
    let mut records = vec![Record::Start(Start::new(1))];
    records.extend((0..5).map(|t| {
        let key = Some(format!("k{t}"));
        Record::Decision(Decided { key, at: Some(1_000 * t), ..decision(t) })
    }));
    let decisions = lines(&records, Chain::new(0)).concat();
    let mut log = Vec::new();
    let found = join(
        Reader::new(decisions.as_bytes()),
        Reader::new(outcomes.as_bytes()),
        Writer::new(&mut log),
        options,
    )
    .unwrap();
    let mut reader = Reader::new(&log[..]).checked(0);
    let mut values = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        match record {
            Record::Both(both) => values.push(both.given.reward),
            Record::Decision(_) => values.push(None),
            _ => {}
        }
    }
    assert_eq!(reader.faults().count(), 0);
    (values, found)
}

#[test]
fn a_join_follows_its_options() {
    let keyed = JoinOptions { key: "key".into(), ..JoinOptions::default() };
    let text = "{\"key\":\"k3\",\"reward\":0.5,\"at\":3100}\n{\"key\":\"k1\",\"reward\":1,\"at\":9000}\n\
                {\"key\":\"k3\",\"reward\":0.25,\"at\":3200}\n{\"key\":\"?\",\"reward\":1}\nrubbish\n";
    let (values, found) = joined(text, &keyed);
    assert_eq!(values, [None, Some(1.0), None, Some(0.5), None]);
    let counts = found.counts;
    assert_eq!(
        (counts.joined, counts.without, counts.repeated, counts.orphans, counts.late),
        (2, 3, 1, 1, 0)
    );
    assert_eq!(found.outcomes.of(FaultKind::Garbage), 1);
    for (aggregate, expected) in
        [(Aggregate::Last, 0.25), (Aggregate::Sum, 0.75), (Aggregate::Mean, 0.375), (Aggregate::Max, 0.5)]
    {
        assert_eq!(joined(text, &JoinOptions { aggregate, ..keyed.clone() }).0[3], Some(expected));
    }
    let wait = JoinOptions { wait: Some(1_000.0), default: Some(0.0), ..keyed };
    let (values, found) = joined(text, &wait);
    assert_eq!(values, [Some(0.0), Some(0.0), Some(0.0), Some(0.5), Some(0.0)]);
    assert_eq!((found.counts.late, found.counts.untimed), (1, 0));
    let (values, found) = joined("{\"key\":\"k2\",\"reward\":1}\n", &wait);
    assert_eq!((values[2], found.counts.late, found.counts.untimed), (Some(1.0), 0, 1));
}

proptest! {
    /// In whatever order outcomes come within the window, the join is the same.
    #[test]
    fn a_join_does_not_depend_on_the_order_of_outcomes(order in Just((0..5u64).collect::<Vec<_>>()).prop_shuffle()) {
        let line = |t: &u64| format!("{{\"kind\":\"outcome\",\"id\":\"{}\",\"reward\":{}}}\n", id(*t), *t as f64 / 4.0);
        let text: String = order.iter().map(line).collect();
        let (values, _) = joined(&text, &JoinOptions::default());
        prop_assert_eq!(values, (0..5).map(|t| Some(t as f64 / 4.0)).collect::<Vec<_>>());
    }
}
