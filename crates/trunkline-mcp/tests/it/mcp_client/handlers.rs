//! Requests of the server, in both eras.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use trunkline::ErrorObject;
use trunkline_mcp::client::{
    Change, ClientHandler, Error, HandlerError, HandlerFeatures, LogMessage,
};
use trunkline_mcp::{CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult, Root};

use super::script::{
    Asked, Script, accepted, error, event, events, legacy, modern, result, result_of, silence,
    stream,
};
use super::suite::{call, raw, tool};
use crate::support::{in_time, until};

/// A handler with all features, which records what it receives.
#[derive(Default)]
pub(super) struct Recorder {
    logs: Mutex<Vec<LogMessage>>,
    changes: Mutex<Vec<Change>>,
    pub(super) waits: bool,
}

impl Recorder {
    pub(super) fn logs(&self) -> Vec<LogMessage> {
        self.logs.lock().unwrap().clone()
    }

    pub(super) fn changes(&self) -> Vec<Change> {
        self.changes.lock().unwrap().clone()
    }
}

impl ClientHandler for Recorder {
    fn features(&self) -> HandlerFeatures {
        let mut features = HandlerFeatures::default();
        (features.forms, features.urls, features.sampling) = (true, true, true);
        (features.roots, features.list_changes) = (true, true);
        features
    }

