//! `create_server` with a map of EDN handlers.

use trunkline::edn::{Handlers, Value, edn};
use trunkline::server::{Config, Phase, create_server};

use crate::support::{Client, post};

fn handlers() -> Handlers {
    Handlers::new()
        .on("echo", |params| edn!({:result ~params}))
        .on(
            "get-config",
            |_| edn!({:result {:enabled? true, :features [:a :b :c], :updated-at #inst "2024"}}),
        )
        .on(
            "status",
            |_| edn!({:result {:status :ok, :data [1 2 3], :meta {:timestamp #inst "2024"}}}),
        )
        .on("fail", |params| edn!({:error {:code 4, :message "no", :data ~params}}))
        .on("bad-data", |_| edn!({:error {:code 1, :message "x", :data #my/tag 1}}))
        .on("wrong", |_| Value::from(1))
        .on("unknown-tag", |_| edn!({:result [#my/tag 1]}))
}

async fn check(client: &mut Client, method: &str, params: &str, expected: &str) {
    let request = format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params},"id":1}}"#);
    let reply = client.ask(post(request)).await;
    let body = String::from_utf8(reply.body).unwrap();
    assert_eq!(body, format!(r#"{{"jsonrpc":"2.0",{expected},"id":1}}"#), "{method}");
}

#[tokio::test]
async fn serves_a_map_of_handlers() {
    let config = Config { port: 0, handlers: handlers().into() };
    let server = create_server(config).await.unwrap();
    assert_eq!(server.status().phase, Phase::Running);
    let client = &mut Client::connect(server.local_addr()).await;
    check(
        client,
        "echo",
        r#","params":{"a b":[1,{"c":null}]}"#,
        r#""result":{"a b":[1,{"c":null}]}"#,
    )
    .await;
    check(client, "echo", "", r#""result":null"#).await;
    let config = r#""result":{"enabled?":true,"features":["a","b","c"],"updated-at":"2024-01-01T00:00:00Z"}"#;
    check(client, "get-config", "", config).await;
    let status =
        r#""result":{"status":"ok","data":[1,2,3],"meta":{"timestamp":"2024-01-01T00:00:00Z"}}"#;
    check(client, "status", "", status).await;
    check(client, "fail", r#","params":[1]"#, r#""error":{"code":4,"message":"no","data":[1]}"#)
        .await;
    check(client, "bad-data", "", r#""error":{"code":-32603,"message":"JSON conversion error","data":{"path":"/error/data","reason":"JSON cannot represent the tag #my/tag"}}"#).await;
    let error = r#""error":{"code":-32603,"message":"JSON conversion error","data":{"path":"/result/0","reason":"JSON cannot represent the tag #my/tag"}}"#;
    check(client, "unknown-tag", "", error).await;

    let request = r#"{"jsonrpc":"2.0","method":"wrong","id":1}"#;
    let reply: serde_json::Value =
        serde_json::from_slice(&client.ask(post(request)).await.body).unwrap();
    assert_eq!(reply["error"]["code"], -32603);
    assert!(reply["error"]["data"]["incident"].is_string(), "{reply}");
    server.stop().await;
}
