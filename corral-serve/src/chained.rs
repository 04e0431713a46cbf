//! The segments that a process writes one after another: each is a log with a chain of its own.

use std::io;

use corral_log::{Chain, Record, Start, Writer};

use crate::layout::Layout;
use crate::store::{Segment, Store};

/// A segment is followed by another when it has this many bytes.
pub(crate) const LARGEST: u64 = 64 << 20;

/// A segment that was created, and its number.
pub(crate) type Numbered = (u64, Box<dyn Segment>);

/// Creates the next segment of a folder: its number is that of no other, in whatever process.
pub(crate) fn next_of(
    store: &dyn Store,
    folder: &str,
    after: u64,
    name: impl Fn(u64) -> String,
) -> io::Result<Numbered> {
    let listed = store.list(folder)?;
    let last = listed.iter().filter_map(|name| Layout::segment_number(name)).max().unwrap_or(0);
    let mut number = last.max(after) + 1;
    loop {
        if let Some(segment) = store.segment(&name(number))? {
            return Ok((number, segment));
        }
        number += 1;
    }
}

/// The segment that is written to. Its first line says what it is of.
pub(crate) struct Chained {
    start: Start,
    number: u64,
    /// Unset: the next lines begin another.
    segment: Option<Box<dyn Segment>>,
    chain: Chain,
    bytes: u64,
}

impl Chained {
    /// None yet: the first lines begin it.
    pub fn new(start: Start) -> Self {
        Self { start, number: 0, segment: None, chain: Chain::new(0), bytes: 0 }
    }

    /// One that was created, and is empty.
    pub fn begun(start: Start, (number, segment): Numbered) -> Self {
        Self { number, segment: Some(segment), ..Self::new(start) }
    }

    /// Appends lines in one write. Where there is no segment, or it is large, `next` creates the one after that number.
    ///
    /// # Errors
    /// What [`Segment::append`] says; what a segment holds behind a failed write is not known, and nothing is written there any
    /// more. None that `next` gives is of the kind that has a meaning there.
    pub fn append<'a>(
        &mut self,
        records: impl ExactSizeIterator<Item = &'a Record>,
        next: impl FnOnce(u64) -> io::Result<Numbered>,
    ) -> io::Result<()> {
        if self.bytes > LARGEST {
            self.segment = None;
        }
        let segment = match &mut self.segment {
            Some(segment) => segment,
            none => {
                let (number, segment) = next(self.number).map_err(io::Error::other)?;
                (self.number, self.chain, self.bytes) = (number, Chain::new(0), 0);
                none.insert(segment)
            }
        };
        let mut lines = Writer::with(Vec::with_capacity(records.len() * 512), self.chain);
        if self.bytes == 0 {
            lines.write(&Record::Start(self.start.clone()))?;
        }
        for record in records {
            lines.write(record)?;
        }
        let (chain, written) = (lines.chain(), lines.into_inner());
        if let Err(error) = segment.append(&written) {
            self.segment = None;
            return Err(error);
        }
        self.chain = chain;
        self.bytes += written.len() as u64;
        Ok(())
    }

    /// The number of the segment, and its bytes.
    pub fn place(&self) -> (u64, u64) {
        (self.number, self.bytes)
    }
}
