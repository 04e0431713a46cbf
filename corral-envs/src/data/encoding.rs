//! Bytes of a text file as UTF-8: a byte order mark is taken off, UTF-16 and Windows-1252 are converted.

use std::io::{self, BufRead, BufReader, Read};

type Bytes = BufReader<Box<dyn Read + Send>>;

/// How the characters of a file without a byte order mark are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Charset {
    /// UTF-8, of which ASCII is a part.
    #[default]
    Utf8,
    /// Windows-1252, of which Latin-1 is a part: a byte is a character.
    Windows1252,
}

/// The text of `bytes` as UTF-8.
pub fn decoded(mut bytes: Bytes, charset: Charset) -> io::Result<Bytes> {
    let units = match bytes.fill_buf()? {
        [0xef, 0xbb, 0xbf, ..] => {
            bytes.consume(3);
            if charset == Charset::Utf8 {
                return Ok(bytes);
            }
            Units::Bytes
        }
        [0xff, 0xfe, ..] => Units::Little,
        [0xfe, 0xff, ..] => Units::Big,
        head if head.iter().take(256).any(|b| *b == 0) => {
            let why = "its first bytes hold zeros: it is no text, or UTF-16 without a byte order mark";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        _ if charset == Charset::Windows1252 => Units::Bytes,
        _ => return Ok(bytes),
    };
    if units != Units::Bytes {
        bytes.consume(2);
    }
    Ok(BufReader::with_capacity(1 << 16, Box::new(Converted { bytes, units, text: Vec::new(), given: 0 })))
}

/// What characters are made of.
#[derive(Clone, Copy, PartialEq)]
enum Units {
    /// Of 16 bits, the low byte first.
    Little,
    /// Of 16 bits, the high byte first.
    Big,
    /// Of 8 bits.
    Bytes,
}

/// Text read as UTF-8; what is no character becomes U+FFFD.
struct Converted {
    bytes: Bytes,
    units: Units,
    text: Vec<u8>,
    given: usize,
}

/// The characters of the bytes 0x80 to 0x9f in Windows-1252; the five that it leaves open are controls, as in Latin-1.
const WINDOWS: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// The character of a byte in Windows-1252.
fn windows(byte: u8) -> char {
    WINDOWS.get(usize::from(byte).wrapping_sub(0x80)).copied().unwrap_or(char::from(byte))
}

/// The first line that is not UTF-8; `None` where all are. Bytes that cannot be read end the search: who reads them says so.
pub fn foreign_line(bytes: &mut impl BufRead) -> Option<u64> {
    let (mut line, mut begun) = (1u64, Vec::new());
    let lines = |text: &[u8]| text.iter().filter(|b| **b == b'\n').count() as u64;
    loop {
        let (part, length) = match bytes.fill_buf() {
            // A character that ends with the file is cut.
            Ok([]) => return (!begun.is_empty()).then_some(line),
            Ok(part) if begun.is_empty() => (std::borrow::Cow::Borrowed(part), part.len()),
            Ok(part) => (std::borrow::Cow::Owned([&begun[..], part].concat()), part.len()),
            Err(_) => return None,
        };
        let rest = match std::str::from_utf8(&part) {
            Ok(_) => Vec::new(),
            Err(e) if e.error_len().is_some() => return Some(line + lines(&part[..e.valid_up_to()])),
            Err(e) => part[e.valid_up_to()..].to_vec(),
        };
        line += lines(&part);
        begun = rest;
        bytes.consume(length);
    }
}

impl Converted {
    /// Converts the next part.
    fn refill(&mut self) -> io::Result<()> {
        let mut part = Vec::with_capacity(8192);
        self.bytes.by_ref().take(8192).read_to_end(&mut part)?;
        self.text.clear();
        self.given = 0;
        let mut utf8 = [0; 4];
        let text = &mut self.text;
        let mut push = |c: char| text.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
        let from = match self.units {
            Units::Little => u16::from_le_bytes,
            Units::Big => u16::from_be_bytes,
            Units::Bytes => {
                part.iter().for_each(|byte| push(windows(*byte)));
                return Ok(());
            }
        };
        let unit = |pair: &[u8]| match pair {
            [a, b] => from([*a, *b]),
            _ => 0xfffd, // Half a unit at the end.
        };
        // A pair of surrogates stays together.
        if part.len() == 8192 && (0xd800..0xdc00).contains(&unit(&part[8190..])) {
            self.bytes.by_ref().take(2).read_to_end(&mut part)?;
        }
        char::decode_utf16(part.chunks(2).map(unit)).for_each(|c| push(c.unwrap_or('\u{fffd}')));
        Ok(())
    }
}

impl Read for Converted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            self.refill()?;
        }
        let rest = &self.text[self.given..];
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        self.given += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::{foreign_line, windows};
    use std::io::BufReader;

    #[test]
    fn a_byte_of_windows_1252_is_one_character_and_no_two_are_the_same() {
        let all: std::collections::BTreeSet<char> = (0..=255).map(windows).collect();
        assert_eq!(all.len(), 256);
        assert_eq!([0x41, 0x80, 0x92, 0xe4, 0xff].map(windows), ['A', '\u{20ac}', '\u{2019}', 'ä', 'ÿ']);
    }

    #[test]
    fn the_first_line_that_is_not_utf_8_is_found_however_it_is_cut() {
        for (text, line) in [
            (&b"a\nb\n"[..], None),
            ("ä\n€\n\u{1f600}\n".as_bytes(), None),
            (b"a\nb\xe4r\n", Some(2)),
            (b"\xe4", Some(1)),
            (b"a\n\nb\xc3", Some(3)),
            ("ä\nä\n".as_bytes().split_last().unwrap().1, None),
            (b"\xc3\xa4\n\xc3\n\n", Some(2)),
        ] {
            for buffer in 1..8 {
                let found = foreign_line(&mut BufReader::with_capacity(buffer, text));
                assert_eq!(found, line, "{text:?} by {buffer}");
            }
        }
    }
}
