//! The content of elicited forms.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The schema of a form.
#[derive(Debug, Deserialize)]
pub(crate) struct FormSchema {
    #[serde(default)]
    properties: BTreeMap<String, Property>,
    #[serde(default)]
    required: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Property {
    #[serde(rename = "type")]
    kind: Option<String>,
    default: Option<Value>,
}

impl FormSchema {
    /// The content that a client has obtained, with the defaults. Its names and types must be those of the schema.
    ///
    /// # Errors
    /// The defect of the content.
    pub(crate) fn complete(
        &self,
        mut content: Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        for (name, property) in &self.properties {
            match (content.get(name), &property.default) {
                (Some(value), _) if !property.accepts(value) => {
                    return Err(format!("`{name}` of the form has another type"));
                }
                (None, Some(default)) if property.accepts(default) => {
                    content.insert(name.clone(), default.clone());
                }
                _ => {}
            }
        }
        if let Some(name) = content.keys().find(|name| !self.properties.contains_key(*name)) {
            return Err(format!("the form has no `{name}`"));
        }
        match self.required.iter().find(|name| !content.contains_key(*name)) {
            Some(name) => Err(format!("`{name}` of the form is missing")),
            None => Ok(content),
        }
    }

    /// The content that a server has received: clients omit members, and some send texts instead of numbers and booleans.
    ///
    /// A user who accepts a form without content has answered yes if its only question is a required boolean: Codex, among
    /// others, shows such a form as a question with two buttons, and sends no content, or an empty one.
    ///
    /// # Errors
    /// The defect of the content.
    pub(crate) fn read(&self, content: Value) -> Result<Value, &'static str> {
        let mut content = match content {
            Value::Object(members) => members,
            Value::Null => Map::new(),
            // An empty object, as PHP writes it.
            Value::Array(values) if values.is_empty() => Map::new(),
            _ => return Err("`content` is not an object"),
        };
        let is_empty = content.is_empty();
        for (name, property) in &self.properties {
            match content.get_mut(name) {
                Some(Value::Null) => drop(content.remove(name)),
                Some(value) => property.read_text(value),
                None => {}
            }
            if content.contains_key(name) || !self.required.contains(name) {
                continue;
            }
            if let Some(default) = &property.default {
                content.insert(name.clone(), default.clone());
            } else if is_empty && self.properties.len() == 1 && property.is("boolean") {
                content.insert(name.clone(), true.into());
            }
        }
        Ok(content.into())
    }
}

impl Property {
    fn is(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind)
    }

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

    /// Replaces the text of a boolean or number by its value.
    fn read_text(&self, value: &mut Value) {
        let Value::String(text) = value else { return };
        let text = text.trim().to_ascii_lowercase();
        *value = match (self.kind.as_deref(), &*text) {
            (Some("boolean"), "true" | "yes") => Value::Bool(true),
            (Some("boolean"), "false" | "no") => Value::Bool(false),
            (Some("integer" | "number"), number) => match serde_json::from_str(number) {
                Ok(Value::Number(number)) => Value::Number(number),
                _ => return,
            },
            _ => return,
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `expected` is the content, or a part of the error.
    #[track_caller]
    fn check(schema: Value, content: Value, expected: Result<Value, &str>) {
        let Value::Object(content) = content else { panic!("{content}") };
        let form = FormSchema::deserialize(&schema).unwrap();
        match (form.complete(content).map(Value::from), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{schema}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
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
        FormSchema::deserialize(&json!({ "properties": 7 })).unwrap_err();
    }
}
