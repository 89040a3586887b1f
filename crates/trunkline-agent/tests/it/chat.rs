//! Turns with all kinds of replies of models and their servers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::client::{Client, Http, http};
use trunkline::history::Entry;
use trunkline::protocol::TraceContext;

use crate::model_server::{Answer, ModelServer};
use crate::support::{TestConfig, includes, to_json};

/// Longer than a model server of these tests takes.
const LONG: Duration = Duration::from_secs(20);

/// Sends a message while the model answers with `script`, and checks the reply. Returns the requests.
async fn check(name: &str, script: Vec<Answer>, expected: Value) -> Vec<Value> {
    check_within(name, LONG, script, expected).await
}

/// The same with another timeout of the model.
async fn check_within(
    name: &str,
    limit: Duration,
    script: Vec<Answer>,
    expected: Value,
) -> Vec<Value> {
    let model = ModelServer::rows(script).await;
    let mut config = short_limits(&model.url);
    let limits = config.model.as_mut().unwrap();
    (limits.first_token_timeout, limits.token_timeout) = (limit, limit);
    let server = config.build().await;
    let found = to_json(server.chat(&json!({ "message": "What is 40 + 2?" })).await);
    includes(name, &found, &expected);
    model.requests()
}

/// A configuration with limits of retries, replies and steps that a test can reach.
fn short_limits(url: &str) -> TestConfig {
    let mut config = TestConfig::with_model(url);
    let model = config.model.as_mut().unwrap();
    model.first_token_timeout = LONG;
    model.token_timeout = LONG;
    model.max_retry_wait = Duration::from_millis(300);
    model.max_reply = 64 << 10;
    config.agent.max_steps = 4;
    config
}

const ADD: &str = r#"{"a": 40, "b": 2}"#;

fn added() -> Value {
    json!({
        "response": "It is 42.",
        "steps": [{ "tool": "add", "arguments": { "a": 40, "b": 2 }, "result": 42 }],
        "metadata": { "model": "tiny", "tool_used": "add", "stopped": null },
        "error": null,
    })
}

