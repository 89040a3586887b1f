//! Sessions and streams before 2026-07-28.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use trunkline_mcp::LogLevel;

use super::script::{
    Answer, Asked, STREAM, Script, closed, event, events, http, json_text, legacy, stream,
};
use super::suite::{call, raw, tool};
use crate::support::in_time;

/// A server whose sessions end after the first use of a tool, `count` times.
async fn forgetful(count: usize) -> Script {
    let sessions = AtomicUsize::new(0);
    Script::start(move |asked| {
        let current = sessions.load(Ordering::SeqCst);
        match asked.method() {
            "initialize" => {
                let next = sessions.fetch_add(1, Ordering::SeqCst) + 1;
                legacy(asked, &format!("s{next}"))
            }
            "tools/call" if current <= count => http("404 Not Found", ""),
            _ => legacy(asked, "unused"),
        }
    })
    .await
}

#[tokio::test]
async fn an_ended_session_is_replaced_once() {
    let script = forgetful(1).await;
    let client = script.client().await;
    client.set_level(LogLevel::Error).await.unwrap();
    let one = tool(&client, "one").await;
    client.call_tool(&one, &raw(json!({}))).await.unwrap();
    let calls = script.asked_for("tools/call");
    let sessions: Vec<_> = calls.iter().map(|call| call.header("mcp-session-id")).collect();
    assert_eq!(sessions, [Some("s1"), Some("s2")]);
    let levels = script.asked_for("logging/setLevel");
    assert_eq!(levels.len(), 2, "the level is restored");
    assert_eq!(levels[1].header("mcp-session-id"), Some("s2"));
    let begun = script.asked_for("initialize");
    assert!(begun.iter().all(|begun| begun.header("mcp-session-id").is_none()));

    let script = forgetful(9).await;
    let client = script.client().await;
    let failed = call(&client).await.unwrap_err();
    assert_eq!(failed.status().map(|status| status.as_u16()), Some(404));
    assert_eq!(script.asked_for("initialize").len(), 2);
}

/// A server that loses its session when `is_lost` is set, and answers requests in it with `refuse` from then on. The tool
/// `two` is read-only.
async fn losing(
    refuse: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
) -> (Script, Arc<AtomicBool>) {
    let is_lost = Arc::new(AtomicBool::new(false));
    let lost = Arc::clone(&is_lost);
    let script = Script::start(move |asked| match asked.method() {
        "initialize" if lost.load(Ordering::SeqCst) => legacy(asked, "s2"),
        "initialize" => legacy(asked, "s1"),
        "server/discover" | "GET" | "DELETE" => legacy(asked, ""),
        _ if lost.load(Ordering::SeqCst) && asked.header("mcp-session-id") != Some("s2") => {
            refuse(asked)
        }
        "tools/list" => {
            let tools = json!({ "tools": [
                { "name": "one", "inputSchema": {} },
                { "name": "two", "inputSchema": {}, "annotations": { "readOnlyHint": true } },
            ]});
            json_text("200 OK", &super::script::result_of(asked, &tools))
        }
        _ => legacy(asked, ""),
    });
    (script.await, is_lost)
}

/// Whether the first request after the loss succeeds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum First {
    /// It did not run, and is sent again.
    Succeeds,
    /// It may have run. Only what may be repeated is sent again.
    MayHaveRun,
}

