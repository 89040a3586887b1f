//! Untrusted text on a terminal: escaped, measured and cut.

use std::borrow::Cow;

use trunkline::client::http::redact_url;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text of several lines, with control characters escaped.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    escape(text, |character| !matches!(character, '\n' | '\t') && is_unsafe(character))
}

/// The same on one line.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escape(text, is_unsafe)
}

/// Whether a text names a password, as `password=` in connection strings does.
pub(crate) fn names_password(text: &str) -> bool {
    after_name_of_password(text).is_some()
}

/// The place after the first `=` that follows a name of a password.
fn after_name_of_password(text: &str) -> Option<usize> {
    const NAMES: [&str; 3] = ["password", "passwd", "pwd"];
    let text = text.to_ascii_lowercase();
    let is_named = |place: &usize| {
        let before = text[..*place].trim_end();
        NAMES.iter().any(|name| before.ends_with(name))
    };
    text.match_indices('=').map(|(place, _)| place).find(is_named).map(|place| place + 1)
}

/// The text, with the secrets of its URLs and the passwords of connection strings redacted.
pub(crate) fn redacted(text: &str) -> Cow<'_, str> {
    match without_passwords(text) {
        None => without_url_secrets(text),
        Some(text) => without_url_secrets(&text).into_owned().into(),
    }
}

/// The text without the values of `password=`, if there are any.
fn without_passwords(text: &str) -> Option<String> {
    let mut rest = text;
    let mut kept = String::new();
    while let Some(start) = after_name_of_password(rest) {
        let value = rest[start..].trim_start();
        let start = rest.len() - value.len();
        let is_end = |c: char| c.is_whitespace() || "\"`;&".contains(c);
        let length = match value.strip_prefix('\'') {
            Some(quoted) => quoted.find('\'').map(|length| length + 2),
            None => value.find(is_end),
        };
        kept += &rest[..start];
        kept += "<redacted>";
        rest = &value[length.unwrap_or(value.len())..];
    }
    (!kept.is_empty()).then(|| kept + rest)
}

fn without_url_secrets(text: &str) -> Cow<'_, str> {
    const ENDS: [char; 5] = ['"', '`', '<', '>', '|'];
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let mut redacted = String::new();
    let mut rest = text;
    while let Some(delimiter) = rest.find("://") {
        let start = rest[..delimiter].trim_end_matches(is_scheme).len();
        let length = rest[start..].find(|c: char| c.is_whitespace() || ENDS.contains(&c));
        let end = length.map_or(rest.len(), |length| start + length);
        let url = rest[start..end].trim_end_matches(['\'', ')', ',', ';', ':', '.']);
        redacted += &rest[..start];
        redacted += &redact_url(url);
        rest = &rest[start + url.len()..];
    }
    if redacted.is_empty() { text.into() } else { (redacted + rest).into() }
}

/// The width of a line in columns.
pub(crate) fn width(line: &str) -> usize {
    line.width()
}

/// The line, cut to at most `columns`.
pub(crate) fn cut(line: &str, columns: usize) -> Cow<'_, str> {
    if width(line) <= columns {
        return line.into();
    }
    let mut left = columns.saturating_sub(1);
    let mut kept = String::new();
    for character in line.chars() {
        let Some(rest) = left.checked_sub(character.width().unwrap_or_default()) else { break };
        left = rest;
        kept.push(character);
    }
    kept.push('…');
    kept.into()
}

/// Pieces of a line of at most `columns` each; an empty line is one piece.
pub(super) fn pieces(line: &str, columns: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (at, character) in line.char_indices() {
        let width = character.width().unwrap_or_default();
        if used + width > columns && at > start {
            pieces.push(&line[start..at]);
            (start, used) = (at, 0);
        }
        used += width;
    }
    pieces.push(&line[start..]);
    pieces
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return text.into();
    }
    let mut escaped = String::new();
    for character in text.chars() {
        if is_escaped(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped.into()
}

/// Whether a character controls a terminal or the direction of text, or is invisible. Joiners of emoji and letters
/// are safe: without them, the text would be different.
pub(super) fn is_unsafe(character: char) -> bool {
    let is_hidden = matches!(
        character,
        '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            // Tags, which can hide a whole text.
            | '\u{e0000}'..='\u{e007f}'
    );
    character.is_control() || is_hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_control_characters() {
        for (text, one_line, several) in [
            ("plain ä 世界 👩‍👩‍👧", "plain ä 世界 👩‍👩‍👧", "plain ä 世界 👩‍👩‍👧"),
            ("a\n\tb", "a\\n\\tb", "a\n\tb"),
            ("a\r\u{7}", "a\\r\\u{7}", "a\\r\\u{7}"),
            ("\u{1b}[2J", "\\u{1b}[2J", "\\u{1b}[2J"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("\u{202e}abc", "\\u{202e}abc", "\\u{202e}abc"),
            ("a\u{200f}\u{61c}", "a\\u{200f}\\u{61c}", "a\\u{200f}\\u{61c}"),
            ("a\u{200b}\u{feff}", "a\\u{200b}\\u{feff}", "a\\u{200b}\\u{feff}"),
            ("a\u{e0041}", "a\\u{e0041}", "a\\u{e0041}"),
            ("नमस्\u{200d}ते\u{200c}", "नमस्\u{200d}ते\u{200c}", "नमस्\u{200d}ते\u{200c}"),
        ] {
            assert_eq!((&*line(text), &*lines(text)), (one_line, several), "{text:?}");
        }
    }

    #[test]
    fn redacts_urls() {
        for (text, expected) in [
            ("no URL", "no URL"),
            ("https://h/a", "https://h/a"),
            ("invalid `https://u:p@h/a`: why", "invalid `https://<redacted>@h/a`: why"),
            (
                "'https://u:p@h/a' (a, http://i?b=c).",
                "'https://<redacted>@h/a' (a, http://i?<redacted>).",
            ),
            (
                "up=https://u:p@h postgres://u:p@h/d",
                "up=https://<redacted>@h postgres://u:<redacted>@h/d",
            ),
            ("://", "://"),
            (":// a://:", ":// a://:"),
            ("host=h password=p user=u", "host=h password=<redacted> user=u"),
            ("password = 'a b' x; PWD=q;", "password = <redacted> x; PWD=<redacted>;"),
            ("host=h password='a b", "host=h password=<redacted>"),
            (
                "password='a'b' postgres://u:p@h/d",
                "password=<redacted>b' postgres://u:<redacted>@h/d",
            ),
            ("no password", "no password"),
        ] {
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn cuts_lines() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("世界", 4, "世界"),
            ("世界", 3, "世…"),
            ("a世界", 3, "a…"),
            ("abc", 1, "…"),
        ] {
            let found = cut(text, columns);
            assert_eq!(found, expected);
            assert!(width(&found) <= columns, "{text}");
        }
    }
}
