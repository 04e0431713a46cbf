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
    /// What learning nothing costs, where the target is a class.
    pub chance: Option<Chance>,
}

/// What learning nothing costs in a table whose target is a class: share of rows with an error.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct Chance {
    /// The most frequent class.
    pub class: String,
    /// The error of always answering it.
    pub always: f64,
    /// The error of answering at random.
    pub random: f64,
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
