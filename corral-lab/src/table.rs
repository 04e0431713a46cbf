//! Tables of text.

/// A table with aligned columns; columns marked `'r'` in `align` are flushed right.
pub fn aligned(header: &[&str], align: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let titles = header.iter().map(|h| (*h).to_owned()).collect();
    drawn(&[titles], align, &rows.into_iter().collect::<Vec<_>>())
}

fn drawn(titles: &[Vec<String>], align: &str, rows: &[Vec<String>]) -> String {
    let width = |s: &str| s.chars().count();
    let widths: Vec<usize> = (0..align.len())
        .map(|i| titles.iter().chain(rows).map(|r| width(&r[i])).max().unwrap_or(0))
        .collect();
    let line = |cells: &[String]| -> String {
        let mut out = String::new();
        for ((cell, w), a) in cells.iter().zip(&widths).zip(align.chars()) {
            let pad = " ".repeat(w - width(cell));
            out.push_str(&if a == 'r' { format!("{pad}{cell}  ") } else { format!("{cell}{pad}  ") });
        }
        out.trim_end().to_owned() + "\n"
    };
    let rule: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
    titles.iter().chain([&rule]).chain(rows).map(|cells| line(cells)).collect()
}

/// A column is not broken to fewer characters than this.
const LEAST: usize = 8;

/// An aligned table of at most `width` characters, where there is a page that ends: without as many of the columns `less` as must be,
/// the first one first, and then with cells that are broken into lines, those of the widest column of words first.
pub fn fitted(
    header: &[&str],
    align: &str,
    rows: &[Vec<String>],
    width: Option<usize>,
    less: &[usize],
) -> String {
    let wide = |i: &usize| {
        rows.iter().map(|r| r[*i].chars().count()).chain([header[*i].chars().count()]).max().unwrap_or(0)
    };
    let total = |widths: &[usize]| {
        let drawn = widths.iter().rposition(|w| *w > 0).map_or(0, |last| last + 1);
        widths[..drawn].iter().sum::<usize>() + 2 * drawn.saturating_sub(1)
    };
    let width = width.unwrap_or(usize::MAX);
    let mut columns: Vec<usize> = (0..header.len()).collect();
    for next in less {
        if total(&columns.iter().map(wide).collect::<Vec<_>>()) > width {
            columns.retain(|column| column != next);
        }
    }
    let align: Vec<char> = align.chars().collect();
    let mut widths: Vec<usize> = columns.iter().map(wide).collect();
    while total(&widths) > width {
        let breakable = (0..columns.len()).filter(|i| widths[*i] > LEAST);
        let widest = breakable.max_by_key(|i| (align[columns[*i]] != 'r', widths[*i]));
        let Some(widest) = widest else { break };
        widths[widest] -= 1;
    }
    let broken = |cells: &mut dyn Iterator<Item = &str>| -> Vec<Vec<String>> {
        let cells: Vec<Vec<String>> = cells
            .zip(&widths)
            .map(|(c, w)| if c.chars().count() <= *w { vec![c.to_owned()] } else { wrapped(c, *w) })
            .collect();
        let tall = cells.iter().map(Vec::len).max().unwrap_or(1);
        (0..tall).map(|k| cells.iter().map(|c| c.get(k).cloned().unwrap_or_default()).collect()).collect()
    };
    let titles = broken(&mut columns.iter().map(|i| header[*i]));
    let lines = rows.iter().flat_map(|row| broken(&mut columns.iter().map(|i| row[*i].as_str())));
    let align: String = columns.iter().map(|i| align[*i]).collect();
    drawn(&titles, &align, &lines.collect::<Vec<_>>())
}

