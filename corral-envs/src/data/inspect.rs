//! A look at a table before a spec is written: what would be asked of it, answered as is most often right.

use std::path::Path;

use super::columns::PerColumn;
use super::dialect;
use super::params::{DataSetParams, Scaling};
use super::questions::{Fix, Trouble};
use super::rows::{Format, Rows};
use super::source::resolve;
use crate::EnvError;
use crate::table::Table;

/// Names that columns of answers have, and seldom others.
const ANSWERS: [&str; 6] = ["class", "target", "label", "outcome", "answer", "response"];

/// Questions that are answered before it is given up.
const MOST_QUESTIONS: usize = 1000;

/// What was found in a table.
#[derive(Debug)]
pub struct Inspection {
    /// How it can be played.
    pub params: DataSetParams,
    /// What becomes of its columns then.
    pub table: Table,
    /// What was found and answered, in words.
    pub notes: Vec<String>,
}

/// Looks at a table: where it can be read in several ways, or holds what is probably no feature, takes the answer that is most
/// often right and notes it. `class` is the column of the answer, where it is known.
///
/// # Errors
/// It cannot be read, or cannot be played however it is read.
pub fn inspect(file: &str, class: Option<String>) -> Result<Inspection, EnvError> {
    let mut params =
        DataSetParams { file: file.to_owned(), scaling: Scaling::Running, ..DataSetParams::default() };
    let path = resolve(file);
    let mut notes = Vec::new();
    let named = class.is_some();
    params.class = class;
    for _ in 0..MOST_QUESTIONS {
        if params.class.is_none() {
            params.class = find_class(&path, &params)?;
        }
        match params.answered() {
            Ok(data) if data.table().counters.iter().any(|name| !params.ignore.contains(name)) => {
                for name in &data.table().counters {
                    notes.push(format!("column {name:?} counts the rows, and is left out"));
                    params.ignore.push(name.clone());
                }
            }
            Ok(data) => {
                note_dialect(&path, &params, &mut notes);
                if !named && let Some(class) = &params.class {
                    notes.push(format!(
                        "the class is taken to be the column {class:?}: --class names another"
                    ));
                }
                return Ok(Inspection { params, table: data.table().clone(), notes });
            }
            Err(Trouble::Error(error)) => return Err(error),
            Err(Trouble::Asks(questions)) => {
                for question in questions {
                    if !apply(&mut params, &question.fix) {
                        return Err(Trouble::from(question).into_error(&path));
                    }
                    if matches!(question.fix, Fix::Header(_)) && !named {
                        // Columns have other names now.
                        params.class = None;
                    }
                    let line = question.line.map_or(String::new(), |line| format!("line {line}: "));
                    notes.push(format!("{line}{}", question.what));
                }
            }
        }
    }
    Err(super::at(&path, None, "it raises more questions than are answered"))
}

/// The column whose name says that it is the answer; `None`: the last.
fn find_class(path: &Path, params: &DataSetParams) -> Result<Option<String>, EnvError> {
    let separator = params.separator.and_then(|c| u8::try_from(c).ok());
    let Ok(file) = dialect::file(path, params.format, separator, params.header) else { return Ok(None) };
    let rows = Rows::open(&file)?;
    let is_answer = |c: &&String| ANSWERS.contains(&c.to_lowercase().as_str());
    // Beside an x, a y is a place on a map as well.
    let named = |name: &str| rows.columns.iter().find(|c| c.to_lowercase() == name);
    let y = named("y").filter(|_| named("x").is_none());
    Ok(rows.columns.iter().rev().find(is_answer).or(y).or(rows.columns.last()).cloned())
}

fn note_dialect(path: &Path, params: &DataSetParams, notes: &mut Vec<String>) {
    if params.format.of(path) == Format::Csv
        && params.separator.is_none()
        && let Ok(file) = dialect::file(path, params.format, None, params.header)
        && file.separator != b','
    {
        notes.push(format!("cells are separated by {:?}", char::from(file.separator)));
    }
}

/// Puts an answer into the parameters; whether it changed something.
fn apply(params: &mut DataSetParams, fix: &Fix) -> bool {
    let add = |list: &mut Vec<String>, name: &String| {
        let new = !list.contains(name);
        if new {
            list.push(name.clone());
        }
        new
    };
    match fix {
        Fix::Separator(c) => params.separator.replace(*c) != Some(*c),
        Fix::Header(header) => params.header.replace(*header) != Some(*header),
        Fix::Decimal(c) => params.decimal.replace(*c) != Some(*c),
        Fix::Ignore(name) => add(&mut params.ignore, name),
        Fix::Categorical(name) => params.class.as_ref() != Some(name) && add(&mut params.categorical, name),
        Fix::Nothing => false,
        Fix::Levels(levels) => std::mem::replace(&mut params.levels, *levels) != *levels,
        Fix::Missing(name, how) => {
            let mut each = match std::mem::take(&mut params.missing) {
                PerColumn::Each(each) => each,
                PerColumn::All(_) => Default::default(),
            };
            let changed = each.insert(name.clone(), *how) != Some(*how);
            params.missing = PerColumn::Each(each);
            changed
        }
    }
}
