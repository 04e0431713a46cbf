//! The results folder. Cells are appended as they finish, so a killed run resumes; when the last one is there, the
//! files get their final names and an order that does not depend on who finished first.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::run::CellRecord;

const FORMAT: u32 = 1;

/// One part of a run that was split over machines: the cells whose number is `index` modulo `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Counted from 1.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

impl Shard {
    /// The whole run.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    /// Whether `cell` belongs to this part.
    pub fn has(self, cell: u64) -> bool {
        cell % self.of == self.index - 1
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((index, of)) if (1..=of).contains(&index) => Ok(Self { index, of }),
            _ => Err(format!("a shard is i/n with 1 <= i <= n, as in 2/8, but is {text:?}")),
        }
    }
}

/// What a results folder holds, apart from the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this layout.
    pub format: u32,
    /// Version of the program.
    pub corral: String,
    /// The spec's name.
    pub name: String,
    /// How many cells the whole spec has.
    pub cells: u64,
    /// How many seeds.
    pub seeds: u64,
    /// Which part this folder holds.
    pub shard: Shard,
    /// The plugins that were loaded: key and SHA-256 of the file.
    pub plugins: Vec<(String, String)>,
    /// The spec itself, after every override.
    pub spec: String,
}

impl Manifest {
    /// Of a run of `spec`.
    pub fn new(spec: &crate::spec::Spec, shard: Shard, plugins: Vec<(String, String)>) -> Self {
        Self {
            format: FORMAT,
            corral: env!("CARGO_PKG_VERSION").to_owned(),
            name: spec.name.clone(),
            cells: spec.cells(),
            seeds: spec.seeds,
            shard,
            plugins,
            spec: spec.text.clone(),
        }
    }
}

/// Why a results folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// It belongs to something else.
    #[error("{} holds results of {why}; choose another folder with --out, or remove it", dir.display())]
    Other {
        /// The folder.
        dir: PathBuf,
        /// Of what.
        why: String,
    },
    /// It is not a results folder, or a damaged one.
    #[error("{}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError + '_ {
    move |source| StoreError::Io { path: path.to_owned(), source }
}

/// A results folder that is being filled.
pub struct Store {
    dir: PathBuf,
    manifest: Manifest,
    log: File,
    cells: Vec<CellRecord>,
}

impl Store {
    /// Opens `dir` for the run of `manifest`, making it if need be, and takes up what an earlier run left there.
    ///
    /// # Errors
    /// The folder cannot be written, or holds another run.
    pub fn open(dir: &Path, manifest: Manifest) -> Result<Self, StoreError> {
        fs::create_dir_all(dir).map_err(at(dir))?;
        let path = dir.join("manifest.json");
        let cells = if path.exists() {
            let found = read_manifest(dir)?;
            if found != manifest {
                return Err(StoreError::Other { dir: dir.to_owned(), why: difference(&found, &manifest) });
            }
            read_cells(dir)?
        } else {
            let text = serde_json::to_string_pretty(&manifest)
                .map_err(|e| StoreError::Damaged { path: path.clone(), why: e.to_string() })?;
            write_whole(&path, (text + "\n").as_bytes())?;
            Vec::new()
        };
        // Start the log anew from the whole records: a kill may have left half a line.
        let partial = dir.join("cells.partial.jsonl");
        let mut bytes = Vec::new();
        for cell in &cells {
            append_json(&mut bytes, cell, &partial)?;
        }
        write_whole(&partial, &bytes)?;
        let log = OpenOptions::new().append(true).open(&partial).map_err(at(&partial))?;
        Ok(Self { dir: dir.to_owned(), manifest, log, cells })
    }

    /// The cells that are there already.
    pub fn cells(&self) -> &[CellRecord] {
        &self.cells
    }

    /// The cells of this shard that are not there yet.
    pub fn missing(&self) -> Vec<u64> {
        let mut have = vec![false; self.manifest.cells as usize];
        for cell in &self.cells {
            if let Some(slot) = have.get_mut(cell.cell as usize) {
                *slot = true;
            }
        }
        (0..self.manifest.cells).filter(|c| self.manifest.shard.has(*c) && !have[*c as usize]).collect()
    }

    /// Appends a finished cell.
    ///
    /// # Errors
    /// It could not be written: the disk is full.
    pub fn append(&mut self, cell: CellRecord) -> Result<(), StoreError> {
        let path = self.dir.join("cells.partial.jsonl");
        let mut line = Vec::new();
        append_json(&mut line, &cell, &path)?;
        self.log.write_all(&line).map_err(at(&path))?;
        self.cells.push(cell);
        Ok(())
    }

    /// Gives the files their final names and order, when no cell is missing.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn finish(mut self) -> Result<Vec<CellRecord>, StoreError> {
        self.cells.sort_by_key(|c| c.cell);
        write_final(&self.dir, &self.cells)?;
        let partial = self.dir.join("cells.partial.jsonl");
        fs::remove_file(&partial).map_err(at(&partial))?;
        Ok(self.cells)
    }
}

