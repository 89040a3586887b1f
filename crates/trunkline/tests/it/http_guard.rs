//! Checks of HTTP requests: hosts, origins, tokens, methods, media types, framing and limits.

use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use trunkline::http::{Host, Hosts, HttpConfig, Origin, StatusPolicy};
use trunkline::server::{self, ServerHandle};
use trunkline::{Limits, code};

use crate::support::{
    CALL, Client, RESULT, Reply, on_loopback, post, post_with, serve, serve_with, service,
};

/// The expected reply of a row, and whether the connection closes.
struct Expected {
    status: u16,
    body: Body,
    headers: Vec<(&'static str, &'static str)>,
    without: Vec<&'static str>,
    closes: bool,
}

enum Body {
    Result,
    Empty,
    /// A JSON-RPC error with a null id and the status as data.
    Refusal,
}

fn served() -> Expected {
    let headers = vec![("content-type", "application/json")];
    Expected { status: 200, body: Body::Result, headers, without: Vec::new(), closes: false }
}

fn empty(status: u16) -> Expected {
    Expected { status, body: Body::Empty, headers: Vec::new(), ..served() }
}

fn refused(status: u16) -> Expected {
    Expected { status, body: Body::Refusal, ..served() }
}

/// A refusal by hyper, see `docs/decisions/0001-what-hyper-answers-first.md`.
fn refused_by_hyper(status: u16) -> Expected {
    empty(status).closing()
}

impl Expected {
    fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    fn without(mut self, name: &'static str) -> Self {
        self.without.push(name);
        self
    }

    /// Expects `Connection: close`, and that the server closes the connection.
    fn closing(mut self) -> Self {
        self.closes = true;
        self.with("connection", "close")
    }

    #[track_caller]
    fn check(&self, name: &str, reply: &Reply) {
        assert_eq!(reply.status, self.status, "{name}: {reply:?}");
        match self.body {
            Body::Result => assert_eq!(reply.body, RESULT.as_bytes(), "{name}"),
            Body::Empty => assert_eq!(reply.body, b"", "{name}"),
            Body::Refusal => check_refusal(name, self.status, &reply.json()),
        }
        for (header, value) in &self.headers {
            assert_eq!(reply.header(header), Some(*value), "{name}: {header} in {reply:?}");
        }
        for header in &self.without {
            assert_eq!(reply.header(header), None, "{name}: {header} in {reply:?}");
        }
    }
}

#[track_caller]
fn check_refusal(name: &str, status: u16, json: &Value) {
    let code = match status {
        401 => code::UNAUTHENTICATED,
        403 => code::FORBIDDEN,
        _ => code::REFUSED,
    };
    assert_eq!(json["jsonrpc"], "2.0", "{name}");
    assert_eq!(json.get("id"), Some(&Value::Null), "{name}");
    assert_eq!(json["error"]["code"], code, "{name}");
    assert_eq!(json["error"]["data"]["status"], status, "{name}");
    let reason = json["error"]["data"]["reason"].as_str().unwrap_or_default();
    assert!(!reason.is_empty(), "{name}: a refusal has a reason");
}

/// Sends a request on a new connection and compares the reply. Then checks that the connection closes or
/// accepts a valid call.
async fn check(server: &ServerHandle, name: &str, request: impl AsRef<[u8]>, expected: Expected) {
    let mut client = Client::connect(server.local_addr()).await;
    client.send(request).await;
    expected.check(name, &client.reply().await);
    if expected.closes {
        assert_eq!(client.rest().await, b"", "{name}: nothing follows");
    } else {
        served().check(name, &client.ask(post(CALL)).await);
    }
}

/// Like [`check`], for servers whose configuration refuses the call that [`check`] sends afterwards.
async fn check_once(
    server: &ServerHandle,
    name: &str,
    request: impl AsRef<[u8]>,
    expected: Expected,
) {
    let mut client = Client::connect(server.local_addr()).await;
    client.send(request).await;
    expected.check(name, &client.reply().await);
}

/// A POST of the call with these header lines instead of `Host` and `Content-Type`.
fn post_lines(lines: &str) -> String {
    format!("POST / HTTP/1.1\r\n{lines}Content-Length: {}\r\n\r\n{CALL}", CALL.len())
}

fn post_host(host: &str) -> String {
    post_lines(&format!("Host: {host}\r\nContent-Type: application/json\r\n"))
}

fn post_type(media: &str) -> String {
    post_lines(&format!("Host: localhost\r\nContent-Type: {media}\r\n"))
}

fn post_target(target: &str) -> String {
    String::from_utf8(post(CALL)).unwrap().replacen(" / ", &format!(" {target} "), 1)
}

/// A request without a body.
fn bare(method: &str, target: &str, lines: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n")
}

