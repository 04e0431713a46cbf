//! What a first pass over a file sees of its columns, and the table of them that is told.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use corral_core::params;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

use super::cells::missing;
use super::dates::{is_calendar, is_compact};
use super::style::{Habits, Style, point, readable};
use crate::Draw;

/// A column with more distinct values than this is hashed, so that memory does not grow with the file.
const MOST_CATEGORIES: usize = 4096;

/// Bytes that the values of all columns together may take before further ones are hashed.
pub const MOST_BYTES: usize = 64 << 20;

/// Values from which medians and bins are found: exact for files of so many rows, else of a sample of them.
const MOST_VALUES: usize = 65_536;

params! {
    /// What becomes of a missing cell.
    pub enum Missing {
        /// It is refused.
        #[default]
        Error,
        /// The column's mean takes its place; of categories the most frequent one.
        Mean,
        /// The column's median takes its place; of categories the most frequent one.
        Median,
        /// It is a category of its own; in a column of numbers as `indicator`.
        Category,
        /// As `mean`, and one more feature is 1 where the cell is missing.
        Indicator,
        /// The row is passed over.
        DropRow,
    }
}

/// A choice for every column, or one per column, where `"*"` is for those that are not named.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum PerColumn<T> {
    /// The same for all.
    All(T),
    /// By name.
    Each(BTreeMap<String, T>),
}

impl<T: Default> Default for PerColumn<T> {
    fn default() -> Self {
        Self::All(T::default())
    }
}

impl<T: Copy + Default> PerColumn<T> {
    /// The choice for a column.
    pub fn of(&self, column: &str) -> T {
        match self {
            Self::All(choice) => *choice,
            Self::Each(choices) => {
                choices.get(column).or_else(|| choices.get("*")).copied().unwrap_or_default()
            }
        }
    }

    /// The columns that are named.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let choices = match self {
            Self::All(_) => None,
            Self::Each(choices) => Some(choices),
        };
        choices.into_iter().flat_map(|c| c.keys()).map(String::as_str).filter(|name| *name != "*")
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerColumn<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = PerColumn<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word, or a table with a word per column")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Self::Value, E> {
                T::deserialize(de::value::StrDeserializer::new(word)).map(PerColumn::All)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                BTreeMap::deserialize(de::value::MapAccessDeserializer::new(map)).map(PerColumn::Each)
            }
        }
        deserializer.deserialize_any(Visitor(std::marker::PhantomData))
    }
}

