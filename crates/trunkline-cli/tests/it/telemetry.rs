//! Traces and metrics at a collector.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::{Value, json};

use crate::call_peer::{Peer, http};
use crate::support::{
    Collector, Model, PATIENCE, Replies, Server, attributes, post, tpch, trunkline,
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00f067aa0ba902b7";

fn traceparent(trace: &str) -> String {
    format!("00-{trace}-{PARENT}-01")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn command(folder: &std::path::Path, collector: &Collector) -> Command {
    let mut command = trunkline(folder);
    command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]);
    collector.attach(&mut command);
    command
}

fn rpc(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "seven", "method": method, "params": params })
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A request, and the span that it causes.
struct Row {
    request: String,
    name: &'static str,
    kind: SpanKind,
    /// The attributes, some of which may be missing in this list.
    attributes: Vec<(&'static str, &'static str)>,
    absent: &'static [&'static str],
    /// The trace, if it is that of the request.
    trace: Option<&'static str>,
    link: Option<&'static str>,
}

#[track_caller]
fn check(server: &Server, collector: &Collector, row: &Row) -> Span {
    let known: Vec<_> = collector.spans().into_iter().map(|span| span.span_id).collect();
    server.connect().ask(&row.request);
    let is_new = |span: &Span| span.name == row.name && !known.contains(&span.span_id);
    let span = collector.span(row.name, is_new);
    let found = attributes(&span.attributes);
    assert_eq!(span.kind, row.kind as i32, "{}: {found:?}", row.name);
    for (name, value) in &row.attributes {
        assert_eq!(found.get(*name).map(String::as_str), Some(*value), "{}: {found:?}", row.name);
    }
    for name in row.absent {
        assert_eq!(found.get(*name), None, "{}: {name}", row.name);
    }
    match row.trace {
        Some(trace) => {
            assert_eq!(hex(&span.trace_id), trace, "{}", row.name);
            assert_eq!(hex(&span.parent_span_id), PARENT, "{}", row.name);
        }
        None => assert_eq!(hex(&span.parent_span_id), "", "{}", row.name),
    }
    let links: Vec<_> = span.links.iter().map(|link| hex(&link.trace_id)).collect();
    assert_eq!(links, row.link.into_iter().collect::<Vec<_>>(), "{}", row.name);
    span
}

