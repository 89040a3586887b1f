//! Questions to the user of a client.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use trunkline::JsonSchema;
use trunkline::schemars::generate::SchemaSettings;

use super::error::PeerError;
use crate::model::{ElicitResult, FormSchema};
use crate::protocol::method;

/// The answer to a form with this schema.
pub(super) fn read<T: DeserializeOwned>(
    answer: ElicitResult<Value>,
    form: &FormSchema,
) -> Result<ElicitResult<T>, PeerError> {
    let malformed = |reason| PeerError::Malformed { method: method::ELICIT, reason };
    answer.try_map(|content| {
        let content = form.read(content).map_err(|reason| malformed(reason.to_owned()))?;
        serde_json::from_value(content).map_err(|error| malformed(error.to_string()))
    })
}

/// The schema of a form with the members of `T`.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
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
    schema
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
pub(super) fn check(schema: &Value) -> Result<FormSchema, PeerError> {
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
    FormSchema::deserialize(schema).or_else(|error| refuse(error.to_string()))
}

fn is_list_of_choices(member: &Value) -> bool {
    let Some(items) = member.get("items") else { return false };
    ["enum", "anyOf", "oneOf"].iter().any(|key| items.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};
    use trunkline::JsonSchema;

    use super::super::read as read_result;
    use super::{ElicitResult, check, method, read, schema_of};

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
        assert_eq!(schema_of::<Name>(), expected);
        check(&schema_of::<Vec<Name>>()).unwrap_err();
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
        let schema = schema_of::<Optional>();
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

    /// The answer in a result. `None` if it is malformed.
    fn answered<T: DeserializeOwned>(result: Value, schema: &Value) -> Option<ElicitResult<T>> {
        let answer = read_result(method::ELICIT, result).ok()?;
        read(answer, &check(schema).unwrap()).ok()
    }

    /// Reads the answer to a form with these members, which are required. `expected` is `None` for a malformed answer.
    #[track_caller]
    fn check_content(members: &Value, answer: &Value, expected: Option<ElicitResult<Value>>) {
        let required: Vec<_> = members.as_object().unwrap().keys().collect();
        let schema = json!({ "type": "object", "properties": members, "required": required });
        let found = answered(answer.clone(), &schema);
        assert_eq!(found, expected, "{answer} to {members}");
    }

    fn accept(content: Value) -> Value {
        json!({ "action": "accept", "content": content })
    }

    #[test]
    fn reads_actions() {
        let check = |answer: Value, expected| check_content(&json!({}), &answer, expected);
        let accepted = || Some(ElicitResult::Accept(json!({})));
        check(json!({ "action": "accept" }), accepted());
        check(json!({ "action": "accept", "content": null, "_meta": null, "x": 1 }), accepted());
        check(json!({ "action": "accept", "content": {} }), accepted());
        check(json!({ "action": "Accept" }), accepted());
        check(json!({ "action": " ACCEPT\n" }), accepted());
        check(json!({ "action": "decline" }), Some(ElicitResult::Decline));
        check(json!({ "action": "DECLINE", "content": null }), Some(ElicitResult::Decline));
        check(json!({ "action": "cancel", "content": {} }), Some(ElicitResult::Cancel));
        check(json!({ "action": "Cancelled", "content": 1 }), Some(ElicitResult::Cancel));
        for unknown in ["reject", "", "maybe", "accepted", "yes", "accept all", "true"] {
            check(json!({ "action": unknown, "content": {} }), Some(ElicitResult::Decline));
        }
        for malformed in [
            json!({}),
            json!({ "content": { "confirm": true } }),
            json!({ "action": null }),
            json!({ "action": true }),
            json!({ "action": ["accept"] }),
            json!(["accept"]),
            json!(["accept", {}]),
            json!(1),
            json!("accept"),
            Value::Null,
        ] {
            check(malformed, None);
        }
    }

    #[test]
    fn accepting_a_question_without_content_is_a_yes() {
        let question = json!({ "ok": { "type": "boolean" } });
        let yes = || Some(ElicitResult::Accept(json!({ "ok": true })));
        let no = || Some(ElicitResult::Accept(json!({ "ok": false })));
        check_content(&question, &json!({ "action": "accept" }), yes());
        for content in [json!(null), json!({}), json!([]), json!({ "ok": true })] {
            check_content(&question, &accept(content), yes());
        }
        check_content(&question, &accept(json!({ "ok": false })), no());
        // Not without content.
        let null = Some(ElicitResult::Accept(json!({})));
        check_content(&question, &accept(json!({ "ok": null })), null);
        let other = Some(ElicitResult::Accept(json!({ "confirmed": true })));
        check_content(&question, &accept(json!({ "confirmed": true })), other);
        for content in [json!(true), json!("yes"), json!([true]), json!(1)] {
            check_content(&question, &accept(content), None);
        }
        // Other questions.
        let empty = || Some(ElicitResult::Accept(json!({})));
        check_content(&json!({ "name": { "type": "string" } }), &accept(json!({})), empty());
        let two = json!({ "a": { "type": "boolean" }, "b": { "type": "boolean" } });
        check_content(&two, &accept(json!({})), empty());
        let optional = json!({ "type": "object", "properties": question });
        assert_eq!(answered::<Value>(accept(json!({})), &optional), empty());
        for default in [true, false] {
            let with_default = json!({ "ok": { "type": "boolean", "default": default } });
            let expected = Some(ElicitResult::Accept(json!({ "ok": default })));
            check_content(&with_default, &accept(json!({})), expected);
        }
    }

    #[test]
    fn texts_of_booleans_and_numbers_are_read() {
        let members = json!({
            "b": { "type": "boolean" },
            "i": { "type": "integer" },
            "n": { "type": "number" },
            "s": { "type": "string" },
        });
        let rows = [
            (json!({ "b": "true" }), json!({ "b": true })),
            (json!({ "b": "Yes" }), json!({ "b": true })),
            (json!({ "b": " FALSE" }), json!({ "b": false })),
            (json!({ "b": "no" }), json!({ "b": false })),
            (json!({ "b": "y" }), json!({ "b": "y" })),
            (json!({ "b": "" }), json!({ "b": "" })),
            (json!({ "b": 1 }), json!({ "b": 1 })),
            (json!({ "i": "42", "n": "-1.5e3" }), json!({ "i": 42, "n": -1500.0 })),
            (json!({ "i": "42xyz", "n": "" }), json!({ "i": "42xyz", "n": "" })),
            (json!({ "i": "true", "n": "[1]" }), json!({ "i": "true", "n": "[1]" })),
            (json!({ "s": "true", "x": "1" }), json!({ "s": "true", "x": "1" })),
            (json!({ "s": null, "x": null }), json!({ "x": null })),
        ];
        for (content, expected) in rows {
            check_content(&members, &accept(content), Some(ElicitResult::Accept(expected)));
        }
    }

    #[test]
    fn content_has_the_type_of_the_form() {
        let check = |content: Value, expected: Option<Name>| {
            let found = answered(accept(content.clone()), &schema_of::<Name>());
            assert_eq!(found, expected.map(ElicitResult::Accept), "{content}");
        };
        let ada = Name { name: "Ada".to_owned(), color: Color::Blue };
        check(json!({ "name": "Ada", "color": "blue", "x": 1 }), Some(ada));
        check(json!({ "name": 1, "color": "blue" }), None);
        check(json!({ "name": "Ada" }), None);
        check(json!({}), None);
        check(json!(null), None);
    }
}
