//! JSON text of values.

use std::io::Write;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use super::rowset::MAX_EXACT;

/// Writes an integer: a number up to 2^53 in magnitude, otherwise a string of digits.
pub(crate) fn integer(text: &mut Vec<u8>, value: i64) {
    if value.unsigned_abs() <= MAX_EXACT {
        put(text, &value);
    } else {
        put(text, &value.to_string());
    }
}

/// Writes a float. JSON has no infinity and no NaN.
pub(crate) fn real(text: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        return put(text, &value);
    }
    let name = match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    };
    put_format(text, format_args!(r#"{{"$float":"{name}"}}"#));
}

/// Writes a string. Most need no escapes, which is checked first.
pub(crate) fn string(text: &mut Vec<u8>, value: &str) {
    // Without an early return, the compiler compares several bytes at once.
    let is_plain = |plain, byte| plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\');
    if value.bytes().fold(true, is_plain) {
        text.push(b'"');
        text.extend_from_slice(value.as_bytes());
        text.push(b'"');
    } else {
        put(text, value);
    }
}

/// Writes a text of any bytes: a string, or an object with its bytes if it is not UTF-8.
pub(crate) fn text(text: &mut Vec<u8>, value: &[u8]) {
    match std::str::from_utf8(value) {
        Ok(valid) => string(text, valid),
        Err(_) => bytes(text, "$text", value),
    }
}

/// Writes bytes as base64, in an object with this key.
pub(crate) fn bytes(text: &mut Vec<u8>, key: &str, bytes: &[u8]) {
    let base64 = Base64Display::new(bytes, &STANDARD);
    let length = bytes.len();
    put_format(text, format_args!(r#"{{"{key}":"{base64}","bytes":{length}}}"#));
}

/// Writes a number as a text, in an object with this key.
pub(crate) fn number(text: &mut Vec<u8>, key: &str, value: &impl std::fmt::Display) {
    put_format(text, format_args!(r#"{{"{key}":"{value}"}}"#));
}

/// Removes the line breaks of valid JSON text, which are white space between its parts: `json` of PostgreSQL keeps them.
pub(crate) fn on_one_line(text: &mut [u8]) {
    for byte in text.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
}

/// Writes a number or a string as JSON. Writing into a `Vec` cannot fail.
fn put(text: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    drop(serde_json::to_writer(text, value));
}

fn put_format(text: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    drop(text.write_fmt(arguments));
}
