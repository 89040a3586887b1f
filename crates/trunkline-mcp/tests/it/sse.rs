//! HTTP+SSE: a stream that names its endpoint, and messages that are posted there.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::http;
use trunkline_mcp::McpConfig;

use crate::support::{
    Client, Reply, TestServer, assert_fits, completed, in_time, legacy, modern, post, serve,
    serve_mcp, settings, until,
};

/// A client with its stream.
struct Stream {
    events: Client,
    endpoint: String,
}

const OPEN: &str = "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";

impl Stream {
    async fn open(server: &TestServer) -> Self {
        let mut events = server.client().await;
        events.send(OPEN).await;
        let head = events.head().await;
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        assert_eq!(head.header("cache-control"), Some("no-store"));
        let first = events.event().await.unwrap();
        let endpoint = first.strip_prefix("event: endpoint\ndata: ");
        let endpoint = endpoint.unwrap_or_else(|| panic!("{first:?}")).to_owned();
        Self { events, endpoint }
    }

    fn session(&self) -> &str {
        self.endpoint.strip_prefix("/messages?sessionId=").unwrap()
    }

    /// Posts a message, which is taken.
    async fn post(&self, server: &TestServer, message: &Value) {
        let reply = send(server, &self.endpoint, &message.to_string()).await;
        assert_eq!((reply.status, &reply.body[..]), (202, &b""[..]), "{message}");
    }

    async fn ask(&mut self, server: &TestServer, message: &Value) -> Value {
        self.post(server, message).await;
        self.events.message().await.expect("a reply")
    }
}

async fn send(server: &TestServer, path: &str, body: &str) -> Reply {
    server.client().await.ask(post(path, "", body)).await
}

async fn serving() -> TestServer {
    serve(settings(), http::HttpConfig::default()).await
}

fn call(id: i64, tool: &str) -> Value {
    let mut message = legacy("tools/call", json!({ "name": tool }));
    message["id"] = id.into();
    message
}

fn ping() -> Value {
    legacy("ping", json!({}))
}

fn pong() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "result": {} })
}

#[tokio::test]
async fn messages_are_answered_on_the_stream() {
    let server = serving().await;
    let mut stream = Stream::open(&server).await;
    let initialize = legacy("initialize", json!({ "protocolVersion": "2024-11-05" }));
    let rows = [
        (initialize, json!({ "id": 1, "result": { "protocolVersion": "2024-11-05" } })),
        (ping(), pong()),
        (call(7, "steps"), completed(7, "done")),
        (call(8, "nope"), json!({ "id": 8, "error": { "code": -32602 } })),
        (
            call(9, "newlines"),
            json!({ "id": 9, "result": { "structuredContent": { "a": [1, 2] } } }),
        ),
        (legacy("no/such", json!({})), json!({ "id": 1, "error": { "code": -32601 } })),
        (legacy("plain", json!({ "x": 1 })), json!({ "id": 1, "result": { "x": 1 } })),
        (modern("tools/list", json!({})), json!({ "result": { "resultType": "complete" } })),
        (json!(7), json!({ "error": { "code": -32600 } })),
        (json!([ping()]), json!({ "error": { "code": -32600 } })),
    ];
    for (message, expected) in rows {
        let reply = stream.ask(&server, &message).await;
        assert_fits(&message.to_string(), &expected, &reply);
    }
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    stream.post(&server, &notification).await;
    let reply = send(&server, &stream.endpoint, "{").await;
    assert_eq!(reply.status, 202);
    let refused = stream.events.message().await.unwrap();
    assert_fits("not JSON", &json!({ "error": { "code": -32700 } }), &refused);
}

#[tokio::test]
async fn batches_need_their_revision() {
    let server = serving().await;
    let mut stream = Stream::open(&server).await;
    let batch = json!([ping(), call(2, "nothing")]);
    for (version, good) in [("2024-11-05", false), ("2025-03-26", true), ("2025-06-18", false)] {
        stream.ask(&server, &legacy("initialize", json!({ "protocolVersion": version }))).await;
        let reply = stream.ask(&server, &batch).await;
        let expected = json!({ "error": { "code": -32600 } });
        let expected = if good { json!([pong(), completed(2, "null")]) } else { expected };
        assert_fits(version, &expected, &reply);
    }
}

#[tokio::test]
async fn session_ids_are_random_and_distinguish_clients() {
    let server = serving().await;
    let (mut one, mut two) = (Stream::open(&server).await, Stream::open(&server).await);
    let sessions: HashSet<String> = [&one, &two].map(|stream| stream.session().to_owned()).into();
    assert_eq!(sessions.len(), 2);
    for session in sessions {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        assert!(session.len() == 32 && session.bytes().all(is_hex), "{session}");
    }
    // The same id runs for both.
    one.post(&server, &call(1, "wait")).await;
    two.post(&server, &call(1, "wait")).await;
    until("both to wait", || server.gate.entered() == 2).await;
    // One cannot cancel the other's.
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 1 } });
    one.post(&server, &cancel).await;
    until("one call to be dropped", || server.gate.dropped() == 1).await;
    server.gate.open(1);
    assert_eq!(two.events.message().await, Some(completed(1, "done")));
    assert_eq!(one.ask(&server, &ping()).await, pong());
    assert_eq!(server.gate.dropped(), 1);
}

