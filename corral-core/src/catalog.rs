//! What a registry says of the things it can build: plain data, shared by masters, bases, environments and plugins.

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
}

impl Unknown {
    /// `name` is no `what`; the nearest of `known` are suggested.
    pub fn new<'a>(what: impl Into<String>, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { what: what.into(), name: name.to_owned(), nearest: nearest(name, known) }
    }
}

fn suggestion(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!("; did you mean {one:?}?"),
        many => format!("; the nearest are {}", many.join(", ")),
    }
}

/// The (at most three) names of `known` nearest to `name`, nearest first, by edit distance; a name that contains
/// `name`, or is contained in it, counts as near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut scored: Vec<(usize, &str)> = known
        .into_iter()
        .map(|k| {
            let contains = !name.is_empty() && (k.contains(name) || name.contains(k));
            (if contains { 1 } else { distance(name, k) }, k)
        })
        .filter(|(d, k)| *d <= 1 + k.chars().count().max(name.chars().count()) / 3)
        .collect();
    scored.sort();
    scored.into_iter().take(3).map(|(_, k)| k.to_owned()).collect()
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
    }

    #[test]
    fn the_error_names_what_was_given_and_what_is_near() {
        let e = Unknown::new("base", "ucb", ["ucb1", "exp3"]);
        assert_eq!(e.to_string(), r#"unknown base "ucb"; did you mean "ucb1"?"#);
    }
}
