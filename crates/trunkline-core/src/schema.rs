//! JSON Schemas (draft 2020-12) of params and results.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::Value;

/// A JSON Schema. Cloning is cheap.
///
/// It has no `$schema` (the default is 2020-12, and some clients reject the keyword), and no references to other
/// documents.
///
/// An optional member is published without `null` among its types, since some clients cannot fill in a value of two
/// types. Validation accepts `null` if the Rust type does.
#[derive(Clone, PartialEq)]
pub struct Schema {
    published: Arc<Value>,
    validated: Arc<Value>,
}

impl Schema {
    /// The schema that `T` is deserialized from.
    #[must_use]
    pub fn of_input<T: JsonSchema>() -> Self {
        Self::generate::<T>(input_settings()).without_null_options()
    }

    /// The schema that `T` is serialized to.
    #[must_use]
    pub fn of_output<T: JsonSchema>() -> Self {
        Self::generate::<T>(output_settings())
    }

    fn generate<T: JsonSchema>(settings: SchemaSettings) -> Self {
        let mut schema = settings.into_generator().into_root_schema_for::<T>();
        // The name of a Rust type is of no use to callers.
        schema.remove("title");
        from_generated(schema)
    }

    /// The published form of the schema.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.published
    }

    /// The schema that values are validated against.
    pub fn validated(&self) -> &Value {
        &self.validated
    }

    /// The same schema, with validation of member names and of members with an `enum` only. For types that accept more
    /// forms of other values than the schema publishes, and report invalid values themselves.
    #[must_use]
    pub fn checked_by_name(mut self) -> Self {
        let Value::Object(mut checked) = Value::clone(&self.validated) else { return self };
        if let Some(Value::Object(members)) = checked.get_mut("properties") {
            for member in members.values_mut() {
                *member = match member.get_mut("enum").map(Value::take) {
                    None => true.into(),
                    Some(choices) => serde_json::json!({ "enum": choices }),
                };
            }
        }
        self.validated = Arc::new(checked.into());
        self
    }

    /// The same schema with one more optional member. Replaces the member of the same name. A schema that is not an
    /// object, such as `true`, is unchanged.
    #[must_use]
    pub fn with_member(mut self, name: &str, member: &Value) -> Self {
        for schema in [&mut self.published, &mut self.validated] {
            if let Value::Object(keywords) = Arc::make_mut(schema)
                && let Value::Object(members) =
                    keywords.entry("properties").or_insert_with(|| serde_json::json!({}))
            {
                members.insert(name.to_owned(), member.clone());
            }
        }
        self
    }

    /// Removes `null` from the types of optional members in the published schema only.
    #[must_use]
    pub fn without_null_options(mut self) -> Self {
        let mut published = Value::clone(&self.published);
        drop_null_options(&mut published);
        if published != *self.published {
            self.published = Arc::new(published);
        }
        self
    }
}

/// Removes `null` from the types of optional members, at every depth.
fn drop_null_options(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(drop_null_options),
        Value::Object(keywords) => {
            let required = keywords.get("required").cloned().unwrap_or_default();
            let is_required = |name: &String| {
                required.as_array().is_some_and(|names| names.iter().any(|one| one == name))
            };
            if let Some(Value::Object(members)) = keywords.get_mut("properties") {
                let optional = members.iter_mut().filter(|(name, _)| !is_required(name));
                optional.for_each(|(_, member)| drop_null(member));
            }
            for (keyword, value) in keywords {
                match (&**keyword, value) {
                    ("properties" | "$defs", Value::Object(schemas)) => {
                        schemas.values_mut().for_each(drop_null_options);
                    }
                    // These are values, not schemas.
                    ("enum" | "const" | "default" | "examples" | "required", _) => {}
                    (_, value) => drop_null_options(value),
                }
            }
        }
        _ => {}
    }
}

/// Removes `null` from the types of a schema, unless it is the only one.
fn drop_null(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    if let Some(Value::Array(types)) = keywords.get_mut("type")
        && types.len() > 1
    {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            keywords.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = keywords.get_mut("enum")
        && values.len() > 1
    {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(schemas)) = keywords.get_mut("anyOf")
        && schemas.len() > 1
    {
        schemas.retain(|schema| schema.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = &schemas[..] {
            let only = only.clone();
            keywords.remove("anyOf");
            // The description of a member takes precedence over that of its type.
            for (keyword, value) in only {
                keywords.entry(keyword).or_insert(value);
            }
        }
    }
}

/// The settings for schemas of deserialized types.
pub fn input_settings() -> SchemaSettings {
    self_contained(SchemaSettings::draft2020_12().for_deserialize())
}

/// The settings for schemas of serialized types.
pub fn output_settings() -> SchemaSettings {
    self_contained(SchemaSettings::draft2020_12().for_serialize())
}

fn self_contained(settings: SchemaSettings) -> SchemaSettings {
    settings.with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    })
}

/// A schema from the output of the generator.
pub fn from_generated(mut schema: schemars::Schema) -> Schema {
    RecursiveTransform(simplify).transform(&mut schema);
    Schema::from(schema.to_value())
}

/// Removes parts of no use to callers: formats such as `uint64`, which JSON Schema does not define (validators warn
/// about them), `null` as a default, and the line breaks of doc comments.
fn simplify(schema: &mut schemars::Schema) {
    let is_rust_format = |format: &str| {
        let kind = format.trim_end_matches(|c: char| c.is_ascii_digit());
        ["int", "uint", "float", "double"].contains(&kind)
    };
    if schema.get("format").and_then(Value::as_str).is_some_and(is_rust_format) {
        schema.remove("format");
    }
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    if is_string_enum(schema) {
        schema.insert("type".to_owned(), "string".into());
    }
    if let Some(text) = schema.get("description").and_then(Value::as_str).map(one_line) {
        schema.insert("description".to_owned(), text.into());
    }
}

