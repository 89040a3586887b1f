//! Questions to the user of a client.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use trunkline::JsonSchema;
use trunkline::schemars::generate::SchemaSettings;

use super::error::PeerError;
use crate::protocol::method;

/// The answer of a user to a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elicited<T> {
    /// The user has submitted this content.
    Accepted(T),
    /// The user has refused to answer.
    Declined,
    /// The user has closed the form without an answer.
    Cancelled,
}

#[derive(Deserialize)]
struct Answer {
    action: Action,
    content: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Accept,
    Decline,
    Cancel,
}

impl<T> Elicited<T> {
    /// The content, if the user has submitted it.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(content) => Some(content),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

impl<T: DeserializeOwned> Elicited<T> {
    pub(super) fn read(answer: Value) -> Result<Self, PeerError> {
        let content = |content: Option<Value>| {
            serde_json::from_value(content.unwrap_or_else(|| Map::new().into()))
        };
        let malformed = |error| PeerError::malformed(method::ELICIT, &error);
        let Answer { action, content: given } =
            serde_json::from_value(answer).map_err(malformed)?;
        Ok(match action {
            Action::Accept => Self::Accepted(content(given).map_err(malformed)?),
            Action::Decline => Self::Declined,
            Action::Cancel => Self::Cancelled,
        })
    }
}

/// The schema of a form with the members of `T`.
pub(super) fn schema_of<T: JsonSchema>() -> Result<Value, PeerError> {
    // Forms have no references.
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    let mut schema = schema.to_value();
    if let Some(Value::Object(members)) = schema.get_mut("properties") {
        members.values_mut().for_each(simplify);
    }
    check(&schema).map(|()| schema)
}

/// Brings the schema of a member into the form of the protocol: an optional member has one type, and each choice has a
/// title.
fn simplify(member: &mut Value) {
    let Value::Object(member) = member else { return };
    if let Some(Value::Array(types)) = member.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [kind] = &**types {
            let kind = kind.clone();
            member.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(choices)) = member.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    // `Option` of an enum.
    if let Some(Value::Array(options)) = member.get_mut("anyOf") {
        options.retain(|option| option.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(option)] = &mut **options {
            let option = std::mem::take(option);
            member.remove("anyOf");
            member.extend(option);
        }
    }
    if let Some(Value::Array(choices)) = member.get("oneOf") {
        let choices: Value = choices.iter().flat_map(titled).collect();
        member.insert("oneOf".to_owned(), choices);
        member.insert("type".to_owned(), "string".into());
    }
    // Formats are those of texts.
    if member.get("type").is_some_and(|kind| kind != "string") {
        member.remove("format");
    }
}

/// The choices of a variant, or of several without a description.
fn titled(variant: &Value) -> Vec<Value> {
    let title = variant.get("title").or_else(|| variant.get("description"));
    let single = variant.get("const").map(std::slice::from_ref);
    let several = || variant.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let values = single.or_else(several).unwrap_or_default();
    let choice = |value| json!({ "const": value, "title": title.unwrap_or(value) });
    values.iter().map(choice).collect()
}

/// Checks that a schema is that of a form (2026-07-28, "Elicitation", "Requested Schema").
pub(super) fn check(schema: &Value) -> Result<(), PeerError> {
    let refuse = |reason: String| Err(PeerError::Schema { reason });
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return refuse("the type is not `object`".to_owned());
    }
    let none = Map::new();
    let members = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    for (name, member) in members {
        match member.get("type").and_then(Value::as_str) {
            Some("string" | "number" | "integer" | "boolean") => {}
            Some("array") if is_list_of_choices(member) => {}
            _ => return refuse(format!("`{name}` is neither a primitive value nor a choice")),
        }
    }
    Ok(())
}

