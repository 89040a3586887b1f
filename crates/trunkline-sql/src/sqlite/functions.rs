//! The mathematical functions of SQL.
//!
//! The bundled SQLite is compiled without them, unlike the `sqlite3` shell and most other programs, so schemas use them.

use std::f64::consts::PI;

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};

/// A number, as SQLite's functions read their arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Integer(i64),
    Real(f64),
}

type Function = fn(&Context<'_>) -> Value;

/// The functions with their number of arguments, in the order of SQLite's documentation.
const FUNCTIONS: [(&str, i32, Function); 30] = [
    ("acos", 1, |context| of_one(context, f64::acos)),
    ("acosh", 1, |context| of_one(context, f64::acosh)),
    ("asin", 1, |context| of_one(context, f64::asin)),
    ("asinh", 1, |context| of_one(context, f64::asinh)),
    ("atan", 1, |context| of_one(context, f64::atan)),
    ("atan2", 2, |context| of_two(context, f64::atan2)),
    ("atanh", 1, |context| of_one(context, f64::atanh)),
    ("ceil", 1, |context| rounded(context, f64::ceil)),
    ("ceiling", 1, |context| rounded(context, f64::ceil)),
    ("cos", 1, |context| of_one(context, f64::cos)),
    ("cosh", 1, |context| of_one(context, f64::cosh)),
    // The factors are computed first, as in SQLite: the last digit depends on the order.
    ("degrees", 1, |context| of_one(context, |x| x * (180.0 / PI))),
    ("exp", 1, |context| of_one(context, f64::exp)),
    ("floor", 1, |context| rounded(context, f64::floor)),
    ("ln", 1, |context| logarithm(context, f64::ln)),
    ("log", 1, |context| logarithm(context, f64::log10)),
    ("log", 2, logarithm_of_base),
    ("log10", 1, |context| logarithm(context, f64::log10)),
    ("log2", 1, |context| logarithm(context, f64::log2)),
    ("mod", 2, |context| of_two(context, |x, y| x % y)),
    ("pi", 0, |_| Value::Real(PI)),
    ("pow", 2, |context| of_two(context, f64::powf)),
    ("power", 2, |context| of_two(context, f64::powf)),
    ("radians", 1, |context| of_one(context, |x| x * (PI / 180.0))),
    ("sin", 1, |context| of_one(context, f64::sin)),
    ("sinh", 1, |context| of_one(context, f64::sinh)),
    ("sqrt", 1, |context| of_one(context, f64::sqrt)),
    ("tan", 1, |context| of_one(context, f64::tan)),
    ("tanh", 1, |context| of_one(context, f64::tanh)),
    ("trunc", 1, |context| rounded(context, f64::trunc)),
];

/// Adds the functions to a connection. They may be used in indexes and generated columns, and by an untrusted schema.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    for (name, arguments, function) in FUNCTIONS {
        connection
            .create_scalar_function(name, arguments, flags, move |context| Ok(function(context)))?;
    }
    Ok(())
}

/// A function of one real number. SQLite stores NaN as NULL.
fn of_one(context: &Context<'_>, function: fn(f64) -> f64) -> Value {
    number(context.get_raw(0)).map_or(Value::Null, |x| Value::Real(function(x.as_real())))
}

fn of_two(context: &Context<'_>, function: fn(f64, f64) -> f64) -> Value {
    let numbers = number(context.get_raw(0)).zip(number(context.get_raw(1)));
    numbers.map_or(Value::Null, |(x, y)| Value::Real(function(x.as_real(), y.as_real())))
}

/// An integer, or a rounded real number.
fn rounded(context: &Context<'_>, function: fn(f64) -> f64) -> Value {
    match number(context.get_raw(0)) {
        Some(Number::Integer(integer)) => Value::Integer(integer),
        Some(Number::Real(real)) => Value::Real(function(real)),
        None => Value::Null,
    }
}

fn logarithm(context: &Context<'_>, function: fn(f64) -> f64) -> Value {
    positive(context.get_raw(0)).map_or(Value::Null, |x| Value::Real(function(x)))
}

fn logarithm_of_base(context: &Context<'_>) -> Value {
    let numbers = positive(context.get_raw(0)).zip(positive(context.get_raw(1)));
    match numbers.map(|(base, x)| (base.ln(), x.ln())) {
        Some((base, x)) if base > 0.0 => Value::Real(x / base),
        _ => Value::Null,
    }
}

fn positive(value: ValueRef<'_>) -> Option<f64> {
    number(value).map(Number::as_real).filter(|number| *number > 0.0)
}

/// A number, or a text that is one as a whole.
fn number(value: ValueRef<'_>) -> Option<Number> {
    match value {
        ValueRef::Integer(integer) => Some(Number::Integer(integer)),
        ValueRef::Real(real) => Some(Number::Real(real)),
        ValueRef::Text(text) => number_of_text(text),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// The number of a text in SQLite's syntax, which has no names such as `inf`, and white space at both ends.
fn number_of_text(text: &[u8]) -> Option<Number> {
    let is_space = |character: char| matches!(character, ' ' | '\t'..='\r');
    let text = str::from_utf8(text).ok()?.trim_matches(is_space);
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    match text.parse() {
        Ok(integer) => Some(Number::Integer(integer)),
        Err(_) => text.parse().ok().map(Number::Real),
    }
}

impl Number {
    fn as_real(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Real(real) => real,
        }
    }
}
