//! A supervised data set as a bandit: the class is hidden, and an action costs 0 if it is the class, else 1.

use corral_core::{Arm, Context, ContextShape, Feedback, ParamError, Rng, Setup, Space};
use serde::Deserialize;

use super::encode::{Encoding, Schema, Wishes};
use super::rows::{Format, Rows, Source};
use super::source::resolve;
use crate::{EnvError, Environment};

/// Parameters of [`DataSet`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSetParams {
    /// The file, here or in the folder that `CORRAL_DATA` names; gzip is recognised.
    pub file: String,
    /// How it is written.
    #[serde(default)]
    pub format: Format,
    /// The column of the class; the last where it is not given.
    #[serde(default)]
    pub class: Option<String>,
    /// The number of classes; more are an error.
    #[serde(default)]
    pub classes: Option<usize>,
    /// Columns that are categorical though they look like numbers.
    #[serde(default)]
    pub categorical: Vec<String>,
    /// Columns that are no features.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// How categories become numbers.
    #[serde(default)]
    pub encoding: Encoding,
    /// Buckets of the hashed encoding.
    #[serde(default = "buckets")]
    pub buckets: usize,
    /// Begin again at the end of the file.
    #[serde(default)]
    pub repeat: bool,
}

fn buckets() -> usize {
    256
}

impl DataSetParams {
    /// Reads the file once to learn its columns, and checks every row; for a run of at most `rounds` rounds.
    ///
    /// # Errors
    /// Names file, line and value.
    pub fn check(self, rounds: u64) -> Result<DataSet, EnvError> {
        if self.buckets == 0 {
            return Err(ParamError::new("buckets", 0, "at least 1").into());
        }
        let path = resolve(&self.file);
        let wishes = Wishes {
            class: self.class.as_deref(),
            categorical: &self.categorical,
            ignore: &self.ignore,
            encoding: self.encoding,
            buckets: self.buckets,
            classes: self.classes,
        };
        let schema = Schema::learn(&path, &mut Rows::open(&path, self.format)?, &wishes)?;
        let source = Source::new(path, self.format, self.repeat)?;
        let context = Context::shared(Vec::new(), schema.classes());
        let horizon = if self.repeat { rounds } else { rounds.min(schema.rows) };
        Ok(DataSet { source, schema, horizon, context, class: 0, round: 0 })
    }
}

/// A supervised data set as a bandit, streamed in the order of the file: memory does not grow with it.
///
/// Numbers are standardised, categories are one-hot or hashed, and the first feature is the constant 1. Regret is
/// against the policy that knows the class: the number of mistakes.
pub struct DataSet {
    source: Source,
    schema: Schema,
    horizon: u64,
    context: Context,
    class: usize,
    round: u64,
}

impl DataSet {
    /// Rows of the file.
    pub fn len(&self) -> u64 {
        self.schema.rows
    }

    /// Never: an empty file is refused.
    pub fn is_empty(&self) -> bool {
        self.schema.rows == 0
    }

    /// The class of this round, hidden from learners.
    pub fn class(&self) -> usize {
        self.class
    }
}

impl Environment<Context, Arm> for DataSet {
    fn setup(&self) -> Setup {
        Setup {
            context: ContextShape { features: self.schema.features(), row_features: 0, cells: None },
            ..Setup::new(Space::Arms(self.schema.classes()), Some(self.horizon))
        }
    }

    fn next(&mut self, _rng: &mut dyn Rng) -> Result<(), EnvError> {
        if !self.source.advance()? {
            return Err(EnvError::Ended(self.round));
        }
        self.class = self.schema.encode(&self.source, self.context.features_mut())?;
        self.round += 1;
        Ok(())
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn loss(&self, decision: &Arm) -> f64 {
        match decision.index() {
            a if a == self.class => 0.0,
            a if a < self.schema.classes() => 1.0,
            _ => f64::NAN,
        }
    }

    fn mean_loss(&self, decision: &Arm) -> f64 {
        self.loss(decision)
    }

    fn play(&mut self, decision: &Arm) -> Result<Feedback, EnvError> {
        if decision.index() >= self.schema.classes() {
            return Err(EnvError::Decision(decision.index().to_string()));
        }
        Ok(Feedback::plain(self.loss(decision)))
    }

    fn best_so_far(&self) -> f64 {
        0.0
    }
}
