//! `/execute`: detection of the protocol, and replies in both.

use serde_json::{Value, json};

use crate::test_server::{Reply, Setup, TestServer, assert_fits};

/// A store with one record.
async fn with_a() -> TestServer {
    let mut server = TestServer::new().await;
    let create = json!({ "command": "create", "resource": "todo", "id": "a", "payload": { "title": "Tea" } });
    let reply = server.native(&create).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    server
}

/// Checks a native error reply.
#[track_caller]
pub(crate) fn check_refused(name: &str, reply: &Reply, status: u16, reason: &str) {
    assert_eq!(reply.status, status, "{name}: {}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/json"), "{name}");
    let body = reply.json();
    assert_eq!(body, json!({ "error": body["error"] }), "{name}");
    assert_fits(name, &json!({ "error": reason }), &body);
}

#[tokio::test]
async fn a_record_has_its_members_in_order() {
    let mut server = TestServer::new().await;
    let create = r#"{"command":"create","resource":"todo","id":"a","payload":{"priority":"low","title":"x"}}"#;
    let reply = server.post("/execute", create).await;
    let record = &reply.json()["result"];
    let [created, updated] = ["createdAt", "updatedAt"].map(|name| record[name].as_str().unwrap());
    assert_eq!(
        reply.text(),
        format!(
            r#"{{"statusCode":201,"result":{{"id":"a","title":"x","done":false,"priority":"low","version":1,"createdAt":"{created}","updatedAt":"{updated}"}}}}"#
        )
    );
    assert_eq!(created, updated);
    server.stop().await;
}

