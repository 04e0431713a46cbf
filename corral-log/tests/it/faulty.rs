//! What is wrong with a log is found at every door: ids that occur twice, torn ends, versions that are not known.

use corral_core::Scale;
use corral_log::{
    Both, Chain, Csv, CsvOut, Decided, Dsjson, DsjsonOut, FaultKind, Given, Header, JoinOptions, Offered,
    Ours, OursOut, Played, ReadError, Reader, Record, Row, RowSource, Sink, Start, Wants, Writer, actions_of,
    join,
};
use proptest::prelude::*;

use crate::common::{id, lines, names};

/// A format that rows come in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Door {
    Ours,
    Dsjson,
    Csv,
    #[cfg(feature = "parquet")]
    Parquet,
}

const DOORS: &[Door] = &[
    Door::Ours,
    Door::Dsjson,
    Door::Csv,
    #[cfg(feature = "parquet")]
    Door::Parquet,
];

fn header() -> Header {
    Header { actions: names(&["a", "b"]), ..Header::default() }
}

impl Door {
    fn write(self, rows: &[Row]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let fill = |sink: &mut dyn Sink| {
            rows.iter().for_each(|row| assert!(sink.write(row, &header()).unwrap()));
            sink.finish().unwrap();
        };
        match self {
            Self::Ours => fill(&mut OursOut::new(&mut bytes)),
            Self::Dsjson => fill(&mut DsjsonOut::new(&mut bytes)),
            Self::Csv => fill(&mut CsvOut::new(&mut bytes)),
            #[cfg(feature = "parquet")]
            Self::Parquet => fill(&mut corral_log::parquet::ParquetOut::new(&mut bytes).unwrap()),
        }
        bytes
    }

    fn open(self, bytes: &[u8], strict: bool) -> Box<dyn RowSource + '_> {
        let (wants, reader) = (Wants::default(), Reader::new(bytes).strict(strict));
        match self {
            Self::Ours => Box::new(Ours::new(reader, wants)),
            Self::Dsjson => Box::new(Dsjson::new(reader, wants, None)),
            Self::Csv => {
                let actions = actions_of(bytes).unwrap();
                Box::new(Csv::new(bytes, &wants, actions, None, strict).unwrap())
            }
            #[cfg(feature = "parquet")]
            Self::Parquet => {
                let file = crate::common::on_disk(bytes);
                Box::new(corral_log::parquet::ParquetIn::new(file, wants, None, strict).unwrap())
            }
        }
    }
}

/// All rows, and the error that ended them.
fn rows(source: &mut dyn RowSource) -> (Vec<Row>, Option<ReadError>) {
    let (mut found, mut row) = (Vec::new(), Row::default());
    loop {
        match source.next(&mut row) {
            Ok(true) => found.push(row.clone()),
            Ok(false) => return (found, None),
            Err(error) => return (found, Some(error)),
        }
    }
}

