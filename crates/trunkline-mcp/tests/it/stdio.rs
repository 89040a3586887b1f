//! The stdio transport, through real pipes.

use std::io::{self, Write, pipe};
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::CancellationToken;
use trunkline::stream::StreamError;
use trunkline_mcp::{Mcp, McpConfig};

use crate::support::{
    Gate, Pipes, assert_fits, completed, expanded, in_time, legacy, modern, router, settings, until,
};

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let mut message = legacy(method, params);
    message["id"] = id.into();
    message
}

fn ping(id: impl Into<Value>) -> Value {
    request(id, "ping", json!({}))
}

fn call(id: impl Into<Value>, tool: &str) -> Value {
    request(id, "tools/call", json!({ "name": tool }))
}

fn cancel(id: impl Into<Value>) -> Value {
    let id: Value = id.into();
    let params = json!({ "requestId": id, "reason": "test" });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
}

fn pong(id: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "result": {} })
}

fn error(id: Option<Value>, code: i64) -> Value {
    let mut error = json!({ "jsonrpc": "2.0", "error": { "code": code } });
    if let Some(id) = id {
        error["id"] = id;
    }
    error
}

fn initialize(version: &str) -> Value {
    request("init", "initialize", json!({ "protocolVersion": version }))
}

/// Writes `lines`, ends the input, and compares all that is answered, in the order of the ids.
async fn check(name: &str, lines: impl AsRef<[u8]>, expected: &[Value]) {
    let settings = McpConfig { line_bytes: 64 << 10, ..settings() };
    let mut pipes = Pipes::open(settings);
    pipes.write(lines);
    let (mut replies, ended) = pipes.finish().await;
    assert!(ended.is_ok(), "{name}: {ended:?}");
    replies.sort_by_key(|reply| reply["id"].to_string());
    assert_eq!(replies.len(), expected.len(), "{name}: {replies:?}");
    for (expected, found) in expected.iter().zip(&replies) {
        assert_fits(name, expected, found);
        let has_id = expected.get("id").is_some();
        assert_eq!(found.get("id").is_some(), has_id, "{name}: {found}");
    }
}

#[tokio::test]
async fn each_line_is_a_message() {
    let one = ping(1).to_string();
    let two = ping(2).to_string();
    let long = "x".repeat(64 << 10);
    let rows: Vec<(&str, Vec<u8>, Vec<Value>)> = vec![
        ("nothing", vec![], vec![]),
        ("a line", format!("{one}\n").into(), vec![pong(1)]),
        ("two lines", format!("{one}\n{two}\n").into(), vec![pong(1), pong(2)]),
        ("CRLF", format!("{one}\r\n{two}\r\n").into(), vec![pong(1), pong(2)]),
        ("blank lines", format!("\n\n  \n{one}\n\r\n\t\n{two}\n\n").into(), vec![pong(1), pong(2)]),
        ("a blank last line without its end", format!("{one}\n  \r").into(), vec![pong(1)]),
        ("blank, without its end", "\r".into(), vec![]),
        (
            "responses",
            format!(
                "{}\n{}\n{one}\n",
                r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#
            )
            .into(),
            vec![pong(1)],
        ),
        (
            "an id that is a fraction",
            "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}\n".into(),
            vec![error(None, -32600)],
        ),
        ("a last line without its end", format!("{one}\n{two}").into(), vec![pong(1), pong(2)]),
        ("spaces around", format!("  {one}\t \n").into(), vec![pong(1)]),
        ("not JSON", format!("{{\n{one}\n").into(), vec![pong(1), error(None, -32700)]),
        ("not a request", format!("7\n{one}\n").into(), vec![pong(1), error(None, -32600)]),
        ("not UTF-8", [b"{\"\xff\"}\n", one.as_bytes()].concat(), vec![pong(1), error(None, -32700)]),
        ("too long", format!("{long}x\n{one}\n").into(), vec![pong(1), error(None, -32600)]),
        ("too long, and the last", format!("{one}\n{long}x").into(), vec![pong(1), error(None, -32600)]),
        ("too long by far", format!("{long}{long}{long}\n{one}\n").into(), vec![pong(1), error(None, -32600)]),
        (
            "as long as may be",
            format!("{one}{}\n{two}\n", " ".repeat((64 << 10) - one.len())).into(),
            vec![pong(1), pong(2)],
        ),
        (
            "the id null",
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n".into(),
            vec![error(None, -32600)],
        ),
        ("ids are kept", format!("{}\n{}\n", ping("a"), ping(-7)).into(), vec![pong("a"), pong(-7)]),
        ("no such method", format!("{}\n", request(1, "no/such", json!({}))).into(), vec![error(Some(1.into()), -32601)]),
        ("no such tool", format!("{}\n", call(1, "nope")).into(), vec![error(Some(1.into()), -32602)]),
        ("an operation", format!("{}\n", request(1, "plain", json!({ "x": 1 }))).into(), vec![json!({ "id": 1, "result": { "x": 1 } })]),
        (
            "notifications",
            concat!(
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":[1]}\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"steps\"}}\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"nope\"}}\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":[]}\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\n",
            )
            .into(),
            vec![],
        ),
        (
            "a result with newlines",
            format!("{}\n", call(1, "newlines")).into(),
            vec![json!({ "id": 1, "result": { "structuredContent": { "a": [1, 2] } } })],
        ),
        (
            "an operation's result with newlines",
            format!("{}\n", request(1, "t.newlines", json!({}))).into(),
            vec![json!({ "id": 1, "result": { "a": [1, 2] } })],
        ),
    ];
    for (name, lines, expected) in rows {
        check(name, lines, &expected).await;
    }
}

