//! `trunkline export`, `import` and `backup` by several processes at once, and imports that continue elsewhere.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{PATIENCE, run, trunkline, with_content};

const TABLE: &str = "CREATE TABLE t (id INTEGER NOT NULL)";

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = trunkline(folder.path());
    command.args(arguments);
    command
}

/// A child process that is killed when it is dropped.
struct Running(Child);

impl Running {
    #[track_caller]
    fn end(&mut self, code: i32) {
        assert_eq!(self.0.wait().unwrap().code(), Some(code));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if it has ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[track_caller]
fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "the condition is not met");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The names of the files of a folder with this end.
fn names(folder: &TempDir, end: &str) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(end)).collect()
}

/// Interrupts an import, changes the database and the state file, and repeats the command.
#[track_caller]
fn check_repetition(sql: &str, phase: &str, expected: (i32, &str, bool)) {
    let (folder, path) = with_content(TABLE);
    fs::write(folder.path().join("t.json"), "[{\"id\": 1}, {\"id\"").unwrap();
    let mut import = command(&folder, &["import", "--db", "a.db", "--table", "t", "t.json"]);
    assert_eq!(run(&mut import).code, Some(1));
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let state = folder.path().join("t.json.import");
    let text = fs::read_to_string(&state).unwrap();
    fs::write(&state, text.replace("running", phase)).unwrap();
    let ended = run(&mut import);
    let (code, message, has_state) = expected;
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert!(ended.stderr.contains(message), "{ended:?}");
    assert_eq!(state.exists(), has_state, "{ended:?}");
}

#[test]
fn interrupted_imports_have_a_checkpoint() {
    const RESTORED: &str = "DROP TABLE trunkline_import; DELETE FROM t";
    const NONE: &str = "has no checkpoint";
    check_repetition("", "running", (1, "continuing after line", true));
    check_repetition("", "ending", (1, "continuing after line", true));
    check_repetition(RESTORED, "running", (1, NONE, true));
    check_repetition(RESTORED, "ending", (1, NONE, true));
    check_repetition("DROP TABLE trunkline_import", "ending", (1, NONE, true));
}

/// The end of an import is interrupted by triggers, at each of its steps.
#[test]
fn the_database_records_that_an_import_is_complete() {
    // The file of rejected records has those of one import.
    const COMPLETE: (i32, &str) = (3, "complete already\ninserted 0 rows");
    let (folder, path) = with_content(TABLE);
    let file = |name: &str| folder.path().join(name);
    fs::write(file("t.csv"), "id\n1\nx\n2\n").unwrap();
    let database = Connection::open(&path).unwrap();
    let rows = || {
        let rows = "SELECT coalesce(group_concat(id), '') FROM t";
        database.query_row(rows, [], |row| row.get::<_, String>(0)).unwrap()
    };
    let check = |(code, message): (i32, &str), expected: &str| {
        let ended =
            run(&mut command(&folder, &["import", "--db", "a.db", "--table", "t", "t.csv"]));
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.contains(message), "{ended:?}");
        assert_eq!(rows(), expected, "{ended:?}");
    };
    let execute = |sql: &str| database.execute_batch(sql).unwrap();
    let interrupt = |condition: &str| {
        execute(&format!(
            "CREATE TABLE IF NOT EXISTS trunkline_import (id TEXT PRIMARY KEY, checkpoint TEXT NOT NULL);
             CREATE TRIGGER interrupt BEFORE DELETE ON trunkline_import WHEN {condition}
             BEGIN SELECT RAISE(ABORT, 'interrupted'); END"
        ));
    };
    let state = file("t.csv.import");
    // Before the checkpoint is removed.
    interrupt("old.id NOT LIKE 'complete-%'");
    check((1, "interrupted"), "1,2");
    let kept = fs::read(&state).unwrap();
    execute("DROP TRIGGER interrupt");
    // Before the record is removed, without and with a state file.
    interrupt("old.id LIKE 'complete-%'");
    check((1, "interrupted"), "1,2");
    assert!(!state.exists());
    fs::write(&state, &kept).unwrap();
    check((1, "complete already"), "1,2");
    assert!(!state.exists());
    execute("DROP TRIGGER interrupt");
    check(COMPLETE, "1,2");
    assert_eq!(fs::read_to_string(file("t.csv.rejects")).unwrap().lines().count(), 1);
    assert_eq!(names(&folder, ".import"), [""; 0]);
    // The database is one of an earlier time.
    execute("DELETE FROM t");
    fs::write(&state, &kept).unwrap();
    check((1, "has no checkpoint"), "");
    fs::remove_file(&state).unwrap();
    check((3, "inserted 2 rows"), "1,2");
    // A complete import can be repeated, and the record of another file or table is not used.
    check((3, "inserted 2 rows"), "1,2,1,2");
}

