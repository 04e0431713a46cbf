//! The table of the crate's front page says what the registry says.

use corral_bases::entries;
use corral_core::registry::Entry;

fn row(entry: &Entry) -> String {
    let alpha = match entry.alpha {
        None => "-".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(alpha) => {
            match [(1.0, 1), (1.0, 2), (1.0, 3), (1.0, 4)].iter().find(|(a, b)| alpha == a / f64::from(*b)) {
                Some((_, 1)) => "1".to_owned(),
                Some((a, b)) => format!("{a}/{b}"),
                None => alpha.to_string(),
            }
        }
    };
    let Entry { name, source, regret, fits, cost, status, .. } = entry;
    format!("| `{name}` | {source} | {regret} | {alpha} | {fits} | {cost} | {status} |")
}

#[test]
fn the_table_is_that_of_the_registry() {
    let page = include_str!("../../src/bases.md");
    let expected: Vec<String> = entries().map(row).collect();
    let found: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(found, expected, "the rows should read:\n{}", expected.join("\n"));
}
