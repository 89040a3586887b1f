//! Subscriptions of the stateless era (2026-07-28, "Subscriptions").

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};
use trunkline::layers::{Next, from_fn};
use trunkline::{Call, DynamicOperations, ErrorObject, Operation, Outcome, Router, Server, code};
use trunkline_mcp::{Mcp, McpConfig, McpOperation, Prompt};

use crate::support::{
    Client, Gate, Pipes, assert_fits, headers_of, in_time, legacy, modern, offers, post, router,
    settings,
};

const BOTH: &str = "Accept: application/json, text/event-stream\r\n";

/// A server, and its operations that can be replaced.
fn server(settings: McpConfig) -> (Mcp, DynamicOperations) {
    let dynamic = DynamicOperations::new();
    let router = router(&Gate::new()).merge(offers()).dynamic("d", &dynamic);
    (Mcp::new(router.build().unwrap(), settings).unwrap(), dynamic)
}

fn listen(id: &str, notifications: Value) -> Value {
    let mut message = modern("subscriptions/listen", json!({ "notifications": notifications }));
    message["id"] = id.into();
    message
}

fn everything() -> Value {
    json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": ["r://text"],
    })
}

/// A notification of the subscription with this id.
fn notification(id: &str, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": id });
    json!({ "jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params })
}

fn acknowledged(id: &str, notifications: Value) -> Value {
    let params = json!({ "notifications": notifications });
    notification(id, "subscriptions/acknowledged", params)
}

fn tools() -> Router {
    Router::new().operation(Operation::new("a", || 1).description("A tool.").tool("a"))
}

fn prompts() -> Router {
    let prompt = Operation::new("p", || "text").description("A prompt.").prompt(Prompt::new("p"));
    Router::new().operation(prompt)
}

#[tokio::test]
async fn streams_have_the_requested_changes_until_the_server_stops() {
    let settings = settings();
    let closing = settings.closing.clone();
    let (mcp, dynamic) = server(settings);
    let service = mcp.rpc().http().merge(mcp.routes());
    let server = Server::bind("127.0.0.1:0").serve(service).await.unwrap();
    let open = async |id: &str, filter: Value| {
        let message = listen(id, filter);
        let mut events = Client::connect(server.local_addr()).await;
        events.send(post("/mcp", &(headers_of(&message) + BOTH), message.to_string())).await;
        assert_eq!(events.head().await.status, 200);
        events
    };
    let mut all = open("all", everything()).await;
    assert_eq!(all.message().await.unwrap(), acknowledged("all", everything()));
    let mut one = open("one", json!({ "promptsListChanged": true })).await;
    let filter = json!({ "promptsListChanged": true });
    assert_eq!(one.message().await.unwrap(), acknowledged("one", filter));

    dynamic.replace(tools()).unwrap();
    let changed = notification("all", "tools/list_changed", json!({}));
    assert_eq!(all.message().await.unwrap(), changed);
    mcp.resource_updated("r://json");
    mcp.resource_updated("r://text");
    let updated = notification("all", "resources/updated", json!({ "uri": "r://text" }));
    assert_eq!(all.message().await.unwrap(), updated);
    dynamic.replace(tools().merge(prompts())).unwrap();
    for (id, events) in [("all", &mut all), ("one", &mut one)] {
        let changed = notification(id, "prompts/list_changed", json!({}));
        assert_eq!(events.message().await.unwrap(), changed);
    }
    closing.cancel();
    for (id, mut events) in [("all", all), ("one", one)] {
        let end = json!({
            "jsonrpc": "2.0", "id": id,
            "result": {
                "resultType": "complete",
                "_meta": { "io.modelcontextprotocol/subscriptionId": id },
            },
        });
        assert_eq!(in_time("the end", events.message()).await.unwrap(), end);
        assert_eq!(in_time("the end", events.event()).await, None);
    }
    in_time("the end of the server", server.stop()).await;
}

#[tokio::test]
async fn a_channel_has_several_subscriptions_and_ends_one() {
    let (mcp, dynamic) = server(settings());
    let mut pipes = Pipes::of(mcp, Gate::new());
    let filter = json!({ "toolsListChanged": true });
    for id in ["one", "two"] {
        pipes.send([&listen(id, filter.clone())]);
        assert_eq!(pipes.next().await.unwrap(), acknowledged(id, filter.clone()));
    }
    dynamic.replace(tools()).unwrap();
    let mut changed = [pipes.next().await.unwrap(), pipes.next().await.unwrap()];
    changed.sort_by_key(Value::to_string);
    let expected = |id: &str| notification(id, "tools/list_changed", json!({}));
    assert_eq!(changed, [expected("one"), expected("two")]);
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "one" },
    });
    // The reply to the ping shows that the cancellation was read.
    pipes.send([&cancel, &legacy("ping", json!({}))]);
    assert_fits("ping", &json!({ "result": {} }), &pipes.next().await.unwrap());
    dynamic.replace(Router::new()).unwrap();
    assert_eq!(pipes.next().await.unwrap(), expected("two"));
}

