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
    let (band, rest) = text.split_once('-')?;
    let (copy, round) = rest.split_once('-')?;
    let digits = |text: &str, radix| text.bytes().all(|b| char::from(b).is_digit(radix));
    if band.len() != 16 || !digits(band, 16) || !digits(copy, 10) || !digits(round, 10) {
        return None;
    }
    let band = u64::from_str_radix(band, 16).ok()?;
    Some(TicketId { band, copy: copy.parse().ok()?, round: round.parse().ok()? })
}

pub(crate) fn serialize<S: Serializer>(id: &TicketId, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(id)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TicketId, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(from)?;
    parse_id(&text).ok_or_else(|| D::Error::custom(format!("an id is band-copy-round, but is {text:?}")))
}
