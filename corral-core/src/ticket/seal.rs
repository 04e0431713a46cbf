//! What tells a ticket that comes back from one that was changed on its way.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer, ser};
use siphasher::sip::SipHasher24;

use super::{Ticket, Trace};
use crate::Proposal;

/// Where a ticket has been. One that never left the process cannot have been changed: nothing of it can be written to. One
/// that did leave is bytes and a tag over them, made with the secret of its ensemble.
pub(super) enum Seal {
    /// It never left; the secret with which it is sealed when it does.
    Home(u64),
    /// The bytes that it was read from, the tag at their end.
    Read(Box<[u8]>),
}

const TAG: usize = 8;

impl fmt::Debug for Seal {
    /// The secret stays one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Home(_) => "Home",
            Self::Read(_) => "Read",
        })
    }
}

impl Seal {
    /// Whether a ticket of `band` is what an ensemble with this secret made.
    pub fn holds(&self, secret: u64, band: u64) -> bool {
        match self {
            Self::Home(own) => *own == secret,
            Self::Read(bytes) => bytes
                .split_last_chunk::<TAG>()
                .is_some_and(|(content, tag)| tagged(secret, band, content) == *tag),
        }
    }
}

fn tagged(secret: u64, band: u64, content: &[u8]) -> [u8; TAG] {
    siphash(secret, band, content).to_le_bytes()
}

impl<D: Serialize> Ticket<D> {
    fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        match &self.seal {
            Seal::Read(bytes) => Ok(bytes.to_vec()),
            Seal::Home(secret) => {
                let mut bytes = postcard::to_stdvec(&(&self.made, &self.trace))?;
                let tag = tagged(*secret, self.trace.ensemble, &bytes);
                bytes.extend_from_slice(&tag);
                Ok(bytes)
            }
        }
    }
}

impl<D: DeserializeOwned> Ticket<D> {
    fn from_bytes(bytes: Vec<u8>) -> Result<Self, &'static str> {
        let content = bytes.len().checked_sub(TAG).ok_or("a ticket is longer")?;
        let read = postcard::take_from_bytes::<(Proposal<D>, Trace)>(&bytes[..content]);
        match read {
            Ok(((made, trace), [])) => Ok(Self { made, trace, seal: Seal::Read(bytes.into()) }),
            _ => Err("this is no ticket"),
        }
    }
}

impl<D: Serialize> Serialize for Ticket<D> {
    /// Opaque bytes, and where a format is for people, as hexadecimal digits: what is carried is what comes back, to the last
    /// bit, whatever a format does to numbers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.to_bytes().map_err(ser::Error::custom)?;
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&bytes);
        }
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|d| char::from(DIGITS[usize::from(d)]));
        serializer.serialize_str(&digits.collect::<String>())
    }
}

impl<'de, D: DeserializeOwned> Deserialize<'de> for Ticket<D> {
    fn deserialize<S: Deserializer<'de>>(from: S) -> Result<Self, S::Error> {
        let bytes = if from.is_human_readable() {
            from.deserialize_str(Sealed)?
        } else {
            from.deserialize_byte_buf(Sealed)?
        };
        Self::from_bytes(bytes).map_err(de::Error::custom)
    }
}

struct Sealed;

impl Visitor<'_> for Sealed {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sealed ticket")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<u8>, E> {
        let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
        let pairs = text.as_bytes().chunks(2);
        let byte = |pair: &[u8]| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        pairs
            .map(byte)
            .collect::<Option<_>>()
            .ok_or_else(|| E::custom("a ticket is pairs of hexadecimal digits"))
    }
}

/// SipHash-2-4 of Aumasson and Bernstein 2012: without the key nobody finds the tag of other bytes.
pub(super) fn siphash(k0: u64, k1: u64, bytes: &[u8]) -> u64 {
    SipHasher24::new_with_keys(k0, k1).hash(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of the reference implementation: key 00 01 .. 0f, the bytes 00 01 02 ...
    #[test]
    fn siphash_agrees_with_its_reference() {
        let key = |at: u64| u64::from_le_bytes(std::array::from_fn(|i| at as u8 + i as u8));
        let of = |length: u8| siphash(key(0), key(8), &(0..length).collect::<Vec<u8>>());
        assert_eq!(of(0), 0x726f_db47_dd0e_0e31);
        assert_eq!(of(1), 0x74f8_39c5_93dc_67fd);
        assert_eq!(of(8), 0x93f5_f579_9a93_2462);
        assert_eq!(of(15), 0xa129_ca61_49be_45e5);
        assert_eq!(of(63), 0x958a_324c_eb06_4572);
    }
}
