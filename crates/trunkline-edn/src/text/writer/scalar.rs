//! What has no parts, as text.

use std::fmt::Write as _;

use crate::syntax;
use crate::value::Value;

/// Writes what has no parts.
pub(super) fn write(value: &Value, out: &mut String) {
    match value {
        Value::Nil => out.push_str("nil"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Integer(integer) => {
            integer.write_to(out);
            if integer.as_i64().is_none() {
                out.push('N');
            }
        }
        Value::Float(float) => write_float(*float, out),
        Value::Decimal(decimal) => {
            decimal.write_to(out);
            out.push('M');
        }
        Value::Char(c) => write_char(*c, out),
        Value::String(text) => write_string(text, out),
        Value::Symbol(symbol) => out.push_str(symbol.as_str()),
        Value::Keyword(keyword) => {
            out.push(':');
            out.push_str(keyword.as_str());
        }
        // Writing into text cannot fail. The rest writes itself, and collections are not asked for.
        Value::Ratio(ratio) => drop(write!(out, "{ratio}")),
        Value::Inst(inst) => drop(write!(out, "{inst:?}")),
        Value::Uuid(uuid) => drop(write!(out, "{uuid:?}")),
        Value::List(_) | Value::Vector(_) | Value::Map(_) | Value::Set(_) | Value::Tagged(_) => {}
    }
}

pub(super) fn write_float(float: f64, out: &mut String) {
    if float.is_finite() {
        out.push_str(zmij::Buffer::new().format_finite(float));
    } else if float.is_nan() {
        out.push_str("##NaN");
    } else {
        out.push_str(if float > 0.0 { "##Inf" } else { "##-Inf" });
    }
}

/// Escapes what Clojure escapes, and nothing else: more is read by few.
pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\t' => "\\t",
            b'\r' => "\\r",
            0x8 => "\\b",
            0xc => "\\f",
            _ => continue,
        };
        out.push_str(&text[written..at]);
        out.push_str(escape);
        written = at + 1;
    }
    out.push_str(&text[written..]);
    out.push('"');
}

fn write_char(c: char, out: &mut String) {
    if c.len_utf16() > 1 {
        return write_string(c.encode_utf8(&mut [0; 4]), out);
    }
    out.push('\\');
    match syntax::character_name(c) {
        Some(name) => out.push_str(name),
        None if c.is_control() || c.is_whitespace() => {
            // Writing into text cannot fail.
            let _ = write!(out, "u{:04x}", u32::from(c));
        }
        None => out.push(c),
    }
}
