//! `trunkline export`, `import` and `backup`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Ended, PATIENCE, run, trunkline, with_content};

const CONTENT: &str = "\
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL, active BOOLEAN, data BLOB);
    INSERT INTO item VALUES (1, 'a, \"b\"', 1.5, 1, x'0001'), (2, '', NULL, 0, NULL), (3, 'é\n', -2e10, NULL, NULL);
    CREATE TABLE copy (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL, active BOOLEAN, data BLOB);";

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = trunkline(folder.path());
    command.args(arguments);
    command
}

#[track_caller]
fn ok(folder: &TempDir, arguments: &[&str]) -> Ended {
    let ended = run(&mut command(folder, arguments));
    assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
    ended
}

/// The first value of a query.
fn look(path: &Path, sql: &str) -> String {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(PATIENCE).unwrap();
    connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
}

/// The files that are not complete.
fn drafts(folder: &TempDir) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "part")).collect()
}

#[test]
fn exports_can_be_imported() {
    let (folder, path) = with_content(CONTENT);
    for format in ["csv", "ndjson", "json"] {
        let file = format!("item.{format}");
        ok(&folder, &["export", "--db", "a.db", "--table", "ITEM", "--output", &file]);
        ok(&folder, &["import", "--db", "a.db", "--table", "copy", &file]);
        let difference =
            "SELECT count(*) || '' FROM (SELECT * FROM item EXCEPT SELECT * FROM copy)";
        assert_eq!(look(&path, difference), "0", "{format}");
        assert_eq!(look(&path, "SELECT count(*) || '' FROM copy"), "3");
        let types =
            "SELECT group_concat(typeof(price) || typeof(data) || typeof(active)) FROM copy";
        assert_eq!(look(&path, types), "realblobinteger,nullnullinteger,realnullnull", "{format}");
        Connection::open(&path).unwrap().execute("DELETE FROM copy", []).unwrap();
    }
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
    let ended =
        ok(&folder, &["export", "--db", "a.db", "--sql", "SELECT id FROM item ORDER BY id DESC"]);
    assert_eq!((&*ended.stdout, &*ended.stderr), ("id\n3\n2\n1\n", ""));
    let formulas = "SELECT '=cmd|x' AS \"=a\", '@SUM(1,1)' AS b, char(9) || 'x' AS c, -1 AS d";
    for (option, expected) in [
        (None, "=a,b,c,d\n=cmd|x,\"@SUM(1,1)\",\"\tx\",-1\n"),
        (Some("--spreadsheet-safe"), "'=a,b,c,d\n'=cmd|x,\"'@SUM(1,1)\",\"'\tx\",-1\n"),
    ] {
        let arguments = ["export", "--db", "a.db", "--sql", formulas].into_iter().chain(option);
        let ended = ok(&folder, &arguments.collect::<Vec<_>>());
        assert_eq!((&*ended.stdout, &*ended.stderr), (expected, ""));
    }
}

