use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline::Schema;
use trunkline::layers::validation::Validator;

use super::{portable_input, portable_output};
use crate::era::Era;

/// The problems that APIs of models have with a schema. `is_result` allows missing types, which APIs do not receive.
#[track_caller]
fn lint(schema: &Value, path: &str, is_result: bool) {
    const KEYWORDS: [&str; 19] = [
        "type",
        "description",
        "title",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "default",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "pattern",
        "format",
    ];
    let members = schema.as_object().unwrap_or_else(|| panic!("{path}: {schema}"));
    for (keyword, value) in members {
        let is_known = KEYWORDS.contains(&&**keyword) || is_result && keyword == "anyOf";
        assert!(is_known, "{path}: {keyword}");
        let is_text = matches!(&**keyword, "title" | "description");
        assert!(!value.is_null(), "{path}: {keyword}");
        assert!(!is_text || value != "", "{path}: {keyword}");
    }
    let kind =
        schema.get("type").map(|kind| kind.as_str().unwrap_or_else(|| panic!("{path}: {kind}")));
    assert!(kind.is_some() || is_result, "{path}: no type");
    let texts = schema["enum"].as_array();
    assert!(texts.is_none_or(|all| kind == Some("string") && !all.is_empty()), "{path}");
    assert!(
        texts.into_iter().flatten().all(|text| text.as_str().is_some_and(|text| !text.is_empty())),
        "{path}"
    );
    assert!(schema.get("format").is_none_or(|format| format == "date-time"), "{path}");
    assert!(schema.get("additionalProperties").is_none_or(|others| others == false), "{path}");
    let properties = schema["properties"].as_object();
    assert_eq!(properties.is_some(), kind == Some("object"), "{path}");
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(properties.unwrap().contains_key(name.as_str().unwrap()), "{path}: {name}");
    }
    for (name, property) in properties.into_iter().flatten() {
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let is_valid = (1..=64).contains(&name.len()) && name.bytes().all(is_valid);
        assert!(is_valid || is_result, "{path}: {name}");
        lint(property, &format!("{path}/{name}"), is_result);
    }
    for alternative in schema["anyOf"].as_array().into_iter().flatten() {
        lint(alternative, path, is_result);
    }
    assert!(schema.get("items").is_none() || kind == Some("array"), "{path}");
    assert!(schema.get("items").is_some() || kind != Some("array") || is_result, "{path}");
    if let Some(items) = schema.get("items") {
        assert!(items.get("type").is_some(), "{path}");
        lint(items, &format!("{path}[]"), is_result);
    }
}

/// Checks the portable form of a whole input schema.
#[track_caller]
fn check(schema: Value, expected: Value) {
    let found = portable_input(&schema, Era::Legacy);
    lint(&found, "", false);
    assert_eq!(found, expected, "\n{schema}\n{found}");
    let mut again = portable_input(&found, Era::Legacy);
    // Only the description of the whole is removed.
    if let Some(description) = found.get("description") {
        again["description"] = description.clone();
    }
    assert_eq!(again, found, "a portable schema is not changed");
}

/// Checks the portable form of a param.
#[track_caller]
fn check_param(schema: Value, expected: Value) {
    let whole = |param: Value| json!({ "type": "object", "properties": { "a": param } });
    check(whole(schema), whole(expected));
}

