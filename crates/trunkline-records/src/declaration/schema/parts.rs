//! Parts of schemas: objects and fields.

use serde_json::{Map, Value, json};

use crate::declaration::field::Field;

/// The schema of an object without other properties.
#[derive(Default)]
pub(super) struct ObjectSchema {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl ObjectSchema {
    pub(super) fn optional(mut self, name: &str, schema: Value) -> Self {
        self.properties.insert(name.to_owned(), schema);
        self
    }

    pub(super) fn required(mut self, name: &str, schema: Value) -> Self {
        self.required.push(name.to_owned());
        self.optional(name, schema)
    }

    pub(super) fn schema(self) -> Value {
        let mut schema = json!({
            "type": "object",
            "properties": self.properties,
            "additionalProperties": false,
        });
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        schema
    }
}

pub(super) fn described(kind: &str, description: &str) -> Value {
    json!({ "type": kind, "description": description })
}

/// How a filter matches free text.
const CONTAINS: &str = "Matches a substring, ignoring case.";
/// How a filter matches all other values.
pub(super) const EQUAL: &str = "Matches if equal.";

impl Field {
    /// The schema in a record.
    pub(super) fn stored(&self) -> Value {
        let mut schema = self.shape();
        if let Some(default) = self.default() {
            schema["default"] = default.clone();
        }
        schema
    }

    /// The schema in an update, without the default, which a client might fill in.
    pub(super) fn changed(&self) -> Value {
        let mut schema = self.shape();
        if self.required() {
            return schema;
        }
        schema["type"] = json!([self.kind().as_str(), "null"]);
        if let Some(Value::Array(allowed)) = schema.get_mut("enum") {
            allowed.push(Value::Null);
        }
        schema["description"] = match self.default() {
            Some(default) => self.described(&format!("Null resets it to its default, {default}.")),
            None => self.described("Null removes it."),
        };
        schema
    }

    /// The schema as a filter criterion.
    pub(super) fn criterion(&self) -> Value {
        let mut schema = self.shape();
        schema["description"] = self.described(if self.is_free_text() { CONTAINS } else { EQUAL });
        schema
    }

    fn shape(&self) -> Value {
        let mut schema = json!({ "type": self.kind().as_str() });
        if let Some(allowed) = self.allowed() {
            schema["enum"] = allowed.into();
        }
        if let Some(description) = self.description() {
            schema["description"] = description.into();
        }
        schema
    }

    /// The description, followed by another sentence.
    fn described(&self, more: &str) -> Value {
        let own = self.description().unwrap_or_default().trim_end();
        let stop = if own.is_empty() || own.ends_with(['.', '!', '?']) { "" } else { "." };
        format!("{own}{stop} {more}").trim_start().into()
    }
}
