//! Records after a restart of the server, and after changes of their types.

use rusqlite::Connection;
use serde_json::{Value, json};
use trunkline_resources::{ResourceTypes, ResourcesConfig};

use crate::served::{Served, Setup, assert_fits};

/// The later types: without `note`, with new fields `owner` and `rank`, and with fewer values of `level`.
const LATER: &str = r#"
[resources.todo.fields]
title = { type = "string", required = true }
level = { type = "string", enum = ["low", "high"], default = "low" }
owner = { type = "string", required = true }
rank = { type = "integer", default = 5 }
"#;

const BEFORE: &str = r#"
[resources.todo.fields]
title = { type = "string", required = true }
note = { type = "string" }
level = { type = "string", enum = ["low", "normal", "high"], default = "normal" }
"#;

fn of(toml: &str) -> Setup {
    Setup { types: ResourceTypes::parse(toml).unwrap(), ..Setup::default() }
}

async fn check(served: &mut Served, command: &str, params: Value, expected: Value) {
    let response = served.call(&format!("todo.{command}"), &params).await;
    assert_fits(&format!("{command} {params}"), &expected, &response);
}

fn result(record: Value) -> Value {
    json!({ "result": record })
}

#[tokio::test]
async fn records_and_requests_survive_a_restart() {
    let mut served = Served::new().await;
    let create = json!({ "id": "a", "title": "x", "metadata": { "requestId": "1" } });
    check(&mut served, "create", create.clone(), result(json!({ "version": 1 }))).await;
    let update = json!({ "id": "a", "done": true, "metadata": { "requestId": "2" } });
    check(&mut served, "update", update.clone(), result(json!({ "version": 2 }))).await;
    let before = served.stored().await;
    let mut served = Served::on(served.closed().await, Setup::default()).await;
    assert_eq!(served.stored().await, before);
    check(&mut served, "create", create, result(json!({ "version": 1 }))).await;
    check(&mut served, "update", update, result(json!({ "version": 2 }))).await;
    check(&mut served, "revert", json!(["2"]), result(json!({ "status": "reverted" }))).await;
    check(&mut served, "revert", json!(["1"]), result(json!({ "status": "reverted" }))).await;
    let mut served = Served::on(served.closed().await, Setup::default()).await;
    check(&mut served, "revert", json!(["1"]), result(json!({ "status": "noop" }))).await;
    let again = json!({ "id": "a", "title": "x" });
    check(&mut served, "create", again, result(json!({ "version": 4 }))).await;
    served.stop().await;
}

#[tokio::test]
async fn older_records_are_shown_by_their_current_type() {
    let mut served = Served::with(of(BEFORE)).await;
    for (id, level) in [("a", "normal"), ("b", "high")] {
        let create = json!({ "id": id, "title": "x", "note": "n", "level": level });
        check(&mut served, "create", create, result(json!({ "note": "n" }))).await;
    }
    let mut served = Served::on(served.closed().await, of(LATER)).await;
    let response = served.call("todo.read", &json!(["a"])).await;
    let names: Vec<&String> = response["result"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["createdAt", "id", "level", "rank", "title", "updatedAt", "version"]);
    assert_fits("as stored", &json!({ "level": "normal", "rank": 5 }), &response["result"]);
    let found = |ids: &[&str]| {
        let items: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
        result(json!({ "items": items }))
    };
    check(&mut served, "filter", json!({ "rank": 5 }), found(&["a", "b"])).await;
    check(&mut served, "filter", json!({ "note": "n" }), found(&[])).await;
    check(&mut served, "filter", json!({ "owner": "" }), found(&[])).await;
    let counts = json!({ "total": 2, "fields": { "level": { "low": 0, "high": 1 } } });
    check(&mut served, "status", json!({}), result(json!({ "counts": counts }))).await;
    // An update must result in a valid record.
    let missing = json!({ "error": { "code": -32602, "data": { "pointer": "/owner" } } });
    check(&mut served, "update", json!({ "id": "b", "title": "y" }), missing).await;
    let update = json!({ "id": "b", "title": "y", "owner": "me" });
    check(&mut served, "update", update, result(json!({ "owner": "me", "rank": 5, "version": 2 })))
        .await;
    // Fields that are no longer declared stay stored.
    let mut served = Served::on(served.closed().await, of(BEFORE)).await;
    check(&mut served, "read", json!(["b"]), result(json!({ "title": "y", "note": "n" }))).await;
    served.stop().await;
}

