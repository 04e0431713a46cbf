//! From rows to features and classes: a first pass learns the columns, later ones encode with them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;

use super::rows::{Row, Rows, Source, finite, number};
use super::source::at;
use crate::EnvError;

/// A column with more distinct values than this is hashed, so that memory does not grow with the file.
const MOST_CATEGORIES: usize = 4096;

/// More classes than this is a number, not a class.
const MOST_CLASSES: usize = 65_536;

/// How categories become numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// One feature per category.
    #[default]
    OneHot,
    /// A fixed number of buckets with signs.
    Hashed,
}

/// What is learned from the first pass over a file.
#[derive(Debug, Clone)]
pub struct Schema {
    columns: Vec<Column>,
    /// Where the label stands, in formats with columns.
    class: Option<usize>,
    classes: HashMap<String, usize>,
    /// The slot of every named feature, in formats without columns, while they are few.
    named: HashMap<String, usize>,
    buckets: usize,
    first_bucket: usize,
    features: usize,
    /// Rows of the file.
    pub rows: u64,
}

#[derive(Debug, Clone)]
enum Column {
    /// The class, or a column that is left out.
    Skipped,
    Numeric {
        slot: usize,
        mean: f64,
        inverse_sd: f64,
    },
    OneHot {
        slots: HashMap<Vec<u8>, usize>,
    },
    Hashed,
}

/// What the first pass sees of a column.
#[derive(Default)]
struct Seen {
    nominal: bool,
    categories: HashSet<Vec<u8>>,
    overflow: bool,
    n: f64,
    mean: f64,
    squares: f64,
}

impl Seen {
    fn add(&mut self, cell: &[u8]) -> Result<(), String> {
        if cell.is_empty() {
            return Err("the cell is empty".to_owned());
        }
        if !self.overflow && !self.categories.contains(cell) {
            self.overflow = self.categories.len() == MOST_CATEGORIES;
            self.categories.insert(cell.to_owned());
        }
        if self.nominal || cell == b"?" {
            return Ok(());
        }
        match number(cell) {
            Some(x) if x.is_finite() => {
                // Welford's running mean and sum of squares.
                self.n += 1.0;
                let before = x - self.mean;
                self.mean += before / self.n;
                self.squares += before * (x - self.mean);
            }
            Some(x) => return Err(format!("{x} is not finite")),
            // Not a number: then all of the column is categorical.
            None => self.nominal = true,
        }
        Ok(())
    }
}

/// What a user may say about columns.
pub struct Wishes<'a> {
    /// The class's column; `None`: the last.
    pub class: Option<&'a str>,
    /// Columns that are categorical whatever they look like.
    pub categorical: &'a [String],
    /// Columns that are no features.
    pub ignore: &'a [String],
    /// How categories become numbers.
    pub encoding: Encoding,
    /// Buckets of the hashed encoding.
    pub buckets: usize,
    /// The number of classes, where more are a mistake.
    pub classes: Option<usize>,
}

impl Schema {
    /// Reads the whole file once: every row is checked, so that nothing is half-loaded.
    pub fn learn(path: &Path, rows: &mut Rows, wishes: &Wishes<'_>) -> Result<Self, EnvError> {
        let find = |name: &str| {
            rows.columns.iter().position(|c| c == name).ok_or_else(|| {
                let known = rows.columns.iter().map(String::as_str);
                at(path, None, corral_core::catalog::Unknown::new("column", name, known).to_string())
            })
        };
        let class = match wishes.class {
            Some(name) => Some(find(name)?),
            None => rows.columns.len().checked_sub(1),
        };
        let mut seen: Vec<Seen> =
            rows.nominal.iter().map(|nominal| Seen { nominal: *nominal, ..Seen::default() }).collect();
        for name in wishes.categorical {
            seen[find(name)?].nominal = true;
        }
        let mut skipped = vec![false; seen.len()];
        for name in wishes.ignore {
            skipped[find(name)?] = true;
        }
        if let Some(class) = class {
            skipped[class] = true;
        }
        let mut labels: HashSet<String> = HashSet::new();
        let mut named: BTreeSet<String> = BTreeSet::new();
        let mut too_many_names = false;
        let mut count = 0;
        let mut row = Row::default();
        while rows.next(&mut row)? {
            count += 1;
            let refuse = |column: usize, why: String| {
                at(path, Some(row.line), format!("column {:?}: {why}", rows.columns[column]))
            };
            for (column, seen) in seen.iter_mut().enumerate().filter(|(c, _)| !skipped[*c]) {
                seen.add(&row.cells[column]).map_err(|why| refuse(column, why))?;
            }
            for (name, _) in &row.features {
                let name = &row.text[name.clone()];
                if !too_many_names && !named.contains(name) {
                    too_many_names = named.len() == MOST_CATEGORIES;
                    named.insert(name.to_owned());
                }
            }
            let label = label(&row, class);
            if labels.contains(&*label) {
                continue;
            }
            if label.trim().is_empty() {
                return Err(at(path, Some(row.line), "the class is empty"));
            }
            let most = wishes.classes.unwrap_or(MOST_CLASSES);
            if labels.len() == most {
                let why = format!("class {label:?} is out of range: there are {most} others already");
                return Err(at(path, Some(row.line), why));
            }
            labels.insert(label.into_owned());
        }
        if count == 0 {
            return Err(at(path, None, "the data set is empty"));
        }
        let mut schema = Self {
            columns: Vec::new(),
            class,
            classes: ordered(labels.into_iter().collect()).into_iter().zip(0..).collect(),
            named: HashMap::new(),
            buckets: wishes.buckets.max(1),
            first_bucket: 0,
            features: 1, // The first feature is the constant 1.
            rows: count,
        };
        schema.lay_out(seen, &skipped, wishes.encoding);
        if !named.is_empty() || rows.columns.is_empty() {
            schema.lay_out_names(named, too_many_names || wishes.encoding == Encoding::Hashed);
        }
        Ok(schema)
    }