/// Checks two calls of each tool, and two lists, after a server has lost its session.
async fn check_loss(
    name: &str,
    refuse: impl Fn(&Asked) -> Answer + Send + Sync + Clone + 'static,
    first: First,
) {
    for (tool_name, may_fail) in [("one", first == First::MayHaveRun), ("two", false), ("", false)]
    {
        let (script, is_lost) = losing(refuse.clone()).await;
        let client = script.connect(|config| config.cache_bytes = 0).await.unwrap();
        let found = match tool_name {
            "" => None,
            name => Some(tool(&client, name).await),
        };
        is_lost.store(true, Ordering::SeqCst);
        let request = async || match &found {
            Some(tool) => client.call_tool(tool, &raw(json!({}))).await.map(drop),
            None => client.list_tools().await.map(drop),
        };
        let done = in_time(name, request()).await;
        assert_eq!(done.is_err(), may_fail, "{name}, {tool_name}: {done:?}");
        let again = in_time(name, request()).await;
        assert!(again.is_ok(), "{name}, {tool_name}: {again:?}");
        assert_eq!(script.asked_for("initialize").len(), 2, "{name}, {tool_name}");
        let ran = script.asked_for("tools/call");
        let ran = ran.iter().filter(|call| call.header("mcp-session-id") == Some("s2")).count();
        let expected = match tool_name {
            "" => 0,
            _ => 2 - usize::from(may_fail),
        };
        assert_eq!(ran, expected, "{name}, {tool_name}");
    }
}

#[tokio::test]
async fn a_lost_session_is_replaced_by_the_next_call_at_the_latest() {
    use First::{MayHaveRun, Succeeds};
    fn refusal(
        head: &'static str,
        code: i64,
        message: &'static str,
    ) -> impl Fn(&Asked) -> Answer + Clone {
        move |asked| {
            let error = json!({ "code": code, "message": message });
            json_text(head, &json!({ "jsonrpc": "2.0", "id": asked.body["id"], "error": error }))
        }
    }
    let text = |head: &'static str, body: &'static str| move |_: &Asked| http(head, body);
    const HTML: &str = "200 OK\nContent-Type: text/html";
    check_loss("404", text("404 Not Found", ""), Succeeds).await;
    check_loss("404", refusal("404 Not Found", -32603, "Session not found: 7"), Succeeds).await;
    check_loss("410", text("410 Gone", ""), Succeeds).await;
    for message in [
        "Session terminated",
        "Bad Request: No valid session ID provided",
        "Bad Request: Server not initialized",
        "Bad Request: Unknown Mcp-Session-Id header",
    ] {
        check_loss(message, refusal("400 Bad Request", -32000, message), Succeeds).await;
    }
    check_loss("400", text("400 Bad Request", "Invalid or missing session ID"), Succeeds).await;
    check_loss("401", text("401 Unauthorized", "Unauthorized: Session not found"), Succeeds).await;
    check_loss("-32600", refusal("200 OK", -32600, "Session not found"), Succeeds).await;
    check_loss("-32000", refusal("200 OK", -32000, "session expired"), Succeeds).await;
    check_loss("-32001", refusal("200 OK", -32001, "Unknown session"), Succeeds).await;
    check_loss("-32002", refusal("200 OK", -32002, "Server not initialized"), Succeeds).await;
    check_loss("no reason", refusal("200 OK", -32600, "Invalid Request"), Succeeds).await;
    check_loss("503", text("503 Service Unavailable", "unknown session"), Succeeds).await;

    check_loss("400, empty", text("400 Bad Request", ""), MayHaveRun).await;
    check_loss("502", text("502 Bad Gateway\nContent-Type: text/html", "<html>"), MayHaveRun).await;
    check_loss("503, empty", text("503 Service Unavailable", ""), MayHaveRun).await;
    check_loss("504", text("504 Gateway Timeout", "timeout"), MayHaveRun).await;
    check_loss("a page", text(HTML, "<html>"), MayHaveRun).await;
    check_loss(
        "-32603",
        refusal("500 Internal Server Error", -32603, "Internal error"),
        MayHaveRun,
    )
    .await;
    check_loss("closed", |_: &Asked| closed(), MayHaveRun).await;
}

