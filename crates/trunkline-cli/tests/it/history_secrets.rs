//! Secrets in the history and the log, and streamed replies.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Model, Server, post, tpch, trunkline};

const LOGIN: &str = r#"
name = "login"
description = "Fails to log in."
command = ["./login.sh"]
read_only = true
[input_schema]
type = "object"
properties.password.type = "string"
"#;
const SCRIPT: &str = "#!/bin/sh\necho refused >&2\nexit 3\n";

/// A server with a tool that has a password parameter.
fn place() -> (TempDir, Server) {
    let (folder, database) = tpch();
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("login.toml"), LOGIN).unwrap();
    let script = tools.join("login.sh");
    fs::write(&script, SCRIPT).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = trunkline(folder.path());
    command.args([
        "--listen",
        "127.0.0.1:0",
        "--data-dir",
        "data",
        "--log",
        "--command-tools",
        "tools",
    ]);
    let model = Model::new(|question, speech| match &*question.results() {
        [] => speech.calls(&[("login", json!({ "password": "hunter2x" }))]),
        _ => speech.sends("Done."),
    });
    command.arg("--db").arg(database).args(model.flags());
    let server = Server::start_without_data_directory(command);
    (folder, server)
}

fn call(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// The content of all log files in a folder.
fn logged(folder: &TempDir) -> String {
    let logs = fs::read_dir(folder.path().join("data/logs")).unwrap();
    logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap()).collect()
}

#[test]
fn secrets_are_redacted() {
    let (folder, server) = place();
    let arguments = json!({ "password": "hunter2x" });
    let run = json!({ "tool": "login", "params": arguments });
    for (path, body) in [
        ("/", call("tool.login", &arguments)),
        ("/mcp", call("tools/call", &json!({ "name": "login", "arguments": arguments }))),
        ("/api", call("agent.execute_tool", &run)),
        ("/api", call("agent.chat", &json!({ "message": "Log in." }))),
    ] {
        let reply = server.connect().ask(&post(path, &[], &body));
        let reply = String::from_utf8(reply.body).unwrap();
        assert!(reply.contains("refused"), "{body}: {reply}");
    }
    let history = server.connect().get("/history").json().to_string();
    assert_eq!(server.stop().code, Some(0));
    let logged = logged(&folder);
    for kept in [&history, &logged] {
        assert!(kept.contains("[redacted]") && kept.contains("tool.login"), "{kept}");
        assert!(!kept.contains("hunter2x"), "{kept}");
    }
}

/// A streamed chat is recorded as a call and a stream.
#[test]
fn chats_are_recorded_as_streams() {
    let (_folder, server) = place();
    let chat = call("agent.chat", &json!({ "message": "Log in." }));
    let mut connection = server.connect();
    connection.ask(&post("/api", &["Accept: text/event-stream"], &chat));
    while !connection.line().starts_with("event: response") {}
    let entries = loop {
        let history = server.connect().get("/history?method=agent.chat").json();
        let entries = history["entries"].as_array().unwrap().clone();
        if entries.iter().any(|entry| entry["kind"] == "stream_end") {
            break entries;
        }
    };
    let of = |kind: &str| entries.iter().find(|entry| entry["kind"] == kind).unwrap();
    assert_eq!(entries.len(), 3, "{entries:#?}");
    assert!(
        entries.iter().all(|entry| entry["endpoint"] == "api" && entry["id"] == 1),
        "{entries:#?}"
    );
    assert_eq!(of("stream_end")["stream"], of("stream_start")["sequence"]);
    assert!(of("stream_end")["stream_bytes"].as_u64() > Some(100), "{entries:#?}");
    assert_eq!(of("call")["status"], "result");
    assert_eq!(server.stop().code, Some(0));
}
