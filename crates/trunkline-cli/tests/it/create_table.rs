//! `trunkline import --create`. `postgres/create_table.rs` has the types of PostgreSQL.

use std::fs;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{Ended, run, trunkline, with_content};

fn import(folder: &TempDir, file: &str, options: &[&str]) -> Ended {
    let mut command: Command = trunkline(folder.path());
    command.args(["import", "--db", "a.db", "--table", "t", "--create", file]).args(options);
    run(&mut command)
}

fn look(path: &Path, sql: &str) -> String {
    let connection = Connection::open(path).unwrap();
    connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
}

/// Creates a table from a file. The columns are those of its statement.
#[track_caller]
fn check(name: &str, content: &str, columns: &str, rows: &str) {
    let (folder, path) = with_content("");
    fs::write(folder.path().join(name), content).unwrap();
    let shown = import(&folder, name, &["--dry-run"]);
    assert_eq!(shown.code, Some(0), "{name}: {shown:?}");
    let sql = format!("CREATE TABLE \"t\" (\n    {columns}\n);\n");
    assert_eq!(shown.stdout, sql.replace(", ", ",\n    "), "{name}");
    assert_eq!(look(&path, "SELECT count(*) || '' FROM sqlite_schema"), "0", "{name}");
    let ended = import(&folder, name, &[]);
    assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
    let created =
        look(&path, "SELECT replace(replace(sql, char(10), ''), '    ', '') FROM sqlite_schema");
    assert_eq!(created, format!("CREATE TABLE \"t\" ({columns})"), "{name}");
    let list: Vec<&str> =
        columns.split(", ").map(|column| column.rsplit_once(' ').unwrap().0).collect();
    let values =
        list.iter().map(|name| format!("quote({name})")).collect::<Vec<_>>().join(" || ' ' || ");
    assert_eq!(
        look(&path, &format!("SELECT coalesce(group_concat({values}, '; '), '') FROM t")),
        rows,
        "{name}"
    );
}

