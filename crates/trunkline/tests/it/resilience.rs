//! Slow, idle, hostile and disconnecting clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use trunkline::limits::MemoryBudget;
use trunkline::server::ServerConfig;
use trunkline::{Limits, Params, Router, ServerHandle, blocking, code};

use crate::support::{
    CALL, Client, DONE, Gate, RESULT, WAIT, in_time, on_loopback, post, serve, serve_with, service,
    until,
};

/// A short timeout, which is longer than a reply over loopback takes.
const SHORT: Duration = Duration::from_millis(100);

/// Longer than any timeout of [`SHORT`], and shorter than all default timeouts.
const LONG: Duration = Duration::from_secs(9);

async fn serve_cases(settings: ServerConfig) -> ServerHandle {
    serve_with(service::router(Limits::default()).build().unwrap(), settings).await
}

/// Checks that the server replies to a new client.
async fn check_lives(server: &ServerHandle) {
    let mut client = Client::connect(server.local_addr()).await;
    let reply = client.ask(post(CALL)).await;
    assert_eq!((reply.status, reply.body.as_slice()), (200, RESULT.as_bytes()));
}

#[tokio::test]
async fn closes_connections_with_slow_heads() {
    let server = serve_cases(ServerConfig { head_timeout: SHORT, ..Default::default() }).await;
    let begun = format!("{}X: ", &String::from_utf8(post(CALL)).unwrap()[..30]);
    for (name, before) in [("the first head", None), ("a later head", Some(post(CALL)))] {
        let mut client = Client::connect(server.local_addr()).await;
        if let Some(call) = before {
            assert_eq!(client.ask(call).await.status, 200, "{name}");
        }
        client.send(&begun).await;
        let started = Instant::now();
        assert_eq!(client.drip("x").await, b"", "{name}: no reply");
        assert!(started.elapsed() < LONG, "{name}");
        check_lives(&server).await;
    }
}

#[tokio::test]
async fn a_slow_body_is_408() {
    let rpc = service::router(Limits::default()).build().unwrap();
    let http = trunkline::http::HttpConfig { body_timeout: Some(SHORT), ..on_loopback() };
    let server = serve_with(rpc.http_with(http), ServerConfig::default()).await;
    let mut client = Client::connect(server.local_addr()).await;
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n").await;
    client.send("Content-Length: 1000000\r\n\r\n").await;
    let reply = client.drip(" ").await;
    assert!(reply.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&reply));
    check_lives(&server).await;
}

#[tokio::test]
async fn a_connection_without_requests_is_closed() {
    let server = serve_cases(ServerConfig { idle_timeout: SHORT, ..Default::default() }).await;
    let started = Instant::now();
    let mut silent = Client::connect(server.local_addr()).await;
    assert_eq!(silent.rest().await, b"");
    let mut client = Client::connect(server.local_addr()).await;
    assert_eq!(client.ask(post(CALL)).await.status, 200);
    assert_eq!(client.rest().await, b"");
    until("both to be forgotten", || server.status().connections == 0).await;
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
}

/// The timeouts of a connection do not apply to running calls.
#[tokio::test]
async fn a_long_call_outlives_the_timeouts_of_its_connection() {
    let gate = Gate::new();
    let (head_timeout, idle_timeout, write_timeout) = (SHORT / 5, SHORT / 5, SHORT / 5);
    let settings = ServerConfig { head_timeout, idle_timeout, write_timeout, ..Default::default() };
    let server = serve_with(gate.router().build().unwrap(), settings).await;
    let mut client = Client::connect(server.local_addr()).await;
    client.send(post(WAIT)).await;
    until("the call to wait", || gate.entered() == 1).await;
    tokio::time::sleep(SHORT).await;
    gate.open(1);
    assert_eq!(client.reply().await.body, DONE.as_bytes());
}

/// The limit on open files of this process.
fn open_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let soft = line.split_whitespace().nth(3).unwrap();
    soft.parse().unwrap_or(usize::MAX)
}

#[tokio::test]
async fn serves_calls_next_to_2000_idle_connections() {
    let (found, needed) = (open_files(), 4_500);
    assert!(found >= needed, "this test opens {needed} files, the limit is {found}: ulimit -n");
    let server = serve(on_loopback()).await;
    let mut idle = Vec::new();
    for _ in 0..2_000 {
        idle.push(Client::connect(server.local_addr()).await);
    }
    until("all connections", || server.status().connections == 2_000).await;
    for _ in 0..100 {
        check_lives(&server).await;
    }
    for client in idle.iter_mut().step_by(100) {
        assert_eq!(client.ask(post(CALL)).await.body, RESULT.as_bytes());
    }
    drop(idle);
    until("all connections to end", || server.status().connections == 0).await;
}

