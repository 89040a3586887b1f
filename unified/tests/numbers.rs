//! Numbers of calls, over JSON-RPC, MCP and EDN.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline::client::Http;
use trunkline::layers::ValidateLayer;
use trunkline::{Json, JsonSchema, Operation, Params, Router, Server, ServerHandle};
use trunkline_mcp::{Mcp, McpConfig};

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Number {
    f: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other: Option<Value>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Limited {
    #[schemars(range(min = 0.5, max = 2.5))]
    f: f64,
    n: u8,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Free {
    value: Value,
}

#[derive(Deserialize)]
struct Half {
    number: f64,
}

#[derive(Deserialize)]
struct Next {
    number: i64,
}

async fn server() -> ServerHandle {
    let echo = Operation::new("echo", |Params(number): Params<Number>| Json(number));
    let limited = Operation::new("limited", |Params(number): Params<Limited>| Json(number));
    let free = Operation::new("free", |Params(free): Params<Free>| Json(free));
    let router = Router::<()>::new()
        .operation(echo.description("Echoes.").input::<Number>().tool("echo"))
        .operation(limited.description("Echoes.").input::<Limited>().tool("limited"))
        .operation(free.description("Echoes.").input::<Free>().tool("free"))
        .method("half", |Params(Half { number }): Params<Half>| number / 2.0)
        .method("next", |Params(Next { number }): Params<Next>| number + 1)
        .layer(ValidateLayer::new());
    let mcp = Mcp::new(router.build().unwrap(), McpConfig::new("test", "1.0.0")).unwrap();
    let service = mcp.rpc().http().merge(mcp.routes());
    Server::bind("127.0.0.1:0").serve(service).await.unwrap()
}

async fn post(server: &ServerHandle, path: &str, body: String) -> String {
    let http = Http::connect(&format!("http://{}{path}", server.local_addr())).unwrap();
    let mut headers = http::HeaderMap::new();
    headers.insert("accept", "application/json, text/event-stream".parse().unwrap());
    let mut reply = http.post(headers, body.into()).await.unwrap();
    let mut text = Vec::new();
    while let Some(part) = reply.chunk().await.unwrap() {
        text.extend_from_slice(&part);
    }
    String::from_utf8(text).unwrap()
}

/// Calls an operation over JSON-RPC and as a tool. Both replies contain the expected text, or are errors.
async fn check(server: &ServerHandle, operation: &str, arguments: &str, expected: Option<&str>) {
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{operation}","params":{arguments}}}"#);
    let tool = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{operation}","arguments":{arguments}}}}}"#
    );
    for (path, body) in [("/", call), ("/mcp", tool)] {
        let reply = post(server, path, body.clone()).await;
        let is_error = reply.contains(r#""error""#) || reply.contains(r#""isError":true"#);
        assert_eq!(is_error, expected.is_none(), "{body}: {reply}");
        let is_there = expected.is_none_or(|expected| {
            reply.contains(expected) || reply.contains(&expected.replace('"', "\\\""))
        });
        assert!(is_there, "{body}: {reply}");
    }
}

#[tokio::test]
async fn numbers_of_arguments() {
    let server = server().await;
    for (operation, arguments, expected) in [
        ("echo", r#"{"f": 1e-2}"#, Some("0.01")),
        ("echo", r#"{"f": 0.5}"#, Some("0.5")),
        ("echo", r#"{"f": 7}"#, Some(r#""f":7"#)),
        ("echo", r#"{"f": -1.5e3}"#, Some("-1500")),
        ("echo", r#"{"f": 0.5, "other": {"a": 1.25}}"#, Some(r#"{"a":1.25}"#)),
        ("echo", r#"{"f": 0.5, "other": [1.5, 2]}"#, Some("[1.5,2]")),
        ("echo", r#"{"f": 0.5, "other": 9223372036854775808}"#, Some("9223372036854775808")),
        ("echo", r#"{"f": "half"}"#, None),
        ("echo", r#"{"f": {"$serde_json::private::Number": "x"}}"#, None),
        ("limited", r#"{"f": 2.5, "n": 1}"#, Some("2.5")),
        ("limited", r#"{"f": 1e0, "n": 255}"#, Some(r#""n":255"#)),
        ("limited", r#"{"f": 2.75, "n": 1}"#, None),
        ("limited", r#"{"f": 0.25, "n": 1}"#, None),
        ("limited", r#"{"f": 1.5, "n": 1.5}"#, None),
        ("limited", r#"{"f": 1.5, "n": 256}"#, None),
        ("limited", r#"{"f": 1.5, "n": -1}"#, None),
        ("free", r#"{"value": {"z": 1, "a": [0.1, 1e2, -3]}}"#, Some(r#""z":1"#)),
        ("free", r#"{"value": {"a": 1, "a": 2}}"#, None),
    ] {
        check(&server, operation, arguments, expected).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn numbers_of_positional_params_and_ids() {
    let server = server().await;
    for (body, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"half","params":[1.5]}"#, r#""result":0.75"#),
        (r#"{"jsonrpc":"2.0","id":1,"method":"half","params":[1e1]}"#, r#""result":5"#),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"half","params":[3]}"#, r#""id":1.5"#),
        (
            r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"next","params":[1]}"#,
            r#""id":18446744073709551615"#,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"next","params":[1.5]}"#, "-32602"),
    ] {
        let reply = post(&server, "/", body.to_owned()).await;
        assert!(reply.contains(expected), "{body}: {reply}");
    }
    server.stop().await;
}

#[tokio::test]
async fn numbers_of_clients_and_batches() {
    let server = server().await;
    let url = format!("http://{}", server.local_addr());
    let client = trunkline::client::Client::new(Http::connect(&url).unwrap());
    assert_eq!(client.call::<f64>("half", [0.3]).await.unwrap(), 0.15);
    let echoed: Number = client.call("echo", json!({"f": 1e-7, "other": [1.5]})).await.unwrap();
    assert_eq!((echoed.f, echoed.other), (1e-7, Some(json!([1.5]))));
    let value: Value = client.call("half", [1]).await.unwrap();
    assert_eq!(value.as_f64(), Some(0.5));
    let edn =
        trunkline::client::Client::new(Http::connect(&url).unwrap().format(trunkline::edn::FORMAT));
    assert_eq!(edn.call::<f64>("half", [0.3]).await.unwrap(), 0.15);
    let echoed: Number = edn.call("echo", json!({"f": 2.5, "other": {"a": 0.25}})).await.unwrap();
    assert_eq!((echoed.f, echoed.other), (2.5, Some(json!({"a": 0.25}))));
    server.stop().await;
}

/// EDN values from values of serde_json, and back.
#[test]
fn numbers_of_edn() {
    for (json, edn) in [
        ("1", "1"),
        ("0.5", "0.5"),
        ("1e-2", "0.01"),
        ("9223372036854775808", "9223372036854775808N"),
        ("[1.5,{\"a\":2.5}]", "[1.5 {:a 2.5}]"),
    ] {
        let value: Value = serde_json::from_str(json).unwrap();
        let from_value: trunkline_edn::Value = serde_json::from_value(value).unwrap();
        assert_eq!(from_value.to_string(), edn, "{json}");
        let from_text: trunkline_edn::Value = serde_json::from_str(json).unwrap();
        assert_eq!(from_text.to_string(), edn, "{json}");
    }
}
