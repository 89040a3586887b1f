//! Splits SQL text into tokens, as PostgreSQL does with `standard_conforming_strings`.

use std::ops::Range;

use crate::model::error::Error;

/// Maximum length of an identifier in bytes. The server truncates longer ones, so they could mean another object than
/// they name.
const MAX_IDENTIFIER: usize = 63;

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// An identifier or keyword without quotes, in lower case.
    Word(String),
    /// An identifier in quotes, without them.
    Quoted(String),
    /// A string of any form, a number or a parameter.
    Value,
    /// Another character.
    Sign(char),
}

impl Token {
    /// Whether it is this keyword.
    pub(crate) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word == keyword)
    }

    /// The name, if it can be one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Word(name) | Self::Quoted(name) => Some(name),
            Self::Value | Self::Sign(_) => None,
        }
    }
}

/// The tokens of a text, without white space and comments.
///
/// # Errors
///
/// [`Error::Forbidden`] for text that is not understood, or that versions of PostgreSQL read differently: an
/// unterminated string or comment, escapes in identifiers, long identifiers, and strings that follow one with a prefix.
pub(super) fn tokens(sql: &str) -> Result<Vec<Token>, Error> {
    Ok(spans(sql)?.into_iter().map(|(token, _)| token).collect())
}

/// The tokens of a text with their places in it.
///
/// # Errors
///
/// As of [`tokens`].
pub(crate) fn spans(sql: &str) -> Result<Vec<(Token, Range<usize>)>, Error> {
    let mut spans = Vec::new();
    let mut rest = sql;
    // Whether the last token is a string with a prefix, such as `E`. After a line break, the prefix applies to the next
    // string, too.
    let mut is_prefixed = false;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            ' ' | '\t' | '\n' | '\r' | '\x0c' => (None, 1),
            // White space since PostgreSQL 16.
            '\x0b' => {
                return Err(refused("a vertical tab is not accepted as white space; use a space"));
            }
            '-' if rest.starts_with("--") => (None, rest.find(['\n', '\r']).unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (None, comment(rest)?),
            '\'' if is_prefixed => {
                return Err(refused(
                    "a string with a prefix must not be continued by another one; use `||`",
                ));
            }
            '\'' => (Some(Token::Value), quoted(rest, '\'', Escapes::None)?.1),
            '"' => {
                let (name, length) = quoted(rest, '"', Escapes::None)?;
                (Some(Token::Quoted(identifier(name)?)), length)
            }
            '$' => dollar(rest)?,
            '0'..='9' => (Some(Token::Value), number(rest)?),
            '.' if rest.starts_with("..") => (Some(Token::Sign('.')), 2),
            '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => {
                (Some(Token::Value), number(rest)?)
            }
            _ if is_word_start(first) => word(rest)?,
            other => (Some(Token::Sign(other)), other.len_utf8()),
        };
        let start = sql.len() - rest.len();
        if let Some(token) = &token {
            is_prefixed = *token == Token::Value && is_word_start(first);
        }
        spans.extend(token.map(|token| (token, start..start + length)));
        rest = &rest[length..];
    }
    Ok(spans)
}

/// The names and keywords in a text.
pub(crate) fn names(sql: &str) -> Vec<String> {
    let tokens = tokens(sql).unwrap_or_default();
    tokens.iter().filter_map(Token::name).map(str::to_owned).collect()
}

/// Whether a text has parameters in the form of other engines: `?`, or `:name`.
pub(crate) fn has_foreign_parameters(sql: &str) -> bool {
    let tokens = tokens(sql).unwrap_or_default();
    let is_sign = |index: usize, sign| tokens.get(index) == Some(&Token::Sign(sign));
    (0..tokens.len()).any(|index| {
        let is_cast = index > 0 && is_sign(index - 1, ':');
        let is_named = matches!(tokens.get(index + 1), Some(Token::Word(_)));
        is_sign(index, '?') || (is_sign(index, ':') && is_named && !is_cast)
    })
}

/// The parts of the name at a byte of a text: `a.b` has two.
pub(crate) fn name_at(sql: &str, offset: usize) -> Vec<String> {
    let tokens = sql.get(offset..).and_then(|rest| tokens(rest).ok()).unwrap_or_default();
    let mut parts = Vec::new();
    let mut rest = tokens.as_slice();
    while let [name, others @ ..] = rest
        && let Some(part) = name.name()
    {
        parts.push(part.to_owned());
        let [Token::Sign('.'), others @ ..] = others else { break };
        rest = others;
    }
    parts
}

fn is_word_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_' || !character.is_ascii()
}

fn is_word_part(character: char) -> bool {
    is_word_start(character) || character.is_ascii_digit() || character == '$'
}

