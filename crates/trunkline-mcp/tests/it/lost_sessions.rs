//! Sessions that a server has lost: their clients go on with the same id.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::access::Principal;
use trunkline::http::HttpConfig;
use trunkline_mcp::nodes::StoredNodes;
use trunkline_mcp::{Mcp, McpConfig};

use crate::support::{
    Client, Reply, TestServer, assert_fits, in_time, legacy, post, serve, serve_mcp, settings,
    until,
};

const BOTH: &str = "Accept: application/json, text/event-stream\r\n";

async fn serving() -> TestServer {
    serve(settings(), HttpConfig::default()).await
}

fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "t", "version": "1" },
    });
    legacy("initialize", params)
}

fn ping() -> Value {
    legacy("ping", json!({}))
}

/// Opens a session with these headers. Returns the headers of its requests.
async fn open(server: &TestServer, headers: &str) -> String {
    let reply = ask(server, &format!("{BOTH}{headers}"), &initialize()).await;
    let id = reply.header("mcp-session-id").unwrap_or_else(|| panic!("{reply:?}"));
    format!("Mcp-Session-Id: {id}\r\n{BOTH}{headers}")
}

/// The headers of a session that a server had before its restart.
async fn lost() -> String {
    open(&serving().await, "").await
}

async fn ask(server: &TestServer, headers: &str, message: &Value) -> Reply {
    server.client().await.ask(post("/mcp", headers, message.to_string())).await
}

