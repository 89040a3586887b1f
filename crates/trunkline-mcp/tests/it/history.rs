//! The history of MCP messages: one entry per message, unchanged, over every transport.

use serde_json::{Value, json};
use trunkline::history::{Filter, History};
use trunkline::http::HttpService;
use trunkline::{CancellationToken, Server};
use trunkline_mcp::Mcp;

use crate::support::{Client, Gate, in_time, legacy, offers, post, router, settings, until};

const LEGACY: &str = "MCP-Protocol-Version: 2025-11-25\r\n";
const BATCHES: &str = "MCP-Protocol-Version: 2025-03-26\r\n";

/// A service with a history.
fn recorded(gate: &Gate) -> (Mcp, History) {
    let history = History::new(Default::default());
    let rpc = router(gate).merge(offers()).build().unwrap().with_history(history.clone());
    (Mcp::new(rpc, settings()).unwrap(), history)
}

/// Entries of calls as JSON, oldest first.
fn entries(history: &History) -> Vec<Value> {
    let page = history.entries(&Filter { limit: usize::MAX, ..Filter::default() });
    page.entries.iter().rev().map(|entry| serde_json::to_value(&**entry).unwrap()).collect()
}

#[track_caller]
fn check(history: &History, expected: &[Value]) {
    let found = entries(history);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(found[name], *value, "{name} of {found:#}");
        }
    }
}

/// Posts `body` to `path` of a server with all endpoints, and compares the entries.
async fn posted(path: &str, headers: &str, body: String, expected: &[Value]) -> Vec<u8> {
    let (mcp, history) = recorded(&Gate::new());
    let service: HttpService = mcp.rpc().http();
    let server = Server::bind("127.0.0.1:0").serve(service.merge(mcp.routes())).await.unwrap();
    let mut client = Client::connect(server.local_addr()).await;
    let reply = client.ask(post(path, headers, body)).await;
    check(&history, expected);
    in_time("the end of the server", server.stop()).await;
    reply.body
}

