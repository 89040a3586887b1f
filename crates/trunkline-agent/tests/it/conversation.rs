//! Conversations, confirmations, and who they belong to.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::time::timeout;
use trunkline::Extensions;
use trunkline::access::Principal;
use trunkline::client::{Client, Http};
use trunkline::protocol::TraceContext;
use trunkline_agent::{Caller, ChatRequest, Event, Events};

use crate::house::{House, Plan, includes, told};
use crate::scripted::{Answer, Scripted};

const ERASE: &str = r#"{"name": "shopping"}"#;

/// A house whose model wants to erase a note when it is asked to, and else says something.
async fn erasing() -> (Scripted, House) {
    let scripted = Scripted::serve(|_, request| {
        let messages = request["messages"].as_array().unwrap();
        match messages.last().unwrap()["content"].as_str().unwrap() {
            "Erase it." => Answer::calls(&[("1", "erase_note", ERASE)]),
            "Say nothing." => Answer::silence(),
            _ => Answer::text("Well."),
        }
    });
    let scripted = scripted.await;
    let mut plan = Plan::with_model(&scripted.url);
    plan.model.as_mut().unwrap().first_byte_timeout = Duration::from_secs(20);
    let house = plan.build().await;
    (scripted, house)
}

#[tokio::test]
async fn what_destroys_waits_to_be_confirmed() {
    let (_scripted, house) = erasing().await;
    let erased = || house.seen.erased.load(Ordering::SeqCst);
    let proposed = house.chat(&json!({ "message": "Erase it." })).await.unwrap();
    let pending = json!({ "tool": "erase_note", "arguments": { "name": "shopping" } });
    includes("pending", &proposed, &json!({ "pending": pending, "response": "…Confirm" }));
    assert_eq!(erased(), 0);

    let (id, token) = (&proposed["conversation_id"], &proposed["pending"]["confirm"]);
    let other = house.chat(&json!({ "message": "Hi" })).await.unwrap();
    let not_found = json!({ "error": { "code": -32011, "data": { "kind": "confirmation" } } });
    for (name, id, token) in [
        ("another conversation", &other["conversation_id"], token),
        ("another token", id, &json!("0123")),
    ] {
        let found = told(house.chat(&json!({ "conversation_id": id, "confirm": token })).await);
        includes(name, &found, &not_found);
    }
    let invalid = json!({ "error": { "code": -32602, "data": { "pointer": "/conversation_id" } } });
    includes("no conversation", &told(house.chat(&json!({ "confirm": token })).await), &invalid);
    assert_eq!(erased(), 0);

    let confirm = json!({ "conversation_id": id, "confirm": token });
    let found = house.chat(&confirm).await.unwrap();
    let step = json!({ "tool": "erase_note", "result": "shopping is erased" });
    includes(
        "confirmed",
        &found,
        &json!({ "response": "Well.", "steps": [step], "pending": null }),
    );
    includes("once", &told(house.chat(&confirm).await), &not_found);
    assert_eq!(erased(), 1);
}

