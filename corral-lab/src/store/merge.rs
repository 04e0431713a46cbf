//! Many folders of one spec become one.

use std::path::{Path, PathBuf};

use super::{MANIFEST, Manifest, Results, Shard, Store, StoreError, difference, read, unusable};
use crate::record::{CellRecord, CellSpec};
use crate::spec::Spec;

/// Joins the folders of shards of one spec into `out`.
///
/// # Errors
/// They are not of one spec, they contradict each other, a cell is missing, or `out` cannot be written.
pub fn merge(dirs: &[PathBuf], out: &Path) -> Result<Results, StoreError> {
    let joined = Some(out.to_owned()).filter(|dir| dir.join(MANIFEST).exists() && !dirs.contains(dir));
    let mut whole: Option<(Manifest, Spec)> = None;
    let mut cells: Vec<(CellRecord, &Path)> = Vec::new();
    for dir in dirs.iter().chain(&joined) {
        let mut part = read(dir)?;
        part.manifest.shard = Shard::WHOLE;
        match &whole {
            Some((first, _)) if *first != part.manifest => {
                return Err(StoreError::Other { dir: dir.clone(), why: difference(&part.manifest, first) });
            }
            Some(_) => {}
            None => whole = Some((part.manifest, part.spec)),
        }
        cells.extend(part.cells.into_iter().map(|cell| (cell, dir.as_path())));
    }
    let Some((manifest, spec)) = whole else {
        return Err(unusable(out)("there is nothing to merge"));
    };
    cells.sort_by_key(|(c, _)| c.cell);
    let same = |a: &CellRecord, b: &CellRecord| serde_json::to_vec(a).ok() == serde_json::to_vec(b).ok();
    for pair in cells.windows(2) {
        let [(a, first), (b, second)] = pair else { continue };
        if a.cell == b.cell && !same(a, b) {
            let (first, second) = (first.to_path_buf(), second.to_path_buf());
            return Err(StoreError::Contradiction { cell: a.cell, first, second });
        }
    }
    let mut cells: Vec<CellRecord> = cells.into_iter().map(|(c, _)| c).collect();
    cells.dedup_by_key(|c| c.cell);
    let missing = |n: &u64| cells.get(*n as usize).is_none_or(|c| c.cell != *n);
    if let Some(first) = (0..manifest.cells).find(missing) {
        let cell = CellSpec::of(&spec, first);
        let (world, learner) =
            (&spec.environments[cell.environment].label, &spec.learners[cell.learner].label);
        let why = format!(
            "{} cells are missing, the first is cell {first} ({learner} in {world}, seed {})",
            manifest.cells - cells.len() as u64,
            cell.seed
        );
        return Err(unusable(out)(why));
    }
    Store::open(out, manifest.clone(), &spec)?.write_final(&cells)?;
    Ok(Results { manifest, spec, cells })
}
