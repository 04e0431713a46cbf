//! What a cell leaves behind. Memory does not grow with rounds: curves are kept at fixed checkpoints.

use corral_envs::data::Chance;
use serde::{Deserialize, Deserializer, Serialize};

use crate::spec::Spec;

/// How many seeds of a run, from its first on, keep the traces of their band (probabilities, rates, ranges); all keep the regret curve.
pub const TRACED_SEEDS: u64 = 8;

/// A record has figures of so many bases. Of a larger band it has those that were followed most often, the others added
/// up in one, and no traces: what is kept does not grow with the band.
pub const LISTED_BASES: usize = 128;

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

/// Which cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSpec {
    /// Its place in the order of the spec.
    pub cell: u64,
    /// The horizon.
    pub rounds: u64,
    /// Index of the environment.
    pub environment: usize,
    /// Index of the learner.
    pub learner: usize,
    /// The seed.
    pub seed: u64,
}

impl CellSpec {
    /// The cell of this number: horizons first, then environments, learners, seeds.
    pub fn of(spec: &Spec, cell: u64) -> Self {
        let run = spec.runs[(cell / spec.seeds) as usize];
        let rounds = spec.rounds[run.horizon];
        let (environment, learner, seed) =
            (run.environment, run.learner, spec.first_seed + cell % spec.seeds);
        Self { cell, rounds, environment, learner, seed }
    }
}

/// The outcome of one cell: one learner in one environment with one seed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// What learning nothing costs in the rows of its table that were played; where these are errors, its regret counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<Chance>,
    /// The sum of the squares of the losses that were seen, in a table each row of which counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squares: Option<f64>,
    /// What happened inside the band, for a master over bases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<BandRecord>,
}

impl CellRecord {
    /// Rounds, environment and learner: what its seeds have in common.
    pub fn setting(&self) -> (u64, &str, &str) {
        (self.rounds, &self.environment, &self.learner)
    }

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
    /// The bases' labels; of a band of more than [`LISTED_BASES`], those that were followed most often and "the other N".
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

impl BandRecord {
    /// Keeps the `listed` bases that were followed most often, in their order, and adds the others up in one more.
    pub(super) fn shorten(&mut self, listed: usize) {
        let all = self.bases.len();
        if all <= listed || self.plays.len() != all {
            return;
        }
        let mut order: Vec<usize> = (0..all).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(self.plays[i]));
        let mut place = vec![listed - 1; all];
        let mut kept = order[..listed - 1].to_vec();
        kept.sort_unstable();
        for (at, i) in kept.iter().enumerate() {
            place[*i] = at;
        }
        let mut plays = vec![0; listed];
        let (mut max_weight, mut effective) = (vec![0.0f64; listed], vec![0.0; listed]);
        for (i, at) in place.iter().enumerate() {
            plays[*at] += self.plays[i];
            max_weight[*at] = max_weight[*at].max(self.max_weight[i]);
            effective[*at] += self.effective[i];
        }
        for (_, base, why) in &mut self.benched {
            if place[*base] == listed - 1 {
                *why = format!("{}: {why}", self.bases[*base]);
            }
            *base = place[*base];
        }
        self.range_changes.iter_mut().for_each(|(_, base)| *base = place[*base]);
        self.bases = kept.iter().map(|i| std::mem::take(&mut self.bases[*i])).collect();
        self.bases.push(format!("the other {}", all - (listed - 1)));
        (self.plays, self.max_weight, self.effective) = (plays, max_weight, effective);
    }
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
    fn a_long_list_of_bases_is_shortened_to_the_most_followed() {
        let mut band = BandRecord {
            bases: ["a", "b", "c", "d"].map(String::from).to_vec(),
            plays: vec![5, 1, 9, 2],
            max_weight: vec![1.0, 2.0, 3.0, 8.0],
            effective: vec![5.0, 1.0, 9.0, 2.0],
            range_changes: vec![(1, 3), (2, 2)],
            benched: vec![(3, 1, "late".into()), (4, 0, "late".into())],
            ..Default::default()
        };
        let whole = band.clone();
        band.shorten(4);
        assert_eq!(band, whole);
        band.shorten(3);
        assert_eq!(band.bases, ["a", "c", "the other 2"]);
        assert_eq!((band.plays, band.max_weight), (vec![5, 9, 3], vec![1.0, 3.0, 8.0]));
        assert_eq!(band.effective, [5.0, 9.0, 3.0]);
        assert_eq!(band.range_changes, [(1, 2), (2, 1)]);
        assert_eq!(band.benched, [(3, 2, "b: late".into()), (4, 0, "late".into())]);
    }

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