#[test]
fn spans_of_calls() {
    let (folder, _) = tpch();
    let collector = Collector::start(Replies::Accepted);
    let mut command = command(folder.path(), &collector);
    command.env("OTEL_SERVICE_NAME", "orders").env("OTEL_RESOURCE_ATTRIBUTES", "team=a,tier=b");
    let server = Server::start(command);
    let header = format!("traceparent: {}", traceparent(TRACE));
    let modern = |params: Value| {
        let headers =
            ["mcp-protocol-version: 2026-07-28", "accept: application/json, text/event-stream"];
        let names = ["mcp-method: tools/call", "mcp-name: query_records"];
        let headers = [&headers[..], &names[..], &[&header]].concat();
        post("/mcp", &headers, &rpc("tools/call", &params))
    };
    let mut meta_with_trace = meta();
    meta_with_trace["traceparent"] = traceparent(OTHER_TRACE).into();
    let mut meta_with_bad_trace = meta();
    meta_with_bad_trace["traceparent"] = "00-bad".into();
    let arguments = json!({ "table_name": "nation" });
    let tool = |meta: Value| {
        modern(json!({ "name": "query_records", "arguments": arguments, "_meta": meta }))
    };
    let jsonrpc = vec![
        ("rpc.system.name", "jsonrpc"),
        ("jsonrpc.protocol.version", "2.0"),
        ("rpc.method", "db.list_tables"),
        ("jsonrpc.request.id", "seven"),
    ];
    let mcp = vec![
        ("rpc.system.name", "jsonrpc"),
        ("rpc.method", "db.query_records"),
        ("jsonrpc.request.id", "seven"),
        ("mcp.method.name", "tools/call"),
        ("mcp.protocol.version", "2026-07-28"),
        ("mcp.client.name", "test"),
        ("mcp.client.version", "1"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "query_records"),
        ("network.transport", "tcp"),
    ];
    let list = post("/", &[], &rpc("db.list_tables", &json!({})));
    let hello = rpc(
        "initialize",
        &json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "legacy", "version": "2" },
        }),
    );
    let opened = server.connect().ask(&post("/mcp", &[], &hello));
    let session = format!("mcp-session-id: {}", opened.header("mcp-session-id").unwrap());
    let legacy = [("mcp.client.name", "legacy"), ("mcp.client.version", "2")];
    let in_session = |method: &str| post("/mcp", &[&session], &rpc(method, &json!({})));
    let row = |request: String, name, attributes: &[_]| Row {
        request,
        name,
        kind: SpanKind::Server,
        attributes: attributes.to_vec(),
        absent: &[],
        trace: None,
        link: None,
    };
    let rows = [
        Row { absent: &["error.type", "mcp.method.name"], ..row(list, "db.list_tables", &jsonrpc) },
        Row {
            trace: Some(TRACE),
            ..row(post("/", &[&header], &rpc("db.list_tables", &json!({}))), "db.list_tables", &[])
        },
        row(
            post("/", &["traceparent: 00-bad"], &rpc("db.list_tables", &json!({}))),
            "db.list_tables",
            &[],
        ),
        row(
            post("/", &[], &rpc("a secret", &json!({}))),
            "unknown",
            &[("rpc.response.status_code", "-32601"), ("error.type", "-32601")],
        ),
        Row {
            trace: Some(TRACE),
            absent: &["error.type"],
            ..row(tool(meta()), "tools/call query_records", &mcp)
        },
        Row {
            trace: Some(OTHER_TRACE),
            link: Some(TRACE),
            ..row(tool(meta_with_trace), "tools/call query_records", &mcp)
        },
        Row {
            trace: Some(TRACE),
            ..row(tool(meta_with_bad_trace), "tools/call query_records", &mcp)
        },
        row(
            post(
                "/",
                &[],
                &rpc(
                    "tools/call",
                    &json!({ "name": "query_records", "arguments": { "table_name": "absent" } }),
                ),
            ),
            "tools/call query_records",
            &[("error.type", "tool_error"), ("gen_ai.tool.name", "query_records")],
        ),
        row(
            post("/", &[], &rpc("tools/list", &json!({}))),
            "tools/list",
            &[("mcp.method.name", "tools/list"), ("jsonrpc.request.id", "seven")],
        ),
        row(post("/", &[], &hello), "initialize", &legacy),
        row(in_session("ping"), "ping", &legacy),
        Row {
            absent: &["mcp.client.name"],
            ..row(post("/mcp", &[], &rpc("ping", &json!({}))), "ping", &[])
        },
        // The tables are listed by an operation, after the request has been dispatched.
        row(
            post("/", &[], &rpc("resources/list", &json!({ "cursor": "resources-99" }))),
            "resources/list",
            &[("rpc.response.status_code", "-32602"), ("error.type", "-32602")],
        ),
        row(
            post("/", &[], &rpc("tools/call", &json!({ "name": "absent" }))),
            "tools/call",
            &[("mcp.method.name", "tools/call"), ("error.type", "-32001")],
        ),
    ];
    for row in &rows {
        check(&server, &collector, row);
    }
    let resource = collector.resource();
    for (name, value) in [("service.name", "orders"), ("team", "a"), ("tier", "b")] {
        assert_eq!(resource.get(name).map(String::as_str), Some(value), "{resource:?}");
    }
}

/// Metrics of several servers are separate series.
#[test]
fn each_process_is_an_instance() {
    let (folder, _) = tpch();
    let instance = |attributes: &str| {
        let collector = Collector::start(Replies::Accepted);
        let mut command = command(folder.path(), &collector);
        command.env("OTEL_RESOURCE_ATTRIBUTES", attributes);
        let server = Server::start(command);
        server.call("db.list_tables", &json!({}));
        let mut resource = collector.resource();
        resource.remove("service.instance.id").unwrap_or_else(|| panic!("{resource:?}"))
    };
    let [first, second] = ["team=a", ""].map(instance);
    assert_ne!(first, second);
    assert_eq!((first.len(), &first[14..15]), (36, "4"), "a UUID of version 4: {first}");
    assert_eq!(instance("service.instance.id=node-1"), "node-1");
}

