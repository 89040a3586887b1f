//! The contract of both engines: the same requests have the same outcomes. Expectations that differ are those that the
//! documentation names.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use trunkline_sql::sqlite::{Sqlite, SqliteConfig};
use trunkline_sql::{Database, Engine};

use crate::fixture::{self, Fixture, kind};
use crate::inspections;

struct Subject {
    engine: Engine,
    database: Database,
    runtime: Runtime,
    // Removed at the end.
    _folder: Option<TempDir>,
}

fn sqlite() -> Subject {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("contract.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch(include_str!("../data/contract.sqlite.sql")).unwrap();
    let config = SqliteConfig { writable: true, ..SqliteConfig::default() };
    let database = Sqlite::open(&path, config).unwrap().into();
    let runtime = fixture::runtime();
    Subject { engine: Engine::Sqlite, database, runtime, _folder: Some(folder) }
}

fn postgres() -> Subject {
    let Fixture { database, runtime, .. } = Fixture::writable();
    Subject { engine: Engine::Postgres, database, runtime, _folder: None }
}

#[test]
fn sqlite_keeps_the_contract() {
    check_all(&sqlite());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn postgres_keeps_the_contract() {
    check_all(&postgres());
}

/// A request, and the parts of its reply that matter, or the kind of its error.
pub(crate) type Row = (&'static str, Value, Result<Value, &'static str>);

fn check_all(subject: &Subject) {
    let reads = reads().into_iter().chain(raw(subject.engine));
    let rows = reads.chain(inspections::rows(subject.engine)).chain(writes());
    for (operation, arguments, expected) in rows {
        check(subject, operation, arguments, expected);
    }
    pages(subject);
}

#[track_caller]
fn check(subject: &Subject, operation: &str, arguments: Value, expected: Result<Value, &str>) {
    let shown = format!("{:?} {operation} {arguments:.200}", subject.engine);
    let call = fixture::call(&subject.database, operation, arguments);
    let outcome = subject.runtime.block_on(call);
    match expected {
        Ok(expected) => {
            let reply = outcome.unwrap_or_else(|error| panic!("{shown}: {error:?}"));
            for (name, value) in expected.as_object().unwrap() {
                assert_eq!(reply[name], *value, "{shown}: {name}");
            }
        }
        Err(expected) => assert_eq!(kind(&outcome), expected, "{shown}: {outcome:?}"),
    }
}

fn reads() -> Vec<Row> {
    let firsts = |filters: Value, ids: Value| {
        let rows: Vec<Value> = ids.as_array().unwrap().iter().map(|id| json!([id])).collect();
        let arguments = json!({"table_name": "emp", "columns": "id", "filters": filters});
        ("query_records", arguments, Ok(json!({"rows": rows})))
    };
    let bad = |filters: Value, kind| {
        ("query_records", json!({"table_name": "emp", "filters": filters}), Err(kind))
    };
    let ordered = |order: Value, ids: Value| {
        let rows: Vec<Value> = ids.as_array().unwrap().iter().map(|id| json!([id])).collect();
        let arguments = json!({"table_name": "emp", "columns": ["id"], "order_by": order});
        ("query_records", arguments, Ok(json!({"rows": rows})))
    };
    vec![
        firsts(json!({}), json!([1, 2, 3, 4, 5])),
        firsts(json!({"city": "Oslo"}), json!([3, 4])),
        firsts(json!({"CITY": "Oslo", "dept_no": 20}), json!([4])),
        firsts(json!({"city": null}), json!([2])),
        firsts(json!({"city": {"ne": null}}), json!([1, 3, 4, 5])),
        firsts(json!({"city": {"ne": "Oslo"}}), json!([1, 5])),
        firsts(json!({"city": {"is_null": true}}), json!([2])),
        firsts(json!({"salary": {"gt": 2500}}), json!([1, 3])),
        firsts(json!({"salary": {"gte": 2500, "lt": 9000.0}}), json!([1, 4])),
        firsts(json!({"id": {"in": [1, 5, 9]}}), json!([1, 5])),
        firsts(json!({"id": {"in": []}}), json!([])),
        firsts(json!({"city": {"in": ["Rome", null]}}), json!([2, 5])),
        firsts(json!({"name": {"like": "%E%"}}), json!([2, 4, 5])),
        firsts(json!({"delete": "no"}), json!([1])),
        firsts(json!({"initial": "B"}), json!([2])),
        firsts(json!({"name": "x' OR '1'='1"}), json!([])),
        bad(json!({"name\" OR 1=1 --": 1}), "unknown_column"),
        bad(json!({"city": ["Oslo"]}), "bad_filter"),
        bad(json!({"city": {"equals": 1}}), "bad_filter"),
        bad(json!({"city": {"gt": null}}), "bad_filter"),
        ordered(json!("name desc"), json!([5, 4, 3, 2, 1])),
        ordered(json!("city"), json!([2, 1, 3, 4, 5])),
        ordered(json!("city DESC, id"), json!([5, 3, 4, 1, 2])),
        ordered(json!([{"column": "salary", "desc": true}]), json!([3, 1, 4, 2, 5])),
        (
            "query_records",
            json!({"table_name": "we\"ird; DROP"}),
            Ok(json!({"rows": [[1, "it's"]], "row_count": 1, "truncated": false})),
        ),
        (
            "query_records",
            json!({"table_name": "PAIR", "order_by": "b, a"}),
            Ok(json!({"rows": [
                [1, "a", {"$blob": "", "bytes": 0}],
                [1, "x", {"$blob": "AP8=", "bytes": 2}],
                [2, "x", null],
            ]})),
        ),
        (
            "query_records",
            json!({"table_name": "rich", "order_by": "id"}),
            Ok(json!({"rows": [[1, "Ada"], [3, "Cyd"], [4, "Dee"]]})),
        ),
        ("query_records", json!({"table_name": "emp", "limit": 0}), Ok(json!({"rows": []}))),
        ("query_records", json!({"table_name": "nothing"}), Err("unknown_table")),
        ("query_records", json!({"table_name": "emp; DROP TABLE emp"}), Err("unknown_table")),
        ("query_records", json!({"table_name": "emp", "cursor": "x"}), Err("bad_cursor")),
        (
            "describe_table",
            json!({"table_name": "pair"}),
            Ok(json!({"name": "pair", "kind": "table", "primary_key": ["b", "a"]})),
        ),
        (
            "describe_table",
            json!({"table_name": "emp", "sample_rows": 1}),
            Ok(json!({
                "foreign_keys": [{
                    "columns": ["dept_no"], "references_table": "dept", "references_columns": ["dept_no"],
                    "on_update": "NO ACTION", "on_delete": "CASCADE",
                }],
            })),
        ),
        ("describe_table", json!({"table_name": "rich"}), Ok(json!({"kind": "view"}))),
        ("describe_table", json!({"table_name": "emp", "sample_rows": 9}), Err("bad_argument")),
    ]
}

fn raw(engine: Engine) -> Vec<Row> {
    let is_postgres = engine == Engine::Postgres;
    let parameter = if is_postgres { "$1" } else { "?" };
    let run = |sql: &str| ("execute_raw_query", json!({"query": sql}));
    let rows = |sql: &str, rows: Value| {
        let (operation, arguments) = run(sql);
        (operation, arguments, Ok(json!({"rows": rows})))
    };
    let bad = |sql: &str, kind| {
        let (operation, arguments) = run(sql);
        (operation, arguments, Err(kind))
    };
    vec![
        rows("SELECT 1 AS a, 2 AS a", json!([[1, 2]])),
        rows("VALUES (1), (2)", json!([[1], [2]])),
        rows("SELECT 'DROP TABLE x; --'", json!([["DROP TABLE x; --"]])),
        rows("SELECT \"delete\" FROM emp WHERE id = 1;", json!([["no"]])),
        rows("WITH x AS (SELECT 1 AS a) SELECT a FROM x", json!([[1]])),
        rows("SELECT 9007199254740993", json!([["9007199254740993"]])),
        (
            "execute_raw_query",
            json!({"query": format!("SELECT name FROM emp WHERE id = {parameter}"), "params": [3]}),
            Ok(
                json!({"rows": [["Cyd"]], "columns": [{"name": "name", "type": if is_postgres { "text" } else { "TEXT" }}]}),
            ),
        ),
        (
            "execute_raw_query",
            json!({"query": "SELECT id FROM emp ORDER BY id", "max_rows": 2}),
            Ok(json!({"rows": [[1], [2]], "truncated": true, "truncated_by": "rows"})),
        ),
        bad("", "no_statement"),
        bad("-- nothing", "no_statement"),
        bad("SELECT 1; DROP TABLE emp", "multiple_statements"),
        bad("SELECT 1\0", "nul_in_sql"),
        bad("SELEC 1", if is_postgres { "forbidden" } else { "sql" }),
        bad("SELECT nothing FROM emp", "sql"),
        bad("SELECT * FROM nothing", "sql"),
        bad("DELETE FROM emp", "forbidden"),
        bad("/*c*/UPDATE emp SET name = 'x'", "forbidden"),
        bad("WITH x AS (SELECT 1) DELETE FROM emp", "forbidden"),
        bad("CREATE TEMP TABLE t (a int)", "forbidden"),
        bad("BEGIN", "forbidden"),
        (
            "execute_raw_query",
            json!({"query": format!("SELECT {parameter}"), "params": []}),
            Err("bad_params"),
        ),
    ]
}

fn writes() -> Vec<Row> {
    let insert = |data: Value| json!({"table_name": "emp", "data": data});
    vec![
        (
            "insert_record",
            insert(json!({"id": 6, "name": "Flo", "city": "Bonn"})),
            Ok(json!({"rows_affected": 1, "id": 6})),
        ),
        (
            "insert_record",
            json!({"table_name": "emp", "data": [{"id": 7, "name": "Gus"}, {"id": 8, "name": "Hal"}],
                   "returning": ["id", "salary"]}),
            Ok(json!({"rows_affected": 2, "id": 8})),
        ),
        ("insert_record", insert(json!({"id": 6, "name": "Ida"})), Err("constraint")),
        ("insert_record", insert(json!({"id": 9, "name": null})), Err("constraint")),
        (
            "insert_record",
            insert(json!({"id": 9, "name": "Ida", "dept_no": 99})),
            Err("constraint"),
        ),
        ("insert_record", insert(json!({"id": 9, "nothing": 1})), Err("unknown_column")),
        ("insert_record", insert(json!([])), Err("bad_argument")),
        (
            "insert_record",
            json!({"table_name": "emp", "data": {"id": 6, "name": "Flo"}, "on_conflict": "ignore"}),
            Ok(json!({"rows_affected": 0})),
        ),
        (
            "insert_record",
            json!({"table_name": "dept", "data": {"dept_no": 20, "title": "Labs"}, "on_conflict": "ignore"}),
            Ok(json!({"rows_affected": 0})),
        ),
        (
            "insert_record",
            json!({"table_name": "pair", "data": {"a": 5, "b": "n", "c": {"$blob": "AA=="}}}),
            Ok(json!({"rows_affected": 1})),
        ),
        (
            "update_record",
            json!({"table_name": "emp", "filters": {"id": 6}, "data": {"city": "Köln", "CITY": 1}}),
            Err("bad_column"),
        ),
        (
            "update_record",
            json!({"table_name": "emp", "filters": {"id": {"gte": 6}}, "data": {"city": "Köln", "delete": null}}),
            Ok(json!({"rows_affected": 3, "dry_run": false})),
        ),
        (
            "update_record",
            json!({"table_name": "emp", "filters": {"id": 6}, "data": {}}),
            Err("bad_argument"),
        ),
        (
            "update_record",
            json!({"table_name": "emp", "filters": {}, "data": {"city": "x"}}),
            Err("bad_argument"),
        ),
        (
            "update_record",
            json!({"table_name": "emp", "filters": {}, "all": true, "max_affected": 2, "data": {"city": "x"}}),
            Err("too_many_rows"),
        ),
        (
            "delete_record",
            json!({"table_name": "dept", "filters": {"dept_no": 10}, "dry_run": true}),
            Ok(json!({"rows_affected": 1, "cascaded": 2, "dry_run": true})),
        ),
        (
            "delete_record",
            json!({"table_name": "dept", "filters": {"dept_no": 10}, "max_affected": 2}),
            Err("too_many_rows"),
        ),
        (
            "delete_record",
            json!({"table_name": "dept", "filters": {"dept_no": 10}, "max_affected": 3}),
            Ok(json!({"rows_affected": 1, "cascaded": 2})),
        ),
        (
            "query_records",
            json!({"table_name": "emp", "columns": "name, city", "order_by": "id"}),
            Ok(json!({"rows": [
                ["Ada", "London"], ["Dee", "Oslo"], ["Eve", "Rome"],
                ["Flo", "Köln"], ["Gus", "Köln"], ["Hal", "Köln"],
            ]})),
        ),
        (
            "create_table",
            json!({"table_name": "new", "schema": {"id": "INTEGER PRIMARY KEY", "done": "BOOLEAN DEFAULT FALSE"}}),
            Ok(json!({"table": "new", "created": true})),
        ),
        (
            "create_table",
            json!({"table_name": "new", "schema": {"id": "INTEGER"}}),
            Err("table_exists"),
        ),
        (
            "create_table",
            json!({"table_name": "new", "schema": {"id": "INTEGER"}, "if_not_exists": true}),
            Ok(json!({"table": "new", "created": false})),
        ),
        (
            "create_table",
            json!({"table_name": "bad", "schema": {"id": "TEXT); DROP TABLE emp;--"}}),
            Err("bad_column"),
        ),
        ("insert_record", json!({"table_name": "new", "data": {}}), Ok(json!({"id": 1}))),
        (
            "execute_raw_query",
            json!({"query": "UPDATE emp SET salary = 1 WHERE city = 'Köln'", "read_only": false}),
            Ok(json!({"rows_affected": 3})),
        ),
        (
            "execute_raw_query",
            json!({"query": "DELETE FROM emp WHERE id > 6 RETURNING name", "read_only": false}),
            Ok(json!({"rows": [["Gus"], ["Hal"]]})),
        ),
        (
            "execute_raw_query",
            json!({"query": "DELETE FROM emp", "read_only": false, "max_affected": 2}),
            Err("too_many_rows"),
        ),
        (
            "execute_raw_query",
            json!({"query": "DROP TABLE new", "read_only": false}),
            Ok(json!({"rows_affected": 0})),
        ),
        (
            "execute_raw_query",
            json!({"query": "SELECT count(*) FROM emp"}),
            Ok(json!({"rows": [[4]]})),
        ),
    ]
}

/// Pages in each order contain each row once, also if rows are inserted and deleted meanwhile.
fn pages(subject: &Subject) {
    let rows: Vec<Value> =
        (1..=25).map(|a| json!({"a": a, "b": format!("n{}", a % 3), "c": null})).collect();
    check(
        subject,
        "delete_record",
        json!({"table_name": "pair", "filters": {}, "all": true}),
        Ok(json!({})),
    );
    let insert = json!({"table_name": "pair", "data": rows});
    check(subject, "insert_record", insert, Ok(json!({"rows_affected": 25})));
    for order in ["", "a", "a DESC", "b DESC, a", "c, b"] {
        let mut seen = Vec::new();
        let mut cursor = Value::Null;
        loop {
            let mut request = json!({"table_name": "pair", "limit": 4, "columns": ["a"]});
            if !order.is_empty() {
                request["order_by"] = json!(order);
            }
            if !cursor.is_null() {
                request["cursor"] = cursor;
            }
            let call = fixture::call(&subject.database, "query_records", request);
            let mut page = subject.runtime.block_on(call).unwrap();
            seen.extend(
                page["rows"].as_array().unwrap().iter().map(|row| row[0].as_i64().unwrap()),
            );
            cursor = page["next_cursor"].take();
            if cursor.is_null() {
                break;
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, (1..=25).collect::<Vec<_>>(), "{:?} {order}", subject.engine);
    }
}