    fn elicit(
        &self,
        elicitation: ElicitRequest,
    ) -> BoxFuture<'_, Result<ElicitResult, HandlerError>> {
        Box::pin(async move {
            if self.waits {
                std::future::pending::<()>().await;
            }
            match elicitation {
                ElicitRequest::Form { message, .. } if message == "no" => Ok(ElicitResult::Decline),
                ElicitRequest::Form { message, .. } if message == "wrong" => {
                    Ok(ElicitResult::Accept(Map::from_iter([("a".to_owned(), json!([1]))])))
                }
                ElicitRequest::Form { message, .. } if message.contains("name?") => {
                    Ok(ElicitResult::Accept(Map::from_iter([("name".to_owned(), "Ada".into())])))
                }
                ElicitRequest::Url { url, .. } if url != "https://h/" => Ok(ElicitResult::Cancel),
                _ => Ok(ElicitResult::Accept(Map::new())),
            }
        })
    }

    fn sample(
        &self,
        sampling: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, HandlerError>> {
        Box::pin(async move {
            match sampling.max_tokens {
                0 => Err(HandlerError::Refused("no tokens".to_owned())),
                _ => Ok(CreateMessageResult::new("m", sampling.messages.len().to_string())),
            }
        })
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, HandlerError>> {
        let root = Root { uri: "file:///a".to_owned(), name: None };
        Box::pin(std::future::ready(Ok(vec![root])))
    }

    fn log(&self, message: LogMessage) {
        self.logs.lock().unwrap().push(message);
    }

    fn changed(&self, change: Change) {
        self.changes.lock().unwrap().push(change);
    }
}

/// Requests of servers, with the results or the codes of errors.
fn requests() -> Vec<(Value, Result<Value, i64>)> {
    let request = |method: &str, params: Value| json!({ "method": method, "params": params });
    let form = |message: &str| {
        let property = json!({ "type": "string", "default": "x" });
        let schema = json!({ "type": "object", "properties": { "a": property } });
        request("elicitation/create", json!({ "message": message, "requestedSchema": schema }))
    };
    let to_url = |url: &str| {
        let params = json!({ "mode": "url", "message": "m", "url": url, "elicitationId": "7" });
        request("elicitation/create", params)
    };
    let sample = |max_tokens: u64| {
        let messages = [json!({ "role": "user", "content": { "type": "text", "text": "t" } })];
        let params = json!({ "messages": messages, "maxTokens": max_tokens });
        request("sampling/createMessage", params)
    };
    let empty_form =
        request("elicitation/create", json!({ "message": "?", "requestedSchema": {} }));
    let malformed = json!({ "message": "?", "requestedSchema": { "properties": 7 } });
    let malformed_form = request("elicitation/create", malformed);
    let with = |member: &str, value: Value| {
        let mut request = sample(5);
        request["params"][member] = value;
        request
    };
    let text = json!({ "type": "text", "text": "1" });
    let sampled =
        json!({ "role": "assistant", "content": text, "model": "m", "stopReason": "endTurn" });
    vec![
        (form("yes"), Ok(json!({ "action": "accept", "content": { "a": "x" } }))),
        (form("no"), Ok(json!({ "action": "decline" }))),
        (form("wrong"), Err(-32602)),
        (to_url("https://h/"), Ok(json!({ "action": "accept" }))),
        (to_url("https://other/"), Ok(json!({ "action": "cancel" }))),
        (empty_form, Ok(json!({ "action": "accept", "content": {} }))),
        (request("elicitation/create", json!({ "mode": "x", "message": "m" })), Err(-32602)),
        (request("elicitation/create", json!({ "mode": "url", "message": "m" })), Err(-32602)),
        (request("elicitation/create", json!({ "message": "m" })), Err(-32602)),
        (malformed_form, Err(-32602)),
        (request("elicitation/create", json!({ "requestedSchema": {} })), Err(-32602)),
        (sample(5), Ok(sampled.clone())),
        (sample(0), Err(-1)),
        (with("tools", Value::Null), Ok(sampled)),
        (with("toolChoice", json!({})), Err(-32602)),
        (with("maxTokens", Value::Null), Err(-32602)),
        (with("messages", json!({})), Err(-32602)),
        (with("tools", json!([])), Err(-32602)),
        (json!({ "method": "roots/list" }), Ok(json!({ "roots": [{ "uri": "file:///a" }] }))),
        (json!({ "method": "tools/list" }), Err(-32601)),
    ]
}

#[tokio::test]
async fn requests_before_2026_are_answered_by_post() {
    let mut requests = requests();
    requests.push((json!({ "method": "ping" }), Ok(json!({}))));
    for (request, expected) in requests {
        let mut message = request.clone();
        message["jsonrpc"] = "2.0".into();
        message["id"] = "q".into();
        let script = Script::start(move |asked| match asked.method() {
            "tools/call" => {
                let response = result_of(asked, &json!({ "content": [] }));
                events(&[event(&message), event(&response)])
            }
            _ => legacy(asked, "s"),
        });
        let script = script.await;
        let client = script.connect(|config| config.handler = Arc::new(Recorder::default()));
        let client = client.await.unwrap();
        call(&client).await.unwrap();
        let response = script.until("response", 1).await.remove(0);
        assert_eq!(response.header("mcp-session-id"), Some("s"));
        assert_eq!(response.body["id"], "q", "{request}");
        match expected {
            Ok(expected) => assert_eq!(response.body["result"], expected, "{request}"),
            Err(code) => assert_eq!(response.body["error"]["code"], code, "{request}"),
        }
    }
}

#[tokio::test]
async fn required_input_is_sent_with_the_same_request() {
    for (request, expected) in requests() {
        let input = json!({ "k": request });
        let script = Script::start(move |asked| match asked.method() {
            "tools/call" if asked.body["params"]["inputResponses"].is_null() => result(
                asked,
                &json!({
                    "resultType": "input_required",
                    "inputRequests": input,
                    "requestState": "s\u{e9} ",
                }),
            ),
            _ => modern(asked),
        });
        let script = script.await;
        let client = script.connect(|config| config.handler = Arc::new(Recorder::default()));
        let client = client.await.unwrap();
        let called = client.call_tool(&tool(&client, "one").await, &raw(json!({ "x": 1 }))).await;
        let calls = script.asked_for("tools/call");
        let Ok(expected) = expected else {
            assert!(matches!(called, Err(Error::Input { .. })), "{request}: {called:?}");
            assert_eq!(calls.len(), 1, "{request}");
            continue;
        };
        called.unwrap();
        let [first, second] = &*calls else { panic!("{calls:?}") };
        assert_ne!(first.body["id"], second.body["id"]);
        let params = &second.body["params"];
        assert_eq!(params["inputResponses"], json!({ "k": expected }), "{request}");
        assert_eq!(params["requestState"], "s\u{e9} ");
        assert_eq!(params["arguments"], json!({ "x": 1 }));
        assert_eq!(second.header("mcp-name"), Some("one"));
    }
}

#[tokio::test]
async fn capabilities_are_those_of_the_handler() {
    #[track_caller]
    fn check(asked: &Asked, path: &[&str], expected: &Value) {
        let found = path.iter().fold(&asked.body["params"], |value, name| &value[*name]);
        assert_eq!(found, expected);
    }
    let all = json!({
        "elicitation": { "form": {}, "url": {} }, "roots": {}, "sampling": {},
    });
    let meta = ["_meta", "io.modelcontextprotocol/clientCapabilities"];
    for has_handler in [true, false] {
        let expected = if has_handler { all.clone() } else { json!({}) };
        let change = |config: &mut trunkline_mcp::client::McpClientConfig| {
            if has_handler {
                config.handler = Arc::new(Recorder::default());
            }
        };
        let script = Script::start(modern).await;
        script.connect(change).await.unwrap().list_tools().await.unwrap();
        let mut with_tasks = expected.clone();
        with_tasks["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
        check(&script.asked_for("tools/list")[0], &meta, &with_tasks);
        let script = Script::start(|asked| legacy(asked, "")).await;
        script.connect(change).await.unwrap();
        check(&script.asked_for("initialize")[0], &["capabilities"], &expected);
    }
}

#[tokio::test]
async fn rounds_are_limited() {
    let script = Script::start(|asked| match asked.method() {
        "prompts/get" => {
            result(asked, &json!({ "resultType": "input_required", "requestState": "s" }))
        }
        "resources/read" => result(asked, &json!({ "resultType": "other" })),
        _ => modern(asked),
    });
    let script = script.await;
    let client = script.connect(|config| config.max_rounds = 3).await.unwrap();
    let endless = client.get_prompt("p", &Default::default()).await.unwrap_err();
    assert!(matches!(endless, Error::TooManyRounds(3)), "{endless}");
    let asked = script.asked_for("prompts/get");
    assert_eq!(asked.len(), 4);
    assert!(asked[3].body["params"].get("inputResponses").is_none());
    let unknown = client.read_resource("r").await.unwrap_err();
    assert!(unknown.to_string().contains("unknown `resultType` \"other\""), "{unknown}");
}

/// A server of 2025-11-25 that sends this request during a call, and ends the call when the client has answered.
async fn asks(request: Value, then: Value) -> Script {
    Script::start(move |asked| match asked.method() {
        "tools/call" => {
            let (sender, answer) = stream();
            sender.send(event(&request)).unwrap();
            sender.send(event(&then)).unwrap();
            sender.send(event(&result_of(asked, &json!({ "content": [] })))).unwrap();
            answer
        }
        _ => legacy(asked, ""),
    })
    .await
}

#[tokio::test]
async fn the_server_cancels_its_request() {
    let form = json!({ "message": "m", "requestedSchema": {} });
    let request =
        json!({ "jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": form });
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 },
    });
    let again = json!({ "jsonrpc": "2.0", "id": 6, "method": "ping" });
    for (then, responses) in [(cancelled, 0), (again, 1)] {
        let script = asks(request.clone(), then).await;
        let recorder = Arc::new(Recorder { waits: true, ..Recorder::default() });
        let client = script.connect(|config| {
            config.handler = recorder;
            config.handler_timeout = Duration::from_secs(60);
        });
        let client = client.await.unwrap();
        call(&client).await.unwrap();
        client.ping().await.unwrap();
        assert_eq!(script.until("response", responses).await.len(), responses);
        in_time("to close", client.close()).await;
    }
}

