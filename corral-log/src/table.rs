//! Rows of CSV.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use corral_core::Scale;

use crate::seen::Seen;
use crate::source::check;
use crate::{Fault, FaultKind, Faults, Given, Header, Offered, ReadError, Row, RowSource, Wants, parse_id};

/// The names that columns have where they are not named: ours, and those of the Open Bandit Data.
const ACTION: &[&str] = &["action", "item_id"];
const PROPENSITY: &[&str] = &["propensity", "propensity_score"];
const REWARD: &[&str] = &["reward", "click"];

/// Reads rows from CSV with a header: the columns `action`, `propensity` and `reward` (or `loss`), or those of the Open
/// Bandit Data (`item_id`, `propensity_score`, `click`). Further columns: `offered` (how many actions), `keep`, `exact`, and
/// `id`, by which a row that occurs twice is found.
pub struct Csv<R> {
    reader: csv::Reader<Tail<R>>,
    record: csv::StringRecord,
    columns: Columns,
    header: Header,
    /// The index of each action's name.
    actions: HashMap<String, u32>,
    seen: Seen,
    faults: Faults,
    strict: bool,
    /// Whether the last row had no line break behind it, and was used.
    unended: bool,
    /// Whether actions are numbers, whose order is theirs; and rows of others that offered some of them.
    numbered: bool,
    some: u64,
}

/// Reads on, and knows how what it read ended.
struct Tail<R> {
    from: R,
    last: u8,
    ended: bool,
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(into)?;
        match read.checked_sub(1) {
            Some(at) => self.last = into[at],
            None => self.ended |= !into.is_empty(),
        }
        Ok(read)
    }
}

impl<R> Tail<R> {
    /// Whether the row that was read last is the end of the table, without a line break.
    fn unended(&self) -> bool {
        self.ended && !matches!(self.last, b'\n' | b'\r')
    }
}

struct Columns {
    /// How many there are.
    width: usize,
    id: Option<usize>,
    exact: Option<usize>,
    action: usize,
    propensity: usize,
    outcome: usize,
    is_loss: bool,
    offered: Option<usize>,
    keep: Option<usize>,
    unit: Option<usize>,
    further: Vec<usize>,
}

/// Why a table cannot be read as a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// It is not CSV.
    #[error("not CSV: {0}")]
    Csv(String),
    /// It is not Parquet, or not a log.
    #[error("not a log in Parquet: {0}")]
    Parquet(String),
    /// It has rewards and losses.
    #[error("a table has a column of rewards or one of losses, not both")]
    TwoOutcomes,
    /// A column is missing.
    #[error("no column {wanted}; the columns are: {}", .found.join(", "))]
    Column {
        /// The names that it may have.
        wanted: String,
        /// The columns that there are.
        found: Vec<String>,
    },
}

/// The names of the actions in a table, in the order of their numbers or of their first rows; it is read to its end.
///
/// # Errors
/// It is not CSV, or has no column of actions.
pub fn actions_of(from: impl Read) -> Result<Vec<String>, TableError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(from);
    let names = reader.headers().map_err(|e| TableError::Csv(e.to_string()))?.clone();
    let column = find(&names, ACTION)?;
    let (mut record, mut seen, mut order) = (csv::StringRecord::new(), HashSet::new(), Vec::new());
    loop {
        match reader.read_record(&mut record) {
            Ok(false) => break,
            // Reading the rows says so.
            Err(error) if error.is_io_error() => break,
            // What cannot be read is counted when the rows are.
            Err(_) => continue,
            Ok(true) => {}
        }
        if let Some(name) = record.get(column)
            && record.len() == names.len()
            && !seen.contains(name.trim())
        {
            seen.insert(name.trim().to_owned());
            order.push(name.trim().to_owned());
        }
    }
    let number = |name: &String| name.parse::<u32>().ok();
    if order.iter().all(|name| number(name).is_some()) {
        order.sort_by_key(number);
    }
    Ok(order)
}

fn find(names: &csv::StringRecord, wanted: &[&str]) -> Result<usize, TableError> {
    let at = wanted.iter().find_map(|w| names.iter().position(|n| n == *w));
    at.ok_or_else(|| TableError::Column {
        wanted: wanted.join(" or "),
        found: names.iter().take(20).map(str::to_owned).collect(),
    })
}

impl<R: Read> Csv<R> {
    /// Reads from `from` what is asked for. `actions` are all that can be played ([`actions_of`]); `scale` is where outcomes
    /// lie, or [0, 1].
    ///
    /// # Errors
    /// It is not CSV, or a column is missing.
    pub fn new(
        from: R,
        wants: &Wants,
        actions: Vec<String>,
        scale: Option<Scale>,
        strict: bool,
    ) -> Result<Self, TableError> {
        let from = Tail { from, last: b'\n', ended: false };
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(from);
        let names = reader.headers().map_err(|e| TableError::Csv(e.to_string()))?.clone();
        let one = |name: &str| find(&names, &[name]);
        let optional = |name: &str| names.iter().position(|n| n == name);
        let loss = optional("loss");
        if loss.is_some() && find(&names, REWARD).is_ok() {
            return Err(TableError::TwoOutcomes);
        }
        let columns = Columns {
            width: names.len(),
            id: optional("id"),
            exact: optional("exact"),
            action: find(&names, ACTION)?,
            propensity: find(&names, PROPENSITY)?,
            outcome: loss.map_or_else(|| find(&names, REWARD), Ok)?,
            is_loss: loss.is_some(),
            offered: optional("offered"),
            keep: optional("keep"),
            unit: wants.unit.as_deref().map(one).transpose()?,
            further: wants.columns.iter().map(|c| one(c)).collect::<Result<_, _>>()?,
        };
        let numbered = actions.iter().all(|name| name.parse::<u32>().is_ok());
        let index = actions.iter().enumerate().map(|(i, name)| (name.clone(), i as u32)).collect();
        let header = Header { actions, columns: wants.columns.clone(), scale, ..Header::default() };
        Ok(Self {
            reader,
            record: csv::StringRecord::new(),
            columns,
            header,
            actions: index,
            seen: Seen::default(),
            faults: Faults::default(),
            strict,
            unended: false,
            numbered,
            some: 0,
        })
    }

