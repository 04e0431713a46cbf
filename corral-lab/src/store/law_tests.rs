//! The law of the store: whichever request to the file system fails, and whatever it had done by then, what was reported as
//! done is kept, no final name holds half a file, and the same command run again leaves what an undisturbed one leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::disk::faults::{self, Fault, Part};
use super::{LOG_FILE, Manifest, Shard, Store, StoreError, merge, read, write_whole};
use crate::export::{Export, Form, What};
use crate::findings::Findings;
use crate::record::CellRecord;
use crate::run::{CellSpec, Plugins, Timings, run_cell};
use crate::spec::Spec;

const SPEC: &str = "rounds = 20\nseeds = 3\nenvironment = { name = \"bernoulli\", means = [0.5, 0.3] }\n\
                    [[learner]]\nmaster = \"corral\"\nbases = [\"ucb1\", \"exp3\"]\n";

/// What a run in `dir` leaves, and which cells were reported as done. As other threads do, it goes on after a cell that could
/// not be appended, and ends without the files of the end.
fn run(dir: &Path, spec: &Spec, all: &[CellRecord], done: &mut Vec<u64>) -> Result<(), StoreError> {
    let mut store = Store::open(dir, Manifest::new(spec, Shard::WHOLE, Vec::new()), spec)?;
    let missing: Vec<u64> = store.done().missing(spec.cells()).collect();
    let mut failed = None;
    for cell in missing {
        match store.append(&all[cell as usize]) {
            Ok(()) => done.push(cell),
            Err(error) => failed = Some(error),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let cells = store.finish()?;
    let found = Findings::of(spec.clone(), cells, &Timings::default());
    write_whole(&dir.join("report.html"), crate::report::html(&found).as_bytes())?;
    for (form, name) in [(Form::Csv, "cells.csv"), (Form::Json, "cells.json")] {
        let path = dir.join(name);
        Export(&found).write_file(What::Cells, form, &path).map_err(super::unusable(&path))?;
    }
    Ok(())
}

/// The files of a folder, but the lock.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let named = entries.map(|e| (e.file_name().into_string().unwrap(), e.path()));
    named.filter(|(name, _)| name != ".lock").map(|(name, path)| (name, fs::read(path).unwrap())).collect()
}

/// Has `each` meet every fault, and say whether it did; how many there were.
fn every_fault(mut each: impl FnMut(Fault) -> bool) -> usize {
    let mut met = 0;
    for done in [Part::Nothing, Part::Half, Part::AllButTheLastByte, Part::Whole] {
        for dead in [false, true] {
            met += (1..).take_while(|at| each(Fault { at: *at, done, dead })).count();
        }
    }
    met
}

#[test]
fn whichever_write_fails_a_second_run_ends_as_an_undisturbed_one() {
    let spec = Spec::parse(SPEC).unwrap();
    let all: Vec<CellRecord> = (0..spec.cells())
        .map(|n| run_cell(&spec, &CellSpec::of(&spec, n), &Plugins::default(), &|| false, &|_| ()).unwrap())
        .collect();
    let whole = tempfile::TempDir::new().unwrap();
    run(whole.path(), &spec, &all, &mut Vec::new()).unwrap();
    let whole = files(whole.path());
    let names = ["cells.csv", "cells.json", "cells.jsonl", "manifest.json", "report.html", "results.csv"];
    assert_eq!(whole.keys().collect::<Vec<_>>(), names);

    let met = every_fault(|fault| {
        let dir = tempfile::TempDir::new().unwrap();
        let dir = dir.path();
        let mut done = Vec::new();
        // Twice: what the second run finds was left by a failure, too.
        let [struck, _] = [0, 1].map(|again| {
            faults::set(Some(fault));
            let ran = run(dir, &spec, &all, &mut done);
            let struck = faults::struck();
            faults::set(None);
            let left = files(dir);
            for (name, bytes) in &left {
                let may_be_half = name.ends_with(".tmp") || name == LOG_FILE;
                assert!(may_be_half || whole[name] == *bytes, "{fault:?}, run {again}: {name} is not whole");
            }
            match ran {
                Ok(()) => assert_eq!(left, whole, "{fault:?}, run {again}"),
                Err(error) => {
                    assert!(struck, "{fault:?}, run {again}: {error}");
                    let text = error.to_string();
                    assert!(text.starts_with(&dir.display().to_string()), "it names the file: {text}");
                }
            }
            let kept: Vec<u64> = match read(dir) {
                Ok(results) => results.cells.iter().map(|c| c.cell).collect(),
                Err(_) => Vec::new(),
            };
            assert!(
                done.iter().all(|cell| kept.contains(cell)),
                "{fault:?}, run {again}: {done:?}, {kept:?}"
            );
            struck
        });
        run(dir, &spec, &all, &mut done).unwrap();
        assert_eq!(files(dir), whole, "{fault:?}");
        struck
    });
    assert!(met > 100, "{met} faults");
}

#[test]
fn whichever_write_fails_shards_are_not_lost_and_can_be_merged_again() {
    let spec = Spec::parse(SPEC).unwrap();
    let parts = tempfile::TempDir::new().unwrap();
    let folders: Vec<_> = (1..=2).map(|n| parts.path().join(n.to_string())).collect();
    for (index, dir) in (1..).zip(&folders) {
        let shard = Shard { index, of: 2 };
        let mut store = Store::open(dir, Manifest::new(&spec, shard, Vec::new()), &spec).unwrap();
        for cell in (0..shard.count(spec.cells())).map(|place| CellSpec::of(&spec, shard.cell(place))) {
            let record = run_cell(&spec, &cell, &Plugins::default(), &|| false, &|_| ()).unwrap();
            store.append(&record).unwrap();
        }
        store.finish().unwrap();
    }
    let before: Vec<_> = folders.iter().map(|dir| files(dir)).collect();
    let whole = parts.path().join("whole");
    merge(&folders, &whole).unwrap();
    let whole = files(&whole);
    let met = every_fault(|fault| {
        let dir = tempfile::TempDir::new().unwrap();
        faults::set(Some(fault));
        let merged = merge(&folders, dir.path());
        let struck = faults::struck();
        faults::set(None);
        assert_eq!(merged.is_err(), struck, "{fault:?}");
        merge(&folders, dir.path()).unwrap();
        assert_eq!(files(dir.path()), whole, "{fault:?}");
        struck
    });
    assert!(met > 50, "{met} faults");
    assert!(folders.iter().zip(before).all(|(dir, before)| files(dir) == before));
}
