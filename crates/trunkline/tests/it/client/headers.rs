//! Headers, addresses and raw HTTP requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use tower::util::MapRequestLayer;
use trunkline::client::http::{Bearer, HttpClientConfig};
use trunkline::client::{Client, Error, Http, TransportError};
use trunkline::{Call, Router, server};

use super::peer::{Answer, Peer};
use crate::support::{on_loopback, serve_with};

const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":1}"#;

#[tokio::test]
async fn sends_configured_headers() {
    let peer = Peer::always(Answer::json(RESULT)).await;
    let mut settings = HttpClientConfig::default();
    settings.headers.append("x-one", HeaderValue::from_static("1"));
    settings.headers.append("x-one", HeaderValue::from_static("2"));
    settings.bearer = Some("s3cret".parse().unwrap());
    assert!(!format!("{settings:?}").contains("s3cret"), "{settings:?}");
    let url = format!("{}/rpc?a=b#c", peer.url).parse().unwrap();
    let http = Http::with_config(url, settings).unwrap();
    let client = Client::new(http.clone());
    client.call::<i64>("m", ()).await.unwrap();
    assert!(!format!("{client:?}{http:?}").contains("s3cret"));
    let host = peer.url.strip_prefix("http://").unwrap();
    let [request] = &peer.requests()[..] else { panic!() };
    let (line, rest) = request.split_once("\r\n").unwrap();
    assert_eq!(line, "post /rpc?a=b http/1.1");
    let mut lines: Vec<&str> = rest.split("\r\n").collect();
    let body = lines.pop().unwrap();
    assert_eq!(body, r#"{"jsonrpc":"2.0","method":"m","id":1}"#);
    lines.retain(|line| !line.is_empty());
    lines.sort_unstable();
    let host = format!("host: {host}");
    let expected = [
        "accept: application/json",
        "authorization: bearer s3cret",
        "content-length: 37",
        "content-type: application/json",
        &host,
        "x-one: 1",
        "x-one: 2",
    ];
    assert_eq!(lines, expected);
}

/// A new token for each call.
#[tokio::test]
async fn layers_can_set_headers() {
    let peer = Peer::always(Answer::json("[]")).await;
    let mut settings =
        HttpClientConfig { bearer: Some("old".parse().unwrap()), ..HttpClientConfig::default() };
    settings.headers.insert("x-one", HeaderValue::from_static("1"));
    let http = Http::with_config(peer.url.parse().unwrap(), settings).unwrap();
    let last = Arc::new(AtomicUsize::new(0));
    let client = Client::new(http).layer(MapRequestLayer::new(move |mut call: Call| {
        let token = format!("Bearer {}", last.fetch_add(1, Ordering::SeqCst));
        let token = HeaderValue::try_from(token).unwrap();
        call.extensions_mut().insert(HeaderMap::from_iter([(AUTHORIZATION, token)]));
        call
    }));
    for _ in 0..2 {
        client.call::<i64>("m", ()).await.unwrap_err();
    }
    let mut batch = client.batch();
    let _ = [(); 2].map(|()| batch.add(client.call::<i64>("m", ())));
    batch.send().await.unwrap();
    let requests = peer.requests();
    assert_eq!(requests.len(), 3);
    for (request, token) in requests.iter().zip(["0", "1", "3"]) {
        let mut lines = request.lines().filter_map(|line| line.strip_prefix("authorization: "));
        assert_eq!((lines.next(), lines.next()), (Some(&*format!("bearer {token}")), None));
        assert!(request.contains("x-one: 1\r\n"), "{request}");
    }
}

#[test]
fn tokens() {
    for (token, is_one) in
        [("a", true), ("a.b-c~=", true), ("", false), ("a b", false), ("a\n", false), ("ä", false)]
    {
        let found = token.parse::<Bearer>();
        assert_eq!(found.is_ok(), is_one, "{token:?}");
        assert!(!format!("{found:?}").contains("a.b"), "{found:?}");
    }
}

#[test]
fn rejects_invalid_addresses() {
    for (url, text) in [
        (
            "127.0.0.1:80",
            "invalid address \"127.0.0.1:80\": missing scheme; use http://127.0.0.1:80",
        ),
        (
            "ftp://h",
            "invalid address \"ftp://h\": unsupported scheme ftp://; use http:// or https://",
        ),
        (
            "http://me:s3cret@h",
            "invalid address \"http://<redacted>@h\": user or password in the URL; send credentials in a header",
        ),
        (
            "http://h:x",
            "invalid address \"http://h:x\": invalid URL; expected a URL such as http://127.0.0.1:8080",
        ),
    ] {
        let error = Http::connect(url).unwrap_err();
        assert!(matches!(error, TransportError::Address { .. }) && error.is_unsent(), "{error:?}");
        assert_eq!(error.to_string(), text);
    }
}

/// A call by a handler belongs to the trace of the handled call. No spans are recorded here, so the context of the
/// caller is sent unchanged.
#[tokio::test]
async fn propagates_the_trace_context() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";
    let peer = Peer::always(Answer::json(RESULT)).await;
    let inner = Client::new(Http::connect(&peer.url).unwrap());
    let rpc = Router::new()
        .method("outer", move || {
            let inner = inner.clone();
            async move {
                inner.call::<i64>("m", ()).await.map_err(|_| trunkline::ErrorObject::new(1, "no"))
            }
        })
        .build()
        .unwrap();
    let server = serve_with(rpc.http_with(on_loopback()), server::ServerConfig::default()).await;
    let mut settings = HttpClientConfig::default();
    let parent = format!("00-{TRACE}-{SPAN}-01");
    settings.headers.insert("traceparent", HeaderValue::try_from(parent.clone()).unwrap());
    settings.headers.insert("tracestate", HeaderValue::from_static("vendor=1,other=2"));
    let url = format!("http://{}", server.local_addr()).parse().unwrap();
    let outer = Client::new(Http::with_config(url, settings).unwrap());
    assert_eq!(outer.call::<i64>("outer", ()).await.unwrap(), 1);
    let [request] = &peer.requests()[..] else { panic!() };
    let mut lines = request.lines().filter_map(|line| line.strip_prefix("traceparent: "));
    let sent = lines.next().unwrap_or_else(|| panic!("no trace in {request}"));
    assert_eq!(sent, parent);
    assert_eq!(lines.next(), None);
    assert!(request.contains("tracestate: vendor=1,other=2\r\n"), "{request}");
}

