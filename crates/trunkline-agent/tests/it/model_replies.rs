//! Lenient parsing of the replies of model servers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_agent::model;

use crate::model_server::{Answer, ModelServer};
use crate::support::{TestConfig, includes, to_json};

/// Sends a message while the model answers with `script`, and checks the reply. Returns the requests.
async fn check(name: &str, script: Vec<Answer>, expected: Value) -> Vec<Value> {
    check_with(name, |_| {}, script, expected).await
}

async fn check_with(
    name: &str,
    set: impl FnOnce(&mut model::ModelConfig),
    script: Vec<Answer>,
    expected: Value,
) -> Vec<Value> {
    let model = ModelServer::rows(script).await;
    let mut config = TestConfig::with_model(&model.url);
    set(config.model.as_mut().unwrap());
    let server = config.build().await;
    let found = to_json(server.chat(&json!({ "message": "What is 40 + 2?" })).await);
    includes(name, &found, &expected);
    model.requests()
}

const ADD: &str = r#"{"a": 40, "b": 2}"#;

fn text_reply(text: &str) -> Value {
    json!({ "response": text, "error": null })
}

fn failed(kind: &str, reason: &str) -> Value {
    json!({ "error": { "code": -32000, "data": { "kind": kind, "reason": reason } } })
}

/// A stream of these events.
fn events(chunks: &[Value]) -> Answer {
    Answer::stream(chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect())
}

fn delta(delta: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

/// A part of a call in a stream.
fn part(index: u64, id: Value, name: Option<&str>, arguments: &str) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] })
}

fn whole(message: &Value, finish: &str) -> Answer {
    Answer::json(&json!({ "choices": [{ "message": message, "finish_reason": finish }] }))
}

#[tokio::test]
async fn accepts_deviating_replies() {
    let text = || delta(&json!({ "content": "42." }));
    let done = || finish("stop");
    for (name, answer) in [
        ("no choices", events(&[text(), done(), json!({ "choices": null })])),
        ("no usage", events(&[text(), done(), json!({ "choices": [], "usage": null })])),
        ("usage of another type", events(&[text(), done(), json!({ "usage": "much" })])),
        ("a complete message instead of a delta", {
            let message =
                json!({ "message": { "content": "42." }, "delta": null, "finish_reason": "stop" });
            events(&[json!({ "choices": [message] })])
        }),
        ("parts", whole(&json!({ "content": [{ "type": "text", "text": "42." }, 7] }), "stop")),
        (
            "no error",
            Answer::json(
                &json!({ "error": null, "choices": [{ "message": { "content": "42." } }] }),
            ),
        ),
        ("null calls", whole(&json!({ "content": "42.", "tool_calls": null }), "stop")),
        ("a stream in plain text", {
            let body = format!(": hello\n\ndata: {}\n\ndata: {}\n\n", text(), done());
            let pieces =
                body.as_bytes().chunks(3).map(|piece| String::from_utf8_lossy(piece).into_owned());
            Answer::stream(pieces.collect()).typed("text/plain")
        }),
        ("a stream declared as JSON", events(&[text(), done()]).typed("application/json")),
        ("an error of false", events(&[text(), json!({ "error": false, "choices": [] }), done()])),
        (
            "an empty error",
            Answer::json(&json!({ "error": {}, "choices": [{ "message": { "content": "42." } }] })),
        ),
        ("the complete message after its parts", {
            let whole = json!({ "message": { "content": "42." }, "finish_reason": "stop" });
            let part = delta(&json!({ "content": "42" }));
            events(&[part, delta(&json!({ "content": "." })), json!({ "choices": [whole] })])
        }),
        ("the rest in the complete message", {
            let whole = json!({ "message": { "content": "42." }, "finish_reason": "stop" });
            events(&[delta(&json!({ "content": "4" })), json!({ "choices": [whole] })])
        }),
        ("an empty message after the parts", {
            let whole = json!({ "message": { "content": "" }, "finish_reason": "stop" });
            events(&[text(), json!({ "choices": [whole] })])
        }),
        ("another choice", {
            let other = json!({ "index": 1, "delta": { "content": "43." } });
            let both = json!({ "choices": [other, { "index": 0, "delta": { "content": "42." } }] });
            events(&[both, json!({ "choices": [other] }), done()])
        }),
    ] {
        check(name, vec![answer], text_reply("42.")).await;
    }
}

