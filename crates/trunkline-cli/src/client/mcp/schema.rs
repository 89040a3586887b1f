use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::client::members::Members;

/// An argument of a tool, as its input schema describes it.
#[derive(Debug)]
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) is_required: bool,
    kinds: Vec<String>,
    /// The texts that are allowed, if there are only some.
    choices: Vec<String>,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    properties: Members<Value>,
    #[serde(default)]
    required: Vec<String>,
}

impl Property {
    /// Whether it takes text and nothing else but null.
    pub(crate) fn is_text(&self) -> bool {
        let mut kinds = self.kinds.iter().filter(|kind| *kind != "null").peekable();
        kinds.peek().is_some() && kinds.all(|kind| kind == "string")
    }

    /// What it takes, for people.
    pub(crate) fn label(&self) -> String {
        if !self.choices.is_empty() {
            return self.choices.join("|");
        }
        let kinds: Vec<&str> =
            self.kinds.iter().map(String::as_str).filter(|kind| *kind != "null").collect();
        if kinds.is_empty() { "any".to_owned() } else { kinds.join("|") }
    }
}

/// The arguments in the schema's order. What is not understood is left out: the server checks them.
pub(super) fn properties(schema: &RawValue) -> Vec<Property> {
    let Ok(object) = serde_json::from_str::<Object>(schema.get()) else { return Vec::new() };
    let root: Value = serde_json::from_str(schema.get()).unwrap_or_default();
    let Members(properties) = object.properties;
    let read = |(name, schema): (String, Value)| {
        let (mut kinds, mut choices) = (Vec::new(), Vec::new());
        collect(&schema, &root, 8, &mut kinds, &mut choices);
        let has_other = kinds.iter().any(|kind| kind != "string" && kind != "null");
        let description = schema["description"].as_str().unwrap_or_default().to_owned();
        let is_required = object.required.contains(&name);
        let choices = if has_other { Vec::new() } else { choices };
        Property { name, description, is_required, kinds, choices }
    };
    properties.into_iter().map(read).collect()
}

/// Gathers types, also through references into the schema itself; no other ones are followed.
fn collect(
    schema: &Value,
    root: &Value,
    depth: usize,
    kinds: &mut Vec<String>,
    choices: &mut Vec<String>,
) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let mut add = |kind: String| {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    match &schema["type"] {
        Value::String(kind) if kind == "array" => match schema["items"]["type"].as_str() {
            Some(item) => add(format!("{item}[]")),
            None => add("array".to_owned()),
        },
        Value::String(kind) => add(kind.clone()),
        Value::Array(types) => {
            types.iter().filter_map(Value::as_str).for_each(|kind| add(kind.to_owned()));
        }
        _ => {}
    }
    let allowed = schema["enum"].as_array().map_or(&[][..], Vec::as_slice);
    for value in allowed.iter().chain(schema.get("const")) {
        match value {
            Value::String(text) => {
                add("string".to_owned());
                choices.push(text.clone());
            }
            Value::Null => {}
            other => add(other.to_string()),
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for schema in schema[keyword].as_array().into_iter().flatten() {
            collect(schema, root, depth, kinds, choices);
        }
    }
    let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    if let Some(schema) = reference.and_then(|pointer| root.pointer(pointer)) {
        collect(schema, root, depth, kinds, choices);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the schema of the only argument.
    #[track_caller]
    fn check(schema: &str, label: &str, is_text: bool) {
        let schema = format!(
            r##"{{"properties": {{"a": {schema}}}, "$defs": {{"E": {{"enum": ["x", "y"]}}, "L": {{"$ref": "#/$defs/L"}}}}}}"##
        );
        let properties = properties(&RawValue::from_string(schema.clone()).unwrap());
        assert_eq!(
            (properties[0].label().as_str(), properties[0].is_text()),
            (label, is_text),
            "{schema}"
        );
    }

    #[test]
    fn types() {
        check(r#"{"type": "string"}"#, "string", true);
        check(r#"{"type": ["string", "null"]}"#, "string", true);
        check(r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#, "string", true);
        check(r#"{"type": ["string", "integer"]}"#, "string|integer", false);
        check(r#"{"type": "integer"}"#, "integer", false);
        check(r#"{"type": "array", "items": {"type": "string"}}"#, "string[]", false);
        check(r#"{"type": "array"}"#, "array", false);
        check(r#"{"enum": ["asc", "desc"]}"#, "asc|desc", true);
        check(r#"{"enum": ["asc", 1]}"#, "string|1", false);
        check(r##"{"$ref": "#/$defs/E"}"##, "x|y", true);
        check(r##"{"$ref": "#/$defs/L"}"##, "any", false);
        check(r#"{"$ref": "https://example.com/a"}"#, "any", false);
        check("{}", "any", false);
        check("true", "any", false);
    }

    #[test]
    fn order_and_need() {
        let schema = r#"{"properties": {"b": {}, "a": {"description": "A."}}, "required": ["a"]}"#;
        let properties = properties(&RawValue::from_string(schema.to_owned()).unwrap());
        let found: Vec<_> = properties
            .iter()
            .map(|property| (property.name.as_str(), property.is_required))
            .collect();
        assert_eq!(found, [("b", false), ("a", true)]);
        assert_eq!(properties[1].description, "A.");
    }
}