/// A tool may have own sessions, and errors that name them.
#[tokio::test]
async fn errors_of_tools_do_not_replace_the_session() {
    for (code, message) in [
        (-32600, "Session not found"),
        (-32602, "invalid session `x`"),
        (-32603, "the browser session expired"),
        (-32000, "database not initialized"),
    ] {
        let script = Script::start(move |asked| match asked.method() {
            "tools/call" => {
                let error = json!({ "code": code, "message": message });
                let reply = json!({ "jsonrpc": "2.0", "id": asked.body["id"], "error": error });
                json_text("200 OK", &reply)
            }
            _ => legacy(asked, "s1"),
        });
        let script = script.await;
        let client = script.client().await;
        let failed = call(&client).await.unwrap_err();
        assert_eq!(failed.error_object().unwrap().message(), message);
        assert_eq!(script.asked_for("initialize").len(), 1, "{message}");
        assert_eq!(script.asked_for("tools/call").len(), 1, "{message}");
    }
}

#[tokio::test]
async fn requests_at_the_same_time_open_one_session() {
    let script = forgetful(1).await;
    let client = script.client().await;
    let (one, arguments) = (tool(&client, "one").await, raw(json!({})));
    let calls = (0..8).map(|_| client.call_tool(&one, &arguments));
    in_time("the calls", futures_util::future::try_join_all(calls)).await.unwrap();
    assert_eq!(script.asked_for("initialize").len(), 2);
}

/// The level and the subscriptions are restored although the request that noticed the end of the session is dropped.
#[tokio::test]
async fn a_session_is_restored_without_its_caller() {
    let (sender, answer) = stream();
    let (levels, slow) = (AtomicUsize::new(0), Mutex::new(Some(answer)));
    let script = Script::start(move |asked| {
        let session = asked.header("mcp-session-id");
        match asked.method() {
            "initialize" if levels.load(Ordering::SeqCst) == 0 => legacy(asked, "s1"),
            "initialize" => legacy(asked, "s2"),
            "tools/call" if session == Some("s1") => http("404 Not Found", ""),
            "logging/setLevel" if levels.fetch_add(1, Ordering::SeqCst) == 1 => {
                slow.lock().unwrap().take().unwrap()
            }
            _ => legacy(asked, "unused"),
        }
    });
    let script = script.await;
    let client = script.client().await;
    client.set_level(LogLevel::Error).await.unwrap();
    client.subscribe("r://a").await.unwrap();
    let (one, arguments) = (tool(&client, "one").await, raw(json!({})));
    let level = tokio::select! {
        called = client.call_tool(&one, &arguments) => panic!("{called:?}"),
        levels = script.until("logging/setLevel", 2) => levels[1].clone(),
    };
    let response = json!({ "jsonrpc": "2.0", "id": level.body["id"], "result": {} });
    sender.send(event(&response)).unwrap();
    let subscribed = script.until("resources/subscribe", 2).await;
    assert_eq!(subscribed[1].header("mcp-session-id"), Some("s2"));
    in_time("the call", client.call_tool(&one, &arguments)).await.unwrap();
    assert_eq!(script.asked_for("initialize").len(), 2);
}

/// A server that is restarted: its sessions are unknown, and it is not ready at once.
#[tokio::test]
async fn the_stream_of_notifications_outlives_a_restart() {
    let begun = AtomicUsize::new(0);
    let script =
        Script::start(move |asked| match (asked.method(), asked.header("mcp-session-id")) {
            ("initialize", _) => match begun.fetch_add(1, Ordering::SeqCst) {
                0 => legacy(asked, "s1"),
                1 => http("503 Service Unavailable", ""),
                _ => legacy(asked, "s2"),
            },
            ("GET", Some("s1"))
                if begun.load(Ordering::SeqCst) == 1 && asked.header("last-event-id").is_none() =>
            {
                events(&["retry: 1\nid: e1\ndata:\n\n".to_owned()])
            }
            ("GET", Some("s1")) => http("404 Not Found", ""),
            ("GET", _) => Answer::Text(STREAM.to_owned()),
            _ => legacy(asked, "unused"),
        });
    let script = script.await;
    let client = script.client().await;
    client.subscribe("r://a").await.unwrap();
    crate::support::until("the new session", || {
        script.asked_for("GET").iter().any(|get| get.header("mcp-session-id") == Some("s2"))
    })
    .await;
    let subscribed = script.asked_for("resources/subscribe");
    assert_eq!(subscribed[1].header("mcp-session-id"), Some("s2"));
}

