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
fn only_a_complete_import_has_no_checkpoint() {
    const RESTORED: &str = "DROP TABLE trunkline_import; DELETE FROM t";
    check_repetition("", "running", (1, "continuing after line", true));
    check_repetition("", "ending", (1, "continuing after line", true));
    check_repetition(RESTORED, "running", (1, "has no checkpoint", true));
    check_repetition("DROP TABLE trunkline_import", "ending", (0, "complete already", false));
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
