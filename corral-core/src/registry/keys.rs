//! Reading parameters so that an unknown key is reported with the nearest known ones.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::StringDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor,
};

/// What went wrong while reading parameters.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum KeyError {
    /// A key that the parameters do not have, and those they have.
    #[error("unknown key {key:?}")]
    Unknown { key: String, known: &'static [&'static str] },
    /// A key whose value is of another type, in serde's words.
    #[error("{why}")]
    Value { key: String, why: String },
    /// Anything else, in serde's words.
    #[error("{}", .0.trim_end())]
    Other(String),
}

impl de::Error for KeyError {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self::Other(why.to_string())
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self::Unknown { key: field.to_owned(), known }
    }
}

/// Reads a struct whose derive denies unknown fields from a map, and says which keys the map had.
pub(super) fn read<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    params: D,
) -> (Result<T, KeyError>, Vec<String>) {
    let mut given = Vec::new();
    let read = params.deserialize_map(Keys { given: &mut given, read: PhantomData });
    (read.unwrap_or_else(|e| Err(KeyError::Other(e.to_string()))), given)
}

/// Reads the map of the foreign deserializer with our own error type, which remembers an unknown key as data.
struct Keys<'a, T> {
    given: &'a mut Vec<String>,
    read: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Keys<'_, T> {
    type Value = Result<T, KeyError>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of parameters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let entries = Entries { map: &mut map, given: self.given };
        let read = T::deserialize(de::value::MapAccessDeserializer::new(entries));
        // A map that is left in its middle is an error to some formats, which would hide ours.
        while read.is_err() && map.next_entry::<de::IgnoredAny, de::IgnoredAny>()?.is_some() {}
        Ok(read)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        let none = std::iter::empty::<(String, f64)>();
        Ok(T::deserialize(de::value::MapDeserializer::<_, KeyError>::new(none)))
    }
}

struct Entries<'a, A> {
    map: A,
    given: &'a mut Vec<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = KeyError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, KeyError> {
        let Some(key) = self.map.next_key::<String>().map_err(|e| KeyError::Other(e.to_string()))? else {
            return Ok(None);
        };
        self.given.push(key.clone());
        let key: StringDeserializer<KeyError> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, KeyError> {
        self.map.next_value_seed(seed).map_err(|e| blamed(self.given, &e.to_string()))
    }
}

/// What `why`, the words of a reader, says of the key that was read last. Apart from the code that every struct of parameters has.
#[cold]
#[inline(never)]
fn blamed(given: &[String], why: &str) -> KeyError {
    let key = given.last().map(String::as_str).unwrap_or_default();
    // TOML's reader names the place again in further lines, and says of a number in place of a word what its own code
    // expected.
    let why = match why.lines().next().unwrap_or_default() {
        "invalid type: unit variant, expected string only" => {
            format!("key {key:?} must be one of its words, in quotes")
        }
        why => match why.strip_prefix("invalid type: sequence, expected ") {
            Some(one) => {
                format!("key {key:?} takes one value ({one}), not a list; a spec tries several by [sweep]")
            }
            None => format!("key {key:?}: {why}"),
        },
    };
    KeyError::Value { key: key.to_owned(), why }
}
