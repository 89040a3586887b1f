//! Reads numbers and literals.

use super::reader::{Fault, Reader};
use crate::error::{Error, Reason};
use crate::value::{Integer, Value};

impl<'a> Reader<'a> {
    pub(super) fn number(&mut self) -> Result<Value, Fault> {
        let offset = self.at;
        if let Some((value, length)) = read(&self.text[offset..])
            && !self.text.as_bytes().get(offset + length).copied().is_some_and(is_word)
        {
            self.at += length;
            return value.map_err(|reason| Fault { reason, offset });
        }
        Err(Fault { reason: Reason::number(self.word()), offset })
    }

    pub(super) fn literal(&mut self) -> Result<Value, Fault> {
        let offset = self.at;
        let value = match self.word() {
            "null" => Value::Nil,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err(Fault::json("a value is expected", offset)),
        };
        Ok(value)
    }

    /// The characters up to the end of a number or a literal, valid or not.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        self.at += length;
        &rest[..length]
    }
}

/// Whether a byte can be part of a number or a literal, valid or not.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')
}

/// The number at the beginning of a text, and its length; `None` without one. The error is an exponent that is too
/// large.
fn read(text: &str) -> Option<(Result<Value, Reason>, usize)> {
    let bytes = text.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let whole = digits(bytes, start);
    if whole == start || (bytes[start] == b'0' && whole > start + 1) {
        return None;
    }
    let fraction = match bytes.get(whole) {
        Some(b'.') => at_least_one_digit(bytes, whole + 1)?,
        _ => whole,
    };
    let end = match bytes.get(fraction) {
        Some(b'e' | b'E') => {
            let is_signed = matches!(bytes.get(fraction + 1), Some(b'-' | b'+'));
            at_least_one_digit(bytes, fraction + 1 + usize::from(is_signed))?
        }
        _ => fraction,
    };
    let value = match end == whole {
        true => Ok(Value::Integer(Integer::from_digits(negative, &text[start..whole]))),
        false => float(&text[..end]),
    };
    Some((value, end))
}

/// A float, or a decimal for numbers out of its range.
fn float(text: &str) -> Result<Value, Reason> {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = || !mantissa.contains(|c: char| matches!(c, '1'..='9'));
    match text.parse::<f64>() {
        Ok(float) if float.is_finite() && (float != 0.0 || is_zero()) => Ok(Value::Float(float)),
        _ => text.parse().map(Value::Decimal).map_err(|error: Error| error.reason().clone()),
    }
}

/// The end of the digits.
fn digits(bytes: &[u8], start: usize) -> usize {
    start + bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn at_least_one_digit(bytes: &[u8], start: usize) -> Option<usize> {
    let end = digits(bytes, start);
    (end > start).then_some(end)
}
