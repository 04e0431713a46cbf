//! Rows of our own log.

use std::borrow::Cow;
use std::io::BufRead;

use corral_core::Scale;

use crate::scan::{self, Fields};
use crate::seen::Seen;
use crate::source::{Refused, check};
use crate::window::{Aggregate, Window};
use crate::{
    Change, Fault, FaultKind, Faults, Given, Header, Offered, ReadError, Reader, Record, Row, RowSource,
    Wants, parse_id, row,
};

/// Reads rows from our log. Lines with a decision and its outcome are rows; a decision whose outcome is a line of its own
/// waits for it while at most [`waiting`](Ours::waiting) later decisions are read.
pub struct Ours<R> {
    reader: Reader<R>,
    wants: Wants,
    /// What was said of the log so far, each time that it changed; and that of the last row.
    headers: Vec<Header>,
    now: usize,
    started: bool,
    seen: Seen,
    window: Window,
    ended: bool,
    /// The last decision that left the window.
    line: Vec<u8>,
    /// Lines of these kinds, which are no rows.
    members: u64,
    expired: u64,
}

/// What a line is.
enum Line {
    Row,
    Decision,
    Outcome,
    Other,
}

impl<R: BufRead> Ours<R> {
    /// Reads from `reader` what is asked for.
    pub fn new(reader: Reader<R>, wants: Wants) -> Self {
        Self {
            reader,
            headers: vec![Header { columns: wants.columns.clone(), ..Header::default() }],
            now: 0,
            wants,
            started: false,
            seen: Seen::default(),
            window: Window::new(100_000, Aggregate::First),
            ended: false,
            line: Vec::new(),
            members: 0,
            expired: 0,
        }
    }

    /// How many decisions may wait for their outcomes.
    pub fn waiting(mut self, decisions: usize) -> Self {
        self.window = Window::new(decisions, Aggregate::First);
        self
    }

    /// Takes outcomes to lie on this scale where the log does not say.
    pub fn scaled(mut self, scale: Option<Scale>) -> Self {
        self.headers[0].scale = scale;
        self
    }

    /// The reader of the lines.
    pub fn reader(&self) -> &Reader<R> {
        &self.reader
    }

    /// Follows a line that says something of the log as a whole.
    fn follow(&mut self, record: Record) {
        let mut header = last(&self.headers).clone();
        match record {
            Record::Start(start) => {
                self.started = true;
                header.model = start.model;
                header.bases = start.bases;
                header.actions = start.actions;
                header.scale = start.scale.or(header.scale);
            }
            Record::Expire(_) => self.expired += 1,
            Record::Member(member) => {
                self.members += 1;
                let at = member.base as usize;
                if matches!(member.change, Change::Add | Change::Replace) && at <= header.bases.len() {
                    header.bases.truncate(header.bases.len().max(at));
                    match header.bases.get_mut(at) {
                        Some(name) => *name = member.name,
                        None => header.bases.push(member.name),
                    }
                }
            }
            _ => {}
        }
        if header != *last(&self.headers) {
            self.headers.push(header);
        }
    }

    /// Reads one line into `row`.
    fn read_line(&mut self, row: &mut Row) -> Result<Option<Line>, ReadError> {
        let astray = self.reader.is_astray();
        let Some(line) = self.reader.line()? else { return Ok(None) };
        let read = match kind(line) {
            Some(b"both" | b"decision" | b"outcome") if astray => {
                self.reader.strays(false)?;
                return Ok(Some(Line::Other));
            }
            Some(b"both") => fill(line, &self.wants, last(&self.headers), row).map(|()| Line::Row),
            Some(b"decision") => fill(line, &self.wants, last(&self.headers), row).map(|()| Line::Decision),
            Some(b"outcome") => Ok(Line::Outcome),
            _ => match Record::read(line) {
                Ok(record) => {
                    if self.reader.strays(matches!(record, Record::Start(_)))? {
                        return Ok(Some(Line::Other));
                    }
                    self.follow(record);
                    Ok(Line::Other)
                }
                Err(error) => {
                    self.reader.refuse(&error)?;
                    return Ok(Some(Line::Other));
                }
            },
        };
        match read {
            Ok(what) => {
                if matches!(what, Line::Row | Line::Decision) && self.seen.add_row(row) {
                    self.reader.pass_chain();
                    self.reader.fault(FaultKind::Duplicate, &Fault::SEEN)?;
                    return Ok(Some(Line::Other));
                }
                self.reader.follow_chain()?;
                Ok(Some(what))
            }
            Err((kind, why)) => {
                self.reader.pass_chain();
                self.reader.fault(kind, &why)?;
                Ok(Some(Line::Other))
            }
        }
    }

