//! Files that are opened, refused and closed.

use std::fs;
use std::path::Path;
use std::pin::pin;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use tokio_util::sync::CancellationToken;

use super::{Fixture, PATIENCE, enqueue, enqueue_all, gate, ids, outcome, row};
use crate::error::OpenError;
use crate::settings::Settings;
use crate::store::Store;
use crate::store::migrations::{APPLICATION_ID, NEWEST};

fn open(directory: &Path) -> Result<Store, OpenError> {
    Store::open(directory, &Settings::default())
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
    let path = directory.join("trunkline.sqlite");
    let marks = Connection::open(&path).unwrap().query_row(
        "SELECT application_id, user_version, journal_mode
         FROM pragma_application_id, pragma_user_version, pragma_journal_mode",
        (),
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    );
    assert_eq!(marks, Ok((APPLICATION_ID, NEWEST, "wal".to_owned())));
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
                connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
                connection.pragma_update(None, "user_version", NEWEST + 1).unwrap();
            }),
            "trunkline.sqlite was written by a newer version: its schema is 2, and 1 is the newest known here",
        ),
        (
            "another program's",
            Box::new(database("PRAGMA application_id = 7; CREATE TABLE t (a)")),
            "trunkline.sqlite is not a database of trunkline's: move it, or choose another data directory",
        ),
        (
            "anyone's",
            Box::new(database("CREATE TABLE t (a)")),
            "trunkline.sqlite is not a database of trunkline's: move it, or choose another data directory",
        ),
        (
            "no database",
            Box::new(|path: &Path| fs::write(path, "once upon a time ".repeat(99)).unwrap()),
            "cannot open trunkline.sqlite",
        ),
    ];
    for (name, make, expected) in rows {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trunkline.sqlite");
        make(&path);
        let before = fs::read(&path).unwrap();
        let error = open(directory.path()).err().expect(name).to_string();
        assert_eq!(error.replace(&format!("{}/", directory.path().display()), ""), expected);
        assert_eq!(fs::read(&path).unwrap(), before, "{name}");
        let files = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, 1, "{name}: nothing is left beside it");
    }
}

#[test]
fn what_cannot_be_made_is_said() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(open(&file), Err(OpenError::Directory { path, .. }) if path == file));
    let taken = parent.path().join("trunkline.sqlite");
    fs::create_dir(&taken).unwrap();
    assert!(matches!(open(parent.path()), Err(OpenError::File { path, .. }) if path == taken));
}

#[tokio::test]
async fn many_may_open_a_new_file_at_once() {
    // Who gets which lock first differs from round to round.
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
        let none = CancellationToken::new();
        for (n, store) in stores.iter().enumerate() {
            let put = store.write(&none, 0, move |w| w.put("todo", &n.to_string(), &row(1)));
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
    gate.reached();
    let waiting = enqueue_all(["a", "b"].map(|id| fixture.put(id))).await;
    assert!(!fixture.store.close(Duration::ZERO), "a command is at work");
    assert_eq!(outcome(&fixture.put("c").await), "Closed");
    let read = fixture.store.read(&CancellationToken::new(), |_| Ok(())).await;
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
    assert_eq!(files, ["trunkline.sqlite"], "the log is in the file");
    assert_eq!(ids(&open(fixture.directory.path()).unwrap()).await, ["a", "b"]);
}
