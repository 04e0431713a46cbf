//! Rows written for others: Vowpal Wabbit's dsjson, CSV, and our own lines.

use std::io::{self, Write};

use corral_core::{Scale, TicketId};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{Both, Decision, Given, Header, Played, Record, Row, Start, Writer};

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

/// The outcome of a row in the units of its log.
fn reward(row: &Row, scale: Option<Scale>) -> Option<f64> {
    let (low, high) = scale.map_or((0.0, 1.0), |s| (s.low, s.high));
    Some(low + row.reward? * (high - low))
}

/// Vowpal Wabbit's dsjson, with its keys in the order that fast readers expect. Actions are counted from 1 there, and the played
/// one is the first of the list `a`.
#[derive(Debug)]
pub struct DsjsonOut<W> {
    to: W,
    rows: u64,
    spread: u64,
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
        Self { to, rows: 0, spread: 0, left_out: 0 }
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
        let event = row.id.map_or_else(|| self.rows.to_string(), |id| id.to_string());
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
        spread.into_iter().chain(left_out(self.left_out)).collect()
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

/// Milliseconds since 1970 as ISO 8601. The day is found from the number of days by the calendar of 400 years.
fn timestamp(at: u64) -> String {
    let (days, ms) = ((at / 86_400_000) as i64, at % 86_400_000);
    // Days since 1 March of year 0, so that a leap day is the last of its year.
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let (s, ms) = (ms / 1000, ms % 1000);
    format!(
        "{year:04}-{month:02}-{of_month:02}T{:02}:{:02}:{:02}.{ms:03}0000Z",
        s / 3600,
        s / 60 % 60,
        s % 60
    )
}

/// A table with the columns action, propensity, reward, offered and keep.
pub struct CsvOut<W: Write> {
    to: csv::Writer<W>,
    begun: bool,
    left_out: u64,
}

impl<W: Write> CsvOut<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to: csv::Writer::from_writer(to), begun: false, left_out: 0 }
    }
}

impl<W: Write> Sink for CsvOut<W> {
    fn write(&mut self, row: &Row, header: &Header) -> io::Result<bool> {
        if !self.begun {
            self.to.write_record(["id", "action", "propensity", "reward", "offered", "keep"])?;
            self.begun = true;
        }
        let Some((reward, propensity)) = usable(row, header) else {
            self.left_out += 1;
            return Ok(false);
        };
        let id = row.id.map_or(String::new(), |id| id.to_string());
        let numbers = [propensity, reward].map(|x| x.to_string());
        let [propensity, reward] = numbers;
        let offered = row.offered.len().to_string();
        self.to.write_record([
            id,
            header.action(row.action),
            propensity,
            reward,
            offered,
            row.keep.to_string(),
        ])?;
        Ok(true)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    fn notes(&self) -> Vec<String> {
        left_out(self.left_out).into_iter().collect()
    }
}

/// Our own lines: a start, and a decision with its outcome for each row.
pub struct OursOut<W> {
    to: Writer<W>,
    rows: u64,
}

impl<W: Write> OursOut<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to: Writer::new(to), rows: 0 }
    }
}

impl<W: Write> Sink for OursOut<W> {
    fn write(&mut self, row: &Row, header: &Header) -> io::Result<bool> {
        if self.rows == 0 {
            let scale = header.scale.map(|s| Scale { rewards: true, ..s });
            let (bases, actions) = (header.bases.clone(), header.actions.clone());
            self.to.write(&Record::Start(Start { bases, actions, scale, ..Start::new(0) }))?;
        }
        let id = row.id.unwrap_or(TicketId { band: 0, copy: 0, round: self.rows });
        self.rows += 1;
        let decision = Decision {
            at: row.at,
            offered: row.offered.clone(),
            propensity: row.propensity,
            exact: row.exact,
            forced: row.forced,
            pbar: row.pbar.clone(),
            q: row.q.clone(),
            full: row.full.clone(),
            context: row.context.clone(),
            keep: row.keep,
            unit: row.unit.clone(),
            ..Decision::new(id, Played::Arm(row.action), 0)
        };
        let record = match reward(row, header.scale) {
            Some(value) => Record::Both(Both { decision, given: Given::reward(value) }),
            None => Record::Decision(decision),
        };
        self.to.write(&record)?;
        Ok(true)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.to.get_mut().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn times_are_written_by_the_calendar() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00.0000000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.9990000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.0000000Z"),
            (1_798_675_199_000, "2026-12-30T23:59:59.0000000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.0000000Z"),
        ] {
            assert_eq!(timestamp(at), text);
        }
    }
}
