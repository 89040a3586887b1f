//! A database file that is replaced, renamed or removed while it is served.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Server, trunkline};

fn create(path: &Path, mode: &str, value: u32) {
    let sql =
        format!("PRAGMA journal_mode = {mode}; CREATE TABLE t(a); INSERT INTO t VALUES ({value})");
    Connection::open(path).unwrap().execute_batch(&sql).unwrap();
}

/// The values, or the reason of the error.
fn values(server: &Server) -> Value {
    let query = json!({"query": "SELECT a FROM t ORDER BY rowid"});
    server.sql(&query).unwrap_or_else(|error| {
        assert_eq!(error["data"]["kind"], "unavailable", "{error}");
        error["data"]["reason"].clone()
    })
}

/// Waits until all readers return the values. Each has its own connection.
#[track_caller]
fn expect(server: &Server, name: &str, expected: &Value) {
    let since = Instant::now();
    let is_expected = || {
        let found = values(server);
        match expected.as_str() {
            Some(part) => found.as_str().is_some_and(|reason| reason.contains(part)),
            None => found == *expected,
        }
    };
    while !is_expected() {
        assert!(since.elapsed() < PATIENCE, "{name}: {} is not {expected}", values(server));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!((0..8).all(|_| is_expected()), "{name}: {}", values(server));
}

const REMOVED: &str = "removed or renamed";
const REPLACED: &str = "replaced while it had a log";

struct Case {
    name: &'static str,
    mode: &'static str,
    is_writable: bool,
    change: fn(&Path),
    expected: Value,
    log: &'static str,
}

/// The folder has `a.db` with 1, `new.db` with 2, and `link.db`, a link to `a.db`, which is served.
#[track_caller]
fn check(case: &Case) {
    let folder = tempfile::tempdir().unwrap();
    create(&folder.path().join("a.db"), case.mode, 1);
    create(&folder.path().join("new.db"), case.mode, 2);
    std::os::unix::fs::symlink("a.db", folder.path().join("link.db")).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--db", "link.db"]);
    command.args(case.is_writable.then_some("--writable"));
    let server = Server::start(command);
    expect(&server, case.name, &json!([[1]]));
    (case.change)(folder.path());
    expect(&server, case.name, &case.expected);
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{}: {ended:?}", case.name);
    assert!(ended.stderr.contains(case.log), "{}: {}", case.name, ended.stderr);
}

fn rename(folder: &Path, from: &str, to: &str) {
    fs::rename(folder.join(from), folder.join(to)).unwrap();
}

#[test]
fn a_file_that_is_replaced_or_removed() {
    let replaced = "the database file was replaced; the new one is served";
    for case in [
        Case {
            name: "replaced",
            mode: "DELETE",
            is_writable: false,
            change: |folder| rename(folder, "new.db", "a.db"),
            expected: json!([[2]]),
            log: replaced,
        },
        Case {
            name: "replaced, closed, in WAL mode",
            mode: "WAL",
            is_writable: false,
            change: |folder| rename(folder, "new.db", "a.db"),
            expected: json!([[2]]),
            log: replaced,
        },
        Case {
            name: "replaced, writable",
            mode: "DELETE",
            is_writable: true,
            change: |folder| rename(folder, "new.db", "a.db"),
            expected: json!([[2]]),
            log: replaced,
        },
        Case {
            name: "the link leads elsewhere",
            mode: "DELETE",
            is_writable: false,
            change: |folder| {
                std::os::unix::fs::symlink("new.db", folder.join("other.db")).unwrap();
                rename(folder, "other.db", "link.db");
            },
            expected: json!([[2]]),
            log: replaced,
        },
        Case {
            name: "removed",
            mode: "DELETE",
            is_writable: false,
            change: |folder| fs::remove_file(folder.join("a.db")).unwrap(),
            expected: json!(REMOVED),
            log: "the database file was removed or renamed",
        },
        Case {
            name: "renamed, writable",
            mode: "DELETE",
            is_writable: true,
            change: |folder| rename(folder, "a.db", "b.db"),
            expected: json!(REMOVED),
            log: "the database file was removed or renamed",
        },
        Case {
            name: "a directory in its place",
            mode: "DELETE",
            is_writable: false,
            change: |folder| {
                rename(folder, "a.db", "b.db");
                fs::create_dir(folder.join("a.db")).unwrap();
            },
            expected: json!(REMOVED),
            log: "the database file was removed or renamed",
        },
        Case {
            name: "replaced while the old one has a log",
            mode: "WAL",
            is_writable: true,
            change: |folder| {
                // This creates a log.
                let writer = Connection::open(folder.join("a.db")).unwrap();
                writer.execute_batch("INSERT INTO t VALUES (7)").unwrap();
                rename(folder, "new.db", "a.db");
            },
            expected: json!(REPLACED),
            log: "the database file was replaced while it had a log",
        },
    ] {
        check(&case);
    }
}

#[test]
fn a_file_that_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    create(&folder.path().join("a.db"), "DELETE", 1);
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--writable", "--db", "a.db"]);
    let server = Server::start(command);
    let insert = |value: u32| {
        server.call("db.insert_record", &json!({"table_name": "t", "data": {"a": value}}))
    };
    assert_eq!(insert(2)["result"]["rows_affected"], 1);
    expect(&server, "at first", &json!([[1], [2]]));
    rename(folder.path(), "a.db", "b.db");
    expect(&server, "away", &json!(REMOVED));
    assert_eq!(insert(3)["error"]["data"]["kind"], "unavailable");
    rename(folder.path(), "b.db", "a.db");
    expect(&server, "back", &json!([[1], [2]]));
    assert_eq!(insert(4)["result"]["rows_affected"], 1);
    create(&folder.path().join("new.db"), "DELETE", 5);
    rename(folder.path(), "new.db", "a.db");
    expect(&server, "another one", &json!([[5]]));
    assert_eq!(insert(6)["result"]["rows_affected"], 1);
    expect(&server, "at last", &json!([[5], [6]]));
}