/// Writes `cells.jsonl` and `results.csv`.
fn write_final(dir: &Path, cells: &[CellRecord]) -> Result<(), StoreError> {
    let path = dir.join("results.csv");
    write_whole(&path, &results_csv(cells))?;
    let path = dir.join("cells.jsonl");
    let mut bytes = Vec::new();
    for cell in cells {
        append_json(&mut bytes, cell, &path)?;
    }
    write_whole(&path, &bytes)
}

/// One row per cell.
pub fn results_csv(cells: &[CellRecord]) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    // Writing into a vector cannot fail.
    let _ =
        out.write_record(["cell", "rounds", "environment", "learner", "seed", "regret", "loss", "failed"]);
    for c in cells {
        let _ = out.write_record([
            &c.cell.to_string(),
            &c.rounds.to_string(),
            &c.environment,
            &c.learner,
            &c.seed.to_string(),
            &c.regret.to_string(),
            &c.loss.to_string(),
            c.failed.as_deref().unwrap_or_default(),
        ]);
    }
    out.into_inner().unwrap_or_default()
}

/// Reads a folder's manifest.
///
/// # Errors
/// There is none, or it is not one.
pub fn read_manifest(dir: &Path) -> Result<Manifest, StoreError> {
    let path = dir.join("manifest.json");
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let manifest: Manifest = serde_json::from_str(&text)
        .map_err(|e| StoreError::Damaged { path: path.clone(), why: e.to_string() })?;
    if manifest.format != FORMAT {
        let why = format!("layout {} is not the {FORMAT} that this program reads", manifest.format);
        return Err(StoreError::Damaged { path, why });
    }
    Ok(manifest)
}

/// Reads the cells of a folder, finished or not, sorted; a last line that was cut short is left out.
///
/// # Errors
/// A file cannot be read, or a line that is not the last is damaged.
pub fn read_cells(dir: &Path) -> Result<Vec<CellRecord>, StoreError> {
    let mut cells: Vec<CellRecord> = Vec::new();
    for name in ["cells.jsonl", "cells.partial.jsonl"] {
        let path = dir.join(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(at(&path)(e)),
        };
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            line.clear();
            number += 1;
            if reader.read_until(b'\n', &mut line).map_err(at(&path))? == 0 {
                break;
            }
            match serde_json::from_slice(&line) {
                Ok(cell) => cells.push(cell),
                Err(_) if line.last() != Some(&b'\n') => break,
                Err(e) => return Err(StoreError::Damaged { path, why: format!("line {number}: {e}") }),
            }
        }
    }
    cells.sort_by_key(|c| c.cell);
    cells.dedup_by_key(|c| c.cell);
    Ok(cells)
}

/// Joins the folders of shards of one spec into `out`.
///
/// # Errors
/// They are not of one spec, a cell is missing, or `out` cannot be written.
pub fn merge(dirs: &[PathBuf], out: &Path) -> Result<Vec<CellRecord>, StoreError> {
    let mut whole: Option<Manifest> = None;
    let mut cells = Vec::new();
    for dir in dirs {
        let mut manifest = read_manifest(dir)?;
        manifest.shard = Shard::WHOLE;
        match &whole {
            Some(first) if *first != manifest => {
                return Err(StoreError::Other { dir: dir.clone(), why: difference(&manifest, first) });
            }
            Some(_) => {}
            None => whole = Some(manifest),
        }
        cells.extend(read_cells(dir)?);
    }
    let Some(manifest) = whole else {
        return Err(StoreError::Damaged {
            path: out.to_owned(),
            why: "there is nothing to merge".to_owned(),
        });
    };
    let mut store = Store::open(out, manifest)?;
    store.cells.append(&mut cells);
    store.cells.sort_by_key(|c| c.cell);
    store.cells.dedup_by_key(|c| c.cell);
    if let Some(first) = store.missing().first() {
        let why = format!("{} cells are missing, the first is cell {first}", store.missing().len());
        return Err(StoreError::Damaged { path: out.to_owned(), why });
    }
    store.finish()
}

fn difference(found: &Manifest, wanted: &Manifest) -> String {
    if found.spec != wanted.spec {
        format!("another spec ({:?})", found.name)
    } else if found.shard != wanted.shard {
        format!("shard {}/{}", found.shard.index, found.shard.of)
    } else if found.plugins != wanted.plugins {
        "the same spec with other plugins".to_owned()
    } else {
        format!("the same spec, run by corral {}", found.corral)
    }
}

fn append_json(out: &mut Vec<u8>, cell: &CellRecord, path: &Path) -> Result<(), StoreError> {
    serde_json::to_writer(&mut *out, cell)
        .map_err(|e| StoreError::Damaged { path: path.to_owned(), why: e.to_string() })?;
    out.push(b'\n');
    Ok(())
}

/// Writes a file so that its final name never holds half of it.
///
/// # Errors
/// The file system said no.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let write = || -> io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&temporary);
        StoreError::Io { path: path.to_owned(), source }
    })
}