fn chunked(lines: &str, body: &str) -> String {
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    format!("{head}{lines}Transfer-Encoding: chunked\r\n\r\n{body}")
}

/// The call as one chunk, and the last chunk.
fn chunks() -> String {
    format!("{:x}\r\n{CALL}\r\n0\r\n\r\n", CALL.len())
}

#[tokio::test]
async fn hosts() {
    let server = serve(on_loopback()).await;
    for host in [
        "localhost",
        "localhost:8080",
        "localhost:65535",
        "localhost:080",
        "localhost:",
        "LocalHost",
        "localhost.",
        "LOCALHOST.:8080",
        "127.0.0.1.",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:8080",
    ] {
        check(&server, host, post_host(host), served()).await;
    }
    for host in [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "notlocalhost",
        "127.0.0.2",
        "[::2]:8080",
        ".",
        "localhost..",
        ".localhost",
        "localhost.evil.example.",
    ] {
        check(&server, host, post_host(host), refused(403)).await;
    }
    for host in [
        "",
        "user@localhost",
        "localhost@evil.example",
        "local host",
        "[::1",
        "a/b",
        "localhost:+5",
        "localhost:-5",
        "localhost:65536",
        "localhost:99999",
        "localhost:x",
        "[::1]:+5",
        "[::1]x",
        "evil.example:99999",
    ] {
        check(&server, host, post_host(host), refused(400)).await;
    }
    let json = "Content-Type: application/json\r\n";
    for (name, lines) in [
        ("no host", String::new()),
        ("a duplicate host", "Host: localhost\r\nHost: localhost\r\n".to_owned()),
        ("two hosts", "Host: localhost\r\nHost: evil.example\r\n".to_owned()),
    ] {
        check(&server, name, post_lines(&format!("{lines}{json}")), refused(400)).await;
    }
}

#[tokio::test]
async fn hosts_of_http_1_0() {
    let server = serve(on_loopback()).await;
    let old = |host: &str| post_host(host).replacen("HTTP/1.1", "HTTP/1.0", 1);
    let no_host = old("localhost").replacen("Host: localhost\r\n", "", 1);
    let ends = |expected: Expected| Expected { closes: true, ..expected };
    check(&server, "no host", no_host, ends(served())).await;
    check(&server, "a good host", old("localhost"), ends(served())).await;
    check(&server, "a bad host", old("evil.example"), ends(refused(403))).await;
}

#[tokio::test]
async fn authorities_of_absolute_targets() {
    let server = serve(on_loopback()).await;
    for (target, expected) in [
        ("http://localhost/", served()),
        ("http://127.0.0.1:9/", served()),
        ("http://localhost.:9/", served()),
        ("http://evil.example/", refused(403)),
        ("http://evil.example:80/", refused(403)),
        ("http://user@localhost/", refused(400)),
        ("http://localhost@evil.example/", refused(400)),
        ("http://localhost:99999/", refused(400)),
        ("http://localhost:+5/", refused(400)),
    ] {
        check(&server, target, post_target(target), expected).await;
    }
}

#[tokio::test]
async fn accepts_configured_hosts() {
    let settings = |hosts| HttpConfig { hosts, ..on_loopback() };
    let rpc = service::router(Limits::default()).build().unwrap();

    let any = serve(settings(Hosts::Any)).await;
    check(&any, "any name", post_host("evil.example"), served()).await;
    check(&any, "any name, but a name", post_host("a@b"), refused(400)).await;
    check(&any, "any name, but a port", post_host("evil.example:+5"), refused(400)).await;

    let names = ["rpc.example", "dot.example.", "port.example:80"].map(str::to_owned).to_vec();
    let listed = serve(settings(Hosts::Listed(names))).await;
    check_once(&listed, "a listed host with a port", post_host("port.example:80"), refused(403))
        .await;
    check_once(&listed, "a listed name", post_host("RPC.example:443"), served()).await;
    for host in ["rpc.example.", "dot.example", "DOT.example.", "dot.example.:80"] {
        check_once(&listed, host, post_host(host), served()).await;
    }
    check_once(&listed, "one not listed", post_host("localhost"), refused(403)).await;
    check_once(&listed, "the server's address", post_host("127.0.0.1"), served()).await;

    let everywhere = server::Server::bind("0.0.0.0:0").serve(rpc.http()).await.unwrap();
    check(&everywhere, "any IPv4 address", post_host("192.0.2.1:80"), served()).await;
    check(&everywhere, "any IPv6 address", post_host("[2001:db8::1]"), served()).await;
    check(&everywhere, "not any name", post_host("evil.example"), refused(403)).await;
}

const ALLOW_ORIGIN: &str = "access-control-allow-origin";

