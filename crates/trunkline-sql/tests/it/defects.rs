//! Regression tests for defects of the server that this one replaces.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_sql::QueryLimits;
use trunkline_sql::sqlite::SqliteConfig;

use crate::fixture::{Fixture, kind};

#[test]
fn results_are_json_values() {
    let fixture = Fixture::new();
    let reply = fixture.call("query_records", json!({"table_name": "emp", "limit": 2})).unwrap();
    let expected = json!([
        [1, "Ada", 3000.0, "London", 20, "no", "A"],
        [2, "Ben", 1500.5, null, 10, null, "B"],
    ]);
    assert_eq!(reply["rows"], expected);
    let twice = json!({"query": "SELECT 1 AS a, 2 AS a"});
    assert_eq!(fixture.call("execute_raw_query", twice).unwrap()["rows"], json!([[1, 2]]));
}

#[test]
fn read_only_does_not_depend_on_the_first_word() {
    for writable in [false, true] {
        let fixture = Fixture::with(SqliteConfig { writable, ..SqliteConfig::default() });
        let before = fixture.files();
        for sql in [
            "SELECT 1; DROP TABLE emp",
            "WITH x AS (SELECT 1) DELETE FROM emp",
            "/* SELECT */ DELETE FROM emp",
            "EXPLAIN SELECT 1; DELETE FROM emp",
            "PRAGMA user_version = 7",
            "VALUES (1); DELETE FROM emp",
        ] {
            assert_ne!(kind(&fixture.sql(sql)), "ok", "{sql}");
        }
        assert!(fixture.files() == before);
        // A statement that begins with another keyword may read.
        for sql in ["WITH x AS (SELECT 1) SELECT * FROM x", "VALUES (1)", "EXPLAIN SELECT 1"] {
            assert_eq!(kind(&fixture.sql(sql)), "ok", "{sql}");
        }
    }
}

#[test]
fn empty_filters_change_no_row() {
    let fixture = Fixture::writable();
    let before = fixture.files();
    let update = json!({"table_name": "emp", "filters": {}, "data": {"salary": 0}});
    assert_eq!(kind(&fixture.call("update_record", update)), "bad_argument");
    let delete = json!({"table_name": "emp", "filters": {}});
    assert_eq!(kind(&fixture.call("delete_record", delete)), "bad_argument");
    assert!(fixture.files() == before);
}

#[test]
fn column_types_cannot_inject_sql() {
    let fixture = Fixture::writable();
    let before = fixture.files();
    for column in [
        json!("TEXT); DROP TABLE emp;--"),
        json!("TEXT, hidden TEXT DEFAULT (randomblob(9))"),
        json!({"type": "TEXT); DROP TABLE emp;--"}),
        json!({"type": "TEXT", "default": "x'); DROP TABLE emp;--"}),
    ] {
        let arguments = json!({"table_name": "t", "schema": {"a": column}});
        let outcome = fixture.call("create_table", arguments);
        if outcome.is_ok() {
            // A default that is a string may have any content.
            let ddl = fixture.look("SELECT sql FROM sqlite_schema WHERE name = 't'");
            assert_eq!(ddl, "CREATE TABLE \"t\" (\"a\" TEXT DEFAULT 'x''); DROP TABLE emp;--')");
        } else {
            assert_eq!(kind(&outcome), "bad_column", "{column}");
            assert!(fixture.files() == before);
        }
    }
    assert_eq!(fixture.look("SELECT count(*) || '' FROM emp"), "5");
}

#[test]
fn null_filters_find_nulls() {
    let fixture = Fixture::writable();
    let filters = json!({"city": null});
    let query = json!({"table_name": "emp", "filters": filters, "columns": ["id"]});
    assert_eq!(fixture.call("query_records", query).unwrap()["rows"], json!([[2]]));
    let update = json!({"table_name": "emp", "filters": filters, "data": {"city": "Bonn"}});
    assert_eq!(fixture.call("update_record", update).unwrap()["rows_affected"], 1);
    let delete = json!({"table_name": "emp", "filters": {"salary": null}});
    assert_eq!(fixture.call("delete_record", delete).unwrap()["rows_affected"], 1);
}

#[test]
fn results_have_limits() {
    let fixture = Fixture::new();
    let endless =
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let rowset = fixture.sql(endless).unwrap();
    assert_eq!((rowset.row_count, rowset.truncated), (100, true));
    for limit in [json!(-1), json!("10; DROP")] {
        let arguments = json!({"table_name": "emp", "limit": limit});
        assert!(serde_json::from_value::<trunkline_sql::QueryRecords>(arguments).is_err());
    }
}

#[test]
fn queries_and_changes_have_timeouts() {
    let fixture = Fixture::with(SqliteConfig {
        writable: true,
        limits: QueryLimits {
            max_affected: u64::MAX,
            timeout: Duration::from_millis(200),
            ..QueryLimits::default()
        },
        ..SqliteConfig::default()
    });
    let endless = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n)";
    for (sql, read_only) in [
        (format!("{endless} SELECT count(*) FROM n"), true),
        (format!("INSERT INTO extremes {endless} SELECT i FROM n"), false),
    ] {
        let started = Instant::now();
        let arguments = json!({"query": sql, "read_only": read_only});
        assert_eq!(kind(&fixture.call("execute_raw_query", arguments)), "timeout");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
    let count: Value = fixture.look("SELECT count(*) || '' FROM extremes");
    assert_eq!(count, "9");
}
