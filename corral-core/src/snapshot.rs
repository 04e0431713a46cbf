//! Framed snapshots: magic, format version, algorithm, version of its state, length, payload, checksum.
//!
//! ```
//! use corral_core::snapshot;
//! let bytes = snapshot::seal("counter", 1, &42u64);
//! assert_eq!(snapshot::open::<u64>("counter", 1, &bytes), Ok(42));
//! assert!(snapshot::open::<u64>("other", 1, &bytes).is_err());
//! ```

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

const MAGIC: [u8; 4] = *b"CRRL";
const FORMAT: u8 = 1;

/// Why a snapshot cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It does not begin like one.
    #[error("not a snapshot: it does not begin with the magic bytes")]
    Magic,
    /// Its framing is newer or older than this library.
    #[error("a snapshot of format {found}; this library reads format {FORMAT}")]
    Format {
        /// The format that was found.
        found: u8,
    },
    /// It is of something else.
    #[error("a snapshot of {found:?}, not of {expected:?}")]
    Algorithm {
        /// What it is of.
        found: String,
        /// What was asked for.
        expected: String,
    },
    /// It is of the right algorithm, but its state has another version.
    #[error("version {found} of the state of {algorithm:?}; this library reads version {expected}")]
    Version {
        /// The algorithm.
        algorithm: String,
        /// The version that was found.
        found: u16,
        /// The version that was asked for.
        expected: u16,
    },
    /// It ends too early, or goes on too long.
    #[error("a snapshot of {found} bytes where {expected} were announced")]
    Length {
        /// Bytes that are there.
        found: usize,
        /// Bytes that should be there.
        expected: u64,
    },
    /// Its checksum does not match.
    #[error("the snapshot is damaged: checksum {found:016x}, expected {expected:016x}")]
    Checksum {
        /// The checksum of what is there.
        found: u64,
        /// The checksum that was written.
        expected: u64,
    },
    /// Its content is not a state of the algorithm.
    #[error("the snapshot does not hold a valid state: {0}")]
    State(String),
}

impl SnapshotError {
    /// The content was read, and is not a valid state: `why`.
    pub fn state(why: impl std::fmt::Display) -> Self {
        Self::State(why.to_string())
    }
}

/// Refuses a state that was read and is not `sound`: says what it `has`.
///
/// # Errors
/// It is not sound.
pub fn ensure(sound: bool, has: impl fmt::Display) -> Result<(), SnapshotError> {
    if sound { Ok(()) } else { Err(SnapshotError::state(has)) }
}

/// Refuses a count of rounds that no run reaches: up to 2^53 they are numbers of f64 too, and one more is no overflow.
pub(crate) fn counted(rounds: u64) -> Result<(), SnapshotError> {
    ensure(rounds <= 1 << f64::MANTISSA_DIGITS, format_args!("{rounds} rounds"))
}

/// FNV-1a, 64 bits: a check against accidents, not against enemies.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Frames `state` as a snapshot of `algorithm`. `version` is that of the state's layout. An algorithm's name longer
/// than 255 bytes is cut.
///
/// States are plain data: numbers, vectors, options. A state that serde itself refuses gives an empty payload, which
/// [`open`] then refuses.
pub fn seal<T: Serialize + ?Sized>(algorithm: &str, version: u16, state: &T) -> Vec<u8> {
    let name = &algorithm.as_bytes()[..algorithm.len().min(255)];
    let payload = postcard::to_stdvec(state).unwrap_or_default();
    let mut head = Vec::with_capacity(payload.len() + name.len() + 24);
    head.extend_from_slice(&MAGIC);
    head.extend_from_slice(&[FORMAT, name.len() as u8]);
    head.extend_from_slice(name);
    frame(head, version, &payload)
}

