//! Queries that fill the memory.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Value, json};

use crate::support::{Connection, Server, mismatch, post, tpch, trunkline};

const NUMBERS: &str = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n)";

/// Text of 10,000 bytes.
const LONG: &str = "hex(zeroblob(5000))";

/// The error of a query that fills the memory: the limit, or on a slow machine the deadline.
const MEMORY: &[&str] = &["out_of_memory", "timeout"];

/// The errors of a query that would also run forever.
const ENDLESS: &[&str] = &["over_limit", "out_of_memory", "timeout"];

#[test]
fn memory_is_bounded() {
    const BOUND: u64 = 1 << 30;
    let (folder, path) = tpch();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--query-timeout-ms", "60000", "--db"]).arg(path);
    let server = Server::start(command);
    // Kinds of errors, or `ok` for a truncated result.
    let many_blobs = format!("SELECT {}", ["zeroblob(15000000)"; 60].join(","));
    let rows: &[(&str, String, &[&str])] = &[
        ("randomblob", "SELECT randomblob(1e9)".to_owned(), &["over_limit"]),
        ("its largest", "SELECT length(randomblob(2147483647))".to_owned(), &["over_limit"]),
        ("zeroblob", "SELECT zeroblob(1000000000)".to_owned(), &["over_limit"]),
        ("its text", "SELECT hex(zeroblob(16000000))".to_owned(), &["over_limit"]),
        ("within the limit", "SELECT length(hex(zeroblob(8000000)))".to_owned(), &["ok"]),
        ("a result that is too large", "SELECT zeroblob(16000000)".to_owned(), &["over_limit"]),
        ("many of them", many_blobs, MEMORY),
        ("printf", "SELECT printf('%.*c', 1000000000, 'x')".to_owned(), &["over_limit"]),
        ("its width", "SELECT printf('%*d', 2147483647, 1)".to_owned(), &["over_limit"]),
        ("replace", format!("SELECT replace({LONG}, '0', {LONG})"), &["over_limit"]),
        ("group_concat", format!("{NUMBERS} SELECT group_concat({LONG}) FROM n"), ENDLESS),
        (
            "group_concat that ends",
            format!("SELECT group_concat(x) FROM ({NUMBERS} SELECT {LONG} AS x FROM n LIMIT 2000)"),
            &["over_limit"],
        ),
        (
            "json_group_array",
            format!(
                "SELECT json_group_array(x) FROM ({NUMBERS} SELECT {LONG} x FROM n LIMIT 2000)"
            ),
            &["over_limit", "out_of_memory"],
        ),
        ("sorter", format!("{NUMBERS} SELECT zeroblob(100000) AS x FROM n ORDER BY x"), MEMORY),
        (
            "distinct",
            format!("{NUMBERS} SELECT count(DISTINCT printf('%100000d', i)) FROM n"),
            MEMORY,
        ),
        ("large rows", format!("{NUMBERS} SELECT zeroblob(10000000) FROM n"), &["over_limit"]),
        ("many rows", format!("{NUMBERS} SELECT i FROM n"), &["ok"]),
    ];
    for (name, query, expected) in rows {
        // Alone, and by all readers at once: the limit is that of the process.
        for at_once in [1, 4] {
            // A slow machine takes longer than usual for those that end.
            let timeout = if expected.contains(&"timeout") { 1_000 } else { 60_000 };
            let kinds = run(&server, query, at_once, timeout);
            for kind in kinds {
                // Other queries can fail with the one that exceeds the limit.
                let is_neighbour = at_once > 1 && kind == "out_of_memory";
                assert!(expected.contains(&kind.as_str()) || is_neighbour, "{name}: {kind}");
            }
            let peak = server.peak_memory();
            assert!(peak < BOUND, "{name}: {} MiB", peak >> 20);
            let next = server.sql(&json!({"query": "SELECT count(*) FROM region"}));
            assert_eq!(next, Ok(json!([[5]])), "the query after {name}");
        }
    }
}

