//! Sessions of Streamable HTTP: their streams, their end and their limits.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::access::Principal;
use trunkline::http::HttpConfig;
use trunkline_mcp::McpConfig;
use trunkline_mcp::nodes::{Nodes, StoredNodes};

use crate::support::{
    Client, Reply, TestServer, assert_fits, in_time, legacy, post, serve, serve_mcp, settings,
    until,
};

const BOTH: &str = "Accept: application/json, text/event-stream\r\n";

async fn serving() -> TestServer {
    serve(settings(), Default::default()).await
}

fn initialize() -> Value {
    let info = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    legacy("initialize", params)
}

/// Opens a session. Returns the headers of its requests.
async fn open(server: &TestServer) -> String {
    let reply = server.client().await.ask(post("/mcp", BOTH, initialize().to_string())).await;
    format!("Mcp-Session-Id: {}\r\n{BOTH}", reply.header("mcp-session-id").unwrap())
}

async fn ask(server: &TestServer, headers: &str, message: &Value) -> Reply {
    server.client().await.ask(post("/mcp", headers, message.to_string())).await
}

fn without_body(method: &str, headers: &str) -> String {
    format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

/// A call of a tool that sends progress.
fn call(tool: &str) -> Value {
    legacy("tools/call", json!({ "name": tool, "_meta": { "progressToken": "t" } }))
}

async fn stream(server: &TestServer, request: impl AsRef<[u8]>) -> Client {
    let mut stream = server.client().await;
    stream.send(request).await;
    assert_eq!(stream.head().await.status, 200);
    stream
}

#[tokio::test]
async fn requests_name_their_session() {
    let server = serving().await;
    let session = open(&server).await;
    let ping = legacy("ping", json!({}));
    let forged = format!("Mcp-Session-Id: {}\r\n", "0".repeat(32));
    let not_ascii = "Mcp-Session-Id: \u{e9}\r\n";
    let long = format!("Mcp-Session-Id: {}\r\n", "a".repeat(4_000));
    let twice = format!("{forged}{session}");
    for (name, headers, status) in [
        ("own", &*session, 200),
        ("none", "", 200),
        ("forged", &forged, 404),
        ("two", &twice, 404),
        ("empty", "Mcp-Session-Id:\r\n", 404),
        ("not ASCII", not_ascii, 404),
        ("long", &long, 404),
    ] {
        assert_eq!(ask(&server, headers, &ping).await.status, status, "{name}");
    }
    for (method, headers, status) in [
        ("GET", format!("{forged}{BOTH}"), 404),
        ("GET", BOTH.to_owned(), 405),
        ("GET", session.replace("text/event-stream", "text/html"), 406),
        ("GET", format!("{session}Last-Event-ID: x\r\n"), 404),
        ("GET", format!("{session}Last-Event-ID: 77-1\r\n"), 404),
        ("DELETE", forged.clone(), 404),
        ("DELETE", String::new(), 405),
        ("DELETE", session.clone(), 200),
        ("DELETE", session.clone(), 404),
    ] {
        let reply = server.client().await.ask(without_body(method, &headers)).await;
        assert_eq!(reply.status, status, "{method} {headers}");
    }
    let ended = ask(&server, &session, &ping).await;
    assert_eq!(ended.status, 404);
    assert_fits("ended", &json!({ "id": 1, "error": { "code": -32602 } }), &ended.json());
}

#[tokio::test]
async fn sessions_belong_to_their_principal() {
    let mut http = HttpConfig::default();
    for name in ["ada", "bob"] {
        http.bearer.allow_principal(Principal::new(name), name);
    }
    let server = serve(settings(), http).await;
    let token = |name: &str| format!("Authorization: Bearer {name}\r\n");
    let opened = ask(&server, &format!("{BOTH}{}", token("ada")), &initialize()).await;
    let session = format!("{BOTH}Mcp-Session-Id: {}\r\n", opened.header("mcp-session-id").unwrap());
    let ping = legacy("ping", json!({}));
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    for (name, status) in [("bob", [404, 404, 404, 404]), ("ada", [200, 202, 404, 200])] {
        let headers = format!("{session}{}", token(name));
        let get = without_body("GET", &format!("{headers}Last-Event-ID: 9-9\r\n"));
        let found = [
            ask(&server, &headers, &ping).await.status,
            ask(&server, &headers, &response).await.status,
            server.client().await.ask(get).await.status,
            server.client().await.ask(without_body("DELETE", &headers)).await.status,
        ];
        assert_eq!(found, status, "{name}");
    }
}

/// A caller that opens many sessions, and uses them, ends its own.
#[tokio::test]
async fn callers_do_not_end_the_sessions_of_others() {
    let mut http = HttpConfig::default();
    for name in ["ada", "bob"] {
        http.bearer.allow_principal(Principal::new(name), name);
    }
    let folder = tempfile::tempdir().unwrap();
    let nodes = StoredNodes::open(folder.path(), Duration::from_secs(60)).unwrap();
    let nodes: Arc<dyn Nodes> = Arc::new(nodes);
    for nodes in [None, Some(nodes)] {
        let settings = McpConfig { sessions: 4, nodes, ..settings() };
        let server = serve(settings, http.clone()).await;
        let open = async |name: &str| {
            let headers = format!("{BOTH}Authorization: Bearer {name}\r\n");
            let opened = ask(&server, &headers, &initialize()).await;
            let id = opened.header("mcp-session-id").map(str::to_owned);
            id.map(|id| format!("{headers}Mcp-Session-Id: {id}\r\n"))
        };
        let ping =
            async |session: &str| ask(&server, session, &legacy("ping", json!({}))).await.status;
        let ada = open("ada").await.unwrap();
        assert_eq!(ping(&ada).await, 200);
        for _ in 0..20 {
            // Nodes refuse a session while all those of the caller were used just now.
            let Some(bob) = open("bob").await else { continue };
            assert_eq!(ping(&bob).await, 200);
        }
        assert_eq!(ping(&ada).await, 200);
    }
}

#[tokio::test]
async fn the_revision_of_every_message_is_checked() {
    let server = serving().await;
    let session = open(&server).await;
    let response = json!({ "jsonrpc": "2.0", "id": 7, "result": {} });
    for (version, is_supported) in
        [("2025-11-25", true), ("2025-03-26", true), ("1999-01-01", false), ("", false)]
    {
        let headers = format!("{session}MCP-Protocol-Version: {version}\r\n");
        let unsupported = json!({ "error": { "code": -32600 } });
        let check = |name: &str, reply: Reply, expected: u16| {
            let expected = if is_supported { expected } else { 400 };
            assert_eq!(reply.status, expected, "{name} with {version:?}: {reply:?}");
            if !is_supported {
                assert_fits(name, &unsupported, &reply.json());
            }
        };
        check("a response", ask(&server, &headers, &response).await, 202);
        check("a request", ask(&server, &headers, &legacy("ping", json!({}))).await, 200);
        let batch = json!([legacy("ping", json!({}))]);
        if version != "2025-11-25" {
            check("a batch", ask(&server, &headers, &batch).await, 200);
        }
        let mut client = server.client().await;
        client.send(without_body("GET", &headers)).await;
        let status = if is_supported { 200 } else { 400 };
        assert_eq!(client.head().await.status, status, "GET with {version:?}");
        if !is_supported {
            let reply = server.client().await.ask(without_body("DELETE", &headers)).await;
            check("DELETE", reply, 200);
        }
    }
}

#[tokio::test]
async fn calls_of_sessions_run_to_their_end_when_the_server_stops() {
    let server = serving().await;
    let session = open(&server).await;
    let mut events = stream(&server, post("/mcp", &session, call("told_wait").to_string())).await;
    events.session_message().await.unwrap();
    let mut other = stream(&server, without_body("GET", &session)).await;
    server.closing.cancel();
    while in_time("the end of the other stream", other.event()).await.is_some() {}
    server.gate.open(1);
    let (_, reply) = events.session_message().await.unwrap();
    assert_fits("reply", &json!({ "id": 1, "result": { "isError": false } }), &reply);
}

#[tokio::test]
async fn calls_of_disconnected_clients_end_with_the_server() {
    for (is_open, expected) in [(true, (0, 1, 0)), (false, (2, 0, 1))] {
        let (mcp, server) = serve_mcp(settings()).await;
        let session = open(&server).await;
        let request = post("/mcp", &session, call("told_wait").to_string());
        let mut events = stream(&server, request).await;
        events.session_message().await.unwrap();
        drop(events);
        in_time("the end of the server", server.handle.stop()).await;
        let limit = Duration::from_millis(if is_open { 10_000 } else { 50 });
        if is_open {
            server.gate.open(1);
        }
        // The call, and the task that stores its messages for a client that reconnects.
        let dropped = in_time("the end of the calls", mcp.stop(limit)).await;
        assert_eq!((dropped, server.gate.passed(), server.gate.dropped()), expected);
    }
}

#[tokio::test]
async fn batches_belong_to_their_session() {
    let (mcp, server) = serve_mcp(settings()).await;
    let mut opening = initialize();
    opening["params"]["protocolVersion"] = "2025-03-26".into();
    let reply = server.client().await.ask(post("/mcp", BOTH, opening.to_string())).await;
    let session = format!("Mcp-Session-Id: {}\r\n{BOTH}", reply.header("mcp-session-id").unwrap());
    let request = |id: u32, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let mut events = stream(&server, without_body("GET", &session)).await;
    let batch = json!([
        request(1, "resources/subscribe", json!({ "uri": "r://text" })),
        request(2, "logging/setLevel", json!({ "level": "emergency" })),
    ]);
    let replies = ask(&server, &session, &batch).await.json();
    assert_fits("batch", &json!([{ "id": 1, "result": {} }, { "id": 2, "result": {} }]), &replies);
    mcp.resource_updated("r://text");
    let (_, updated) = events.session_message().await.unwrap();
    assert_eq!(updated["method"], "notifications/resources/updated");
    mcp.notifier().resource_list_changed();
    let (_, changed) = events.session_message().await.unwrap();
    assert_eq!(changed["method"], "notifications/resources/list_changed");
    let logs = request(3, "tools/call", json!({ "name": "logs" }));
    let mut logged = stream(&server, post("/mcp", &session, logs.to_string())).await;
    let (_, first) = logged.session_message().await.unwrap();
    assert_fits("level", &json!({ "params": { "level": "emergency" } }), &first);

    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 4 },
    });
    let wait = |id: u32| request(id, "tools/call", json!({ "name": "wait" }));
    // A notification in a batch cancels the call of another batch.
    let waiting = async || {
        let mut client = server.client().await;
        let batch = json!([wait(4), request(5, "ping", json!({}))]);
        client.send(post("/mcp", &session, batch.to_string())).await;
        client
    };
    let mut cancelled = waiting().await;
    until("the call to wait", || server.gate.entered() == 1).await;
    assert_eq!(ask(&server, &session, &json!([cancel])).await.status, 202);
    let replies = cancelled.ask("").await.json();
    let expected = json!([{ "id": 4, "error": { "code": -32800 } }, { "id": 5, "result": {} }]);
    assert_fits("cancelled", &expected, &replies);
    // The end of the session cancels the calls of its batches, too.
    let mut ended = waiting().await;
    until("the call to wait", || server.gate.entered() == 2).await;
    assert_eq!(server.client().await.ask(without_body("DELETE", &session)).await.status, 200);
    assert_fits("ended", &expected, &ended.ask("").await.json());
}

