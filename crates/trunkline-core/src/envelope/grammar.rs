//! The JSON grammar (RFC 8259) as functions from the offset of a token to the offset after it.
//!
//! They take and return offsets instead of moving a cursor, so that an offset stays in a register.

use super::fault::{ScanError, ScanReason};
use super::plain::{plain, special};

pub(super) type Scan<T> = Result<T, ScanError>;

/// The end of a string. It has the size of an error, so that a result of either is returned in registers.
#[derive(Clone, Copy)]
pub(super) struct StringEnd {
    offset: u32,
    pub(super) escaped: bool,
}

impl StringEnd {
    /// The offset after the closing quote.
    pub(super) fn offset(self) -> usize {
        self.offset as usize
    }
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A string.
    String {
        /// Whether it has escapes.
        escaped: bool,
    },
    /// An array.
    Array,
    /// An object.
    Object,
}

/// The offset after white space.
#[inline]
pub(super) fn space(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(&byte) if byte > b' ' => at,
        _ => more_space(text, at),
    }
}

#[inline(never)]
fn more_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Validates a value that begins at `at` and nests at most `depth` arrays and objects.
#[inline]
pub(super) fn value(text: &[u8], at: usize, depth: usize) -> Scan<usize> {
    kind_and_end(text, at, depth).map(|(_, end)| end)
}

/// Validates a value, and also returns its kind.
#[inline(always)]
pub(super) fn kind_and_end(text: &[u8], at: usize, depth: usize) -> Scan<(Kind, usize)> {
    match text.get(at) {
        Some(b'"') => {
            let end = string(text, at)?;
            Ok((Kind::String { escaped: end.escaped }, end.offset()))
        }
        Some(b'-' | b'0'..=b'9') => Ok((Kind::Number, number(text, at)?)),
        Some(b'{') => Ok((Kind::Object, container(text, at, depth)?)),
        Some(b'[') => Ok((Kind::Array, container(text, at, depth)?)),
        Some(b't') => Ok((Kind::Bool, literal(text, at, b"true")?)),
        Some(b'f') => Ok((Kind::Bool, literal(text, at, b"false")?)),
        Some(b'n') => Ok((Kind::Null, literal(text, at, b"null")?)),
        Some(_) => fail(at, ScanReason::ExpectedValue),
        None => fail(at, ScanReason::UnexpectedEnd),
    }
}

/// Validates an array or an object.
fn container(text: &[u8], at: usize, depth: usize) -> Scan<usize> {
    let depth = nested(at, depth)?;
    let is_object = text[at] == b'{';
    let close = if is_object { b'}' } else { b']' };
    let mut at = space(text, at + 1);
    if text.get(at) == Some(&close) {
        return Ok(at + 1);
    }
    loop {
        if is_object {
            at = space(text, colon(text, name(text, at)?.offset())?);
        }
        (_, at) = kind_and_end(text, at, depth)?;
        let (more, next) = separator(text, at, close)?;
        if !more {
            return Ok(next);
        }
        at = space(text, next);
    }
}

/// Fails unless only white space follows.
pub(super) fn end(text: &[u8], at: usize) -> Scan<()> {
    let at = space(text, at);
    if at < text.len() { fail(at, ScanReason::TrailingText) } else { Ok(()) }
}

/// The remaining depth inside of an array or object.
#[inline]
pub(super) fn nested(at: usize, depth: usize) -> Scan<usize> {
    depth.checked_sub(1).map_or_else(|| fail(at, ScanReason::TooDeep), Ok)
}

/// Validates the name of a member.
#[inline]
pub(super) fn name(text: &[u8], at: usize) -> Scan<StringEnd> {
    match text.get(at) {
        Some(b'"') => string(text, at),
        _ => fail_or_end(text, at, ScanReason::ExpectedMemberName),
    }
}

/// The offset after the colon of a member.
#[inline]
pub(super) fn colon(text: &[u8], at: usize) -> Scan<usize> {
    let at = space(text, at);
    match text.get(at) {
        Some(b':') => Ok(at + 1),
        _ => fail_or_end(text, at, ScanReason::ExpectedColon),
    }
}

/// Whether the separator is a comma instead of `close`, and the offset after it.
#[inline]
pub(super) fn separator(text: &[u8], at: usize, close: u8) -> Scan<(bool, usize)> {
    let at = space(text, at);
    match text.get(at) {
        Some(b',') => Ok((true, at + 1)),
        Some(&byte) if byte == close => Ok((false, at + 1)),
        _ => fail_or_end(text, at, ScanReason::ExpectedCommaOrClose),
    }
}

