//! Records after a restart of the server, and after changes of their types.

use rusqlite::Connection;
use serde_json::{Value, json};
use trunkline_records::{RecordTypes, RecordsConfig};

use crate::test_server::{Setup, TestServer, assert_fits};

/// The later types: without `note`, with new fields `owner` and `rank`, and with fewer values of `level`.
const LATER: &str = r#"
[records.todo.fields]
title = { type = "string", required = true }
level = { type = "string", enum = ["low", "high"], default = "low" }
owner = { type = "string", required = true }
rank = { type = "integer", default = 5 }
"#;

const BEFORE: &str = r#"
[records.todo.fields]
title = { type = "string", required = true }
note = { type = "string" }
level = { type = "string", enum = ["low", "normal", "high"], default = "normal" }
"#;

fn of(toml: &str) -> Setup {
    Setup { types: RecordTypes::parse(toml).unwrap(), ..Setup::default() }
}

async fn check(server: &mut TestServer, command: &str, params: Value, expected: Value) {
    let response = server.call(&format!("todo.{command}"), &params).await;
    assert_fits(&format!("{command} {params}"), &expected, &response);
}

fn result(record: Value) -> Value {
    json!({ "result": record })
}

#[tokio::test]
async fn records_and_requests_survive_a_restart() {
    let mut server = TestServer::new().await;
    let create = json!({ "id": "a", "title": "x", "metadata": { "requestId": "1" } });
    check(&mut server, "create", create.clone(), result(json!({ "version": 1 }))).await;
    let update = json!({ "id": "a", "done": true, "metadata": { "requestId": "2" } });
    check(&mut server, "update", update.clone(), result(json!({ "version": 2 }))).await;
    let before = server.stored().await;
    let mut server = TestServer::on(server.closed().await, Setup::default()).await;
    assert_eq!(server.stored().await, before);
    check(&mut server, "create", create, result(json!({ "version": 1 }))).await;
    check(&mut server, "update", update, result(json!({ "version": 2 }))).await;
    check(&mut server, "revert", json!(["2"]), result(json!({ "status": "reverted" }))).await;
    check(&mut server, "revert", json!(["1"]), result(json!({ "status": "reverted" }))).await;
    let mut server = TestServer::on(server.closed().await, Setup::default()).await;
    check(&mut server, "revert", json!(["1"]), result(json!({ "status": "noop" }))).await;
    let again = json!({ "id": "a", "title": "x" });
    check(&mut server, "create", again, result(json!({ "version": 4 }))).await;
    server.stop().await;
}

#[tokio::test]
async fn older_records_are_shown_by_their_current_type() {
    let mut server = TestServer::with(of(BEFORE)).await;
    for (id, level) in [("a", "normal"), ("b", "high")] {
        let create = json!({ "id": id, "title": "x", "note": "n", "level": level });
        check(&mut server, "create", create, result(json!({ "note": "n" }))).await;
    }
    let mut server = TestServer::on(server.closed().await, of(LATER)).await;
    let response = server.call("todo.read", &json!(["a"])).await;
    let names: Vec<&String> = response["result"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["createdAt", "id", "level", "rank", "title", "updatedAt", "version"]);
    assert_fits("as stored", &json!({ "level": "normal", "rank": 5 }), &response["result"]);
    let found = |ids: &[&str]| {
        let items: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
        result(json!({ "items": items }))
    };
    check(&mut server, "filter", json!({ "rank": 5 }), found(&["a", "b"])).await;
    check(&mut server, "filter", json!({ "note": "n" }), found(&[])).await;
    check(&mut server, "filter", json!({ "owner": "" }), found(&[])).await;
    let counts = json!({ "total": 2, "fields": { "level": { "low": 0, "high": 1 } } });
    check(&mut server, "status", json!({}), result(json!({ "counts": counts }))).await;
    // An update must result in a valid record.
    let missing = json!({ "error": { "code": -32602, "data": { "pointer": "/owner" } } });
    check(&mut server, "update", json!({ "id": "b", "title": "y" }), missing).await;
    let update = json!({ "id": "b", "title": "y", "owner": "me" });
    check(&mut server, "update", update, result(json!({ "owner": "me", "rank": 5, "version": 2 })))
        .await;
    // Fields that are no longer declared stay stored.
    let mut server = TestServer::on(server.closed().await, of(BEFORE)).await;
    check(&mut server, "read", json!(["b"]), result(json!({ "title": "y", "note": "n" }))).await;
    server.stop().await;
}