#[tokio::test]
async fn filters_are_checked_and_unsupported_changes_are_omitted() {
    let rpc = router(&Gate::new()).build().unwrap();
    let limited = McpConfig { subscriptions: 2, ..settings() };
    let (with_resources, _) = server(limited);
    let fixed = Mcp::new(rpc, settings()).unwrap();
    for (name, mcp, filter, expected) in [
        ("no lists change", &fixed, everything(), acknowledged("s", json!({}))),
        ("nothing", &fixed, json!({}), acknowledged("s", json!({}))),
        ("unknown", &fixed, json!({ "x": 1 }), acknowledged("s", json!({}))),
        ("missing", &fixed, Value::Null, json!({ "error": { "code": -32602 } })),
        ("an array", &fixed, json!([true]), json!({ "error": { "code": -32602 } })),
        (
            "too many",
            &with_resources,
            json!({ "resourceSubscriptions": ["r://1", "r://2", "r://3"] }),
            json!({ "error": { "code": -32602 } }),
        ),
    ] {
        let mut pipes = Pipes::of(mcp.clone(), Gate::new());
        pipes.send([&listen("s", filter)]);
        assert_fits(name, &expected, &pipes.next().await.unwrap());
    }
}

/// A client does not open the stream again to get a resource that the stream lacks, but after a temporary error.
#[tokio::test]
async fn a_temporary_error_of_an_access_check_fails_the_request() {
    let failure = Arc::new(AtomicI64::new(0));
    let current = Arc::clone(&failure);
    let layer = from_fn(move |call: Call, next: Next| {
        let code = current.load(Ordering::SeqCst);
        async move {
            match code {
                0 => next.run(call).await,
                code => Outcome::error(ErrorObject::new(code, "Failed")),
            }
        }
    });
    let router = offers().layer(layer);
    let mcp = Mcp::new(router.build().unwrap(), settings()).unwrap();
    let filter = json!({ "resourceSubscriptions": ["r://text"] });
    let lacking = acknowledged("s", json!({}));
    for (name, code, expected) in [
        ("busy", code::BUSY, json!({ "id": "s", "error": { "code": code::BUSY } })),
        ("timeout", code::TIMEOUT, json!({ "id": "s", "error": { "code": code::TIMEOUT } })),
        ("rate", code::RATE_LIMITED, json!({ "id": "s", "error": { "code": code::RATE_LIMITED } })),
        ("forbidden", code::FORBIDDEN, lacking),
        ("allowed", 0, acknowledged("s", filter.clone())),
    ] {
        failure.store(code, Ordering::SeqCst);
        let mut pipes = Pipes::of(mcp.clone(), Gate::new());
        pipes.send([&listen("s", filter.clone())]);
        assert_fits(name, &expected, &pipes.next().await.unwrap());
    }
}

#[tokio::test]
async fn a_subscriber_that_does_not_read_takes_no_memory() {
    let (mcp, dynamic) = server(settings());
    let mut pipes = Pipes::of(mcp.clone(), Gate::new());
    pipes.send([&listen("s", everything())]);
    pipes.next().await.unwrap();
    for round in 0..20_000 {
        mcp.resource_updated("r://text");
        if round % 1_000 == 0 {
            dynamic.replace(if round % 2_000 == 0 { tools() } else { Router::new() }).unwrap();
        }
    }
    pipes.close();
    let mut received = 0;
    while pipes.next().await.is_some() {
        received += 1;
    }
    assert!(received < 10, "{received} notifications were queued");
}
