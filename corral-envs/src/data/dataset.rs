//! A supervised data set as a bandit: what a row costs is hidden, and an action shows its own loss.

use corral_core::{ContextShape, ParamError, Rng, Setup};
use serde::Deserialize;

use super::columns::{Missing, PerColumn, Table};
use super::encode::{Encoding, Scaling, Schema, Wishes};
use super::rows::{File, Format, Rows, Source};
use super::source::resolve;
use super::target::Target;
use crate::bandit::{Game, Round};
use crate::{Draw, EnvError};

/// Parameters of [`DataSet`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSetParams {
    /// The file, here or in the folder that `CORRAL_DATA` names; gzip is recognised.
    pub file: String,
    /// How it is written.
    #[serde(default)]
    pub format: Format,
    /// What stands between the cells of a CSV.
    #[serde(default = "comma")]
    pub separator: char,
    /// Whether the first line of a CSV names the columns; else they are called 1, 2, 3, ...
    #[serde(default = "yes")]
    pub header: bool,
    /// The column of the class (or the number); the last where it is not given.
    #[serde(default)]
    pub class: Option<String>,
    /// The number of classes; more are an error.
    #[serde(default)]
    pub classes: Option<usize>,
    /// The class is a number: so many answers lie evenly in its range, and cost their distance from it.
    #[serde(default)]
    pub levels: usize,
    /// Instead of a class: the columns of the actions' losses.
    #[serde(default)]
    pub losses: Vec<String>,
    /// Columns that are categorical though they look like numbers.
    #[serde(default)]
    pub categorical: Vec<String>,
    /// Columns that are no features.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// What becomes of missing cells.
    #[serde(default)]
    pub missing: PerColumn<Missing>,
    /// How categories become numbers.
    #[serde(default)]
    pub encoding: Encoding,
    /// Buckets of the hashed encoding.
    #[serde(default = "buckets")]
    pub buckets: usize,
    /// How numbers are scaled.
    #[serde(default)]
    pub scaling: Scaling,
    /// Into how many bins of equal count numbers are cut; 0: they stay numbers.
    #[serde(default)]
    pub bins: usize,
    /// How many features are made of products of two others, hashed where the pairs are more.
    #[serde(default)]
    pub interactions: usize,
    /// Begin again at the end of the file.
    #[serde(default)]
    pub repeat: bool,
}

fn buckets() -> usize {
    256
}

fn comma() -> char {
    ','
}

fn yes() -> bool {
    true
}

impl DataSetParams {
    /// Reads the file once to learn its columns, and checks every row.
    ///
    /// # Errors
    /// Names file, line and value.
    pub fn check(self) -> Result<DataSet, EnvError> {
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
