//! Size limits and timeouts, natively and in JSON-RPC.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline::{ErrorObject, Limits, Router};
use trunkline_records::{RecordsConfig, StoreConfig};

use crate::test_server::{Setup, TestServer, assert_fits};

fn with_store(change: impl FnOnce(&mut StoreConfig)) -> RecordsConfig {
    let mut settings = RecordsConfig::default();
    change(&mut settings.store);
    settings
}

/// Executes a command in both forms, and compares both replies with the status, the code and the text.
async fn check(server: &mut TestServer, command: &Value, (status, code): (u16, i64), reason: &str) {
    let reply = server.native(command).await;
    assert_eq!(reply.status, status, "{command}: {}", reply.text());
    assert_fits(&command.to_string(), &json!({ "error": reason }), &reply.json());
    let (method, params) = twin(command);
    let response = server.call(&method, &params).await;
    assert_eq!(response["error"]["code"], code, "{response}");
}

fn twin(command: &Value) -> (String, Value) {
    let mut params = command.get("payload").cloned().unwrap_or(json!({}));
    for name in ["id", "metadata"] {
        if let Some(value) = command.get(name) {
            params[name] = value.clone();
        }
    }
    let [resource, verb] = ["resource", "command"].map(|name| command[name].as_str().unwrap());
    (format!("{resource}.{verb}"), params)
}

fn command(verb: &str, id: &str, payload: Value) -> Value {
    let mut command = json!({ "command": verb, "resource": "todo", "payload": payload });
    if !id.is_empty() {
        command["id"] = id.into();
    }
    command
}

#[tokio::test]
async fn a_record_that_is_too_large() {
    let settings = RecordsConfig { max_record_bytes: 100, ..RecordsConfig::default() };
    let mut server = TestServer::with(Setup { settings, ..Setup::default() }).await;
    let fits = command("create", "a", json!({ "title": "x".repeat(55) }));
    assert_eq!(server.native(&fits).await.status, 201, "exactly the limit");
    for verb in ["create", "update"] {
        let id = if verb == "create" { "b" } else { "a" };
        let over = command(verb, id, json!({ "title": "x".repeat(56) }));
        check(&mut server, &over, (400, -32602), "*up to 100 bytes, this one would have 101*")
            .await;
    }
    let read = server.call("todo.read", &json!(["a"])).await;
    assert_eq!(read["result"]["version"], 1);
    server.stop().await;
}

#[tokio::test]
async fn pages_that_end_early_are_continued() {
    let default = RecordsConfig::default;
    // With the number of pages until the matching record is found.
    let rows = [
        ("by bytes", RecordsConfig { max_page_bytes: 700, ..default() }, 1),
        ("by the bytes of one record", RecordsConfig { max_page_bytes: 1, ..default() }, 2),
        ("by scanned records", RecordsConfig { max_scan: 3, ..default() }, 4),
        ("by one scanned record", RecordsConfig { max_scan: 0, ..default() }, 10),
        ("by time", with_store(|store| store.max_scan_time = Duration::ZERO), 10),
        ("by the limit", RecordsConfig { page: 2, ..default() }, 1),
        ("by the highest limit", RecordsConfig { page: 9, max_page: 4, ..default() }, 1),
        ("by a limit of 0", RecordsConfig { page: 0, ..default() }, 10),
    ];
    for (name, settings, found_in) in rows {
        let mut server = TestServer::with(Setup { settings, ..Setup::default() }).await;
        let ids: Vec<String> = (10..20).map(|id| id.to_string()).collect();
        for id in &ids {
            let title = if id.ends_with('7') { "found" } else { "other" };
            let create = command("create", id, json!({ "title": title }));
            assert_eq!(server.native(&create).await.status, 201);
        }
        for verb in ["list", "filter"] {
            let (items, pages) = all(&mut server, verb, json!({})).await;
            assert_eq!(items, ids, "{name}");
            assert!(pages > 1, "{name}: {pages}");
        }
        let (items, pages) = all(&mut server, "filter", json!({ "title": "found" })).await;
        assert_eq!(items, ["17"], "{name}");
        assert_eq!(pages, found_in, "{name}");
        server.stop().await;
    }
}