/// Without tokens, the id of a session is its only credential.
#[test]
fn ids_of_sessions_are_not_in_spans() {
    let (folder, _) = tpch();
    let collector = Collector::start(Replies::Accepted);
    let server = Server::start(command(folder.path(), &collector));
    let accept = "accept: application/json, text/event-stream";
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let opened = server.connect().ask(&post("/mcp", &[accept], &rpc("initialize", &params)));
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let header = format!("mcp-session-id: {session}");
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "list_tables", "arguments": {} })),
    ] {
        server.connect().ask(&post("/mcp", &[accept, &header], &rpc(method, &params)));
    }
    let digests = ["tools/list", "tools/call list_tables"].map(|name| {
        let span = collector.span(name, |span| span.name == name);
        attributes(&span.attributes).get("mcp.session.id").cloned().unwrap_or_default()
    });
    assert_eq!(digests[0], digests[1]);
    assert_eq!(digests[0].len(), 16, "{digests:?}");
    assert!(!format!("{:?}", collector.spans()).contains(&session));
}

#[test]
fn database_spans_are_children_of_calls() {
    let (folder, _) = tpch();
    let collector = Collector::start(Replies::Accepted);
    let server = Server::start(command(folder.path(), &collector));
    for (method, params, summary, operation, table, error) in [
        (
            "query_records",
            json!({ "table_name": "nation" }),
            "SELECT nation",
            "SELECT",
            Some("nation"),
            None,
        ),
        (
            "query_records",
            json!({ "table_name": "absent" }),
            "SELECT absent",
            "SELECT",
            Some("absent"),
            Some("unknown_table"),
        ),
        ("list_tables", json!({}), "list_tables", "list_tables", None, None),
        (
            "execute_raw_query",
            json!({ "query": "SELECT 'a secret'" }),
            "execute_raw_query",
            "execute_raw_query",
            None,
            None,
        ),
    ] {
        server.call(&format!("db.{method}"), &params);
        let span = collector.span(summary, |span| span.name == summary);
        let found = attributes(&span.attributes);
        let expected = [
            ("db.system.name", Some("sqlite")),
            ("db.operation.name", Some(operation)),
            ("db.collection.name", table),
            ("db.query.summary", Some(summary)),
            ("error.type", error),
        ];
        for (name, value) in expected {
            assert_eq!(found.get(name).map(String::as_str), value, "{summary} {name}");
        }
        let parent = collector.span("the call", |one| one.span_id == span.parent_span_id);
        assert_eq!((parent.name, &parent.trace_id), (format!("db.{method}"), &span.trace_id));
        assert!(!format!("{:?}", collector.spans()).contains("a secret"));
    }
}

#[test]
fn metrics_of_calls_and_databases() {
    let (folder, _) = tpch();
    let collector = Collector::start(Replies::Accepted);
    let server = Server::start(command(folder.path(), &collector));
    server.connect().get("/health/ready");
    for _ in 0..3 {
        server.call("db.list_tables", &json!({}));
        server.call("tools/call", &json!({ "name": "list_tables", "arguments": {} }));
    }
    for (name, last_bound, key, value, count) in [
        ("rpc.server.call.duration", 10.0, "rpc.method", "db.list_tables", 6),
        ("mcp.server.operation.duration", 300.0, "gen_ai.tool.name", "list_tables", 3),
        ("db.client.operation.duration", 10.0, "db.operation.name", "list_tables", 6),
    ] {
        let metric = collector.metric(name, |metric| {
            let is_wanted = |(attributes, found): &&(_, u64)| {
                point(attributes, key) == value && *found >= count
            };
            metric.points.iter().any(|point| is_wanted(&point))
        });
        assert_eq!((&*metric.unit, metric.bounds.last()), ("s", Some(&last_bound)), "{name}");
        let values = metric.points.iter().map(|(attributes, _)| attributes);
        assert!(values.clone().all(|one| !one.contains_key("jsonrpc.request.id")), "{metric:?}");
        // Probes are not a part of the metrics.
        let operations = values.map(|attributes| point(attributes, "db.operation.name"));
        assert!(operations.into_iter().all(|name| name != "execute_raw_query"), "{metric:?}");
    }
}

fn point(attributes: &std::collections::BTreeMap<String, String>, key: &str) -> String {
    attributes.get(key).cloned().unwrap_or_default()
}

