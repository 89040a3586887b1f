//! Endless queries, and their effect on other clients.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Connection, ENDLESS, PATIENCE, Server, post, tpch};

/// The default number of readers.
const READERS: usize = 4;

fn endless_call(id: usize) -> Value {
    let params = json!({"query": ENDLESS});
    json!({"jsonrpc": "2.0", "id": id, "method": "db.execute_raw_query", "params": params})
}

/// Sends endless queries on separate connections, and returns when all readers run one.
fn run_endless(server: &Server, count: usize) -> Vec<Connection> {
    let mut connections: Vec<_> = (0..count).map(|_| server.connect()).collect();
    for (id, connection) in connections.iter_mut().enumerate() {
        connection.send(&post("/", &[], &endless_call(id)));
    }
    server.until_all_readers_run();
    connections
}

#[test]
#[ignore = "measures time: `cargo xtask soak` runs it"]
fn endless_queries_end_and_the_server_stays_healthy() {
    const LIMIT: Duration = Duration::from_secs(5);
    let (_folder, path) = tpch();
    let server = Server::alone_of(&path);
    let started = Instant::now();
    let connections = run_endless(&server, 2 * READERS);
    let replies: Vec<_> = connections
        .into_iter()
        .map(|mut connection| thread::spawn(move || (connection.reply().json(), Instant::now())))
        .collect();

    let mut latencies = health_latencies(&server, 400);
    let measured = Instant::now();
    latencies.sort();
    let p99 = latencies[latencies.len() * 99 / 100];
    assert!(p99 <= Duration::from_millis(50), "p99 of /health: {p99:?}");

    let replies: Vec<_> = replies.into_iter().map(|reply| reply.join().unwrap()).collect();
    let still_ran = replies.iter().filter(|(_, at)| *at > measured).count();
    assert!(still_ran >= READERS, "the queries ended before the measurement did");
    for (reply, at) in &replies {
        let kind = &reply["error"]["data"]["kind"];
        match reply["error"]["code"].as_i64() {
            Some(-32004) => assert_eq!(kind, "timeout", "{reply}"),
            Some(-32005) => assert_eq!(kind, "busy", "{reply}"),
            _ => panic!("{reply}"),
        }
        let took = at.duration_since(started);
        assert!(took < LIMIT + Duration::from_secs(1), "{kind} after {took:?}");
    }
    let timeouts: Vec<&Value> = replies
        .iter()
        .map(|(reply, _)| &reply["error"]["data"])
        .filter(|data| data["kind"] == "timeout")
        .collect();
    assert_eq!(timeouts.len(), READERS, "{replies:?}");
    assert!(timeouts.iter().all(|data| data["timeout_ms"] == 5_000), "{timeouts:?}");
    assert_eq!(server.sql(&json!({"query": "SELECT 1"})), Ok(json!([[1]])));
}

#[test]
fn readers_that_cannot_be_interrupted_are_replaced() {
    // One step of SQLite's virtual machine that takes hours. A separate server ends with the test.
    const ONE_STEP: &str = "SELECT instr(zeroblob(16000000), zeroblob(8000000) || x'01')";
    let (_folder, path) = tpch();
    let server = Server::alone_of(&path);
    for number in 0..=READERS {
        let query = json!({"query": ONE_STEP, "timeout_ms": 1_500});
        let error = until_not_busy(&server, &query).unwrap_err();
        assert_eq!(error["code"], -32004, "{number}: {error}");
    }
    assert_eq!(until_not_busy(&server, &json!({"query": "SELECT 1"})), Ok(json!([[1]])));
}

/// The outcome of a call when a reader is free.
fn until_not_busy(server: &Server, query: &Value) -> Result<Value, Value> {
    let since = Instant::now();
    loop {
        let outcome = server.sql(query);
        let is_busy = outcome.as_ref().is_err_and(|error| error["data"]["kind"] == "busy");
        if !is_busy || since.elapsed() > PATIENCE {
            return outcome;
        }
    }
}

/// They do not slow down other readers.
#[cfg(target_os = "linux")]
#[test]
fn readers_that_cannot_be_interrupted_have_the_lowest_priority() {
    const ONE_STEP: &str = "SELECT instr(zeroblob(16000000), zeroblob(8000000) || x'01')";
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let error = server.sql(&json!({"query": ONE_STEP, "timeout_ms": 100})).unwrap_err();
    assert_eq!(error["code"], -32004, "{error}");
    let since = Instant::now();
    let found = loop {
        assert_eq!(server.sql(&json!({"query": "SELECT 1"})), Ok(json!([[1]])));
        let mut found = server.priorities("sql-reader");
        found.sort_unstable();
        if found.last() == Some(&19) || since.elapsed() > PATIENCE {
            break found;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let own = found[0];
    // Four readers, one of which replaces the stuck one, and two of exports.
    assert_eq!(found, [own, own, own, own, own, own, 19], "all readers but the one that is stuck");
}

/// Each on a new connection, like monitoring systems.
fn health_latencies(server: &Server, count: usize) -> Vec<Duration> {
    let ask = |_| {
        let started = Instant::now();
        assert_eq!(server.connect().get("/health").status, 200);
        started.elapsed()
    };
    (0..count).map(ask).collect()
}

#[test]
#[ignore = "measures time: `cargo xtask soak` runs it"]
fn a_query_ends_when_its_client_disconnects() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    // With the second number, most calls still wait for a reader when their client disconnects.
    for count in [READERS, 60] {
        drop(run_endless(&server, count));
        is_free(&server, &format!("{count} queries"));
    }

    let calls: Vec<Value> = (0..READERS).map(endless_call).collect();
    let batch = || {
        let mut connection = server.connect();
        connection.send(&post("/", &[], &json!(calls)));
        connection
    };
    let one = batch();
    is_free(&server, "during a batch, which uses half of the readers");
    let other = batch();
    server.until_all_readers_run();
    drop((one, other));
    is_free(&server, "two batches");
}

/// Well before the deadline of the queries.
#[track_caller]
fn is_free(server: &Server, name: &str) {
    let started = Instant::now();
    let answer = server.sql(&json!({"query": "SELECT count(*) FROM region"}));
    assert_eq!(answer, Ok(json!([[5]])), "{name}");
    assert!(started.elapsed() < Duration::from_secs(1), "{name}: {:?}", started.elapsed());
}

#[test]
fn calls_can_shorten_the_timeout_only() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    for (asked, given) in [(100, 100), (60_000, 5_000)] {
        let started = Instant::now();
        let error = server.sql(&json!({"query": ENDLESS, "timeout_ms": asked})).unwrap_err();
        assert_eq!(error["data"]["kind"], "timeout", "{error}");
        assert_eq!(error["data"]["timeout_ms"], given, "{error}");
        let took = started.elapsed();
        let given = Duration::from_millis(given);
        assert!(took >= given && took < given + Duration::from_secs(20), "{took:?}");
    }
}
