//! WEKA's attribute-relation format, dense and sparse: attributes of every type but relations, quotes with escapes, `?`
//! for what is missing, comments, and weights of rows, which are passed over.

use std::collections::HashSet;
use std::path::Path;

use csv::ByteRecord;

use super::source::{Lines, at, broken};
use crate::EnvError;

/// The header of an ARFF file.
#[derive(Default)]
pub struct Arff {
    /// The attributes' names.
    pub names: Vec<String>,
    /// Whether each is categorical.
    pub nominal: Vec<bool>,
    /// The last line of the header.
    pub lines: u64,
    // What a sparse row leaves out: 0, or the first of the declared values.
    defaults: Vec<Vec<u8>>,
    // The values that are declared; empty where none are.
    declared: Vec<HashSet<Vec<u8>>>,
    // The places of the values that a sparse row names, in `buffer`.
    named: Vec<Option<std::ops::Range<usize>>>,
    buffer: Vec<u8>,
}

impl Arff {
    /// Reads up to the line `@data`.
    pub fn read(path: &Path, lines: &mut Lines) -> Result<Self, EnvError> {
        let mut header = Self::default();
        let mut line = Vec::new();
        loop {
            header.lines += 1;
            if !lines.read(&mut line).map_err(|e| broken(path, Some(header.lines), &e))? {
                return Err(at(path, Some(header.lines), "the header has no @data"));
            }
            let text = line.trim_ascii();
            let word = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
            if word.eq_ignore_ascii_case(b"@data") {
                break;
            }
            if word.eq_ignore_ascii_case(b"@attribute") {
                header.declare(&text[word.len()..]).map_err(|why| at(path, Some(header.lines), why))?;
            }
        }
        if header.names.is_empty() {
            return Err(at(path, Some(header.lines), "there is no @attribute"));
        }
        header.named.resize(header.names.len(), None);
        Ok(header)
    }

    /// Takes in the name and the type of an attribute.
    fn declare(&mut self, text: &[u8]) -> Result<(), String> {
        let refuse = || format!("not an attribute: {:?}", String::from_utf8_lossy(text.trim_ascii()));
        let mut name = Vec::new();
        let mut rest = Text(text);
        rest.value(&mut name, u8::is_ascii_whitespace)?;
        let kind = rest.0.trim_ascii();
        let word = kind.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        let (mut values, mut first) = (HashSet::new(), b"0".to_vec());
        let nominal = if kind.first() == Some(&b'{') {
            let mut rest = Text(&kind[1..]);
            loop {
                let mut value = Vec::new();
                rest.value(&mut value, |b| matches!(b, b',' | b'}'))?;
                if values.is_empty() {
                    first.clone_from(&value);
                }
                values.insert(value);
                match rest.0.split_first() {
                    Some((b',', more)) => rest = Text(more),
                    Some((b'}', _)) => break true,
                    _ => return Err(refuse()),
                }
            }
        } else if ["numeric", "real", "integer"].iter().any(|name| is(name)) {
            false
        } else if ["string", "date"].iter().any(|name| is(name)) {
            true
        } else if name.is_empty() || word.is_empty() {
            return Err(refuse());
        } else {
            let word = String::from_utf8_lossy(word);
            return Err(format!("no type of attributes that can be read: {word:?}"));
        };
        self.names.push(String::from_utf8_lossy(&name).into_owned());
        self.nominal.push(nominal);
        self.defaults.push(first);
        self.declared.push(values);
        Ok(())
    }

    /// Reads a row, dense or sparse; false where the line holds none.
    pub fn row(&mut self, line: &[u8], cells: &mut ByteRecord) -> Result<bool, String> {
        let text = line.trim_ascii();
        cells.clear();
        match text.first() {
            None | Some(b'%') => return Ok(false),
            Some(b'{') => self.sparse(&text[1..], cells)?,
            Some(_) => self.dense(text, cells)?,
        }
        if cells.len() != self.names.len() {
            return Err(format!("{} cells where the header has {}", cells.len(), self.names.len()));
        }
        for ((cell, declared), name) in cells.iter().zip(&self.declared).zip(&self.names) {
            if !declared.is_empty() && !declared.contains(cell) && cell != b"?" {
                let cell = String::from_utf8_lossy(cell);
                return Err(format!("column {name:?}: {cell:?} is none of the values that are declared"));
            }
        }
        Ok(true)
    }