#[test]
fn an_upstream_continues_the_trace() {
    let (folder, _) = tpch();
    let collector = Collector::start(Replies::Accepted);
    let upstream = Server::start(command(folder.path(), &collector));
    let mut front = command(folder.path(), &collector);
    front.args(["--upstream", &format!("far=http://{}/mcp", upstream.address)]);
    let front = Server::start(front);
    let deadline = Instant::now() + PATIENCE;
    while front.call("far.list_tables", &json!({}))["result"].is_null() {
        assert!(Instant::now() < deadline, "the upstream is not ready");
    }
    let outer = collector.span("far.list_tables", |span| {
        span.name == "far.list_tables" && !attributes(&span.attributes).contains_key("error.type")
    });
    let inner = collector.span("the call of the upstream", |span| {
        span.name == "tools/call list_tables" && span.trace_id == outer.trace_id
    });
    assert_eq!(hex(&inner.parent_span_id), hex(&outer.span_id));
}

#[test]
fn spans_of_an_agent() {
    let (folder, _) = tpch();
    let (collector, model) = (Collector::start(Replies::Accepted), Model::listing());
    let mut command = command(folder.path(), &collector);
    command.args(model.flags());
    let server = Server::start(command);
    let chat = rpc("agent.chat", &json!({ "message": "list the tables" }));
    let reply = server.connect().ask(&post("/api", &[], &chat)).json();
    assert!(reply["result"].is_object(), "{reply}");
    let agent = collector.span("agent", |span| span.name == "invoke_agent trunkline");
    let chat = collector.span("chat", |span| span.name == "chat tiny");
    let tool = collector.span("tool", |span| span.name == "execute_tool db.list_tables");
    for (span, operation, kind) in [
        (&agent, "invoke_agent", SpanKind::Internal),
        (&chat, "chat", SpanKind::Client),
        (&tool, "execute_tool", SpanKind::Internal),
    ] {
        let found = attributes(&span.attributes);
        assert_eq!(found["gen_ai.operation.name"], operation, "{found:?}");
        assert_eq!((span.kind, &span.trace_id), (kind as i32, &agent.trace_id), "{operation}");
    }
    assert_eq!(attributes(&chat.attributes)["gen_ai.request.model"], "tiny");
    for span in [&chat, &tool] {
        assert_eq!(hex(&span.parent_span_id), hex(&agent.span_id), "{}", span.name);
    }
    let is_chat = |(attributes, _): &(_, _)| point(attributes, "gen_ai.operation.name") == "chat";
    let metric = collector
        .metric("gen_ai.client.operation.duration", |metric| metric.points.iter().any(is_chat));
    assert_eq!((&*metric.unit, metric.bounds.len()), ("s", 14));
}

#[test]
fn samples_traces() {
    let (folder, _) = tpch();
    for (flags, variables, header, is_recorded) in [
        (&["--sample-ratio", "0"][..], &[][..], None, false),
        (&["--sample-ratio", "0"], &[], Some("01"), true),
        (&[], &[], Some("00"), false),
        (&[], &[("OTEL_TRACES_SAMPLER", "always_off")], Some("01"), false),
        (&[], &[("OTEL_TRACES_SAMPLER", "always_on")], Some("00"), true),
    ] {
        let collector = Collector::start(Replies::Accepted);
        let mut command = command(folder.path(), &collector);
        command.args(flags).envs(variables.iter().copied());
        let server = Server::start(command);
        let header = header.map(|flags| format!("traceparent: 00-{TRACE}-{PARENT}-{flags}"));
        let headers: Vec<_> = header.iter().map(String::as_str).collect();
        server.connect().ask(&post("/", &headers, &rpc("db.list_tables", &json!({}))));
        // Metrics are independent of sampling.
        collector.metric("rpc.server.call.duration", |metric| !metric.points.is_empty());
        let ended = server.stop();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(
            !collector.spans().is_empty(),
            is_recorded,
            "{flags:?} {variables:?} {header:?}"
        );
    }
}

#[test]
fn exports_the_last_spans_at_the_end() {
    let (folder, _) = tpch();
    let collector = Collector::start(Replies::Accepted);
    let mut command = command(folder.path(), &collector);
    command
        .envs([("OTEL_BSP_SCHEDULE_DELAY", "600000"), ("OTEL_METRIC_EXPORT_INTERVAL", "600000")]);
    let server = Server::start(command);
    server.call("db.list_tables", &json!({}));
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    collector.span("the call", |span| span.name == "db.list_tables");
    collector.metric("rpc.server.call.duration", |metric| !metric.points.is_empty());
}

