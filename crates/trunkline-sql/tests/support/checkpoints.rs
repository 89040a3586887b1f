//! Calls that must not show the table of checkpoints, for both engines.

use serde_json::{Value, json};

/// Calls of all operations, which name a table if they can.
pub(crate) fn invisible(table: &str) -> Vec<(&'static str, Value)> {
    let upper = table.to_uppercase();
    let mut calls = vec![
        ("list_tables", json!({})),
        ("search_schema", json!({ "term": "import checkpoint" })),
        ("database_health", json!({})),
        ("create_table", json!({ "table_name": table, "schema": { "a": "TEXT" } })),
        ("insert_record", json!({ "table_name": table, "data": { "id": "x", "checkpoint": "" } })),
        (
            "update_record",
            json!({ "table_name": table, "filters": {}, "all": true, "data": { "id": "x" } }),
        ),
        ("delete_record", json!({ "table_name": upper, "filters": {}, "all": true })),
    ];
    for operation in ["describe_table", "query_records", "profile_table"] {
        calls.push((operation, json!({ "table_name": table })));
    }
    for sql in [
        format!("SELECT * FROM {table}"),
        format!("SELECT count(*) FROM \"{upper}\""),
        format!("SELECT count(*) FROM {table} AS a JOIN {table} AS b USING (id)"),
        format!("WITH x AS (SELECT checkpoint FROM {table}) SELECT * FROM x"),
    ] {
        calls.push(("explain_query", json!({ "query": sql })));
        calls.push(("execute_raw_query", json!({ "query": sql })));
        calls.push(("execute_raw_query", json!({ "query": sql, "read_only": false })));
    }
    for sql in [
        format!("DROP TABLE {table}"),
        format!("DELETE FROM {table}"),
        format!("ALTER TABLE {table} RENAME TO seen"),
        format!("CREATE VIEW v AS SELECT * FROM {table}"),
    ] {
        calls.push(("execute_raw_query", json!({ "query": sql, "read_only": false })));
    }
    calls
}