#[test]
fn refusals() {
    let (folder, _) = with_content(CONTENT);
    fs::write(folder.path().join("x.csv"), "id,nme\n1,a\n").unwrap();
    fs::write(folder.path().join("x.txt"), "").unwrap();
    let header: Vec<String> = (0..200_000).map(|number| format!("c{number}")).collect();
    fs::write(folder.path().join("wide.csv"), header.join(",") + "\n").unwrap();
    for (arguments, code, message) in [
        (&["export", "--db", "a.db"][..], 2, "--table"),
        (&["export", "--db", "b.db", "--table", "item"], 1, "b.db does not exist"),
        (&["export", "--db", "a.db", "--table", "itm"], 1, "did you mean `item`?"),
        (&["export", "--db", "a.db", "--sql", "DELETE FROM item"], 1, "not allowed"),
        (
            &[
                "export",
                "--db",
                "a.db",
                "--table",
                "item",
                "--format",
                "json",
                "--spreadsheet-safe",
            ],
            1,
            "only csv can be safe for spreadsheets",
        ),
        (
            &["export", "--db", "a.db", "--table", "item", "--format", "xml"],
            2,
            "use csv, ndjson or json",
        ),
        (
            &["export", "--db", "a.db", "--table", "item", "--output", "none/x.csv"],
            1,
            "cannot create none/x.csv",
        ),
        (&["import", "--db", "a.db", "--table", "item", "x.csv"], 1, "unknown column `nme`"),
        (&["import", "--db", "a.db", "--table", "item", "x.txt"], 1, "give --format"),
        (&["import", "--db", "a.db", "--table", "item", "y.csv"], 1, "cannot open y.csv"),
        (&["import", "--db", "a.db", "--table", "none", "x.csv"], 1, "unknown table"),
        (&["import", "--db", "a.db", "--table", "item", "wide.csv"], 1, "more than 1600 fields"),
        (
            &["import", "--db", "a.db", "--table", "item", "--format", "csv", "/dev/zero"],
            1,
            "/dev/zero is not a regular file",
        ),
        (&["import", "--db", "a.db", "--table", "item", "--format", "csv", "."], 1, "regular file"),
        (&["backup", "--db", "a.db", "a.db"], 1, "is the database itself"),
        (&["backup", "--db", "b.db", "c.db"], 1, "does not exist"),
        (&["backup", "--db", "postgres://localhost/x", "c.db"], 1, "use pg_dump"),
    ] {
        let ended = run(&mut command(&folder, arguments));
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(message), "{arguments:?}: {}", ended.stderr);
    }
    assert!(!folder.path().join("x.csv.import").exists());
}

/// Exports that fail or are interrupted leave no file, and an earlier file unchanged.
#[test]
fn failed_exports_leave_no_files() {
    let endless =
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let failing = "SELECT json(CASE WHEN i = 5000 THEN 'x' ELSE 1 END) FROM
                   (WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 9000) SELECT i FROM n)";
    for (sql, signal, code) in
        [(failing, None, 1), (endless, Some("INT"), 130), (endless, Some("TERM"), 143)]
    {
        let (folder, _) = with_content(CONTENT);
        let path = |name: &str| folder.path().join(name);
        fs::write(path("x.csv"), "earlier").unwrap();
        let mut exporting =
            command(&folder, &["export", "--db", "a.db", "--sql", sql, "--output", "x.csv"]);
        let mut exporting = Importing(exporting.spawn().unwrap());
        if let Some(signal) = signal {
            let deadline = Instant::now() + PATIENCE * 3;
            while drafts(&folder)
                .iter()
                .all(|draft| fs::metadata(draft).map_or(0, |file| file.len()) == 0)
            {
                assert!(Instant::now() < deadline, "nothing is written");
                std::thread::sleep(Duration::from_millis(5));
            }
            let script = format!("kill -{signal} {}", exporting.0.id());
            assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        }
        assert_eq!(exporting.0.wait().unwrap().code(), Some(code), "{sql} {signal:?}");
        assert!(drafts(&folder).is_empty(), "{sql} {signal:?}");
        assert_eq!(fs::read_to_string(path("x.csv")).unwrap(), "earlier");
    }
}

