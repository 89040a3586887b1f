//! Tokens and rules that are replaced while requests and streams of them are open.

use std::pin::pin;
use std::sync::{Arc, RwLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::pending;
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::Value;
use trunkline::Router;
use trunkline::access::jwt::{Algorithm, Jwt, JwtConfig, Keys};
use trunkline::access::{Principal, Tokens};
use trunkline::http::{
    Authentication, Authenticator, Event, EventStream, HttpConfig, HttpService, ReplyBody,
    ResponseFuture, Routes,
};
use trunkline::layers::authorize::{Role, Rules, SharedRules, principal};

use super::signer::Signer;

fn config(tokens: &[(&str, &str)], rules: &SharedRules) -> HttpConfig {
    let mut config = HttpConfig { policy: Some(rules.policy()), ..HttpConfig::default() };
    for (name, token) in tokens {
        config.bearer.allow_principal(Principal::new(*name), *token);
    }
    config
}

fn role(operation: &str) -> Rules {
    let mut role = Role::new("reader", [operation]);
    role.members = Some(principal("ada"));
    Rules::new().role(role)
}

/// The code of the error of a call whose body arrives after tokens and rules were replaced.
async fn call_during_a_reload(before: Rules, after: Rules) -> Option<i64> {
    let rules = SharedRules::from(before);
    let rpc = Router::new().method("stop", || "stopped").authorize_shared(&rules).build().unwrap();
    let service = rpc.http_with(config(&[("ada", "old")], &rules));
    let (sender, body) = tokio::sync::mpsc::channel::<Result<_, std::io::Error>>(1);
    let body = futures_util::stream::unfold(body, async |mut body| {
        body.recv().await.map(|frame| (frame, body))
    });
    let request = Request::post("/")
        .header("host", "localhost")
        .header("authorization", "Bearer old")
        .header("content-type", "application/json");
    let request = request.body(StreamBody::new(Box::pin(body))).unwrap();
    let mut response = pin!(service.handle(request));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(response.as_mut().poll(&mut cx).is_pending(), "the body has not arrived");
    rules.replace(after);
    service.replace_config(config(&[("bob", "new")], &rules));
    let call = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"stop"}"#);
    sender.send(Ok(http_body::Frame::data(call))).await.unwrap();
    drop(sender);
    let reply = response.await.into_body().collect().await.unwrap().to_bytes();
    let reply: Value = serde_json::from_slice(&reply).unwrap();
    reply["error"]["code"].as_i64()
}

#[tokio::test]
async fn a_request_is_checked_with_the_rules_of_its_token_and_with_the_current_ones() {
    let rows = [
        ("neither", Rules::new(), Rules::new(), None),
        ("permitted by both", role("*"), role("*"), None),
        ("the last role is removed", role("read"), Rules::new(), Some(-32008)),
        ("the role is extended", role("read"), role("*"), Some(-32008)),
        ("roles are added", Rules::new(), role("read"), Some(-32008)),
        ("the role is restricted", role("*"), role("read"), Some(-32008)),
    ];
    for (name, before, after, expected) in rows {
        assert_eq!(call_during_a_reload(before, after).await, expected, "{name}");
    }
}

/// A change of one clone concerns all of them, in any order.
#[tokio::test]
async fn clones_of_a_service_share_routes_and_configuration() {
    let rules = SharedRules::default();
    let (old, new) = (config(&[("ada", "old")], &rules), config(&[("ada", "new")], &rules));
    let page = |path| axum::Router::new().route(path, axum::routing::get(async || "a page"));
    let first = Router::new().build().unwrap().http_with(old);
    let second = first.clone().merge(page("/one"));
    first.replace_config(new);
    let third = first.clone().merge(page("/two"));
    for (name, service) in [("first", first), ("second", second), ("third", third)] {
        for (path, token, status) in
            [("/one", "new", 200), ("/two", "new", 200), ("/one", "old", 401), ("/two", "old", 401)]
        {
            let request = Request::get(path).header("host", "localhost");
            let request = request.header("authorization", format!("Bearer {token}"));
            let request = request.body(Full::<Bytes>::default()).unwrap();
            let found = service.handle(request).await.status();
            assert_eq!(found, status, "{name}: {path} with {token}");
        }
    }
}

/// Accepts cookies that are one of these tokens.
#[derive(Debug, Clone)]
struct Cookies(Arc<RwLock<Tokens>>);

impl Cookies {
    fn new(tokens: &Tokens) -> Self {
        Self(Arc::new(RwLock::new(tokens.clone())))
    }
}

impl Authenticator for Cookies {
    fn authenticate(&self, request: &Parts) -> Option<Authentication> {
        let token = request.headers.get("cookie")?.to_str().ok()?;
        let (mut head, ()) = Request::new(()).into_parts();
        let value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
        head.headers.insert("authorization", value);
        self.0.read().unwrap().authenticate(&head)
    }

    fn remedy(&self) -> &'static str {
        "send a cookie"
    }

    fn page(&self, request: &Parts) -> Option<Response<ReplyBody>> {
        Some(Response::new(ReplyBody::from(format!("page {}", request.uri).into_bytes())))
    }
}

/// The names and values of headers.
type Headers<'h> = &'h [(&'h str, &'h str)];

