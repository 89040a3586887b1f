//! Numbers of JSON.

use crate::error::{Error, Reason};
use crate::value::{Integer, Value};

pub(super) fn write_float(float: f64, out: &mut String) -> Result<(), Reason> {
    if float.is_finite() {
        out.push_str(zmij::Buffer::new().format_finite(float));
        return Ok(());
    }
    Err(Reason::NoJson { what: Value::Float(float).to_string().into() })
}

/// The number that a text begins with, unless it is too large, and how many bytes it takes; none if
/// there is none.
pub(super) fn read(text: &str) -> Option<(Result<Value, Reason>, usize)> {
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
        true => Ok(Value::Integer(Integer::of_digits(negative, &text[start..whole]))),
        false => float(&text[..end]),
    };
    Some((value, end))
}

/// A float, or, if it is too large or too small for one, a decimal.
fn float(text: &str) -> Result<Value, Reason> {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = || !mantissa.contains(|c: char| matches!(c, '1'..='9'));
    match text.parse::<f64>() {
        Ok(float) if float.is_finite() && (float != 0.0 || is_zero()) => Ok(Value::Float(float)),
        _ => text.parse().map(Value::Decimal).map_err(|error: Error| error.reason().clone()),
    }
}

/// Where the digits end that begin here.
fn digits(bytes: &[u8], start: usize) -> usize {
    start + bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn at_least_one_digit(bytes: &[u8], start: usize) -> Option<usize> {
    let end = digits(bytes, start);
    (end > start).then_some(end)
}
