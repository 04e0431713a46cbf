//! What the registry says of bases: the rows of the table on the crate's front page, read when the crate is compiled.

use corral_core::registry::{Entry, Kind, table};

/// What the table says of the base `name`.
pub(crate) const fn entry(name: &'static str, summary: &'static str, kind: Kind) -> Entry {
    let [source, regret, alpha, fits, cost, status] = table::cells(include_str!("bases.md"), name);
    let (alpha, status) = (fraction(alpha), table::status(status));
    Entry { name, summary, source, alpha, regret, fits, cost, kind, status }
}

const fn fraction(alpha: &str) -> Option<f64> {
    match alpha.as_bytes() {
        b"-" => None,
        b"0" => Some(0.0),
        [b'1', b'/', n @ b'2'..=b'9'] => Some(1.0 / (*n - b'0') as f64),
        _ => panic!("an alpha is 0, 1 over a digit, or -"),
    }
}
