//! What a data set is made of.

use serde::Serialize;

/// What a data set is made of: what `corral run --check` prints.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Table {
    /// The file.
    pub file: String,
    /// Rows that are played.
    pub rows: u64,
    /// Rows that are passed over because a cell is missing.
    pub dropped: u64,
    /// Features of a context: the constant 1, those of the columns, buckets and interactions.
    pub features: usize,
    /// The number of actions.
    pub actions: usize,
    /// The columns, in the order of the file.
    pub columns: Vec<ColumnInfo>,
    /// What is worth a look.
    pub remarks: Vec<String>,
    /// Columns that count the rows.
    pub counters: Vec<String>,
    /// Whether it is played again after its last row.
    pub repeats: bool,
}

/// What learning nothing costs in a table, in the rows that were played: the mean loss of a row, of classes the share of errors.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct Chance {
    /// The action that costs least where it is always played: of classes the most frequent one.
    pub class: String,
    /// What always playing it costs.
    pub always: f64,
    /// What actions at random cost.
    pub random: f64,
    /// What a loss is.
    #[serde(default)]
    pub counts: Counts,
    /// How many different rows were played.
    #[serde(default)]
    pub rows: u64,
}

/// What can say at any moment what learning nothing would have cost so far.
pub trait Unlearned {
    /// `None` where no row was played.
    fn chance(&self) -> Option<Chance>;
}

impl Chance {
    /// From the mean losses of the actions and their names; `None` where no row was played.
    pub(crate) fn of(means: &[f64], names: Vec<String>, counts: Counts, rows: u64) -> Option<Self> {
        // The first of equals.
        let best = (0..means.len()).min_by(|a, b| means[*a].total_cmp(&means[*b]))?;
        let random = means.iter().sum::<f64>() / means.len() as f64;
        let class = names.into_iter().nth(best)?;
        (rows > 0).then_some(Self { class, always: means[best], random, counts, rows })
    }
}

/// What the loss of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// 0 or 1: an error.
    #[default]
    Errors,
    /// A number in [0, 1] that is known of every action.
    Losses,
    /// A number in [0, 1] of a log, seen where the learner did what the log did.
    Logged,
}

/// One column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// "number", "number, written for people", "category", "class", "target", "loss", "ignored" or "named features".
    pub kind: &'static str,
    /// The smallest and the largest number.
    pub range: Option<(f64, f64)>,
    /// How many cells are missing.
    pub missing: u64,
    /// How many different values there are; `None`: too many to tell.
    pub categories: Option<usize>,
    /// How many features are made of it; 0 where it is hashed into buckets that others share.
    pub features: usize,
}

/// A table of more features than this is worth a warning.
const MANY_FEATURES: usize = 1000;

impl Table {
    /// That it ends before so many rounds are played, where it does.
    pub fn shorter_than(&self, rounds: u64) -> Option<String> {
        let ends = !self.repeats && self.rows < rounds;
        ends.then(|| {
            format!(
                "{} has {} rows: {rounds} rounds were asked for, and a run ends with its last row",
                self.file, self.rows
            )
        })
    }

    /// What is probably not meant.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> =
            self.remarks.iter().map(|remark| format!("{}: {remark}", self.file)).collect();
        if self.features <= MANY_FEATURES {
            return warnings;
        }
        let most = self.columns.iter().max_by_key(|c| c.features);
        let most = most
            .filter(|c| c.features > 1)
            .map_or(String::new(), |c| format!(", {} of them from the {} {:?}", c.features, c.kind, c.name));
        warnings.push(format!(
            "{} has {} features{most}: a learner that keeps a matrix of them holds {:.1} million numbers per action; \
             encoding = \"hashed\" with few buckets makes fewer",
            self.file,
            self.features,
            (self.features as f64).powi(2) / 1e6
        ));
        warnings
    }
}
