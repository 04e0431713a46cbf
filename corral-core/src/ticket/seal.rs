//! What tells a ticket that comes back from one that was changed on its way.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU64;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer, ser};
use siphasher::sip::SipHasher24;

use super::{Ticket, TokenError, Trace};
use crate::Proposal;

/// Where a ticket has been. One that never left the process cannot have been changed: nothing of it can be written to. One
/// that did leave is bytes and a tag over them, made with the secret of its ensemble.
pub(super) enum Seal {
    /// It never left; the secret with which it is sealed when it does. Without one it cannot leave.
    Home(Option<NonZeroU64>),
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
    pub fn holds(&self, secret: Option<NonZeroU64>, band: u64) -> bool {
        match (self, secret) {
            (Self::Home(own), _) => *own == secret,
            (Self::Read(bytes), Some(secret)) => bytes
                .split_last_chunk::<TAG>()
                .is_some_and(|(content, tag)| tagged(secret, band, content) == *tag),
            (Self::Read(_), None) => false,
        }
    }
}

fn tagged(secret: NonZeroU64, band: u64, content: &[u8]) -> [u8; TAG] {
    siphash(secret.get(), band, content).to_le_bytes()
}

impl<D: Serialize> Ticket<D> {
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, TokenError> {
        match &self.seal {
            Seal::Read(bytes) => Ok(bytes.to_vec()),
            Seal::Home(None) => Err(TokenError::NoSecret),
            Seal::Home(Some(secret)) => {
                let mut bytes =
                    postcard::to_stdvec(&(&self.made, &self.trace)).map_err(TokenError::unwritten)?;
                let tag = tagged(*secret, self.trace.ensemble, &bytes);
                bytes.extend_from_slice(&tag);
                Ok(bytes)
            }
        }
    }
}

impl<D: DeserializeOwned> Ticket<D> {
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Result<Self, TokenError> {
        let content = bytes.len().checked_sub(TAG).ok_or(TokenError::Damaged)?;
        let read = postcard::take_from_bytes::<(Proposal<D>, Trace)>(&bytes[..content]);
        match read {
            Ok(((made, trace), [])) => Ok(Self { made, trace, seal: Seal::Read(bytes.into()) }),
            _ => Err(TokenError::Damaged),
        }
    }
}

impl<D: Serialize> Serialize for Ticket<D> {
    /// Opaque bytes, and where a format is for people, the [token](Ticket::token): what is carried is what comes back, to the
    /// last bit, whatever a format does to numbers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&self.token().map_err(ser::Error::custom)?)
        } else {
            serializer.serialize_bytes(&self.to_bytes().map_err(ser::Error::custom)?)
        }
    }
}

impl<'de, D: DeserializeOwned> Deserialize<'de> for Ticket<D> {
    fn deserialize<S: Deserializer<'de>>(from: S) -> Result<Self, S::Error> {
        if from.is_human_readable() {
            from.deserialize_str(Sealed(PhantomData))
        } else {
            from.deserialize_byte_buf(Sealed(PhantomData))
        }
    }
}

struct Sealed<D>(PhantomData<D>);

impl<D: DeserializeOwned> Visitor<'_> for Sealed<D> {
    type Value = Ticket<D>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sealed ticket")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Ticket<D>, E> {
        Ticket::from_bytes(bytes.to_vec()).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Ticket<D>, E> {
        Ticket::from_token(text).map_err(E::custom)
    }
}

/// SipHash-2-4 of Aumasson and Bernstein 2012: without the key no one finds the tag of other bytes.
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
