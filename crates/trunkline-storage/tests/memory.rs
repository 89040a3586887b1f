//! Work while other queries use up the memory of SQLite. The limit applies to the process, so this test is a separate
//! program.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::Mutex;
use trunkline_storage::{Connection, Schema, Store, StoreConfig, StoreError};

const SCHEMA: Schema = Schema {
    name: "items",
    file: "items.sqlite",
    application_id: 77,
    migrations: &["CREATE TABLE item (text TEXT NOT NULL) STRICT"],
    postgres: &[],
};

const LIMIT: u32 = 16 << 20;

/// Longer than any passing test takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Held by the running test, since the tests share the memory of the process.
static PROCESS: Mutex<()> = Mutex::const_new(());

/// Work is repeated if memory is lacking, but not after a panic.
#[tokio::test]
async fn work_that_panics_runs_once_and_does_not_affect_its_group() {
    let _process = PROCESS.lock().await;
    let directory = tempfile::tempdir().unwrap();
    let _queries = limited();
    let store = open(directory.path());
    let runs: [Arc<AtomicU32>; 5] = Default::default();
    let counts = || runs.each_ref().map(|runs| runs.load(Relaxed));
    let write = |number: usize, panics: bool, wait: Option<mpsc::Receiver<()>>| {
        let runs = Arc::clone(&runs[number]);
        store.write(pending(), 0, move |connection: &Connection| {
            runs.fetch_add(1, Relaxed);
            if let Some(wait) = &wait {
                // Further writes join the group meanwhile. A repeated run does not wait.
                let _ = wait.recv_timeout(PATIENCE);
            }
            connection.execute("INSERT INTO item VALUES ('a')", &[])?;
            assert!(!panics, "test panic");
            Ok::<_, StoreError>(())
        })
    };
    let (release, wait) = mpsc::channel();
    let (first, panicked, last, ()) = tokio::join!(
        biased;
        write(0, false, Some(wait)),
        write(1, true, None),
        write(2, false, None),
        async move { release.send(()).unwrap() },
    );
    assert!(matches!(panicked, Err(StoreError::Panicked)), "{panicked:?}");
    assert!(first.is_ok() && last.is_ok(), "{first:?} {last:?}");
    let read = |number: usize, store: Store| {
        let runs = Arc::clone(&runs[number]);
        let read = move |_: &Connection| -> Result<(), StoreError> {
            runs.fetch_add(1, Relaxed);
            panic!("test panic")
        };
        async move { store.read(pending(), read).await }
    };
    let missing = tempfile::tempdir().unwrap();
    for (number, store) in [(3, store.clone()), (4, deferred(missing.path()))] {
        let outcome = read(number, store).await;
        assert!(matches!(outcome, Err(StoreError::Panicked)), "{outcome:?}");
    }
    assert_eq!(counts(), [1; 5]);
    let count = |connection: &Connection| {
        connection.query_row("SELECT count(*) FROM item", &[], |row| row.get::<u64>(0))
    };
    assert_eq!(store.read(pending(), count).await.unwrap(), Some(2));
}

#[tokio::test]
async fn works_while_memory_is_used_up() {
    let _process = PROCESS.lock().await;
    let count = "SELECT count(*) FROM item";
    let large = "SELECT length(randomblob(500000))";
    let insert = "INSERT INTO item VALUES (hex(randomblob(50000)))";
    let rows: &[(&str, StoreOf, &str)] = &[
        ("a read", StoreOf::Opened, large),
        ("a write", StoreOf::Opened, insert),
        ("a read without a file", StoreOf::Missing, count),
        ("the write that creates the file", StoreOf::Missing, insert),
        ("the read that opens the file", StoreOf::Existing, count),
    ];
    for (name, store, sql) in rows {
        let outcome = run(*store, sql).await;
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
    }
}

#[derive(Clone, Copy)]
enum StoreOf {
    Opened,
    Missing,
    Existing,
}

/// Runs a statement when no memory is left but that of the reserve.
async fn run(store: StoreOf, sql: &'static str) -> Result<(), StoreError> {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let queries = limited();
    let store = match store {
        StoreOf::Opened => open(place),
        StoreOf::Missing => deferred(place),
        StoreOf::Existing => {
            assert!(open(place).close(PATIENCE));
            deferred(place)
        }
    };
    use_up(&queries);
    if sql.starts_with("SELECT") {
        let read = move |connection: &Connection| connection.query_row(sql, &[], |_| Ok(()));
        store.read(pending(), read).await?;
        Ok(())
    } else {
        execute(&store, sql).await
    }
}

/// Limits the memory of SQLite.
fn limited() -> rusqlite::Connection {
    let queries = rusqlite::Connection::open_in_memory().unwrap();
    queries.pragma_update_and_check(None, "hard_heap_limit", LIMIT, |_| Ok(())).unwrap();
    queries
}

fn open(directory: &Path) -> Store {
    Store::open(directory, SCHEMA, config(), |_, _| Ok(())).unwrap()
}

fn deferred(directory: &Path) -> Store {
    Store::deferred(directory, SCHEMA, config(), |_, _| Ok(()))
}

fn config() -> StoreConfig {
    StoreConfig { timeout: PATIENCE, lock_wait: PATIENCE, ..StoreConfig::default() }
}

async fn execute(store: &Store, sql: &'static str) -> Result<(), StoreError> {
    store.write(pending(), 0, move |connection| connection.execute(sql, &[]).map(drop)).await
}

/// Fills a table in memory until not even a small row fits.
fn use_up(queries: &rusqlite::Connection) {
    queries.execute_batch("CREATE TABLE rest (content)").unwrap();
    for bytes in [100_000, 1_000, 10] {
        while queries.execute("INSERT INTO rest SELECT zeroblob(?1)", [bytes]).is_ok() {}
    }
}
