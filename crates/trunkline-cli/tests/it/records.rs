//! Records: their endpoints, and the directory that they are stored in.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use rusqlite::Connection as Sqlite;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{PATIENCE, Server, files, mismatch, post, trunkline};

/// Two types, one of them in a namespace.
pub(crate) const TYPES: &str = r#"
[records.todo]
description = "Something to do"

[records.todo.fields]
title = { type = "string", required = true, description = "What to do" }
done = { type = "boolean", default = false }

[records."crm.contact".fields]
name = { type = "string", required = true }
age = { type = "integer" }
state = { type = "string", enum = ["known", "new"], default = "new" }
"#;

/// Two types whose tools would have the same names.
pub(crate) const ALIKE: &str = r#"
[records."a.b".fields]
a = { type = "string" }

[records.a_b.fields]
a = { type = "string" }
"#;

/// A directory with `types.toml`.
pub(crate) fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("types.toml"), TYPES).unwrap();
    folder
}

/// Serves the types of `types.toml`, with records in `data`.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = trunkline(folder);
    command.args(["--listen", "127.0.0.1:0", "--records", "types.toml", "--data-dir", "data"]);
    command.args(arguments);
    command
}

pub(crate) fn serve(folder: &Path, arguments: &[&str]) -> Server {
    Server::start(command(folder, arguments))
}

/// Posts a body, and compares the status and parts of the reply; null is an empty one.
#[track_caller]
fn check(server: &Server, path: &str, body: &Value, status: u16, expected: &Value) {
    let reply = server.connect().ask(&post(path, &[], body));
    let found = if reply.body.is_empty() { Value::Null } else { reply.json() };
    assert_eq!(reply.status, status, "{path} {body}: {found}");
    assert_eq!(mismatch(&found, expected), None, "{path} {body}: {found}");
}

