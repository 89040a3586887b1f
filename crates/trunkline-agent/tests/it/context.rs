//! Requests to models with a small context.

use std::collections::HashSet;

use serde_json::{Value, json};
use trunkline::Pattern;

use crate::model_server::{Answer, ModelServer};
use crate::support::TestConfig;

/// Checks which of the earlier turns, each named by a digit, are sent with the three requests of the fourth turn. Each
/// earlier turn has 4,000 bytes, and each request of the fourth adds a result of 16 KiB.
async fn check(context_tokens: u64, expected: [&str; 3]) {
    let add = Answer::text(r#"{"name": "add", "arguments": {"a": 40, "b": 2}}"#);
    let large = Answer::text(r#"{"name": "large", "arguments": {}}"#);
    let well = Answer::text("Well.");
    let script = vec![well.clone(), add, well.clone(), well.clone(), large.clone(), large, well];
    let model = ModelServer::rows(script).await;
    let mut config = TestConfig::with_model(&model.url);
    config.agent.context_tokens = context_tokens;
    config.agent.deny =
        ["note.*", "wait", "hang", "greet", "fail", "undeclared"].map(Pattern::new).into();
    let server = config.build().await;
    let mut reply = Value::Null;
    for turn in ["1", "2", "3", "4"] {
        let mut asked = json!({ "message": turn.repeat(4_000) });
        if let Some(id) = reply.get("conversation_id") {
            asked["conversation_id"] = id.clone();
        }
        reply = server.chat(&asked).await.unwrap();
    }
    assert_eq!(reply["response"], "Well.");

    let requests = model.requests();
    let sent = [4, 5, 6].map(|request: usize| turns(&requests[request]));
    assert_eq!(sent.each_ref().map(|turns| &**turns), expected, "{context_tokens} tokens");
    requests.iter().for_each(|request| is_whole(&request["messages"]));
    let updates = reply["status_updates"].as_array().unwrap();
    let is_reported = updates.iter().any(|update| update.as_str().unwrap().contains("omitted"));
    assert_eq!(is_reported, expected != ["123"; 3], "{updates:?}");
}

/// The earlier turns in a request of the fourth.
fn turns(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let questions = messages.iter().filter(|message| message["role"] == "user");
    let turns: String =
        questions.map(|message| &message["content"].as_str().unwrap()[..1]).collect();
    turns.strip_suffix('4').unwrap().to_owned()
}

/// Checks that messages begin with the instructions and a user message, and that each result follows its call.
#[track_caller]
fn is_whole(messages: &Value) {
    let messages = messages.as_array().unwrap();
    assert_eq!((&messages[0]["role"], &messages[1]["role"]), (&json!("system"), &json!("user")));
    let mut calls = HashSet::new();
    for message in &messages[1..] {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            assert!(calls.insert(call["id"].clone()), "duplicate id: {message}");
        }
        if message["role"] == "tool" {
            assert!(
                calls.contains(&message["tool_call_id"]),
                "result without call: {message:.100}"
            );
        }
    }
}

#[tokio::test]
async fn omits_the_oldest_turns() {
    check(128_000, ["123", "123", "123"]).await;
    check(14_500, ["123", "123", "3"]).await;
    check(10_500, ["123", "23", ""]).await;
    check(4_096, ["3", "", ""]).await;
    check(1, ["", "", ""]).await;
    check(0, ["", "", ""]).await;
}

/// Checks whether tools are sent in brief, and the length to which a result of 100,002 bytes is truncated.
async fn check_small(context_tokens: u64, is_brief: bool, shown_bytes: usize) {
    let large = Answer::calls(&[("1", "large", "")]);
    let model = ModelServer::rows(vec![large, Answer::text("Done.")]).await;
    let mut config = TestConfig::with_model(&model.url);
    config.agent.context_tokens = context_tokens;
    config.agent.allow = ["add", "large"].map(Pattern::new).into();
    config.agent.instructions = "Help.".to_owned();
    config.build().await.chat(&json!({ "message": "Go." })).await.unwrap();
    let requests = model.requests();
    let described = requests[0]["tools"][0]["function"]["parameters"]["properties"]["a"].clone();
    assert_eq!(described.get("description").is_none(), is_brief, "{context_tokens}: {described}");
    let result = requests[1]["messages"][3]["content"].as_str().unwrap();
    let mark = format!("[truncated: {shown_bytes} of 100002 bytes shown]");
    assert!(result.ends_with(&mark), "{context_tokens}: {}", &result[result.len() - 60..]);
}

#[tokio::test]
async fn fits_tools_and_results_into_a_small_context() {
    check_small(128_000, false, 16_384).await;
    check_small(12_000, false, 16_384).await;
    check_small(4_096, false, 6_026).await;
    check_small(750, true, 1_042).await;
    check_small(0, true, 1_024).await;
}
