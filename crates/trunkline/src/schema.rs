//! JSON Schemas (draft 2020-12) of params and results.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::Value;

/// A JSON Schema, as the doors show it. Cloning is cheap.
///
/// It says no `$schema` (2020-12 is what it is without one, and some clients refuse to see any), and
/// refers to nothing outside of itself.
#[derive(Clone, PartialEq)]
pub struct Schema(Arc<Value>);

impl Schema {
    /// What `T` is read from.
    #[must_use]
    pub fn of_input<T: JsonSchema>() -> Self {
        Self::generate::<T>(settings_of_input())
    }

    /// What `T` is written as.
    #[must_use]
    pub fn of_output<T: JsonSchema>() -> Self {
        Self::generate::<T>(settings_of_output())
    }

    fn generate<T: JsonSchema>(settings: SchemaSettings) -> Self {
        let mut schema = settings.into_generator().into_root_schema_for::<T>();
        // The name of a Rust type tells callers nothing.
        schema.remove("title");
        finished(schema)
    }

    /// The schema's JSON.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }
}

/// How schemas of what is read are generated.
pub(crate) fn settings_of_input() -> SchemaSettings {
    standing_alone(SchemaSettings::draft2020_12().for_deserialize())
}

/// How schemas of what is written are generated.
pub(crate) fn settings_of_output() -> SchemaSettings {
    standing_alone(SchemaSettings::draft2020_12().for_serialize())
}

fn standing_alone(settings: SchemaSettings) -> SchemaSettings {
    settings.with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    })
}

/// What was generated, as the doors show it.
pub(crate) fn finished(mut schema: schemars::Schema) -> Schema {
    RecursiveTransform(without_noise).transform(&mut schema);
    Schema(Arc::new(schema.to_value()))
}

/// Leaves out what tells callers nothing: `uint64` and its likes, which are no formats of JSON Schema
/// (validators warn of them), that an absent member is as good as null, and where lines of doc comments
/// break.
fn without_noise(schema: &mut schemars::Schema) {
    let is_rusts = |format: &str| {
        let kind = format.trim_end_matches(|c: char| c.is_ascii_digit());
        ["int", "uint", "float", "double"].contains(&kind)
    };
    if schema.get("format").and_then(Value::as_str).is_some_and(is_rusts) {
        schema.remove("format");
    }
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    if let Some(text) = schema.get("description").and_then(Value::as_str).map(one_line) {
        schema.insert("description".to_owned(), text.into());
    }
}

/// A doc comment without the line breaks of its source.
fn one_line(text: &str) -> String {
    text.split("\n\n")
        .map(|paragraph| paragraph.replace('\n', " "))
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// A schema that was written by hand, or read from a file. Nothing checks that it is one.
impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        Self(Arc::new(value))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{JsonSchema, Schema};
    use serde_json::json;

    /// Names
    /// a thing.
    #[derive(JsonSchema, serde::Serialize, serde::Deserialize)]
    struct Thing {
        /// Its name.
        name: String,
        #[serde(default)]
        inner: Option<Inner>,
    }

    #[derive(JsonSchema, serde::Serialize, serde::Deserialize)]
    struct Inner {
        count: u8,
    }

    #[test]
    fn a_schema_stands_alone_and_tells_input_from_output() {
        let thing = |required: &[&str]| {
            json!({
                "type": "object",
                "description": "Names a thing.",
                "properties": {
                    "name": { "type": "string", "description": "Its name." },
                    "inner": {
                        "type": ["object", "null"],
                        "properties": {
                            "count": { "type": "integer", "minimum": 0, "maximum": 255 },
                        },
                        "required": ["count"],
                    },
                },
                "required": required,
            })
        };
        assert_eq!(*Schema::of_input::<Thing>().as_value(), thing(&["name"]));
        assert_eq!(*Schema::of_output::<Thing>().as_value(), thing(&["name", "inner"]));
    }
}
