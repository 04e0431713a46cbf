//! A supervised data set as a bandit: what a row costs is hidden, and an action shows its own loss.

use super::columns::Missing;
use super::dialect;
use super::encode::Schema;
use super::params::DataSetParams;
use super::questions::Trouble;
use super::reading::Reading;
use super::rows::Source;
use super::source::resolve;
use super::target::Losses;
use crate::prelude::*;
use crate::table::{Chance, Table, Unlearned};

impl Builds for DataSetParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let shuffle = self.shuffle;
        let mut data = self.open()?;
        if shuffle {
            let (rows, columns) = (data.schema.table.rows, data.schema.table.columns.len() as u128);
            // A cell is a few bytes and its end.
            ask.budget.claim("the rows of a table", rows as usize, u128::from(rows) * (2 * columns + 8))?;
            data.source.shuffle(ask.rng)?;
        }
        ask.game(data)
    }
}

impl DataSetParams {
    /// Reads the file once to learn its columns, and checks every row.
    ///
    /// # Errors
    /// Names file, line and value.
    pub fn open(self) -> Result<DataSet, EnvError> {
        self.answered().map_err(|trouble| trouble.into_error(&resolve(&self.file)))
    }

    /// How rows become contexts after the whole table was seen, for rows of other files.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn reading(&self) -> Result<Reading, EnvError> {
        let mut data = self.answered().map_err(|trouble| trouble.into_error(&resolve(&self.file)))?;
        let columns = data.source.columns().to_vec();
        let mut features = Vec::new();
        // Scales that run go through all rows.
        while data.source.advance_once(|row| data.schema.drops(row))? {
            data.schema.encode(data.source.path(), &data.source.row, &mut features)?;
        }
        let allowed = columns.iter().map(|c| self.missing.of(c) != Missing::Error).collect();
        let actions = data.schema.losses.names(&columns);
        Ok(Reading::new(data.schema, columns, allowed, actions, data.source.file()))
    }

    /// The same, with questions as they are.
    pub(super) fn answered(&self) -> Result<DataSet, Trouble> {
        let ascii = |c: char| u8::try_from(c).ok().filter(u8::is_ascii);
        let refuse = |c: char| ParamError::new("separator", c, "an ASCII character");
        let separator = self.separator.map(|c| ascii(c).ok_or_else(|| refuse(c))).transpose()?;
        let file = dialect::file(&resolve(&self.file), self.format, separator, self.header)?;
        let mut schema = Schema::learn(&file, |rows| Losses::of(self, rows), self)?;
        schema.table.repeats = self.repeat;
        let sums = vec![0.0; schema.table.actions];
        Ok(DataSet { source: Source::new(file, self.repeat)?, schema, sums, rounds: 0 })
    }
}

/// A supervised data set as a bandit, streamed in the order of the file: memory does not grow with it.
///
/// The first feature is the constant 1. Regret is against the policy that knows the row: the number of mistakes, where
/// the target is a class.
pub struct DataSet {
    source: Source,
    schema: Schema,
    /// What always playing an action would have cost so far, in this many rounds.
    sums: Vec<f64>,
    rounds: u64,
}

impl DataSet {
    /// What became of the columns.
    pub(super) fn table(&self) -> &Table {
        &self.schema.table
    }
}

impl Game for DataSet {
    fn setup(&self) -> Setup {
        Setup {
            context: ContextShape { features: self.schema.features(), row_features: 0, cells: None },
            ..Setup::arms(
                self.schema.table.actions,
                (!self.schema.table.repeats).then_some(self.schema.table.rows),
            )
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
        self.sums.iter_mut().zip(round.means.iter()).for_each(|(sum, loss)| *sum += loss);
        self.rounds += 1;
        self.schema.encode(path, row, round.context.features_mut())
    }

    fn loss(&self, _arm: usize, mean: f64, _draw: Draw) -> f64 {
        mean
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.schema.table)
    }

    fn unlearned(&self) -> Option<&dyn Unlearned> {
        Some(self)
    }
}

impl Unlearned for DataSet {
    fn chance(&self) -> Option<Chance> {
        let names = self.schema.losses.names(self.source.columns());
        let means: Vec<f64> = self.sums.iter().map(|sum| sum / self.rounds as f64).collect();
        Chance::of(&means, names, self.schema.losses.counts(), self.rounds.min(self.schema.table.rows))
    }
}
