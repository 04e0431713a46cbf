//! The log that a band writes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use corral_core::{Context, Scale, TicketId};
use corral_lab::saved::Flying;
use corral_log::{Both, Broken, Chain, Decided, Expire, Given, Member, Record, RewardLine, Start, Writer};

use crate::errors::{Answer, Error};
use crate::waiting::now;

/// A decision log that a band appends to: a line for each decision, and one for what came of it.
pub struct Log {
    writer: Writer<File>,
    path: PathBuf,
    /// The bytes that it had when its last line was written here.
    length: u64,
}

impl Log {
    /// Goes on with the log at `path`, or begins it; `start` says what the lines to come are of.
    pub fn open(path: &Path, start: Start) -> Answer<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let writer = Writer::new(file.map_err(Error::file(path))?);
        let mut log = Self { writer, path: path.to_owned(), length: 0 };
        log.write(&Record::Start(start))?;
        Ok(log)
    }

    /// A decision that was made.
    pub fn decision(&mut self, made: &Flying, pbar: &[f64], x: &Context) -> Answer<()> {
        self.write(&Record::Decision(Decided { at: Some(now()), ..made.record(pbar, x) }))
    }

    /// What was learned of a decision: a loss in [0, 1]; nothing, where its outcome is not waited for or not heard.
    pub fn outcome(&mut self, id: TicketId, loss: Option<f64>, scale: Scale) -> Answer<()> {
        self.write(&match loss {
            Some(loss) => Record::Outcome(RewardLine::new(id, given(scale, loss))),
            None => Record::Expire(Expire { id, loss: None }),
        })
    }

    /// A decision with what was learned of it.
    pub fn both(&mut self, decision: Decided, loss: Option<f64>, scale: Scale) -> Answer<()> {
        let (id, decision) = (decision.id, Decided { at: Some(now()), ..decision });
        match loss {
            Some(loss) => self.write(&Record::Both(Both { decision, given: given(scale, loss) })),
            None => {
                self.write(&Record::Decision(decision))?;
                self.outcome(id, None, scale)
            }
        }
    }

    /// A base came or went.
    pub fn member(&mut self, member: Member) -> Answer<()> {
        self.write(&Record::Member(member))
    }

    fn write(&mut self, record: &Record) -> Answer<()> {
        // Where the file system has no locks, one process may write to it.
        let _ = self.writer.get_mut().lock();
        let written = self.go_on().and_then(|()| {
            self.writer.write(record).map_err(Error::file(&self.path))?;
            self.length = self.bytes()?;
            Ok(())
        });
        let _ = self.writer.get_mut().unlock();
        written
    }

    /// Finds the end of a log that is not as it was left: another band went on with it, or half a line was written, by a
    /// program that stopped or to a disk that was full.
    fn go_on(&mut self) -> Answer<()> {
        if self.bytes()? == self.length {
            return Ok(());
        }
        let failed = || Error::file(&self.path);
        let mut file = self.writer.get_mut().try_clone().map_err(failed())?;
        let Some((whole, chain)) = last(&mut file).map_err(failed())? else {
            let path = self.path.display();
            return Err(Error::value(format!("log: {path} is there, and is not a decision log")));
        };
        file.set_len(whole).map_err(failed())?;
        self.length = whole;
        self.writer = Writer::with(file, chain);
        Ok(())
    }

    fn bytes(&mut self) -> Answer<u64> {
        Ok(self.writer.get_mut().metadata().map_err(Error::file(&self.path))?.len())
    }
}

/// What has this loss, so that reading gives it back to the last bit: a reward, or one that differs from it by a rounding
/// error, or a loss.
fn given(scale: Scale, loss: f64) -> Given {
    let reward = scale.value(loss);
    let near = [reward, reward.next_up(), reward.next_down()];
    let back = |scale: Scale, value: f64| scale.loss(value).is_ok_and(|(back, _)| back == loss);
    if let Some(reward) = near.into_iter().find(|reward| back(scale, *reward)) {
        return Given::reward(reward);
    }
    let losses = Scale { rewards: false, ..scale };
    let own = losses.value(loss);
    if back(losses, own) { Given::loss(own) } else { Given::reward(reward) }
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
