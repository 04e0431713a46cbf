//! What the registry says of bases: the rows of the table on the crate's front page.

use corral_core::registry::{Entry, Kind, table};

/// What is said of the base `name`.
pub(crate) fn entry(name: &'static str, summary: &'static str, kind: Kind) -> Entry {
    // `tests/it/front_page.rs` holds that each has its row.
    row(name, summary, kind).unwrap_or(Entry { name, summary, kind, ..Entry::EMPTY })
}

/// What the table says of the base `name`.
fn row(name: &'static str, summary: &'static str, kind: Kind) -> Option<Entry> {
    let [source, regret, alpha, fits, cost, status] = table::cells(include_str!("bases.md"), name)?;
    let (alpha, status) = (fraction(alpha)?, table::status(status)?);
    Some(Entry { name, summary, source, alpha, regret, fits, cost, kind, status })
}

/// An alpha is 0, 1 over a digit, or -, for none.
fn fraction(alpha: &str) -> Option<Option<f64>> {
    match alpha.as_bytes() {
        b"-" => Some(None),
        b"0" => Some(Some(0.0)),
        [b'1', b'/', n @ b'2'..=b'9'] => Some(Some(1.0 / f64::from(n - b'0'))),
        _ => None,
    }
}
