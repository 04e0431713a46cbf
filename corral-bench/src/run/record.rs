//! What a cell leaves behind. Memory does not grow with rounds: curves are kept at fixed checkpoints.

use serde::{Deserialize, Deserializer, Serialize};

/// How many seeds keep the traces of their band (probabilities, rates, ranges); all keep the regret curve.
pub const TRACED_SEEDS: u64 = 8;

const LINEAR: u64 = 64;
const PER_OCTAVE: f64 = 4.0;

/// The rounds after which a curve is recorded: evenly spaced ones, denser early ones, and the last.
pub fn checkpoints(rounds: u64) -> Vec<u64> {
    let even = (1..=LINEAR).map(|k| (u128::from(rounds) * u128::from(k) / u128::from(LINEAR)) as u64);
    let octaves = (rounds.max(1) as f64).log2();
    let early = (0..=(octaves * PER_OCTAVE) as u64).map(|k| 2f64.powf(k as f64 / PER_OCTAVE).round() as u64);
    let mut all: Vec<u64> = even.chain(early).filter(|t| (1..=rounds).contains(t)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The outcome of one cell: one learner in one environment with one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Its place in the order of the spec.
    pub cell: u64,
    /// The horizon.
    pub rounds: u64,
    /// The environment's label.
    pub environment: String,
    /// The learner's label.
    pub learner: String,
    /// The seed.
    pub seed: u64,
    /// Why it ended early, if it did; the figures are then those of the rounds before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Rounds that were played.
    pub played: u64,
    /// Rounds whose loss was seen: all of them, but for E' and for logs.
    pub seen: u64,
    /// Pseudo-regret: the sum of mean losses of the decisions less that of the best fixed decision in hindsight.
    #[serde(deserialize_with = "numbers")]
    pub regret: f64,
    /// The sum of the losses that were observed.
    #[serde(deserialize_with = "numbers")]
    pub loss: f64,
    /// Pseudo-regret after each of the [`checkpoints`].
    #[serde(deserialize_with = "numbers")]
    pub curve: Vec<f64>,
    /// What happened inside the band, for a master over bases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<BandRecord>,
}

impl CellRecord {
    /// The bases that were benched, in words.
    pub fn benched(&self) -> impl Iterator<Item = String> + '_ {
        self.band.iter().flat_map(|band| {
            band.benched.iter().map(|(round, base, why)| {
                let base = band.bases.get(*base).map_or("?", String::as_str);
                format!("seed {}, round {round}: {base}: {why}", self.seed)
            })
        })
    }
}

/// JSON has no word for numbers that are not finite: it writes `null`, which is read as NaN.
fn numbers<'de, D: Deserializer<'de>, T: Numbers>(from: D) -> Result<T, D::Error> {
    T::Written::deserialize(from).map(T::read)
}

trait Numbers {
    type Written: for<'de> Deserialize<'de>;
    fn read(written: Self::Written) -> Self;
}

impl Numbers for f64 {
    type Written = Option<f64>;
    fn read(written: Option<f64>) -> Self {
        written.unwrap_or(f64::NAN)
    }
}

impl<T: Numbers> Numbers for Vec<T> {
    type Written = Vec<T::Written>;
    fn read(written: Vec<T::Written>) -> Self {
        written.into_iter().map(T::read).collect()
    }
}

/// What happened inside a band.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BandRecord {
    /// The bases' labels.
    pub bases: Vec<String>,
    /// How often each was followed.
    pub plays: Vec<u64>,
    /// The largest weight that each was fed.
    #[serde(deserialize_with = "numbers")]
    pub max_weight: Vec<f64>,
    /// Effective samples of each: (sum of weights)^2 / sum of squared weights.
    #[serde(deserialize_with = "numbers")]
    pub effective: Vec<f64>,
    /// Changes of a base's range: (round, base).
    pub range_changes: Vec<(u64, usize)>,
    /// Bases that were benched: (round, base, why).
    pub benched: Vec<(u64, usize, String)>,
    /// pbar per checkpoint and base; empty for seeds that are not traced.
    #[serde(deserialize_with = "numbers")]
    pub probabilities: Vec<Vec<f64>>,
    /// The learning rate per checkpoint and base; empty where there is none.
    #[serde(deserialize_with = "numbers")]
    pub rates: Vec<Vec<f64>>,
    /// The range per checkpoint and base; empty where there is none.
    #[serde(deserialize_with = "numbers")]
    pub ranges: Vec<Vec<f64>>,
    /// What an audit found, for a master that was asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditRecord>,
}

/// What is proved of every run, held against this one at each checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// The pathwise theorem: the largest left side over right side, of all bases and checkpoints. Above 1: refuted.
    #[serde(deserialize_with = "numbers")]
    pub share: f64,
    /// The identities: the largest relative gap.
    #[serde(deserialize_with = "numbers")]
    pub gap: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_rise_to_the_last_round_and_stay_few() {
        for rounds in [1, 2, 3, 63, 64, 65, 1000, 20_000, 1_000_000_000, u64::MAX] {
            let points = checkpoints(rounds);
            assert_eq!(points.last(), Some(&rounds));
            assert!(points.windows(2).all(|w| w[0] < w[1]), "{rounds}");
            assert!(points.len() <= 330, "{rounds}: {}", points.len());
        }
    }
}
