//! Conversations, their owners, and confirmations.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::time::timeout;
use trunkline::Extensions;
use trunkline::access::Principal;
use trunkline::client::{Client, Http};
use trunkline::protocol::TraceContext;
use trunkline_agent::{Caller, ChatRequest, Event, EventSender};

use crate::model_server::{Answer, ModelServer};
use crate::support::{TestConfig, TestServer, includes, to_json};

const ERASE: &str = r#"{"name": "shopping"}"#;

/// A server whose model requests to erase a note after "Erase it.", and otherwise answers with a text.
async fn server_with_notes() -> (ModelServer, TestServer) {
    let model = ModelServer::serve(|_, request| {
        let messages = request["messages"].as_array().unwrap();
        match messages.last().unwrap()["content"].as_str().unwrap() {
            "Erase it." => Answer::calls(&[("1", "erase_note", ERASE)]),
            "Hang." => Answer::silence(),
            _ => Answer::text("Well."),
        }
    });
    let model = model.await;
    let mut config = TestConfig::with_model(&model.url);
    config.model.as_mut().unwrap().first_token_timeout = Duration::from_secs(20);
    let server = config.build().await;
    (model, server)
}

#[tokio::test]
async fn destructive_calls_need_confirmation() {
    let (_model, server) = server_with_notes().await;
    let erased = || server.calls.erased.load(Ordering::SeqCst);
    let proposed = server.chat(&json!({ "message": "Erase it." })).await.unwrap();
    let pending = json!({ "tool": "erase_note", "arguments": { "name": "shopping" } });
    includes("pending", &proposed, &json!({ "pending": pending, "response": "…Confirm" }));
    assert_eq!(erased(), 0);

    let (id, token) = (&proposed["conversation_id"], &proposed["pending"]["confirm"]);
    let other = server.chat(&json!({ "message": "Hi" })).await.unwrap();
    let not_found = json!({ "error": { "code": -32011, "data": { "kind": "confirmation" } } });
    for (name, id, token) in [
        ("another conversation", &other["conversation_id"], token),
        ("another token", id, &json!("0123")),
    ] {
        let found = to_json(server.chat(&json!({ "conversation_id": id, "confirm": token })).await);
        includes(name, &found, &not_found);
    }
    let invalid = json!({ "error": { "code": -32602, "data": { "pointer": "/conversation_id" } } });
    includes(
        "no conversation",
        &to_json(server.chat(&json!({ "confirm": token })).await),
        &invalid,
    );
    assert_eq!(erased(), 0);

    let confirm = json!({ "conversation_id": id, "confirm": token });
    let found = server.chat(&confirm).await.unwrap();
    let step = json!({ "tool": "erase_note", "result": "shopping is erased" });
    includes(
        "confirmed",
        &found,
        &json!({ "response": "Well.", "steps": [step], "pending": null }),
    );
    includes("once", &to_json(server.chat(&confirm).await), &not_found);
    assert_eq!(erased(), 1);
}