#[tokio::test]
async fn routes_have_further_authenticators() {
    let config = config(&[("ada", "a"), ("bob", "b")], &SharedRules::default());
    let cookies = Cookies::new(&config.bearer);
    let name = async |caller: trunkline::http::Context| {
        Principal::of(&caller.extensions).unwrap().name().to_owned()
    };
    let router = axum::Router::new().route("/name", axum::routing::get(name));
    let routes = Routes::new("name", router).authenticator(Arc::new(cookies));
    let service = Router::new().build().unwrap().http_with(config).merge(routes);
    let html = ("accept", "text/html");
    let rows: [(&str, Headers<'_>, u16, &str); 8] = [
        ("none", &[], 401, "send `Authorization: Bearer TOKEN`, or send a cookie"),
        ("a token", &[("authorization", "Bearer a")], 200, "ada"),
        ("a cookie", &[("cookie", "b")], 200, "bob"),
        ("the token decides", &[("authorization", "Bearer a"), ("cookie", "b")], 200, "ada"),
        ("a wrong token", &[("authorization", "Bearer x"), ("cookie", "b")], 401, "not valid"),
        ("a wrong cookie", &[("cookie", "x")], 401, "not valid"),
        ("a browser", &[html], 200, "page /name"),
        ("a browser with a wrong cookie", &[html, ("cookie", "x")], 200, "page /name"),
    ];
    for (row, headers, status, part) in rows {
        let request = Request::get("/name").header("host", "localhost");
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = service.handle(request.body(Full::<Bytes>::default()).unwrap()).await;
        assert_eq!(response.status(), status, "{row}");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains(part), "{row}: {body}");
    }
}

/// A service whose streams never end by themselves: events at `/events` and, as replies to messages, at `/messages`;
/// other bytes at `/bytes`.
fn streams(cookies: &Cookies, config: HttpConfig) -> HttpService {
    let events = || EventStream::new(pending::<Event>()).into_response();
    let bytes = || {
        let frames = pending::<Result<http_body::Frame<Bytes>, std::io::Error>>();
        Response::new(ReplyBody::stream(StreamBody::new(frames)))
    };
    let router = axum::Router::new()
        .route("/events", axum::routing::get(async move || events()))
        .route("/bytes", axum::routing::get(async move || bytes()));
    let routes = Routes::new("streams", router)
        .authenticator(Arc::new(cookies.clone()))
        .messages("/messages", move |_| ResponseFuture::value(events()));
    Router::new().build().unwrap().http_with(config).merge(routes)
}

#[tokio::test]
async fn streams_of_events_end_when_their_token_is_not_accepted_any_more() {
    let rules = SharedRules::default();
    let before = config(&[("ada", "kept"), ("bob", "removed"), ("eve", "renamed")], &rules);
    let after = config(&[("ada", "kept"), ("mallory", "renamed"), ("new", "added")], &rules);
    let cookies = Cookies::new(&before.bearer);
    let service = streams(&cookies, before);
    let bearer = |token: &str| ("authorization", format!("Bearer {token}"));
    let rows = [
        ("GET", "/events", bearer("kept"), false),
        ("GET", "/events", bearer("removed"), true),
        ("GET", "/events", bearer("renamed"), true),
        ("GET", "/events", ("cookie", "kept".to_owned()), false),
        ("GET", "/events", ("cookie", "removed".to_owned()), true),
        ("POST", "/messages", bearer("kept"), false),
        ("POST", "/messages", bearer("removed"), true),
        // It would look complete.
        ("GET", "/bytes", bearer("removed"), false),
    ];
    let mut bodies = Vec::new();
    for (method, path, (header, value), ends) in rows {
        let request = Request::builder().method(method).uri(path).header("host", "localhost");
        let request = request.header(header, &value).header("content-type", "application/json");
        let response = service.handle(request.body(Full::from("{}")).unwrap()).await;
        assert_eq!(response.status(), 200, "{path}, {value}");
        let mut frames = response.into_body().into_data_stream();
        // The first event of a stream may be a comment.
        let poll = |frames: &mut http_body_util::BodyDataStream<ReplyBody>| {
            frames.poll_next_unpin(&mut Context::from_waker(Waker::noop()))
        };
        while let Poll::Ready(frame) = poll(&mut frames) {
            assert!(frame.is_some(), "{path}, {value}: open before the change");
        }
        bodies.push((format!("{path}, {value}"), frames, ends));
    }
    *cookies.0.write().unwrap() = after.bearer.clone();
    service.replace_config(after);
    for (row, frames, ends) in bodies {
        let ended = tokio::time::timeout(Duration::from_millis(50), frames.count()).await;
        assert_eq!(ended.is_ok(), ends, "{row}");
    }
}

#[tokio::test]
async fn streams_of_events_end_when_their_token_has_expired() {
    let signer = Signer::new(Algorithm::Es256);
    let header = serde_json::json!({ "alg": "ES256", "kid": "k", "typ": "JWT" });
    let keys = Keys::jwks(&super::set([signer.named_jwk("k")])).unwrap();
    let jwt = Jwt::new(keys, JwtConfig { leeway: Duration::ZERO, ..JwtConfig::default() });
    let config = HttpConfig { bearer: jwt.into(), ..HttpConfig::default() };
    let cookies = Cookies::new(&config.bearer);
    let service = streams(&cookies, config);
    let mut bodies = Vec::new();
    for (name, valid_for, ends) in [("soon", 2, true), ("later", 600, false)] {
        let claims = serde_json::json!({ "sub": name, "exp": super::now() + valid_for });
        let token = format!("Bearer {}", signer.sign(&header, &claims));
        let request = Request::get("/events").header("host", "localhost");
        let request = request.header("authorization", token).body(Full::<Bytes>::default());
        let response = service.handle(request.unwrap()).await;
        assert_eq!(response.status(), 200, "{name}");
        bodies.push((name, response.into_body().into_data_stream(), ends));
    }
    std::thread::sleep(Duration::from_millis(2_100));
    // The time between two checks passes at once.
    tokio::time::pause();
    for (name, frames, ends) in bodies {
        let ended = tokio::time::timeout(Duration::from_secs(65), frames.count()).await;
        assert_eq!(ended.is_ok(), ends, "{name}");
    }
}