#[test]
fn a_failing_collector_does_not_slow_calls_and_is_logged_once() {
    const WARNING: &str = "cannot export traces and metrics";
    let (folder, _) = tpch();
    for replies in [Replies::Never, Replies::Status(500)] {
        let collector = Collector::start(replies);
        let mut command = command(folder.path(), &collector);
        command.envs([
            ("OTEL_BSP_MAX_QUEUE_SIZE", "8"),
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "300"),
        ]);
        let server = Server::start(command);
        // Far more than the queue.
        for _ in 0..200 {
            assert!(server.call("db.list_tables", &json!({}))["result"].is_object());
        }
        collector.head();
        let started = Instant::now();
        let ended = server.stop();
        assert_eq!(ended.code, Some(0), "{replies:?}: {}", ended.stderr);
        assert!(started.elapsed() < Duration::from_secs(30), "{replies:?}");
        assert_eq!(ended.stderr.matches(WARNING).count(), 1, "{replies:?}: {}", ended.stderr);
    }
}

#[test]
fn sends_headers_and_refuses_invalid_settings() {
    let (folder, _) = tpch();
    let collector = Collector::start(Replies::Accepted);
    let mut with_headers = command(folder.path(), &collector);
    with_headers.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc,x-team=a");
    let server = Server::start(with_headers);
    server.call("db.list_tables", &json!({}));
    let head = collector.head();
    for header in ["authorization: bearer abc", "x-team: a", "content-type: application/x-protobuf"]
    {
        assert!(head.contains(header), "{head}");
    }
    drop(server);
    for (name, value, problem) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "--otlp-endpoint"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "secret", "NAME=VALUE"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote", "OTEL_TRACES_SAMPLER"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a b=secret", "invalid header `a b`"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "OTEL_EXPORTER_OTLP_TIMEOUT"),
        ("OTEL_BSP_SCHEDULE_DELAY", "0", "use a number of milliseconds"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "-1", "use a number of spans"),
        ("RUST_LOG", "verbose", "`verbose` is not a log level"),
        ("TRUNKLINE_LOG_FORMAT", "xml", "xml"),
        ("TRUNKLINE_SAMPLE_RATIO", "2", "0 to 1"),
    ] {
        let mut command = trunkline(folder.path());
        command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]);
        if name != "OTEL_EXPORTER_OTLP_ENDPOINT" {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
        }
        let ended = crate::support::run(command.env(name, value));
        assert_ne!(ended.code, Some(0), "{name}");
        assert!(ended.stderr.contains(problem), "{name}: {}", ended.stderr);
        assert!(!ended.stderr.contains("secret"), "{name}: {}", ended.stderr);
    }
}

/// The collector refuses the headers, which are in a file that was replaced.
#[test]
fn rotated_headers_are_read_again_when_they_are_refused() {
    let (folder, _) = tpch();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let accepted = Arc::new(Mutex::new("one"));
    let current = Arc::clone(&accepted);
    let collector = Peer::new(move |asked| {
        let is_accepted = asked.header("x-key") == Some(*current.lock().unwrap());
        http(if is_accepted { "200 OK" } else { "401 Unauthorized" }, "")
    });
    let url = &collector.url;
    let text =
        format!("[telemetry]\notlp_endpoint = '{url}'\notlp_headers = {{ file = 'headers' }}\n");
    write("trunkline.toml", &text);
    write("headers", "x-key=one\n");
    let mut command = trunkline(folder.path());
    command.args(["serve", "--db", "tpch.db", "--port", "0"]);
    command.envs([("OTEL_BSP_SCHEDULE_DELAY", "20"), ("OTEL_METRIC_EXPORT_INTERVAL", "50")]);
    let server = Server::start(command);
    let until_sent = |key: &str| {
        let count = |key: &str| {
            collector.asked().iter().filter(|asked| asked.header("x-key") == Some(key)).count()
        };
        let (before, deadline) = (count(key), Instant::now() + PATIENCE);
        while count(key) == before {
            assert!(Instant::now() < deadline, "no export with {key}");
            server.call("db.list_tables", &json!({}));
        }
    };
    until_sent("one");
    write("headers", "x-key=two\n");
    // The file is not read before the headers are refused.
    until_sent("one");
    *accepted.lock().unwrap() = "two";
    until_sent("two");
    let reply = server.connect().ask(&post("/admin/reload", &[], &json!({})));
    assert_eq!(reply.json(), json!({ "applied": [], "restart": [] }));
    let stderr = server.stop().stderr;
    assert!(!stderr.contains("cannot export"), "{stderr}");
}

