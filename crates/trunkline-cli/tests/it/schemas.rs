//! The published schemas of arguments, and their validation, through MCP and OpenRPC.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Server, post, trunkline, with_content};

const TYPES: &str = "[records.todo.fields]\n\
                     title = { type = 'string', required = true }\n\
                     priority = { type = 'integer', default = 3 }\n";

fn serve() -> (tempfile::TempDir, Server) {
    let (folder, database) = with_content("CREATE TABLE emp (id INTEGER PRIMARY KEY, name TEXT)");
    fs::write(folder.path().join("types.toml"), TYPES).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--writable", "--db"]).arg(&database);
    command.args(["--records", "types.toml", "--data-dir", "data", "--expose", "todo"]);
    (folder, Server::start(command))
}

fn ask(server: &Server, path: &str, method: &str, params: &Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    server.connect().ask(&post(path, &[], &body)).json()["result"].take()
}

/// Adds the optional members that may be null, at every depth.
fn nullable(schema: &Value, place: &str, found: &mut Vec<String>) {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)))
    };
    let is_null = |kind: &Value| {
        *kind == "null" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("null")))
    };
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        let alternatives = member["anyOf"].as_array().into_iter().flatten();
        let mut schemas = alternatives.chain([member]);
        if !required(name) && schemas.any(|schema| is_null(&schema["type"])) {
            found.push(place.clone());
        }
        nullable(member, &place, found);
    }
    for keyword in ["items", "additionalProperties", "anyOf", "oneOf"] {
        match &schema[keyword] {
            Value::Array(schemas) => {
                schemas.iter().for_each(|schema| nullable(schema, place, found));
            }
            Value::Object(_) => nullable(&schema[keyword], place, found),
            _ => {}
        }
    }
}

#[test]
fn optional_arguments_have_a_type_that_clients_can_fill_in() {
    let (_folder, server) = serve();
    let mut found = Vec::new();
    let listed = ask(&server, "/mcp", "tools/list", &json!({}));
    let tools = listed["tools"].as_array().unwrap();
    assert!(tools.len() > 8, "{listed}");
    for tool in tools {
        nullable(&tool["inputSchema"], tool["name"].as_str().unwrap(), &mut found);
    }
    for path in ["/", "/api"] {
        let described = ask(&server, path, "rpc.discover", &json!({}));
        for method in described["methods"].as_array().unwrap() {
            let params = method["params"].as_array().unwrap().iter();
            let members = params
                .clone()
                .map(|param| (param["name"].as_str().unwrap(), param["schema"].clone()));
            let required = params.clone().filter(|param| param["required"] == true);
            let required: Vec<&Value> = required.map(|param| &param["name"]).collect();
            let whole = json!({
                "properties": members.collect::<std::collections::BTreeMap<_, _>>(), "required": required,
            });
            nullable(&whole, method["name"].as_str().unwrap(), &mut found);
        }
    }
    found.sort();
    // Null restores the default. Lists of tools omit it.
    assert_eq!(found, ["todo.update.priority"]);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn null_equals_a_missing_argument() {
    let (_folder, server) = serve();
    let emp = |rest: Value| {
        let mut arguments = json!({ "table_name": "emp" });
        arguments.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        arguments
    };
    for (tool, arguments) in [
        ("list_tables", json!({ "pattern": null, "kind": null, "cursor": null })),
        ("describe_table", emp(json!({ "sample_rows": null }))),
        (
            "query_records",
            emp(json!({ "filters": null, "columns": null, "limit": null, "offset": null })),
        ),
        ("query_records", emp(json!({ "order_by": null, "cursor": null, "format": null }))),
        (
            "execute_raw_query",
            json!({ "query": "SELECT 1", "params": null, "max_rows": null, "timeout_ms": null }),
        ),
        ("execute_raw_query", json!({ "query": "SELECT 1", "format": null, "max_affected": null })),
        (
            "insert_record",
            emp(
                json!({ "data": {}, "on_conflict": null, "returning": null, "max_affected": null }),
            ),
        ),
        (
            "update_record",
            emp(json!({ "filters": { "id": 9 }, "data": { "name": "x" }, "max_affected": null })),
        ),
        ("delete_record", emp(json!({ "filters": { "id": 9 }, "max_affected": null }))),
        (
            "create_table",
            json!({ "table_name": "t", "schema": { "a": { "type": "TEXT", "default": null } }, "primary_key": null }),
        ),
        ("todo_list", json!({ "cursor": null })),
    ] {
        let call = json!({ "name": tool, "arguments": arguments });
        let result = ask(&server, "/mcp", "tools/call", &call);
        assert_eq!(result["isError"], false, "{call}: {result}");
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn errors_name_the_values_that_are_allowed() {
    let (_folder, server) = serve();
    let emp = |rest: Value| {
        let mut arguments = json!({ "table_name": "emp" });
        arguments.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        arguments
    };
    for (tool, arguments, expected) in [
        (
            "list_tables",
            json!({ "kind": "trigger" }),
            "/kind: this value is not one of: \"table\", \"view\", \"virtual\"",
        ),
        (
            "query_records",
            emp(json!({ "format": "xml" })),
            "/format: this value is not one of: \"tsv\", \"json\"",
        ),
        (
            "query_records",
            emp(json!({ "order_by": 5 })),
            "expected text such as \"city, age DESC\"",
        ),
        (
            "query_records",
            emp(json!({ "limit": "many" })),
            "expected a whole number, zero or more (argument `limit`)",
        ),
        ("query_records", emp(json!({ "order_by": [{ "desc": true }] })), "missing field `column`"),
        (
            "execute_raw_query",
            json!({ "query": "SELECT 1", "params": 1 }),
            "expected a list of values for ?, or an object of values for :name",
        ),
        (
            "insert_record",
            emp(json!({ "data": 5 })),
            "expected an object of values by column name, or a list",
        ),
        (
            "insert_record",
            emp(json!({ "data": [{}, 5] })),
            "expected an object of values by column name, or a list",
        ),
        (
            "insert_record",
            emp(json!({ "data": {}, "on_conflict": "fail" })),
            "/on_conflict: this value is not one of: \"abort\", \"ignore\", \"replace\"",
        ),
        (
            "insert_record",
            emp(json!({ "data": {}, "returning": 5 })),
            "expected true, false or a list of column names",
        ),
        (
            "create_table",
            json!({ "table_name": "t", "schema": { "a": 1 } }),
            "expected a type such as \"TEXT\", or an object with \"type\"",
        ),
        ("describe_table", json!({}), "\"table_name\" is a required property"),
        ("describe_table", emp(json!({ "rows": 1 })), "'rows' was unexpected"),
    ] {
        let call = json!({ "name": tool, "arguments": arguments });
        let result = ask(&server, "/mcp", "tools/call", &call);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(result["isError"], true, "{call}: {text}");
        assert!(text.contains(expected), "{call}: {text}");
    }
    assert_eq!(server.stop().code, Some(0));
}
