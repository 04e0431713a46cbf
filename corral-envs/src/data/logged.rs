//! Logged bandit feedback with propensities, replayed by rejection.

use std::path::Path;

use corral_core::{Feedback, Space, require, uniform};

use super::columns::{Missing, PerColumn};
use super::dialect;
use super::encode::Schema;
use super::entries::{Columns, Entries, Entry, MOST_ACTIONS, Records, is_records};
use super::params::{DataSetParams, Encoding, MOST_FEATURES, Scaling};
use super::questions::Trouble;
use super::rows::{Format, Rows, Source};
use super::source::{at, matrix, resolve};
use super::target::Losses;
use crate::About;
use crate::Environment;
use crate::prelude::*;
use crate::table::{Chance, Counts, Unlearned};

params! {
    /// Parameters of [`Logged`].
    pub struct LoggedParams {
        /// The file, here or in the folder that `CORRAL_DATA` names: a table, or the lines of a decision log, whose columns need no
        /// names; gzip is recognised.
        file: String;
        /// The column of the action, counted from 0.
        action: String = "item_id".to_owned();
        /// The column of the reward in [0, 1].
        reward: String = "click".to_owned();
        /// The column of the probability with which the log chose the action.
        propensity: String = "propensity_score".to_owned();
        /// A file with the features of the actions, a line of numbers for each, in their order.
        action_features: Option<String> = None;
        /// The number of actions of a table, where it has no row of some of them.
        actions: Option<usize> = None;
        /// What decimals follow in numbers such as 1,234 or 1.234, where the column does not show it: a point or a comma.
        decimal: Option<char> = None;
        /// Columns that are categorical though they look like numbers, or have another value in every row.
        categorical: Vec<String> = Vec::new();
        /// Columns that are numbers though they look like codes, numbers of rows or times.
        numeric: Vec<String> = Vec::new();
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
    entries: Entries,
    horizon: u64,
    replay: Replay,
    least: f64,
    estimates: Vec<f64>,
    /// The features of the actions, where a file has them.
    rows: Option<Vec<Vec<f64>>>,
    context: Context,
    now: Entry,
    accepted: bool,
    round: u64,
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
        let path = resolve(&self.file);
        let (replay, repeat, told) = (self.replay, self.repeat, self.actions);
        let fits = told.is_none_or(|actions| (1..=MOST_ACTIONS).contains(&actions));
        require(fits, "actions", told.unwrap_or(0), "from 1 to 65536")?;
        let action_column = self.action.clone();
        let rows =
            self.action_features.as_deref().map(|file| matrix(&resolve(file), "number", f64::is_finite));
        let rows = rows.transpose()?;
        let (mut first, entries) = match is_records(&path)? {
            true => {
                let must = "left out for the lines of a decision log, which say what was offered";
                require(told.is_none(), "actions", told.unwrap_or(0), must)?;
                let again = Records::open(&path, repeat)?;
                (Entries::Records(Box::new(Records::open(&path, false)?)), Entries::Records(Box::new(again)))
            }
            false => self.tables(&path)?,
        };
        let mut entries = entries;
        let (mut context, mut shape) = (Context::default(), None);
        let (mut sums, mut least, mut count): (Vec<(f64, f64)>, f64, u64) = (Vec::new(), 1.0, 0);
        while let Some(entry) = first.advance(&mut context)? {
            let own = (context.features().len(), context.row_dim());
            if *shape.get_or_insert(own) != own {
                let why =
                    format!("decision {} has another number of features than those before it", count + 1);
                return Err(at(&path, None, why));
            }
            if let (Entries::Records(records), 0) = (&mut entries, count) {
                records.learn_shape(&context);
            }
            count += 1;
            let offered = context.actions().checked_sub(1).map_or(0, |last| context.number(last) + 1);
            let actions = (entry.action + 1).max(offered);
            if sums.len() < actions {
                sums.resize(actions, (0.0, 0.0));
            }
            if told.is_some_and(|told| entry.action >= told) {
                let why =
                    format!("there is the action {}, but actions = {}", entry.action, told.unwrap_or(0));
                return Err(at(&path, first.line(), why));
            }
            sums[entry.action].0 += entry.loss / entry.propensity;
            sums[entry.action].1 += 1.0 / entry.propensity;
            least = least.min(entry.propensity);
        }
        if count == 0 {
            return Err(at(&path, None, "no decision has an outcome and a propensity"));
        }
        sums.resize(told.unwrap_or(0).max(sums.len()), (0.0, 0.0));
        // The lines of a log say what was offered, and a file of features which actions there are.
        let counted = matches!(entries, Entries::Table { .. }) && told.is_none() && rows.is_none();
        if let Some(gap) = sums.iter().position(|(_, weight)| *weight == 0.0).filter(|_| counted) {
            let (last, some) = (sums.len() - 1, sums.iter().filter(|(_, weight)| *weight > 0.0).count());
            let why = match gap {
                0 if some == last => format!(
                    "actions are counted from 0, but here they go from 1 to {last}: count them from 0"
                ),
                _ => format!("the actions go up to {last}, and {} of them have no row", last + 1 - some),
            };
            let why = format!(
                "no row has the {action_column:?} {gap}: {why}; actions = {} says that there are so many",
                sums.len()
            );
            return Err(at(&path, None, why));
        }
        let estimates: Vec<f64> =
            sums.iter().map(|(loss, weight)| if *weight > 0.0 { loss / weight } else { 1.0 }).collect();
        if let Some(rows) = rows.as_ref().filter(|rows| rows.len() != estimates.len()) {
            let why =
                format!("{} rows of action features, and {} actions in the log", rows.len(), estimates.len());
            return Err(at(&path, None, why));
        }
        let table = entries.table_mut();
        (table.actions, table.rows, table.repeats) = (estimates.len(), count, repeat);
        let context = match &rows {
            Some(rows) => Context::with_rows(Vec::new(), rows.concat(), rows.first().map_or(0, Vec::len)),
            None => Context::shared(Vec::new(), estimates.len()),
        };
        Ok(Logged {
            entries,
            horizon: if repeat { rounds } else { rounds.min(count) },
            replay,
            least,
            estimates,
            rows,
            context,
            now: Entry::default(),
            accepted: false,
            round: 0,
        })
    }

    /// The decisions of a table, twice: to be looked at, and to be played.
    fn tables(self, path: &Path) -> Result<(Entries, Entries), EnvError> {
        let repeat = self.repeat;
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
            header: Some(true),
            decimal: self.decimal,
            categorical: self.categorical,
            numeric: self.numeric,
            encoding: Encoding::Hashed,
            buckets: self.buckets,
            missing: self.missing,
            scaling: self.scaling,
            ..DataSetParams::default()
        };
        let schema = Box::new(Schema::learn(&file, |_| Ok(Losses::Absent), &wishes).map_err(named)?);
        let entries = |schema: Box<Schema>, repeat: bool| {
            let source = Box::new(Source::new(file.clone(), repeat)?);
            Ok::<_, EnvError>(Entries::Table { source, schema, columns: columns.clone() })
        };
        Ok((entries(schema.clone(), false)?, entries(schema, repeat)?))
    }
}

