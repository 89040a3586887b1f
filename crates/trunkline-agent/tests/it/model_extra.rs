//! Members of messages that the API does not define: reasoning and signatures, which servers expect back.

use serde_json::{Value, json};

use crate::model_server::{Answer, ModelServer};
use crate::support::{TestConfig, TestServer, includes, to_json};

const ADD: &str = r#"{"a": 40, "b": 2}"#;

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

/// A call after reasoning.
fn reasoned(member: &str, reasoning: &Value) -> Answer {
    let calls = json!([call("c1", "add", ADD)]);
    Answer::message(&json!({ "content": null, "tool_calls": calls, member: reasoning }))
}

async fn chat(server: &TestServer, conversation: &Value) -> Value {
    let id = conversation.get("conversation_id");
    let params = match id {
        None => json!({ "message": "Go." }),
        Some(id) => json!({ "message": "Go.", "conversation_id": id }),
    };
    to_json(server.chat(&params).await)
}

/// The messages of the model in a request.
fn sent(request: &Value) -> Vec<&Value> {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] == "assistant").collect()
}

#[tokio::test]
async fn later_turns_have_the_reasoning() {
    let answer = json!({ "content": "42.", "reasoning": "Easy." });
    let script = vec![reasoned("reasoning", &json!("I add.")), Answer::message(&answer)];
    let directory = tempfile::tempdir().unwrap();
    let model = ModelServer::rows(script).await;
    let server = TestConfig::with_model(&model.url).build_in(directory.path()).await;
    let first = chat(&server, &Value::Null).await;
    drop(server);
    let server = TestConfig::with_model(&model.url).build_in(directory.path()).await;
    chat(&server, &first).await;
    let requests = model.requests();
    let messages = sent(requests.last().unwrap());
    let reasoning: Vec<_> = messages.iter().map(|message| &message["reasoning"]).collect();
    assert_eq!(reasoning, ["I add.", "Easy."]);

    // Another model may reject it.
    let mut config = TestConfig::with_model(&model.url);
    config.model.as_mut().unwrap().model = "other".to_owned();
    chat(&config.build_in(directory.path()).await, &first).await;
    let requests = model.requests();
    let messages = sent(requests.last().unwrap());
    assert!(messages.len() == 3 && messages.iter().all(|one| one.get("reasoning").is_none()));
}

/// DeepSeek requires the reasoning in each message of the model.
#[tokio::test]
async fn all_messages_have_the_reasoning_that_one_has() {
    let reasoning = "reasoning_content";
    let script = vec![Answer::text("Hello."), reasoned(reasoning, &json!("I add."))];
    let script = [script, vec![Answer::text("42.")]].concat();
    let model = ModelServer::rows(script).await;
    let server = TestConfig::with_model(&model.url).build().await;
    let first = chat(&server, &Value::Null).await;
    chat(&server, &first).await;
    let requests = model.requests();
    assert!(sent(&requests[1]).iter().all(|message| message.get(reasoning).is_none()));
    let found: Vec<_> = sent(&requests[2]).iter().map(|message| &message[reasoning]).collect();
    assert_eq!(found, ["", "I add."]);
    let users = requests[2]["messages"].as_array().unwrap();
    assert!(
        users
            .iter()
            .filter(|one| one["role"] != "assistant")
            .all(|one| one.get(reasoning).is_none())
    );
}

/// Sends a call with reasoning, and answers the request that returns it with `refusal`. Returns the requests of this turn
/// and another one.
async fn check_refused(name: &str, refusal: Answer, expected: Value) -> Vec<Value> {
    let call = reasoned("reasoning_content", &json!("I add."));
    let model = ModelServer::rows(vec![call.clone(), refusal, Answer::text("42."), call]).await;
    let mut config = TestConfig::with_model(&model.url);
    config.agent.max_steps = 2;
    let server = config.build().await;
    includes(name, &chat(&server, &Value::Null).await, &expected);
    chat(&server, &Value::Null).await;
    model.requests()
}