#[tokio::test]
async fn a_lost_stream_is_continued_with_its_last_event() {
    let server = serving().await;
    let session = open(&server).await;
    let request = post("/mcp", &session, call("told_wait").to_string());
    let mut events = stream(&server, request).await;
    let (first, told) = events.session_message().await.unwrap();
    assert_eq!(told["method"], "notifications/progress");
    drop(events);
    server.gate.open(1);
    let resume = |id: &str| without_body("GET", &format!("{session}Last-Event-ID: {id}\r\n"));
    let mut resumed = stream(&server, resume(&first)).await;
    let (last, reply) = resumed.session_message().await.unwrap();
    assert_fits("reply", &json!({ "id": 1, "result": { "isError": false } }), &reply);
    assert_eq!(in_time("the end", resumed.event()).await, None);
    // From the beginning, both are sent again, and after the last event nothing is.
    let mut whole = stream(&server, resume("1-0")).await;
    assert_eq!(whole.session_message().await.unwrap().0, first);
    assert_eq!(whole.session_message().await.unwrap().0, last);
    let mut nothing = stream(&server, resume(&last)).await;
    assert_eq!(in_time("the end", nothing.session_message()).await, None);
}

#[tokio::test]
async fn calls_are_cancelled_by_their_session() {
    let server = serving().await;
    let session = open(&server).await;
    let mut events = stream(&server, post("/mcp", &session, call("told_wait").to_string())).await;
    events.session_message().await.unwrap();
    // Another call with the same id is refused.
    let repeated = ask(&server, &session, &call("wait")).await;
    assert_fits("repeated", &json!({ "error": { "code": -32600 } }), &repeated.json());
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
    });
    let other = open(&server).await;
    assert_eq!(ask(&server, &other, &cancel).await.status, 202);
    assert_eq!(ask(&server, &session, &cancel).await.status, 202);
    assert_eq!(in_time("the end", events.session_message()).await, None);
    // The end of a session cancels its calls, too.
    let mut events = stream(&server, post("/mcp", &other, call("told_wait").to_string())).await;
    events.session_message().await.unwrap();
    assert_eq!(server.client().await.ask(without_body("DELETE", &other)).await.status, 200);
    assert_eq!(in_time("the end", events.session_message()).await, None);
}

