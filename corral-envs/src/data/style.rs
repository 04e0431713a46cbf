//! Numbers as people write them: `$1,234.50`, `12,5`, `45%`, `5 kg`, `(3.50)`, `1.2k`.

use serde::{Deserialize, Serialize};

use super::cells::number;

/// How the numbers of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Style {
    /// As programs write them: 1234.5.
    #[default]
    Plain,
    /// With a currency, a unit or separated thousands; decimals follow a point or a comma.
    Written {
        /// What decimals follow.
        decimal: u8,
        /// What its numbers are of.
        unit: Unit,
    },
}

impl Style {
    /// The number that a cell holds, if it holds one.
    #[inline]
    pub fn number(self, cell: &[u8]) -> Option<f64> {
        match self {
            Self::Plain => number(cell),
            Self::Written { decimal, unit } => written(cell, decimal, unit),
        }
    }

    /// Why a cell is no number of the column, where it is one in another style.
    pub fn refuses(self, cell: &[u8]) -> Option<String> {
        let Self::Written { decimal, unit } = self else { return None };
        let (found, text) = (bare(cell)?, String::from_utf8_lossy(cell));
        if !unit.has(found.unit) {
            return Some(format!("{text:?} is a number {}, but those of its column are {unit}", found.unit));
        }
        let sign = if decimal == b',' { "comma" } else { "point" };
        Some(format!("{text:?} is not a number whose decimals follow a {sign}, as those of its column do"))
    }
}

/// What stands between thousands beside point and comma: a space, a space that does not break, a narrow one, an apostrophe.
const SPACES: [char; 5] = [' ', '\u{a0}', '\u{202f}', '\'', '\u{2019}'];

/// Signs of currencies.
const CURRENCIES: [char; 4] = ['$', '\u{20ac}', '\u{a3}', '\u{a5}'];

/// What may follow a number or, of a currency, stand before it. Models keep the place in this list: new ones come last.
const UNITS: [&str; 52] = [
    "%", "$", "\u{20ac}", "\u{a3}", "\u{a5}", "USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD", "CNY", "INR",
    "SEK", "NOK", "DKK", "PLN", "CZK", "BRL", "kg", "g", "mg", "t", "lb", "lbs", "oz", "km", "m", "cm", "mm",
    "mi", "ft", "l", "ml", "h", "min", "s", "ms", "kWh", "MWh", "kW", "W", "B", "kB", "KB", "MB", "GB", "TB",
    "km/h", "\u{b0}C", "\u{b0}F",
];

/// Of these the first is per cent, and then come currencies.
const MONEY: std::ops::Range<u8> = 2..21;

/// Letters behind a number that make it so many times as much.
const TIMES: [(&str, f64); 5] = [("k", 1e3), ("K", 1e3), ("M", 1e6), ("bn", 1e9), ("mio", 1e6)];

/// What a number is of: 0 where nothing is said, else its place in [`UNITS`], from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unit(u8);

impl Unit {
    fn of(text: &str) -> Option<Self> {
        UNITS.iter().position(|unit| *unit == text).map(|place| Self(place as u8 + 1))
    }

    /// Whether a number of `other` may stand in a column of this: money may leave its currency out.
    fn has(self, other: Self) -> bool {
        self == other || other.0 == 0 && MONEY.contains(&self.0)
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.checked_sub(1).and_then(|place| UNITS.get(usize::from(place))) {
            Some(unit) => write!(f, "with {unit:?}"),
            None => f.write_str("without a unit"),
        }
    }
}

/// A cell without its sign, its currency and its unit.
struct Bare<'a> {
    digits: &'a str,
    negative: bool,
    unit: Unit,
    times: f64,
}

/// A currency that begins a text, and what follows it.
fn money(text: &str) -> Option<(Unit, &str)> {
    let sign = text.chars().next().filter(|c| CURRENCIES.contains(c))?;
    Some((Unit::of(&text[..sign.len_utf8()])?, text[sign.len_utf8()..].trim_start()))
}

fn bare(cell: &[u8]) -> Option<Bare<'_>> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    // Book-keepers write (5) for -5.
    let (inner, bracketed) = match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        Some(inner) => (inner.trim(), true),
        None => (text, false),
    };
    let mut unit = Unit::default();
    // Two units are one too many.
    let mut name = |new: Unit| std::mem::replace(&mut unit, new) == Unit::default();
    let mut text = inner;
    let mut signed = None;
    for _ in 0..2 {
        if let Some((currency, rest)) = money(text) {
            if !name(currency) {
                return None;
            }
            text = rest;
        } else if signed.is_none()
            && let Some(rest) = text.strip_prefix(['-', '\u{2212}', '+'])
        {
            (signed, text) = (Some(!text.starts_with('+')), rest.trim_start());
        }
    }
    // A code of a currency, as in EUR 5.
    if let Some((code, rest)) = text.split_once([' ', '\u{a0}'])
        && code.len() == 3
        && let Some(code) = Unit::of(code).filter(|unit| MONEY.contains(&unit.0))
    {
        if !name(code) {
            return None;
        }
        text = rest.trim_start();
    }
    if signed.is_none()
        && let Some(rest) = text.strip_suffix('-')
    {
        (signed, text) = (Some(true), rest.trim_end());
    }
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let mut times = 1.0;
    match text[digits.len()..].trim() {
        "" => {}
        tail => match TIMES.iter().find(|(word, _)| *word == tail) {
            Some((_, by)) => times = *by,
            None if name(Unit::of(tail)?) => {}
            None => return None,
        },
    }
    let begins = digits.starts_with(|c: char| c.is_ascii_digit() || ['.', ','].contains(&c));
    // Both signs are one too many.
    let fits = begins && !digits.is_empty() && !(bracketed && signed.is_some());
    fits.then_some(Bare { digits, negative: bracketed || signed == Some(true), unit, times })
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

