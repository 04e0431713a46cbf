//! A ticket's id as text: band-copy-round.

use corral_core::TicketId;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Reads what an id is displayed as: sixteen hexadecimal digits of the band, the copy and the round.
///
/// ```
/// use corral_core::TicketId;
/// let id = TicketId { band: 7, copy: 2, round: 1_000 };
/// assert_eq!(corral_log::parse_id(&id.to_string()), Some(id));
/// assert_eq!(corral_log::parse_id("0000000000000007-2"), None);
/// ```
pub fn parse_id(text: &str) -> Option<TicketId> {
    let (band, rest) = text.as_bytes().split_at_checked(16)?;
    let rest = rest.strip_prefix(b"-")?;
    let (copy, round) = rest.split_at(rest.iter().position(|c| *c == b'-')?);
    Some(TicketId { band: number(band, 16)?, copy: number(copy, 10)?, round: number(&round[1..], 10)? })
}

/// The number that digits alone say.
fn number(digits: &[u8], radix: u8) -> Option<u64> {
    let mut value = (!digits.is_empty()).then_some(0u64)?;
    for c in digits {
        let digit = char::from(*c).to_digit(u32::from(radix))?;
        value = value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

pub(crate) fn serialize<S: Serializer>(id: &TicketId, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(id)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TicketId, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(from)?;
    parse_id(&text).ok_or_else(|| D::Error::custom(format!("an id is band-copy-round, but is {text:?}")))
}
