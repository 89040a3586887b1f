//! Repeated progress of silent calls, so that clients that extend their timeout by progress do not give up.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_mcp::{Mcp, McpConfig};

use crate::support::{
    Client, Gate, Pipes, TestServer, assert_fits, headers_of, legacy, modern, post, router, serve,
    settings, until,
};

const BOTH: &str = "Accept: application/json, text/event-stream\r\n";
const HEARTBEAT: Duration = Duration::from_millis(20);
const TRANSPORTS: [&str; 6] =
    ["legacy stdio", "modern stdio", "legacy /mcp", "modern /mcp", "session", "HTTP+SSE"];

/// A client that receives the messages of its call.
enum Caller {
    Pipes(Box<Pipes>),
    Events(Client),
    Session(Client),
}

fn with_heartbeat(heartbeat: Duration) -> McpConfig {
    McpConfig { heartbeat, ..settings() }
}

impl Caller {
    /// Sends a call.
    async fn call(server: &TestServer, transport: &str, tool: &str, meta: Value) -> Self {
        let params = json!({ "name": tool, "_meta": meta });
        let message = match transport.starts_with("modern") {
            true => modern("tools/call", params),
            false => legacy("tools/call", params),
        };
        let mut client = server.client().await;
        match transport {
            "legacy stdio" | "modern stdio" => {
                let rpc = router(&server.gate).build().unwrap();
                let mcp = Mcp::new(rpc, with_heartbeat(HEARTBEAT)).unwrap();
                let mut pipes = Pipes::of(mcp, Gate::new());
                pipes.send([&message]);
                Self::Pipes(Box::new(pipes))
            }
            "legacy /mcp" | "modern /mcp" => {
                let headers = match transport {
                    "modern /mcp" => headers_of(&message),
                    _ => "MCP-Protocol-Version: 2025-06-18\r\n".to_owned(),
                };
                client.send(post("/mcp", &(headers + BOTH), message.to_string())).await;
                Self::Events(client)
            }
            "session" => {
                let open = legacy("initialize", json!({ "protocolVersion": "2025-11-25" }));
                let opened = client.ask(post("/mcp", BOTH, open.to_string())).await;
                let id = opened.header("mcp-session-id").unwrap();
                let headers = format!("{BOTH}Mcp-Session-Id: {id}\r\n");
                client.send(post("/mcp", &headers, message.to_string())).await;
                Self::Session(client)
            }
            _ => {
                let open =
                    "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
                client.send(open).await;
                assert_eq!(client.head().await.status, 200);
                let first = client.event().await.unwrap();
                let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap();
                let sent = server.client().await.ask(post(endpoint, "", message.to_string())).await;
                assert_eq!(sent.status, 202);
                Self::Events(client)
            }
        }
    }

    /// Reads the head of the reply at `/mcp`.
    async fn begin(&mut self, transport: &str) {
        if let Self::Events(client) | Self::Session(client) = self
            && transport != "HTTP+SSE"
        {
            let head = client.head().await;
            assert_eq!(head.header("content-type"), Some("text/event-stream"), "{transport}");
        }
    }

    async fn next(&mut self) -> Value {
        match self {
            Self::Pipes(pipes) => pipes.next().await.unwrap(),
            Self::Events(client) => client.message().await.unwrap(),
            Self::Session(client) => client.session_message().await.unwrap().1,
        }
    }
}

/// The progress in a notification, after checks that it exceeds `last`, and whether it is a heartbeat.
#[track_caller]
fn progress(transport: &str, message: &Value, last: f64) -> (f64, bool) {
    assert_eq!(message["method"], "notifications/progress", "{transport}: {message}");
    assert_eq!(message["params"]["progressToken"], "t", "{transport}");
    let progress = message["params"]["progress"].as_f64().unwrap();
    assert!(progress > last, "{transport}: {progress} after {last}");
    let text = message["params"]["message"].as_str().unwrap();
    (progress, text.starts_with("still running ("))
}

#[tokio::test]
async fn a_silent_call_repeats_its_progress_until_its_next_step() {
    let server = serve(with_heartbeat(HEARTBEAT), Default::default()).await;
    for transport in TRANSPORTS {
        let token = json!({ "progressToken": "t" });
        let mut caller = Caller::call(&server, transport, "wait_between", token).await;
        caller.begin(transport).await;
        let mut last = -1.0;
        for step in [0.0, 1.0] {
            // Two heartbeats, and those until the gate is open.
            let mut count = 0;
            loop {
                let (reached, is_heartbeat) = progress(transport, &caller.next().await, last);
                last = reached;
                if !is_heartbeat {
                    assert!((reached - step).abs() < 0.001, "{transport}: {reached}");
                    break;
                }
                count += 1;
                if count == 2 {
                    server.gate.open(1);
                }
            }
            assert!(count >= 2, "{transport}");
        }
        // None follows the last step, and none the result.
        let reply = caller.next().await;
        assert_fits(transport, &json!({ "id": 1, "result": { "isError": false } }), &reply);
        match caller {
            Caller::Pipes(pipes) => assert_eq!(pipes.finish().await.0, Vec::<Value>::new()),
            Caller::Events(mut client) if transport != "HTTP+SSE" => {
                assert_eq!(client.event().await, None, "{transport}");
            }
            _ => {}
        }
    }
}

/// The reply is JSON, not a stream.
#[tokio::test]
async fn a_call_without_a_token_is_silent() {
    let server = serve(with_heartbeat(Duration::from_millis(1)), Default::default()).await;
    let token = json!({ "progressToken": "t" });
    let rows = [
        ("no token", json!({}), BOTH),
        ("not a token", json!({ "progressToken": null }), BOTH),
        ("events are not accepted", token.clone(), "Accept: application/json\r\n"),
        ("no Accept", token, ""),
    ];
    for (name, meta, accept) in rows {
        for is_modern in [true, false] {
            let params = json!({ "name": "wait", "_meta": meta });
            let (message, headers) = match is_modern {
                true => {
                    let message = modern("tools/call", params);
                    let headers = headers_of(&message);
                    (message, headers)
                }
                false => (legacy("tools/call", params), String::new()),
            };
            let entered = server.gate.entered();
            let mut client = server.client().await;
            client.send(post("/mcp", &(headers + accept), message.to_string())).await;
            until("the call to wait", || server.gate.entered() > entered).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            server.gate.open(1);
            let reply = client.ask("").await;
            assert_eq!(reply.header("content-type"), Some("application/json"), "{name}");
            assert_fits(name, &json!({ "result": { "isError": false } }), &reply.json());
        }
    }
}