fn written(cell: &[u8], decimal: u8, unit: Unit) -> Option<f64> {
    let Bare { digits, negative, unit: own, times } = bare(cell)?;
    if !unit.has(own) || matches!(shows(digits)?, Shows::Decimal(d) if d != decimal) {
        return None;
    }
    let plain: String = digits
        .chars()
        .filter(|c| c.is_ascii_digit() || *c as u32 == u32::from(decimal))
        .map(|c| if c.is_ascii_digit() { c } else { '.' })
        .collect();
    let value = times * plain.parse::<f64>().ok()?;
    Some(if negative { -value } else { value })
}

/// What the cells of a column show of how their numbers are written.
#[derive(Debug, Clone, Default)]
pub struct Habits {
    point: Option<u64>,
    comma: Option<u64>,
    unclear: Option<(u64, String)>,
    /// The units, each with the first line that has it.
    units: Vec<(Unit, u64)>,
}

/// Why numbers of a column cannot be read: where it shows, what is wrong, and whether `decimal` would say it.
pub type Unclear = (u64, String, bool);

impl Habits {
    /// Takes in a cell on a line.
    pub fn see(&mut self, cell: &[u8], line: u64) {
        let Some(found) = bare(cell) else { return };
        if !self.units.iter().any(|(unit, _)| *unit == found.unit) {
            self.units.push((found.unit, line));
        }
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

    /// The unit of all numbers.
    fn unit(&self) -> Result<Unit, Unclear> {
        let main = self.units.iter().find(|(unit, _)| *unit != Unit::default());
        let Some((unit, with)) = main else { return Ok(Unit::default()) };
        let Some((other, without)) = self.units.iter().find(|(other, _)| !unit.has(*other)) else {
            return Ok(*unit);
        };
        let what = match (unit.to_string().as_str(), *other == Unit::default()) {
            ("with \"%\"", true) => {
                format!("per cent signs in some cells and not in others (lines {with} and {without})")
            }
            _ => format!("a number {unit} on line {with} and one {other} on line {without}"),
        };
        Err((*with.max(without), what, false))
    }

    /// How the column writes numbers; `decimal` is what the spec says where the column does not show it.
    pub fn style(&self, decimal: Option<u8>) -> Result<Style, Unclear> {
        let unit = self.unit()?;
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
            (Some(decimal), _) => Ok(Style::Written { decimal, unit }),
            (None, Some((line, cell))) => {
                Err((*line, format!("{cell:?} may have decimals or thousands"), true))
            }
            (None, None) => Ok(Style::Written { decimal: b'.', unit }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Habits, Style, Unit, point, readable};

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
        assert_eq!(of(&["($1,234.00)", "$5", "-$2.50", "7"]), [-1234.0, 5.0, -2.5, 7.0]);
        assert_eq!(of(&["988.56 USD", "1.5 USD", "-2 USD"]), [988.56, 1.5, -2.0]);
        assert_eq!(of(&["EUR 5", "12 EUR"]), [5.0, 12.0]);
        assert_eq!(of(&["5 kg", "2.5kg"]), [5.0, 2.5]);
        assert_eq!(of(&["1.2k", "900", "3M"]), [1200.0, 900.0, 3e6]);
        assert_eq!(of(&["1,5-", "2"]), [-1.5, 2.0]);
    }

    /// A law over units: what a column may not mix, a cell of a later file may not either.
    #[test]
    fn units_are_not_mixed() {
        let cells = ["5 %", "5 kg", "5 g", "$5", "5 \u{20ac}", "5 USD", "5"];
        for a in cells {
            let mut habits = Habits::default();
            habits.see(a.as_bytes(), 2);
            let style = habits.style(None).unwrap();
            for b in cells {
                let money = |cell: &str| cell.contains(['$', '\u{20ac}', 'U']);
                let fits = a == b || b == "5" && money(a);
                assert_eq!(style.number(b.as_bytes()).is_some(), fits, "{a} {b}");
                assert_eq!(
                    style
                        .refuses(b.as_bytes())
                        .is_some_and(|why| why.contains("but those of its column are")),
                    !fits
                );
                habits.see(b.as_bytes(), 3);
                let mixes = a == b || b == "5" && money(a) || a == "5" && money(b);
                assert_eq!(read(&[a, b], None).is_ok(), mixes, "{a} {b}");
            }
        }
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
        for cell in [
            "", "-", "red", "1.2.3", "12-34", "1,23,456", "$", "%", "5 apples", "\u{ff}", "1e5,0", "(5",
            "(-5)", "$5 USD", "5 kg kg", "-5-", "12A", "k", "kg",
        ] {
            assert!(!readable(cell.as_bytes()), "{cell:?}");
        }
        assert_eq!(Style::Written { decimal: b'.', unit: Unit::default() }.number(b"1,5"), None);
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