/// An import that was interrupted continues only with the same file, table and format.
#[test]
fn other_imports_do_not_continue() {
    let (folder, path) = with_content(&format!("{TABLE}; CREATE TABLE u (id INTEGER)"));
    let file = |name: &str| folder.path().join(name);
    let text = "{\"id\": 1}\n".repeat(1_500);
    // The second transaction fails.
    fs::write(file("t.json"), format!("[{}, {{\"id\"", text.trim_end().replace('\n', ",")))
        .unwrap();
    let import = |table: &str, format: &str| {
        let arguments = ["import", "--db", "a.db", "--table", table, "--format", format, "t.json"];
        run(&mut command(&folder, &arguments))
    };
    assert_eq!(import("t", "json").code, Some(1));
    for (table, format, message) in [
        ("u", "json", "another table"),
        ("t", "ndjson", "another format"),
        ("t", "json", "continuing after line"),
    ] {
        let ended = import(table, format);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(message), "{message}: {ended:?}");
    }
    fs::write(file("t.json"), "[]").unwrap();
    assert!(import("t", "json").stderr.contains("another content of the file"));
    let database = Connection::open(&path).unwrap();
    let rows = "SELECT (SELECT count(*) FROM t) || ',' || (SELECT count(*) FROM u)";
    let rows: String = database.query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(rows, "1500,0");
}

#[test]
fn one_process_continues_an_import() {
    let (folder, path) = with_content(TABLE);
    let file = |name: &str| folder.path().join(name);
    fs::write(file("t.csv"), "id\n1\n2\n").unwrap();
    let import = ["import", "--db", "a.db", "--table", "t", "t.csv"];
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut first = Running(command(&folder, &import).spawn().unwrap());
    wait_until(|| fs::metadata(file("t.csv.import")).is_ok_and(|state| state.len() > 0));
    for arguments in [&import[..], &[&import[..], &["--restart"]].concat()] {
        let second = run(&mut command(&folder, arguments));
        assert_eq!(second.code, Some(1), "{second:?}");
        assert!(second.stderr.contains("t.csv.import is locked"), "{second:?}");
    }
    writer.execute_batch("ROLLBACK").unwrap();
    first.end(0);
    let rows = "SELECT group_concat(id) FROM t";
    let rows: String = writer.query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!((rows.as_str(), names(&folder, ".import").len()), ("1,2", 0));
}

const INVALID: &str = "{\"id\": \"x\"}\n";

/// Begins an import from stdin, and waits until a rejected record is in the file.
fn import_from_stdin(folder: &TempDir) -> (Running, ChildStdin) {
    let mut import =
        command(folder, &["import", "--db", "a.db", "--table", "t", "--format", "ndjson", "-"]);
    let mut child = Running(import.stdin(Stdio::piped()).spawn().unwrap());
    let mut stdin = child.0.stdin.take().unwrap();
    let valid: String = (0..1_000).map(|id| format!("{{\"id\": {id}}}\n")).collect();
    stdin.write_all((INVALID.to_owned() + &valid).as_bytes()).unwrap();
    let path = folder.path().join("stdin.rejects");
    wait_until(|| fs::metadata(&path).is_ok_and(|file| file.len() > 0));
    (child, stdin)
}

#[track_caller]
fn check_rejects(arguments: &[&str], expected: (i32, &str)) {
    let (folder, _) = with_content(TABLE);
    let lines = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap().lines().count();
    let (mut first, mut stdin) = import_from_stdin(&folder);
    fs::write(folder.path().join("in.ndjson"), INVALID).unwrap();
    let import = ["import", "--db", "a.db", "--table", "t", "--format", "ndjson"];
    let mut second = command(&folder, &[&import[..], arguments].concat());
    second.stdin(File::open(folder.path().join("in.ndjson")).unwrap());
    let ended = run(&mut second);
    let (code, message) = expected;
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert!(ended.stderr.contains(message), "{ended:?}");
    stdin.write_all(INVALID.as_bytes()).unwrap();
    drop(stdin);
    first.end(3);
    assert_eq!(lines("stdin.rejects"), 2);
    // Those of an earlier import are replaced.
    let mut later = command(&folder, &[&import[..], &["-"]].concat());
    later.stdin(File::open(folder.path().join("in.ndjson")).unwrap());
    assert_eq!(run(&mut later).code, Some(3));
    assert_eq!(lines("stdin.rejects"), 1);
}

#[test]
fn each_import_has_its_own_file_of_rejected_records() {
    const LOCKED: &str = "stdin.rejects is locked";
    check_rejects(&["-"], (3, "are in stdin.2.rejects"));
    check_rejects(&["-", "--rejects", "stdin.rejects"], (1, LOCKED));
    check_rejects(&["in.ndjson", "--rejects", "stdin.rejects"], (1, LOCKED));
    check_rejects(&["-", "--rejects", "/dev/null"], (3, "are in /dev/null"));
}

#[test]
fn exports_do_not_share_a_draft() {
    const ENDLESS: &str =
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let (folder, _) = with_content(TABLE);
    let export =
        |sql| command(&folder, &["export", "--db", "a.db", "--output", "x.csv", "--sql", sql]);
    let mut first = Running(export(ENDLESS).spawn().unwrap());
    let size = || names(&folder, ".part").iter().map(|name| size_of(&folder, name)).sum::<u64>();
    wait_until(|| size() > 0);
    let second = run(&mut export("SELECT 7 AS i"));
    assert_eq!(second.code, Some(0), "{second:?}");
    let before = size();
    wait_until(|| size() > before);
    assert_eq!(fs::read_to_string(folder.path().join("x.csv")).unwrap(), "i\n7\n");
    let script = format!("kill -TERM {}", first.0.id());
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    first.end(143);
    assert_eq!(names(&folder, ".part"), [""; 0]);
    assert_eq!(fs::read_to_string(folder.path().join("x.csv")).unwrap(), "i\n7\n");
}

fn size_of(folder: &TempDir, name: &str) -> u64 {
    fs::metadata(Path::new(folder.path()).join(name)).map_or(0, |file| file.len())
}
