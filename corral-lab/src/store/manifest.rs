//! What a results folder is of: the spec, the part of it, the plugins.

use serde::{Deserialize, Serialize};

use crate::record::CellRecord;
use crate::spec::Spec;

/// The version of the layout of a folder.
pub(super) const FORMAT: u32 = 3;

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

    /// How many of the cells from 0 to `cells` - 1 belong to this part.
    pub fn count(self, cells: u64) -> u64 {
        if cells < self.index { 0 } else { (cells - self.index) / self.of + 1 }
    }

    /// The cell at `place` of this part, counted from 0.
    pub fn cell(self, place: u64) -> u64 {
        place * self.of + (self.index - 1)
    }

    /// The place of `cell` in this part, if it belongs to it.
    pub(super) fn place(self, cell: u64) -> Option<u64> {
        (cell % self.of == self.index - 1).then_some(cell / self.of)
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
    /// The plugins that the spec uses: key and SHA-256 of the file.
    pub plugins: Vec<(String, String)>,
    /// The spec itself, after every override.
    pub spec: String,
}

impl Manifest {
    /// Of a run of `spec`.
    pub fn new(spec: &Spec, shard: Shard, plugins: Vec<(String, String)>) -> Self {
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

    /// Holds what follows from the spec against it.
    pub(super) fn check(&self, spec: &Spec) -> Result<(), String> {
        let differs = |what: &str, found: &dyn std::fmt::Display, own: &dyn std::fmt::Display| {
            Err(format!("its {what} is {found}, but that of its spec is {own}: it was changed"))
        };
        let Shard { index, of } = self.shard;
        match () {
            () if self.name != spec.name => differs("name", &self.name, &spec.name),
            () if self.cells != spec.cells() => differs("number of cells", &self.cells, &spec.cells()),
            () if self.seeds != spec.seeds => differs("number of seeds", &self.seeds, &spec.seeds),
            () if !(1..=of).contains(&index) => {
                Err(format!("its shard is {index}/{of}, which does not exist"))
            }
            () => Ok(()),
        }
    }

    /// Holds a record against the shard.
    pub(super) fn holds(&self, record: CellRecord) -> Result<CellRecord, String> {
        match self.shard.place(record.cell) {
            Some(_) => Ok(record),
            None => Err(format!(
                "cell {}: it does not belong to shard {}/{}, which its manifest says this is",
                record.cell, self.shard.index, self.shard.of
            )),
        }
    }
}

/// In what the run of a folder differs from the one that is wanted.
pub(super) fn difference(found: &Manifest, wanted: &Manifest) -> String {
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