#[tokio::test]
async fn corrupt_records_are_internal_errors() {
    let mut server = TestServer::new().await;
    for id in ["a", "b"] {
        let create = json!({ "id": id, "title": "x" });
        check(&mut server, "create", create, result(json!({ "id": id }))).await;
    }
    let file = server.place.path().join("trunkline.sqlite");
    let spoil = "UPDATE records SET fields = '{\"title\":' WHERE id = 'a'";
    assert_eq!(Connection::open(file).unwrap().execute(spoil, ()).unwrap(), 1);
    let error = json!({ "code": -32000, "message": "Internal server error" });
    for (command, params) in [
        ("read", json!(["a"])),
        ("update", json!({ "id": "a" })),
        ("list", json!({})),
        ("status", json!({})),
    ] {
        let response = server.call(&format!("todo.{command}"), &params).await;
        assert_eq!(response, json!({ "jsonrpc": "2.0", "error": error, "id": 1 }), "{command}");
    }
    let native = json!({ "command": "read", "resource": "todo", "id": "a" });
    let reply = server.native(&native).await;
    assert_eq!((reply.status, reply.text()), (500, r#"{"error":"Internal server error"}"#));
    // Other records are unaffected, and the corrupt one can be deleted.
    check(&mut server, "read", json!(["b"]), result(json!({ "id": "b" }))).await;
    check(&mut server, "delete", json!(["a"]), result(Value::Null)).await;
    check(&mut server, "list", json!({}), result(json!({ "items": [{ "id": "b" }] }))).await;
    server.stop().await;
}

#[tokio::test]
async fn repeat_ignores_defaults_and_notations_of_numbers() {
    const SIZED: &str = "[records.todo.fields]\nsize = { type = \"number\" }\n";
    let mut server = TestServer::with(of(SIZED)).await;
    check(&mut server, "create", json!({ "id": "a", "size": 1 }), result(json!({ "version": 1 })))
        .await;
    let later = format!("{SIZED}rank = {{ type = \"integer\", default = 5 }}\n");
    let mut server = TestServer::on(server.closed().await, of(&later)).await;
    for (payload, version) in [
        (r#"{"size":1}"#, 1),
        (r#"{"size":1.0}"#, 1),
        (r#"{"rank":5}"#, 1),
        (r#"{"rank":null}"#, 1),
        ("{}", 1),
        (r#"{"size":1.5}"#, 2),
        (r#"{"rank":6}"#, 3),
        (r#"{"size":null}"#, 4),
        (r#"{"size":null}"#, 4),
    ] {
        let body =
            format!(r#"{{"command":"update","resource":"todo","id":"a","payload":{payload}}}"#);
        let reply = server.post("/repeat", &body).await;
        assert_eq!(reply.json()["result"]["version"], version, "{body}");
    }
    // `execute` always writes a new version.
    let update = json!({ "id": "a", "rank": 6 });
    check(&mut server, "update", update, result(json!({ "version": 5 }))).await;
    server.stop().await;
}

#[tokio::test]
async fn undeclared_fields_do_not_count_towards_the_size() {
    let small = |toml| {
        let settings = RecordsConfig { max_record_bytes: 100, ..RecordsConfig::default() };
        Setup { settings, ..of(toml) }
    };
    let mut server = TestServer::with(small(BEFORE)).await;
    let create = json!({ "id": "a", "title": "x", "note": "n".repeat(50) });
    check(&mut server, "create", create, result(json!({ "version": 1 }))).await;
    let mut server = TestServer::on(server.closed().await, small(LATER)).await;
    let update = json!({ "id": "a", "title": "y".repeat(30), "owner": "me" });
    check(&mut server, "update", update, result(json!({ "version": 2 }))).await;
    let over = json!({ "id": "a", "title": "y".repeat(60) });
    let reason = json!({ "reason": "*up to 100 bytes, this one would have 111*" });
    check(&mut server, "update", over, json!({ "error": { "data": reason } })).await;
    let mut server = TestServer::on(server.closed().await, small(BEFORE)).await;
    let kept = json!({ "title": "y".repeat(30), "note": "n".repeat(50) });
    check(&mut server, "read", json!(["a"]), result(kept)).await;
    server.stop().await;
}

#[tokio::test]
async fn fields_keep_values_of_an_earlier_type_until_changed() {
    let field =
        |kind| format!("[records.todo.fields]\nrank = {{ {kind} }}\ndone = {{ type = 'boolean' }}");
    let mut server = TestServer::with(of(&field("type = 'string'"))).await;
    let create = json!({ "id": "a", "rank": "first" });
    check(&mut server, "create", create, result(json!({ "rank": "first" }))).await;
    for later in ["type = 'integer'", "type = 'string', enum = ['1st', '2nd']"] {
        server = TestServer::on(server.closed().await, of(&field(later))).await;
        check(&mut server, "read", json!(["a"]), result(json!({ "rank": "first" }))).await;
        let update = json!({ "id": "a", "done": true });
        check(&mut server, "update", update, result(json!({ "rank": "first" }))).await;
        let misfit = json!({ "error": { "data": { "pointer": "/rank" } } });
        check(&mut server, "update", json!({ "id": "a", "rank": "first" }), misfit).await;
    }
    check(
        &mut server,
        "update",
        json!({ "id": "a", "rank": "1st" }),
        result(json!({ "rank": "1st" })),
    )
    .await;
    server.stop().await;
}

/// The system clock may be set back.
#[tokio::test]
async fn times_never_decrease_when_reverting() {
    let mut server = TestServer::new().await;
    let create = json!({ "id": "a", "title": "x" });
    check(&mut server, "create", create, result(json!({ "version": 1 }))).await;
    let update = json!({ "id": "a", "title": "y", "metadata": { "requestId": "1" } });
    check(&mut server, "update", update, result(json!({ "version": 2 }))).await;
    let file = server.place.path().join("trunkline.sqlite");
    let later = "UPDATE records SET updated_at = 4102444800000 WHERE id = 'a'";
    assert_eq!(Connection::open(file).unwrap().execute(later, ()).unwrap(), 1);
    check(&mut server, "revert", json!(["1"]), result(json!({ "status": "reverted" }))).await;
    let expected = json!({ "title": "x", "version": 3, "updatedAt": "2100-01-01T00:00:00.000Z" });
    check(&mut server, "read", json!(["a"]), result(expected)).await;
    server.stop().await;
}