#[test]
fn types() {
    // aoci-code#61, copilot-cli#4623
    check_param(
        json!({ "type": ["string", "null"], "description": "d" }),
        json!({ "type": "string", "description": "d" }),
    );
    check_param(
        json!({
            "type": ["array", "null"],
            "items": { "type": ["object", "null"], "properties": { "value": true } },
        }),
        json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": { "value": { "type": "string", "description": "Any JSON value." } },
            },
        }),
    );
    // opencode#48073
    check_param(
        json!({ "items": { "type": "string" }, "type": ["array", "null"] }),
        json!({ "items": { "type": "string" }, "type": "array" }),
    );
    check_param(
        json!({ "type": ["string", "number"], "description": "The id.", "minLength": 1 }),
        json!({ "type": "string", "description": "The id. Also accepts: number.", "minLength": 1 }),
    );
    check_param(
        json!({ "type": ["object", "array"], "items": { "type": "object" }, "description": "A record" }),
        json!({
            "type": "object", "properties": {},
            "description": "A record. Also accepts: array of object.",
        }),
    );
    check_param(json!({ "type": ["integer", "number"] }), json!({ "type": "number" }));
    check_param(
        json!({ "type": ["string", "number", "boolean", "null", "object", "array"] }),
        json!({ "type": "string", "description": "Also accepts: number, boolean, object, array." }),
    );
    let any = json!({ "type": "string", "description": "Any JSON value." });
    for schema in [json!({}), json!(true), json!({ "type": "int" }), json!({ "nullable": true })] {
        check_param(schema, any.clone());
    }
    check_param(json!({ "type": "null" }), json!({ "type": "string", "description": "Null." }));
    check_param(
        json!({ "description": "A value" }),
        json!({ "type": "string", "description": "A value. Any JSON value." }),
    );
    // Types that keywords imply (gemini-cli#4400).
    check_param(json!({ "minimum": 1 }), json!({ "type": "number", "minimum": 1 }));
    check_param(json!({ "pattern": "^a" }), json!({ "type": "string", "pattern": "^a" }));
    check_param(
        json!({ "properties": { "x": { "type": "string" } } }),
        json!({ "type": "object", "properties": { "x": { "type": "string" } } }),
    );
}

#[test]
fn values() {
    check_param(
        json!({ "type": ["integer", "string"], "enum": [1, "auto"] }),
        json!({ "type": "string", "enum": ["auto"], "description": "Also accepts: 1." }),
    );
    check_param(
        json!({ "type": ["string", "null"], "enum": ["low", "high", null], "description": "How much." }),
        json!({ "type": "string", "enum": ["low", "high"], "description": "How much." }),
    );
    // hyperdx#2967, CLIProxyAPI#1076
    check_param(
        json!({ "type": "number", "enum": [0.5, 0.9] }),
        json!({ "type": "number", "description": "One of: 0.5, 0.9." }),
    );
    check_param(
        json!({ "enum": [1, 2] }),
        json!({ "type": "integer", "description": "One of: 1, 2." }),
    );
    check_param(json!({ "type": "boolean", "enum": [true, false] }), json!({ "type": "boolean" }));
    check_param(
        json!({ "const": true }),
        json!({ "type": "boolean", "description": "One of: true." }),
    );
    // notion-mcp-server#42
    check_param(json!({ "enum": ["a", "b"] }), json!({ "type": "string", "enum": ["a", "b"] }));
    // mcp-server-excel#607
    check_param(
        json!({ "type": "string", "enum": ["list", "open", ""] }),
        json!({ "type": "string", "enum": ["list", "open"], "description": "Also accepts: \"\"." }),
    );
    // google_workspace_mcp#1099
    check_param(
        json!({ "const": "insert_text" }),
        json!({ "type": "string", "enum": ["insert_text"] }),
    );
    check_param(json!({ "const": 5 }), json!({ "type": "integer", "description": "One of: 5." }));
    check_param(
        json!({ "anyOf": [{ "enum": ["gpt-4", "o1"] }, { "type": "string" }], "default": "o1" }),
        json!({ "type": "string", "default": "o1", "description": "For example: \"gpt-4\", \"o1\"." }),
    );
    check_param(
        json!({ "type": "string", "default": 5 }),
        json!({ "type": "string", "description": "Default: 5." }),
    );
}