#[tokio::test]
async fn the_eras_interleave() {
    let [add, older, newer] = [
        json!({ "name": "sum", "arguments": { "a": 1, "b": 2 }, "_meta": "$meta" }),
        json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2099-01-01" } }),
        json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }),
    ];
    let mut plain = add.clone();
    plain.as_object_mut().unwrap().remove("_meta");
    let lines = [
        request(1, "initialize", json!({ "protocolVersion": "2026-07-28" })),
        request(2, "server/discover", json!({ "_meta": "$meta" })),
        request(3, "tools/call", add),
        request(4, "tools/call", plain),
        request(5, "ping", json!({ "_meta": "$meta" })),
        request(6, "tools/list", older),
        request(7, "tools/list", newer),
        request(8, "server/discover", json!({})),
        ping(9),
    ];
    let lines: String =
        lines.iter().map(|line| format!("{}\n", expanded(&line.to_string()))).collect();
    let result = |id: i64, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let sum = json!({ "sum": 3 });
    let supported = json!(["2026-07-28"]);
    let unsupported = json!({ "code": -32022, "data": { "supported": supported } });
    let expected = [
        result(1, json!({ "protocolVersion": "2025-11-25" })),
        result(2, json!({ "supportedVersions": supported, "resultType": "complete" })),
        result(3, json!({ "structuredContent": sum, "resultType": "complete" })),
        result(4, json!({ "structuredContent": sum })),
        error(Some(5.into()), -32601),
        json!({ "id": 6, "error": unsupported }),
        error(Some(7.into()), -32602),
        error(Some(8.into()), -32602),
        pong(9),
    ];
    check("interleaved", lines, &expected).await;
}

#[tokio::test]
async fn batches_are_those_of_one_revision() {
    let batch = json!([ping(1), call(2, "nothing"), request(3, "no/such", json!({}))]);
    let notifications = json!([cancel(1)]);
    for (version, good) in [("2025-03-26", true), ("2025-06-18", false), ("", false)] {
        let mut pipes = Pipes::open(settings());
        if !version.is_empty() {
            pipes.send([&initialize(version)]);
            let reply = pipes.next().await.unwrap();
            assert_eq!(reply["result"]["protocolVersion"], version);
        }
        pipes.send([&batch]);
        let expected = if good {
            let refused = error(Some(3.into()), -32601);
            json!([pong(1), completed(2, "null"), refused])
        } else {
            error(None, -32600)
        };
        assert_fits(version, &expected, &pipes.next().await.unwrap());
        if good {
            pipes.send([&notifications, &json!([initialize("2025-11-25")])]);
            let expected = json!([error(Some("init".into()), -32600)]);
            assert_fits("initialize in a batch", &expected, &pipes.next().await.unwrap());
        }
        assert!(pipes.finish().await.1.is_ok());
    }
}