#[test]
fn an_endpoint_can_be_off_and_is_not_shown() {
    let (folder, _) = tpch();
    for variables in [
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")][..],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"), ("OTEL_SDK_DISABLED", "True")],
    ] {
        let mut command = trunkline(folder.path());
        command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]);
        command.envs(variables.iter().copied());
        assert_eq!(Server::start(command).stop().code, Some(0), "{variables:?}");
    }
    for help in ["-h", "--help"] {
        let mut command = trunkline(folder.path());
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:s3cret@collector");
        let ended = crate::support::run(command.args(["serve", help]));
        assert!(ended.stdout.contains("--otlp-endpoint"), "{}", ended.stdout);
        assert!(!ended.stdout.contains("s3cret"), "{}", ended.stdout);
    }
}

#[test]
fn logs_in_json() {
    let (folder, _) = tpch();
    let mut command = trunkline(folder.path());
    command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    command.env("RUST_LOG", "trace");
    let server = Server::start(command);
    let header = format!("traceparent: {}", traceparent(TRACE));
    server.connect().ask(&post("/", &[&header], &rpc("db.list_tables", &json!({}))));
    let ended = server.stop();
    let lines: Vec<Value> =
        ended.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()));
    assert!(lines.iter().any(|line| line["message"] == "stopping" && line["in_flight"] == 0));
    let in_trace = lines.iter().find(|line| line["trace_id"] == TRACE);
    assert!(in_trace.is_some_and(|line| line["span_id"].is_string()), "{}", ended.stderr);
}

const DOCUMENTATION: &str = include_str!("../../../../docs/operations/observability.md");

#[track_caller]
fn is_documented(name: &str) {
    assert!(DOCUMENTATION.contains(&format!("`{name}`")), "`{name}` is not documented");
}

#[test]
fn attributes_and_metrics_are_documented() {
    let (folder, _) = tpch();
    let (collector, model) = (Collector::start(Replies::Accepted), Model::listing());
    let mut command = command(folder.path(), &collector);
    command.args(model.flags());
    let server = Server::start(command);
    server.call("tools/call", &json!({ "name": "list_tables", "arguments": {} }));
    server.call("db.query_records", &json!({ "table_name": "absent" }));
    let chat = rpc("agent.chat", &json!({ "message": "list the tables" }));
    server.connect().ask(&post("/api", &[], &chat)).json();
    let names = ["rpc.server.call.duration", "gen_ai.client.operation.duration"];
    for name in names {
        collector.metric(name, |metric| !metric.points.is_empty());
    }
    collector.span("a turn", |span| span.name.starts_with("invoke_agent"));
    let metrics = collector.metrics();
    for (name, metric) in &metrics {
        is_documented(name);
        metric
            .points
            .iter()
            .flat_map(|(labels, _)| labels.keys())
            .for_each(|name| is_documented(name));
    }
    for span in collector.spans() {
        attributes(&span.attributes).keys().for_each(|name| is_documented(name));
    }
    let text = String::from_utf8(server.connect().get("/metrics").body).unwrap();
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let families: Vec<_> = families.filter_map(|line| line.split_once(' ')).collect();
    assert!(families.len() >= 15, "{text}");
    for (name, kind) in families {
        is_documented(name);
        let is_counter = kind == "counter";
        assert_eq!(name.ends_with("_total"), is_counter, "{name}");
        assert!(text.contains(&format!("# HELP {name} ")), "{name}");
    }
    for (name, value) in [
        ("trunkline_database_up{database=\"main\",engine=\"sqlite\"}", "1"),
        ("trunkline_component_up{component=\"records\"}", "1"),
        ("trunkline_database_calls_waiting{database=\"main\",engine=\"sqlite\"}", "0"),
    ] {
        assert!(text.contains(&format!("{name} {value}\n")), "{text}");
    }
}
