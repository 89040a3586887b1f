//! Spans of calls, and what the log is told that the client is not.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::task::yield_now;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber, subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};
use trunkline::layers::Defaults;
use trunkline::{BoxError, ErrorObject, Extensions, Router, Rpc};

use super::paused;

/// What was recorded of a span or an event, by field.
type Fields = BTreeMap<String, String>;

/// Keeps the spans that have closed and the events, up to a level.
#[derive(Clone)]
struct Recorder {
    level: Level,
    spans: Arc<Mutex<Vec<Fields>>>,
    events: Arc<Mutex<Vec<(Level, Fields)>>>,
}

struct FieldsOf<'a>(&'a mut Fields);

impl Visit for FieldsOf<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with("trunkline")
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        let mut fields = Fields::from([("span".to_owned(), metadata.name().to_owned())]);
        fields.insert("level".to_owned(), metadata.level().to_string());
        attributes.record(&mut FieldsOf(&mut fields));
        context.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let mut extensions = span.extensions_mut();
        values.record(&mut FieldsOf(extensions.get_mut::<Fields>().unwrap()));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::new();
        event.record(&mut FieldsOf(&mut fields));
        if let Some(span) = context.event_span(event) {
            let method = span.extensions().get::<Fields>().unwrap()["rpc.method"].clone();
            fields.insert("in".to_owned(), method);
        }
        self.events.lock().unwrap().push((*event.metadata().level(), fields));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let fields = context.span(&id).unwrap().extensions_mut().remove().unwrap();
        self.spans.lock().unwrap().push(fields);
    }
}

fn service() -> Rpc {
    Router::new()
        .function("ok", ["password"], |_: Option<String>| 1)
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

/// What was recorded while a body was answered.
struct Recorded {
    reply: Option<Value>,
    spans: Vec<Fields>,
    events: Vec<(Level, Fields)>,
}

/// Answers `body` and records what is told up to `level`.
fn record(level: Level, body: &str) -> Recorded {
    // A place in the code that another thread meets for the first time while this one begins to
    // listen stays mute. So all places are met first; who begins to listen then asks them again.
    listen(Level::TRACE, body);
    listen(level, body)
}

fn listen(level: Level, body: &str) -> Recorded {
    listen_to(&service(), level, body)
}

fn listen_to(rpc: &Rpc, level: Level, body: &str) -> Recorded {
    let recorder = Recorder { level, spans: Arc::default(), events: Arc::default() };
    let layers = Registry::default().with(recorder.clone());
    let reply = subscriber::with_default(layers, || {
        paused().block_on(rpc.handle(body.to_owned().into(), Extensions::new()))
    });
    Recorded {
        reply: reply.into_json().map(|json| serde_json::from_slice(&json).unwrap()),
        spans: recorder.spans.lock().unwrap().clone(),
        events: recorder.events.lock().unwrap().clone(),
    }
}

/// Compares the spans of `body`, without those fields that all of them have.
#[track_caller]
fn check(body: &str, expected: &[&[(&str, &str)]]) {
    let Recorded { spans, .. } = record(Level::INFO, body);
    let common = [("span", "call"), ("level", "INFO"), ("rpc.system.name", "jsonrpc")];
    let expected: Vec<Fields> = expected
        .iter()
        .map(|fields| {
            common.iter().chain(*fields).map(|(k, v)| ((*k).into(), (*v).into())).collect()
        })
        .collect();
    assert_eq!(spans, expected, "{body}");
}

#[test]
fn each_call_has_one_span_with_the_names_of_opentelemetry() {
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

#[test]
fn params_are_told_at_trace_only() {
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
fn the_cause_of_an_internal_error_is_told_to_the_log_under_the_clients_incident() {
    for (method, cause) in
        [("io", "cannot store: disk on fire"), ("panics", "a handler panicked: the cat walked in")]
    {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#);
        let Recorded { reply, events, .. } = record(Level::INFO, &body);
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
        let Recorded { reply, .. } =
            record(Level::ERROR, r#"{"jsonrpc":"2.0","method":"io","id":1}"#);
        reply.unwrap()["error"]["data"]["incident"].to_string()
    };
    let incidents: HashSet<_> = (0..50).map(incident).collect();
    assert_eq!(incidents.len(), 50, "each has its own");
}

#[test]
fn the_request_id_of_http_is_recorded() {
    let body = r#"{"jsonrpc":"2.0","method":"ok","id":1}"#;
    listen(Level::TRACE, body);
    let recorder = Recorder { level: Level::INFO, spans: Arc::default(), events: Arc::default() };
    let layers = Registry::default().with(recorder.clone());
    let request = Request::post("/")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("x-request-id", "seven")
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let reply =
        subscriber::with_default(layers, || paused().block_on(service().http().handle(request)));
    assert_eq!(reply.status(), 200);
    let spans = recorder.spans.lock().unwrap();
    assert_eq!(spans[0].get("http.request.id").map(String::as_str), Some("seven"));
}

#[test]
fn there_is_no_span_when_tracing_is_off() {
    let rpc = |trace| {
        let defaults = Defaults { trace, ..Defaults::default() };
        Router::new().method("ok", || 1).default_layers(defaults).build().unwrap()
    };
    let body = r#"{"jsonrpc":"2.0","method":"ok","id":1}"#;
    listen_to(&rpc(true), Level::TRACE, body);
    assert_eq!(listen_to(&rpc(true), Level::INFO, body).spans.len(), 1);
    assert_eq!(listen_to(&rpc(false), Level::INFO, body).spans.len(), 0);
}
