//! Tables of text.

/// A table with aligned columns; columns marked `'r'` in `align` are flushed right.
pub fn aligned(header: &[&str], align: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let width = |s: &str| s.chars().count();
    let widths: Vec<usize> = header
        .iter()
        .enumerate()
        .map(|(i, h)| rows.iter().map(|r| width(&r[i])).chain([width(h)]).max().unwrap_or(0))
        .collect();
    let line = |cells: &[String]| -> String {
        let mut out = String::new();
        for ((cell, w), a) in cells.iter().zip(&widths).zip(align.chars()) {
            let pad = " ".repeat(w - width(cell));
            out.push_str(&if a == 'r' { format!("{pad}{cell}  ") } else { format!("{cell}{pad}  ") });
        }
        out.trim_end().to_owned() + "\n"
    };
    let titles: Vec<String> = header.iter().map(|h| (*h).to_owned()).collect();
    let rule: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
    let mut out = line(&titles) + &line(&rule);
    rows.iter().for_each(|r| out.push_str(&line(r)));
    out
}

/// An aligned table without those of the columns `less`, the first one first, that do not fit into `width` characters.
pub fn narrowed(header: &[&str], align: &str, rows: &[Vec<String>], width: usize, less: &[usize]) -> String {
    let mut left_out: Vec<usize> = Vec::new();
    let mut less = less.iter();
    loop {
        let kept = |i: &usize| !left_out.contains(i);
        let columns: Vec<usize> = (0..header.len()).filter(kept).collect();
        let header: Vec<&str> = columns.iter().map(|i| header[*i]).collect();
        let align: String = align.chars().enumerate().filter(|(i, _)| kept(i)).map(|(_, a)| a).collect();
        let rows = rows.iter().map(|row| columns.iter().map(|i| row[*i].clone()).collect());
        let table = aligned(&header, &align, rows);
        let fits = table.lines().all(|line| line.chars().count() <= width);
        match less.next() {
            Some(next) if !fits => left_out.push(*next),
            _ => return table,
        }
    }
}

/// Lines of at most `width` characters, broken between words; a word that is longer is cut.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let pieces = text.split_whitespace().flat_map(|word| {
        let letters: Vec<char> = word.chars().collect();
        letters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect::<Vec<String>>()
    });
    for word in pieces {
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

/// An aligned table whose cells are broken into lines until it is `width` characters wide: the last column first, and no
/// column below 20 characters.
pub fn within(header: &[&str], align: &str, rows: &[Vec<String>], width: usize) -> String {
    const LEAST: usize = 20;
    let wide = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0).max(header[i].len());
    let mut widths: Vec<usize> = (0..header.len()).map(wide).collect();
    for i in (0..header.len()).rev() {
        let over = (widths.iter().sum::<usize>() + 2 * (header.len() - 1)).saturating_sub(width);
        if over > 0 && widths[i] > LEAST {
            widths[i] = (widths[i] - over.min(widths[i])).max(LEAST);
        }
    }
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let cells: Vec<Vec<String>> = row.iter().zip(&widths).map(|(c, w)| wrapped(c, *w)).collect();
        let tall = cells.iter().map(Vec::len).max().unwrap_or(1);
        lines
            .extend((0..tall).map(|k| cells.iter().map(|c| c.get(k).cloned().unwrap_or_default()).collect()));
    }
    aligned(header, align, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_leaves_columns_out_where_the_page_ends() {
        let rows = [vec!["name".to_owned(), "1.5".to_owned(), "20.5 k".to_owned(), "7".to_owned()]];
        let table =
            |width| narrowed(&["learner", "regret", "rounds/s", "worst"], "lrrr", &rows, width, &[2, 3]);
        assert!(table(40).starts_with("learner  regret  rounds/s  worst\n"));
        assert!(table(25).starts_with("learner  regret  worst\n"));
        assert!(table(5).starts_with("learner  regret\n"));
    }

    #[test]
    fn a_table_is_broken_where_the_page_ends() {
        let rows =
            [vec!["name".to_owned(), "many words ".repeat(20)], vec!["n".to_owned(), "few".to_owned()]];
        let table = within(&["a", "what it is"], "ll", &rows, 60);
        assert!(table.lines().all(|l| l.chars().count() <= 60) && table.lines().count() > 6, "{table}");
        assert_eq!(within(&["a", "b"], "ll", &rows, 1000), {
            let trimmed =
                [vec!["name".to_owned(), "many words ".repeat(20).trim().to_owned()], rows[1].clone()];
            aligned(&["a", "b"], "ll", trimmed)
        });
        assert_eq!(wrapped("a longer-word b", 4), ["a", "long", "er-w", "ord", "b"]);
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "22".to_owned()]];
        assert_eq!(aligned(&["x", "n"], "lr", rows), "x      n\n----  --\na      1\nlong  22\n");
    }
}
