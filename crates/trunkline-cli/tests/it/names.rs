//! Databases with names that are not valid UTF-8.

use serde_json::{Value, json};

use crate::support::{Server, mismatch, with_content};

/// The table `good`, and one object of each kind whose name contains the byte `FF`.
const CONTENT: &str = "
    CREATE TABLE good(a INTEGER PRIMARY KEY, b TEXT);
    INSERT INTO good VALUES (1, 'x');
    CREATE TABLE bad0(a);
    CREATE TABLE columns(a, bad1);
    INSERT INTO columns VALUES (7, 8);
    CREATE TABLE types(a bad2);
    CREATE TABLE indexed(a);
    CREATE INDEX bad3 ON indexed(a);
    CREATE TRIGGER bad4 AFTER INSERT ON indexed BEGIN SELECT 1; END;
    CREATE VIEW bad5 AS SELECT 1 AS one;
    CREATE VIEW view AS SELECT 1 AS bad6;
    CREATE VIRTUAL TABLE bad7 USING rtree(id, low, high);
    ANALYZE;
    INSERT INTO sqlite_stat1 VALUES ('bad8', NULL, '5');
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET
        name = CAST(replace(CAST(name AS BLOB), 'bad', x'ff') AS TEXT),
        tbl_name = CAST(replace(CAST(tbl_name AS BLOB), 'bad', x'ff') AS TEXT),
        sql = CAST(replace(CAST(sql AS BLOB), 'bad', x'ff') AS TEXT);
    UPDATE sqlite_stat1 SET tbl = CAST(replace(CAST(tbl AS BLOB), 'bad', x'ff') AS TEXT);
";

#[track_caller]
fn check(server: &Server, method: &str, params: &Value, expected: &Value) {
    let response = server.call(&format!("db.{method}"), params);
    let at = mismatch(&response, expected);
    assert_eq!(at, None, "{method} {params} in {response}");
}

/// Such names affect nothing else.
#[test]
fn a_name_that_is_not_utf_8() {
    let (_folder, path) = with_content(CONTENT);
    let server = Server::of(&path);
    let names = ["columns", "good", "indexed", "types", "view"];
    let tables: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
    let unreadable = json!(["\u{fffd}0", "\u{fffd}5", "\u{fffd}7"]);
    let column = "\u{fffd}1";
    for (method, params, expected) in [
        (
            "list_tables",
            json!({}),
            json!({"result": {"tables": tables, "unreadable": unreadable, "next_cursor": null}}),
        ),
        (
            "list_tables",
            json!({"kind": "view"}),
            json!({"result": {"tables": [{"name": "view"}], "unreadable": ["\u{fffd}5"]}}),
        ),
        (
            "query_records",
            json!({"table_name": "god"}),
            json!({"error": {"data": {"kind": "unknown_table", "candidates": ["good"]}}}),
        ),
        (
            "query_records",
            json!({"table_name": "\u{fffd}0"}),
            json!({"error": {"data": {"kind": "unknown_table"}}}),
        ),
        ("query_records", json!({"table_name": "good"}), json!({"result": {"rows": [[1, "x"]]}})),
        (
            "query_records",
            json!({"table_name": "columns"}),
            json!({"error": {"code": -32602, "data": {"kind": "bad_argument", "argument": "columns",
                "reason": {"$has": column}}}}),
        ),
        (
            "query_records",
            json!({"table_name": "columns", "columns": ["a"]}),
            json!({"result": {"rows": [[7]]}}),
        ),
        (
            "query_records",
            json!({"table_name": "columns", "columns": [column]}),
            json!({"error": {"data": {"kind": "unknown_column", "column": column}}}),
        ),
        (
            "describe_table",
            json!({"table_name": "columns"}),
            json!({"result": {"columns": [{"name": "a"}], "unreadable": [column]}}),
        ),
        (
            "describe_table",
            json!({"table_name": "columns", "sample_rows": 2}),
            json!({"result": {"sample": {"rows": [[7]]}}}),
        ),
        (
            "describe_table",
            json!({"table_name": "types"}),
            json!({"result": {"columns": [{"name": "a", "type": "\u{fffd}2"}]}}),
        ),
        (
            "describe_table",
            json!({"table_name": "indexed"}),
            json!({"result": {"indexes": [], "triggers": [], "unreadable": ["\u{fffd}3", "\u{fffd}4"]}}),
        ),
        (
            "describe_table",
            json!({"table_name": "view"}),
            json!({"result": {"columns": [], "unreadable": ["\u{fffd}6"]}}),
        ),
        (
            "query_records",
            json!({"table_name": "types"}),
            json!({"result": {"columns": [{"name": "a", "type": null}], "rows": []}}),
        ),
        (
            "execute_raw_query",
            json!({"query": "SELECT * FROM columns"}),
            json!({"error": {"data": {"kind": "forbidden"}}}),
        ),
        (
            "execute_raw_query",
            json!({"query": "SELECT * FROM view"}),
            json!({"error": {"data": {"kind": "forbidden"}}}),
        ),
        (
            "execute_raw_query",
            json!({"query": "SELECT * FROM (SELECT * FROM view)"}),
            json!({"error": {"data": {"kind": "forbidden"}}}),
        ),
        (
            "execute_raw_query",
            json!({"query": "SELECT name FROM sqlite_schema WHERE name GLOB '*0'"}),
            json!({"result": {"rows": [[{"$text": "/zA=", "bytes": 2}]]}}),
        ),
    ] {
        check(&server, method, &params, &expected);
    }
}
