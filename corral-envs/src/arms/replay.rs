//! A loss matrix played back: one row per round, one column per arm.

use corral_core::{Arm, Context, Feedback, ParamError, Rng, Setup};
use serde::Deserialize;

use crate::data::{matrix, resolve};
use crate::registry::{Row, entry, field};
use crate::{ArmSums, EnvError, Environment};

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
    pub fn check(self, horizon: u64) -> Result<Replay, EnvError> {
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
        Ok(Replay {
            losses: matrix,
            arms,
            repeat: self.repeat,
            horizon,
            context: Context::plain(arms),
            round: 0,
            sums: ArmSums::new(arms),
        })
    }
}

/// A loss matrix played back. Draws nothing.
#[derive(Debug, Clone)]
pub struct Replay {
    losses: Vec<f64>,
    arms: usize,
    repeat: bool,
    horizon: u64,
    context: Context,
    // Rounds that have begun.
    round: u64,
    sums: ArmSums,
}

impl Replay {
    /// Where the row of this round begins.
    fn start(&self) -> usize {
        let rows = self.losses.len() / self.arms;
        (self.round.saturating_sub(1) % rows as u64) as usize * self.arms
    }
}

impl Environment<Context, Arm> for Replay {
    fn setup(&self) -> Setup {
        Setup::arms(self.arms, Some(self.horizon))
    }

    fn next(&mut self, _rng: &mut dyn Rng) -> Result<(), EnvError> {
        if !self.repeat && self.round as usize * self.arms >= self.losses.len() {
            return Err(EnvError::Ended(self.round));
        }
        self.round += 1;
        let at = self.start();
        self.sums.add(&self.losses[at..at + self.arms]);
        Ok(())
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn loss(&self, decision: &Arm) -> f64 {
        let arm = decision.index();
        if arm < self.arms { self.losses[self.start() + arm] } else { f64::NAN }
    }

    fn mean_loss(&self, decision: &Arm) -> f64 {
        self.loss(decision)
    }

    fn play(&mut self, decision: &Arm) -> Result<Feedback, EnvError> {
        EnvError::check_arm(*decision, self.arms)?;
        Ok(Feedback::plain(self.loss(decision)))
    }

    fn best_so_far(&self) -> f64 {
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
        request.arms(params.check(request.rounds))
    },
};
