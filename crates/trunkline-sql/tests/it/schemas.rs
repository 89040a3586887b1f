//! The schemas of requests and replies: closed, described, and conforming to the values.

use serde_json::{Value, json};
use trunkline::layers::validation::Validator;
use trunkline::tool::{Rendering, is_listed};
use trunkline::{Effect, Router};
use trunkline_sql::operations;
use trunkline_sql::sqlite::SqliteConfig;

use crate::fixture::Fixture;

fn rpc(fixture: &Fixture) -> trunkline::Rpc {
    Router::new().merge(operations(fixture.database.clone())).build().unwrap()
}

fn schema(rpc: &trunkline::Rpc, operation: &str, input: bool) -> Value {
    let operations = rpc.operations();
    let found = operations.iter().find(|one| one.name() == operation).unwrap();
    let description = found.description();
    let schema = if input { &description.input } else { &description.output };
    schema.as_ref().unwrap().as_value().clone()
}

#[track_caller]
fn validator(schema: &Value) -> Validator {
    Validator::new(&schema.clone().into()).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

#[test]
fn core_tools_are_listed() {
    for writable in [false, true] {
        let fixture = Fixture::with(SqliteConfig { writable, ..SqliteConfig::default() });
        let rpc = rpc(&fixture);
        let raw = if writable { Effect::Destructive } else { Effect::ReadOnly };
        let expected = [
            ("list_tables", Effect::ReadOnly),
            ("describe_table", Effect::ReadOnly),
            ("query_records", Effect::ReadOnly),
            ("execute_raw_query", raw),
            ("insert_record", Effect::Destructive),
            ("update_record", Effect::Destructive),
            ("delete_record", Effect::Destructive),
            ("create_table", Effect::Additive),
            ("search_schema", Effect::ReadOnly),
            ("explain_query", Effect::ReadOnly),
            ("profile_table", Effect::ReadOnly),
            ("database_health", Effect::ReadOnly),
        ];
        const CORE: usize = 8;
        let operations = rpc.operations();
        let tools: Vec<_> = operations
            .iter()
            .map(|operation| operation.description())
            .filter_map(|description| Some((description.tool.as_deref()?, description)))
            .collect();
        assert_eq!(tools.len(), expected.len());
        for (index, ((tool, description), (name, effect))) in
            tools.into_iter().zip(expected).enumerate()
        {
            assert_eq!((tool, description.name.as_str()), (name, name));
            assert_eq!(description.effect, Some(effect), "{name}");
            assert!(description.closed_world && description.title.is_some(), "{name}");
            assert!(description.text.is_some(), "{name}");
            let rendering = Rendering::of(description);
            assert!(matches!(rendering, Rendering::Text(_)), "{name}");
            let is_write = effect != Effect::ReadOnly && name != "execute_raw_query";
            let is_expected = index < CORE && (writable || !is_write);
            assert_eq!(is_listed(description), is_expected, "{name}");
        }
    }
}

#[test]
fn effects_follow_the_arguments() {
    let fixture = Fixture::writable();
    let rpc = rpc(&fixture);
    let operations = rpc.operations();
    let insert =
        |on_conflict: Value| json!({ "table_name": "emp", "data": {}, "on_conflict": on_conflict });
    for (name, params, effect) in [
        ("execute_raw_query", json!({}), Effect::ReadOnly),
        ("execute_raw_query", json!({ "query": "DELETE FROM t" }), Effect::ReadOnly),
        ("execute_raw_query", json!({ "query": "SELECT 1", "read_only": true }), Effect::ReadOnly),
        ("execute_raw_query", json!({ "query": "SELECT 1", "read_only": null }), Effect::ReadOnly),
        (
            "execute_raw_query",
            json!({ "query": "SELECT 1", "read_only": false }),
            Effect::Destructive,
        ),
        ("insert_record", json!({ "table_name": "emp", "data": {} }), Effect::Additive),
        ("insert_record", insert(json!(null)), Effect::Additive),
        ("insert_record", insert(json!("abort")), Effect::Additive),
        ("insert_record", insert(json!("ignore")), Effect::Additive),
        ("insert_record", insert(json!("replace")), Effect::Destructive),
        // Forms that serde or a later version may read as `replace`.
        ("insert_record", insert(json!("REPLACE")), Effect::Destructive),
        ("insert_record", insert(json!({ "replace": null })), Effect::Destructive),
        ("insert_record", insert(json!(2)), Effect::Destructive),
    ] {
        let operation = operations.iter().find(|operation| operation.name() == name).unwrap();
        let found = operation.description().effect_of(params.as_object().unwrap());
        assert_eq!(found, Some(effect), "{name} {params}");
    }
}

/// Every schema below one that describes an argument or a member.
fn walk(schema: &Value, place: &str, problems: &mut Vec<String>) {
    if schema.get("$ref").is_some() {
        problems.push(format!("{place}: refers to another schema"));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        // The description of a value covers its members.
        if property.get("description").is_none() && !place.contains("{}") {
            problems.push(format!("{place}: is not described"));
        }
        walk(property, &place, problems);
    }
    for (keyword, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[keyword].is_object() {
            walk(&schema[keyword], &format!("{place}{{}}{mark}"), problems);
        }
    }
    for (index, one) in schema["anyOf"].as_array().into_iter().flatten().enumerate() {
        walk(one, &format!("{place}|{index}"), problems);
    }
}

#[test]
fn schemas_describe_all_arguments_and_reject_others() {
    let fixture = Fixture::writable();
    let rpc = rpc(&fixture);
    let mut problems = Vec::new();
    for operation in rpc.operations().iter().filter(|one| one.description().tool.is_some()) {
        let name = operation.name();
        for input in [true, false] {
            let schema = schema(&rpc, name, input);
            validator(&schema);
            assert_eq!(schema["type"], "object", "{name}");
            let length = schema.to_string().len();
            assert!(length < if input { 1_500 } else { 6_500 }, "{name}: {length}");
            if input {
                assert_eq!(schema["additionalProperties"], false, "{name}");
            }
            walk(&schema, &format!("{name} {input}"), &mut problems);
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn schemas_accept_and_reject_arguments() {
    let fixture = Fixture::writable();
    let rpc = rpc(&fixture);
    for (operation, arguments, expected) in [
        ("list_tables", json!({}), true),
        ("list_tables", json!({"kind": "view", "pattern": "e%"}), true),
        ("list_tables", json!({"kind": "trigger"}), false),
        ("list_tables", json!({"patern": "e%"}), false),
        ("describe_table", json!({"table_name": "emp", "sample_rows": 5}), true),
        ("describe_table", json!({"table_name": "emp", "sample_rows": 6}), false),
        ("describe_table", json!({}), false),
        (
            "query_records",
            json!({"table_name": "emp", "filters": {"a": {"in": [1, null]}, "b": null}}),
            true,
        ),
        (
            "query_records",
            json!({"table_name": "emp", "order_by": "name desc", "columns": ["name"]}),
            true,
        ),
        ("query_records", json!({"table_name": "emp", "limit": -1}), false),
        ("query_records", json!({"table_name": "emp", "limit": "10; DROP"}), false),
        ("query_records", json!({"table_name": "emp", "format": "xml"}), false),
        ("execute_raw_query", json!({"query": "SELECT ?", "params": [{"$blob": "AA=="}]}), true),
        ("execute_raw_query", json!({"query": "SELECT ?", "params": [1], "format": "json"}), true),
        ("execute_raw_query", json!({"query": "SELECT 1", "params": 1}), false),
        ("execute_raw_query", json!({"query": "SELECT 1", "timeout_ms": 0}), false),
        (
            "insert_record",
            json!({"table_name": "emp", "data": [{"a": 1}, {}], "returning": true}),
            true,
        ),
        ("insert_record", json!({"table_name": "emp", "data": 5}), false),
        ("insert_record", json!({"table_name": "emp", "data": {}, "on_conflict": "fail"}), false),
        (
            "update_record",
            json!({"table_name": "emp", "filters": {}, "data": {"a": 1}, "all": true}),
            true,
        ),
        ("update_record", json!({"table_name": "emp", "filters": {}, "data": {}}), false),
        ("update_record", json!({"table_name": "emp", "data": {"a": 1}}), false),
        (
            "delete_record",
            json!({"table_name": "emp", "filters": {"a": {"gt": 1}}, "max_affected": 5}),
            true,
        ),
        ("delete_record", json!({"table_name": "emp", "filters": null}), false),
        (
            "create_table",
            json!({"table_name": "t", "schema": {"a": "TEXT", "b": "INT NOT NULL"}}),
            true,
        ),
        ("create_table", json!({"table_name": "t", "schema": {"a": {"typ": "INT"}}}), false),
        ("create_table", json!({"table_name": "t", "schema": {}}), false),
    ] {
        let schema = schema(&rpc, operation, true);
        let checked = validator(&schema).check(&arguments, 0);
        assert_eq!(checked.is_ok(), expected, "{operation} {arguments}: {checked:?}");
        // The operation accepts what the schema accepts.
        if expected {
            let outcome = fixture.call(operation, arguments.clone());
            assert_ne!(crate::fixture::kind(&outcome), "", "{arguments}");
        }
    }
}

#[test]
fn replies_conform_to_their_schemas() {
    let fixture = Fixture::writable();
    let rpc = rpc(&fixture);
    let extremes = json!({"query": "SELECT v FROM extremes"});
    for (operation, arguments) in [
        ("list_tables", json!({})),
        ("list_tables", json!({"pattern": "nothing"})),
        ("describe_table", json!({"table_name": "emp", "sample_rows": 2})),
        ("describe_table", json!({"table_name": "rich"})),
        ("describe_table", json!({"table_name": "pair"})),
        ("describe_table", json!({"table_name": "docs"})),
        ("query_records", json!({"table_name": "emp", "limit": 2})),
        ("query_records", json!({"table_name": "extremes"})),
        ("query_records", json!({"table_name": "emp", "filters": {"id": 99}})),
        ("execute_raw_query", extremes),
        (
            "execute_raw_query",
            json!({"query": "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n) SELECT i FROM n"}),
        ),
        ("execute_raw_query", json!({"query": "UPDATE emp SET city = 'x'", "read_only": false})),
        (
            "execute_raw_query",
            json!({"query": "INSERT INTO dept VALUES (99, 'x')", "read_only": false}),
        ),
        (
            "execute_raw_query",
            json!({"query": "INSERT INTO dept VALUES (9007199254740995, 'x')", "read_only": false}),
        ),
        (
            "execute_raw_query",
            json!({"query": "DELETE FROM dept WHERE dept_no > 90 RETURNING *", "read_only": false}),
        ),
        ("insert_record", json!({"table_name": "extremes", "data": {}})),
        ("insert_record", json!({"table_name": "pair", "data": {"a": 7, "b": "x"}})),
        (
            "insert_record",
            json!({"table_name": "dept", "data": {"dept_no": 9_007_199_254_740_993_i64, "title": "x"}}),
        ),
        (
            "insert_record",
            json!({"table_name": "emp", "data": [{"name": "Fay"}], "returning": true}),
        ),
        (
            "update_record",
            json!({"table_name": "emp", "filters": {"id": 1}, "data": {"city": "y"}}),
        ),
        ("delete_record", json!({"table_name": "dept", "filters": {"dept_no": 10}})),
        (
            "delete_record",
            json!({"table_name": "emp", "filters": {}, "all": true, "dry_run": true}),
        ),
        ("create_table", json!({"table_name": "t", "schema": {"a": "TEXT"}})),
        (
            "create_table",
            json!({"table_name": "t", "schema": {"a": "TEXT"}, "if_not_exists": true}),
        ),
    ] {
        let input = validator(&schema(&rpc, operation, true));
        input.check(&arguments, 0).unwrap_or_else(|e| panic!("{operation} {arguments}: {e:?}"));
        let reply = fixture.call(operation, arguments.clone()).unwrap();
        let output = validator(&schema(&rpc, operation, false));
        output
            .check(&reply, 0)
            .unwrap_or_else(|e| panic!("{operation} {arguments}: {e:?} in {reply}"));
        // And they do not admit everything.
        output.check(&json!({"strange": 1}), 0).expect_err(operation);
    }
}
