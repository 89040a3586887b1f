//! A command service that accepts JSON-RPC: its examples over a socket, in both forms.

use rusqlite::Connection;
use serde_json::{Value, json};
use trunkline::{Call, ErrorObject, Id, Router, Server, ServerHandle};
use trunkline_records::{Command, Protocol, adapter};

use crate::test_server::{Client, TestServer, assert_fits, post};

/// The request of the examples.
const REQUEST: &str = r#"{
  "jsonrpc": "2.0",
  "method": "todo.update",
  "params": {
    "id": "job-test-001",
    "done": true
  },
  "id": "12345"
}"#;

/// The normalised command.
const COMMAND: &str = r#"{
  "command": "update",
  "resource": "todo",
  "id": "job-test-001",
  "payload": {
    "done": true
  },
  "metadata": {
    "protocol": "jsonrpc",
    "version": "2.0",
    "jsonrpcId": "12345"
  }
}"#;

/// The success reply.
const RESULT: &str = r#"{"jsonrpc":"2.0","result":{"status":"ok"},"id":"12345"}"#;

/// The reply if the storage fails.
const ERROR: &str =
    r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Internal server error"},"id":"12345"}"#;

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

async fn with_the_record() -> TestServer {
    let mut server = TestServer::new().await;
    let create = json!({
        "command": "create", "resource": "todo", "id": "job-test-001", "payload": { "title": "Test" },
    });
    assert_eq!(server.native(&create).await.status, 201);
    server
}

/// Compares the updated record, without times.
#[track_caller]
fn assert_is_updated(mut record: Value) {
    for time in ["createdAt", "updatedAt"] {
        assert!(record.as_object_mut().unwrap().remove(time).is_some_and(|time| time.is_string()));
    }
    let expected = json!({
        "id": "job-test-001", "title": "Test", "done": true, "priority": "normal", "version": 2,
    });
    assert_eq!(record, expected);
}

#[tokio::test]
async fn the_request_as_json_rpc() {
    let mut server = with_the_record().await;
    let reply = server.post("/execute", REQUEST).await;
    assert_eq!(reply.status, 200);
    let mut response = reply.json();
    assert_is_updated(response["result"].take());
    assert_eq!(response, json!({ "jsonrpc": "2.0", "result": null, "id": "12345" }));
    server.stop().await;
}

#[tokio::test]
async fn the_command_natively() {
    let mut server = with_the_record().await;
    let reply = server.post("/execute", COMMAND).await;
    assert_eq!(reply.status, 200);
    let mut response = reply.json();
    assert_is_updated(response["result"].take());
    assert_eq!(response, json!({ "result": null }));
    server.stop().await;
}

