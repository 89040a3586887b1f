//! The content of elicited forms.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::handler::HandlerError;

#[derive(Deserialize)]
struct Schema {
    #[serde(default)]
    properties: BTreeMap<String, Property>,
    #[serde(default)]
    required: Vec<String>,
}

#[derive(Deserialize)]
struct Property {
    #[serde(rename = "type")]
    kind: Option<String>,
    default: Option<Value>,
}

/// Adds the defaults of the schema to the content, and checks the names and types of its members.
pub(super) fn complete(
    schema: &RawValue,
    mut content: Map<String, Value>,
) -> Result<Map<String, Value>, HandlerError> {
    let invalid = |reason: String| HandlerError::Invalid(reason);
    let schema: Schema = serde_json::from_str(schema.get())
        .map_err(|error| invalid(format!("`requestedSchema`: {error}")))?;
    for (name, property) in &schema.properties {
        match (content.get(name), &property.default) {
            (Some(value), _) if !property.accepts(value) => {
                return Err(invalid(format!("`{name}` of the form has another type")));
            }
            (None, Some(default)) if property.accepts(default) => {
                content.insert(name.clone(), default.clone());
            }
            _ => {}
        }
    }
    if let Some(name) = content.keys().find(|name| !schema.properties.contains_key(*name)) {
        return Err(invalid(format!("the form has no `{name}`")));
    }
    match schema.required.iter().find(|name| !content.contains_key(*name)) {
        Some(name) => Err(invalid(format!("`{name}` of the form is missing"))),
        None => Ok(content),
    }
}

impl Property {
    fn accepts(&self, value: &Value) -> bool {
        match (self.kind.as_deref(), value) {
            (Some("string"), Value::String(_))
            | (Some("number"), Value::Number(_))
            | (Some("boolean"), Value::Bool(_)) => true,
            (Some("integer"), Value::Number(number)) => {
                number.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            (Some("array"), Value::Array(items)) => items.iter().all(Value::is_string),
            (Some("string" | "number" | "boolean" | "integer" | "array"), _) => false,
            (_, Value::Object(_) | Value::Null) => false,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `expected` is the content, or a part of the error.
    #[track_caller]
    fn check(schema: Value, content: Value, expected: Result<Value, &str>) {
        let schema = RawValue::from_string(schema.to_string()).unwrap();
        let Value::Object(content) = content else { panic!("{content}") };
        match (complete(&schema, content).map(Value::from), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{schema}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, _) => panic!("{schema}: {found:?}"),
        }
    }

    #[test]
    fn defaults_are_added_and_types_checked() {
        let schema = json!({ "type": "object", "required": ["a"], "properties": {
            "a": { "type": "string", "default": "x" },
            "b": { "type": "integer", "default": 3 },
            "c": { "type": "array", "default": ["y"] },
            "d": { "type": "boolean" },
            "e": { "type": "number", "default": "wrong" },
        }});
        let rows = [
            (json!({}), Ok(json!({ "a": "x", "b": 3, "c": ["y"] }))),
            (
                json!({ "a": "z", "b": 4.0, "c": [], "d": true, "e": 1.5 }),
                Ok(json!({ "a": "z", "b": 4.0, "c": [], "d": true, "e": 1.5 })),
            ),
            (json!({ "a": 1 }), Err("`a` of the form has another type")),
            (json!({ "b": 1.5 }), Err("`b` of the form")),
            (json!({ "c": [1] }), Err("`c` of the form")),
            (json!({ "d": null }), Err("`d` of the form")),
            (json!({ "z": 1 }), Err("no `z`")),
        ];
        for (content, expected) in rows {
            check(schema.clone(), content, expected);
        }
        let required = json!({ "required": ["a"], "properties": { "a": { "type": "string" } } });
        check(required, json!({}), Err("`a` of the form is missing"));
        check(json!([]), json!({ "a": 1 }), Err("no `a`"));
        check(json!({ "properties": 7 }), json!({}), Err("requestedSchema"));
    }
}
