//! The history records each command once, with its protocol.

use serde_json::{Value, json};
use trunkline_records::RecordTypes;

use crate::test_server::{Setup, TestServer, assert_fits, post};

/// Sends a body to a path, and compares the history.
async fn check(path: &str, body: &str, expected: Value) {
    let mut server = TestServer::new().await;
    server.post(path, body).await;
    let told = server.recorded();
    assert_fits(&format!("{path} {body}"), &expected, &json!(told));
    server.stop().await;
}

#[tokio::test]
async fn both_protocols() {
    let native = r#"{"command":"read","resource":"todo","id":"a"}"#;
    let row = |protocol: &str| json!({ "endpoint": "execute", "protocol": protocol, "method": "todo.read", "status": "error", "code": -32011 });
    check("/execute", native, json!([row("native")])).await;
    check("/repeat", native, json!([row("native")])).await;
    let rpc = r#"{"jsonrpc":"2.0","method":"todo.read","params":["a"],"id":"x"}"#;
    let mut with_id = row("jsonrpc");
    with_id["id"] = "x".into();
    check("/execute", rpc, json!([with_id])).await;
    with_id["endpoint"] = "json-rpc".into();
    check("/", rpc, json!([with_id])).await;
    let batch = format!("[{rpc},{rpc}]");
    check("/execute", &batch, json!([row("jsonrpc"), row("jsonrpc")])).await;
}

#[tokio::test]
async fn notifications_and_results() {
    let row = |is_notification: bool, status: &str| json!([{ "endpoint": "execute", "method": "todo.status", "notification": is_notification, "status": status }]);
    check("/execute", r#"{"jsonrpc":"2.0","method":"todo.status"}"#, row(true, "result")).await;
    check("/execute", r#"{"command":"status","resource":"todo"}"#, row(false, "result")).await;
}

#[tokio::test]
async fn invalid_commands() {
    let row = |protocol: &str, code: i64| json!([{ "endpoint": "execute", "protocol": protocol, "status": "error", "code": code }]);
    check("/execute", "{", row("native", -32700)).await;
    check("/execute", "{}", row("native", -32600)).await;
    check("/execute", r#"{"command":"x","resource":"todo"}"#, row("native", -32601)).await;
    check("/execute", r#"{"jsonrpc":"2.0""#, row("jsonrpc", -32700)).await;
    check("/execute", r#"{"jsonrpc":"2.0"}"#, row("jsonrpc", -32600)).await;
    check("/revert", "{}", row("native", -32600)).await;
}

#[tokio::test]
async fn reverts_by_path() {
    let mut server = TestServer::new().await;
    let create = r#"{"command":"create","resource":"todo","payload":{"title":"x"},"metadata":{"requestId":"r"}}"#;
    server.post("/execute", create).await;
    server.post("/revert", r#"{"requestId":"r"}"#).await;
    let told = json!(server.recorded());
    let expected = json!([
        { "protocol": "native", "method": "todo.create", "status": "result" },
        { "protocol": "native", "method": "todo.revert", "status": "result" },
    ]);
    assert_fits("both", &expected, &told);
    server.stop().await;
}

#[tokio::test]
async fn requests_rejected_by_http() {
    let mut server = TestServer::new().await;
    server.ask(post("/execute", "", "{}")).await;
    let expected =
        json!([{ "endpoint": "execute", "protocol": "native", "status": "error", "code": -32009 }]);
    assert_fits("refused", &expected, &json!(server.recorded()));
    server.stop().await;
}

#[tokio::test]
async fn requests_and_replies() {
    let mut server = TestServer::new().await;
    let create = r#"{"command":"create","resource":"todo","id":"a","payload":{"title":"Tea"}}"#;
    server.post("/execute", create).await;
    let told = server.recorded();
    let text = |name: &str| told[0][name]["text"].as_str().unwrap().to_owned();
    assert!(text("request").contains("Tea"), "{}", text("request"));
    assert!(text("response").contains("\"version\":1"), "{}", text("response"));
    server.stop().await;
}

/// Error replies, which the history keeps, do not contain the value of a field that looks like a secret.
#[tokio::test]
async fn invalid_secrets() {
    let toml = "[records.login.fields]\npassword = { type = \"integer\" }\n\
                pin = { type = \"string\", enum = [\"none\", \"set\"] }\n";
    let types = RecordTypes::parse(toml).unwrap();
    let mut server = TestServer::with(Setup { types, ..Setup::default() }).await;
    for payload in [
        json!({ "password": "hunter2" }),
        json!({ "password": 4711.5 }),
        json!({ "password": { "is": "hunter2" } }),
        json!({ "pin": "hunter2" }),
        json!({ "pin": 4711 }),
        json!({ "pin": ["hunter2", 4711] }),
    ] {
        let native = json!({ "command": "create", "resource": "login", "payload": payload });
        let reply = server.native(&native).await;
        assert_eq!(reply.status, 400, "{payload}: {}", reply.text());
        let response = server.call("login.create", &payload).await;
        assert_eq!(response["error"]["code"], -32602, "{payload}: {response}");
    }
    let told = json!(server.recorded()).to_string();
    for secret in ["hunter2", "4711"] {
        assert!(!told.contains(secret), "{told}");
    }
    assert_eq!(told.matches("[redacted]").count(), 12, "{told}");
    server.stop().await;
}
