//! HTTP statuses of calls that are refused by authorization and rate limits.

use serde_json::{Value, json};
use trunkline::http::{HttpConfig, HttpService, StatusPolicy};
use trunkline::layers::authorize::{Rules, authenticated, principal};
use trunkline::server;
use trunkline::{ErrorObject, Router, code};

use super::call;
use crate::support::{Client, on_loopback, post_with, serve_with};

fn limited(data: &Value) -> ErrorObject {
    ErrorObject::new(code::RATE_LIMITED, "Too many calls").with_data(data)
}

/// Methods that are refused in different ways. Callers with a token are authenticated.
fn service(settings: HttpConfig) -> HttpService {
    let limited = |data: Value| move || Err::<(), _>(limited(&data));
    Router::new()
        .method("free", || 1)
        .method("known", || 1)
        .method("bobs", || 1)
        .method("later", limited(json!({"retry_after_ms": 1_001})))
        .method("soon", limited(json!({"retry_after_ms": 0})))
        .method("sometime", limited(json!({"retry_after_ms": "soon"})))
        .authorize(Rules::new().require("known", authenticated()).require("bobs", principal("bob")))
        .build()
        .unwrap()
        .http_with(settings)
}

#[tokio::test]
async fn maps_refusals_to_statuses() {
    let mut guarded = on_loopback();
    guarded.bearer.allow_as("alice", "secret");
    let open = serve_with(service(on_loopback()), server::ServerConfig::default()).await;
    let guarded = serve_with(service(guarded), server::ServerConfig::default()).await;
    let insufficient = "Bearer error=\"insufficient_scope\"";
    let challenge = "www-authenticate";
    let rows = [
        ("free", &open, 200, None),
        ("known", &open, 401, Some((challenge, "Bearer"))),
        ("bobs", &open, 401, Some((challenge, "Bearer"))),
        ("free", &guarded, 200, None),
        ("known", &guarded, 200, None),
        ("bobs", &guarded, 403, Some((challenge, insufficient))),
        ("later", &guarded, 429, Some(("retry-after", "2"))),
        ("soon", &guarded, 429, Some(("retry-after", "0"))),
        ("sometime", &guarded, 429, None),
    ];
    for (method, server, status, header) in rows {
        let mut client = Client::connect(server.local_addr()).await;
        let token = "Authorization: Bearer secret\r\n";
        let reply = client.ask(post_with(token, call(method))).await;
        assert_eq!(reply.status, status, "{method}: {reply:?}");
        assert_eq!(reply.header("content-type"), Some("application/json"), "{method}");
        assert_eq!(reply.json()["id"], 1, "{method}: it is a reply to the call");
        for name in [challenge, "retry-after"] {
            let expected = header.filter(|(expected, _)| *expected == name).map(|(_, value)| value);
            assert_eq!(reply.header(name), expected, "{method}: {name}");
        }
        let batch = client.ask(post_with(token, format!("[{}]", call(method)))).await;
        assert_eq!(batch.status, 200, "{method} in a batch");
    }
}

#[tokio::test]
async fn can_be_configured_to_always_send_200() {
    let settings = HttpConfig { status_policy: StatusPolicy::AlwaysOk, ..on_loopback() };
    let server = serve_with(service(settings), server::ServerConfig::default()).await;
    for method in ["known", "later"] {
        let mut client = Client::connect(server.local_addr()).await;
        let reply = client.ask(post_with("", call(method))).await;
        assert_eq!((reply.status, reply.header("retry-after")), (200, None), "{method}");
        assert!(reply.json()["error"].is_object(), "{method}");
    }
}