#[test]
fn tables_of_files() {
    check(
        "t.csv",
        "id,name,zip,price,day,at,ok,big,none\n\
         1,Ada,007,1.50,2026-11-28,2026-11-28T12:00:00Z,true,12345678901234567890,\n\
         2,,12,3,2026-01-01,2026-01-01 00:00+01,false,1,\n",
        "\"id\" INTEGER, \"name\" TEXT, \"zip\" TEXT, \"price\" REAL, \"day\" DATE, \"at\" DATETIME, \
         \"ok\" BOOLEAN, \"big\" TEXT, \"none\" TEXT",
        "1 'Ada' '007' 1.5 '2026-11-28' '2026-11-28T12:00:00Z' 1 '12345678901234567890' NULL; \
         2 NULL '12' 3.0 '2026-01-01' '2026-01-01 00:00+01' 0 '1' NULL",
    );
    // The type is that of all rows, not of the first ones.
    let rows: String = (0..3_000).map(|id| format!("{id}\n")).collect();
    let last = format!("1\n{rows}x\n");
    let (folder, path) = with_content("");
    fs::write(folder.path().join("t.csv"), format!("a\n{last}")).unwrap();
    let ended = import(&folder, "t.csv", &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(look(&path, "SELECT typeof(a) || count(*) FROM t"), "text3002");
    check("t.TSV", "b b\ta\n1\tx\n", "\"b b\" INTEGER, \"a\" TEXT", "1 'x'");
    check("t.csv", "a;b\n1;x,y\n", "\"a\" INTEGER, \"b\" TEXT", "1 'x,y'");
    check("t.csv", "a,b\n", "\"a\" TEXT, \"b\" TEXT", "");
    // Members in the order in which they occur first.
    check(
        "t.ndjson",
        "{\"z\": 1, \"b\": \"1\"}\n{\"a\": {\"x\": 1}, \"z\": 12345678901234567890}\n",
        "\"z\" TEXT, \"b\" TEXT, \"a\" TEXT",
        "'1' '1' NULL; '12345678901234567890' NULL '{\"x\":1}'",
    );
    check(
        "t.json",
        "[{\"z\": 1.5, \"b\": true}, {\"z\": 2, \"b\": null}]",
        "\"z\" REAL, \"b\" BOOLEAN",
        "1.5 1; 2.0 NULL",
    );
}

#[test]
fn own_exports() {
    let (folder, path) = with_content(
        "CREATE TABLE s (i INTEGER, r REAL, t TEXT, b BLOB);
         INSERT INTO s VALUES (9007199254740993, 1.5, '{\"$blob\": \"\"}', x'00ff'), (2, 1e300, '007', x''), (NULL, NULL, 'x', NULL)",
    );
    for format in ["csv", "tsv", "json", "ndjson"] {
        let file = format!("s.{format}");
        let mut export = trunkline(folder.path());
        export.args(["export", "--db", "a.db", "--table", "s", "--output", &file]);
        assert_eq!(run(&mut export).code, Some(0), "{format}");
        let ended = import(&folder, &file, &[]);
        assert_eq!(ended.code, Some(0), "{format}: {ended:?}");
        let connection = Connection::open(&path).unwrap();
        let same = "SELECT count(*) FROM (SELECT * FROM s INTERSECT SELECT * FROM t)";
        // In JSON, a large integer is a string, and so the column has texts.
        let (rows, kind) = if format.ends_with("json") { (1, "TEXT") } else { (3, "INTEGER") };
        let found: (i64, String) = connection
            .query_row(
                &format!("SELECT ({same}), type FROM pragma_table_info('t') WHERE name = 'i'"),
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        assert_eq!(found, (rows, kind.to_owned()), "{format}");
        connection.execute("DROP TABLE t", []).unwrap();
    }
}

#[test]
fn refusals() {
    for (content, file, text, options, message) in [
        ("CREATE TABLE t (a)", "t.csv", "a\n1\n", &[][..], "t exists; import without --create"),
        (
            "CREATE TABLE T (a)",
            "t.csv",
            "a\n1\n",
            &["--dry-run"],
            "t exists; import without --create",
        ),
        ("CREATE VIEW t AS SELECT 1", "t.csv", "a\n1\n", &[], "t exists"),
        ("", "t.csv", "a,A\n1,2\n", &[], "duplicate column"),
        ("", "t.csv", "", &[], "has no header"),
        ("", "t.ndjson", "", &[], "the file has no records"),
        ("", "t.ndjson", "\n[1]\n", &[], "can be read; line 2: expected an object of values"),
        ("", "-", "", &["--format", "csv"], "write stdin to a file first"),
    ] {
        let (folder, path) = with_content(content);
        if file != "-" {
            fs::write(folder.path().join(file), text).unwrap();
        }
        let before = look(&path, "SELECT coalesce(group_concat(sql), '') FROM sqlite_schema");
        let ended = import(&folder, file, options);
        assert_eq!(ended.code, Some(1), "{file} {text}: {ended:?}");
        assert!(ended.stderr.contains(message), "{file} {text}: {ended:?}");
        let after = look(&path, "SELECT coalesce(group_concat(sql), '') FROM sqlite_schema");
        assert_eq!(before, after, "{file} {text}");
    }
}

/// An import that was interrupted after it has created the table continues.
#[test]
fn interrupted_imports_continue() {
    let (folder, path) = with_content("");
    let file = folder.path().join("t.json");
    fs::write(&file, "[{\"a\": 1}, {\"a\": 2}, 5]").unwrap();
    let database = Connection::open(&path).unwrap();
    let interrupt = "CREATE TABLE trunkline_import (id TEXT PRIMARY KEY, checkpoint TEXT NOT NULL);
                     CREATE TRIGGER interrupt BEFORE DELETE ON trunkline_import BEGIN SELECT RAISE(ABORT, 'interrupted'); END";
    database.execute_batch(interrupt).unwrap();
    let interrupted = import(&folder, "t.json", &[]);
    assert_eq!(interrupted.code, Some(1), "{interrupted:?}");
    assert!(interrupted.stderr.contains("created the table t"), "{interrupted:?}");
    database.execute_batch("DROP TRIGGER interrupt").unwrap();
    let ended = import(&folder, "t.json", &[]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(look(&path, "SELECT group_concat(a) FROM t"), "1,2");
    // Complete: the table exists.
    assert_eq!(import(&folder, "t.json", &[]).code, Some(1));
}
