//! Logged bandit feedback with propensities, replayed by rejection.

use std::path::Path;

use corral_core::{Feedback, Space, uniform};

use super::cells::finite;
use super::columns::{Missing, PerColumn};
use super::dialect;
use super::encode::Schema;
use super::params::{DataSetParams, Encoding, MOST_FEATURES, Scaling};
use super::questions::Trouble;
use super::rows::{Format, Row, Rows, Source};
use super::source::{at, resolve};
use super::target::Losses;
use crate::About;
use crate::Environment;
use crate::prelude::*;

params! {
    /// Parameters of [`Logged`].
    pub struct LoggedParams {
        /// The file, here or in the folder that `CORRAL_DATA` names; gzip is recognised.
        file: String;
        /// The column of the action, counted from 0.
        action: String = "item_id".to_owned();
        /// The column of the reward in [0, 1].
        reward: String = "click".to_owned();
        /// The column of the probability with which the log chose the action.
        propensity: String = "propensity_score".to_owned();
        /// Columns that are no features.
        ignore: Vec<String> = Vec::new();
        /// What becomes of missing cells.
        missing: PerColumn<Missing> = PerColumn::default();
        /// How numbers are scaled.
        scaling: Scaling = Scaling::default();
        /// Rounds on which learner and log disagree.
        replay: Replay = Replay::default();
        /// Buckets for the categories.
        buckets: usize = 64, Bounds::between(1.0, MOST_FEATURES as f64);
        /// Begin again at the end of the file.
        repeat: bool = false;
    }

    /// What becomes of a logged round.
    pub enum Replay {
        /// A round counts if the learner decides as the log did, and then with probability least propensity / propensity:
        /// the rounds that count are those of a run of the learner itself (Li, Chu, Langford, Wang 2011).
        #[default]
        Rejection,
        /// A round on which learner and log agree carries the weight 1/propensity: E' with the log's propensities.
        Weighted,
    }
}

/// Logged bandit feedback. Its mean losses are estimates: the self-normalised, propensity-weighted mean of each
/// action's logged losses, whatever the context.
pub struct Logged {
    source: Source,
    schema: Schema,
    horizon: u64,
    columns: Columns,
    replay: Replay,
    least: f64,
    estimates: Vec<f64>,
    context: Context,
    now: Record,
    accepted: bool,
    round: u64,
}

#[derive(Clone, Copy)]
struct Columns {
    action: usize,
    reward: usize,
    propensity: usize,
}

#[derive(Clone, Copy, Default)]
struct Record {
    action: usize,
    loss: f64,
    propensity: f64,
}

impl Columns {
    fn find(rows: &Rows, params: &LoggedParams) -> Result<Self, EnvError> {
        Ok(Self {
            action: rows.find(&params.action)?,
            reward: rows.find(&params.reward)?,
            propensity: rows.find(&params.propensity)?,
        })
    }

    fn read(&self, path: &Path, row: &Row) -> Result<Record, EnvError> {
        let number = |column: usize| {
            let text = String::from_utf8_lossy(&row.cells[column]);
            finite(&text).map_err(|why| at(path, Some(row.line), why))
        };
        let check = |holds: bool, what: &str, value: f64, must: &str| match holds {
            true => Ok(()),
            false => Err(at(path, Some(row.line), format!("the {what} must be {must}, but is {value}"))),
        };
        let (action, reward, propensity) =
            (number(self.action)?, number(self.reward)?, number(self.propensity)?);
        let whole = action >= 0.0 && action.fract() == 0.0 && action < 65_536.0;
        check(whole, "action", action, "a whole number from 0 to 65535")?;
        check((0.0..=1.0).contains(&reward), "reward", reward, "in [0, 1]")?;
        check(propensity > 0.0 && propensity <= 1.0, "propensity", propensity, "in (0, 1]")?;
        Ok(Record { action: action as usize, loss: 1.0 - reward, propensity })
    }
}

impl Builds for LoggedParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        Ok(AnyEnvironment::Arms(Box::new(self.open(ask.rounds)?)))
    }
}

