//! Serving changes no byte of the file and creates no other file next to it.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use trunkline_sql::Database;
use trunkline_sql::sqlite::{OpenError, SqliteConfig, create_empty};

use crate::fixture::{create, files, open, request, rows, runtime};

const COUNT: &str = "SELECT count(*) FROM t";

fn count(database: &Database) -> String {
    let query = request(serde_json::json!({ "query": COUNT }));
    let outcome = runtime().block_on(database.execute_raw_query(query));
    rows(outcome.unwrap()).rows.get().to_owned()
}

fn read_only(path: &Path) -> Database {
    open(path, SqliteConfig::default()).unwrap()
}

#[test]
fn leaves_no_files_in_any_journal_mode() {
    for mode in ["DELETE", "TRUNCATE", "PERSIST", "WAL"] {
        for read_only_folder in [false, true] {
            // Characters with a meaning in URIs.
            let folder = tempfile::Builder::new().prefix("a?b#c%20 ä").tempdir().unwrap();
            let path = folder.path().join("file:x?mode=memory.db");
            create(
                &path,
                &format!(
                    "PRAGMA journal_mode = {mode}; CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)"
                ),
            );
            let before = files(folder.path());
            set_read_only(folder.path(), read_only_folder);

            let database = read_only(&path);
            assert_eq!(count(&database), "[[2]]", "{mode}");
            let during = files(folder.path());
            drop(database);
            set_read_only(folder.path(), false);

            assert!(during == before, "{mode}: {:?} while open", during.keys());
            assert!(files(folder.path()) == before, "{mode}: afterwards");
        }
    }
}

fn set_read_only(folder: &Path, read_only: bool) {
    let mut permissions = fs::metadata(folder).unwrap().permissions();
    permissions.set_readonly(read_only);
    fs::set_permissions(folder, permissions).unwrap();
}

#[test]
fn a_writer_of_a_closed_wal_database_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wal.db");
    create(&path, "PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)");
    let database = read_only(&path);
    assert_eq!(count(&database), "[[1]]");

    // The row is in the log only, and after the end of the writer in the file only.
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(count(&database), "[[2]]");
    writer.execute_batch("INSERT INTO t VALUES (3)").unwrap();
    assert_eq!(count(&database), "[[3]]");
    writer.close().unwrap();
    assert_eq!(count(&database), "[[3]]");

    create(&path, "INSERT INTO t VALUES (4)");
    assert_eq!(count(&database), "[[4]]");
}

#[test]
fn a_database_may_change_its_journal_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    create(&path, "CREATE TABLE t(a); INSERT INTO t VALUES (1)");
    let database = read_only(&path);
    for (mode, expected) in [("DELETE", "[[2]]"), ("WAL", "[[3]]"), ("DELETE", "[[4]]")] {
        create(&path, &format!("PRAGMA journal_mode = {mode}; INSERT INTO t VALUES (0)"));
        let before = files(folder.path());
        assert_eq!(count(&database), expected, "{mode}");
        let after = files(folder.path());
        assert!(after == before, "{mode}: {:?}", after.keys());
    }
}

/// POSIX releases the locks of a process on a file when it closes any descriptor of it.
#[cfg(target_os = "linux")]
#[test]
fn opening_and_closing_keeps_the_locks_of_other_connections() {
    use std::os::unix::fs::MetadataExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    create(&path, "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)");
    let reader = Connection::open(&path).unwrap();
    let mut statement = reader.prepare("SELECT a FROM t").unwrap();
    let mut rows = statement.query([]).unwrap();
    // In the middle of a result SQLite holds its shared lock.
    rows.next().unwrap();
    let place = format!(":{} ", fs::metadata(&path).unwrap().ino());
    // The kernel returns its list in parts and omits entries when others end in between. A lost lock is in no list.
    let is_listed = |_| fs::read_to_string("/proc/locks").unwrap().contains(&place);
    let is_locked = || (0..20).any(is_listed);
    assert!(is_locked(), "before");
    drop(read_only(&path));
    // Its readers end some time later, which must have no effect.
    let watched = std::time::Instant::now();
    while watched.elapsed() < std::time::Duration::from_millis(100) {
        assert!(is_locked(), "after {:?}", watched.elapsed());
    }
}

#[test]
fn no_answer_mixes_two_states_of_a_wal_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wal.db");
    create(
        &path,
        "PRAGMA journal_mode = WAL; PRAGMA page_size = 512; CREATE TABLE t(a, b); \
         WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000) \
         INSERT INTO t SELECT 0, hex(randomblob(60)) FROM n",
    );
    let database = read_only(&path);
    let runtime = runtime();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for state in 1..=30 {
                create(&path, &format!("UPDATE t SET a = {state}"));
            }
        });
        let mut answers = 0;
        while !writer.is_finished() {
            let query = request(serde_json::json!({
                "query": "SELECT count(DISTINCT a), count(*) FROM t"
            }));
            let outcome = runtime.block_on(database.execute_raw_query(query));
            match outcome.map(rows) {
                Ok(rowset) => {
                    assert_eq!(rowset.rows.get(), "[[1,3000]]");
                    answers += 1;
                }
                Err(error) => {
                    let kind = error.details().kind;
                    assert!(matches!(kind, "changing" | "locked"), "{error:?}");
                }
            }
        }
        assert!(answers > 0);
    });
}

#[test]
fn files_that_cannot_be_served() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.db");
    fs::write(&text, "this is not a database, but it is long enough to have a header").unwrap();
    let missing = folder.path().join("missing.db");
    type Expected = fn(&OpenError) -> bool;
    let rows: [(&str, &Path, Expected); 3] = [
        ("missing", &missing, |e| matches!(e, OpenError::Missing { .. })),
        ("directory", folder.path(), |e| matches!(e, OpenError::NotAFile { .. })),
        ("text", &text, |e| matches!(e, OpenError::NotADatabase { .. })),
    ];
    for (name, path, expected) in rows {
        let error = open(path, SqliteConfig::default()).unwrap_err();
        assert!(expected(&error), "{name}: {error:?}");
    }
    assert!(!missing.exists());

    let no_readers = SqliteConfig { readers: 0, ..SqliteConfig::default() };
    let error = open(&text, no_readers).unwrap_err();
    assert!(matches!(error, OpenError::Setting { setting: "readers" }));
}

#[test]
fn an_unfinished_transaction_needs_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    create(&path, "CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(100000))");
    // A crash: the journal remains without a lock.
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE t SET a = randomblob(100000)")
        .unwrap();
    let crashed = folder.path().join("crashed.db");
    fs::copy(&path, &crashed).unwrap();
    fs::copy(folder.path().join("a.db-journal"), folder.path().join("crashed.db-journal")).unwrap();
    let before = fs::read(&crashed).unwrap();
    let error = open(&crashed, SqliteConfig::default()).unwrap_err();
    assert!(matches!(error, OpenError::NeedsRecovery { .. }), "{error:?}");
    assert!(fs::read(&crashed).unwrap() == before);
}

#[test]
fn an_empty_database_is_created_only_if_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.db");
    create_empty(&path).unwrap();
    let database = read_only(&path);
    let list = database.list_tables(request(serde_json::json!({})));
    assert!(runtime().block_on(list).unwrap().tables.is_empty());
    let error = create_empty(&path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
}
