//! What an agent is set to: which tools it offers, what it takes, and where it keeps what was said.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::{DynamicOperations, Extensions, Operation, Router};
use trunkline_agent::conversation::{Conversations, OpenError};
use trunkline_agent::model::{self, Model, ModelError};
use trunkline_agent::{Agent, AgentConfig, Caller, operations};

use crate::house::{Plan, includes, told};
use crate::scripted::{Answer, Scripted};

fn tools(list: &Value) -> Vec<&str> {
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

async fn check(allow: &[&str], deny: &[&str], expected: &[&str]) {
    let mut plan = Plan::offline();
    plan.agent.allow = allow.iter().copied().collect();
    plan.agent.deny = deny.iter().copied().collect();
    let list = plan.build().await.call("agent.list_capabilities", &json!({})).await.unwrap();
    assert_eq!(tools(&list), expected, "allowed {allow:?}, denied {deny:?}");
}

#[tokio::test]
async fn tools_are_offered_by_patterns() {
    let all =
        ["add", "erase_note", "wait", "hang", "greet_person", "fail", "large", "unsaid", "jot"];
    check(&[], &[], &all).await;
    check(&["inner"], &["*a*", "greet*", "un*"], &["inner"]).await;
    check(&[], &["note.*", "*.add"], &all[2..]).await;
    check(&["add", "note.*"], &[], &["add", "erase_note"]).await;
    check(&["*"], &["*"], &[]).await;
}

#[tokio::test]
async fn what_is_trusted_is_not_confirmed() {
    let script = || vec![Answer::calls(&[("1", "unsaid", "")]), Answer::text("Done.")];
    for (trusted, pending) in [(&[][..], true), (&["unsaid"], false), (&["un*"], false)] {
        let scripted = Scripted::rows(script()).await;
        let mut plan = Plan::with_model(&scripted.url);
        plan.agent.unconfirmed = trusted.iter().copied().collect();
        let reply = plan.build().await.chat(&json!({ "message": "Go." })).await.unwrap();
        assert_eq!(reply.get("pending").is_some(), pending, "{trusted:?}: {reply:#}");
        assert_eq!(reply["steps"][0].get("result").is_none(), pending, "{trusted:?}: {reply:#}");
    }
}

#[tokio::test]
async fn a_refresh_tells_what_is_new() {
    let directory = tempfile::tempdir().unwrap();
    let conversations = Conversations::open(directory.path(), Default::default()).unwrap();
    let tool = |name: &str, does: &str| Operation::new(name, || 1).description(does).tool(name);
    let changing = DynamicOperations::new();
    let before = Router::new().operation(tool("same", "")).operation(tool("old", ""));
    changing.replace(before.operation(tool("other", "once"))).unwrap();
    let rpc = Router::new().dynamic("tool", &changing).build().unwrap();
    let agent =
        Agent::new(rpc, None, conversations, AgentConfig::default()).refreshing(move || {
            let after = Router::new().operation(tool("same", "")).operation(tool("new", ""));
            let replaced = changing.replace(after.operation(tool("other", "twice")));
            async move { Ok(replaced?) }
        });
    let caller = Caller::of(&Extensions::new());
    agent.execute_tool("old", Default::default(), &caller).await.unwrap();
    let refreshed = serde_json::to_value(agent.refresh().await.unwrap()).unwrap();
    let expected = json!({ "added": ["new"], "changed": ["other"], "removed": ["old"] });
    includes("refreshed", &refreshed, &expected);
    assert_eq!(tools(&refreshed), ["same", "new", "other"]);
    agent.execute_tool("new", Default::default(), &caller).await.unwrap();
    agent.execute_tool("old", Default::default(), &caller).await.unwrap_err();
}

#[tokio::test]
async fn a_refresh_that_fails_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let conversations = Conversations::open(directory.path(), Default::default()).unwrap();
    let add = Operation::new("add", || 1).tool("add");
    let rpc = Router::new().operation(add).build().unwrap();
    let agent = Agent::new(rpc, None, conversations, AgentConfig::default())
        .refreshing(|| async { Err("the folder is gone".into()) });
    let api = Router::new().merge(operations(&agent)).build().unwrap();
    let refreshed = api.call::<Value>("agent.refresh_capabilities", &json!({})).await;
    let data = json!({ "kind": "refresh", "reason": "…the folder is gone" });
    includes("refreshed", &told(refreshed), &json!({ "error": { "code": -32000, "data": data } }));
    assert_eq!(agent.list_capabilities().len(), 1, "what there was is there");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let mut plan = Plan::answering().await;
    plan.agent.max_message_bytes = 10;
    let house = plan.build().await;
    let invalid =
        |pointer: &str| json!({ "error": { "code": -32602, "data": { "pointer": pointer } } });
    let not_found = json!({ "error": { "code": -32011, "data": { "kind": "conversation" } } });
    for (params, expected) in [
        (json!({}), invalid("/message")),
        (json!({ "message": "  " }), invalid("/message")),
        (json!({ "message": "more than ten" }), invalid("/message")),
        (json!({ "confirm": "0" }), invalid("/conversation_id")),
        (json!({ "message": "Hi", "conversation_id": "none" }), not_found),
        (json!({ "message": "Hi", "mood": "good" }), json!({ "error": { "code": -32602 } })),
    ] {
        includes(&params.to_string(), &told(house.chat(&params).await), &expected);
    }
    let mut plan = Plan::answering().await;
    plan.agent.max_turns = 0;
    let found = told(plan.build().await.chat(&json!({ "message": "Hi" })).await);
    includes("too many turns", &found, &json!({ "error": { "code": -32005 } }));
}

