//! What a registry says of the things it can build: plain data, shared by masters, bases, environments and plugins.

pub use crate::registry::{Unknown, nearest};
use serde::Serialize;

/// One thing that can be built by name.
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
    /// Which decisions: "arms", "contextual", "points", "any".
    pub kind: &'static str,
    /// "paper", "standard", "experimental", "from memory".
    pub status: &'static str,
    /// Its parameters.
    pub fields: &'static [Field],
}

/// One parameter of an [`Entry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its key in a spec file.
    pub name: &'static str,
    /// Its default as a spec file writes it; empty when it must be given.
    pub default: &'static str,
    /// One sentence.
    pub doc: &'static str,
}
