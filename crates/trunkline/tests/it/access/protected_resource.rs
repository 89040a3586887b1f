//! A service as an OAuth resource: its metadata (RFC 9728), and challenges that refer to it, with keys at a URL.

use serde_json::{Value, json};
use trunkline::access::jwt::{Algorithm, Jwt, JwtConfig, Keys};
use trunkline::access::{Principal, ProtectedResource, ScopeHierarchy, Scopes};
use trunkline::http::HttpConfig;
use trunkline::layers::authorize::{
    DefaultScopes, Requirement, Rules, ScopedOperation, claim, scope,
};
use trunkline::server::{self, ServerHandle};
use trunkline::{ErrorObject, Operation, Router, Rpc, code};

use super::rotation::Issuer;
use super::signer::{Signer, encode};
use super::{call, now, set};
use crate::support::{Client, Reply, on_loopback, post_with, serve_with};

const URL: &str = "https://notes.example/mcp";
const ISSUER: &str = "https://login.example/";
const PATH: &str = "/.well-known/oauth-protected-resource/mcp";
const ROOT: &str = "/.well-known/oauth-protected-resource";
const METADATA: &str =
    r#"resource_metadata="https://notes.example/.well-known/oauth-protected-resource/mcp""#;

fn resource() -> ProtectedResource {
    let mut resource = ProtectedResource::new(URL.parse().unwrap(), [ISSUER]);
    resource.scopes_supported = Scopes::new(["notes:read", "notes:write"]);
    resource.initial_scopes = Scopes::new(["notes:read"]);
    resource.name = Some("Notes".to_owned());
    resource
}

fn rpc() -> Rpc {
    let done = || "done";
    let own = || {
        let error = ErrorObject::new(code::FORBIDDEN, "Forbidden");
        Err::<(), _>(error.with_data(&json!({"scopes": ["a", "not valid", "quo\"te", "a"]})))
    };
    let purge = Operation::new("purge", done).scopes(["notes:write", "notes:purge"]);
    let both: Requirement = scope("notes:audit").and(claim("role", "admin"));
    let rules = Rules::new()
        .require("ruled", scope("notes:ruled"))
        .require("purge", scope("notes:admin"))
        .require("mixed", both)
        .default_scopes(DefaultScopes {
            read_only: Scopes::new(["notes:read"]),
            others: Scopes::new(["notes:write"]),
        });
    Router::new()
        .operation(Operation::new("read", done).read_only())
        .operation(Operation::new("write", done).destructive())
        .operation(Operation::new("undeclared", done))
        .operation(Operation::new("free", done).scopes([""; 0]))
        .operation(Operation::new("own", own).scopes([""; 0]))
        .operation(Operation::new("ruled", done).read_only())
        .operation(Operation::new("mixed", done).read_only())
        .operation(purge)
        .authorize(rules)
        .build()
        .unwrap()
}

/// A server whose keys an issuer publishes.
async fn serve(signer: &Signer) -> ServerHandle {
    let (_, url) = Issuer::serve(set([signer.named_jwk("a")])).await;
    let hierarchy = ScopeHierarchy::new([("notes:write", "notes:read")]);
    let settings =
        JwtConfig { scope_hierarchy: hierarchy.clone(), ..JwtConfig::for_resource(&resource()) };
    let jwt = Jwt::new(Keys::url(url).unwrap(), settings);
    let mut http = HttpConfig {
        bearer: jwt.into(),
        protected_resource: Some(resource()),
        cors_origins: vec!["https://app.example".to_owned()],
        ..on_loopback()
    };
    http.bearer.allow_as("plain", "listed");
    let writer = Principal::new("writer").with_scopes(&Scopes::new(["notes:write"]));
    http.bearer.allow_principal(writer.with_scope_hierarchy(hierarchy), "listed-writer");
    serve_with(rpc().http_with(http), server::ServerConfig::default()).await
}

fn signer() -> Signer {
    Signer::new(Algorithm::Es256)
}