fn row(round: u64, ours: bool) -> Row {
    Row {
        id: ours.then(|| id(round)),
        key: (!ours).then(|| format!("event {round}")),
        action: (round % 2) as u32,
        offered: Offered::First(2),
        propensity: Some(0.25),
        reward: Some(0.125 * (round % 8) as f64),
        ..Row::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Ids of ours and from elsewhere, in whatever order: the first row of each is used, the others are faults.
    #[test]
    fn a_row_that_occurs_twice_is_used_once(rounds in prop::collection::vec(0..20u64, 1..40), ours: bool) {
        let mut distinct: Vec<u64> = Vec::new();
        rounds.iter().for_each(|r| if !distinct.contains(r) { distinct.push(*r) });
        let doubled = rounds.len() - distinct.len();
        for door in DOORS {
            // Our own lines have ids of ours.
            let own = ours || *door == Door::Ours;
            let all: Vec<Row> = rounds.iter().map(|round| row(*round, own)).collect();
            let bytes = door.write(&all);
            let mut source = door.open(&bytes, false);
            let (found, error) = rows(&mut *source);
            prop_assert!(error.is_none());
            let rewards: Vec<_> = found.iter().map(|row| row.reward).collect();
            let wanted: Vec<_> = distinct.iter().map(|round| row(*round, own).reward).collect();
            prop_assert_eq!(rewards, wanted, "{:?}", door);
            prop_assert_eq!(source.faults().of(FaultKind::Duplicate), doubled as u64, "{:?}", door);
            let error = rows(&mut *door.open(&bytes, true)).1;
            let said = error.is_some_and(|error| error.to_string().contains("its id was there before"));
            prop_assert_eq!(said, doubled > 0, "{:?}", door);
        }
    }
}

/// A log that ends anywhere: whole lines are read as they are, and of the last one it is said that it is dropped, or that it may be
/// torn. It is never an error.
#[test]
fn a_log_that_ends_within_a_line_says_so() {
    let all: Vec<Row> = (0..5).map(|round| row(round, true)).collect();
    for door in [Door::Ours, Door::Dsjson, Door::Csv] {
        let whole = door.write(&all);
        let ends: Vec<usize> =
            whole.iter().enumerate().filter(|(_, c)| **c == b'\n').map(|(at, _)| at + 1).collect();
        let values =
            |rows: &[Row]| rows.iter().map(|r| (r.action, r.propensity, r.reward)).collect::<Vec<_>>();
        let wanted = values(&rows(&mut *door.open(&whole, true)).0);
        // The first line of two doors is no row.
        let first = ends.len() - all.len();
        for cut in ends[0]..whole.len() {
            let mut source = door.open(&whole[..cut], true);
            let (found, error) = rows(&mut *source);
            let complete = ends.iter().filter(|end| **end <= cut).count().saturating_sub(first);
            let torn = source.faults().of(FaultKind::Torn);
            let at = format!("{door:?} cut at {cut}: {:?}", String::from_utf8_lossy(&whole[..cut]));
            assert!(error.is_none(), "{at}: {error:?}");
            assert_eq!(values(&found)[..complete], wanted[..complete], "{at}");
            if ends.contains(&cut) {
                assert_eq!((found.len(), torn), (complete, 0), "{at}");
                continue;
            }
            match found.len() - complete {
                0 => assert_eq!(torn, 1, "{at}"),
                // All of a line of JSON but its line break; of a table whatever its last cell says.
                _ if door == Door::Csv => assert!(source.notes()[0].contains("may be torn"), "{at}"),
                _ => assert_eq!(
                    (values(&found), cut),
                    (wanted[..=complete].to_vec(), ends[complete + first] - 1)
                ),
            }
        }
    }
}

#[test]
fn a_row_with_other_cells_than_its_header_is_none() {
    let text = "action,propensity,reward\na,0.5,1\na,0.5\na,b,0.5,1\na,0.5,1,\nb,0.5,0\n";
    let actions = actions_of(text.as_bytes()).unwrap();
    assert_eq!(actions, ["a", "b"]);
    let mut source = Csv::new(text.as_bytes(), &Wants::default(), actions, None, false).unwrap();
    let (found, _) = rows(&mut source);
    assert_eq!((found.len(), source.faults().of(FaultKind::Garbage)), (2, 3));
    let first = source.faults().iter().next().unwrap().1.to_string();
    assert_eq!(first, "line 3: it has 2 cells, and the header has 3: a,0.5");
    assert!(source.notes().is_empty());
}

/// A table says how many actions were offered, and not which: where they have names that is said.
#[test]
fn a_table_with_some_of_the_actions_says_so() {
    let notes = |names: &[&str]| {
        let text = format!("action,propensity,reward,offered\n{},0.5,1,3\n{},0.5,1,2\n", names[0], names[1]);
        let wants = Wants::default();
        let mut source = Csv::new(text.as_bytes(), &wants, crate::common::names(names), None, true).unwrap();
        let found = rows(&mut source).0.len();
        (found, source.notes().join("; "))
    };
    assert_eq!(notes(&["0", "1", "2"]), (2, String::new()));
    assert!(notes(&["a", "b", "c"]).1.starts_with("1 rows offered some of the actions"));
    let mut out = Vec::new();
    let mut sink = CsvOut::new(&mut out);
    let header = Header { actions: names(&["a", "b", "c"]), ..Header::default() };
    for offered in [Offered::First(3), Offered::First(2), Offered::These(vec![0, 1, 2])] {
        sink.write(&Row { offered, ..row(0, true) }, &header).unwrap();
    }
    assert_eq!(sink.notes(), ["2 rows offered some of the actions: a table says how many, not which"]);
}

#[test]
fn a_table_says_which_propensities_are_estimates() {
    let text =
        "action,propensity,reward,exact\na,0.5,1,true\na,0.5,1,False\na,0.5,1,0\na,0.5,1,\na,0.5,1,maybe\n";
    let mut source = Csv::new(text.as_bytes(), &Wants::default(), names(&["a"]), None, false).unwrap();
    let (found, _) = rows(&mut source);
    let exact: Vec<bool> = found.iter().map(|row| row.exact).collect();
    assert_eq!((exact, source.faults().of(FaultKind::Garbage)), (vec![true, false, false, true], 1));
    let inexact = [Row { exact: false, ..row(0, true) }];
    let again = Door::Csv.write(&inexact);
    assert!(!rows(&mut *Door::Csv.open(&again, true)).0[0].exact);
}

/// A log whose middle was written by another version, with other names and units: what stands behind its start is not read with
/// the names and units that stood before it.
fn three_logs(middle: &str) -> String {
    let both = |round: u64| {
        let decision = Decided { propensity: Some(0.5), ..Decided::new(id(round), Played::Arm(1), 2) };
        Record::Both(Both { decision, given: Given::reward(1.0) })
    };
    let start = |actions: &[&str]| Record::Start(Start { actions: names(actions), ..Start::new(1) });
    let records =
        [start(&["a", "b"]), both(0), start(&["?", "?"]), both(1), both(2), start(&["x", "y"]), both(3)];
    let mut text = lines(&records, Chain::new(0));
    text[2] = middle.to_owned();
    text.concat()
}

#[test]
fn what_follows_a_start_that_cannot_be_read_is_not_used() {
    for (middle, kind) in [
        ("{\"kind\":\"start\",\"version\":2,\"band\":\"0000000000000001\"}\n", FaultKind::Version),
        ("{\"version\":2,\"kind\":\"start\"}\n", FaultKind::Version),
        ("{\"kind\":\"start\",\"version\":1,\"band\":\"zz\"}\n", FaultKind::Garbage),
        ("{\"kind\":\"start\",\"ver\n", FaultKind::Garbage),
    ] {
        let text = three_logs(middle);
        let mut source = Ours::new(Reader::new(text.as_bytes()), Wants::default());
        let (mut row, mut found) = (Row::default(), Vec::new());
        while source.next(&mut row).unwrap() {
            found.push((row.id.unwrap().round, source.header().action(row.action)));
        }
        assert_eq!(found, [(0, "b".to_owned()), (3, "y".to_owned())], "{middle}");
        assert_eq!((source.faults().of(kind), source.faults().count()), (3, 3), "{:?}", source.faults());

        // A join leaves them out too, of decisions and of outcomes.
        let outcome = |round| format!("{{\"kind\":\"outcome\",\"id\":\"{}\",\"reward\":1}}\n", id(round));
        let outcomes = outcome(8) + middle + &outcome(9);
        let [from, with] = [&text, &outcomes].map(|text| Reader::new(text.as_bytes()));
        let mut out = Vec::new();
        let joined = join(from, with, Writer::new(&mut out), &JoinOptions::default()).unwrap();
        assert_eq!((joined.decisions.of(kind), joined.outcomes.of(kind)), (3, 2), "{middle}");
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 4);
    }
}

