//! A digest per record: what was changed after it was written is not taken for a result, nor what another run gave.

use std::io;

use sha2::{Digest, Sha256};

use super::Manifest;
use crate::record::{CellRecord, CellSpec, checkpoints};
use crate::spec::{LearnerSpec, Spec};

const OPENING: &[u8] = b"{\"digest\":\"";
/// Of SHA-256, in hexadecimal digits: 128 bits.
const LENGTH: usize = 32;

/// What seals and opens the records of one run.
#[derive(Clone)]
pub struct Seal(Sha256);

impl Seal {
    /// For records of the run that `manifest` describes. The digest of a record is that of all that decides it, spec,
    /// program and plugins, and of its JSON. The shard is no part of it: shards are merged.
    pub fn of(manifest: &Manifest) -> Self {
        let mut hash = Sha256::new();
        let plugins = manifest.plugins.iter().flat_map(|(key, sha)| [key, sha]);
        for text in [&manifest.spec, &manifest.corral].into_iter().chain(plugins) {
            hash.update(text.as_bytes());
            hash.update([0]);
        }
        Self(hash)
    }

    /// The record as a line: its JSON with its digest as the first key.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn line(&self, record: &CellRecord) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(record)?;
        let mut line = [OPENING, self.digest(&json).as_bytes(), b"\","].concat();
        line.extend_from_slice(&json[1..]);
        line.push(b'\n');
        Ok(line)
    }

    /// The record of a line, held against its digest and its spec.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn open(&self, line: &[u8], spec: &Spec) -> Result<CellRecord, String> {
        let (digest, body) = line
            .strip_prefix(OPENING)
            .and_then(|rest| rest.split_at_checked(LENGTH))
            .and_then(|(digest, rest)| Some((digest, rest.strip_prefix(b"\",")?)))
            .ok_or_else(|| "it has no digest".to_owned())?;
        let json = [b"{", body.trim_ascii_end()].concat();
        if self.digest(&json).as_bytes() != digest {
            let cell = serde_json::from_slice::<CellRecord>(&json).map(|r| format!("cell {}: ", r.cell));
            return Err(format!(
                "{}it does not have its digest: it was changed, or the spec, plugins or version of its manifest were",
                cell.unwrap_or_default()
            ));
        }
        let record: CellRecord = serde_json::from_slice(&json).map_err(|e| e.to_string())?;
        fits(&record, spec).map_err(|why| format!("cell {}: {why}", record.cell))?;
        Ok(record)
    }

    fn digest(&self, json: &[u8]) -> String {
        let mut hash = self.0.clone();
        hash.update(json);
        hash.finalize().iter().take(LENGTH / 2).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Whether `record` can be the outcome of its cell of `spec`.
fn fits(record: &CellRecord, spec: &Spec) -> Result<(), String> {
    if record.cell >= spec.cells() {
        return Err(format!("the spec has {} cells", spec.cells()));
    }
    let cell = CellSpec::of(spec, record.cell);
    let learner = &spec.learners[cell.learner];
    let expected = (cell.rounds, spec.environments[cell.environment].label.as_str(), learner.label.as_str());
    if record.setting() != expected || record.seed != cell.seed {
        return Err("the spec has something else there".to_owned());
    }
    let points = checkpoints(record.rounds).len();
    let ended = record.failed.is_none();
    if record.played > record.rounds || record.seen > record.played {
        return Err(format!("it played {} of {} rounds", record.played, record.rounds));
    }
    if record.curve.len() > points || (ended && record.curve.len() != points) {
        return Err(format!("its curve has {} points instead of {points}", record.curve.len()));
    }
    if ended && record.band.is_some() != matches!(learner.learner, LearnerSpec::Band(_)) {
        return Err("only a master has a band".to_owned());
    }
    let Some(band) = &record.band else { return Ok(()) };
    let bases = band.bases.len();
    let totals = [band.plays.len(), band.max_weight.len(), band.effective.len()];
    let traces = [&band.probabilities, &band.rates, &band.ranges];
    let told =
        band.range_changes.iter().map(|(_, base)| base).chain(band.benched.iter().map(|(_, base, _)| base));
    if totals.iter().any(|n| *n != bases && (ended || *n != 0))
        || traces.iter().any(|t| t.len() > points || t.iter().any(|row| row.len() != bases))
        || told.into_iter().any(|base| *base >= bases)
    {
        return Err(format!("its figures are not those of {bases} bases"));
    }
    Ok(())
}
