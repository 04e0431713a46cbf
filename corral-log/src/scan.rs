//! The fields of a JSON object, found without reading their values: an evaluation asks for few of them.

/// The fields of an object in one line: each is a name and the bytes of its value. It ends early at what is not an object.
pub(crate) struct Fields<'a> {
    line: &'a [u8],
    at: usize,
    broken: bool,
}

impl<'a> Fields<'a> {
    /// The fields of `line`; `None` where it does not begin as an object.
    pub fn of(line: &'a [u8]) -> Option<Self> {
        let mut fields = Self { line, at: 0, broken: false };
        fields.skip_space();
        (fields.byte()? == b'{').then_some(fields)
    }

    /// Whether the object ended where it should not have.
    pub fn broken(&self) -> bool {
        self.broken
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.line.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// The bytes between quotes, the first of which was taken.
    fn text(&mut self) -> Option<&'a [u8]> {
        let from = self.at;
        loop {
            match self.byte()? {
                b'"' => return Some(&self.line[from..self.at - 1]),
                b'\\' => self.at += 1,
                _ => {}
            }
        }
    }

    /// Passes over a list or an object, whose first bracket was taken: in what is JSON, brackets of one kind are balanced.
    fn nested(&mut self, open: u8, close: u8) -> Option<()> {
        let mut depth = 1u32;
        while depth > 0 {
            self.at += memchr::memchr3(open, close, b'"', self.line.get(self.at..)?)?;
            match self.byte()? {
                b'"' => {
                    self.text()?;
                }
                bracket if bracket == open => depth += 1,
                _ => depth -= 1,
            }
        }
        Some(())
    }

    /// Passes over a value and returns its bytes.
    fn value(&mut self) -> Option<&'a [u8]> {
        let from = self.at;
        match self.peek()? {
            b'"' => {
                self.at += 1;
                self.text()?;
            }
            b'[' => {
                self.at += 1;
                self.nested(b'[', b']')?;
            }
            b'{' => {
                self.at += 1;
                self.nested(b'{', b'}')?;
            }
            _ => {
                while !matches!(self.peek()?, b',' | b'}' | b' ' | b'\t') {
                    self.at += 1;
                }
            }
        }
        (self.at > from).then(|| &self.line[from..self.at])
    }

    fn field(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let name = self.text()?;
        self.skip_space();
        if self.byte()? != b':' {
            return None;
        }
        self.skip_space();
        let value = self.value()?;
        self.skip_space();
        Some((name, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.broken {
            return None;
        }
        self.skip_space();
        let field = match self.byte() {
            Some(b'}') => {
                self.skip_space();
                self.broken = self.at != self.line.len();
                return None;
            }
            Some(b'"') => self.field(),
            _ => None,
        };
        // After a field comes another one or the end.
        match (field.is_some(), self.peek()) {
            (true, Some(b',')) => self.at += 1,
            (true, Some(b'}')) => {}
            _ => self.broken = true,
        }
        field
    }
}

/// A number; `None` where the bytes are not one as JSON has it.
pub(crate) fn number(value: &[u8]) -> Option<f64> {
    // What Rust reads and JSON does not begins with a letter, a plus or a point.
    let begins = matches!(value.first()?, b'-' | b'0'..=b'9') && value.last()?.is_ascii_digit();
    begins.then(|| std::str::from_utf8(value).ok()?.parse().ok()).flatten()
}

/// A whole number.
pub(crate) fn whole(value: &[u8]) -> Option<u32> {
    let digits = value.len() <= 10 && !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(value).ok()?.parse().ok()).flatten()
}

/// The items of a list without lists in it.
pub(crate) fn items(value: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let inner = value.strip_prefix(b"[")?.strip_suffix(b"]")?.trim_ascii();
    let parts = inner.split(|c| *c == b',').map(<[u8]>::trim_ascii);
    // An empty list has one empty part.
    Some(parts.take(if inner.is_empty() { 0 } else { usize::MAX }))
}

/// Appends the numbers of a list to `into`; `null` is NaN.
pub(crate) fn numbers(value: &[u8], into: &mut Vec<f64>) -> Option<()> {
    for item in items(value)? {
        into.push(if item == b"null" { f64::NAN } else { number(item)? });
    }
    Some(())
}

/// Appends a number, or the numbers of a list, to `into`.
pub(crate) fn one_or_more(value: &[u8], into: &mut Vec<f64>) -> Option<()> {
    match number(value) {
        Some(one) => {
            into.push(one);
            Some(())
        }
        None => numbers(value, into),
    }
}

/// A text, or the bytes of another value.
pub(crate) fn word(value: &[u8]) -> String {
    text(value).map_or_else(|| String::from_utf8_lossy(value).into_owned(), |text| text.into_owned())
}

/// What a unit is called; `None`: null or empty, which names none.
pub(crate) fn label(value: &[u8]) -> Option<String> {
    Some(word(value)).filter(|word| value != b"null" && !word.is_empty())
}

/// A text without its quotes; escapes are read where there are any.
pub(crate) fn text(value: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.contains(&b'\\') {
        return serde_json::from_slice::<String>(value).ok().map(Into::into);
    }
    std::str::from_utf8(inner).ok().map(Into::into)
}
