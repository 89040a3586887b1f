//! Values of PostgreSQL's columns from JSON: documents, numbers and booleans.

use serde_json::{Map, Value as Json};

use crate::model::exact_json;
use crate::model::value::{self, ROUNDED, Value};

/// The types whose values are not read as those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// `json` and `jsonb`: a value is a document, also if it looks like another object of results.
    Json,
    /// `hstore` of the extension: an object of strings and nulls.
    Hstore,
    /// A floating-point number of 32 bits.
    Real,
    /// A floating-point number of 64 bits.
    Double,
    Other,
}

impl Encoding {
    /// The encoding of a type, by its name in SQL or in the catalog.
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "json" | "jsonb" => Self::Json,
            "real" | "float4" => Self::Real,
            "double precision" | "float8" => Self::Double,
            // With its schema, if the search path does not contain that.
            _ if name == "hstore" || name.ends_with(".hstore") => Self::Hstore,
            _ => Self::Other,
        }
    }

    /// Refuses a number that would be rounded. The digits after the point of a `real` are.
    pub(crate) fn check(self, json: &Json) -> Result<(), &'static str> {
        let text = match json {
            Json::Number(number) => number.to_string(),
            json => match exact_json::number(json) {
                Some(text) => text.to_owned(),
                None => return Ok(()),
            },
        };
        let integer = text.trim_end_matches(".0");
        let is_exact = match self {
            Self::Json | Self::Hstore | Self::Other => true,
            Self::Real if exact_json::is_integer(integer) => exact_json::is_float(integer),
            Self::Real | Self::Double => exact_json::double(&text).is_some(),
        };
        if is_exact { Ok(()) } else { Err(ROUNDED) }
    }
}

/// Reads a value for a column of this type. In a column of JSON, a value is the document. Otherwise, the type of the
/// parameter converts objects and lists.
///
/// # Errors
///
/// The reason, without the place.
pub(super) fn column_value(json: &Json, declared_type: &str) -> Result<Value, &'static str> {
    match json {
        Json::Null => Ok(Value::Null),
        json if Encoding::of(declared_type) == Encoding::Json => {
            Ok(Value::Text(exact_json::text(json)))
        }
        json if exact_json::kept_text(json).is_some() && !exact_json::is_document(json) => {
            column_value(&exact_json::member(json), declared_type)
        }
        Json::Object(_) if exact_json::number(json).is_none() => Ok(Value::Document(json.clone())),
        Json::Array(_) => Ok(Value::Document(json.clone())),
        Json::Bool(_) if is_number(declared_type) => value::from_json(json),
        Json::Bool(value) => Ok(Value::Text(value.to_string())),
        // The server does not read 1.0 as an integer.
        Json::Object(_)
            if is_integer(declared_type)
                && let Ok(value) = value::from_json(json) =>
        {
            Ok(value)
        }
        Json::Object(_) | Json::Number(_) | Json::String(_) => number(json, declared_type),
    }
}

/// Reads a scalar for a comparison with a column of this type. Numbers keep all digits, or are refused.
///
/// # Errors
///
/// The reason, without the place.
pub(super) fn number(json: &Json, declared_type: &str) -> Result<Value, &'static str> {
    Encoding::of(declared_type).check(json)?;
    match json {
        Json::Number(number) if number.as_i64().is_none() && number.is_u64() => {
            Ok(Value::Text(number.to_string()))
        }
        Json::Object(fields) if is_nan(fields) => Ok(Value::Text("NaN".to_owned())),
        json => match exact_json::number(json) {
            Some(text) => Ok(Value::Text(text.to_owned())),
            None => value::from_json(json),
        },
    }
}

/// Whether a value has at most the length or the digits of a column's type: `character varying(5)`. The server checks
/// all else, and its error does not name the column.
pub(super) fn fits(value: &Value, declared_type: &str) -> bool {
    let text = match value {
        Value::Integer(integer) => integer.to_string(),
        Value::Text(text) => text.clone(),
        _ => return true,
    };
    let modifiers = declared_type.strip_suffix(')').and_then(|rest| rest.split_once('('));
    let Some((name, modifiers)) = modifiers else { return true };
    let (size, scale) = modifiers.split_once(',').unwrap_or((modifiers, "0"));
    let (Ok(size), Ok(scale)) = (size.parse::<usize>(), scale.parse::<usize>()) else {
        return true;
    };
    match name {
        // Further spaces are removed.
        "character varying" | "character" => text.trim_end_matches(' ').chars().count() <= size,
        "bit" if is_binary(&text) => text.len() == size,
        "bit varying" if is_binary(&text) => text.len() <= size,
        "numeric" => {
            let number = text.trim_start_matches(['-', '+']);
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
            !is_plain(whole)
                || !is_plain(fraction)
                || whole.trim_start_matches('0').len() <= size.saturating_sub(scale)
        }
        _ => true,
    }
}

/// Whether a text of bits is not hexadecimal, and has no prefix.
fn is_binary(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0' | b'1'))
}

/// The object of a result for this float.
pub(crate) fn is_nan(fields: &Map<String, Json>) -> bool {
    fields.len() == 1 && fields.get("$float").is_some_and(|float| float == "NaN")
}

fn is_number(declared_type: &str) -> bool {
    let names = ["numeric", "real", "double precision"];
    is_integer(declared_type) || names.iter().any(|name| declared_type.starts_with(name))
}

fn is_integer(declared_type: &str) -> bool {
    ["smallint", "integer", "bigint"].contains(&declared_type)
}
