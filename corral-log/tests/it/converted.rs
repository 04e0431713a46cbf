//! What is kept when a log is written in another format, and what is said of the rest.

use corral_core::Scale;
use corral_log::{
    Both, Chain, CsvOut, Decided, DsjsonOut, Given, Ours, OursOut, Played, Reader, Record, RewardLine, Row,
    RowSource, Sink, Start, Wants, Writer,
};

use crate::common::{every_kind, id, lines};

fn all() -> Wants {
    Wants { pbar: true, q: true, full: true, context: true, labels: true, ..Wants::default() }
}

/// Writes the rows of a source; what is said of them.
fn copied(source: &mut dyn RowSource, sink: &mut dyn Sink) -> Vec<String> {
    let mut row = Row::default();
    while source.next(&mut row).unwrap() {
        sink.write(&row, source.header()).unwrap();
    }
    sink.finish().unwrap();
    source.not_in_rows().into_iter().chain(sink.notes()).collect()
}

/// A log of losses with every field, whose last outcome is a line of its own.
fn losses() -> (Vec<Record>, Vec<Record>) {
    let records = every_kind();
    let (Record::Start(start), Record::Decision(decision)) = (&records[0], &records[1]) else { panic!() };
    let start = Start { scale: Some(Scale::losses(-1.0, 2.0)), ..start.clone() };
    let of = |round: u64, given: Given| (Decided { id: id(round), ..decision.clone() }, given);
    let weighted = Given { weight: Some(2.0), ..Given::loss(0.3) };
    let pairs = [of(7, weighted), of(8, Given::loss(0.1)), of(9, Given::reward(0.7))];
    let both = |(decision, given): &(Decided, Given)| {
        Record::Both(Both { decision: decision.clone(), given: given.clone() })
    };
    let mut apart = vec![Record::Start(start.clone()), both(&pairs[0]), both(&pairs[1])];
    apart.push(Record::Decision(pairs[2].0.clone()));
    apart.push(Record::Outcome(RewardLine::new(id(9), pairs[2].1.clone())));
    let together = std::iter::once(Record::Start(start)).chain(pairs.iter().map(both)).collect();
    (apart, together)
}

/// Losses stay the same losses, to the last bit; the model, the base, the digest, the ticket and the weight stay too.
#[test]
fn our_lines_are_written_again_as_they_were() {
    let (apart, together) = losses();
    let (text, wanted) = (lines(&apart, Chain::new(0)).concat(), lines(&together, Chain::new(0)).concat());
    let mut again = Vec::new();
    let notes = copied(&mut Ours::new(Reader::new(text.as_bytes()), all()), &mut OursOut::new(&mut again));
    assert_eq!((String::from_utf8(again).unwrap(), notes), (wanted, Vec::new()));
}

#[test]
fn what_is_not_kept_is_said() {
    let text = lines(&every_kind()[..4], Chain::new(0)).concat();
    let more = lines(&every_kind()[5..], Chain::new(0)).concat();
    let mut again = Vec::new();
    let text = text + &more;
    let source = &mut Ours::new(Reader::new(text.as_bytes()), all());
    let notes = copied(source, &mut OursOut::new(&mut again)).join("; ");
    assert!(notes.contains("1 member lines") && notes.contains("1 expire lines are left out"), "{notes}");
    // In a format of rewards alone, losses are turned.
    let decision = Decided { propensity: Some(0.5), ..Decided::new(id(0), Played::Arm(1), 2) };
    let both = Record::Both(Both { decision, given: Given::loss(0.25) });
    let text = lines(&[Record::Start(Start::new(1)), both], Chain::new(0)).concat();
    let (mut dsjson, mut table) = (Vec::new(), Vec::new());
    let source = || Ours::new(Reader::new(text.as_bytes()), all());
    let notes = copied(&mut source(), &mut DsjsonOut::new(&mut dsjson)).join("; ");
    assert!(notes.contains("1 losses are written as rewards: low + high - loss"), "{notes}");
    assert!(String::from_utf8(dsjson).unwrap().starts_with("{\"_label_cost\":-0.75,"));
    assert!(copied(&mut source(), &mut CsvOut::new(&mut table)).is_empty());
    let table = String::from_utf8(table).unwrap();
    assert!(
        table.starts_with("id,action,propensity,loss,offered,keep,exact\n") && table.contains(",0.25,2,"),
        "{table}"
    );
}

#[cfg(feature = "parquet")]
#[test]
fn a_table_in_parquet_keeps_all_but_tickets() {
    let (_, mut together) = losses();
    let text = lines(&together, Chain::new(0)).concat();
    let (mut table, mut again) = (Vec::new(), Vec::new());
    let mut sink = corral_log::parquet::ParquetOut::new(&mut table).unwrap();
    let notes = copied(&mut Ours::new(Reader::new(text.as_bytes()), all()), &mut sink);
    drop(sink);
    assert_eq!(notes, ["3 sealed tickets are not kept"]);
    let table = crate::common::on_disk(&table);
    let mut source = corral_log::parquet::ParquetIn::new(table, all(), None, true).unwrap();
    assert!(copied(&mut source, &mut OursOut::new(&mut again)).is_empty());
    for record in &mut together {
        if let Record::Both(both) = record {
            both.decision.ticket = None;
        }
    }
    assert_eq!(String::from_utf8(again).unwrap(), lines(&together, Chain::new(0)).concat());
}

/// The key and the time of an outcome are read and written.
#[test]
fn an_outcome_may_carry_a_foreign_key() {
    let outcome =
        RewardLine { at: Some(7), key: Some("gen-1".into()), ..RewardLine::new(id(1), Given::reward(1.0)) };
    let mut writer = Writer::new(Vec::new());
    writer.write(&Record::Outcome(outcome.clone())).unwrap();
    let text = writer.into_inner();
    assert_eq!(
        Reader::new(&text[..]).checked(0).strict(true).read().unwrap(),
        Some(Record::Outcome(outcome))
    );
    assert!(String::from_utf8(text).unwrap().contains("\"at\":7,\"key\":\"gen-1\",\"reward\":1.0"));
}
