//! What is sent to models whose context is small.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::house::Plan;
use crate::scripted::{Answer, Scripted};

/// The earlier turns, each called by a digit, that are sent with the three requests of the fourth turn. Each
/// earlier one has 4,000 bytes, and each request of the fourth has a result of 16 KiB more.
async fn check(context_tokens: u64, expected: [&str; 3]) {
    let add = Answer::text(r#"{"name": "add", "arguments": {"a": 40, "b": 2}}"#);
    let large = Answer::text(r#"{"name": "large", "arguments": {}}"#);
    let well = Answer::text("Well.");
    let script = vec![well.clone(), add, well.clone(), well.clone(), large.clone(), large, well];
    let scripted = Scripted::rows(script).await;
    let mut plan = Plan::with_model(&scripted.url);
    plan.agent.context_tokens = context_tokens;
    plan.agent.deny = ["note.*", "wait", "hang", "greet", "fail", "unsaid"].into_iter().collect();
    let house = plan.build().await;
    let mut reply = Value::Null;
    for turn in ["1", "2", "3", "4"] {
        let mut asked = json!({ "message": turn.repeat(4_000) });
        if let Some(id) = reply.get("conversation_id") {
            asked["conversation_id"] = id.clone();
        }
        reply = house.chat(&asked).await.unwrap();
    }
    assert_eq!(reply["response"], "Well.");

    let requests = scripted.requests();
    let sent = [4, 5, 6].map(|request: usize| turns(&requests[request]));
    assert_eq!(sent.each_ref().map(|turns| &**turns), expected, "{context_tokens} tokens");
    requests.iter().for_each(|request| is_whole(&request["messages"]));
    let updates = reply["status_updates"].as_array().unwrap();
    let is_told = updates.iter().any(|update| update.as_str().unwrap().contains("left out"));
    assert_eq!(is_told, expected != ["123"; 3], "{updates:?}");
}

/// The earlier turns in a request of the fourth.
fn turns(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let said = messages.iter().filter(|message| message["role"] == "user");
    let turns: String = said.map(|message| &message["content"].as_str().unwrap()[..1]).collect();
    turns.strip_suffix('4').unwrap().to_owned()
}

/// It begins with the task and what a user says, and each result is that of one call before it.
#[track_caller]
fn is_whole(messages: &Value) {
    let messages = messages.as_array().unwrap();
    assert_eq!((&messages[0]["role"], &messages[1]["role"]), (&json!("system"), &json!("user")));
    let mut calls = HashSet::new();
    for message in &messages[1..] {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            assert!(calls.insert(call["id"].clone()), "an id comes again: {message}");
        }
        if message["role"] == "tool" {
            assert!(calls.contains(&message["tool_call_id"]), "it has no call: {message:.100}");
        }
    }
}

#[tokio::test]
async fn the_oldest_turns_are_left_out() {
    check(128_000, ["123", "123", "123"]).await;
    check(14_500, ["123", "123", "3"]).await;
    check(10_500, ["123", "23", ""]).await;
    check(4_096, ["3", "", ""]).await;
    check(1, ["", "", ""]).await;
    check(0, ["", "", ""]).await;
}

/// Whether tools are sent without descriptions, and the shown part of a result of 100,002 bytes.
async fn check_small(context_tokens: u64, is_brief: bool, shown_bytes: usize) {
    let large = Answer::calls(&[("1", "large", "")]);
    let scripted = Scripted::rows(vec![large, Answer::text("Done.")]).await;
    let mut plan = Plan::with_model(&scripted.url);
    plan.agent.context_tokens = context_tokens;
    plan.agent.allow = ["add", "large"].into_iter().collect();
    plan.agent.instructions = "Help.".to_owned();
    plan.build().await.chat(&json!({ "message": "Go." })).await.unwrap();
    let requests = scripted.requests();
    let described = requests[0]["tools"][0]["function"]["parameters"]["properties"]["a"].clone();
    assert_eq!(described.get("description").is_none(), is_brief, "{context_tokens}: {described}");
    let result = requests[1]["messages"][3]["content"].as_str().unwrap();
    let cut = format!("[cut: {shown_bytes} of 100002 bytes are shown]");
    assert!(result.ends_with(&cut), "{context_tokens}: {}", &result[result.len() - 60..]);
}

#[tokio::test]
async fn a_small_context_has_room_for_tools_and_results() {
    check_small(128_000, false, 16_384).await;
    check_small(12_000, false, 16_384).await;
    check_small(4_096, false, 6_028).await;
    check_small(750, true, 1_045).await;
    check_small(0, true, 1_024).await;
}
