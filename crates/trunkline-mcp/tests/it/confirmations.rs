//! Answers of clients to the question whether a destructive call runs, in both eras.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline::{Json, Operation, RawParams, Router};
use trunkline_mcp::{ConfirmLayer, Mcp, McpConfig};

use crate::support::{Gate, Pipes, assert_fits, legacy, modern, settings};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The outcome of a call after an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expected {
    /// It has run.
    Runs,
    /// It is refused, and cannot be confirmed by a code.
    Refused,
    /// It is refused with a code, as for a client without elicitation.
    Code,
}

use Expected::{Code, Refused, Runs};

/// The response of a client to a question.
enum Response {
    Result(Value),
    Error(i64),
    None,
}

fn mcp(layer: ConfirmLayer, settings: McpConfig) -> Mcp {
    let delete = Operation::new("delete", |params: RawParams| Json(params.0));
    let router = layer.add_to(Router::new().operation(delete.destructive().tool("delete")));
    Mcp::new(router.build().unwrap(), settings).unwrap()
}

#[track_caller]
fn check_reply(row: &str, reply: &Value, expected: Expected) {
    let result = &reply["result"];
    assert_eq!(result["isError"], expected != Runs, "{row}: {reply}");
    assert_eq!(reply.to_string().contains("trunkline_confirm"), expected == Code, "{row}: {reply}");
}

/// A client of the legacy era on stdio.
async fn check_legacy(name: &str, layer: ConfirmLayer, response: &Response, expected: Expected) {
    let row = format!("legacy: {name}");
    let mut pipes = Pipes::of(mcp(layer, settings()), Gate::new());
    let info = json!({ "name": "t", "version": "1" });
    let capabilities = json!({ "elicitation": {} });
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": info,
    });
    pipes.send([&legacy("initialize", params)]);
    pipes.next().await.unwrap();
    pipes.send([&legacy("tools/call", json!({ "name": "delete" }))]);
    let request = pipes.next().await.unwrap();
    assert_eq!(request["method"], "elicitation/create", "{row}");
    let id = &request["id"];
    match response {
        Response::Result(result) => {
            pipes.send([&json!({ "jsonrpc": "2.0", "id": id, "result": result })]);
        }
        Response::Error(code) => {
            let error = json!({ "code": code, "message": "no" });
            pipes.send([&json!({ "jsonrpc": "2.0", "id": id, "error": error })]);
        }
        Response::None => {
            let cancelled =
                json!({ "method": "notifications/cancelled", "params": { "requestId": id } });
            assert_fits(&row, &cancelled, &pipes.next().await.unwrap());
        }
    }
    check_reply(&row, &pipes.next().await.unwrap(), expected);
    // A late answer has no effect.
    let late = json!({ "action": "accept", "content": { "confirm": true } });
    pipes.send([&json!({ "jsonrpc": "2.0", "id": id, "result": late })]);
    assert_eq!(pipes.finish().await.0, Vec::<Value>::new(), "{row}");
}

/// A client of the stateless era, which repeats its call with the result.
async fn check_modern(name: &str, layer: ConfirmLayer, result: &Value, expected: Expected) {
    let row = format!("modern: {name}");
    let mut pipes = Pipes::of(mcp(layer, settings()), Gate::new());
    let capabilities = json!({ CAPABILITIES: { "elicitation": {} } });
    let mut params = json!({ "name": "delete", "_meta": capabilities });
    pipes.send([&modern("tools/call", params.clone())]);
    let first = pipes.next().await.unwrap();
    assert_eq!(first["result"]["resultType"], "input_required", "{row}: {first}");
    assert_eq!(first["result"]["inputRequests"].as_object().unwrap().len(), 1, "{row}");
    params["requestState"] = first["result"]["requestState"].clone();
    params["inputResponses"] = json!({ "trunkline_confirm": result });
    pipes.send([&modern("tools/call", params)]);
    check_reply(&row, &pipes.next().await.unwrap(), expected);
    pipes.finish().await.1.unwrap();
}

async fn check(name: &str, layer: impl Fn() -> ConfirmLayer, result: Value, expected: Expected) {
    check_legacy(name, layer(), &Response::Result(result.clone()), expected).await;
    if result.is_object() {
        check_modern(name, layer(), &result, expected).await;
    }
}

