//! What a pass over a file sees, before anything is encoded.

use std::collections::{BTreeMap, BTreeSet};

use corral_core::require;

use super::cells::{missing, number};
use super::columns::{MOST_BYTES, Missing, Seen, is_boolean, is_mixed_boolean};
use super::params::{DataSetParams, Scaling};
use super::questions::{Fix, Question, Trouble};
use super::rows::{Row, Rows};
use super::style::{Habits, Style, readable};
use super::target::Losses;
use crate::EnvError;

/// A file of features with more names than this is hashed.
const MOST_NAMES: usize = 4096;

/// A column of words with another in each of so many rows is a name.
const MANY_NAMES: u64 = 50;

/// What is known before a pass.
#[derive(Default)]
pub struct Known {
    /// How columns write numbers.
    pub styles: BTreeMap<usize, Style>,
    /// Columns of which that is to be found out.
    pub watched: Vec<usize>,
}

/// What a pass over a file has seen.
pub struct FirstPass {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// What each is: a feature, ignored, or what the losses are made of.
    pub roles: Vec<&'static str>,
    /// What each holds.
    pub seen: Vec<Seen>,
    /// The losses, with every class.
    pub losses: Losses,
    /// Whether `?` alone is a missing cell.
    pub strict: bool,
    /// Columns whose missing cells drop the row.
    pub dropping: Vec<usize>,
    /// What becomes of missing cells, by column.
    pub policies: Vec<Missing>,
    /// The names of features, in formats without columns.
    pub named: Names,
    /// Rows, and rows that were passed over.
    pub count: u64,
    /// Rows that were passed over.
    pub dropped: u64,
}

impl FirstPass {
    /// Reads a file to its end.
    pub fn read(
        mut rows: Rows,
        losses: &impl Fn(&Rows) -> Result<Losses, EnvError>,
        wishes: &DataSetParams,
        known: &Known,
    ) -> Result<Self, Trouble> {
        let mut losses = losses(&rows)?;
        let policies: Vec<Missing> = rows.columns.iter().map(|c| wishes.missing.of(c)).collect();
        let must = "another than median where scaling is running: the median is that of the whole file";
        let fits = wishes.scaling != Scaling::Running || !policies.contains(&Missing::Median);
        require(fits, "missing", "median", must)?;
        for name in wishes.missing.names() {
            rows.find(name)?;
        }
        let strict = rows.strict();
        let mut roles = vec!["feature"; rows.columns.len()];
        for name in &wishes.ignore {
            roles[rows.find(name)?] = "ignored";
        }
        losses.columns(|column, role| roles[column] = role);
        let wants_values = |c: usize| wishes.bins > 0 || policies[c] == Missing::Median;
        let mut seen: Vec<Seen> = (0..roles.len())
            .map(|c| Seen {
                nominal: rows.nominal[c],
                insisted: rows.nominal[c],
                style: known.styles.get(&c).copied().unwrap_or_default(),
                habits: known.watched.contains(&c).then(Habits::default),
                sample: (roles[c] == "feature" && wants_values(c)).then(Vec::new),
                ..Seen::default()
            })
            .collect();
        for name in &wishes.categorical {
            let seen = &mut seen[rows.find(name)?];
            (seen.nominal, seen.insisted) = (true, true);
        }
        for name in &wishes.numeric {
            let seen = &mut seen[rows.find(name)?];
            (seen.nominal, seen.insisted, seen.numbers) = (false, false, true);
        }
        for (seen, role) in seen.iter_mut().zip(&roles) {
            seen.nominal = match *role {
                "target" | "loss" => false,
                "class" => true,
                _ => seen.nominal,
            };
        }
        let dropping: Vec<usize> =
            (0..roles.len()).filter(|c| policies[*c] == Missing::DropRow && roles[*c] != "ignored").collect();
        let mut named = Names::default();
        let (mut count, mut dropped, mut bytes) = (0, 0, MOST_BYTES);
        let mut row = Row::default();
        while rows.next(&mut row)? {
            if drops(&dropping, &row, strict) {
                dropped += 1;
                continue;
            }
            count += 1;
            for (column, seen) in seen.iter_mut().enumerate().filter(|(c, _)| roles[*c] != "ignored") {
                seen.add(&row.cells[column], row.line, strict, &mut bytes);
            }
            named.add(&row);
            losses.see(&row, strict).map_err(|why| rows.at(row.line, why))?;
        }
        let columns = std::mem::take(&mut rows.columns);
        Ok(Self { columns, roles, seen, losses, strict, dropping, policies, named, count, dropped })
    }
}

