//! A tool's call passes the layers of its operation, once, by the operation's name.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::layers::rate_limit::Rate;
use trunkline::layers::{Next, RateLimitLayer, from_fn};
use trunkline::{Call, Extensions, Limits, Operation, Router, Rpc, code};
use trunkline_mcp::{Mcp, McpConfig, Peer, PeerError};

use crate::support::{
    Gate, Pipes, assert_fits, completed, expanded, in_time, legacy, modern, router, until,
};

/// The reply of the JSON-RPC endpoint to a body.
async fn ask(rpc: &Rpc, body: &Value) -> Value {
    let body = expanded(&body.to_string());
    let reply = in_time("a reply", rpc.handle(body.into(), Extensions::new())).await;
    reply.into_json().map_or(Value::Null, |json| serde_json::from_slice(&json).unwrap())
}

fn call(tool: &str) -> Value {
    let arguments =
        if ["add", "sum"].contains(&tool) { json!({ "a": 1, "b": 2 }) } else { json!({}) };
    legacy("tools/call", json!({ "name": tool, "arguments": arguments }))
}

#[tokio::test]
async fn a_layer_sees_each_call_once() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&seen);
    let layer = from_fn(move |call: Call, next: Next| {
        names.lock().unwrap().push(call.method().into_owned());
        next.run(call)
    });
    let rpc = router(&Gate::new()).layer(layer).build().unwrap();
    let mcp = Mcp::new(rpc, McpConfig::new("test", "1")).unwrap().rpc();
    let mut notification = call("add");
    notification.as_object_mut().unwrap().remove("id");
    let rows = [
        (call("add"), vec!["t.add"]),
        (call("fail"), vec!["t.fail"]),
        (notification.clone(), vec!["t.add"]),
        (json!([call("add"), call("sum"), notification]), vec!["t.add", "t.sum", "t.add"]),
        (legacy("plain", json!({})), vec!["plain"]),
        (call("nope"), vec!["nope"]),
        // Its arguments are invalid, and only the handler is skipped.
        (call("picky"), vec!["t.picky"]),
        (legacy("tools/list", json!({})), vec![]),
        (legacy("ping", json!({})), vec![]),
    ];
    for (body, expected) in rows {
        ask(&mcp, &body).await;
        assert_eq!(*seen.lock().unwrap(), expected, "{body}");
        seen.lock().unwrap().clear();
    }
}

#[tokio::test]
async fn layers_apply_to_calls_with_invalid_arguments() {
    let rate = Rate { calls: 1, per: Duration::from_secs(3_600), burst: 1, ..Rate::default() };
    let rpc = router(&Gate::new()).layer(RateLimitLayer::new(rate)).build().unwrap();
    let mcp = Mcp::new(rpc, McpConfig::new("test", "1")).unwrap().rpc();
    let unfit = json!({ "id": 1, "result": { "isError": true } });
    let refused = json!({ "id": 1, "error": { "code": code::RATE_LIMITED } });
    for (name, expected) in [("within the rate", unfit), ("over the rate", refused)] {
        assert_fits(name, &expected, &ask(&mcp, &call("picky")).await);
    }
}