#[tokio::test]
async fn a_chat_without_a_model_is_refused() {
    let mut plan = Plan::offline();
    plan.agent.model_setup = "set `--url`".to_owned();
    let house = plan.build().await;
    let found = told(house.chat(&json!({ "message": "Hi" })).await);
    let data = json!({ "kind": "no_model", "reason": "no model is configured; set `--url`" });
    includes("chat", &found, &json!({ "error": { "code": -32000, "data": data } }));
    let listed = house.call("agent.list_conversations", &json!({})).await.unwrap();
    assert_eq!(listed, json!({ "conversations": [] }));
}

#[test]
fn models_have_an_address() {
    for (url, expected) in [
        ("127.0.0.1:11434", "it has no scheme"),
        ("ftp://h/v1", "ftp:// is not spoken"),
        ("http://user:SEC@h/v1", "it holds a user or a password"),
        ("http://user:SEC@h/v1?key=SEC", "it holds a user or a password"),
        ("user:SEC@h/v1?key=SEC", "it has no scheme; write http://h/v1"),
        ("http://h:1:2/v1?key=SEC", "it is not a URL"),
    ] {
        let Err(error) = Model::new(model::ModelConfig::new(url, "m")) else {
            panic!("{url} is taken")
        };
        assert!(!error.to_string().contains("SEC"), "{error}");
        let ModelError::Address { reason, .. } = error else { panic!("{url}: {error}") };
        assert!(reason.starts_with(expected), "{url}: {reason}");
    }
}

#[test]
fn only_our_own_files_are_opened() {
    let name = "agent.sqlite";
    let open = |path: &std::path::Path| Conversations::open(path, Default::default());
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).unwrap());
    drop(open(directory.path()).unwrap());
    let file = rusqlite::Connection::open(directory.path().join(name)).unwrap();
    file.busy_timeout(Duration::from_secs(5)).unwrap();
    file.pragma_update(None, "user_version", 2).unwrap();
    assert!(matches!(open(directory.path()), Err(OpenError::Newer { found: 2, .. })));

    let other = tempfile::tempdir().unwrap();
    let file = rusqlite::Connection::open(other.path().join(name)).unwrap();
    file.execute_batch("CREATE TABLE song (title TEXT)").unwrap();
    assert!(matches!(open(other.path()), Err(OpenError::Foreign { .. })));

    let text = tempfile::tempdir().unwrap();
    fs::write(text.path().join(name), "no database, but a text of some length").unwrap();
    assert!(matches!(open(text.path()), Err(OpenError::Open { .. })));
    assert!(matches!(open(&text.path().join(name)), Err(OpenError::Create { .. })));
}

#[tokio::test]
async fn a_turn_that_cannot_be_kept_is_an_error_that_tells_what_was_done() {
    let directory = tempfile::tempdir().unwrap();
    let add = Answer::calls(&[("1", "add", r#"{"a": 1, "b": 2}"#)]);
    let scripted = Scripted::rows(vec![add, Answer::text("3")]).await;
    let house = Plan::with_model(&scripted.url).build_in(directory.path()).await;
    let file = rusqlite::Connection::open(directory.path().join("agent.sqlite")).unwrap();
    file.execute_batch("DROP TABLE turn").unwrap();
    let found = told(house.chat(&json!({ "message": "What is 1 + 2?" })).await);
    let data = json!({ "kind": "unkept", "steps": [{ "tool": "add", "result": 3 }] });
    includes("unkept", &found, &json!({ "error": { "code": -32000, "data": data } }));
}
