//! Response headers, request ids, and layers around HTTP services.

use std::collections::HashSet;
use std::convert::Infallible;

use axum::routing::get;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use serde_json::json;
use tower::{Service, ServiceExt};
use tracing::Level;
use trunkline::Router;
use trunkline::http::{
    Headers, HttpConfig, HttpService, Message, ResponseFuture, Routes, security_headers,
};

use super::recorder::{Recorded, record};
use super::{body, paused};

type HttpRequest = Request<Full<Bytes>>;

fn request(ids: &[&[u8]]) -> HttpRequest {
    let mut request = Request::post("/").header("host", "localhost");
    for id in ids {
        request = request.header("x-request-id", *id);
    }
    let request = request.header("content-type", "application/json");
    request.body(Full::new(body("id", 1).into())).unwrap()
}

/// A service whose method returns the request id.
fn service(headers: HeaderMap) -> HttpService {
    let id = |headers: Headers| headers["x-request-id"].to_str().unwrap().to_owned();
    let config = HttpConfig { headers, request_ids: true, ..HttpConfig::default() };
    Router::new().method("id", id).build().unwrap().http_with(config)
}

/// The headers and the body of the response of `service`.
fn ask<S, B>(service: S, request: HttpRequest) -> (HeaderMap, Bytes)
where
    S: Service<HttpRequest, Response = Response<B>, Error = Infallible>,
    B: http_body::Body<Data = Bytes>,
{
    paused().block_on(async {
        let Ok(response) = service.oneshot(request).await;
        let (head, body) = response.into_parts();
        let Ok(body) = http_body_util::BodyExt::collect(body).await else {
            panic!("the body ends");
        };
        (head.headers, body.to_bytes())
    })
}

/// Checks that the id of a request with these headers is `expected`, or a generated one.
#[track_caller]
fn check_id(sent: &[&[u8]], expected: Option<&str>) {
    let Recorded { output: (headers, reply), spans, .. } =
        record(Level::DEBUG, || ask(service(HeaderMap::new()), request(sent)));
    let id = headers["x-request-id"].to_str().unwrap();
    match expected {
        Some(expected) => assert_eq!(id, expected),
        None => assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}"),
    }
    let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap();
    assert_eq!(reply["result"], json!(id), "in the handler");
    assert_eq!(spans[0]["http.request.id"], id, "in the span");
}

#[test]
fn accepts_valid_request_ids_and_generates_others() {
    let longest = "x".repeat(128);
    check_id(&[b"seven"], Some("seven"));
    check_id(&[b"7b1c:/+=@~-_.Z"], Some("7b1c:/+=@~-_.Z"));
    check_id(&[longest.as_bytes()], Some(&longest));
    check_id(&[], None);
    check_id(&[b""], None);
    check_id(&[format!("{longest}x").as_bytes()], None);
    check_id(&[b"one", b"two"], None);
    check_id(&[b"one", b"one"], None);
    check_id(&[b"a b"], None);
    check_id(&[b"\"a\""], None);
    check_id(&["é".as_bytes()], None);
    check_id(&[b"a\tb"], None);
}

#[test]
fn generated_ids_are_unique() {
    let id = |_| {
        let (headers, _) = ask(service(HeaderMap::new()), request(&[]));
        headers["x-request-id"].clone()
    };
    assert_eq!((0..100).map(id).collect::<HashSet<_>>().len(), 100);
}

