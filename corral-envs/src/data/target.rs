//! What the losses of a data set are made of: a class, a number, or columns of losses.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use corral_core::ParamError;

use super::cells::{finite, missing};
use super::columns::{Seen, folded, is_boolean, twins};
use super::dates::is_calendar;
use super::params::DataSetParams;
use super::questions::{Fix, Question};
use super::rows::{Row, Rows};
use super::source::at;
use super::style::{Style, readable};
use crate::EnvError;
use crate::table::Counts;

/// More classes than this is a number, not a class.
pub const MOST_CLASSES: usize = 65_536;

/// So many different numbers may be classes without a word.
const FEW_NUMBERS: usize = 10;

/// What the losses of a row are made of.
#[derive(Clone, Default)]
pub enum Losses {
    /// They come from elsewhere.
    #[default]
    Absent,
    /// A class, of a column or the label: 0 for the action that is the class, else 1. More than `most` are a mistake.
    Class {
        column: Option<usize>,
        /// How often each class comes, and then its number.
        classes: HashMap<String, usize>,
        count: usize,
        most: usize,
        insisted: bool,
    },
    /// A number: action k is the answer low + k width/(levels - 1), and costs its distance from the number, divided by
    /// the width.
    Levels { column: usize, style: Style, low: f64, width: f64, levels: usize },
    /// One column of losses per action; where one lies outside [0, 1] all are scaled to it by one map.
    Columns { columns: Vec<(usize, Style)>, low: f64, width: f64 },
}

impl Losses {
    /// Those that the parameters of a data set ask for.
    pub fn of(params: &DataSetParams, rows: &Rows) -> Result<Self, EnvError> {
        if !params.losses.is_empty() {
            for (key, given) in [("class", params.class.is_some()), ("levels", params.levels > 0)] {
                if given {
                    return Err(ParamError::choice(key, "give it or losses, not both").into());
                }
            }
            let plain = |name: &String| Ok::<_, EnvError>((rows.find(name)?, Style::Plain));
            let columns = params.losses.iter().map(plain).collect::<Result<_, _>>()?;
            return Ok(Self::Columns { columns, low: 0.0, width: 1.0 });
        }
        let column = match &params.class {
            Some(name) => Some(rows.find(name)?),
            None => rows.columns.len().checked_sub(1),
        };
        let refuse = |levels: usize, must: &'static str| ParamError::new("levels", levels, must).into();
        match (params.levels, column) {
            (0, column) => {
                let most = params.classes.unwrap_or(MOST_CLASSES);
                let insisted = params.classes.is_some();
                Ok(Self::Class { column, classes: HashMap::new(), count: 0, most, insisted })
            }
            (1, _) => Err(refuse(1, "0, or at least 2")),
            (levels, Some(column)) => {
                Ok(Self::Levels { column, style: Style::Plain, low: 0.0, width: 1.0, levels })
            }
            (levels, None) => Err(refuse(levels, "0 in a format without columns")),
        }
    }