#[tokio::test]
async fn the_error_of_a_storage_that_fails() {
    let mut server = with_the_record().await;
    let file = server.place.path().join("trunkline.sqlite");
    Connection::open(file).unwrap().execute("DROP TABLE records", ()).unwrap();
    for path in ["/execute", "/repeat", "/"] {
        let reply = server.post(path, REQUEST).await;
        assert_eq!((reply.status, reply.text()), (200, ERROR), "{path}");
    }
    let reply = server.post("/execute", COMMAND).await;
    assert_eq!((reply.status, reply.text()), (500, r#"{"error":"Internal server error"}"#));
    server.stop().await;
}

#[tokio::test]
async fn every_command_fails_alike_when_the_storage_does() {
    let mut server = TestServer::new().await;
    let file = server.place.path().join("trunkline.sqlite");
    let connection = Connection::open(file).unwrap();
    connection.execute_batch("DROP TABLE records; DROP TABLE requests;").unwrap();
    let rows = [
        ("create", json!({ "id": "a", "title": "x" })),
        ("read", json!({ "id": "a" })),
        ("update", json!({ "id": "a" })),
        ("delete", json!({ "id": "a" })),
        ("list", json!({})),
        ("filter", json!({ "title": "x" })),
        ("status", json!({})),
        ("revert", json!({ "requestId": "r" })),
        ("create", json!({ "title": "x", "metadata": { "requestId": "r" } })),
    ];
    for (command, params) in rows {
        let response = server.call(&format!("todo.{command}"), &params).await;
        let error = json!({ "code": -32000, "message": "Internal server error" });
        assert_eq!(response, json!({ "jsonrpc": "2.0", "error": error, "id": 1 }), "{command}");
        let mut params = params;
        let (id, metadata) = (params["id"].take(), params["metadata"].take());
        params.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let native = json!({
            "command": command, "resource": "todo", "id": id, "payload": params, "metadata": metadata,
        });
        let reply = server.native(&native).await;
        let told = (reply.status, reply.text());
        assert_eq!(told, (500, r#"{"error":"Internal server error"}"#), "{command}");
    }
    let reply = server.post("/revert", r#"{"requestId":"r"}"#).await;
    assert_eq!((reply.status, reply.text()), (500, r#"{"error":"Internal server error"}"#));
    server.stop().await;
}

/// Serves a command handler with its own replies.
async fn serve_commands<F, R>(execute: F) -> (ServerHandle, Client)
where
    F: Fn(Command) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ErrorObject>> + Send + 'static,
{
    let rpc = Router::new()
        .build()
        .unwrap()
        .with_protocol_methods(adapter::commands(move |command, _| execute(command)));
    let handle = Server::bind("127.0.0.1:0").serve(rpc.http()).await.unwrap();
    let client = Client::connect(handle.local_addr()).await;
    (handle, client)
}

/// `toJsonRpcResult` and `toJsonRpcError` of the examples.
#[tokio::test]
async fn a_service_of_ones_own_answers_as_the_examples() {
    let json = "Content-Type: application/json\r\n";
    let (handle, mut client) = serve_commands(async |command| {
        assert_eq!(json!(command), value(COMMAND));
        Ok(json!({ "status": "ok" }))
    })
    .await;
    let reply = client.ask(post("/execute", json, REQUEST)).await;
    assert_eq!((reply.status, reply.text()), (200, RESULT));
    assert!(handle.stop().await.is_complete());
    let fail = async |_| Err(ErrorObject::new(-32000, "Internal server error"));
    let (handle, mut client) = serve_commands(fail).await;
    let reply = client.ask(post("/execute", json, REQUEST)).await;
    assert_eq!((reply.status, reply.text()), (200, ERROR));
    assert!(handle.stop().await.is_complete());
}

#[tokio::test]
async fn a_service_of_ones_own_has_all_of_json_rpc() {
    let execute = async |command: Command| match &*command.command {
        "echo" => Ok(json!(command)),
        command => Err(ErrorObject::method_not_found(command)),
    };
    let (handle, mut client) = serve_commands(execute).await;
    let rows = [
        (r#"{"jsonrpc":"2.0","method":"a.b.echo","params":{"id":0}}"#, Value::Null),
        (
            r#"[{"jsonrpc":"2.0","method":"a.b.echo","params":{"id":0},"id":0},{"jsonrpc":"2.0","method":"a.echo"}]"#,
            json!([{ "result": { "resource": "a.b", "id": "0", "metadata": { "jsonrpcId": 0 } }, "id": 0 }]),
        ),
        (r#"{"jsonrpc":"2.0","method":"a.fly","id":1}"#, json!({ "error": { "code": -32601 } })),
        (r#"{"jsonrpc":"2.0","method":"echo","id":1}"#, json!({ "error": { "code": -32601 } })),
        (
            r#"{"jsonrpc":"2.0","method":"a.echo","params":[1],"id":1}"#,
            json!({ "error": { "code": -32602 } }),
        ),
        (r#"{"command":"echo","resource":"a"}"#, json!({ "error": { "code": -32600 } })),
    ];
    for (body, expected) in rows {
        let reply = client.ask(post("/", "Content-Type: application/json\r\n", body)).await;
        match reply.status {
            204 => assert_eq!(expected, Value::Null, "{body}"),
            _ => assert_fits(body, &expected, &reply.json()),
        }
    }
    assert!(handle.stop().await.is_complete());
}

/// `isJsonRpc` of the examples.
#[test]
fn the_protocol_is_told_apart() {
    assert_eq!(adapter::protocol(REQUEST.as_bytes()), Protocol::JsonRpc);
    assert_eq!(adapter::protocol(COMMAND.as_bytes()), Protocol::Native);
}

/// `toJobControl` of the examples.
#[test]
fn the_request_is_normalised_to_the_command() {
    let request = value(REQUEST);
    let call = Call::request(&Id::from("12345"), "todo.update", &request["params"]).unwrap();
    let command = adapter::command_of(&call).unwrap();
    assert_eq!(serde_json::to_value(&command).unwrap(), value(COMMAND));
}
