//! What the registry says of bases: the rows of the table on the crate's front page, read when the crate is compiled.

use corral_core::registry::{Entry, Kind, Status};

const TABLE: &str = include_str!("bases.md");

/// What the table says of the base `name`. A base that has no row does not compile.
pub(crate) const fn entry(name: &'static str, summary: &'static str, kind: Kind) -> Entry {
    let mut rest = TABLE;
    loop {
        let (found, row) = split(split(rest, "\n| `").1, "` | ");
        rest = row;
        if found.len() == name.len() && begins(found, name) {
            let (source, row) = split(row, " | ");
            let (regret, row) = split(row, " | ");
            let (alpha, row) = split(row, " | ");
            let (fits, row) = split(row, " | ");
            let (cost, row) = split(row, " | ");
            let status = status(split(row, " |\n").0);
            return Entry { name, summary, source, alpha: fraction(alpha), regret, fits, cost, kind, status };
        }
    }
}

/// `text` before the first `mark`, and after it.
const fn split(text: &'static str, mark: &str) -> (&'static str, &'static str) {
    let mut at = 0;
    while !begins(text.split_at(at).1, mark) {
        at += 1;
    }
    let (before, after) = text.split_at(at);
    (before, after.split_at(mark.len()).1)
}

const fn begins(text: &str, with: &str) -> bool {
    assert!(!text.is_empty(), "a base that has no row in the table");
    let (text, with) = (text.as_bytes(), with.as_bytes());
    let mut i = 0;
    while i < with.len() && i < text.len() && text[i] == with[i] {
        i += 1;
    }
    i == with.len()
}

const fn fraction(alpha: &str) -> Option<f64> {
    match alpha.as_bytes() {
        b"-" => None,
        b"0" => Some(0.0),
        [b'1', b'/', n @ b'2'..=b'9'] => Some(1.0 / (*n - b'0') as f64),
        _ => panic!("an alpha is 0, 1 over a digit, or -"),
    }
}

const fn status(word: &str) -> Status {
    match word.as_bytes() {
        b"paper" => Status::Paper,
        b"standard" => Status::Standard,
        b"from memory" => Status::FromMemory,
        b"experimental" => Status::Experimental,
        _ => panic!("a status is paper, standard, from memory or experimental"),
    }
}
