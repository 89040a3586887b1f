//! Cursors of `query_records` while the table changes.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Server, mismatch, trunkline, with_content};

/// `t` has NULLs, ties and values of all types; `k` and `pair` have primary keys; `plain` has only row ids, and a
/// column with their usual name; `uncommon` has values that cursors cannot hold, and `v` has no key.
const CONTENT: &str = "
    CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT COLLATE NOCASE, n INTEGER NOT NULL);
    INSERT INTO t VALUES (1, NULL, 'x', 1), (2, 7, 'X', 1), (3, 'text', 'a', 2), (4, x'00ff', NULL, 2),
        (5, 0.1, 'B', 3), (6, NULL, 'b', 3), (7, 7, NULL, 4), (8, 'zz', 'y', 4);
    CREATE TABLE k(k TEXT PRIMARY KEY) WITHOUT ROWID;
    INSERT INTO k VALUES ('a'), ('b'), ('c'), ('d'), ('e');
    CREATE TABLE pair(a, b, PRIMARY KEY (a, b)) WITHOUT ROWID;
    INSERT INTO pair VALUES (1, 1), (1, 2), (1, 3), (2, 1), (2, 2);
    CREATE TABLE plain(rowid TEXT);
    INSERT INTO plain VALUES ('e'), ('d'), ('c'), ('b'), ('a');
    CREATE TABLE uncommon(v);
    INSERT INTO uncommon VALUES (1), (CAST(x'ff' AS TEXT)), (printf('%.3000c', 'x')), (2), (x'ff'), (9e999);
    CREATE VIEW v AS SELECT k FROM k;
";

/// Reads two rows and makes the change; then the other pages hold the other rows, each once.
#[track_caller]
fn check(request: &Value, change: &str) {
    let (_folder, path) = with_content(CONTENT);
    let server = Server::of(&path);
    let whole = page(&server, request, &json!({}))["rows"].take();
    let whole = whole.as_array().unwrap();
    let mut page_of_two = page(&server, request, &json!({"limit": 2}));
    assert_eq!(page_of_two["rows"], json!(whole[..2]), "{request}");
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    let mut rest = Vec::new();
    while !page_of_two["next_cursor"].is_null() {
        let more = json!({"limit": 2, "cursor": page_of_two["next_cursor"]});
        page_of_two = page(&server, request, &more);
        rest.extend(page_of_two["rows"].as_array().unwrap().iter().cloned());
    }
    assert_eq!(rest, whole[2..], "{request} after {change}");
}

fn page(server: &Server, request: &Value, more: &Value) -> Value {
    let mut params = request.clone();
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut response = server.call("db.query_records", &params);
    assert!(response["error"].is_null(), "{params}: {response}");
    response["result"].take()
}

#[test]
fn a_row_of_an_earlier_page_is_deleted_or_inserted() {
    let rows = [
        (json!({}), "id = 1", "0, 0, 'x', 0"),
        (json!({"filters": {"id": {"lt": 7}}}), "id = 2", "0, 0, 'x', 0"),
        (json!({"order_by": "id desc"}), "id = 8", "9, 0, 'x', 0"),
        (json!({"order_by": "a"}), "id = 1", "0, NULL, 'x', 0"),
        (json!({"order_by": "a", "filters": {"id": {"in": [1, 2, 5, 6]}}}), "id = 1", "0, 0, 0, 0"),
        (json!({"order_by": "a desc"}), "id = 4", "9, x'ff', 'x', 0"),
        (json!({"order_by": "b"}), "id = 4", "0, 0, NULL, 0"),
        (json!({"order_by": "b desc", "columns": ["id"]}), "id = 8", "9, 0, 'z', 0"),
        (json!({"order_by": "n desc, a"}), "n = 4", "9, NULL, 'x', 5"),
        (json!({"order_by": ["n", {"column": "b", "desc": true}]}), "n = 1", "0, 0, 'x', 0"),
    ];
    for (more, deleted, inserted) in rows {
        let mut request = json!({"table_name": "t"});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        check(&request, &format!("DELETE FROM t WHERE {deleted}"));
        check(&request, &format!("INSERT INTO t VALUES ({inserted})"));
    }
    for (table, change) in [
        ("k", "DELETE FROM k WHERE k = 'a'"),
        ("k", "INSERT INTO k VALUES ('A')"),
        ("pair", "DELETE FROM pair WHERE b = 2 AND a = 1"),
        ("pair", "INSERT INTO pair VALUES (0, 9)"),
        ("plain", "DELETE FROM plain WHERE rowid = 'e'"),
        ("uncommon", "DELETE FROM uncommon WHERE v = 1"),
    ] {
        check(&json!({"table_name": table}), change);
    }
}