async fn serve_pages() -> ServerHandle {
    let mut settings = HttpConfig { max_body: 1_000, ..on_loopback() };
    settings.allow_origins =
        ["https://listed.example", "https://Capitals.example"].map(str::to_owned).to_vec();
    settings.cors_origins = vec!["https://shared.example".to_owned()];
    serve(settings).await
}

#[tokio::test]
async fn accepts_any_origin_and_host_if_configured() {
    let settings =
        HttpConfig { hosts: Hosts::Any, allow_origins: vec!["*".to_owned()], ..on_loopback() };
    let server = serve(settings).await;
    let request = post_with("Origin: https://evil.example\r\n", CALL);
    check(&server, "any origin", request, served().without(ALLOW_ORIGIN)).await;
    check(&server, "any host", post_host("evil.example"), served()).await;
}

#[tokio::test]
async fn origins() {
    let server = serve_pages().await;
    let from = |origin: &str| post_with(&format!("Origin: {origin}\r\n"), CALL);
    for origin in [
        "http://localhost",
        "https://localhost",
        "http://localhost:80",
        "http://localhost.",
        "http://localhost.:80",
        "https://listed.example.",
    ] {
        check(&server, origin, from(origin), served().without(ALLOW_ORIGIN)).await;
    }
    let listed = from("https://listed.example");
    check(&server, "a listed origin", listed, served().without(ALLOW_ORIGIN)).await;
    let capitals = from("https://capitals.example");
    check(&server, "listed in upper case", capitals, served().without(ALLOW_ORIGIN)).await;
    for origin in [
        "null",
        "",
        "https://evil.example",
        "http://listed.example",
        "https://listed.example:444",
        "https://listed.example..",
        "http://localhost.:8080",
        "https://listed.example.evil.example",
        "http://localhost:8080",
        "http://localhost.evil.example",
        "file://localhost",
        "localhost",
    ] {
        check(&server, origin, from(origin), refused(403).without(ALLOW_ORIGIN)).await;
    }
    let duplicate = post_with("Origin: http://localhost\r\nOrigin: http://localhost\r\n", CALL);
    check(&server, "two origins", duplicate, refused(400).without(ALLOW_ORIGIN)).await;
    let same_port = post_lines(
        "Host: localhost:8080\r\nOrigin: http://localhost:8080\r\nContent-Type: application/json\r\n",
    );
    check(&server, "the same port", same_port, served()).await;
}

/// Valid and invalid entries of the lists of hosts and origins.
#[test]
fn parses_hosts_and_origins() {
    #[track_caller]
    fn check<T>(text: &str, expected: Result<&str, &str>)
    where
        T: FromStr<Err: Error> + Into<String>,
    {
        let parsed = text.parse::<T>().map(Into::into).map_err(|error| {
            let cause = error.source().map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        });
        match expected {
            Ok(entry) => assert_eq!(parsed, Ok(entry.to_owned()), "{text}"),
            Err(part) => {
                let error = parsed.expect_err(text);
                assert!(error.contains(part), "{text}: no {part:?} in {error:?}");
            }
        }
    }

    for (host, expected) in [
        ("example.com", Ok("example.com")),
        ("API.Example.com", Ok("api.example.com")),
        ("my_host-1", Ok("my_host-1")),
        ("Example.com.", Ok("example.com")),
        ("example.com.:8080", Err("use `example.com`")),
        ("https://example.com./rpc", Err("use `example.com`")),
        ("192.0.2.1", Ok("192.0.2.1")),
        ("[::1]", Ok("[::1]")),
        ("[2001:DB8:0:0:0:0:0:1]", Ok("[2001:db8::1]")),
        ("", Err("empty")),
        ("example.com:8080", Err("use `example.com`")),
        ("[::1]:8080", Err("use `[::1]`")),
        ("::1", Err("use `[::1]`")),
        ("2001:db8::1:8080", Err("use `[2001:db8::1:8080]`")),
        ("https://example.com", Err("use `example.com`")),
        ("https://example.com:8080/rpc", Err("use `example.com`")),
        ("example.com/", Err("use `example.com`")),
        ("*", Err("invalid host")),
        ("*.example.com", Err("invalid host")),
        ("user@example.com", Err("invalid host")),
        ("bücher.example", Err("xn--")),
        ("a b", Err("invalid host")),
        ("[::1", Err("invalid host")),
        ("[fe80::1%eth0]", Err("invalid host")),
        (":80", Err("invalid host")),
        ("https://", Err("invalid host")),
    ] {
        check::<Host>(host, expected);
    }
    for (origin, expected) in [
        ("*", Ok("*")),
        ("https://app.example.com", Ok("https://app.example.com")),
        ("HTTPS://App.Example.com:8443", Ok("https://app.example.com:8443")),
        ("http://localhost:3000", Ok("http://localhost:3000")),
        ("https://app.example.com.", Ok("https://app.example.com")),
        ("https://app.example.com.:8443", Ok("https://app.example.com:8443")),
        ("http://[0:0:0:0:0:0:0:1]:3000", Ok("http://[::1]:3000")),
        ("chrome-extension://abcdef", Ok("chrome-extension://abcdef")),
        ("", Err("empty")),
        ("app.example.com", Err("use `https://app.example.com`")),
        ("localhost:3000", Err("use `https://localhost:3000`")),
        ("//app.example.com", Err("scheme")),
        ("https://app.example.com/", Err("use `https://app.example.com`")),
        ("https://app.example.com:8443/a?b", Err("use `https://app.example.com:8443`")),
        ("https://app.example.com:443", Err("use `https://app.example.com`")),
        ("http://app.example.com:80", Err("use `http://app.example.com`")),
        ("http://app.example.com:443", Ok("http://app.example.com:443")),
        ("https://app.example.com:080", Err("port")),
        ("https://app.example.com:+5", Err("port")),
        ("https://app.example.com:", Err("port")),
        ("https://app.example.com:99999", Err("port")),
        ("https://user@app.example.com", Err("invalid host")),
        ("https://*.example.com", Err("invalid host")),
        ("https://::1", Err("use `[::1]`")),
        ("https://", Err("empty")),
        ("null", Err("sandboxed")),
    ] {
        check::<Origin>(origin, expected);
    }
}