pub(crate) fn rpc(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub(crate) fn create(id: &str) -> Value {
    json!({"command": "create", "resource": "todo", "id": id, "payload": {"title": id}})
}

fn read(id: &str) -> Value {
    json!({"command": "read", "resource": "todo", "id": id})
}

#[test]
fn all_endpoints_serve_records() {
    let folder = place();
    let server = serve(folder.path(), &[]);
    check(&server, "/execute", &create("a"), 201, &json!({"result": {"id": "a", "version": 1}}));
    check(&server, "/repeat", &create("a"), 201, &json!({"result": {"id": "a", "version": 1}}));
    check(&server, "/execute", &create("a"), 409, &json!({"error": {"$has": "already"}}));
    let update = rpc("todo.update", &json!({"id": "a", "done": true}));
    for path in ["/", "/rpc", "/jsonrpc", "/execute", "/mcp"] {
        let expected = json!({"result": {"id": "a", "done": true}, "id": 1});
        check(&server, path, &update, 200, &expected);
    }
    let contact = rpc("crm.contact.create", &json!({"id": 7, "name": "Ada"}));
    let batch = json!([contact, {"jsonrpc": "2.0", "method": "todo.delete", "params": ["a"]}]);
    check(&server, "/execute", &batch, 200, &json!([{"result": {"id": "7", "state": "new"}}]));
    check(&server, "/execute", &read("a"), 404, &json!({"error": {"$has": "\"a\""}}));
    let mut request = create("b");
    request["metadata"] = json!({"requestId": "r"});
    check(&server, "/execute", &request, 201, &json!({}));
    check(&server, "/revert", &json!({"requestId": "r"}), 200, &json!({"status": "reverted"}));
    check(
        &server,
        "/execute",
        &json!({"command": "x", "resource": "todo"}),
        400,
        &json!({"error": {"$has": "x"}}),
    );

    let forms = server.connect().get("/forms").json();
    let rels: Vec<_> = forms.as_array().unwrap().iter().map(|form| form["rel"].as_str()).collect();
    assert!(rels.contains(&Some("crm.contact.filter")), "{rels:?}");
    let document = server.connect().get("/openrpc.json").json();
    let described = document["methods"].as_array().unwrap().iter().map(|method| &method["name"]);
    assert!(described.into_iter().any(|name| name == "todo.revert"), "{document}");
    let metrics = String::from_utf8(server.connect().get("/metrics").body).unwrap();
    // Three native `create` commands; `update` at five endpoints.
    for line in [
        r#"trunkline_calls_total{method="todo.create",outcome="result"} 3"#,
        r#"trunkline_calls_total{method="todo.update",outcome="result"} 5"#,
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[test]
fn records_survive_a_restart() {
    let folder = place();
    let data = folder.path().join("data");
    let mut server = serve(folder.path(), &[]);
    let banner = server.banner();
    assert!(banner.contains("  records   on, todo, crm.contact, in data\n"), "{banner}");
    for id in ["a", "b"] {
        check(&server, "/execute", &create(id), 201, &json!({}));
    }
    check(&server, "/rpc", &rpc("todo.delete", &json!(["b"])), 200, &json!({"result": null}));
    assert_eq!(server.stop().code, Some(0));
    // The write-ahead log is removed.
    assert_eq!(files(&data).into_keys().collect::<Vec<_>>(), ["trunkline.sqlite"]);

    let server = serve(folder.path(), &[]);
    check(&server, "/execute", &read("a"), 200, &json!({"result": {"title": "a", "version": 1}}));
    check(&server, "/execute", &read("b"), 404, &json!({}));
    check(&server, "/execute", &create("b"), 201, &json!({"result": {"version": 2}}));
}

/// Acknowledged changes survive a kill.
#[test]
fn records_survive_a_kill() {
    let folder = place();
    let server = serve(folder.path(), &[]);
    check(&server, "/execute", &create("a"), 201, &json!({}));
    server.signal("KILL");
    assert_eq!(server.end().code, None);
    let server = serve(folder.path(), &[]);
    check(&server, "/execute", &read("a"), 200, &json!({"result": {"title": "a"}}));
}

#[test]
fn the_data_directory() {
    const NONE: &[(&str, &str)] = &[];
    let variable: &[(&str, &str)] = &[("TRUNKLINE_DATA_DIR", "variable")];
    let rows = [
        ("the default", &["--expose", "todo"][..], NONE, ".trunkline"),
        ("a flag", &["--data-dir", "a/b"], NONE, "a/b"),
        ("the environment", &[], variable, "variable"),
        ("both", &["--data-dir", "flag"], variable, "flag"),
    ];
    for (name, arguments, environment, expected) in rows {
        let folder = tempfile::tempdir().unwrap();
        let mut command = trunkline(folder.path());
        command.args(["--listen", "127.0.0.1:0"]).args(arguments);
        command.envs(environment.iter().copied());
        let mut server = Server::start_without_data_directory(command);
        let (banner, line) = (server.banner(), format!(", in {expected}\n"));
        assert!(banner.contains("  records   on, todo") && banner.contains(&line), "{banner}");
        check(&server, "/execute", &create("a"), 201, &json!({"result": {"priority": "normal"}}));
        assert!(files(&folder.path().join(expected)).contains_key("trunkline.sqlite"), "{name}");
        assert_eq!(server.stop().code, Some(0), "{name}");
    }
}

/// Calls that run when the signal arrives are answered, and their changes are stored.
#[test]
fn a_stopping_server_finishes_running_changes() {
    let folder = place();
    let data = folder.path().join("data");
    let server = Server::start_alone(command(folder.path(), &[]));
    check(&server, "/execute", &create("first"), 201, &json!({}));
    // The writer waits for this lock for 2 s.
    let lock = Sqlite::open(data.join("trunkline.sqlite")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut running = server.connect();
    running.send(&post("/execute", &[], &create("a")));
    until(|| {
        let metrics = String::from_utf8(server.connect().get("/metrics").body).unwrap();
        metrics.contains(r#"trunkline_calls_running{method="todo.create"} 1"#)
    });
    server.signal("TERM");
    until(|| server.connect().get_unless_closed("/health").is_none_or(|page| page.status == 503));
    lock.execute_batch("ROLLBACK").unwrap();
    drop(lock);
    let reply = running.reply();
    assert_eq!(reply.status, 201, "{}", reply.json());
    let ended = server.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("not closed in time"), "{}", ended.stderr);
    assert_eq!(files(&data).into_keys().collect::<Vec<_>>(), ["trunkline.sqlite"]);
    let server = serve(folder.path(), &[]);
    check(&server, "/execute", &read("a"), 200, &json!({"result": {"id": "a"}}));
}

#[track_caller]
fn until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "timeout");
        thread::yield_now();
    }
}

/// Methods of MCP would call operations that are not idempotent.
#[test]
fn repeat_calls_operations_only() {
    let folder = place();
    let server = serve(folder.path(), &[]);
    let call = |path: &str, method: &str| {
        let params = json!({ "name": "unknown" });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        server.connect().ask(&post(path, &[], &call)).json()["error"]["code"].take()
    };
    assert_eq!(call("/execute", "tools/call"), -32001, "an unknown tool of MCP");
    for method in ["tools/call", "prompts/get", "unknown"] {
        assert_eq!(call("/repeat", method), -32601, "{method}");
    }
}
