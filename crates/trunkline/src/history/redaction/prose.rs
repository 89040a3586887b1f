//! Strings that are no JSON, and may still hold a secret: with its name, in a URL, behind a scheme.

use super::known::Learned;
use super::passage::{IsSecret, REDACTED};

/// A text without its secrets; none if it has none. Of one that is not whole, what may be the beginning
/// of a secret is one.
pub(super) fn redacted(
    text: &str,
    is_whole: bool,
    is_secret: &IsSecret<'_>,
    learned: &mut Learned,
) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        // What stands in a secret that was found marks none.
        let found = if at < copied { None } else { secret(text, at, byte, is_whole, is_secret) };
        if let Some((start, end)) = found {
            out.push_str(&text[copied..start]);
            out.push_str(REDACTED);
            learned.learn_prose(without_scheme(&text[start..end]));
            copied = end;
        }
    }
    (copied > 0).then(|| out + &text[copied..])
}

/// What stands behind `Bearer` in `Authorization: Bearer …`.
fn without_scheme(secret: &str) -> &str {
    let secret = secret.trim_matches(|char: char| char.is_whitespace() || "\"'".contains(char));
    match secret.split_once(' ') {
        Some((scheme, rest))
            if scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("basic") =>
        {
            rest
        }
        _ => secret,
    }
}

/// From where to where the secret goes that is marked by a byte.
fn secret(
    text: &str,
    at: usize,
    byte: u8,
    is_whole: bool,
    is_secret: &IsSecret<'_>,
) -> Option<(usize, usize)> {
    match byte {
        b':' | b'=' if is_secret(word_before(&text[..at])) => Some((at + 1, text.len())),
        b'=' if is_signature(&text[..at]) => Some((at + 1, text.len())),
        b':' => password(text, at, is_whole),
        b' ' => credentials(text, at),
        _ => None,
    }
}

/// The name that a text ends in, without the quotes around it.
fn word_before(text: &str) -> &str {
    let is_around = |char: char| char.is_whitespace() || "\"'`\\".contains(char);
    let text = text.trim_end_matches(is_around);
    let is_part = |char: char| char.is_alphanumeric() || "_- ".contains(char);
    let start = text.char_indices().rev().take(LONG).take_while(|(_, char)| is_part(*char));
    start.last().map_or("", |(at, _)| &text[at..])
}

/// The characters of a long name.
const LONG: usize = 32;

/// Whether a text ends in the name of the part of a query that signs the others. By itself, the name
/// says nothing: functions have signatures.
fn is_signature(text: &str) -> bool {
    let name = text.bytes().rev().take(LONG).position(|byte| b"?&".contains(&byte));
    let name = name.map(|length| &text.as_bytes()[text.len() - length..]);
    name.is_some_and(|name| ends_in(name, b"sig") || ends_in(name, b"signature"))
}

/// The password of a URL, before whose `//` a `:` stands (RFC 3986, section 3.2.1).
fn password(text: &str, at: usize, is_whole: bool) -> Option<(usize, usize)> {
    let authority = text[at + 1..].strip_prefix("//")?;
    let start = text.len() - authority.len();
    let is_end = |char: char| char.is_whitespace() || "/?#\"'`<>\\".contains(char);
    let length = authority.find(is_end);
    let authority = &authority[..length.unwrap_or(authority.len())];
    let end = match authority.rfind('@') {
        Some(end) => end,
        None if length.is_none() && !is_whole => authority.len(),
        None => return None,
    };
    let password = authority[..end].find(':')? + 1;
    (password < end).then_some((start + password, start + end))
}

/// What stands behind the name of a scheme (RFC 9110, section 11.4). `Basic` stands before other
/// words, too, but what it encodes is never all small letters.
fn credentials(text: &str, at: usize) -> Option<(usize, usize)> {
    let before = &text.as_bytes()[..at];
    let is_bearer = ends_in_word(before, b"bearer");
    if !is_bearer && !ends_in_word(before, b"basic") {
        return None;
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    let behind = &text.as_bytes()[at + 1..];
    let length = behind.iter().position(|byte| !is_part(*byte)).unwrap_or(behind.len());
    let mut letters = behind[..length].iter().filter(|byte| byte.is_ascii_alphanumeric());
    let is_found = letters.any(|byte| is_bearer || !byte.is_ascii_lowercase());
    is_found.then_some((at + 1, at + 1 + length))
}

fn ends_in_word(text: &[u8], word: &[u8]) -> bool {
    let divides = |byte: &u8| !byte.is_ascii_alphanumeric();
    ends_in(text, word) && text.iter().rev().nth(word.len()).is_none_or(divides)
}

fn ends_in(text: &[u8], name: &[u8]) -> bool {
    let start = text.len().checked_sub(name.len());
    start.is_some_and(|start| text[start..].eq_ignore_ascii_case(name))
}
