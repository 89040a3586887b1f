//! Models that need long for their first token, or for the next one.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_agent::model;

use crate::model_server::{Answer, ModelServer};
use crate::support::{TestConfig, includes, to_json};

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);

const HELLO: &str =
    r#"data: {"choices":[{"index":0,"delta":{"content":"Hello."},"finish_reason":"stop"}]}"#;
const ROLE: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;

/// A stream with a pause of 100 ms before each of these lines.
fn slow(lines: &[&str]) -> Answer {
    Answer::stream(lines.iter().map(|line| format!("{line}\n\n")).collect()).slow(PAUSE)
}

async fn check(
    name: &str,
    set: impl FnOnce(&mut model::ModelConfig),
    answer: Answer,
    expected: Value,
) {
    let model = ModelServer::rows(vec![answer]).await;
    let mut config = TestConfig::with_model(&model.url);
    let limits = config.model.as_mut().unwrap();
    (limits.first_token_timeout, limits.token_timeout) = (LONG, LONG);
    set(limits);
    let server = config.build().await;
    includes(name, &to_json(server.chat(&json!({ "message": "Hi" })).await), &expected);
}

fn timed_out(stage: &str, setting: &str) -> Value {
    let reason = format!(
        "the model timed out: it did not {stage} its reply within 300 ms; if the model is slow, \
         increase `{setting}`"
    );
    json!({ "error": { "code": -32004, "data": { "kind": "timeout", "reason": reason } } })
}

#[tokio::test]
async fn timeouts_name_their_settings() {
    let first = |limits: &mut model::ModelConfig| limits.first_token_timeout = SHORT;
    let next = |limits: &mut model::ModelConfig| limits.token_timeout = SHORT;
    let whole = |limits: &mut model::ModelConfig| limits.timeout = SHORT;
    let hello = json!({ "response": "Hello." });
    let late = timed_out("begin", "--agent-first-token-ms");

    // llama.cpp sends headers and comments while it reads the prompt.
    let waits = [": ping", ROLE, ": ping", ROLE, ": ping", ROLE, ": ping", HELLO];
    check("headers", first, slow(&[ROLE]).stalled(), late.clone()).await;
    check("comments", first, slow(&waits), late.clone()).await;
    check("no headers", first, Answer::silence(), late).await;
    check("a short time between tokens", next, slow(&waits), hello.clone()).await;
    check("a long prompt", |_| {}, slow(&waits), hello.clone()).await;

    let begun = r#"data: {"choices":[{"index":0,"delta":{"reasoning_content":"Hm"}}]}"#;
    let stopped = timed_out("continue", "--agent-token-ms");
    check("reasoning is a token", next, slow(&[begun]).stalled(), stopped).await;
    check(
        "a short time to the first token",
        first,
        slow(&[begun, ": ping", ": ping", ": ping", HELLO]),
        hello,
    )
    .await;

    let never = timed_out("complete", "--agent-turn-ms");
    check("in total", whole, slow(&[begun; 9]), never).await;
}

#[tokio::test]
async fn the_end_of_a_turn_names_its_setting() {
    let model = ModelServer::rows(vec![Answer::silence()]).await;
    let mut config = TestConfig::with_model(&model.url);
    config.agent.timeout = SHORT;
    let found = to_json(config.build().await.chat(&json!({ "message": "Hi" })).await);
    let last = found["status_updates"].as_array().unwrap().last().unwrap();
    assert!(last.as_str().unwrap().contains("--agent-turn-ms"), "{found:#}");
    includes("turn", &found, &json!({ "metadata": { "stopped": "time" } }));
}