#[tokio::test]
async fn rejects_invalid_commands() {
    let mut server = with_a().await;
    let rows = [
        ("", 400, "*not valid JSON*"),
        ("   ", 400, "*not valid JSON*"),
        ("{", 400, "*not valid JSON*"),
        ("nonsense", 400, "*not valid JSON*"),
        (r#"{"command":"read","resource":"todo","id":"a""#, 400, "*not valid JSON*"),
        (r#"{"command":"read","resource":"todo","id":"a"}}"#, 400, "*not valid JSON*"),
        (r#"{"command":"read" "resource":"todo"}"#, 400, "*not valid JSON*"),
        ("null", 400, "*a command must be an object*"),
        ("5", 400, "*a command must be an object*"),
        ("true", 400, "*a command must be an object*"),
        (r#""jsonrpc""#, 400, "*a command must be an object*"),
        ("{}", 400, "*command is missing*"),
        (r#"{"resource":"todo","id":"a"}"#, 400, "*command is missing*"),
        (r#"{"command":"read","id":"a"}"#, 400, "*resource is missing*"),
        (r#"{"command":5,"resource":"todo"}"#, 400, "*command is missing or not a string*"),
        (r#"{"command":"","resource":"todo"}"#, 400, "*command is missing*"),
        (r#"{"command":"read","resource":null}"#, 400, "*resource is missing*"),
        (r#"{"command":"read","resource":["todo"]}"#, 400, "*resource is missing*"),
        (r#"{"command":"read","command":"delete","resource":"todo","id":"a"}"#, 400, "*command*"),
        (r#"{"method":"todo.read","params":["a"],"id":1}"#, 400, "*command is missing*"),
        (r#"{"command":"create","resource":"todo","payload":5}"#, 400, "payload must be an object"),
        (
            r#"{"command":"create","resource":"todo","payload":["x"]}"#,
            400,
            "payload must be an object",
        ),
        (
            r#"{"command":"create","resource":"todo","payload":"x"}"#,
            400,
            "payload must be an object",
        ),
        (
            r#"{"command":"create","resource":"todo","payload":{"title":"x","title":"y"}}"#,
            400,
            r#"*duplicate member "title"*"#,
        ),
        (
            r#"{"command":"create","resource":"todo","payload":{"title":"x","metadata":{"requestId":"r"}}}"#,
            400,
            "*metadata belongs next to payload*",
        ),
        (
            r#"{"command":"delete","resource":"todo","id":"a","metadata":5}"#,
            400,
            "metadata must be an object",
        ),
        (
            r#"{"command":"delete","resource":"todo","id":"a","metadata":{"ifVersion":1,"ifVersion":9}}"#,
            400,
            r#"*duplicate member "ifVersion"*"#,
        ),
        (
            r#"{"command":"read","resource":"todo","id":"a","payload":{"id":"b"}}"#,
            400,
            "*send only one*",
        ),
        (
            r#"{"command":"read","resource":"todo","id":"a","payload":{"id":[]}}"#,
            400,
            "an id must be a string or a number",
        ),
        (r#"{"command":"todo.read","resource":"crm"}"#, 400, "*"),
        (r#"{"command":"read","resource":"todo."}"#, 400, "*"),
    ];
    for (body, status, reason) in rows {
        check_refused(body, &server.post("/execute", body).await, status, reason);
        check_refused(body, &server.post("/repeat", body).await, status, reason);
    }
    let not_utf8 = b"{\"command\":\"read\",\"resource\":\"todo\",\"id\":\"\xff\"}";
    check_refused("not UTF-8", &server.post("/execute", not_utf8).await, 400, "*not valid JSON*");
    let deep = format!(
        "{}{}",
        "{\"command\":\"create\",\"resource\":\"todo\",\"payload\":",
        "[".repeat(100_000)
    );
    check_refused("deep", &server.post("/execute", deep).await, 400, "*");
    let reply = server.native(&json!({ "command": "read", "resource": "todo", "id": "a" })).await;
    assert_eq!(reply.json()["result"]["version"], 1, "nothing has changed");
    server.stop().await;
}

#[tokio::test]
async fn ignores_unknown_members_and_whitespace() {
    let mut server = with_a().await;
    let rows = [
        r#" {"command":"read","resource":"todo","id":"a"} "#,
        r#"{"id":"a","resource":"todo","command":"read","payload":null,"metadata":null}"#,
        r#"{"command":"read","resource":"todo","id":"a","payload":{"id":"a"},"comment":{"jsonrpc":"2.0"}}"#,
        r#"{"command":"read","resource":"todo","id":"a","metadata":{"jsonrpc":"2.0"}}"#,
        r#"{"command":"re\u0061d","resource":"todo","id":"\u0061"}"#,
    ];
    for body in rows {
        let reply = server.post("/execute", body).await;
        assert_eq!((reply.status, &reply.json()["result"]["id"]), (200, &json!("a")), "{body}");
    }
    server.stop().await;
}

/// Posts JSON-RPC, and compares the reply; null expects an empty one.
async fn check(server: &mut TestServer, body: &str, expected: Value) {
    let reply = server.post("/execute", body).await;
    if expected.is_null() {
        assert_eq!((reply.status, reply.text()), (204, ""), "{body}");
        return;
    }
    assert_eq!(reply.status, 200, "{body}: {}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/json"), "{body}");
    assert_fits(body, &expected, &reply.json());
}

fn error(code: i64, id: Value) -> Value {
    json!({ "jsonrpc": "2.0", "error": { "code": code }, "id": id })
}

#[tokio::test]
async fn invalid_json_rpc() {
    let mut server = with_a().await;
    let rows = [
        (r#"{"jsonrpc":"2.0","method":"todo.read","params":["a"],"id":1"#, -32700),
        (r#"{"jsonrpc":"2.0""#, -32700),
        (r#"{"jsonrpc":"#, -32700),
        (r#"{"id":1,"jsonrpc":"2.0","method":}"#, -32700),
        (r#"{"jsonrpc":"2.0"}}"#, -32700),
        ("[", -32700),
        ("[1,", -32700),
        (r#"[{"command":"read""#, -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0"}"#, -32600),
        (r#"{"jsonrpc":"2.0","command":"read","resource":"todo"}"#, -32600),
    ];
    for (body, code) in rows {
        check(&mut server, body, error(code, Value::Null)).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn requests_that_are_not_of_2_0() {
    let mut server = with_a().await;
    let rows = [
        (r#"{"jsonrpc":"1.0","method":"todo.read","params":["a"],"id":1}"#, -32600, json!(1)),
        (r#"{"jsonrpc":2.0,"method":"todo.read","params":["a"],"id":1}"#, -32600, json!(1)),
        (r#"{"jsonrpc":null,"method":"todo.read","params":["a"],"id":1}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","method":5,"id":1}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","method":null,"id":"x"}"#, -32600, json!("x")),
        (r#"{"jsonrpc":"2.0","method":"todo.read","params":"a","id":1}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","method":"todo.read","params":["a"],"id":[1]}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","method":"todo","id":1}"#, -32601, json!(1)),
        (r#"{"jsonrpc":"2.0","method":"todo.","id":1}"#, -32601, json!(1)),
        (r#"{"jsonrpc":"2.0","method":".read","id":1}"#, -32601, json!(1)),
        (r#"{"jsonrpc":"2.0","method":"crm.todo.read","params":["a"],"id":1}"#, -32601, json!(1)),
    ];
    for (body, code, id) in rows {
        check(&mut server, body, error(code, id)).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn single_requests() {
    let mut server = with_a().await;
    let result = |record: Value, id: Value| json!({ "jsonrpc": "2.0", "result": record, "id": id });
    // The id of the request is returned unchanged, and is not the id of the record.
    for id in ["0", "-0", "1.0", "\"\"", "\"0\"", "null", "123456789012345678901234567890"] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"todo.read","params":["a"],"id":{id}}}"#);
        let reply = server.post("/execute", &body).await;
        assert!(reply.text().ends_with(&format!(r#""id":{id}}}"#)), "{body}: {}", reply.text());
        assert_eq!(reply.json()["result"]["id"], "a", "{body}");
    }
    let rows = [
        // The id of the record is removed from the payload.
        (
            r#"{"id":0,"title":"zero"}"#,
            "create",
            json!({ "id": "0", "title": "zero", "version": 1 }),
        ),
        (r#"{"id":0}"#, "read", json!({ "id": "0", "title": "zero" })),
        (r#"[0]"#, "read", json!({ "id": "0" })),
        (r#"["0"]"#, "read", json!({ "id": "0" })),
        (r#"["0"]"#, "delete", Value::Null),
        (r#"[123456789012345678901234567890]"#, "delete", json!(404)),
        (
            r#"{"id":123456789012345678901234567890,"title":"x"}"#,
            "create",
            json!({ "id": "123456789012345678901234567890" }),
        ),
        (
            r#"[123456789012345678901234567890]"#,
            "read",
            json!({ "id": "123456789012345678901234567890" }),
        ),
        (r#"{"id":1.0,"title":"x"}"#, "create", json!({ "id": "1.0" })),
        (r#"[1.0]"#, "delete", Value::Null),
        // Params by position have no payload.
        (r#"["a","b"]"#, "read", json!(400)),
        ("[]", "read", json!(400)),
        (r#"[["a"]]"#, "read", json!(400)),
        (r#"["b","Tea"]"#, "create", json!(400)),
        (r#"[1]"#, "list", json!(400)),
        (r#"["a",{"done":true}]"#, "update", json!(400)),
        (r#"{"title":"x","title":"y"}"#, "create", json!(400)),
        (r#"{"id":"a","metadata":5}"#, "read", json!(400)),
    ];
    for (params, command, expected) in rows {
        let body =
            format!(r#"{{"jsonrpc":"2.0","method":"todo.{command}","params":{params},"id":1}}"#);
        let expected = match expected.as_u64() {
            Some(400) => error(-32602, json!(1)),
            Some(_) => error(-32011, json!(1)),
            None => result(expected, json!(1)),
        };
        check(&mut server, &body, expected).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn namespaces_of_any_depth() {
    let toml = "[records.\"crm.eu.todo\".fields]\ntitle = { type = \"string\", required = true }";
    let types = trunkline_records::RecordTypes::parse(toml).unwrap();
    let mut server = TestServer::with(Setup { types, ..Setup::default() }).await;
    let response = server.call("crm.eu.todo.create", &json!({ "id": "a", "title": "x" })).await;
    assert_fits("created", &json!({ "result": { "id": "a", "title": "x" } }), &response);
    let update = json!({ "command": "update", "resource": "crm.eu.todo", "id": "a", "payload": { "title": "y" } });
    let reply = server.native(&update).await;
    assert_fits("updated", &json!({ "result": { "title": "y", "version": 2 } }), &reply.json());
    assert_fits(
        "unknown",
        &error(-32601, json!(1)),
        &server.call("eu.todo.read", &json!(["a"])).await,
    );
    server.stop().await;
}

#[tokio::test]
async fn notifications_are_executed_and_not_answered() {
    let mut server = with_a().await;
    let rows = [
        r#"{"jsonrpc":"2.0","method":"todo.update","params":{"id":"a","done":true}}"#,
        r#"{"jsonrpc":"2.0","method":"todo.create","params":{"id":"b","title":"x"}}"#,
        // Errors are not returned, either.
        r#"{"jsonrpc":"2.0","method":"todo.create","params":{"id":"b","title":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"todo.nothing"}"#,
        r#"[{"jsonrpc":"2.0","method":"todo.update","params":{"id":"b","done":true}},{"jsonrpc":"2.0","method":"todo.delete","params":["x"]}]"#,
    ];
    for body in rows {
        check(&mut server, body, Value::Null).await;
    }
    let list = server.call("todo.list", &json!({})).await;
    let items = json!([{ "id": "a", "done": true, "version": 2 }, { "id": "b", "done": true, "version": 2 }]);
    assert_fits("stored", &json!({ "result": { "items": items } }), &list);
    server.stop().await;
}

#[tokio::test]
async fn batches() {
    let mut server = with_a().await;
    let request = |method: &str, params: Value, id: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": id });
    let rows = [
        (
            json!([
                request("todo.create", json!({ "id": "b", "title": "x" }), json!(0)),
                { "jsonrpc": "2.0", "method": "todo.create", "params": { "id": "c", "title": "x" } },
                request("todo.read", json!(["none"]), json!("n")),
                request("todo.create", json!({ "title": 5 }), json!(2)),
                request("todo.nothing", json!({}), json!(3)),
                5,
                { "command": "read", "resource": "todo", "id": "a" },
            ]),
            json!([
                { "result": { "id": "b", "version": 1 }, "id": 0 },
                error(-32011, json!("n")),
                error(-32602, json!(2)),
                error(-32601, json!(3)),
                error(-32600, Value::Null),
                // Native messages have no batches.
                error(-32600, json!("a")),
            ]),
        ),
        (
            json!([{ "command": "delete", "resource": "todo", "id": "a" }, { "command": "read", "resource": "todo" }]),
            json!([error(-32600, json!("a")), error(-32600, Value::Null)]),
        ),
        (
            json!([request("todo.delete", json!(["c"]), json!(1))]),
            json!([{ "result": null, "id": 1 }]),
        ),
        (json!([[]]), json!([error(-32600, Value::Null)])),
        (
            json!([request("todo.list", json!({}), json!(1))]),
            json!([{ "result": { "items": [{ "id": "a", "version": 1 }, { "id": "b" }], "nextCursor": null } }]),
        ),
    ];
    for (body, expected) in rows {
        let body = body.to_string();
        let mut reply = server.post("/execute", &body).await.json();
        let mut expected = expected;
        // Replies of a batch can be in any order.
        for replies in [&mut reply, &mut expected] {
            replies.as_array_mut().unwrap().sort_by_key(|reply| reply["id"].to_string());
        }
        assert_fits(&body, &expected, &reply);
    }
    server.stop().await;
}

#[tokio::test]
async fn json_rpc_at_the_other_paths() {
    let mut server = with_a().await;
    let create =
        r#"{"jsonrpc":"2.0","method":"todo.create","params":{"id":"a","title":"other"},"id":1}"#;
    let reply = server.post("/repeat", create).await.json();
    assert_fits("repeated", &json!({ "result": { "id": "a", "title": "Tea" } }), &reply);
    let batch = format!("[{create}]");
    let reply = server.post("/repeat", batch).await.json();
    assert_fits("repeated", &json!([{ "result": { "id": "a", "title": "Tea" } }]), &reply);
    check(&mut server, create, error(-32012, json!(1))).await;
    let update = json!({ "id": "a", "done": true, "metadata": { "requestId": "r" } });
    server.call("todo.update", &update).await;
    let revert = r#"{"jsonrpc":"2.0","method":"todo.revert","params":["r"],"id":1}"#;
    let reply = server.post("/revert", revert).await.json();
    let expected =
        json!({ "jsonrpc": "2.0", "result": { "status": "reverted", "requestId": "r" }, "id": 1 });
    assert_eq!(reply, expected);
    server.stop().await;
}

#[tokio::test]
async fn invalid_reverts() {
    let mut server = with_a().await;
    let rows = [
        "",
        "{",
        "5",
        "[]x",
        "{}",
        r#"{"requestId":null}"#,
        r#"{"requestId":true}"#,
        r#"{"requestId":["r"]}"#,
        r#"{"requestid":"r"}"#,
        r#"{"requestId":""}"#,
    ];
    for body in rows {
        let reply = server.post("/revert", body).await;
        if body.starts_with('[') {
            // Arrays are JSON-RPC.
            assert_fits(body, &error(-32700, Value::Null), &reply.json());
        } else {
            let is_json = serde_json::from_str::<Value>(body).is_ok();
            let told = if is_json { "*requestId*" } else { "*the body is not valid JSON: *" };
            check_refused(body, &reply, 400, told);
        }
    }
    server.stop().await;
}
