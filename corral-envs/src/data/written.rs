//! How the columns of a table write their numbers, where that is not as programs do.

use std::collections::BTreeMap;

use super::first_pass::FirstPass;
use super::questions::{Fix, Question, Trouble};
use super::style::{Style, Unit};

/// Finds it: `first` has read the columns as programs write them; `watch` reads the columns that it is given once more, and looks how
/// they are written. `decimal` is what the spec says where a column does not show it.
pub fn styles(
    first: &FirstPass,
    decimal: Option<u8>,
    watch: impl FnOnce(Vec<usize>) -> Result<FirstPass, Trouble>,
) -> Result<BTreeMap<usize, Style>, Trouble> {
    let (mut styles, mut questions) = (BTreeMap::new(), Vec::new());
    if first.strict {
        return Ok(styles);
    }
    let written: Vec<usize> = (0..first.seen.len()).filter(|c| first.seen[*c].is_written()).collect();
    let watched = if written.is_empty() { None } else { Some(watch(written.clone())?) };
    let habits: BTreeMap<usize, _> = (watched.iter().flat_map(|pass| pass.seen.iter().enumerate()))
        .filter_map(|(c, seen)| Some((c, seen.habits.as_ref()?)))
        .collect();
    let comma = habits.iter().filter_map(|(c, habits)| Some((habits.comma()?, *c))).min();
    let beside = comma.map_or(String::new(), |(line, column)| {
        format!(", and decimals follow a comma in column {:?} on line {line}", first.columns[column])
    });
    let likely = Fix::Decimal(if comma.is_some() { ',' } else { '.' });
    const WAYS: &str = "decimal = \",\" or decimal = \".\" says what decimals follow";
    for (column, habits) in habits {
        match habits.style(decimal) {
            Ok(style) => drop(styles.insert(column, style)),
            Err((line, what, open)) => {
                let name = &first.columns[column];
                let (more, ways, fix) = match open {
                    true => (beside.as_str(), WAYS, likely.clone()),
                    // Categories would not be what the column says: only its author knows.
                    false => (
                        "",
                        "write them alike, or name the column in `categorical` or `ignore`",
                        Fix::Nothing,
                    ),
                };
                let what = format!("column {name:?}: {what}{more}; {ways}");
                questions.push(Question { line: Some(line), what, fix });
            }
        }
    }
    // Columns that programs read, too: 1.234 is a number, and in a table with decimal commas another one. Whole numbers are the same
    // either way, but not those of other files that a model decides for.
    let commas = decimal == Some(b',') || decimal.is_none() && comma.is_some();
    for (column, seen) in
        first.seen.iter().enumerate().filter(|(_, seen)| commas && seen.may_have_thousands())
    {
        match &seen.unclear {
            Some((line, cell)) if decimal.is_none() => {
                let name = &first.columns[column];
                let what =
                    format!("column {name:?}: {cell:?} may have decimals or thousands{beside}; {WAYS}");
                questions.push(Question { line: Some(*line), what, fix: likely.clone() });
            }
            _ => drop(styles.insert(column, Style::Written { decimal: b',', unit: Unit::default() })),
        }
    }
    if questions.is_empty() { Ok(styles) } else { Err(Trouble::Asks(questions)) }
}

/// What is worth a look in columns that are read as programs write them: points that the spec or the separator of a German table put
/// in doubt.
pub fn remarks(pass: &FirstPass, decimal: Option<u8>, separator: u8) -> Vec<String> {
    let remark = |(column, seen): (usize, &super::columns::Seen)| {
        let name = &pass.columns[column];
        if seen.style != Style::Plain || seen.words > 0 || pass.strict {
            return None;
        }
        match (decimal, seen.pointed, seen.unclear.as_ref().filter(|_| seen.may_have_thousands())) {
            (Some(b','), Some(line), _) => Some(format!(
                "column {name:?}: decimals follow a point on line {line}, and are read so, though decimal = \",\""
            )),
            (None, _, Some((line, cell))) if separator == b';' => Some(format!(
                "column {name:?}: {cell:?} on line {line} is read with decimals, as all of its numbers are; decimal = \",\" where \
                 the point stands before thousands"
            )),
            _ => None,
        }
    };
    pass.seen.iter().enumerate().filter_map(remark).collect()
}
