//! Commands in EDN.

use serde_json::{Value, json};

use crate::test_server::{Reply, TestServer, post};

const EDN: &str = "Content-Type: application/edn\r\n";

async fn with_a() -> TestServer {
    let mut server = TestServer::new().await;
    let create = r#"{:command :create, :resource :todo, :id "a", :payload {:title "Tea"}}"#;
    let reply = server.ask(post("/execute", EDN, create)).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    server
}

/// The EDN reply as JSON.
#[track_caller]
fn edn_as_json(reply: &Reply) -> Value {
    assert_eq!(reply.header("content-type"), Some("application/edn; charset=utf-8"), "{reply:?}");
    serde_json::from_str(&trunkline::edn::json::to_string(&read(reply)).unwrap()).unwrap()
}

#[track_caller]
fn read(reply: &Reply) -> trunkline::edn::Value {
    trunkline::edn::read(reply.text()).unwrap_or_else(|error| panic!("{error}: {}", reply.text()))
}

/// Posts EDN, and compares the status and parts of the EDN reply.
async fn check(server: &mut TestServer, body: &str, status: u16, expected: Value) {
    let reply = server.ask(post("/execute", EDN, body)).await;
    assert_eq!(reply.status, status, "{body}: {}", reply.text());
    crate::test_server::assert_fits(body, &expected, &edn_as_json(&reply));
}

#[tokio::test]
async fn native_commands() {
    let mut server = with_a().await;
    let rows = [
        (
            r#"{:command :update :resource :todo :id "a" :payload {:done true :priority :high}}"#,
            200,
            json!({ "result": { "id": "a", "title": "Tea", "done": true, "priority": "high", "version": 2 } }),
        ),
        (
            r#"{"command" "read", "resource" "todo", "id" "a"}"#,
            200,
            json!({ "result": { "version": 2 } }),
        ),
        ("{:command :read :resource :todo :id a}", 200, json!({ "result": { "version": 2 } })),
        (
            r#"{:command :create :resource :todo :id 7 :payload {:title "x"}} ; seven"#,
            201,
            json!({ "statusCode": 201, "result": { "id": "7" } }),
        ),
        (
            "{:command :filter :resource :todo :payload {:done false}}",
            200,
            json!({ "result": { "items": [{ "id": "7" }] } }),
        ),
        ("{:command :read :resource :todo :id nil}", 400, json!({ "error": "*id of a record*" })),
        ("{:command :read :resource :todo :id none}", 404, json!({ "error": "*none*" })),
        (
            r#"{:command :create :resource :todo :id "a" :payload {:title "x"}}"#,
            409,
            json!({ "error": "*already*" }),
        ),
        ("{:command :fly :resource :todo}", 400, json!({ "error": "*fly*" })),
        ("{:resource :todo}", 400, json!({ "error": "*command*" })),
        ("{:command :read", 400, json!({ "error": "*" })),
        ("", 400, json!({ "error": "*" })),
    ];
    for (body, status, expected) in rows {
        check(&mut server, body, status, expected).await;
    }
    let reply = server.ask(post("/execute", EDN, "{:command :delete :resource :todo :id 7}")).await;
    assert_eq!((reply.status, reply.text()), (204, ""));
    server.stop().await;
}

