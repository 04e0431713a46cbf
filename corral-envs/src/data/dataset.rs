//! A supervised data set as a bandit: what a row costs is hidden, and an action shows its own loss.

use super::columns::{Missing, PerColumn};
use super::encode::{Encoding, MOST_FEATURES, Scaling, Schema, Wishes};
use super::rows::{File, Format, Rows, Source};
use super::source::resolve;
use super::target::Target;
use crate::prelude::*;
use crate::table::Table;

params! {
    /// Parameters of [`DataSet`].
    pub struct DataSetParams {
        /// The file, here or in the folder that `CORRAL_DATA` names; gzip is recognised.
        file: String;
        /// How it is written.
        format: Format = Format::default();
        /// What stands between the cells of a CSV.
        separator: char = ',';
        /// Whether the first line of a CSV names the columns; else they are called 1, 2, 3, ...
        header: bool = true;
        /// The column of the class (or the number); the last where it is not given.
        class: Option<String> = None;
        /// The number of classes; more are an error.
        classes: Option<usize> = None;
        /// The class is a number: so many answers lie evenly in its range, and cost their distance from it.
        levels: usize = 0, Bounds::between(0.0, 65_536.0);
        /// Instead of a class: the columns of the actions' losses.
        losses: Vec<String> = Vec::new();
        /// Columns that are categorical though they look like numbers.
        categorical: Vec<String> = Vec::new();
        /// Columns that are no features.
        ignore: Vec<String> = Vec::new();
        /// What becomes of missing cells (empty, ?, NA, N/A, NaN, null), for all columns or by name: { age = "median", "*" = "mean" }.
        missing: PerColumn<Missing> = PerColumn::default();
        /// How categories become numbers.
        encoding: Encoding = Encoding::default();
        /// Buckets of the hashed encoding.
        buckets: usize = 256, Bounds::between(1.0, MOST_FEATURES as f64);
        /// How numbers are scaled.
        scaling: Scaling = Scaling::default();
        /// Into how many bins of equal count numbers are cut; 0: they stay numbers.
        bins: usize = 0, Bounds::between(0.0, 4_096.0);
        /// How many features are made of products of two others, hashed where the pairs are more.
        interactions: usize = 0, Bounds::between(0.0, MOST_FEATURES as f64);
        /// Begin again at the end of the file.
        repeat: bool = false;
    }
}

impl Builds for DataSetParams {
    const ENTRY: Entry = Entry {
        name: "dataset",
        summary: "a supervised data set as a bandit: an action costs 0 if it is the row's class, else 1; or its distance from a number, or what a column says",
        source: "CSV, ARFF, libsvm or Vowpal Wabbit text, also gzip",
        fits: "contexts and losses as they come",
        cost: "O(cells)",
        kind: Kind::Contextual,
        ..Entry::EMPTY
    };
    const EXAMPLE: &'static str = "file = 'tests/data/small.csv'\nrepeat = true";

    fn build(self, ask: Ask<'_>) -> Result<World, EnvError> {
        ask.game(self.open()?)
    }
}

impl DataSetParams {
    /// Reads the file once to learn its columns, and checks every row.
    ///
    /// # Errors
    /// Names file, line and value.
    pub fn open(self) -> Result<DataSet, EnvError> {
        let target = if !self.losses.is_empty() {
            for (key, given) in [("class", self.class.is_some()), ("levels", self.levels > 0)] {
                if given {
                    return Err(ParamError::choice(key, "give it or losses, not both").into());
                }
            }
            Target::Losses(self.losses)
        } else if self.levels > 0 {
            Target::Levels { column: self.class, levels: self.levels }
        } else {
            Target::Class { column: self.class, most: self.classes }
        };
        let wishes = Wishes {
            target,
            categorical: self.categorical,
            ignore: self.ignore,
            encoding: self.encoding,
            buckets: self.buckets,
            missing: self.missing,
            scaling: self.scaling,
            bins: self.bins,
            interactions: self.interactions,
        };
        let separator = u8::try_from(self.separator).ok().filter(u8::is_ascii);
        let separator =
            separator.ok_or_else(|| ParamError::new("separator", self.separator, "an ASCII character"))?;
        let path = resolve(&self.file);
        let file = File { path, format: self.format, separator, header: self.header };
        let schema = Schema::learn(&file.path, &mut Rows::open(&file)?, &wishes)?;
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
