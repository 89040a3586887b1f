//! `POST /repeat` of operations without a resource: only idempotent ones are called.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use trunkline::{Operation, Router};

use crate::test_server::{Setup, TestServer, assert_fits, post};

const JSON: &str = "Content-Type: application/json\r\n";
const EDN: &str = "Content-Type: application/edn\r\n";

/// Operations that count their calls: `bell.ring` is not idempotent, `bell.mute` is, and `bell.look` is read-only.
async fn counting() -> (TestServer, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let operation = |name: &str| {
        let calls = calls.clone();
        Operation::new(name, move || calls.fetch_add(1, Ordering::Relaxed))
    };
    let router = Router::new()
        .operation(operation("bell.ring"))
        .operation(operation("bell.mute").idempotent())
        .operation(operation("bell.look").read_only());
    (TestServer::with(Setup { router, ..Setup::default() }).await, calls)
}

/// Posts a body, and compares the status, parts of the reply, and the number of calls.
async fn check(headers: &str, body: &str, status: u16, expected: Value, count: usize) {
    let (mut server, calls) = counting().await;
    let reply = server.ask(post("/repeat", headers, body)).await;
    assert_eq!(reply.status, status, "{body}: {}", reply.text());
    match &expected {
        Value::Null => assert_eq!(reply.text(), "", "{body}"),
        Value::String(_) => assert_fits(body, &expected, &json!(reply.text())),
        expected => assert_fits(body, expected, &reply.json()),
    }
    assert_eq!(calls.load(Ordering::Relaxed), count, "{body}");
    assert_ne!(server.recorded(), [] as [Value; 0], "{body}: it is recorded");
    server.stop().await;
}

const REFUSED: &str = "bell.ring is not idempotent and was not called; send it to /execute";

fn rpc(method: &str, id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"{id}}}"#)
}

#[tokio::test]
async fn natively() {
    let ring = r#"{"command":"ring","resource":"bell"}"#;
    check(JSON, ring, 400, json!({ "error": REFUSED }), 0).await;
    let close = r#"{"command":"mute","resource":"bell"}"#;
    check(JSON, close, 200, json!({ "result": 0 }), 1).await;
    let look = r#"{"command":"look","resource":"bell"}"#;
    check(JSON, look, 200, json!({ "result": 0 }), 1).await;
    let edn = "{:command :ring :resource :bell}";
    check(EDN, edn, 400, json!("*is not idempotent*"), 0).await;
}

#[tokio::test]
async fn in_json_rpc() {
    let error =
        |id: Value| json!({ "error": { "code": -32600, "data": { "reason": REFUSED } }, "id": id });
    check(JSON, &rpc("bell.ring", ",\"id\":\"x\""), 200, error(json!("x")), 0).await;
    check(JSON, &rpc("bell.mute", ",\"id\":1"), 200, json!({ "result": 0, "id": 1 }), 1).await;
    check(JSON, &rpc("bell.look", ",\"id\":1"), 200, json!({ "result": 0, "id": 1 }), 1).await;
    let edn = "{:jsonrpc \"2.0\" :method :bell.ring :id :x}";
    check(EDN, edn, 200, json!("*is not idempotent*"), 0).await;
}

#[tokio::test]
async fn in_notifications() {
    check(JSON, &rpc("bell.ring", ""), 204, Value::Null, 0).await;
    check(JSON, &rpc("bell.mute", ""), 204, Value::Null, 1).await;
}

/// A batch with a call that is not idempotent is rejected as a whole.
#[tokio::test]
async fn in_batches() {
    let [look, ring] = ["bell.look", "bell.ring"].map(|method| rpc(method, ",\"id\":1"));
    let refused = json!({ "error": { "code": -32600, "data": { "reason": REFUSED } }, "id": null });
    check(JSON, &format!("[{look},{ring}]"), 200, refused.clone(), 0).await;
    let ring = rpc("bell.ring", "");
    check(JSON, &format!("[{look},{ring}]"), 200, refused.clone(), 0).await;
    for unreadable in ["1", "{}", r#"{"jsonrpc":"2.0","method":1}"#, r#"{"method":["a"]}"#, "[]"] {
        check(JSON, &format!("[{unreadable},{ring}]"), 200, refused.clone(), 0).await;
        check(JSON, &format!("[{look},{ring},{unreadable}]"), 200, refused.clone(), 0).await;
    }
    let escaped = ring.replace("bell", "b\\u0065ll");
    check(JSON, &format!("[{escaped}]"), 200, refused.clone(), 0).await;
    let twice = ring.replace("\"method\"", "\"method\":\"bell.look\",\"method\"");
    check(JSON, &format!("[{twice}]"), 200, json!([{ "error": { "code": -32600 } }]), 0).await;
    let edn = "[1 {:jsonrpc \"2.0\" :method :bell.ring}]";
    check(EDN, edn, 200, json!("*is not idempotent*"), 0).await;
    let results = json!([{ "result": "*" }, { "result": "*" }]);
    check(JSON, &format!("[{look},{look}]"), 200, results, 2).await;
}
