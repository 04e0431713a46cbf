//! A loss matrix played back: one row per round, one column per arm.

use crate::data::{matrix, resolve};
use crate::prelude::*;

params! {
    /// Parameters of [`Replay`].
    pub struct ReplayParams {
        /// The matrix, row by row.
        losses: Vec<Vec<f64>> = Vec::new(), Bounds::UNIT;
        /// Instead: a file with one row per line, numbers separated by commas, no header.
        file: String = String::new();
        /// Whether to begin again when the rows are over.
        repeat: bool = false;
    }
}

impl Builds for ReplayParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let rows = match (self.file.is_empty(), self.losses.is_empty()) {
            (true, _) => self.losses,
            (false, true) => {
                matrix(&resolve(&self.file), "loss in [0, 1]", |loss| (0.0..=1.0).contains(&loss))?
            }
            (false, false) => {
                return Err(ParamError::choice("losses", "give a list or a file, not both").into());
            }
        };
        let arms = rows.first().map_or(0, Vec::len);
        if arms == 0 {
            return Err(ParamError::choice("losses", "give at least one row of one number").into());
        }
        if let Some(t) = rows.iter().position(|row| row.len() != arms) {
            let found = format!("{} in row {t}", rows[t].len());
            return Err(ParamError::new("losses", found, "as many as in row 0").into());
        }
        ask.game(Replay { losses: rows.concat(), arms, repeat: self.repeat, sums: ArmSums::new(arms) })
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