/// One fault a line: a line that cannot be used does not break the chain for the next.
#[test]
fn a_line_with_a_fault_does_not_break_the_chain() {
    let both = |round: u64, p: f64| {
        let decision = Decided { propensity: Some(p), ..Decided::new(id(round), Played::Arm(1), 2) };
        Record::Both(Both { decision, given: Given::reward(1.0) })
    };
    let records =
        [Record::Start(Start::new(1)), both(0, 0.5), both(1, 2.0), both(2, 0.5), both(2, 0.5), both(3, 0.5)];
    let text = lines(&records, Chain::new(0)).concat();
    let mut source = Ours::new(Reader::new(text.as_bytes()).checked(0), Wants::default());
    assert_eq!(rows(&mut source).0.len(), 3);
    let of = |kind| source.faults().of(kind);
    assert_eq!((of(FaultKind::Propensity), of(FaultKind::Duplicate), of(FaultKind::Chain)), (1, 1, 0));
}

/// Without an outcome a decision is not the best there is: what is the worst reward is the best loss.
#[test]
fn a_default_is_of_the_kind_of_the_outcomes() {
    let decisions = |scale: Option<Scale>| {
        let of = |round| Record::Decision(Decided::new(id(round), Played::Arm(0), 2));
        lines(&[Record::Start(Start { scale, ..Start::new(1) }), of(0), of(1)], Chain::new(0)).concat()
    };
    let (reward, loss) = (Some(0.0), Some(1.0));
    let joined = |scale, outcome: &str, default: Option<f64>, default_loss: Option<f64>| {
        let outcomes = outcome.replace("ID", &id(0).to_string());
        let options = JoinOptions { default, default_loss, ..JoinOptions::default() };
        let (text, mut out) = (decisions(scale), Vec::new());
        let [from, with] = [&text, &outcomes].map(|text| Reader::new(text.as_bytes()));
        join(from, with, Writer::new(&mut out), &options).map(|_| String::from_utf8(out).unwrap())
    };
    let (earned, lost) = ("{\"id\":\"ID\",\"reward\":1}\n", "{\"id\":\"ID\",\"loss\":0.5}\n");
    let losses = Some(Scale::losses(0.0, 10.0));
    let said = |made: Result<String, corral_log::JoinError>| made.unwrap_err().to_string();
    assert!(joined(None, earned, reward, None).unwrap().contains("\"reward\":0.0,"));
    assert!(joined(None, lost, None, loss).unwrap().contains("\"loss\":1.0,"));
    assert!(joined(losses, "", None, Some(10.0)).unwrap().contains("\"loss\":10.0,"));
    for (scale, outcome) in [(None, lost), (losses, lost), (losses, "")] {
        assert!(said(joined(scale, outcome, reward, None)).contains("the outcomes are losses"), "{outcome}");
    }
    assert!(said(joined(None, earned, None, loss)).contains("the outcomes are rewards"));
    assert!(said(joined(None, earned, Some(7.0), None)).contains("a reward must be in [0, 1], but is 7"));
    assert!(said(joined(None, earned, reward, loss)).contains("not both"));
    // The first outcome comes when the first decision has left without one.
    let options = JoinOptions { default: reward, window: 1, ..JoinOptions::default() };
    let lost = lost.replace("ID", &id(1).to_string()).replace('{', "{\"kind\":\"outcome\",");
    let late = decisions(None) + &lost;
    let [from, with] = [late.as_str(), ""].map(|text| Reader::new(text.as_bytes()));
    assert!(join(from, with, Writer::new(Vec::new()), &options).is_err());
}

