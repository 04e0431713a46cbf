//! The chain through the lines of a log.

use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher;

/// The value that a line of a log ends with: SipHash-2-4 with 128 bits (Aumasson, Bernstein 2012) over the value of the line
/// before and the bytes of this line up to its field `chain`. A line that is missing, changed, doubled or out of order does
/// not have the value that follows from the lines before it.
///
/// Without a secret the chain finds accidents. With one, whoever does not know it cannot write lines that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    secret: u64,
    value: u128,
}

/// A line that does not follow from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It ends with another value.
    #[error("it does not follow the line before it: a line was changed, removed, doubled or moved here")]
    Differs,
    /// It does not end with a value.
    #[error("it does not end with the field \"chain\" and 32 hexadecimal digits")]
    Missing,
}

/// What stands before the value: the end of a line is this, 32 digits, `"}`.
const FIELD: &[u8] = b",\"chain\":\"";
const END: &[u8] = b"\"}";
const DIGITS: usize = 32;

impl Chain {
    /// A chain whose first value is 0.
    pub fn new(secret: u64) -> Self {
        Self { secret, value: 0 }
    }

    /// A chain that goes on after `value`: that of the last line so far, or of the last line of the log before.
    pub fn after(secret: u64, value: u128) -> Self {
        Self { secret, value }
    }

    /// The value of the last line.
    pub fn value(&self) -> u128 {
        self.value
    }

    /// This chain, gone on to `value`.
    pub(crate) fn at(self, value: u128) -> Self {
        Self { value, ..self }
    }

    /// Closes a line: `line` is a JSON object up to its last field, without the closing brace.
    pub(crate) fn close(&mut self, line: &mut Vec<u8>) {
        self.value = self.next(line);
        line.extend_from_slice(FIELD);
        let mut value = self.value;
        let digit = |d: u128| b"0123456789abcdef"[d as usize];
        line.extend(std::array::from_fn::<u8, DIGITS, _>(|_| {
            value = value.rotate_left(4);
            digit(value & 15)
        }));
        line.extend_from_slice(END);
    }

    /// Checks a whole line, without its line break, and moves on to it.
    ///
    /// # Errors
    /// It does not follow from the line before. The chain goes on from the value that it has.
    pub fn check(&mut self, line: &[u8]) -> Result<(), Broken> {
        let (content, found) = split(line).ok_or(Broken::Missing)?;
        let expected = self.next(content);
        self.value = found;
        if expected == found { Ok(()) } else { Err(Broken::Differs) }
    }

    fn next(&self, content: &[u8]) -> u128 {
        let mut hasher = SipHasher24::new_with_keys(self.secret, 0);
        hasher.write(&self.value.to_le_bytes());
        hasher.write(content);
        hasher.finish128().into()
    }
}

/// The bytes of a line before its field `chain`, and the value.
fn split(line: &[u8]) -> Option<(&[u8], u128)> {
    let rest = line.strip_suffix(END)?;
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    // Lower case alone, as they are written: each value has one text.
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let value = digits.iter().try_fold(0u128, |value, c| Some(value << 4 | u128::from(digit(*c)?)))?;
    Some((rest.strip_suffix(FIELD)?, value))
}

/// A chain value as text.
pub(crate) mod text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &u128, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{value:032x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        let value = u128::from_str_radix(&text, 16).ok().filter(|_| text.len() == super::DIGITS);
        value.ok_or_else(|| {
            D::Error::custom(format!("a chain value is 32 hexadecimal digits, but is {text:?}"))
        })
    }
}