#[tokio::test]
async fn reads_usage() {
    let with_usage = |usage: Value| {
        let choice = json!({ "message": { "content": "42." } });
        Answer::json(&json!({ "choices": [choice], "usage": usage }))
    };
    let counted = json!({ "prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4, "estimated": false });
    for (usage, expected) in [
        (json!({ "prompt_tokens": 3.0, "completion_tokens": 1 }), counted.clone()),
        (
            json!({ "prompt_tokens": 3, "completion_tokens": 1, "total_tokens": null }),
            counted.clone(),
        ),
        (json!({ "prompt_tokens": 3, "completion_tokens": 1, "total_tokens": -1 }), counted),
        (json!({ "prompt_tokens": -1, "completion_tokens": null }), json!({ "estimated": true })),
        (json!({}), json!({ "estimated": true })),
    ] {
        let name = usage.to_string();
        check(&name, vec![with_usage(usage)], json!({ "usage": expected })).await;
    }
}

#[tokio::test]
async fn assembles_calls_from_parts() {
    let one = [("add", 42)].as_slice();
    let two = [("add", 42), ("add", 3)].as_slice();
    let other = r#"{"a": 1, "b": 2}"#;
    for (name, deltas, expected) in [
        (
            "two calls with one index",
            vec![part(0, json!("a"), Some("add"), ADD), part(0, json!("b"), Some("add"), other)],
            two,
        ),
        (
            "two with one index in pieces",
            vec![
                part(0, json!("a"), Some("add"), &ADD[..5]),
                part(0, json!(null), None, &ADD[5..]),
                part(0, json!("b"), Some("add"), &other[..5]),
                part(0, json!("b"), None, &other[5..]),
            ],
            two,
        ),
        (
            "another id in each piece",
            vec![part(0, json!("a"), Some("add"), &ADD[..5]), part(0, json!("b"), None, &ADD[5..])],
            one,
        ),
        (
            "a name in pieces",
            vec![part(0, json!("a"), Some("a"), ""), part(0, json!(""), Some("dd"), ADD)],
            one,
        ),
        (
            "a repeated name",
            vec![
                part(0, json!("a"), Some("add"), ""),
                part(0, json!("a"), Some("add"), &ADD[..5]),
                part(0, json!("a"), Some("add"), &ADD[5..]),
            ],
            one,
        ),
        ("a number for an id", vec![part(0, json!(7), Some("add"), ADD)], one),
        (
            "two with one index without ids",
            vec![part(0, json!(""), Some("add"), ADD), part(0, json!(null), Some("add"), other)],
            two,
        ),
        (
            "a name after the complete call",
            vec![part(0, json!(""), Some("add"), ADD), part(0, json!(""), Some("add"), "")],
            one,
        ),
        (
            "a repeated call",
            vec![part(0, json!("a"), Some("add"), ADD), part(0, json!("a"), Some("add"), ADD)],
            one,
        ),
        (
            "a name that grows",
            vec![part(0, json!("a"), Some("ad"), ""), part(0, json!("a"), Some("add"), ADD)],
            one,
        ),
        ("a name in blanks", vec![part(0, json!("a"), Some(" add\n"), ADD)], one),
        ("a name in a namespace", vec![part(0, json!("a"), Some("functions.add"), ADD)], one),
        (
            "the deprecated format",
            vec![
                json!({ "function_call": { "name": "add", "arguments": &ADD[..5] } }),
                json!({ "function_call": { "arguments": &ADD[5..] } }),
            ],
            one,
        ),
    ] {
        let steps: Vec<_> = expected
            .iter()
            .map(|(tool, result)| json!({ "tool": tool, "result": result }))
            .collect();
        let script = vec![Answer::deltas(&deltas), Answer::text("Added.")];
        check(name, script, json!({ "response": "Added.", "steps": steps })).await;
    }
}

/// Streams whose last event repeats the complete reply.
#[tokio::test]
async fn executes_repeated_calls_once() {
    let call = |id: &str, arguments: &str| json!({ "id": id, "function": { "name": "add", "arguments": arguments } });
    let whole = |calls: Value| json!({ "choices": [{ "message": { "tool_calls": calls }, "finish_reason": "tool_calls" }] });
    let other = r#"{"a": 1, "b": 2}"#;
    for (name, chunks, results) in [
        (
            "after a part",
            vec![delta(&part(0, json!("x1"), Some("add"), ADD)), whole(json!([call("x1", ADD)]))],
            vec![42],
        ),
        (
            "after half of it, with another id",
            vec![
                delta(&part(0, json!("x"), Some("add"), &ADD[..5])),
                whole(json!([call("y", ADD)])),
            ],
            vec![42],
        ),
        (
            "after a complete message",
            vec![
                whole(json!([call("x1", ADD)])),
                whole(json!([call("x1", ADD), call("x2", other)])),
            ],
            vec![42, 3],
        ),
        (
            "none in it",
            vec![delta(&part(0, json!("x1"), Some("add"), ADD)), whole(json!([]))],
            vec![42],
        ),
    ] {
        let steps: Vec<_> = results.iter().map(|result| json!({ "result": result })).collect();
        let script = vec![events(&chunks), Answer::text("Added.")];
        check(name, script, json!({ "response": "Added.", "steps": steps })).await;
    }
}

#[tokio::test]
async fn ids_are_short_and_unique() {
    let long = "x".repeat(3_000_000);
    for id in [long.as_str(), "", "a b", "\n", "own"] {
        let model = ModelServer::rows(vec![
            Answer::calls(&[(id, "add", ADD), (id, "wait", ADD)]),
            Answer::text("42."),
        ]);
        let model = model.await;
        let server = TestConfig::with_model(&model.url).build().await;
        server.chat(&json!({ "message": "What is 40 + 2?" })).await.unwrap();
        let requests = model.requests();
        let messages = requests[1]["messages"].as_array().unwrap();
        let called = messages[2]["tool_calls"].as_array().unwrap();
        let ids: Vec<_> = called.iter().map(|call| call["id"].as_str().unwrap()).collect();
        let result_ids: Vec<_> = messages[3..].iter().map(|tool| &tool["tool_call_id"]).collect();
        assert_eq!(ids, result_ids, "{id:.9}");
        assert!(ids[0] != ids[1], "{id:.9}: {ids:?}");
        assert!(ids.iter().all(|id| (1..=64).contains(&id.len())), "{id:.9}");
        assert_eq!(ids[0] == id, id == "own", "{id:.9}: {ids:?}");
    }
}

/// Ids generated for calls without one, and for confirmed calls.
#[tokio::test]
async fn generated_ids_are_unique_in_a_conversation() {
    let script = |index: usize, _: &Value| match index % 2 {
        0 => Answer::calls(&[("", "add", ADD), ("", "undeclared", "{}")]),
        _ => Answer::text("Done."),
    };
    let model = ModelServer::serve(script).await;
    let server = TestConfig::with_model(&model.url).build().await;
    let mut reply = server.chat(&json!({ "message": "Go." })).await.unwrap();
    for _ in 0..3 {
        let id = &reply["conversation_id"];
        let confirm = reply.pointer("/pending/confirm");
        let message = if confirm.is_none() { Some("Go.") } else { None };
        let params = json!({ "message": message, "conversation_id": id, "confirm": confirm });
        reply = server.chat(&params).await.unwrap();
    }
    let requests = model.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap();
    let mut ids: Vec<_> =
        messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    let all = ids.len();
    assert!(all >= 5, "{messages:#?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[tokio::test]
async fn rejects_large_replies() {
    let set = |model: &mut model::ModelConfig| {
        (model.max_content_bytes, model.max_arguments_bytes) = (8, 24);
    };
    let text = |text: &str| delta(&json!({ "content": text }));
    let call = |name: &str, arguments: &str| part(0, json!("1"), Some(name), arguments);
    let too_large = |what: &str| failed("too_large", &format!("…bytes in the model's {what}"));
    for (name, answer, expected) in [
        ("text", Answer::text("more than 8"), too_large("text")),
        ("text in pieces", events(&[text("12345"), text("6789")]), too_large("text")),
        ("8 bytes", Answer::text("12345678"), text_reply("12345678")),
        ("arguments", Answer::calls(&[("1", "add", &" ".repeat(22))]), too_large("calls")),
        ("a name", Answer::calls(&[("1", &"x".repeat(25), "")]), too_large("calls")),
        (
            "pieces",
            events(&[delta(&call("add", &" ".repeat(12))), delta(&call("add", &" ".repeat(12)))]),
            too_large("calls"),
        ),
        (
            "calls",
            Answer::calls(&[("1", "add", &" ".repeat(12)), ("2", "add", &" ".repeat(12))]),
            too_large("calls"),
        ),
    ] {
        check_with(name, set, vec![answer], expected).await;
    }
    let script = vec![Answer::calls(&[("1", "add", ADD)]), Answer::text("42.")];
    check_with("within", set, script, text_reply("42.")).await;
}

#[tokio::test]
async fn rejects_replies_without_an_answer() {
    let filtered = "the model refuses to answer: blocked by the content filter of the endpoint";
    let refused = "the model refuses to answer: I may not.";
    let add = json!([{ "id": "1", "function": { "name": "add", "arguments": ADD } }]);
    for (name, answer, expected) in [
        ("empty", Answer::text(" \n"), failed("empty", "the model's reply is empty")),
        ("null", whole(&json!({ "content": null }), "stop"), failed("empty", "…empty")),
        (
            "filtered",
            whole(&json!({ "content": "" }), "content_filter"),
            failed("refused", filtered),
        ),
        ("half", whole(&json!({ "content": "It" }), "content_filter"), failed("refused", filtered)),
        (
            "calls",
            whole(&json!({ "tool_calls": add }), "content_filter"),
            failed("refused", filtered),
        ),
        ("refused", whole(&json!({ "refusal": "I may not." }), "stop"), failed("refused", refused)),
        (
            "refused in pieces",
            Answer::deltas(&[json!({ "refusal": "I may " }), json!({ "refusal": "not." })]),
            failed("refused", refused),
        ),
        (
            "no end",
            events(&[
                json!({ "choices": [{ "delta": { "content": "It is" }, "finish_reason": "" }] }),
            ]),
            failed("cut_off", "…ended early"),
        ),
        (
            "its cause",
            events(&[json!({ "error": { "message": "out of memory" }, "choices": null })]),
            failed("failed", "the model failed: out of memory"),
        ),
    ] {
        check(name, vec![answer], expected).await;
    }
    let script = vec![Answer::calls(&[("1", "add", ADD)]), Answer::text("")];
    let steps = json!({ "kind": "empty", "steps": [{ "tool": "add", "result": 42 }] });
    check("after a call", script, json!({ "error": { "data": steps } })).await;
}

#[tokio::test]
async fn does_not_execute_truncated_calls() {
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "function": { "name": name, "arguments": arguments } });
    let cut = json!({ "tool": "add", "result": null, "error": { "code": -32602 } });
    let made = json!({ "tool": "add", "result": 42 });
    for (name, message, steps) in [
        ("no arguments", json!({ "tool_calls": [call("1", "add", "")] }), json!([cut.clone()])),
        (
            "half of them",
            json!({ "tool_calls": [call("1", "add", r#"{"a":"#)] }),
            json!([cut.clone()]),
        ),
        ("all of them", json!({ "tool_calls": [call("1", "add", ADD)] }), json!([cut.clone()])),
        (
            "the last one",
            json!({ "tool_calls": [call("1", "add", ADD), call("2", "add", "")] }),
            json!([made, cut.clone()]),
        ),
        (
            "in the text",
            json!({ "content": format!(r#"{{"name": "add", "arguments": {ADD}}}"#) }),
            json!([cut]),
        ),
    ] {
        let script = vec![whole(&message, "length"), Answer::text("Shorter.")];
        let expected = json!({ "response": "Shorter.", "steps": steps });
        let requests = check(name, script, expected).await;
        let result = requests[1]["messages"].as_array().unwrap().last().unwrap();
        includes(name, result, &json!({ "content": "…the reply was truncated" }));
    }
}

#[tokio::test]
async fn disables_streaming_only_if_it_is_rejected() {
    let no_streams = || Answer::refusal(400, "stream is not supported");
    let streams = |requests: &[Value]| -> Vec<bool> {
        requests.iter().map(|request| request["stream"].as_bool().unwrap()).collect()
    };
    for (name, refusal) in [
        ("another word", Answer::refusal(400, "the upstream is gone")),
        ("another status", Answer::refusal(504, "stream timed out")),
        ("a server that has failed", Answer::refusal(500, "the stream broke")),
    ] {
        let requests = check(name, vec![refusal], json!({ "error": { "code": -32000 } })).await;
        assert_eq!(streams(&requests), [true], "{name}");
    }
    for (name, refusal) in [
        ("404", Answer::refusal(404, "Streaming is not implemented")),
        ("501", Answer::refusal(501, "unknown field `stream_options`")),
    ] {
        let requests = check(name, vec![refusal, Answer::text("42.")], text_reply("42.")).await;
        assert_eq!(streams(&requests), [true, false], "{name}");
    }

    let script = vec![no_streams(), Answer::refusal(500, "gone"), Answer::text("42.")];
    let model = ModelServer::rows(script).await;
    let server = TestConfig::with_model(&model.url).build().await;
    let found = to_json(server.chat(&json!({ "message": "Hi" })).await);
    includes("gone", &found, &failed("refused", "…gone"));
    server.chat(&json!({ "message": "Hi" })).await.unwrap();
    assert_eq!(streams(&model.requests()), [true, false, true], "it was not the stream");
}

#[tokio::test]
async fn does_not_wait_for_the_end_of_an_error() {
    let set = |model: &mut model::ModelConfig| model.token_timeout = Duration::from_millis(200);
    let since = Instant::now();
    let refusal = Answer::refusal(400, "too many messages").stalled();
    check_with("stalled", set, vec![refusal], failed("refused", "…too many messages")).await;
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
}

#[tokio::test]
async fn redacts_the_key() {
    const KEY: &str = "sk-0123456789";
    let set = |model: &mut model::ModelConfig| model.key = KEY.parse().ok();
    let long = format!("{}{KEY}", "x".repeat(290));
    let error = |message: &str| json!({ "error": { "message": message } });
    for (name, answer) in [
        ("refused", Answer::refusal(400, &format!("no model for Bearer {KEY}, {KEY}"))),
        ("truncated in the key", Answer::refusal(400, &long)),
        ("failed", events(&[error(KEY)])),
        ("failed, in one piece", Answer::json(&error(KEY))),
        ("no completion", events(&[json!(KEY)])),
        ("declined", whole(&json!({ "refusal": KEY }), "stop")),
    ] {
        let model = ModelServer::rows(vec![Answer::calls(&[("1", "add", ADD)]), answer]).await;
        let mut config = TestConfig::with_model(&model.url);
        set(config.model.as_mut().unwrap());
        let server = config.build().await;
        let found = to_json(server.chat(&json!({ "message": "Hi" })).await);
        includes(name, &found, &json!({ "error": { "code": -32000 } }));
        assert!(!found.to_string().contains("sk-0"), "{name}: {found:#}");
    }
}