fn word(text: &str) -> Result<(Option<Token>, usize), Error> {
    let length = text.find(|c| !is_word_part(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(length);
    let value = |(_, string): (String, usize)| (Some(Token::Value), length + string);
    // Strings and identifiers with a prefix. A backslash escapes the next character in E'…'.
    match (name, rest.chars().next()) {
        ("e" | "E", Some('\'')) => quoted(rest, '\'', Escapes::Backslash).map(value),
        ("n" | "N", Some('\'')) => quoted(rest, '\'', Escapes::None).map(value),
        // Quotes cannot be doubled in bits.
        ("b" | "B" | "x" | "X", Some('\'')) => {
            let end = rest[1..].find('\'').ok_or_else(unterminated)?;
            Ok((Some(Token::Value), length + end + 2))
        }
        ("u" | "U", Some('&')) if rest.starts_with("&'") => {
            let (_, string) = quoted(&rest[1..], '\'', Escapes::None)?;
            Ok((Some(Token::Value), length + 1 + string))
        }
        ("u" | "U", Some('&')) if rest.starts_with("&\"") => {
            Err(refused("identifiers with Unicode escapes are not allowed"))
        }
        // In databases with a Turkish locale, the server converts it to `i`.
        _ if name.contains('İ') => Err(refused("an identifier with `İ` must be in quotes")),
        _ => Ok((Some(Token::Word(identifier(name.to_ascii_lowercase())?)), length)),
    }
}

fn identifier(name: String) -> Result<String, Error> {
    if name.len() > MAX_IDENTIFIER {
        let start: String = name.chars().take(20).collect();
        return Err(refused(&format!(
            "the identifier {start:?}… has more than {MAX_IDENTIFIER} bytes"
        )));
    }
    Ok(name)
}

/// The length of a comment. Comments can be nested.
fn comment(text: &str) -> Result<usize, Error> {
    let mut depth = 0_usize;
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix("/*") {
            depth += 1;
            rest = after;
        } else if let Some(after) = rest.strip_prefix("*/") {
            depth -= 1;
            rest = after;
        } else {
            let mut characters = rest.chars();
            characters.next().ok_or_else(|| refused("a comment is not terminated"))?;
            rest = characters.as_str();
        }
        if depth == 0 {
            return Ok(text.len() - rest.len());
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    Backslash,
}

/// The content and the length of text in quotes, which are doubled within it.
fn quoted(text: &str, quote: char, escapes: Escapes) -> Result<(String, usize), Error> {
    let mut content = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((place, character)) = characters.next() {
        if character == '\\' && escapes == Escapes::Backslash {
            characters.next();
        } else if character != quote {
            content.push(character);
        } else if characters.next_if(|(_, next)| *next == quote).is_some() {
            content.push(quote);
        } else {
            return Ok((content, place + 1));
        }
    }
    Err(unterminated())
}

fn unterminated() -> Error {
    refused("a string or a quoted identifier is not terminated")
}

/// A string between `$tag$`, or a parameter.
fn dollar(text: &str) -> Result<(Option<Token>, usize), Error> {
    let rest = &text[1..];
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    if digits > 0 {
        return Ok((Some(Token::Value), 1 + digits));
    }
    let tag = rest.find(|c| c == '$' || !is_word_part(c)).unwrap_or(rest.len());
    if !rest[tag..].starts_with('$') {
        return Ok((Some(Token::Sign('$')), 1));
    }
    let opening = &text[..tag + 2];
    let content = &text[opening.len()..];
    let end = content.find(opening);
    let end = end.ok_or_else(|| refused("a string between dollar signs is not terminated"))?;
    Ok((Some(Token::Value), opening.len() + end + opening.len()))
}

/// The length of a number: `1_000.5e-3`, `0x1F`. Older servers accept a name or a string with a prefix directly after
/// it, newer ones do not.
fn number(text: &str) -> Result<usize, Error> {
    let digits = |from: usize, is_digit: fn(&char) -> bool| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest.find(|c| c != '_' && !is_digit(&c)).unwrap_or(rest.len())
    };
    let radix = text.get(..2).unwrap_or_default();
    let (length, is_complete) = if ["0x", "0X", "0o", "0O", "0b", "0B"].contains(&radix) {
        let end = digits(2, char::is_ascii_hexdigit);
        (end, end > 2)
    } else {
        let mut end = digits(0, char::is_ascii_digit);
        if text[end..].starts_with('.') && !text[end..].starts_with("..") {
            end = digits(end + 1, char::is_ascii_digit);
        }
        if text[end..].starts_with(['e', 'E']) {
            let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
            end = digits(end + 1 + sign, char::is_ascii_digit);
        }
        (end, !text[..end].ends_with(['e', 'E', '+', '-']))
    };
    if !is_complete || text[length..].starts_with(is_word_start) {
        return Err(refused("a name or string directly after a number; put a space between"));
    }
    Ok(length)
}

fn refused(reason: &str) -> Error {
    Error::Forbidden { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;