/// The results of tools in the second request.
fn shown(requests: &[Value]) -> Vec<&str> {
    let messages = requests[1]["messages"].as_array().unwrap();
    let of_tools = messages.iter().filter(|message| message["role"] == "tool");
    of_tools.map(|message| message["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn executes_complete_calls() {
    let script = vec![Answer::calls(&[("1", "add", ADD)]), Answer::text("It is 42.")];
    let requests = check("plain", script, added()).await;
    let first = &requests[0];
    includes("request", first, &json!({ "model": "tiny", "stream": true }));
    let names: Vec<_> = first["tools"].as_array().unwrap().iter().collect();
    assert!(names.iter().any(|tool| tool["function"]["name"] == "add"), "{names:?}");
    assert!(names.iter().all(|tool| tool["function"]["name"] != "inner"), "{names:?}");
    assert_eq!(shown(&requests), ["42"]);
    let mut expected = added();
    expected["usage"] = json!({ "prompt_tokens": 20, "total_tokens": 30, "estimated": false });
    let script = vec![Answer::calls(&[("1", "math_add", ADD)]), Answer::text("It is 42.")];
    check("unknown by that name", script, json!({ "steps": [{ "error": { "code": -32001 } }] }))
        .await;
    let script = vec![Answer::calls(&[("1", "math.add", ADD)]), Answer::text("It is 42.")];
    check("by the operation's name", script, expected).await;
}

#[tokio::test]
async fn executes_streamed_calls() {
    let part = |index: u64, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] })
    };
    let split = vec![
        part(0, Some("1"), Some("add"), ""),
        part(0, None, None, r#"{"a": 4"#),
        part(0, None, None, r#"0, "b"#),
        part(0, None, None, r#"": 2}"#),
    ];
    let answer = Answer::deltas(&[json!({ "content": "It is " }), json!({ "content": "42." })]);
    check("split arguments", vec![Answer::deltas(&split), answer.clone()], added()).await;

    let interleaved = vec![
        part(0, Some("1"), Some("add"), r#"{"a": 1,"#),
        part(1, Some("2"), Some("add"), r#"{"a": 2,"#),
        part(0, None, None, r#""b": 1}"#),
        part(1, None, None, r#""b": 2}"#),
    ];
    let both = json!({ "steps": [{ "result": 2 }, { "result": 4 }] });
    check("interleaved calls", vec![Answer::deltas(&interleaved), answer.clone()], both).await;

    let bare = json!({ "tool_calls": [{ "function": { "name": "add", "arguments": { "a": 40, "b": 2 } } }] });
    let requests = check("no ids", vec![Answer::deltas(&[bare]), answer.clone()], added()).await;
    let messages = &requests[1]["messages"];
    let id = &messages[2]["tool_calls"][0]["id"];
    includes("ids", &messages[3], &json!({ "tool_call_id": id }));

    let whole = Answer::stream(vec![format!(
        "data: {}\n\n",
        json!({ "choices": [{ "message": { "content": "It is 42." }, "finish_reason": "stop" }] })
    )]);
    let split = vec![Answer::deltas(&split), whole];
    let mut expected = added();
    expected["usage"] = json!({ "estimated": true });
    check("no end mark, no usage", split, expected).await;
}

/// The reply takes longer than the idle timeout, each pause less.
#[tokio::test]
async fn a_slow_model_is_waited_for() {
    let words: Vec<_> = "It is 42.".chars().map(|one| json!({ "content": one })).collect();
    let slow = Answer::deltas(&words).slow(Duration::from_millis(300));
    let script = vec![Answer::calls(&[("1", "add", ADD)]).slow(Duration::from_millis(100)), slow];
    let model = ModelServer::rows(script).await;
    let mut config = short_limits(&model.url);
    let limits = config.model.as_mut().unwrap();
    limits.token_timeout = Duration::from_secs(2);
    let server = config.build().await;
    let found = to_json(server.chat(&json!({ "message": "What is 40 + 2?" })).await);
    includes("slow", &found, &added());
    let ms = found["metadata"]["model_ms"].as_u64().unwrap();
    assert!(ms > 2_000, "longer than the model may be silent: {ms}");
}

#[tokio::test]
async fn executes_calls_in_the_text() {
    let text = r#"{"name": "add", "arguments": {"a": 40, "b": 2}}"#;
    let script = vec![Answer::text(text), Answer::text("It is 42.")];
    check("bare JSON", script, added()).await;
    let deltas = [json!({ "content": &text[..9] }), json!({ "content": &text[9..] })];
    let script = vec![Answer::deltas(&deltas), Answer::text("It is 42.")];
    check("bare JSON in a stream", script, added()).await;
    let answer = json!({ "response": r#"{"sum": 42}"#, "steps": [] });
    check("other JSON", vec![Answer::text(r#"{"sum": 42}"#)], answer).await;
}

#[tokio::test]
async fn reports_failed_calls_to_the_model() {
    for (name, (tool, arguments), code, part) in [
        ("malformed", ("add", r#"{"a": 40, "#), -32602, "not a JSON object"),
        ("an array", ("add", "[40, 2]"), -32602, "not a JSON object"),
        ("invalid", ("add", r#"{"a": "forty", "b": "2"}"#), -32602, "/a"),
        ("unknown", ("subtract", "{}"), -32001, "Tool not found"),
        ("not offered", ("inner", "{}"), -32001, "Tool not found"),
        ("its own error", ("fail", "{}"), 42, "It is broken (42) {\"reason\":\"rust\"}"),
    ] {
        let script = vec![Answer::calls(&[("1", tool, arguments)]), Answer::text("Sorry.")];
        let error = json!({ "code": code });
        let expected =
            json!({ "response": "Sorry.", "steps": [{ "error": error, "result": null }] });
        let requests = check(name, script, expected).await;
        let shown = shown(&requests);
        assert!(shown[0].starts_with("Error: ") && shown[0].contains(part), "{name}: {shown:?}");
        let again =
            requests[1]["messages"][2]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
        assert!(serde_json::from_str::<Value>(again).unwrap().is_object(), "{name}: {again}");
    }
}

#[tokio::test]
async fn truncates_a_large_result_for_the_model() {
    let script = vec![Answer::calls(&[("1", "large", "")]), Answer::text("Large.")];
    let requests = check("large", script, json!({ "response": "Large." })).await;
    let shown = shown(&requests)[0];
    assert!(shown.ends_with("\n[truncated: 16384 of 100002 bytes shown]"), "{}", &shown[16_300..]);
}

#[tokio::test]
async fn limits_end_a_turn() {
    let same = vec![Answer::calls(&[("1", "add", ADD)])];
    let expected = json!({
        "response": "…repeated too often",
        "steps": [{ "result": 42 }, { "result": 42 }, { "error": { "code": -32009 } }],
        "metadata": { "stopped": "repetition" },
    });
    check("repeated call", same, expected).await;

    let model = ModelServer::serve(|index, _| {
        Answer::calls(&[("1", "add", &format!(r#"{{"a": {index}, "b": 1}}"#))])
    });
    let model = model.await;
    let unlimited = || {
        let mut config = short_limits(&model.url);
        (config.agent.max_steps, config.agent.max_calls) = (u32::MAX, u32::MAX);
        config
    };
    let mut steps = unlimited();
    steps.agent.max_steps = 3;
    let mut calls = unlimited();
    calls.agent.max_calls = 3;
    let mut tokens = unlimited();
    tokens.agent.max_tokens = 40;
    let mut time = unlimited();
    time.agent.timeout = Duration::from_millis(100);
    for (config, stopped) in
        [(steps, "steps"), (calls, "calls"), (tokens, "tokens"), (time, "time")]
    {
        let server = config.build().await;
        let found = to_json(server.chat(&json!({ "message": "Count." })).await);
        let expected = json!({ "response": "…I stopped", "metadata": { "stopped": stopped } });
        includes(stopped, &found, &expected);
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_with_the_turn() {
    let model =
        ModelServer::rows(vec![Answer::calls(&[("1", "hang", ""), ("2", "add", ADD)])]).await;
    let mut config = short_limits(&model.url);
    config.agent.timeout = Duration::from_secs(2);
    let server = config.build().await;
    let found = to_json(server.chat(&json!({ "message": "Hang." })).await);
    let cut = json!({ "tool": "hang", "error": { "code": -32004 } });
    let done = json!({ "tool": "add", "result": 42 });
    includes("time", &found["steps"], &json!([cut, done]));
    includes("time", &found["metadata"], &json!({ "stopped": "time" }));
    assert!(server.calls.hanging.get().unwrap().is_cancelled());
}

#[tokio::test]
async fn failures_of_the_model_are_errors() {
    let failed = |code: i64, kind: &str, reason: &str| json!({ "error": { "code": code, "data": { "kind": kind, "reason": format!("…{reason}") } } });
    let partial = |text: &str| vec![format!("data: {text}\n\n")];
    let begun = json!({ "choices": [{ "delta": { "content": "It" } }] }).to_string();
    let large = "x".repeat(100_000);
    for (name, answer, expected) in [
        ("500", Answer::refusal(500, "out of memory"), failed(-32000, "refused", "out of memory")),
        (
            "401",
            Answer::refusal(401, "key sk-1"),
            failed(-32000, "unauthorized", "rejects the key"),
        ),
        ("silence", Answer::silence(), failed(-32004, "timeout", "begin its reply")),
        (
            "stalled",
            Answer::stream(partial(&begun)).stalled(),
            failed(-32004, "timeout", "continue its reply"),
        ),
        ("cut off", Answer::stream(partial(&begun)), failed(-32000, "cut_off", "ended early")),
        (
            "error in the stream",
            Answer::stream(partial(r#"{"error": {"message": "overloaded"}}"#)),
            failed(-32000, "failed", "overloaded"),
        ),
        ("no JSON", Answer::stream(partial("oops")), failed(-32000, "malformed", "expected value")),
        ("no choices", Answer::json(&json!({})), failed(-32000, "malformed", "no choices")),
        ("large", Answer::text(&large), failed(-32000, "too_large", "65536 bytes")),
    ] {
        let is_timeout = expected["error"]["code"] == -32004;
        let limit = if is_timeout { Duration::from_millis(300) } else { LONG };
        let requests = check_within(name, limit, vec![answer], expected).await;
        assert_eq!(requests.len(), 1, "{name}: no retry");
    }
    let mut config = short_limits("http://127.0.0.1:9");
    config.model.as_mut().unwrap().max_retries = 1;
    let found = to_json(config.build().await.chat(&json!({ "message": "Hi" })).await);
    let reason = "http://127.0.0.1:9: Connection refused";
    includes("unreachable", &found, &failed(-32000, "unreachable", reason));
}

#[tokio::test]
async fn a_failed_turn_reports_and_saves_its_steps() {
    let busy = Answer::refusal(429, "busy").with_header("retry-after", "60");
    for (kind, failure) in [("refused", Answer::refusal(500, "gone")), ("busy", busy)] {
        let script = vec![Answer::calls(&[("1", "add", ADD)]), failure, Answer::text("Yes.")];
        let model = ModelServer::rows(script).await;
        let server = short_limits(&model.url).build().await;
        let found = to_json(server.chat(&json!({ "message": "What is 40 + 2?" })).await);
        let data = json!({ "kind": kind, "steps": [{ "tool": "add", "result": 42 }] });
        includes(kind, &found, &json!({ "error": { "code": -32000, "data": data } }));
        let listed = server.call("agent.list_conversations", &json!({})).await.unwrap();
        let id = &listed["conversations"][0]["conversation_id"];
        server.chat(&json!({ "message": "Did you add?", "conversation_id": id })).await.unwrap();
        let messages = model.requests()[2]["messages"].as_array().unwrap().clone();
        let roles: Vec<_> =
            messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"], "{kind}");
    }
}

#[tokio::test]
async fn retries_busy_servers() {
    let busy = |status, after| Answer::refusal(status, "busy").with_header("retry-after", after);
    let answer = json!({ "response": "Now." });
    for (name, script, requests, expected) in [
        ("429", vec![busy(429, "0"), Answer::text("Now.")], 2, answer.clone()),
        ("503", vec![busy(503, "0.01"), busy(429, "0"), Answer::text("Now.")], 3, answer.clone()),
        ("no header", vec![Answer::refusal(429, "busy"), Answer::text("Now.")], 2, answer),
        (
            "too long",
            vec![busy(429, "60")],
            1,
            json!({ "error": { "code": -32005, "data": { "retry_after_ms": 60_000, "status": 429 } } }),
        ),
        (
            "until a date in the past",
            vec![busy(429, "Sun, 06 Nov 1994 08:49:37 GMT"), Answer::text("Now.")],
            2,
            json!({ "response": "Now.", "metadata": { "model_calls": 1 } }),
        ),
        (
            "until a distant date",
            vec![busy(503, "Fri, 31 Dec 9999 23:59:59 GMT")],
            1,
            json!({ "error": { "code": -32005, "data": { "status": 503 } } }),
        ),
        ("always", vec![busy(429, "0")], 4, json!({ "error": { "code": -32005 } })),
    ] {
        assert_eq!(check(name, script, expected).await.len(), requests, "{name}");
    }
}

#[tokio::test]
async fn falls_back_to_replies_without_streaming() {
    let refusal = Answer::refusal(400, "stream=true is not supported with tools");
    let script = vec![refusal, Answer::calls(&[("1", "add", ADD)]), Answer::text("It is 42.")];
    let requests = check("no streams", script, added()).await;
    let streams: Vec<_> =
        requests.iter().map(|request| request["stream"].as_bool().unwrap()).collect();
    assert_eq!(streams, [true, false, false]);
}

#[tokio::test]
async fn executes_calls_of_one_message_concurrently() {
    let calls: Vec<_> = ["1", "2", "3"].map(|id| (id, format!(r#"{{"a": {id}, "b": 0}}"#))).into();
    let calls: Vec<_> = calls.iter().map(|(id, arguments)| (*id, "wait", &**arguments)).collect();
    let model = ModelServer::rows(vec![Answer::calls(&calls), Answer::text("Done.")]).await;
    let mut config = short_limits(&model.url);
    config.agent.parallel_calls = 2;
    let server = config.build().await;
    let found = to_json(server.chat(&json!({ "message": "Wait." })).await);
    let steps = json!([{ "result": 1 }, { "result": 2 }, { "result": 3 }]);
    includes("in their order", &found, &json!({ "response": "Done.", "steps": steps }));
    assert_eq!(
        server.calls.max_waiting.load(std::sync::atomic::Ordering::SeqCst),
        2,
        "and no more at a time"
    );
}

#[tokio::test]
async fn sends_the_key_and_propagates_the_trace() {
    let script = vec![Answer::calls(&[("1", "add", ADD)]), Answer::text("It is 42.")];
    let model = ModelServer::rows(script).await;
    let mut config = short_limits(&model.url);
    config.model.as_mut().unwrap().key = Some("sk-1".parse().unwrap());
    let server = config.build().await;
    let trace = TraceContext::root();
    let mut settings = http::HttpClientConfig::default();
    settings.headers.insert("traceparent", trace.to_string().parse().unwrap());
    let http = Http::with_config(server.url.parse().unwrap(), settings).unwrap();
    let asked = json!({ "message": "What is 40 + 2?" });
    Client::new(http).call::<Value>("agent.chat", asked).await.unwrap();
    for request in [0, 1] {
        assert_eq!(model.header(request, "authorization").as_deref(), Some("Bearer sk-1"));
        let sent: TraceContext = model.header(request, "traceparent").unwrap().parse().unwrap();
        assert_eq!(sent.trace_id(), trace.trace_id(), "to the model, request {request}");
    }
    let page = server.history.entries(&Default::default());
    let hop = |entry: &Arc<Entry>| (entry.method.clone().unwrap().into_string(), entry.trace_id);
    let mut hops: Vec<_> = page.entries.iter().map(hop).collect();
    hops.sort();
    let trace_id = Some(trace.trace_id());
    let expected = ["agent.chat", "math.add"].map(|method| (method.to_owned(), trace_id));
    assert_eq!(hops, expected);
}
