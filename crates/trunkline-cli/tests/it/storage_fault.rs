//! A storage of resources that fails while the server runs.

use rusqlite::Connection as Sqlite;
use serde_json::json;

use crate::resources::{create, place, rpc, serve};
use crate::support::post;

/// Every door says so in its own way, and none says why.
#[test]
fn a_storage_that_fails() {
    let folder = place();
    let server = serve(folder.path(), &["--expose", "todo"]);
    assert_eq!(server.connect().ask(&post("/execute", &[], &create("a"))).status, 201);
    let saboteur = Sqlite::open(folder.path().join("data/trunkline.sqlite")).unwrap();
    saboteur.execute_batch("DROP TABLE records").unwrap();
    drop(saboteur);

    let failed = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "Internal server error"}, "id": 1});
    let methods = [
        ("create", json!({"title": "b"})),
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
    assert_eq!(server.sql(&json!({"query": "SELECT 1"})), Ok(json!([[1]])), "others are well");
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("no such table"), "the cause is in the log: {}", ended.stderr);
}
