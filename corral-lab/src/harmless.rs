//! Labels and messages hold whatever their authors wrote: here they are made fit for the files that they go into.

use std::borrow::Cow;

/// Markup that every reader of XML takes: characters that XML 1.0 does not have are written as `\u{...}`.
pub fn markup(text: String) -> String {
    let illegal =
        |c: char| matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    if !text.contains(illegal) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if illegal(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Text for a cell of a CSV. Spreadsheets take what begins with one of these characters for a formula, and run it: an
/// apostrophe before it says that it is text.
pub fn cell(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_does_not_have_is_written_out() {
        assert_eq!(markup("a\u{1b}[2J\0\tb\n\u{ffff}".to_owned()), "a\\u{1b}[2J\\u{0}\tb\n\\u{ffff}");
        assert_eq!(markup("né <b>".to_owned()), "né <b>");
    }

    #[test]
    fn what_a_spreadsheet_would_run_is_text() {
        for run in ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1"] {
            assert_eq!(cell(run), format!("'{run}"));
        }
        for plain in ["", "a=1", "ucb1", "'=1", "1-2"] {
            assert_eq!(cell(plain), plain);
        }
    }
}
