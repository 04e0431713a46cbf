//! Things that are built by name: masters, bases, environments, plugins. What is said of them is plain data, and how they
//! are found, read and refused is written once.
//!
//! ```
//! use corral_core::registry::{Entry, Kind, Registry, RegistryRow, Status};
//!
//! corral_core::params! {
//!     /// Parameters of a coin.
//!     pub struct CoinParams {
//!         /// The probability of heads.
//!         bias: f64 = 0.5, corral_core::params::Bounds::UNIT;
//!     }
//! }
//! let coin = Entry { name: "coin", summary: "A coin.", kind: Kind::Any, ..Entry::EMPTY };
//! let build: fn() -> u8 = || 1;
//! let things = Registry::new("thing", vec![RegistryRow::of::<CoinParams>(coin, build)]);
//!
//! assert_eq!((things.find("coin").unwrap().build)(), 1);
//! let unknown = things.find("coim").err().unwrap();
//! assert_eq!(unknown.to_string(), r#"unknown thing "coim"; did you mean "coin"?"#);
//! ```

use std::fmt;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use crate::ParamError;
use crate::params::Params;

mod keys;
pub mod table;

/// Which decisions something is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Arms, without side information.
    Arms,
    /// Arms, with contexts.
    Contextual,
    /// Points of R^d.
    Points,
    /// Any.
    Any,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// How well founded something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Named in Table 1 or in a theorem of the paper of Corral.
    Paper,
    /// Textbook, or checked against its own paper.
    Standard,
    /// New here, or without a proof.
    Experimental,
    /// Its bound was derived here for the rule of the code (docs/master-bounds.md), which its paper may have otherwise.
    Derived,
    /// Its constants were not checked against the original.
    FromMemory,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Paper => "paper",
            Self::Standard => "standard",
            Self::Experimental => "experimental",
            Self::Derived => "derived",
            Self::FromMemory => "from memory",
        })
    }
}

/// What is said of one thing that can be built by name.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Entry {
    /// The name in a spec file: `tsallis-inf`.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Where it comes from: authors, year, title.
    pub source: &'static str,
    /// Regret, in words and symbols.
    pub regret: &'static str,
    /// The stability exponent alpha, for bases that have one.
    pub alpha: Option<f64>,
    /// The environments it is for (bases), or what it takes (environments, masters).
    pub fits: &'static str,
    /// Cost of a round.
    pub cost: &'static str,
    /// Which decisions.
    pub kind: Kind,
    /// How well founded it is.
    pub status: Status,
}

impl Entry {
    /// Nothing is said yet: for `..Entry::EMPTY`.
    pub const EMPTY: Self = Self {
        name: "",
        summary: "",
        source: "",
        regret: "",
        alpha: None,
        fits: "",
        cost: "",
        kind: Kind::Any,
        status: Status::Standard,
    };
}

/// One row of a registry: what is said of a thing, its parameters, and how it is built.
#[derive(Debug, Clone, Copy)]
pub struct RegistryRow<B> {
    /// What is said of it.
    pub entry: Entry,
    /// The JSON Schema of its parameters.
    #[cfg(feature = "describe")]
    pub schema: fn() -> serde_json::Value,
    /// How it is built: a function, whose type is the registry's own.
    pub build: B,
}

impl<B> RegistryRow<B> {
    /// The row of a thing with the parameters `P`.
    pub fn of<P: Params>(entry: Entry, build: B) -> Self {
        Self {
            entry,
            #[cfg(feature = "describe")]
            schema: P::schema,
            build,
        }
    }

    /// Its parameters, as a table shows them.
    #[cfg(feature = "describe")]
    pub fn fields(&self) -> Vec<crate::params::describe::Field> {
        crate::params::describe::fields_of(&(self.schema)())
    }
}

/// Everything of one sort that can be built by name.
#[derive(Debug, Clone)]
pub struct Registry<B> {
    what: &'static str,
    rows: Vec<RegistryRow<B>>,
}

impl<B> Registry<B> {
    /// The registry of `what` ("base", "environment").
    pub fn new(what: &'static str, rows: Vec<RegistryRow<B>>) -> Self {
        Self { what, rows }
    }

