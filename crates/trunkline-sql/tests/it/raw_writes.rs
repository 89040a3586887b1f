//! `execute_raw_query` with `read_only: false`.

use serde_json::{Value, json};

use crate::fixture::{Fixture, kind, open};

fn run(fixture: &Fixture, sql: &str) -> Result<Value, trunkline_sql::Error> {
    fixture.call("execute_raw_query", json!({"query": sql, "read_only": false}))
}

#[track_caller]
fn check(fixture: &Fixture, sql: &str, expected: Result<Value, &str>) {
    let outcome = run(fixture, sql);
    match expected {
        Ok(expected) => {
            let mut reply = outcome.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            if expected.is_array() {
                reply = reply["rows"].take();
            }
            assert_eq!(reply, expected, "{sql}");
        }
        Err(expected) => assert_eq!(kind(&outcome), expected, "{sql}: {outcome:?}"),
    }
}

fn changed(rows: u64, id: impl Into<Value>) -> Result<Value, &'static str> {
    Ok(json!({"rows_affected": rows, "last_insert_rowid": id.into()}))
}

#[test]
fn statements() {
    let fixture = Fixture::writable();
    let none = Value::Null;
    for (sql, expected) in [
        ("INSERT INTO dept VALUES (30, 'Legal'), (40, 'Press')", changed(2, 40)),
        ("UPDATE emp SET salary = 1 WHERE id < 3", changed(2, none.clone())),
        ("UPDATE emp SET salary = 1 WHERE 0", changed(0, none.clone())),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b)", changed(0, none.clone())),
        ("INSERT INTO t (b) VALUES ('x')", changed(1, 1)),
        (
            "INSERT INTO t VALUES (1, 'y') ON CONFLICT DO UPDATE SET b = 'y'",
            changed(1, none.clone()),
        ),
        ("INSERT OR IGNORE INTO t VALUES (1, 'z')", changed(0, none.clone())),
        ("INSERT INTO t SELECT NULL, name FROM emp", changed(5, 6)),
        ("INSERT INTO t VALUES (9007199254740993, 0)", changed(1, "9007199254740993")),
        ("INSERT INTO pair VALUES (5, 'w', NULL)", changed(1, none.clone())),
        (
            "WITH x AS (SELECT 1 AS i) UPDATE emp SET city = 'Bonn' WHERE id IN (SELECT i FROM x)",
            changed(1, none.clone()),
        ),
        ("DELETE FROM t WHERE a = 1 RETURNING b", Ok(json!([["y"]]))),
        ("INSERT INTO dept VALUES (50, 'Post') RETURNING *", Ok(json!([[50, "Post"]]))),
        ("SELECT count(*) FROM dept", Ok(json!([[5]]))),
        ("PRAGMA user_version", Ok(json!([[0]]))),
        ("CREATE INDEX t_b ON t (b)", changed(0, none.clone())),
        ("CREATE VIEW v AS SELECT a FROM t", changed(0, none.clone())),
        (
            "CREATE TRIGGER g AFTER DELETE ON t BEGIN INSERT INTO dept (title) VALUES ('gone'); END",
            changed(0, none.clone()),
        ),
        ("DELETE FROM t WHERE a < 4", changed(2, none.clone())),
        ("ALTER TABLE t ADD COLUMN c TEXT NOT NULL DEFAULT 'x'", changed(0, none.clone())),
        ("ALTER TABLE t ADD COLUMN d INTEGER CHECK (d > 0)", changed(0, none.clone())),
        ("ALTER TABLE t RENAME COLUMN c TO e", changed(0, none.clone())),
        ("ALTER TABLE t RENAME TO t2", changed(0, none.clone())),
        ("ALTER TABLE t2 DROP COLUMN e", changed(0, none.clone())),
        ("DROP TRIGGER g", changed(0, none.clone())),
        ("DROP VIEW v", changed(0, none.clone())),
        ("DROP INDEX t_b", changed(0, none.clone())),
        ("DROP TABLE t2", changed(0, none.clone())),
        ("CREATE TABLE copy AS SELECT * FROM emp", changed(0, none.clone())),
        ("CREATE VIRTUAL TABLE f USING fts5(a)", changed(0, none.clone())),
        ("INSERT INTO f VALUES ('one two')", changed(1, none.clone())),
        ("SELECT a FROM f WHERE f MATCH 'two'", Ok(json!([["one two"]]))),
        ("DROP TABLE f", changed(0, none.clone())),
        ("CREATE VIRTUAL TABLE r USING rtree(id, a, b)", changed(0, none.clone())),
        ("INSERT INTO r VALUES (1, 2, 3)", changed(1, none.clone())),
        ("UPDATE docs SET body = 'x' WHERE title = 'fox'", changed(1, none.clone())),
        ("INSERT INTO old_docs VALUES ('y')", changed(1, none.clone())),
        ("DELETE FROM emp", changed(5, none)),
    ] {
        check(&fixture, sql, expected);
    }
}