#[test]
fn rejected_records_are_reported() {
    let (folder, path) = with_content(CONTENT);
    let csv = "id,name,price,active\n\
               10,ok,1,yes\n\
               x,bad id,1,yes\n\
               1,duplicate,1,no\n\
               11,,1,no\n\
               12,\"two\nlines\",1.5x,no\n\
               13,too,many,fields,here\n\
               14,ok,,\n";
    fs::write(folder.path().join("new.csv"), csv).unwrap();
    let ended =
        run(&mut command(&folder, &["import", "--db", "a.db", "--table", "item", "new.csv"]));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("inserted 2 rows") && ended.stderr.contains("rejected 5 records"),
        "{ended:?}"
    );
    let rejects = fs::read_to_string(folder.path().join("new.csv.rejects")).unwrap();
    let rejects: Vec<Value> =
        rejects.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<_> = rejects.iter().map(|one| one["line"].clone()).collect();
    assert_eq!(json!(lines), json!([3, 4, 5, 6, 8]));
    for (index, reason) in [
        (0, "column `id`: expected an integer of 64 bits"),
        (1, "UNIQUE constraint failed: item.id"),
        (2, "NOT NULL constraint failed: item.name"),
        (3, "column `price`: expected a number"),
        (4, "expected 4 fields, found 5"),
    ] {
        let found = rejects[index]["reason"].as_str().unwrap();
        assert!(found.contains(reason), "{found}");
    }
    assert_eq!(rejects[3]["record"]["name"], "two\nlines");
    assert_eq!(look(&path, "SELECT group_concat(id) FROM item WHERE id > 9"), "10,14");
    // The conflicting rows are kept or replaced.
    fs::write(folder.path().join("again.ndjson"), "{\"id\": 1, \"name\": \"new\"}\n").unwrap();
    let again = ["import", "--db", "a.db", "--table", "item", "again.ndjson", "--on-conflict"];
    ok(&folder, &[&again[..], &["ignore"]].concat());
    assert_eq!(look(&path, "SELECT name FROM item WHERE id = 1"), "a, \"b\"");
    ok(&folder, &[&again[..], &["replace"]].concat());
    assert_eq!(look(&path, "SELECT name FROM item WHERE id = 1"), "new");
}

/// Imports a file of another program into `t (a, b)`.
#[track_caller]
fn check_file(name: &str, content: &[u8], options: &[&str], expected: (i32, &str, &str)) {
    let (folder, path) = with_content("CREATE TABLE t (a INTEGER, b TEXT)");
    fs::write(folder.path().join(name), content).unwrap();
    let arguments = [&["import", "--db", "a.db", "--table", "t", name], options].concat();
    let ended = run(&mut command(&folder, &arguments));
    let rows = "SELECT coalesce(group_concat(a || '=' || coalesce(b, 'NULL'), ' '), '') FROM t";
    let (code, rows_expected, message) = expected;
    assert_eq!(ended.code, Some(code), "{name}: {ended:?}");
    assert_eq!(look(&path, rows), rows_expected, "{name}: {ended:?}");
    let rejects = fs::read_to_string(folder.path().join(format!("{name}.rejects")));
    let shown = ended.stderr + &rejects.unwrap_or_default();
    assert!(shown.contains(message), "{name}: {shown}");
}

