//! A server that is killed in the midst of a conversation.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::house::{House, Plan};

/// Set for the process that is killed, which is this test again: where conversations are kept.
const DIRECTORY: &str = "TRUNKLINE_TEST_CONVERSATIONS";

/// How many turns are finished before it is.
const TURNS: usize = 25;

#[tokio::test]
async fn a_kill_loses_no_finished_turn() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        talk(Path::new(&directory)).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut talking = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "conversation_kill::a_kill_loses_no_finished_turn", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(talking.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut finished = 0;
    for _ in lines.filter(|line| line == "a turn is finished") {
        finished += 1;
        if finished == TURNS {
            talking.kill().unwrap();
        }
    }
    talking.wait().unwrap();
    assert!(finished >= TURNS, "it ended after {finished} turns");

    let house = house(directory.path()).await;
    let listed = house.call("agent.list_conversations", &json!({})).await.unwrap();
    let kept = listed["conversations"][0]["messages"].as_u64().unwrap();
    assert!(kept >= 2 * finished as u64, "{kept} messages of {finished} turns");
    assert!(kept <= 2 * (finished as u64 + 1), "and no more than were begun");
}

/// Says one thing after the other, and tells of each that was answered, until it is killed.
async fn talk(directory: &Path) -> ! {
    let house = house(directory).await;
    let mut id = Value::Null;
    loop {
        let reply =
            house.chat(&json!({ "message": "Sing!", "conversation_id": id })).await.unwrap();
        id = reply["conversation_id"].clone();
        let mut out = std::io::stdout().lock();
        out.write_all(b"\na turn is finished\n").and_then(|()| out.flush()).unwrap();
    }
}

async fn house(directory: &Path) -> House {
    let mut plan = Plan::answering().await;
    plan.conversations.max_messages = usize::MAX;
    plan.build_in(directory).await
}