#[test]
fn alternatives() {
    check_param(
        json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }], "default": null, "title": "Limit" }),
        json!({ "type": "integer", "title": "Limit" }),
    );
    // Graphenium#37
    check_param(
        json!({
            "type": "number", "description": "Edge weight",
            "anyOf": [{ "type": "number" }, { "type": "null" }],
        }),
        json!({ "type": "number", "description": "Edge weight" }),
    );
    // claude-code#95504
    check_param(
        json!({ "oneOf": [
            { "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"] },
            {
                "type": "object", "required": ["slug"],
                "properties": { "slug": { "type": "string", "description": "s" } },
            },
        ] }),
        json!({
            "type": "object", "description": "Requires `id`, or `slug`.",
            "properties": { "id": { "type": "string" }, "slug": { "type": "string", "description": "s" } },
        }),
    );
    check_param(
        json!({
            "description": "The time.",
            "oneOf": [
                { "const": "virtual", "description": "When read." },
                { "const": "stored", "description": "When written." },
            ],
        }),
        json!({
            "type": "string", "enum": ["virtual", "stored"],
            "description": "The time. \"virtual\": When read. \"stored\": When written.",
        }),
    );
    check_param(
        json!({
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
            "description": "Columns",
        }),
        json!({
            "type": "array", "items": { "type": "string" }, "description": "Columns. Also accepts: string.",
        }),
    );
    check_param(
        json!({ "allOf": [
            { "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x"] },
            { "properties": { "y": { "type": "integer" } } },
        ] }),
        json!({
            "type": "object", "required": ["x"],
            "properties": { "x": { "type": "string" }, "y": { "type": "integer" } },
        }),
    );
    // codebase-memory-mcp#1524
    check(
        json!({
            "type": "object", "description": "That of the tool.", "required": ["project"],
            "properties": {
                "project": { "type": "string" },
                "paths": { "type": "array", "items": { "type": "string" } },
                "scopes": { "type": "array", "items": { "type": "string" } },
            },
            "anyOf": [{ "required": ["paths"] }, { "required": ["scopes"] }],
        }),
        json!({
            "type": "object", "description": "Requires `paths`, or `scopes`.", "required": ["project"],
            "properties": {
                "project": { "type": "string" },
                "paths": { "type": "array", "items": { "type": "string" } },
                "scopes": { "type": "array", "items": { "type": "string" } },
            },
        }),
    );
    // notion-mcp-server#340
    check(
        json!({ "type": "object", "anyOf": [
            { "type": "object", "properties": { "content": { "type": "string" } }, "required": ["content"] },
            { "type": "object", "properties": { "url": { "type": "string" } }, "required": ["url"] },
        ] }),
        json!({
            "type": "object", "description": "Requires `content`, or `url`.",
            "properties": { "content": { "type": "string" }, "url": { "type": "string" } },
        }),
    );
    // kata#365
    check(
        json!({
            "type": "object", "properties": { "clear": { "type": "boolean" } },
            "if": { "properties": { "clear": { "const": true } } },
            "then": { "not": { "required": ["at"] } },
            "else": { "properties": { "at": { "type": "string" } }, "required": ["at"] },
        }),
        json!({
            "type": "object",
            "properties": { "clear": { "type": "boolean" }, "at": { "type": "string" } },
        }),
    );
}

