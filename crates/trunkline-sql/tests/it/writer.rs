//! The writer, concurrent readers and other processes: visibility and interruption of changes.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};
use trunkline_sql::sqlite::{OpenError, SqliteConfig};
use trunkline_sql::{Database, Error, QueryLimits, RawQuery};

use crate::fixture::{Fixture, call, create, files, kind, open, runtime};

const PATIENCE: Duration = Duration::from_secs(30);

/// Inserts rows endlessly.
const ENDLESS: &str = "INSERT INTO extremes WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL \
                       SELECT i + 1 FROM n) SELECT hex(randomblob(50)) FROM n";

fn config() -> SqliteConfig {
    SqliteConfig {
        writable: true,
        limits: QueryLimits { max_affected: u64::MAX, ..QueryLimits::default() },
        ..SqliteConfig::default()
    }
}

fn writing(sql: &str) -> RawQuery {
    RawQuery { read_only: false, ..RawQuery::new(sql) }
}

fn is_intact(path: &Path) -> bool {
    let connection = Connection::open(path).unwrap();
    let check = connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    check.unwrap() == "ok"
}

#[test]
fn changes_are_visible_to_readers_at_once() {
    let _memory = crate::fixture::share_memory();
    for mode in ["DELETE", "WAL"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        create(
            &path,
            &format!("PRAGMA journal_mode = {mode}; CREATE TABLE t(a); INSERT INTO t VALUES (0)"),
        );
        // Long enough for a busy machine.
        let patient = SqliteConfig {
            lock_wait: PATIENCE,
            queue_wait: PATIENCE,
            limits: QueryLimits { timeout: PATIENCE * 3, ..config().limits },
            ..config()
        };
        let database = open(&path, patient).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let stop = std::sync::Arc::new(AtomicBool::new(false));
            let mut others = tokio::task::JoinSet::new();
            for _ in 0..3 {
                let (database, stop) = (database.clone(), std::sync::Arc::clone(&stop));
                others.spawn(async move {
                    let mut last = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let arguments = json!({"query": "SELECT max(a) FROM t"});
                        let reply = match call(&database, "execute_raw_query", arguments).await {
                            // Callers repeat these.
                            Err(Error::Locked | Error::Changing) => continue,
                            reply => reply.unwrap(),
                        };
                        let seen = reply["rows"][0][0].as_i64().unwrap();
                        assert!(seen >= last, "{seen} after {last}");
                        last = seen;
                    }
                });
            }
            for number in 1..=1_000 {
                let insert = json!({"table_name": "t", "data": {"a": number}});
                call(&database, "insert_record", insert).await.unwrap();
                let query = json!({"table_name": "t", "filters": {"a": number}});
                let reply = call(&database, "query_records", query).await.unwrap();
                assert_eq!(reply["rows"], json!([[number]]), "{mode}");
            }
            stop.store(true, Ordering::Relaxed);
            while let Some(other) = others.join_next().await {
                other.unwrap();
            }
        });
        assert!(database.close(PATIENCE));
        let left: Vec<String> = files(folder.path()).into_keys().collect();
        assert_eq!(left, ["a.db"], "{mode}");
        assert!(is_intact(&path));
    }
}

#[test]
fn a_stopped_change_is_undone() {
    let fixture = Fixture::with(SqliteConfig {
        limits: QueryLimits { timeout: Duration::from_secs(60), ..config().limits },
        ..config()
    });
    let before = fixture.files();
    fixture.runtime.block_on(async {
        let database = &fixture.database;

        let mut query = writing(ENDLESS);
        query.timeout_ms = Some(200);
        let started = Instant::now();
        let outcome = database.execute_raw_query(query).await;
        assert_eq!(kind(&outcome), "timeout");
        assert!(started.elapsed() < Duration::from_secs(20));

        let endless = database.execute_raw_query(writing(ENDLESS));
        assert!(tokio::time::timeout(Duration::from_millis(50), endless).await.is_err());

        // The writer is free again.
        let count = json!({"query": "SELECT count(*) FROM extremes", "read_only": false});
        let reply = call(database, "execute_raw_query", count).await.unwrap();
        assert_eq!(reply["rows"], json!([[9]]));
    });
    let after = fixture.files();
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(fixture.look("SELECT count(*) || '' FROM extremes"), "9");
    assert!(is_intact(&fixture.path));
    let insert = json!({"table_name": "extremes", "data": {"v": 1}});
    assert_eq!(kind(&fixture.call("insert_record", insert)), "ok");
}