/// A running mean and sum of squares (Welford), with the range.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Moments {
    /// How many numbers.
    pub n: f64,
    /// Their mean.
    pub mean: f64,
    squares: f64,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { n: 0.0, mean: 0.0, squares: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

impl Moments {
    /// Takes in a number.
    pub fn add(&mut self, x: f64) {
        self.n += 1.0;
        let before = x - self.mean;
        self.mean += before / self.n;
        self.squares += before * (x - self.mean);
        self.low = self.low.min(x);
        self.high = self.high.max(x);
    }

    /// 1 over the standard deviation; 0 where all numbers are the same.
    pub fn inverse_sd(&self) -> f64 {
        inverse((self.squares / self.n).sqrt())
    }
}

/// 1/x, and 0 where x is not positive.
pub fn inverse(x: f64) -> f64 {
    if x > 0.0 { 1.0 / x } else { 0.0 }
}

/// What the first pass sees of one column.
#[derive(Default)]
pub struct Seen {
    /// Whether it is categorical whatever it looks like.
    pub nominal: bool,
    /// Whether the spec says so.
    pub insisted: bool,
    /// Whether the spec says that it is one of numbers.
    pub numbers: bool,
    /// How its numbers are written.
    pub style: Style,
    /// What its cells show of that, where it is looked for.
    pub habits: Option<Habits>,
    /// How many cells hold a value.
    pub filled: u64,
    /// Its numbers.
    pub moments: Moments,
    /// A sample of its numbers, where one is wanted.
    pub sample: Option<Vec<f64>>,
    /// Its values and how often they come, while they are few.
    pub categories: HashMap<Vec<u8>, u64>,
    /// Whether there are more.
    pub overflow: bool,
    /// How many cells are missing, and the first line with one.
    pub missing: u64,
    /// The first line with a missing cell.
    pub first_missing: u64,
    /// How many cells are words.
    pub words: u64,
    /// How many of them are numbers as people write them.
    pub written: u64,
    /// How many cells are dates or times, numbers of eight digits among them, and the first of them.
    pub dates: Found,
    /// How many are digits that begin with a 0 and another.
    pub padded: Found,
    /// How many numbers are whole, and the first number.
    pub whole: u64,
    /// The first number.
    pub first_number: Option<(String, u64)>,
    /// Where a plain number first has a point behind which decimals or thousands may stand, and the cell.
    pub unclear: Option<(u64, String)>,
    /// Where one first has a point behind which decimals stand.
    pub pointed: Option<u64>,
    /// Whether a number has more than digits and a sign, where the column is read as people write.
    pub marked: bool,
    /// The first words that differ, and their lines.
    pub first_words: Vec<(String, u64)>,
    /// The same of words that are no numbers for people either.
    pub first_others: Vec<(String, u64)>,
    /// By how much each number is above the one before, where that is always the same whole number and not 0.
    pub step: Option<f64>,
    /// Whether every number is above the one before, or every one below.
    pub rises: bool,
    /// See `rises`.
    pub falls: bool,
    /// The number before.
    pub last: f64,
}

/// Cells of a kind: how many, and the first with its line.
#[derive(Default)]
pub struct Found {
    /// How many.
    pub count: u64,
    /// The first.
    pub first: Option<(String, u64)>,
}

impl Found {
    fn add(&mut self, is: bool, cell: &[u8], line: u64) {
        self.count += u64::from(is);
        if is && self.first.is_none() {
            self.first = Some((String::from_utf8_lossy(cell).into_owned(), line));
        }
    }
}

impl Seen {
    /// Takes in a cell; `bytes` is the space that is left for values of all columns.
    pub fn add(&mut self, cell: &[u8], line: u64, strict: bool, bytes: &mut usize) {
        if missing(cell, strict) {
            self.missing += 1;
            if self.missing == 1 {
                self.first_missing = line;
            }
            return;
        }
        self.filled += 1;
        self.count(cell, bytes);
        if self.nominal {
            return;
        }
        if let Some(habits) = &mut self.habits {
            habits.see(cell, line);
        }
        match self.style.number(cell) {
            Some(x) if x.is_finite() => {
                self.follow(x);
                self.moments.add(x);
                self.dates.add(is_compact(cell), cell, line);
                self.padded.add(is_padded(cell), cell, line);
                self.whole += u64::from(x.fract() == 0.0);
                if self.first_number.is_none() {
                    self.first_number = Some((String::from_utf8_lossy(cell).into_owned(), line));
                }
                if self.style != Style::Plain {
                    self.marked |= !cell.trim_ascii().iter().all(|b| b.is_ascii_digit() || *b == b'-');
                } else if self.pointed.is_none() {
                    match point(cell) {
                        Some(false) => self.pointed = Some(line),
                        Some(true) if self.unclear.is_none() => {
                            self.unclear = Some((line, String::from_utf8_lossy(cell).into_owned()));
                        }
                        _ => {}
                    }
                }
                if let Some(sample) = &mut self.sample {
                    // Reservoir sampling: number n stays with probability MOST_VALUES/n.
                    let n = self.moments.n as u64;
                    if sample.len() < MOST_VALUES {
                        sample.push(x);
                    } else if let Some(place) = sample.get_mut(Draw::at(n).stream(0).index(n as usize)) {
                        *place = x;
                    }
                }
            }
            // 1e999 is no number, and may be a code.
            _ => {
                self.words += 1;
                let number = readable(cell);
                self.written += u64::from(number);
                self.dates.add(is_calendar(cell), cell, line);
                note(&mut self.first_words, cell, line);
                if !number {
                    note(&mut self.first_others, cell, line);
                }
            }
        }
    }

    /// Compares a number with the one before.
    fn follow(&mut self, x: f64) {
        let (before, step) = (self.moments.n, x - self.last);
        if before == 0.0 {
            (self.rises, self.falls) = (true, true);
        } else {
            let steady = before == 1.0 || self.step == Some(step);
            self.step = (steady && step != 0.0 && step.fract() == 0.0).then_some(step);
            self.rises &= step > 0.0;
            self.falls &= step < 0.0;
        }
        self.last = x;
    }

    fn count(&mut self, cell: &[u8], bytes: &mut usize) {
        if self.overflow {
            return;
        }
        if let Some(count) = self.categories.get_mut(cell) {
            *count += 1;
        } else if self.categories.len() == MOST_CATEGORIES || *bytes < cell.len() + 64 {
            self.overflow = true;
            self.categories = HashMap::new();
        } else {
            *bytes -= cell.len() + 64;
            self.categories.insert(cell.to_owned(), 1);
        }
    }

    /// Whether the column is one of numbers; an error where most cells are numbers and some are words.
    pub fn numeric(&self) -> Result<bool, String> {
        let numbers = self.moments.n as u64;
        // Where most words are numbers for people, the others are what does not fit.
        let odd = self.written < self.words && self.written > self.words / 2;
        if self.nominal || !odd && (numbers < self.words || numbers == 0) {
            return Ok(false);
        }
        if self.words == 0 {
            return Ok(true);
        }
        let (first, count) = match self.words - self.written {
            0 => (&self.first_words, self.words),
            others => (&self.first_others, others),
        };
        let words: Vec<String> = first.iter().map(|(w, line)| format!("{w:?} on line {line}")).collect();
        Err(format!(
            "{count} of {} cells are words where the others are numbers: {}{}; write NA for what is missing, or name the \
             column in `categorical`",
            self.words + numbers,
            words.join(", "),
            if count > words.len() as u64 { ", ..." } else { "" }
        ))
    }

    /// Whether every number is written for people or plain, and some are written for people.
    pub fn is_written(&self) -> bool {
        !self.nominal && self.words > 0 && self.written == self.words
    }

    /// Whether its cells are numbers that programs read, none of which shows decimals behind a point.
    pub fn may_have_thousands(&self) -> bool {
        !self.nominal && self.words == 0 && self.moments.n > 0.0 && self.pointed.is_none()
    }

    /// Two values that differ only by capitals or spaces around them, the first in order.
    pub fn twins(&self) -> Option<(String, String)> {
        let sorted = self.sorted();
        twins(sorted.iter().map(|value| String::from_utf8_lossy(value)))
    }

    /// The values in order, so that they do not depend on the order of rows.
    pub fn sorted(&self) -> Vec<Vec<u8>> {
        let mut sorted: Vec<Vec<u8>> = self.categories.keys().cloned().collect();
        sorted.sort_unstable();
        sorted
    }

    /// The most frequent value, the first in order of equals.
    pub fn mode(&self) -> Option<&[u8]> {
        let best = self.categories.iter().max_by(|(a, m), (b, n)| m.cmp(n).then(b.cmp(a)));
        best.map(|(value, _)| value.as_slice())
    }

    /// The sample in order.
    pub fn values(&mut self) -> Vec<f64> {
        let mut values = self.sample.take().unwrap_or_default();
        values.sort_unstable_by(f64::total_cmp);
        values
    }
}

/// Keeps the first words that differ.
fn note(first: &mut Vec<(String, u64)>, cell: &[u8], line: u64) {
    if first.len() < 3 {
        let word = String::from_utf8_lossy(cell).into_owned();
        if first.iter().all(|(known, _)| *known != word) {
            first.push((word, line));
        }
    }
}

/// Whether a cell has digits alone, the first of them a 0 before another.
fn is_padded(cell: &[u8]) -> bool {
    let digits = cell.trim_ascii();
    digits.len() > 1 && digits[0] == b'0' && digits.iter().all(u8::is_ascii_digit)
}

/// A value without capitals and spaces around it.
pub fn folded(value: &str) -> String {
    value.trim().to_lowercase()
}

/// Two values that are the same when they are [`folded`].
pub fn twins<T: AsRef<str>>(values: impl Iterator<Item = T>) -> Option<(String, String)> {
    let mut seen: HashMap<String, String> = HashMap::new();
    for value in values {
        let value = value.as_ref();
        if let Some(first) = seen.insert(folded(value), value.to_owned()) {
            return Some((first, value.to_owned()));
        }
    }
    None
}

/// Whether values are yes and no in any spelling: those are taken to be the same whatever their capitals.
pub fn is_boolean<T: AsRef<str>>(values: impl Iterator<Item = T>) -> bool {
    const PAIRS: [[&str; 2]; 4] = [["true", "false"], ["yes", "no"], ["t", "f"], ["y", "n"]];
    let folded: std::collections::BTreeSet<String> = values.map(|v| folded(v.as_ref())).collect();
    !folded.is_empty() && PAIRS.iter().any(|pair| folded.iter().all(|v| pair.contains(&v.as_str())))
}

/// Yes and no in spellings that are not the same: TRUE beside 1, or yes beside true.
pub fn is_mixed_boolean<T: AsRef<str>>(values: impl Iterator<Item = T>) -> Option<(String, String)> {
    const KINDS: [[&str; 2]; 5] = [["true", "false"], ["yes", "no"], ["t", "f"], ["y", "n"], ["1", "0"]];
    let values: Vec<String> = values.map(|v| v.as_ref().to_owned()).collect();
    let kind = |value: &String| KINDS.iter().position(|pair| pair.contains(&folded(value).as_str()));
    let kinds: Vec<usize> = values.iter().map(kind).collect::<Option<_>>()?;
    let other = kinds.iter().position(|k| *k != kinds[0])?;
    Some((values[0].clone(), values[other].clone()))
}
