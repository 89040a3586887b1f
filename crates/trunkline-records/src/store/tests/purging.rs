//! Deletion of expired rows.

use super::{Fixture, PATIENCE, pending};
use crate::config::RecordsConfig;
use crate::error::Error;
use crate::store::open;
use rusqlite::Connection;

/// A closed store with this number of expired requests and deleted records, and one of each that is not expired.
fn aged(requests: u32, deleted: u32) -> (tempfile::TempDir, Connection) {
    let Fixture { store, directory } = Fixture::new();
    assert!(store.close(PATIENCE));
    let connection = Connection::open(directory.path().join("trunkline.sqlite")).unwrap();
    let insert = |sql: &str, count: u32| {
        let numbers = "WITH RECURSIVE numbers (n) AS
            (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n <= ?1)";
        let sql = sql.replace("{at}", "iif(n > ?1, 1 << 62, n)");
        connection.execute(&format!("{numbers} {sql} FROM numbers WHERE ?1 > 0"), [count]).unwrap();
    };
    insert(
        "INSERT INTO requests (caller, request_id, resource, command, id, asked,
             before_version, before_state, after_state, after_deleted, reply, reverted, at)
         SELECT '', n, 'todo', 'create', n, '', 0, 0, 1, 0, '', 0, {at}",
        requests,
    );
    insert(
        "INSERT INTO deleted (resource, id, version, state, at) SELECT 'todo', n, 1, 1, {at}",
        deleted,
    );
    (directory, connection)
}

fn row_counts(connection: &Connection) -> (i64, i64) {
    let counts = "SELECT (SELECT count(*) FROM requests), (SELECT count(*) FROM deleted)";
    connection.query_row(counts, (), |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

#[tokio::test]
async fn expired_rows_are_deleted_in_batches() {
    // The number of expired requests and deleted records, and the rest after each of three commits. The first batch is
    // deleted before the first commit.
    let rows = [
        (3, 0, [(1, 0), (1, 0), (1, 0)]),
        (0, 3, [(0, 1), (0, 1), (0, 1)]),
        (1_200, 700, [(201, 1), (1, 1), (1, 1)]),
        (10, 1_700, [(1, 701), (1, 201), (1, 1)]),
    ];
    for (requests, deleted, expected) in rows {
        let (directory, connection) = aged(requests, deleted);
        let config = RecordsConfig { purge_time: PATIENCE, ..RecordsConfig::default() };
        let store = open(directory.path().into(), &config).unwrap();
        for expected in expected {
            store.write(pending(), 0, |_| Ok::<_, Error>(())).await.unwrap();
            assert_eq!(row_counts(&connection), expected, "{requests}, {deleted}");
        }
    }
}

#[tokio::test]
async fn slow_batches_are_small() {
    let (directory, connection) = aged(3, 0);
    // Deleting a row takes longer than an empty command.
    let slow = "CREATE TRIGGER slow BEFORE DELETE ON requests BEGIN
        SELECT length(hex(zeroblob(8 << 20))); END";
    connection.execute_batch(slow).unwrap();
    let config =
        RecordsConfig { purge_time: std::time::Duration::ZERO, ..RecordsConfig::default() };
    let store = open(directory.path().into(), &config).unwrap();
    let mut all = Vec::new();
    for _ in 0..3 {
        store.write(pending(), 0, |_| Ok::<_, Error>(())).await.unwrap();
        all.push(row_counts(&connection).0);
    }
    assert_eq!(all, [2, 1, 1]);
}

#[tokio::test]
async fn batches_are_delayed_when_done() {
    let (directory, connection) = aged(1, 0);
    let store = open(directory.path().into(), &RecordsConfig::default()).unwrap();
    store.write(pending(), 0, |_| Ok::<_, Error>(())).await.unwrap();
    assert_eq!(row_counts(&connection), (1, 0));
    connection.execute("UPDATE requests SET at = 0", ()).unwrap();
    store.write(pending(), 0, |_| Ok::<_, Error>(())).await.unwrap();
    assert_eq!(row_counts(&connection), (1, 0));
}

#[tokio::test]
async fn large_groups_have_large_batches() {
    let (directory, connection) = aged(1_200, 0);
    let mut config = RecordsConfig { purge_time: PATIENCE, ..RecordsConfig::default() };
    config.store.group = 1_000;
    let store = open(directory.path().into(), &config).unwrap();
    store.write(pending(), 0, |_| Ok::<_, Error>(())).await.unwrap();
    assert_eq!(row_counts(&connection), (1, 0));
}

#[tokio::test]
async fn failed_purges_do_not_fail_commands() {
    let (directory, connection) = aged(1, 1);
    connection.execute_batch("ALTER TABLE requests RENAME TO away").unwrap();
    let store = open(directory.path().into(), &RecordsConfig::default()).unwrap();
    store.write(pending(), 0, |_| Ok::<_, Error>(())).await.unwrap();
    connection.execute_batch("ALTER TABLE away RENAME TO requests").unwrap();
    assert_eq!(row_counts(&connection), (2, 2));
}
