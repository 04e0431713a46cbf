//! Numbers as people write them: `$1,234.50`, `12,5`, `45%`.

use serde::{Deserialize, Serialize};

use super::cells::number;

/// How the numbers of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Style {
    /// As programs write them: 1234.5.
    #[default]
    Plain,
    /// With a currency sign, a per cent sign or separated thousands; decimals follow a point or a comma.
    Written {
        /// What decimals follow.
        decimal: u8,
    },
}

impl Style {
    /// The number that a cell holds, if it holds one.
    #[inline]
    pub fn number(self, cell: &[u8]) -> Option<f64> {
        match self {
            Self::Plain => number(cell),
            Self::Written { decimal } => written(cell, decimal),
        }
    }
}

/// What stands between thousands beside point and comma: a space, a space that does not break, a narrow one, an apostrophe.
const SPACES: [char; 5] = [' ', '\u{a0}', '\u{202f}', '\'', '\u{2019}'];

/// A cell without its sign, its currency and its per cent sign.
struct Bare<'a> {
    digits: &'a str,
    negative: bool,
    percent: bool,
}

fn bare(cell: &[u8]) -> Option<Bare<'_>> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    let currency = ['$', '\u{20ac}', '\u{a3}', '\u{a5}'];
    let text = text.strip_prefix(currency).unwrap_or(text).trim_start();
    let (negative, text) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let text = text.strip_prefix(currency).unwrap_or(text).trim_start();
    let text = text.strip_suffix(currency).unwrap_or(text).trim_end();
    let (percent, digits) = match text.strip_suffix('%') {
        Some(rest) => (true, rest.trim_end()),
        None => (false, text),
    };
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let begins = ends(digits.chars().next()) || digits.starts_with(['.', ',']);
    (begins && ends(digits.chars().next_back())).then_some(Bare { digits, negative, percent })
}

/// What a cell shows of what decimals follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    Nothing,
    /// This one.
    Decimal(u8),
    /// A point or a comma before three digits: either decimals follow it, or thousands.
    Unclear(u8),
}

/// Reads the separators between groups of digits; `None` where it is no number.
fn shows(digits: &str) -> Option<Shows> {
    let groups: Vec<&str> = digits.split(|c: char| !c.is_ascii_digit()).collect();
    let between: Vec<char> = digits.chars().filter(|c| !c.is_ascii_digit()).collect();
    if between.iter().any(|c| !['.', ','].contains(c) && !SPACES.contains(c)) {
        return None;
    }
    let thousands = |groups: &[&str]| {
        let first = groups.first().map_or(0, |g| g.len());
        (1..=3).contains(&first) && groups[1..].iter().all(|g| g.len() == 3)
    };
    let other = |c: char| if c == '.' { b',' } else { b'.' };
    let Some((last, before)) = between.split_last() else { return Some(Shows::Nothing) };
    if before.is_empty() {
        let grouped = thousands(&groups);
        return match last {
            '.' | ',' if grouped && !groups[0].starts_with('0') => Some(Shows::Unclear(*last as u8)),
            '.' | ',' => Some(Shows::Decimal(*last as u8)),
            _ => grouped.then_some(Shows::Nothing),
        };
    }
    if before.iter().any(|c| c != &before[0]) {
        return None;
    }
    if *last == before[0] {
        let shown = if SPACES.contains(last) { Shows::Nothing } else { Shows::Decimal(other(*last)) };
        return thousands(&groups).then_some(shown);
    }
    let whole = &groups[..groups.len() - 1];
    (thousands(whole) && ['.', ','].contains(last)).then_some(Shows::Decimal(*last as u8))
}

/// What a number that programs read as well shows of its point: `None` where it has none, `Some(true)` where thousands may stand
/// behind it as well as decimals (1.234), `Some(false)` where decimals follow it, or a program wrote it (1e5).
#[inline]
pub fn point(cell: &[u8]) -> Option<bool> {
    let text = cell.trim_ascii();
    let text = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = &text[digits..];
    let thousands = (1..=3).contains(&digits)
        && text[0] != b'0'
        && matches!(rest, [b'.', a, b, c] if [a, b, c].into_iter().all(u8::is_ascii_digit));
    (!rest.is_empty()).then_some(thousands)
}

/// Whether a cell is a number that is written for people.
pub fn readable(cell: &[u8]) -> bool {
    bare(cell).is_some_and(|b| shows(b.digits).is_some())
}

fn written(cell: &[u8], decimal: u8) -> Option<f64> {
    let Bare { digits, negative, .. } = bare(cell)?;
    if matches!(shows(digits)?, Shows::Decimal(d) if d != decimal) {
        return None;
    }
    let plain: String = digits
        .chars()
        .filter(|c| c.is_ascii_digit() || *c as u32 == u32::from(decimal))
        .map(|c| if c.is_ascii_digit() { c } else { '.' })
        .collect();
    let value: f64 = plain.parse().ok()?;
    Some(if negative { -value } else { value })
}

/// What the cells of a column show of how their numbers are written.
#[derive(Debug, Clone, Default)]
pub struct Habits {
    point: Option<u64>,
    comma: Option<u64>,
    unclear: Option<(u64, String)>,
    percent: Option<u64>,
    bare: Option<u64>,
}

