//! Members of native messages, and the error messages for invalid ones.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline::http::Headers;
use trunkline::{ErrorObject, Extensions, Params, Router, Server};
use trunkline_records::{Command, adapter};

use crate::execute::check_refused;
use crate::test_server::{Client, Setup, TestServer, assert_fits, post};

#[derive(serde::Deserialize)]
struct Numbered {
    id: u64,
}

/// A JSON-RPC request with this text as its params.
fn rpc_of(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":1}}"#)
}

#[tokio::test]
async fn error_messages() {
    let mut server = TestServer::new().await;
    let message = r#"a command must be an object: {"command", "resource", …}"#;
    let of_todo = |members: &str| format!(r#"{{"command":"update","resource":"todo",{members}}}"#);
    let rows = [
        ("null".to_owned(), message),
        ("5".to_owned(), message),
        (
            r#"{"id":"a","payload":{"id":"b"}}"#.to_owned(),
            "command is missing or not a string; a command has command and resource",
        ),
        (
            of_todo(r#""id":"a","payload":{"id":"b"}"#),
            "id is a, but payload.id is b; send only one",
        ),
        (of_todo(r#""id":"a","payload":{"id":{}}"#), "an id must be a string or a number"),
        (of_todo(r#""id":true"#), "an id must be a string or a number"),
        (of_todo(r#""id":"""#), "an id must have 1 to 256 bytes"),
        (of_todo(r#""id":"a","id":"b""#), r#"duplicate member "id""#),
        (of_todo(r#""metadata":{"requestId":[]}"#), "requestId must be a string or a number"),
        // Misspelled members that would disable a protection.
        (
            of_todo(r#""id":"a","ifVersion":1"#),
            "ifVersion belongs in metadata, not next to command",
        ),
        (
            of_todo(r#""id":"a","request_id":"r""#),
            r#"unknown member "request_id"; did you mean requestId?"#,
        ),
        (
            of_todo(r#""id":"a","metaData":{}"#),
            r#"unknown member "metaData"; did you mean metadata?"#,
        ),
        (of_todo(r#""id":"a","Payload":{}"#), r#"unknown member "Payload"; did you mean payload?"#),
        (
            of_todo(r#""id":"a","metadata":{"ifversion":1}"#),
            "unknown member metadata.ifversion; did you mean ifVersion?",
        ),
    ];
    for (body, reason) in rows {
        check_refused(&body, &server.post("/execute", &body).await, 400, reason);
    }
    server.stop().await;
}

#[tokio::test]
async fn request_ids_with_many_digits_are_kept_exactly() {
    let mut server = TestServer::new().await;
    let native = |id: &str| {
        format!(
            r#"{{"command":"create","resource":"todo","payload":{{"title":"of {id}"}},"metadata":{{"requestId":{id}}}}}"#
        )
    };
    let by_name = |id: &str| {
        rpc_of("todo.create", &format!(r#"{{"title":"of {id}","metadata":{{"requestId":{id}}}}}"#))
    };
    // The ids of a row are distinct.
    for ids in [["123456789012345678901", "123456789012345678902"], ["1", "1.00"]] {
        let mut made = Vec::new();
        for id in ids {
            let reply = server.post("/execute", native(id)).await;
            assert_eq!(reply.status, 201, "{id}: {}", reply.text());
            let record = reply.json()["result"].take();
            assert_eq!(record["title"], format!("of {id}"));
            // The same request in the other protocol.
            let again = server.post("/execute", by_name(id)).await.json();
            assert_eq!(again["result"], record, "{id}");
            made.push(record["id"].clone());
        }
        assert_ne!(made[0], made[1], "{ids:?}");
        let [first, second] = ids;
        let reply = server.post("/revert", format!(r#"{{"requestId":{first}}}"#)).await;
        assert_eq!(reply.json(), json!({ "status": "reverted", "requestId": first }));
        let revert = rpc_of("todo.revert", &format!(r#"["{second}"]"#));
        let told = server.post("/execute", revert).await.json();
        assert_eq!(told["result"], json!({ "status": "reverted", "requestId": second }));
    }
    // A number would have lost digits.
    for params in ["[123456789012345678901]", r#"{"requestId":123456789012345678901}"#] {
        let told = server.post("/execute", rpc_of("todo.revert", params)).await.json();
        let expected = json!({ "code": -32602, "data": { "pointer": "/requestId", "reason": "*as a string*" } });
        assert_fits(params, &expected, &told["error"]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_request_id_can_be_next_to_the_command() {
    let mut server = TestServer::new().await;
    let create = |members: &str| {
        format!(r#"{{"command":"create","resource":"todo","payload":{{"title":"x"}},{members}}}"#)
    };
    let mut made = Vec::new();
    for members in [
        r#""requestId":"1""#,
        r#""requestId":1"#,
        r#""metadata":{"requestId":"1"}"#,
        r#""requestId":"1","metadata":{"requestId":1}"#,
    ] {
        let reply = server.post("/execute", create(members)).await;
        assert_eq!(reply.status, 201, "{members}: {}", reply.text());
        made.push(reply.json()["result"]["id"].take());
    }
    made.dedup();
    assert_eq!(made.len(), 1, "{made:?}");
    for (members, reason) in [
        (
            r#""requestId":"1","metadata":{"requestId":"2"}"#,
            "requestId and metadata.requestId differ; send only one",
        ),
        (r#""requestId":{}"#, "requestId must be a string or a number"),
    ] {
        check_refused(members, &server.post("/execute", create(members)).await, 400, reason);
    }
    server.stop().await;
}

#[tokio::test]
async fn ids_sent_as_numbers_stay_numbers() {
    let router = Router::new().method("page.show", |Params(Numbered { id })| id);
    let mut server = TestServer::with(Setup { router, ..Setup::default() }).await;
    let rows = [
        (r#""id":7"#, 200, json!({ "result": 7 })),
        (r#""payload":{"id":7}"#, 200, json!({ "result": 7 })),
        (r#""id":7,"payload":{"id":7}"#, 200, json!({ "result": 7 })),
        (r#""id":"7""#, 400, json!({ "error": "id: *" })),
        (r#""payload":{}"#, 400, json!({ "error": "id: missing param" })),
    ];
    for (members, status, expected) in rows {
        let body = format!(r#"{{"command":"show","resource":"page",{members}}}"#);
        let reply = server.post("/execute", &body).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.text());
        let told = reply.json();
        match expected["error"].as_str().and_then(|text| text.strip_suffix('*')) {
            Some(begin) => {
                let text = told["error"].as_str().unwrap();
                assert!(text.starts_with(begin), "{body}: {text}");
            }
            None => assert_eq!(told, expected, "{body}"),
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn long_names_are_truncated_in_errors() {
    let mut server = TestServer::new().await;
    let create =
        json!({ "command": "create", "resource": "todo", "id": "a", "payload": { "title": "x" } });
    assert_eq!(server.native(&create).await.status, 201);
    let long = "x".repeat(300_000);
    let slip = format!("request{}Id", "_".repeat(300_000));
    let rows = [
        json!({ "command": "create", "resource": "todo", "payload": { "title": "x", &long: 1 } }),
        json!({ "command": "update", "resource": "todo", "id": "a", "payload": { &long: 1 } }),
        json!({ "command": "list", "resource": "todo", "payload": { &long: 1 } }),
        json!({ "command": "delete", "resource": "todo", "id": "a", "metadata": { &slip: 1 } }),
        json!({ "command": long, "resource": "todo" }),
        json!({ "command": "read", "resource": long, "id": "a" }),
    ];
    for command in rows {
        let reply = server.native(&command).await;
        let told = reply.text();
        assert_eq!(reply.status, 400, "{}", &told[..told.len().min(1_000)]);
        assert!(told.len() < 400 && told.contains('…'), "{} bytes", told.len());
        let [resource, verb] = ["resource", "command"].map(|name| command[name].as_str().unwrap());
        if resource.len().max(verb.len()) < 100 {
            let mut params = command["payload"].clone();
            for name in ["id", "metadata"] {
                if let Some(value) = command.get(name) {
                    params[name] = value.clone();
                }
            }
            let told = server.call(&format!("{resource}.{verb}"), &params).await.to_string();
            assert!(told.len() < 600 && told.contains('…'), "{} bytes", told.len());
        }
    }
    // Duplicate members, and a number that is out of range.
    for members in [
        format!(r#""{long}":1,"{long}":2"#),
        format!(r#""payload":{{"{long}":1,"{long}":2}}"#),
        format!(r#""payload":{{"{long}":1e999}}"#),
    ] {
        let body = format!(r#"{{"command":"list","resource":"todo",{members}}}"#);
        let reply = server.post("/execute", body).await;
        assert!(reply.status == 400 && reply.body.len() < 400, "{} bytes", reply.body.len());
    }
    server.stop().await;
}

/// Quadratic time would be minutes.
#[test]
fn many_members_are_read_in_linear_time() {
    let members: Vec<String> = (0..100_000).map(|n| format!("\"m{n}\":{n}")).collect();
    let members = members.join(",");
    let started = Instant::now();
    for body in [
        format!(r#"{{"command":"list","resource":"todo",{members}}}"#),
        format!(r#"{{"command":"list","resource":"todo","payload":{{{members}}}}}"#),
        format!(r#"{{"command":"list","resource":"todo","metadata":{{{members}}}}}"#),
    ] {
        let command = adapter::read(body.as_bytes()).unwrap();
        let call = adapter::call_of(&command).unwrap();
        let again = adapter::command_of(&call).unwrap();
        assert_eq!(again.payload.len(), command.payload.len());
    }
    let took = started.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[tokio::test]
async fn a_command_handler_has_access_to_headers() {
    let execute = async |_: Command, caller: Extensions| {
        let name = Headers::of(&caller).and_then(|headers| headers.get("x-name")?.to_str().ok());
        Ok::<Value, ErrorObject>(json!(name))
    };
    let rpc = Router::new().build().unwrap().with_protocol_methods(adapter::commands(execute));
    let handle = Server::bind("127.0.0.1:0").serve(rpc.http()).await.unwrap();
    let mut client = Client::connect(handle.local_addr()).await;
    let headers = "Content-Type: application/json\r\nX-Name: ada\r\n";
    let reply = client.ask(post("/", headers, rpc_of("todo.read", r#"["a"]"#))).await;
    assert_eq!(reply.json()["result"], "ada");
    drop(client);
    assert!(handle.stop().await.is_complete());
}
