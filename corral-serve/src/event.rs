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

#[cfg(test)]
mod tests {
    use corral_core::Arm;
    use corral_log::{Change, Writer};

    use super::*;

    /// How many lines of `bytes` are taken, and whether there is a fault behind them.
    fn taken(bytes: &[u8]) -> (usize, bool) {
        let (mut chain, mut found) = (Chain::new(0), Vec::<Event<Arm>>::new());
        let (_, fault) = events(bytes, &mut chain, usize::MAX, &mut found);
        (found.len(), fault.is_some())
    }

    #[test]
    fn a_line_that_was_changed_moved_or_lost_ends_what_is_taken() {
        let mut lines = Writer::with(Vec::new(), Chain::new(0));
        for base in 0..3 {
            let (name, share) = ("ucb1".to_owned(), Some(0.25));
            let member = Member { change: Change::Reinstate, base, name, share, params: None };
            lines.write(&Record::Member(member)).unwrap();
        }
        let whole = String::from_utf8(lines.into_inner()).unwrap();
        assert_eq!(taken(whole.as_bytes()), (3, false));
        let [first, second, third] = whole.split_inclusive('\n').collect::<Vec<_>>()[..] else { panic!() };
        // Each of them is a line that can be read, in a chain that does not hold.
        let changed = second.replace("0.25", "0.75");
        assert_ne!(changed, second);
        assert_eq!(taken(format!("{first}{changed}{third}").as_bytes()), (1, true));
        assert_eq!(taken(format!("{first}{third}").as_bytes()), (1, true), "lost");
        assert_eq!(taken(format!("{first}{third}{second}").as_bytes()), (1, true), "moved");
        assert_eq!(taken(format!("{first}{first}{second}").as_bytes()), (1, true), "doubled");
    }
}
