use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// An argument of a tool, as its input schema describes it.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) is_required: bool,
    kinds: Vec<String>,
    /// The allowed texts, if they are enumerated.
    choices: Vec<String>,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    properties: IndexMap<String, Value>,
    #[serde(default)]
    required: Vec<String>,
}

impl Property {
    /// Whether a value is a string or null.
    pub(super) fn is_text(&self) -> bool {
        let mut kinds = self.kinds.iter().filter(|kind| *kind != "null").peekable();
        kinds.peek().is_some() && kinds.all(|kind| kind == "string")
    }

    /// Returns the accepted types or values as text.
    pub(super) fn label(&self) -> String {
        if !self.choices.is_empty() {
            return self.choices.join("|");
        }
        let kinds: Vec<&str> =
            self.kinds.iter().map(String::as_str).filter(|kind| *kind != "null").collect();
        if kinds.is_empty() { "any".to_owned() } else { kinds.join("|") }
    }
}

/// Returns the arguments in the order of the schema. Unknown keywords are ignored: the server checks the arguments.
pub(super) fn properties(schema: &RawValue) -> Vec<Property> {
    let Ok(object) = serde_json::from_str::<Object>(schema.get()) else { return Vec::new() };
    let root: Value = serde_json::from_str(schema.get()).unwrap_or_default();
    let read = |(name, schema): (String, Value)| {
        let mut types = Types { root: &root, left: 1_000, kinds: Vec::new(), choices: Vec::new() };
        types.collect(&schema);
        let Types { kinds, mut choices, .. } = types;
        if kinds.iter().any(|kind| kind != "string" && kind != "null") {
            choices.clear();
        }
        let description = schema["description"].as_str().unwrap_or_default().to_owned();
        let is_required = object.required.contains(&name);
        Property { name, description, is_required, kinds, choices }
    };
    object.properties.into_iter().map(read).collect()
}

/// The types that an argument may have.
struct Types<'s> {
    root: &'s Value,
    /// The number of schemas that may still be visited: references may form cycles.
    left: usize,
    kinds: Vec<String>,
    choices: Vec<String>,
}

impl Types<'_> {
    /// Adds the types of a schema. Only references within the document are followed.
    fn collect(&mut self, schema: &Value) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        match &schema["type"] {
            Value::String(kind) if kind == "array" => match schema["items"]["type"].as_str() {
                Some(item) => self.add(&format!("{item}[]")),
                None => self.add("array"),
            },
            Value::String(kind) => self.add(kind),
            Value::Array(kinds) => {
                kinds.iter().filter_map(Value::as_str).for_each(|kind| self.add(kind));
            }
            _ => {}
        }
        let allowed = schema["enum"].as_array().map_or(&[][..], Vec::as_slice);
        for value in allowed.iter().chain(schema.get("const")) {
            match value {
                Value::String(text) => {
                    self.add("string");
                    self.choices.push(text.clone());
                }
                Value::Null => {}
                other => self.add(&other.to_string()),
            }
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            for schema in schema[keyword].as_array().into_iter().flatten() {
                self.collect(schema);
            }
        }
        let root = self.root;
        let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        if let Some(schema) = reference.and_then(|pointer| root.pointer(pointer)) {
            self.collect(schema);
        }
    }

    fn add(&mut self, kind: &str) {
        if !self.kinds.iter().any(|known| known == kind) {
            self.kinds.push(kind.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the label and the type of an argument with this schema.
    #[track_caller]
    fn check(schema: &str, label: &str, is_text: bool) {
        let schema = format!(
            r##"{{"properties": {{"a": {schema}}}, "$defs": {{"E": {{"enum": ["x", "y"]}}, "L": {{"$ref": "#/$defs/L"}}, "B": {{"anyOf": [{{"$ref": "#/$defs/B"}}, {{"$ref": "#/$defs/B"}}]}}}}}}"##
        );
        let properties = properties(&RawValue::from_string(schema.clone()).unwrap());
        assert_eq!(
            (properties[0].label().as_str(), properties[0].is_text()),
            (label, is_text),
            "{schema}"
        );
    }

    #[test]
    fn reads_types() {
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
        check(r##"{"$ref": "#/$defs/B"}"##, "any", false);
        check(r#"{"$ref": "https://example.com/a"}"#, "any", false);
        check("{}", "any", false);
        check("true", "any", false);
    }

    #[test]
    fn keeps_the_order_and_marks_required_arguments() {
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
