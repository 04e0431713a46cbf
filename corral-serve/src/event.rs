//! What a line of a segment says to the learner.

use std::borrow::Cow;
use std::ops::Range;

use corral_core::{Context, Ticket, TicketId};
use corral_log::{Chain, Member, Record, parse_id};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// What is learned from a line.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are of the large one")]
pub(crate) enum Event<D> {
    /// A decision of the band and its reward; `full`: every base's own probability of every action, where that was logged.
    Reward { ticket: Ticket<D>, context: Context, value: f64, full: Vec<f64> },
    /// A decision that the band did not make, and its reward.
    Default { id: TicketId, value: f64 },
    /// A base came or went.
    Member(Member),
    /// Nothing.
    Start,
}

impl<D> Event<D> {
    /// The decision that it is about.
    pub fn id(&self) -> Option<TicketId> {
        match self {
            Self::Reward { ticket, .. } => Some(ticket.id()),
            Self::Default { id, .. } => Some(*id),
            Self::Member(_) | Self::Start => None,
        }
    }
}

/// The fields that are needed of a line `both`, which is read in one pass.
#[derive(Deserialize)]
struct Both<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    ticket: Option<Cow<'a, str>>,
    #[serde(default)]
    context: Option<Context>,
    #[serde(default)]
    reward: Option<f64>,
    #[serde(default)]
    loss: Option<f64>,
    #[serde(default)]
    full: Vec<Option<f64>>,
}

impl<D: DeserializeOwned> Event<D> {
    /// Reads a line.
    pub fn read(line: &[u8]) -> Result<Self, String> {
        if !line.starts_with(b"{\"kind\":\"both\"") {
            return match Record::read(line).map_err(|e| e.to_string())? {
                Record::Start(_) => Ok(Self::Start),
                Record::Member(member) => Ok(Self::Member(member)),
                other => Err(format!("a line of kind {:?} in a segment", other.kind())),
            };
        }
        let both: Both<'_> = serde_json::from_slice(line).map_err(|e| e.to_string())?;
        let value = both.reward.or(both.loss).ok_or("an outcome without a number")?;
        match (both.ticket, both.context) {
            (Some(ticket), Some(context)) => {
                let ticket = Ticket::from_token(&ticket).map_err(|e| e.to_string())?;
                let full = both.full.into_iter().map(|q| q.unwrap_or(f64::NAN)).collect();
                Ok(Self::Reward { ticket, context, value, full })
            }
            _ => {
                let id = parse_id(&both.id).ok_or("an id that is not band-copy-round")?;
                Ok(Self::Default { id, value })
            }
        }
    }
}

/// Whole lines of a segment, with where each stands.
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    /// The bytes with the line break, and the line without it.
    type Item = (Range<usize>, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.bytes[self.at..];
        let end = memchr::memchr(b'\n', rest)?;
        let from = self.at;
        self.at += end + 1;
        Some((from..self.at, &rest[..end]))
    }
}

/// A line that cannot be read, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub at: usize,
    pub why: String,
}

/// Reads the whole lines of `bytes`, which follow `chain`, into `found`; at most `most`. Says how far they go. A line that is not what
/// the service wrote ends it.
pub(crate) fn events<D: DeserializeOwned>(
    bytes: &[u8],
    chain: &mut Chain,
    most: usize,
    found: &mut Vec<Event<D>>,
) -> (usize, Option<Fault>) {
    let mut end = 0;
    for (place, line) in Lines::of(bytes).take(most) {
        let before = *chain;
        let read = chain.check(line).map_err(|e| e.to_string()).and_then(|()| Event::read(line));
        match read {
            Ok(event) => found.push(event),
            Err(why) => {
                *chain = before;
                return (end, Some(Fault { at: place.start, why }));
            }
        }
        end = place.end;
    }
    (end, None)
}