/// Whether the schema is an enum whose variants have descriptions. Clients expect a type as well.
fn is_string_enum(schema: &schemars::Schema) -> bool {
    let choices = schema.get("oneOf").and_then(Value::as_array);
    choices.is_some_and(|choices| {
        choices.iter().all(|one| one.get("const").is_some_and(Value::is_string))
    })
}

/// A doc comment without the line breaks of its source.
fn one_line(text: &str) -> String {
    text.split("\n\n")
        .map(|paragraph| paragraph.replace('\n', " "))
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Uses the value as a schema, without validation.
impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        let value = Arc::new(value);
        Self { published: Arc::clone(&value), validated: value }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.published)
    }
}

#[cfg(test)]
mod tests {
    use super::{JsonSchema, Schema};
    use serde_json::{Value, json};

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
    fn input_and_output_schemas_are_self_contained() {
        let thing = |inner: &Value, required: &[&str]| {
            json!({
                "type": "object",
                "description": "Names a thing.",
                "properties": {
                    "name": { "type": "string", "description": "Its name." },
                    "inner": {
                        "type": inner,
                        "properties": {
                            "count": { "type": "integer", "minimum": 0, "maximum": 255 },
                        },
                        "required": ["count"],
                    },
                },
                "required": required,
            })
        };
        let (plain, nullable) = (json!("object"), json!(["object", "null"]));
        let input = Schema::of_input::<Thing>();
        assert_eq!(*input.as_value(), thing(&plain, &["name"]));
        assert_eq!(*input.validated(), thing(&nullable, &["name"]));
        let output = Schema::of_output::<Thing>();
        assert_eq!(*output.as_value(), thing(&nullable, &["name", "inner"]));
    }

    #[test]
    fn validation_can_be_limited_to_names_and_choices() {
        let schema = json!({
            "properties": {
                "name": { "type": "string" },
                "kind": { "type": "string", "enum": ["a", "b"] },
                "form": { "type": "string", "enum": ["c"] },
            },
            "required": ["kind"],
            "additionalProperties": false,
        });
        let checked = Schema::from(schema.clone()).checked_by_name();
        assert_eq!(*checked.as_value(), schema);
        let members =
            json!({ "name": true, "kind": { "enum": ["a", "b"] }, "form": { "enum": ["c"] } });
        let expected = json!({
            "properties": members, "required": ["kind"], "additionalProperties": false,
        });
        assert_eq!(*checked.validated(), expected);
    }

    #[track_caller]
    fn check_member(schema: Value, published: Value, validated: Value) {
        let schema = Schema::from(schema).checked_by_name();
        let schema = schema.with_member("b", &json!({ "type": "string" }));
        assert_eq!((schema.as_value(), schema.validated()), (&published, &validated));
    }

    #[test]
    fn a_member_is_added_to_the_published_and_the_validated_schema() {
        let text = json!({ "type": "string" });
        let closed =
            |members: Value| json!({ "properties": members, "additionalProperties": false });
        check_member(
            closed(json!({ "a": { "type": "number" } })),
            closed(json!({ "a": { "type": "number" }, "b": text })),
            closed(json!({ "a": true, "b": text })),
        );
        check_member(
            json!({}),
            json!({ "properties": { "b": text } }),
            json!({ "properties": { "b": text } }),
        );
        check_member(json!(true), json!(true), json!(true));
    }

    #[track_caller]
    fn check_published(schema: &Value, expected: &Value) {
        let whole = |member: &Value| json!({ "properties": { "a": member }, "required": ["b"] });
        let found = Schema::from(whole(schema)).without_null_options();
        assert_eq!(*found.as_value(), whole(expected));
        assert_eq!(*found.validated(), whole(schema));
    }

    #[test]
    fn optional_members_are_published_without_null() {
        let integer = json!({ "type": "integer" });
        for (schema, expected) in [
            (
                json!({ "type": ["integer", "null"], "minimum": 1 }),
                json!({ "type": "integer", "minimum": 1 }),
            ),
            (
                json!({ "type": ["string", "number", "null"] }),
                json!({ "type": ["string", "number"] }),
            ),
            (json!({ "type": "null" }), json!({ "type": "null" })),
            (
                json!({ "type": ["string", "null"], "enum": ["x", null] }),
                json!({ "type": "string", "enum": ["x"] }),
            ),
            (
                json!({ "description": "a", "anyOf": [{ "type": "integer", "description": "b" }, { "type": "null" }] }),
                json!({ "description": "a", "type": "integer" }),
            ),
            (
                json!({ "anyOf": [{ "type": "string" }, integer, { "type": "null" }] }),
                json!({ "anyOf": [{ "type": "string" }, integer] }),
            ),
            // Elsewhere, null is a valid value.
            (
                json!({ "type": "object", "additionalProperties": { "type": ["integer", "null"] } }),
                json!({ "type": "object", "additionalProperties": { "type": ["integer", "null"] } }),
            ),
            (
                json!({ "items": { "properties": { "c": { "type": ["integer", "null"] } } } }),
                json!({ "items": { "properties": { "c": integer } } }),
            ),
            (
                json!({ "properties": { "c": { "type": ["integer", "null"] } }, "required": ["c"] }),
                json!({ "properties": { "c": { "type": ["integer", "null"] } }, "required": ["c"] }),
            ),
            (
                json!({ "default": { "properties": { "c": null } } }),
                json!({ "default": { "properties": { "c": null } } }),
            ),
            (json!(true), json!(true)),
        ] {
            check_published(&schema, &expected);
        }
    }
}
