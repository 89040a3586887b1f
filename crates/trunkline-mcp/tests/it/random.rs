//! Random params over every transport: each request has a reply, and so has the next one.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use trunkline::http;

use crate::support::{Pipes, expanded, headers_of, post, serve, settings};

const METHODS: [&str; 8] = [
    "initialize",
    "logging/setLevel",
    "notifications/cancelled",
    "ping",
    "server/discover",
    "tools/call",
    "tools/list",
    "plain",
];

const NAMES: [&str; 9] = [
    "name",
    "arguments",
    "cursor",
    "protocolVersion",
    "requestId",
    "level",
    "_meta",
    "progressToken",
    "io.modelcontextprotocol/logLevel",
];

const TEXTS: [&str; 8] =
    ["add", "picky", "mirrored", "steps", "2025-03-26", "2026-07-28", "debug", "$meta"];

/// Values that often have what the protocol reads, in places where it does not expect it.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        proptest::sample::select(&TEXTS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(name(), inner, 0..6).prop_map(|members| json!(members)),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => proptest::sample::select(&NAMES[..]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn message() -> impl Strategy<Value = Value> {
    let tool = proptest::sample::select(&TEXTS[..4]);
    let call = (tool, value(), any::<bool>()).prop_map(|(name, arguments, modern)| {
        let meta = if modern { "$meta" } else { "" };
        json!({ "name": name, "arguments": arguments, "_meta": meta })
    });
    let method = proptest::sample::select(&METHODS[..]);
    let params = prop_oneof![
        4 => btree_map(name(), value(), 0..6).prop_map(|members| json!(members)),
        1 => value(),
    ];
    prop_oneof![(method, params), call.prop_map(|params| ("tools/call", params))].prop_map(
        |(method, params)| json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }),
    )
}

/// One response object, with the id of the request or without one.
#[track_caller]
fn check(message: &str, reply: &Value) {
    let is_one = reply.get("result").is_some() != reply.get("error").is_some();
    let id = reply.get("id");
    let is_ours = id == Some(&json!(7)) || (reply.get("error").is_some() && id.is_none());
    assert!(reply["jsonrpc"] == "2.0" && is_one && is_ours, "{message}\n{reply}");
    if let Some(error) = reply.get("error") {
        assert!(error["code"].is_i64() && error["message"].is_string(), "{message}\n{reply}");
        // The error is never internal.
        assert_ne!(error["code"], -32603, "{message}\n{reply}");
    }
}

/// Random messages, expanded. The seed is new each time; a failure shows its message.
fn messages() -> Vec<String> {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let mut next = || message().new_tree(&mut runner).unwrap().current().to_string();
    (0..MESSAGES).map(|_| expanded(&next())).collect()
}

const MESSAGES: usize = 256;

async fn check_http(path: &str) {
    let server = serve(settings(), http::HttpConfig::default()).await;
    let mut client = server.client().await;
    for message in messages() {
        for headers in [String::new(), headers_of(&json!({}))] {
            let reply = client.ask(post(path, &headers, &message)).await;
            check(&message, &reply.json());
        }
        let value: Value = serde_json::from_str(&message).unwrap();
        let name = value["params"]["name"].as_str().unwrap_or_default();
        if name.bytes().all(|byte| byte.is_ascii_graphic()) {
            let reply = client.ask(post(path, &headers_of(&value), &message)).await;
            check(&message, &reply.json());
        }
        assert_eq!(client.ask(post(path, "", PING)).await.json(), pong(), "after {message}");
    }
    assert!(server.handle.stop().await.is_complete());
}

#[tokio::test]
async fn random_params_are_answered_at_the_endpoint() {
    check_http("/mcp").await;
}

#[tokio::test]
async fn random_params_are_answered_over_json_rpc() {
    check_http("/").await;
}

#[tokio::test]
async fn random_params_are_answered_on_stdio() {
    let mut pipes = Pipes::open(settings());
    for message in messages() {
        pipes.write(format!("{message}\n"));
        check(&message, &reply(async || pipes.next().await).await);
        pipes.write(format!("{PING}\n"));
        assert_eq!(reply(async || pipes.next().await).await, pong(), "after {message}");
    }
    assert!(pipes.finish().await.1.is_ok());
}

#[tokio::test]
async fn random_params_are_answered_on_a_stream() {
    let server = serve(settings(), http::HttpConfig::default()).await;
    let (mut events, mut client) = (server.client().await, server.client().await);
    events.send("GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(events.head().await.status, 200);
    let first = events.event().await.unwrap();
    let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap();
    for message in messages() {
        assert_eq!(client.ask(post(endpoint, "", &message)).await.status, 202);
        check(&message, &reply(async || events.message().await).await);
        assert_eq!(client.ask(post(endpoint, "", PING)).await.status, 202);
        assert_eq!(reply(async || events.message().await).await, pong(), "after {message}");
    }
}

/// The next message that is not a notification.
async fn reply(mut next: impl AsyncFnMut() -> Option<Value>) -> Value {
    loop {
        let message = next().await.expect("a reply");
        if message.get("method").is_none() {
            return message;
        }
    }
}

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

fn pong() -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "result": {} })
}