#[test]
fn files_of_other_programs() {
    const COMMAS: &[u8] = b"a,b\n1,x\n";
    const TABS: &[u8] = b"a\tb\n1\tx,y\n";
    const LINES: &[u8] = b"{\"a\":1,\"b\":\"x\"}\n";
    for (name, content, options, expected) in [
        // Names of formats.
        ("t.CSV", COMMAS, &[][..], (0, "1=x", "inserted 1")),
        ("t.Csv", COMMAS, &[], (0, "1=x", "inserted 1")),
        ("t.tsv", TABS, &[], (0, "1=x,y", "inserted 1")),
        ("t.TSV", TABS, &[], (0, "1=x,y", "inserted 1")),
        ("t.tab", TABS, &[], (0, "1=x,y", "inserted 1")),
        ("t.tsv", COMMAS, &["--delimiter", ","], (0, "1=x", "inserted 1")),
        ("t.jsonl", LINES, &[], (0, "1=x", "inserted 1")),
        ("t.JSONL", LINES, &[], (0, "1=x", "inserted 1")),
        ("t.ndjson", LINES, &[], (0, "1=x", "inserted 1")),
        ("t.txt", TABS, &["--format", "csv"], (0, "1=x,y", "separated by `\\t`")),
        // Separators.
        ("t.csv", b"a;b\n1;x,y\n", &[], (0, "1=x,y", "no comma; fields are separated by `;`")),
        ("t.csv", b"a|b\n1|x\n", &[], (0, "1=x", "separated by `|`")),
        ("t.csv", b"sep=;\r\na;b\r\n1;x\r\n", &[], (0, "1=x", "inserted 1")),
        ("t.csv", b"\xef\xbb\xbfsep=;\na;b\n1;x\n", &[], (0, "1=x", "inserted 1")),
        ("t.csv", b"a;b\n1;x\n", &["--delimiter", ","], (1, "", "unknown column `a;b`")),
        // Quotes.
        ("t.csv", b"a,b\n1,19\" monitor\n2,desk\n", &[], (0, "1=19\" monitor 2=desk", "")),
        ("t.csv", b"a,b\n1,say \"hi\"\n2,5' 6\"\n", &[], (0, "1=say \"hi\" 2=5' 6\"", "")),
        ("t.csv", b"a,b\n1,=\"001\"\n2,\"=\"\"001\"\"\"\n", &[], (0, "1=001 2==\"001\"", "")),
        ("t.csv", b"a,b\n1,\"x\n2,y\n3,z\n", &[], (3, "2=y 3=z", "is not closed; the following")),
        // Carriage returns.
        ("t.csv", b"a,b\r1,\"x\ry\"\r\r2,z\r", &[], (0, "1=x\ry 2=z", "inserted 2")),
        ("t.csv", b"a,b\n1,x\ry\n2,z\n", &[], (0, "1=x\ry 2=z", "inserted 2")),
        ("t.csv", b"a,b\r\n1,x\ry\r\n2,z\r\n", &[], (0, "1=x\ry 2=z", "inserted 2")),
        // Byte order marks, empty lines, and rows of other lengths.
        ("t.csv", b"\xef\xbb\xbfa,b\r\n1,x\r\n\r\n\r\n", &[], (0, "1=x", "")),
        ("t.ndjson", b"\xef\xbb\xbf{\"a\":1,\"b\":\"x\"}\n\n\n", &[], (0, "1=x", "")),
        ("t.json", b"\xef\xbb\xbf[{\"a\":1,\"b\":\"x\"}]", &[], (0, "1=x", "")),
        ("t.csv", b"a,b\n1\n2,x,y\n3,z\n", &[], (3, "3=z", "expected 2 fields, found 1")),
        // Encodings.
        ("t.csv", b"a,b\n1,caf\xe9\n2,na\xefve\n", &[], (1, "", "use --encoding windows-1252")),
        (
            "t.csv",
            b"a,b\n1,caf\xe9\n2,\x80 5\n",
            &["--encoding", "windows-1252"],
            (0, "1=caf\u{e9} 2=\u{20ac} 5", ""),
        ),
        ("t.csv", b"a,b\n1,caf\xe9\n2,x\n", &[], (3, "2=x", "\"column\":\"b\"")),
        ("t.csv", b"\xff\xfea\0,\0b\0\n\0", &[], (1, "", "in UTF-16; convert it: iconv -f UTF-16")),
        ("t.json", b"\xfe\xff\0[\0]", &[], (1, "", "in UTF-16; convert it")),
        ("t.csv", b"PK\x03\x04", &[], (1, "", "save it as CSV")),
        // JSON that is not valid.
        ("t.json", b"[{\"a\":1,\"b\":\"x\"},]", &[], (3, "1=x", "an element is missing")),
        // Columns that are the same in SQLite.
        ("t.csv", b"a,A\n1,2\n", &[], (1, "", "duplicate column `A`")),
    ] {
        check_file(name, content, options, expected);
    }
    let long = format!("a,b\n1,{}\n2,x\n", "y".repeat((16 << 20) + 1));
    check_file("t.csv", long.as_bytes(), &[], (3, "2=x", "more than 16777216 bytes"));
}

/// The separator and the extension of exports.
#[test]
fn exports_with_other_separators() {
    for (file, options, expected) in [
        ("t.tsv", &[][..], "a\tb\n1\tx,y\n"),
        ("t.TSV", &[], "a\tb\n1\tx,y\n"),
        ("t.csv", &["--delimiter", ";"], "a;b\n1;x,y\n"),
        ("t.CSV", &[], "a,b\n1,\"x,y\"\n"),
        ("t.JSONL", &[], "{\"a\":1,\"b\":\"x,y\"}\n"),
    ] {
        let (folder, _) =
            with_content("CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (1, 'x,y')");
        ok(
            &folder,
            &[&["export", "--db", "a.db", "--table", "t", "--output", file], options].concat(),
        );
        let found = fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(found, expected, "{file} {options:?}");
    }
}

