//! Propagation of trace contexts from callers to handlers and clients.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::task::yield_now;
use tracing::Level;
use trunkline::client::{Client, Http};
use trunkline::http::HttpService;
use trunkline::layers::{Next, TraceLayer, from_fn};
use trunkline::protocol::TraceContext;
use trunkline::{Call, Extension, Router, Rpc, server};

use super::paused;
use super::recorder::{Fields, Recorded, record};
use crate::support::{in_time, serve_with};

const SENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// Methods that return the current trace context.
fn service() -> Rpc {
    Router::new()
        .method("extension", |Extension(context): Extension<TraceContext>| context.to_string())
        .method("now", current)
        .method("later", async || {
            yield_now().await;
            current()
        })
        .build()
        .unwrap()
}

fn current() -> Option<String> {
    TraceContext::current().map(|context| context.to_string())
}

fn post(body: String, traceparents: &[&str]) -> Request<Full<Bytes>> {
    let mut request = Request::post("/").header("host", "localhost");
    for traceparent in traceparents {
        request = request.header("traceparent", *traceparent);
    }
    request.header("content-type", "application/json").body(Full::new(body.into())).unwrap()
}

fn body(method: &str) -> String {
    super::body(method, 1)
}

async fn answer(service: &HttpService, request: Request<Full<Bytes>>) -> Bytes {
    service.handle(request).await.into_body().collect().await.unwrap().to_bytes()
}

/// The trace context in `method`, and its span, if it is called with these headers.
fn call(level: Level, method: &str, traceparents: &[&str]) -> (Option<TraceContext>, Vec<Fields>) {
    let rpc = service();
    let Recorded { output, spans, .. } = record(level, || {
        let request = post(body(method), traceparents);
        paused().block_on(answer(&rpc.http(), request))
    });
    let reply: Value = serde_json::from_slice(&output).unwrap();
    (reply["result"].as_str().map(|text| text.parse().unwrap()), spans)
}

/// Checks that a call with these headers is a child of `SENT`, or begins a new trace.
#[track_caller]
fn check(traceparents: &[&str], is_child: bool) {
    for method in ["extension", "now", "later"] {
        let (seen, spans) = call(Level::DEBUG, method, traceparents);
        let seen = seen.expect("the handler sees a context");
        assert_eq!(spans[0]["trace_id"], seen.trace_id().to_string(), "{traceparents:?} {method}");
        assert_eq!(spans[0]["span_id"], seen.span_id(), "{traceparents:?} {method}");
        assert_eq!(seen.trace_id().to_string() == TRACE, is_child, "{traceparents:?} {method}");
        assert!(!SENT.contains(&seen.span_id()), "the span has a new id");
    }
}

#[test]
fn continues_the_trace_of_a_single_valid_traceparent() {
    let unknown_version = SENT.replacen("00", "7a", 1);
    check(&[SENT], true);
    check(&[&unknown_version], true);
    check(&[], false);
    check(&[""], false);
    check(&[SENT, OTHER], false);
    check(&[SENT, SENT], false);
    check(&[&SENT.to_uppercase()], false);
    check(&[&SENT.replace(TRACE, &"0".repeat(32))], false);
    check(&["\u{e9}"], false);
}

#[test]
fn propagates_the_context_unchanged_without_a_span() {
    let sent: TraceContext = SENT.parse().unwrap();
    for method in ["extension", "now", "later"] {
        assert_eq!(call(Level::WARN, method, &[SENT]), (Some(sent), vec![]), "{method}");
    }
    assert_eq!(call(Level::WARN, "now", &[]), (None, vec![]));
}

#[test]
fn keeps_the_sampling_flag_of_the_caller() {
    for (flags, sampled) in [("00", false), ("01", true), ("03", true)] {
        let sent = format!("{}{flags}", &SENT[..SENT.len() - 2]);
        let (seen, _) = call(Level::DEBUG, "now", &[&sent]);
        assert_eq!(seen.unwrap().is_sampled(), sampled, "{flags}");
        assert!(seen.unwrap().to_string().ends_with(flags), "{flags}");
    }
    let (root, _) = call(Level::DEBUG, "now", &[]);
    assert!(root.unwrap().is_sampled());
}