/// A field that is misspelt is no join in which every decision has the default.
#[test]
fn a_join_needs_a_field_that_is_there() {
    let of = |round, key: Option<&str>| {
        Record::Decision(Decided {
            key: key.map(str::to_owned),
            ..Decided::new(id(round), Played::Arm(0), 2)
        })
    };
    let joined = |key: Option<&str>, outcome: &str| {
        let (text, mut out) = (lines(&[of(0, key), of(1, None)], Chain::new(0)).concat(), Vec::new());
        let [from, with] = [text.as_str(), outcome].map(|text| Reader::new(text.as_bytes()));
        let key = "gen_ai.response.id".to_owned();
        let options = JoinOptions { key, default: Some(0.0), ..JoinOptions::default() };
        join(from, with, Writer::new(&mut out), &options)
            .map(|joined| joined.counts)
            .map_err(|e| e.to_string())
    };
    // A decision has its own word for it.
    let counts = joined(Some("a"), "{\"gen_ai.response.id\":\"a\",\"reward\":1}\n").unwrap();
    assert_eq!((counts.joined, counts.without), (1, 0));
    let none = joined(None, "{\"gen_ai.response.id\":\"a\",\"reward\":1}\n").unwrap_err();
    assert!(none.starts_with("no decision can be joined by the field \"gen_ai.response.id\""), "{none}");
    let other = joined(Some("a"), "{\"id\":\"a\",\"reward\":1}\n").unwrap_err();
    assert!(other.starts_with("no outcome can be joined") && other.contains("line 1"), "{other}");
    assert_eq!(joined(Some("a"), "").unwrap().joined, 0);
}

/// A decision that is there twice is joined once, however far apart.
#[test]
fn a_join_drops_decisions_that_occur_twice() {
    let of = |round| Record::Decision(Decided::new(id(round), Played::Arm(0), 2));
    let both = |round| {
        Record::Both(Both { decision: Decided::new(id(round), Played::Arm(0), 2), given: Given::reward(1.0) })
    };
    let mut records: Vec<Record> = (0..10).map(of).collect();
    records.extend([of(0), both(1), both(10), both(10), of(9)]);
    let (text, mut out) = (lines(&records, Chain::new(0)).concat(), Vec::new());
    let [from, with] = [text.as_str(), ""].map(|text| Reader::new(text.as_bytes()));
    let options = JoinOptions { window: 3, ..JoinOptions::default() };
    let joined = join(from, with, Writer::new(&mut out), &options).unwrap();
    assert_eq!((joined.counts.duplicates, String::from_utf8(out).unwrap().lines().count()), (4, 11));
}
