//! Requests of handlers to their clients, over all transports.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline::access::Principal;
use trunkline::{Effect, Json, Operation, RawParams, Router};
use trunkline_mcp::{ConfirmLayer, Mcp, McpConfig};

use crate::support::{
    Client, Gate, Pipes, TestServer, assert_fits, headers_of, legacy, modern, post, router, serve,
    serve_router, settings,
};

const BOTH: &str = "Accept: application/json, text/event-stream\r\n";

async fn serving() -> TestServer {
    serve(settings(), Default::default()).await
}

fn capabilities() -> Value {
    json!({ "elicitation": {}, "sampling": {}, "roots": {} })
}

fn initialize() -> Value {
    let info = json!({ "name": "t", "version": "1" });
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities(), "clientInfo": info,
    });
    legacy("initialize", params)
}

fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

fn call(tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": { "name": tool } })
}

/// The response of a client to a request, or to a member of `inputRequests`.
fn answer(request: &Value) -> Value {
    match request["method"].as_str().unwrap() {
        "elicitation/create" => match request["params"]["message"].as_str().unwrap() {
            "What is your name?" | "First name?" => {
                json!({ "action": "accept", "content": { "name": "Ada" } })
            }
            "Last name?" => json!({ "action": "accept", "content": { "name": "Lovelace" } }),
            _ => json!({ "action": "decline" }),
        },
        "sampling/createMessage" => {
            let content = json!({ "type": "text", "text": "That." });
            json!({ "role": "assistant", "content": content, "model": "m" })
        }
        "roots/list" => json!({ "roots": [{ "uri": "file:///a" }, { "uri": "file:///b" }] }),
        method => panic!("unexpected {method}"),
    }
}

fn response(request: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": request["id"], "result": answer(request) })
}

/// The reply to a call in a session of Streamable HTTP.
async fn over_session(server: &TestServer, tool: &str) -> Value {
    let reply = server.client().await.ask(post("/mcp", BOTH, initialize().to_string())).await;
    let session = format!("Mcp-Session-Id: {}\r\n", reply.header("mcp-session-id").unwrap());
    let headers = format!("{session}{BOTH}");
    let mut stream = server.client().await;
    stream.send(post("/mcp", &headers, call(tool).to_string())).await;
    assert_eq!(stream.head().await.status, 200);
    loop {
        let (_, message) = stream.session_message().await.unwrap();
        if message["id"] == "call" {
            return message;
        }
        let response = post("/mcp", &headers, response(&message).to_string());
        assert_eq!(server.client().await.ask(response).await.status, 202);
    }
}

/// The reply to a call over HTTP+SSE.
async fn over_sse(server: &TestServer, tool: &str) -> Value {
    let mut events = server.client().await;
    events.send("GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await;
    assert_eq!(events.head().await.status, 200);
    let first = events.event().await.unwrap();
    let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap();
    let send = async |message: Value| {
        let reply = server.client().await.ask(post(endpoint, "", message.to_string())).await;
        assert_eq!(reply.status, 202);
    };
    send(initialize()).await;
    events.message().await.unwrap();
    send(initialized()).await;
    send(call(tool)).await;
    loop {
        let message = events.message().await.unwrap();
        if message["id"] == "call" {
            return message;
        }
        send(response(&message)).await;
    }
}

/// The reply to a call over stdio.
async fn over_stdio(tool: &str) -> Value {
    let mut pipes = Pipes::open(settings());
    pipes.send([&initialize()]);
    pipes.next().await.unwrap();
    pipes.send([&initialized(), &call(tool)]);
    loop {
        let message = pipes.next().await.unwrap();
        if message["id"] == "call" {
            return message;
        }
        pipes.send([&response(&message)]);
    }
}

/// A round of a call in the stateless era.
fn round(tool: &str, responses: &Value, state: &Value) -> Value {
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities() });
    let mut params = json!({ "name": tool, "_meta": meta });
    if !state.is_null() {
        params["requestState"] = state.clone();
        params["inputResponses"] = responses.clone();
    }
    modern("tools/call", params)
}

