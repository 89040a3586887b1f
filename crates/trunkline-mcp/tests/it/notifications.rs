//! Notifications of a tool before its reply over HTTP, and calls whose client disconnects.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_mcp::McpConfig;

use crate::support::{
    Client, FLOOD, Reply, TestServer, assert_fits, headers_of, legacy, modern, post, serve,
    settings, until,
};

const LEGACY: &str = "MCP-Protocol-Version: 2025-11-25\r\n";
const BOTH: &str = "Accept: application/json, text/event-stream\r\n";

async fn serving() -> TestServer {
    serve(settings(), Default::default()).await
}

/// A call of a tool, with this `_meta` in addition to that of its era.
fn call(era: &str, tool: &str, meta: Value) -> (String, Value) {
    let params = json!({ "name": tool, "_meta": meta });
    match era {
        "modern" => {
            let message = modern("tools/call", params);
            (headers_of(&message), message)
        }
        _ => (LEGACY.to_owned(), legacy("tools/call", params)),
    }
}

fn request(era: &str, tool: &str, meta: Value, accept: &str) -> Vec<u8> {
    let (headers, message) = call(era, tool, meta);
    post("/mcp", &format!("{headers}{accept}"), message.to_string())
}

fn progress(token: Value, done: f64) -> Value {
    let params = json!({ "progressToken": token, "progress": done, "total": 100.0 });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
}

fn logged(level: &str) -> Value {
    let params = json!({ "level": level, "data": { "level": level } });
    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })
}

/// The notifications before the reply, which is the last message.
#[track_caller]
fn check_told(name: &str, reply: &Reply, expected: &[Value], result: Value) {
    assert_eq!(reply.status, 200, "{name}");
    let (told, last) = match expected {
        [] => (Vec::new(), reply.json()),
        _ => {
            assert_eq!(reply.header("x-accel-buffering"), Some("no"), "{name}");
            assert_eq!(reply.header("cache-control"), Some("no-store"), "{name}");
            let mut told = reply.messages();
            let last = told.pop().unwrap();
            (told, last)
        }
    };
    assert_eq!(told, expected, "{name}");
    assert_fits(name, &json!({ "jsonrpc": "2.0", "id": 1, "result": result }), &last);
}

#[tokio::test]
async fn progress_is_told_to_who_asks_for_it_and_reads_events() {
    let server = serving().await;
    let steps =
        |token: Value| [0.0, 50.0, 100.0].map(|done| progress(token.clone(), done)).to_vec();
    let plain = "Accept: application/json\r\n";
    let token = json!({ "progressToken": "t" });
    let rows = [
        ("asked for", "steps", token.clone(), BOTH, steps("t".into())),
        ("of a tool that never waits", "steps_at_once", token.clone(), BOTH, steps("t".into())),
        ("told when the tool ends", "last_step", token.clone(), BOTH, steps("t".into())),
        ("a number", "steps", json!({ "progressToken": 7 }), BOTH, steps(7.into())),
        ("not asked for", "steps", json!({}), BOTH, vec![]),
        ("null is not a token", "steps", json!({ "progressToken": null }), BOTH, vec![]),
        ("an object is not a token", "steps", json!({ "progressToken": { "a": 1 } }), BOTH, vec![]),
        (
            "an integer in another form",
            "steps",
            json!({ "progressToken": 1.0 }),
            BOTH,
            steps(1.0.into()),
        ),
        ("a fraction is not a token", "steps", json!({ "progressToken": 1.5 }), BOTH, vec![]),
        ("not accepted", "steps", token.clone(), plain, vec![]),
        (
            "accepted with no weight",
            "steps",
            token.clone(),
            "Accept: application/json, text/event-stream;q=0\r\n",
            vec![],
        ),
        ("no Accept", "steps", token.clone(), "", vec![]),
        (
            "only events",
            "steps",
            token.clone(),
            "accept: TEXT/Event-Stream;x=1\r\n",
            steps("t".into()),
        ),
        (
            "two Accepts",
            "steps",
            token,
            "Accept: text/html\r\nAccept: text/event-stream\r\n",
            steps("t".into()),
        ),
    ];
    for era in ["modern", "legacy"] {
        for (name, tool, meta, accept, expected) in &rows {
            let reply = server.client().await.ask(request(era, tool, meta.clone(), accept)).await;
            let name = format!("{era}: {name}");
            check_told(&name, &reply, expected, json!({ "isError": false }));
        }
    }
}

