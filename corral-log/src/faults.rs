//! What was wrong with lines of a log.

use std::fmt;

use corral_core::text::visible;

/// What can be wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// It is not a record.
    Garbage,
    /// It is of a version that this library does not read.
    Version,
    /// It does not follow from the line before.
    Chain,
    /// The file ends within it: what wrote it stopped there.
    Torn,
    /// Its id was there before.
    Duplicate,
    /// Its propensity is not in (0, 1].
    Propensity,
    /// Its action was not offered.
    Action,
    /// Its reward or loss lies outside the range that the log states.
    Reward,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Garbage => "not a record",
            Self::Version => "another version",
            Self::Chain => "breaks the chain",
            Self::Torn => "torn last line",
            Self::Duplicate => "duplicate id",
            Self::Propensity => "propensity outside (0, 1]",
            Self::Action => "action not offered",
            Self::Reward => "reward outside its range",
        })
    }
}

/// A line that cannot be used, and why.
pub(crate) type Refused = (FaultKind, String);

/// One line and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// The line, counted from 1.
    pub line: u64,
    /// What exactly.
    pub why: String,
    /// How the line begins.
    pub quote: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.why, self.quote)
    }
}

/// How many characters of a line are quoted.
const QUOTE: usize = 80;

impl Fault {
    /// What is said of a row whose id was there before.
    pub(crate) const SEEN: &str = "its id was there before";

    pub(crate) fn new(kind: FaultKind, line: u64, why: impl fmt::Display, text: &[u8]) -> Self {
        let head = String::from_utf8_lossy(&text[..text.len().min(4 * QUOTE)]);
        let mut quote: String = visible(&head).chars().take(QUOTE).collect();
        if text.len() > quote.len() {
            quote.push_str("...");
        }
        Self { kind, line, why: why.to_string(), quote }
    }
}

/// Counts of faults; the first of each kind is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    kinds: Vec<(u64, Fault)>,
}

impl Faults {
    /// Counts a fault; where the reader is `strict` it is an error. A torn last line is what a crash leaves behind, and no fault
    /// of whoever wrote the lines before it: it is counted.
    pub(crate) fn take(&mut self, fault: Fault, strict: bool) -> Result<(), Fault> {
        if strict && fault.kind != FaultKind::Torn {
            return Err(fault);
        }
        match self.kinds.iter_mut().find(|(_, first)| first.kind == fault.kind) {
            Some((count, _)) => *count += 1,
            None => self.kinds.push((1, fault)),
        }
        Ok(())
    }

    /// How many lines had a fault.
    pub fn count(&self) -> u64 {
        self.kinds.iter().map(|(count, _)| count).sum()
    }

    /// How many lines had a fault of this kind.
    pub fn of(&self, kind: FaultKind) -> u64 {
        self.kinds.iter().find(|(_, first)| first.kind == kind).map_or(0, |(count, _)| *count)
    }

    /// Each kind that occurred: how often, and the first line that had it.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Fault)> {
        self.kinds.iter().map(|(count, first)| (*count, first))
    }
}
