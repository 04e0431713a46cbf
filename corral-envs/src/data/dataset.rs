//! A supervised data set as a bandit: what a row costs is hidden, and an action shows its own loss.

use super::encode::Schema;
use super::params::DataSetParams;
use super::rows::{File, Rows, Source};
use super::source::resolve;
use super::target::Losses;
use crate::prelude::*;
use crate::table::Table;

impl Builds for DataSetParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        ask.game(self.open()?)
    }
}

impl DataSetParams {
    /// Reads the file once to learn its columns, and checks every row.
    ///
    /// # Errors
    /// Names file, line and value.
    pub fn open(self) -> Result<DataSet, EnvError> {
        let separator = u8::try_from(self.separator).ok().filter(u8::is_ascii);
        let separator =
            separator.ok_or_else(|| ParamError::new("separator", self.separator, "an ASCII character"))?;
        let path = resolve(&self.file);
        let file = File { path, format: self.format, separator, header: self.header };
        let mut rows = Rows::open(&file)?;
        let losses = Losses::of(&self, &rows)?;
        let schema = Schema::learn(&file.path, &mut rows, losses, &self)?;
        Ok(DataSet { source: Source::new(file, self.repeat)?, schema, repeat: self.repeat })
    }
}

/// A supervised data set as a bandit, streamed in the order of the file: memory does not grow with it.
///
/// The first feature is the constant 1. Regret is against the policy that knows the row: the number of mistakes, where
/// the target is a class.
pub struct DataSet {
    source: Source,
    schema: Schema,
    repeat: bool,
}

impl Game for DataSet {
    fn setup(&self) -> Setup {
        Setup {
            context: ContextShape { features: self.schema.features(), row_features: 0, cells: None },
            ..Setup::arms(self.schema.table.actions, (!self.repeat).then_some(self.schema.table.rows))
        }
    }

    fn draw(&self, _rng: &mut dyn Rng) -> Draw {
        Draw::none()
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        if !self.source.advance(|row| self.schema.drops(row))? {
            return Err(EnvError::Ended(round.number));
        }
        let (path, row) = (self.source.path(), &self.source.row);
        self.schema.losses.write(path, row, round.means)?;
        self.schema.encode(path, row, round.context.features_mut())
    }

    fn loss(&self, _arm: usize, mean: f64, _draw: Draw) -> f64 {
        mean
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.schema.table)
    }
}