fn token(signer: &Signer, changes: &Value) -> String {
    let mut claims = json!({"sub": "alice", "iss": ISSUER, "aud": URL, "exp": now() + 300});
    for (name, change) in changes.as_object().unwrap() {
        claims[name] = change.clone();
    }
    signer.sign(&json!({"alg": signer.algorithm.name(), "kid": "a"}), &claims)
}

async fn ask(server: &ServerHandle, request: impl AsRef<[u8]>) -> Reply {
    Client::connect(server.local_addr()).await.ask(request).await
}

#[tokio::test]
async fn publishes_metadata() {
    let server = serve(&signer()).await;
    let request =
        |start: &str, lines: &str| format!("{start} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n");
    let own = "Origin: https://app.example\r\n";
    let preflight = format!("{own}Access-Control-Request-Method: GET\r\n");
    let other = "Origin: https://evil.example\r\n";
    let other_preflight = format!(
        "{other}Access-Control-Request-Method: GET\r\n\
         Access-Control-Request-Headers: mcp-protocol-version\r\n"
    );
    let refused = ("cache-control", None);
    let json = ("content-type", Some("application/json"));
    let rows = [
        ("its URL", request(&format!("GET {PATH}"), ""), 200, json),
        ("its origin", request(&format!("GET {ROOT}"), ""), 200, json),
        ("a query", request(&format!("GET {PATH}?a=b"), ""), 200, json),
        (
            "cached",
            request(&format!("GET {PATH}"), ""),
            200,
            ("cache-control", Some("max-age=3600")),
        ),
        (
            "an invalid token",
            request(&format!("GET {PATH}"), "Authorization: Bearer x\r\n"),
            200,
            json,
        ),
        (
            "POST",
            request(&format!("POST {PATH}"), "Content-Length: 0\r\n"),
            405,
            ("allow", Some("GET, HEAD")),
        ),
        (
            "a page that may read",
            request(&format!("GET {PATH}"), own),
            200,
            ("access-control-allow-origin", Some("*")),
        ),
        (
            "a preflight",
            request(&format!("OPTIONS {PATH}"), &preflight),
            200,
            ("access-control-allow-methods", Some("GET, HEAD")),
        ),
        (
            "a preflight of another page",
            request(&format!("OPTIONS {PATH}"), &other_preflight),
            200,
            ("access-control-allow-headers", Some("mcp-protocol-version")),
        ),
        (
            "its origin",
            request(&format!("OPTIONS {PATH}"), &other_preflight),
            200,
            ("access-control-allow-origin", Some("*")),
        ),
        (
            "OPTIONS without a preflight",
            request(&format!("OPTIONS {PATH}"), ""),
            405,
            ("allow", Some("GET, HEAD")),
        ),
        (
            "another page",
            request(&format!("GET {PATH}"), other),
            200,
            ("access-control-allow-origin", Some("*")),
        ),
        (
            "a sandboxed page",
            request(&format!("GET {ROOT}/"), "Origin: null\r\n"),
            200,
            ("access-control-allow-origin", Some("*")),
        ),
        (
            "the authorization server at this host",
            request("GET /.well-known/oauth-authorization-server", other),
            404,
            ("access-control-allow-origin", Some("*")),
        ),
        (
            "the same of OpenID",
            request("GET /.well-known/openid-configuration", other),
            404,
            ("access-control-allow-origin", Some("*")),
        ),
        ("a call of another page", request("GET /", other), 403, refused),
        (
            "another document",
            request("GET /.well-known/security.txt", other),
            404,
            ("access-control-allow-origin", None),
        ),
        (
            "another host",
            format!("GET {PATH} HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
            403,
            refused,
        ),
        ("another path", request(&format!("GET {PATH}/x"), ""), 404, refused),
        ("another resource", request(&format!("GET {ROOT}/rpc"), ""), 404, refused),
    ];
    let expected = json!({
        "resource": URL,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["notes:read", "notes:write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Notes",
    });
    for (name, request, status, (header, value)) in rows {
        let reply = ask(&server, &request).await;
        assert_eq!((reply.status, reply.header(header)), (status, value), "{name}: {reply:?}");
        if status == 200 && request.starts_with("GET") {
            assert_eq!(reply.json(), expected, "{name}");
        }
        assert_eq!(reply.header("www-authenticate"), None, "{name}");
    }
    let mut client = Client::connect(server.local_addr()).await;
    client.send(request(&format!("HEAD {PATH}"), "")).await;
    let head = client.head().await;
    let length = expected.to_string().len().to_string();
    assert_eq!((head.status, head.header("content-length")), (200, Some(length.as_str())));
    let again = client.ask(request(&format!("GET {PATH}"), "")).await;
    assert_eq!(again.json(), expected, "HEAD has no body");
}

#[tokio::test]
async fn other_services_have_no_metadata() {
    let server = serve_with(rpc().http_with(on_loopback()), server::ServerConfig::default()).await;
    let reply = ask(&server, format!("GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
    assert_eq!(reply.status, 404);
}

/// Tokens that are refused before the body is read.
#[tokio::test]
async fn challenges_callers_without_a_valid_token() {
    let signer = signer();
    let server = serve(&signer).await;
    let valid = token(&signer, &json!({"scope": "notes:read"}));
    let parts: Vec<&str> = valid.split('.').collect();
    let none = encode(json!({"alg": "none"}).to_string());
    let signed = |changes: Value| format!("Bearer {}", token(&signer, &changes));
    let missing = || format!("Bearer {METADATA}, scope=\"notes:read\"");
    let invalid = || format!("Bearer error=\"invalid_token\", {METADATA}, scope=\"notes:read\"");
    let because = |why: &str| {
        format!(
            "Bearer error=\"invalid_token\", error_description=\"the token {why}\", {METADATA}, \
             scope=\"notes:read\""
        )
    };
    let rows = [
        ("another scheme", "Basic YTpi".to_owned(), missing()),
        ("no token", "Bearer ".to_owned(), missing()),
        ("expired", signed(json!({"exp": 1})), because("has expired")),
        ("not yet valid", signed(json!({"nbf": now() + 3_600})), because("is not valid yet")),
        ("garbage", "Bearer x".to_owned(), because("is malformed")),
        ("unlisted", "Bearer x.y.z".to_owned(), because("is malformed")),
        ("no expiry", signed(json!({"exp": null})), invalid()),
        ("another audience", signed(json!({"aud": "https://other.example/mcp"})), invalid()),
        ("a parent as audience", signed(json!({"aud": "https://notes.example"})), invalid()),
        ("a child as audience", signed(json!({"aud": format!("{URL}/sub")})), invalid()),
        ("the issuer as audience", signed(json!({"aud": ISSUER})), invalid()),
        ("no audience", signed(json!({"aud": null})), invalid()),
        ("another issuer", signed(json!({"iss": "https://evil.example/"})), invalid()),
        ("the issuer with two slashes", signed(json!({"iss": format!("{ISSUER}/")})), invalid()),
        ("no signature", format!("Bearer {}.{}.", parts[0], parts[1]), invalid()),
        ("alg none", format!("Bearer {none}.{}.", parts[1]), invalid()),
        ("another key", format!("Bearer {}", token(&self::signer(), &json!({}))), invalid()),
    ];
    for (name, authorization, challenge) in rows {
        let headers = format!("Authorization: {authorization}\r\n");
        let reply = ask(&server, post_with(&headers, call("read"))).await;
        assert_eq!(reply.status, 401, "{name}: {reply:?}");
        assert_eq!(reply.header("www-authenticate"), Some(challenge.as_str()), "{name}");
        assert_eq!(reply.json()["error"]["code"], code::UNAUTHENTICATED, "{name}");
    }
    let reply = ask(&server, post_with("", call("read"))).await;
    assert_eq!(reply.header("www-authenticate"), Some(missing().as_str()), "no header");
    let page = "Origin: https://app.example\r\n";
    let reply = ask(&server, post_with(page, call("read"))).await;
    let exposed = reply.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("www-authenticate"), "pages may read the challenge: {exposed}");
}

#[tokio::test]
async fn names_the_scopes_that_a_call_requires() {
    let signer = signer();
    let server = serve(&signer).await;
    let required = |scopes: &str| {
        Some(format!("Bearer error=\"insufficient_scope\", scope=\"{scopes}\", {METADATA}"))
    };
    let generic = || Some(format!("Bearer error=\"insufficient_scope\", {METADATA}"));
    let signed = |changes: Value| token(&signer, &changes);
    let none = || signed(json!({}));
    let read = || signed(json!({"scope": "notes:read"}));
    let write = || signed(json!({"scp": ["notes:write"]}));
    let all = "notes:write notes:purge notes:admin";
    let rows = [
        ("read", read(), None),
        ("read", signed(json!({"scope": "other notes:read"})), None),
        ("read", write(), None),
        ("read", signed(json!({"aud": format!("{URL}/"), "scope": "notes:read"})), None),
        ("read", signed(json!({"iss": "https://login.example", "scope": "notes:read"})), None),
        (
            "read",
            signed(json!({"aud": ["x", "HTTPS://Notes.example:443/mcp"], "scope": "notes:read"})),
            None,
        ),
        ("read", none(), required("notes:read")),
        ("read", signed(json!({"scope": "notes:reading Notes:read"})), required("notes:read")),
        ("read", signed(json!({"scope": {"notes:read": true}})), required("notes:read")),
        ("write", write(), None),
        ("write", read(), required("notes:write")),
        ("undeclared", read(), required("notes:write")),
        ("free", none(), None),
        ("own", none(), required("a")),
        ("ruled", read(), required("notes:ruled notes:read")),
        ("ruled", signed(json!({"scope": "notes:ruled notes:read"})), None),
        ("mixed", read(), generic()),
        ("mixed", signed(json!({"role": "admin", "scope": "notes:audit"})), required("notes:read")),
        // All scopes at once, whichever are missing.
        ("purge", none(), required("notes:admin notes:write notes:purge")),
        (
            "purge",
            signed(json!({"scope": "notes:admin"})),
            required("notes:admin notes:write notes:purge"),
        ),
        (
            "purge",
            signed(json!({"scope": "notes:write notes:purge"})),
            required("notes:admin notes:write notes:purge"),
        ),
        ("purge", signed(json!({"scope": all})), None),
        ("write", "listed".to_owned(), required("notes:write")),
        ("write", "listed-writer".to_owned(), None),
        ("read", "listed-writer".to_owned(), None),
    ];
    for (method, token, challenge) in rows {
        let headers = format!("Authorization: Bearer {token}\r\n");
        let reply = ask(&server, post_with(&headers, call(method))).await;
        let status = if challenge.is_some() { 403 } else { 200 };
        assert_eq!(reply.status, status, "{method}: {reply:?}");
        assert_eq!(reply.header("www-authenticate"), challenge.as_deref(), "{method}");
        let batch = ask(&server, post_with(&headers, format!("[{}]", call(method)))).await;
        assert_eq!((batch.status, batch.header("www-authenticate")), (200, None), "{method}");
        let (single, batch) = (reply.json(), batch.json());
        assert_eq!(batch[0]["error"], single["error"], "{method} in a batch");
    }
    let headers = format!("Authorization: Bearer {}\r\n", read());
    let error = ask(&server, post_with(&headers, call("write"))).await.json()["error"].clone();
    let data =
        json!({"reason": "the token lacks the scope `notes:write`", "scopes": ["notes:write"]});
    assert_eq!(error, json!({"code": -32008, "message": "Forbidden", "data": data}));
}