#[tokio::test]
async fn sends_cors_headers_to_listed_origins_only() {
    let server = serve_pages().await;
    let origin = "Origin: https://shared.example\r\n";
    let shared = |expected: Expected| {
        expected.with(ALLOW_ORIGIN, "https://shared.example").with("vary", "origin").with(
            "access-control-expose-headers",
            "retry-after,www-authenticate,x-request-id,etag,mcp-session-id",
        )
    };
    let no_type = post_lines(&format!("Host: localhost\r\n{origin}"));
    check(&server, "a result", post_with(origin, CALL), shared(served())).await;
    check(&server, "a wrong type", no_type, shared(refused(415))).await;
    check(&server, "a wrong path", bare("POST", "/nope", origin), shared(refused(404))).await;
    check(&server, "a wrong method", bare("GET", "/", origin), shared(refused(405))).await;
    let large = post_with(origin, [b' '; 1_001]);
    check(&server, "too large", large, shared(refused(413)).closing()).await;
}

/// A cache must not reuse a reply to one origin for another.
#[tokio::test]
async fn replies_without_cors_headers_vary_by_origin() {
    let server = serve_pages().await;
    let withheld = |expected: Expected| expected.with("vary", "origin").without(ALLOW_ORIGIN);
    let listed = post_with("Origin: https://listed.example\r\n", CALL);
    let evil = post_with("Origin: https://evil.example\r\n", CALL);
    check(&server, "no origin", post(CALL), withheld(served())).await;
    check(&server, "an origin that may only call", listed, withheld(served())).await;
    check(&server, "an origin that may not", evil, withheld(refused(403))).await;
    check(&server, "a wrong path", bare("POST", "/nope", ""), withheld(refused(404))).await;
    check(&server, "OPTIONS", bare("OPTIONS", "/", ""), withheld(empty(200))).await;

    let server = serve(on_loopback()).await;
    check(&server, "without CORS", post(CALL), served().without("vary")).await;
}

#[tokio::test]
async fn replies_to_preflights_before_checking_the_origin() {
    let server = serve_pages().await;
    let preflight = |origin: &str| {
        let lines = format!("Origin: {origin}\r\nAccess-Control-Request-Method: POST\r\n");
        bare("OPTIONS", "/", &lines)
    };
    let granted = empty(200)
        .with(ALLOW_ORIGIN, "https://shared.example")
        .with("access-control-allow-methods", "POST")
        .with("access-control-max-age", "600");
    check(&server, "shared", preflight("https://shared.example"), granted).await;
    for origin in ["https://evil.example", "https://listed.example", "null", "http://localhost"] {
        check(&server, origin, preflight(origin), empty(200).without(ALLOW_ORIGIN)).await;
    }
}