#[test]
fn failed_statements_change_nothing() {
    let fixture = Fixture::writable();
    let before = fixture.files();
    for (sql, expected) in [
        ("INSERT INTO dept VALUES (30, 'a'), (10, 'b')", "constraint"),
        ("INSERT OR FAIL INTO dept VALUES (30, 'a'), (10, 'b')", "constraint"),
        ("INSERT OR ROLLBACK INTO dept VALUES (30, 'a'), (10, 'b')", "constraint"),
        ("UPDATE emp SET dept_no = 77", "constraint"),
        ("INSERT INTO emp (name, dept_no) VALUES ('x', 77) RETURNING id", "constraint"),
        ("INSERT INTO emp (nam) VALUES ('x')", "sql"),
        ("INSERT INTO emp (name) VALUES (?)", "bad_params"),
        ("UPDATE emp SET name = zeroblob(17000000)", "over_limit"),
        ("UPDATE emp SET city = hex(zeroblob(600000)) WHERE id = 1 RETURNING city", "over_limit"),
    ] {
        check(&fixture, sql, Err(expected));
        assert!(fixture.files() == before, "{sql}");
    }
}

#[test]
fn parameters_and_bounds() {
    let fixture = Fixture::writable();
    let run = |arguments: Value| fixture.call("execute_raw_query", arguments).unwrap();
    let insert = "INSERT INTO dept VALUES (:no, :title)";
    let reply =
        run(json!({"query": insert, "params": {"no": 60, "title": "'); --"}, "read_only": false}));
    assert_eq!(reply, json!({"rows_affected": 1, "last_insert_rowid": 60}));
    let update = "UPDATE emp SET city = 'Bonn' RETURNING id";
    let reply = run(json!({"query": update, "max_rows": 2, "read_only": false}));
    assert_eq!((&reply["rows"], &reply["truncated"]), (&json!([[1], [2]]), &json!(true)));
    assert_eq!(fixture.look("SELECT count(*) || '' FROM emp WHERE city = 'Bonn'"), "5");
    // Rows beyond the limit are changed all the same, and all constraints are checked.
    let update = "UPDATE emp SET dept_no = 10 + 90 * (id = 5) RETURNING id";
    let outcome = fixture
        .call("execute_raw_query", json!({"query": update, "max_rows": 1, "read_only": false}));
    assert_eq!(kind(&outcome), "constraint");
}

#[test]
fn a_write_without_read_only_false_names_the_argument() {
    let fixture = Fixture::writable();
    let error = fixture.sql("DELETE FROM emp").unwrap_err();
    assert!(error.to_string().ends_with(r#"requires "read_only": false"#), "{error}");
}

#[test]
fn calls_do_not_see_state_of_other_calls() {
    let fixture = Fixture::writable();
    run(&fixture, "INSERT INTO dept VALUES (77, 'x')").unwrap();
    for sql in ["SELECT last_insert_rowid()", "SELECT changes()", "SELECT total_changes()"] {
        check(&fixture, sql, Err("forbidden"));
    }
    check(&fixture, "DELETE FROM emp WHERE id = 99", changed(0, Value::Null));
}

#[test]
fn cached_statements_have_no_permissions_of_other_calls() {
    let fixture = Fixture::new();
    let prepare = "CREATE TABLE big (a INTEGER PRIMARY KEY AUTOINCREMENT, b); CREATE INDEX big_b ON big (b); \
                   INSERT INTO big (b) VALUES (1); ANALYZE";
    crate::fixture::create(&fixture.path, prepare);
    let config = trunkline_sql::sqlite::SqliteConfig { writable: true, ..Default::default() };
    let database = open(&fixture.path, config).unwrap();
    let call = |operation, arguments| {
        fixture.runtime.block_on(crate::fixture::call(&database, operation, arguments))
    };
    let insert = |v| call("insert_record", json!({"table_name": "extremes", "data": {"v": v}}));
    assert_eq!(kind(&insert(1)), "ok");
    let trigger = "CREATE TRIGGER g AFTER INSERT ON extremes BEGIN \
                   UPDATE sqlite_sequence SET seq = 999; DELETE FROM sqlite_stat1; END";
    let outcome = call("execute_raw_query", json!({"query": trigger, "read_only": false}));
    assert_eq!(kind(&outcome), "ok");
    assert_eq!(kind(&insert(1)), "forbidden");
    assert_eq!(fixture.look("SELECT seq || '' FROM sqlite_sequence"), "1");
    assert_ne!(fixture.look("SELECT count(*) || '' FROM sqlite_stat1"), "0");
    for sql in [
        "DROP TABLE sqlite_stat1",
        "ALTER TABLE SQLITE_stat1 RENAME TO a",
        "DROP TABLE sqlite_sequence",
    ] {
        let outcome = call("execute_raw_query", json!({"query": sql, "read_only": false}));
        assert!(outcome.is_err(), "{sql}");
    }
    let outcome = call("execute_raw_query", json!({"query": "DROP TABLE big", "read_only": false}));
    assert_eq!(kind(&outcome), "ok");
}