#[tokio::test]
async fn slow_handlers_time_out() {
    let form = json!({ "message": "m", "requestedSchema": {} });
    let request =
        json!({ "jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": form });
    let script = asks(request, json!({ "jsonrpc": "2.0", "method": "notifications/x" })).await;
    let client = script.connect(|config| {
        config.handler = Arc::new(Recorder { waits: true, ..Recorder::default() });
        config.handler_timeout = Duration::from_millis(20);
    });
    let client = client.await.unwrap();
    call(&client).await.unwrap();
    let response = script.until("response", 1).await.remove(0);
    assert_eq!(response.body["error"]["code"], -32603);
}

#[tokio::test]
async fn requests_at_the_same_time_are_limited() {
    let script = Script::start(|asked| match asked.method() {
        "tools/call" => {
            let form = json!({ "message": "m", "requestedSchema": {} });
            let request = |id: u32| {
                event(&json!({
                    "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form,
                }))
            };
            let mut all: Vec<String> = (0..5).map(request).collect();
            all.push(event(&result_of(asked, &json!({ "content": [] }))));
            events(&all)
        }
        _ => legacy(asked, ""),
    });
    let script = script.await;
    let client = script.connect(|config| {
        config.handler = Arc::new(Recorder { waits: true, ..Recorder::default() });
        config.max_requests = 2;
    });
    let client = client.await.unwrap();
    call(&client).await.unwrap();
    let refused = script.until("response", 3).await;
    assert!(refused.iter().all(|response| response.body["error"]["code"] == -32603));
    client.close().await;
    assert_eq!(script.asked_for("response").len(), 3);
}

