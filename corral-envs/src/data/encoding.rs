//! Bytes of a text file as UTF-8: a byte order mark is taken off, and UTF-16 is converted.

use std::io::{self, BufRead, BufReader, Read};

type Bytes = BufReader<Box<dyn Read + Send>>;

/// The text of `bytes` as UTF-8.
pub fn decoded(mut bytes: Bytes) -> io::Result<Bytes> {
    let little = match bytes.fill_buf()? {
        [0xef, 0xbb, 0xbf, ..] => {
            bytes.consume(3);
            return Ok(bytes);
        }
        [0xff, 0xfe, ..] => true,
        [0xfe, 0xff, ..] => false,
        head if head.iter().take(256).any(|b| *b == 0) => {
            let why = "its first bytes hold zeros: it is no text, or UTF-16 without a byte order mark";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        _ => return Ok(bytes),
    };
    bytes.consume(2);
    Ok(BufReader::with_capacity(1 << 16, Box::new(Utf16 { bytes, little, text: Vec::new(), given: 0 })))
}

/// UTF-16 read as UTF-8; what is no character becomes U+FFFD.
struct Utf16 {
    bytes: Bytes,
    little: bool,
    text: Vec<u8>,
    given: usize,
}

impl Utf16 {
    /// Converts the next part.
    fn refill(&mut self) -> io::Result<()> {
        let mut part = Vec::with_capacity(8192);
        self.bytes.by_ref().take(8192).read_to_end(&mut part)?;
        let unit = |pair: &[u8]| match (self.little, pair) {
            (true, [a, b]) => u16::from_le_bytes([*a, *b]),
            (false, [a, b]) => u16::from_be_bytes([*a, *b]),
            _ => 0xfffd, // Half a unit at the end.
        };
        // A pair of surrogates stays together.
        if part.len() == 8192 && (0xd800..0xdc00).contains(&unit(&part[8190..])) {
            self.bytes.by_ref().take(2).read_to_end(&mut part)?;
        }
        self.text.clear();
        self.given = 0;
        let mut utf8 = [0; 4];
        for c in char::decode_utf16(part.chunks(2).map(unit)) {
            self.text.extend_from_slice(c.unwrap_or('\u{fffd}').encode_utf8(&mut utf8).as_bytes());
        }
        Ok(())
    }
}

impl Read for Utf16 {
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