async fn ask(client: &mut Client, message: &Value) -> Value {
    let headers = headers_of(message) + BOTH;
    client.ask(post("/mcp", &headers, message.to_string())).await.json()
}

/// The reply to a call in the stateless era, and the number of rounds.
async fn in_rounds(server: &TestServer, tool: &str) -> (Value, usize) {
    let (mut responses, mut state) = (json!({}), Value::Null);
    for rounds in 1.. {
        let reply = ask(&mut server.client().await, &round(tool, &responses, &state)).await;
        let result = &reply["result"];
        if result["resultType"] != "input_required" {
            return (reply, rounds);
        }
        let requests = result["inputRequests"].as_object().unwrap();
        responses = requests.iter().map(|(key, request)| (key.clone(), answer(request))).collect();
        state = result["requestState"].clone();
    }
    unreachable!()
}

#[tokio::test]
async fn the_same_handler_asks_clients_of_all_transports() {
    let server = serving().await;
    for (tool, text, rounds) in [
        ("greet", "Hello, Ada!", 2),
        ("ask_twice", "Ada Lovelace, 2 roots", 3),
        ("ask_model", "That.", 2),
    ] {
        let text = Value::from(text);
        let expected = json!({ "result": { "content": [{ "text": text }], "isError": false } });
        assert_fits("session", &expected, &over_session(&server, tool).await);
        assert_fits("HTTP+SSE", &expected, &over_sse(&server, tool).await);
        assert_fits("stdio", &expected, &over_stdio(tool).await);
        let (reply, needed) = in_rounds(&server, tool).await;
        assert_fits("stateless", &expected, &reply);
        assert_eq!(needed, rounds, "{tool}");
    }
}

#[tokio::test]
async fn users_confirm_destructive_calls() {
    let delete = || Operation::new("delete", |params: RawParams| Json(params.0)).tool("delete");
    let by_params = delete().destructive().effect_of(|params| match params.get("all") {
        Some(_) => Effect::Destructive,
        None => Effect::ReadOnly,
    });
    let rows = [
        ("destructive", delete().destructive(), json!({}), true),
        ("additive", delete().additive(), json!({}), false),
        ("by its params", by_params, json!({ "all": true }), true),
    ];
    for (name, operation, arguments, is_asked) in rows {
        let router = Router::new().operation(operation);
        let router = ConfirmLayer::new().add_to(router);
        let mcp = Mcp::new(router.build().unwrap(), settings()).unwrap();
        for (confirm, is_error) in [(true, false), (false, is_asked)] {
            let mut pipes = Pipes::of(mcp.clone(), Gate::new());
            pipes.send([&initialize()]);
            pipes.next().await.unwrap();
            let mut message = call("delete");
            message["params"]["arguments"] = arguments.clone();
            pipes.send([&initialized(), &message]);
            let mut reply = pipes.next().await.unwrap();
            assert_eq!(reply["method"] == "elicitation/create", is_asked, "{name}");
            if is_asked {
                let content = json!({ "confirm": confirm });
                let answer = json!({ "action": "accept", "content": content });
                let response = json!({ "jsonrpc": "2.0", "id": reply["id"], "result": answer });
                pipes.send([&response]);
                reply = pipes.next().await.unwrap();
            }
            assert_fits(name, &json!({ "result": { "isError": is_error } }), &reply);
        }
        // A client that cannot be asked.
        let mut pipes = Pipes::of(mcp, Gate::new());
        let mut message = call("delete");
        message["params"]["arguments"] = arguments;
        pipes.send([&message]);
        let mut reply = pipes.next().await.unwrap();
        let outcome = |is_error: bool| json!({ "result": { "isError": is_error } });
        assert_fits(name, &outcome(is_asked), &reply);
        if is_asked {
            // The code is in the text, since models see nothing else.
            let text = reply["result"]["content"][0]["text"].as_str().unwrap();
            let code = text.split_once("\"trunkline_confirm\": \"").unwrap().1;
            let code = code.split_once('"').unwrap().0;
            message["params"]["arguments"]["trunkline_confirm"] = code.into();
            for is_error in [false, true] {
                pipes.send([&message]);
                reply = pipes.next().await.unwrap();
                assert_fits(name, &outcome(is_error), &reply);
            }
        }
    }
}