    /// What is in it: "base", "environment".
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// Every row, in order.
    pub fn rows(&self) -> std::slice::Iter<'_, RegistryRow<B>> {
        self.rows.iter()
    }

    /// What is said of everything, in order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> + Clone {
        self.rows().map(|row| &row.entry)
    }

    /// The row of this name.
    ///
    /// # Errors
    /// There is none; the nearest names are suggested.
    pub fn find(&self, name: &str) -> Result<&RegistryRow<B>, BuildError> {
        let found = self.rows().find(|row| row.entry.name == name);
        found.ok_or_else(|| Unknown::new(self.what, name, self.entries().map(|e| e.name)).into())
    }

    /// Reads the parameters of the thing `name` from a map that holds nothing but its own keys.
    ///
    /// # Errors
    /// An unknown key (with the nearest known ones), one that is missing, a value of another type or out of bounds.
    pub fn read<'de, P: Params, D: Deserializer<'de>>(&self, name: &str, map: D) -> Result<P, BuildError> {
        read(self.what, name, map)
    }
}

/// Reads the parameters of the `what` that is called `name` from a map.
///
/// # Errors
/// An unknown key (with the nearest known ones), one that is missing, a value of another type or out of bounds.
pub fn read<'de, P: Params, D: Deserializer<'de>>(
    what: &'static str,
    name: &str,
    map: D,
) -> Result<P, BuildError> {
    let (read, given) = keys::read::<P, D>(map);
    let params = read.map_err(|error| unread(what, name, error))?;
    if let Some(missing) = P::REQUIRED.iter().find(|key| !given.iter().any(|g| g == *key)) {
        return Err(lacking(what, name, missing));
    }
    params.check().map_err(|e| BuildError::param(what, name, &e))?;
    Ok(params)
}

/// What is said of parameters that cannot be read. Apart from [`read`], of which every thing has its own.
#[cold]
#[inline(never)]
fn unread(what: &'static str, name: &str, error: keys::KeyError) -> BuildError {
    match error {
        keys::KeyError::Unknown { key, known } => Unknown::key_of(name, &key, known.iter().copied()).into(),
        keys::KeyError::Value { key, why } => {
            BuildError::refused(what, name, why.trim_end()).about(Some(&key))
        }
        keys::KeyError::Other(why) => BuildError::refused(what, name, why.trim_end()),
    }
}

#[cold]
#[inline(never)]
fn lacking(what: &'static str, name: &str, missing: &str) -> BuildError {
    BuildError::refused(what, name, format_args!("the key {missing:?} is missing")).about(Some(missing))
}

/// Why something could not be built by name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A name or key that is not known.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A value that cannot be used.
    #[error("{what} {name:?}: {why}")]
    Refused {
        /// "base", "environment", "master".
        what: &'static str,
        /// Its name.
        name: String,
        /// Which value, and what it must be.
        why: String,
        /// The key that it is about, where one is to blame.
        key: Option<String>,
    },
    /// It does not fit the world that it is built for.
    #[error("{what} {name:?} needs {needs}")]
    Unfit {
        /// "base", "environment", "master".
        what: &'static str,
        /// Its name.
        name: String,
        /// What is missing: "an environment with points", "a known horizon".
        needs: String,
    },
}

impl From<std::convert::Infallible> for BuildError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl BuildError {
    /// A value that cannot be used, and why.
    pub fn refused(what: &'static str, name: impl Into<String>, why: impl fmt::Display) -> Self {
        Self::Refused { what, name: name.into(), why: why.to_string(), key: None }
    }

    /// A parameter that cannot be used.
    #[cold]
    #[inline(never)]
    pub fn param(what: &'static str, name: impl Into<String>, why: &ParamError) -> Self {
        Self::refused(what, name, why).about(Some(why.name()))
    }

    /// The same, about this key where it is a value that cannot be used.
    #[must_use]
    pub fn about(self, about: Option<&str>) -> Self {
        match self {
            Self::Refused { what, name, why, .. } => {
                Self::Refused { what, name, why, key: about.map(str::to_owned) }
            }
            other => other,
        }
    }