#[tokio::test]
async fn only_a_clear_yes_runs_a_call() {
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let rows = [
        ("yes", accept(json!({ "confirm": true })), Runs),
        // openai/codex#9053, and after openai/codex#9196.
        ("accepted without content", json!({ "action": "accept" }), Runs),
        ("accepted with null", accept(json!(null)), Runs),
        ("accepted with nothing", accept(json!({})), Runs),
        ("accepted with an empty array", accept(json!([])), Runs),
        ("in upper case", json!({ "action": "ACCEPT", "content": { "confirm": true } }), Runs),
        (
            "further members",
            json!({ "action": "accept", "content": { "confirm": true, "x": 1 }, "_meta": null }),
            Runs,
        ),
        ("a text", accept(json!({ "confirm": "true" })), Runs),
        ("a yes", accept(json!({ "confirm": "Yes" })), Runs),
        ("no", accept(json!({ "confirm": false })), Refused),
        ("a text with no", accept(json!({ "confirm": "no" })), Refused),
        ("another text", accept(json!({ "confirm": "nope" })), Refused),
        ("a number", accept(json!({ "confirm": 1 })), Refused),
        ("null", accept(json!({ "confirm": null })), Refused),
        ("another member", accept(json!({ "confirmed": true })), Refused),
        ("content that is not an object", accept(json!(true)), Refused),
        ("declined", json!({ "action": "decline" }), Refused),
        (
            "declined with a yes",
            json!({ "action": "decline", "content": { "confirm": true } }),
            Refused,
        ),
        ("declined in upper case", json!({ "action": "Decline" }), Refused),
        ("rejected, as in a draft", json!({ "action": "reject" }), Refused),
        (
            "an unknown action",
            json!({ "action": "accepted", "content": { "confirm": true } }),
            Refused,
        ),
        ("cancelled", json!({ "action": "cancel" }), Refused),
        (
            "cancelled with a yes",
            json!({ "action": "cancel", "content": { "confirm": true } }),
            Refused,
        ),
        ("no action", json!({ "content": { "confirm": true } }), Refused),
        ("nothing", json!({}), Refused),
        ("an action that is not a text", json!({ "action": true }), Refused),
        ("not an object", json!("accept"), Refused),
    ];
    for (name, result, expected) in rows {
        check(name, ConfirmLayer::new, result, expected).await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_ask_is_one_without_elicitation() {
    // Method not found, as of a handler that is missing, and a failure of the user interface.
    for code in [-32601, -32603, -32602, 0] {
        check_legacy("an error", ConfirmLayer::new(), &Response::Error(code), Code).await;
    }
    let rejected = Response::Error(-1);
    check_legacy("the user has rejected", ConfirmLayer::new(), &rejected, Refused).await;
    let layer = ConfirmLayer::new().question_timeout(Duration::from_millis(20));
    check_legacy("no answer", layer, &Response::None, Code).await;
}

#[tokio::test]
async fn a_cancelled_question_has_a_code_if_the_operator_allows_it() {
    let layer = || ConfirmLayer::new().codes_after_cancel();
    let rows = [
        ("cancelled", json!({ "action": "cancel" }), Code),
        ("in upper case", json!({ "action": "CANCEL", "content": null }), Code),
        ("declined", json!({ "action": "decline" }), Refused),
        ("an unknown action", json!({ "action": "dismiss" }), Refused),
        ("no action", json!({}), Refused),
        ("no", json!({ "action": "accept", "content": { "confirm": false } }), Refused),
        ("yes", json!({ "action": "accept" }), Runs),
    ];
    for (name, result, expected) in rows {
        check(name, layer, result, expected).await;
    }
}

/// The arguments of a call are written by a model.
#[tokio::test]
async fn arguments_are_not_answers() {
    for arguments in [
        json!({ "trunkline_confirm": "yes" }),
        json!({ "trunkline_confirm": "" }),
        json!({ "trunkline_confirm": { "action": "accept" } }),
        json!({ "trunkline_confirm": true }),
        json!({ "confirm": true }),
        json!({ "inputResponses": { "trunkline_confirm": { "action": "accept" } } }),
    ] {
        let mut pipes = Pipes::of(mcp(ConfirmLayer::new(), settings()), Gate::new());
        let meta = json!({ CAPABILITIES: { "elicitation": {} } });
        let params = json!({ "name": "delete", "arguments": arguments, "_meta": meta });
        pipes.send([&modern("tools/call", params)]);
        let reply = pipes.next().await.unwrap();
        let is_asked = reply["result"]["resultType"] == "input_required";
        assert!(is_asked || reply["result"]["isError"] == true, "{arguments}: {reply}");
    }
}