#[test]
fn arrays_and_objects() {
    // mcphost#35, apify-mcp-server#36, hermes-agent#77623
    let any = json!({ "type": "string", "description": "Any JSON value." });
    check_param(json!({ "type": "array" }), json!({ "type": "array", "items": any }));
    check_param(
        json!({ "type": "array", "items": {}, "description": "Values for ?" }),
        json!({ "type": "array", "items": any, "description": "Values for ?" }),
    );
    // hyperdx#2967
    check_param(
        json!({ "type": "array", "items": [{ "type": "number" }, { "type": "number" }] }),
        json!({
            "type": "array", "items": { "type": "number" },
            "description": "The first items are: number, number.",
        }),
    );
    check_param(
        json!({ "type": "array", "prefixItems": [{ "type": "number" }, { "type": "string" }], "items": false }),
        json!({
            "type": "array", "items": { "type": "string", "description": "Also accepts: number." },
            "description": "The first items are: number, string.",
        }),
    );
    check_param(
        json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true, "maxItems": 3 }),
        json!({
            "type": "array", "items": { "type": "string" }, "maxItems": 3,
            "description": "The items are distinct.",
        }),
    );
    // openai-agents-python#449, kubernetes-mcp-server#717
    check(json!({ "type": "object" }), json!({ "type": "object", "properties": {} }));
    check_param(
        json!({ "type": "object", "additionalProperties": {}, "description": "d" }),
        json!({ "type": "object", "properties": {}, "description": "d" }),
    );
    check_param(
        json!({
            "type": "object", "propertyNames": { "type": "string" },
            "additionalProperties": { "type": "string", "description": "A header" },
        }),
        json!({ "type": "object", "properties": {}, "description": "Values: string: A header" }),
    );
    check_param(
        json!({
            "type": "object", "properties": { "x": { "type": "string" } }, "additionalProperties": false,
            "patternProperties": { "^x-": { "type": "string" } },
        }),
        json!({
            "type": "object", "properties": { "x": { "type": "string" } },
            "description": "Names that match `^x-`: string.",
        }),
    );
    // unusual-whales-mcp#57, claude-code#92648, Composio#2330
    let long = "settings__approved__or__denied__countries__or__regions__approved__list";
    check_param(
        json!({
            "type": "object", "additionalProperties": false, "required": ["rule[]", "b", "gone"],
            "properties": {
                "rule[]": { "type": "array", "items": { "type": "string" }, "description": "Rules" },
                "": { "type": "string" }, "b": { "type": "string" }, long: { "type": "boolean" },
            },
        }),
        json!({
            "type": "object", "properties": { "b": { "type": "string" } }, "required": ["b"],
            "description": format!(
                "Also accepts the property \"\": string. Also accepts the property \"rule[]\": array of string: \
                 Rules. Also accepts the property \"{long}\": boolean."
            ),
        }),
    );
    // What most servers send is not changed.
    let closed = json!({
        "type": "object", "properties": { "a": { "type": "string", "description": "d" } },
        "required": ["a"], "additionalProperties": false,
    });
    check(closed.clone(), closed);
}

#[test]
fn restrictions() {
    // nakama#292, Dokploy/mcp#74
    check_param(
        json!({ "type": "integer", "exclusiveMinimum": 0 }),
        json!({ "type": "integer", "minimum": 1 }),
    );
    check_param(
        json!({ "type": "integer", "exclusiveMinimum": true, "minimum": 0, "maximum": 9 }),
        json!({ "type": "integer", "minimum": 1, "maximum": 9 }),
    );
    check_param(
        json!({ "type": "integer", "exclusiveMaximum": false, "maximum": 9 }),
        json!({ "type": "integer", "maximum": 9 }),
    );
    check_param(
        json!({ "type": "number", "exclusiveMaximum": 1.5, "multipleOf": 0.5 }),
        json!({
            "type": "number", "maximum": 1.5, "description": "Must be less than 1.5. A multiple of 0.5.",
        }),
    );
    check_param(
        json!({ "type": "string", "pattern": "^(?!x)y" }),
        json!({ "type": "string", "description": "Pattern: `^(?!x)y`." }),
    );
    check_param(
        json!({ "type": "string", "pattern": "^([a-z])\\1$" }),
        json!({ "type": "string", "description": "Pattern: `^([a-z])\\1$`." }),
    );
    check_param(
        json!({ "type": "string", "pattern": "^[a-z]+$", "format": "date-time" }),
        json!({ "type": "string", "pattern": "^[a-z]+$", "format": "date-time" }),
    );
    // collmbo#195
    check_param(
        json!({ "type": "string", "format": "uri", "description": "The page" }),
        json!({ "type": "string", "description": "The page. Format: uri." }),
    );
    // LibreChat#13208
    check_param(
        json!({ "type": "string", "description": "", "title": " " }),
        json!({ "type": "string" }),
    );
    check_param(
        json!({ "type": "string", "examples": ["x", "y"], "deprecated": true, "$comment": "c" }),
        json!({ "type": "string", "description": "Deprecated. For example: \"x\", \"y\"." }),
    );
    // promptfoo#4200, goai#108
    check(
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#", "$id": "a", "type": "object",
            "properties": { "a": { "type": "string", "contentEncoding": "base64", "x-order": 1 } },
            "dependentRequired": { "a": ["b"] }, "unevaluatedProperties": false, "not": { "required": ["z"] },
        }),
        json!({
            "type": "object",
            "properties": { "a": { "type": "string", "description": "Encoding: base64." } },
        }),
    );
}

