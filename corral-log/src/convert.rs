//! Rows written for others: Vowpal Wabbit's dsjson, CSV, and our own lines.

use std::io::{self, Write};

use corral_core::{Scale, TicketId};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::calendar::timestamp;
use crate::{Both, Decided, Given, Header, Offered, Played, Record, Row, Start, Writer};

/// Writes rows one after the other.
pub trait Sink {
    /// Writes a row of a log with this header. A row without an outcome or without a propensity is left out where the format has
    /// no place for it; says whether it was written.
    ///
    /// # Errors
    /// What is written to says.
    fn write(&mut self, row: &Row, header: &Header) -> io::Result<bool>;

    /// After the last row: whatever is still held back is written.
    ///
    /// # Errors
    /// What is written to says.
    fn finish(&mut self) -> io::Result<()>;

    /// Further things to say about what was written.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The reward and the propensity of a row that a policy made and that has both.
fn usable(row: &Row, header: &Header) -> Option<(f64, f64)> {
    reward(row, header.scale).zip(row.propensity).filter(|_| !row.forced)
}

/// What is said of the rows that are not.
fn left_out(rows: u64) -> Option<String> {
    let why = "without an outcome, without a propensity or made by no policy";
    (rows > 0).then(|| format!("{rows} rows {why} are left out"))
}

/// The outcome of a row in the units of its log, as a reward.
pub(crate) fn reward(row: &Row, scale: Option<Scale>) -> Option<f64> {
    outcome(row, scale, false)
}

/// The same, as a loss or as a reward: the number that the log has, where it is one of these and in its range.
pub(crate) fn outcome(row: &Row, scale: Option<Scale>, as_loss: bool) -> Option<f64> {
    let (low, high) = scale.map_or((0.0, 1.0), |s| (s.low, s.high));
    let part = if as_loss { 1.0 - row.reward? } else { row.reward? };
    let said = row.given.as_ref().and_then(Given::value);
    let own = said.filter(|(value, is_loss)| *is_loss == as_loss && (low..=high).contains(value));
    Some(own.map_or(low + part * (high - low), |(value, _)| value))
}

/// What is said of outcomes that are losses in the log, where the format has rewards.
fn turned(rows: u64) -> Option<String> {
    (rows > 0).then(|| format!("{rows} losses are written as rewards: low + high - loss"))
}

/// Whether the outcome of a row is a loss.
fn lost(row: &Row) -> bool {
    row.given.as_ref().is_some_and(|given| given.loss.is_some())
}

/// Vowpal Wabbit's dsjson, with its keys in the order that fast readers expect. Actions are counted from 1 there, and the played
/// one is the first of the list `a`.
#[derive(Debug)]
pub struct DsjsonOut<W> {
    to: W,
    rows: u64,
    spread: u64,
    losses: u64,
    left_out: u64,
}

#[derive(Serialize)]
struct DsjsonLine<'a> {
    #[serde(rename = "_label_cost")]
    cost: f64,
    #[serde(rename = "_label_probability")]
    probability: f64,
    #[serde(rename = "_label_Action")]
    action: usize,
    #[serde(rename = "_labelIndex")]
    index: usize,
    o: [Observed<'a>; 1],
    #[serde(rename = "Timestamp")]
    timestamp: &'a str,
    #[serde(rename = "Version")]
    version: &'a str,
    #[serde(rename = "EventId")]
    event: &'a str,
    a: Vec<usize>,
    c: Value,
    p: Vec<f64>,
    #[serde(rename = "VWState")]
    state: Value,
    #[serde(skip_serializing_if = "is_zero")]
    pdrop: f64,
}

#[derive(Serialize)]
struct Observed<'a> {
    v: f64,
    #[serde(rename = "EventId")]
    event: &'a str,
    #[serde(rename = "ActionTaken")]
    taken: bool,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl<W: Write> DsjsonOut<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to, rows: 0, spread: 0, losses: 0, left_out: 0 }
    }
}

impl<W: Write> Sink for DsjsonOut<W> {
    fn write(&mut self, row: &Row, header: &Header) -> io::Result<bool> {
        let (Some((reward, propensity)), Some(place)) =
            (usable(row, header), row.offered.position(row.action))
        else {
            self.left_out += 1;
            return Ok(false);
        };
        let actions = row.offered.len();
        let others = (0..actions).filter(|at| *at != place);
        let ranked: Vec<usize> = std::iter::once(place).chain(others).collect();
        let known = row.logger.len() == actions;
        self.spread += u64::from(!known && actions > 1);
        let rest = (1.0 - propensity).max(0.0) / (actions.max(2) - 1) as f64;
        let p = |at: &usize| match (known, *at == place) {
            (_, true) => propensity,
            (true, false) => row.logger[*at],
            (false, false) => rest,
        };
        let id = row.id.map(|id| id.to_string());
        let event = row.key.clone().or(id).unwrap_or_else(|| self.rows.to_string());
        let line = DsjsonLine {
            cost: 0.0 - reward,
            probability: propensity,
            action: place + 1,
            index: place,
            o: [Observed { v: reward, event: &event, taken: false }],
            timestamp: &timestamp(row.at.unwrap_or(0)),
            version: "1",
            event: &event,
            a: ranked.iter().map(|at| at + 1).collect(),
            c: context(row, header),
            p: ranked.iter().map(p).collect(),
            state: json!({ "m": "corral" }),
            pdrop: 1.0 - row.keep,
        };
        serde_json::to_writer(&mut self.to, &line)?;
        self.to.write_all(b"\n")?;
        self.rows += 1;
        self.losses += u64::from(lost(row));
        Ok(true)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    fn notes(&self) -> Vec<String> {
        let spread = (self.spread > 0).then(|| {
            format!(
                "{} rows say the probability of the played action alone: in `p` the others share the rest evenly",
                self.spread
            )
        });
        spread.into_iter().chain(turned(self.losses)).chain(left_out(self.left_out)).collect()
    }
}

/// The features as Vowpal Wabbit has them: those that all actions share, and an object for each action.
fn context(row: &Row, header: &Header) -> Value {
    let object = |values: &[f64]| -> Value {
        let features = values.iter().enumerate().filter(|(_, v)| **v != 0.0);
        Value::Object(features.map(|(i, v)| (format!("f{i}"), json!(v))).collect::<Map<_, _>>())
    };
    let action = |at: usize| {
        let name = row.offered.at(at).map(|number| header.action(number));
        let mut own = Map::from_iter([("a".to_owned(), json!({ "id": name }))]);
        if let Some(features) = row.context.as_ref().and_then(|x| x.row(at)) {
            own.insert("r".to_owned(), object(features));
        }
        Value::Object(own)
    };
    let multi: Vec<Value> = (0..row.offered.len()).map(action).collect();
    match row.context.as_ref().map(|x| x.features()) {
        Some(shared) if !shared.is_empty() => json!({ "s": object(shared), "_multi": multi }),
        _ => json!({ "_multi": multi }),
    }
}

/// A table with the columns id, action, propensity, reward or loss, offered, keep and exact.
pub struct CsvOut<W: Write> {
    to: csv::Writer<W>,
    /// Whether outcomes are losses, once the first row was written.
    losses: Option<bool>,
    /// Rows that offered some of the actions.
    some: u64,
    left_out: u64,
}

impl<W: Write> CsvOut<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to: csv::Writer::from_writer(to), losses: None, some: 0, left_out: 0 }
    }
}