    fn dense(&mut self, text: &[u8], cells: &mut ByteRecord) -> Result<(), String> {
        let mut rest = Text(text);
        loop {
            // A weight stands behind the last cell, in braces.
            if cells.len() == self.names.len() && rest.0.trim_ascii_start().first() == Some(&b'{') {
                return Ok(());
            }
            self.buffer.clear();
            rest.value(&mut self.buffer, |b| matches!(b, b',' | b'\t'))?;
            cells.push_field(&self.buffer);
            match rest.0.split_first() {
                Some((_, more)) => rest = Text(more),
                None => return Ok(()),
            }
        }
    }

    fn sparse(&mut self, text: &[u8], cells: &mut ByteRecord) -> Result<(), String> {
        self.named.fill(None);
        self.buffer.clear();
        let mut rest = Text(text);
        while !matches!(rest.0.trim_ascii_start().first(), Some(b'}')) {
            let start = self.buffer.len();
            rest.value(&mut self.buffer, u8::is_ascii_whitespace)?;
            let index = String::from_utf8_lossy(&self.buffer[start..]).into_owned();
            self.buffer.truncate(start);
            let place = index.parse::<usize>().ok().and_then(|i| self.named.get_mut(i));
            let place = place.ok_or_else(|| format!("{index:?} is no index of an attribute"))?;
            if place.is_some() {
                return Err(format!("attribute {index} stands there twice"));
            }
            rest.value(&mut self.buffer, |b| matches!(b, b',' | b'}'))?;
            *place = Some(start..self.buffer.len());
            match rest.0.split_first() {
                Some((b',', more)) => rest = Text(more),
                Some((b'}', _)) => break,
                _ => return Err("the brace is not closed".to_owned()),
            }
        }
        for (named, default) in self.named.iter().zip(&self.defaults) {
            cells.push_field(named.clone().map_or(default, |named| &self.buffer[named]));
        }
        Ok(())
    }
}

/// The rest of a line.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    /// Appends the value that comes next, up to a byte that ends it, which stays. A value may be quoted, and then holds
    /// what would end it, and escapes.
    fn value(&mut self, out: &mut Vec<u8>, ends: impl Fn(&u8) -> bool) -> Result<(), String> {
        self.0 = self.0.trim_ascii_start();
        let Some(quote) = self.0.first().filter(|b| matches!(b, b'\'' | b'"')) else {
            let end = self.0.iter().position(&ends).unwrap_or(self.0.len());
            out.extend_from_slice(self.0[..end].trim_ascii_end());
            self.0 = &self.0[end..];
            return Ok(());
        };
        let mut bytes = self.0[1..].iter();
        loop {
            match bytes.next() {
                None => return Err("a quote is not closed".to_owned()),
                Some(b) if b == quote => break,
                Some(b'\\') => match bytes.next() {
                    None => return Err("a quote is not closed".to_owned()),
                    Some(b'n') => out.push(b'\n'),
                    Some(b'r') => out.push(b'\r'),
                    Some(b't') => out.push(b'\t'),
                    Some(escaped) => out.push(*escaped),
                },
                Some(b) => out.push(*b),
            }
        }
        let rest = bytes.as_slice();
        // Blanks may stand before the end, and may be it.
        let behind = rest.trim_ascii_start();
        self.0 = if behind.first().is_none_or(&ends) { behind } else { rest };
        match self.0.first() {
            Some(b) if !ends(b) => Err("something stands behind a quote".to_owned()),
            _ => Ok(()),
        }
    }
}