fn without_body(method: &str, headers: &str) -> String {
    format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

async fn head(server: &TestServer, request: impl AsRef<[u8]>) -> (Client, u16) {
    let mut client = server.client().await;
    client.send(request).await;
    let status = client.head().await.status;
    (client, status)
}

async fn delete(server: &TestServer, session: &str) -> u16 {
    server.client().await.ask(without_body("DELETE", session)).await.status
}

/// The first request of a client after a restart of the server is answered as before the restart.
#[track_caller]
fn check_first_request<R: AsRef<[u8]>>(
    name: &str,
    request: impl Fn(&str) -> R,
    expected: u16,
) -> impl Future {
    let place = std::panic::Location::caller();
    async move {
        let before = serving().await;
        let session = open(&before, "").await;
        let after = serving().await;
        for (when, server) in [("before", &before), ("after", &after)] {
            let (_, status) = head(server, request(&session)).await;
            assert_eq!(status, expected, "{name} {when} the restart, {place}");
        }
    }
}

#[tokio::test]
async fn the_first_request_after_a_restart_is_answered() {
    let message = |message: Value| move |session: &str| post("/mcp", session, message.to_string());
    let version = |version: &'static str, message: Value| {
        move |session: &str| {
            let headers = format!("{session}MCP-Protocol-Version: {version}\r\n");
            post("/mcp", &headers, message.to_string())
        }
    };
    let call = legacy("tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } }));
    let notification = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
    let cancelled = notification("notifications/cancelled", json!({ "requestId": 7 }));
    let initialized = notification("notifications/initialized", json!({}));
    let response = json!({ "jsonrpc": "2.0", "id": 7, "result": {} });
    let subscribe = legacy("resources/subscribe", json!({ "uri": "r://text" }));
    check_first_request("a ping", message(ping()), 200).await;
    check_first_request("a call", message(call.clone()), 200).await;
    check_first_request("a call with its revision", version("2025-06-18", call), 200).await;
    check_first_request("an unknown revision", version("1999-01-01", ping()), 400).await;
    check_first_request("a list", message(legacy("tools/list", json!({}))), 200).await;
    check_first_request("a subscription", message(subscribe), 200).await;
    check_first_request("a cancellation", message(cancelled), 202).await;
    check_first_request("initialized", message(initialized), 202).await;
    check_first_request("a response", message(response), 202).await;
    // The revision of the session has no batches. Without a session, 2025-03-26 is assumed.
    check_first_request("a batch", message(json!([ping()])), 400).await;
    check_first_request("a batch of 2025-03-26", version("2025-03-26", json!([ping()])), 200).await;
    check_first_request("an unknown method", message(legacy("x", json!({}))), 200).await;
    check_first_request("a malformed message", message(json!({})), 400).await;
    check_first_request("the stream", |session| without_body("GET", session), 200).await;
    // The stream of notifications is continued by a new one.
    let resumed = |session: &str| without_body("GET", &format!("{session}Last-Event-ID: 0-0\r\n"));
    check_first_request("the stream after an event", resumed, 200).await;
    // The stream of a call is lost.
    let of_call = |session: &str| without_body("GET", &format!("{session}Last-Event-ID: 5-1\r\n"));
    check_first_request("the stream of an unknown call", of_call, 404).await;
    check_first_request("the end", |session| without_body("DELETE", session), 200).await;
}

/// `initialize` opens another session than the one that it names.
#[tokio::test]
async fn initialize_ignores_the_session_that_it_names() {
    let server = serving().await;
    let own = open(&server, "").await;
    let deleted = open(&server, "").await;
    assert_eq!(delete(&server, &deleted).await, 200);
    let lost = lost().await;
    let named = |id: &str| format!("Mcp-Session-Id: {id}\r\n{BOTH}");
    for (name, headers) in [
        ("own", own.clone()),
        ("lost", lost),
        ("deleted", deleted),
        ("unknown", named("stale")),
        ("of an earlier version", named(&"0".repeat(32))),
        ("empty", named("")),
        ("long", named(&"a".repeat(4_000))),
        ("not ASCII", named("\u{e9}")),
        ("two", format!("{own}{}", named("stale"))),
        ("none", BOTH.to_owned()),
    ] {
        let reply = ask(&server, &headers, &initialize()).await;
        let id = reply.header("mcp-session-id").unwrap_or_else(|| panic!("{name}: {reply:?}"));
        assert!(!headers.contains(id), "{name}");
        assert_eq!(ask(&server, &named(id), &ping()).await.status, 200, "{name}");
    }
    assert_eq!(ask(&server, &own, &ping()).await.status, 200);
}

#[tokio::test]
async fn ended_sessions_are_not_opened_again() {
    let server = serving().await;
    let (own, lost, unknown) = (open(&server, "").await, lost().await, lost().await);
    assert_eq!(ask(&server, &lost, &ping()).await.status, 200);
    for (name, session, expected) in [
        ("a session", &own, [200, 404]),
        ("a session that was opened again", &lost, [200, 404]),
        ("a session from before the restart", &unknown, [200, 404]),
    ] {
        for expected in expected {
            assert_eq!(delete(&server, session).await, expected, "{name}");
        }
        assert_eq!(ask(&server, session, &ping()).await.status, 404, "{name}");
        let (_, status) = head(&server, without_body("GET", session)).await;
        assert_eq!(status, 404, "{name}");
    }
    // After another restart, the end is forgotten: the client gets a new session.
    assert_eq!(ask(&serving().await, &own, &ping()).await.status, 200);
}

fn callers() -> HttpConfig {
    let mut http = HttpConfig::default();
    for name in ["ada", "bob"] {
        http.bearer.allow_principal(Principal::new(name), name);
    }
    http
}

fn token(name: &str) -> String {
    format!("Authorization: Bearer {name}\r\n")
}

/// The id of another caller opens no session, also before its owner has opened it again.
#[tokio::test]
async fn ids_belong_to_their_caller() {
    let anonymous = lost().await;
    let session = {
        let before = serve(settings(), callers()).await;
        open(&before, &token("ada")).await
    };
    let id = session.lines().next().unwrap();
    let as_bob = format!("{id}\r\n{BOTH}{}", token("bob"));
    let server = serve(settings(), callers()).await;
    for (name, headers, status) in [
        ("another caller", as_bob.clone(), 404),
        ("an anonymous session", format!("{anonymous}{}", token("bob")), 404),
        ("no token", format!("{id}\r\n{BOTH}"), 401),
        ("the owner", session.clone(), 200),
        ("another caller again", as_bob.clone(), 404),
    ] {
        assert_eq!(ask(&server, &headers, &ping()).await.status, status, "{name}");
    }
    assert_eq!(delete(&server, &as_bob).await, 404);
    assert_eq!(ask(&server, &session, &ping()).await.status, 200);
    // On a server without tokens, all callers are anonymous.
    let open_server = serving().await;
    assert_eq!(ask(&open_server, &format!("{id}\r\n{BOTH}"), &ping()).await.status, 404);
}

/// Many ids open as many sessions as `initialize` would.
#[tokio::test]
async fn many_ids_replace_the_sessions_of_their_caller() {
    let before = serve(settings(), callers()).await;
    let settings = McpConfig { sessions: 4, ..settings() };
    let (mcp, server) = serve_mcp(settings.clone()).await;
    drop((mcp, server));
    let server = serve(settings, callers()).await;
    let ada = open(&server, &token("ada")).await;
    let level = legacy("logging/setLevel", json!({ "level": "emergency" }));
    assert_eq!(ask(&server, &ada, &level).await.status, 200);
    let mut streams = Vec::new();
    for number in 0..20 {
        let id = open(&before, &token("bob")).await;
        assert_eq!(ask(&server, &id, &ping()).await.status, 200, "{number}");
        if number >= 17 {
            let (stream, status) = head(&server, without_body("GET", &id)).await;
            assert_eq!(status, 200, "{number}");
            streams.push(stream);
        }
    }
    // The session of another caller was not replaced.
    let logs = legacy("tools/call", json!({ "name": "logs" }));
    let (mut events, _) = head(&server, post("/mcp", &ada, logs.to_string())).await;
    let (_, first) = events.session_message().await.unwrap();
    assert_fits("level", &json!({ "params": { "level": "emergency" } }), &first);
    // While all are in use, further ones are refused, as `initialize` is.
    let (_stream, status) = head(&server, without_body("GET", &ada)).await;
    assert_eq!(status, 200);
    let another = open(&before, &token("bob")).await;
    let refused = ask(&server, &another, &ping()).await;
    assert_eq!(refused.status, 503);
    assert_fits("refused", &json!({ "id": 1, "error": { "code": -32005 } }), &refused.json());
    assert_eq!(delete(&server, &another).await, 503);
}

/// Two first messages at the same time have the same session.
#[tokio::test]
async fn concurrent_messages_open_one_session() {
    let (mcp, server) = serve_mcp(settings()).await;
    let lost = lost().await;
    let first = async || ask(&server, &lost, &ping()).await.status;
    let statuses = futures_util::future::join_all((0..8).map(|_| first())).await;
    assert_eq!(statuses, [200; 8]);
    assert_eq!(mcp.session_count(), 1);
}

/// A session that was opened again works like any other.
#[tokio::test]
async fn a_session_that_was_opened_again_has_all_features() {
    let lost = lost().await;
    let (mcp, server) = serve_mcp(settings()).await;
    // The server can ask the client, whose capabilities the id carries.
    let message = legacy("tools/call", json!({ "name": "greet", "arguments": {} }));
    let (mut events, _) = head(&server, post("/mcp", &lost, message.to_string())).await;
    let (_, request) = events.session_message().await.unwrap();
    assert_eq!(request["method"], "elicitation/create", "{request}");
    let declined =
        json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "action": "decline" } });
    assert_eq!(ask(&server, &lost, &declined).await.status, 202);
    assert_eq!(events.session_message().await.unwrap().1["id"], 1);
    // A stream that is lost later is continued.
    let told = |id: u32| {
        let params = json!({ "name": "told_wait", "_meta": { "progressToken": "t" } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let (mut events, _) = head(&server, post("/mcp", &lost, told(2).to_string())).await;
    let (first, _) = events.session_message().await.unwrap();
    drop(events);
    server.gate.open(1);
    let resume = without_body("GET", &format!("{lost}Last-Event-ID: {first}\r\n"));
    let (mut resumed, status) = head(&server, resume).await;
    assert_eq!(status, 200);
    assert_eq!(resumed.session_message().await.unwrap().1["id"], 2);
    assert_eq!(in_time("the end", resumed.event()).await, None);
    // Calls are cancelled.
    let (mut events, _) = head(&server, post("/mcp", &lost, told(3).to_string())).await;
    events.session_message().await.unwrap();
    until("the call to wait", || server.gate.entered() == 2).await;
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 },
    });
    assert_eq!(ask(&server, &lost, &cancel).await.status, 202);
    assert_eq!(in_time("the end", events.session_message()).await, None);
    // Subscriptions and the log level are set.
    let (mut events, _) = head(&server, without_body("GET", &lost)).await;
    let subscribe = legacy("resources/subscribe", json!({ "uri": "r://text" }));
    assert_eq!(ask(&server, &lost, &subscribe).await.status, 200);
    mcp.resource_updated("r://text");
    let (_, updated) = events.session_message().await.unwrap();
    assert_eq!(updated["method"], "notifications/resources/updated");
    mcp.notifier().resource_list_changed();
    let (_, changed) = events.session_message().await.unwrap();
    assert_eq!(changed["method"], "notifications/resources/list_changed");
    server.closing.cancel();
    assert_eq!(in_time("the end", events.event()).await, None);
}

