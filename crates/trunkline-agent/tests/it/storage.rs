//! What is on the disk of conversations, and what is told when that is in doubt.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_agent::conversation::Conversations;

use crate::house::{House, Plan, includes, told};
use crate::scripted::{Answer, Scripted};

const FILE: &str = "agent.sqlite";
const MARKER: &str = "the name of my first pet";

fn holds_marker(directory: &Path) -> bool {
    let files =
        fs::read_dir(directory).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
    let marker = MARKER.as_bytes();
    files.into_iter().any(|bytes| bytes.windows(marker.len()).any(|part| part == marker))
}

async fn conversations(house: &House) -> Vec<Value> {
    let listed = house.call("agent.list_conversations", &json!({})).await.unwrap();
    listed["conversations"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_is_deleted_is_not_in_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let house = Plan::answering().await.build_in(directory.path()).await;
    let size = || fs::metadata(directory.path().join(FILE)).unwrap().len();
    let long = format!("{MARKER} {}", "x".repeat(50_000));
    let said = house.chat(&json!({ "message": long })).await.unwrap();
    let id = &said["conversation_id"];
    for _ in 0..3 {
        house.chat(&json!({ "message": long, "conversation_id": id })).await.unwrap();
    }
    assert!(holds_marker(directory.path()), "it was written");
    house.call("agent.delete_conversation", &json!({ "conversation_id": id })).await.unwrap();
    assert!(!holds_marker(directory.path()), "and is gone");
    assert!(size() < 100_000, "the file gives back what it had: {}", size());
}

/// Conversations, and turns of one, that give way to newer ones are deleted as well.
#[tokio::test]
async fn what_gives_way_is_not_in_the_files() {
    for (name, goes_on) in [("a conversation", false), ("a turn", true)] {
        let directory = tempfile::tempdir().unwrap();
        let mut plan = Plan::answering().await;
        (plan.conversations.max_conversations, plan.conversations.max_messages) = (1, 2);
        let house = plan.build_in(directory.path()).await;
        let first = house.chat(&json!({ "message": "Hi" })).await.unwrap();
        let id = &first["conversation_id"];
        house.chat(&json!({ "message": MARKER, "conversation_id": id })).await.unwrap();
        assert!(holds_marker(directory.path()), "{name}: it was written");
        let id = goes_on.then_some(id);
        house.chat(&json!({ "message": "Bye", "conversation_id": id })).await.unwrap();
        assert!(!holds_marker(directory.path()), "{name}: and is gone");
    }
}

#[tokio::test]
async fn a_file_of_before_is_cleaned_too() {
    let directory = tempfile::tempdir().unwrap();
    let made = Conversations::open(directory.path(), Default::default()).unwrap();
    assert!(made.close(Duration::from_secs(10)));
    let path = directory.path().join(FILE);
    let file = rusqlite::Connection::open(&path).unwrap();
    // One that gives nothing back, as those that were made without it.
    file.execute_batch("PRAGMA journal_mode = delete; PRAGMA auto_vacuum = none; VACUUM").unwrap();
    file.execute_batch("PRAGMA journal_mode = wal").unwrap();
    drop(file);
    let house = Plan::answering().await.build_in(directory.path()).await;
    let said = house.chat(&json!({ "message": MARKER })).await.unwrap();
    let id = json!({ "conversation_id": said["conversation_id"] });
    house.call("agent.delete_conversation", &id).await.unwrap();
    assert!(!holds_marker(directory.path()));
}

#[tokio::test]
async fn the_last_turn_of_a_conversation_is_bounded_too() {
    let call = |arguments: &str| Answer::calls(&[("1", "large", arguments), ("2", "fail", "")]);
    let script = vec![call(""), Answer::text("First."), Answer::text("Second.")];
    let scripted = Scripted::rows(script).await;
    let mut plan = Plan::with_model(&scripted.url);
    plan.conversations.max_bytes = 4_000;
    let house = plan.build().await;
    let reply = house.chat(&json!({ "message": "Go." })).await.unwrap();
    assert!(reply["steps"][0]["result"].as_str().unwrap().len() == 100_000, "the reply is whole");
    let kept = conversations(&house).await;
    includes("messages", &kept[0], &json!({ "messages": 5 }));
    let bytes = kept[0]["bytes"].as_u64().unwrap();
    assert!((3_000..=4_000).contains(&bytes), "{bytes} bytes");
    let id = &reply["conversation_id"];
    house.chat(&json!({ "message": "And now?", "conversation_id": id })).await.unwrap();
    let messages = &scripted.requests()[2]["messages"];
    let [large, failed, said] = [3, 4, 5].map(|index| messages[index]["content"].as_str().unwrap());
    assert!(large.starts_with("\"xxx") && large.ends_with("bytes are shown]"), "{large}");
    assert!(failed.starts_with("Error: It is broken") && said == "First.", "{failed} {said}");
}

#[tokio::test]
async fn a_large_message_is_kept_in_part() {
    let mut plan = Plan::answering().await;
    plan.conversations.max_bytes = 1_000;
    let house = plan.build().await;
    house.chat(&json!({ "message": "Sing! ".repeat(1_000) })).await.unwrap();
    let bytes = conversations(&house).await[0]["bytes"].as_u64().unwrap();
    assert!((500..=1_000).contains(&bytes), "{bytes} bytes");
}

#[tokio::test]
async fn a_conversation_that_is_deleted_meanwhile_does_not_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE);
    let scripted = Scripted::serve(move |request, _| {
        if request == 1 {
            let file = rusqlite::Connection::open(&path).unwrap();
            file.busy_timeout(Duration::from_secs(5)).unwrap();
            file.execute_batch("PRAGMA foreign_keys = on; DELETE FROM conversation").unwrap();
            return Answer::calls(&[("1", "add", r#"{"a": 1, "b": 1}"#)]);
        }
        Answer::text("Well.")
    });
    let scripted = scripted.await;
    let house = Plan::with_model(&scripted.url).build_in(directory.path()).await;
    let first = house.chat(&json!({ "message": "Hi" })).await.unwrap();
    let id = &first["conversation_id"];
    let found = told(house.chat(&json!({ "message": "Add.", "conversation_id": id })).await);
    let data = json!({
        "kind": "unkept", "reason": "…deleted", "conversation_id": id, "steps": [{ "result": 2 }],
    });
    includes("deleted", &found, &json!({ "error": { "code": -32000, "data": data } }));
    assert_eq!(conversations(&house).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_turn_that_is_answered_with_an_error_is_not_kept_later() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = Plan::answering().await;
    plan.conversations.timeout = Duration::from_millis(400);
    let house = plan.build_in(directory.path()).await;
    let file = rusqlite::Connection::open(directory.path().join(FILE)).unwrap();
    // The writer waits for this lock half of that time.
    file.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let message = json!({ "message": "Sing!" });
    let chats = (0..10).map(|_| house.chat(&message));
    let replies = futures_util::future::join_all(chats).await;
    file.execute_batch("ROLLBACK").unwrap();
    let mut unconfirmed = 0;
    for reply in replies {
        let found = told(reply);
        let data = &found["error"]["data"];
        includes("unkept", data, &json!({ "kind": "unkept", "conversation_id": "…-" }));
        unconfirmed += usize::from(data["reason"].as_str().unwrap().contains("may be kept"));
    }
    let kept = conversations(&house).await.len();
    assert!(kept <= unconfirmed, "{kept} turns are kept, of which {unconfirmed} may be");
}

#[tokio::test]
async fn an_error_tells_the_conversation_that_was_kept() {
    let add = Answer::calls(&[("1", "add", r#"{"a": 1, "b": 1}"#)]);
    let gone = Answer::refusal(500, "gone");
    let scripted = Scripted::rows(vec![add, gone]).await;
    let house = Plan::with_model(&scripted.url).build().await;
    let found = told(house.chat(&json!({ "message": "Add." })).await);
    let kept = conversations(&house).await;
    let id = &kept[0]["conversation_id"];
    assert_eq!(found["error"]["data"]["conversation_id"], *id);
    let again = json!({ "message": "Add.", "conversation_id": id });
    let found = told(house.chat(&again).await);
    assert_eq!(found["error"]["data"]["conversation_id"], *id, "nothing was done in it");
    let found = told(house.chat(&json!({ "message": "Add." })).await);
    assert_eq!(found["error"]["data"].get("conversation_id"), None, "none has begun");
}
