//! The operations over HTTP, from the tables in `tests/data`.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Server, cases, mismatch, tpch};

/// One call, by name or by position, and parts of its reply.
#[derive(Deserialize)]
struct Case {
    name: String,
    method: String,
    params: Value,
    #[serde(flatten)]
    expected: Outcome,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Result(Value),
    Error(Value),
}

#[track_caller]
fn check(server: &Server, file: &str) {
    let mut failures = Vec::new();
    for case in cases::<Case>(file) {
        let response = server.call(&format!("db.{}", case.method), &case.params);
        let expected = match case.expected {
            Outcome::Result(parts) => json!({"jsonrpc": "2.0", "id": 1, "result": parts}),
            Outcome::Error(parts) => json!({"jsonrpc": "2.0", "id": 1, "error": parts}),
        };
        if let Some(at) = mismatch(&response, &expected) {
            failures.push(format!("{}{at}\n    in {response}", case.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn results_and_errors() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    check(&server, include_str!("../data/list_tables.jsonl"));
    check(&server, include_str!("../data/describe_table.jsonl"));
    check(&server, include_str!("../data/query_records.jsonl"));
    check(&server, include_str!("../data/execute_raw_query.jsonl"));
}

/// Pages by cursor and by offset contain each row once, in the order of one page with all rows.
#[test]
fn pages() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    for (name, request, rows) in [
        ("by key", json!({"table_name": "supplier", "columns": ["s_suppkey"]}), 10),
        (
            "ties in the order",
            json!({"table_name": "customer", "columns": ["c_custkey"], "order_by": "c_mktsegment"}),
            150,
        ),
        (
            "filtered, descending",
            json!({"table_name": "customer", "columns": ["c_custkey"],
                "filters": {"c_acctbal": {"gt": 0}},
                "order_by": [{"column": "c_nationkey", "desc": true}]}),
            138,
        ),
        (
            "a key of two columns",
            json!({"table_name": "partsupp", "columns": ["ps_partkey", "ps_suppkey"],
                "order_by": "ps_suppkey desc"}),
            700,
        ),
    ] {
        let whole = page(&server, &request, &json!({"limit": 1000}));
        let expected = whole["rows"].as_array().unwrap().clone();
        assert_eq!((expected.len(), &whole["next_cursor"]), (rows, &Value::Null), "{name}");
        assert_eq!(distinct(&expected), rows, "{name}");

        // The last row is the last one of a page.
        for limit in [3, 7, 64, rows] {
            let (mut by_cursor, mut more) = (Vec::new(), json!({"limit": limit}));
            loop {
                let mut page = page(&server, &request, &more);
                let rows = page["rows"].take();
                by_cursor.extend(rows.as_array().unwrap().iter().cloned());
                if page["next_cursor"].is_null() {
                    break;
                }
                assert_eq!(page["row_count"], limit, "{name}: a page before the last one");
                more["cursor"] = page["next_cursor"].take();
            }
            assert!(by_cursor == expected, "{name}: by cursor, {limit} a page");

            let mut by_offset = Vec::new();
            for offset in (0..=rows).step_by(limit) {
                let page = page(&server, &request, &json!({"limit": limit, "offset": offset}));
                by_offset.extend(page["rows"].as_array().unwrap().iter().cloned());
            }
            assert!(by_offset == expected, "{name}: by offset, {limit} a page");
        }
    }
}

fn page(server: &Server, request: &Value, more: &Value) -> Value {
    let mut params = request.clone();
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut response = server.call("db.query_records", &params);
    assert!(response["error"].is_null(), "{params}: {response}");
    response["result"].take()
}

fn distinct(rows: &[Value]) -> usize {
    rows.iter().map(ToString::to_string).collect::<BTreeSet<_>>().len()
}

/// A table with more rows than a page: pages have 100 rows, and cursors lead to the others.
#[test]
fn pages_of_the_default_size() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let request = json!({"table_name": "lineitem", "columns": ["l_orderkey", "l_linenumber"]});
    let (mut seen, mut more) = (BTreeSet::new(), json!({}));
    let mut pages = 0;
    loop {
        let mut page = page(&server, &request, &more);
        pages += 1;
        for row in page["rows"].as_array().unwrap() {
            assert!(seen.insert(row.to_string()), "{row} twice");
        }
        let cut = json!([page["truncated"], page["truncated_by"]]);
        if page["next_cursor"].is_null() {
            assert_eq!(cut, json!([false, null]));
            break;
        }
        assert_eq!(cut, json!([true, "rows"]));
        more["cursor"] = page["next_cursor"].take();
    }
    assert_eq!((seen.len(), pages), (6_005, 61));
}

#[test]
fn a_batch_of_all_kinds() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let reply = server.post(&json!([
        {"jsonrpc": "2.0", "id": 1, "method": "db.list_tables", "params": ["region"]},
        {"jsonrpc": "2.0", "id": "two", "method": "db.describe_table", "params": ["region"]},
        {"jsonrpc": "2.0", "method": "db.list_tables"},
        {"jsonrpc": "2.0", "id": 3, "method": "db.query_records",
            "params": {"table_name": "region", "columns": ["r_name"], "limit": 1}},
        {"jsonrpc": "2.0", "id": 4, "method": "db.execute_raw_query",
            "params": {"query": "DROP TABLE region"}},
        {"jsonrpc": "2.0", "id": 5, "method": "db.drop_table", "params": ["region"]},
        {"jsonrpc": "2.0", "id": 6, "method": "db.query_records", "params": {"table": "region"}},
        7,
        {"jsonrpc": "2.0", "id": 8, "method": "db.execute_raw_query",
            "params": {"query": "SELECT count(*) FROM region"}},
    ]));
    assert_eq!(reply.status, 200);
    let expected = json!([
        {"id": 1, "result": {"tables": [{"name": "region"}]}},
        {"id": "two", "result": {"name": "region", "primary_key": ["r_regionkey"]}},
        {"id": 3, "result": {"rows": [["AFRICA"]]}},
        {"id": 4, "error": {"code": -32003, "data": {"kind": "forbidden"}}},
        {"id": 5, "error": {"code": -32601, "data": {"method": "db.drop_table"}}},
        {"id": 6, "error": {"code": -32602}},
        {"id": null, "error": {"code": -32600}},
        {"id": 8, "result": {"rows": [[5]]}},
    ]);
    assert_eq!(mismatch(&reply.json(), &expected), None, "{}", reply.json());
}

#[test]
fn notifications_have_no_reply() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let one = json!({"jsonrpc": "2.0", "method": "db.list_tables"});
    let failing = json!({"jsonrpc": "2.0", "method": "db.execute_raw_query", "params": ["DROP"]});
    for body in [one.clone(), failing.clone(), json!([one, failing])] {
        let reply = server.post(&body);
        assert_eq!((reply.status, reply.body.len()), (204, 0), "{body}");
    }
}

#[test]
fn a_connection_serves_many_calls() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let mut connection = server.connect();
    for id in 0..50 {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "db.execute_raw_query",
            "params": {"query": "SELECT n_name FROM nation WHERE n_nationkey = ?", "params": [id % 25]}});
        let reply = connection.ask(&crate::support::post("/rpc", &[], &call)).json();
        assert_eq!((&reply["id"], &reply["result"]["row_count"]), (&json!(id), &json!(1)));
    }
}