#[tokio::test]
async fn reasoning_that_a_server_rejects_is_not_sent_again() {
    let has_reasoning = |request: &Value| request.to_string().contains("I add.");
    let unsupported = "messages.2.assistant.reasoning_content: property is unsupported";
    let forbidden = json!({ "detail": [{ "type": "extra_forbidden", "loc": ["body", "messages", 2, "assistant", "reasoning_content"] }] });
    for (name, refusal) in [
        ("Cerebras", Answer::refusal(400, unsupported)),
        ("Mistral", Answer::json(&forbidden).with_status(422)),
    ] {
        let requests = check_refused(name, refusal, json!({ "response": "42." })).await;
        let found: Vec<_> = requests.iter().map(has_reasoning).collect();
        assert_eq!(found, [false, true, false, false, false], "{name}");
    }
    for (name, refusal) in [
        ("another reason", Answer::refusal(400, "the context is too long")),
        ("another status", Answer::refusal(500, unsupported)),
    ] {
        let expected = json!({ "error": { "data": { "kind": "refused" } } });
        let requests = check_refused(name, refusal, expected).await;
        let found: Vec<_> = requests.iter().map(has_reasoning).collect();
        assert_eq!(found, [false, true, false], "{name}");
    }
}

#[tokio::test]
async fn too_large_members_are_dropped() {
    for (bytes, is_sent) in [(60, true), (100, false)] {
        let script = vec![reasoned("reasoning", &json!("x".repeat(bytes))), Answer::text("42.")];
        let model = ModelServer::rows(script).await;
        let mut config = TestConfig::with_model(&model.url);
        config.model.as_mut().unwrap().max_extra_bytes = 100;
        let found = chat(&config.build().await, &Value::Null).await;
        assert_eq!(found["response"], "42.", "{bytes}");
        assert_eq!(sent(&model.requests()[1])[0].get("reasoning").is_some(), is_sent, "{bytes}");
    }
}

/// A stored turn keeps its answer instead of its reasoning if they exceed the limit.
#[tokio::test]
async fn stored_turns_are_limited() {
    for (bytes, is_sent) in [(100, true), (4_000, false)] {
        let script = vec![reasoned("reasoning", &json!("x".repeat(bytes))), Answer::text("42.")];
        let model = ModelServer::rows(script).await;
        let mut config = TestConfig::with_model(&model.url);
        config.conversations.max_bytes = 1_000;
        let server = config.build().await;
        let first = chat(&server, &Value::Null).await;
        chat(&server, &first).await;
        let requests = model.requests();
        let messages = sent(&requests[2]);
        assert_eq!(messages[0].get("reasoning").is_some(), is_sent, "{bytes}");
        assert_eq!(messages[1]["content"], "42.", "{bytes}");
    }
}

/// A confirmed call is sent unchanged, with another id.
#[tokio::test]
async fn confirmed_calls_have_their_signatures() {
    let signature = json!({ "google": { "thought_signature": "S1" } });
    let mut erase = call("c1", "erase_note", r#"{"name": "shopping"}"#);
    erase["extra_content"] = signature.clone();
    let calls = json!([erase, call("c2", "add", ADD)]);
    let details = json!([{ "type": "reasoning.encrypted", "data": "abc", "id": "c1" }]);
    let message = json!({ "content": null, "tool_calls": calls, "reasoning_details": details });
    let model = ModelServer::rows(vec![Answer::message(&message), Answer::text("Done.")]).await;
    let server = TestConfig::with_model(&model.url).build().await;
    let found = to_json(server.chat(&json!({ "message": "Erase it." })).await);
    let (id, token) = (&found["conversation_id"], &found["pending"]["confirm"]);
    let found = to_json(server.chat(&json!({ "conversation_id": id, "confirm": token })).await);
    includes(
        "confirmed",
        &found,
        &json!({ "response": "Done.", "steps": [{ "tool": "erase_note" }] }),
    );
    let requests = model.requests();
    let messages = requests[1]["messages"].as_array().unwrap();
    let [.., confirmed, result] = &messages[..] else { panic!("{messages:?}") };
    let id = &confirmed["tool_calls"][0]["id"];
    assert!(id != "c1" && *id == result["tool_call_id"], "{confirmed}");
    let expected = json!({
        "tool_calls": [{ "function": { "name": "erase_note" }, "extra_content": signature }],
        "reasoning_details": [{ "data": "abc", "id": id }],
    });
    includes("confirmed", confirmed, &expected);
}

#[tokio::test]
async fn replies_without_an_answer_are_requested_twice_again() {
    let reasoned = Answer::message(&json!({ "content": null, "reasoning_content": "Hello!" }));
    for (answer, reason) in [
        (Answer::text(""), "the model's reply is empty"),
        (Answer::text("<think>Hello!</think>"), "…only reasoning"),
        (reasoned, "…only reasoning"),
    ] {
        let model = ModelServer::rows(vec![answer]).await;
        let found = chat(&TestConfig::with_model(&model.url).build().await, &Value::Null).await;
        let data = json!({ "kind": "empty", "reason": reason });
        includes(reason, &found, &json!({ "error": { "data": data } }));
        assert_eq!(model.requests().len(), 3);
    }
}