/// A client that accepts events only receives a stream of its reply, also of one without messages (python-sdk#2349).
#[tokio::test]
async fn replies_have_a_media_type_that_the_client_accepts() {
    let server = serving().await;
    let (json, events) = (false, true);
    let rows = [
        ("", json),
        ("Accept: application/json\r\n", json),
        (BOTH, json),
        ("Accept: text/event-stream, application/json\r\n", json),
        ("Accept: text/event-stream, application/json;q=0.1\r\n", json),
        ("Accept: text/event-stream, */*;q=0.1\r\n", json),
        ("Accept: application/*, text/event-stream\r\n", json),
        ("Accept: application/json\r\nAccept: text/event-stream\r\n", json),
        ("Accept: */*\r\n", json),
        ("Accept: text/html\r\n", json),
        ("Accept: text/event-stream;q=0\r\n", json),
        ("Accept: text/event-stream\r\n", events),
        ("accept: TEXT/Event-Stream; charset=utf-8\r\n", events),
        ("Accept: text/event-stream, application/json;q=0\r\n", events),
        ("Accept: text/html, text/event-stream;q=0.5\r\n", events),
    ];
    let tool = |name: &str| json!({ "name": name });
    let initialize = json!({ "protocolVersion": "2025-11-25" });
    let requests = [
        ("tools/call", tool("nothing"), "result"),
        // One that does not end at once.
        ("tools/call", tool("last_step"), "result"),
        ("tools/list", json!({}), "result"),
        ("ping", json!({}), "result"),
        ("initialize", initialize, "result"),
        ("tools/call", tool("nope"), "error"),
        ("no/such", json!({}), "error"),
    ];
    for (accept, has_events) in rows {
        for (method, params, member) in &requests {
            let name = format!("{accept:?} {method} {params}");
            let message = legacy(method, params.clone());
            let reply = server.client().await.ask(post("/mcp", accept, message.to_string())).await;
            assert_eq!(reply.status, 200, "{name}");
            let has_session = reply.header("mcp-session-id").is_some();
            assert_eq!(has_session, *method == "initialize", "{name}");
            let found = match has_events {
                true => match &*reply.messages() {
                    [only] => only.clone(),
                    other => panic!("{name}: {other:?}"),
                },
                false => {
                    assert_eq!(reply.header("content-type"), Some("application/json"), "{name}");
                    reply.json()
                }
            };
            assert_eq!(found["id"], 1, "{name}");
            assert!(found.get(member).is_some(), "{name}: {found}");
        }
        // Errors of the transport are in JSON, and a notification has no reply.
        let invalid = server.client().await.ask(post("/mcp", accept, "{")).await;
        assert_eq!((invalid.status, &invalid.json()["error"]["code"]), (400, &json!(-32700)));
        let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let notification = post("/mcp", accept, notification.to_string());
        assert_eq!(server.client().await.ask(notification).await.status, 202);
    }
}

#[tokio::test]
async fn log_messages_are_told_as_each_era_wants_them() {
    let server = serving().await;
    let level = |level: &str| json!({ "io.modelcontextprotocol/logLevel": level });
    let all = ["debug", "info", "warning", "emergency"];
    let rows = [
        ("modern", "no level", json!({}), &all[..0]),
        ("modern", "debug", level("debug"), &all[..]),
        ("modern", "info", level("info"), &all[1..]),
        ("modern", "notice", level("notice"), &all[2..]),
        ("modern", "emergency", level("emergency"), &all[3..]),
        ("modern", "nonsense", level("loud"), &all[..0]),
        ("legacy", "no level", json!({}), &all[1..]),
        ("legacy", "a level of the other era", level("emergency"), &all[1..]),
    ];
    for (era, name, meta, levels) in rows {
        let expected: Vec<Value> = levels.iter().map(|level| logged(level)).collect();
        let reply = server.client().await.ask(request(era, "logs", meta, BOTH)).await;
        check_told(&format!("{era}: {name}"), &reply, &expected, json!({ "isError": false }));
    }
}