    /// The key of a spec that it is about, where one is to blame: of an unknown thing the sort of it, "base" or "master".
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Unknown(unknown) => Some(if unknown.is_key { &unknown.name } else { &unknown.what }),
            Self::Refused { key, .. } => key.as_deref(),
            Self::Unfit { .. } => None,
        }
    }

    /// It does not fit: what is missing.
    pub fn unfit(what: &'static str, name: impl Into<String>, needs: impl Into<String>) -> Self {
        Self::Unfit { what, name: name.into(), needs: needs.into() }
    }
}

/// A name that no registry knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {name:?}{}", suggestion(nearest))]
pub struct Unknown {
    /// What was looked for: "base", "environment", "key of exp3".
    pub what: String,
    /// The name that was given.
    pub name: String,
    /// The nearest known names, nearest first.
    pub nearest: Vec<String>,
    /// Whether it is a key, and not a name that stands as a value.
    pub is_key: bool,
}

impl Unknown {
    /// `name` is no `what`; the nearest of `known` are suggested.
    pub fn new<'a>(what: impl Into<String>, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { what: what.into(), name: name.to_owned(), nearest: nearest(name, known), is_key: false }
    }

    /// `key` is no key of `owner`; the nearest of `known` are suggested.
    pub fn key_of<'a>(owner: &str, key: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { is_key: true, ..Self::new(format!("key of {owner}"), key, known) }
    }
}

fn suggestion(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!("; did you mean {one:?}?"),
        many => format!("; the nearest are {}", many.join(", ")),
    }
}

/// The (at most three) names of `known` nearest to `name`, nearest first, by edit distance, whatever the case and the marks
/// between words; a name that contains `name`, or is contained in it, counts as near, and most of all one that begins with it.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let plain = |text: &str| text.to_lowercase().replace([' ', '_'], "-");
    let given = plain(name);
    let mut scored: Vec<_> = known
        .into_iter()
        .map(|k| {
            let own = plain(k);
            let contains = !given.is_empty() && (own.contains(&given) || given.contains(&own));
            let apart = distance(&given, &own);
            let begins = !given.is_empty() && own.starts_with(&given);
            (if contains { apart.min(1) } else { apart }, !begins, apart, k)
        })
        .filter(|(d, .., k)| *d <= 1 + k.chars().count().max(name.chars().count()) / 3)
        .collect();
    scored.sort();
    // What differs by its case alone is meant.
    if let [(0, .., k), ..] = scored.as_slice() {
        return vec![(*k).to_owned()];
    }
    scored.into_iter().take(3).map(|(.., k)| k.to_owned()).collect()
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let cost = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name() {
        let known = ["exp3", "exp4", "ucb1", "tsallis-inf", "thompson"];
        assert_eq!(nearest("tsalis-inf", known), ["tsallis-inf"]);
        assert_eq!(nearest("tompson", known), ["thompson"]);
        assert_eq!(nearest("exp", known), ["exp3", "exp4"]);
        assert!(nearest("zzzzzzzz", known).is_empty());
        let known = ["glm-ucb", "kl-ucb", "linucb", "ucb1", "epsilon-greedy"];
        assert_eq!(nearest("LinUCB", known), ["linucb"]);
        assert_eq!(nearest("Epsilon_Greedy", known), ["epsilon-greedy"]);
        assert_eq!(nearest("ucb", known)[0], "ucb1");
    }

    #[test]
    fn an_error_says_which_key_it_is_about() {
        let known = Unknown::key_of("exp3", "rat", ["rate"]);
        assert_eq!(known.to_string(), r#"unknown key of exp3 "rat"; did you mean "rate"?"#);
        assert_eq!(BuildError::from(known).key(), Some("rat"));
        assert_eq!(BuildError::from(Unknown::new("base", "ucb", [])).key(), Some("base"));
        let why = ParamError::new("rate", -1, "positive");
        assert_eq!(BuildError::param("base", "exp3", &why).key(), Some("rate"));
        assert_eq!(BuildError::refused("base", "exp3", &why).key(), None);
    }

    #[test]
    fn the_error_names_what_was_given_and_what_is_near() {
        let e = Unknown::new("base", "ucb", ["ucb1", "exp3"]);
        assert_eq!(e.to_string(), r#"unknown base "ucb"; did you mean "ucb1"?"#);
    }
}
