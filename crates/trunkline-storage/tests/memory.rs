//! Work while other queries use up the memory of SQLite. The limit applies to the process, so this test is a separate
//! program.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::future::pending;
use std::path::Path;
use std::time::Duration;

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

#[tokio::test]
async fn works_while_memory_is_used_up() {
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
    let queries = rusqlite::Connection::open_in_memory().unwrap();
    queries.pragma_update_and_check(None, "hard_heap_limit", LIMIT, |_| Ok(())).unwrap();
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