#[tokio::test]
async fn methods_and_paths() {
    let server = serve(on_loopback()).await;
    let allow = |expected: Expected| expected.with("allow", "POST");
    for method in ["GET", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "post", "POSTS"] {
        check(&server, method, bare(method, "/", ""), allow(refused(405))).await;
    }
    check(&server, "OPTIONS of *", bare("OPTIONS", "*", ""), refused(404)).await;
    for target in ["/nope", "//", "/%2F", "/rpc", "/."] {
        check(&server, target, post_target(target), refused(404)).await;
    }
    check(&server, "a query", post_target("/?method=sum"), served()).await;
    check(&server, "empty lines first", format!("\r\n\r\n{}", post_target("/")), served()).await;
    let upgrade =
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    check(&server, "an upgrade that is not taken", post_with(upgrade, CALL), served()).await;
    let tunnel = bare("CONNECT", "localhost:80", "");
    check_once(&server, "a tunnel", tunnel, refused(404)).await;
    check(&server, "OPTIONS elsewhere", bare("OPTIONS", "/nope", ""), refused(404)).await;
    check(&server, "POST of *", post_target("*"), refused(404)).await;

    let mut client = Client::connect(server.local_addr()).await;
    client.send(bare("HEAD", "/", "")).await;
    let reply = client.head().await;
    assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
    served().check("HEAD has no body", &client.ask(post(CALL)).await);
}

#[tokio::test]
async fn media_types() {
    let server = serve(on_loopback()).await;
    for media in [
        "application/json",
        "application/json-rpc",
        "application/jsonrequest",
        "APPLICATION/JSON; CHARSET=UTF-8",
        "application/json;charset=utf-8",
        "application/json ; charset=\"utf-8\"",
        "application/json; charset=utf-8; profile=\"a;b\"",
        "application/json; odd=\"quoted \\\" text; charset=latin1\"",
        "application/json;",
        "application/json; ; charset=utf-8",
    ] {
        check(&server, media, post_type(media), served()).await;
    }
    for media in [
        "",
        "json",
        "application",
        "application/",
        "application/*",
        "*/*",
        "text/plain",
        "text/plain;application/json",
        "application/json-patch+json",
        "application/vnd.api+json",
        "application/jsonx",
        "application/json, application/json",
        "application/json; charset=latin1",
        "application/json; charset=utf-16",
        "application/json; charset=utf-8; charset=latin1",
        "application/json; charset=",
        "application/json; charset",
        "application/json; charset=\"utf-8",
        "application/json; charset=utf-8 profile=x",
        "application/json; =utf-8",
        "application/json charset=utf-8",
        "multipart/form-data; boundary=x",
    ] {
        check(&server, media, post_type(media), refused(415)).await;
    }
    let duplicate = post_with("Content-Type: application/json\r\n", CALL);
    check(&server, "two types", duplicate, refused(400)).await;
}

#[tokio::test]
async fn codings_and_expectations() {
    let server = serve(on_loopback()).await;
    let coded = |coding: &str| post_with(&format!("Content-Encoding: {coding}\r\n"), CALL);
    check(&server, "identity", coded("Identity"), served()).await;
    for coding in ["gzip", "br", "x", "identity, gzip"] {
        let expected = refused(415).with("accept-encoding", "identity");
        check(&server, coding, coded(coding), expected).await;
    }
    for (expectation, expected) in [
        ("200-ok", refused(417)),
        ("100-continue, x", refused(417)),
        ("100-continue\r\nExpect: x", refused(417)),
        ("x\r\nExpect: 100-continue", refused(417)),
        ("", refused(417)),
    ] {
        let request = post_with(&format!("Expect: {expectation}\r\n"), CALL);
        check(&server, expectation, request, expected).await;
    }
}

#[tokio::test]
async fn sends_100_continue_only_for_acceptable_bodies() {
    let server = serve(HttpConfig { max_body: 1_000, ..on_loopback() }).await;
    let head = |headers: &str, length: usize| {
        let expects = format!("{headers}Expect: 100-Continue\r\nContent-Length: {length}\r\n");
        bare("POST", "/", &expects)
    };
    let json = "Content-Type: application/json\r\n";

    let mut client = Client::connect(server.local_addr()).await;
    assert_eq!(client.ask(head(json, CALL.len())).await.status, 100);
    served().check("accepted", &client.ask(CALL).await);

    for (name, head, status) in [
        ("too large", head(json, 1_001), 413),
        ("a wrong type", head("Content-Type: text/plain\r\n", 1), 415),
        ("compressed", head(&format!("{json}Content-Encoding: gzip\r\n"), 1), 415),
        ("a foreign page", head(&format!("{json}Origin: null\r\n"), 1), 403),
    ] {
        let mut client = Client::connect(server.local_addr()).await;
        refused(status).check(name, &client.ask(head).await);
    }
}

