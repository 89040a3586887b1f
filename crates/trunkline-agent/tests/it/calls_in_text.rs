//! Calls in the text of a model: requests of small models, quotations of others.

use serde_json::{Value, json};
use trunkline::{Extensions, code};
use trunkline_agent::{Caller, ChatRequest, Event, EventSender};

use crate::model_server::{Answer, ModelServer};
use crate::support::{TestConfig, TestServer, includes, to_json};

const ADD: &str = r#"{"name": "add", "arguments": {"a": 40, "b": 2}}"#;
const JOT: &str = r#"{"name": "jot", "arguments": {}}"#;

async fn start(script: Vec<Answer>) -> (ModelServer, TestServer) {
    let model = ModelServer::rows(script).await;
    let server = TestConfig::with_model(&model.url).build().await;
    (model, server)
}

async fn check(name: &str, script: Vec<Answer>, expected: Value) -> Value {
    let (_model, server) = start(script).await;
    let found = to_json(server.chat(&json!({ "message": "Repeat this." })).await);
    includes(name, &found, &expected);
    found
}

/// Only read-only calls run without confirmation, since the text may be a quotation.
#[tokio::test]
async fn calls_in_text_need_confirmation_unless_read_only() {
    let fence = format!("```\n{JOT}\n```");
    for text in [JOT, &fence] {
        let script = vec![Answer::text(text), Answer::text("Done.")];
        let expected = json!({
            "pending": { "tool": "jot" },
            "steps": [{ "tool": "jot", "result": null, "error": { "code": code::REFUSED } }],
        });
        check(text, script, expected).await;
    }
    let (_model, server) = start(vec![Answer::text(JOT), Answer::text("Done.")]).await;
    let asked = server.chat(&json!({ "message": "Jot." })).await.unwrap();
    let (id, token) = (&asked["conversation_id"], &asked["pending"]["confirm"]);
    let found = to_json(server.chat(&json!({ "conversation_id": id, "confirm": token })).await);
    includes(
        "confirmed",
        &found,
        &json!({ "response": "Done.", "steps": [{ "result": "jotted" }] }),
    );

    let script = vec![Answer::text(ADD), Answer::text("42.")];
    let found = check("reads", script, json!({ "steps": [{ "result": 42 }] })).await;
    assert_eq!(found.get("pending"), None);
    let script = vec![Answer::calls(&[("1", "jot", "{}")]), Answer::text("Done.")];
    let found = check("called", script, json!({ "steps": [{ "result": "jotted" }] })).await;
    assert_eq!(found.get("pending"), None);
}