#[tokio::test]
async fn status_counts() {
    let default = RecordsConfig::default;
    let rows = [
        (
            "all",
            default(),
            json!({ "total": 3, "counted": 3, "fields": { "done": { "true": 1 } } }),
        ),
        (
            "the first",
            RecordsConfig { max_scan: 2, ..default() },
            json!({ "total": 3, "counted": 2, "fields": { "done": { "false": 2, "true": 0 } } }),
        ),
        (
            "none, by time",
            with_store(|store| store.max_scan_time = Duration::ZERO),
            json!({ "total": 3, "counted": 0, "fields": { "done": { "false": 0, "true": 0 } } }),
        ),
    ];
    for (name, settings, counts) in rows {
        let mut server = TestServer::with(Setup { settings, ..Setup::default() }).await;
        for id in ["a", "b", "c"] {
            let create = command("create", id, json!({ "title": "x", "done": id == "c" }));
            assert_eq!(server.native(&create).await.status, 201);
        }
        let status = server.call("todo.status", &json!({})).await;
        assert_fits(name, &json!({ "result": { "counts": counts } }), &status);
        server.stop().await;
    }
}

/// The ids of all pages, and how many pages that took.
async fn all(server: &mut TestServer, verb: &str, criteria: Value) -> (Vec<String>, usize) {
    let (mut ids, mut pages, mut asked) = (Vec::new(), 0, criteria);
    loop {
        let mut page = server.native(&command(verb, "", asked.clone())).await.json();
        let items = page["result"]["items"].as_array().unwrap();
        ids.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        pages += 1;
        assert!(pages <= 11, "the pages come to an end");
        match page["result"]["nextCursor"].take() {
            Value::Null => return (ids, pages),
            cursor => asked["cursor"] = cursor,
        }
    }
}

#[tokio::test]
async fn a_server_that_is_busy() {
    let settings = with_store(|store| (store.read_queue, store.write_queue) = (0, 0));
    let mut server = TestServer::with(Setup { settings, ..Setup::default() }).await;
    for verb in ["read", "delete"] {
        let command = command(verb, "a", json!({}));
        check(&mut server, &command, (503, -32005), "too many waiting commands; try again").await;
    }
    // It could never be done, however long it waits.
    let over = command("create", "a", json!({ "title": "x".repeat(256 << 10) }));
    check(&mut server, &over, (400, -32602), "*up to 262144 bytes*").await;
    let reply = server.post("/revert", r#"{"requestId":"r"}"#).await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_is_busy_with_what_is_large() {
    let settings = with_store(|store| store.write_queue_bytes = 1_000);
    let mut server = TestServer::with(Setup { settings, ..Setup::default() }).await;
    let text = |length| json!({ "title": "x".repeat(length) });
    assert_eq!(server.native(&command("create", "a", text(500))).await.status, 201);
    for verb in ["create", "update"] {
        let over = command(verb, "a", text(1_000));
        check(&mut server, &over, (503, -32005), "too many waiting commands; try again").await;
    }
    // What is sent is kept in two forms, if it is remembered.
    let mut remembered = command("update", "a", text(500));
    remembered["metadata"] = json!({ "requestId": "r" });
    check(&mut server, &remembered, (503, -32005), "too many waiting commands; try again").await;
    server.stop().await;
}

#[tokio::test]
async fn a_command_whose_time_is_up() {
    let settings = with_store(|store| store.timeout = Duration::ZERO);
    let mut server = TestServer::with(Setup { settings, ..Setup::default() }).await;
    for verb in ["read", "delete"] {
        let command = command(verb, "a", json!({}));
        check(&mut server, &command, (504, -32004), "*timed out after 0 ms*").await;
    }
    server.stop().await;
}

#[tokio::test]
async fn operations_of_others() {
    let limits = Limits {
        call_timeout: Some(Duration::from_millis(20)),
        reply_bytes: 2_000,
        ..Limits::default()
    };
    let fail = |code: i64| move || Err::<(), _>(ErrorObject::new(code, "Out of tea"));
    let router = Router::new()
        .method("todo.wait", std::future::pending::<()>)
        .method("todo.leak", || {
            Err::<(), _>(ErrorObject::internal(&std::io::Error::other("secret")))
        })
        .method("todo.speak", || "x".repeat(2_000))
        .method("todo.fail", fail(418))
        .method("todo.lack", fail(-32011))
        .limits(limits);
    let mut server = TestServer::with(Setup { router, ..Setup::default() }).await;
    let rows = [
        ("wait", (504, -32004), "*"),
        ("leak", (500, -32603), "Internal error (incident *"),
        ("speak", (400, -32006), "*2000 bytes*"),
        ("fail", (500, 418), "Out of tea"),
        ("lack", (404, -32011), "Out of tea"),
    ];
    for (verb, told, reason) in rows {
        let command = json!({ "command": verb, "resource": "todo" });
        let reason = if verb == "leak" { "*(incident *" } else { reason };
        check(&mut server, &command, told, reason).await;
    }
    server.stop().await;
}