#[test]
fn constraints_at_the_end_of_a_transaction_reject_single_records() {
    let (folder, path) = with_content(
        "CREATE TABLE parent (id INTEGER PRIMARY KEY); INSERT INTO parent VALUES (1);
         CREATE TABLE child (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);",
    );
    fs::write(folder.path().join("c.csv"), "id,parent\n1,1\n2,9\n3,1\n").unwrap();
    let ended =
        run(&mut command(&folder, &["import", "--db", "a.db", "--table", "child", "c.csv"]));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(look(&path, "SELECT group_concat(id) FROM child"), "1,3");
    let rejects = fs::read_to_string(folder.path().join("c.csv.rejects")).unwrap();
    assert!(rejects.lines().count() == 1 && rejects.contains("\"line\":3"), "{rejects}");
}

/// A child process that is killed when it is dropped.
struct Importing(Child);

impl Drop for Importing {
    fn drop(&mut self) {
        // Both fail if it has ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn killed_imports_continue_without_loss_or_repetition() {
    const ROWS: u64 = 30_000;
    let (folder, path) =
        with_content("CREATE TABLE log (line INTEGER NOT NULL, text TEXT NOT NULL)");
    // Each hundredth record is invalid.
    let record = |i: u64| match i % 100 {
        0 => format!("{{\"line\": {i}}}\n"),
        _ => format!("{{\"line\": {i}, \"text\": \"{}\"}}\n", "x".repeat(50)),
    };
    let text: String = (1..=ROWS).map(record).collect();
    fs::write(folder.path().join("log.ndjson"), &text).unwrap();
    let arguments = ["import", "--db", "a.db", "--table", "log", "log.ndjson"];
    let mut kills = 0;
    for part in 1..=4 {
        let mut importing = Importing(command(&folder, &arguments).spawn().unwrap());
        let deadline = Instant::now() + PATIENCE * 3;
        while look(&path, "SELECT count(*) || '' FROM log").parse::<u64>().unwrap()
            < part * ROWS / 5
        {
            assert!(Instant::now() < deadline, "the import does not continue");
            if importing.0.try_wait().unwrap().is_some() {
                break;
            }
        }
        // SIGKILL.
        importing.0.kill().unwrap();
        importing.0.wait().unwrap();
        kills += u64::from(folder.path().join("log.ndjson.import").exists());
    }
    assert!(kills >= 2, "the import was too fast: {kills}");
    // Another content is refused.
    fs::write(folder.path().join("log.ndjson"), text.replace('x', "y")).unwrap();
    let changed = run(&mut command(&folder, &arguments));
    assert!(changed.stderr.contains("another content of the file"), "{changed:?}");
    fs::write(folder.path().join("log.ndjson"), &text).unwrap();

    let ended = run(&mut command(&folder, &arguments));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("rejected 300 records"), "{ended:?}");
    let count = format!("{}|{}", ROWS - ROWS / 100, ROWS - ROWS / 100);
    assert_eq!(look(&path, "SELECT count(*) || '|' || count(DISTINCT line) FROM log"), count);
    let rejects = fs::read_to_string(folder.path().join("log.ndjson.rejects")).unwrap();
    let lines: Vec<u64> = rejects
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, (1..=ROWS / 100).map(|i| i * 100).collect::<Vec<_>>());
    assert!(!folder.path().join("log.ndjson.import").exists());
    assert_eq!(look(&path, "SELECT group_concat(name) FROM sqlite_schema"), "log");
}

