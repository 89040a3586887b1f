//! Extractors of the HTTP request: headers, peer and extensions, also mounted in axum.

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use trunkline::http::{Headers, Peer};
use trunkline::server::{Server, ServerConfig};
use trunkline::{Extension, Router, Rpc, code};

use crate::support::{CALL, Client, post, post_with, serve_with};

/// An extension that a middleware sets.
#[derive(Clone)]
struct Tenant(&'static str);

fn rpc() -> Rpc {
    let header = |headers: Headers| {
        let value = headers.get("x-tenant").and_then(|value| value.to_str().ok());
        json!([value, headers.get_all("x-many").iter().count()])
    };
    Router::new()
        .method("header", header)
        .method("peer", |Peer(peer): Peer| peer.map(|peer| peer.to_string()))
        .method("tenant", |Extension(Tenant(name)): Extension<Tenant>| name)
        .build()
        .unwrap()
}

/// The service in an axum application, inside of a middleware that sets the tenant.
fn mounted() -> axum::Router {
    let tenant = from_fn(|mut request: Request, next: Next| {
        request.extensions_mut().insert(Tenant("ours"));
        next.run(request)
    });
    axum::Router::new()
        .route_service("/rpc", rpc().http())
        .layer(tenant)
        .route("/about", axum::routing::get(|| async { "axum" }))
}

fn call(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#)
}

fn post_to(path: &str, body: &str) -> String {
    String::from_utf8(post(body)).unwrap().replacen(" / ", &format!(" {path} "), 1)
}

#[track_caller]
fn check(found: &Value, expected: &Value) {
    assert_eq!(found, &json!({"jsonrpc": "2.0", "result": expected, "id": 1}));
}

#[tokio::test]
async fn headers_and_peer() {
    let server = serve_with(rpc(), ServerConfig::default()).await;
    let mut client = Client::connect(server.local_addr()).await;
    let lines = "X-Tenant: ours\r\nX-Many: 1\r\nX-Many: 2\r\n";
    let reply = client.ask(post_with(lines, call("header"))).await;
    check(&reply.json(), &json!(["ours", 2]));
    let reply = client.ask(post(call("header"))).await;
    check(&reply.json(), &json!([null, 0]));

    let peer = json!(client.local_addr().to_string());
    let reply = client.ask(post(call("peer"))).await;
    check(&reply.json(), &peer);
    let batch = format!("[{},{}]", call("peer"), call("peer"));
    for member in client.ask(post(batch)).await.json().as_array().unwrap() {
        check(member, &peer);
    }
}

#[tokio::test]
async fn calls_in_process_have_no_headers_and_no_peer() {
    let none: [u8; 0] = [];
    assert_eq!(rpc().call::<Value>("header", &none).await.unwrap(), json!([null, 0]));
    assert_eq!(rpc().call::<Value>("peer", &none).await.unwrap(), Value::Null);
}

#[tokio::test]
async fn a_missing_extension_is_an_internal_error() {
    let server = serve_with(rpc(), ServerConfig::default()).await;
    let mut client = Client::connect(server.local_addr()).await;
    let reply = client.ask(post(call("tenant"))).await;
    assert_eq!(reply.json()["error"]["code"], code::INTERNAL_ERROR);
}

/// Checks the axum application, over a connection to it.
async fn check_mounted(mut client: Client, peer: Value) {
    let reply = client.ask(post_to("/rpc", &call("tenant"))).await;
    check(&reply.json(), &json!("ours"));
    let reply = client.ask(post_to("/rpc", &call("peer"))).await;
    check(&reply.json(), &peer);
    let batch = format!("[{},{}]", call("tenant"), call("tenant"));
    for member in client.ask(post_to("/rpc", &batch)).await.json().as_array().unwrap() {
        check(member, &json!("ours"));
    }
    let reply = client.ask("GET /about HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(reply.body, b"axum");
    let foreign = post_to("/rpc", CALL).replacen("localhost", "evil.example", 1);
    assert_eq!(client.ask(foreign).await.status, 403, "hosts are checked, too");
    assert_eq!(client.ask(post_to("/nope", CALL)).await.status, 404);
}

#[tokio::test]
async fn mounted_in_axum_and_served_by_axum() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::connect(listener.local_addr().unwrap()).await;
    let serving = tokio::spawn(async { axum::serve(listener, mounted()).await });
    check_mounted(client, Value::Null).await;
    serving.abort();
}

#[tokio::test]
async fn mounted_in_axum_and_served_by_our_server() {
    let server = Server::bind("127.0.0.1:0").serve_http(mounted()).await.unwrap();
    let client = Client::connect(server.local_addr()).await;
    let peer = json!(client.local_addr().to_string());
    check_mounted(client, peer).await;
    assert!(server.stop().await.is_complete());
}