    /// Tells which columns are no features.
    pub fn columns(&self, mut tell: impl FnMut(usize, &'static str)) {
        match self {
            Self::Absent | Self::Class { column: None, .. } => {}
            Self::Class { column: Some(column), .. } => tell(*column, "class"),
            Self::Levels { column, .. } => tell(*column, "target"),
            Self::Columns { columns, .. } => columns.iter().for_each(|(c, _)| tell(*c, "loss")),
        }
    }

    /// Takes in the class of a row.
    pub fn see(&mut self, row: &Row, strict: bool) -> Result<(), String> {
        let Self::Class { column, classes, most, .. } = self else { return Ok(()) };
        let label = label(row, *column);
        if let Some(rows) = classes.get_mut(&*label) {
            *rows += 1;
            return Ok(());
        }
        if missing(label.as_bytes(), strict) {
            // In a column it is counted there, and asked about.
            let told = column.is_some();
            return if told { Ok(()) } else { Err("the label is missing".to_owned()) };
        }
        if classes.len() == *most {
            return Err(format!("class {label:?} is out of range: there are {most} others already"));
        }
        classes.insert(label.into_owned(), 1);
        Ok(())
    }

    /// Numbers the classes, or finds the range of the numbers, once every row was seen.
    pub fn settle(&mut self, seen: &[Seen]) -> Result<(), String> {
        let numbers = |column: usize| match seen[column].numeric() {
            Ok(true) => Ok(seen[column].moments),
            Ok(false) => Err("a loss or a target is a column of numbers".to_owned()),
            Err(why) => Err(why),
        };
        match self {
            Self::Absent => {}
            Self::Class { classes, count, .. } => {
                let names: Vec<String> = classes.keys().cloned().collect();
                if let [one] = names.as_slice() {
                    return Err(format!("every row has the class {one:?}: there is nothing to choose"));
                }
                *classes = numbered(names);
                // Spellings of one class have one number.
                *count = classes.values().max().map_or(0, |last| last + 1);
            }
            Self::Levels { column, style, low, width, .. } => {
                *style = seen[*column].style;
                let moments = numbers(*column)?;
                (*low, *width) = (moments.low, moments.high - moments.low);
                if !(*width > 0.0 && width.is_finite()) {
                    return Err(format!("the target is {} in every row", moments.low));
                }
            }
            Self::Columns { columns, low, width } => {
                let mut range = (0.0f64, 1.0f64);
                let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
                for (column, style) in columns {
                    *style = seen[*column].style;
                    let moments = numbers(*column)?;
                    (least, most) = (least.min(moments.low), most.max(moments.high));
                }
                if least < 0.0 || most > 1.0 {
                    range = (least, most);
                }
                (*low, *width) = (range.0, range.1 - range.0);
                if !(*width > 0.0 && width.is_finite()) {
                    return Err(format!("every loss is {least}"));
                }
            }
        }
        Ok(())
    }

    /// What is probably not meant: a number or a name as the class, a class in two spellings. `rows` are those of the file.
    pub fn ask(&self, rows: u64, name: &str) -> Option<Question> {
        let Self::Class { classes, insisted: false, .. } = self else { return None };
        let ask = |what, fix| Some(Question { line: None, what, fix });
        let count = classes.len();
        let most = format!("classes = {count} says that it is meant");
        // Of a number that is written for people it is enough that it is one.
        let number = |c: &String| match c.trim().parse::<f64>() {
            Ok(x) => Some(x),
            Err(_) => readable(c.as_bytes()).then_some(0.5),
        };
        let numbers: Option<Vec<f64>> = classes.keys().map(number).collect();
        let alone = rows >= 20 && count as u64 > rows / 2;
        let dates = classes.keys().filter(|c| is_calendar(c.as_bytes())).count();
        if 5 * dates >= 4 * count && count > 2 {
            let what = format!("the class {name:?} holds dates: `class` names another column; {most}");
            return ask(what, Fix::Nothing);
        }
        if let Some(numbers) = numbers {
            let fractions = numbers.iter().any(|x| x.fract() != 0.0);
            if fractions && count > FEW_NUMBERS || count > 100 || alone {
                let what = format!(
                    "the class {name:?} has {count} different numbers: levels = 10 plays ten answers in its range, each of \
                     which costs its distance, losses = [...] takes a column of losses for each action; {most}"
                );
                return ask(what, Fix::Levels(10));
            }
        } else if alone {
            let what = format!(
                "the class {name:?} is another in {count} of {rows} rows: `class` names another; {most}"
            );
            return ask(what, Fix::Categorical(name.to_owned()));
        }
        let mut names: Vec<&String> = classes.keys().collect();
        names.sort();
        if is_boolean(names.iter()) {
            return None;
        }
        let (a, b) = twins(names.into_iter())?;
        let what = format!(
            "{a:?} and {b:?} are two classes that differ in capitals or spaces alone: write them alike; {most}"
        );
        ask(what, Fix::Categorical(name.to_owned()))
    }

    /// What is worth a look and no reason to stop: a class of many whole numbers is perhaps a number.
    pub fn remark(&self, name: &str) -> Option<String> {
        let Self::Class { classes, insisted: false, .. } = self else { return None };
        let number = |c: &String| c.trim().parse::<f64>().is_ok() || readable(c.as_bytes());
        let count = classes.len();
        (count > FEW_NUMBERS && classes.keys().all(number)).then(|| {
            format!(
                "the class {name:?} has {count} different numbers, and each is a class of its own: levels = 10 plays ten answers in its \
                 range, each of which costs its distance, and losses = [...] takes a column of losses for each action; classes = \
                 {count} says that classes are meant"
            )
        })
    }

    /// What a loss is.
    pub fn counts(&self) -> Counts {
        match self {
            Self::Class { .. } => Counts::Errors,
            _ => Counts::Losses,
        }
    }

    /// The name of every action.
    pub fn names(&self, columns: &[String]) -> Vec<String> {
        match self {
            Self::Absent => Vec::new(),
            Self::Class { classes, count, .. } => {
                let mut names = vec![String::new(); *count];
                for (class, place) in classes {
                    let name = &mut names[*place];
                    // Of several spellings the first in order.
                    if name.is_empty() || class < name {
                        name.clone_from(class);
                    }
                }
                names
            }
            Self::Levels { low, width, levels, .. } => {
                (0..*levels).map(|k| (low + width * k as f64 / (*levels - 1) as f64).to_string()).collect()
            }
            Self::Columns { columns: own, .. } => own.iter().map(|(c, _)| columns[*c].clone()).collect(),
        }
    }

    /// The number of actions.
    pub fn actions(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Class { count, .. } => *count,
            Self::Levels { levels, .. } => *levels,
            Self::Columns { columns, .. } => columns.len(),
        }
    }

