//! The log that a band writes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use corral_core::{Context, TicketId};
use corral_log::{
    Both, Broken, Chain, Change, Decision, Expire, Given, Member, Outcome, Record, Start, Writer,
};

use crate::errors::{Answer, Error};
use crate::members::Flying;
use crate::waiting::now;

/// A decision log that a band appends to: a line for each decision, and one for what came of it.
pub struct Log {
    writer: Writer<File>,
    path: PathBuf,
}

impl Log {
    /// Goes on with the log at `path`, or begins it; `start` says what the lines to come are of.
    pub fn open(path: &Path, start: Start) -> Answer<Self> {
        let file = Error::file;
        let mut log =
            OpenOptions::new().read(true).append(true).create(true).open(path).map_err(file(path))?;
        let chain = last(&mut log).map_err(file(path))?;
        let Some((whole, chain)) = chain else {
            return Err(Error::value(format!("log: {} is there, and is not a decision log", path.display())));
        };
        // A program that stopped while it wrote leaves half a line.
        log.set_len(whole).map_err(file(path))?;
        let mut log = Self { writer: Writer::with(log, chain), path: path.to_owned() };
        log.write(&Record::Start(start))?;
        Ok(log)
    }

    /// A decision that was made.
    pub fn decision(&mut self, made: &Flying, pbar: &[f64], x: &Context) -> Answer<()> {
        self.write(&Record::Decision(Decision { at: Some(now()), ..made.record(pbar, x) }))
    }

    /// What came of a decision.
    pub fn outcome(&mut self, id: TicketId, reward: f64) -> Answer<()> {
        self.write(&Record::Outcome(Outcome { id, given: Given::reward(reward) }))
    }

    /// A decision with what came of it.
    pub fn both(&mut self, decision: Decision, reward: Option<f64>) -> Answer<()> {
        let decision = Decision { at: Some(now()), ..decision };
        self.write(&match reward {
            Some(reward) => Record::Both(Both { decision, given: Given::reward(reward) }),
            None => Record::Decision(decision),
        })
    }

    /// A decision that is no longer waited for, and the reward that was learned in place of an outcome.
    pub fn expire(&mut self, id: TicketId, reward: Option<f64>) -> Answer<()> {
        match reward {
            // The caller says that nothing heard is this reward: that is an outcome.
            Some(reward) => self.outcome(id, reward),
            None => self.write(&Record::Expire(Expire { id, loss: None })),
        }
    }

    /// A base came or went.
    pub fn member(&mut self, change: Change, base: usize, name: &str, share: Option<f64>) -> Answer<()> {
        let (base, name) = (u32::try_from(base).unwrap_or(u32::MAX), name.to_owned());
        self.write(&Record::Member(Member { change, base, name, share, params: None }))
    }

    fn write(&mut self, record: &Record) -> Answer<()> {
        self.writer.write(record).map_err(Error::file(&self.path))
    }
}

/// The bytes of the whole lines of a log, and where its chain is after them; `None`: it is not a log.
fn last(log: &mut File) -> io::Result<Option<(u64, Chain)>> {
    let length = log.seek(SeekFrom::End(0))?;
    if length == 0 {
        return Ok(Some((0, Chain::new(0))));
    }
    let mut back = 1 << 16;
    loop {
        let from = length.saturating_sub(back);
        log.seek(SeekFrom::Start(from))?;
        let mut tail = Vec::new();
        log.take(back).read_to_end(&mut tail)?;
        let end = tail.iter().rposition(|c| *c == b'\n');
        let begin = end.map(|end| tail[..end].iter().rposition(|c| *c == b'\n').map_or(0, |at| at + 1));
        if let (Some(begin), Some(end)) = (begin, end)
            && (begin > 0 || from == 0)
        {
            let line = &tail[begin..end];
            let mut chain = Chain::new(0);
            // It follows from a line that was not read: what counts is the value that it has.
            let known = Record::read(line).is_ok() && !matches!(chain.check(line), Err(Broken::Missing));
            return Ok(known.then_some((from + end as u64 + 1, chain)));
        }
        if from == 0 {
            // Half of a first line.
            let torn = end.is_none() && tail.starts_with(b"{\"kind\":\"start\"");
            return Ok(torn.then(|| (0, Chain::new(0))));
        }
        back *= 4;
    }
}