/// A model that uses tool calls of the API quotes the calls in its text.
#[tokio::test]
async fn ignores_calls_in_text_after_a_native_call() {
    let call = Answer::calls(&[("1", "add", r#"{"a": 40, "b": 2}"#)]);
    for text in [ADD, JOT] {
        let script = vec![call.clone(), Answer::text(text)];
        let expected = json!({ "response": text, "steps": [{ "result": 42 }], "pending": null });
        check(text, script, expected).await;
    }
}

#[tokio::test]
async fn limits_the_calls_in_a_text() {
    let lines = |count: usize| vec![ADD; count].join("\n");
    let script = vec![Answer::text(&lines(129))];
    let reason = "the model's reply is not a chat completion: more than 128 calls";
    let expected = json!({ "error": { "code": -32000, "data": { "reason": reason } } });
    check("129", script, expected).await;
    let script = vec![Answer::text(&lines(128))];
    check("128", script, json!({ "metadata": { "stopped": "repetition" } })).await;
}

/// Calls after the one that exceeds the limit are neither executed nor saved.
#[tokio::test]
async fn saves_one_step_beyond_the_call_limit() {
    let calls: Vec<_> = (0..100).map(|number| format!(r#"{{"a": {number}, "b": 0}}"#)).collect();
    let calls: Vec<_> = calls.iter().map(|arguments| ("", "add", &**arguments)).collect();
    let (model, server) = start(vec![Answer::calls(&calls), Answer::text("Done.")]).await;
    let found = to_json(server.chat(&json!({ "message": "Add." })).await);
    includes("reply", &found, &json!({ "metadata": { "stopped": "calls" } }));
    let steps = found["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 33, "32 are made");
    assert!(steps[31].get("error").is_none() && steps[32].get("error").is_some(), "{steps:#?}");
    let id = &found["conversation_id"];
    server.chat(&json!({ "message": "And now?", "conversation_id": id })).await.unwrap();
    let requests = model.requests();
    let messages = requests[1]["messages"].as_array().unwrap();
    let called = messages[2]["tool_calls"].as_array().unwrap().len();
    let results = messages.iter().filter(|message| message["role"] == "tool").count();
    assert_eq!((called, results), (33, 33), "each call has its result");
}

#[tokio::test]
async fn removes_reasoning_from_answers() {
    let tagged = format!("<think>\nI add.\n</think>\n\n<tool_call>{ADD}</tool_call>");
    let pieces: Vec<_> =
        tagged.as_bytes().chunks(3).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    let pieces: Vec<_> = pieces.iter().map(|piece| json!({ "content": piece })).collect();
    let thought = Answer::text("<think>It is 42.</think>\nIt is 42.");
    for answer in [Answer::text(&tagged), Answer::deltas(&pieces)] {
        let script = vec![answer, thought.clone()];
        let expected =
            json!({ "response": "It is 42.", "steps": [{ "tool": "add", "result": 42 }] });
        check("a call", script, expected).await;
    }
    for (text, expected) in [
        ("<think></think>Yes.", "Yes."),
        ("Yes <think>no</think>.", "Yes <think>no</think>."),
        ("<thinking> is a word.", "<thinking> is a word."),
        ("<thi", "<thi"),
        ("<think>It never ends.", "<think>It never ends."),
    ] {
        check(text, vec![Answer::text(text)], json!({ "response": expected })).await;
        let pieces: Vec<_> = text.chars().map(|piece| json!({ "content": piece })).collect();
        check(text, vec![Answer::deltas(&pieces)], json!({ "response": expected })).await;
    }
}

/// The tokens of a turn.
async fn tokens(server: &TestServer) -> Vec<String> {
    let (events, mut waiting) = EventSender::channel(1_000);
    let mut extensions = Extensions::new();
    extensions.insert(events);
    let request = ChatRequest { message: Some("Hi".to_owned()), ..ChatRequest::default() };
    let reply = server.agent.chat(request, &Caller::of(&extensions)).await.unwrap();
    assert_eq!(reply.response, "Hello you.");
    let mut tokens = Vec::new();
    while let Ok(event) = waiting.try_recv() {
        if let Event::Token { text } = event {
            tokens.push(text);
        }
    }
    tokens
}

/// Once a model has ended reasoning that it had not begun, its texts are held back until the reasoning ends.
#[tokio::test]
async fn reasoning_without_an_opening_tag_is_shown_once() {
    let parts = |parts: &[&str]| {
        let parts: Vec<_> = parts.iter().map(|part| json!({ "content": part })).collect();
        Answer::deltas(&parts)
    };
    let reasoned = parts(&["Well", ".</thi", "nk>\n", "Hello", " you."]);
    let script = vec![reasoned.clone(), reasoned, parts(&["Hello", " you."])];
    let model = ModelServer::rows(script).await;
    let server = TestConfig::with_model(&model.url).build().await;
    assert_eq!(tokens(&server).await, ["Well", ".</thi", "Hello", " you."]);
    assert_eq!(tokens(&server).await, ["Hello", " you."]);
    assert_eq!(tokens(&server).await, ["Hello you."]);
    assert_eq!(tokens(&server).await, ["Hello", " you."]);
}