#[tokio::test]
async fn calls_are_counted_as_their_operations() {
    let rpc = router(&Gate::new()).build().unwrap();
    let mcp = Mcp::new(rpc.clone(), McpConfig::new("test", "1")).unwrap().rpc();
    for tool in ["add", "add", "fail", "leak", "nope", "picky"] {
        ask(&mcp, &call(tool)).await;
    }
    ask(&mcp, &legacy("tools/list", json!({}))).await;
    ask(&mcp, &legacy("no/such", json!({}))).await;
    let counts = rpc.metrics();
    let expected = [
        ("t.add", 2, 2, 0, 0),
        ("t.fail", 1, 0, 1, 0),
        ("t.leak", 1, 0, 0, 1),
        ("t.picky", 1, 0, 1, 0),
        // The tool `nope` and the method `no/such`.
        ("unknown", 2, 0, 2, 0),
    ];
    for (name, started, succeeded, refused, failed) in expected {
        let found = counts.iter().find(|count| count.method == name).unwrap();
        let found = (found.started, found.succeeded, found.refused, found.failed);
        assert_eq!(found, (started, succeeded, refused, failed), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_fails() {
    let gate = Gate::new();
    let limits = Limits { call_timeout: Some(Duration::from_secs(5)), ..Default::default() };
    let rpc = router(&gate).limits(limits).build().unwrap();
    let mcp = Mcp::new(rpc, McpConfig::new("test", "1")).unwrap().rpc();
    let reply = ask(&mcp, &call("wait")).await;
    assert_fits("timeout", &json!({ "id": 1, "result": { "isError": true } }), &reply);
    assert_eq!((gate.entered(), gate.dropped()), (1, 1));
}

#[tokio::test]
async fn tools_are_subject_to_the_concurrency_limit() {
    let gate = Gate::new();
    let limits = Limits { concurrent_calls: Some(1), ..Default::default() };
    let rpc = router(&gate).limits(limits).build().unwrap();
    let mcp = Mcp::new(rpc, McpConfig::new("test", "1")).unwrap().rpc();
    let body = json!([call("wait"), call("wait")]);
    let calls = tokio::spawn(async move { ask(&mcp, &body).await });
    until("the first call to wait", || gate.entered() == 1).await;
    gate.open(1);
    until("the second call to wait", || gate.entered() == 2).await;
    assert_eq!(gate.passed(), 1);
    gate.open(1);
    let done = json!({ "id": 1, "result": { "isError": false } });
    assert_fits("both", &json!([done, done]), &calls.await.unwrap());
}

#[tokio::test]
async fn calls_that_wait_for_their_client_are_not_counted() {
    let (gate, answered) = (Gate::new(), Gate::new());
    let limits = Limits { concurrent_calls: Some(1), ..Default::default() };
    let second_step = answered.clone();
    let ask_then_wait = move |client: Peer| {
        let second_step = second_step.clone();
        async move {
            client.roots("roots").await?;
            tokio::task::yield_now().await;
            second_step.pass().await;
            Ok::<_, PeerError>("done")
        }
    };
    let operation = Operation::new("t.ask_then_wait", ask_then_wait).tool("ask_then_wait");
    let rpc = router(&gate).operation(operation).limits(limits).build().unwrap();
    let mcp = Mcp::new(rpc.clone(), McpConfig::new("test", "1")).unwrap();
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = Pipes::of(mcp.clone(), Gate::new());
        let capabilities = json!({ "roots": {} });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities });
        client.send([&legacy("initialize", params)]);
        client.next().await.unwrap();
        client.send([&call("ask_then_wait")]);
        let question = client.next().await.unwrap();
        assert_eq!(question["method"], "roots/list");
        clients.push((client, question["id"].clone()));
    }
    // All three wait for their clients, so another call runs.
    let other = mcp.rpc();
    let waiting = tokio::spawn(async move { ask(&other, &call("wait")).await });
    until("the other call to run", || gate.entered() == 1).await;
    // After the responses, the calls are counted again. The reply to the ping shows that the response was read.
    for (client, id) in &mut clients {
        let response = json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": [] } });
        let mut ping = legacy("ping", json!({}));
        ping["id"] = "ping".into();
        client.send([&response, &ping]);
        assert_eq!(client.next().await.unwrap()["id"], "ping");
    }
    assert_eq!((gate.passed(), answered.entered()), (0, 0));
    gate.open(1);
    for passed in 0..3 {
        until("the next call to continue", || answered.entered() == passed + 1).await;
        answered.open(1);
    }
    for (client, _) in &mut clients {
        assert_eq!(client.next().await.unwrap(), completed(1, "done"));
    }
    waiting.await.unwrap();
    assert!(rpc.metrics().iter().all(|counts| counts.running == 0));
}

#[tokio::test]
async fn rounds_are_counted_as_successful() {
    let rpc = router(&Gate::new()).build().unwrap();
    let mcp = Mcp::new(rpc.clone(), McpConfig::new("test", "1")).unwrap().rpc();
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
    let mut params = json!({ "name": "greet", "_meta": meta });
    let first = ask(&mcp, &modern("tools/call", params.clone())).await;
    assert_eq!(first["result"]["resultType"], "input_required");
    params["requestState"] = first["result"]["requestState"].clone();
    params["inputResponses"] = json!({ "name": { "action": "decline" } });
    let second = ask(&mcp, &modern("tools/call", params)).await;
    assert_fits("second", &json!({ "result": { "content": [{ "text": "Hello!" }] } }), &second);
    let counts = rpc.metrics();
    let found = counts.iter().find(|count| count.method == "t.greet").unwrap();
    let found = (found.started, found.succeeded, found.cancelled, found.running);
    assert_eq!(found, (2, 2, 0, 0));
}

#[tokio::test]
async fn an_operation_takes_precedence_over_a_method_of_the_protocol() {
    let names = ["initialize", "ping", "tools/list", "tools/call", "server/discover"];
    let own = |name: &&str| Operation::new(*name, || "mine");
    let router = names.iter().map(own).fold(Router::new(), Router::operation);
    let mcp = Mcp::new(router.build().unwrap(), McpConfig::new("test", "1")).unwrap().rpc();
    for name in names {
        let expected = json!({ "jsonrpc": "2.0", "id": 1, "result": "mine" });
        assert_eq!(ask(&mcp, &legacy(name, json!({}))).await, expected, "{name}");
    }
}