#[tokio::test]
async fn tokens() {
    let mut settings = on_loopback();
    settings.bearer.allow("secret");
    settings.bearer.allow("another-secret");
    let server = serve(settings).await;
    let with = |value: &str| {
        let request = post_with(&format!("Authorization: {value}\r\n"), CALL);
        String::from_utf8(request).unwrap()
    };
    for value in ["Bearer secret", "bearer secret", "BEARER  another-secret "] {
        let mut client = Client::connect(server.local_addr()).await;
        served().check(value, &client.ask(with(value)).await);
    }
    let missing = "Bearer";
    let invalid = "Bearer error=\"invalid_token\"";
    for (value, challenge) in [
        ("Basic c2VjcmV0", missing),
        ("secret", missing),
        ("Bearer", missing),
        ("Bearersecret", missing),
        ("Bearer wrong", invalid),
        ("Bearer secre", invalid),
        ("Bearer secrets", invalid),
        ("Bearer SECRET", invalid),
        ("Bearer secret another-secret", invalid),
        ("Bearer secret\r\nAuthorization: Bearer secret", missing),
    ] {
        let mut client = Client::connect(server.local_addr()).await;
        let expected = refused(401).with("www-authenticate", challenge);
        expected.check(value, &client.ask(with(value)).await);
        served().check(value, &client.ask(with("Bearer secret")).await);
    }
    let mut client = Client::connect(server.local_addr()).await;
    refused(401).with("www-authenticate", missing).check("none", &client.ask(post(CALL)).await);
}

#[tokio::test]
async fn a_replaced_configuration_applies_to_open_connections() {
    let config = |token: &str| {
        let mut config = on_loopback();
        config.bearer.allow(token);
        config
    };
    let request = |token| post_with(&format!("Authorization: Bearer {token}\r\n"), CALL);
    let rpc = service::router(Limits::default()).build().unwrap();
    let service = rpc.http_with(config("old"));
    let server = serve_with(service.clone(), server::ServerConfig::default()).await;
    let mut client = Client::connect(server.local_addr()).await;
    served().check("before", &client.ask(request("old")).await);
    service.replace_config(config("new"));
    refused(401).check("the old token", &client.ask(request("old")).await);
    served().check("the new token", &client.ask(request("new")).await);
}

#[tokio::test]
async fn refuses_large_bodies() {
    let server = serve(HttpConfig { max_body: 1_000, ..on_loopback() }).await;
    let over = " ".repeat(1_001);
    let at_limit = format!("{CALL:1000}");
    let in_chunks = |body: &str| {
        let half = |part: &str| format!("{:x}\r\n{part}\r\n", part.len());
        let (one, other) = body.split_at(500);
        chunked("", &format!("{}{}0\r\n\r\n", half(one), half(other)))
    };
    check(&server, "at the limit", post(&at_limit), served()).await;
    check(&server, "over the limit", post(&over), refused(413).closing()).await;
    check(&server, "at the limit in chunks", in_chunks(&at_limit), served()).await;
    check(&server, "over the limit in chunks", in_chunks(&over), refused(413).closing()).await;

    let announced = bare("POST", "/", "Content-Type: application/json\r\nContent-Length: 1001\r\n");
    check(&server, "only announced", announced, refused(413).closing()).await;
    let endless = chunked("", &format!("3e9\r\n{over}\r\n"));
    check(&server, "without an end", endless, refused(413).closing()).await;
}

/// Closing a socket with unread bytes resets the connection, and the client may lose the reply. The server therefore
/// reads further bytes for a while.
#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    let server = serve(on_loopback()).await;
    let length = "Content-Length: 9000000\r\n";
    let json = &format!("Content-Type: application/json\r\n{length}");
    let megabytes = "x".repeat(8_000_000);
    for (name, head, expected) in [
        ("413", bare("POST", "/", json), refused(413).closing()),
        ("400", chunked("", "zz\r\n"), refused(400).closing()),
        ("404", bare("POST", "/nope", json), refused(404)),
        ("405", bare("PUT", "/", json), refused(405)),
        ("415", bare("POST", "/", length), refused(415)),
        ("431", "POST / HTTP/1.1\r\nHost: ".to_owned(), refused_by_hyper(431)),
    ] {
        let mut client = Client::connect(server.local_addr()).await;
        let sent = client.try_send(format!("{head}{megabytes}")).await;
        sent.unwrap_or_else(|error| panic!("{name}: the server must read the body: {error}"));
        expected.check(name, &client.reply().await);
    }
}

#[tokio::test]
async fn times_out_stalled_bodies() {
    let settings = HttpConfig { body_timeout: Some(Duration::from_millis(100)), ..on_loopback() };
    let server = serve(settings).await;
    let half = &post(CALL)[..100];
    check(&server, "half a body", half, refused(408).closing()).await;
    check(&server, "half a chunk", chunked("", "3d\r\n{"), refused(408).closing()).await;
}

