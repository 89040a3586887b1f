//! Sets of JSON types. An integer is a number without a fraction, as in JSON Schema.

use serde_json::Value;

pub(super) const NULL: u8 = 1;
pub(super) const BOOLEAN: u8 = 2;
pub(super) const INTEGER: u8 = 4;
/// Numbers that are not integers.
pub(super) const FRACTION: u8 = 8;
pub(super) const STRING: u8 = 16;
pub(super) const ARRAY: u8 = 32;
pub(super) const OBJECT: u8 = 64;

pub(super) const NUMBER: u8 = INTEGER | FRACTION;
pub(super) const ALL: u8 = NULL | BOOLEAN | NUMBER | STRING | ARRAY | OBJECT;

/// The types that the keyword `type` names. All for an unknown name.
pub(super) fn named(names: &Value) -> u8 {
    match names {
        Value::Array(names) => names.iter().fold(0, |types, name| types | named(name)),
        Value::String(name) => match &**name {
            "null" => NULL,
            "boolean" => BOOLEAN,
            "integer" => INTEGER,
            "number" => NUMBER,
            "string" => STRING,
            "array" => ARRAY,
            "object" => OBJECT,
            _ => ALL,
        },
        _ => ALL,
    }
}

/// The type of a value.
pub(super) fn of(value: &Value) -> u8 {
    match value {
        Value::Null => NULL,
        Value::Bool(_) => BOOLEAN,
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() != 0.0) => {
            FRACTION
        }
        Value::Number(_) => INTEGER,
        Value::String(_) => STRING,
        Value::Array(_) => ARRAY,
        Value::Object(_) => OBJECT,
    }
}