#[tokio::test]
async fn json_rpc() {
    let mut server = with_a().await;
    let rows = [
        (
            r#"{:jsonrpc "2.0" :method :todo.read :params ["a"] :id :one}"#,
            json!({ "jsonrpc": "2.0", "result": { "id": "a", "title": "Tea" }, "id": "one" }),
        ),
        (
            r#"{:jsonrpc "2.0" :method "todo.read" :params {:id "none"} :id 1}"#,
            json!({ "error": { "code": -32011 }, "id": 1 }),
        ),
        (
            r#"{:jsonrpc "2.0" :method "todo.read""#,
            json!({ "error": { "code": -32700 }, "id": null }),
        ),
        (
            r#"[{:jsonrpc "2.0" :method "todo.read" :params ["a"] :id 1} {:jsonrpc "2.0"}]"#,
            json!([{ "id": 1 }, { "id": null }]),
        ),
        // Values without a JSON representation are rejected with their place.
        (
            r#"{:jsonrpc "2.0" :method "todo.create" :params {:title ##NaN} :id 5}"#,
            json!({ "error": { "code": -32603 }, "id": 5 }),
        ),
        (
            r#"[{:jsonrpc "2.0" :method "todo.read" :params ["a"] :id 1} {:jsonrpc "2.0" :method "todo.read" :params [##Inf] :id 2}]"#,
            json!([{ "result": { "id": "a" }, "id": 1 }, { "error": {}, "id": 2 }]),
        ),
    ];
    for (body, expected) in rows {
        check(&mut server, body, 200, expected).await;
    }
    // The id is returned unchanged.
    let body = r#"{:jsonrpc "2.0" :method :todo.read :params {:id "a"} :id :one/two}"#;
    let reply = server.ask(post("/execute", EDN, body)).await;
    assert!(reply.text().contains(":id :one/two"), "{}", reply.text());
    let notification = r#"{:jsonrpc "2.0" :method :todo.update :params {:id "a" :done true}}"#;
    let reply = server.ask(post("/execute", EDN, notification)).await;
    assert_eq!((reply.status, reply.text()), (204, ""));
    check(
        &mut server,
        r#"{:command :read :resource :todo :id "a"}"#,
        200,
        json!({ "result": { "version": 2 } }),
    )
    .await;
    server.stop().await;
}

#[tokio::test]
async fn values_without_json() {
    let mut server = with_a().await;
    for value in ["##NaN", "##Inf", "{[1] 2, \"[1]\" 3}"] {
        let body =
            format!("{{:command :update :resource :todo :id \"a\" :payload {{:title {value}}}}}");
        let reply = server.ask(post("/execute", EDN, &body)).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.text());
        assert!(edn_as_json(&reply)["error"].is_string(), "{body}: {}", reply.text());
    }
    check(
        &mut server,
        r#"{:command :read :resource :todo :id "a"}"#,
        200,
        json!({ "result": { "version": 1 } }),
    )
    .await;
    server.stop().await;
}

#[tokio::test]
async fn replies_have_the_accepted_format() {
    let mut server = with_a().await;
    let read = r#"{"command":"read","resource":"todo","id":"a"}"#;
    let headers = "Content-Type: application/json\r\nAccept: application/edn\r\n";
    let reply = server.ask(post("/execute", headers, read)).await;
    assert_eq!(edn_as_json(&reply)["result"]["id"], "a");
    let reply = server.ask(post("/execute", headers, "{")).await;
    assert_eq!((reply.status, edn_as_json(&reply)["error"].is_string()), (400, true));
    let headers = format!("{EDN}Accept: application/json\r\n");
    let reply =
        server.ask(post("/execute", &headers, "{:command :read :resource :todo :id a}")).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.json()["result"]["id"], "a");
    let reply = server.ask(post("/revert", EDN, "{:requestId r}")).await;
    assert_eq!(edn_as_json(&reply), json!({ "status": "noop", "requestId": "r" }));
    let refused = server
        .ask(post("/execute", "Content-Type: text/plain\r\nAccept: application/edn\r\n", "x"))
        .await;
    assert_eq!(refused.status, 415);
    assert!(edn_as_json(&refused)["error"].is_string());
    server.stop().await;
}

#[tokio::test]
async fn forms() {
    let mut server = TestServer::new().await;
    let request = "GET /forms HTTP/1.1\r\nHost: localhost\r\nAccept: application/edn\r\n\r\n";
    let in_edn = edn_as_json(&server.ask(request).await);
    let in_json = server.ask("GET /forms HTTP/1.1\r\nHost: localhost\r\n\r\n").await.json();
    assert_eq!(in_edn, in_json);
    assert_eq!(in_json[0]["rel"], "execute");
    server.stop().await;
}
