//! Queries without a result: after a deadline, a dropped future, or without a free reader.

use std::time::{Duration, Instant};

use trunkline_sql::sqlite::SqliteConfig;
use trunkline_sql::{Database, Error, QueryLimits, RawOutcome, RawQuery};

use crate::fixture::{Fixture, kind};

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/// One operation of SQLite's virtual machine, which cannot be interrupted: `instr` compares half of the text at each
/// position of the other half.
const ONE_LONG_STEP: &str = "SELECT instr(hex(zeroblob(240000)), hex(zeroblob(120000)) || '1')";

/// Five times as long.
const ONE_LONGER_STEP: &str = "SELECT instr(hex(zeroblob(540000)), hex(zeroblob(270000)) || '1')";

fn one_reader(timeout: Duration) -> Fixture {
    Fixture::with(SqliteConfig {
        readers: 1,
        stuck_readers: 0,
        queue: 1,
        queue_wait: timeout,
        limits: QueryLimits { timeout, ..QueryLimits::default() },
        ..SqliteConfig::default()
    })
}

async fn run(database: &Database, sql: &str) -> Result<RawOutcome, Error> {
    database.execute_raw_query(RawQuery::new(sql)).await
}

/// Retries until the only reader is free.
async fn is_free_within(database: &Database, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        match run(database, "SELECT 1").await {
            // On a busy machine, a free reader may take longer than these short deadlines.
            Err(Error::Busy | Error::Timeout { .. }) => {}
            outcome => return outcome.is_ok() && Instant::now() < deadline,
        }
    }
    false
}

#[test]
fn the_caller_may_shorten_the_deadline() {
    let fixture = Fixture::new();
    let mut query = RawQuery::new(ENDLESS);
    query.timeout_ms = Some(50);
    let started = Instant::now();
    let outcome = fixture.raw(query);
    assert!(started.elapsed() < Duration::from_secs(20));
    let Err(Error::Timeout { limit }) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(limit, Duration::from_millis(50));
}

#[test]
fn the_caller_may_not_lengthen_the_deadline() {
    let fixture = one_reader(Duration::from_millis(50));
    let mut query = RawQuery::new(ENDLESS);
    query.timeout_ms = Some(60_000);
    let started = Instant::now();
    assert_eq!(kind(&fixture.raw(query)), "timeout");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_dropped_future_frees_the_reader() {
    let fixture = one_reader(Duration::from_secs(60));
    fixture.runtime.block_on(async {
        let call = run(&fixture.database, ENDLESS);
        let elapsed = tokio::time::timeout(Duration::from_millis(20), call).await;
        assert!(elapsed.is_err());
        assert!(is_free_within(&fixture.database, Duration::from_secs(30)).await);
    });
}

#[test]
fn a_late_cancellation_does_not_hit_the_next_query() {
    let fixture = one_reader(Duration::from_secs(60));
    fixture.runtime.block_on(async {
        for _ in 0..300 {
            let call = run(&fixture.database, "SELECT count(*) FROM emp a, emp b, emp c");
            drop(tokio::time::timeout(Duration::from_micros(50), call).await);
            assert_eq!(kind(&run(&fixture.database, "SELECT 1").await), "ok");
        }
    });
}

#[test]
#[ignore = "measures time: `cargo xtask soak` runs it"]
fn a_long_step_times_out_and_occupies_its_reader() {
    let fixture = one_reader(Duration::from_millis(100));
    fixture.runtime.block_on(async {
        let started = Instant::now();
        assert_eq!(kind(&run(&fixture.database, ONE_LONG_STEP).await), "timeout");
        assert!(started.elapsed() < Duration::from_millis(400), "{:?}", started.elapsed());

        // The only reader is stuck: one call waits for a while, the next fails at once.
        let started = Instant::now();
        let (first, second) =
            tokio::join!(run(&fixture.database, "SELECT 1"), run(&fixture.database, "SELECT 1"),);
        assert_eq!((kind(&first), kind(&second)), ("busy", "busy"));
        assert!(started.elapsed() < Duration::from_millis(400), "{:?}", started.elapsed());
        assert!(is_free_within(&fixture.database, Duration::from_secs(20)).await);
    });
}

#[test]
fn stuck_readers_are_replaced_up_to_a_limit() {
    let fixture = Fixture::with(SqliteConfig {
        readers: 1,
        stuck_readers: 1,
        queue: 0,
        limits: QueryLimits { timeout: Duration::from_millis(100), ..QueryLimits::default() },
        ..SqliteConfig::default()
    });
    fixture.runtime.block_on(async {
        // A step that ends does not count: then, the second one is replaced, too.
        for (expected, limit) in [(true, 30_000), (false, 1_200)] {
            assert_eq!(kind(&run(&fixture.database, ONE_LONGER_STEP).await), "timeout");
            let is_free = is_free_within(&fixture.database, Duration::from_millis(limit)).await;
            assert_eq!(is_free, expected);
        }
    });
}

#[test]
fn many_calls_share_few_readers() {
    let fixture = Fixture::with(SqliteConfig { readers: 2, ..SqliteConfig::default() });
    fixture.runtime.block_on(async {
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..60 {
            let database = fixture.database.clone();
            calls.spawn(async move { run(&database, "SELECT name FROM emp").await.is_ok() });
        }
        assert!(calls.join_all().await.iter().all(|ok| *ok));
    });
}

#[test]
fn another_process_with_a_lock() {
    let fixture = Fixture::with(SqliteConfig {
        lock_wait: Duration::from_millis(50),
        ..SqliteConfig::default()
    });
    let writer = rusqlite::Connection::open(&fixture.path).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(kind(&fixture.sql("SELECT * FROM emp")), "locked");
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(kind(&fixture.sql("SELECT * FROM emp")), "ok");
}

#[test]
fn the_longest_times() {
    let longest = SqliteConfig {
        queue_wait: Duration::MAX,
        lock_wait: Duration::MAX,
        limits: QueryLimits { timeout: Duration::MAX, ..QueryLimits::default() },
        ..SqliteConfig::default()
    };
    let fixture = Fixture::with(longest);
    assert_eq!(kind(&fixture.sql("SELECT 1")), "ok");
    let mut query = RawQuery::new("SELECT 1");
    query.timeout_ms = Some(u64::MAX);
    assert_eq!(kind(&fixture.raw(query)), "ok");
}
