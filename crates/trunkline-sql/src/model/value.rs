//! The values of a database, and how a caller sends them in parameters, filters and records.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::exact_json;

/// A value of a database. Text need not be valid UTF-8: SQLite stores any bytes.
/// Its JSON is exact, for cursors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(#[serde(with = "bits")] f64),
    Text(String),
    /// Text of any bytes.
    TextBytes(Vec<u8>),
    Blob(Vec<u8>),
    /// A list or an object for a column of PostgreSQL, which the type of the parameter converts.
    Document(Json),
}

/// The bits of a float, which may be infinite.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(real: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(real.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}

impl Value {
    /// Text of any bytes.
    pub(crate) fn text(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes)
            .map_or_else(|error| Self::TextBytes(error.into_bytes()), Self::Text)
    }
}

/// Reads a scalar. Booleans become 0 and 1. Values without a JSON equivalent are objects with a [marker](has_marker),
/// as in results.
///
/// # Errors
///
/// The reason, without the place.
pub(crate) fn from_json(json: &Json) -> Result<Value, &'static str> {
    match json {
        Json::Null => Ok(Value::Null),
        Json::Bool(value) => Ok(Value::Integer(i64::from(*value))),
        Json::String(text) => Ok(Value::Text(text.clone())),
        Json::Number(number) => match (number.as_i64(), number.is_u64(), number.as_f64()) {
            (Some(integer), _, _) => Ok(Value::Integer(integer)),
            (None, false, Some(real)) => Ok(Value::Real(real)),
            _ => Err("the integer is outside the range of 64 bits (signed)"),
        },
        Json::Object(_) if exact_json::kept_text(json).is_some() => {
            from_json(&exact_json::member(json))
        }
        Json::Object(fields) => from_marked(fields),
        Json::Array(_) => Err(EXPECTED),
    }
}

/// `{"$blob": base64}`, `{"$text": base64}` (text that is not UTF-8), both of which may have the number of
/// `bytes`, and `{"$float": "Infinity"}` or `"-Infinity"`.
fn from_marked(fields: &Map<String, Json>) -> Result<Value, &'static str> {
    if let Some(number) = exact_json::raw_text(fields) {
        return exact_json::double(number).map(Value::Real).ok_or(ROUNDED);
    }
    let is_alone = fields.len() == 1;
    let is_counted = is_alone || (fields.len() == 2 && fields.contains_key("bytes"));
    let bytes = |json: &Json| STANDARD.decode(json.as_str()?).ok();
    match MARKERS.map(|marker| fields.get(marker)) {
        [Some(blob), None, None] if is_counted => {
            bytes(blob).map(Value::Blob).ok_or("\"$blob\" must be base64 with padding")
        }
        [None, Some(text), None] if is_counted => {
            bytes(text).map(Value::text).ok_or("\"$text\" must be base64 with padding")
        }
        [None, None, Some(float)] if is_alone => match float.as_str() {
            Some("Infinity") => Ok(Value::Real(f64::INFINITY)),
            Some("-Infinity") => Ok(Value::Real(f64::NEG_INFINITY)),
            _ => Err("\"$float\" must be \"Infinity\" or \"-Infinity\""),
        },
        _ => Err(EXPECTED),
    }
}

const MARKERS: [&str; 3] = ["$blob", "$text", "$float"];

/// Whether an object is a value, not the operators of a filter.
pub(crate) fn has_marker(fields: &Map<String, Json>) -> bool {
    MARKERS.iter().any(|marker| fields.contains_key(*marker))
        || exact_json::raw_text(fields).is_some()
}

/// The reason of a refused number.
pub(crate) const ROUNDED: &str = "the number has more digits than a floating-point number and would be rounded; send fewer \
     digits, or a string for a column of text";

const EXPECTED: &str = "expected null, a boolean, a number, a string, {\"$blob\": base64}, \
     {\"$text\": base64} or {\"$float\": \"Infinity\"}";

#[cfg(test)]
mod tests {
    use super::{Value, exact_json, from_json};
    use serde_json::json;

    #[test]
    fn scalars() {
        let rows = [
            (json!(null), Some(Value::Null)),
            (json!(true), Some(Value::Integer(1))),
            (json!(-7), Some(Value::Integer(-7))),
            (json!(i64::MAX), Some(Value::Integer(i64::MAX))),
            (json!(u64::MAX), None),
            (json!(1.5), Some(Value::Real(1.5))),
            (json!("1"), Some(Value::Text("1".to_owned()))),
            (json!({"$blob": "AAE="}), Some(Value::Blob(vec![0, 1]))),
            (json!({"$blob": "AAE=", "bytes": 2}), Some(Value::Blob(vec![0, 1]))),
            (json!({"$blob": "A"}), None),
            (json!({"$text": "/w==", "bytes": 1}), Some(Value::TextBytes(vec![0xff]))),
            (json!({"$text": "YQ=="}), Some(Value::Text("a".to_owned()))),
            (json!({"$float": "-Infinity"}), Some(Value::Real(f64::NEG_INFINITY))),
            (json!({"$float": "NaN"}), None),
            (exact_json::parse("0.1234567890123456789").unwrap(), None),
            (exact_json::parse("12345678901234567890123").unwrap(), None),
            (json!({"a": 1}), None),
            (json!([1]), None),
        ];
        for (json, expected) in rows {
            assert_eq!(from_json(&json).ok(), expected, "{json}");
        }
    }
}
