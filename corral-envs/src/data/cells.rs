//! What a cell holds: a number, a word, or nothing.

/// Whether a cell is missing: it is empty or `?`, or one of the words NA, N/A, NaN and null, in capitals or not. ARFF
/// writes `?` alone, and may declare any word as a category: `strict`.
#[inline]
pub fn missing(cell: &[u8], strict: bool) -> bool {
    // Most cells are numbers.
    if cell.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    match cell.trim_ascii() {
        b"" => !strict || cell.is_empty(),
        b"?" => true,
        text => !strict && [&b"NA"[..], b"N/A", b"NaN", b"null"].iter().any(|w| text.eq_ignore_ascii_case(w)),
    }
}

/// The number that a cell holds, if it holds one; it need not be finite.
#[inline]
pub fn number(cell: &[u8]) -> Option<f64> {
    short_decimal(cell).or_else(|| std::str::from_utf8(cell).ok()?.trim().parse().ok())
}

/// The powers of ten that divide a [`short_decimal`].
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// A number of few digits without an exponent, as most are; `None` for all else. Digits and power of ten are exact, so
/// that their quotient is rounded once, and is the number that a full parser finds (Clinger 1990).
#[inline]
fn short_decimal(cell: &[u8]) -> Option<f64> {
    let (negative, text) = match cell {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, cell),
    };
    if text.len() > POWERS.len() {
        return None;
    }
    let (mut whole, mut digits, mut decimals) = (0u64, 0, None);
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            whole = 10 * whole + u64::from(digit);
            digits += 1;
        } else if *byte == b'.' && decimals.is_none() {
            decimals = Some(digits);
        } else {
            return None;
        }
    }
    if digits == 0 || whole > 1 << 53 {
        return None;
    }
    let value = whole as f64 / POWERS.get(decimals.map_or(0, |before| digits - before))?;
    Some(if negative { -value } else { value })
}

/// A finite number, or the error that names it.
pub fn finite(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        Ok(x) => Err(format!("{x} is not finite")),
        Err(_) => Err(format!("{text:?} is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::{missing, number};
    use corral_core::Rng;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    #[test]
    fn numbers_are_those_of_the_full_parser() {
        let full = |text: &str| text.trim().parse::<f64>().ok().map(f64::to_bits);
        let mut texts: Vec<String> = [
            "",
            "-",
            ".",
            "-.",
            "5.",
            ".5",
            "-0",
            "+1",
            "1.2.3",
            "--1",
            "1e3",
            "1e400",
            "inf",
            "nan",
            " 7 ",
            "7 8",
            "0x1",
            "9007199254740992",
            "9007199254740993",
            "9999999999999999",
            "99999999999999999",
            "0.000000000000001",
            ".0000000000000001",
            "-123456789012345",
            "1,5",
            "\u{a0}2\u{a0}",
            "0.1",
            "123456.7",
            "red",
        ]
        .map(String::from)
        .to_vec();
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        for _ in 0..20_000 {
            let bits = rng.next_u64();
            let (digits, decimals) = (bits >> (8 + bits % 54), (bits as usize >> 6) % 9);
            let sign = if bits & 32 == 0 { "" } else { "-" };
            let text = format!("{digits:0>9}");
            let (whole, rest) = text.split_at(text.len() - decimals);
            texts.push(format!("{sign}{whole}.{rest}"));
            texts.push(format!("{sign}{digits}"));
        }
        for text in &texts {
            assert_eq!(number(text.as_bytes()).map(f64::to_bits), full(text), "{text:?}");
        }
        assert_eq!(number(b"\xff1"), None);
    }

    #[test]
    fn missing_cells_are_recognised() {
        for cell in ["", "?", " ? ", "NA", "na", "N/A", "nan", "NaN", "null", "NULL", "  "] {
            assert!(missing(cell.as_bytes(), false), "{cell:?}");
        }
        for cell in ["0", "-", "none", "nab", "NA1", "1?"] {
            assert!(!missing(cell.as_bytes(), false), "{cell:?}");
        }
        assert!(missing(b"?", true) && missing(b"", true) && !missing(b"NA", true));
    }
}