const EXPECTED: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("cache-control", "no-store"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Checks that a response has exactly these headers and the request id.
#[track_caller]
fn check_headers((headers, _): (HeaderMap, Bytes), expected: &[(&str, &str)]) {
    for (name, value) in expected {
        let found: Vec<_> = headers.get_all(*name).iter().collect();
        assert_eq!(found, [value], "{name}");
    }
    assert!(!headers["x-request-id"].is_empty());
    let others =
        headers.keys().filter(|name| !["x-request-id", "content-length"].contains(&name.as_str()));
    assert_eq!(others.count(), expected.len(), "{headers:?}");
}

#[test]
fn responses_have_the_configured_headers() {
    let page =
        || async { ([("cache-control", "max-age=60"), ("vary", "accept")], Bytes::from("page")) };
    let routes = axum::Router::new().route("/page", get(page));
    let service = || service(security_headers()).merge(routes.clone());
    let get = |path: &str, host: &str| {
        Request::get(path).header("host", host).body(Full::default()).unwrap()
    };
    let json = [("content-type", "application/json")];
    check_headers(ask(service(), request(&[b"1"])), &[&EXPECTED[..], &json].concat());
    let refused = [&EXPECTED[..], &json].concat();
    check_headers(ask(service(), get("/", "evil")), &refused);
    // A reply without a body has no content type, and the headers of a route take precedence.
    let notification =
        Request::post("/").header("host", "localhost").header("content-type", "application/json");
    let notification =
        notification.body(Full::new(br#"{"jsonrpc":"2.0","method":"id"}"#[..].into())).unwrap();
    check_headers(ask(service(), notification), &EXPECTED);
    let own = [
        ("cache-control", "max-age=60"),
        ("vary", "accept"),
        ("content-type", "application/octet-stream"),
    ];
    let others = EXPECTED.into_iter().filter(|(name, _)| *name != "cache-control");
    check_headers(
        ask(service(), get("/page", "localhost")),
        &others.chain(own).collect::<Vec<_>>(),
    );
}

#[test]
fn replies_of_routes_are_compressed_for_clients_that_accept_it() {
    let mut router = Router::new().method("id", || "a".repeat(2_000));
    for number in 0..50 {
        router = router.method(format!("method{number}"), || "pong");
    }
    let rpc = router.build().unwrap();
    let answer = |message: Message| {
        let text = "a".repeat(if message.body.len() > 100 { 2_000 } else { 2 });
        ResponseFuture::value(Response::new(text.into()))
    };
    let messages = Routes::new("echo", axum::Router::new()).messages("/echo", answer);
    let service = rpc.http().merge(rpc.openrpc_routes()).merge(messages);
    let get = |path: &str| Request::get(path).body(Full::default()).unwrap();
    let post = |path: &str, body: &str| {
        let request = Request::post(path).header("content-type", "application/json");
        request.body(Full::new(body.to_owned().into())).unwrap()
    };
    let long = format!("[{}]", "1,".repeat(100));
    let rows = [
        ("a page", get("/openrpc.json"), true),
        ("a long reply to a message", post("/echo", &long), true),
        ("a short reply to a message", post("/echo", "[]"), false),
        ("a refused request", post("/openrpc.json", &long), false),
        ("a call", post("/", r#"{"jsonrpc":"2.0","id":1,"method":"id"}"#), false),
    ];
    for (row, request, is_compressed) in rows {
        let [(plain_headers, plain), (headers, reply)] = ["br", "gzip, br"].map(|accepted| {
            let mut request = request.clone();
            request.headers_mut().insert("host", "localhost".parse().unwrap());
            request.headers_mut().insert("accept-encoding", accepted.parse().unwrap());
            ask(service.clone(), request)
        });
        assert_eq!(plain_headers.get("content-encoding"), None, "{row}");
        if is_compressed {
            assert_eq!(headers["content-encoding"], "gzip", "{row}");
            assert_eq!(
                [&plain_headers, &headers].map(|h| &h["vary"]),
                ["accept-encoding"; 2],
                "{row}"
            );
            assert_eq!(reply[..2], [0x1f, 0x8b], "{row}: the magic number of gzip");
            assert!(reply.len() < plain.len(), "{row}");
        } else {
            assert_eq!(headers.get("content-encoding"), None, "{row}");
            assert_eq!(reply, plain, "{row}");
        }
    }
}

#[test]
fn checks_requests_to_routes() {
    let page = || axum::Router::new().route("/", get(|| async { "page" }));
    let app = axum::Router::new()
        .route("/page", get(|| async { "page" }))
        .nest("/nested", page().fallback(|| async { "nested fallback" }))
        .fallback(|| async { "fallback" });
    let mut settings = HttpConfig::default();
    settings.bearer.allow("secret");
    let service = Router::new().build().unwrap().http_with(settings).merge(app);
    let rows = [
        ("GET", "/page", "localhost", "Bearer secret", 200),
        ("GET", "/nested", "localhost", "Bearer secret", 200),
        ("GET", "/page", "localhost", "Bearer wrong", 401),
        ("PUT", "/page", "localhost", "Bearer wrong", 401),
        ("PUT", "/page", "localhost", "Bearer secret", 405),
        ("GET", "/nested", "localhost", "", 401),
        ("GET", "/page", "evil.example", "Bearer secret", 403),
        ("GET", "/other", "localhost", "Bearer secret", 404),
        ("GET", "/nested/other", "localhost", "Bearer secret", 404),
    ];
    for (method, path, host, token, status) in rows {
        let request = Request::builder().method(method).uri(path).header("host", host);
        let request = request.header("authorization", token).body(Full::default()).unwrap();
        let response = paused().block_on(service.handle::<Full<Bytes>>(request));
        assert_eq!(response.status(), status, "{method} {path} {host} {token}");
    }
}
