//! Secrets inside strings: credentials after an authentication scheme, and passwords in URLs.

use memchr::memchr2_iter;

/// The replacement of a secret.
pub(super) const REDACTED: &str = "[redacted]";

/// Removes the secrets that start in the first `limit` bytes of a text. `None` if it contains no secrets.
pub(super) fn redacted(text: &str, limit: usize) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    for at in memchr2_iter(b':', b' ', text.as_bytes()) {
        if at < copied {
            continue;
        }
        if out.len() + at - copied > limit {
            break;
        }
        let secret = match text.as_bytes()[at] {
            b':' => url_password(text, at),
            _ => credentials(text, at),
        };
        if let Some((start, end)) = secret {
            out.push_str(&text[copied..start]);
            out.push_str(REDACTED);
            copied = end;
        }
    }
    (copied > 0).then(|| out + &text[copied..])
}

/// The range of the password of a URL whose scheme ends at `colon` (RFC 3986, section 3.2.1).
fn url_password(text: &str, colon: usize) -> Option<(usize, usize)> {
    let authority = text[colon + 1..].strip_prefix("//")?;
    let start = text.len() - authority.len();
    let is_end = |char: char| char.is_whitespace() || "/?#\"'`<>\\".contains(char);
    let end = authority.find(is_end).unwrap_or(authority.len());
    let user = &authority[..authority[..end].rfind('@')?];
    let password = user.find(':')? + 1;
    (password < user.len()).then_some((start + password, start + user.len()))
}

/// The range of the credentials after a scheme and a space (RFC 9110, section 11.4). Credentials of `Basic` are
/// Base64, which is rarely all lower case, unlike prose after `basic`.
fn credentials(text: &str, space: usize) -> Option<(usize, usize)> {
    let before = &text.as_bytes()[..space];
    let is_bearer = ends_with_word(before, b"bearer");
    if !is_bearer && !ends_with_word(before, b"basic") {
        return None;
    }
    let after = text[space..].trim_start_matches(' ');
    let start = text.len() - after.len();
    let is_part = |char: char| char.is_ascii_alphanumeric() || "-._~+/=".contains(char);
    let word = after.split(|char| !is_part(char)).next().unwrap_or_default();
    let mut letters = word.bytes().filter(u8::is_ascii_alphanumeric);
    let is_secret = letters.any(|byte| is_bearer || !byte.is_ascii_lowercase());
    is_secret.then_some((start, start + word.len()))
}

fn ends_with_word(text: &[u8], word: &[u8]) -> bool {
    let Some(start) = text.len().checked_sub(word.len()) else { return false };
    text[start..].eq_ignore_ascii_case(word)
        && !text[..start].last().is_some_and(u8::is_ascii_alphanumeric)
}

/// The longest prefix of a text with at most `bytes` bytes that ends at a character boundary.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