#[tokio::test]
async fn confirmation_expires_with_time_and_the_next_message() {
    let (model, server) = server_with_notes().await;
    let proposed = server.chat(&json!({ "message": "Erase it." })).await.unwrap();
    let (id, token) = (&proposed["conversation_id"], &proposed["pending"]["confirm"]);
    server.chat(&json!({ "conversation_id": id, "message": "Rather not." })).await.unwrap();
    let not_found = json!({ "error": { "code": -32011 } });
    let confirm = json!({ "conversation_id": id, "confirm": token });
    includes("after a message", &to_json(server.chat(&confirm).await), &not_found);

    let mut config = TestConfig::with_model(&model.url);
    config.conversations.pending_age = Duration::ZERO;
    let hasty = config.build().await;
    let proposed = hasty.chat(&json!({ "message": "Erase it." })).await.unwrap();
    let (id, token) = (&proposed["conversation_id"], &proposed["pending"]["confirm"]);
    let confirm = json!({ "conversation_id": id, "confirm": token });
    includes("too late", &to_json(hasty.chat(&confirm).await), &not_found);
    assert_eq!(hasty.calls.erased.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn executes_tools_chosen_by_the_caller() {
    let server = TestConfig::offline().build().await;
    for (tool, params, expected) in [
        ("add", json!({ "a": 1, "b": 2 }), json!({ "tool": "add", "result": 3 })),
        ("math.add", json!({ "a": 1, "b": 2 }), json!({ "tool": "add", "result": 3 })),
        ("erase_note", json!({ "name": "x" }), json!({ "result": "x is erased" })),
        ("add", json!({ "a": 1 }), json!({ "error": { "code": -32602 } })),
        ("fail", json!({}), json!({ "error": { "code": 42, "data": { "reason": "rust" } } })),
        ("inner", json!({}), json!({ "error": { "code": -32001 } })),
    ] {
        let found =
            server.call("agent.execute_tool", &json!({ "tool": tool, "params": params })).await;
        includes(tool, &to_json(found), &expected);
    }
    let listed = server.call("agent.list_capabilities", &json!({})).await.unwrap();
    let add = json!({ "name": "add", "description": "Adds two numbers." });
    includes("listed", &listed["tools"][0], &add);
    assert_eq!(listed["tools"][0]["inputSchema"]["required"], json!(["a", "b"]));
}

#[tokio::test]
async fn continues_lists_and_deletes_conversations() {
    let (model, server) = server_with_notes().await;
    let first = server.chat(&json!({ "message": "My name  is Ann." })).await.unwrap();
    let id = &first["conversation_id"];
    server.chat(&json!({ "message": "Who am I?", "conversation_id": id })).await.unwrap();
    let messages = model.requests()[1]["messages"].to_string();
    assert!(messages.contains("My name  is Ann."), "{messages}");

    let listed = server.call("agent.list_conversations", &json!({})).await.unwrap();
    let expected = json!({ "conversation_id": id, "title": "My name is Ann.", "messages": 4 });
    includes("listed", &listed, &json!({ "conversations": [expected] }));
    let by_id = json!({ "conversation_id": id });
    assert_eq!(server.call("agent.delete_conversation", &by_id).await.unwrap(), by_id);
    let not_found = json!({ "error": { "code": -32011, "data": { "kind": "conversation" } } });
    includes(
        "deleted",
        &to_json(server.call("agent.delete_conversation", &by_id).await),
        &not_found,
    );
    let more = json!({ "message": "And now?", "conversation_id": id });
    includes("gone", &to_json(server.chat(&more).await), &not_found);
}

#[tokio::test]
async fn conversations_belong_to_their_caller() {
    let server = TestConfig::answering().await.build().await;
    let caller = |name: &str| {
        let mut extensions = Extensions::new();
        extensions.insert(Principal::new(name));
        Caller::of(&extensions)
    };
    let request =
        |id| ChatRequest { message: Some("Sing!".to_owned()), conversation_id: id, confirm: None };
    let reply = server.agent.chat(request(None), &caller("ann")).await.unwrap();
    let id = reply.conversation_id;
    server.agent.chat(request(Some(id.clone())), &caller("ben")).await.unwrap_err();
    server.agent.delete_conversation(&id, &caller("ben")).await.unwrap_err();
    assert!(server.agent.list_conversations(&caller("ben")).await.unwrap().is_empty());
    server.agent.chat(request(Some(id)), &caller("ann")).await.unwrap();
}

#[tokio::test]
async fn runs_one_turn_of_a_conversation_at_a_time() {
    let (model, server) = server_with_notes().await;
    let first = server.chat(&json!({ "message": "Hi" })).await.unwrap();
    let id = &first["conversation_id"];
    let silent = json!({ "message": "Hang.", "conversation_id": id });
    let leaving = {
        let (client, silent) = (Client::new(Http::connect(&server.url).unwrap()), silent.clone());
        tokio::spawn(async move { client.call::<Value>("agent.chat", silent).await.map(drop) })
    };
    until(|| model.requests().len() == 2).await;
    let more = json!({ "message": "Hi again", "conversation_id": id });
    includes("busy", &to_json(server.chat(&more).await), &json!({ "error": { "code": -32005 } }));
    leaving.abort();
    let answered = async {
        while server.chat(&more).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), answered).await.expect("the turn ends with its caller");
    let listed = server.call("agent.list_conversations", &json!({})).await.unwrap();
    includes("kept", &listed["conversations"][0], &json!({ "messages": 4 }));
}

async fn until(mut done: impl FnMut() -> bool) {
    let waiting = async {
        while !done() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), waiting).await.expect("the condition in time");
}