#[tokio::test]
async fn refuses_incomplete_bodies() {
    let server = serve(on_loopback()).await;
    let whole = post(CALL);
    for (name, request, expected) in [
        ("half a body", whole[..100].to_vec(), refused(400).closing()),
        ("half a chunk", chunked("", "3d\r\n{").into_bytes(), refused(400).closing()),
        ("no last chunk", chunked("", "2\r\n{}\r\n").into_bytes(), refused(400).closing()),
        ("a complete body", whole, served()),
    ] {
        let mut client = Client::connect(server.local_addr()).await;
        client.send(request).await;
        client.finish().await;
        expected.check(name, &client.reply().await);
        assert_eq!(client.rest().await, b"", "{name}: nothing follows");
    }
}

#[tokio::test]
async fn refuses_invalid_chunks() {
    let server = serve(on_loopback()).await;
    for (name, body) in [
        ("a size that is not a number", "zz\r\n{}\r\n0\r\n\r\n"),
        ("a size over 64 bits", "fffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
        ("a negative size", "-2\r\n{}\r\n0\r\n\r\n"),
        ("no size", "\r\n{}\r\n0\r\n\r\n"),
        ("a chunk longer than its size", "1\r\n{}\r\n0\r\n\r\n"),
        ("a line that ends in LF only", "2\n{}\n0\n\n"),
    ] {
        check(&server, name, chunked("", body), refused(400).closing()).await;
    }
    let extended = format!("{:x};name=value\r\n{CALL}\r\n0\r\nTrailer: x\r\n\r\n", CALL.len());
    check(&server, "extensions and trailers", chunked("", &extended), served()).await;
}

/// Unknown transfer codings are refused (RFC 9112, section 6.1).
#[tokio::test]
async fn transfer_codings() {
    let server = serve(on_loopback()).await;
    let coded = |coding: &str| chunked("", &chunks()).replacen("chunked", coding, 1);
    check(&server, "any case", coded("Chunked"), served()).await;
    for coding in ["gzip, chunked", "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked"] {
        check(&server, coding, coded(coding), refused(501).closing()).await;
    }
}

/// hyper resolves these cases itself. Other servers may not.
#[tokio::test]
async fn refuses_ambiguous_framing_in_any_server() {
    let service = service::router(Limits::default()).build().unwrap().http();
    for (name, lines) in [
        ("length and chunks", [("content-length", "61"), ("transfer-encoding", "chunked")]),
        ("two lengths", [("content-length", "61"), ("content-length", "61")]),
    ] {
        let mut request = http::Request::post("/").header("host", "localhost");
        for (header, value) in lines {
            request = request.header(header, value);
        }
        let request = request.body(Full::new(Bytes::from(CALL))).unwrap();
        let response = service.handle(request).await;
        assert_eq!(response.status(), 400, "{name}");
        assert_eq!(response.headers()["connection"], "close", "{name}");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        check_refusal(name, 400, &serde_json::from_slice(&body).unwrap());
    }
}

#[tokio::test]
async fn requests_that_hyper_refuses() {
    let server = serve(on_loopback()).await;
    let headers =
        |count: usize| (0..count).map(|index| format!("X-{index}: x\r\n")).collect::<String>();
    let length = |lines: &str| {
        let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        format!("{head}{lines}\r\n{CALL}")
    };
    let http_1_0 = |request: String| request.replacen("HTTP/1.1", "HTTP/1.0", 1);
    let rows: [(&str, String, u16); 20] = [
        ("conflicting lengths", length("Content-Length: 61\r\nContent-Length: 5\r\n"), 400),
        ("lengths in a list", length("Content-Length: 61, 61\r\n"), 400),
        ("a length that is not a number", length("Content-Length: abc\r\n"), 400),
        ("a signed length", length("Content-Length: +61\r\n"), 400),
        ("a negative length", length("Content-Length: -1\r\n"), 400),
        ("an empty length", length("Content-Length: \r\n"), 400),
        ("a length over 64 bits", length("Content-Length: 18446744073709551616\r\n"), 400),
        ("chunked in HTTP/1.0", http_1_0(chunked("", &chunks())), 400),
        ("gzip without chunked", length("Transfer-Encoding: gzip\r\n"), 400),
        ("chunked is not last", length("Transfer-Encoding: chunked, gzip\r\n"), 400),
        (
            "chunked, then identity",
            chunked("", &chunks()).replacen(
                "\r\n\r\n",
                "\r\nTransfer-Encoding: identity\r\n\r\n",
                1,
            ),
            400,
        ),
        ("a space before the colon", length("Content-Length : 61\r\n"), 400),
        ("a folded line", length("X: a\r\n b\r\nContent-Length: 61\r\n"), 400),
        ("a control character", length("X: a\0b\r\nContent-Length: 61\r\n"), 400),
        ("no version", "POST /\r\n\r\n".to_owned(), 400),
        ("HTTP/3.0", "POST / HTTP/3.0\r\n\r\n".to_owned(), 400),
        ("not HTTP", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}".to_owned(), 400),
        ("a target over 64 KiB", post_target(&format!("/{}", "a".repeat(1 << 16))), 414),
        ("101 headers", bare("POST", "/", &headers(100)), 431),
        ("a head over 128 KiB", bare("POST", "/", &format!("X: {}\r\n", "x".repeat(1 << 17))), 431),
    ];
    for (name, request, status) in rows {
        check(&server, name, request, refused_by_hyper(status)).await;
    }
    let max = String::from_utf8(post_with(&headers(97), CALL)).unwrap();
    check(&server, "100 headers", max, served()).await;
    let target = format!("/?{}", "a".repeat((1 << 16) - 100));
    check(&server, "a target of almost 64 KiB", post_target(&target), served()).await;
    let large = post_with(&format!("X: {}\r\n", "x".repeat(120_000)), CALL);
    check(&server, "a head of 117 KiB", large, served()).await;
}

/// Transfer-Encoding overrides Content-Length, and the connection closes, so that no part of the body is read as a
/// request (RFC 9112, section 6.3).
#[tokio::test]
async fn content_length_with_chunks_closes_the_connection() {
    let server = serve(on_loopback()).await;
    let smuggled = "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for lines in ["Content-Length: 5\r\n", "Content-Length: 61\r\nX: x\r\n"] {
        let request = chunked(lines, &format!("{}{smuggled}", chunks()));
        check(&server, lines, request, served().closing()).await;
    }
    let after = chunked("", &format!("{}{smuggled}", chunks())).replacen(
        "\r\n\r\n",
        "\r\nContent-Length: 5\r\n\r\n",
        1,
    );
    check(&server, "the length last", after, served().closing()).await;
}

