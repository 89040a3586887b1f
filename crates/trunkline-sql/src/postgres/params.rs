//! Values of parameters. They are sent as text, which the server converts as it converts literals.

use std::error::Error as StdError;

use bytes::BytesMut;
use serde_json::Value as Json;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

use crate::model::error::Error;
use crate::model::exact_json;
use crate::model::value::{self, Value, has_marker};
use crate::query::document::{Encoding, array_literal, float, hex, is_nan};

/// The text of a value, or NULL.
#[derive(Clone, Debug)]
pub(super) struct TextParam(Option<String>);

impl ToSql for TextParam {
    fn to_sql(
        &self,
        _: &Type,
        buffer: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match &self.0 {
            Some(text) => {
                buffer.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// A value that the query builder has read.
pub(super) fn from_value(value: &Value) -> Result<TextParam, Error> {
    let text = match value {
        Value::Null => return Ok(TextParam(None)),
        Value::Integer(integer) => integer.to_string(),
        Value::Real(real) => float(*real),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => hex(bytes),
        Value::TextBytes(_) => {
            let reason = "PostgreSQL stores only text in UTF-8".to_owned();
            return Err(Error::BadParams { reason });
        }
    };
    Ok(TextParam(Some(text)))
}

/// A value of a caller's parameter, for the type that the server has determined.
pub(super) fn from_json(json: &Json, expected: &Type) -> Result<TextParam, &'static str> {
    let encoding = Encoding::of(base_type(expected).name());
    let text = match json {
        Json::Null => return Ok(TextParam(None)),
        Json::Bool(value) => value.to_string(),
        Json::String(text) => text.clone(),
        Json::Object(_) | Json::Array(_) if encoding == Encoding::Json => exact_json::text(json),
        Json::Number(_) => {
            encoding.check(json)?;
            json.to_string()
        }
        Json::Object(fields) if is_nan(fields) => "NaN".to_owned(),
        Json::Object(fields) if let Some(number) = exact_json::raw_text(fields) => {
            encoding.check(json)?;
            number.to_owned()
        }
        Json::Object(fields) if has_marker(fields) => {
            return from_value(&value::from_json(json)?).map_err(|_| "the text is not valid UTF-8");
        }
        Json::Array(elements) => match base_type(expected).kind() {
            Kind::Array(element) => {
                array_literal(elements, Encoding::of(base_type(element).name()))?
            }
            _ => exact_json::text(json),
        },
        Json::Object(_) => exact_json::text(json),
    };
    Ok(TextParam(Some(text)))
}

/// The type that a domain restricts, or the type itself.
fn base_type(of: &Type) -> &Type {
    match of.kind() {
        Kind::Domain(base) => base_type(base),
        _ => of,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio_postgres::types::Type;

    use super::from_json;

    #[test]
    fn texts() {
        for (json, expected_type, expected) in [
            (json!(true), Type::BOOL, Some("true")),
            (json!(9007199254740993_u64), Type::INT8, Some("9007199254740993")),
            (json!(0.1), Type::NUMERIC, Some("0.1")),
            (json!(null), Type::INT4, None),
            (json!({"a": 1}), Type::JSONB, Some(r#"{"a":1}"#)),
            (json!([1, "x"]), Type::JSONB, Some(r#"[1,"x"]"#)),
            (json!([1, null]), Type::INT4_ARRAY, Some(r#"{"1",NULL}"#)),
            (json!([["a\"b"], ["\\"]]), Type::TEXT_ARRAY, Some(r#"{{"a\"b"},{"\\"}}"#)),
            (json!([[1], {"a": 2}]), Type::JSONB_ARRAY, Some(r#"{"[1]","{\"a\":2}"}"#)),
            (json!({"$blob": "AP8="}), Type::BYTEA, Some("\\x00ff")),
            (json!({"$float": "-Infinity"}), Type::FLOAT8, Some("-Infinity")),
            (json!({"$float": "NaN"}), Type::JSONB, Some(r#"{"$float":"NaN"}"#)),
            (json!([{"$blob": "AP8="}, null]), Type::BYTEA_ARRAY, Some(r#"{"\\x00ff",NULL}"#)),
            (
                json!([{"$float": "NaN"}, {"$float": "-Infinity"}, 1.5]),
                Type::FLOAT8_ARRAY,
                Some(r#"{"NaN","-Infinity","1.5"}"#),
            ),
            (json!([{"$blob": 1}]), Type::JSON_ARRAY, Some(r#"{"{\"$blob\":1}"}"#)),
        ] {
            let text = from_json(&json, &expected_type).unwrap().0;
            assert_eq!(text.as_deref(), expected, "{json}");
        }
    }
}