#[test]
fn references() {
    // gemini-cli#13142, fastmcp#2808
    check(
        json!({
            "$defs": { "Status": { "enum": ["active", "inactive"], "description": "The status" } },
            "type": "object",
            "properties": {
                "status": { "$ref": "#/$defs/Status" },
                "other": { "$ref": "#/$defs/Status", "description": "Another", "default": "active" },
                "maybe": { "anyOf": [{ "$ref": "#/$defs/Status" }, { "type": "null" }] },
            },
        }),
        json!({
            "type": "object",
            "properties": {
                "status": { "type": "string", "enum": ["active", "inactive"], "description": "The status" },
                "other": {
                    "type": "string", "enum": ["active", "inactive"], "description": "Another",
                    "default": "active",
                },
                "maybe": { "type": "string", "enum": ["active", "inactive"], "description": "The status" },
            },
        }),
    );
    // DEEIX-Chat#546
    check(
        json!({
            "type": "object",
            "properties": {
                "headers": { "type": "object" },
                "actions": { "type": "array", "items": { "$ref": "#/properties/headers" } },
            },
        }),
        json!({
            "type": "object",
            "properties": {
                "headers": { "type": "object", "properties": {} },
                "actions": { "type": "array", "items": { "type": "object", "properties": {} } },
            },
        }),
    );
    // gemini-cli#13326: recursion
    let nested =
        json!({ "type": "object", "properties": {}, "description": "An issue. A nested `Issue`." });
    check(
        json!({
            "definitions": { "Issue": {
                "type": "object", "description": "An issue",
                "properties": { "children": { "type": "array", "items": { "$ref": "#/definitions/Issue" } } },
            } },
            "type": "object",
            "properties": { "issue": { "$ref": "#/definitions/Issue" }, "root": { "$ref": "#" } },
        }),
        json!({
            "type": "object",
            "properties": {
                "issue": {
                    "type": "object", "description": "An issue",
                    "properties": { "children": { "type": "array", "items": nested } },
                },
                "root": { "type": "object", "properties": {}, "description": "Nested." },
            },
        }),
    );
    // litellm#26692
    let any = json!({ "type": "string", "description": "Any JSON value." });
    for reference in
        ["#/definitions/_gen:tags", "https://example.com/a.json", "other.json#/a", "#a"]
    {
        check_param(json!({ "$ref": reference }), any.clone());
    }
}

/// The size of the portable form is limited, whatever references a document has.
#[test]
fn limits() {
    // Each definition has ten references to the next one.
    let mut definitions = serde_json::Map::new();
    for level in 0..12 {
        let next =
            json!({ "$ref": format!("#/$defs/d{}", level + 1), "description": "x".repeat(100) });
        let properties: serde_json::Map<_, _> =
            (0..10).map(|index| (format!("p{index}"), next.clone())).collect();
        let definition = json!({ "type": "object", "properties": properties });
        definitions.insert(format!("d{level}"), definition);
    }
    definitions.insert("d12".to_owned(), json!({ "type": "string" }));
    let schema = json!({
        "type": "object", "$defs": definitions, "properties": { "a": { "$ref": "#/$defs/d0" } },
    });
    for found in [portable_input(&schema, Era::Legacy), portable_output(&schema)] {
        assert!(found.to_string().len() < 1 << 20, "{}", found.to_string().len());
    }
    let deep = (0..100).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
    );
    let found = portable_input(&deep, Era::Legacy);
    lint(&found, "", false);
    let mut place = &found;
    let depth = (0..).take_while(|_| {
        place = &place["properties"]["a"];
        !place.is_null()
    });
    assert_eq!(depth.count(), 16);
}