/// What follows the head: version, length, payload and checksum.
fn frame(mut out: Vec<u8>, version: u16, payload: &[u8]) -> Vec<u8> {
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    out.extend_from_slice(payload);
    let sum = checksum(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

/// Opens a frame, lets `change` at its version and payload, and frames it again with a right checksum. `None`: it is
/// no frame.
#[cfg(feature = "contract")]
pub(crate) fn reframe(bytes: &[u8], change: impl FnOnce(&mut u16, &mut Vec<u8>)) -> Option<Vec<u8>> {
    let name_len = usize::from(*bytes.get(5)?);
    let head = 6 + name_len;
    let end = bytes.len().checked_sub(8)?;
    if !bytes.starts_with(&MAGIC) || end < head + 10 {
        return None;
    }
    let mut version = u16::from_le_bytes([bytes[head], bytes[head + 1]]);
    let mut payload = bytes[head + 10..end].to_vec();
    change(&mut version, &mut payload);
    Some(frame(bytes[..head].to_vec(), version, &payload))
}

/// Reads back what [`seal`] wrote. The caller still owes the checks that a constructor would make.
///
/// # Errors
/// One variant per thing that can be wrong; nothing is allocated beyond the input's size.
pub fn open<T: DeserializeOwned>(algorithm: &str, version: u16, bytes: &[u8]) -> Result<T, SnapshotError> {
    let cut = |expected: usize| SnapshotError::Length { found: bytes.len(), expected: expected as u64 };
    let array = |at: usize, n: usize| bytes.get(at..at + n).ok_or_else(|| cut(at + n));

    if bytes.len() < MAGIC.len() || bytes[..4] != MAGIC {
        return Err(SnapshotError::Magic);
    }
    let format = array(4, 1)?[0];
    if format != FORMAT {
        return Err(SnapshotError::Format { found: format });
    }
    let name_len = array(5, 1)?[0] as usize;
    let name = array(6, name_len)?;
    let at = 6 + name_len;
    let found_version = u16::from_le_bytes([array(at, 2)?[0], array(at, 2)?[1]]);
    let length = le_u64(array(at + 2, 8)?);
    let body = at + 10;
    let expected = (body as u64).saturating_add(length).saturating_add(8);
    if bytes.len() as u64 != expected {
        return Err(SnapshotError::Length { found: bytes.len(), expected });
    }
    let end = bytes.len() - 8;
    let (found_sum, written) = (checksum(&bytes[..end]), le_u64(&bytes[end..]));
    if found_sum != written {
        return Err(SnapshotError::Checksum { found: found_sum, expected: written });
    }
    if name != &algorithm.as_bytes()[..algorithm.len().min(255)] {
        return Err(SnapshotError::Algorithm {
            found: String::from_utf8_lossy(name).into_owned(),
            expected: algorithm.to_owned(),
        });
    }
    if found_version != version {
        return Err(SnapshotError::Version {
            algorithm: algorithm.to_owned(),
            found: found_version,
            expected: version,
        });
    }
    let (state, rest) = postcard::take_from_bytes(&bytes[body..end]).map_err(SnapshotError::state)?;
    ensure(rest.is_empty(), format_args!("{} bytes are left over", rest.len()))?;
    Ok(state)
}

/// Reads a vector whose announced length is not believed: it grows with what is really there. For vectors of things
/// that are much larger than their encoding (`#[serde(deserialize_with = "...")]`).
///
/// # Errors
/// Those of the deserializer.
pub fn untrusted<'de, T: Deserialize<'de>, S: Deserializer<'de>>(from: S) -> Result<Vec<T>, S::Error> {
    struct Grow<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Grow<T> {
        type Value = Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut grown = Vec::new();
            while let Some(item) = items.next_element()? {
                grown.push(item);
            }
            Ok(grown)
        }
    }
    from.deserialize_seq(Grow(PhantomData))
}

/// The last field of a state that older snapshots do not have (`#[serde(with = "...")]`): nothing is written where it is the
/// default, and the default is read where nothing is written.
pub mod later {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes it, unless it is the default.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<T: Serialize + Default + PartialEq, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        if *value == T::default() { to.serialize_unit() } else { value.serialize(to) }
    }

    /// Reads it, where it is there.
    ///
    /// # Errors
    /// None.
    pub fn deserialize<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        Ok(T::deserialize(from).unwrap_or_default())
    }
}

fn le_u64(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |acc, b| (acc << 8) | u64::from(*b))
}
