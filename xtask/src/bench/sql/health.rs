//! The latency of `GET /health` while other clients run queries that never end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::side::Engine;
use crate::bench::probe;

const RUNAWAYS: usize = 8;

/// Each query is cut off after this time.
pub(super) const QUERY_TIMEOUT: Duration = Duration::from_secs(1);

const DEADLINE: Duration = Duration::from_secs(10);

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(5);

/// The 99th percentile.
pub(super) fn p99(address: &str, engine: Engine, seconds: u32) -> Result<Duration> {
    let over = AtomicBool::new(false);
    let cut_off = AtomicU32::new(0);
    let mut times = Vec::new();
    thread::scope(|scope| {
        let runaways: Vec<_> = (0..RUNAWAYS)
            .map(|_| scope.spawn(|| run_away(address, engine, &over, &cut_off)))
            .collect();
        let measured = measure(address, seconds, &mut times);
        over.store(true, Ordering::Relaxed);
        for runaway in runaways {
            runaway.join().ok().context("a client panicked")??;
        }
        measured
    })?;
    let cut_off = cut_off.into_inner();
    ensure!(cut_off > 0, "no query was cut off");
    times.sort_unstable();
    times.get(times.len() * 99 / 100).copied().context("no time was measured")
}

/// Calls until `over`, and counts the queries that were cut off.
fn run_away(address: &str, engine: Engine, over: &AtomicBool, cut_off: &AtomicU32) -> Result<()> {
    let query = match engine {
        Engine::Sqlite => {
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        }
        Engine::Postgres => {
            "WITH RECURSIVE n(i) AS (SELECT 1::bigint UNION ALL SELECT i + 1 FROM n) \
             SELECT count(*) FROM n"
        }
    };
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "db.execute_raw_query", "params": { "query": query },
    });
    while !over.load(Ordering::Relaxed) {
        let reply = probe::exchange(address, "/rpc", &[], &call.to_string())?;
        ensure!(reply.contains("\"error\""), "unexpected reply to an endless query: {reply}");
        if reply.contains("timed out") {
            cut_off.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

fn measure(address: &str, seconds: u32, times: &mut Vec<Duration>) -> Result<()> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    let mut stream = BufReader::new(stream);
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(u64::from(seconds)) {
        let start = Instant::now();
        stream.get_mut().write_all(request.as_bytes())?;
        let mut length = 0;
        let mut status = String::new();
        stream.read_line(&mut status)?;
        ensure!(status.starts_with("HTTP/1.1 200 "), "the status is {status:?}");
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        times.push(start.elapsed());
        thread::sleep(PAUSE);
    }
    Ok(())
}
