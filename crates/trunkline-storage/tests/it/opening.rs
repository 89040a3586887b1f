//! Opening and closing of files.

use std::fs;
use std::future::pending;
use std::path::Path;
use std::pin::pin;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use trunkline_storage::{OpenError, Schema, Store, StoreConfig, StoreError};

use crate::fixture::{
    FILE, Fixture, PATIENCE, SCHEMA, cancellation, enqueue, enqueue_all, fault, gate, ids, outcome,
    put,
};

fn open(directory: &Path) -> Result<Store, OpenError> {
    crate::fixture::open(directory, StoreConfig::default())
}

#[tokio::test]
async fn what_was_answered_is_there_again() {
    for close in [true, false] {
        let Fixture { store, directory } = {
            let fixture = Fixture::new();
            fixture.put("a").await.unwrap();
            fixture
        };
        if close {
            assert!(store.close(PATIENCE));
        }
        drop(store);
        assert_eq!(ids(&open(directory.path()).unwrap()).await, ["a"], "closed: {close}");
    }
}

#[test]
fn a_new_file_is_marked_and_its_owners() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("not/yet");
    let store = open(&directory).unwrap();
    let path = directory.join(FILE);
    let marks = Connection::open(&path).unwrap().query_row(
        "SELECT application_id, user_version, journal_mode
         FROM pragma_application_id, pragma_user_version, pragma_journal_mode",
        (),
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    );
    assert_eq!(marks, Ok((SCHEMA.application_id, 1, "wal".to_owned())));
    #[cfg(unix)]
    for (path, expected) in [(&directory, 0o700), (&path, 0o600)] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, expected, "{}", path.display());
    }
    drop(store);
}

#[test]
fn a_file_that_is_not_ours_is_left_as_it_is() {
    let database = |sql: &'static str| {
        move |path: &Path| Connection::open(path).unwrap().execute_batch(sql).unwrap()
    };
    type Make = Box<dyn Fn(&Path)>;
    let rows: [(&str, Make, &str); 4] = [
        (
            "newer",
            Box::new(|path: &Path| {
                let connection = Connection::open(path).unwrap();
                connection.execute_batch("CREATE TABLE t (a)").unwrap();
                connection.pragma_update(None, "application_id", SCHEMA.application_id).unwrap();
                connection.pragma_update(None, "user_version", 2).unwrap();
            }),
            "items.sqlite was written by a newer version: its schema version is 2, the newest supported one is 1",
        ),
        (
            "another program's",
            Box::new(database("PRAGMA application_id = 7; CREATE TABLE t (a)")),
            "items.sqlite is a database of another program: move it, or choose another data directory",
        ),
        (
            "anyone's",
            Box::new(database("CREATE TABLE t (a)")),
            "items.sqlite is a database of another program: move it, or choose another data directory",
        ),
        (
            "no database",
            Box::new(|path: &Path| fs::write(path, "not a database ".repeat(99)).unwrap()),
            "cannot open items.sqlite",
        ),
    ];
    for (name, make, expected) in rows {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        make(&path);
        let before = fs::read(&path).unwrap();
        let error = open(directory.path()).expect_err(name).to_string();
        assert_eq!(error.replace(&format!("{}/", directory.path().display()), ""), expected);
        assert_eq!(fs::read(&path).unwrap(), before, "{name}");
        let files = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, 1, "{name}: no other file exists");
    }
}

/// The schema in its first versions.
const VERSIONS: [Schema; 3] = [
    Schema { migrations: &[], ..SCHEMA },
    SCHEMA,
    Schema {
        migrations: &[
            SCHEMA.migrations[0],
            "ALTER TABLE item ADD COLUMN color TEXT; UPDATE item SET color = 'red'",
        ],
        ..SCHEMA
    },
];

#[test]
fn a_file_of_an_older_version_is_migrated() {
    for (from, to, expected) in [
        (0, 1, "none"),
        (0, 2, "none"),
        (1, 1, "a"),
        (1, 2, "a red"),
        (2, 2, "a red"),
        (2, 1, "its schema version is 2, the newest supported one is 1"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let open = |version: usize| {
            let config = StoreConfig::default();
            Store::open(directory.path(), VERSIONS[version], config, |_, _| Ok(()))
        };
        assert!(open(from.min(1)).unwrap().close(PATIENCE));
        let file = Connection::open(directory.path().join(FILE)).unwrap();
        if from > 0 {
            file.execute_batch("INSERT INTO item (id, text) VALUES ('a', '')").unwrap();
        }
        assert!(open(from).unwrap().close(PATIENCE));
        let found = match open(to) {
            Ok(store) => {
                assert!(store.close(PATIENCE));
                let columns = if to > 1 { "id || ' ' || color" } else { "id" };
                let sql = format!("SELECT coalesce(group_concat({columns}), 'none') FROM item");
                file.query_row(&sql, (), |row| row.get(0)).unwrap()
            }
            Err(error) => error.to_string(),
        };
        assert!(found.ends_with(expected), "{from} to {to}: {found}");
    }
}

#[test]
fn a_migration_that_fails_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    assert!(open(directory.path()).unwrap().close(PATIENCE));
    const BROKEN: Schema = Schema {
        migrations: &[SCHEMA.migrations[0], "CREATE TABLE more (a); CREATE TABLE item (a)"],
        ..SCHEMA
    };
    let opened = Store::open(directory.path(), BROKEN, StoreConfig::default(), |_, _| Ok(()));
    assert!(matches!(opened, Err(OpenError::Open { source: StoreError::Failed(_), .. })));
    let file = Connection::open(directory.path().join(FILE)).unwrap();
    let sql = "SELECT (SELECT count(*) FROM sqlite_schema WHERE name = 'more'), user_version
               FROM pragma_user_version";
    let found = file.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(found, Ok((0, 1)));
}

