//! Spans of calls, and log events.

use std::collections::HashSet;
use std::io;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::task::yield_now;
use tracing::Level;
use trunkline::BoxError;
use trunkline::layers::Defaults;
use trunkline::{ErrorObject, Extensions, Params, Router, Rpc};

use super::paused;
use super::recorder::{self, Fields, Recorded};

#[derive(serde::Deserialize)]
struct Login {
    #[serde(rename = "password")]
    _password: Option<String>,
}

fn service() -> Rpc {
    Router::new()
        .method("ok", |_: Params<Login>| 1)
        .method("later", async || {
            yield_now().await;
            Err::<(), _>(ErrorObject::new(7, "no"))
        })
        .method("io", || {
            let source = io::Error::other("disk on fire");
            Err::<(), BoxError>(Box::new(Wrapped(source)))
        })
        .method("panics", || -> () { panic!("the cat walked in") })
        .build()
        .unwrap()
}

#[derive(Debug, thiserror::Error)]
#[error("cannot store")]
struct Wrapped(#[source] io::Error);

/// Handles `body` and records spans and events up to `level`.
fn record(level: Level, body: &str) -> Recorded<Option<Value>> {
    record_of(&service(), level, body)
}

fn record_of(rpc: &Rpc, level: Level, body: &str) -> Recorded<Option<Value>> {
    recorder::record(level, || {
        let reply = paused().block_on(rpc.handle(body.to_owned().into(), Extensions::new()));
        reply.into_json().map(|json| serde_json::from_slice(&json).unwrap())
    })
}

/// Compares the spans of `body`, without the fields that all spans have.
#[track_caller]
fn check(body: &str, expected: &[&[(&str, &str)]]) {
    let Recorded { mut spans, .. } = record(Level::DEBUG, body);
    for span in &mut spans {
        // Random ids, which `traces.rs` checks.
        span.remove("trace_id").expect("a trace id");
        span.remove("span_id").expect("a span id");
    }
    let common = [
        ("span", "call"),
        ("level", "DEBUG"),
        ("rpc.system.name", "jsonrpc"),
        ("jsonrpc.protocol.version", "2.0"),
    ];
    let expected: Vec<Fields> = expected
        .iter()
        .map(|fields| {
            common.iter().chain(*fields).map(|(k, v)| ((*k).into(), (*v).into())).collect()
        })
        .collect();
    assert_eq!(spans, expected, "{body}");
}

#[test]
fn opens_one_span_per_call_with_opentelemetry_names() {
    let method = |name| ("rpc.method", name);
    let id = |id| ("jsonrpc.request.id", id);
    let code = |code| ("rpc.response.status_code", code);
    check(r#"{"jsonrpc":"2.0","method":"ok","id":1.0}"#, &[&[method("ok"), id("1.0")]]);
    check(r#"{"jsonrpc":"2.0","method":"ok","id":"a"}"#, &[&[method("ok"), id("\"a\"")]]);
    check(r#"{"jsonrpc":"2.0","method":"ok"}"#, &[&[method("ok")]]);
    check(
        r#"{"jsonrpc":"2.0","method":"later","id":1}"#,
        &[&[method("later"), id("1"), code("7")]],
    );
    check(
        r#"{"jsonrpc":"2.0","method":"a secret","id":1}"#,
        &[&[method("unknown"), id("1"), code("-32601")]],
    );
    check(r#"{"jsonrpc":"2.0","method":"panics"}"#, &[&[method("panics"), code("-32603")]]);
    check(
        r#"[{"jsonrpc":"2.0","method":"ok","id":1},1,{"jsonrpc":"2.0","method":"ok"}]"#,
        &[&[method("ok"), id("1")], &[method("ok")]],
    );
    check("{}", &[]);
}

/// The version and the id are recorded for JSON-RPC only.
#[test]
fn records_the_protocol() {
    let rpc = service();
    for (extensions, system, version, id) in [
        (Extensions::from_endpoint("stdio"), "jsonrpc", Some("2.0"), Some("1")),
        (Extensions::new().with_protocol("native"), "native", None, None),
        (Extensions::from_endpoint("execute").with_protocol("native"), "native", None, None),
        (
            Extensions::new().with_protocol("native").with_protocol("jsonrpc"),
            "jsonrpc",
            Some("2.0"),
            Some("1"),
        ),
    ] {
        let Recorded { spans, .. } = recorder::record(Level::DEBUG, || {
            let body = r#"{"jsonrpc":"2.0","method":"ok","id":1}"#;
            paused().block_on(rpc.handle(body.into(), extensions.clone()))
        });
        let found = |name| spans[0].get(name).map(String::as_str);
        assert_eq!(found("rpc.system.name"), Some(system));
        assert_eq!(found("jsonrpc.protocol.version"), version, "{system}");
        assert_eq!(found("jsonrpc.request.id"), id, "{system}");
        assert_eq!((spans.len(), found("rpc.method")), (1, Some("ok")), "{system}");
    }
}

#[test]
fn records_params_at_trace_only() {
    let body = r#"{"jsonrpc":"2.0","method":"ok","params":["hunter2"],"id":1}"#;
    let Recorded { spans, events, .. } = record(Level::TRACE, body);
    let params = Fields::from([
        ("message".to_owned(), "params".to_owned()),
        ("params".to_owned(), r#"["hunter2"]"#.to_owned()),
        ("in".to_owned(), "ok".to_owned()),
    ]);
    assert_eq!(events, [(Level::TRACE, params)]);
    assert_eq!(spans.len(), 1);
    let Recorded { spans, events, .. } = record(Level::DEBUG, body);
    assert!(!format!("{spans:?}{events:?}").contains("hunter2"));
    let Recorded { spans, .. } = record(Level::WARN, body);
    assert_eq!(spans, [], "no span below its level");
}

#[test]
fn logs_the_cause_of_an_internal_error_with_its_incident() {
    for (method, cause) in
        [("io", "cannot store: disk on fire"), ("panics", "a handler panicked: the cat walked in")]
    {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#);
        let Recorded { output: reply, events, .. } = record(Level::DEBUG, &body);
        let reply = reply.unwrap();
        let incident = reply["error"]["data"]["incident"].as_str().unwrap();
        let data = json!({ "incident": incident });
        let error = json!({ "code": -32603, "message": "Internal error", "data": data });
        assert_eq!(reply, json!({ "jsonrpc": "2.0", "error": error, "id": 1 }));
        let logged = Fields::from([
            ("message".to_owned(), "internal error".to_owned()),
            ("cause".to_owned(), cause.to_owned()),
            ("incident".to_owned(), incident.to_owned()),
            ("in".to_owned(), method.to_owned()),
        ]);
        assert_eq!(events, [(Level::ERROR, logged)]);
    }
    let incident = |_| {
        let Recorded { output: reply, .. } =
            record(Level::ERROR, r#"{"jsonrpc":"2.0","method":"io","id":1}"#);
        reply.unwrap()["error"]["data"]["incident"].to_string()
    };
    let incidents: HashSet<_> = (0..50).map(incident).collect();
    assert_eq!(incidents.len(), 50, "each has its own");
}

#[test]
fn records_the_request_id_of_http() {
    let Recorded { output: status, spans, .. } = recorder::record(Level::DEBUG, || {
        let body = r#"{"jsonrpc":"2.0","method":"ok","id":1}"#;
        let request = Request::post("/")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("x-request-id", "seven")
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        paused().block_on(service().http().handle(request)).status()
    });
    assert_eq!(status, 200);
    assert_eq!(spans[0].get("http.request.id").map(String::as_str), Some("seven"));
}

#[test]
fn opens_no_span_if_disabled() {
    let rpc = |trace| {
        let defaults = Defaults { trace, ..Defaults::default() };
        Router::new().method("ok", || 1).default_layers(defaults).build().unwrap()
    };
    let body = r#"{"jsonrpc":"2.0","method":"ok","id":1}"#;
    assert_eq!(record_of(&rpc(true), Level::DEBUG, body).spans.len(), 1);
    assert_eq!(record_of(&rpc(false), Level::DEBUG, body).spans.len(), 0);
}
