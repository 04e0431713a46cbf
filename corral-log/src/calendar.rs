//! Times as text: ISO 8601, in UTC.

const DAY: u64 = 86_400_000;

/// Milliseconds since 1970 as text. The day is found from the number of days by the calendar of 400 years.
pub(crate) fn timestamp(at: u64) -> String {
    let (days, ms) = ((at / DAY) as i64, at % DAY);
    // Days since 1 March of year 0, so that a leap day is the last of its year.
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let (s, ms) = (ms / 1000, ms % 1000);
    format!(
        "{year:04}-{month:02}-{of_month:02}T{:02}:{:02}:{:02}.{ms:03}0000Z",
        s / 3600,
        s / 60 % 60,
        s % 60
    )
}

/// The milliseconds since 1970 of such a text, of which parts of a second may be missing; `None` where it is not one.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let marks = [(4, '-'), (7, '-'), (10, 'T'), (13, ':'), (16, ':')];
    if !marks.iter().all(|(at, mark)| text.get(*at..).is_some_and(|rest| rest.starts_with(*mark))) {
        return None;
    }
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let rest = text.get(19..)?.strip_suffix('Z')?;
    let ms = match rest.strip_prefix('.') {
        Some(digits) => format!("{digits:0<3}").get(..3)?.parse::<u64>().ok()?,
        None if rest.is_empty() => 0,
        None => return None,
    };
    // As above, backwards.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let time = ((part(11, 13)? * 60 + part(14, 16)?) * 60 + part(17, 19)?) * 1000 + ms;
    Some((days.checked_sub(719_468)?) * DAY + time)
}

#[cfg(test)]
mod tests {
    use super::{milliseconds, timestamp};

    #[test]
    fn times_are_written_by_the_calendar() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00.0000000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.9990000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.0000000Z"),
            (1_798_675_199_000, "2026-12-30T23:59:59.0000000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.0000000Z"),
        ] {
            assert_eq!(timestamp(at), text);
            assert_eq!(milliseconds(text), Some(at));
        }
        assert_eq!(milliseconds("2000-02-29T00:00:01Z"), Some(951_782_401_000));
        for text in ["", "2000-02-29", "2000-13-29T00:00:01Z", "2000-02-29 00:00:01", "ü000-02-29T00:00:01Z"]
        {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_is_read_back() {
        (0..146_097).map(|day| day * super::DAY + 12_345).for_each(|at| {
            assert_eq!(milliseconds(&timestamp(at)), Some(at));
        });
    }
}
