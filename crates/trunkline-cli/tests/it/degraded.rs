//! Full or read-only disks and corrupt stores: everything else is served, and `/health` names them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rusqlite::Connection as Sqlite;
use serde_json::{Value, json};

use crate::records::rpc;
use crate::storage_fault::limited;
use crate::support::{PATIENCE, Server, mismatch, post, trunkline};

fn command(folder: &Path, data: &str, arguments: &[&str]) -> Command {
    let path = folder.join("a.db");
    Sqlite::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
        .unwrap();
    let mut command = trunkline(folder);
    command.args(["--listen", "127.0.0.1:0", "--db", "a.db", "--data-dir", data]).args(arguments);
    command
}

fn health(server: &Server) -> Value {
    let reply = server.connect().get("/health");
    assert_eq!(reply.status, 200);
    reply.json()
}

/// Waits for a status, and returns the components with problems.
#[track_caller]
fn components(server: &Server, status: &str) -> Vec<String> {
    let since = Instant::now();
    loop {
        let health = health(server);
        if health["status"] == status {
            let problems = health["problems"].as_array().cloned().unwrap_or_default();
            return problems.iter().map(|one| one["component"].as_str().unwrap().into()).collect();
        }
        assert!(since.elapsed() < PATIENCE, "{health} is not {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Calls that read, and those that change records. Failures have a reason, and no path.
#[track_caller]
fn check_unavailable(server: &Server, name: &str, reads: Reads) {
    assert_eq!(server.sql(&json!({"query": "SELECT a FROM t"})), Ok(json!([[1]])), "{name}");
    for (path, method, params) in [
        ("/", "todo.create", json!({"title": "a"})),
        ("/", "todo.list", json!({})),
        ("/", "todo.filter", json!({"title": "a"})),
    ] {
        let response = server.connect().ask(&post(path, &[], &rpc(method, &params))).json();
        if method != "todo.create" && matches!(reads, Reads::Empty) {
            assert_eq!(response["result"]["items"], json!([]), "{name}: {response}");
            continue;
        }
        let expected = json!({"error": {"code": -32000, "message": "Storage unavailable",
            "data": {"kind": "unavailable", "reason": {"$has": "cannot be read or "}}}});
        assert_eq!(mismatch(&response, &expected), None, "{name}: {response}");
        assert!(!response.to_string().contains(".sqlite"), "{name}: {response}");
    }
    let native = json!({"command": "create", "resource": "todo", "payload": {"title": "a"}});
    let reply = server.connect().ask(&post("/execute", &[], &native));
    assert_eq!(reply.status, 500, "{name}");
    let text = reply.json()["error"].to_string();
    assert!(text.contains("cannot be read or written"), "{name}: {text}");
}

/// A local fault does not take the server out of rotation, where no call could end it.
#[track_caller]
fn check_ready(server: &Server, name: &str) {
    let reply = server.connect().get("/health/ready");
    assert_eq!(reply.status, 200, "{name}: {}", reply.json());
}

/// The outcome of reads of records.
#[derive(Clone, Copy)]
enum Reads {
    /// The file is missing: there are no records.
    Empty,
    Fail,
}

#[test]
fn an_unusable_data_directory() {
    let all = ["records", "conversations", "sessions", "log"];
    let corrupt = |folder: &Path| {
        fs::create_dir(folder.join("corrupt")).unwrap();
        for file in ["trunkline.sqlite", "agent.sqlite", "sessions.sqlite"] {
            fs::write(folder.join("corrupt").join(file), "no database, ".repeat(500)).unwrap();
        }
    };
    for (name, data, at_start, reads) in [
        ("a file is in its place", "a.db", &all[..], Reads::Empty),
        ("below a file", "a.db/data", &all, Reads::Empty),
        // Root seems to be able to create a file there, until it tries.
        ("a read-only file system", "/proc/trunkline", &all[3..], Reads::Empty),
        ("corrupt files", "corrupt", &all[..3], Reads::Fail),
    ] {
        let folder = tempfile::tempdir().unwrap();
        corrupt(folder.path());
        let server = Server::start_without_data_directory(command(folder.path(), data, &["--log"]));
        assert_eq!(components(&server, "degraded"), at_start, "{name}");
        check_unavailable(&server, name, reads);
        assert!(components(&server, "degraded").contains(&"records".to_owned()), "{name}");
        check_ready(&server, name);
        let ended = server.stop();
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        for component in at_start.iter().filter(|component| **component != "log") {
            let message = format!("{component} cannot be written; free the disk, or give another");
            assert!(ended.stderr.contains(&message), "{name}: {}", ended.stderr);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_without_data_directory(command(folder.path(), "data", &[]));
    assert_eq!(health(&server)["status"], "healthy");
    assert_eq!(health(&server).get("problems"), None);
}

/// A disk that is full from the start: files must be empty.
#[test]
fn a_full_disk_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let command = command(folder.path(), "data", &[]);
    let server = Server::start_without_data_directory(limited(&command, 0));
    check_unavailable(&server, "full", Reads::Fail);
    assert!(components(&server, "degraded").contains(&"records".to_owned()));
    assert_eq!(server.stop().code, Some(0));
}

/// A disk that becomes full: reads continue, and a component that can be written again is healthy again.
#[test]
fn a_full_disk_later() {
    let folder = tempfile::tempdir().unwrap();
    let command = command(folder.path(), "data", &["--writable"]);
    let server = Server::start_without_data_directory(limited(&command, 1_024));
    assert_eq!(health(&server)["status"], "healthy");
    let create = |bytes: usize| {
        let title = "a".repeat(bytes);
        server
            .connect()
            .ask(&post("/", &[], &rpc("todo.create", &json!({ "title": title }))))
            .json()
    };
    let failed = (0..100).find_map(|_| create(100_000).get("error").cloned()).unwrap();
    let expected = json!({"code": -32000, "message": "Storage unavailable",
        "data": {"kind": "unavailable", "reason": {"$has": "the disk is full"}}});
    assert_eq!(mismatch(&failed, &expected), None, "{failed}");
    assert!(components(&server, "degraded").contains(&"records".to_owned()));
    assert!(server.call("todo.list", &json!({"limit": 1}))["result"]["items"][0].is_object());

    let insert = json!({"query": "INSERT INTO t VALUES (zeroblob(700000))", "read_only": false});
    let inserted = (0..3).find_map(|_| server.sql(&insert).err()).unwrap();
    assert_eq!(inserted["code"], -32003, "{inserted}");
    assert!(components(&server, "degraded").contains(&"database".to_owned()));
    check_ready(&server, "a full disk");
    assert_eq!(server.sql(&json!({"query": "SELECT min(a) FROM t"})), Ok(json!([[1]])));
    let insert = json!({"table_name": "t", "data": {"a": 2}});
    assert_eq!(server.call("db.insert_record", &insert)["result"]["rows_affected"], 1);
    assert!(!components(&server, "degraded").contains(&"database".to_owned()));
    assert_eq!(server.stop().code, Some(0));
}

/// The database itself: a page of it is overwritten, or the file is removed.
#[test]
fn a_database_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let server = Server::start_without_data_directory(command(folder.path(), "data", &[]));
    let query = json!({"query": "SELECT a FROM t"});
    assert_eq!(server.sql(&query), Ok(json!([[1]])));
    let whole = fs::read(&path).unwrap();
    let mut broken = whole.clone();
    broken[4096..].fill(0x55);
    // In place, with another change counter, so that SQLite does not use cached pages.
    broken[24..28].copy_from_slice(&u32::MAX.to_be_bytes());
    fs::write(&path, &broken).unwrap();
    let error = server.sql(&query).unwrap_err();
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32003), &json!("failure")));
    assert_eq!(components(&server, "degraded"), ["database"]);
    fs::write(&path, &whole).unwrap();
    assert_eq!(server.sql(&query), Ok(json!([[1]])));
    assert_eq!(health(&server)["status"], "healthy");
    fs::remove_file(&path).unwrap();
    assert_eq!(components(&server, "degraded"), ["database"]);
}