impl LoggedParams {
    /// Reads the log once, and checks every row; for a run of at most `rounds` rounds.
    ///
    /// # Errors
    /// Names file, line and value.
    pub fn open(self, rounds: u64) -> Result<Logged, EnvError> {
        let path = &resolve(&self.file);
        let named = |trouble: Trouble| trouble.into_error(path);
        let file = dialect::file(path, Format::Csv, None, Some(true)).map_err(named)?;
        let rows = Rows::open(&file)?;
        let columns = Columns::find(&rows, &self)?;
        let mut ignore = self.ignore;
        ignore.extend([self.action, self.reward, self.propensity]);
        // The row's number and the time are no features.
        ignore.extend(rows.columns.iter().filter(|c| c.is_empty() || *c == "timestamp").cloned());
        let wishes = DataSetParams {
            ignore,
            encoding: Encoding::Hashed,
            buckets: self.buckets,
            missing: self.missing,
            scaling: self.scaling,
            ..DataSetParams::default()
        };
        let mut schema = Schema::learn(&file, |_| Ok(Losses::Absent), &wishes).map_err(named)?;
        let mut sums: Vec<(f64, f64)> = Vec::new();
        let (mut rows, mut row) = (Rows::open(&file)?, Row::default());
        let mut least: f64 = 1.0;
        while rows.next(&mut row)? {
            let entry = columns.read(path, &row)?;
            if schema.drops(&row) {
                continue;
            }
            if sums.len() <= entry.action {
                sums.resize(entry.action + 1, (0.0, 0.0));
            }
            sums[entry.action].0 += entry.loss / entry.propensity;
            sums[entry.action].1 += 1.0 / entry.propensity;
            least = least.min(entry.propensity);
        }
        let estimates: Vec<f64> =
            sums.iter().map(|(loss, weight)| if *weight > 0.0 { loss / weight } else { 1.0 }).collect();
        let context = Context::shared(Vec::new(), estimates.len());
        schema.table.actions = estimates.len();
        Ok(Logged {
            source: Source::new(file, self.repeat)?,
            horizon: if self.repeat { rounds } else { rounds.min(schema.table.rows) },
            schema,
            columns,
            replay: self.replay,
            least,
            estimates,
            context,
            now: Record::default(),
            accepted: false,
            round: 0,
        })
    }
}

impl Environment<Context, Arm> for Logged {
    fn setup(&self) -> Setup {
        Setup {
            context: ContextShape { features: self.schema.features(), row_features: 0, cells: None },
            ..Setup::new(Space::Arms(self.estimates.len()), Some(self.horizon))
        }
    }

    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        if !self.source.advance(|row| self.schema.drops(row))? {
            return Err(EnvError::Ended(self.round));
        }
        let (path, row) = (self.source.path(), &self.source.row);
        self.now = self.columns.read(path, row)?;
        self.schema.encode(path, row, self.context.features_mut())?;
        // Accept with probability least/propensity, so that every action is kept equally often.
        self.accepted = uniform(rng) * self.now.propensity < self.least;
        self.round += 1;
        Ok(())
    }

    fn context(&self) -> &Context {
        &self.context
    }

    /// The logged loss where the decision is the logged one, else the estimate of [`mean_loss`](Self::mean_loss).
    fn loss(&self, decision: &Arm) -> f64 {
        if decision.index() == self.now.action { self.now.loss } else { self.mean_loss(decision) }
    }

    fn mean_loss(&self, decision: &Arm) -> f64 {
        self.estimates.get(decision.index()).copied().unwrap_or(f64::NAN)
    }

    fn play(&mut self, decision: &Arm) -> Result<Feedback, EnvError> {
        EnvError::check_arm(*decision, self.estimates.len())?;
        let agree = decision.index() == self.now.action;
        Ok(match self.replay {
            Replay::Rejection if agree && self.accepted => Feedback::plain(self.now.loss),
            Replay::Weighted if agree => Feedback::new(self.now.loss, 1.0 / self.now.propensity),
            _ => Feedback::unseen(),
        })
    }

    fn range(&self) -> f64 {
        match self.replay {
            Replay::Rejection => 1.0,
            Replay::Weighted => 1.0 / self.least,
        }
    }

    fn best_so_far(&self) -> f64 {
        self.round as f64 * self.estimates.iter().copied().fold(1.0, f64::min)
    }

    fn about(&self) -> About<'_> {
        About { table: Some(&self.schema.table), ..About::default() }
    }
}