#[tokio::test]
async fn clients_without_the_capability_are_not_asked() {
    let server = serving().await;
    let message = modern("tools/call", json!({ "name": "greet" }));
    let request = post("/mcp", &headers_of(&message), message.to_string());
    let reply = server.client().await.ask(request).await;
    assert_eq!(reply.status, 400);
    let required = json!({ "requiredCapabilities": { "elicitation": {} } });
    assert_fits(
        "stateless",
        &json!({ "error": { "code": -32021, "data": required } }),
        &reply.json(),
    );
    // Without a session, and over plain JSON-RPC, no client can be asked.
    for path in ["/mcp", "/"] {
        let reply = server.client().await.ask(post(path, BOTH, call("greet").to_string())).await;
        assert_fits(path, &json!({ "result": { "isError": true } }), &reply.json());
    }
}

/// A reply to the second round of a call whose first round is that of `greet`.
async fn second_round(server: &TestServer, change: impl Fn(&mut Value)) -> Value {
    let mut client = server.client().await;
    let first = ask(&mut client, &round("greet", &json!({}), &Value::Null)).await;
    let state = &first["result"]["requestState"];
    let responses = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    let mut message = round("greet", &responses, state);
    change(&mut message["params"]);
    ask(&mut client, &message).await
}

#[tokio::test]
async fn states_are_valid_for_their_request_only() {
    let server = serving().await;
    let hello = json!({ "result": { "content": [{ "text": "Hello, Ada!" }] } });
    let refused = json!({ "error": { "code": -32602, "data": { "reason": "*requestState*" } } });
    let again = json!({ "result": { "resultType": "input_required" } });
    type Change = fn(&mut Value);
    let rows: [(&str, Change, &Value); 11] = [
        ("unchanged", |_| {}, &hello),
        ("other tool", |params| params["name"] = "ask_twice".into(), &refused),
        ("other arguments", |params| params["arguments"] = json!({ "a": 1 }), &refused),
        ("changed", |params| params["requestState"] = json!("AAAA"), &refused),
        ("not text", |params| params["requestState"] = json!(1), &refused),
        ("empty", |params| params["requestState"] = json!(""), &refused),
        ("no response", |params| params["inputResponses"] = json!({}), &again),
        ("other key", |params| params["inputResponses"] = json!({ "x": {} }), &again),
        // Null is the same as absent.
        ("null", |params| params["requestState"] = Value::Null, &hello),
        ("null responses", |params| params["inputResponses"] = Value::Null, &again),
        (
            "without the state",
            |params| drop(params.as_object_mut().unwrap().remove("requestState")),
            &hello,
        ),
    ];
    for (name, change, expected) in rows {
        assert_fits(name, expected, &second_round(&server, change).await);
    }
    for responses in [json!([]), json!({ "name": 1 }), json!("x")] {
        let reply = second_round(&server, |params| params["inputResponses"] = responses.clone());
        let refused = json!({ "error": { "code": -32602 } });
        assert_fits(&responses.to_string(), &refused, &reply.await);
    }
}