/// The names of a format without columns.
#[derive(Default)]
pub struct Names {
    /// They.
    pub names: BTreeSet<String>,
    /// Whether there are more.
    pub too_many: bool,
}

impl Names {
    fn add(&mut self, row: &Row) {
        for (name, _) in &row.features {
            let name = &row.text[name.clone()];
            if !self.too_many && !self.names.contains(name) {
                self.too_many = self.names.len() == MOST_NAMES;
                self.names.insert(name.to_owned());
            }
        }
    }
}

/// Whether a cell of these columns is missing.
pub fn drops(dropping: &[usize], row: &Row, strict: bool) -> bool {
    dropping.iter().any(|c| row.cells.get(*c).is_some_and(|cell| missing(cell, strict)))
}

/// What is asked of missing cells where it was not said what becomes of them.
pub fn missing_cells(names: &[String], seen: &[Seen], roles: &[&str], policies: &[Missing]) -> Vec<Question> {
    let untold = |c: &usize| {
        let never = ["class", "target", "loss"].contains(&roles[*c]);
        seen[*c].missing > 0 && (never || policies[*c] == Missing::Error)
    };
    let ask = |c: usize| {
        if roles[c] == "feature" && seen[c].filled == 0 {
            let what =
                format!("column {0:?} is empty in every row: ignore = [{0:?}] leaves it out", names[c]);
            return Question { line: Some(seen[c].first_missing), what, fix: Fix::Ignore(names[c].clone()) };
        }
        let (ways, fix) = match roles[c] {
            "feature" => ("mean, median, category, indicator or drop-row", Missing::Indicator),
            _ => ("drop-row", Missing::DropRow),
        };
        let what = format!(
            "column {:?}: {} cells are missing, this one first; `missing` says what becomes of them: {ways}",
            names[c], seen[c].missing
        );
        Question { line: Some(seen[c].first_missing), what, fix: Fix::Missing(names[c].clone(), fix) }
    };
    (0..seen.len()).filter(untold).map(ask).collect()
}

/// What is asked of a column of features that is probably none.
pub fn ask(name: &str, seen: &Seen) -> Option<Question> {
    if seen.insisted || seen.numbers {
        return None;
    }
    let rows = seen.filled;
    let most = |count: u64| 5 * count >= 4 * rows && count > 0;
    let words = seen.words > seen.moments.n as u64;
    let ignore = format!("ignore = [{name:?}] leaves it out");
    let category = format!("categorical = [{name:?}] makes every value a category");
    let number = format!("numeric = [{name:?}] takes it as a number");
    let ask = |found: Option<&(String, u64)>, fix: Fix, what: &dyn Fn(&str) -> String, ways: &[&String]| {
        let ways: Vec<&str> = ways.iter().map(|way| way.as_str()).collect();
        let what = format!("column {name:?} {}: {}", what(&found?.0), ways.join(", "));
        Some(Question { line: Some(found?.1), what, fix })
    };
    let ignored = || Fix::Ignore(name.to_owned());
    let first = if words { seen.first_words.first() } else { seen.first_number.as_ref() };
    if most(seen.dates.count) {
        let what = |cell: &str| format!("holds dates ({cell:?})");
        return ask(seen.dates.first.as_ref(), ignored(), &what, &[&ignore, &category]);
    }
    let values = |v: &Vec<u8>| String::from_utf8_lossy(v).into_owned();
    if let Some((a, b)) = is_mixed_boolean(seen.sorted().iter().map(values)).filter(|_| seen.words > 0) {
        let what = |_: &str| format!("holds {a:?} as well as {b:?}; write them alike");
        let (ignore, category) = (ignore.clone(), category.clone());
        return ask(seen.first_words.first(), Fix::Nothing, &what, &[&ignore, &category]);
    }
    if words && seen.overflow {
        let what =
            |cell: &str| format!("has thousands of different values ({cell:?}), as a name or an id has");
        return ask(first, ignored(), &what, &[&ignore, &format!("categorical = [{name:?}] hashes them")]);
    }
    let distinct = seen.categories.len() as u64;
    // Few doubles are what a list of names has.
    if words && rows >= MANY_NAMES && 10 * distinct >= 9 * rows {
        let each = if distinct == rows { "each" } else { "nearly each" };
        let what = |cell: &str| {
            format!("has another value in {each} of {rows} rows ({cell:?}), as a name or an id has")
        };
        return ask(first, ignored(), &what, &[&ignore, &category]);
    }
    if words || counts_rows(seen) {
        return None;
    }
    if seen.style == Style::Plain && seen.padded.count > 0 && seen.words == 0 {
        let what = |cell: &str| format!("holds numbers that begin with 0 ({cell:?}), as codes do");
        let fix = Fix::Categorical(name.to_owned());
        return ask(seen.padded.first.as_ref(), fix, &what, &[&category, &number, &ignore]);
    }
    let (low, high) = (seen.moments.low, seen.moments.high);
    let whole = rows >= MANY_NAMES && seen.whole == rows;
    let unix = UNIX_TIMES.iter().any(|times| times.contains(&low) && times.contains(&high)) && low < high;
    if whole && unix {
        let what = |cell: &str| format!("holds times, in seconds or less since 1970 ({cell:?})");
        return ask(first, ignored(), &what, &[&ignore, &number]);
    }
    // As many whole numbers as there are places, or one in two of them, none twice.
    let dense = high - low < 2.0 * rows as f64;
    let unique = if seen.overflow { is_permutation(seen) || is_id(name) } else { distinct == rows };
    if whole && unique && (dense || is_id(name)) || whole && (seen.rises || seen.falls) {
        let way = match (seen.rises, seen.falls) {
            (true, _) => "rises with every row",
            (_, true) => "falls with every row",
            _ => "has another whole number in every row",
        };
        let what = |cell: &str| format!("{way} ({cell:?}), as a number of the row or a time does");
        return ask(first, ignored(), &what, &[&ignore, &number]);
    }
    None
}