/// Why numbers of a column cannot be read: where it shows, what is wrong, and whether `decimal` would say it.
pub type Unclear = (u64, String, bool);

impl Habits {
    /// Takes in a cell on a line.
    pub fn see(&mut self, cell: &[u8], line: u64) {
        let Some(found) = bare(cell) else { return };
        let place = if found.percent { &mut self.percent } else { &mut self.bare };
        place.get_or_insert(line);
        match shows(found.digits) {
            Some(Shows::Decimal(b'.')) => drop(self.point.get_or_insert(line)),
            Some(Shows::Decimal(_)) => drop(self.comma.get_or_insert(line)),
            Some(Shows::Unclear(_)) => {
                self.unclear.get_or_insert_with(|| (line, String::from_utf8_lossy(cell).into_owned()));
            }
            _ => {}
        }
    }

    /// The first line on which decimals follow a comma.
    pub fn comma(&self) -> Option<u64> {
        self.comma
    }

    /// How the column writes numbers; `decimal` is what the spec says where the column does not show it.
    pub fn style(&self, decimal: Option<u8>) -> Result<Style, Unclear> {
        if let (Some(with), Some(without)) = (self.percent, self.bare) {
            let line = with.max(without);
            let what = format!("per cent signs in some cells and not in others (lines {with} and {without})");
            return Err((line, what, false));
        }
        let shown = match (self.point, self.comma) {
            (Some(point), Some(comma)) => {
                let what = format!("decimals follow a point on line {point} and a comma on line {comma}");
                return Err((point.max(comma), what, false));
            }
            (Some(_), None) => Some(b'.'),
            (None, Some(_)) => Some(b','),
            (None, None) => None,
        };
        match (shown.or(decimal), &self.unclear) {
            (Some(decimal), _) => Ok(Style::Written { decimal }),
            (None, Some((line, cell))) => {
                Err((*line, format!("{cell:?} may have decimals or thousands"), true))
            }
            (None, None) => Ok(Style::Written { decimal: b'.' }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Habits, Style, point, readable};

    fn read(cells: &[&str], decimal: Option<u8>) -> Result<Vec<Option<f64>>, String> {
        let mut habits = Habits::default();
        cells.iter().zip(2..).for_each(|(cell, line)| habits.see(cell.as_bytes(), line));
        let style = habits.style(decimal).map_err(|(_, what, _)| what)?;
        Ok(cells.iter().map(|cell| style.number(cell.as_bytes())).collect())
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let of =
            |cells: &[&str]| read(cells, None).unwrap().into_iter().map(Option::unwrap).collect::<Vec<_>>();
        assert_eq!(of(&["$1,234.50", "$7", "-$3.25"]), [1234.5, 7.0, -3.25]);
        assert_eq!(of(&["1.234,5", "2.000", "3,25"]), [1234.5, 2000.0, 3.25]);
        assert_eq!(of(&["12,5", "1,25"]), [12.5, 1.25]);
        assert_eq!(of(&["1,234", "1,234,567"]), [1234.0, 1_234_567.0]);
        assert_eq!(of(&["45%", "3.5 %"]), [45.0, 3.5]);
        assert_eq!(of(&["1 234 567", "12"]), [1_234_567.0, 12.0]);
        assert_eq!(of(&["12,50 \u{20ac}"]), [12.5]);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_asked() {
        assert!(read(&["1,234", "5,678"], None).unwrap_err().contains("may have decimals or thousands"));
        assert_eq!(read(&["1,234"], Some(b',')).unwrap(), [Some(1.234)]);
        assert_eq!(read(&["1,234"], Some(b'.')).unwrap(), [Some(1234.0)]);
        assert!(read(&["$1.234", "$5"], None).unwrap_err().contains("may have decimals or thousands"));
        assert_eq!(read(&["$1.234"], Some(b',')).unwrap(), [Some(1234.0)]);
        assert_eq!(read(&["$1.234", "$2.5"], Some(b',')).unwrap(), [Some(1.234), Some(2.5)]);
        assert!(read(&["1,5", "1.5"], None).unwrap_err().contains("a point on line 3 and a comma on line 2"));
        assert!(read(&["5%", "0.05"], None).unwrap_err().contains("per cent signs"));
    }

    #[test]
    fn words_are_not_numbers() {
        for cell in ["", "-", "red", "1.2.3", "12-34", "1,23,456", "$", "%", "5 apples", "\u{ff}", "1e5,0"] {
            assert!(!readable(cell.as_bytes()), "{cell:?}");
        }
        assert_eq!(Style::Written { decimal: b'.' }.number(b"1,5"), None);
    }

    #[test]
    fn a_point_before_three_digits_may_stand_between_thousands() {
        for (cell, shown) in [
            ("1.234", Some(true)),
            ("-12.345", Some(true)),
            (" 999.000 ", Some(true)),
            ("1234", None),
            ("0.234", Some(false)),
            ("1.23", Some(false)),
            ("1234.567", Some(false)),
            (".234", Some(false)),
            ("1e5", Some(false)),
            ("1.234e5", Some(false)),
        ] {
            assert_eq!(point(cell.as_bytes()), shown, "{cell:?}");
        }
    }
}