#[test]
fn a_change_that_times_out_is_rolled_back() {
    let fixture = Fixture::with(SqliteConfig {
        limits: QueryLimits { timeout: Duration::from_secs(60), ..config().limits },
        ..config()
    });
    let mut made = 0;
    for round in 0..300_u64 {
        // Around the commit, whose duration depends on the machine.
        let mut insert = writing("INSERT INTO extremes VALUES (1)");
        insert.timeout_ms = Some(1 + round % 12);
        let outcome = fixture.runtime.block_on(fixture.database.execute_raw_query(insert));
        match kind(&outcome) {
            "ok" => made += 1,
            // The writer may still roll back the last one.
            "timeout" | "busy" => {}
            other => panic!("{other}"),
        }
        assert_eq!(fixture.look("SELECT count(*) || '' FROM extremes"), (9 + made).to_string());
    }
}

#[test]
fn a_dropped_call_is_atomic() {
    let fixture = Fixture::with(config());
    fixture.runtime.block_on(async {
        let records: Vec<Value> = (0..50).map(|v| json!({"v": v})).collect();
        for micros in 0..200 {
            let insert = json!({"table_name": "extremes", "data": records});
            let insert = call(&fixture.database, "insert_record", insert);
            drop(tokio::time::timeout(Duration::from_micros(micros * 20), insert).await);
        }
    });
    assert!(fixture.database.close(PATIENCE));
    let rows = fixture.look("SELECT ((count(*) - 9) % 50) || '' FROM extremes");
    assert_eq!(rows, "0");
}

