//! JSON to SQLite: the values that a caller may send as a parameter or in a filter.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rusqlite::types::Value;
use serde_json::Value as Json;

/// Reads a scalar. Booleans become 0 and 1, which SQLite has in their place, and
/// `{"$blob": base64}`, as results have it, becomes a BLOB.
///
/// # Errors
///
/// What is wrong with the value, as the end of a sentence.
pub(crate) fn from_json(json: &Json) -> Result<Value, &'static str> {
    match json {
        Json::Null => Ok(Value::Null),
        Json::Bool(value) => Ok(Value::Integer(i64::from(*value))),
        Json::String(text) => Ok(Value::Text(text.clone())),
        Json::Number(number) => match (number.as_i64(), number.is_u64(), number.as_f64()) {
            (Some(integer), _, _) => Ok(Value::Integer(integer)),
            (None, false, Some(real)) => Ok(Value::Real(real)),
            _ => Err("the integer is outside the range of SQLite, which has 64 bits with a sign"),
        },
        Json::Object(fields) => match (fields.get("$blob"), fields.len()) {
            (Some(Json::String(text)), 1 | 2) => STANDARD
                .decode(text)
                .map(Value::Blob)
                .map_err(|_| "\"$blob\" must be base64 with padding"),
            _ => Err(EXPECTED),
        },
        Json::Array(_) => Err(EXPECTED),
    }
}

const EXPECTED: &str = "expected null, a boolean, a number, a string or {\"$blob\": base64}";

#[cfg(test)]
mod tests {
    use super::{Value, from_json};
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
            (json!({"a": 1}), None),
            (json!([1]), None),
        ];
        for (json, expected) in rows {
            assert_eq!(from_json(&json).ok(), expected, "{json}");
        }
    }
}