#[tokio::test]
async fn subscribers_are_notified_of_changed_resources() {
    let (mcp, server) = serve_mcp(settings()).await;
    let session = open(&server).await;
    let mut events = stream(&server, without_body("GET", &session)).await;
    let subscribe = |method: &str, uri: &str| legacy(method, json!({ "uri": uri }));
    let unknown = ask(&server, &session, &subscribe("resources/subscribe", "r://unknown")).await;
    assert_fits("unknown", &json!({ "error": { "code": -32002 } }), &unknown.json());
    for uri in ["r://text", "r://json"] {
        let reply = ask(&server, &session, &subscribe("resources/subscribe", uri)).await;
        assert_fits(uri, &json!({ "result": {} }), &reply.json());
    }
    ask(&server, &session, &subscribe("resources/unsubscribe", "r://json")).await;
    // The URIs of a session are limited.
    let mut long = 0;
    loop {
        let uri = format!("r://files/{long}{}", "x".repeat(8_000));
        let reply = ask(&server, &session, &subscribe("resources/subscribe", &uri)).await.json();
        if reply["error"]["code"] == -32602 {
            break;
        }
        assert_fits(&uri, &json!({ "result": {} }), &reply);
        long += 1;
    }
    assert_eq!(long, 8);
    // Changes that the client has not read are merged.
    for _ in 0..1_000 {
        mcp.resource_updated("r://json");
        mcp.resource_updated("r://text");
    }
    let (first, updated) = events.session_message().await.unwrap();
    let expected =
        json!({ "method": "notifications/resources/updated", "params": { "uri": "r://text" } });
    assert_fits("updated", &expected, &updated);
    // A second stream replaces the first, and continues it.
    let resumed = without_body("GET", &format!("{session}Last-Event-ID: {first}\r\n"));
    let mut resumed = stream(&server, resumed).await;
    while in_time("the end of the first", events.session_message()).await.is_some() {}
    mcp.resource_updated("r://text");
    assert_fits("updated again", &expected, &resumed.session_message().await.unwrap().1);
    server.closing.cancel();
    while in_time("the end", resumed.event()).await.is_some() {}
}