#[tokio::test]
async fn corrupt_records_are_internal_errors() {
    let mut served = Served::new().await;
    for id in ["a", "b"] {
        let create = json!({ "id": id, "title": "x" });
        check(&mut served, "create", create, result(json!({ "id": id }))).await;
    }
    let file = served.directory.path().join("trunkline.sqlite");
    let spoil = "UPDATE records SET fields = '{\"title\":' WHERE id = 'a'";
    assert_eq!(Connection::open(file).unwrap().execute(spoil, ()).unwrap(), 1);
    let error = json!({ "code": -32000, "message": "Internal server error" });
    for (command, params) in [
        ("read", json!(["a"])),
        ("update", json!({ "id": "a" })),
        ("list", json!({})),
        ("status", json!({})),
    ] {
        let response = served.call(&format!("todo.{command}"), &params).await;
        assert_eq!(response, json!({ "jsonrpc": "2.0", "error": error, "id": 1 }), "{command}");
    }
    let native = json!({ "command": "read", "resource": "todo", "id": "a" });
    let reply = served.native(&native).await;
    assert_eq!((reply.status, reply.text()), (500, r#"{"error":"Internal server error"}"#));
    // Other records are unaffected, and the corrupt one can be deleted.
    check(&mut served, "read", json!(["b"]), result(json!({ "id": "b" }))).await;
    check(&mut served, "delete", json!(["a"]), result(Value::Null)).await;
    check(&mut served, "list", json!({}), result(json!({ "items": [{ "id": "b" }] }))).await;
    served.stop().await;
}

#[tokio::test]
async fn repeat_ignores_defaults_and_notations_of_numbers() {
    const SIZED: &str = "[resources.todo.fields]\nsize = { type = \"number\" }\n";
    let mut served = Served::with(of(SIZED)).await;
    check(&mut served, "create", json!({ "id": "a", "size": 1 }), result(json!({ "version": 1 })))
        .await;
    let later = format!("{SIZED}rank = {{ type = \"integer\", default = 5 }}\n");
    let mut served = Served::on(served.closed().await, of(&later)).await;
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
        let reply = served.post("/repeat", &body).await;
        assert_eq!(reply.json()["result"]["version"], version, "{body}");
    }
    // `execute` always writes a new version.
    let update = json!({ "id": "a", "rank": 6 });
    check(&mut served, "update", update, result(json!({ "version": 5 }))).await;
    served.stop().await;
}

#[tokio::test]
async fn undeclared_fields_do_not_count_towards_the_size() {
    let small = |toml| {
        let settings = ResourcesConfig { max_record_bytes: 100, ..ResourcesConfig::default() };
        Setup { settings, ..of(toml) }
    };
    let mut served = Served::with(small(BEFORE)).await;
    let create = json!({ "id": "a", "title": "x", "note": "n".repeat(50) });
    check(&mut served, "create", create, result(json!({ "version": 1 }))).await;
    let mut served = Served::on(served.closed().await, small(LATER)).await;
    let update = json!({ "id": "a", "title": "y".repeat(30), "owner": "me" });
    check(&mut served, "update", update, result(json!({ "version": 2 }))).await;
    let over = json!({ "id": "a", "title": "y".repeat(60) });
    let reason = json!({ "reason": "*up to 100 bytes, this one would have 111*" });
    check(&mut served, "update", over, json!({ "error": { "data": reason } })).await;
    let mut served = Served::on(served.closed().await, small(BEFORE)).await;
    let kept = json!({ "title": "y".repeat(30), "note": "n".repeat(50) });
    check(&mut served, "read", json!(["a"]), result(kept)).await;
    served.stop().await;
}

#[tokio::test]
async fn fields_keep_values_of_an_earlier_type_until_changed() {
    let field = |kind| {
        format!("[resources.todo.fields]\nrank = {{ {kind} }}\ndone = {{ type = 'boolean' }}")
    };
    let mut served = Served::with(of(&field("type = 'string'"))).await;
    let create = json!({ "id": "a", "rank": "first" });
    check(&mut served, "create", create, result(json!({ "rank": "first" }))).await;
    for later in ["type = 'integer'", "type = 'string', enum = ['1st', '2nd']"] {
        served = Served::on(served.closed().await, of(&field(later))).await;
        check(&mut served, "read", json!(["a"]), result(json!({ "rank": "first" }))).await;
        let update = json!({ "id": "a", "done": true });
        check(&mut served, "update", update, result(json!({ "rank": "first" }))).await;
        let misfit = json!({ "error": { "data": { "pointer": "/rank" } } });
        check(&mut served, "update", json!({ "id": "a", "rank": "first" }), misfit).await;
    }
    check(
        &mut served,
        "update",
        json!({ "id": "a", "rank": "1st" }),
        result(json!({ "rank": "1st" })),
    )
    .await;
    served.stop().await;
}

/// The system clock may be set back.
#[tokio::test]
async fn times_never_decrease_when_reverting() {
    let mut served = Served::new().await;
    let create = json!({ "id": "a", "title": "x" });
    check(&mut served, "create", create, result(json!({ "version": 1 }))).await;
    let update = json!({ "id": "a", "title": "y", "metadata": { "requestId": "1" } });
    check(&mut served, "update", update, result(json!({ "version": 2 }))).await;
    let file = served.directory.path().join("trunkline.sqlite");
    let later = "UPDATE records SET updated_at = 4102444800000 WHERE id = 'a'";
    assert_eq!(Connection::open(file).unwrap().execute(later, ()).unwrap(), 1);
    check(&mut served, "revert", json!(["1"]), result(json!({ "status": "reverted" }))).await;
    let expected = json!({ "title": "x", "version": 3, "updatedAt": "2100-01-01T00:00:00.000Z" });
    check(&mut served, "read", json!(["a"]), result(expected)).await;
    served.stop().await;
}