    /// Reads what left the window into `row`.
    fn release(&mut self, row: &mut Row) -> bool {
        let Some(leaves) = self.window.leave(self.ended) else { return false };
        (self.line, self.now) = (leaves.line, leaves.header);
        // It was read before, and was right.
        if fill(&self.line, &self.wants, self.header(), row).is_err() {
            return false;
        }
        (row.reward, row.given) = (leaves.outcome, leaves.given);
        true
    }
}

/// What is said of a line that has two.
pub(crate) const ONE_OUTCOME: &str = "an outcome has a reward or a loss, not both";

/// What the log says of itself now.
fn last(headers: &[Header]) -> &Header {
    // There is one from the beginning.
    &headers[headers.len() - 1]
}

/// The kind of a line.
fn kind(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"{\"kind\":\"")?;
    rest.split(|c| *c == b'"').next()
}

impl<R: BufRead> RowSource for Ours<R> {
    fn next(&mut self, row: &mut Row) -> Result<bool, ReadError> {
        loop {
            if self.release(row) {
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
            match self.read_line(row)? {
                None => self.ended = true,
                Some(Line::Row) => {
                    self.now = self.headers.len() - 1;
                    return Ok(true);
                }
                Some(Line::Decision) => {
                    if let Some(id) = row.id {
                        let header = self.headers.len() - 1;
                        self.window.decide(id.to_string(), self.reader.last().to_vec(), header);
                    }
                }
                Some(Line::Outcome) => {
                    let read = outcome(self.reader.last(), "id").and_then(|given| {
                        // In the units of its decision, whatever the log says since.
                        let own = self.window.waiting(&given.key).map(|waits| waits.header);
                        let header = own.map_or(last(&self.headers), |header| &self.headers[header]);
                        let reward = row::reward(header.scale, given.value, given.is_loss);
                        let said = Given { weight: given.weight, ..Given::of(given.value, given.is_loss) };
                        Ok((given.key, reward.map_err(|why| (FaultKind::Reward, why))?, said))
                    });
                    match read {
                        Ok((id, reward, said)) => self.window.outcome(&id, reward, said),
                        Err((kind, why)) => self.reader.fault(kind, &why)?,
                    }
                }
                Some(Line::Other) => {}
            }
        }
    }

    fn header(&self) -> &Header {
        &self.headers[self.now]
    }

    fn faults(&self) -> &Faults {
        self.reader.faults()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.started {
            notes.push("the log does not begin with a start line: names and range are not known".into());
        }
        notes.extend(self.window.notes());
        notes
    }

    fn not_in_rows(&self) -> Vec<String> {
        let lines = [
            (self.members, "member lines are starts with the new bases: shares and parameters are left out"),
            (self.expired, "expire lines are left out: what was learned in place of outcomes is not kept"),
        ];
        lines.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect()
    }
}

/// An outcome, in the units of its log.
pub(crate) struct GivenTo {
    pub key: String,
    pub value: f64,
    pub is_loss: bool,
    pub weight: Option<f64>,
    pub at: Option<f64>,
}

/// Reads an outcome: a JSON object with the field `key` and a reward or a loss.
pub(crate) fn outcome(line: &[u8], key: &str) -> Result<GivenTo, Refused> {
    let garbage = |why: &str| (FaultKind::Garbage, why.to_owned());
    let mut fields = Fields::of(line).ok_or_else(|| garbage("not a JSON object"))?;
    let (mut found, mut value, mut weight, mut at) = (None, None, None, None);
    for (name, bytes) in &mut fields {
        match name {
            b"reward" | b"loss" => {
                let number = scan::number(bytes).ok_or_else(|| garbage("an outcome is a number"))?;
                if value.replace((number, name == b"loss")).is_some() {
                    return Err(garbage(ONE_OUTCOME));
                }
            }
            b"at" => at = scan::number(bytes),
            b"weight" => weight = scan::number(bytes),
            _ => {}
        }
        if name == key.as_bytes() {
            found = Some(scan::word(bytes));
        }
    }
    if fields.broken() {
        return Err(garbage("not a JSON object"));
    }
    let key = found.ok_or_else(|| garbage(&format!("an outcome without the field {key:?}")))?;
    let (value, is_loss) = value.ok_or_else(|| garbage("an outcome without a reward or a loss"))?;
    Ok(GivenTo { key, value, is_loss, weight, at })
}

/// Reads a line with a decision, and its outcome if it has one, into `row`.
pub(crate) fn fill(line: &[u8], wants: &Wants, header: &Header, row: &mut Row) -> Result<(), Refused> {
    row.clear(wants.columns.len());
    let garbage = |what: &str| (FaultKind::Garbage, format!("not a record: {what} cannot be read"));
    let mut fields = Fields::of(line).ok_or_else(|| garbage("it"))?;
    let (mut action, mut offered, mut value, mut weight) = (None, None, None, None);
    for (name, bytes) in &mut fields {
        let read = match name {
            b"id" => scan::text(bytes).and_then(|t| parse_id(&t)).map(|id| row.id = Some(id)),
            b"action" => {
                if bytes.first() == Some(&b'[') {
                    return Err((
                        FaultKind::Action,
                        "a point was played: only actions can be evaluated".into(),
                    ));
                }
                scan::whole(bytes).map(|a| action = Some(a))
            }
            b"offered" => {
                let list = || scan::items(bytes)?.map(scan::whole).collect::<Option<_>>().map(Offered::These);
                scan::whole(bytes).map(Offered::First).or_else(list).map(|o| offered = Some(o))
            }
            b"propensity" => scan::number(bytes).map(|p| row.propensity = Some(p)),
            b"exact" => boolean(bytes).map(|b| row.exact = b),
            b"forced" => boolean(bytes).map(|b| row.forced = b),
            b"at" => std::str::from_utf8(bytes).ok().and_then(|t| t.parse().ok()).map(|at| row.at = Some(at)),
            b"keep" => scan::number(bytes).map(|k| row.keep = k),
            b"reward" | b"loss" => match scan::number(bytes).map(|v| value.replace((v, name == b"loss"))) {
                Some(Some(_)) => return Err((FaultKind::Garbage, ONE_OUTCOME.into())),
                read => read.map(drop),
            },
            b"pbar" if wants.pbar || wants.full => scan::numbers(bytes, &mut row.pbar),
            b"q" if wants.q => scan::numbers(bytes, &mut row.q),
            b"full" if wants.full => scan::numbers(bytes, &mut row.full),
            b"context" if wants.context => {
                serde_json::from_slice(bytes).ok().map(|context| row.context = context)
            }
            _ if wants.labels => label(name, bytes, row, &mut weight),
            _ => Some(()),
        };
        read.ok_or_else(|| garbage(&String::from_utf8_lossy(name)))?;
        if wants.unit_field().is_some_and(|unit| unit.as_bytes() == name) {
            row.unit = scan::label(bytes);
        }
        for (at, column) in wants.columns.iter().enumerate().filter(|(_, c)| c.as_bytes() == name) {
            scan::one_or_more(bytes, &mut row.columns[at]).ok_or_else(|| garbage(column))?;
        }
    }
    if fields.broken() {
        return Err(garbage("it"));
    }
    row.id.ok_or_else(|| garbage("id"))?;
    row.action = action.ok_or_else(|| garbage("action"))?;
    row.offered = offered.ok_or_else(|| garbage("offered"))?;
    if let Some((value, is_loss)) = value {
        row.give(header.scale, Given { weight, ..Given::of(value, is_loss) })?;
    }
    check(row)?;
    row.mix_logger();
    Ok(())
}

/// Reads a field that a log is written again with. Apart from the others, which are read for every evaluation.
fn label(name: &[u8], bytes: &[u8], row: &mut Row, weight: &mut Option<f64>) -> Option<()> {
    let text = || scan::text(bytes).map(Cow::into_owned);
    match name {
        b"key" => row.key = Some(text()?),
        b"base" => row.base = Some(scan::whole(bytes)?),
        b"digest" => row.digest = Some(text()?),
        b"ticket" => row.ticket = Some(text()?),
        b"weight" => *weight = Some(scan::number(bytes)?),
        _ => {}
    }
    Some(())
}

fn boolean(value: &[u8]) -> Option<bool> {
    match value {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}
