//! Rows of Vowpal Wabbit's dsjson.

use std::io::BufRead;

use corral_core::Scale;

use crate::calendar::milliseconds;
use crate::scan::{self, Fields};
use crate::seen::Seen;
use crate::source::{Refused, check};
use crate::{
    Fault, FaultKind, Faults, Given, Header, Offered, ReadError, Reader, Row, RowSource, Wants, parse_id,
};

/// Reads rows from dsjson: one decision with its outcome per line. Actions are counted from 1 there, and from 0 here; the
/// reward is -`_label_cost`; `pdrop` says with which probability a row was not kept.
pub struct Dsjson<R> {
    reader: Reader<R>,
    wants: Wants,
    header: Header,
    seen: Seen,
    left_out: LeftOut,
}

/// Lines that say of themselves what must be said of them.
#[derive(Default)]
struct LeftOut {
    /// Decisions that were not played.
    not_played: u64,
    /// Rows whose cost is not the one that was seen.
    changed: u64,
}

impl<R: BufRead> Dsjson<R> {
    /// Reads from `reader`; rewards lie on `scale`, or in [0, 1].
    pub fn new(reader: Reader<R>, wants: Wants, scale: Option<Scale>) -> Self {
        let header = Header { columns: wants.columns.clone(), scale, ..Header::default() };
        Self { reader, wants, header, seen: Seen::default(), left_out: LeftOut::default() }
    }
}

impl<R: BufRead> RowSource for Dsjson<R> {
    fn next(&mut self, row: &mut Row) -> Result<bool, ReadError> {
        loop {
            let Some(line) = self.reader.line()? else { return Ok(false) };
            match fill(line, &self.wants, &self.header, row) {
                Ok(Some(_)) if self.seen.add_row(row) => {
                    self.reader.fault(FaultKind::Duplicate, &Fault::SEEN)?
                }
                Ok(Some(changed)) => {
                    self.left_out.changed += u64::from(changed);
                    return Ok(true);
                }
                Ok(None) => self.left_out.not_played += 1,
                Err((kind, why)) => self.reader.fault(kind, &why)?,
            }
        }
    }

    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self) -> &Faults {
        self.reader.faults()
    }

    fn notes(&self) -> Vec<String> {
        let LeftOut { not_played, changed } = self.left_out;
        let notes = [
            (not_played, "decisions were deferred or are not to be learned (_skipLearn): they are left out"),
            (
                changed,
                "rows have another _original_label_cost: what counts is _label_cost, as in Vowpal Wabbit",
            ),
        ];
        notes.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect()
    }
}

/// Reads a line into `row`: whether its cost was changed. `None`: its action was not played, or not activated, which is what
/// `_skipLearn` says.
fn fill(line: &[u8], wants: &Wants, header: &Header, row: &mut Row) -> Result<Option<bool>, Refused> {
    row.clear(wants.columns.len());
    let garbage = |what: &str| (FaultKind::Garbage, format!("not a line of dsjson: {what} cannot be read"));
    let mut fields = Fields::of(line).ok_or_else(|| garbage("it"))?;
    let (mut cost, mut original, mut action, mut skipped) = (None, None, None, false);
    let (mut ranked, mut p): (Vec<u32>, Vec<f64>) = Default::default();
    for (name, bytes) in &mut fields {
        let read = match name {
            b"_label_cost" => scan::number(bytes).map(|v| cost = Some(v)),
            b"_original_label_cost" => scan::number(bytes).map(|v| original = Some(v)),
            b"_label_probability" => scan::number(bytes).map(|v| row.propensity = Some(v)),
            b"_label_Action" => scan::whole(bytes).map(|a| action = Some(a)),
            b"pdrop" => scan::number(bytes).map(|v| row.keep = 1.0 - v),
            b"EventId" => scan::text(bytes).map(|event| match parse_id(&event) {
                Some(id) => row.id = Some(id),
                None => row.key = Some(event.into_owned()).filter(|event| !event.is_empty()),
            }),
            // A time that is written in another way is not known.
            b"Timestamp" => scan::text(bytes).map(|text| row.at = milliseconds(&text)),
            b"_deferred" | b"_skipLearn" => {
                skipped |= bytes == b"true";
                Some(())
            }
            b"a" => scan::items(bytes)
                .and_then(|mut i| i.try_for_each(|item| scan::whole(item).map(|a| ranked.push(a)))),
            b"p" => scan::numbers(bytes, &mut p),
            _ => Some(()),
        };
        read.ok_or_else(|| garbage(&String::from_utf8_lossy(name)))?;
        for (at, column) in wants.columns.iter().enumerate().filter(|(_, c)| c.as_bytes() == name) {
            scan::one_or_more(bytes, &mut row.columns[at]).ok_or_else(|| garbage(column))?;
        }
        if wants.unit_field().is_some_and(|unit| unit.as_bytes() == name) {
            row.unit = scan::label(bytes);
        }
    }
    if fields.broken() {
        return Err(garbage("it"));
    }
    if skipped {
        return Ok(None);
    }
    let zero_based = |action: u32| action.checked_sub(1);
    row.action = action.and_then(zero_based).ok_or_else(|| garbage("_label_Action"))?;
    row.offered = Offered::First(ranked.len() as u32);
    let cost: f64 = cost.ok_or_else(|| garbage("_label_cost"))?;
    // -0.0 is 0.
    row.give(header.scale, Given::reward(0.0 - cost))?;
    // `p` stands beside `a`, which is a permutation of the actions.
    if wants.full && p.len() == ranked.len() {
        row.logger.resize(p.len(), f64::NAN);
        for (action, p) in ranked.iter().zip(&p) {
            if let Some(at) = zero_based(*action).filter(|at| (*at as usize) < row.logger.len()) {
                row.logger[at as usize] = *p;
            }
        }
        if row.logger.iter().any(|p| !(*p > 0.0)) {
            row.logger.clear();
        }
    }
    check(row)?;
    // Where another policy's action was played in place of this one, what that cost (apprentice mode).
    Ok(Some(original.is_some_and(|original: f64| original != cost)))
}