#[tokio::test]
async fn a_confirmation_ends_with_time_and_with_the_next_message() {
    let (scripted, house) = erasing().await;
    let proposed = house.chat(&json!({ "message": "Erase it." })).await.unwrap();
    let (id, token) = (&proposed["conversation_id"], &proposed["pending"]["confirm"]);
    house.chat(&json!({ "conversation_id": id, "message": "Rather not." })).await.unwrap();
    let not_found = json!({ "error": { "code": -32011 } });
    let confirm = json!({ "conversation_id": id, "confirm": token });
    includes("after a message", &told(house.chat(&confirm).await), &not_found);

    let mut plan = Plan::with_model(&scripted.url);
    plan.conversations.pending_age = Duration::ZERO;
    let hasty = plan.build().await;
    let proposed = hasty.chat(&json!({ "message": "Erase it." })).await.unwrap();
    let (id, token) = (&proposed["conversation_id"], &proposed["pending"]["confirm"]);
    let confirm = json!({ "conversation_id": id, "confirm": token });
    includes("too late", &told(hasty.chat(&confirm).await), &not_found);
    assert_eq!(hasty.seen.erased.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_the_caller_chooses_is_called_at_once() {
    let house = Plan::offline().build().await;
    for (tool, params, expected) in [
        ("add", json!({ "a": 1, "b": 2 }), json!({ "tool": "add", "result": 3 })),
        ("math.add", json!({ "a": 1, "b": 2 }), json!({ "tool": "add", "result": 3 })),
        ("erase_note", json!({ "name": "x" }), json!({ "result": "x is erased" })),
        ("add", json!({ "a": 1 }), json!({ "error": { "code": -32602 } })),
        ("fail", json!({}), json!({ "error": { "code": 42, "data": { "reason": "rust" } } })),
        ("inner", json!({}), json!({ "error": { "code": -32001 } })),
    ] {
        let found =
            house.call("agent.execute_tool", &json!({ "tool": tool, "params": params })).await;
        includes(tool, &told(found), &expected);
    }
    let listed = house.call("agent.list_capabilities", &json!({})).await.unwrap();
    let add = json!({ "name": "add", "description": "Adds two numbers." });
    includes("listed", &listed["tools"][0], &add);
    assert_eq!(listed["tools"][0]["inputSchema"]["required"], json!(["a", "b"]));
}

#[tokio::test]
async fn conversations_go_on_are_listed_and_deleted() {
    let (scripted, house) = erasing().await;
    let first = house.chat(&json!({ "message": "My name  is Ann." })).await.unwrap();
    let id = &first["conversation_id"];
    house.chat(&json!({ "message": "Who am I?", "conversation_id": id })).await.unwrap();
    let told_to_model = scripted.requests()[1]["messages"].to_string();
    assert!(told_to_model.contains("My name  is Ann."), "{told_to_model}");

    let listed = house.call("agent.list_conversations", &json!({})).await.unwrap();
    let expected = json!({ "conversation_id": id, "title": "My name is Ann.", "messages": 4 });
    includes("listed", &listed, &json!({ "conversations": [expected] }));
    let by_id = json!({ "conversation_id": id });
    assert_eq!(house.call("agent.delete_conversation", &by_id).await.unwrap(), by_id);
    let not_found = json!({ "error": { "code": -32011, "data": { "kind": "conversation" } } });
    includes("deleted", &told(house.call("agent.delete_conversation", &by_id).await), &not_found);
    let more = json!({ "message": "And now?", "conversation_id": id });
    includes("gone", &told(house.chat(&more).await), &not_found);
}

#[tokio::test]
async fn conversations_are_their_callers() {
    let house = Plan::answering().await.build().await;
    let caller = |name: &str| {
        let mut extensions = Extensions::new();
        extensions.insert(Principal::new(name));
        Caller::of(&extensions)
    };
    let request =
        |id| ChatRequest { message: Some("Sing!".to_owned()), conversation_id: id, confirm: None };
    let reply = house.agent.chat(request(None), &caller("ann")).await.unwrap();
    let id = reply.conversation_id;
    house.agent.chat(request(Some(id.clone())), &caller("ben")).await.unwrap_err();
    house.agent.delete_conversation(&id, &caller("ben")).await.unwrap_err();
    assert!(house.agent.list_conversations(&caller("ben")).await.unwrap().is_empty());
    house.agent.chat(request(Some(id)), &caller("ann")).await.unwrap();
}

#[tokio::test]
async fn one_turn_of_a_conversation_at_a_time_and_a_dropped_one_is_over() {
    let (scripted, house) = erasing().await;
    let first = house.chat(&json!({ "message": "Hi" })).await.unwrap();
    let id = &first["conversation_id"];
    let silent = json!({ "message": "Say nothing.", "conversation_id": id });
    let leaving = {
        let (client, silent) = (Client::new(Http::connect(&house.url).unwrap()), silent.clone());
        tokio::spawn(async move { client.call::<Value>("agent.chat", silent).await.map(drop) })
    };
    until(|| scripted.requests().len() == 2).await;
    let more = json!({ "message": "Hi again", "conversation_id": id });
    includes("busy", &told(house.chat(&more).await), &json!({ "error": { "code": -32005 } }));
    leaving.abort();
    let answered = async {
        while house.chat(&more).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), answered).await.expect("the turn ends with its caller");
    let listed = house.call("agent.list_conversations", &json!({})).await.unwrap();
    includes("kept", &listed["conversations"][0], &json!({ "messages": 4 }));
}

async fn until(mut done: impl FnMut() -> bool) {
    let waiting = async {
        while !done() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), waiting).await.expect("it comes");
}

