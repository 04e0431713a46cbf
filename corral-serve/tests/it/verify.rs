//! A log that is played again: the whole of it passes, and nothing less.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use corral_core::Context;
use corral_log::{Change, Reader, Record, Writer};
use corral_serve::{
    Directory, Export, Front, FrontOptions, LearnerOptions, ServeError, Step, Store, Verified, verify_from,
};

use crate::common::{Bench, SPEC, reward};

fn directory(folder: &Path) -> Arc<dyn Store> {
    Arc::new(Directory::open(folder).unwrap())
}

fn open(folder: &Path, keep: bool) -> Bench {
    opened(folder, SPEC, keep, FrontOptions::default())
}

fn opened(folder: &Path, text: &str, keep: bool, front: FrontOptions) -> Bench {
    let learner = LearnerOptions { lines: 5, snapshot: 10, keep, ..LearnerOptions::default() };
    Bench::with(text, directory(folder), learner, front).unwrap()
}

fn second(bench: &Bench) -> Front<corral_core::Arm> {
    let (spec, store, clock) = (bench.spec.clone(), bench.store.clone(), bench.clock.clone());
    Front::open("shop", spec, store, clock, FrontOptions::default(), &bench.learner).unwrap()
}

/// Two front ends with decisions and defaults; rewards that come to both; changes of bases, one of them twice.
fn play(bench: &mut Bench, rounds: usize) {
    let other = second(bench);
    for i in 0..rounds {
        let x = Context::plain(3);
        let front = if i % 3 == 0 { &other } else { &bench.front };
        let chosen = match i % 7 {
            0 => front.choose_default(1, &x, None),
            _ => front.choose(&x, None),
        };
        let chosen = chosen.unwrap();
        reward(&bench.front, &chosen.token, (i % 10) as f64).unwrap();
        if i % 4 == 0 {
            reward(&other, &chosen.token, (i % 10) as f64).unwrap();
        }
        if i == 8 {
            for front in [&bench.front, &other] {
                front.change(Change::Add, "moss", Some(0.2), None, Box::new(drop));
                front.commit();
            }
        }
        if i % 5 == 4 {
            bench.learn();
        }
    }
    bench.learn();
}

fn log(folder: &Path) -> Vec<u8> {
    Export::of(directory(folder), "shop").flat_map(Result::unwrap).collect()
}

fn records(log: &[u8]) -> Vec<Record> {
    let mut reader = Reader::new(log);
    std::iter::from_fn(|| reader.read().unwrap()).collect()
}

fn written(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    records.iter().for_each(|record| writer.write(record).unwrap());
    writer.into_inner()
}

fn said(found: Result<Verified, ServeError>) -> String {
    found.unwrap_err().to_string()
}

#[test]
fn a_log_with_repeats_and_refusals_comes_out_the_same_from_the_origin_and_from_every_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = open(folder.path(), true);
    play(&mut bench, 60);
    let counts = bench.learner.counts();
    assert!(counts.repeated == 15 && counts.refused == 1 && counts.changes == 1, "{counts:?}");
    let (log, band) = (log(folder.path()), folder.path().join("bands/shop"));
    let found = verify_from(&log[..], &band.join("origin"), false).unwrap();
    assert_eq!((found.same_state, found.learned, found.before), (Some(true), counts.learned, 0));
    assert!(found.refused.is_some(), "the base was there already");
    let mut snapshots = 0;
    for entry in fs::read_dir(band.join("snapshots")).unwrap() {
        let found = verify_from(&log[..], &entry.unwrap().path(), false).unwrap();
        assert_eq!(found.same_state, Some(true));
        assert!(found.before > 0 && found.learned < counts.learned, "{found:?}");
        snapshots += 1;
    }
    assert_eq!(snapshots, 2);
}

/// Whatever line is taken away, doubled or moved: it is named where it stood, although the chain is right.
#[test]
fn no_other_order_of_lines_passes() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = open(folder.path(), true);
    play(&mut bench, 20);
    let records = records(&log(folder.path()));
    let origin = folder.path().join("bands/shop/origin");
    let verify = |records: &[Record]| verify_from(&written(records)[..], &origin, false);
    assert_eq!(verify(&records).unwrap().same_state, Some(true));
    for at in 1..records.len() {
        let mut fewer = records.clone();
        let line = fewer.remove(at);
        let why = said(verify(&fewer));
        let expected = match at + 1 == records.len() {
            true => format!("ends at line {at}, and the store has learned 1 more lines"),
            // A reward that came to both front ends stands twice, one after the other.
            false if fewer[at] == line => String::new(),
            false => format!("line {}: ", at + 1),
        };
        assert!(why.contains(&expected) && why.contains("--partial"), "without line {}: {why}", at + 1);
        let mut more = records.clone();
        more.insert(at, line.clone());
        said(verify(&more));
        if at > 1 && records[at - 1] != line {
            let mut moved = records.clone();
            moved.swap(at - 1, at);
            assert!(said(verify(&moved)).contains(&format!("line {at}: ")));
        }
    }
}

