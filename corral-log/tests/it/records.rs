//! What is written is what is read.

use corral_core::{Context, TicketId};
use corral_log::{Chain, Decided, FaultKind, Given, Offered, Played, ReadError, Reader, Record, RewardLine};
use proptest::prelude::*;

use crate::common::{every_kind, id, lines};

fn read(text: &str) -> (Vec<Record>, Reader<&[u8]>) {
    let mut reader = Reader::new(text.as_bytes()).checked(0);
    let mut found = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        found.push(record);
    }
    (found, reader)
}

#[test]
fn every_kind_is_read_back() {
    let records = every_kind();
    let text = lines(&records, Chain::new(0)).concat();
    let (found, reader) = read(&text);
    assert_eq!(found, records);
    assert_eq!((reader.faults().count(), reader.lines()), (0, records.len() as u64));
}

/// The format is a promise: other programs read it.
#[test]
fn lines_stay_as_they_are() {
    let decision = Decided {
        propensity: Some(0.25),
        base: Some(0),
        pbar: vec![0.5, 0.5],
        q: vec![0.5, f64::NAN],
        context: Some(Context::shared(vec![1.0, 0.5], 3)),
        ..Decided::new(id(7), Played::Arm(1), 3)
    };
    let outcome = RewardLine::new(id(7), Given::reward(1.0));
    let written = lines(&[Record::Decision(decision), Record::Outcome(outcome)], Chain::new(0));
    assert_eq!(
        written[0],
        "{\"kind\":\"decision\",\"id\":\"fedcba9876543210-3-7\",\"action\":1,\"offered\":3,\"propensity\":0.25,\
         \"base\":0,\"pbar\":[0.5,0.5],\"q\":[0.5,null],\"context\":{\"features\":[1.0,0.5],\"actions\":3,\"rows\":[],\
         \"row_dim\":0,\"cell\":null,\"offer\":[]},\"chain\":\"89c85357a9876520cb8efe1c50bb7bef\"}\n"
    );
    assert_eq!(
        written[1],
        "{\"kind\":\"outcome\",\"id\":\"fedcba9876543210-3-7\",\"reward\":1.0,\"chain\":\"775690ea6e0d1cd1773e0374c5f60f2c\"}\n"
    );
}

#[test]
fn an_unknown_probability_is_null() {
    let decision = Decided { q: vec![0.5, f64::NAN], ..Decided::new(id(1), Played::Arm(0), 2) };
    let (found, _) = read(&lines(&[Record::Decision(decision)], Chain::new(0)).concat());
    let Record::Decision(decision) = &found[0] else { panic!("{found:?}") };
    assert!(decision.q[0] == 0.5 && decision.q[1].is_nan());
}

#[test]
fn a_torn_last_line_is_dropped_and_said() {
    let whole = lines(&every_kind(), Chain::new(0));
    let text = whole.concat();
    let before = text.len() - whole.last().unwrap().len();
    // Its line break alone may be missing: then the line is whole.
    for end in before + 1..text.len() - 1 {
        let (found, reader) = read(&text[..end]);
        assert_eq!(found.len(), whole.len() - 1, "cut at {end}");
        assert_eq!((reader.faults().of(FaultKind::Torn), reader.faults().count()), (1, 1), "cut at {end}");
        assert_eq!(reader.bytes(), before as u64);
    }
    let (found, reader) = read(text.trim_end());
    assert_eq!((found.len(), reader.faults().count()), (whole.len(), 0));
}

