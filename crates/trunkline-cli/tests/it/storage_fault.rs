//! A store of records that fails while the server runs.

use std::process::{Command, Stdio};

use rusqlite::Connection as Sqlite;
use serde_json::{Value, json};

use crate::records::{command, create, place, rpc, serve};
use crate::support::{Server, post};

/// All endpoints report the failure in their format, without the cause.
#[test]
fn a_failing_store() {
    let folder = place();
    let server = serve(folder.path(), &["--expose", "todo"]);
    assert_eq!(server.connect().ask(&post("/execute", &[], &create("a"))).status, 201);
    let saboteur = Sqlite::open(folder.path().join("data/trunkline.sqlite")).unwrap();
    saboteur.execute_batch("DROP TABLE records").unwrap();
    drop(saboteur);

    let failed = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "Internal server error"}, "id": 1});
    let methods = [
        ("create", json!({"id": "b", "title": "b"})),
        ("read", json!({"id": "a"})),
        ("update", json!({"id": "a", "done": true})),
        ("delete", json!({"id": "a"})),
        ("list", json!({})),
        ("filter", json!({"title": "a"})),
        ("status", json!({})),
    ];
    for (command, params) in &methods {
        let call = rpc(&format!("todo.{command}"), params);
        for path in ["/", "/rpc", "/jsonrpc", "/execute"] {
            let reply = server.connect().ask(&post(path, &[], &call));
            assert_eq!((reply.status, reply.json()), (200, failed.clone()), "{path} {command}");
            let batch = server.connect().ask(&post(path, &[], &json!([call, call])));
            assert_eq!(batch.json(), json!([failed, failed]), "{path} {command}");
        }
        let mut payload = params.clone();
        let id = payload.as_object_mut().unwrap().remove("id");
        let native = json!({"command": command, "resource": "todo", "id": id, "payload": payload});
        for path in ["/execute", "/repeat"] {
            let reply = server.connect().ask(&post(path, &[], &native));
            let error = json!({"error": "Internal server error"});
            assert_eq!((reply.status, reply.json()), (500, error), "{path} {command}");
        }
        let tool =
            rpc("tools/call", &json!({"name": format!("todo_{command}"), "arguments": params}));
        for path in ["/mcp", "/"] {
            let reply = server.connect().ask(&post(path, &[], &tool));
            let result = &reply.json()["result"];
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            assert_eq!((&result["isError"], reply.status), (&json!(true), 200), "{path}: {result}");
            assert!(text.contains("Internal server error"), "{path} {command}: {result}");
            assert!(!text.contains("records"), "{path} {command}: {result}");
        }
    }
    let edn = r#"{:jsonrpc "2.0" :method "todo.list" :id :a}"#;
    let native = r#"{:command "list" :resource "todo"}"#;
    let said =
        r#"{:jsonrpc "2.0", :error {:code -32000, :message "Internal server error"}, :id :a}"#;
    for (path, body, status, expected) in [
        ("/rpc", edn, 200, said),
        ("/execute", edn, 200, said),
        ("/execute", native, 500, r#"{:error "Internal server error"}"#),
    ] {
        let head = "Host: localhost\r\nContent-Type: application/edn";
        let length = body.len();
        let request =
            format!("POST {path} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}");
        let reply = server.connect().ask(&request);
        assert_eq!(reply.status, status, "{path} {body}");
        assert_eq!(String::from_utf8(reply.body).unwrap(), expected, "{path} {body}");
    }
    assert_eq!(
        server.sql(&json!({"query": "SELECT 1"})),
        Ok(json!([[1]])),
        "the database is not affected"
    );
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("no such table"), "the cause is in the log: {}", ended.stderr);
}

/// A file that cannot grow is a failure of the store and does not end the process.
#[test]
fn a_store_at_the_maximum_file_size() {
    let folder = place();
    let server = Server::start(limited(&command(folder.path(), &[]), 1024));
    let mut connection = server.connect();
    let mut ask = |call: &Value| connection.ask(&post("/rpc", &[], call)).json();
    let text = "a".repeat(100_000);
    let failed = (0..100).find_map(|id: u32| {
        let reply = ask(&rpc("todo.create", &json!({"id": id, "title": text})));
        reply.get("error").cloned()
    });
    let failed = failed.unwrap();
    assert_eq!((&failed["code"], &failed["data"]["kind"]), (&json!(-32000), &json!("unavailable")));
    assert_eq!(ask(&rpc("todo.read", &json!(["0"])))["result"]["title"], text.as_str());
    assert_eq!(ask(&rpc("todo.list", &json!({"limit": 1})))["result"]["items"][0]["id"], "0");
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// The command with a maximum file size, in blocks of 512 or 1,024 bytes, depending on the shell.
pub(crate) fn limited(command: &Command, blocks: u32) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -f {blocks} && exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}