/// A server whose stream of a call ends after an event with an id. GET continues it with these events.
async fn interrupted(first: &'static str, rest: fn(&Asked, id: i64) -> Answer) -> Script {
    let id = AtomicUsize::new(0);
    Script::start(move |asked| match asked.method() {
        "tools/call" => {
            id.store(asked.body["id"].as_u64().unwrap() as usize, Ordering::SeqCst);
            events(&[first.to_owned()])
        }
        "GET" => rest(asked, id.load(Ordering::SeqCst) as i64),
        _ => legacy(asked, "s"),
    })
    .await
}

fn response(id: i64) -> String {
    let response = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } });
    format!("id: e9\ndata: {response}\n\n")
}

#[tokio::test]
async fn an_interrupted_stream_is_continued() {
    let script =
        interrupted("id: e1\nretry: 120\ndata:\n\n", |_, id| events(&[response(id)])).await;
    let client = script.client().await;
    let begin = Instant::now();
    call(&client).await.unwrap();
    assert!(begin.elapsed() >= Duration::from_millis(120), "{:?}", begin.elapsed());
    let continued = &script.asked_for("GET")[0];
    assert_eq!(continued.header("last-event-id"), Some("e1"));
    assert_eq!(continued.header("mcp-session-id"), Some("s"));
    assert_eq!(script.asked_for("tools/call").len(), 1);
}

#[tokio::test]
async fn a_stream_is_continued_a_few_times_only() {
    let rest = |_: &Asked, _: i64| events(&[]);
    let script = interrupted("id: e1\nretry: 1\ndata:\n\n", rest).await;
    let client = script.client().await;
    let failed = call(&client).await;
    assert!(failed.unwrap_err().to_string().contains("no reply to the call"));
    assert_eq!(script.asked_for("GET").len(), 5);

    let script = interrupted("id: e1\nretry: 1\ndata:\n\n", |_, _| http("405 No", "")).await;
    let client = script.client().await;
    call(&client).await.unwrap_err();
    assert_eq!(script.asked_for("GET").len(), 1);

    let script = interrupted("data: \n\n", rest).await;
    let client = script.client().await;
    call(&client).await.unwrap_err();
    assert_eq!(script.asked_for("GET").len(), 0, "without an id");
}

/// Clients of 2025-03-26 must accept batches, in both kinds of replies.
#[tokio::test]
async fn batches_of_the_server_are_accepted() {
    let script = Script::start(|asked| {
        let batch = |result: &serde_json::Value| {
            let log = json!({ "jsonrpc": "2.0", "method": "notifications/message" });
            json!([log, super::script::result_of(asked, result)])
        };
        match asked.method() {
            "initialize" => {
                let version = json!({ "protocolVersion": "2025-03-26", "capabilities": {} });
                json_text("200 OK", &super::script::result_of(asked, &version))
            }
            "tools/list" => {
                let tools = json!({ "tools": [{ "name": "one", "inputSchema": {} }] });
                json_text("200 OK", &batch(&tools))
            }
            "tools/call" => events(&[event(&batch(&json!({ "content": [] })))]),
            _ => legacy(asked, ""),
        }
    });
    let script = script.await;
    call(&script.client().await).await.unwrap();
}

#[tokio::test]
async fn every_request_has_the_session_and_the_revision() {
    let script = Script::start(|asked| legacy(asked, "s")).await;
    let client = script.client().await;
    client.list_tools().await.unwrap();
    client.ping().await.unwrap();
    client.close().await;
    let asked = script.asked();
    let methods = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "ping",
        "DELETE",
    ];
    assert_eq!(script.methods(), methods);
    for asked in &asked[2..] {
        assert_eq!(asked.header("mcp-session-id"), Some("s"));
        assert_eq!(asked.header("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(asked.header("mcp-method"), None);
    }
}