/// A server that saves sessions in a folder.
async fn saving(folder: &Path) -> (Mcp, TestServer) {
    let store = StoredNodes::deferred(folder, Duration::from_secs(60));
    let settings = McpConfig { session_store: Some(Arc::new(store)), ..settings() };
    let (mcp, server) = serve_mcp(settings).await;
    mcp.save_sessions();
    (mcp, server)
}

/// The level of the first log message of a call.
async fn level(server: &TestServer, session: &str) -> Value {
    let logs = legacy("tools/call", json!({ "name": "logs" }));
    let (mut events, status) = head(server, post("/mcp", session, logs.to_string())).await;
    assert_eq!(status, 200);
    events.session_message().await.unwrap().1["params"]["level"].clone()
}

/// Capabilities of which the id does not carry `elicitation`.
fn initialize_with_large_capabilities() -> Value {
    let mut hello = initialize();
    hello["params"]["capabilities"]["elicitation"]["form"]["x"] = "x".repeat(1_000).into();
    hello
}

#[tokio::test]
async fn a_store_has_what_ids_do_not_carry() {
    let folder = tempfile::tempdir().unwrap();
    let (mcp, server) = saving(folder.path()).await;
    let (changed, ended, unchanged) =
        (open(&server, "").await, open(&server, "").await, open(&server, "").await);
    let opened = ask(&server, BOTH, &initialize_with_large_capabilities()).await;
    let large = opened.header("mcp-session-id").unwrap();
    let large = format!("Mcp-Session-Id: {large}\r\n{BOTH}");
    for (session, method, params) in [
        (&unchanged, "ping", json!({})),
        (&large, "ping", json!({})),
        (&changed, "logging/setLevel", json!({ "level": "debug" })),
        (&changed, "logging/setLevel", json!({ "level": "emergency" })),
        (&changed, "resources/subscribe", json!({ "uri": "r://text" })),
        (&changed, "resources/subscribe", json!({ "uri": "r://json" })),
        (&changed, "resources/unsubscribe", json!({ "uri": "r://json" })),
        (&ended, "logging/setLevel", json!({ "level": "emergency" })),
    ] {
        assert_eq!(ask(&server, session, &legacy(method, params)).await.status, 200, "{method}");
    }
    assert_eq!(delete(&server, &ended).await, 200);
    mcp.stop_saving_sessions().await;

    let (mcp, server) = saving(folder.path()).await;
    assert_eq!(ask(&server, &ended, &ping()).await.status, 404);
    assert_eq!(level(&server, &changed).await, "emergency");
    assert_eq!(level(&server, &unchanged).await, "info");
    let (mut events, _) = head(&server, without_body("GET", &changed)).await;
    // It may have changed while the server did not run.
    for _ in 0..2 {
        let (_, updated) = events.session_message().await.unwrap();
        let expected =
            json!({ "method": "notifications/resources/updated", "params": { "uri": "r://text" } });
        assert_fits("updated", &expected, &updated);
        mcp.resource_updated("r://json");
        mcp.resource_updated("r://text");
    }
    let greet = legacy("tools/call", json!({ "name": "greet", "arguments": {} }));
    let (mut events, _) = head(&server, post("/mcp", &large, greet.to_string())).await;
    assert_eq!(events.session_message().await.unwrap().1["method"], "elicitation/create");
    // Without the store, the state is that of the ids.
    let server = serving().await;
    assert_eq!(ask(&server, &ended, &ping()).await.status, 200);
    assert_eq!(level(&server, &changed).await, "info");
    mcp.stop_saving_sessions().await;
}

/// The file is created by the first change that an id does not carry.
#[tokio::test]
async fn plain_sessions_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (mcp, server) = saving(&data).await;
    let session = open(&server, "").await;
    for _ in 0..3 {
        assert_eq!(ask(&server, &session, &ping()).await.status, 200);
    }
    assert_eq!(ask(&server, &lost().await, &ping()).await.status, 200);
    assert!(!data.exists());
    assert_eq!(delete(&server, &session).await, 200);
    mcp.stop_saving_sessions().await;
    assert!(data.join("sessions.sqlite").exists());
}

/// A store that fails does not stop clients.
#[tokio::test]
async fn a_store_that_cannot_be_read_is_not_needed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sessions.sqlite"), "not a database").unwrap();
    let lost = lost().await;
    let (mcp, server) = saving(folder.path()).await;
    let level = legacy("logging/setLevel", json!({ "level": "emergency" }));
    assert_eq!(ask(&server, &lost, &level).await.status, 200);
    assert_eq!(delete(&server, &lost).await, 200);
    assert_eq!(ask(&server, &lost, &ping()).await.status, 404);
    mcp.stop_saving_sessions().await;
}
