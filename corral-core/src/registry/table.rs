//! Reads what a registry says of its things from a table of a page, when the crate is compiled: the page is the only copy.

use super::{Kind, Status};

/// The cells behind the name in the row of `name` in `page`: a table in Markdown, each of whose rows begins with the name in
/// backticks.
///
/// # Panics
/// There is no such row. Ask in a constant: then what has no row does not compile.
pub const fn cells<const N: usize>(page: &'static str, name: &str) -> [&'static str; N] {
    let mut rest = page;
    loop {
        let (found, row) = split(split(rest, "\n| `").1, "` | ");
        rest = row;
        if found.len() == name.len() && begins(found, name) {
            let mut cells = [""; N];
            let mut i = 0;
            while i < N {
                (cells[i], rest) = split(rest, if i + 1 < N { " | " } else { " |\n" });
                i += 1;
            }
            return cells;
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
    assert!(!text.is_empty(), "a name that has no row in the table");
    let (text, with) = (text.as_bytes(), with.as_bytes());
    let mut i = 0;
    while i < with.len() && i < text.len() && text[i] == with[i] {
        i += 1;
    }
    i == with.len()
}

/// The status that a cell names.
///
/// # Panics
/// It names none.
pub const fn status(cell: &str) -> Status {
    match cell.as_bytes() {
        b"paper" => Status::Paper,
        b"standard" => Status::Standard,
        b"from memory" => Status::FromMemory,
        b"experimental" => Status::Experimental,
        _ => panic!("a status is paper, standard, from memory or experimental"),
    }
}

/// The kind of decisions that a cell names.
///
/// # Panics
/// It names none.
pub const fn kind(cell: &str) -> Kind {
    match cell.as_bytes() {
        b"arms" => Kind::Arms,
        b"contextual" => Kind::Contextual,
        b"points" => Kind::Points,
        b"any" => Kind::Any,
        _ => panic!("decisions are arms, contextual, points or any"),
    }
}