#[tokio::test]
async fn calls_run_side_by_side() {
    let mut pipes = Pipes::open(settings());
    pipes.send([&call(1, "wait"), &call(2, "wait"), &ping(3)]);
    assert_eq!(pipes.next().await, Some(pong(3)));
    let gate = pipes.gate.clone();
    until("both to wait", || gate.entered() == 2).await;
    gate.open(2);
    let done = [completed(1, "done"), completed(2, "done")];
    assert_fits("both", &json!(done), &json!(pipes.sorted(2).await));
    let (rest, ended) = pipes.finish().await;
    assert_eq!(rest, Vec::<Value>::new());
    assert!(ended.is_ok());
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_has_no_reply() {
    let mut pipes = Pipes::open(settings());
    let gate = pipes.gate.clone();
    for (index, id) in [json!(1), json!("a")].into_iter().enumerate() {
        pipes.send([&call(id.clone(), "wait")]);
        until("the call to wait", || gate.entered() == index + 1).await;
        pipes.send([&cancel(2), &cancel(id.clone())]);
        until("the call to be dropped", || gate.dropped() == index + 1).await;
        // The id can be used again, and a second cancellation has no effect.
        pipes.send([&cancel(id.clone()), &ping(id.clone())]);
        assert_eq!(pipes.next().await, Some(pong(id)));
    }
    let (rest, ended) = pipes.finish().await;
    assert_eq!(rest, Vec::<Value>::new());
    assert!(ended.is_ok());
}

#[tokio::test]
async fn an_id_is_one_request_at_a_time() {
    let mut pipes = Pipes::open(settings());
    let gate = pipes.gate.clone();
    pipes.send([&call(1, "wait")]);
    until("the call to wait", || gate.entered() == 1).await;
    pipes.send([&ping(1)]);
    let refused = pipes.next().await.unwrap();
    assert_fits("the id runs", &error(Some(1.into()), -32600), &refused);
    pipes.send([&ping("1")]);
    assert_eq!(pipes.next().await, Some(pong("1")));
    gate.open(1);
    assert_eq!(pipes.next().await, Some(completed(1, "done")));
    pipes.send([&ping(1)]);
    assert_eq!(pipes.next().await, Some(pong(1)));
    assert!(pipes.finish().await.1.is_ok());
}

#[tokio::test]
async fn concurrent_requests_are_limited() {
    let mut pipes = Pipes::open(McpConfig { in_flight: 2, ..settings() });
    let gate = pipes.gate.clone();
    pipes.send([&call(1, "wait"), &call(2, "wait")]);
    until("both to wait", || gate.entered() == 2).await;
    pipes.send([&ping(3)]);
    assert_fits("full", &error(Some(3.into()), -32005), &pipes.next().await.unwrap());
    pipes.send([&cancel(1)]);
    until("the call to be dropped", || gate.dropped() == 1).await;
    pipes.send([&ping(4)]);
    assert_eq!(pipes.next().await, Some(pong(4)));
    gate.open(1);
    let (rest, ended) = pipes.finish().await;
    assert_eq!(rest, [completed(2, "done")]);
    assert!(ended.is_ok());
}

#[tokio::test]
async fn notifications_run_nothing_and_batches_count_as_well() {
    let mut pipes = Pipes::open(McpConfig { in_flight: 1, ..settings() });
    let gate = pipes.gate.clone();
    pipes.send([&initialize("2025-03-26")]);
    pipes.next().await;
    let mut notification = call(0, "wait");
    notification.as_object_mut().unwrap().remove("id");
    pipes.send(&vec![notification; 100]);
    pipes.send([&json!([call(1, "wait")])]);
    until("the batch to wait", || gate.entered() == 1).await;
    pipes.send([&ping(2)]);
    assert_fits("full", &error(Some(2.into()), -32005), &pipes.next().await.unwrap());
    assert_eq!(gate.entered(), 1);
    gate.open(1);
    assert!(pipes.finish().await.1.is_ok());
}

#[tokio::test]
async fn pending_requests_are_answered_after_closing() {
    let mut pipes = Pipes::open(settings());
    let gate = pipes.gate.clone();
    pipes.send([&call(1, "wait")]);
    until("the call to wait", || gate.entered() == 1).await;
    pipes.closing.cancel();
    gate.open(1);
    assert_eq!(pipes.next().await, Some(completed(1, "done")));
    // The input is still open.
    assert!(pipes.end().await.is_ok());
}

#[tokio::test]
async fn calls_of_a_client_that_does_not_read_are_limited() {
    struct Stuck(std::sync::mpsc::Receiver<()>);
    impl Write for Stuck {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            self.0.recv().ok();
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (release, stuck) = std::sync::mpsc::channel();
    let gate = Gate::new();
    gate.open(1_000);
    let settings = McpConfig { in_flight: 4, ..settings() };
    let mcp = Mcp::new(router(&gate).build().unwrap(), settings).unwrap();
    let (input, mut to_server) = pipe().unwrap();
    let closing = CancellationToken::new();
    let served = tokio::spawn(async move { mcp.serve_stdio(input, Stuck(stuck), closing).await });
    std::thread::spawn(move || {
        (0..1_000).for_each(|id| drop(writeln!(to_server, "{}", call(id, "wait"))));
    });
    // Replies that are written, queued, or waiting for the queue. Refusals wait as well and delay the rest.
    until("the limit to be reached", || gate.passed() >= 20).await;
    assert!(gate.passed() <= 24, "{}", gate.passed());
    drop(release);
    assert!(in_time("the end of serving", served).await.unwrap().is_err());
}

#[tokio::test]
async fn an_id_is_the_same_however_it_is_spelled() {
    let mut pipes = Pipes::open(settings());
    let gate = pipes.gate.clone();
    pipes.send([&call("a/b", "wait")]);
    until("the call to wait", || gate.entered() == 1).await;
    pipes.write(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"a\\/b\"}}\n",
    );
    until("the call to be dropped", || gate.dropped() == 1).await;
    assert_eq!(pipes.finish().await.0, [] as [Value; 0]);
}

#[tokio::test]
async fn refused_requests_leave_no_state() {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut pipes = Pipes::open(settings());
    pipes.send([
        &request(1, "logging/setLevel", json!({ "level": "emergency", "_meta": meta })),
        &request(2, "initialize", json!({ "protocolVersion": "2025-03-26", "_meta": meta })),
    ]);
    let refused = pipes.sorted(2).await;
    assert!(refused.iter().all(|reply| reply["error"]["code"] == -32601), "{refused:?}");
    pipes.send([&json!([ping(3)])]);
    assert_fits("a batch", &error(None, -32600), &pipes.next().await.unwrap());
    pipes.send([&call(4, "logs")]);
    assert_eq!(pipes.next().await.unwrap()["method"], "notifications/message");
    drop(pipes.finish().await);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_dropped_after_the_timeout() {
    struct Stuck(std::sync::mpsc::Receiver<()>);
    impl Write for Stuck {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            self.0.recv().ok();
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (_until_the_end, stuck) = std::sync::mpsc::channel();
    let drain_timeout = Duration::from_millis(20);
    let settings = McpConfig { drain_timeout, ..settings() };
    let mcp = Mcp::new(router(&Gate::new()).build().unwrap(), settings).unwrap();
    let input = io::Cursor::new(format!("{}\n", ping(1)));
    let served = mcp.serve_stdio(input, Stuck(stuck), CancellationToken::new());
    let ended = in_time("the end of serving", served).await;
    assert!(matches!(ended, Err(StreamError::Unfinished { .. })), "{ended:?}");
}

#[tokio::test]
async fn calls_that_run_at_the_end_of_the_input_are_answered() {
    let mut pipes = Pipes::open(settings());
    let gate = pipes.gate.clone();
    pipes.send([&call(1, "wait")]);
    until("the call to wait", || gate.entered() == 1).await;
    pipes.close();
    gate.open(1);
    let (rest, ended) = pipes.finish().await;
    assert_eq!(rest, [completed(1, "done")]);
    assert!(ended.is_ok());
}

#[tokio::test]
async fn a_call_that_never_ends_is_cut_off() {
    let drain_timeout = Duration::from_millis(20);
    let mut pipes = Pipes::open(McpConfig { drain_timeout, ..settings() });
    let gate = pipes.gate.clone();
    pipes.send([&call(1, "wait"), &ping(2)]);
    until("the call to wait", || gate.entered() == 1).await;
    pipes.close();
    assert_eq!(pipes.next().await, Some(pong(2)));
    let ended = pipes.end().await;
    assert!(matches!(ended, Err(StreamError::Unfinished { .. })), "{ended:?}");
}

#[tokio::test]
async fn an_output_that_is_closed_ends_serving() {
    let mcp = Mcp::new(router(&Gate::new()).build().unwrap(), settings()).unwrap();
    let (input, mut to_server) = pipe().unwrap();
    let (from_server, output) = pipe().unwrap();
    drop(from_server);
    let ended =
        tokio::spawn(async move { mcp.serve_stdio(input, output, CancellationToken::new()).await });
    writeln!(to_server, "{}", ping(1)).unwrap();
    // The input stays open: the output alone ends it.
    let ended = in_time("the end of serving", ended).await.unwrap();
    assert!(matches!(ended, Err(StreamError::Write(_))), "{ended:?}");
    drop(to_server);
}

#[tokio::test]
async fn an_input_that_breaks_ends_serving() {
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let mcp = Mcp::new(router(&Gate::new()).build().unwrap(), settings()).unwrap();
    let ended = in_time(
        "the end of serving",
        mcp.serve_stdio(Broken, io::sink(), CancellationToken::new()),
    )
    .await;
    assert!(matches!(ended, Err(StreamError::Read(_))), "{ended:?}");
}

#[tokio::test]
async fn progress_and_log_messages_come_before_the_reply() {
    let mut pipes = Pipes::open(settings());
    let params = json!({ "name": "steps", "_meta": { "progressToken": "t" } });
    pipes.send([&request(1, "tools/call", params)]);
    for done in [0.0, 50.0, 100.0] {
        let told = pipes.next().await.unwrap();
        let params = json!({ "progressToken": "t", "progress": done });
        assert_fits(
            "progress",
            &json!({ "method": "notifications/progress", "params": params }),
            &told,
        );
    }
    assert_eq!(pipes.next().await, Some(completed(1, "done")));
    assert!(pipes.finish().await.1.is_ok());
}

#[tokio::test]
async fn the_client_sets_the_level_of_log_messages() {
    let mut pipes = Pipes::open(settings());
    let all = ["debug", "info", "warning", "emergency"];
    let rows = [("", &all[1..]), ("debug", &all[..]), ("error", &all[3..]), ("loud", &all[3..])];
    for (level, levels) in rows {
        if !level.is_empty() {
            pipes.send([&request(0, "logging/setLevel", json!({ "level": level }))]);
            let reply = pipes.next().await.unwrap();
            assert_eq!(reply.get("error").is_some(), level == "loud", "{reply}");
        }
        pipes.send([&call(1, "logs")]);
        for level in levels {
            let told = pipes.next().await.unwrap();
            assert_fits("level", &json!({ "params": { "level": level } }), &told);
        }
        assert_eq!(pipes.next().await, Some(completed(1, "done")), "{level}");
    }
    // A request of the stateless era contains its own level.
    pipes.send([&modern("tools/call", json!({ "name": "logs" }))]);
    assert_fits("modern", &json!({ "result": { "isError": false } }), &pipes.next().await.unwrap());
    assert!(pipes.finish().await.1.is_ok());
}

#[tokio::test]
async fn a_flood_of_notifications_does_not_delay_the_reply() {
    let mut pipes = Pipes::open(settings());
    let params = json!({ "name": "flood", "_meta": { "progressToken": 1 } });
    pipes.send([&request(1, "tools/call", params)]);
    let mut reached = -1.0;
    loop {
        let message = pipes.next().await.unwrap();
        let Some(done) = message["params"]["progress"].as_f64() else {
            assert_eq!(message, completed(1, "done"));
            break;
        };
        assert!(done > reached);
        reached = done;
    }
    assert!(pipes.finish().await.1.is_ok());
}