/// Validates a string whose opening quote is at `at`.
#[inline]
pub(super) fn string(text: &[u8], at: usize) -> Scan<StringEnd> {
    let mut at = at + 1;
    // Member names, and most values of protocol members, end within eight bytes.
    if let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) {
        at += special(u64::from_le_bytes(*word)).trailing_zeros() as usize / 8;
        if text.get(at) == Some(&b'"') {
            return Ok(StringEnd { offset: at as u32 + 1, escaped: false });
        }
    }
    long_string(text, at)
}

#[inline(never)]
fn long_string(text: &[u8], mut at: usize) -> Scan<StringEnd> {
    let mut escaped = false;
    loop {
        at = plain(text, at);
        match text.get(at) {
            Some(b'"') => return Ok(StringEnd { offset: at as u32 + 1, escaped }),
            Some(b'\\') => {
                at = escape(text, at)?;
                escaped = true;
            }
            Some(_) => return fail(at, ScanReason::ControlCharacter),
            None => return fail(at, ScanReason::UnexpectedEnd),
        }
    }
}

fn escape(text: &[u8], at: usize) -> Scan<usize> {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match code_unit(text, at)? {
            0xD800..=0xDBFF => {
                let low = at + 6;
                let is_paired = text.get(low..low + 2) == Some(b"\\u")
                    && matches!(code_unit(text, low)?, 0xDC00..=0xDFFF);
                if is_paired { Ok(low + 6) } else { fail(at, ScanReason::LoneSurrogate) }
            }
            0xDC00..=0xDFFF => fail(at, ScanReason::LoneSurrogate),
            _ => Ok(at + 6),
        },
        Some(_) => fail(at, ScanReason::InvalidEscape),
        None => fail(text.len(), ScanReason::UnexpectedEnd),
    }
}

/// Reads the `\uXXXX` at `at`.
fn code_unit(text: &[u8], at: usize) -> Scan<u16> {
    let mut unit = 0;
    for offset in at + 2..at + 6 {
        let digit = match text.get(offset) {
            Some(&byte) => char::from(byte).to_digit(16),
            None => return fail(text.len(), ScanReason::UnexpectedEnd),
        };
        let Some(digit) = digit else {
            return fail(offset, ScanReason::InvalidEscape);
        };
        unit = unit * 16 + digit;
    }
    Ok(unit as u16)
}

#[inline(never)]
fn literal(text: &[u8], at: usize, word: &[u8]) -> Scan<usize> {
    if text[at..].starts_with(word) {
        Ok(at + word.len())
    } else {
        fail(at, ScanReason::InvalidLiteral)
    }
}

/// Validates a number.
#[inline]
fn number(text: &[u8], at: usize) -> Scan<usize> {
    // Most numbers are small integers.
    if text[at] > b'0' {
        let end = digits(text, at);
        if let Some(b',' | b'}' | b']') = text.get(end) {
            return Ok(end);
        }
    }
    any_number(text, at)
}

#[inline(never)]
fn any_number(text: &[u8], at: usize) -> Scan<usize> {
    let mut at = at + usize::from(text[at] == b'-');
    match text.get(at) {
        Some(b'0') => at += 1,
        Some(b'1'..=b'9') => at = digits(text, at),
        _ => return fail_or_end(text, at, ScanReason::InvalidNumber),
    }
    if text.get(at) == Some(&b'.') {
        at = some_digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let has_sign = matches!(text.get(at + 1), Some(b'+' | b'-'));
        at = some_digits(text, at + 1 + usize::from(has_sign))?;
    }
    match text.get(at) {
        // `042`, `1.2.3`, `1x`: characters that cannot continue a number.
        Some(b'0'..=b'9' | b'.' | b'+' | b'-' | b'a'..=b'z' | b'A'..=b'Z') => {
            fail(at, ScanReason::InvalidNumber)
        }
        _ => Ok(at),
    }
}

fn some_digits(text: &[u8], at: usize) -> Scan<usize> {
    let end = digits(text, at);
    if end == at {
        return fail_or_end(text, at, ScanReason::InvalidNumber);
    }
    Ok(end)
}

#[inline]
fn digits(text: &[u8], mut at: usize) -> usize {
    while let Some(b'0'..=b'9') = text.get(at) {
        at += 1;
    }
    at
}

#[cold]
pub(super) fn fail<T>(offset: usize, reason: ScanReason) -> Scan<T> {
    Err(ScanError { reason, offset: offset as u32 })
}

/// Fails with `reason`, or with `UnexpectedEnd` at the end of the text.
#[cold]
pub(super) fn fail_or_end<T>(text: &[u8], at: usize, reason: ScanReason) -> Scan<T> {
    fail(at, if at >= text.len() { ScanReason::UnexpectedEnd } else { reason })
}
