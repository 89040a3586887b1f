//! `--tools`: commands of a folder as methods and tools, through the doors of the binary.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{PATIENCE, Server, mismatch, post, run, trunkline};

const ECHO: &str = r#"
name = "echo"
description = "Says it again."
command = ["./echo.sh"]
read_only = true
[input_schema]
type = "object"
required = ["text"]
properties.text.type = "string"
"#;

/// A folder with `tools/echo.toml`, and a file that is none.
fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("echo.toml"), ECHO).unwrap();
    fs::write(tools.join("bad.toml"), "name = 5").unwrap();
    let script = tools.join("echo.sh");
    fs::write(&script, "#!/bin/sh\nexec cat\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn serve(folder: &Path) -> Server {
    let mut command = trunkline(folder);
    command.args(["--listen", "127.0.0.1:0", "--tools", "tools"]);
    Server::start(command)
}

#[track_caller]
fn check(found: &Value, expected: &Value) {
    if let Some(mismatch) = mismatch(found, expected) {
        panic!("{mismatch}\n{found}");
    }
}

fn rpc(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

#[test]
fn a_command_is_called_through_every_door() {
    let folder = place();
    let server = serve(folder.path());
    let said = json!({ "text": "x" });
    let tool = rpc("tools/call", &json!({ "name": "echo", "arguments": said }));
    let wrong = json!({ "text": 5 });
    let native =
        |payload: &Value| json!({ "command": "echo", "resource": "tool", "payload": payload });
    let rows = [
        ("/", rpc("tool.echo", &said), json!({ "result": said })),
        ("/", tool.clone(), json!({ "result": { "structuredContent": said, "isError": false } })),
        ("/mcp", tool, json!({ "result": { "structuredContent": said, "isError": false } })),
        ("/execute", native(&said), json!({ "result": said })),
        (
            "/execute",
            native(&wrong),
            json!({ "error": "/text: this value is not of type \"string\"" }),
        ),
        ("/", rpc("tool.echo", &wrong), json!({ "error": { "code": -32602 } })),
        ("/", rpc("tool.none", &json!({})), json!({ "error": { "code": -32601 } })),
    ];
    for (path, body, expected) in rows {
        check(&server.connect().ask(&post(path, &[], &body)).json(), &expected);
    }
    let forms = server.connect().get("/forms").json();
    let rels: Vec<&str> =
        forms.as_array().unwrap().iter().filter_map(|form| form["rel"].as_str()).collect();
    assert!(rels.contains(&"tool.echo"), "{rels:?}");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn tools_come_and_go_while_the_server_runs() {
    let folder = place();
    let mut server = serve(folder.path());
    let banner = server.banner();
    assert!(banner.contains("1 of "), "the banner tells how many there are");
    assert!(banner.contains("/openrpc.json, /tools, /history)"), "{banner}");
    let tools = folder.path().join("tools");
    let listed = server.connect().get("/tools").json();
    check(
        &listed,
        &json!({ "added": [], "changed": [], "removed": [], "tools": [{ "name": "echo" }] }),
    );
    let reason = listed["rejected"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("bad.toml:1:8: name"), "{reason}");

    fs::write(tools.join("again.toml"), ECHO.replace("\"echo\"", "\"again\"")).unwrap();
    fs::remove_file(tools.join("bad.toml")).unwrap();
    let since = Instant::now();
    // Whoever is first, the watcher or this.
    loop {
        let reply = server.connect().ask(&post("/tools/reload", &[], &json!({})));
        assert_eq!(reply.status, 200);
        let names: Vec<Value> = reply.json()["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].clone())
            .collect();
        if names == [json!("again"), json!("echo")] && reply.json()["rejected"] == json!([]) {
            break;
        }
        assert!(since.elapsed() < PATIENCE, "{names:?}");
    }
    let said = json!({ "text": "y" });
    assert_eq!(server.call("tool.again", &said)["result"], said);

    // Nobody asks for this one: the folder is watched.
    fs::remove_file(tools.join("again.toml")).unwrap();
    let since = Instant::now();
    let gone = rpc("tool.again", &json!({ "text": "y" }));
    while server.post(&gone).json()["error"]["code"] != -32601 {
        assert!(since.elapsed() < PATIENCE, "the tool is still there");
    }
    while server.post(&rpc("tools/list", &json!({}))).json().to_string().contains("\"again\"") {
        assert!(since.elapsed() < PATIENCE, "the tool is still listed");
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_folder_that_is_none_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = trunkline(folder.path());
    let ended = run(command.args(["--listen", "127.0.0.1:0", "--tools", "nowhere"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("nowhere"), "{ended:?}");
}