#[tokio::test]
async fn calls_of_one_client_run_side_by_side() {
    let server = serving().await;
    let mut stream = Stream::open(&server).await;
    stream.post(&server, &call(2, "wait")).await;
    stream.post(&server, &call(3, "wait")).await;
    until("both to wait", || server.gate.entered() == 2).await;
    assert_eq!(stream.ask(&server, &ping()).await, pong());
    server.gate.open(2);
    let mut ids = HashSet::new();
    for _ in 0..2 {
        ids.insert(stream.events.message().await.unwrap()["id"].as_i64().unwrap());
    }
    assert_eq!(ids, HashSet::from([2, 3]));
}

#[tokio::test]
async fn messages_without_a_valid_session_are_refused() {
    let server = serving().await;
    let stream = Stream::open(&server).await;
    let upper =
        stream.endpoint.to_ascii_uppercase().replace("/MESSAGES?SESSIONID", "/messages?sessionId");
    let shorter = &stream.endpoint[..stream.endpoint.len() - 1];
    let longer = format!("{}0", stream.endpoint);
    let guessed = format!("/messages?sessionId={:032x}", 1);
    let other = format!("/messages?session={}", stream.session());
    let rows = ["/messages", "/messages?sessionId=", shorter, &longer, &guessed, &other, &upper];
    for path in rows {
        // Without a letter among the digits, both cases are one.
        if path == stream.endpoint {
            continue;
        }
        let reply = send(&server, path, &ping().to_string()).await;
        assert_eq!(reply.status, 404, "{path}");
        assert_fits(path, &json!({ "error": { "code": -32602 } }), &reply.json());
        assert_eq!(reply.json().get("id"), None);
    }
    for request in ["GET /messages", "DELETE /sse", "PUT /messages"] {
        let request = format!("{request} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(server.client().await.ask(&request).await.status, 405, "{request}");
    }
    let body = ping().to_string();
    let foreign = post(&stream.endpoint, "Origin: http://evil.example\r\n", &body);
    assert_eq!(server.client().await.ask(foreign).await.status, 403);
    let foreign = OPEN.replace("Accept", "Origin: http://evil.example\r\nAccept");
    assert_eq!(server.client().await.ask(foreign).await.status, 403);
}

#[tokio::test]
async fn streams_need_the_token_too() {
    let mut http = http::HttpConfig::default();
    http.bearer.allow("secret");
    let server = serve(settings(), http).await;
    assert_eq!(server.client().await.ask(OPEN).await.status, 401);
    let mut client = server.client().await;
    client.send(OPEN.replace("Accept", "Authorization: Bearer secret\r\nAccept")).await;
    assert_eq!(client.head().await.status, 200);
    let endpoint = client.event().await.unwrap();
    let endpoint = endpoint.strip_prefix("event: endpoint\ndata: ").unwrap();
    assert_eq!(send(&server, endpoint, &ping().to_string()).await.status, 401);
}

/// The session id may be in a log, and other callers have tokens too.
#[tokio::test]
async fn only_the_principal_that_opened_a_stream_can_post_to_it() {
    let mut http = http::HttpConfig::default();
    http.bearer.allow_as("alice", "a");
    http.bearer.allow_as("mallory", "m");
    let server = serve(settings(), http).await;
    let mut events = server.client().await;
    events.send(OPEN.replacen("Accept", "Authorization: Bearer a\r\nAccept", 1)).await;
    assert_eq!(events.head().await.status, 200);
    let first = events.event().await.unwrap();
    let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap();
    for (token, expected) in [("m", 404), ("a", 202)] {
        let header = format!("Authorization: Bearer {token}\r\n");
        let message = post(endpoint, &header, ping().to_string());
        assert_eq!(server.client().await.ask(message).await.status, expected, "{token}");
    }
    assert_eq!(events.message().await.unwrap(), pong());
}

#[tokio::test]
async fn there_are_only_so_many_streams() {
    let server =
        serve(McpConfig { sse_clients: 2, ..settings() }, http::HttpConfig::default()).await;
    let (one, mut two) = (Stream::open(&server).await, Stream::open(&server).await);
    let full = server.client().await.ask(OPEN).await;
    assert_eq!(full.status, 503);
    assert_fits("full", &json!({ "error": { "code": -32005 } }), &full.json());
    // The session of a disconnected client ends and frees its slot.
    let gone = one.endpoint.clone();
    drop(one);
    let slot = async {
        loop {
            let mut client = server.client().await;
            client.send(OPEN).await;
            if client.head().await.status == 200 {
                return;
            }
        }
    };
    in_time("a slot for a stream", slot).await;
    assert_eq!(send(&server, &gone, &ping().to_string()).await.status, 404);
    assert_eq!(two.ask(&server, &ping()).await, pong());
}

#[tokio::test]
async fn streams_end_when_the_server_closes() {
    let server = serving().await;
    let mut stream = Stream::open(&server).await;
    stream.post(&server, &call(1, "wait")).await;
    until("the call to wait", || server.gate.entered() == 1).await;
    server.closing.cancel();
    let refused = send(&server, &stream.endpoint, &ping().to_string()).await.status;
    assert!([404, 503].contains(&refused), "{refused}");
    assert_eq!(server.client().await.ask(OPEN).await.status, 503);
    // Its call is not cut off, and its reply is the last event.
    server.gate.open(1);
    assert!(stream.events.event().await.is_some());
    assert_eq!(stream.events.event().await, None);
    assert!(server.handle.stop().await.is_complete());
}

#[tokio::test]
async fn calls_of_a_client_that_goes_run_on() {
    let server = serving().await;
    let stream = Stream::open(&server).await;
    stream.post(&server, &call(1, "wait")).await;
    until("the call to wait", || server.gate.entered() == 1).await;
    drop(stream);
    until("the connections to end", || server.handle.status().connections == 0).await;
    assert_eq!(server.gate.dropped(), 0);
    server.gate.open(1);
    until("the call to end", || server.gate.passed() == 1).await;
}

#[tokio::test]
async fn calls_of_a_client_that_goes_end_with_the_server() {
    for is_open in [true, false] {
        let (mcp, server) = serve_mcp(settings()).await;
        let stream = Stream::open(&server).await;
        stream.post(&server, &call(1, "wait")).await;
        until("the call to wait", || server.gate.entered() == 1).await;
        drop(stream);
        in_time("the end of the server", server.handle.stop()).await;
        let limit = Duration::from_millis(if is_open { 10_000 } else { 50 });
        if is_open {
            server.gate.open(1);
        }
        let dropped = in_time("the end of the calls", mcp.stop(limit)).await;
        let ended = (dropped, server.gate.passed(), server.gate.dropped());
        assert_eq!(ended, if is_open { (0, 1, 0) } else { (1, 0, 1) });
    }
}

#[tokio::test]
async fn idle_streams_receive_comments() {
    let keep_alive = Duration::from_millis(10);
    let server = serve(McpConfig { keep_alive, ..settings() }, http::HttpConfig::default()).await;
    let mut stream = Stream::open(&server).await;
    for _ in 0..2 {
        assert_eq!(stream.events.event().await.as_deref(), Some(": still here"));
    }
    assert_eq!(stream.ask(&server, &ping()).await, pong());
}

#[tokio::test]
async fn concurrent_requests_of_a_client_are_limited() {
    let server = serve(McpConfig { in_flight: 1, ..settings() }, http::HttpConfig::default()).await;
    let mut stream = Stream::open(&server).await;
    stream.post(&server, &call(1, "wait")).await;
    until("the call to wait", || server.gate.entered() == 1).await;
    let full = stream.ask(&server, &call(2, "nothing")).await;
    assert_fits("full", &json!({ "id": 2, "error": { "code": -32005 } }), &full);
    let again = stream.ask(&server, &call(1, "nothing")).await;
    assert_fits("the id runs", &json!({ "id": 1, "error": { "code": -32600 } }), &again);
    server.gate.open(1);
    assert_eq!(stream.events.message().await, Some(completed(1, "done")));
}

#[tokio::test]
async fn progress_comes_on_the_stream() {
    let server = serving().await;
    let mut stream = Stream::open(&server).await;
    let params = json!({ "name": "steps", "_meta": { "progressToken": 5 } });
    stream.post(&server, &legacy("tools/call", params)).await;
    for done in [0.0, 50.0, 100.0] {
        let expected = json!({ "params": { "progressToken": 5, "progress": done } });
        assert_fits("progress", &expected, &stream.events.message().await.unwrap());
    }
    assert_eq!(stream.events.message().await, Some(completed(1, "done")));
}

#[tokio::test]
async fn unread_replies_count_in_the_memory_budget() {
    let server = serving().await;
    let memory = server.rpc.limits().memory.clone();
    let mut stream = Stream::open(&server).await;
    let idle = memory.used();
    let held = memory.reserve(memory.limit() - idle - (4 << 20)).unwrap();
    let mut large = legacy("plain", json!({ "x": "x".repeat(1 << 19) }));
    let mut accepted = 0;
    // More than the sockets hold.
    for id in 0..80 {
        large["id"] = id.into();
        let reply = send(&server, &stream.endpoint, &large.to_string()).await;
        match reply.status {
            202 => accepted += 1,
            status => assert_eq!((status, reply.header("retry-after")), (503, Some("1"))),
        }
    }
    assert!(accepted < 80, "40 MiB of replies fit in 4 MiB and the sockets");
    let mut dropped = 0;
    for _ in 0..accepted {
        let message = stream.events.message().await.unwrap();
        if message["result"].is_null() {
            assert_fits("over the budget", &json!({ "error": { "code": -32006 } }), &message);
            dropped += 1;
        }
    }
    assert!(dropped < accepted, "no reply fitted");
    drop(held);
    until("all memory to be released", || memory.used() == idle).await;
    assert_eq!(stream.ask(&server, &ping()).await, pong());
}
