//! Whatever is done to the lines of a log is found.

use corral_log::{Chain, FaultKind, Given, Reader, Record, RewardLine, Start, Writer};
use proptest::prelude::*;

use crate::common::{id, lines};

const SECRET: u64 = 42;

fn log(rounds: u64) -> Vec<String> {
    let outcomes = (0..rounds).map(|t| Record::Outcome(RewardLine::new(id(t), Given::reward(t as f64))));
    let records: Vec<Record> = std::iter::once(Record::Start(Start::new(1))).chain(outcomes).collect();
    lines(&records, Chain::new(SECRET))
}

/// The lines of which the chain says that they do not follow.
fn broken(text: &str, secret: u64) -> (u64, Option<u64>) {
    let mut reader = Reader::new(text.as_bytes()).checked(secret);
    while reader.read().unwrap().is_some() {}
    let faults = reader.faults();
    (faults.count(), faults.iter().map(|(_, first)| first.line).min())
}

proptest! {
    #[test]
    fn a_line_removed_doubled_or_moved_is_found(at in 0usize..9, other in 0usize..9) {
        let whole = log(9);
        prop_assert_eq!(broken(&whole.concat(), SECRET), (0, None));

        let mut removed = whole.clone();
        removed.remove(at);
        prop_assert_eq!(broken(&removed.concat(), SECRET).1, Some(at as u64 + 1));

        let mut doubled = whole.clone();
        doubled.insert(at, whole[at].clone());
        prop_assert_eq!(broken(&doubled.concat(), SECRET).1, Some(at as u64 + 2));

        let mut moved = whole.clone();
        moved.swap(at, other);
        let found = broken(&moved.concat(), SECRET).1;
        prop_assert_eq!(found, (at != other).then_some(at.min(other) as u64 + 1));
    }

    #[test]
    fn a_changed_byte_is_found(line in 0usize..9, at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut text = log(9);
        let mut bytes = std::mem::take(&mut text[line]).into_bytes();
        let at = at.index(bytes.len() - 1);
        bytes[at] ^= 1 << bit;
        prop_assume!(bytes[at] != b'\n');
        let before: usize = text[..line].iter().map(String::len).sum();
        let mut whole = text.concat().into_bytes();
        whole.splice(before..before, bytes);
        let mut reader = Reader::new(&whole[..]).checked(SECRET);
        while reader.read().unwrap().is_some() {}
        prop_assert!(reader.faults().count() > 0);
        prop_assert_eq!(reader.faults().iter().map(|(_, f)| f.line).min(), Some(line as u64 + 1));
    }
}

#[test]
fn lines_after_a_break_that_follow_each_other_are_fine() {
    let mut text = log(9);
    text.remove(4);
    assert_eq!(broken(&text.concat(), SECRET), (1, Some(5)));
}

#[test]
fn another_secret_does_not_fit() {
    let text = log(3).concat();
    assert_eq!(broken(&text, SECRET + 1), (4, Some(1)));
}

#[test]
fn a_log_goes_on_where_it_was_or_in_another_file() {
    let whole = log(6);
    let mut reader = Reader::new(whole[0].as_bytes()).checked(SECRET);
    while reader.read().unwrap().is_some() {}

    let more = Record::Outcome(RewardLine::new(id(0), Given::reward(0.0)));
    let mut writer = Writer::with(Vec::new(), reader.chain());
    writer.write(&more).unwrap();
    assert_eq!(String::from_utf8(writer.into_inner()).unwrap(), whole[1]);

    let next = lines(&[Record::Start(Start::new(1)), more], reader.chain());
    assert_eq!(broken(&next.concat(), SECRET), (0, None));
    let Record::Start(start) = Record::read(next[0].as_bytes()).unwrap() else { panic!() };
    assert_eq!(start.first, reader.chain().value());
}

/// What `W` did not take is not part of the chain: it can be written again.
#[test]
fn a_line_that_was_not_written_is_written_again() {
    struct Full(Vec<u8>, bool);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match self.1 {
                true => Err(std::io::Error::other("full")),
                false => self.0.write(bytes),
            }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let start = Record::Start(Start::new(1));
    let mut writer = Writer::with(Full(Vec::new(), true), Chain::new(SECRET));
    assert!(writer.write(&start).is_err());
    writer.get_mut().1 = false;
    writer.write(&start).unwrap();
    assert_eq!(String::from_utf8(writer.into_inner().0).unwrap(), log(0)[0]);
    assert_eq!(FaultKind::Chain.to_string(), "breaks the chain");
}
