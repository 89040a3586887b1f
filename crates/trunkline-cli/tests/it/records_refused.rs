//! Servers of records that do not start: their messages, and the files that they leave.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use rusqlite::Connection as Sqlite;

use crate::access::Issuer;
use crate::records::{ALIKE, place};
use crate::support::{run, trunkline};

/// Runs a server that ends at once, and compares parts of its output.
#[track_caller]
fn check_refused(folder: &Path, name: &str, arguments: &[&str], expected: &[&str]) {
    let mut command = trunkline(folder);
    command.args(["--listen", "127.0.0.1:0", "--db", "made.db", "--writable"]).args(arguments);
    let ended = run(&mut command);
    assert_eq!((ended.code, &*ended.stdout), (Some(1), ""), "{name}: {ended:?}");
    for part in expected {
        assert!(ended.stderr.contains(part), "{name}: no {part:?} in {}", ended.stderr);
    }
}

/// Invalid files and names are detected before anything is created.
#[test]
fn invalid_types_prevent_the_start() {
    let folder = place();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("db.toml", "[records.\"db.note\".fields]\na = { type = \"string\" }\n");
    write("agent.toml", "[records.agent.fields]\na = { type = \"string\" }\n");
    write("tool.toml", "[records.tool.fields]\na = { type = \"string\" }\n");
    write("alike.toml", ALIKE);
    write("slip.toml", "[records.a.fields]\na = { type = \"strin\" }\n");
    let before = names(folder.path());
    let types = ["--records", "types.toml"];
    let rows: [(&str, &[&str], &[&str]); 8] = [
        ("no file", &["--records", "none.toml"], &["cannot read none.toml", "because: No such"]),
        (
            "a wrong file",
            &["--records", "slip.toml"],
            &["slip.toml:2:", "expected one of `string`"],
        ),
        ("the database's name", &["--records", "db.toml"], &["db.toml", "\"db.note\"", "db.*"]),
        ("the agent's name", &["--records", "agent.toml"], &["agent.toml", "agent.*"]),
        ("the tools' name", &["--records", "tool.toml"], &["tool.toml", "tool.*"]),
        (
            "an unknown name",
            &[types[0], types[1], "--expose", "todo,todos"],
            &["--expose todos: unknown record type; the known ones are todo, crm.contact"],
        ),
        ("one of several", &[types[0], types[1], "--expose", "*,x"], &["--expose x: "]),
        (
            "tools of one name",
            &["--records", "alike.toml", "--expose", "*"],
            &[
                "trunkline: the record types \"a.b\" and \"a_b\" cannot both be tools: both would be \
                 called a_b_create, and so on; give one another name, or expose only one\n",
            ],
        ),
    ];
    for (name, arguments, expected) in rows {
        check_refused(folder.path(), name, arguments, expected);
        assert_eq!(names(folder.path()), before, "{name}");
    }
}

#[test]
fn a_foreign_database_prevents_the_start() {
    let folder = place();
    fs::create_dir(folder.path().join("other")).unwrap();
    let other = folder.path().join("other/trunkline.sqlite");
    Sqlite::open(&other).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    let before = fs::read(&other).unwrap();
    let rows: [(&str, &[&str], &[&str]); 1] = [(
        "another program's",
        &["--data-dir", "other"],
        &[
            "cannot store records in other; give another directory with --data-dir",
            "because: other/trunkline.sqlite is a database of another program",
        ],
    )];
    for (name, arguments, expected) in rows {
        check_refused(folder.path(), name, arguments, expected);
        assert_no_log(folder.path(), name);
    }
    assert!(fs::read(&other).unwrap() == before, "the database of another program is unchanged");
}

/// Opened databases are closed if the server does not start.
#[test]
fn a_failed_start_closes_the_databases() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let issuer = Issuer::new();
    let tokens = ["--jwks", "jwks.json", "--audience", "trunkline"];
    let slip = [&tokens[..], &["--require", "toto.*=role:admin"]].concat();
    let rows: [(&str, &[&str], &str); 3] = [
        ("a port in use", &["--listen", &address], "cannot listen on"),
        ("a slip in a rule", &slip, "--require toto.*=…: no method matches"),
        (
            "no certificate",
            &["--tls-cert", "types.toml", "--tls-key", "types.toml"],
            "cannot serve https",
        ),
    ];
    // A race would leave a log only sometimes.
    for (name, arguments, expected) in rows.iter().flat_map(|row| [row; 5]) {
        let folder = place();
        issuer.publish(folder.path());
        let mut command = trunkline(folder.path());
        command.args(["--records", "types.toml", "--data-dir", "data"]);
        command.args(["--db", "made.db", "--writable"]);
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let ended = run(command.args(*arguments));
        assert_eq!((ended.code, &*ended.stdout), (Some(1), ""), "{name}: {ended:?}");
        assert!(ended.stderr.contains(expected), "{name}: {ended:?}");
        assert_no_log(folder.path(), name);
        if folder.path().join("data").exists() {
            assert_no_log(&folder.path().join("data"), name);
        }
    }
}

/// Checks that there is no write-ahead log.
#[track_caller]
fn assert_no_log(folder: &Path, name: &str) {
    let names = names(folder);
    let is_log = |name: &String| name.ends_with("-wal") || name.ends_with("-shm");
    assert!(!names.iter().any(is_log), "{name}: {names:?}");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}