impl Environment<Context, Arm> for Logged {
    fn setup(&self) -> Setup {
        let shape = self.entries.shape();
        Setup {
            context: ContextShape {
                row_features: self
                    .rows
                    .as_ref()
                    .and_then(|rows| rows.first())
                    .map_or(shape.row_features, Vec::len),
                ..shape
            },
            ..Setup::new(Space::Arms(self.estimates.len()), Some(self.horizon))
        }
    }

    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        self.now = self.entries.advance(&mut self.context)?.ok_or(EnvError::Ended(self.round))?;
        // Lines of a log bring contexts of their own.
        if let (Entries::Records(_), Some(rows)) = (&self.entries, &self.rows) {
            let dim = rows.first().map_or(0, Vec::len);
            let offer = self.context.offer().map(<[u32]>::to_vec);
            self.context.refill_rows(dim, |into| match &offer {
                Some(offer) => {
                    offer.iter().for_each(|number| into.extend_from_slice(&rows[*number as usize]))
                }
                None => rows.iter().for_each(|row| into.extend_from_slice(row)),
            });
        }
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
        let agree = self.context.number(decision.index()) == self.now.action;
        if agree { self.now.loss } else { self.mean_loss(decision) }
    }

    fn mean_loss(&self, decision: &Arm) -> f64 {
        self.estimates.get(self.context.number(decision.index())).copied().unwrap_or(f64::NAN)
    }

    fn play(&mut self, decision: &Arm) -> Result<Feedback, EnvError> {
        EnvError::check_arm(*decision, self.context.actions())?;
        let agree = self.context.number(decision.index()) == self.now.action;
        Ok(match self.replay {
            Replay::Rejection if agree && self.accepted => Feedback::plain(self.now.loss),
            Replay::Weighted if agree => Feedback::new(self.now.loss, 1.0 / self.now.propensity),
            _ => Feedback::unseen(),
        })
    }

    fn best_so_far(&self) -> f64 {
        self.round as f64 * self.estimates.iter().copied().fold(1.0, f64::min)
    }

    fn about(&self) -> About<'_> {
        let range = match self.replay {
            Replay::Rejection => 1.0,
            Replay::Weighted => 1.0 / self.least,
        };
        About { range, table: Some(self.entries.table()), unlearned: Some(self), ..About::default() }
    }
}

impl Unlearned for Logged {
    fn chance(&self) -> Option<Chance> {
        let names = (0..self.estimates.len()).map(|action| action.to_string()).collect();
        Chance::of(&self.estimates, names, Counts::Logged, self.round.min(self.entries.table().rows))
    }
}
