//! Reads what a registry says of its things from a table of a page: the page is the only copy.

use super::{Kind, Status};

/// The cells behind the name in the row of `name` in `page`, a table in Markdown each of whose rows begins with the name in
/// backticks. `None` where there is no such row, or one with another number of cells.
pub fn cells<'a, const N: usize>(page: &'a str, name: &str) -> Option<[&'a str; N]> {
    let (_, row) = rows(page).find(|(found, _)| *found == name)?;
    let mut found = row.split(" | ");
    let mut cells = [""; N];
    for cell in &mut cells {
        *cell = found.next()?;
    }
    found.next().is_none().then_some(cells)
}

/// The name of each row, and its other cells.
fn rows(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "))
}

/// The status that a cell names.
pub fn status(cell: &str) -> Option<Status> {
    [Status::Paper, Status::Standard, Status::Experimental, Status::Derived, Status::FromMemory]
        .into_iter()
        .find(|status| status.to_string() == cell)
}

/// The kind of decisions that a cell names.
pub fn kind(cell: &str) -> Option<Kind> {
    [Kind::Arms, Kind::Contextual, Kind::Points, Kind::Any].into_iter().find(|kind| kind.to_string() == cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "A page.\n\n| thing | what | decisions |\n|---|---|---|\n| `one` | 1 | any |\n| `none` |\n";

    #[test]
    fn a_row_is_found_with_as_many_cells_as_it_has() {
        assert_eq!(cells(PAGE, "one"), Some(["1", "any"]));
        assert_eq!(cells::<1>(PAGE, "one"), None);
        assert_eq!(cells::<3>(PAGE, "one"), None);
        for missing in ["thing", "none", "two", ""] {
            assert_eq!(cells::<2>(PAGE, missing), None, "{missing}");
        }
    }

    #[test]
    fn words_are_those_that_are_printed() {
        assert_eq!((status("from memory"), status("memory")), (Some(Status::FromMemory), None));
        assert_eq!((kind("contextual"), kind("")), (Some(Kind::Contextual), None));
    }
}