/// Before each kind of request, at both paths of the stateless era.
#[tokio::test]
async fn a_confirmation_counts_only_if_it_was_requested() {
    let tools = |gate: &Gate| {
        let remove = Operation::new("remove", || "removed").tool("remove").destructive();
        ConfirmLayer::new().add_to(router(gate).operation(remove))
    };
    let server = serve_router(settings(), tools).await;
    for tool in ["greet", "ask_twice", "ask_model", "remove"] {
        for path in ["/mcp", "/"] {
            let row = format!("{tool} at {path}");
            let ask = async |responses: Option<&Value>, state: &Value| {
                let mut message = round(tool, &json!({}), &Value::Null);
                if let Some(responses) = responses {
                    message["params"]["inputResponses"] = responses.clone();
                }
                if !state.is_null() {
                    message["params"]["requestState"] = state.clone();
                }
                let headers = headers_of(&message) + BOTH;
                let request = post(path, &headers, message.to_string());
                server.client().await.ask(request).await.json()["result"].take()
            };
            let is_asked = |result: &Value| result["resultType"] == "input_required";
            // All responses of an honest client, and the state of its first round.
            let (mut all, mut state, mut first) = (json!({}), Value::Null, Value::Null);
            let mut rounds = 0;
            let last = loop {
                let result = ask((!state.is_null()).then_some(&all), &state).await;
                if !is_asked(&result) {
                    break result;
                }
                for (key, request) in result["inputRequests"].as_object().unwrap() {
                    all[key] = match key.as_str() {
                        "trunkline_confirm" => {
                            json!({ "action": "accept", "content": { "confirm": true } })
                        }
                        _ => answer(request),
                    };
                }
                state = result["requestState"].clone();
                if rounds == 0 {
                    first = state.clone();
                }
                rounds += 1;
            };
            assert!(rounds > 0 && last["isError"] == false, "{row}: {last}");
            // The same responses before they were requested, and once the confirmation is.
            assert!(is_asked(&ask(Some(&all), &Value::Null).await), "{row}");
            let result = ask(Some(&all), &first).await;
            assert_eq!(result["isError"], false, "{row}: {result}");
        }
    }
}

#[tokio::test]
async fn states_belong_to_their_caller() {
    let mut http = trunkline::http::HttpConfig::default();
    for name in ["ada", "bob"] {
        http.bearer.allow_principal(Principal::new(name), name);
    }
    let server = serve(settings(), http).await;
    let ask = async |token: &str, message: &Value| {
        let headers = format!("{}{BOTH}Authorization: Bearer {token}\r\n", headers_of(message));
        server.client().await.ask(post("/mcp", &headers, message.to_string())).await.json()
    };
    let first = ask("ada", &round("greet", &json!({}), &Value::Null)).await;
    let responses = json!({ "name": { "action": "decline" } });
    let second = round("greet", &responses, &first["result"]["requestState"]);
    let refused = json!({ "error": { "code": -32602, "data": { "reason": "*requestState*" } } });
    assert_fits("foreign", &refused, &ask("bob", &second).await);
    let hello = json!({ "result": { "content": [{ "text": "Hello!" }] } });
    assert_fits("own", &hello, &ask("ada", &second).await);
}

#[tokio::test]
async fn a_state_can_be_sent_again_until_it_expires() {
    let server = serving().await;
    let mut client = server.client().await;
    let first = ask(&mut client, &round("greet", &json!({}), &Value::Null)).await;
    let responses = json!({ "name": { "action": "decline" } });
    let second = round("greet", &responses, &first["result"]["requestState"]);
    for _ in 0..2 {
        let expected = json!({ "result": { "content": [{ "text": "Hello!" }] } });
        assert_fits("again", &expected, &ask(&mut client, &second).await);
    }
    let expired = McpConfig { state_lifetime: Duration::ZERO, ..settings() };
    let server = serve(expired, Default::default()).await;
    let refused = json!({ "error": { "code": -32602 } });
    assert_fits("expired", &refused, &second_round(&server, |_| {}).await);
}

#[tokio::test]
async fn a_request_that_is_sent_again_replaces_the_response() {
    let server = serving().await;
    let mut client = server.client().await;
    let mut reply = ask(&mut client, &round("ask_until", &json!({}), &Value::Null)).await;
    for (name, expected) in [("", None), ("", None), ("Ada", Some("Ada"))] {
        let state = &reply["result"]["requestState"];
        let responses = json!({ "name": { "action": "accept", "content": { "name": name } } });
        reply = ask(&mut client, &round("ask_until", &responses, state)).await;
        let expected = match expected {
            Some(text) => json!({ "result": { "content": [{ "text": text }] } }),
            None => json!({ "result": { "resultType": "input_required" } }),
        };
        assert_fits(name, &expected, &reply);
    }
}