#[tokio::test]
async fn connections_over_the_limit_wait() {
    let server = serve_cases(ServerConfig { connections: 2, ..Default::default() }).await;
    let mut one = Client::connect(server.local_addr()).await;
    let mut two = Client::connect(server.local_addr()).await;
    assert_eq!(one.ask(post(CALL)).await.status, 200);
    assert_eq!(two.ask(post(CALL)).await.status, 200);

    let mut three = Client::connect(server.local_addr()).await;
    three.send(post(CALL)).await;
    assert!(tokio::time::timeout(SHORT, three.reply()).await.is_err(), "it waits");
    assert_eq!(server.status().connections, 2);
    assert_eq!(one.ask(post(CALL)).await.status, 200);

    drop(two);
    assert_eq!(three.reply().await.body, RESULT.as_bytes());
}

#[tokio::test]
async fn a_disconnected_client_cancels_its_calls() {
    let gate = Gate::new();
    let server = serve_with(gate.router().build().unwrap(), ServerConfig::default()).await;
    for (count, method) in [(1, "work"), (2, "block")] {
        let mut client = Client::connect(server.local_addr()).await;
        client.send(post(format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#))).await;
        until(method, || gate.entered() == count).await;
        assert_eq!((gate.cancelled(), server.status().in_flight), (count - 1, 1), "{method}");
        drop(client);
        until(method, || gate.cancelled() == count).await;
        until(method, || server.status().in_flight == 0).await;
    }
    let mut client = Client::connect(server.local_addr()).await;
    let member = |method| format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#);
    client.send(post(format!("[{},{},{}]", member("work"), member("block"), member("ping")))).await;
    until("both members", || gate.entered() == 4).await;
    drop(client);
    until("the cancellation of both members", || gate.cancelled() == 4).await;
}

#[tokio::test]
async fn a_handler_that_panics_is_an_internal_error() {
    let router = service::router(Limits::default())
        .method("sync", || -> i64 { panic!("on purpose") })
        .method("async", || async {
            if true {
                panic!("on purpose")
            }
        })
        .method("later", || async {
            tokio::task::yield_now().await;
            if true {
                panic!("on purpose")
            }
        })
        .method("thread", blocking(|| -> i64 { panic!("on purpose") }));
    let server = serve_with(router.build().unwrap(), ServerConfig::default()).await;
    let mut client = Client::connect(server.local_addr()).await;
    for method in ["sync", "async", "later", "thread"] {
        let call = format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":7}}"#);
        let single = client.ask(post(&call)).await;
        let batch = client.ask(post(format!("[{CALL},{call},{CALL}]"))).await.json();
        assert_eq!(single.status, 200, "{method}");
        for error in [&single.json(), &batch[1]] {
            assert_eq!(error["error"]["code"], code::INTERNAL_ERROR, "{method}");
            assert_eq!(error["id"], 7, "{method}");
            assert!(!error.to_string().contains("on purpose"), "{method}: clients see no cause");
        }
        assert_eq!((&batch[0]["result"], &batch[2]["result"]), (&json!(19), &json!(19)));
    }
    assert_eq!(server.status().total_connections, 1);
}

/// A router with a method that returns the requested number of bytes.
fn large(limits: Limits) -> Router {
    Router::new()
        .method("large", |Params((bytes,)): Params<(usize,)>| "x".repeat(bytes))
        .limits(limits)
}

fn call_large(bytes: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"large","params":[{bytes}],"id":1}}"#)
}

/// Much larger than the buffers of both sockets.
const LARGE: usize = 15 << 20;

