//! Configuration: offered tools, limits, the model, and the file of conversations.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::{DynamicOperations, Extensions, Operation, Pattern, Router};
use trunkline_agent::conversation::{Conversations, OpenError};
use trunkline_agent::model::{self, Model, ModelError};
use trunkline_agent::{Agent, AgentConfig, Caller, operations};

use crate::model_server::{Answer, ModelServer};
use crate::support::{TestConfig, includes, to_json};

fn tools(list: &Value) -> Vec<&str> {
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

async fn check(allow: &[&str], deny: &[&str], expected: &[&str]) {
    let mut config = TestConfig::offline();
    config.agent.allow = allow.iter().map(|one| Pattern::new(one)).collect();
    config.agent.deny = deny.iter().map(|one| Pattern::new(one)).collect();
    let list = config.build().await.call("agent.list_capabilities", &json!({})).await.unwrap();
    assert_eq!(tools(&list), expected, "allowed {allow:?}, denied {deny:?}");
}

#[tokio::test]
async fn tools_are_offered_by_patterns() {
    let all =
        ["add", "erase_note", "wait", "hang", "greet_person", "fail", "large", "undeclared", "jot"];
    check(&[], &[], &all).await;
    check(&["inner"], &["*a*", "greet*", "un*"], &["inner"]).await;
    check(&[], &["note.*", "*.add"], &all[2..]).await;
    check(&["add", "note.*"], &[], &["add", "erase_note"]).await;
    check(&["*"], &["*"], &[]).await;
}

/// Endpoints reject requests with more tools, or with longer descriptions.
#[tokio::test]
async fn tools_fit_the_limits_of_endpoints() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("Counts. {}", "word ".repeat(400));
    for (count, limit, expected) in [(128, 128, 128), (200, 128, 128), (200, 150, 150)] {
        let model =
            ModelServer::rows(vec![Answer::calls(&[("1", "t199", "")]), Answer::text("Done.")]);
        let model = model.await;
        let tool = |number: usize| {
            let name = format!("t{number}");
            Operation::new(name.clone(), move || number)
                .description(text.clone())
                .read_only()
                .tool(name)
        };
        let rpc = (0..count).map(tool).fold(Router::new(), Router::operation).build().unwrap();
        let conversations = Conversations::open(directory.path(), Default::default()).unwrap();
        let config = model::ModelConfig::new(&model.url, "tiny");
        let settings = AgentConfig { max_tools: limit, ..AgentConfig::default() };
        let agent = Agent::new(rpc, Some(Model::new(config).unwrap()), conversations, settings);
        assert_eq!(agent.list_capabilities().len(), count);
        let api = Router::new().merge(operations(&agent)).build().unwrap();
        let found = api.call::<Value>("agent.chat", &json!({ "message": "Go." })).await.unwrap();
        let requests = model.requests();
        let tools = requests[0]["tools"].as_array().unwrap();
        let names: Vec<_> =
            tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
        let all: Vec<_> = (0..expected).map(|number| format!("t{number}")).collect();
        assert_eq!(names, all, "{count}, {limit}");
        let description = tools[0]["function"]["description"].as_str().unwrap();
        let length = description.chars().count();
        assert!(length <= 1_024 && length > 1_000, "{length}");
        assert!(
            description.starts_with("Counts. word") && description.ends_with("word [shortened]")
        );
        // A tool that was not sent can be called by its name.
        let called =
            if count == 200 { json!([{ "result": 199 }]) } else { json!([{ "error": {} }]) };
        includes("called", &found["steps"], &called);
    }
}

#[tokio::test]
async fn skips_confirmation_of_listed_operations() {
    let script = || vec![Answer::calls(&[("1", "undeclared", "")]), Answer::text("Done.")];
    for (listed, pending) in [(&[][..], true), (&["undeclared"], false), (&["un*"], false)] {
        let model = ModelServer::rows(script()).await;
        let mut config = TestConfig::with_model(&model.url);
        config.agent.skip_confirmation = listed.iter().map(|one| Pattern::new(one)).collect();
        let reply = config.build().await.chat(&json!({ "message": "Go." })).await.unwrap();
        assert_eq!(reply.get("pending").is_some(), pending, "{listed:?}: {reply:#}");
        assert_eq!(reply["steps"][0].get("result").is_none(), pending, "{listed:?}: {reply:#}");
    }
}