/// The state of an import that failed is removed from the database, too.
#[test]
fn failed_imports_can_begin_again() {
    let (folder, path) = with_content("CREATE TABLE t(a)");
    let file = folder.path().join("t.json");
    let arguments = ["import", "--db", "a.db", "--table", "t", "t.json"];
    fs::write(&file, "[{\"a\": 1}, {\"a\"").unwrap();
    let failed = run(&mut command(&folder, &arguments));
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("the array is not closed"), "{failed:?}");
    fs::write(&file, "[{\"a\": 1}, {\"a\": 2}]").unwrap();
    let other = run(&mut command(&folder, &arguments));
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(other.stderr.contains("--restart imports the file from its beginning"), "{other:?}");
    let restart = [&arguments[..], &["--restart"]].concat();
    ok(&folder, &restart);
    assert_eq!(look(&path, "SELECT group_concat(a) FROM t"), "1,1,2");
    assert_eq!(look(&path, "SELECT group_concat(name) FROM sqlite_schema"), "t");
    // Without a state, and with an invalid one.
    ok(&folder, &restart);
    fs::write(folder.path().join("t.json.import"), "x").unwrap();
    ok(&folder, &restart);
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2);
}

/// Streams without an end.
#[test]
fn records_have_a_maximum_size() {
    const NOT_TEXT: &str = "the file begins with NUL characters; it is not a text";
    const TOO_LONG: &str = "line 1: a record has more than 268435456 bytes; check the format";
    let (folder, _) = with_content(CONTENT);
    for (source, format, message) in [
        ("cat /dev/zero", "csv", NOT_TEXT),
        ("cat /dev/zero", "ndjson", NOT_TEXT),
        ("cat /dev/zero", "json", NOT_TEXT),
        ("tr '\\0' x < /dev/zero", "csv", TOO_LONG),
        ("tr '\\0' x < /dev/zero", "ndjson", TOO_LONG),
        ("tr '\\0' x < /dev/zero", "json", "expected a JSON array of objects"),
    ] {
        let arguments = ["import", "--db", "a.db", "--table", "copy", "--format", format, "-"];
        let mut import = command(&folder, &arguments);
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &format!("exec {source}")]).stdout(Stdio::piped());
        let mut source = Importing(shell.spawn().unwrap());
        import.stdin(source.0.stdout.take().unwrap());
        let ended = run(&mut import);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(message), "{format}: {ended:?}");
    }
}

#[test]
fn stdin_and_json_arrays() {
    let (folder, path) = with_content(CONTENT);
    let mut importing =
        command(&folder, &["import", "--db", "a.db", "--table", "copy", "--format", "json", "-"]);
    fs::write(folder.path().join("in"), "[{\"id\": 7, \"name\": {\"a\": [1]}}, 5]").unwrap();
    importing.stdin(fs::File::open(folder.path().join("in")).unwrap());
    let ended = run(&mut importing);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(look(&path, "SELECT id || name FROM copy"), "7{\"a\":[1]}");
    assert_eq!(look(&path, "SELECT count(*) || '' FROM sqlite_schema"), "2");
}

/// Ends a writer, also if the test fails.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn backups_are_consistent_while_others_write() {
    for mode in ["wal", "delete"] {
        let (folder, path) = with_content(&format!(
            "PRAGMA journal_mode = {mode}; CREATE TABLE a (n INTEGER, t TEXT); CREATE TABLE b (n INTEGER);
             INSERT INTO a
             WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 8000)
             SELECT i, hex(zeroblob(500)) FROM n"
        ));
        let is_stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _stop = Stop(&is_stopped);
            scope.spawn(|| {
                let connection = Connection::open(&path).unwrap();
                connection.busy_timeout(Duration::from_secs(30)).unwrap();
                while !is_stopped.load(Ordering::Relaxed) {
                    // Both tables have the same number of new rows after each transaction.
                    let insert = "BEGIN IMMEDIATE; INSERT INTO a VALUES (0, 'new'); INSERT INTO b VALUES (0); COMMIT";
                    connection.execute_batch(insert).unwrap();
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
            for _ in 0..3 {
                ok(&folder, &["backup", "--db", "a.db", "copy.db"]);
                let copy = folder.path().join("copy.db");
                assert_eq!(look(&copy, "PRAGMA integrity_check"), "ok", "{mode}");
                let counts = "SELECT ((SELECT count(*) FROM a WHERE t = 'new') = (SELECT count(*) FROM b)) || ''";
                assert_eq!(look(&copy, counts), "1", "{mode}");
            }
        });
        assert!(drafts(&folder).is_empty());
    }
}