#[tokio::test]
async fn unused_sessions_make_room_for_others() {
    let server = serve(McpConfig { sessions: 10, ..settings() }, Default::default()).await;
    let ping = legacy("ping", json!({}));
    let mut used = Vec::new();
    for _ in 0..9 {
        let session = open(&server).await;
        assert_eq!(ask(&server, &session, &ping).await.status, 200);
        used.push(session);
    }
    let mut client = server.client().await;
    for _ in 0..1_000 {
        let reply = client.ask(post("/mcp", BOTH, initialize().to_string())).await;
        assert_eq!(reply.status, 200);
    }
    for session in &used {
        assert_eq!(ask(&server, session, &ping).await.status, 200);
    }
    // If all were used, the least recently used one without streams is replaced.
    let mut streams = Vec::new();
    for session in &used[1..] {
        streams.push(stream(&server, without_body("GET", session)).await);
    }
    let last = open(&server).await;
    assert_eq!(ask(&server, &last, &ping).await.status, 200);
    let next = open(&server).await;
    assert_eq!(ask(&server, &next, &ping).await.status, 200);
    // A session that was replaced is opened again, in place of another one.
    assert_eq!(ask(&server, &used[0], &ping).await.status, 200);
    for session in [&last, &next] {
        streams.push(stream(&server, without_body("GET", session)).await);
    }
    let refused = client.ask(post("/mcp", BOTH, initialize().to_string())).await;
    assert_eq!(refused.status, 503);
    assert_fits("refused", &json!({ "error": { "code": -32005 } }), &refused.json());
}

