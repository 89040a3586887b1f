//! `POST /revert` is a call, whether there is anything to undo or not.

use std::time::Duration;

use serde_json::json;
use trunkline::layers::RateLimitLayer;
use trunkline::layers::authorize::{Rules, principal};
use trunkline::layers::rate_limit::Rate;
use trunkline::{Router, http};
use trunkline_records::RecordTypes;

use crate::test_server::{Setup, TestServer, assert_fits, post};

const NONE: &str = r#"{"requestId":"none"}"#;

#[tokio::test]
async fn unknown_requests_are_recorded() {
    let mut server = TestServer::new().await;
    let reply = server.post("/revert", NONE).await;
    assert_eq!(reply.json(), json!({ "status": "noop", "requestId": "none" }));
    let expected = json!([{
        "endpoint": "execute", "protocol": "native", "method": "todo.revert", "status": "result",
    }]);
    assert_fits("recorded", &expected, &json!(server.recorded()));
    server.stop().await;
}

#[tokio::test]
async fn unknown_requests_are_rate_limited() {
    let layered = |router: Router| {
        let rate = Rate { calls: 1, per: Duration::from_secs(3_600), burst: 1, ..Rate::default() };
        router.layer(RateLimitLayer::new(rate))
    };
    let mut server = TestServer::with(Setup { layered, ..Setup::default() }).await;
    assert_eq!(server.post("/revert", NONE).await.status, 200);
    let reply = server.post("/revert", NONE).await;
    assert_eq!((reply.status, reply.json()), (429, json!({ "error": "Too many calls" })));
    let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((3_500..=3_600).contains(&seconds), "{seconds}");
    server.stop().await;
}

#[tokio::test]
async fn unknown_requests_require_permission() {
    let mut http = http::HttpConfig::default();
    http.bearer.allow_as("ada", "token-of-ada");
    http.bearer.allow_as("bob", "token-of-bob");
    let layered =
        |router: Router| router.authorize(Rules::new().require("todo.revert", principal("ada")));
    let mut server = TestServer::with(Setup { http, layered, ..Setup::default() }).await;
    for (caller, status) in [("ada", 200), ("bob", 403)] {
        let headers = format!(
            "Content-Type: application/json\r\nAuthorization: Bearer token-of-{caller}\r\n"
        );
        let reply = server.ask(post("/revert", &headers, NONE)).await;
        assert_eq!(reply.status, status, "{caller}: {}", reply.text());
    }
    server.stop().await;
}

#[tokio::test]
async fn requests_to_undeclared_types_are_not_reverted() {
    let of = |toml: &str| Setup { types: RecordTypes::parse(toml).unwrap(), ..Setup::default() };
    let note = "[records.note.fields]\ntext = { type = \"string\" }\n";
    let mut server = TestServer::with(of(note)).await;
    let create = json!({
        "command": "create", "resource": "note", "id": "a", "payload": { "text": "x" },
        "metadata": { "requestId": "1" },
    });
    assert_eq!(server.native(&create).await.status, 201);
    let other = "[records.other.fields]\ntext = { type = \"string\" }\n";
    let mut server = TestServer::on(server.closed().await, of(other)).await;
    let reply = server.post("/revert", r#"{"requestId":"1"}"#).await;
    assert_eq!(reply.text(), r#"{"requestId":"1","status":"noop"}"#);
    // Declared again, it can be undone.
    let mut server = TestServer::on(server.closed().await, of(note)).await;
    let read = json!({ "command": "read", "resource": "note", "id": "a" });
    assert_eq!(server.native(&read).await.status, 200);
    let reply = server.post("/revert", r#"{"requestId":"1"}"#).await;
    assert_eq!(reply.json()["status"], "reverted");
    assert_eq!(server.native(&read).await.status, 404);
    server.stop().await;
}
