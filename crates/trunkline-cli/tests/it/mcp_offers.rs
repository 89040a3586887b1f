//! The resources, prompts and completions of a served database and of records.

use serde_json::{Value, json};

use crate::access::Issuer;
use crate::support::{Server, mismatch, post, trunkline, with_content};

const CONTENT: &str = "CREATE TABLE emp (id INTEGER PRIMARY KEY, name TEXT NOT NULL, boss INTEGER);\
    INSERT INTO emp VALUES (1, 'Ada', NULL), (2, 'Grace', 1), (3, 'Edsger', 1);\
    CREATE TABLE \"a b/c?\" (x); CREATE TABLE \"..\" (x); CREATE VIEW names AS SELECT name FROM emp";

#[track_caller]
fn check(server: &Server, method: &str, params: &Value, expected: &Value) {
    let reply = server.call(method, params);
    if let Some(mismatch) = mismatch(&reply, expected) {
        panic!("{method} {params}\n{mismatch}\n{reply}");
    }
}

/// The JSON in the content of a resource.
#[track_caller]
fn read(server: &Server, uri: &str) -> Value {
    let reply = server.call("resources/read", &json!({ "uri": uri }));
    let content = &reply["result"]["contents"][0];
    assert_eq!(content["uri"], uri, "{reply}");
    assert_eq!(content["mimeType"], "application/json", "{reply}");
    serde_json::from_str(content["text"].as_str().unwrap()).unwrap()
}