    /// Writes the loss of every action in a row.
    pub fn write(&self, path: &Path, row: &Row, losses: &mut Vec<f64>) -> Result<(), EnvError> {
        losses.clear();
        match self {
            Self::Absent => {}
            Self::Class { column, classes, count, .. } => {
                let label = label(row, *column);
                let class = classes.get(&*label).copied();
                let class = class
                    .ok_or_else(|| at(path, Some(row.line), format!("class {label:?} is out of range")))?;
                losses.resize(*count, 1.0);
                losses[class] = 0.0;
            }
            Self::Levels { column, style, low, width, levels } => {
                let y = (value(path, row, &row.cells[*column], *style)? - low) / width;
                let answer = |k: usize| k as f64 / (*levels - 1) as f64;
                losses.extend((0..*levels).map(|k| (answer(k) - y).abs().min(1.0)));
            }
            Self::Columns { columns, low, width } => {
                for (column, style) in columns {
                    let loss = (value(path, row, &row.cells[*column], *style)? - low) / width;
                    losses.push(loss.clamp(0.0, 1.0));
                }
            }
        }
        Ok(())
    }
}

/// The number of a cell, in a column of numbers.
#[inline]
pub fn value(path: &Path, row: &Row, cell: &[u8], style: Style) -> Result<f64, EnvError> {
    if let Some(value) = style.number(cell).filter(|x| x.is_finite()) {
        return Ok(value);
    }
    let text = String::from_utf8_lossy(cell);
    let why = match (style.refuses(cell), finite(&text)) {
        // What programs read is not what this column writes.
        (Some(why), _) | (None, Err(why)) => why,
        (None, Ok(value)) => return Ok(value),
    };
    Err(at(path, Some(row.line), why))
}

/// The label of a row, where the format has columns in the column `class`.
fn label(row: &Row, class: Option<usize>) -> Cow<'_, str> {
    match class {
        Some(class) => String::from_utf8_lossy(&row.cells[class]),
        None => Cow::Borrowed(&row.label),
    }
}

/// The number of each class, in order. Spellings of yes and no are one class.
fn numbered(names: Vec<String>) -> HashMap<String, usize> {
    let alike = is_boolean(names.iter());
    let kind_of = |name: &String| if alike { folded(name) } else { name.clone() };
    let kinds: BTreeSet<String> = names.iter().map(kind_of).collect();
    let places: HashMap<String, usize> = ordered(kinds.into_iter().collect()).into_iter().zip(0..).collect();
    names.into_iter().map(|name| (name.clone(), places[&kind_of(&name)])).collect()
}

/// As numbers where all of them are, else as text.
pub fn ordered(mut names: Vec<String>) -> Vec<String> {
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
