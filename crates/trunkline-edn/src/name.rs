//! What is a symbol and what a keyword.

use crate::character::{CLASSES, END, FORBIDDEN, PLAIN, is_digit, is_space};

/// Where the name begins: behind the first slash, unless that is all of it.
pub(crate) fn split(text: &str) -> (Option<&str>, &str) {
    match text.split_once('/') {
        Some((namespace, name)) if text != "/" => (Some(namespace), name),
        _ => (None, text),
    }
}

/// A number that most often differs where names do.
pub(crate) fn mark(text: &str) -> usize {
    let byte = |at: usize| text.as_bytes().get(at).copied().map_or(0, usize::from);
    let last = text.len().saturating_sub(1);
    byte(0) + 3 * byte(last / 2) + 7 * byte(last) + 11 * last
}

/// Whether a text reads as this symbol.
pub(crate) fn is_symbol(text: &str) -> bool {
    let mut chars = text.chars();
    let (first, second) = (chars.next(), chars.next());
    let is_number = match first {
        Some('+' | '-') => second.is_some_and(is_digit),
        Some(first) => is_digit(first),
        None => true,
    };
    let is_literal = matches!(text, "nil" | "true" | "false");
    let begins_other = matches!(first, Some(':' | '#'));
    !is_number && !is_literal && !begins_other && is_token(text) && has_parts(text)
}

/// Whether a text behind a colon reads as this keyword. Clojure's reader lets more pass than
/// [`is_plain_keyword`]: `:1a`, `:a/b/c`.
pub(crate) fn is_keyword(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(':') && is_token(text) && are_keyword_parts(text)
}

/// The same of text that a token holds, so that its characters are known to be right.
pub(crate) fn are_keyword_parts(text: &str) -> bool {
    // The colon counts as the beginning of the namespace or of the name where that helps.
    has_parts(text) || has_parts(&format!(":{text}"))
}

/// Whether the parts before and behind slashes are right, of text that a token holds.
pub(crate) fn has_parts(text: &str) -> bool {
    let begins = |part: &str| part.starts_with(|c: char| !c.is_ascii_digit() && c != '/');
    if text.ends_with(':') || text.contains("::") {
        return false;
    }
    if text == "/" {
        return true;
    }
    let Some(slash) = text.rfind('/') else { return begins(text) };
    let (namespace, name) = match text.strip_suffix("//") {
        // The name is a slash.
        Some(namespace) => (namespace, "/"),
        None => (&text[..slash], &text[slash + 1..]),
    };
    let is_name = name == "/" || begins(name);
    // A line separator ends what the reader's pattern takes for a namespace.
    let is_namespace = begins(namespace)
        && !namespace.ends_with(':')
        && !namespace.chars().skip(1).any(|c| c == '\u{85}');
    is_namespace && is_name
}

/// Whether all characters can stand in one token.
fn is_token(text: &str) -> bool {
    text.chars()
        .all(|c| !is_space(c) && (!c.is_ascii() || CLASSES[c as usize] & (END | FORBIDDEN) == 0))
}

/// Whether every reader of EDN takes a text for this keyword: as the EDN text says, with at most one
/// slash, and letters of any script.
pub(crate) fn is_plain_keyword(text: &str) -> bool {
    let is_part = |part: &str| {
        let mut chars = part.chars();
        let Some(first) = chars.next() else { return false };
        let second = chars.next();
        let begins = match first {
            '-' | '+' | '.' => !second.is_some_and(char::is_numeric),
            ':' | '#' => false,
            first => !first.is_numeric(),
        };
        begins && part.chars().all(is_plain) && !part.ends_with(':') && !part.contains("::")
    };
    match text.split_once('/') {
        Some((namespace, name)) => is_part(namespace) && is_part(name),
        None => is_part(text),
    }
}

fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        CLASSES[c as usize] & PLAIN != 0 || matches!(c, ':' | '#')
    } else {
        c.is_alphanumeric()
    }
}