#[tokio::test]
async fn a_tool_that_fails_after_it_told_something_still_has_its_reply() {
    let server = serving().await;
    for era in ["modern", "legacy"] {
        let request = request(era, "broken_steps", json!({ "progressToken": 1 }), BOTH);
        let reply = server.client().await.ask(request).await;
        let messages = reply.messages();
        assert_eq!(messages.len(), 2, "{era}");
        let failed = json!({ "id": 1, "result": { "isError": true } });
        assert_fits(era, &failed, &messages[1]);
    }
}

#[tokio::test]
async fn what_is_told_comes_before_the_tool_ends_and_silence_is_filled_with_comments() {
    let settings = McpConfig { keep_alive: Duration::from_millis(10), ..settings() };
    let server = serve(settings, Default::default()).await;
    for era in ["modern", "legacy"] {
        let mut client = server.client().await;
        client.send(request(era, "told_wait", json!({ "progressToken": 1 }), BOTH)).await;
        assert_eq!(client.head().await.status, 200);
        let told = client.message().await.unwrap();
        assert_fits(era, &json!({ "params": { "progress": 1.0, "message": "waiting" } }), &told);
        for _ in 0..2 {
            assert_eq!(client.event().await.as_deref(), Some(": still here"), "{era}");
        }
        server.gate.open(1);
        let reply = client.message().await.unwrap();
        assert_fits(era, &json!({ "id": 1, "result": { "isError": false } }), &reply);
        assert_eq!(client.event().await, None, "{era}: the reply ends the stream");
    }
}

#[tokio::test]
async fn a_flood_does_not_keep_the_reply_from_a_slow_reader() {
    let server = serving().await;
    for era in ["modern", "legacy"] {
        let mut client = server.client().await;
        client.send(request(era, "flood", json!({ "progressToken": 1 }), BOTH)).await;
        assert_eq!(client.head().await.status, 200);
        if era == "legacy" {
            // The tool does not wait for its reader.
            until("the tool to end", || ended(&server, "t.flood") == 2).await;
        }
        let (mut reached, mut count) = (-1.0, 0);
        let mut last = client.message().await.unwrap();
        while let Some(done) = last["params"]["progress"].as_f64() {
            assert!(done > reached, "{era}: {done} after {reached}");
            (reached, count) = (done, count + 1);
            last = client.message().await.expect("a reply");
        }
        assert_fits(era, &json!({ "id": 1, "result": { "isError": false } }), &last);
        // What neither the sockets nor the server held was left out.
        assert!(era == "modern" || count < FLOOD, "{count}");
    }
}

/// The number of calls of an operation that have ended with a result.
fn ended(server: &TestServer, operation: &str) -> u64 {
    let counts = server.rpc.metrics();
    counts.iter().find(|count| count.method == operation).unwrap().succeeded
}

/// A call that waits at the gate, as its client sees it.
async fn waiting(server: &TestServer, era: &str, tool: &str) -> Client {
    let entered = server.gate.entered();
    let mut client = server.client().await;
    client.send(request(era, tool, json!({ "progressToken": 1 }), BOTH)).await;
    until("the call to wait", || server.gate.entered() > entered).await;
    if tool == "told_wait" {
        assert_eq!(client.head().await.status, 200);
        client.message().await.unwrap();
    }
    client
}

#[tokio::test]
async fn a_client_that_goes_cancels_its_call_in_the_stateless_era() {
    let server = serving().await;
    for (index, tool) in ["wait", "told_wait"].into_iter().enumerate() {
        drop(waiting(&server, "modern", tool).await);
        until("the call to be dropped", || server.gate.dropped() == index + 1).await;
    }
    assert_eq!(server.gate.passed(), 0);
    assert!(server.handle.stop().await.is_complete());
}

#[tokio::test]
async fn a_client_that_goes_does_not_cancel_its_call_before_that_era() {
    let server = serving().await;
    for (index, tool) in ["wait", "told_wait"].into_iter().enumerate() {
        drop(waiting(&server, "legacy", tool).await);
        until("the connection to end", || server.handle.status().connections == 0).await;
        assert_eq!(server.gate.dropped(), 0, "{tool}");
        server.gate.open(1);
        until("the call to end", || server.gate.passed() == index + 1).await;
    }
    assert_eq!(server.gate.dropped(), 0);
}