/// Words in lines of at most `width` characters; a word that is longer stands alone.
fn packed(words: impl Iterator<Item = String>, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words {
        let line = lines.len() - 1;
        let taken = lines[line].chars().count();
        match taken {
            0 => lines[line].push_str(&word),
            _ if taken + 1 + word.chars().count() <= width => {
                lines[line].push(' ');
                lines[line].push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Lines of at most `width` characters, broken between words; a word that is longer is cut.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let pieces = text.split_whitespace().flat_map(|word| {
        let letters: Vec<char> = word.chars().collect();
        letters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect::<Vec<String>>()
    });
    packed(pieces, width)
}

/// A text whose longer lines are broken between words, where there is a page that ends: what follows is indented as the line
/// is, and behind the dash of a list. Words are never cut: a path stays what it is.
pub fn paged(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        if bare.chars().count() <= width {
            out.push_str(line);
            continue;
        }
        let indent = bare.len() - bare.trim_start_matches(' ').len();
        let dash = if bare[indent..].starts_with("- ") { 2 } else { 0 };
        let words = bare[indent + dash..].split_whitespace().map(str::to_owned);
        for (n, words) in packed(words, width.saturating_sub(indent + dash)).into_iter().enumerate() {
            let lead = if n == 0 { bare[..indent + dash].to_owned() } else { " ".repeat(indent + dash) };
            out.push_str(&format!("{lead}{words}\n"));
        }
        if !line.ends_with('\n') {
            out.pop();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_leaves_columns_out_where_the_page_ends() {
        let rows = [vec!["name".to_owned(), "1.5".to_owned(), "20.5 k".to_owned(), "7".to_owned()]];
        let table =
            |width| fitted(&["learner", "regret", "rounds/s", "worst"], "lrrr", &rows, Some(width), &[2, 3]);
        assert!(table(40).starts_with("learner  regret  rounds/s  worst\n"));
        assert!(table(25).starts_with("learner  regret  worst\n"));
        assert!(table(15).starts_with("learner  regret\n"));
    }

    #[test]
    fn a_table_is_broken_where_the_page_ends() {
        let rows =
            [vec!["name".to_owned(), "many words ".repeat(20)], vec!["n".to_owned(), "few".to_owned()]];
        let table = fitted(&["a", "what it is"], "ll", &rows, Some(60), &[]);
        assert!(table.lines().all(|l| l.chars().count() <= 60) && table.lines().count() > 6, "{table}");
        assert_eq!(fitted(&["a", "b"], "ll", &rows, None, &[1]), aligned(&["a", "b"], "ll", rows));
        assert_eq!(wrapped("a longer-word b", 4), ["a", "long", "er-w", "ord", "b"]);
    }

    /// A law over shapes: a table that may be broken keeps to the page, loses no word but those of columns that may be left out, and
    /// is the aligned one where that fits.
    #[test]
    fn a_table_keeps_to_every_page() {
        for count in 2..=6usize {
            for long in 0..count {
                let cell = |i: usize, n: usize| {
                    if i == long { format!("w{n} ").repeat(30) } else { format!("c{i}.{n}") }
                };
                let rows: Vec<Vec<String>> =
                    (0..3).map(|n| (0..count).map(|i| cell(i, n).trim().to_owned()).collect()).collect();
                let header = vec!["a heading"; count];
                for align in ["l", "r"] {
                    let align = align.repeat(count);
                    for width in [60, 80, 1000] {
                        let table = fitted(&header, &align, &rows, Some(width), &[]);
                        assert!(table.lines().all(|l| l.chars().count() <= width), "{width}\n{table}");
                        let sorted = |text: &str| {
                            let mut words: Vec<String> = text
                                .split_whitespace()
                                .filter(|w| !w.starts_with('-'))
                                .map(str::to_owned)
                                .collect();
                            words.sort();
                            words
                        };
                        let whole = aligned(&header, &align, rows.clone());
                        assert_eq!(sorted(&table), sorted(&whole));
                        if whole.lines().all(|l| l.chars().count() <= width) {
                            assert_eq!(table, whole);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn text_is_broken_as_it_is_indented() {
        let text = "short\n- one two three four\n  five six seven\n/a/path/that/is/long\n";
        assert_eq!(paged(text, None), text);
        assert_eq!(
            paged(text, Some(12)),
            "short\n- one two\n  three four\n  five six\n  seven\n/a/path/that/is/long\n"
        );
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "22".to_owned()]];
        assert_eq!(aligned(&["x", "n"], "lr", rows), "x      n\n----  --\na      1\nlong  22\n");
    }
}