#[tokio::test]
async fn refresh_reports_changes() {
    let directory = tempfile::tempdir().unwrap();
    let conversations = Conversations::open(directory.path(), Default::default()).unwrap();
    let tool = |name: &str, does: &str| Operation::new(name, || 1).description(does).tool(name);
    let changing = DynamicOperations::new();
    let before = Router::new().operation(tool("same", "")).operation(tool("old", ""));
    changing.replace(before.operation(tool("other", "once"))).unwrap();
    let rpc = Router::new().dynamic("tool", &changing).build().unwrap();
    let agent =
        Agent::new(rpc, None, conversations, AgentConfig::default()).on_refresh(move |_| {
            let after = Router::new().operation(tool("same", "")).operation(tool("new", ""));
            let replaced = changing.replace(after.operation(tool("other", "twice")));
            async move { Ok(replaced?) }
        });
    let caller = Caller::of(&Extensions::new());
    agent.execute_tool("old", Default::default(), &caller).await.unwrap();
    let refreshed = serde_json::to_value(agent.refresh(&caller).await.unwrap()).unwrap();
    let expected = json!({ "added": ["new"], "changed": ["other"], "removed": ["old"] });
    includes("refreshed", &refreshed, &expected);
    assert_eq!(tools(&refreshed), ["same", "new", "other"]);
    agent.execute_tool("new", Default::default(), &caller).await.unwrap();
    agent.execute_tool("old", Default::default(), &caller).await.unwrap_err();
}

#[tokio::test]
async fn refresh_reports_failures() {
    let directory = tempfile::tempdir().unwrap();
    let conversations = Conversations::open(directory.path(), Default::default()).unwrap();
    let add = Operation::new("add", || 1).tool("add");
    let rpc = Router::new().operation(add).build().unwrap();
    let agent = Agent::new(rpc, None, conversations, AgentConfig::default())
        .on_refresh(|_| async { Err("the folder is gone".into()) });
    let api = Router::new().merge(operations(&agent)).build().unwrap();
    let refreshed = api.call::<Value>("agent.refresh_capabilities", &json!({})).await;
    let data = json!({ "kind": "refresh", "reason": "…the folder is gone" });
    includes(
        "refreshed",
        &to_json(refreshed),
        &json!({ "error": { "code": -32000, "data": data } }),
    );
    assert_eq!(agent.list_capabilities().len(), 1, "the previous tools stay");
}

#[tokio::test]
async fn rejects_invalid_requests() {
    let mut config = TestConfig::answering().await;
    config.agent.max_message_bytes = 10;
    let server = config.build().await;
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
        includes(&params.to_string(), &to_json(server.chat(&params).await), &expected);
    }
    let mut config = TestConfig::answering().await;
    config.agent.max_turns = 0;
    let found = to_json(config.build().await.chat(&json!({ "message": "Hi" })).await);
    includes("too many turns", &found, &json!({ "error": { "code": -32005 } }));
}

#[tokio::test]
async fn rejects_a_chat_without_a_model() {
    let mut config = TestConfig::offline();
    config.agent.model_setup = "set `--url`".to_owned();
    let server = config.build().await;
    let found = to_json(server.chat(&json!({ "message": "Hi" })).await);
    let data = json!({ "kind": "no_model", "reason": "no model is configured; set `--url`" });
    includes("chat", &found, &json!({ "error": { "code": -32000, "data": data } }));
    let listed = server.call("agent.list_conversations", &json!({})).await.unwrap();
    assert_eq!(listed, json!({ "conversations": [] }));
}

#[test]
fn rejects_invalid_model_urls() {
    for (url, expected) in [
        ("127.0.0.1:11434", "missing scheme"),
        ("ftp://h/v1", "unsupported scheme ftp://"),
        ("http://user:SEC@h/v1", "user or password in the URL"),
        ("http://user:SEC@h/v1?key=SEC", "user or password in the URL"),
        ("user:SEC@h/v1?key=SEC", "missing scheme; use http://<redacted>@h/v1"),
        ("http://h:1:2/v1?key=SEC", "invalid URL"),
    ] {
        let Err(error) = Model::new(model::ModelConfig::new(url, "m")) else {
            panic!("{url} is accepted")
        };
        assert!(!error.to_string().contains("SEC"), "{error}");
        let ModelError::Address { reason, .. } = error else { panic!("{url}: {error}") };
        assert!(reason.starts_with(expected), "{url}: {reason}");
    }
}

#[test]
fn rejects_files_of_other_programs() {
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
async fn an_unsaved_turn_reports_its_steps() {
    let directory = tempfile::tempdir().unwrap();
    let add = Answer::calls(&[("1", "add", r#"{"a": 1, "b": 2}"#)]);
    let model = ModelServer::rows(vec![add, Answer::text("3")]).await;
    let server = TestConfig::with_model(&model.url).build_in(directory.path()).await;
    let file = rusqlite::Connection::open(directory.path().join("agent.sqlite")).unwrap();
    file.execute_batch("DROP TABLE turn").unwrap();
    let found = to_json(server.chat(&json!({ "message": "What is 1 + 2?" })).await);
    let data = json!({ "kind": "unkept", "steps": [{ "tool": "add", "result": 3 }] });
    includes("unkept", &found, &json!({ "error": { "code": -32000, "data": data } }));
}
