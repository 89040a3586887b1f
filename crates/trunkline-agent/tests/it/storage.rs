//! The files of conversations, and errors of saving.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use trunkline::code;
use trunkline_agent::conversation::Conversations;

use crate::model_server::{Answer, ModelServer};
use crate::support::{TestConfig, TestServer, includes, to_json};

const FILE: &str = "agent.sqlite";
const MARKER: &str = "the name of my first pet";

fn holds_marker(directory: &Path) -> bool {
    let files =
        fs::read_dir(directory).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
    let marker = MARKER.as_bytes();
    files.into_iter().any(|bytes| bytes.windows(marker.len()).any(|part| part == marker))
}

async fn conversations(server: &TestServer) -> Vec<Value> {
    let listed = server.call("agent.list_conversations", &json!({})).await.unwrap();
    listed["conversations"].as_array().unwrap().clone()
}

#[tokio::test]
async fn erases_deleted_conversations() {
    let directory = tempfile::tempdir().unwrap();
    let server = TestConfig::answering().await.build_in(directory.path()).await;
    let size = || fs::metadata(directory.path().join(FILE)).unwrap().len();
    let long = format!("{MARKER} {}", "x".repeat(50_000));
    let reply = server.chat(&json!({ "message": long })).await.unwrap();
    let id = &reply["conversation_id"];
    for _ in 0..3 {
        server.chat(&json!({ "message": long, "conversation_id": id })).await.unwrap();
    }
    assert!(holds_marker(directory.path()), "it was written");
    server.call("agent.delete_conversation", &json!({ "conversation_id": id })).await.unwrap();
    assert!(!holds_marker(directory.path()), "and is gone");
    assert!(size() < 100_000, "the file shrinks: {}", size());
}

/// Conversations and turns that exceed the limits are erased, too.
#[tokio::test]
async fn erases_excess_conversations_and_turns() {
    for (name, goes_on) in [("a conversation", false), ("a turn", true)] {
        let directory = tempfile::tempdir().unwrap();
        let mut config = TestConfig::answering().await;
        (config.conversations.max_conversations, config.conversations.max_messages) = (1, 2);
        let server = config.build_in(directory.path()).await;
        let first = server.chat(&json!({ "message": "Hi" })).await.unwrap();
        let id = &first["conversation_id"];
        server.chat(&json!({ "message": MARKER, "conversation_id": id })).await.unwrap();
        assert!(holds_marker(directory.path()), "{name}: it was written");
        let id = goes_on.then_some(id);
        server.chat(&json!({ "message": "Bye", "conversation_id": id })).await.unwrap();
        assert!(!holds_marker(directory.path()), "{name}: and is gone");
    }
}

#[tokio::test]
async fn erases_from_files_without_auto_vacuum() {
    let directory = tempfile::tempdir().unwrap();
    let made = Conversations::open(directory.path(), Default::default()).unwrap();
    assert!(made.close(Duration::from_secs(10)));
    let path = directory.path().join(FILE);
    let file = rusqlite::Connection::open(&path).unwrap();
    // A file that does not shrink, as earlier versions created it.
    file.execute_batch("PRAGMA journal_mode = delete; PRAGMA auto_vacuum = none; VACUUM").unwrap();
    file.execute_batch("PRAGMA journal_mode = wal").unwrap();
    drop(file);
    let server = TestConfig::answering().await.build_in(directory.path()).await;
    let reply = server.chat(&json!({ "message": MARKER })).await.unwrap();
    let id = json!({ "conversation_id": reply["conversation_id"] });
    server.call("agent.delete_conversation", &id).await.unwrap();
    assert!(!holds_marker(directory.path()));
}

