//! Attacks on the memory of a server, and databases whose server is killed, which use the whole machine:
//! `cargo xtask soak`.
//!
//! One at a time (`--test-threads=1`). `SOAK_BINARY` is another binary to measure.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "the figures of each attack are the result")]

mod attack;
mod databases;
mod health;
mod target;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::Write;
use std::thread::{sleep, spawn};
use std::time::Duration;

use attack::Attack;
use databases::Store;
use target::Target;

/// The memory budget of the servers under attack.
const BUDGET: usize = 256 << 20;
/// The maximum memory in addition to the budget: the program, its caches, its connections.
const FIXED: usize = 128 << 20;
/// The maximum memory after the clients have disconnected.
const SETTLED: usize = 160 << 20;
/// The maximum latency of `/health` during an attack (99th percentile).
const HEALTH: Duration = Duration::from_millis(50);
/// The duration of an attack after its set-up.
const HOLD: Duration = Duration::from_secs(10);

/// Runs an attack, prints its figures, and fails if a bound is exceeded.
fn check(name: &str, attack: Attack) {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).unwrap();
    let directory = tempfile::tempdir().unwrap();
    rusqlite::Connection::open(directory.path().join("a.db"))
        .and_then(|connection| connection.execute_batch("CREATE TABLE t (a)"))
        .unwrap();
    let (target, address) = Target::serve_in(directory.path(), attack.arguments(), BUDGET);
    let begun = target.memory();
    let prober = health::Prober::start(address);
    let attackers = attack::run(attack, address, HOLD);
    let latencies = prober.stop();
    let peak = target.peak();
    drop(attackers);
    let settled = target.settled(SETTLED, Duration::from_secs(45));
    let [median, p99, max] = [0.5, 0.99, 1.0].map(|share| health::quantile(&latencies, share));
    println!(
        "{name}: {begun} MiB at the start, {peak} MiB at the peak, {settled} MiB at the end; /health p50 \
         {median:?}, p99 {p99:?}, max {max:?} ({count} requests)",
        begun = begun >> 20,
        peak = peak >> 20,
        settled = settled >> 20,
        count = latencies.len(),
    );
    let bounds = [
        (peak <= BUDGET + FIXED, format!("{name}: {} MiB at the peak", peak >> 20)),
        (settled <= SETTLED, format!("{name}: {} MiB at the end", settled >> 20)),
        (latencies.len() >= 100, format!("{name}: /health answered {} times", latencies.len())),
        (p99 <= HEALTH, format!("{name}: /health took {p99:?}")),
    ];
    let broken: Vec<String> =
        bounds.into_iter().filter(|(is_met, _)| !is_met).map(|(_, broken)| broken).collect();
    assert_eq!(broken, [""; 0]);
}

#[test]
fn batches_over_http1() {
    check("1,000 batches over HTTP/1.1", Attack::Batches { connections: 1_000 });
}

#[test]
fn batches_over_http2() {
    check("256 batches over HTTP/2", Attack::Http2Batches { connections: 2, streams: 128 });
}

#[test]
fn stalled_event_streams() {
    check("64 stalled HTTP+SSE clients", Attack::Sse { clients: 64, calls: 60 });
}

#[test]
fn incomplete_bodies() {
    check("4,000 bodies without their last byte", Attack::Bodies { connections: 4_000 });
}

#[test]
fn nested_params() {
    check("6 connections with nested params", Attack::Nested { connections: 6 });
}

#[test]
fn wide_tables() {
    check("6 connections with tables of 60,000 columns", Attack::WideTables { connections: 6 });
}

/// The server stops reading when it holds enough replies.
#[test]
fn stdio_without_a_reader() {
    let (target, mut stdin) = Target::mcp(BUDGET);
    let begun = target.memory();
    let calls = spawn(move || {
        (0..4_000).take_while(|id| writeln!(stdin, "{}", attack::large_result(*id)).is_ok()).count()
    });
    sleep(HOLD);
    let peak = target.peak();
    drop(target);
    let sent = calls.join().unwrap();
    println!("{sent} results of 1 MB over stdio: {} MiB at the peak", peak >> 20);
    assert!(peak - begun >= 64 << 20, "the server holds too few replies for an attack");
    assert!(peak <= BUDGET + FIXED, "{} MiB at the peak", peak >> 20);
}

#[test]
fn database_sqlite() {
    databases::check("SQLite", Store::Sqlite);
}

#[test]
fn database_postgres() {
    databases::check("PostgreSQL", Store::Postgres);
}
