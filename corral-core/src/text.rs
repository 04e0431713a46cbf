//! Text from outside, made fit to be shown.

use std::borrow::Cow;

/// `text` with every character that would act on a terminal or hide its neighbours written as `\u{...}`: control
/// characters, line and paragraph separators, marks that change the direction of writing, characters without a width.
///
/// Texts of plugins pass through it where they come in; what a program prints passes through it line by line.
///
/// ```
/// use corral_core::text::visible;
/// assert_eq!(visible("naïve\t\"q\""), "naïve\\u{9}\"q\"");
/// assert_eq!(visible("\u{1b}[2Jgone\n"), "\\u{1b}[2Jgone\\u{a}");
/// assert_eq!(visible("so.\u{202e}txt"), "so.\\u{202e}txt");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// As [`visible`], of text in lines: line breaks and tabs stay.
///
/// ```
/// assert_eq!(corral_core::text::visible_lines("a\tb\n\u{7}c\r\n"), "a\tb\n\\u{7}c\\u{d}\n");
/// ```
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    let stays = |c| matches!(c, '\n' | '\t');
    if !text.contains(|c| acts(c) && !stays(c)) {
        return Cow::Borrowed(text);
    }
    let parts = text.split_inclusive(stays).map(|part| match part.strip_suffix(stays) {
        Some(bare) => visible(bare) + &part[bare.len()..],
        None => visible(part),
    });
    Cow::Owned(parts.collect())
}

fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