#[tokio::test]
async fn capabilities_and_keys_are_limited() {
    let server = serving().await;
    let large = json!({ "experimental": { "x": "x".repeat(20_000) } });
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": large });
    let modern = modern("tools/call", json!({ "name": "greet", "_meta": meta }));
    let reply = ask(&mut server.client().await, &modern).await;
    assert_fits("stateless", &json!({ "error": { "code": -32602 } }), &reply);
    let mut message = initialize();
    message["params"]["capabilities"] = large;
    let reply = server.client().await.ask(post("/mcp", BOTH, message.to_string())).await;
    assert_fits("initialize", &json!({ "error": { "code": -32602 } }), &reply.json());
    let same = ask(&mut server.client().await, &round("ask_same", &json!({}), &Value::Null)).await;
    assert_fits("same key", &json!({ "result": { "isError": true } }), &same);
}

#[tokio::test]
async fn a_handler_does_not_wait_for_a_client_that_has_gone() {
    let mut pipes = Pipes::open(settings());
    pipes.send([&initialize()]);
    pipes.next().await.unwrap();
    pipes.send([&initialized(), &call("greet")]);
    assert_eq!(pipes.next().await.unwrap()["method"], "elicitation/create");
    let (rest, ended) = pipes.finish().await;
    let failed = json!({ "id": "call", "result": { "isError": true } });
    assert_fits("failed", &failed, rest.last().unwrap());
    assert!(ended.is_ok(), "{ended:?}");
}

#[tokio::test]
async fn rounds_are_limited() {
    let limited = McpConfig { rounds: 3, ..settings() };
    let server = serve(limited, Default::default()).await;
    let (reply, rounds) = in_rounds(&server, "ask_forever").await;
    assert_fits("limit", &json!({ "error": { "code": -32603 } }), &reply);
    assert_eq!(rounds, 4);
}

#[tokio::test]
async fn a_client_that_does_not_respond_fails_the_request() {
    let impatient = McpConfig { client_timeout: Duration::from_millis(20), ..settings() };
    let mut pipes = Pipes::open(impatient);
    pipes.send([&initialize()]);
    pipes.next().await.unwrap();
    pipes.send([&initialized(), &call("greet")]);
    let request = pipes.next().await.unwrap();
    assert_eq!(request["method"], "elicitation/create");
    // The request is cancelled, and the call ends with an error.
    let cancelled = json!({
        "method": "notifications/cancelled", "params": { "requestId": request["id"] },
    });
    assert_fits("cancelled", &cancelled, &pipes.next().await.unwrap());
    let failed = json!({ "id": "call", "result": { "isError": true } });
    assert_fits("failed", &failed, &pipes.next().await.unwrap());
    // A late response is ignored.
    pipes.send([&response(&request), &legacy("ping", json!({}))]);
    assert_fits("ping", &json!({ "id": 1, "result": {} }), &pipes.next().await.unwrap());
}

#[tokio::test]
async fn responses_that_are_not_expected_are_ignored() {
    let mut pipes = Pipes::open(settings());
    pipes.send([&initialize()]);
    pipes.next().await.unwrap();
    pipes.send([&initialized(), &call("greet")]);
    let request = pipes.next().await.unwrap();
    let id = &request["id"];
    for wrong in [
        json!({ "jsonrpc": "2.0", "id": 99, "result": answer(&request) }),
        json!({ "jsonrpc": "2.0", "id": id.to_string(), "result": answer(&request) }),
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": 1, "message": "x" } }),
    ] {
        pipes.send([&wrong]);
    }
    pipes.send([&response(&request)]);
    let hello = json!({ "id": "call", "result": { "content": [{ "text": "Hello, Ada!" }] } });
    assert_fits("after wrong responses", &hello, &pipes.next().await.unwrap());
}