#[tokio::test]
async fn truncates_the_last_turn() {
    let call = |arguments: &str| Answer::calls(&[("1", "large", arguments), ("2", "fail", "")]);
    let script = vec![call(""), Answer::text("First."), Answer::text("Second.")];
    let model = ModelServer::rows(script).await;
    let mut config = TestConfig::with_model(&model.url);
    config.conversations.max_bytes = 4_000;
    let server = config.build().await;
    let reply = server.chat(&json!({ "message": "Go." })).await.unwrap();
    assert!(reply["steps"][0]["result"].as_str().unwrap().len() == 100_000, "the reply is whole");
    let kept = conversations(&server).await;
    includes("messages", &kept[0], &json!({ "messages": 5 }));
    let bytes = kept[0]["bytes"].as_u64().unwrap();
    assert!((3_000..=4_000).contains(&bytes), "{bytes} bytes");
    let id = &reply["conversation_id"];
    server.chat(&json!({ "message": "And now?", "conversation_id": id })).await.unwrap();
    let messages = &model.requests()[2]["messages"];
    let [large, failed, answer] =
        [3, 4, 5].map(|index| messages[index]["content"].as_str().unwrap());
    assert!(large.starts_with("\"xxx") && large.ends_with("bytes shown]"), "{large}");
    assert!(failed.starts_with("Error: It is broken") && answer == "First.", "{failed} {answer}");
}

#[tokio::test]
async fn truncates_a_large_message() {
    let mut config = TestConfig::answering().await;
    config.conversations.max_bytes = 1_000;
    let server = config.build().await;
    server.chat(&json!({ "message": "Sing! ".repeat(1_000) })).await.unwrap();
    let bytes = conversations(&server).await[0]["bytes"].as_u64().unwrap();
    assert!((500..=1_000).contains(&bytes), "{bytes} bytes");
}

