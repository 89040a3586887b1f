//! A server that is killed during a conversation.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{TestConfig, TestServer};

/// The directory of conversations, set for the process to be killed, which runs this test, too.
const DIRECTORY: &str = "TRUNKLINE_TEST_CONVERSATIONS";

/// The number of finished turns before the process is killed.
const TURNS: usize = 25;

#[tokio::test]
async fn a_kill_loses_no_finished_turn() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        talk(Path::new(&directory)).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut talking = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::a_kill_loses_no_finished_turn", "--nocapture"])
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

    let server = start(directory.path()).await;
    let listed = server.call("agent.list_conversations", &json!({})).await.unwrap();
    let kept = listed["conversations"][0]["messages"].as_u64().unwrap();
    assert!(kept >= 2 * finished as u64, "{kept} messages of {finished} turns");
    assert!(kept <= 2 * (finished as u64 + 1), "{kept} messages of {finished} turns");
}

/// Runs turns, and prints a line for each finished one, until the process is killed.
async fn talk(directory: &Path) -> ! {
    let server = start(directory).await;
    let mut id = Value::Null;
    loop {
        let reply =
            server.chat(&json!({ "message": "Sing!", "conversation_id": id })).await.unwrap();
        id = reply["conversation_id"].clone();
        let mut out = std::io::stdout().lock();
        out.write_all(b"\na turn is finished\n").and_then(|()| out.flush()).unwrap();
    }
}

async fn start(directory: &Path) -> TestServer {
    let mut config = TestConfig::answering().await;
    config.conversations.max_messages = usize::MAX;
    config.build_in(directory).await
}