fn is_list_of_choices(member: &Value) -> bool {
    let Some(items) = member.get("items") else { return false };
    ["enum", "anyOf", "oneOf"].iter().any(|key| items.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, json};
    use trunkline::JsonSchema;

    use super::{Elicited, check, schema_of};

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[schemars(crate = "trunkline::schemars")]
    struct Name {
        /// The full name.
        name: String,
        color: Color,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[schemars(crate = "trunkline::schemars")]
    #[serde(rename_all = "lowercase")]
    enum Color {
        Red,
        Blue,
    }

    #[test]
    fn schemas_of_types_are_forms() {
        let expected = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The full name." },
                "color": { "type": "string", "enum": ["red", "blue"] },
            },
            "required": ["name", "color"],
        });
        assert_eq!(schema_of::<Name>().unwrap(), expected);
        schema_of::<Vec<Name>>().unwrap_err();
    }

    #[derive(Deserialize, JsonSchema)]
    #[schemars(crate = "trunkline::schemars")]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Optional {
        name: Option<String>,
        count: Option<u8>,
        color: Option<Color>,
        size: Option<Size>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[schemars(crate = "trunkline::schemars")]
    #[serde(rename_all = "lowercase")]
    enum Size {
        /// Up to 10.
        Small,
        Large,
    }

    #[test]
    fn optional_members_and_titles_of_choices_have_the_form_of_the_protocol() {
        let schema = schema_of::<Optional>().unwrap();
        let properties = &schema["properties"];
        assert_eq!(properties["name"]["type"], "string");
        assert_eq!(properties["count"]["type"], "integer");
        assert_eq!(properties["color"]["enum"], json!(["red", "blue"]));
        assert_eq!(properties["color"]["type"], "string");
        let sizes = json!([
            { "const": "small", "title": "Up to 10." },
            { "const": "large", "title": "large" },
        ]);
        let mut found = properties["size"]["oneOf"].clone();
        if let Some(found) = found.as_array_mut() {
            found.sort_by_key(|size| size["const"] == "large");
        }
        assert_eq!(found, sizes, "{schema}");
        assert_eq!(properties["size"]["type"], "string");
        assert_eq!(schema.get("required"), None);
    }

    #[track_caller]
    fn check_schema(properties: Value, is_form: bool) {
        let schema = json!({ "type": "object", "properties": properties });
        assert_eq!(check(&schema).is_ok(), is_form, "{schema}");
    }

    #[test]
    fn forms_have_primitive_members() {
        check_schema(json!({}), true);
        check_schema(json!({ "a": { "type": "integer", "default": 1 } }), true);
        let choices = json!([{ "const": "b", "title": "B" }]);
        check_schema(json!({ "a": { "type": "string", "oneOf": choices } }), true);
        check_schema(json!({ "a": { "type": "array", "items": { "enum": ["b"] } } }), true);
        check_schema(json!({ "a": { "type": "array", "items": { "type": "string" } } }), false);
        check_schema(json!({ "a": { "type": "object" } }), false);
        check_schema(json!({ "a": { "$ref": "#/$defs/b" } }), false);
        check_schema(json!({ "a": {} }), false);
    }

    /// `expected` is `None` for a malformed answer.
    #[track_caller]
    fn check_answer(answer: Value, expected: Option<Elicited<Name>>) {
        assert_eq!(Elicited::read(answer.clone()).ok(), expected, "{answer}");
    }

    #[test]
    fn reads_answers() {
        let content = json!({ "name": "Ada", "color": "blue" });
        let ada = Name { name: "Ada".to_owned(), color: Color::Blue };
        check_answer(
            json!({ "action": "accept", "content": content }),
            Some(Elicited::Accepted(ada)),
        );
        check_answer(json!({ "action": "decline" }), Some(Elicited::Declined));
        check_answer(json!({ "action": "cancel", "content": {} }), Some(Elicited::Cancelled));
        check_answer(json!({ "action": "accept" }), None);
        check_answer(json!({ "action": "accept", "content": { "name": 1 } }), None);
        check_answer(json!({ "action": "maybe" }), None);
        check_answer(json!({}), None);
        check_answer(json!(1), None);
    }
}