#[tokio::test]
async fn calls_over_http() {
    let add = legacy("tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } }));
    for (path, endpoint) in [("/mcp", "mcp"), ("/", "json-rpc")] {
        let row = json!({
            "endpoint": endpoint, "method": "tools/call", "operation": "t.add", "status": "result", "id": add["id"],
        });
        posted(path, LEGACY, add.to_string(), &[row]).await;
        let list = legacy("tools/list", json!({}));
        let row = json!({ "endpoint": endpoint, "method": "tools/list", "operation": null, "status": "result" });
        posted(path, LEGACY, list.to_string(), &[row]).await;
        let fail = legacy("tools/call", json!({ "name": "fail" }));
        let row = json!({ "operation": "t.fail", "status": "error", "code": 7 });
        posted(path, LEGACY, fail.to_string(), &[row]).await;
        let unfit = legacy("tools/call", json!({ "name": "add", "arguments": { "a": "1" } }));
        let row = json!({ "operation": "t.add", "status": "error", "code": -32602 });
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let parent = format!("{LEGACY}traceparent: 00-{trace}-00f067aa0ba902b7-01\r\n");
        for (headers, row) in
            [(LEGACY, row.clone()), (&parent, json!({ "trace_id": trace, "code": -32602 }))]
        {
            let reply = posted(path, headers, unfit.to_string(), &[row]).await;
            let reply = String::from_utf8(reply).unwrap();
            assert!(reply.contains(r#""isError":true"#), "{reply}");
        }
        let none = legacy("tools/call", json!({ "name": "none" }));
        posted(path, LEGACY, none.to_string(), &[json!({ "status": "error" })]).await;
    }
}

#[tokio::test]
async fn entries_contain_the_sent_reply() {
    let (mcp, history) = recorded(&Gate::new());
    let server = Server::bind("127.0.0.1:0");
    let server = server.serve(mcp.rpc().http().merge(mcp.routes())).await.unwrap();
    let mut client = Client::connect(server.local_addr()).await;
    let call = legacy("tools/call", json!({ "name": "sum", "arguments": { "a": 1, "b": 2 } }));
    let reply = client.ask(post("/mcp", LEGACY, call.to_string())).await;
    let entry = &entries(&history)[0];
    let kept: Value = serde_json::from_str(entry["response"]["text"].as_str().unwrap()).unwrap();
    assert_eq!((kept, &entry["response"]["bytes"]), (reply.json(), &json!(reply.body.len())));
    let secret = json!({ "name": "echo", "arguments": { "api_key": "hunter2" } });
    let reply = client.ask(post("/mcp", LEGACY, legacy("tools/call", secret).to_string())).await;
    assert!(String::from_utf8_lossy(&reply.body).contains("hunter2"), "the client has it");
    let entry = &entries(&history)[1];
    assert!(!entry.to_string().contains("hunter2"), "{entry:#}");
    in_time("the end of the server", server.stop()).await;
}

#[tokio::test]
async fn refused_messages() {
    let row = |code: i64| [json!({ "endpoint": "mcp", "status": "error", "code": code })];
    let bad_id = json!({ "jsonrpc": "2.0", "method": "ping", "id": 1.5 }).to_string();
    posted("/mcp", LEGACY, bad_id, &row(-32600)).await;
    posted("/mcp", LEGACY, "{".to_owned(), &row(-32700)).await;
    let batch = format!("[{}]", legacy("ping", json!({})));
    posted("/mcp", LEGACY, batch.clone(), &row(-32600)).await;
    let member =
        json!({ "endpoint": "mcp", "method": "ping", "batch_index": 0, "status": "result" });
    posted("/mcp", BATCHES, batch, &[member]).await;
    let unknown = legacy("no.such", json!({}));
    posted("/mcp", LEGACY, unknown.to_string(), &row(-32601)).await;
}

#[tokio::test]
async fn a_reply_that_is_a_stream() {
    let token = json!({ "progressToken": 1 });
    for (method, params, operation) in [
        ("tools/call", json!({ "name": "steps", "_meta": token }), "t.steps"),
        ("resources/read", json!({ "uri": "r://steps", "_meta": token }), "r.steps"),
        ("prompts/get", json!({ "name": "steps", "_meta": token }), "p.steps"),
    ] {
        check_stream(legacy(method, params), method, operation).await;
    }
}

async fn check_stream(call: Value, method: &str, operation: &str) {
    let headers = format!("{LEGACY}Accept: application/json, text/event-stream\r\n");
    let (mcp, history) = recorded(&Gate::new());
    let server = Server::bind("127.0.0.1:0");
    let server = server.serve(mcp.rpc().http().merge(mcp.routes())).await.unwrap();
    let mut client = Client::connect(server.local_addr()).await;
    let reply = client.ask(post("/mcp", &headers, call.to_string())).await;
    until("the stream's end is recorded", || entries(&history).len() == 3).await;
    let id = &call["id"];
    check(
        &history,
        &[
            json!({ "kind": "stream_start", "method": method, "id": id }),
            json!({ "kind": "call", "method": method, "operation": operation, "id": id }),
            json!({
                "kind": "stream_end", "stream": 1, "stream_bytes": reply.body.len(), "status": "result",
            }),
        ],
    );
    in_time("the end of the server", server.stop()).await;
}

#[tokio::test]
async fn a_stream_that_its_client_leaves() {
    let (mcp, history) = recorded(&Gate::new());
    let service = mcp.rpc().http().merge(mcp.sse_routes());
    let server = Server::bind("127.0.0.1:0").serve(service).await.unwrap();
    let mut client = Client::connect(server.local_addr()).await;
    client.send("GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    until("the stream has begun", || entries(&history).len() == 1).await;
    drop(client);
    until("the stream has ended", || entries(&history).len() == 2).await;
    let start = json!({ "kind": "stream_start", "endpoint": "mcp-sse", "method": "GET /sse" });
    let end = json!({ "kind": "stream_end", "stream": 1, "status": "cancelled" });
    check(&history, &[start, end]);
    assert!(entries(&history)[1]["stream_bytes"].as_u64() > Some(0), "its first event was sent");
    in_time("the end of the server", server.stop()).await;
}

#[tokio::test]
async fn a_client_of_stdio() {
    let gate = Gate::new();
    let (mcp, history) = recorded(&gate);
    let (input, mut to_server) = std::io::pipe().unwrap();
    let (_from_server, output) = std::io::pipe().unwrap();
    let serving =
        tokio::spawn(async move { mcp.serve_stdio(input, output, CancellationToken::new()).await });
    let lines = [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "ping", "id": true }),
        json!({ "jsonrpc": "2.0", "method": "ping", "id": 1.5 }),
        json!({ "jsonrpc": "2.0", "method": "ping", "id": 1 }),
        json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": "wait" }, "id": 2 }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } }),
    ];
    for line in lines {
        use std::io::Write;
        writeln!(to_server, "{line}").unwrap();
    }
    until("all have ended", || entries(&history).len() == 6).await;
    let mut found: Vec<_> = entries(&history)
        .iter()
        .map(|entry| {
            assert_eq!(entry["endpoint"], "mcp-stdio");
            format!("{} {} {}", entry["method"], entry["id"], entry["status"])
        })
        .collect();
    found.sort_unstable();
    let expected = [
        r#""notifications/cancelled" null "result""#,
        r#""notifications/initialized" null "result""#,
        r#""ping" 1 "result""#,
        r#""ping" 1.5 "error""#,
        r#""tools/call" 2 "cancelled""#,
        r#"null null "error""#,
    ];
    assert_eq!(found, expected);
    drop(to_server);
    in_time("the end of serving", serving).await.unwrap().unwrap();
}
