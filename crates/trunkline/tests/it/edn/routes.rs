//! Routes of other protocols: the formats of their messages, and their names in history.

use axum::extract::State;
use axum::routing::{MethodRouter, get};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};
use trunkline::history::{Filter, History};
use trunkline::http::{
    Context, HttpConfig, HttpService, Message, ReplyBody, Routes, StatusPolicy, respond,
};
use trunkline::protocol::{FORMATS, Format};
use trunkline::server::{self, ServerHandle};
use trunkline::{ErrorObject, Json, Limits, RawParams, Router, Rpc, code};

use crate::support::{Client, Reply, in_time, on_loopback, serve_with};

const JSON: &str = "application/json";
const EDN: &str = "application/edn; charset=utf-8";

/// A protocol with requests `{"input": …}` and replies `{"output": …}` or `{"error": …}`, next to JSON-RPC. The
/// reply to `{"raw": …}` is that text.
fn parrot(rpc: &Rpc, path: &str, formats: &'static [Format]) -> Routes {
    let router = axum::Router::new().route(path, get(greet).post(answer)).with_state(rpc.clone());
    Routes::new("parrot", router)
        .formats(formats)
        .protocol("squawk")
        .refusals(|error| json!({ "error": error.message() }).to_string().into_bytes())
}

async fn greet(context: Context) -> Response<ReplyBody> {
    format_reply(context.format, Ok(r#"{"output":"hello"}"#.to_owned()))
}

async fn answer(State(rpc): State<Rpc>, message: Message) -> Response<ReplyBody> {
    let Message { extensions, body, formats, status_policy, .. } = message;
    let read = formats.request.read(body.clone(), rpc.limits());
    let message = read.map_err(ErrorObject::from).and_then(|json| {
        let unreadable = |_| ErrorObject::new(code::PARSE_ERROR, "Parse error");
        serde_json::from_slice::<Value>(&json).map_err(unreadable)
    });
    let output = match message {
        Ok(message) if message.get("jsonrpc").is_some() => {
            let extensions = extensions.with_protocol("jsonrpc");
            let reply = rpc.handle_in(formats, body, extensions).await;
            return respond(status_policy.status(&reply), reply);
        }
        Ok(message) if message.get("raw").is_some() => {
            Ok(message["raw"].as_str().unwrap_or_default().to_owned())
        }
        Ok(message) => {
            let call = json!({ "jsonrpc": "2.0", "method": "echo", "params": message, "id": 1 });
            let reply = rpc.handle(call.to_string().into(), extensions).await;
            let reply: Value = serde_json::from_slice(&reply.into_json().unwrap()).unwrap();
            Ok(json!({ "output": reply["result"]["input"] }).to_string())
        }
        Err(error) => Err(error),
    };
    format_reply(formats.reply, output)
}

fn format_reply(format: Format, output: Result<String, ErrorObject>) -> Response<ReplyBody> {
    let written = output.and_then(|output| Ok(format.write(output.into_bytes())?));
    let (status, text) = written.map_or_else(
        |error| {
            let output = json!({ "error": error.message(), "code": error.code() }).to_string();
            (StatusCode::BAD_REQUEST, format.write(output.into_bytes()).unwrap())
        },
        |text| (StatusCode::OK, text),
    );
    let mut response = Response::new(ReplyBody::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    response
}

/// `/parrot` supports both formats, `/json` only JSON.
fn service(settings: HttpConfig) -> (HttpService, History) {
    let history = History::new(Default::default());
    let limits = Limits { depth: 5, ..Limits::default() };
    let router = Router::new()
        .method("echo", |params: RawParams| Json(params.0))
        .method("refuse", || Err::<(), _>(ErrorObject::new(code::APPLICATION, "no")));
    let rpc = router.limits(limits).build().unwrap().with_history(history.clone());
    let service = rpc.http_with(settings).merge(parrot(&rpc, "/parrot", FORMATS)).merge(parrot(
        &rpc,
        "/json",
        &[Format::Json],
    ));
    (service, history)
}

async fn serve(settings: HttpConfig) -> (ServerHandle, History) {
    let (service, history) = service(settings);
    (serve_with(service, server::ServerConfig::default()).await, history)
}

/// `POST /parrot` with these header lines, each with its CRLF.
fn post(media: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /parrot HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

async fn ask(server: &ServerHandle, request: impl AsRef<[u8]>) -> Reply {
    let mut client = Client::connect(server.local_addr()).await;
    in_time("a reply", client.ask(request)).await
}

#[track_caller]
fn check(name: &str, reply: &Reply, status: u16, media: &str, expected: &str) {
    let text = std::str::from_utf8(&reply.body).unwrap();
    let found = (reply.status, reply.header("content-type"), text);
    assert_eq!(found, (status, Some(media), expected), "{name}");
}

#[tokio::test]
async fn messages() {
    let (server, _) = serve(on_loopback()).await;
    let (json, edn) = (JSON, "application/edn");
    let accept_edn = "Accept: application/edn\r\n";
    let accept_json = "Accept: application/json\r\n";
    let rows = [
        (json, "", r#"{"input":[1]}"#, 200, JSON, r#"{"output":[1]}"#),
        (json, accept_edn, r#"{"input":[1]}"#, 200, EDN, "{:output [1]}"),
        (edn, "", "{:input #{a/b}}", 200, EDN, r#"{:output ["a/b"]}"#),
        (edn, "Accept: */*\r\n", "{input \\a}", 200, EDN, r#"{:output "a"}"#),
        (edn, accept_json, r#"{"input" 1.50M}"#, 200, JSON, r#"{"output":1.5}"#),
        // A vector is not a batch here.
        (
            edn,
            "",
            "[{:input 1} ##Inf]",
            400,
            EDN,
            r#"{:code -32603, :error "JSON conversion error"}"#,
        ),
        (edn, "", "{:input #t/x 1}", 400, EDN, r#"{:code -32603, :error "JSON conversion error"}"#),
        (edn, "", "{:input", 400, EDN, r#"{:code -32700, :error "Parse error"}"#),
        (edn, "", "{:input [[[[[[]]]]]]}", 400, EDN, r#"{:code -32700, :error "Parse error"}"#),
        (edn, "", "\u{feff}{:input 1}", 400, EDN, r#"{:code -32700, :error "Parse error"}"#),
        (edn, accept_json, "", 400, JSON, r#"{"code":-32700,"error":"Parse error"}"#),
        (json, "", "{", 400, JSON, r#"{"code":-32700,"error":"Parse error"}"#),
        // JSON with duplicate keys has no representation in EDN.
        (json, "", r#"{"raw":"{\"a\":1,\"a\":2}"}"#, 200, JSON, r#"{"a":1,"a":2}"#),
        (
            json,
            accept_edn,
            r#"{"raw":"{\"a\":1,\"a\":2}"}"#,
            400,
            EDN,
            r#"{:code -32603, :error "JSON conversion error"}"#,
        ),
        (
            json,
            accept_edn,
            r#"{"raw":"{"}"#,
            400,
            EDN,
            r#"{:code -32603, :error "JSON conversion error"}"#,
        ),
    ];
    for (media, headers, body, status, answered, expected) in rows {
        let reply = ask(&server, post(media, headers, body)).await;
        check(&format!("{media} {headers}{body}"), &reply, status, answered, expected);
    }
    for (accept, media, expected) in [
        ("", JSON, r#"{"output":"hello"}"#),
        (accept_json, JSON, r#"{"output":"hello"}"#),
        (accept_edn, EDN, r#"{:output "hello"}"#),
        ("Content-Type: application/edn\r\n", JSON, r#"{"output":"hello"}"#),
    ] {
        let request = format!("GET /parrot HTTP/1.1\r\nHost: localhost\r\n{accept}\r\n");
        check(accept, &ask(&server, request).await, 200, media, expected);
    }
}

#[tokio::test]
async fn json_rpc_on_the_same_route() {
    for (status_policy, failed) in [(StatusPolicy::ByRefusal, 200), (StatusPolicy::ByError, 500)] {
        let (server, _) = serve(HttpConfig { status_policy, ..on_loopback() }).await;
        let call = r#"{:jsonrpc "2.0" :method "echo" :params [:a] :id a/b}"#;
        let reply = ask(&server, post("application/edn", "", call)).await;
        let result = r#"{:jsonrpc "2.0", :result ["a"], :id a/b}"#;
        check(call, &reply, 200, EDN, result);
        let call = r#"{"jsonrpc":"2.0","method":"refuse","id":1}"#;
        let reply = ask(&server, post(JSON, "", call)).await;
        let error = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"},"id":1}"#;
        check(call, &reply, failed, JSON, error);
        let reply = ask(&server, post(JSON, "", r#"{"jsonrpc":"2.0","method":"echo"}"#)).await;
        assert_eq!((reply.status, reply.body.len()), (204, 0), "a notification");
    }
}

/// A refusal is formatted by the protocol, in the format of the reply.
#[tokio::test]
async fn refusals() {
    let mut settings = HttpConfig { max_body: 100, ..on_loopback() };
    settings.bearer.allow("secret");
    let (server, history) = serve(settings).await;
    let token = "Authorization: Bearer secret\r\n";
    let post = |media: &str, body: &str| post(media, token, body);
    let edn = "application/edn";
    let request = post(edn, "{:input 1}");
    let rows = [
        (401, request.replace(token, ""), EDN, r#"{:error "Unauthenticated"}"#),
        (403, request.replace("localhost", "a.example"), EDN, r#"{:error "Forbidden"}"#),
        (405, request.replace("POST", "PUT"), EDN, r#"{:error "Request refused"}"#),
        (413, post(edn, &"x".repeat(101)), EDN, r#"{:error "Request refused"}"#),
        (415, post("text/edn", "{:input 1}"), JSON, r#"{"error":"Request refused"}"#),
        // An endpoint with one format replies in it, whatever is sent and accepted.
        (415, request.replace("/parrot", "/json"), JSON, r#"{"error":"Request refused"}"#),
        (
            413,
            post(JSON, &"x".repeat(101))
                .replace("/parrot", "/json")
                .replace(token, &format!("{token}Accept: application/edn\r\n")),
            JSON,
            r#"{"error":"Request refused"}"#,
        ),
    ];
    for (status, request, media, expected) in rows {
        check(&request, &ask(&server, &request).await, status, media, expected);
        let entry = &history.entries(&Filter::default()).entries[0];
        assert_eq!((entry.endpoint, entry.protocol), ("parrot", "squawk"), "{request}");

        let json = request.replace(token, &format!("{token}Accept: application/json\r\n"));
        let reply = ask(&server, json).await;
        assert_eq!(reply.status, status, "{request}");
        let found = reply.header("content-type");
        assert_eq!(found, Some(if request.contains(token) { JSON } else { media }), "{request}");
    }
}

/// A refusal without a representation in EDN is sent in JSON.
#[tokio::test]
async fn a_refusal_that_is_json_only() {
    let router = axum::Router::new().route("/parrot", MethodRouter::new());
    let routes = Routes::new("odd", router)
        .formats(FORMATS)
        .refusals(|_| br#"{"error":1,"error":2}"#.to_vec());
    let service = Router::new().build().unwrap().http_with(on_loopback()).merge(routes);
    let server = serve_with(service, server::ServerConfig::default()).await;
    let reply = ask(&server, post("application/edn", "", "{:input 1}")).await;
    check("POST", &reply, 405, JSON, r#"{"error":1,"error":2}"#);
}

#[tokio::test]
async fn history_distinguishes_endpoints_and_protocols() {
    let (server, history) = serve(on_loopback()).await;
    let call = r#"{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}"#;
    let rows = [
        (post(JSON, "", r#"{"input":1}"#), ("parrot", "squawk")),
        (post("application/edn", "", "{:input 1}"), ("parrot", "squawk")),
        (post(JSON, "", call), ("parrot", "jsonrpc")),
        (post(JSON, "", call).replace("/parrot", "/"), ("json-rpc", "jsonrpc")),
    ];
    for (request, expected) in rows {
        assert_eq!(ask(&server, &request).await.status, 200, "{request}");
        let entry = &history.entries(&Filter::default()).entries[0];
        assert_eq!((entry.endpoint, entry.protocol), expected, "{request}");
        assert_eq!(entry.method.as_deref(), Some("echo"), "{request}");
    }
}
