//! A loss matrix played back: one row per round, one column per arm.

use corral_core::{ParamError, Rng, Setup};
use serde::Deserialize;

use crate::bandit::{Game, Round};
use crate::data::{matrix, resolve};
use crate::registry::{Row, entry, field};
use crate::{ArmSums, Draw, EnvError};

/// Parameters of [`Replay`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayParams {
    /// The matrix, row by row.
    #[serde(default)]
    pub losses: Vec<Vec<f64>>,
    /// Instead: a file with one row per line, numbers separated by commas, no header.
    #[serde(default)]
    pub file: String,
    /// Whether to begin again when the rows are over.
    #[serde(default)]
    pub repeat: bool,
}

impl ReplayParams {
    /// The environment.
    ///
    /// # Errors
    /// There are no rows, rows have different lengths, a loss is outside [0, 1] or no number, or the file cannot be
    /// read: file and line are named.
    pub fn check(self) -> Result<Replay, EnvError> {
        let (rows, file) = if self.file.is_empty() {
            (self.losses, None)
        } else if self.losses.is_empty() {
            let unit = |loss: f64| (0.0..=1.0).contains(&loss);
            (matrix(&resolve(&self.file), "loss in [0, 1]", unit)?, Some(self.file))
        } else {
            return Err(ParamError::choice("losses", "give a list or a file, not both").into());
        };
        let refuse = |value: String, must| match &file {
            Some(file) => EnvError::Data {
                file: file.clone(),
                line: None,
                why: format!("losses must be {must}, but are {value}"),
            },
            None => ParamError::new("losses", value, must).into(),
        };
        let arms = rows.first().map_or(0, Vec::len);
        if arms == 0 {
            return Err(refuse("an empty list".to_owned(), "at least one row of one number"));
        }
        let mut matrix = Vec::with_capacity(rows.len() * arms);
        for (t, row) in rows.iter().enumerate() {
            if row.len() != arms {
                return Err(refuse(format!("{} in row {t}", row.len()), "as many as in row 0"));
            }
            if let Some(i) = row.iter().position(|l| !(0.0..=1.0).contains(l)) {
                return Err(refuse(format!("{} in row {t}, column {i}", row[i]), "in [0, 1]"));
            }
            matrix.extend_from_slice(row);
        }
        Ok(Replay { losses: matrix, arms, repeat: self.repeat, sums: ArmSums::new(arms) })
    }
}

/// A loss matrix played back. Draws nothing.
#[derive(Debug, Clone)]
pub struct Replay {
    losses: Vec<f64>,
    arms: usize,
    repeat: bool,
    sums: ArmSums,
}

impl Game for Replay {
    const SUMS_LEAST: bool = false;

    fn setup(&self) -> Setup {
        Setup::arms(self.arms, None)
    }

    fn draw(&self, _rng: &mut dyn Rng) -> Draw {
        Draw::none()
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        let rows = (self.losses.len() / self.arms) as u64;
        if !self.repeat && round.number >= rows {
            return Err(EnvError::Ended(round.number));
        }
        let start = (round.number % rows) as usize * self.arms;
        round.means.copy_from_slice(&self.losses[start..start + self.arms]);
        self.sums.add(round.means);
        Ok(())
    }

    fn loss(&self, _arm: usize, mean: f64, _draw: Draw) -> f64 {
        mean
    }

    fn best(&self, _rounds: u64, _least: f64) -> f64 {
        self.sums.best()
    }
}

pub(super) const REPLAY: Row = Row {
    entry: entry(
        "replay",
        "arms",
        "a loss matrix played back, one row per round, one column per arm",
        "the paper's multi-armed example, oblivious adversary",
        "oblivious adversary",
        "O(K)",
        &[
            field("losses", "[]", "the matrix, row by row"),
            field("file", "\"\"", "instead: a file of numbers separated by commas, no header"),
            field("repeat", "false", "whether to start again at the first row after the last"),
        ],
    ),
    example: "losses = [[0.0, 0.5], [1.0, 0.25], [0.5, 0.0]]\nrepeat = true",
    build: |request, _| {
        let params: ReplayParams = request.read()?;
        request.game(params.check())
    },
};