#[tokio::test]
async fn what_is_kept_is_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let limited = async || {
        let mut plan = Plan::answering().await;
        (plan.conversations.max_messages, plan.conversations.max_conversations) = (4, 2);
        plan
    };
    let house = limited().await.build_in(directory.path()).await;
    let first = house.chat(&json!({ "message": "Sing 0!" })).await.unwrap();
    let id = first["conversation_id"].clone();
    for number in 1..5 {
        let message = format!("Sing {number}!");
        house.chat(&json!({ "message": message, "conversation_id": id })).await.unwrap();
    }
    let listed = house.call("agent.list_conversations", &json!({})).await.unwrap();
    includes(
        "messages",
        &listed,
        &json!({ "conversations": [{ "title": "Sing 0!", "messages": 4 }] }),
    );
    for title in ["a", "b"] {
        house.chat(&json!({ "message": title })).await.unwrap();
    }
    drop(house);

    let again = limited().await.build_in(directory.path()).await;
    let listed = again.call("agent.list_conversations", &json!({})).await.unwrap();
    includes("kept", &listed, &json!({ "conversations": [{ "title": "b" }, { "title": "a" }] }));
    drop(again);
    let mut plan = limited().await;
    plan.conversations.max_age = Duration::ZERO;
    let now = SystemTime::now();
    until(|| now.elapsed().is_ok_and(|age| age > Duration::from_millis(1))).await;
    let later = plan.build_in(directory.path()).await;
    let listed = later.call("agent.list_conversations", &json!({})).await.unwrap();
    assert_eq!(listed, json!({ "conversations": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_chats_do_not_mix() {
    let scripted = Scripted::serve(|_, request| {
        let messages = request["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        let said = last["content"].as_str().unwrap();
        match last["role"] == "tool" {
            true => Answer::text(&format!("It is {said}.")),
            false => Answer::calls(&[("1", "add", &format!(r#"{{"a": {said}, "b": 1000}}"#))]),
        }
    });
    let scripted = scripted.await;
    let house = Plan::with_model(&scripted.url).build().await;
    let chats = (0..100).map(|number| {
        let house = &house;
        async move {
            let found = house.chat(&json!({ "message": number.to_string() })).await.unwrap();
            let sum = number + 1000;
            let expected =
                json!({ "response": format!("It is {sum}."), "steps": [{ "result": sum }] });
            includes(&number.to_string(), &found, &expected);
        }
    });
    futures_util::future::join_all(chats).await;
    assert_eq!(scripted.requests().len(), 200);
}

#[tokio::test]
async fn events_tell_what_happens_and_one_trace_goes_through() {
    let deltas = [json!({ "content": "It is " }), json!({ "content": "42." })];
    let calls = Answer::calls(&[("1", "add", r#"{"a": 40, "b": 2}"#)]);
    let scripted = Scripted::rows(vec![calls, Answer::deltas(&deltas)]).await;
    let house = Plan::with_model(&scripted.url).build().await;
    let (events, mut told) = Events::channel(100);
    let trace = TraceContext::root();
    let mut extensions = Extensions::new();
    extensions.insert(trace);
    extensions.insert(events);
    let request =
        ChatRequest { message: Some("What is 40 + 2?".to_owned()), ..ChatRequest::default() };
    let reply = house.agent.chat(request, &Caller::of(&extensions)).await.unwrap();
    assert_eq!(reply.response, "It is 42.");
    drop(extensions);

    let mut happened = Vec::new();
    while let Ok(event) = told.try_recv() {
        happened.push(event);
    }
    let names: Vec<_> = happened.iter().map(Event::name).collect();
    let expected =
        ["status", "status", "tool_call", "tool_result", "status", "token", "token", "done"];
    assert_eq!(names, expected);
    let result: Value = serde_json::from_str(happened[3].to_json().unwrap().get()).unwrap();
    includes("result", &result, &json!({ "type": "tool_result", "tool": "add", "result": 42 }));

    let page = house.history.entries(&Default::default());
    let called = page.entries.iter().find(|entry| entry.method.as_deref() == Some("math.add"));
    let called = called.expect("the call is in the history");
    assert_eq!((called.door, called.trace_id), ("agent", Some(trace.trace_id())));
}
