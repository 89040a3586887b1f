//! The same records over all protocols, with the layers that apply to each.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline::access::Principal;
use trunkline::layers::RateLimitLayer;
use trunkline::layers::authorize::{Rules, principal};
use trunkline::layers::rate_limit::Rate;
use trunkline::{Json, Params, Router, Server, http};
use trunkline_mcp::Mcp;
use trunkline_records::{Command, RecordTypes, Records, operations, routes};

use crate::test_server::{Client, Setup, TestServer, assert_fits, post};

const JSON: &str = "Content-Type: application/json\r\n";

#[derive(serde::Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

/// Operations without a declared resource.
fn others() -> Router {
    Router::new()
        .method("math.add", |Params(Add { a, b })| a + b)
        .method("note.create", |command: Command| Json(json!(command)))
        .method("note.delete", |command: Command| Json(json!(command.id)))
        .method("todo.count", |principal: Option<Principal>| {
            principal.map(|principal| principal.name().to_owned())
        })
        .method("ping", || "pong")
}

#[tokio::test]
async fn operations_without_a_declared_resource() {
    let mut server = TestServer::with(Setup { router: others(), ..Setup::default() }).await;
    let native = r#""metadata":{"protocol":"native"}"#;
    let rows = [
        (
            json!({ "command": "add", "resource": "math", "payload": { "a": 1, "b": 2 } }),
            200,
            r#"{"result":3}"#.to_owned(),
        ),
        (
            json!({ "command": "add", "resource": "math", "payload": { "a": 1 } }),
            400,
            "missing".to_owned(),
        ),
        // A handler that takes commands gets them unchanged.
        (
            json!({ "command": "create", "resource": "note", "id": 0, "payload": { "text": "x" } }),
            201,
            format!(
                r#"{{"statusCode":201,"result":{{"command":"create","id":"0",{native},"payload":{{"text":"x"}},"resource":"note"}}}}"#
            ),
        ),
        // Operations with a result.
        (
            json!({ "command": "delete", "resource": "note", "id": "a" }),
            200,
            r#"{"result":"a"}"#.to_owned(),
        ),
        (json!({ "command": "delete", "resource": "note" }), 204, String::new()),
        // An additional command of a resource.
        (json!({ "command": "count", "resource": "todo" }), 200, r#"{"result":null}"#.to_owned()),
        // Methods without a namespace have no resource.
        (json!({ "command": "ping", "resource": "" }), 400, "resource is missing".to_owned()),
        (
            json!({ "command": "none", "resource": "math" }),
            400,
            r#"math has no command \"none\"; its commands are add"#.to_owned(),
        ),
    ];
    for (command, status, expected) in rows {
        let reply = server.native(&command).await;
        assert_eq!(reply.status, status, "{command}: {}", reply.text());
        match status {
            400 => assert!(reply.text().contains(&expected), "{command}: {}", reply.text()),
            _ => assert_eq!(reply.text(), expected, "{command}"),
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn types_can_have_the_name_of_an_operation() {
    let toml = "[records.\"math.add\".fields]\na = { type = \"integer\" }";
    let types = RecordTypes::parse(toml).unwrap();
    let setup = Setup { router: others(), types, ..Setup::default() };
    let mut server = TestServer::with(setup).await;
    let rows = [
        (
            json!({ "command": "add", "resource": "math", "payload": { "a": 1, "b": 2 } }),
            json!({ "result": 3 }),
        ),
        (
            json!({ "command": "create", "resource": "math.add", "id": "x", "payload": { "a": 1 } }),
            json!({ "statusCode": 201, "result": { "id": "x", "a": 1 } }),
        ),
        (
            json!({ "command": "add.read", "resource": "math", "id": "x" }),
            json!({ "error": "*must not contain dots*" }),
        ),
    ];
    for (command, expected) in rows {
        let reply = server.native(&command).await.json();
        assert_fits(&command.to_string(), &expected, &reply);
    }
    server.stop().await;
}

#[tokio::test]
async fn metadata_reaches_a_handler() {
    let mut server = TestServer::with(Setup { router: others(), ..Setup::default() }).await;
    let sent = json!({
        "requestId": 5, "ifVersion": 2, "origin": "test", "protocol": "x", "version": 1, "jsonrpcId": [],
    });
    let mut expected =
        json!({ "protocol": "native", "requestId": "5", "ifVersion": 2, "origin": "test" });
    let native = json!({ "command": "create", "resource": "note", "metadata": sent });
    let reply = server.native(&native).await.json();
    assert_eq!(reply["result"]["metadata"], expected);
    expected["protocol"] = "jsonrpc".into();
    expected["version"] = "2.0".into();
    for (id, told) in [("\"12345\"", json!("12345")), ("0", json!(0)), ("null", Value::Null)] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","method":"note.create","params":{{"metadata":{sent}}},"id":{id}}}"#
        );
        expected["jsonrpcId"] = told;
        for path in ["/execute", "/"] {
            let reply = server.post(path, &body).await.json();
            assert_eq!(reply["result"]["metadata"], expected, "{path} {id}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn all_protocols_access_the_same_records() {
    let directory = tempfile::tempdir().unwrap();
    let records =
        Records::open(directory.path(), RecordTypes::default(), Default::default()).unwrap();
    let rpc = operations(&records, |name| name == "todo").build().unwrap();
    let mcp = Mcp::new(rpc, trunkline_mcp::McpConfig::new("test", "1")).unwrap();
    let service = mcp.rpc().http().merge(mcp.routes()).merge(routes(&mcp.rpc(), &records));
    let handle = Server::bind("127.0.0.1:0").serve(service).await.unwrap();
    let mut client = Client::connect(handle.local_addr()).await;
    let rpc = |method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": 1 }).to_string()
    };
    let tool = |name: &str, arguments: Value| {
        rpc("tools/call", json!({ "name": name, "arguments": arguments }))
    };
    let rows = [
        (
            "/mcp",
            tool("todo_create", json!({ "id": "a", "title": "x" })),
            json!({ "result": { "structuredContent": { "id": "a", "version": 1 }, "isError": false } }),
        ),
        (
            "/",
            rpc("todo.update", json!({ "id": "a", "done": true })),
            json!({ "result": { "version": 2 } }),
        ),
        (
            "/execute",
            r#"{"command":"update","resource":"todo","id":"a","payload":{"title":"y"}}"#.to_owned(),
            json!({ "result": { "title": "y", "done": true, "version": 3 } }),
        ),
        (
            "/execute",
            rpc("tools/call", json!({ "name": "todo_read", "arguments": { "id": "a" } })),
            json!({ "result": { "structuredContent": { "title": "y", "version": 3 } } }),
        ),
        (
            "/mcp",
            tool("todo_read", json!({ "id": "none" })),
            json!({ "result": { "isError": true } }),
        ),
        (
            "/mcp",
            tool("todo_update", json!({ "id": "a", "colour": 1 })),
            json!({ "result": { "isError": true } }),
        ),
        (
            "/mcp",
            tool("todo_list", json!({})),
            json!({ "result": { "structuredContent": { "items": [{ "id": "a", "version": 3 }], "nextCursor": null } } }),
        ),
        (
            "/mcp",
            tool("todo_filter", json!({ "title": "Y", "limit": 1 })),
            json!({ "result": { "structuredContent": { "items": [{ "id": "a" }] } } }),
        ),
        (
            "/mcp",
            tool("todo_status", json!({})),
            json!({ "result": { "structuredContent": { "counts": { "total": 1 } } } }),
        ),
        (
            "/mcp",
            tool(
                "todo_update",
                json!({ "id": "a", "done": false, "metadata": { "requestId": "r", "ifVersion": 3 } }),
            ),
            json!({ "result": { "structuredContent": { "version": 4 }, "isError": false } }),
        ),
        (
            "/mcp",
            tool("todo_revert", json!({ "requestId": "r" })),
            json!({ "result": { "structuredContent": { "status": "reverted" } } }),
        ),
        (
            "/mcp",
            tool("todo_delete", json!({ "id": "a" })),
            json!({ "result": { "isError": false } }),
        ),
        ("/", rpc("todo.read", json!(["a"])), json!({ "error": { "code": -32011 } })),
    ];
    for (path, body, expected) in rows {
        let reply = client.ask(post(path, JSON, &body)).await;
        assert_fits(&format!("{path} {body}"), &expected, &reply.json());
    }
    let list = client.ask(post("/mcp", JSON, rpc("tools/list", json!({})))).await.json();
    let tools = list["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 8, "{list}");
    let described = client.ask(post("/", JSON, rpc("rpc.discover", json!({})))).await.json();
    let methods = described["result"]["methods"].as_array().unwrap();
    for command in ["create", "read", "update", "delete", "list", "filter", "status", "revert"] {
        let name = format!("todo.{command}");
        let method = methods.iter().find(|method| method["name"] == *name);
        let method = method.unwrap_or_else(|| panic!("{name} is not described"));
        // Params by position: the id or requestId, then metadata.
        let by_position = ["read", "delete", "revert"].contains(&command);
        let structure = if by_position { "either" } else { "by-name" };
        assert_eq!(method["paramStructure"], structure, "{name}");
        let first = if command == "revert" { "requestId" } else { "id" };
        if by_position {
            let params: Vec<&Value> =
                method["params"].as_array().unwrap().iter().map(|param| &param["name"]).collect();
            assert_eq!(params, [first, "metadata"], "{name}");
        }
        assert!(method["result"]["schema"].is_object() && method["errors"].is_array(), "{method}");
    }
    drop(client);
    assert!(handle.stop().await.is_complete());
}

#[tokio::test]
async fn only_exposed_types_are_tools() {
    let directory = tempfile::tempdir().unwrap();
    let types = crate::test_server::types();
    let records = Records::open(directory.path(), types, Default::default()).unwrap();
    for (exposed, expected) in
        [("", None), ("lab.sample", Some("lab_sample_create")), ("lab", None)]
    {
        let rpc = operations(&records, |name| name == exposed).build().unwrap();
        let mcp = Mcp::new(rpc, trunkline_mcp::McpConfig::new("test", "1")).unwrap().rpc();
        let body = r#"{"jsonrpc":"2.0","method":"tools/list","id":1}"#;
        let reply = mcp.handle(body.into(), trunkline::Extensions::new()).await;
        let reply: Value = serde_json::from_slice(&reply.into_json().unwrap()).unwrap();
        let tools = reply["result"]["tools"].as_array().unwrap();
        assert_eq!(tools.len(), if expected.is_some() { 8 } else { 0 }, "{exposed}");
        let first = tools.iter().find(|tool| tool["name"] == json!(expected));
        assert_eq!(first.is_some(), expected.is_some(), "{exposed}: {reply}");
    }
}

/// Two callers; one is read-only.
fn guarded() -> Setup {
    let mut http = http::HttpConfig::default();
    http.bearer.allow_as("ada", "token-of-ada");
    http.bearer.allow_as("bob", "token-of-bob");
    let layered =
        |router: Router| router.authorize(Rules::new().require("todo.delete", principal("ada")));
    Setup { http, layered, ..Setup::default() }
}

fn as_caller(name: &str) -> String {
    format!("{JSON}Authorization: Bearer token-of-{name}\r\n")
}

#[tokio::test]
async fn authorization_applies_to_native_commands() {
    let mut server = TestServer::with(guarded()).await;
    let create = r#"{"command":"create","resource":"todo","id":"a","payload":{"title":"x"}}"#;
    let delete = r#"{"command":"delete","resource":"todo","id":"a"}"#;
    let rpc = r#"{"jsonrpc":"2.0","method":"todo.delete","params":["a"],"id":1}"#;
    let rows = [
        ("bob", "/execute", create, 201),
        ("bob", "/execute", delete, 403),
        ("bob", "/repeat", delete, 403),
        ("bob", "/execute", rpc, 403),
        ("ada", "/execute", delete, 204),
    ];
    for (caller, path, body, status) in rows {
        let reply = server.ask(post(path, &as_caller(caller), body)).await;
        assert_eq!(reply.status, status, "{caller} {path} {body}: {}", reply.text());
        if status == 403 {
            let challenge = reply.header("www-authenticate");
            assert_eq!(challenge, Some("Bearer error=\"insufficient_scope\""), "{path} {body}");
        }
        if status == 403 && body == delete {
            assert_eq!(reply.json(), json!({ "error": "the caller may not call this method" }));
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn request_ids_are_per_caller() {
    let mut server = TestServer::with(guarded()).await;
    let create = |title: &str| {
        json!({ "command": "create", "resource": "todo", "payload": { "title": title }, "metadata": { "requestId": "1" } }).to_string()
    };
    let revert = r#"{"requestId":"1"}"#;
    for (caller, title) in [("ada", "of ada"), ("bob", "of bob"), ("ada", "of ada")] {
        let reply = server.ask(post("/execute", &as_caller(caller), create(title))).await;
        assert_eq!((reply.status, &reply.json()["result"]["title"]), (201, &json!(title)));
    }
    let list = r#"{"command":"list","resource":"todo"}"#;
    let items = |reply: Value| {
        let items = reply["result"]["items"].as_array().unwrap().clone();
        items.into_iter().map(|mut item| item["title"].take()).collect::<Vec<_>>()
    };
    let reply = server.ask(post("/execute", &as_caller("bob"), list)).await;
    assert_eq!(items(reply.json()), ["of ada", "of bob"]);
    let reply = server.ask(post("/revert", &as_caller("bob"), revert)).await;
    assert_eq!(reply.json(), json!({ "status": "reverted", "requestId": "1" }));
    let reply = server.ask(post("/execute", &as_caller("bob"), list)).await;
    assert_eq!(items(reply.json()), ["of ada"]);
    server.stop().await;
}

#[tokio::test]
async fn reverting_by_path_requires_permission() {
    let mut http = http::HttpConfig::default();
    http.bearer.allow_as("bob", "token-of-bob");
    let layered =
        |router: Router| router.authorize(Rules::new().require("todo.revert", principal("ada")));
    let mut server = TestServer::with(Setup { http, layered, ..Setup::default() }).await;
    let create = r#"{"command":"create","resource":"todo","id":"a","payload":{"title":"x"},"metadata":{"requestId":"1"}}"#;
    assert_eq!(server.ask(post("/execute", &as_caller("bob"), create)).await.status, 201);
    let reply = server.ask(post("/revert", &as_caller("bob"), r#"{"requestId":"1"}"#)).await;
    assert_eq!(reply.status, 403, "{}", reply.text());
    server.stop().await;
}

#[tokio::test]
async fn rate_limited_callers_get_retry_after() {
    let layered = |router: Router| {
        let rate = Rate { calls: 1, per: Duration::from_secs(3_600), burst: 1, ..Rate::default() };
        router.layer(RateLimitLayer::new(rate))
    };
    let mut server = TestServer::with(Setup { layered, ..Setup::default() }).await;
    let status = json!({ "command": "status", "resource": "todo" });
    assert_eq!(server.native(&status).await.status, 200);
    let rpc = r#"{"jsonrpc":"2.0","method":"todo.status","id":1}"#;
    for body in [status.to_string(), rpc.to_owned()] {
        let reply = server.post("/execute", &body).await;
        assert_eq!(reply.status, 429, "{body}: {}", reply.text());
        let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!((3_500..=3_600).contains(&seconds), "{seconds}");
    }
    let reply = server.native(&status).await;
    assert_eq!(reply.json(), json!({ "error": "Too many calls" }));
    server.stop().await;
}