#[test]
fn headers_are_listed_in_the_stateless_era() {
    let schema = json!({
        "type": "object", "properties": { "a": { "type": "string", "x-mcp-header": "Region" } },
    });
    assert_eq!(portable_input(&schema, Era::Modern), schema);
    check(schema, json!({ "type": "object", "properties": { "a": { "type": "string" } } }));
}

/// Checks the portable form of an output schema, and that it accepts results that conform to the schema.
#[track_caller]
fn check_result(schema: Value, results: &[Value], expected: Value) {
    let found = portable_output(&schema);
    lint(&found, "", true);
    assert_eq!(found, expected, "{schema}");
    let validator = |schema: Value| Validator::new(&Schema::from(schema)).unwrap();
    let (full, portable) = (validator(schema), validator(found));
    for result in results {
        assert!(full.check(result, 1).is_ok(), "{result}");
        assert!(portable.check(result, 1).is_ok(), "{result}");
    }
}

#[test]
fn schemas_of_results_accept_all_results() {
    check_result(
        json!({
            "type": "object", "required": ["id", "next"],
            "properties": { "id": { "type": ["integer", "string"], "description": "d" }, "next": { "type": ["string", "null"] } },
        }),
        &[json!({ "id": 1, "next": null }), json!({ "id": "a", "next": "b" })],
        json!({
            "type": "object", "required": ["id", "next"],
            "properties": {
                "id": { "description": "d", "anyOf": [{ "type": "integer" }, { "type": "string" }] },
                "next": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            },
        }),
    );
    check_result(
        json!({ "type": "array", "items": { "type": ["null", "number"] } }),
        &[json!([1, null])],
        json!({ "type": "array", "description": "The items are: null or number." }),
    );
    check_result(
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        &[json!(["a"])],
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
    );
    // Properties of one alternative may have another form in the other one.
    check_result(
        json!({ "anyOf": [
            { "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } }, "required": ["a"], "additionalProperties": false },
            { "type": "object", "properties": { "a": { "type": "string" } } },
        ] }),
        &[json!({ "a": "x", "b": "y" }), json!({ "b": 1 })],
        json!({
            "type": "object", "properties": {},
            "anyOf": [
                {
                    "type": "object", "required": ["a"], "additionalProperties": false,
                    "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
                },
                { "type": "object", "properties": { "a": { "type": "string" } } },
            ],
        }),
    );
    check_result(
        json!({ "anyOf": [{ "type": "string" }, { "description": "d" }] }),
        &[json!("a"), json!(1)],
        json!({}),
    );
    check_result(
        json!({ "enum": ["a", "", null] }),
        &[json!("a"), json!(""), json!(null)],
        json!({ "anyOf": [{ "type": "string", "description": "Also accepts: \"\"." }, { "type": "null" }] }),
    );
    check_result(
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": { "Node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/Node" } } } },
            "type": "object", "properties": { "node": { "$ref": "#/$defs/Node" } },
        }),
        &[json!({ "node": { "next": { "next": {} } } }), json!({})],
        json!({
            "type": "object",
            "properties": { "node": {
                "type": "object",
                "properties": { "next": { "type": "object", "properties": {}, "description": "A nested `Node`." } },
            } },
        }),
    );
    check_result(
        json!({ "properties": { "a": { "minimum": 3 } } }),
        &[json!({ "a": "x" }), json!(1)],
        json!({}),
    );
    check_result(
        json!({ "type": "number", "exclusiveMinimum": 0, "format": "double" }),
        &[json!(0.5)],
        json!({ "type": "number", "minimum": 0, "description": "Must be more than 0." }),
    );
    check_result(
        json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "string" }] }),
        &[json!(["a", "b", 1])],
        json!({ "type": "array", "description": "The first items are: string, string." }),
    );
}