impl<W: Write> CsvOut<W> {
    fn begin(&mut self, losses: bool) -> io::Result<()> {
        self.losses = Some(losses);
        let outcome = if losses { "loss" } else { "reward" };
        Ok(self.to.write_record(["id", "action", "propensity", outcome, "offered", "keep", "exact"])?)
    }
}

impl<W: Write> Sink for CsvOut<W> {
    fn write(&mut self, row: &Row, header: &Header) -> io::Result<bool> {
        let Some((_, propensity)) = usable(row, header) else {
            self.left_out += 1;
            return Ok(false);
        };
        let losses = match self.losses {
            Some(losses) => losses,
            None => {
                self.begin(lost(row))?;
                lost(row)
            }
        };
        let listed = matches!(row.offered, Offered::These(_));
        self.some += u64::from(listed || row.offered.len() < header.actions.len());
        let id = row.id.map(|id| id.to_string());
        let numbers = [Some(propensity), outcome(row, header.scale, losses)];
        let [propensity, outcome] = numbers.map(|x| x.map_or(String::new(), |x| x.to_string()));
        self.to.write_record([
            id.or_else(|| row.key.clone()).unwrap_or_default(),
            header.action(row.action),
            propensity,
            outcome,
            row.offered.len().to_string(),
            row.keep.to_string(),
            row.exact.to_string(),
        ])?;
        Ok(true)
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.losses.is_none() {
            self.begin(false)?;
        }
        self.to.flush()
    }

    fn notes(&self) -> Vec<String> {
        let some =
            || format!("{} rows offered some of the actions: a table says how many, not which", self.some);
        (self.some > 0).then(some).into_iter().chain(left_out(self.left_out)).collect()
    }
}

/// Our own lines: a start each time that what the log says of itself changes, and a decision with its outcome for each row.
pub struct OursOut<W> {
    to: Writer<W>,
    rows: u64,
    said: Option<Header>,
}

impl<W: Write> OursOut<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to: Writer::new(to), rows: 0, said: None }
    }
}

impl<W: Write> Sink for OursOut<W> {
    fn write(&mut self, row: &Row, header: &Header) -> io::Result<bool> {
        if self.said.as_ref() != Some(header) {
            self.said = Some(header.clone());
            let (model, scale) = (header.model.clone(), header.scale);
            let mut bases = header.bases.clone();
            if bases.is_empty() && !row.logger.is_empty() {
                bases.push("logger".to_owned());
            }
            let actions = header.actions.clone();
            let band = row.id.map_or(0, |id| id.band);
            self.to.write(&Record::Start(Start { model, bases, actions, scale, ..Start::new(band) }))?;
        }
        let id = row.id.unwrap_or(TicketId { band: 0, copy: 0, round: self.rows });
        self.rows += 1;
        // A logger whose whole distribution is known, and not what it is made of, is a band of one base.
        let alone = row.full.is_empty() && !row.logger.is_empty() && header.bases.is_empty();
        let (pbar, q, full) = match alone {
            true => (vec![1.0], row.propensity.into_iter().collect(), row.logger.clone()),
            false => (row.pbar.clone(), row.q.clone(), row.full.clone()),
        };
        let decision = Decided {
            at: row.at,
            offered: row.offered.clone(),
            propensity: row.propensity,
            exact: row.exact,
            forced: row.forced,
            base: row.base,
            pbar,
            q,
            full,
            context: row.context.clone(),
            digest: row.digest.clone(),
            keep: row.keep,
            unit: row.unit.clone(),
            key: row.key.clone(),
            ticket: row.ticket.clone(),
            ..Decided::new(id, Played::Arm(row.action), 0)
        };
        let record = match (&row.given, reward(row, header.scale)) {
            (Some(given), Some(_)) => Record::Both(Both { decision, given: given.clone() }),
            (None, Some(value)) => Record::Both(Both { decision, given: Given::reward(value) }),
            (_, None) => Record::Decision(decision),
        };
        self.to.write(&record)?;
        Ok(true)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.to.get_mut().flush()
    }
}
