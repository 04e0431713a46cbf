//! Reading a log.

use std::io::{self, BufRead};

use crate::{Chain, Fault, FaultKind, Faults, Record, RecordError};

/// Reads the lines of a log. A line that cannot be read is counted, and the first of each kind is quoted; where it is
/// [strict](Reader::strict), such a line is an error.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    buffer: Vec<u8>,
    lines: u64,
    bytes: u64,
    strict: bool,
    checks: bool,
    chain: Chain,
    faults: Faults,
    /// The kind of the fault of the last start, and its line: what follows is in units and names that are not known.
    astray: Option<(FaultKind, u64)>,
}

/// Why reading ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes cannot be read.
    #[error("the log cannot be read after line {line}")]
    Io {
        /// The last line that was read.
        line: u64,
        /// What the system says.
        #[source]
        why: io::Error,
    },
    /// A line has a fault, and the reader is strict.
    #[error("{0}")]
    Fault(Fault),
}

impl From<Fault> for ReadError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// How a start begins, where it is not what it should be.
const START: &[u8] = b"{\"kind\":\"start\"";

/// The longest line that is read: a line with a thousand actions and a hundred bases has about 2 MB.
const LONGEST: usize = 64 << 20;

impl<R: BufRead> Reader<R> {
    /// A reader that counts faults and does not look at the chain.
    pub fn new(from: R) -> Self {
        Self {
            from,
            buffer: Vec::new(),
            lines: 0,
            bytes: 0,
            strict: false,
            checks: false,
            chain: Chain::new(0),
            faults: Faults::default(),
            astray: None,
        }
    }

    /// Makes every fault an error.
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Checks the chain, with the secret that it was written with (0: none).
    pub fn checked(self, secret: u64) -> Self {
        Self { checks: true, chain: Chain::after(secret, self.chain.value()), ..self }
    }

    /// The next record that can be read; `None` at the end.
    ///
    /// # Errors
    /// The bytes cannot be read, or a line has a fault and the reader is strict.
    pub fn read(&mut self) -> Result<Option<Record>, ReadError> {
        loop {
            let Some(line) = self.line()? else { return Ok(None) };
            match Record::read(line) {
                Ok(record) => {
                    if self.strays(matches!(record, Record::Start(_)))? {
                        continue;
                    }
                    self.follow_chain()?;
                    return Ok(Some(record));
                }
                Err(error) => self.refuse(&error)?,
            }
        }
    }

    /// The next line without its line break; empty lines are passed over. A last line that was torn is a fault.
    ///
    /// # Errors
    /// The bytes cannot be read, or the last line was torn and the reader is strict.
    pub fn line(&mut self) -> Result<Option<&[u8]>, ReadError> {
        loop {
            self.buffer.clear();
            let mut limited = io::Read::take(&mut self.from, LONGEST as u64);
            let read = limited
                .read_until(b'\n', &mut self.buffer)
                .map_err(|why| ReadError::Io { line: self.lines, why })?;
            if read == 0 {
                return Ok(None);
            }
            self.lines += 1;
            let whole = self.buffer.pop_if(|c| *c == b'\n').is_some();
            self.buffer.pop_if(|c| *c == b'\r');
            if !whole && read == LONGEST {
                self.fault(FaultKind::Garbage, &"longer than any record")?;
                let rest =
                    self.from.skip_until(b'\n').map_err(|why| ReadError::Io { line: self.lines, why })?;
                self.bytes += (read + rest) as u64;
                continue;
            }
            if !whole && serde_json::from_slice::<serde::de::IgnoredAny>(&self.buffer).is_err() {
                self.fault(FaultKind::Torn, &"the log ends within this line")?;
                return Ok(None);
            }
            self.bytes += read as u64;
            if !self.buffer.is_empty() {
                break;
            }
        }
        Ok(Some(&self.buffer))
    }

    /// Follows the chain through the line that was read last.
    pub(crate) fn follow_chain(&mut self) -> Result<(), ReadError> {
        if !self.checks {
            return Ok(());
        }
        // A log may continue another: the first line says after which value.
        if self.lines == 1
            && let Ok(Record::Start(start)) = Record::read(&self.buffer)
        {
            self.chain = self.chain.at(start.first);
        }
        match self.chain.check(&self.buffer) {
            Ok(()) => Ok(()),
            Err(broken) => self.fault(FaultKind::Chain, &broken),
        }
    }

    /// Counts the line that was read last as one that is not a record.
    pub(crate) fn refuse(&mut self, error: &RecordError) -> Result<(), ReadError> {
        let kind = match error {
            RecordError::Version(_) => FaultKind::Version,
            _ => FaultKind::Garbage,
        };
        if kind == FaultKind::Version || self.buffer.starts_with(START) {
            self.astray = Some((kind, self.lines));
        }
        self.pass_chain();
        self.fault(kind, error)
    }

    /// Whether a start was refused, and what follows it is not what the start before says.
    pub(crate) fn is_astray(&self) -> bool {
        self.astray.is_some()
    }

    /// Counts the line that was read last where it stands behind a start that was refused: whether it does. A start that can be read
    /// ends that.
    pub(crate) fn strays(&mut self, is_start: bool) -> Result<bool, ReadError> {
        let Some((kind, line)) = self.astray else { return Ok(false) };
        if is_start {
            self.astray = None;
            return Ok(false);
        }
        self.pass_chain();
        self.fault(kind, &format_args!("it follows the start in line {line}, which cannot be read"))?;
        Ok(true)
    }

    /// Goes on with the chain behind a line with another fault: one fault a line.
    pub(crate) fn pass_chain(&mut self) {
        let _ = self.chain.check(&self.buffer);
    }

    /// Counts a fault of the line that was read last.
    ///
    /// # Errors
    /// The fault, where the reader is strict.
    pub fn fault(&mut self, kind: FaultKind, why: &dyn std::fmt::Display) -> Result<(), ReadError> {
        Ok(self.faults.take(Fault::new(kind, self.lines, why, &self.buffer), self.strict)?)
    }

    /// The line that was read last.
    pub(crate) fn last(&self) -> &[u8] {
        &self.buffer
    }

    /// How many lines were read.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// How many bytes the whole lines had that were read: a log with a torn last line is cut here before it goes on.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What was wrong.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Where the chain is after the last line, if it was [checked](Reader::checked).
    pub fn chain(&self) -> Chain {
        self.chain
    }
}
