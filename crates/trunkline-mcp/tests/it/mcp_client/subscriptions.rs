//! Notifications outside calls, and the cache that they invalidate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use trunkline_mcp::client::{Change, Error};

use super::handlers::Recorder;
use super::script::{Answer, Asked, Script, error, event, legacy, modern, result, stream};
use crate::support::{in_time, until};

fn notification(method: &str, params: Value) -> String {
    event(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// The stream of a subscription that accepts these resources, and the following events.
fn listening(asked: &Asked, resources: &Value, then: &[String]) -> Answer {
    let (sender, answer) = stream();
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": asked.body["id"] });
    let honoured = json!({ "resourceSubscriptions": resources });
    let params = json!({ "_meta": meta, "notifications": honoured });
    sender.send(notification("notifications/subscriptions/acknowledged", params)).unwrap();
    for event in then {
        sender.send(event.clone()).unwrap();
    }
    // The stream stays open.
    std::mem::forget(sender);
    answer
}

/// Answers lists with a result that may be cached.
fn cacheable(asked: &Asked) -> Answer {
    let member = match asked.method() {
        "tools/list" => "tools",
        "prompts/list" => "prompts",
        "resources/read" => "contents",
        _ => return modern(asked),
    };
    result(asked, &json!({ member: [], "ttlMs": 60_000, "cacheScope": "private" }))
}

#[tokio::test]
async fn results_are_cached() {
    let script = Script::start(cacheable).await;
    let client = script.client().await;
    for _ in 0..3 {
        client.list_tools().await.unwrap();
        client.read_resource("r://a").await.unwrap();
    }
    client.read_resource("r://b").await.unwrap();
    let expected = ["server/discover", "tools/list", "resources/read", "resources/read"];
    assert_eq!(script.methods(), expected);

    let client = script.connect(|config| config.cache_bytes = 0).await.unwrap();
    client.list_tools().await.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!(script.asked_for("tools/list").len(), 3);
}

#[tokio::test]
async fn results_after_input_are_not_cached() {
    let script = Script::start(|asked| match asked.method() {
        "resources/read" if asked.body["params"]["requestState"].is_null() => {
            result(asked, &json!({ "resultType": "input_required", "requestState": "s" }))
        }
        _ => cacheable(asked),
    });
    let script = script.await;
    let client = script.client().await;
    for _ in 0..2 {
        client.read_resource("r://a").await.unwrap();
    }
    assert_eq!(script.asked_for("resources/read").len(), 4);
}

#[tokio::test]
async fn changes_invalidate_the_cache() {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<String>();
    let receiver = std::sync::Mutex::new(Some(receiver));
    let script = Script::start(move |asked| match asked.method() {
        "subscriptions/listen" => {
            let (events, answer) = stream();
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": asked.body["id"] });
            let params = json!({ "_meta": meta, "notifications": {} });
            events.send(notification("notifications/subscriptions/acknowledged", params)).unwrap();
            let mut receiver = receiver.lock().unwrap().take().unwrap();
            tokio::spawn(async move {
                while let Some(event) = receiver.recv().await {
                    drop(events.send(event));
                }
            });
            answer
        }
        _ => cacheable(asked),
    });
    let script = script.await;
    let recorder = Arc::new(Recorder::default());
    let client = script.connect(|config| config.handler = recorder.clone()).await.unwrap();
    let asked = &script.asked_for("subscriptions/listen")[0].body["params"];
    let all = json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
    assert_eq!(asked["notifications"], all);
    for _ in 0..2 {
        client.list_tools().await.unwrap();
        client.list_prompts().await.unwrap();
    }
    sender.send(notification("notifications/tools/list_changed", json!({}))).unwrap();
    until("the change", || recorder.changes() == [Change::Tools]).await;
    for _ in 0..2 {
        client.list_tools().await.unwrap();
        client.list_prompts().await.unwrap();
    }
    assert_eq!(script.asked_for("tools/list").len(), 2);
    assert_eq!(script.asked_for("prompts/list").len(), 1);
    in_time("to close", client.close()).await;
    until("the stream to close", || script.asked_for("subscriptions/listen")[0].is_dropped).await;
}

#[tokio::test]
async fn resources_are_subscribed_to() {
    let script = Script::start(|asked| match asked.method() {
        "subscriptions/listen" => {
            let wanted = &asked.body["params"]["notifications"]["resourceSubscriptions"];
            let wanted = wanted.as_array().cloned().unwrap_or_default();
            let known: Vec<_> = wanted.into_iter().filter(|uri| uri != "r://no").collect();
            let uri = json!({ "uri": known.last() });
            listening(asked, &json!(known), &[notification("notifications/resources/updated", uri)])
        }
        _ => modern(asked),
    });
    let script = script.await;
    let recorder = Arc::new(Recorder::default());
    let client = script.connect(|config| config.handler = recorder.clone()).await.unwrap();
    in_time("to subscribe", client.subscribe("r://a")).await.unwrap();
    in_time("to subscribe", client.subscribe("r://b")).await.unwrap();
    until("the changes", || recorder.changes().ends_with(&[Change::Resource("r://b".to_owned())]))
        .await;
    let refused = in_time("to subscribe", client.subscribe("r://no")).await.unwrap_err();
    assert!(matches!(&refused, Error::NoSubscription(uri) if uri == "r://no"), "{refused}");
    client.unsubscribe("r://a").await.unwrap();
    // One after the connection, one for each subscription, one after the refusal and after the end.
    let listens = script.until("subscriptions/listen", 5).await;
    let last = &listens.last().unwrap().body["params"]["notifications"];
    until("the last stream", || {
        let listens = script.asked_for("subscriptions/listen");
        let last = &listens.last().unwrap().body["params"]["notifications"];
        last["resourceSubscriptions"] == json!(["r://b"])
    })
    .await;
    assert_eq!(last["toolsListChanged"], true);
    // The previous streams end when the next is open.
    until("the previous streams to close", || {
        let listens = script.asked_for("subscriptions/listen");
        listens.iter().rev().skip(1).all(|listen| listen.is_dropped)
    })
    .await;
}

#[tokio::test]
async fn subscriptions_may_be_unsupported() {
    let script = Script::start(|asked| match asked.method() {
        "resources/subscribe" => error("200 OK", asked, -32601, &Value::Null),
        _ => modern(asked),
    });
    let script = script.await;
    let client = script.client().await;
    let refused = in_time("to subscribe", client.subscribe("r://a")).await.unwrap_err();
    assert!(matches!(refused, Error::NoSubscription(_)), "{refused}");
    assert_eq!(script.asked_for("subscriptions/listen").len(), 1);
}

/// The first requests fail. Only a temporary error is followed by another request.
#[tokio::test]
async fn a_subscription_is_repeated_after_a_temporary_error() {
    for (status, code, is_repeated) in [
        ("200 OK", -32005, true),
        ("503 Service Unavailable", -32005, true),
        ("200 OK", -32004, true),
        ("200 OK", -32010, true),
        ("200 OK", -32008, false),
    ] {
        let has_failed = AtomicBool::new(false);
        let script = Script::start(move |asked| match asked.method() {
            "subscriptions/listen" if !has_failed.swap(true, Ordering::SeqCst) => {
                error(status, asked, code, &Value::Null)
            }
            "subscriptions/listen" => listening(asked, &json!(["r://a"]), &[]),
            _ => modern(asked),
        });
        let script = script.await;
        let client = script.client().await;
        let subscribed = in_time("to subscribe", client.subscribe("r://a")).await;
        assert_eq!(subscribed.is_ok(), is_repeated, "{status} {code}: {subscribed:?}");
    }
}

#[tokio::test]
async fn an_interrupted_subscription_is_repeated() {
    let has_ended = AtomicBool::new(false);
    let script = Script::start(move |asked| match asked.method() {
        "subscriptions/listen" if !has_ended.swap(true, Ordering::SeqCst) => {
            let (sender, answer) = stream();
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": asked.body["id"] });
            let params = json!({ "_meta": meta, "notifications": {} });
            sender.send(notification("notifications/subscriptions/acknowledged", params)).unwrap();
            answer
        }
        "subscriptions/listen" => listening(asked, &json!([]), &[]),
        _ => modern(asked),
    });
    let script = script.await;
    let recorder = Arc::new(Recorder::default());
    let _client = script.connect(|config| config.handler = recorder.clone()).await.unwrap();
    // Changes may have been missed.
    let all = [Change::Tools, Change::Resources, Change::Prompts];
    until("the changes", || recorder.changes() == all).await;
    assert_eq!(script.asked_for("subscriptions/listen").len(), 2);
}

#[tokio::test]
async fn before_2026_a_stream_is_opened_for_subscriptions() {
    let script = Script::start(|asked| match asked.method() {
        "GET" if asked.header("last-event-id").is_none() => {
            let (sender, answer) = stream();
            let updated = json!({ "uri": "r://a" });
            let updated = notification("notifications/resources/updated", updated);
            sender.send(format!("retry: 10\nid: e1\n{updated}")).unwrap();
            answer
        }
        "GET" => {
            let (sender, answer) = stream();
            sender.send(notification("notifications/prompts/list_changed", json!({}))).unwrap();
            std::mem::forget(sender);
            answer
        }
        _ => legacy(asked, "s"),
    });
    let script = script.await;
    let client = script.client().await;
    assert!(script.asked_for("GET").is_empty());
    client.subscribe("r://a").await.unwrap();
    let streams = script.until("GET", 2).await;
    assert_eq!(streams[1].header("last-event-id"), Some("e1"));
    assert_eq!(script.asked_for("resources/subscribe").len(), 1);
    client.unsubscribe("r://a").await.unwrap();
    assert_eq!(script.asked_for("resources/unsubscribe").len(), 1);
}
