//! Limits of a turn, and the events of calls that are not executed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use trunkline::{Extensions, code};
use trunkline_agent::{Caller, ChatRequest, Event, EventSender};

use crate::model_server::{Answer, ModelServer};
use crate::support::{TestConfig, TestServer, includes, to_json};

const ADD: &str = r#"{"a": 1, "b": 1}"#;
const ERASE: &str = r#"{"name": "shopping"}"#;

/// A configuration with a model that requests these calls in one message, and then answers "Done.".
async fn calling(calls: &[(&str, &str, &str)]) -> (ModelServer, TestConfig) {
    let model = ModelServer::rows(vec![Answer::calls(calls), Answer::text("Done.")]).await;
    let config = TestConfig::with_model(&model.url);
    (model, config)
}

async fn chat(server: &TestServer) -> Value {
    to_json(server.chat(&json!({ "message": "Go." })).await)
}

#[tokio::test]
async fn limits_the_total_size_of_steps() {
    let too_large = json!({ "code": code::REPLY_TOO_LARGE });
    for (bytes, expected) in [
        // Each result has 100,002 bytes, and the arguments of each call are `{}`.
        (200_008, [Value::Null, Value::Null]),
        (200_007, [Value::Null, too_large.clone()]),
        (1_000, [too_large.clone(), too_large]),
    ] {
        let (model, mut config) = calling(&[("1", "large", ""), ("2", "large", "")]).await;
        (config.agent.max_steps_bytes, config.agent.parallel_calls) = (bytes, 1);
        let found = chat(&config.build().await).await;
        assert_eq!(found["response"], "Done.", "{bytes}");
        for (index, error) in expected.iter().enumerate() {
            includes(&format!("{bytes}: {index}"), &found["steps"][index]["error"], error);
        }
        let messages = model.requests()[1]["messages"].to_string();
        assert_eq!(messages.contains("request less"), expected[1] != Value::Null, "{bytes}");
    }
}

#[tokio::test]
async fn counts_arguments_in_the_size_of_steps() {
    let name = json!({ "name": "x".repeat(2_000) }).to_string();
    let (_model, mut config) = calling(&[("1", "greet_person", &name), ("2", "add", ADD)]).await;
    config.agent.max_steps_bytes = 1_000;
    let found = chat(&config.build().await).await;
    let refused = json!({ "arguments": {}, "error": { "code": code::REFUSED } });
    includes("steps", &found["steps"], &json!([refused, { "result": 2 }]));
    let large = found["steps"][0].to_string();
    assert!(large.len() < 1_000, "{large}");
}