fn uris(server: &Server) -> Vec<String> {
    let reply = server.call("resources/list", &json!({}));
    let resources = reply["result"]["resources"].as_array().unwrap_or_else(|| panic!("{reply}"));
    resources.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tables_are_resources() {
    let (_folder, path) = with_content(CONTENT);
    let server = Server::of(&path);
    let listed = uris(&server);
    assert_eq!(
        listed,
        [
            "db://main/tables",
            "db://main/table/a%20b%2Fc%3F",
            "db://main/table/emp",
            "db://main/table/names",
        ]
    );
    for uri in &listed {
        read(&server, uri);
    }
    let emp = read(&server, "db://main/table/emp?sample_rows=1");
    assert_eq!(emp["columns"][1]["name"], "name");
    assert_eq!(emp["sample"]["rows"], json!([[1, "Ada", null]]));
    let rows = read(&server, "db://main/table/emp/rows?columns=name&order_by=name%20DESC&limit=2");
    assert_eq!(rows["rows"], json!([["Grace"], ["Edsger"]]));
    let missing = |uri: &str| {
        let expected = json!({ "error": { "code": -32002, "data": { "uri": uri } } });
        check(&server, "resources/read", &json!({ "uri": uri }), &expected);
    };
    missing("db://main/table/nope");
    missing("db://main/table/nope/rows");
    missing("db://main/table/..");
    missing("db://main/table/");
    missing("db://other/table/emp");
    // The table exists, and the request is invalid.
    let bad = json!({ "uri": "db://main/table/emp/rows?columns=nope" });
    check(&server, "resources/read", &bad, &json!({ "error": { "code": -32003 } }));
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn many_tables_are_listed() {
    let tables: String = (0..450).map(|n| format!("CREATE TABLE t{n:03} (x);")).collect();
    let (_folder, path) = with_content(&tables);
    let server = Server::of(&path);
    let listed = uris(&server);
    assert_eq!(listed.len(), 451);
    assert_eq!(listed[450], "db://main/table/t449");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn names_of_tables_and_columns_are_completed() {
    let (_folder, path) = with_content(CONTENT);
    let server = Server::of(&path);
    let values = |target: Value, argument: &str, value: &str, known: Value| {
        let params = json!({
            "ref": target, "argument": { "name": argument, "value": value }, "context": { "arguments": known },
        });
        let reply = server.call("completion/complete", &params);
        reply["result"]["completion"]["values"].clone()
    };
    let prompt = |name: &str| json!({ "type": "ref/prompt", "name": name });
    let table =
        json!({ "type": "ref/resource", "uri": "db://main/table/{table_name}{?sample_rows}" });
    assert_eq!(values(table.clone(), "table_name", "NA", json!({})), json!(["names"]));
    assert_eq!(values(table, "table_name", "em", json!({})), json!(["emp"]));
    assert_eq!(
        values(prompt("explain_table"), "table_name", "m", json!({})),
        json!(["emp", "names"])
    );
    let column = |value, known| values(prompt("profile_column"), "column", value, known);
    assert_eq!(column("", json!({ "table_name": "emp" })), json!(["id", "name", "boss"]));
    assert_eq!(column("B", json!({ "table_name": "emp" })), json!(["boss"]));
    assert_eq!(column("", json!({ "table_name": "nope" })), json!([]));
    assert_eq!(column("", json!({})), json!([]));
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn prompts_explore_the_database() {
    let (_folder, path) = with_content(CONTENT);
    let server = Server::of(&path);
    let required = |name: &str| json!({ "name": name, "required": true });
    check(
        &server,
        "prompts/list",
        &json!({}),
        &json!({ "result": { "prompts": [
            { "name": "explore_database", "arguments": [{ "name": "question" }] },
            { "name": "explain_table", "arguments": [required("table_name")] },
            { "name": "profile_column", "arguments": [required("table_name"), required("column")] },
        ] } }),
    );
    let get = |name: &str, arguments: Value| {
        server.call("prompts/get", &json!({ "name": name, "arguments": arguments }))
    };
    let reply = get("explore_database", json!({ "question": "Who is the boss?" }));
    let text = reply["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.ends_with("Question: Who is the boss?"), "{text}");
    let reply = get("explain_table", json!({ "table_name": "a b/c?" }));
    let link = &reply["result"]["messages"][1]["content"];
    assert_eq!(link["type"], "resource_link", "{reply}");
    read(&server, link["uri"].as_str().unwrap());
    let reply = get("explain_table", json!({}));
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn rules_for_methods_apply_to_resources() {
    let (folder, path) = with_content(CONTENT);
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--jwks", "jwks.json", "--audience", "*"]);
    command.args(["--require", "db.list_tables=role:admin, db.describe_table=role:admin", "--db"]);
    command.arg(&path);
    let server = Server::start(command);
    let ask = |token: &str, method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        server.connect().ask(&post("/mcp", &[token], &body)).json()
    };
    let [reader, admin] = ["reader", "admin"].map(|role| issuer.token(json!({ "role": role })));
    for (token, count, is_allowed) in [(&reader, 0, false), (&admin, 4, true)] {
        let reply = ask(token, "resources/list", json!({}));
        assert_eq!(reply["result"]["resources"].as_array().map(Vec::len), Some(count), "{reply}");
        for uri in ["db://main/tables", "db://main/table/emp"] {
            let reply = ask(token, "resources/read", json!({ "uri": uri }));
            assert_eq!(reply["result"].is_object(), is_allowed, "{reply}");
            assert_eq!(reply["error"]["code"] == -32008, !is_allowed, "{reply}");
        }
        let complete = json!({
            "ref": { "type": "ref/prompt", "name": "explain_table" },
            "argument": { "name": "table_name", "value": "" },
        });
        let reply = ask(token, "completion/complete", complete);
        assert_eq!(reply["result"].is_object(), is_allowed, "{reply}");
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn exposed_records_are_resources() {
    let (folder, path) = with_content(CONTENT);
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--expose", "todo", "--db"]).arg(&path);
    let server = Server::start(command);
    for id in ["one", "two words"] {
        let created = server.call("todo.create", &json!({ "id": id, "title": "Test" }));
        assert_eq!(created["result"]["id"], id, "{created}");
    }
    assert!(uris(&server).contains(&"records://todo".to_owned()));
    assert_eq!(read(&server, "records://todo")["items"].as_array().unwrap().len(), 2);
    assert_eq!(read(&server, "records://todo?limit=1")["items"][0]["id"], "one");
    assert_eq!(read(&server, "records://todo/two%20words")["title"], "Test");
    let uri = "records://todo/three";
    let expected = json!({ "error": { "code": -32002, "data": { "uri": uri } } });
    check(&server, "resources/read", &json!({ "uri": uri }), &expected);
    check(
        &server,
        "completion/complete",
        &json!({
            "ref": { "type": "ref/resource", "uri": "records://todo/{id}" },
            "argument": { "name": "id", "value": "t" },
        }),
        &json!({ "result": { "completion": { "values": ["two words"] } } }),
    );
    assert_eq!(server.stop().code, Some(0));

    // Records that are not exposed are not listed.
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--data-dir", ".trunkline", "--db"]).arg(&path);
    let server = Server::start(command);
    assert!(!uris(&server).iter().any(|uri| uri.starts_with("records:")));
    assert_eq!(server.stop().code, Some(0));
}