/// The cursor counts such rows, which is correct as long as the table does not change.
#[test]
fn rows_without_a_key_that_a_cursor_can_hold() {
    for order_by in ["v", "v desc"] {
        check(&json!({"table_name": "uncommon", "order_by": order_by}), "");
    }
    check(&json!({"table_name": "v", "order_by": "k desc"}), "");
}

#[test]
fn cursors_of_other_requests() {
    let (_folder, path) = with_content(CONTENT);
    let server = Server::of(&path);
    let request = json!({"table_name": "k", "limit": 1});
    let cursor = page(&server, &request, &json!({}))["next_cursor"].take();
    let cursor = cursor.as_str().unwrap();
    let ask = |params: Value| server.call("db.query_records", &params);
    let expected = |part: &str| {
        json!({"error": {"code": -32602,
            "data": {"kind": "bad_cursor", "argument": "cursor", "reason": {"$has": part}}}})
    };
    let at = |place: usize| {
        let letter = if cursor.as_bytes()[place] == b'A' { "B" } else { "A" };
        format!("{}{letter}{}", &cursor[..place], &cursor[place + 1..])
    };
    let foreign = "belongs to a request with other arguments";
    let unknown = "was not issued by this server";
    let changed = [8, 30, cursor.len() / 2, cursor.len() - 5].map(|place| {
        let reason = if place < 21 { "it " } else { unknown };
        (json!({"table_name": "k", "cursor": at(place)}), reason)
    });
    let others = [
        (json!({"table_name": "t", "cursor": cursor}), foreign),
        (json!({"table_name": "k", "order_by": "k desc", "cursor": cursor}), foreign),
        (json!({"table_name": "k", "filters": {"k": "a"}, "cursor": cursor}), foreign),
        (json!({"table_name": "k", "cursor": ""}), unknown),
        (json!({"table_name": "k", "cursor": "1"}), unknown),
    ];
    for (params, reason) in changed.into_iter().chain(others) {
        let response = ask(params.clone());
        assert_eq!(mismatch(&response, &expected(reason)), None, "{params}: {response}");
    }
    // The schema has changed.
    Connection::open(&path).unwrap().execute_batch("ALTER TABLE k ADD COLUMN v").unwrap();
    let response = ask(json!({"table_name": "k", "cursor": cursor}));
    assert_eq!(mismatch(&response, &expected(foreign)), None, "{response}");
}

/// To programs in the structured result, and to language models in the text.
#[test]
fn a_truncated_result_describes_how_to_continue() {
    let (folder, path) = with_content(CONTENT);
    let mut command = trunkline(folder.path());
    let flags = ["--listen", "127.0.0.1:0", "--max-rows", "2", "--writable", "--output-schemas"];
    command.args(flags).arg("--db").arg(&path);
    let server = Server::start(command);
    let by_cursor = "repeat the call with \"cursor\" set to next_cursor";
    let inserted = json!([{"k": "1"}, {"k": "2"}, {"k": "3"}]);
    for (tool, arguments, expected) in [
        ("query_records", json!({"table_name": "k"}), by_cursor),
        ("query_records", json!({"table_name": "v", "limit": 3}), by_cursor),
        ("execute_raw_query", json!({"query": "SELECT * FROM k"}), "LIMIT and OFFSET 2"),
        ("execute_raw_query", json!({"query": "SELECT 1", "max_rows": 0}), "raise \"max_rows\""),
        (
            "execute_raw_query",
            json!({"query": "UPDATE k SET k = k RETURNING k", "read_only": false}),
            "the change is complete; use a SELECT",
        ),
        (
            "insert_record",
            json!({"table_name": "k", "data": inserted, "returning": true}),
            "all records were inserted; use query_records",
        ),
    ] {
        let response = server.call("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &response["result"];
        let structured = &result["structuredContent"];
        let rows = structured.get("rows").filter(|rows| rows.is_object()).unwrap_or(structured);
        assert_eq!(rows["truncated"], true, "{response}");
        assert!(rows["hint"].as_str().unwrap().contains(expected), "{response}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(expected), "{response}");
    }
    let whole = server.call("db.query_records", &json!({"table_name": "k", "limit": 1}));
    assert_eq!(whole["result"].get("hint"), None, "the caller's own limit: {whole}");
}
