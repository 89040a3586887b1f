//! Values of PostgreSQL's columns from JSON: documents, arrays and booleans.

use serde_json::Value as Json;

use crate::model::value::{self, Value, has_marker};

/// Reads a value for a column of this type. Objects and lists are JSON text, and lists for an array column the text of an
/// array.
///
/// # Errors
///
/// The reason, without the place.
pub(super) fn column_value(json: &Json, declared_type: &str) -> Result<Value, &'static str> {
    let text = match json {
        Json::Object(fields) if has_marker(fields) => return value::from_json(json),
        Json::Array(elements) => match declared_type.strip_suffix("[]") {
            Some(element) => array_literal(elements, is_json(element))?,
            None => json.to_string(),
        },
        Json::Object(_) => json.to_string(),
        Json::Bool(_) if is_number(declared_type) => return value::from_json(json),
        Json::Bool(value) => value.to_string(),
        Json::Null | Json::Number(_) | Json::String(_) => return value::from_json(json),
    };
    Ok(Value::Text(text))
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
            Json::Object(fields) if has_marker(fields) => {
                return Err(
                    "the objects \"$blob\", \"$text\" and \"$float\" are not supported in lists",
                );
            }
            other => other.to_string(),
        };
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        literal.push_str(&format!("\"{escaped}\""));
    }
    literal.push('}');
    Ok(literal)
}
