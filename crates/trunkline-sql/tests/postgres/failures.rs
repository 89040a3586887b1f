//! Connections that fail, and pools without a free connection.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use trunkline_sql::postgres::PostgresConfig;
use trunkline_sql::{Database, QueryLimits, RawQuery};

use crate::fixture::{self, Fixture, PATIENCE, connect, kind, patient};
use crate::server;

#[test]
#[ignore = "needs PostgreSQL"]
fn busy_pools() {
    let config = PostgresConfig {
        connections: 1,
        queue: 1,
        queue_wait: Duration::from_secs(2),
        limits: patient(),
        ..PostgresConfig::default()
    };
    let fixture = Fixture::new(config);
    let call = |sql: &str| fixture.database.execute_raw_query(RawQuery::new(sql));
    // The first call has the connection. The second waits for it, the third has no place in the queue.
    let first = fixture.occupy();
    let (second, third) = fixture.runtime.block_on(async {
        let started = Instant::now();
        let second = async { (call("SELECT 1").await, started.elapsed()) };
        let third = async { (call("SELECT 1").await, started.elapsed()) };
        tokio::join!(second, third)
    });
    assert_eq!((kind(&second.0), kind(&third.0)), ("busy", "busy"));
    assert!(third.1 < second.1 && second.1 > Duration::from_millis(1_990));
    first.abort();
    let until = Instant::now() + PATIENCE;
    while kind(&fixture.sql("SELECT 1")) == "busy" {
        assert!(Instant::now() < until, "the connection is not returned");
    }
    assert_eq!(fixture.sql("SELECT 1").unwrap().rows.get(), "[[1]]");
}

/// The time of a call is up while it waits for a connection.
#[test]
#[ignore = "needs PostgreSQL"]
fn calls_that_wait_too_long_time_out() {
    let config = PostgresConfig {
        connections: 1,
        queue_wait: PATIENCE,
        writable: true,
        limits: patient(),
        ..PostgresConfig::default()
    };
    let fixture = Fixture::new(config);
    let first = fixture.occupy();
    for (read_only, sql) in [(true, "SELECT 1"), (false, "DELETE FROM keyless WHERE false")] {
        let query = RawQuery { timeout_ms: Some(50), read_only, ..RawQuery::new(sql) };
        let call = fixture.database.execute_raw_query(query);
        let outcome = fixture.runtime.block_on(call);
        assert_eq!(kind(&outcome), "timeout", "{outcome:?}");
    }
    first.abort();
}

/// The server of the database refuses further connections.
#[test]
#[ignore = "needs PostgreSQL"]
fn busy_servers() {
    let fixture = Fixture::new(PostgresConfig { limits: patient(), ..PostgresConfig::default() });
    fixture.look(&format!("ALTER DATABASE {} CONNECTION LIMIT 1", fixture.name));
    let first = fixture.occupy();
    let second = fixture.sql("SELECT 1");
    assert_eq!(kind(&second), "busy", "{second:?}");
    first.abort();
}

/// The behaviour of a proxy when a client commits.
#[derive(Clone, Copy)]
enum AtCommit {
    /// Forwards nothing more.
    Stall,
    /// Closes the connection before the server receives the commit.
    Close,
    /// Closes the connection after the commit, before the answer.
    CloseLater,
}

/// A proxy of the server, which follows `behavior` while `is_active` is set. Returns its port.
fn proxy(behavior: AtCommit, is_active: &Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let is_active = Arc::clone(is_active);
    let (_, address) = server::url().rsplit_once('@').unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(address).unwrap();
            let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let is_muted = Arc::new(AtomicBool::new(false));
            let muted = Arc::clone(&is_muted);
            std::thread::spawn(move || {
                let mut bytes = [0; 8192];
                while let Ok(length @ 1..) = from.read(&mut bytes) {
                    if muted.load(Ordering::Acquire) {
                        let _ = to.shutdown(Shutdown::Both);
                    } else if to.write_all(&bytes[..length]).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(Shutdown::Both);
            });
            let is_active = Arc::clone(&is_active);
            std::thread::spawn(move || {
                forward(&client, &server, behavior, &is_active, &is_muted);
                let _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    port
}

fn forward(
    mut client: &TcpStream,
    mut server: &TcpStream,
    behavior: AtCommit,
    is_active: &AtomicBool,
    is_muted: &AtomicBool,
) {
    let mut bytes = [0; 8192];
    while let Ok(length @ 1..) = client.read(&mut bytes) {
        let is_commit = bytes[..length].windows(7).any(|text| text == b"COMMIT\0");
        match behavior {
            AtCommit::Stall if is_commit && is_active.load(Ordering::Acquire) => continue,
            AtCommit::Close if is_commit && is_active.load(Ordering::Acquire) => {
                let _ = client.shutdown(Shutdown::Both);
                return;
            }
            AtCommit::CloseLater if is_commit && is_active.load(Ordering::Acquire) => {
                is_muted.store(true, Ordering::Release);
            }
            _ => {}
        }
        if server.write_all(&bytes[..length]).is_err() {
            return;
        }
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn commits_without_an_answer_are_unconfirmed() {
    for (behavior, is_committed) in
        [(AtCommit::Stall, false), (AtCommit::Close, false), (AtCommit::CloseLater, true)]
    {
        let fixture = Fixture::new(PostgresConfig::default());
        let is_active = Arc::new(AtomicBool::new(true));
        let port = proxy(behavior, &is_active);
        let url = format!("postgres://app@127.0.0.1:{port}/{}?sslmode=disable", fixture.name);
        let limits = QueryLimits { timeout: Duration::from_secs(10), ..QueryLimits::default() };
        let config = PostgresConfig { writable: true, limits, ..PostgresConfig::default() };
        let database: Database = fixture.runtime.block_on(connect(&url, config)).unwrap().into();
        let insert = json!({"table_name": "keyless", "data": {"a": 9, "b": "new"}});
        let call = fixture::call(&database, "insert_record", insert.clone());
        let outcome = fixture.runtime.block_on(call);
        assert_eq!(kind(&outcome), "unconfirmed", "{outcome:?}");
        let count = "SELECT count(*) FROM keyless WHERE a = 9";
        let expected = if is_committed { "1" } else { "0" };
        // The connection may be closed before the server has completed the commit.
        let start = Instant::now();
        while is_committed && fixture.look(count) != [expected] && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(fixture.look(count), [expected]);
        is_active.store(false, Ordering::Release);
        let call = fixture::call(&database, "insert_record", insert);
        assert_eq!(kind(&fixture.runtime.block_on(call)), "ok");
    }
}