#[tokio::test]
async fn limits_the_nesting_of_arguments() {
    for depth in [63, 64, 120] {
        let list = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let arguments = format!(r#"{{"name": "shopping", "more": {list}}}"#);
        let (_model, config) = calling(&[("1", "erase_note", &arguments)]).await;
        let server = config.build().await;
        let found = chat(&server).await;
        if depth > 63 {
            let error = json!({ "code": code::INVALID_PARAMS, "data": { "reason": "…deeper" } });
            let refused = json!({ "arguments": {}, "error": error });
            includes(&depth.to_string(), &found["steps"], &json!([refused]));
            assert_eq!(found.get("pending"), None, "{depth}");
            continue;
        }
        let (id, token) = (&found["conversation_id"], &found["pending"]["confirm"]);
        let found = to_json(server.chat(&json!({ "conversation_id": id, "confirm": token })).await);
        // The call is executed, and fails because of the unknown param.
        let error = json!({ "data": { "reason": "unknown param", "params": ["more"] } });
        includes(&depth.to_string(), &found["steps"], &json!([{ "error": error }]));
    }
}

#[tokio::test]
async fn a_pending_call_survives_a_later_stop() {
    let again = ("1", "add", ADD);
    let (_model, config) = calling(&[("0", "erase_note", ERASE), again, again, again]).await;
    let server = config.build().await;
    let found = chat(&server).await;
    let pending = json!({ "tool": "erase_note", "arguments": { "name": "shopping" } });
    let stopped = json!({ "stopped": "repetition" });
    includes(
        "reply",
        &found,
        &json!({ "pending": pending, "metadata": stopped, "response": "…erase_note" }),
    );
    let (id, token) = (&found["conversation_id"], &found["pending"]["confirm"]);
    let found = to_json(server.chat(&json!({ "conversation_id": id, "confirm": token })).await);
    includes("confirmed", &found["steps"], &json!([{ "result": "shopping is erased" }]));
}

/// The text received before the timeout is in the reply.
#[tokio::test]
async fn keeps_a_partial_answer() {
    let begun = json!({ "choices": [{ "delta": { "content": "It is" } }] });
    let answer = Answer::stream(vec![format!("data: {begun}\n\n")]).stalled();
    let model = ModelServer::rows(vec![answer]).await;
    let mut config = TestConfig::with_model(&model.url);
    config.agent.timeout = Duration::from_secs(2);
    let found = chat(&config.build().await).await;
    let response = "It is\n\nI stopped early: the time limit was reached.";
    let stopped = json!({ "response": response, "metadata": { "stopped": "time" } });
    includes("half an answer", &found, &stopped);
}

/// The events of calls and of results, as sorted texts.
async fn call_events(config: TestConfig) -> (Vec<String>, Vec<String>) {
    let server = config.build().await;
    let (events, mut waiting) = EventSender::channel(1_000);
    let mut extensions = Extensions::new();
    extensions.insert(events);
    let request = ChatRequest { message: Some("Go.".to_owned()), ..ChatRequest::default() };
    server.agent.chat(request, &Caller::of(&extensions)).await.unwrap();
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    while let Ok(event) = waiting.try_recv() {
        match event {
            Event::ToolCall { call_id, tool, arguments } => {
                calls.push(format!("{call_id} {tool} {}", json!(arguments)));
            }
            Event::ToolResult { call_id, step } => {
                let code = step.error.map_or(0, |error| error.code);
                results.push(format!("{call_id} {} {} {code}", step.tool, json!(step.arguments)));
            }
            _ => {}
        }
    }
    calls.sort();
    results.sort();
    (calls, results)
}

#[tokio::test]
async fn each_step_has_its_events() {
    let calls = [
        ("1", "add", ADD),
        ("2", "subtract", ADD),
        ("3", "add", "[]"),
        ("4", "erase_note", ERASE),
        ("5", "hang", "{}"),
        ("6", "add", r#"{"a": 2, "b": 2}"#),
    ];
    let (_model, mut config) = calling(&calls).await;
    (config.agent.max_calls, config.agent.timeout) = (5, Duration::from_secs(2));
    let (calls, results) = call_events(config).await;
    let called = [
        r#"1 add {"a":1,"b":1}"#,
        r#"2 subtract {"a":1,"b":1}"#,
        "3 add {}",
        r#"4 erase_note {"name":"shopping"}"#,
        "5 hang {}",
        r#"6 add {"a":2,"b":2}"#,
    ];
    assert_eq!(calls, called);
    let codes = [0, -32001, code::INVALID_PARAMS, code::REFUSED, code::TIMEOUT, code::REFUSED];
    let expected: Vec<_> =
        called.iter().zip(codes).map(|(call, code)| format!("{call} {code}")).collect();
    assert_eq!(results, expected);
}

#[tokio::test]
async fn an_unread_channel_delays_a_turn_by_seconds_only() {
    let calls: Vec<_> = (0..30).map(|number| format!(r#"{{"a": {number}, "b": 1}}"#)).collect();
    let calls: Vec<_> = calls.iter().map(|call| ("1", "add", &**call)).collect();
    let (_model, mut config) = calling(&calls).await;
    config.agent.timeout = Duration::from_millis(300);
    let server = config.build().await;
    let (events, _unread) = EventSender::channel(1);
    let mut extensions = Extensions::new();
    extensions.insert(events);
    let request = ChatRequest { message: Some("Go.".to_owned()), ..ChatRequest::default() };
    let caller = Caller::of(&extensions);
    // 5 s for the events of the turn, and 5 s for its end.
    let chat = timeout(Duration::from_secs(15), server.agent.chat(request, &caller));
    let reply = chat.await.expect("it ends").unwrap();
    assert_eq!(reply.metadata.stopped, Some(trunkline_agent::Stop::Time));
}

/// Calls continue while the results of others are not read.
#[tokio::test]
async fn an_unread_channel_does_not_delay_calls() {
    let waits = [r#"{"a": 1, "b": 1}"#, r#"{"a": 2, "b": 1}"#].map(|one| ("", "wait", one));
    let (_model, config) = calling(&[("1", "add", ADD), waits[0], waits[1]]).await;
    let server = config.build().await;
    // The events before the first call has completed: one request, and two for each call.
    let (events, unread) = EventSender::channel(1 + 2 * 3);
    let mut extensions = Extensions::new();
    extensions.insert(events);
    let caller = Caller::of(&extensions);
    let request = ChatRequest { message: Some("Go.".to_owned()), ..ChatRequest::default() };
    let chat = server.agent.chat(request, &caller);
    let met = async {
        while server.calls.max_waiting.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        drop(unread);
    };
    // Less than the time to wait for an unread event.
    let met = timeout(Duration::from_secs(4), met);
    let (reply, met) = futures_util::join!(chat, met);
    met.expect("the other calls are executed");
    assert_eq!(reply.unwrap().steps.len(), 3);
}

#[tokio::test]
async fn estimates_include_the_tools() {
    let answer = |usage: Value| {
        let choice = json!({ "index": 0, "message": { "content": "Hi" } });
        Answer::json(&json!({ "choices": [choice], "usage": usage }))
    };
    for usage in [json!({}), Value::Null, json!({ "total_tokens": 0 })] {
        let model = ModelServer::rows(vec![answer(usage.clone())]).await;
        let found = chat(&TestConfig::with_model(&model.url).build().await).await;
        assert_eq!(found["usage"]["estimated"], true, "{usage}");
        let tools = model.requests()[0]["tools"].to_string().len() as u64;
        let counted = found["usage"]["prompt_tokens"].as_u64().unwrap();
        // The estimate omits the member names of the JSON.
        assert!(counted > tools / 8, "{usage}: {counted} tokens, {tools} bytes of tools");
    }
}

/// A conversation of 90,000 tokens, to which each of six requests adds `growth`. Each prompt includes the previous one.
async fn check_token_budget(
    name: &str,
    growth: u64,
    details: Option<Value>,
    stopped: Value,
    counted: u64,
) {
    let model = ModelServer::serve(move |index, _| {
        let prompt = 90_000 + growth * index as u64;
        let mut usage = json!({
            "prompt_tokens": prompt, "completion_tokens": 10, "total_tokens": prompt + 10,
        });
        for (name, value) in details.iter().filter_map(Value::as_object).flatten() {
            usage[name] = value.clone();
        }
        let call = json!({ "name": "add", "arguments": format!(r#"{{"a": {index}, "b": 1}}"#) });
        let message = match index {
            5.. => json!({ "content": "Done." }),
            _ => json!({ "tool_calls": [{ "id": index.to_string(), "function": call }] }),
        };
        Answer::json(&json!({ "choices": [{ "message": message }], "usage": usage }))
    });
    let found = chat(&TestConfig::with_model(&model.await.url).build().await).await;
    assert_eq!(found["metadata"]["stopped"], stopped, "{name}: {found:#}");
    assert_eq!(found["usage"]["counted_tokens"], counted, "{name}: {found:#}");
}

#[tokio::test]
async fn the_token_budget_counts_new_tokens() {
    let cached = |tokens: u64| json!({ "prompt_tokens_details": { "cached_tokens": tokens } });
    let hits = json!({ "prompt_cache_hit_tokens": 80_000 });
    let (done, stopped) = (Value::Null, json!("tokens"));
    check_token_budget("nothing new", 0, None, done.clone(), 90_060).await;
    check_token_budget("a little new", 100, None, done.clone(), 90_560).await;
    check_token_budget("much new", 30_000, None, stopped.clone(), 210_050).await;
    check_token_budget("a cached prefix", 0, Some(cached(80_000)), done.clone(), 10_060).await;
    check_token_budget("hits of a cache", 0, Some(hits), done.clone(), 10_060).await;
    check_token_budget("all cached, and more", 0, Some(cached(u64::MAX)), done.clone(), 60).await;
    let unknown = json!({ "prompt_tokens_details": null, "prompt_cache_hit_tokens": "many" });
    check_token_budget("an unknown cache", 100, Some(unknown), done, 90_560).await;
    check_token_budget("much new, some cached", 50_000, Some(cached(9)), stopped, 240_031).await;
}
