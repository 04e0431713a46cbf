//! From rows to features and losses: a first pass learns the columns, later ones encode with them.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use corral_core::{ParamError, require};
use serde::{Deserialize, Serialize};

use super::cells::missing;
use super::columns::{Missing, Moments, Seen, folded, inverse, is_boolean};
use super::first_pass::{FirstPass, Known, Names, ask, counts_rows, drops, header, missing_cells, remark};
use super::params::{DataSetParams, Encoding, MOST_FEATURES, Scaling};
use super::questions::Trouble;
use super::rows::{File, Format, Row, Rows};
use super::source::at;
use super::style::Style;
use super::target::{Losses, ordered, value};
use super::written;
use crate::EnvError;
use crate::table::{ColumnInfo, Table};

/// Products of features are cut here, so that one odd row does not outweigh all others.
const LARGEST_PRODUCT: f64 = 5.0;

/// What is learned from the first pass over a file.
#[derive(Clone, Serialize, Deserialize)]
pub struct Schema {
    columns: Vec<Column>,
    /// What a row costs.
    #[serde(skip)]
    pub losses: Losses,
    /// The slot of every named feature, in formats without columns, while they are few.
    named: HashMap<String, usize>,
    buckets: usize,
    first_bucket: usize,
    /// Where products begin, and how many there are.
    products: (usize, usize),
    features: usize,
    strict: bool,
    /// Columns whose missing cells drop the row.
    dropping: Vec<usize>,
    // The features of a row that are not 0.
    #[serde(skip)]
    present: Vec<usize>,
    /// What was found.
    #[serde(skip)]
    pub table: Table,
}

#[derive(Clone, Serialize, Deserialize)]
enum Column {
    /// The target, or a column that is left out.
    Skipped,
    Number {
        slot: usize,
        style: Style,
        scale: Standardise,
        fill: f64,
        missing: Option<usize>,
    },
    Bins {
        slot: usize,
        style: Style,
        cuts: Vec<f64>,
        missing: usize,
    },
    OneHot {
        slots: HashMap<Vec<u8>, usize>,
        missing: usize,
    },
    Hashed {
        missing: Vec<u8>,
    },
}

#[derive(Clone, Serialize, Deserialize)]
enum Standardise {
    Fixed { offset: f64, factor: f64 },
    Running(Moments),
}

impl Schema {
    /// Reads the whole file: every row is checked, so that nothing is half-loaded. `losses` says what a row costs. Columns
    /// whose numbers are written for people are read again, to learn how, and once more as they are.
    pub fn learn(
        file: &File,
        losses: impl Fn(&Rows) -> Result<Losses, EnvError>,
        wishes: &DataSetParams,
    ) -> Result<Self, Trouble> {
        let path = file.path.as_path();
        require(wishes.bins != 1, "bins", 1, "0, or at least 2")?;
        let decimal = wishes.decimal.map(|c| match c {
            '.' | ',' => Ok(c as u8),
            _ => Err(ParamError::new("decimal", c, "'.' or ','")),
        });
        let decimal = decimal.transpose()?;
        let mut first = FirstPass::read(Rows::open(file)?, &losses, wishes, &Known::default())?;
        let styles = written::styles(&first, decimal, |watched| {
            FirstPass::read(Rows::open(file)?, &losses, wishes, &Known { watched, ..Known::default() })
        })?;
        if !styles.is_empty() {
            first =
                FirstPass::read(Rows::open(file)?, &losses, wishes, &Known { styles, ..Known::default() })?;
        }
        let mut remarks: Vec<String> = file.remark().into_iter().collect();
        remarks.extend(written::remarks(&first, decimal, file.separator));
        let unnamed = file.format == Format::Csv && wishes.header.is_none();
        match unnamed.then(|| header(&first)).flatten() {
            Some(Ok(remark)) => remarks.push(remark),
            Some(Err(question)) => return Err(question.into()),
            None => {}
        }
        let FirstPass {
            columns: names,
            roles,
            seen,
            mut losses,
            strict,
            dropping,
            policies,
            named,
            count,
            dropped,
        } = first;
        if count == 0 {
            let passed = if dropped > 0 { ": every row has a missing cell" } else { "" };
            return Err(at(path, None, format!("the data set is empty{passed}")).into());
        }
        let mut questions = missing_cells(&names, &seen, &roles, &policies);
        let class = roles.iter().position(|r| *r == "class").map_or("", |c| &names[c]);
        questions.extend(losses.ask(count, class));
        questions.extend(
            (0..names.len()).filter(|c| roles[*c] == "feature").filter_map(|c| ask(&names[c], &seen[c])),
        );
        if !questions.is_empty() {
            return Err(Trouble::Asks(questions));
        }
        remarks.extend(losses.remark(class));
        losses.settle(&seen).map_err(|why| at(path, None, why))?;
        let mut schema = Self {
            columns: Vec::with_capacity(roles.len()),
            losses,
            named: HashMap::new(),
            buckets: wishes.buckets,
            first_bucket: 0,
            products: (0, 0),
            features: 1, // The first feature is the constant 1.
            strict,
            dropping,
            present: Vec::new(),
            table: Table {
                file: path.display().to_string(),
                rows: count,
                dropped,
                remarks,
                ..Table::default()
            },
        };
        for (c, mut seen) in seen.into_iter().enumerate() {
            let name = &names[c];
            let refuse = |why: String| at(path, None, format!("column {name:?}: {why}"));
            if roles[c] == "feature" {
                schema.table.remarks.extend(remark(name, &seen));
                schema.table.counters.extend(counts_rows(&seen).then(|| name.clone()));
            }
            schema.lay_out(name, roles[c], &mut seen, policies[c], wishes).map_err(refuse)?;
        }
        if names.is_empty() {
            schema.lay_out_names(named, wishes.encoding == Encoding::Hashed);
        }
        if schema.columns.iter().any(|c| matches!(c, Column::Hashed { .. })) {
            schema.first_bucket = schema.take(schema.buckets);
        }
        let products = (wishes.interactions as u64).min(pairs(schema.features)) as usize;
        schema.products = (schema.take(products), products);
        if schema.features > MOST_FEATURES {
            let why = format!("{} features; at most {MOST_FEATURES} are made", schema.features);
            return Err(at(path, None, why).into());
        }
        (schema.table.features, schema.table.actions) = (schema.features, schema.losses.actions());
        Ok(schema)
    }

