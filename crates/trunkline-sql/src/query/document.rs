//! Values of PostgreSQL's columns from JSON: documents, arrays and booleans.

use serde_json::{Map, Value as Json};

use crate::model::exact_json;
use crate::model::value::{self, Value, has_marker};

/// Reads a value for a column of this type. Objects and lists are JSON text, and lists for an array column the text of an
/// array. In a column of JSON, a string is a JSON string.
///
/// # Errors
///
/// The reason, without the place.
pub(super) fn column_value(json: &Json, declared_type: &str) -> Result<Value, &'static str> {
    let text = match json {
        Json::Null => return Ok(Value::Null),
        Json::Object(fields) if is_nan(fields) => "NaN".to_owned(),
        Json::Object(fields) if exact_json::raw_text(fields).is_some() => {
            return number(json, declared_type);
        }
        Json::Object(fields) if has_marker(fields) => return value::from_json(json),
        Json::Array(elements) => match declared_type.strip_suffix("[]") {
            Some(element) => array_literal(elements, is_json(element))?,
            None => exact_json::text(json),
        },
        Json::Object(_) => exact_json::text(json),
        Json::String(_) if is_json(declared_type) => json.to_string(),
        Json::Bool(_) if is_number(declared_type) => return value::from_json(json),
        Json::Bool(value) => value.to_string(),
        Json::Number(_) | Json::String(_) => return number(json, declared_type),
    };
    Ok(Value::Text(text))
}

/// Reads a scalar for a comparison with a column of this type. Numbers keep all digits, unless the column is a double.
///
/// # Errors
///
/// The reason, without the place.
pub(super) fn number(json: &Json, declared_type: &str) -> Result<Value, &'static str> {
    let is_double = ["real", "double precision"].contains(&declared_type);
    match json {
        Json::Number(number) if number.as_i64().is_none() && number.is_u64() => {
            Ok(Value::Text(number.to_string()))
        }
        Json::Object(fields) if !is_double => match exact_json::raw_text(fields) {
            Some(text) => Ok(Value::Text(text.to_owned())),
            None => value::from_json(json),
        },
        json => value::from_json(json),
    }
}

/// The object of a result for this float.
pub(crate) fn is_nan(fields: &Map<String, Json>) -> bool {
    fields.len() == 1 && fields.get("$float").is_some_and(|float| float == "NaN")
}

fn is_json(declared_type: &str) -> bool {
    ["json", "jsonb"].contains(&declared_type)
}

fn is_number(declared_type: &str) -> bool {
    let names = ["smallint", "integer", "bigint", "numeric", "real", "double precision"];
    names.iter().any(|name| declared_type.starts_with(name))
}

/// The text of an array: `{"1",NULL,"a\"b"}`. Lists of lists are arrays of several dimensions, unless the elements are
/// JSON.
///
/// # Errors
///
/// The reason, without the place.
pub(crate) fn array_literal(elements: &[Json], of_json: bool) -> Result<String, &'static str> {
    let mut literal = String::from("{");
    for (index, json) in elements.iter().enumerate() {
        if index > 0 {
            literal.push(',');
        }
        let text = match json {
            Json::Array(nested) if !of_json => {
                literal.push_str(&array_literal(nested, of_json)?);
                continue;
            }
            Json::Null => {
                literal.push_str("NULL");
                continue;
            }
            Json::String(text) if !of_json => text.clone(),
            Json::Object(fields)
                if has_marker(fields) && exact_json::raw_text(fields).is_none() =>
            {
                return Err(
                    "the objects \"$blob\", \"$text\" and \"$float\" are not supported in lists",
                );
            }
            other => exact_json::text(other),
        };
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        literal.push_str(&format!("\"{escaped}\""));
    }
    literal.push('}');
    Ok(literal)
}
