//! Strings that are no JSON, and may still hold a secret with its name.

use super::copy::IsSecret;

/// Where the secret begins of a text in which a name stands before a `:` or a `=`: behind that.
pub(super) fn secret(text: &str, is_secret: &IsSecret<'_>) -> Option<usize> {
    let mut marks = text.match_indices([':', '=']);
    let behind = |(at, _): (usize, &str)| is_secret(word_before(&text[..at])).then_some(at + 1);
    marks.find_map(behind)
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
