//! `GET /openrpc.json` over a socket.

use serde_json::Value;
use trunkline::http::HttpConfig;
use trunkline::{Router, Rpc, server};

use crate::support::{Client, Reply, add, in_time, on_loopback, post, serve_with};

const PATH: &str = "/openrpc.json";

fn sums() -> Rpc {
    Router::new().method("add", add).build().unwrap()
}

/// Sends requests to a server with this configuration, each on a new connection.
async fn ask(http: HttpConfig, requests: &[String]) -> Vec<Reply> {
    let rpc = sums();
    let service = rpc.http_with(http).merge(rpc.openrpc_routes());
    let server = serve_with(service, server::ServerConfig::default()).await;
    let mut replies = Vec::new();
    for request in requests {
        let mut client = Client::connect(server.local_addr()).await;
        client.send(request).await;
        let reply = async {
            if request.starts_with("HEAD") { client.head().await } else { client.reply().await }
        };
        replies.push(in_time("a reply", reply).await);
    }
    server.stop().await;
    replies
}

fn request(method: &str, headers: &str) -> String {
    format!("{method} {PATH} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

#[tokio::test]
async fn serves_the_result_of_rpc_discover() {
    let discover = post(r#"{"jsonrpc":"2.0","method":"rpc.discover","id":1}"#);
    let requests = [request("GET", ""), String::from_utf8(discover).unwrap()];
    let replies = ask(on_loopback(), &requests).await;
    let [page, discovered] = replies.as_slice() else { panic!("two replies") };
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("application/json"));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let document: Value = serde_json::from_str(sums().openrpc().as_json()).unwrap();
    assert_eq!(page.json(), document);
    assert_eq!(discovered.json()["result"], document);
}

#[tokio::test]
async fn replies_with_304_to_a_matching_etag() {
    let first = ask(on_loopback(), &[request("GET", "")]).await.remove(0);
    let tag = first.header("etag").unwrap();
    let rows = [
        (format!("If-None-Match: {tag}\r\n"), 304),
        (format!("If-None-Match: \"other\", W/{tag}\r\n"), 304),
        (format!("If-None-Match: \"other\"\r\nIf-None-Match: {tag}\r\n"), 304),
        ("If-None-Match: *\r\n".to_owned(), 304),
        ("If-None-Match: \"other\"\r\n".to_owned(), 200),
        ("If-None-Match: \r\n".to_owned(), 200),
    ];
    let requests = rows.each_ref().map(|(headers, _)| request("GET", headers));
    let replies = ask(on_loopback(), &requests).await;
    for ((headers, status), reply) in rows.iter().zip(&replies) {
        assert_eq!(reply.status, *status, "{headers}");
        assert_eq!(reply.header("etag"), Some(tag), "{headers}: another server, the same document");
        assert_eq!(reply.body.is_empty(), *status == 304, "{headers}");
    }
}

#[tokio::test]
async fn other_requests() {
    let tokens = || {
        let mut settings = on_loopback();
        settings.bearer.allow("s3cret");
        settings
    };
    let rows = [
        (on_loopback(), request("HEAD", ""), 200),
        (on_loopback(), request("DELETE", ""), 405),
        (on_loopback(), request("GET", "Origin: https://elsewhere.example\r\n"), 403),
        (tokens(), request("GET", ""), 401),
        (tokens(), request("GET", "Authorization: Bearer s3cret\r\n"), 200),
    ];
    for (settings, request, status) in rows {
        let reply = ask(settings, std::slice::from_ref(&request)).await.remove(0);
        assert_eq!(reply.status, status, "{request}");
        if status == 405 {
            assert_eq!(reply.header("allow"), Some("GET,HEAD"));
        }
    }
}
