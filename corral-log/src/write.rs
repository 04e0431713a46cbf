//! Writing a log.

use std::io::{self, Write};

use crate::{Chain, Record};

/// Writes records, a line each, in a chain. A line is given to `W` in one call, so that a file that is appended to holds whole
/// lines, and a torn one at most at its end.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    chain: Chain,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// A new log whose chain has no secret.
    pub fn new(to: W) -> Self {
        Self::with(to, Chain::new(0))
    }

    /// A log whose lines follow `chain`: a new one with a secret, or one that goes on
    /// ([`Reader::chain`](crate::Reader::chain) of what is there).
    pub fn with(to: W, chain: Chain) -> Self {
        Self { to, chain, line: Vec::new() }
    }

    /// Writes one line. The field `first` of a start is set to what the chain is at.
    ///
    /// # Errors
    /// What `W` says; whether a part of the line was written is known to `W` alone.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        self.line.clear();
        match record {
            Record::Start(start) => {
                let first = self.chain.value();
                Record::Start(crate::Start { first, ..start.clone() }).write(&mut self.line)?;
            }
            record => record.write(&mut self.line)?,
        }
        let before = self.chain;
        self.chain.close(&mut self.line);
        self.line.push(b'\n');
        // A line that was not written is not part of the chain.
        self.to.write_all(&self.line).inspect_err(|_| self.chain = before)
    }

    /// Where the chain is.
    pub fn chain(&self) -> Chain {
        self.chain
    }

    /// What it writes to.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.to
    }

    /// What it wrote to.
    pub fn into_inner(self) -> W {
        self.to
    }
}