/// From 2000 to 2040, in seconds, milliseconds and microseconds since 1970.
const UNIX_TIMES: [std::ops::Range<f64>; 3] =
    [946_684_800.0..2_208_988_800.0, 946_684_800e3..2_208_988_800e3, 946_684_800e6..2_208_988_800e6];

/// Whether whole numbers have the mean and the spread of so many neighbours, each once.
fn is_permutation(seen: &Seen) -> bool {
    let (n, moments) = (seen.moments.n, &seen.moments);
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
    let spread = ((n * n - 1.0) / 12.0).sqrt();
    moments.high - moments.low + 1.0 == n
        && same(moments.mean, f64::midpoint(moments.low, moments.high))
        && same(moments.inverse_sd() * spread, 1.0)
}

/// Whether a column is called an id.
fn is_id(name: &str) -> bool {
    let lower = name.to_lowercase();
    let ends = ["_id", "-id", ".id", " id", "_nr", " nr", "_no", " no"];
    ["id", "nr", "no", "key", "uuid", "index", "rowid", "rownum"].contains(&lower.as_str())
        || ends.iter().any(|end| lower.ends_with(end))
        || name.ends_with("Id")
        || name.ends_with("ID") && name.len() > 2
}

/// Whether a column only counts the rows, up or down.
pub fn counts_rows(seen: &Seen) -> bool {
    let counts = seen.step.is_some() && seen.moments.n >= MANY_NAMES as f64;
    counts && !seen.nominal && !seen.numbers && seen.words == 0
}

/// What is asked, or worth a look, of a table of words alone whose first line was taken as the names of its columns.
pub fn header(pass: &FirstPass) -> Option<Result<String, Question>> {
    let used: Vec<usize> = (0..pass.seen.len()).filter(|c| pass.roles[*c] != "ignored").collect();
    let words = |c: &usize| {
        let seen = &pass.seen[*c];
        let number = |value: &Vec<u8>| number(value).is_some() || readable(value);
        seen.moments.n == 0.0 && !seen.categories.keys().any(number)
    };
    if pass.strict || used.is_empty() || !used.iter().all(words) {
        return None;
    }
    let ways = "header = false where it is a row, header = true where it has names";
    let again = |c: &&usize| pass.seen[**c].categories.contains_key(pass.columns[**c].as_bytes());
    Some(match used.iter().find(again) {
        None => Ok(format!("the first line is taken as the names of the columns: {ways}")),
        Some(c) => {
            let what = format!(
                "the first line holds {:?}, which is a value of the same column on later lines: {ways}",
                pass.columns[*c]
            );
            Err(Question { line: Some(1), what, fix: Fix::Header(false) })
        }
    })
}

/// What is worth a look and no reason to stop.
pub fn remark(name: &str, seen: &Seen) -> Option<String> {
    if counts_rows(seen) {
        return Some(format!("column {name:?} counts the rows: ignore = [{name:?}] leaves it out"));
    }
    if seen.moments.n > 0.0 && seen.words == 0 || seen.overflow {
        return None;
    }
    if is_boolean(seen.categories.keys().map(|v| String::from_utf8_lossy(v))) {
        return None;
    }
    let (a, b) = seen.twins()?;
    Some(format!(
        "column {name:?}: {a:?} and {b:?} are two categories that differ in capitals or spaces alone"
    ))
}
