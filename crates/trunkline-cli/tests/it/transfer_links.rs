//! Symbolic links at the names of files that `trunkline export`, `import` and `backup` write next to others.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use crate::support::{run, trunkline, with_content};

const CONTENT: &str = "CREATE TABLE t (id INTEGER NOT NULL); INSERT INTO t VALUES (7)";

/// Runs a command while there is a link to another file, and returns the content of that file.
#[track_caller]
fn check(link: &str, arguments: &[&str], code: i32, message: &str) -> String {
    let (folder, _) = with_content(CONTENT);
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in.csv"), "id\n1\nx\n").unwrap();
    fs::write(path("victim"), "earlier").unwrap();
    symlink("victim", path(link)).unwrap();
    let mut command = trunkline(folder.path());
    command.args(arguments).stdin(File::open(path("in.csv")).unwrap());
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(code), "{link}: {ended:?}");
    assert!(ended.stderr.contains(message), "{link}: {ended:?}");
    fs::read_to_string(path("victim")).unwrap()
}

#[test]
fn links_are_not_followed() {
    const LINK: &str = "it is a symbolic link; remove it";
    const IMPORT: [&str; 6] = ["import", "--db", "a.db", "--table", "t", "in.csv"];
    const STDIN: [&str; 8] = ["import", "--db", "a.db", "--table", "t", "--format", "csv", "-"];
    const EXPORT: [&str; 7] = ["export", "--db", "a.db", "--table", "t", "--output", "x.csv"];
    const BACKUP: [&str; 4] = ["backup", "--db", "a.db", "copy.db"];
    for (link, arguments, code, message) in [
        ("in.csv.rejects", &IMPORT[..], 1, LINK),
        ("in.csv.import", &IMPORT, 1, LINK),
        ("in.csv.import.new", &IMPORT, 3, "inserted 1 rows"),
        ("stdin.rejects", &STDIN, 1, LINK),
        ("x.csv.part", &EXPORT, 0, "exported 1 rows"),
        ("x.csv", &EXPORT, 0, "exported 1 rows"),
        ("copy.db.part", &BACKUP, 0, "copied"),
        ("copy.db", &BACKUP, 0, "copied"),
    ] {
        assert_eq!(check(link, arguments, code, message), "earlier", "{link}");
    }
}

/// A file that the user names may be a link.
#[test]
fn named_links_are_followed() {
    let arguments = ["import", "--db", "a.db", "--table", "t", "in.csv", "--rejects", "bad"];
    let rejects = check("bad", &arguments, 3, "are in bad");
    assert!(rejects.contains("\"line\":3"), "{rejects}");
}