#[tokio::test]
async fn sends_raw_requests() {
    let events =
        Answer::http("200 OK\nContent-Type: text/event-stream\nX-Session: 1", "data: a\n\n");
    let peer = Peer::always(events).await;
    let settings = HttpClientConfig { max_reply: 9, ..HttpClientConfig::default() };
    let http = Http::with_config(peer.url.parse().unwrap(), settings).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static("text/event-stream"));
    let mut reply = http.post(headers, Bytes::from_static(b"{}")).await.unwrap();
    assert_eq!((reply.status, &*reply.media_type()), (StatusCode::OK, "text/event-stream"));
    assert_eq!(reply.headers["x-session"], "1");
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await.unwrap() {
        body.extend_from_slice(&chunk);
    }
    assert_eq!(body, b"data: a\n\n");
    let reply = http.delete(HeaderMap::new()).await.unwrap();
    let error: Error = reply.json().await.unwrap_err().into();
    assert_eq!(
        error.to_string(),
        "reply has media type \"text/event-stream\" instead of JSON: \"data: a\\n\\n\""
    );
    let [post, delete] = &peer.requests()[..] else { panic!() };
    assert!(
        post.contains("accept: text/event-stream\r\n") && !post.contains("accept: application")
    );
    assert!(delete.starts_with("delete / ") && !delete.contains("content-type"), "{delete}");

    let settings = HttpClientConfig { max_reply: 8, ..HttpClientConfig::default() };
    let http = Http::with_config(peer.url.parse().unwrap(), settings).unwrap();
    let mut reply = http.post(HeaderMap::new(), Bytes::new()).await.unwrap();
    let error = reply.chunk().await.unwrap_err();
    assert!(matches!(error, TransportError::TooLarge { limit: 8, .. }), "{error:?}");
}