#[tokio::test]
async fn replies_to_pipelined_requests_in_order() {
    let server = serve(on_loopback()).await;
    let mut client = Client::connect(server.local_addr()).await;
    let call =
        |id: usize| format!(r#"{{"jsonrpc":"2.0","method":"echo","params":[{id}],"id":{id}}}"#);
    client.send((0..50).flat_map(|id| post(call(id))).collect::<Vec<u8>>()).await;
    for id in 0..50 {
        let expected = json!({"jsonrpc": "2.0", "result": [id], "id": id});
        assert_eq!(client.reply().await.json(), expected);
    }
}

#[tokio::test]
async fn maps_errors_to_statuses_by_policy() {
    let rpc = service::router(Limits::default()).build().unwrap();
    let call = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":1}}"#)
    };
    let fail = |code: i64| call("fail", &format!(r#"{{"code":{code},"message":"m"}}"#));
    let rows = [
        ("a result", CALL.to_owned(), 200, 200),
        ("not JSON", "{".to_owned(), 200, 400),
        ("not a request", "{}".to_owned(), 200, 400),
        ("an empty batch", "[]".to_owned(), 200, 400),
        ("no method", call("nope", "[]"), 200, 200),
        ("wrong params", call("subtract", "[1]"), 200, 200),
        ("an internal error", fail(code::INTERNAL_ERROR), 200, 500),
        ("an application's error", fail(1), 200, 200),
        ("an application's failure", fail(code::APPLICATION), 200, 500),
        ("an unknown record", fail(code::NOT_FOUND), 200, 200),
        ("a conflict", fail(code::CONFLICT), 200, 200),
        ("no credentials", fail(code::UNAUTHENTICATED), 401, 401),
        ("not allowed", fail(code::FORBIDDEN), 403, 403),
        ("too many", fail(code::RATE_LIMITED), 429, 429),
        ("a batch of refusals", format!("[{}]", fail(code::FORBIDDEN)), 200, 200),
        ("a batch of errors", "[{},1]".to_owned(), 200, 200),
        ("a notification", r#"{"jsonrpc":"2.0","method":"nope"}"#.to_owned(), 204, 204),
    ];
    for (name, body, by_refusal, by_error) in rows {
        let always_ok = if by_refusal == 204 { 204 } else { 200 };
        for (status_policy, status) in [
            (StatusPolicy::AlwaysOk, always_ok),
            (StatusPolicy::ByRefusal, by_refusal),
            (StatusPolicy::ByError, by_error),
        ] {
            let http = rpc.http_with(HttpConfig { status_policy, ..on_loopback() });
            let server = serve_with(http, server::ServerConfig::default()).await;
            let mut client = Client::connect(server.local_addr()).await;
            let reply = client.ask(post(&body)).await;
            assert_eq!(reply.status, status, "{name} with {status_policy:?}");
        }
    }
}
