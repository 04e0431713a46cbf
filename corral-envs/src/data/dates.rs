//! Dates: 2024-01-31, 31/12/24, 5 Jan 2024, 20240131, each perhaps with a time.

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Whether a cell is a date that is not one number: [`is_compact`] has those.
pub fn is_date(cell: &[u8]) -> bool {
    std::str::from_utf8(cell).is_ok_and(|text| of_digits(text.trim()) || of_words(text.trim()))
}

/// Whether a cell is a date, a part of one, or a time: 2024-01, 2023-W05, Q1 2023, Mar-23, 01.03., 12:30. Cells of a column show by
/// each other that they are; one alone may be something else.
pub fn is_calendar(cell: &[u8]) -> bool {
    is_date(cell)
        || std::str::from_utf8(cell).is_ok_and(|text| of_parts(text.trim()) || is_clock(text.trim()))
}

/// Hours and minutes, perhaps with more.
fn is_clock(text: &str) -> bool {
    let Some((hours, rest)) = text.split_once(':') else { return false };
    let fits = digits(hours, &[1, 2]) && hours.parse::<u32>().is_ok_and(|n| n <= 24);
    let minutes = rest.get(..2).is_some_and(|two| digits(two, &[2]) && two < "60");
    fits && minutes
        && is_time(text)
        && rest.get(2..).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Two parts of a date: a year with a month, a quarter or a week; or a day and a month behind points.
fn of_parts(text: &str) -> bool {
    let signs = [' ', '-', '/', '.'];
    if let Some(rest) = text.strip_suffix('.') {
        let day_and_month = |(day, month): (&str, &str)| {
            is_day(day) && is_day(month) && month.parse::<u32>().is_ok_and(|n| n <= 12)
        };
        return rest.split_once('.').is_some_and(day_and_month);
    }
    let is_year = |part: &str| digits(part, &[4]) && ("1900".."2100").contains(&part);
    let is_part = |part: &str| {
        let most = match part.chars().next() {
            Some('W' | 'w') => 53,
            Some('Q' | 'q') => 4,
            _ => return digits(part, &[1, 2]) && part.parse::<u32>().is_ok_and(|n| (1..=12).contains(&n)),
        };
        digits(&part[1..], &[1, 2]) && part[1..].parse::<u32>().is_ok_and(|n| (1..=most).contains(&n))
    };
    let letter = |part: &str| part.starts_with(|c: char| c.is_ascii_alphabetic());
    // 2023Q1 and 2023W05 have nothing between.
    if let Some((year, rest)) = text.split_at_checked(4)
        && is_year(year)
        && letter(rest)
    {
        return is_part(rest);
    }
    let (first, second) = match text.split_once(signs) {
        Some((first, second)) => (first, second.trim_start_matches(signs)),
        None => return false,
    };
    // 01.2024 is a number.
    let points = text.contains('.') && !letter(first) && !letter(second);
    let named = |month: &str, year: &str| is_month(month) && digits(year, &[2, 4]);
    !points && (is_year(first) && is_part(second) || is_part(first) && is_year(second))
        || named(first, second)
        || named(second, first) && digits(first, &[4])
}

fn is_month(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word.len() >= 3 && MONTHS.iter().any(|month| *month == word || month[..3] == word) || word == "sept"
}

/// Whether a cell is a date of eight digits: year, month and day.
pub fn is_compact(cell: &[u8]) -> bool {
    let digits = cell.trim_ascii();
    if digits.len() != 8 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let number = |part: &[u8]| part.iter().fold(0, |n, digit| 10 * n + u32::from(digit - b'0'));
    let (year, month, day) = (number(&digits[..4]), number(&digits[4..6]), number(&digits[6..]));
    (1900..2100).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day)
}

fn digits(group: &str, lengths: &[usize]) -> bool {
    lengths.contains(&group.len()) && group.bytes().all(|b| b.is_ascii_digit())
}

fn is_day(group: &str) -> bool {
    digits(group, &[1, 2]) && group.parse::<u32>().is_ok_and(|n| (1..=31).contains(&n))
}

fn is_time(text: &str) -> bool {
    text.contains(':') && text.chars().all(|c| c.is_ascii_digit() || "T :.+-ZAPMapm".contains(c))
}