#[test]
fn the_members_of_a_batch_are_siblings() {
    let members = format!("[{},{}]", body("now"), body("later"));
    let Recorded { spans, .. } = record(Level::DEBUG, || {
        paused().block_on(answer(&service().http(), post(members.clone(), &[SENT])))
    });
    assert_eq!((spans[0]["trace_id"].as_str(), spans[1]["trace_id"].as_str()), (TRACE, TRACE));
    assert_ne!(spans[0]["span_id"], spans[1]["span_id"]);
}

#[test]
fn a_context_from_a_layer_overrides_the_header() {
    let inner = Router::new()
        .method("trace", |Extension(context): Extension<TraceContext>| {
            context.trace_id().to_string()
        })
        .layer(TraceLayer::new())
        .layer(from_fn(async |mut call: Call, next: Next| {
            call.extensions_mut().insert(OTHER.parse::<TraceContext>().unwrap());
            next.run(call).await
        }));
    let service = inner.build().unwrap().http();
    let Recorded { output, .. } =
        record(Level::DEBUG, || paused().block_on(answer(&service, post(body("trace"), &[SENT]))));
    let reply: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(reply["result"], json!("0af7651916cd43dd8448eb211c80319c"));
}

/// A server whose handler `outer` calls `now` through `client`.
fn front(client: Client) -> Rpc {
    let outer = move || {
        let seen = client.call::<Option<String>>("now", ());
        async { seen.await.unwrap() }
    };
    Router::new().method("outer", outer).build().unwrap()
}

/// The result of `outer` if it is called as a child of `SENT`.
async fn ask(client: Client) -> Value {
    let reply = answer(&front(client).http(), post(body("outer"), &[SENT])).await;
    serde_json::from_slice::<Value>(&reply).unwrap()["result"].take()
}

fn in_memory(layer: Option<TraceLayer>) -> Value {
    let client = Client::new(service());
    paused().block_on(ask(layer.into_iter().fold(client, Client::layer)))
}

/// The other server is called over HTTP, on the thread with the subscriber.
fn over_http(layer: Option<TraceLayer>) -> Value {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = serve_with(service().http(), server::ServerConfig::default()).await;
        let client =
            Client::new(Http::connect(&format!("http://{}", server.local_addr())).unwrap());
        in_time("the reply", ask(layer.into_iter().fold(client, Client::layer))).await
    })
}

/// Checks the `rpc.method` of all spans in the order of their ends, and that they are of one trace.
#[track_caller]
fn check_chain(ask: impl Fn() -> Value, expected: &[&str]) {
    let Recorded { spans, .. } = record(Level::DEBUG, ask);
    let of = |field: &str| spans.iter().map(|span| span[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("rpc.method"), expected);
    assert_eq!(of("trace_id"), vec![TRACE; expected.len()]);
    let mut ids = of("span_id");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), expected.len(), "each span has its own id");
}

#[test]
fn calls_of_a_handler_belong_to_its_trace() {
    for ask in [in_memory, over_http] {
        check_chain(|| ask(None), &["now", "outer"]);
        check_chain(|| ask(Some(TraceLayer::client())), &["now", "now", "outer"]);
        check_chain(|| ask(Some(TraceLayer::new())), &["now", "unknown", "outer"]);
    }
}

#[test]
fn a_server_without_spans_propagates_the_trace() {
    for ask in [in_memory, over_http] {
        let Recorded { output, spans, .. } = record(Level::WARN, || ask(None));
        let seen: TraceContext = output.as_str().unwrap().parse().unwrap();
        assert_eq!((seen.trace_id().to_string().as_str(), spans), (TRACE, vec![]));
    }
}

#[test]
fn a_call_in_this_process_begins_a_trace() {
    let Recorded { output, .. } = record(Level::DEBUG, || {
        let rpc = service();
        let seen = paused().block_on(rpc.call::<Option<String>>("now", &()));
        assert_eq!(TraceContext::current(), None, "the context ends with the call");
        seen.unwrap()
    });
    assert!(output.unwrap().parse::<TraceContext>().unwrap().is_sampled());
}