#[tokio::test]
async fn a_flood_of_requests_is_bounded() {
    let script = Script::start(|asked| match asked.method() {
        "tools/call" => {
            let ping = |id: u32| event(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
            let mut all: Vec<String> = (0..10_000).map(ping).collect();
            all.push(event(&result_of(asked, &json!({ "content": [] }))));
            events(&all)
        }
        "response" => silence(),
        _ => legacy(asked, ""),
    });
    let script = script.await;
    let client = script.connect(|config| config.max_requests = 2).await.unwrap();
    call(&client).await.unwrap();
    client.ping().await.unwrap();
    assert!(script.asked_for("response").len() <= 66);
    in_time("to close", client.close()).await;
}

#[tokio::test]
async fn modern_servers_send_no_requests() {
    let script = Script::start(|asked| match asked.method() {
        "tools/call" => {
            let request = json!({ "jsonrpc": "2.0", "id": 5, "method": "roots/list" });
            events(&[event(&request), event(&result_of(asked, &json!({ "content": [] })))])
        }
        _ => modern(asked),
    });
    let script = script.await;
    let recorder = Arc::new(Recorder::default());
    let client = script.connect(|config| config.handler = recorder.clone()).await.unwrap();
    call(&client).await.unwrap();
    client.close().await;
    assert!(script.asked_for("response").is_empty());
}

#[tokio::test]
async fn requests_outside_calls_arrive_on_the_stream() {
    let script = Script::start(|asked| match asked.method() {
        "GET" => {
            let (sender, answer) = stream();
            let request = json!({ "jsonrpc": "2.0", "id": 5, "method": "roots/list" });
            let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            sender.send(event(&request) + &event(&changed)).unwrap();
            // The stream stays open.
            std::mem::forget(sender);
            answer
        }
        _ => legacy(asked, "s"),
    });
    let script = script.await;
    let recorder = Arc::new(Recorder::default());
    let client = script.connect(|config| config.handler = recorder.clone()).await.unwrap();
    let opened = &script.asked_for("GET")[0];
    assert_eq!(opened.header("mcp-session-id"), Some("s"));
    assert_eq!(opened.header("accept"), Some("text/event-stream"));
    let response = script.until("response", 1).await.remove(0);
    assert_eq!(response.body["result"]["roots"][0]["uri"], "file:///a");
    until("the change", || recorder.changes() == [Change::Tools]).await;
    in_time("to close", client.close()).await;
    assert_eq!(script.methods().last().map(String::as_str), Some("DELETE"));
}

#[tokio::test]
async fn errors_of_requests_have_their_code() {
    let script = Script::start(|asked| match asked.method() {
        "tools/call" => error("200 OK", asked, -32602, &json!({ "a": 1 })),
        "notifications/initialized" => accepted(),
        _ => modern(asked),
    });
    let script = script.await;
    let client = script.client().await;
    let failed = call(&client).await.unwrap_err();
    assert_eq!(failed.error_object().map(ErrorObject::code), Some(-32602));
    assert_eq!(failed.status().map(|status| status.as_u16()), Some(200));
}
