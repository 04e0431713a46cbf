//! Logs to test with.

use corral_core::{Context, Scale, TicketId};
use corral_log::{
    Both, Chain, Change, Decided, Expire, Given, Member, Offered, Played, Record, RewardLine, Start, Writer,
};

pub fn id(round: u64) -> TicketId {
    TicketId { band: 0xfedc_ba98_7654_3210, copy: 3, round }
}

pub fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// A record of every kind, with every field.
pub fn every_kind() -> Vec<Record> {
    let decision = Decided {
        at: Some(1_700_000_000_123),
        offered: Offered::These(vec![0, 2, 5]),
        propensity: Some(0.1 + 0.2),
        exact: false,
        forced: true,
        base: Some(1),
        pbar: vec![0.25, 0.75],
        q: vec![1.0 / 3.0, 1e-300],
        full: vec![0.5, 0.25, 0.25, 0.0, 0.0, 1.0],
        context: Some(Context::with_rows(vec![1.0, -0.3], vec![0.1, 0.9, 0.5], 1)),
        digest: Some("9f".into()),
        keep: 0.125,
        unit: Some("user \"7\"\n".into()),
        key: Some("gen-1".into()),
        ticket: Some("00ff".into()),
        ..Decided::new(id(7), Played::Arm(2), 3)
    };
    let start = Start {
        model: Some("abcd".into()),
        bases: names(&["ucb1", "exp3"]),
        actions: names(&["a", "b", "c", "d", "e", "f"]),
        scale: Some(Scale::rewards(-1.0, 2.0)),
        ..Start::new(0xfedc_ba98_7654_3210)
    };
    vec![
        Record::Start(start),
        Record::Decision(decision.clone()),
        Record::Outcome(RewardLine {
            at: Some(1_700_000_000_456),
            key: Some("gen-1".into()),
            ..RewardLine::new(id(7), Given { weight: Some(2.0), ..Given::loss(0.5) })
        }),
        Record::Both(Both { decision: Decided { id: id(8), ..decision }, given: Given::reward(1.0) }),
        Record::Decision(Decided::new(id(9), Played::Point(vec![0.5, -0.25]), 0)),
        Record::Expire(Expire { id: id(9), loss: Some(0.5) }),
        Record::Member(Member {
            change: Change::Add,
            base: 2,
            name: "linucb".into(),
            share: Some(0.1),
            params: Some(serde_json::json!({"name": "linucb", "scale": 0.5})),
        }),
    ]
}

/// A file with these bytes.
#[cfg(feature = "parquet")]
pub fn on_disk(bytes: &[u8]) -> std::fs::File {
    static FILES: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = FILES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = format!("{}/{}-{number}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::write(&path, bytes).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    // Where a file that is open cannot be removed, it stays behind.
    let _ = std::fs::remove_file(&path);
    file
}

/// The lines of a log with these records.
pub fn lines(records: &[Record], chain: Chain) -> Vec<String> {
    let mut writer = Writer::with(Vec::new(), chain);
    records.iter().for_each(|r| writer.write(r).unwrap());
    let text = String::from_utf8(writer.into_inner()).unwrap();
    text.split_inclusive('\n').map(str::to_owned).collect()
}
