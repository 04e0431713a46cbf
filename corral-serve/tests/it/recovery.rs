//! Backup, recovery and upgrade as `docs/serving.md` says them, step by step, on real files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use corral_serve::{Directory, FrontOptions, LearnerOptions};

use crate::common::{Bench, SPEC};

fn open(text: &str, folder: &Path) -> Bench {
    let store = Arc::new(Directory::open(folder).unwrap());
    let learner = LearnerOptions { snapshot: 10, ..LearnerOptions::default() };
    Bench::with(text, store, learner, FrontOptions::default()).unwrap()
}

/// Copies what is there of some folders and files of the band, in this order.
fn copy(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        let (from, to) = (from.join("bands/shop").join(name), to.join("bands/shop").join(name));
        if from.is_dir() {
            fs::create_dir_all(&to).unwrap();
            for entry in fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        } else if from.exists() {
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from, to).unwrap();
        }
    }
}

fn play(bench: &mut Bench, rounds: usize) {
    for i in 0..rounds {
        let chosen = bench.choose(&[]);
        bench.reward(&chosen.token, (i % 7) as f64).unwrap();
        bench.learn();
    }
}

/// What was acknowledged before the copy began is in it, although the service goes on between its steps: folds before segments, so that
/// no fold names a line that is not there.
#[test]
fn a_copy_that_is_made_while_it_runs_is_enough() {
    for rounds in [1, 9, 24] {
        let (data, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut bench = open(SPEC, data.path());
        play(&mut bench, 35);
        for step in ["origin", "folds", "packs", "segments"] {
            copy(data.path(), backup.path(), &[step]);
            play(&mut bench, rounds);
        }
        let restored = open(SPEC, backup.path());
        assert_eq!(
            restored.learner.counts().learned as usize,
            35 + 3 * rounds,
            "what was written before the last step"
        );
    }
}

/// Snapshots that are damaged or lost are learned again from the folds, and folds that are lost from the segments.
#[test]
fn what_is_lost_is_learned_again() {
    let data = tempfile::tempdir().unwrap();
    let mut bench = open(SPEC, data.path());
    play(&mut bench, 35);
    bench.learner.save().unwrap();
    let digest = bench.learner.digest().unwrap();
    drop(bench);
    let band = data.path().join("bands/shop");
    let mut snapshots: Vec<_> =
        fs::read_dir(band.join("snapshots")).unwrap().map(|e| e.unwrap().path()).collect();
    snapshots.sort();
    let last = snapshots.last().unwrap();
    let mut bytes = fs::read(last).unwrap();
    bytes[40] ^= 1;
    fs::write(last, bytes).unwrap();
    assert!(open(SPEC, data.path()).learner.digest().unwrap() == digest, "after a damaged snapshot");
    fs::remove_dir_all(band.join("snapshots")).unwrap();
    assert!(open(SPEC, data.path()).learner.digest().unwrap() == digest, "without snapshots");
    for folder in ["snapshots", "states", "folds", "packs"] {
        let _ = fs::remove_dir_all(band.join(folder));
    }
    let mut again = open(SPEC, data.path());
    assert_eq!(again.learner.counts().learned, 35, "without folds");
    play(&mut again, 1);
}

/// A store that version 0.1 wrote: its snapshots, folds, packs, segments and kept tickets. It is not changed when formats change:
/// the next version reads it.
#[test]
fn a_store_of_the_last_version_goes_on() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store-0.1");
    let text = fs::read_to_string(kept.join("band.toml")).unwrap();
    for parts in [
        &["origin", "segments", "folds", "packs", "snapshots", "tickets"][..],
        &["origin", "segments", "folds", "packs"],
    ] {
        let data = tempfile::tempdir().unwrap();
        copy(&kept, data.path(), parts);
        let mut bench = open(&text, data.path());
        assert_eq!((bench.learner.counts().learned, bench.learner.folds()), (12, 12));
        let metrics = bench.front.metrics();
        assert_eq!(metrics.bases.iter().map(|base| base.plays).collect::<Vec<_>>(), [4, 8]);
        assert!((metrics.bases[1].probability - 0.765_310_879_686_653).abs() < 1e-9, "{:?}", metrics.bases);
        play(&mut bench, 3);
        assert_eq!(bench.learner.counts().learned, 15);
        if parts.contains(&"tickets") {
            // It was kept a moment after this.
            bench.clock.0.store(1_795_022_574_000, std::sync::atomic::Ordering::Relaxed);
            let (send, answer) = std::sync::mpsc::channel();
            let done = Box::new(move |result| drop(send.send(result)));
            bench.front.reward_kept("fbafc1683c3dbaf5-1-12", 5.0, done);
            bench.front.commit();
            assert_eq!(answer.recv().unwrap(), Ok(()));
        }
    }
}