/// Records and conversations share SQLite's heap limit with queries, and keep a reserve.
#[test]
fn records_and_conversations_are_saved_while_queries_fill_the_memory() {
    const LIMIT: u32 = 32 << 20;
    const ROUNDS: usize = 40;
    let (folder, path) = tpch();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--heap-limit", &LIMIT.to_string(), "--db"]).arg(path);
    let server = Server::start_alone(command);
    let address = server.address;
    let ask = |path: &str, method: &str, params: Value| {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        Connection::open(address).ask(&post(path, &[], &call)).json()
    };
    let run_out = |bytes: u32| {
        let query = format!(
            "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n),
             big AS MATERIALIZED (SELECT zeroblob(10000 + i - i) AS x FROM n LIMIT {bytes} / 10000)
             SELECT count(*) FROM n WHERE (SELECT count(*) FROM big) < i"
        );
        ask("/", "db.execute_raw_query", json!({ "query": query }))["error"]["data"]["kind"]
            == "out_of_memory"
    };
    let ended = AtomicBool::new(false);
    let mut failures = Vec::new();
    std::thread::scope(|scope| {
        // One query fills most of the memory; the others fill the rest and keep it.
        scope.spawn(|| {
            while !ended.load(Relaxed) {
                run_out(LIMIT / 5 * 3);
            }
        });
        for _ in 0..3 {
            scope.spawn(|| {
                let mut bytes = LIMIT / 10;
                while !ended.load(Relaxed) {
                    bytes = if run_out(bytes) { bytes * 9 / 10 } else { bytes + 100_000 };
                }
            });
        }
        for round in 0..ROUNDS {
            let id = format!("r{round}");
            let record = json!({"id": id, "title": "a".repeat(100_000)});
            for (path, method, params) in [
                ("/", "todo.create", record),
                ("/", "todo.read", json!([id])),
                ("/", "todo.filter", json!({"title": "none", "limit": 10})),
                ("/api", "agent.list_conversations", json!({})),
            ] {
                failures.extend(ask(path, method, params).get("error").cloned());
            }
        }
        ended.store(true, Relaxed);
    });
    assert!(failures.len() <= ROUNDS / 20, "{failures:#?}");
    let reason = format!("the SQLite heap limit of {LIMIT} bytes; try again");
    let expected = json!({"code": -32005,
        "data": {"kind": "out_of_memory", "reason": {"$has": reason}}});
    for failure in failures {
        let is_absent = failure["code"] == -32011;
        assert!(is_absent || mismatch(&failure, &expected).is_none(), "{failure}");
    }
}

/// The kinds of the replies.
fn run(server: &Server, query: &str, at_once: usize, timeout_ms: u64) -> Vec<String> {
    let params = json!({"query": query, "timeout_ms": timeout_ms});
    let method = "db.execute_raw_query";
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut connections: Vec<_> = (0..at_once).map(|_| server.connect()).collect();
    for connection in &mut connections {
        connection.send(&post("/", &[], &call));
    }
    let kind = |reply: Value| match reply.get("error") {
        None => "ok".to_owned(),
        Some(error) => error["data"]["kind"].as_str().unwrap().to_owned(),
    };
    connections.iter_mut().map(|connection| kind(connection.reply().json())).collect()
}

/// Clients that send `initialize` and nothing else.
#[test]
fn unused_sessions_take_bounded_memory() {
    const BOUND: u64 = 8 << 20;
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "roots": {}, "x": "x".repeat(4_000) },
        "clientInfo": { "name": "test", "version": "1" },
    });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let initialize = post("/mcp", &[], &initialize);
    let mut connection = server.connect();
    let mut initialize = |count: usize| {
        for _ in 0..count {
            let reply = connection.ask(&initialize);
            assert_eq!(reply.status, 200);
            assert!(reply.header("mcp-session-id").is_some());
        }
        server.peak_memory()
    };
    // More than the maximum number of sessions.
    let before = initialize(2_000);
    let after = initialize(3_000);
    println!(
        "5,000 sessions: {} KiB, of which {} KiB after 2,000",
        after >> 10,
        (after - before) >> 10
    );
    assert!(after - before <= BOUND, "{} KiB", (after - before) >> 10);
}