/// Three groups of digits with the same sign between, one of them a year or all of two digits.
fn of_digits(text: &str) -> bool {
    let day = text.split([' ', 'T']).next().unwrap_or_default();
    let time = &text[day.len()..];
    let Some(sign) = day.chars().find(|c| ['-', '/', '.'].contains(c)) else { return false };
    let groups: Vec<&str> = day.split(sign).collect();
    let [a, b, c] = groups.as_slice() else { return false };
    let dated = digits(a, &[4]) && is_day(b) && is_day(c) || is_day(a) && is_day(b) && digits(c, &[2, 4]);
    dated && (time.is_empty() || is_time(time))
}

/// A day, the English name of a month or its first letters, and a year, in any usual order, perhaps after a day of the week.
fn of_words(text: &str) -> bool {
    let is_weekday = |word: &str| {
        let word = word.to_ascii_lowercase();
        ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].iter().any(|day| word.starts_with(day))
            && !is_month(&word)
    };
    let is_day = |word: &str| {
        let ends = ["st", "nd", "rd", "th"];
        is_day(ends.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word))
    };
    let is_year = |word: &str| digits(word, &[2, 4]);
    let signs = [' ', '-', '/', '.', ','];
    let mut rest = text;
    let mut words = Vec::new();
    while words.len() < 3 {
        rest = rest.trim_start_matches(signs);
        let word = rest.split(signs).next().unwrap_or_default();
        if word.is_empty() {
            return false;
        }
        rest = &rest[word.len()..];
        if !(words.is_empty() && is_weekday(word)) {
            words.push(word);
        }
    }
    let dated = match words[..] {
        [a, b, c] if is_month(b) => is_day(a) && is_year(c) || digits(a, &[4]) && is_day(c),
        [a, b, c] => is_month(a) && is_day(b) && is_year(c),
        _ => false,
    };
    let time = rest.trim_start_matches([' ', ',']);
    dated && (time.is_empty() || is_time(time))
}

#[cfg(test)]
mod tests {
    use super::{is_calendar, is_compact, is_date};

    #[test]
    fn parts_of_dates_and_times_are_recognised() {
        for cell in [
            "2024-01",
            "01/2024",
            "2024/1",
            "2023-W05",
            "2023W05",
            "2023-Q1",
            "Q1 2023",
            "2023q4",
            "Mar-23",
            "Jan 2024",
            "2024 March",
            "01.03.",
            "5.12.",
            "12:30",
            "9:05 PM",
            "23:59:59.5",
            "2024-01-31",
        ] {
            assert!(is_calendar(cell.as_bytes()), "{cell:?}");
        }
        for cell in [
            "2024",
            "1.5",
            "10-20",
            "01.2024",
            "12.2024",
            "2024-13",
            "2023-W54",
            "Q5 2023",
            "W05",
            "99.99.",
            "1.13.",
            "1:5",
            "25:30",
            "12:60",
            "12:305",
            "1/6",
            "16-9",
            "may be",
            "Q1",
            "1-2024-3x",
            "2024-",
            "-2024",
            "",
            "A-23",
        ] {
            assert!(!is_calendar(cell.as_bytes()), "{cell:?}");
        }
    }

    #[test]
    fn dates_are_recognised() {
        for cell in [
            "2024-01-31",
            "31/12/2024",
            "1.2.24",
            "2024-01-31T10:00:00Z",
            "12/31/24 10:15 PM",
            "5 Jan 2024",
            "05-Jan-24",
            "5. January 2024",
            "Jan 5, 2024",
            "SEPT 1st 2024",
            "Mon, 5 Jan 2024 10:00:00 +0100",
            "2024-Jan-05",
        ] {
            assert!(is_date(cell.as_bytes()), "{cell:?}");
        }
        for cell in [
            "2024",
            "1.5",
            "10-20",
            "1.2.3.4",
            "99/99/2024",
            "2024-01-31 blue",
            "a-b-c",
            "Jan 2024",
            "5 apples 2024",
            "may be 2024",
            "55 Jan 2024",
            "5 Jan 2024 or so",
            "\u{ff}\u{ff} Jan 2024",
            "",
        ] {
            assert!(!is_date(cell.as_bytes()), "{cell:?}");
        }
        assert!(is_compact(b"20240105") && is_compact(b" 19991231 "));
        for cell in ["20241305", "20240132", "2024010", "18991231", "202401050", "2024-105", ""] {
            assert!(!is_compact(cell.as_bytes()), "{cell:?}");
        }
    }
}
