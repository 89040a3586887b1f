//! Escape sequences in files, databases and replies do not reach the terminal.

use std::fs;
use std::path::Path;

use crate::support::{Terminal, run, trunkline, with_content};

const HOSTILE: &str = "\u{1b}[2Jx";

/// The output of a command contains the sequence as text.
#[track_caller]
fn check(folder: &Path, arguments: &[&str]) {
    let ended = run(trunkline(folder).args(arguments));
    let output = ended.stdout + &ended.stderr;
    assert!(!output.contains('\u{1b}'), "{arguments:?}: {output:?}");
    assert!(output.contains("u{1b}[2Jx") || output.contains("x1b[2Jx"), "{arguments:?}: {output}");
}

#[test]
fn names_of_files_and_values_in_them() {
    let (folder, _) = with_content("CREATE TABLE t(a)");
    let file = format!("{HOSTILE}.toml");
    fs::write(folder.path().join(&file), "databases.main.url = 'a.db'").unwrap();
    check(folder.path(), &["config", "check", "--config", &file]);
    check(folder.path(), &["config", "show", "--config", &file]);
    check(folder.path(), &["doctor", "--port", "0", "--config", &file]);
    fs::write(folder.path().join(&file), "databases.main = 'a.db'").unwrap();
    check(folder.path(), &["config", "check", "--config", &file]);
    check(folder.path(), &["config", "init", &format!("new{file}")]);

    for text in [
        r#"databases."\u001b[2Jx".url = "a.db""#,
        r#"databases.main.url = "none\u001b[2Jx.db""#,
        r#"records.types = "\u001b[2Jx""#,
        r#"upstreams.up.command = ["\u001b[2Jx"]"#,
        r#"server."\u001b[2Jx" = 1"#,
        r#"server.toolset = "\u001b[2Jx""#,
    ] {
        fs::write(folder.path().join("trunkline.toml"), text).unwrap();
        check(folder.path(), &["doctor", "--port", "0"]);
    }
    fs::remove_file(folder.path().join("trunkline.toml")).unwrap();
    for database in ["\u{1b}[2Jx", "\u{1b}[2Jx.db", "a=\u{1b}[2Jx.db"] {
        check(folder.path(), &[database]);
        check(folder.path(), &["export", "--db", database, "--table", "t"]);
    }
    fs::write(folder.path().join("a.csv"), "a\n1\n").unwrap();
    check(folder.path(), &["import", "--db", "a.db", "--table", HOSTILE, "a.csv"]);
}

#[test]
fn content_of_databases() {
    let (folder, _) = with_content(
        "CREATE TABLE p(a INTEGER PRIMARY KEY); CREATE TABLE \"\u{1b}[2Jx\" (a REFERENCES p)",
    );
    check(folder.path(), &["doctor", "--port", "0", "--db", "a.db"]);
}

/// Data is escaped on a terminal, and unchanged elsewhere.
#[test]
fn exported_rows() {
    let (folder, _) = with_content("CREATE TABLE t(a)");
    for (format, escaped, unchanged) in [
        ("csv", "\\u{1b}[2Jx", HOSTILE),
        ("json", "\\u001b[2Jx", "\\u001b[2Jx"),
        ("ndjson", "\\u001b[2Jx", "\\u001b[2Jx"),
    ] {
        let mut command = trunkline(folder.path());
        let sql = "SELECT char(27) || '[2Jx' AS a";
        command.args(["export", "--db", "a.db", "--format", format, "--sql", sql]);
        assert!(run(&mut command).stdout.contains(unchanged), "{format}");
        let mut terminal = Terminal::run(&command);
        let shown = terminal.rest();
        assert!(shown.contains(escaped) && !terminal.has_escapes(), "{format}: {shown:?}");
    }
}