    fn lay_out(
        &mut self,
        name: &str,
        role: &'static str,
        seen: &mut Seen,
        policy: Missing,
        wishes: &DataSetParams,
    ) -> Result<(), String> {
        let before = self.features;
        let mut kind = role;
        // A feature for cells that are missing, where there are any.
        let own = seen.missing > 0 && matches!(policy, Missing::Category | Missing::Indicator);
        let column = if role != "feature" {
            Column::Skipped
        } else if seen.numeric()? {
            kind = if seen.marked { "number, written for people" } else { "number" };
            let style = seen.style;
            let values = seen.values();
            let median = values.get(values.len() / 2).copied().unwrap_or(0.0);
            let fill = if policy == Missing::Median { median } else { seen.moments.mean };
            if wishes.bins > 0 {
                let mut cuts: Vec<f64> =
                    (1..wishes.bins).map(|k| values[k * values.len() / wishes.bins]).collect();
                cuts.dedup();
                let slot = self.take(cuts.len() + 1);
                let missing = if own { self.take(1) } else { slot + bin(&cuts, fill) };
                Column::Bins { slot, style, cuts, missing }
            } else {
                let moments = seen.moments;
                let scale = match wishes.scaling {
                    Scaling::Standard => {
                        Standardise::Fixed { offset: moments.mean, factor: moments.inverse_sd() }
                    }
                    Scaling::Range => Standardise::Fixed {
                        offset: moments.low,
                        factor: inverse(moments.high - moments.low),
                    },
                    Scaling::None => Standardise::Fixed { offset: 0.0, factor: 1.0 },
                    Scaling::Running => Standardise::Running(Moments::default()),
                };
                let slot = self.take(1);
                Column::Number { slot, style, scale, fill, missing: own.then(|| self.take(1)) }
            }
        } else if wishes.encoding == Encoding::Hashed || seen.overflow {
            kind = "category";
            let mode = if own { None } else { seen.mode() };
            Column::Hashed { missing: mode.unwrap_or(b"?").to_owned() }
        } else {
            kind = "category";
            // Spellings of yes and no are one category.
            let sorted = seen.sorted();
            let alike = is_boolean(sorted.iter().map(|value| String::from_utf8_lossy(value)));
            let kind_of = |value: &Vec<u8>| match alike {
                true => folded(&String::from_utf8_lossy(value)).into_bytes(),
                false => value.clone(),
            };
            let kinds: BTreeSet<Vec<u8>> = sorted.iter().map(kind_of).collect();
            let first = self.take(kinds.len());
            let places: HashMap<Vec<u8>, usize> = kinds.into_iter().zip(first..).collect();
            let slots: HashMap<Vec<u8>, usize> =
                sorted.iter().map(|value| (value.clone(), places[&kind_of(value)])).collect();
            let mode = seen.mode().and_then(|mode| slots.get(mode)).copied();
            let missing = if own { self.take(1) } else { mode.unwrap_or(first) };
            Column::OneHot { slots, missing }
        };
        self.table.columns.push(ColumnInfo {
            name: name.to_owned(),
            kind,
            range: (seen.moments.n > 0.0 && kind != "category")
                .then_some((seen.moments.low, seen.moments.high)),
            missing: seen.missing,
            categories: if seen.overflow { None } else { Some(seen.categories.len()) },
            features: self.features - before,
        });
        self.columns.push(column);
        Ok(())
    }

    fn lay_out_names(&mut self, names: Names, hashed: bool) {
        let before = self.features;
        let many = names.too_many || hashed;
        let count = names.names.len();
        if many {
            self.first_bucket = self.take(self.buckets);
        } else {
            // Slots in the order of names, so that they do not depend on the order of rows.
            let sorted = ordered(names.names.into_iter().collect());
            let first = self.take(sorted.len());
            self.named = sorted.into_iter().zip(first..).collect();
        }
        self.table.columns.push(ColumnInfo {
            name: String::new(),
            kind: "named features",
            range: None,
            missing: 0,
            categories: (!names.too_many).then_some(count),
            features: self.features - before,
        });
    }

