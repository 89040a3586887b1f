//! Opening and closing of files.

use std::fs;
use std::future::pending;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use rusqlite::Connection;
use trunkline_storage::{OpenError, Store, StoreConfig, StoreError};

use crate::engine::FILE;
use crate::fixture::{
    Fixture, PATIENCE, SCHEMA, cancellation, enqueue, enqueue_all, gate, ids, outcome, put,
};

fn open(directory: &Path) -> Result<Store, OpenError> {
    Store::open(directory, SCHEMA, StoreConfig::default(), |_, _| Ok(()))
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
async fn deleted_content_is_erased() {
    const TEXT: &str = "a deleted secret";
    for erase in [true, false] {
        let fixture = Fixture::with(|config| config.erase_deleted = erase);
        let holds_text = || {
            fs::read_dir(fixture.place.path()).unwrap().any(|file| {
                let bytes = fs::read(file.unwrap().path()).unwrap();
                bytes.windows(TEXT.len()).any(|part| part == TEXT.as_bytes())
            })
        };
        let long = TEXT.repeat(1_000);
        fixture.write(move |connection| put(connection, "a", &long)).await.unwrap();
        assert!(holds_text());
        fixture.write(|connection| connection.execute("DELETE FROM item", &[])).await.unwrap();
        assert_eq!(holds_text(), !erase);
        assert!(fixture.store.close(PATIENCE));
        let bytes = fs::metadata(fixture.place.path().join(FILE)).unwrap().len();
        assert_eq!(bytes < 20_000, erase, "{bytes}");
    }
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

#[tokio::test]
async fn closing_leaves_one_file() {
    let fixture = Fixture::new();
    fixture.put("a").await.unwrap();
    assert!(fixture.store.close(PATIENCE));
    let files = fs::read_dir(fixture.place.path()).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, [FILE], "the log was merged into the file");
}