#[tokio::test]
async fn sessions_can_be_disabled_and_expire() {
    let server = serve(McpConfig { sessions: 0, ..settings() }, Default::default()).await;
    let reply = server.client().await.ask(post("/mcp", BOTH, initialize().to_string())).await;
    assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
    let get = server.client().await.ask(without_body("GET", BOTH)).await;
    assert_eq!(get.status, 405);
    // A session that has expired is opened again, without its log level.
    let brief = McpConfig { session_idle: Duration::ZERO, ..settings() };
    let server = serve(brief, Default::default()).await;
    let session = open(&server).await;
    let level = legacy("logging/setLevel", json!({ "level": "emergency" }));
    assert_eq!(ask(&server, &session, &level).await.status, 200);
    let mut logs = stream(&server, post("/mcp", &session, call("logs").to_string())).await;
    let (_, first) = logs.session_message().await.unwrap();
    assert_fits("level", &json!({ "params": { "level": "info" } }), &first);
}

/// Calls a tool that asks the client, and declines. Returns the numbers of the stream and of the request.
async fn asked(server: &TestServer, headers: &str) -> (String, Value) {
    let message = legacy("tools/call", json!({ "name": "greet", "arguments": {} }));
    let mut stream = stream(server, post("/mcp", headers, message.to_string())).await;
    let (event, request) = stream.session_message().await.unwrap();
    assert_eq!(request["method"], "elicitation/create", "{request}");
    let declined =
        json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "action": "decline" } });
    assert_eq!(ask(server, headers, &declined).await.status, 202);
    let (_, reply) = stream.session_message().await.unwrap();
    assert_eq!(reply["id"], 1, "{reply}");
    (event.split_once('-').unwrap().0.to_owned(), request["id"].clone())
}

/// A node with too many sessions removes its copy of one, which other nodes keep, and reads it again later.
#[tokio::test]
async fn a_session_that_is_read_again_has_other_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = Vec::new();
    for sessions in [1, 10] {
        let shared = StoredNodes::open(folder.path(), Duration::from_secs(60)).unwrap();
        let shared: Arc<dyn Nodes> = Arc::new(shared);
        let (mcp, server) =
            serve_mcp(McpConfig { sessions, nodes: Some(shared), ..settings() }).await;
        mcp.join_nodes().await.unwrap();
        nodes.push((server, mcp));
    }
    let (small, large) = (&nodes[0].0, &nodes[1].0);
    let mut hello = initialize();
    hello["params"]["capabilities"] = json!({ "elicitation": {} });
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let opened = ask(large, BOTH, &hello).await;
        let id = opened.header("mcp-session-id").unwrap();
        sessions.push(format!("Mcp-Session-Id: {id}\r\n{BOTH}"));
    }
    let first = asked(small, &sessions[0]).await;
    asked(small, &sessions[1]).await;
    let again = asked(small, &sessions[0]).await;
    assert_ne!(first.0, again.0);
    assert_ne!(first.1, again.1);
    for (_, mcp) in &nodes {
        mcp.leave_nodes().await;
    }
}