#[test]
fn what_cannot_be_made_is_said() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(open(&file), Err(OpenError::Create { path, .. }) if path == file));
    let taken = parent.path().join(FILE);
    fs::create_dir(&taken).unwrap();
    assert!(matches!(open(parent.path()), Err(OpenError::Create { path, .. }) if path == taken));
}

#[tokio::test]
async fn many_may_open_a_new_file_at_once() {
    // The order of locks differs between rounds.
    for round in 0..8 {
        let directory = tempfile::tempdir().unwrap();
        let barrier = Barrier::new(8);
        let stores = thread::scope(|scope| {
            let open = || {
                barrier.wait();
                open(directory.path()).unwrap()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        for (n, store) in stores.iter().enumerate() {
            let put =
                store.write(pending(), 0, move |connection| put(connection, &n.to_string(), ""));
            put.await.unwrap();
        }
        assert_eq!(ids(&stores[0]).await.len(), 8, "round {round}");
    }
}

#[tokio::test]
async fn closing_finishes_what_was_taken() {
    let fixture = Fixture::new();
    let (gate, passage) = gate();
    let mut holding = pin!(fixture.write(move |_| {
        passage.pass();
        Ok(())
    }));
    enqueue(holding.as_mut()).await;
    gate.wait();
    let waiting = enqueue_all(["a", "b"].map(|id| fixture.put(id))).await;
    assert!(!fixture.store.close(Duration::ZERO), "a command is running");
    assert_eq!(outcome(&fixture.put("c").await), "Closed");
    let read = fixture.read(|_| Ok(())).await;
    assert_eq!(outcome(&read), "Closed");
    gate.open();
    assert!(fixture.store.close(PATIENCE));
    assert!(fixture.store.close(PATIENCE), "once more");
    holding.await.unwrap();
    for put in waiting {
        put.await.unwrap();
    }
    let files: Vec<_> = fs::read_dir(fixture.directory.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, [FILE], "the log was merged into the file");
    assert_eq!(ids(&open(fixture.directory.path()).unwrap()).await, ["a", "b"]);
}

#[tokio::test]
async fn maintenance_is_part_of_each_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let mut calls = 0;
    let maintain = move |connection: &Connection, _: Duration| {
        calls += 1;
        connection.execute("INSERT INTO item VALUES (?1, '')", [format!("{calls}")])?;
        // The second call fails and is rolled back.
        if calls == 2 { Err(rusqlite::Error::InvalidQuery) } else { Ok(()) }
    };
    let config = StoreConfig::default();
    let store = Store::open(directory.path(), SCHEMA, config, maintain).unwrap();
    for id in ["a", "b"] {
        store.write(pending(), 0, move |connection| put(connection, id, "")).await.unwrap();
    }
    assert_eq!(ids(&store).await, ["1", "3", "a", "b"]);
}

#[tokio::test]
async fn deleted_content_is_erased() {
    const TEXT: &str = "a deleted secret";
    for erase in [true, false] {
        let fixture = Fixture::with(|config| config.erase_deleted = erase);
        let holds_text = || {
            fs::read_dir(fixture.directory.path()).unwrap().any(|file| {
                let bytes = fs::read(file.unwrap().path()).unwrap();
                bytes.windows(TEXT.len()).any(|part| part == TEXT.as_bytes())
            })
        };
        let long = TEXT.repeat(1_000);
        fixture.write(move |connection| put(connection, "a", &long)).await.unwrap();
        assert!(holds_text());
        let delete = |connection: &Connection| Ok(connection.execute("DELETE FROM item", ())?);
        fixture.write(delete).await.unwrap();
        assert_eq!(holds_text(), !erase);
        assert!(fixture.store.close(PATIENCE));
        let bytes = fs::metadata(fixture.directory.path().join(FILE)).unwrap().len();
        assert_eq!(bytes < 20_000, erase, "{bytes}");
    }
}

#[tokio::test]
async fn problems_are_those_of_the_storage() {
    type Work = fn(&Connection) -> Result<(), StoreError>;
    let rows: [(Work, Option<&str>); 4] = [
        (|_| Err(fault()), Some("the storage failed")),
        (|_| Err(StoreError::Closed), Some("the storage failed")),
        (|_| Ok(()), None),
        (|_| Err(StoreError::Closed), None),
    ];
    let fixture = Fixture::new();
    for (work, expected) in rows {
        drop(fixture.write(work).await);
        assert_eq!(fixture.store.problem().as_deref(), expected);
    }
    drop(fixture.read(|_| Err::<(), _>(fault())).await);
    assert!(fixture.store.problem().is_some());
}

fn deferred(directory: &Path) -> Store {
    Store::deferred(directory, SCHEMA, StoreConfig::default(), |_, _| Ok(()))
}

/// Neither `prepare` nor reads create anything.
#[tokio::test]
async fn a_deferred_store_is_created_by_the_first_write() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("not/yet");
    let (store, other) = (deferred(&directory), deferred(&directory));
    store.prepare().unwrap();
    assert_eq!(ids(&store).await, [""; 0]);
    assert!(!parent.path().join("not").exists());
    let insert = store.write(pending(), 0, |connection| put(connection, "a", ""));
    insert.await.unwrap();
    assert_eq!(ids(&store).await, ["a"]);
    assert_eq!(ids(&other).await, ["a"], "a file that another store created");
    assert!(store.close(PATIENCE) && other.close(PATIENCE));
}

/// A file in place of the directory: reads see an empty store, and a write succeeds once the file is gone.
#[tokio::test]
async fn a_deferred_store_that_cannot_be_created() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("a/b");
    fs::write(parent.path().join("a"), "").unwrap();
    let store = deferred(&directory);
    let insert = || store.write(pending(), 0, |connection| put(connection, "a", ""));
    assert!(store.prepare().unwrap_err().disk_reason().is_some());
    assert!(store.problem().is_some());
    assert_eq!(ids(&store).await, [""; 0]);
    assert!(matches!(insert().await, Err(StoreError::Unavailable { .. })));
    fs::remove_file(parent.path().join("a")).unwrap();
    insert().await.unwrap();
    assert_eq!((store.problem(), ids(&store).await), (None, vec!["a".to_owned()]));
}