#[tokio::test]
async fn a_client_that_reads_nothing_is_dropped() {
    let rpc = large(Limits::default()).build().unwrap();
    let settings = ServerConfig { write_timeout: SHORT, ..Default::default() };
    let server = serve_with(rpc, settings).await;
    let started = Instant::now();
    let mut one_reply = Client::connect(server.local_addr()).await;
    one_reply.send(post(call_large(LARGE))).await;
    until("the reply to begin", || server.status().total_requests == 1).await;
    until("the end of the connection", || server.status().connections == 0).await;

    let mut many_replies = Client::connect(server.local_addr()).await;
    let call = post(call_large(100_000)).repeat(100);
    in_time("the client to be dropped", async {
        while many_replies.try_send(&call).await.is_ok() {}
    })
    .await;
    until("the end of the second connection", || server.status().connections == 0).await;
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_client_that_reads_slowly_gets_its_reply() {
    let rpc = large(Limits::default()).build().unwrap();
    let settings = ServerConfig { write_timeout: SHORT * 5, ..Default::default() };
    let server = serve_with(rpc, settings).await;
    let mut client = Client::connect(server.local_addr()).await;
    client.send(post(call_large(LARGE))).await;
    let head = client.head().await;
    let mut left: usize = head.header("content-length").unwrap().parse().unwrap();
    let started = Instant::now();
    while left > 0 {
        tokio::time::sleep(SHORT / 2).await;
        left -= client.bytes(left.min(1 << 20)).await.len();
    }
    assert!(started.elapsed() > SHORT * 5, "longer than the timeout");
    assert_eq!(client.ask(post(call_large(0))).await.status, 200);
}

#[tokio::test]
async fn replies_to_hostile_bodies() {
    let notification = r#"{"jsonrpc":"2.0","method":"update"}"#;
    let megabyte = |text: &str| text.repeat((1 << 20) / text.len());
    let batch = |member: &str, count: usize| format!("[{}]", vec![member; count].join(","));
    let id = |id: String| format!(r#"{{"jsonrpc":"2.0","method":"null","id":{id}}}"#);
    let too_many_digits = "9".repeat(1_000_000);
    let rows: [(&str, String, Value); 12] = [
        ("a megabyte of [", megabyte("["), json!(code::PARSE_ERROR)),
        ("a megabyte of {", megabyte(r#"{"a":"#), json!(code::PARSE_ERROR)),
        ("a megabyte of quotes", megabyte("\""), json!(code::PARSE_ERROR)),
        ("a megabyte of backslashes", megabyte("\\"), json!(code::PARSE_ERROR)),
        ("a megabyte of spaces", megabyte(" "), json!(code::PARSE_ERROR)),
        (
            "a megabyte of commas",
            format!("[{}", megabyte(",").split_at(9).1),
            json!(code::PARSE_ERROR),
        ),
        ("a batch of 1,001", batch(CALL, 1_001), json!(code::INVALID_REQUEST)),
        ("a batch of 500,000 numbers", batch("1", 500_000), json!(code::INVALID_REQUEST)),
        ("an id of a megabyte", id(format!("\"{}\"", "x".repeat(1_000_000))), Value::Null),
        ("an id of a million digits", id(too_many_digits), Value::Null),
        ("1,000 notifications", batch(notification, 1_000), json!(204)),
        ("1,000 empty objects", batch("{}", 1_000), json!(200)),
    ];
    let server = serve(on_loopback()).await;
    let mut client = Client::connect(server.local_addr()).await;
    for (name, body, expected) in rows {
        let started = Instant::now();
        let reply = client.ask(post(&body)).await;
        assert!(started.elapsed() < LONG, "{name}: {:?}", started.elapsed());
        match expected.as_i64() {
            Some(204) => assert_eq!((reply.status, reply.body.len()), (204, 0), "{name}"),
            Some(200) => assert_eq!(reply.json().as_array().map(Vec::len), Some(1_000), "{name}"),
            Some(code) => assert_eq!(reply.json()["error"]["code"], code, "{name}"),
            None => {
                let end = reply.body.len() - 30;
                let start = String::from_utf8_lossy(&reply.body[..30]);
                assert!(start.starts_with(r#"{"jsonrpc":"2.0","result":null"#), "{name}: {start}");
                assert!(end > 999_900, "{name}: the whole id is sent back");
            }
        }
        assert_eq!(client.ask(post(CALL)).await.body, RESULT.as_bytes(), "after {name}");
    }
    assert_eq!(server.status().total_connections, 1);
}

#[tokio::test]
async fn replies_stay_within_the_limit() {
    let limits = Limits { reply_bytes: 1 << 20, ..Default::default() };
    let server = serve_with(large(limits).build().unwrap(), ServerConfig::default()).await;
    let mut client = Client::connect(server.local_addr()).await;
    let reply = client.ask(post(call_large(1 << 20))).await;
    assert_eq!(reply.json()["error"]["code"], code::REPLY_TOO_LARGE);

    let batch = vec![call_large(100_000); 100].join(",");
    let reply = client.ask(post(format!("[{batch}]"))).await;
    let members = reply.json();
    let members = members.as_array().unwrap();
    let results = members.iter().filter(|member| member.get("result").is_some()).count();
    let refused = members.iter().filter(|m| m["error"]["code"] == code::REPLY_TOO_LARGE).count();
    assert_eq!((results, refused), (10, 90));
    // The errors that replace other replies are not counted.
    assert!(reply.body.len() < (1 << 20) + 90 * 250, "{} bytes", reply.body.len());
}

#[tokio::test]
async fn unread_replies_share_the_memory_budget() {
    let memory = MemoryBudget::new(20 << 20);
    let limits = Limits { memory: memory.clone(), ..Default::default() };
    let router = Router::new().method("large", || "x".repeat(8 << 20)).limits(limits);
    let server = serve_with(router.build().unwrap(), ServerConfig::default()).await;
    let large = post(r#"{"jsonrpc":"2.0","method":"large","id":1}"#);
    let mut holding = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(server.local_addr()).await;
        client.send(&large).await;
        assert_eq!(client.head().await.status, 200);
        holding.push(client);
    }
    let mut client = Client::connect(server.local_addr()).await;
    let refused = client.ask(&large).await;
    let code = code::REPLY_TOO_LARGE;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (503, &json!(code)));
    drop(holding);
    until("the memory to be released", || memory.used() == 0).await;
    let mut client = Client::connect(server.local_addr()).await;
    assert_eq!(client.ask(&large).await.status, 200);
    until("the memory to be released in the end", || memory.used() == 0).await;
}

/// Incomplete bodies share the memory budget. A request over the budget is refused before it runs.
#[tokio::test]
async fn incomplete_bodies_share_the_memory_budget() {
    let memory = MemoryBudget::new(1 << 20);
    let limits = Limits { memory: memory.clone(), ..Default::default() };
    let router = Router::new().method("ping", || "pong").limits(limits);
    let server = serve_with(router.build().unwrap(), ServerConfig::default()).await;
    let whole = post(format!("\"{}\"", "x".repeat(500_000)));
    let mut holding = Vec::new();
    for count in 1..=2 {
        let mut client = Client::connect(server.local_addr()).await;
        client.send(&whole[..whole.len() - 1]).await;
        until("the body", || memory.used() > count * 500_000).await;
        holding.push(client);
    }
    let mut client = Client::connect(server.local_addr()).await;
    let refused = client.ask(&whole).await;
    let found = (refused.status, refused.header("retry-after"), &refused.json()["error"]["code"]);
    assert_eq!(found, (503, Some("1"), &json!(code::BUSY)));
    // A small request still fits.
    let mut client = Client::connect(server.local_addr()).await;
    let ping = post(r#"{"jsonrpc":"2.0","method":"ping","id":1}"#);
    assert_eq!(client.ask(&ping).await.status, 200);
    drop(holding);
    until("the memory to be released", || memory.used() == 0).await;
}

/// A batch reserves memory before its members run. Members over the budget do not run.
#[tokio::test]
async fn does_not_run_members_over_the_memory_budget() {
    let memory = MemoryBudget::new(1 << 20);
    let limits = Limits { memory: memory.clone(), ..Default::default() };
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let router = Router::new().limits(limits).method("large", move || {
        count.fetch_add(1, Ordering::SeqCst);
        "x".repeat(100_000)
    });
    let server = serve_with(router.build().unwrap(), ServerConfig::default()).await;
    let mut client = Client::connect(server.local_addr()).await;
    let member = r#"{"jsonrpc":"2.0","method":"large","id":1}"#;
    let reply = client.ask(post(format!("[{}]", vec![member; 100].join(",")))).await;
    let members = reply.json();
    let count = |code: Option<i64>| {
        let members = members.as_array().unwrap().iter();
        members.filter(|member| member["error"]["code"].as_i64() == code).count()
    };
    let (results, dropped, refused) =
        (count(None), count(Some(code::REPLY_TOO_LARGE)), count(Some(code::BUSY)));
    assert_eq!((results + dropped, results + dropped + refused), (ran.load(Ordering::SeqCst), 100));
    assert!(results >= 8 && dropped <= 1, "{results} results, {dropped} dropped");
    until("the memory to be released", || memory.used() == 0).await;

    // A batch whose refusals do not fit is refused as a whole.
    let reply = client.ask(post(format!("[{}]", vec![member; 1_000].join(",")))).await;
    assert_eq!(reply.json().as_array().map(Vec::len), Some(1_000));
    let holding = memory.reserve(900_000).unwrap();
    let reply = client.ask(post(format!("[{}]", vec![member; 1_000].join(",")))).await;
    let found = (reply.status, reply.header("retry-after"), &reply.json()["error"]["code"]);
    assert_eq!(found, (503, Some("1"), &json!(code::BUSY)));
    drop(holding);
}