    fn lay_out(&mut self, seen: Vec<Seen>, skipped: &[bool], encoding: Encoding) {
        let mut hashed = false;
        for (seen, skipped) in seen.into_iter().zip(skipped) {
            let column = if *skipped {
                Column::Skipped
            } else if !seen.nominal && seen.n > 0.0 {
                let sd = (seen.squares / seen.n).sqrt();
                let inverse_sd = if sd > 0.0 { 1.0 / sd } else { 0.0 };
                Column::Numeric { slot: self.take(1), mean: seen.mean, inverse_sd }
            } else if encoding == Encoding::Hashed || seen.overflow {
                hashed = true;
                Column::Hashed
            } else {
                let first = self.take(seen.categories.len());
                // Slots in the order of categories, so that they do not depend on the order of rows.
                let mut sorted: Vec<Vec<u8>> = seen.categories.into_iter().collect();
                sorted.sort_unstable();
                Column::OneHot { slots: sorted.into_iter().zip(first..).collect() }
            };
            self.columns.push(column);
        }
        if hashed {
            self.first_bucket = self.take(self.buckets);
        }
    }

    fn lay_out_names(&mut self, named: BTreeSet<String>, hashed: bool) {
        if hashed {
            self.first_bucket = self.take(self.buckets);
        } else {
            // Slots in the order of names, so that they do not depend on the order of rows.
            let sorted = ordered(named.into_iter().collect());
            let first = self.take(sorted.len());
            self.named = sorted.into_iter().zip(first..).collect();
        }
    }

    fn take(&mut self, slots: usize) -> usize {
        let first = self.features;
        self.features += slots;
        first
    }

    /// Number of features, the constant included.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes.len()
    }

    /// Encodes the row of this round into `features` and returns its class.
    pub fn encode(&self, source: &Source, features: &mut Vec<f64>) -> Result<usize, EnvError> {
        let (path, row) = (&source.path, &source.row);
        features.clear();
        features.resize(self.features, 0.0);
        features[0] = 1.0;
        for (place, (column, cell)) in self.columns.iter().zip(row.cells.iter()).enumerate() {
            match column {
                Column::Skipped => {}
                Column::Numeric { slot, mean, inverse_sd } => {
                    if cell != b"?" {
                        let value = match number(cell).filter(|x| x.is_finite()) {
                            Some(value) => value,
                            None => finite(&String::from_utf8_lossy(cell))
                                .map_err(|why| at(path, Some(row.line), why))?,
                        };
                        features[*slot] = (value - mean) * inverse_sd;
                    }
                }
                Column::OneHot { slots } => {
                    if let Some(slot) = slots.get(cell) {
                        features[*slot] = 1.0;
                    }
                }
                Column::Hashed => self.hash(place as u64, cell, 1.0, features),
            }
        }
        for (name, value) in &row.features {
            let name = &row.text[name.clone()];
            match self.named.get(name) {
                Some(slot) => features[*slot] += value,
                None => self.hash(0, name.as_bytes(), *value, features),
            }
        }
        let label = label(row, self.class);
        self.classes
            .get(&*label)
            .copied()
            .ok_or_else(|| at(path, Some(row.line), format!("class {label:?} is out of range")))
    }

    /// Adds `value` to the bucket of a category, with the sign that its hash gives it.
    fn hash(&self, salt: u64, name: &[u8], value: f64, features: &mut [f64]) {
        if self.first_bucket == 0 {
            return;
        }
        let mut h = 0xcbf2_9ce4_8422_2325 ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in name {
            h = (h ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        h ^= h >> 29;
        let bucket = self.first_bucket + (h as usize) % self.buckets;
        features[bucket] += if h >> 63 == 0 { value } else { -value };
    }
}

/// The label of a row, where the format has columns in the column `class`.
fn label(row: &Row, class: Option<usize>) -> Cow<'_, str> {
    match class {
        Some(class) => String::from_utf8_lossy(&row.cells[class]),
        None => Cow::Borrowed(&row.label),
    }
}

/// As numbers where all of them are, else as text.
fn ordered(mut names: Vec<String>) -> Vec<String> {
    let numeric = names.iter().all(|n| n.parse::<f64>().is_ok_and(f64::is_finite));
    if numeric {
        names.sort_by(|a, b| {
            let value = |s: &str| s.parse::<f64>().unwrap_or(0.0);
            value(a).total_cmp(&value(b)).then_with(|| a.cmp(b))
        });
    } else {
        names.sort();
    }
    names
}
