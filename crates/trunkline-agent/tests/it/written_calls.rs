//! Calls that a model writes as its text: small ones mean them, others quote them.

use serde_json::{Value, json};
use trunkline::code;

use crate::house::{House, Plan, includes, told};
use crate::scripted::{Answer, Scripted};

const ADD: &str = r#"{"name": "add", "arguments": {"a": 40, "b": 2}}"#;
const JOT: &str = r#"{"name": "jot", "arguments": {}}"#;

async fn house(script: Vec<Answer>) -> (Scripted, House) {
    let scripted = Scripted::rows(script).await;
    let house = Plan::with_model(&scripted.url).build().await;
    (scripted, house)
}

async fn check(name: &str, script: Vec<Answer>, expected: Value) -> Value {
    let (_scripted, house) = house(script).await;
    let found = told(house.chat(&json!({ "message": "Repeat what I say." })).await);
    includes(name, &found, &expected);
    found
}

/// Only what reads runs at once: nobody knows whether the model calls, or repeats what it was told.
#[tokio::test]
async fn what_a_text_calls_is_confirmed_unless_it_reads() {
    let fence = format!("```\n{JOT}\n```");
    for text in [JOT, &fence] {
        let script = vec![Answer::text(text), Answer::text("Done.")];
        let expected = json!({
            "pending": { "tool": "jot" },
            "steps": [{ "tool": "jot", "result": null, "error": { "code": code::REFUSED } }],
        });
        check(text, script, expected).await;
    }
    let (_scripted, house) = house(vec![Answer::text(JOT), Answer::text("Done.")]).await;
    let asked = house.chat(&json!({ "message": "Jot." })).await.unwrap();
    let (id, token) = (&asked["conversation_id"], &asked["pending"]["confirm"]);
    let found = told(house.chat(&json!({ "conversation_id": id, "confirm": token })).await);
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

/// A model that calls as it should quotes what it writes.
#[tokio::test]
async fn behind_a_call_a_text_is_a_text() {
    let call = Answer::calls(&[("1", "add", r#"{"a": 40, "b": 2}"#)]);
    for text in [ADD, JOT] {
        let script = vec![call.clone(), Answer::text(text)];
        let expected = json!({ "response": text, "steps": [{ "result": 42 }], "pending": null });
        check(text, script, expected).await;
    }
}

#[tokio::test]
async fn a_text_has_no_more_calls_than_a_message() {
    let lines = |count: usize| vec![ADD; count].join("\n");
    let script = vec![Answer::text(&lines(129))];
    let reason = "the model's reply is no chat completion: more than 128 calls";
    let expected = json!({ "error": { "code": -32000, "data": { "reason": reason } } });
    check("129", script, expected).await;
    let script = vec![Answer::text(&lines(128))];
    check("128", script, json!({ "metadata": { "stopped": "repetition" } })).await;
}

/// Behind the one at which a turn stops, calls are neither made nor kept.
#[tokio::test]
async fn calls_beyond_the_limit_leave_one_step() {
    let calls: Vec<_> = (0..100).map(|number| format!(r#"{{"a": {number}, "b": 0}}"#)).collect();
    let calls: Vec<_> = calls.iter().map(|arguments| ("", "add", &**arguments)).collect();
    let (scripted, house) = house(vec![Answer::calls(&calls), Answer::text("Done.")]).await;
    let found = told(house.chat(&json!({ "message": "Add." })).await);
    includes("reply", &found, &json!({ "metadata": { "stopped": "calls" } }));
    let steps = found["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 33, "32 are made");
    assert!(steps[31].get("error").is_none() && steps[32].get("error").is_some(), "{steps:#?}");
    let id = &found["conversation_id"];
    house.chat(&json!({ "message": "And now?", "conversation_id": id })).await.unwrap();
    let requests = scripted.requests();
    let messages = requests[1]["messages"].as_array().unwrap();
    let called = messages[2]["tool_calls"].as_array().unwrap().len();
    let results = messages.iter().filter(|message| message["role"] == "tool").count();
    assert_eq!((called, results), (33, 33), "each call has its result");
}

#[tokio::test]
async fn what_a_model_thinks_is_no_answer() {
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