#[tokio::test]
async fn does_not_restore_a_conversation_deleted_during_a_turn() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE);
    let model = ModelServer::serve(move |request, _| {
        if request == 1 {
            let file = rusqlite::Connection::open(&path).unwrap();
            file.busy_timeout(Duration::from_secs(5)).unwrap();
            file.execute_batch("PRAGMA foreign_keys = on; DELETE FROM conversation").unwrap();
            return Answer::calls(&[("1", "add", r#"{"a": 1, "b": 1}"#)]);
        }
        Answer::text("Well.")
    });
    let model = model.await;
    let server = TestConfig::with_model(&model.url).build_in(directory.path()).await;
    let first = server.chat(&json!({ "message": "Hi" })).await.unwrap();
    let id = &first["conversation_id"];
    let found = to_json(server.chat(&json!({ "message": "Add.", "conversation_id": id })).await);
    let data = json!({
        "kind": "unkept", "reason": "…deleted", "conversation_id": id, "steps": [{ "result": 2 }],
    });
    includes("deleted", &found, &json!({ "error": { "code": -32000, "data": data } }));
    assert_eq!(conversations(&server).await, Vec::<Value>::new());
}

/// Before the model sends `answer`, another process that uses the store runs a turn, which proposes a call. That turn is
/// kept, and its call can be confirmed.
async fn check_turn_of_another_process(message: &str, answer: Answer, expected: Value) {
    let directory = tempfile::tempdir().unwrap();
    let other = Arc::new(OnceLock::<(TestServer, Value)>::new());
    let proposed = Arc::new(OnceLock::new());
    let (of_other, of_proposed) = (Arc::clone(&other), Arc::clone(&proposed));
    let model = ModelServer::serve(move |_, request| {
        let messages = request["messages"].as_array().unwrap();
        match messages.last().unwrap()["content"].as_str().unwrap() {
            "Erase it." => Answer::calls(&[("1", "erase_note", r#"{"name": "shopping"}"#)]),
            "Add." => Answer::calls(&[("1", "add", r#"{"a": 1, "b": 1}"#)]),
            "Sing!" | "2" => {
                let (server, id) = of_other.get().unwrap();
                let erase = json!({ "message": "Erase it.", "conversation_id": id });
                let turn = || Handle::current().block_on(server.chat(&erase));
                of_proposed.set(block_in_place(turn).unwrap()).unwrap();
                answer.clone()
            }
            _ => Answer::text("Well."),
        }
    });
    let model = model.await;
    let start = async || TestConfig::with_model(&model.url).build_in(directory.path()).await;
    let (server, second) = (start().await, start().await);
    let id = server.chat(&json!({ "message": "Hi" })).await.unwrap()["conversation_id"].clone();
    assert!(other.set((second, id.clone())).is_ok());

    let chat = server.chat(&json!({ "message": message, "conversation_id": id })).await;
    includes(message, &to_json(chat), &json!({ "error": expected }));
    let token = &proposed.get().unwrap()["pending"]["confirm"];
    let confirm = json!({ "conversation_id": id, "confirm": token });
    let confirmed = to_json(server.chat(&confirm).await);
    includes(message, &confirmed["steps"], &json!([{ "result": "shopping is erased" }]));
    // Two of the first turn, and four each of the proposal and the confirmation.
    includes(message, &conversations(&server).await[0], &json!({ "messages": 10 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn keeps_the_turn_of_another_process() {
    let (sung, gone) = (Answer::text("Well."), Answer::refusal(400, "gone"));
    let busy = json!({ "code": code::BUSY, "data": { "reason": "…another turn" } });
    let steps = json!([{ "result": 2 }]);
    let unkept = json!({ "kind": "unkept", "reason": "…another turn", "steps": steps });
    let unkept = json!({ "code": code::APPLICATION, "data": unkept });
    let failed = json!({ "code": code::APPLICATION, "data": { "steps": steps } });
    check_turn_of_another_process("Sing!", sung.clone(), busy).await;
    check_turn_of_another_process("Add.", sung, unkept).await;
    check_turn_of_another_process("Add.", gone, failed).await;
}

#[tokio::test]
async fn does_not_save_a_failed_turn_later() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = TestConfig::answering().await;
    config.conversations.timeout = Duration::from_millis(400);
    let server = config.build_in(directory.path()).await;
    let file = rusqlite::Connection::open(directory.path().join(FILE)).unwrap();
    // The writer waits for this lock for half of the timeout.
    file.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let message = json!({ "message": "Sing!" });
    let chats = (0..10).map(|_| server.chat(&message));
    let replies = futures_util::future::join_all(chats).await;
    file.execute_batch("ROLLBACK").unwrap();
    let mut unconfirmed = 0;
    for reply in replies {
        let found = to_json(reply);
        let data = &found["error"]["data"];
        includes("unkept", data, &json!({ "kind": "unkept", "conversation_id": "…-" }));
        unconfirmed +=
            usize::from(data["reason"].as_str().unwrap().contains("may have been saved"));
    }
    let kept = conversations(&server).await.len();
    assert!(kept <= unconfirmed, "{kept} turns are saved, {unconfirmed} are unconfirmed");
}

#[tokio::test]
async fn errors_name_the_saved_conversation() {
    let add = Answer::calls(&[("1", "add", r#"{"a": 1, "b": 1}"#)]);
    let gone = Answer::refusal(500, "gone");
    let model = ModelServer::rows(vec![add, gone]).await;
    let server = TestConfig::with_model(&model.url).build().await;
    let found = to_json(server.chat(&json!({ "message": "Add." })).await);
    let kept = conversations(&server).await;
    let id = &kept[0]["conversation_id"];
    assert_eq!(found["error"]["data"]["conversation_id"], *id);
    let again = json!({ "message": "Add.", "conversation_id": id });
    let found = to_json(server.chat(&again).await);
    assert_eq!(found["error"]["data"]["conversation_id"], *id, "an existing conversation");
    let found = to_json(server.chat(&json!({ "message": "Add." })).await);
    assert_eq!(found["error"]["data"].get("conversation_id"), None, "no conversation was created");
}