#[test]
fn a_segment_of_several_front_ends_is_a_part_and_one_alone_is_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = open(folder.path(), true);
    for i in 0..12 {
        let chosen = bench.choose(&[]);
        bench.reward(&chosen.token, f64::from(i % 10)).unwrap();
    }
    bench.learn();
    let (origin, segments) =
        (folder.path().join("bands/shop/origin"), folder.path().join("bands/shop/segments"));
    let chosen = bench.choose(&[]);
    bench.reward(&chosen.token, 3.0).unwrap();
    let alone = fs::read(segments.join("00000001.jsonl")).unwrap();
    let found = verify_from(&alone[..], &origin, false).unwrap();
    assert_eq!((found.same_state, found.learned, found.ahead), (Some(true), 13, 1));
    play(&mut bench, 12);
    let part = fs::read(segments.join("00000001.jsonl")).unwrap();
    let why = said(verify_from(&part[..], &origin, false));
    assert!(why.contains("--partial") && why.contains("GET .../log"), "{why}");
    let found = verify_from(&part[..], &origin, true).unwrap();
    assert_eq!((found.same_state, found.before), (None, 0));
    // Away from its store there is nothing to compare with.
    let away = folder.path().join("away");
    fs::copy(&origin, &away).unwrap();
    assert!(said(verify_from(&part[..], &away, false)).contains("--partial"));
    assert!(verify_from(&part[..], &away, true).is_ok());
}

#[test]
fn a_log_whose_begin_was_removed_is_played_from_the_snapshot_of_its_first_fold() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = open(folder.path(), false);
    for _ in 0..4 {
        play(&mut bench, 20);
        // Its segment is ended, so that it can go.
        bench.front = second(&bench);
        bench.learner.save().unwrap();
    }
    while bench.learner.step().unwrap() != Step::Idle {}
    let (log, band) = (log(folder.path()), folder.path().join("bands/shop"));
    let why = said(verify_from(&log[..], &band.join("origin"), false));
    assert!(why.contains("begin from the snapshot"), "{why}");
    let names = bench.store.list("bands/shop/snapshots").unwrap();
    for name in names {
        let found = verify_from(&log[..], &band.join("snapshots").join(name), false).unwrap();
        assert_eq!(found.same_state, Some(true));
    }
}

/// Every base that changes while it chooses, a guard, features and action features: decisions come out again, with or without a reward.
#[test]
fn every_decision_is_made_again_where_all_are_logged() {
    let specs = [
        SPEC.to_owned(),
        // What is logged of them is not kept with the band.
        format!("{SPEC}watch = true\n"),
        format!("{SPEC}log_bases = false\n"),
        "name = \"shop\"\nactions = 3\nbases = [\"moss\", \"exp3\", \"kl-ucb\", \"epsilon-greedy\"]\nreward_range = [0, 10]".into(),
        "name = \"shop\"\nactions = 3\nfeatures = 2\nbases = [\"linucb\", \"squarecb\", \"lints\"]\nreward_range = [0, 10]".into(),
    ];
    for text in specs {
        let folder = tempfile::tempdir().unwrap();
        let features: &[f64] = if text.contains("features") { &[0.25, 0.5] } else { &[] };
        let front = FrontOptions { log_decisions: true, ..FrontOptions::default() };
        let mut bench = opened(folder.path(), &text, true, front);
        for i in 0..90_u32 {
            let scaled: Vec<f64> = features.iter().map(|x| x * f64::from(i % 5)).collect();
            if i % 9 == 0 {
                bench.front.choose_default(1, &bench.context(&scaled), None).unwrap();
            }
            let chosen = bench.choose(&scaled);
            if i % 3 != 0 {
                bench.reward(&chosen.token, f64::from(i % 10)).unwrap();
            }
            if i % 10 == 9 {
                bench.learn();
            }
        }
        bench.front.close();
        bench.front.commit();
        let (log, band) = (log(folder.path()), folder.path().join("bands/shop"));
        let verify = |from: &Path| verify_from(&log[..], from, false);
        let found = verify(&band.join("origin")).unwrap();
        assert_eq!((found.same_state, found.made, found.unmade), (Some(true), 90, 0), "{text}");
        for entry in fs::read_dir(band.join("snapshots")).unwrap() {
            let found = verify(&entry.unwrap().path()).unwrap();
            assert!(found.same_state == Some(true) && found.made < 90 && found.unmade == 0, "{found:?}");
        }
        // Another propensity, in a chain that holds.
        let file = band.join("decisions/00000001.jsonl");
        let whole = records(&fs::read(&file).unwrap());
        let mut changed = whole.clone();
        let at = changed
            .iter()
            .rposition(|line| matches!(line, Record::Decision(d) if d.base.is_some() && !d.forced));
        let Some(Record::Decision(decision)) = at.and_then(|at| changed.get_mut(at)) else { panic!() };
        decision.propensity = decision.propensity.map(|p| p * (1.0 + f64::EPSILON));
        fs::write(&file, written(&changed)).unwrap();
        assert!(said(verify(&band.join("origin"))).contains("does not come out again"), "{text}");
        // Without one of them those behind it from the same state cannot be made again.
        let mut fewer = whole;
        fewer.remove(35);
        fs::write(&file, written(&fewer)).unwrap();
        let found = verify(&band.join("origin")).unwrap();
        assert!(found.same_state == Some(true) && (1..=20).contains(&found.unmade), "{found:?}");
        assert!(found.made + found.unmade >= 88, "{found:?}");
    }
}