#[tokio::test]
async fn a_deferred_store_that_is_closed_creates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = deferred(directory.path());
    assert!(store.close(PATIENCE));
    let insert = store.write(pending(), 0, |connection| put(connection, "a", ""));
    assert!(matches!(insert.await, Err(StoreError::Closed)));
    assert!(!directory.path().join(FILE).exists());
}

/// A deferred store whose file is locked by another process, so that opening it takes long.
fn locked(directory: &Path) -> (Store, Connection) {
    let other = Connection::open(directory.join(FILE)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let config = StoreConfig { lock_wait: PATIENCE, timeout: PATIENCE, ..StoreConfig::default() };
    (Store::deferred(directory, SCHEMA, config, |_, _| Ok(())), other)
}

#[tokio::test]
async fn work_that_waits_for_the_opening_is_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let (store, other) = locked(directory.path());
    for _ in 0..2 {
        let [(cancel_1, cancelled_1), (cancel_2, cancelled_2), (cancel_3, cancelled_3)] =
            [cancellation(), cancellation(), cancellation()];
        let mut write =
            pin!(store.write(cancelled_1, 0, |connection| put(connection, "cancelled", "")));
        let mut read = pin!(store.read(cancelled_2, |_| Ok::<_, StoreError>(())));
        let mut scan = pin!(store.scan(cancelled_3, |_, _| Ok::<_, StoreError>(())));
        enqueue(write.as_mut()).await;
        enqueue(read.as_mut()).await;
        enqueue(scan.as_mut()).await;
        drop((cancel_1, cancel_2, cancel_3));
        assert_eq!(outcome(&write.await), "Cancelled");
        assert_eq!(outcome(&read.await), "Cancelled");
        assert_eq!(outcome(&scan.await), "Cancelled");
    }
    other.execute_batch("ROLLBACK").unwrap();
    store.write(pending(), 0, |connection| put(connection, "a", "")).await.unwrap();
    assert_eq!(ids(&store).await, ["a"]);
}

#[test]
fn one_thread_opens_a_file_that_many_wait_for() {
    let directory = tempfile::tempdir().unwrap();
    let (store, other) = locked(directory.path());
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().max_blocking_threads(2).build().unwrap().block_on(async {
        let put = |id| store.write(pending(), 0, move |connection| put(connection, id, ""));
        let waiting = enqueue_all(["a", "b", "c"].map(put)).await;
        let free = tokio::task::spawn_blocking(|| ());
        let free = tokio::time::timeout(Duration::from_secs(10), free).await;
        other.execute_batch("ROLLBACK").unwrap();
        free.expect("a thread is free").unwrap();
        for put in waiting {
            put.await.unwrap();
        }
        assert_eq!(ids(&store).await, ["a", "b", "c"]);
    });
}

#[tokio::test]
async fn a_read_of_an_empty_store_times_out() {
    let directory = tempfile::tempdir().unwrap();
    let config = StoreConfig { timeout: Duration::from_millis(20), ..StoreConfig::default() };
    let store = Store::deferred(directory.path(), SCHEMA, config, |_, _| Ok(()));
    let (gate, passage) = gate();
    let read = store.read(pending(), move |_| {
        passage.pass();
        Ok::<_, StoreError>(())
    });
    assert_eq!(outcome(&read.await), "Timeout");
    gate.open();
}