    fn fill(&self, row: &mut Row) -> Result<(), (FaultKind, String)> {
        row.clear(self.columns.further.len());
        let (has, width) = (self.record.len(), self.columns.width);
        if has != width {
            return Err((FaultKind::Garbage, format!("it has {has} cells, and the header has {width}")));
        }
        let cell = |at: usize| self.record.get(at).unwrap_or_default().trim();
        if let Some(id) = self.columns.id.map(cell).filter(|id| !id.is_empty()) {
            row.id = parse_id(id);
            row.key = row.id.is_none().then(|| id.to_owned());
        }
        if let Some(exact) = self.columns.exact.map(cell).filter(|exact| !exact.is_empty()) {
            row.exact = match exact.to_ascii_lowercase().as_str() {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => {
                    return Err((
                        FaultKind::Garbage,
                        format!("exact must be true or false, but is {exact:?}"),
                    ));
                }
            };
        }
        let number = |at: usize, what: &str, kind: FaultKind| {
            let found = cell(at).parse::<f64>().ok().filter(|v| v.is_finite());
            found.ok_or_else(|| (kind, format!("the {what} must be a number, but is {:?}", cell(at))))
        };
        let name = cell(self.columns.action);
        let known = self.actions.get(name);
        row.action = *known.ok_or_else(|| (FaultKind::Action, format!("unknown action {name:?}")))?;
        row.propensity = Some(number(self.columns.propensity, "propensity", FaultKind::Propensity)?);
        if let Some(keep) = self.columns.keep {
            row.keep = number(keep, "keep-probability", FaultKind::Propensity)?;
        }
        row.offered = Offered::First(match self.columns.offered {
            Some(at) => {
                let count = number(at, "number of offered actions", FaultKind::Action)?;
                if count.fract() != 0.0 {
                    let why = format!("the number of offered actions must be a whole number, but is {count}");
                    return Err((FaultKind::Action, why));
                }
                count as u32
            }
            None => self.header.actions.len() as u32,
        });
        if let Some(unit) = self.columns.unit {
            row.unit = Some(cell(unit).to_owned()).filter(|unit| !unit.is_empty());
        }
        for (into, at) in row.columns.iter_mut().zip(&self.columns.further) {
            for part in cell(*at).split_ascii_whitespace() {
                let p = part.parse().map_err(|_| {
                    (FaultKind::Garbage, format!("a probability must be a number, but is {part:?}"))
                })?;
                into.push(p);
            }
        }
        let outcome = number(self.columns.outcome, "outcome", FaultKind::Reward)?;
        row.give(self.header.scale, Given::of(outcome, self.columns.is_loss))?;
        check(row)
    }
}

impl<R: Read> RowSource for Csv<R> {
    fn next(&mut self, row: &mut Row) -> Result<bool, ReadError> {
        loop {
            let refused = match self.reader.read_record(&mut self.record) {
                Ok(false) => return Ok(false),
                Ok(true) => match self.fill(row) {
                    Ok(()) if self.seen.add_row(row) => (FaultKind::Duplicate, Fault::SEEN.to_owned()),
                    Ok(()) => {
                        self.unended = self.reader.get_ref().unended();
                        self.some +=
                            u64::from(!self.numbered && row.offered.len() < self.header.actions.len());
                        return Ok(true);
                    }
                    Err(_) if self.reader.get_ref().unended() => {
                        (FaultKind::Torn, "the log ends within this line".to_owned())
                    }
                    Err(refused) => refused,
                },
                Err(error) => match error.kind() {
                    csv::ErrorKind::Io(why) => {
                        let why = std::io::Error::new(why.kind(), why.to_string());
                        return Err(ReadError::Io { line: self.reader.position().line(), why });
                    }
                    _ => (FaultKind::Garbage, error.to_string()),
                },
            };
            let line = self.record.position().map_or(0, csv::Position::line);
            let quote = self.record.iter().collect::<Vec<_>>().join(",");
            self.faults.take(Fault::new(refused.0, line, refused.1, quote.as_bytes()), self.strict)?;
        }
    }

    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }

    fn notes(&self) -> Vec<String> {
        let unended = "the table does not end with a line break: its last row is used, and may be torn";
        let some = || {
            format!(
                "{} rows offered some of the actions, and a table says how many: the first ones of those that occur are taken",
                self.some
            )
        };
        let unended = self.unended.then(|| unended.to_owned());
        unended.into_iter().chain((self.some > 0).then(some)).collect()
    }
}