    fn take(&mut self, slots: usize) -> usize {
        let first = self.features;
        self.features += slots;
        first
    }

    /// Whether a column is made into features.
    pub fn uses(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|c| !matches!(c, Column::Skipped))
    }

    /// Whether a cell of a column holds a category that the table did not have.
    pub fn is_new(&self, column: usize, cell: &[u8]) -> bool {
        match self.columns.get(column) {
            Some(Column::OneHot { slots, .. }) => !missing(cell, self.strict) && !slots.contains_key(cell),
            _ => false,
        }
    }

    /// Whether a cell is missing.
    pub fn is_missing(&self, cell: &[u8]) -> bool {
        missing(cell, self.strict)
    }

    /// Number of features, the constant included.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Whether a row is passed over.
    pub fn drops(&self, row: &Row) -> bool {
        drops(&self.dropping, row, self.strict)
    }

    /// Encodes a row into `features`.
    pub fn encode(&mut self, path: &Path, row: &Row, features: &mut Vec<f64>) -> Result<(), EnvError> {
        features.clear();
        features.resize(self.features, 0.0);
        features[0] = 1.0;
        for (place, (column, cell)) in self.columns.iter_mut().zip(row.cells.iter()).enumerate() {
            let absent = !matches!(column, Column::Skipped) && missing(cell, self.strict);
            match column {
                Column::Skipped => {}
                Column::Number { slot, style, scale, fill, missing } => {
                    let value = if absent { *fill } else { value(path, row, cell, *style)? };
                    features[*slot] = match scale {
                        Standardise::Fixed { offset, factor } => (value - *offset) * *factor,
                        Standardise::Running(_) if absent => 0.0,
                        Standardise::Running(moments) => {
                            moments.add(value);
                            (value - moments.mean) * moments.inverse_sd()
                        }
                    };
                    if let Some(slot) = missing.filter(|_| absent) {
                        features[slot] = 1.0;
                    }
                }
                Column::Bins { slot, style, cuts, missing } => {
                    let bin = |cell| Ok::<_, EnvError>(bin(cuts, value(path, row, cell, *style)?));
                    let slot = if absent { *missing } else { *slot + bin(cell)? };
                    features[slot] = 1.0;
                }
                Column::OneHot { slots, missing } => {
                    let slot = if absent { Some(&*missing) } else { slots.get(cell) };
                    if let Some(slot) = slot {
                        features[*slot] = 1.0;
                    }
                }
                Column::Hashed { missing } => {
                    let cell = if absent { missing.as_slice() } else { cell };
                    hash(place as u64, cell, 1.0, self.first_bucket, self.buckets, features);
                }
            }
        }
        for (name, value) in &row.features {
            let name = &row.text[name.clone()];
            match self.named.get(name) {
                Some(slot) => features[*slot] += value,
                None if self.first_bucket > 0 => {
                    hash(0, name.as_bytes(), *value, self.first_bucket, self.buckets, features);
                }
                None => {}
            }
        }
        self.multiply(features);
        Ok(())
    }

    /// Adds products of every two features but the constant: one feature each where there is space for them, else
    /// hashed with signs and scaled by the root of how many share a bucket.
    fn multiply(&mut self, features: &mut [f64]) {
        let (first, count) = self.products;
        if count == 0 {
            return;
        }
        let all = pairs(first);
        let scale = (count as f64 / all as f64).sqrt();
        self.present.clear();
        self.present.extend((1..first).filter(|i| features[*i] != 0.0));
        for (n, j) in self.present.iter().enumerate() {
            for i in &self.present[..n] {
                let product = (features[*i] * features[*j]).clamp(-LARGEST_PRODUCT, LARGEST_PRODUCT);
                // The pair i < j of 1..first has the number (j - 1)(j - 2)/2 + i - 1.
                let pair = pairs(*j) + *i as u64 - 1;
                if all == count as u64 {
                    features[first + pair as usize] = product;
                } else {
                    hash(1, &pair.to_le_bytes(), scale * product, first, count, features);
                }
            }
        }
    }
}

/// How many pairs there are of the features 1, 2, ..., `features` - 1.
fn pairs(features: usize) -> u64 {
    let others = features as u64 - 1;
    others * others.saturating_sub(1) / 2
}

/// The bin of a number.
fn bin(cuts: &[f64], x: f64) -> usize {
    cuts.partition_point(|cut| *cut <= x)
}

/// Adds `value` to the bucket of a category, with the sign that its hash gives it.
fn hash(salt: u64, name: &[u8], value: f64, first: usize, buckets: usize, features: &mut [f64]) {
    let mut h = 0xcbf2_9ce4_8422_2325 ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in name {
        h = (h ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    h ^= h >> 29;
    features[first + (h as usize) % buckets] += if h >> 63 == 0 { value } else { -value };
}
