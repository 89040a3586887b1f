//! Text on one line: `{:a 1, :b [2 3]}`.

use std::fmt::Write as _;

use crate::scanner::{Notation, write_string};
use crate::syntax;
use crate::value::{List, Map, Set, Tagged, Value, Vector};

/// A collection to write.
#[derive(Clone, Copy)]
pub(super) enum Collection<'a> {
    /// Values between two brackets.
    Values(&'static str, &'a [Value], &'static str),
    Map(&'a Map),
    Tagged(&'a Tagged),
}

impl<'a> Collection<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::List(list) => Self::list(list),
            Value::Vector(vector) => Self::vector(vector),
            Value::Set(set) => Self::set(set),
            Value::Map(map) => Self::Map(map),
            Value::Tagged(tagged) => Self::Tagged(tagged),
            _ => return None,
        })
    }

    pub(super) fn list(list: &'a List) -> Self {
        Self::Values("(", list, ")")
    }

    pub(super) fn vector(vector: &'a Vector) -> Self {
        Self::Values("[", vector, "]")
    }

    pub(super) fn set(set: &'a Set) -> Self {
        Self::Values("#{", set.as_slice(), "}")
    }
}

/// Appends a collection.
pub(super) fn write(collection: Collection<'_>, out: &mut String) {
    match collection {
        Collection::Values(open, values, close) => {
            out.push_str(open);
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                write_value(value, out);
            }
            out.push_str(close);
        }
        Collection::Map(map) => {
            out.push('{');
            for (at, (key, value)) in map.entries().iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_value(key, out);
                out.push(' ');
                write_value(value, out);
            }
            out.push('}');
        }
        Collection::Tagged(tagged) => {
            out.push('#');
            out.push_str(tagged.tag().as_str());
            out.push(' ');
            write_value(tagged.value(), out);
        }
    }
}

fn write_value(value: &Value, out: &mut String) {
    match Collection::of(value) {
        Some(collection) => write(collection, out),
        None => write_scalar(value, out),
    }
}

/// Appends a scalar. Collections are written by [`write`].
pub(super) fn write_scalar(value: &Value, out: &mut String) {
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
        Value::String(text) => write_string(text, Notation::Edn, out),
        Value::Symbol(symbol) => out.push_str(symbol.as_str()),
        Value::Keyword(keyword) => {
            out.push(':');
            out.push_str(keyword.as_str());
        }
        // Writing to a string cannot fail.
        Value::Ratio(ratio) => drop(write!(out, "{ratio}")),
        Value::Inst(inst) => drop(write!(out, "{inst:?}")),
        Value::Uuid(uuid) => drop(write!(out, "{uuid:?}")),
        Value::List(_) | Value::Vector(_) | Value::Map(_) | Value::Set(_) | Value::Tagged(_) => {}
    }
}

fn write_float(float: f64, out: &mut String) {
    if float.is_finite() {
        out.push_str(zmij::Buffer::new().format_finite(float));
    } else if float.is_nan() {
        out.push_str("##NaN");
    } else {
        out.push_str(if float > 0.0 { "##Inf" } else { "##-Inf" });
    }
}

fn write_char(c: char, out: &mut String) {
    if c.len_utf16() > 1 {
        return write_string(c.encode_utf8(&mut [0; 4]), Notation::Edn, out);
    }
    out.push('\\');
    match syntax::character_name(c) {
        Some(name) => out.push_str(name),
        None if c.is_control() || c.is_whitespace() => {
            // Writing to a string cannot fail.
            let _ = write!(out, "u{:04x}", u32::from(c));
        }
        None => out.push(c),
    }
}