#[test]
fn what_cannot_be_read_is_counted_and_the_first_quoted() {
    let mut text = lines(&every_kind(), Chain::new(0));
    text.insert(1, "garbage \u{1b}[2J\n".into());
    text.insert(3, "{\"kind\":\"wish\"}\n".into());
    text.push("{\"kind\":\"start\",\"version\":2}\n".into());
    text.push("{\"kind\":\"outcome\",\"id\":\"fedcba9876543210-3-7\",\"reward\":1,\"loss\":0}\n".into());
    text.push("{\"kind\":\"outcome\",\"id\":\"7\",\"reward\":1}\n".into());
    let text = text.concat();
    let mut reader = Reader::new(text.as_bytes());
    let mut records = 0;
    while reader.read().unwrap().is_some() {
        records += 1;
    }
    assert_eq!(records, every_kind().len());
    assert_eq!(reader.faults().of(FaultKind::Garbage), 4);
    assert_eq!(reader.faults().of(FaultKind::Version), 1);
    let first = reader.faults().iter().next().unwrap().1.to_string();
    assert_eq!(first, "line 2: not a record: expected value at line 1 column 1: garbage \\u{1b}[2J");

    let mut strict = Reader::new(text.as_bytes()).strict(true);
    assert!(strict.read().is_ok());
    assert!(matches!(strict.read(), Err(ReadError::Fault(fault)) if fault.line == 2));
}

/// What is longer than any record is passed over to its end, and is no torn last line.
#[test]
fn a_line_without_an_end_is_garbage() {
    use std::io::{BufReader, Read, repeat};
    let line = "{\"kind\":\"outcome\",\"id\":\"0000000000000001-0-0\",\"reward\":1.0}";
    let text = || {
        let long = repeat(b'[').take(65 << 20);
        BufReader::new(line.as_bytes().chain(&b"\n"[..]).chain(long).chain(&b"\n"[..]).chain(line.as_bytes()))
    };
    let mut reader = Reader::new(text());
    let mut found = 0;
    while reader.read().unwrap().is_some() {
        found += 1;
    }
    assert_eq!((found, reader.lines(), reader.faults().of(FaultKind::Garbage)), (2, 3, 1));
    assert_eq!((reader.faults().count(), reader.bytes()), (1, 2 * line.len() as u64 + 2 + (65 << 20)));
    let mut strict = Reader::new(text()).strict(true);
    assert!(strict.read().is_ok());
    assert!(matches!(strict.read(), Err(ReadError::Fault(fault)) if fault.line == 2));
}

/// A change in the code that leaves a field out, or rounds a number, fails here.
fn decisions() -> impl Strategy<Value = Decided> {
    let number = || any::<f64>().prop_filter("finite", |v| v.is_finite());
    let numbers = || prop::collection::vec(number(), 0..5);
    let offered = prop_oneof![
        any::<u32>().prop_map(Offered::First),
        prop::collection::vec(any::<u32>(), 0..4).prop_map(Offered::These)
    ];
    let played = prop_oneof![any::<u32>().prop_map(Played::Arm), numbers().prop_map(Played::Point)];
    let text = || prop::option::of(".*");
    (
        (any::<(u64, u64, u64)>(), played, offered, any::<(bool, bool)>(), prop::option::of(number())),
        (numbers(), numbers(), numbers(), number(), prop::option::of(numbers())),
        (text(), text(), text(), text(), prop::option::of(any::<u64>())),
    )
        .prop_map(|(head, numbers, texts)| {
            let ((band, copy, round), action, offered, (exact, forced), propensity) = head;
            let (pbar, q, full, keep, features) = numbers;
            let (digest, unit, key, ticket, at) = texts;
            Decided {
                offered,
                propensity,
                exact,
                forced,
                pbar,
                q,
                full,
                keep,
                digest,
                unit,
                key,
                ticket,
                at,
                context: features.map(|f| Context::shared(f, 2)),
                ..Decided::new(TicketId { band, copy, round }, action, 0)
            }
        })
}

proptest! {
    #[test]
    fn any_decision_is_read_back_to_the_last_bit(decision in decisions(), reward in any::<f64>()) {
        prop_assume!(reward.is_finite());
        let both = corral_log::Both { decision: decision.clone(), given: Given::reward(reward) };
        let records = [Record::Decision(decision), Record::Both(both)];
        let text = lines(&records, Chain::new(0)).concat();
        let (found, reader) = read(&text);
        prop_assert_eq!(&found[..], &records[..]);
        prop_assert_eq!(reader.faults().count(), 0);
    }
}
