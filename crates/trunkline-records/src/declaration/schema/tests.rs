use serde_json::{Value, json};
use trunkline::layers::validation::Validator;

use crate::declaration::{RecordType, RecordTypes, Verb};

/// A type with fields of all kinds, and one with fields named like the params of pages.
const TYPES: &str = r#"
[records.thing]
description = "A thing"

[records.thing.fields]
name = { type = "string", required = true, description = "What it is called" }
state = { type = "string", enum = ["new", "old"], default = "new", description = "How it is." }
size = { type = "integer", enum = [1, 2] }
weight = { type = "number" }
done = { type = "boolean", default = false }
more = { type = "object" }
tags = { type = "array" }

[records.paged.fields]
limit = { type = "boolean" }
cursor = { type = "string", required = true, enum = ["arrow", "hand"] }
"#;

fn kind(name: &str) -> RecordType {
    RecordTypes::parse(TYPES).unwrap().get(name).unwrap().clone()
}

#[track_caller]
fn validator(schema: &Value) -> Validator {
    Validator::new(&schema.clone().into()).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// Whether a schema accepts each of the instances.
#[track_caller]
fn check(schema: &Value, expected: bool, instances: &[Value]) {
    let validator = validator(schema);
    for instance in instances {
        let checked = validator.check(instance, 0);
        assert_eq!(checked.is_ok(), expected, "{instance} by {schema}: {checked:?}");
    }
}

#[track_caller]
fn accepts(command: Verb, instances: &[Value]) {
    check(&kind("thing").input(command), true, instances);
}

#[track_caller]
fn rejects(command: Verb, instances: &[Value]) {
    check(&kind("thing").input(command), false, instances);
}

#[test]
fn inputs_describe_all_params_and_allow_no_others() {
    for name in ["thing", "paged"] {
        for verb in Verb::ALL {
            let input = kind(name).input(verb);
            assert_eq!(
                (&input["type"], &input["additionalProperties"]),
                (&json!("object"), &json!(false))
            );
            assert_eq!(input["properties"]["metadata"]["type"], "object", "{verb}");
            check(&input, false, &[json!([]), json!(null), json!({ "unknown": 1 })]);
        }
    }
    let described =
        |schema: &Value| schema["description"].as_str().is_some_and(|text| text.len() > 5);
    for verb in Verb::ALL {
        for (name, param) in kind("thing").input(verb)["properties"].as_object().unwrap() {
            let undescribed = ["size", "weight", "done", "more", "tags"];
            let may_lack_description = verb == Verb::Create && undescribed.contains(&name.as_str());
            assert!(described(param) || may_lack_description, "{verb} {name}");
        }
    }
}

#[test]
fn create_requires_the_required_fields() {
    accepts(
        Verb::Create,
        &[
            json!({ "name": "" }),
            json!({ "id": "a", "name": "n", "state": "old", "size": 1, "weight": 1.5, "done": true, "more": {},
                "tags": [1], "metadata": { "requestId": "r", "trace": [1] } }),
            json!({ "id": 0, "name": "n" }),
            json!({ "id": "x".repeat(256), "name": "n", "size": 2.0, "weight": 1 }),
        ],
    );
    rejects(
        Verb::Create,
        &[
            json!({}),
            json!({ "name": null }),
            json!({ "name": "n", "id": "" }),
            json!({ "name": "n", "id": null }),
            json!({ "name": "n", "id": "x".repeat(257) }),
            json!({ "name": "n", "state": "odd" }),
            json!({ "name": "n", "size": 3 }),
            json!({ "name": "n", "weight": "1" }),
            json!({ "name": "n", "done": 0 }),
            json!({ "name": "n", "more": [] }),
            json!({ "name": "n", "tags": {} }),
            json!({ "name": "n", "version": 1 }),
            json!({ "name": "n", "metadata": { "requestId": 1 } }),
            json!({ "name": "n", "metadata": [] }),
        ],
    );
}

#[test]
fn update_accepts_null_for_optional_fields() {
    let nulls = json!({ "id": 1, "state": null, "size": null, "weight": null, "done": null, "more": null,
                        "tags": null });
    accepts(
        Verb::Update,
        &[
            nulls,
            json!({ "id": "a" }),
            json!({ "id": "a", "name": "n", "metadata": { "ifVersion": 1, "requestId": "r" } }),
        ],
    );
    rejects(
        Verb::Update,
        &[
            json!({ "name": "n" }),
            json!({ "id": "a", "name": null }),
            json!({ "id": "a", "state": "odd" }),
            json!({ "id": "a", "createdAt": "2026-11-22T11:13:45.123Z" }),
            json!({ "id": "a", "metadata": { "ifVersion": 0 } }),
            json!({ "id": "a", "metadata": { "ifVersion": "1" } }),
        ],
    );
}

#[test]
fn only_create_has_defaults() {
    let thing = kind("thing");
    let state = |verb| thing.input(verb)["properties"]["state"].clone();
    let text = |schema: Value| schema["description"].as_str().unwrap().to_owned();
    assert_eq!(state(Verb::Create)["default"], "new");
    assert_eq!(text(state(Verb::Create)), "How it is.");
    for verb in [Verb::Update, Verb::Filter] {
        assert_eq!(state(verb).get("default"), None, "{verb}");
    }
    assert_eq!(text(state(Verb::Update)), "How it is. Null resets it to its default, \"new\".");
    assert_eq!(text(state(Verb::Filter)), "How it is. Matches if equal.");
    let described = |verb, name: &str| text(thing.input(verb)["properties"][name].clone());
    assert_eq!(
        described(Verb::Filter, "name"),
        "What it is called. Matches a substring, ignoring case."
    );
    assert_eq!(described(Verb::Filter, "size"), "Matches if equal.");
    assert_eq!(described(Verb::Update, "size"), "Null removes it.");
}

#[test]
fn read_and_delete_require_an_id() {
    for verb in [Verb::Read, Verb::Delete] {
        accepts(verb, &[json!({ "id": "a" }), json!({ "id": -1.5, "metadata": {} })]);
        rejects(verb, &[json!({}), json!({ "id": "a", "name": "n" }), json!({ "id": [] })]);
    }
    rejects(Verb::Delete, &[json!({ "id": "a", "metadata": { "ifVersion": -1 } })]);
}

#[test]
fn list_and_filter_accept_page_params() {
    accepts(
        Verb::List,
        &[
            json!({}),
            json!({ "limit": 1, "cursor": "c" }),
            json!({ "cursor": null, "metadata": { "limit": 5, "cursor": "c" } }),
        ],
    );
    rejects(
        Verb::List,
        &[
            json!({ "limit": 0 }),
            json!({ "limit": "1" }),
            json!({ "cursor": 1 }),
            json!({ "name": "n" }),
            json!({ "metadata": { "limit": 0 } }),
        ],
    );
    accepts(
        Verb::Filter,
        &[
            json!({}),
            json!({ "limit": 1, "cursor": "c", "name": "n", "state": "new", "size": 1, "done": true, "more": {} }),
            json!({ "id": "a", "version": 1, "createdAt": "2026", "updatedAt": "2026-11" }),
        ],
    );
    rejects(
        Verb::Filter,
        &[
            json!({ "state": 1 }),
            json!({ "state": "ne" }),
            json!({ "done": "yes" }),
            json!({ "limit": 0 }),
        ],
    );
}

#[test]
fn fields_named_limit_and_cursor_take_precedence() {
    let paged = kind("paged");
    let filter = paged.input(Verb::Filter);
    check(
        &filter,
        true,
        &[json!({ "limit": true, "cursor": "arrow", "metadata": { "limit": 1, "cursor": "c" } })],
    );
    check(
        &filter,
        false,
        &[
            json!({ "limit": 1 }),
            json!({ "cursor": null }),
            json!({ "metadata": { "limit": true } }),
        ],
    );
    check(&paged.input(Verb::List), true, &[json!({ "limit": 1 })]);
    check(&paged.input(Verb::Create), false, &[json!({ "limit": true }), json!({ "cursor": "c" })]);
}

#[test]
fn status_and_revert() {
    accepts(Verb::Status, &[json!({}), json!({ "metadata": { "a": 1 } })]);
    rejects(Verb::Status, &[json!({ "id": "a" })]);
    accepts(Verb::Revert, &[json!({ "requestId": "r" })]);
    rejects(Verb::Revert, &[json!({}), json!({ "requestId": 1 }), json!({ "id": "a" })]);
}

fn record() -> Value {
    json!({
        "id": "a", "name": "n", "state": "new", "done": false,
        "version": 1, "createdAt": "2026-11-22T11:13:45.123Z", "updatedAt": "2026-11-22T11:13:45.123Z",
    })
}

/// A record with one member replaced, or if it is null, removed.
fn record_with(name: &str, value: Value) -> Value {
    let mut record = record();
    let members = record.as_object_mut().unwrap();
    if value.is_null() {
        members.remove(name)
    } else {
        members.insert(name.to_owned(), value)
    };
    record
}

#[test]
fn records() {
    let thing = kind("thing");
    let schemas = [
        thing.schema(),
        thing.output(Verb::Create),
        thing.output(Verb::Read),
        thing.output(Verb::Update),
    ];
    for schema in schemas {
        check(
            &schema,
            true,
            &[record(), record_with("size", json!(2)), record_with("weight", json!(0.5))],
        );
        let members = record();
        for name in members.as_object().unwrap().keys() {
            check(&schema, false, &[record_with(name, Value::Null)]);
        }
        check(
            &schema,
            false,
            &[
                record_with("id", json!(1)),
                record_with("version", json!(0)),
                record_with("createdAt", json!(1)),
                record_with("unknown", json!(1)),
                record_with("state", json!("odd")),
            ],
        );
    }
    let schema = thing.schema();
    // An annotation.
    for name in ["createdAt", "updatedAt"] {
        assert_eq!(schema["properties"][name]["format"], "date-time");
    }
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!((&schema["title"], &schema["description"]), (&json!("thing"), &json!("A thing")));
    let required = json!(["id", "name", "state", "done", "version", "createdAt", "updatedAt"]);
    assert_eq!(schema["required"], required);
}

#[test]
fn results() {
    let thing = kind("thing");
    check(&thing.output(Verb::Delete), true, &[json!(null)]);
    check(&thing.output(Verb::Delete), false, &[json!({})]);
    for verb in [Verb::List, Verb::Filter] {
        check(
            &thing.output(verb),
            true,
            &[
                json!({ "items": [], "nextCursor": null }),
                json!({ "items": [record(), record()], "nextCursor": "c" }),
            ],
        );
        check(
            &thing.output(verb),
            false,
            &[
                json!({ "items": [] }),
                json!({ "items": [{}], "nextCursor": null }),
                json!({ "items": [], "nextCursor": null, "total": 1 }),
            ],
        );
    }
    let status = |counts: Value| {
        let commands = Verb::ALL.map(Verb::as_str);
        let schema = kind("thing").schema();
        json!({ "resource": "thing", "counts": counts, "commands": commands, "schema": schema })
    };
    check(
        &thing.output(Verb::Status),
        true,
        &[
            status(json!({ "total": 0, "counted": 0, "fields": {} })),
            status(
                json!({ "total": 3, "counted": 3, "fields": { "done": { "false": 2, "true": 1 } } }),
            ),
        ],
    );
    check(
        &thing.output(Verb::Status),
        false,
        &[
            status(json!({ "total": -1, "counted": 0, "fields": {} })),
            status(json!({ "total": 1, "counted": 1 })),
            status(json!({ "total": 1, "counted": 1, "fields": { "done": 1 } })),
        ],
    );
    check(
        &thing.output(Verb::Revert),
        true,
        &[
            json!({ "status": "reverted", "requestId": "r" }),
            json!({ "status": "noop", "requestId": "r" }),
        ],
    );
    check(
        &thing.output(Verb::Revert),
        false,
        &[json!({ "status": "done", "requestId": "r" }), json!({ "status": "noop" })],
    );
}