#[test]
fn a_long_reader_of_another_process_delays_the_writer() {
    let fixture = Fixture::with(SqliteConfig { lock_wait: Duration::from_millis(200), ..config() });
    let insert = || fixture.call("insert_record", json!({"table_name": "extremes", "data": {}}));
    let reader = Connection::open(&fixture.path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM emp").unwrap();
    let before = std::fs::read(&fixture.path).unwrap();
    let started = Instant::now();
    assert_eq!(kind(&insert()), "locked");
    assert!(started.elapsed() >= Duration::from_millis(200));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(std::fs::read(&fixture.path).unwrap() == before);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(kind(&insert()), "ok");

    let writer = Connection::open(&fixture.path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(kind(&insert()), "locked");
    assert_eq!(kind(&fixture.sql("SELECT 1 FROM emp")), "ok", "readers go on");
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(kind(&insert()), "ok");
}

#[test]
#[ignore = "measures time: `cargo xtask soak` runs it"]
fn long_readers_of_our_own_do_not_starve_the_writer() {
    let fixture = Fixture::with(SqliteConfig {
        lock_wait: Duration::from_millis(150),
        limits: QueryLimits { timeout: Duration::from_secs(2), ..config().limits },
        ..config()
    });
    fixture.runtime.block_on(async {
        // Four readers that hold their locks for as long as possible.
        let long = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) \
                    SELECT count(*) FROM emp, n";
        let mut readers = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let database = fixture.database.clone();
            readers.spawn(async move {
                call(&database, "execute_raw_query", json!({"query": long})).await
            });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let insert = || {
            call(&fixture.database, "insert_record", json!({"table_name": "extremes", "data": {}}))
        };
        let started = Instant::now();
        assert_eq!(kind(&insert().await), "locked");
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
        while let Some(outcome) = readers.join_next().await {
            assert_eq!(kind(&outcome.unwrap()), "timeout");
        }
        assert_eq!(kind(&insert().await), "ok");
    });
}

#[test]
fn a_large_change_does_not_block_readers() {
    let fixture = Fixture::with(SqliteConfig { lock_wait: Duration::from_millis(50), ..config() });
    fixture.runtime.block_on(async {
        // 20 MB, followed by an endless loop.
        let mut large = writing(
            "INSERT INTO extremes WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) \
             SELECT zeroblob(100000) FROM n WHERE i <= 200",
        );
        large.timeout_ms = Some(1_500);
        let large = fixture.database.execute_raw_query(large);
        let (large, ()) = tokio::join!(large, async {
            for _ in 0..10 {
                tokio::time::sleep(Duration::from_millis(100)).await;
                let count = json!({"query": "SELECT count(*) FROM extremes"});
                let reply = call(&fixture.database, "execute_raw_query", count).await.unwrap();
                assert_eq!(reply["rows"], json!([[9]]));
            }
        });
        assert_eq!(kind(&large), "timeout");
    });
}

#[test]
fn many_changes_at_the_same_time_wait_for_each_other() {
    let patient = SqliteConfig {
        queue_wait: PATIENCE * 3,
        limits: QueryLimits { timeout: PATIENCE * 3, ..config().limits },
        ..config()
    };
    let fixture = Fixture::with(patient);
    fixture.runtime.block_on(async {
        let mut inserts = tokio::task::JoinSet::new();
        for v in 0..50 {
            let database = fixture.database.clone();
            let insert = json!({"table_name": "extremes", "data": {"v": v}});
            inserts.spawn(async move { call(&database, "insert_record", insert).await });
        }
        while let Some(outcome) = inserts.join_next().await {
            assert_eq!(kind(&outcome.unwrap()), "ok");
        }
    });
    assert_eq!(fixture.look("SELECT count(*) || '' FROM extremes"), "59");
}

#[test]
fn the_queue_of_the_writer_is_bounded() {
    let fixture = Fixture::with(SqliteConfig {
        write_queue: 1,
        queue_wait: Duration::from_millis(100),
        limits: QueryLimits { timeout: Duration::from_millis(600), ..config().limits },
        ..config()
    });
    fixture.runtime.block_on(async {
        let insert = || {
            call(&fixture.database, "insert_record", json!({"table_name": "extremes", "data": {}}))
        };
        let endless = fixture.database.execute_raw_query(writing(ENDLESS));
        let (endless, first, second) = tokio::join!(endless, insert(), insert());
        assert_eq!((kind(&endless), kind(&first), kind(&second)), ("timeout", "busy", "busy"));
    });
}

#[test]
fn the_write_ahead_log_is_shared_and_removed() {
    let _memory = crate::fixture::share_memory();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wal.db");
    create(&path, "PRAGMA journal_mode = WAL; CREATE TABLE t(a)");
    let names = || {
        let entries = std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["wal.db"]);
    let runtime = runtime();
    let count = |database: &Database| {
        let count = call(database, "execute_raw_query", json!({"query": "SELECT count(*) FROM t"}));
        runtime.block_on(count).unwrap()["rows"][0][0].as_i64().unwrap()
    };
    let insert = |database: &Database| {
        let insert = call(database, "insert_record", json!({"table_name": "t", "data": {}}));
        runtime.block_on(insert).unwrap();
    };

    let database = open(&path, config()).unwrap();
    assert_eq!(count(&database), 0);
    insert(&database);
    assert_eq!((count(&database), names().len()), (1, 3));
    // A second server, which only reads.
    let beside = open(&path, SqliteConfig::default()).unwrap();
    insert(&database);
    assert_eq!((count(&database), count(&beside)), (2, 2));
    assert!(beside.close(PATIENCE));
    assert!(database.close(PATIENCE));
    assert_eq!(names(), ["wal.db"]);

    // Without a close, at its end.
    let database = open(&path, config()).unwrap();
    insert(&database);
    drop(database);
    let ended = Instant::now();
    while names().len() > 1 {
        assert!(ended.elapsed() < PATIENCE, "{:?}", names());
        std::thread::yield_now();
    }
    assert_eq!(count(&open(&path, SqliteConfig::default()).unwrap()), 3);
}

#[test]
fn a_closed_database_fails_calls() {
    for writable in [false, true] {
        let fixture = Fixture::with(SqliteConfig { writable, ..SqliteConfig::default() });
        let clone = fixture.database.clone();
        assert!(clone.close(PATIENCE));
        assert!(clone.close(PATIENCE), "again");
        assert_eq!(kind(&fixture.sql("SELECT 1")), "closed");
        let insert = fixture.call("insert_record", json!({"table_name": "extremes", "data": {}}));
        assert_eq!(kind(&insert), if writable { "closed" } else { "read_only" });
    }
}

#[test]
fn an_unfinished_transaction_is_rolled_back_by_a_writer() {
    let _memory = crate::fixture::share_memory();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    create(&path, "CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(100000))");
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE t SET a = randomblob(100000)")
        .unwrap();
    let crashed = folder.path().join("crashed.db");
    std::fs::copy(&path, &crashed).unwrap();
    std::fs::copy(folder.path().join("a.db-journal"), folder.path().join("crashed.db-journal"))
        .unwrap();
    let database = open(&crashed, config()).unwrap();
    let query = json!({"query": "SELECT count(*) FROM t WHERE a = zeroblob(100000)"});
    let reply = runtime().block_on(call(&database, "execute_raw_query", query)).unwrap();
    assert_eq!(reply["rows"], json!([[1]]));
    assert!(database.close(PATIENCE));
    assert!(!folder.path().join("crashed.db-journal").exists());
}

#[test]
fn an_unfinished_transaction_of_another_process_is_reported() {
    let _memory = crate::fixture::share_memory();
    let folder = tempfile::tempdir().unwrap();
    let (path, served) = (folder.path().join("a.db"), folder.path().join("served.db"));
    create(&path, "CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(100000))");
    std::fs::copy(&path, &served).unwrap();
    let database = open(&served, SqliteConfig::default()).unwrap();
    let read = || {
        let query = json!({"query": "SELECT count(*) FROM t WHERE a = zeroblob(100000)"});
        runtime().block_on(call(&database, "execute_raw_query", query))
    };
    assert_eq!(kind(&read()), "ok");
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE t SET a = randomblob(100000)")
        .unwrap();
    let journal = folder.path().join("served.db-journal");
    std::fs::copy(&path, &served).unwrap();
    std::fs::copy(folder.path().join("a.db-journal"), &journal).unwrap();
    let error = read().unwrap_err();
    assert_eq!(error.details().kind, "unavailable");
    assert!(error.to_string().ends_with("open it once for writing to roll it back"), "{error}");
    // A writer rolls it back, and the readers continue.
    assert!(open(&served, config()).unwrap().close(PATIENCE));
    assert_eq!(read().unwrap()["rows"], json!([[1]]));
}

#[test]
fn a_file_that_cannot_be_written_is_not_served_for_writing() {
    let _memory = crate::fixture::share_memory();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    create(&path, "CREATE TABLE t(a)");
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let may_anything = std::fs::OpenOptions::new().append(true).open(&path).is_ok();
    match open(&path, config()) {
        Err(OpenError::NotWritable { .. }) => {}
        outcome => assert!(may_anything && outcome.is_ok(), "{outcome:?}"),
    }
    let missing = open(folder.path().join("missing.db"), config());
    assert!(matches!(missing, Err(OpenError::Missing { .. })));
    assert!(!folder.path().join("missing.db").exists());
}

#[test]
fn the_heap_limit_fails_single_queries() {
    let _memory = crate::fixture::MEMORY.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    let fixture = Fixture::under_lock(SqliteConfig {
        heap_limit: 96 << 20,
        limits: QueryLimits { timeout: PATIENCE * 6, ..config().limits },
        ..config()
    });
    let hungry = "INSERT INTO extremes WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n), \
                  m AS MATERIALIZED (SELECT hex(zeroblob(4000000)) AS x FROM n) SELECT m.x FROM m, m AS o";
    let outcome = fixture.call("execute_raw_query", json!({"query": hungry, "read_only": false}));
    assert_eq!(kind(&outcome), "out_of_memory");
    let insert = fixture.call("insert_record", json!({"table_name": "extremes", "data": {}}));
    assert_eq!(kind(&insert), "ok");
    assert_eq!(fixture.look("SELECT count(*) || '' FROM extremes"), "10");
}
