//! The results folder. Cells are appended as they finish, so a killed run resumes; when the last one is there, the
//! files get their final names and an order that does not depend on who finished first. Every record has its digest and
//! is held against the spec when it is read; a folder has one writer at a time.

mod disk;
mod done;
#[cfg(test)]
mod law_tests;
mod manifest;
mod merge;
mod seal;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use crate::harmless;
use crate::record::CellRecord;
use crate::spec::{Spec, sweep_column};

pub use crate::harmless::cell as csv_cell;
pub(crate) use disk::replace;
use disk::{Sink, remove};
pub use done::Done;
use manifest::{FORMAT, difference};
pub use manifest::{Manifest, Shard};
pub use merge::merge;
use seal::Seal;

const MANIFEST: &str = "manifest.json";
const WHOLE_FILE: &str = "cells.jsonl";
const LOG_FILE: &str = "cells.partial.jsonl";

/// Why a results folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It belongs to something else.
    #[error("{} holds results of {why}; choose another folder (--out, in Python out=), or remove it", dir.display())]
    Other {
        /// The folder.
        dir: PathBuf,
        /// Of what.
        why: String,
    },
    /// Two folders have different records of one cell.
    #[error("cell {cell} has one outcome in {} and another in {}: results of one spec cannot differ", first.display(), second.display())]
    Contradiction {
        /// The cell.
        cell: u64,
        /// One folder.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// It is not a results folder, it cannot be read or written, or somebody else is writing to it.
    #[error("{}: {why}", path.display())]
    Unusable {
        /// The folder or the file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

fn unusable<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> StoreError + '_ {
    move |why| StoreError::Unusable { path: path.to_owned(), why: why.to_string() }
}

/// A results folder that is being filled. What is in memory does not grow with the cells that are done.
pub struct Store<'a> {
    dir: PathBuf,
    manifest: Manifest,
    spec: &'a Spec,
    seal: Seal,
    log: Sink,
    /// How long the log is, without what a write that failed left behind it.
    length: u64,
    torn: bool,
    done: Done,
    played: u64,
    changed: Vec<String>,
    _lock: File,
}

impl<'a> Store<'a> {
    /// Opens `dir` for the run of `spec` that `manifest` describes, making it if need be, and takes up what an earlier
    /// run left there.
    ///
    /// # Errors
    /// The folder cannot be written, another run writes to it, or it holds another run.
    pub fn open(dir: &Path, manifest: Manifest, spec: &'a Spec) -> Result<Self, StoreError> {
        fs::create_dir_all(dir).map_err(unusable(dir))?;
        let lock = lock(dir)?;
        let path = dir.join(MANIFEST);
        if path.exists() {
            let found = read_manifest(dir)?;
            if found != manifest {
                return Err(StoreError::Other { dir: dir.to_owned(), why: difference(&found, &manifest) });
            }
        } else {
            let text = serde_json::to_string_pretty(&manifest).map_err(unusable(&path))?;
            write_whole(&path, (text + "\n").as_bytes())?;
        }
        // Start the log anew from the records that hold: a kill may have left half a line.
        let partial = dir.join(LOG_FILE);
        let seal = Seal::of(&manifest);
        let (mut done, mut played, mut changed) = (Done::default(), 0u64, Vec::new());
        write_with(&partial, unusable(&partial), |out| {
            read_lines(dir, &seal, &manifest, spec, |found, line| {
                match found {
                    Ok(record) if manifest.shard.place(record.cell).is_some_and(|p| done.insert(p)) => {
                        played = played.saturating_add(record.rounds);
                        // A kill may also have left a line without its end.
                        let end: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
                        out.write_all(line).and_then(|()| out.write_all(end)).map_err(unusable(&partial))?;
                    }
                    Ok(_) => {}
                    Err(why) => changed.push(why),
                }
                Ok(())
            })?;
            // A record that was damaged is computed again. Where none holds, they are another run's, and are left alone.
            match changed.first() {
                Some(first) if done.is_empty() => {
                    let why = format!(
                        "none of its {} records is of this run ({first}); choose another folder (--out, in Python out=), or remove it",
                        changed.len()
                    );
                    Err(unusable(dir)(why))
                }
                _ => Ok(()),
            }
        })?;
        let log = Sink::append(&partial).map_err(unusable(&partial))?;
        let length = log.length().map_err(unusable(&partial))?;
        let dir = dir.to_owned();
        Ok(Self { dir, manifest, spec, seal, log, length, torn: false, done, played, changed, _lock: lock })
    }