#[tokio::test]
async fn limits_stored_conversations() {
    let directory = tempfile::tempdir().unwrap();
    let limited = async || {
        let mut config = TestConfig::answering().await;
        (config.conversations.max_messages, config.conversations.max_conversations) = (4, 2);
        config
    };
    let server = limited().await.build_in(directory.path()).await;
    let first = server.chat(&json!({ "message": "Sing 0!" })).await.unwrap();
    let id = first["conversation_id"].clone();
    for number in 1..5 {
        let message = format!("Sing {number}!");
        server.chat(&json!({ "message": message, "conversation_id": id })).await.unwrap();
    }
    let listed = server.call("agent.list_conversations", &json!({})).await.unwrap();
    includes(
        "messages",
        &listed,
        &json!({ "conversations": [{ "title": "Sing 0!", "messages": 4 }] }),
    );
    for title in ["a", "b"] {
        server.chat(&json!({ "message": title })).await.unwrap();
    }
    drop(server);

    let again = limited().await.build_in(directory.path()).await;
    let listed = again.call("agent.list_conversations", &json!({})).await.unwrap();
    includes("kept", &listed, &json!({ "conversations": [{ "title": "b" }, { "title": "a" }] }));
    drop(again);
    let mut config = limited().await;
    config.conversations.max_age = Duration::ZERO;
    let now = SystemTime::now();
    until(|| now.elapsed().is_ok_and(|age| age > Duration::from_millis(1))).await;
    let later = config.build_in(directory.path()).await;
    let listed = later.call("agent.list_conversations", &json!({})).await.unwrap();
    assert_eq!(listed, json!({ "conversations": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn isolates_concurrent_chats() {
    let model = ModelServer::serve(|_, request| {
        let messages = request["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        let text = last["content"].as_str().unwrap();
        match last["role"] == "tool" {
            true => Answer::text(&format!("It is {text}.")),
            false => Answer::calls(&[("1", "add", &format!(r#"{{"a": {text}, "b": 1000}}"#))]),
        }
    });
    let model = model.await;
    let server = TestConfig::with_model(&model.url).build().await;
    let chats = (0..100).map(|number| {
        let server = &server;
        async move {
            let found = server.chat(&json!({ "message": number.to_string() })).await.unwrap();
            let sum = number + 1000;
            let expected =
                json!({ "response": format!("It is {sum}."), "steps": [{ "result": sum }] });
            includes(&number.to_string(), &found, &expected);
        }
    });
    futures_util::future::join_all(chats).await;
    assert_eq!(model.requests().len(), 200);
}

#[tokio::test]
async fn sends_events_and_propagates_the_trace() {
    let deltas = [json!({ "content": "It is " }), json!({ "content": "42." })];
    let calls = Answer::calls(&[("1", "add", r#"{"a": 40, "b": 2}"#)]);
    let model = ModelServer::rows(vec![calls, Answer::deltas(&deltas)]).await;
    let server = TestConfig::with_model(&model.url).build().await;
    let (sender, mut receiver) = EventSender::channel(100);
    let trace = TraceContext::root();
    let mut extensions = Extensions::new();
    extensions.insert(trace);
    extensions.insert(sender);
    let request =
        ChatRequest { message: Some("What is 40 + 2?".to_owned()), ..ChatRequest::default() };
    let reply = server.agent.chat(request, &Caller::of(&extensions)).await.unwrap();
    assert_eq!(reply.response, "It is 42.");
    drop(extensions);

    let mut events = Vec::new();
    while let Ok(event) = receiver.try_recv() {
        events.push(event);
    }
    let names: Vec<_> = events.iter().map(Event::name).collect();
    let expected =
        ["status", "status", "tool_call", "tool_result", "status", "token", "token", "done"];
    assert_eq!(names, expected);
    let result: Value = serde_json::from_str(events[3].to_json().unwrap().get()).unwrap();
    includes("result", &result, &json!({ "type": "tool_result", "tool": "add", "result": 42 }));

    let page = server.history.entries(&Default::default());
    let called = page.entries.iter().find(|entry| entry.method.as_deref() == Some("math.add"));
    let called = called.expect("the call is in the history");
    assert_eq!((called.endpoint, called.trace_id), ("agent", Some(trace.trace_id())));
}