/// A value of each type.
fn values_of_all_types() -> impl Strategy<Value = Value> {
    let simple = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(2),
        json!(0.5),
        json!(""),
        json!("a"),
        json!("bb"),
        json!([]),
        json!({}),
    ]);
    prop_oneof![
        simple.clone(),
        prop::collection::vec(simple.clone(), 0..3).prop_map(Value::from),
        prop::collection::btree_map(prop::sample::select(vec!["a", "b", "x[]"]), simple, 0..3)
            .prop_map(|members| json!(members)),
    ]
}

/// Schemas with few names, so that keywords concern the same values. Some are invalid.
fn schemas() -> impl Strategy<Value = Value> {
    const TYPES: [&str; 8] =
        ["object", "array", "string", "number", "integer", "boolean", "null", "int"];
    let kind = prop::sample::select(TYPES.to_vec());
    let number = prop::sample::select(vec![json!(0), json!(1), json!(2.5), json!(true)]);
    let text = prop::sample::select(vec!["", "a", "date-time", "^(?=a)", "#", "#/$defs/d", "#/x"]);
    let names = prop::sample::subsequence(vec!["a", "b", "x[]"], 0..3);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        kind.clone().prop_map(|kind| json!({ "type": kind })),
        prop::collection::vec(kind, 1..4).prop_map(|kinds| json!({ "type": kinds })),
        values_of_all_types().prop_map(|value| json!({ "const": value, "default": value })),
        prop::collection::vec(values_of_all_types(), 0..4).prop_map(|all| json!({ "enum": all })),
        (
            prop::sample::select(vec!["minimum", "exclusiveMaximum", "minLength", "maxItems"]),
            number
        )
            .prop_map(|(keyword, number)| json!({ keyword: number })),
        (prop::sample::select(vec!["pattern", "format", "description", "title", "$ref"]), text)
            .prop_map(|(keyword, text)| json!({ keyword: text })),
        names.prop_map(|names| json!({ "required": names })),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4);
        let lists = vec!["anyOf", "oneOf", "allOf", "prefixItems", "items"];
        let one = vec!["items", "additionalProperties", "not", "if", "then", "else"];
        let properties = prop::collection::btree_map(
            prop::sample::select(vec!["a", "b", "x[]"]),
            inner.clone(),
            0..3,
        );
        prop_oneof![
            (prop::sample::select(lists), list).prop_map(|(keyword, all)| json!({ keyword: all })),
            (prop::sample::select(one), inner.clone())
                .prop_map(|(keyword, schema)| json!({ keyword: schema })),
            properties.prop_map(|properties| json!({ "properties": properties })),
            // The members of several schemas.
            prop::collection::vec(inner, 2..4).prop_map(|schemas| {
                let members = schemas.into_iter().filter_map(|schema| match schema {
                    Value::Object(members) => Some(members),
                    _ => None,
                });
                Value::Object(members.flatten().collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_schema_has_a_portable_form(schema in schemas(), definition in schemas()) {
        let mut schema = schema;
        if let Some(members) = schema.as_object_mut() {
            members.insert("$defs".to_owned(), json!({ "d": definition }));
        }
        lint(&portable_input(&schema, Era::Legacy), "", false);
        lint(&portable_output(&schema), "", true);
    }

    #[test]
    fn results_that_a_schema_accepts_are_accepted_by_its_portable_form(
        schema in schemas(),
        definition in schemas(),
        results in prop::collection::vec(values_of_all_types(), 8),
    ) {
        let mut schema = schema;
        if let Some(members) = schema.as_object_mut() {
            members.insert("$defs".to_owned(), json!({ "d": definition }));
        }
        let portable = Validator::new(&Schema::from(portable_output(&schema))).unwrap();
        if let Ok(full) = Validator::new(&Schema::from(schema)) {
            for result in results {
                let is_accepted = full.check(&result, 1).is_err() || portable.check(&result, 1).is_ok();
                prop_assert!(is_accepted, "{}", result);
            }
        }
    }
}