    /// How many cells of this shard are done.
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// The rounds of the cells that were there when it was opened.
    pub fn played(&self) -> u64 {
        self.played
    }

    /// The records that were there and did not hold, in words: their cells are missing now.
    pub fn changed(&self) -> &[String] {
        &self.changed
    }

    /// Appends a finished cell.
    ///
    /// # Errors
    /// It could not be written: the disk is full. What was appended before stays, and more can be appended.
    pub fn append(&mut self, record: &CellRecord) -> Result<(), StoreError> {
        self.write_line(record).map_err(unusable(&self.dir.join(LOG_FILE)))?;
        if let Some(place) = self.manifest.shard.place(record.cell) {
            self.done.insert(place);
        }
        Ok(())
    }

    fn write_line(&mut self, record: &CellRecord) -> io::Result<()> {
        let line = self.seal.line(record)?;
        // Half a line before it would spoil this one.
        if self.torn {
            self.log.cut(self.length)?;
        }
        self.torn = true;
        self.log.write_all(&line)?;
        self.torn = false;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Gives the files their final names and order, when no cell is missing.
    ///
    /// # Errors
    /// A file could not be written, or does not have what was written to it.
    pub fn finish(self) -> Result<Vec<CellRecord>, StoreError> {
        // Files of an earlier run come first, and what did not hold in them was computed again.
        let cells = read_cells(&self.dir, &self.seal, &self.manifest, self.spec, |_| Ok(()))?;
        let (found, done) = (cells.len() as u64, self.done.len());
        if found != done {
            return Err(unusable(&self.dir)(format_args!(
                "it has {found} of the {done} cells that were written to it"
            )));
        }
        self.write_final(&cells)?;
        Ok(cells)
    }

    /// Writes `results.csv` and `cells.jsonl`, and takes the log away.
    fn write_final(&self, cells: &[CellRecord]) -> Result<(), StoreError> {
        write_whole(&self.dir.join("results.csv"), results_csv(self.spec, cells).as_bytes())?;
        let path = self.dir.join(WHOLE_FILE);
        write_with(&path, unusable(&path), |out| {
            let mut write = |cell| out.write_all(&self.seal.line(cell)?);
            cells.iter().try_for_each(|cell| write(cell).map_err(unusable(&path)))
        })?;
        let log = self.dir.join(LOG_FILE);
        // A copy of what `cells.jsonl` has now.
        remove(&log).map_err(unusable(&log))
    }
}

/// One writer at a time. Where the file system has no locks, a second writer is not kept out.
fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(".lock");
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(unusable(&path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(unusable(dir)("another run is writing to this folder")),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// A table as CSV.
pub fn csv(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    // Writing into a vector cannot fail.
    let _ = out.write_record(header);
    rows.into_iter().for_each(|r| {
        let _ = out.write_record(r);
    });
    String::from_utf8(out.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// One row per cell; behind its outcome the values of the swept keys.
pub fn results_csv(spec: &Spec, cells: &[CellRecord]) -> String {
    let fixed = ["cell", "rounds", "environment", "learner", "seed", "regret", "loss", "failed"];
    let keys = spec.swept();
    let columns: Vec<String> = keys.iter().map(|key| sweep_column(key)).collect();
    let header: Vec<&str> = fixed.into_iter().chain(columns.iter().map(String::as_str)).collect();
    let row = |c: &CellRecord| {
        let [cell, rounds, seed] = [c.cell, c.rounds, c.seed].map(|n| n.to_string());
        let [regret, loss] = [c.regret, c.loss].map(|x| x.to_string());
        let failed = c.failed.as_deref().unwrap_or_default();
        let [environment, learner, failed] =
            [&*c.environment, &*c.learner, failed].map(|text| harmless::cell(text).into_owned());
        let setting = spec.setting(&c.environment, &c.learner);
        let value = |key: &&str| {
            let level = setting.as_ref().and_then(|setting| setting.value(key));
            level.map_or(String::new(), |level| match level.number {
                Some(_) => level.text.clone(),
                None => harmless::cell(&level.text).into_owned(),
            })
        };
        let mut row = vec![cell, rounds, environment, learner, seed, regret, loss, failed];
        row.extend(keys.iter().map(value));
        row
    };
    csv(&header, cells.iter().map(row))
}

/// Why a folder without a manifest is no results folder, and which one near it is.
fn not_results(dir: &Path) -> StoreError {
    let why = if !dir.exists() {
        "there is no such folder of results".to_owned()
    } else if !dir.is_dir() {
        "a file, and not a folder of results".to_owned()
    } else {
        let folders = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut inside: Vec<String> = folders
            .filter(|folder| folder.join(MANIFEST).is_file())
            .map(|folder| folder.display().to_string())
            .collect();
        inside.sort();
        inside.truncate(5);
        match inside.as_slice() {
            [] => format!(
                "not a folder of results: it has no {MANIFEST}; `corral run SPEC --out DIR` writes one"
            ),
            inside => format!("not a folder of results, but these in it are: {}", inside.join(", ")),
        }
    };
    unusable(dir)(why)
}

/// Reads a folder's manifest.
fn read_manifest(dir: &Path) -> Result<Manifest, StoreError> {
    let path = dir.join(MANIFEST);
    if !path.exists() {
        return Err(not_results(dir));
    }
    let text = io::read_to_string(open_regular(&path)?).map_err(unusable(&path))?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(unusable(&path))?;
    if manifest.format != FORMAT {
        let why = format!("layout {} is not the {FORMAT} that this program reads", manifest.format);
        return Err(unusable(&path)(why));
    }
    Ok(manifest)
}

/// Hands every line of a folder's records to `each`: the record, or where and why it does not hold, and the line's bytes. A
/// last line that was cut short is left out.
fn read_lines(
    dir: &Path,
    seal: &Seal,
    manifest: &Manifest,
    spec: &Spec,
    mut each: impl FnMut(Result<CellRecord, String>, &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for path in [WHOLE_FILE, LOG_FILE].map(|name| dir.join(name)).into_iter().filter(|p| p.exists()) {
        let mut reader = BufReader::new(open_regular(&path)?);
        let mut line = Vec::new();
        for number in 1u64.. {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(unusable(&path))? == 0 {
                break;
            }
            match seal.open(&line, spec).and_then(|record| manifest.holds(record)) {
                Err(_) if line.last() != Some(&b'\n') => break,
                found => {
                    each(found.map_err(|why| format!("{}, line {number}: {why}", path.display())), &line)?;
                }
            }
        }
    }
    Ok(())
}

/// The records of a folder in the order of their cells, each once.
fn read_cells(
    dir: &Path,
    seal: &Seal,
    manifest: &Manifest,
    spec: &Spec,
    changed: impl Fn(String) -> Result<(), StoreError>,
) -> Result<Vec<CellRecord>, StoreError> {
    let mut cells = Vec::new();
    read_lines(dir, seal, manifest, spec, |found, _| {
        match found {
            Ok(record) => cells.push(record),
            Err(why) => changed(why)?,
        }
        Ok(())
    })?;
    cells.sort_by_key(|c| c.cell);
    cells.dedup_by_key(|c| c.cell);
    Ok(cells)
}

/// Opens a file for reading that is neither a pipe nor a device.
fn open_regular(path: &Path) -> Result<File, StoreError> {
    if !fs::metadata(path).map_err(unusable(path))?.is_file() {
        return Err(unusable(path)("not a regular file"));
    }
    File::open(path).map_err(unusable(path))
}

/// What a results folder holds.
#[derive(Debug, Clone)]
pub struct Results {
    /// Of which run.
    pub manifest: Manifest,
    /// The spec of that run.
    pub spec: Spec,
    /// The cells that are there, sorted.
    pub cells: Vec<CellRecord>,
}

/// Reads a folder, finished or not; a last line that was cut short is left out.
///
/// # Errors
/// It is no results folder, a file cannot be read, or a record was changed after it was written.
pub fn read(dir: &Path) -> Result<Results, StoreError> {
    let manifest = read_manifest(dir)?;
    let spec = Spec::parse(&manifest.spec)
        .map_err(|e| unusable(&dir.join(MANIFEST))(format_args!("its spec, {e}")))?;
    manifest.check(&spec).map_err(unusable(&dir.join(MANIFEST)))?;
    let cells = read_cells(dir, &Seal::of(&manifest), &manifest, &spec, |why| {
        Err(unusable(dir)(format_args!("{why}; run the spec again, and this cell is computed again")))
    })?;
    Ok(Results { manifest, spec, cells })
}

/// Writes a file so that its final name never holds half of it.
///
/// # Errors
/// The file system said no.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_with(path, unusable(path), |out| out.write_all(bytes).map_err(unusable(path)))
}

/// Like [`write_whole`], bit by bit: while `fill` runs, what was in the file before is there to be read. `failed` is what the
/// file system's errors become.
///
/// # Errors
/// The file system said no, or `fill` did.
pub fn write_with<T, E>(
    path: &Path,
    failed: impl Fn(io::Error) -> E,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, E>,
) -> Result<T, E> {
    replace(path, failed, |out| fill(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{CellSpec, Plugins, run_cell};

    const SPEC: &str = "rounds = 20\nseeds = 2\nenvironment = { name = \"bernoulli\", means = [0.5, 0.3] }\n\
                        [[learner]]\nmaster = \"corral\"\nbases = [\"ucb1\", \"exp3\"]\n";

    fn record(spec: &Spec, cell: u64) -> CellRecord {
        run_cell(spec, &CellSpec::of(spec, cell), &Plugins::default(), &|| false, &|_| ()).unwrap()
    }

    /// Leaves `records` in a folder of a shard.
    fn part(dir: &Path, spec: &Spec, shard: Shard, records: &[CellRecord]) -> PathBuf {
        let dir = dir.join(format!("part-{}-of-{}", shard.index, shard.of));
        let mut store = Store::open(&dir, Manifest::new(spec, shard, Vec::new()), spec).unwrap();
        records.iter().for_each(|r| store.append(r).unwrap());
        dir
    }

    #[test]
    fn shards_that_contradict_each_other_are_not_merged() {
        let spec = Spec::parse(SPEC).unwrap();
        let records = [record(&spec, 0), record(&spec, 1)];
        let forged = CellRecord { regret: 0.125, ..records[0].clone() };
        let dir = tempfile::TempDir::new().unwrap();
        let first = part(dir.path(), &spec, Shard { index: 1, of: 2 }, &records[..1]);
        let second = part(dir.path(), &spec, Shard::WHOLE, &[forged, records[1].clone()]);
        let out = dir.path().join("out");
        let error = merge(&[first.clone(), second.clone()], &out).unwrap_err();
        assert!(matches!(&error, StoreError::Contradiction { cell: 0, .. }), "{error}");
        assert!(error.to_string().contains("1-of-2") && error.to_string().contains("1-of-1"), "{error}");
        assert!(!out.exists(), "nothing is half-written");
        // The same record twice is no contradiction.
        fs::remove_file(second.join(LOG_FILE)).unwrap();
        let second = part(dir.path(), &spec, Shard::WHOLE, &[&records[..], &records[1..]].concat());
        assert_eq!(merge(&[first, second], &out).unwrap().cells, records);
    }

    /// A forger who knows the digest still cannot hand the report figures of another shape.
    #[test]
    fn records_of_another_shape_are_refused() {
        type Change = fn(&mut CellRecord);
        let changes: &[(Change, &str)] = &[
            (|r| r.cell = 2, "has 2 cells"),
            (|r| r.seed = 1, "something else"),
            (|r| r.learner.push('x'), "something else"),
            (|r| r.played = 21, "21 of 20 rounds"),
            (|r| r.curve.truncate(3), "3 points"),
            (|r| r.band = None, "only a master"),
            (|r| r.band.as_mut().unwrap().plays.push(1), "of 2 bases"),
            (|r| r.band.as_mut().unwrap().probabilities[1].truncate(1), "of 2 bases"),
            (|r| r.band.as_mut().unwrap().ranges[0].push(1.0), "of 2 bases"),
            (|r| r.band.as_mut().unwrap().range_changes.push((1, 2)), "of 2 bases"),
            (|r| r.band.as_mut().unwrap().benched.push((1, 7, String::new())), "of 2 bases"),
        ];
        let spec = Spec::parse(SPEC).unwrap();
        let seal = Seal::of(&Manifest::new(&spec, Shard::WHOLE, Vec::new()));
        let whole = record(&spec, 0);
        assert_eq!(seal.open(&seal.line(&whole).unwrap(), &spec).unwrap(), whole);
        for (change, says) in changes {
            let mut forged = whole.clone();
            change(&mut forged);
            let why = seal.open(&seal.line(&forged).unwrap(), &spec).unwrap_err();
            assert!(why.contains(says), "{says:?}: {why}");
        }
    }

    /// A manifest that was changed by hand, and records of another run, are refused: when read, merged and resumed.
    #[test]
    fn a_manifest_is_held_against_its_records() {
        let spec = Spec::parse(SPEC).unwrap();
        let dir = tempfile::TempDir::new().unwrap();
        let plugins = vec![("a".to_owned(), "0".repeat(64))];
        let own = Manifest::new(&spec, Shard { index: 1, of: 2 }, plugins);
        let folder = dir.path().join("part");
        Store::open(&folder, own.clone(), &spec).unwrap().append(&record(&spec, 0)).unwrap();
        assert_eq!(read(&folder).unwrap().cells.len(), 1);
        let path = folder.join(MANIFEST);
        type Change = fn(&mut Manifest);
        let changes: &[(Change, &str, &str)] = &[
            (|m| m.name.push('x'), "manifest.json: its name is", "another"),
            (|m| m.cells = 3, "its number of cells is 3, but that of its spec is 2", "another"),
            (|m| m.seeds = 3, "its number of seeds is 3", "another"),
            (|m| m.shard = Shard { index: 0, of: 0 }, "its shard is 0/0, which does not exist", "shard 0/0"),
            (
                |m| m.shard = Shard { index: 2, of: 2 },
                "line 1: cell 0: it does not belong to shard 2/2",
                "shard 2/2",
            ),
            (|m| m.plugins.clear(), "line 1: cell 0: it does not have its digest", "other plugins"),
            (|m| m.plugins[0].1 = "1".repeat(64), "it does not have its digest", "other plugins"),
            (|m| m.corral = "9.9.9".to_owned(), "it does not have its digest", "corral 9.9.9"),
            (|m| m.spec = m.spec.replace("0.3", "0.4"), "it does not have its digest", "another spec"),
        ];
        for (change, says, resumed) in changes {
            let mut forged = own.clone();
            change(&mut forged);
            fs::write(&path, serde_json::to_vec(&forged).unwrap()).unwrap();
            let why = read(&folder).unwrap_err().to_string();
            assert!(why.contains(says), "{says:?}: {why}");
            let why = merge(std::slice::from_ref(&folder), &dir.path().join("out")).unwrap_err().to_string();
            assert!(why.contains(says), "{says:?}: {why}");
            let why = Store::open(&folder, own.clone(), &spec).err().unwrap().to_string();
            assert!(why.contains(resumed), "{resumed:?}: {why}");
            // Whoever resumes with the changed manifest does not get the old records either.
            let other = Spec::parse(&forged.spec).unwrap();
            if forged.name == own.name && forged.shard.index > 0 && forged.cells == own.cells {
                let before = fs::read(folder.join(LOG_FILE)).unwrap();
                let why =
                    Store::open(&folder, forged, &other).err().map(|e| e.to_string()).unwrap_or_default();
                assert!(
                    why.contains("none of its 1 records is of this run") || *resumed == "another",
                    "{why}"
                );
                assert_eq!(fs::read(folder.join(LOG_FILE)).unwrap(), before);
            }
        }
        fs::write(&path, serde_json::to_vec(&own).unwrap()).unwrap();
        assert_eq!(read(&folder).unwrap().cells.len(), 1);
        assert_eq!(Store::open(&folder, own, &spec).unwrap().done().len(), 1);
    }

    #[test]
    fn numbers_that_are_not_finite_come_back_as_nan() {
        let spec = Spec::parse(SPEC).unwrap();
        let seal = Seal::of(&Manifest::new(&spec, Shard::WHOLE, Vec::new()));
        let mut record = record(&spec, 0);
        record.failed = Some("the regret is NaN".to_owned());
        (record.regret, record.curve[0]) = (f64::NAN, f64::INFINITY);
        let read = seal.open(&seal.line(&record).unwrap(), &spec).unwrap();
        assert!(read.regret.is_nan() && read.curve[0].is_nan() && read.curve[1] == record.curve[1]);
    }

    #[test]
    fn results_have_the_swept_keys() {
        let text = "rounds = 20\nseeds = 1\nenvironment = { name = 'gap', arms = 2, gap = 0.1 }\n\
                    [[learner]]\nbase = { name = 'ucb1' }\n[[learner]]\nbase = { name = 'exp3' }\n\
                    [sweep]\nenvironment.gap.gap = [0.1, 0.3]\nlearner.ucb1.base.scale = [1.0, 2.5]\n";
        let spec = Spec::parse(text).unwrap();
        let cells: Vec<CellRecord> = (0..spec.cells()).map(|cell| record(&spec, cell)).collect();
        let table = results_csv(&spec, &cells);
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows[0][8..], ["sweep_gap", "sweep_scale"], "{table}");
        let found = |learner: &str, gap: &str, scale: &str| {
            rows.iter().filter(|row| row[3].starts_with(learner) && row[8..] == [gap, scale]).count()
        };
        for gap in ["0.1", "0.3"] {
            assert_eq!(
                (found("exp3", gap, ""), found("ucb1", gap, "1.0"), found("ucb1", gap, "2.5")),
                (1, 1, 1),
                "{table}"
            );
        }
        assert_eq!(rows.len(), 7, "{table}");
    }

    #[test]
    fn labels_that_a_spreadsheet_would_run_are_text_and_numbers_are_numbers() {
        let text = SPEC.replace("[[learner]]\n", "[[learner]]\nlabel = '=1+1'\n");
        let mut record = record(&Spec::parse(&text).unwrap(), 0);
        (record.regret, record.failed) = (-1.5, Some("@x".to_owned()));
        let table = results_csv(&Spec::parse(&text).unwrap(), &[record.clone()]);
        let row: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
        assert_eq!((row[3], row[5], row[7]), ("'=1+1", "-1.5", "'@x"), "{table}");
        let found = crate::findings::Findings::of(
            Spec::parse(&text).unwrap(),
            vec![record],
            &crate::run::Timings::default(),
        );
        let mut out = Vec::new();
        let export = crate::export::Export(&found);
        export.write(crate::export::What::Cells, crate::export::Form::Csv, &mut out).unwrap();
        let table = String::from_utf8(out).unwrap();
        assert!(table.contains(",'=1+1,") && table.contains(",-1.5,") && table.contains(",'@x"), "{table}");
    }

    #[test]
    fn shards_part_the_cells() {
        for (cells, of) in [(0, 3), (1, 3), (7, 3), (9, 3), (5, 1), (3, 10)] {
            let mut all: Vec<u64> = (1..=of)
                .map(|index| Shard { index, of })
                .flat_map(|s| (0..s.count(cells)).map(move |place| s.cell(place)))
                .collect();
            all.sort_unstable();
            assert_eq!(all, (0..cells).collect::<Vec<_>>());
        }
        assert_eq!(Shard { index: 1, of: u64::MAX }.count(u64::MAX), 1);
    }
}
