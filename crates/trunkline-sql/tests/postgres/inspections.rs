//! The contract of the operations that describe a database further.

use serde_json::{Value, json};
use trunkline_sql::Engine;

use crate::contract::Row;

pub(crate) fn rows(engine: Engine) -> Vec<Row> {
    searches(engine)
        .into_iter()
        .chain(plans(engine))
        .chain(profiles(engine))
        .chain(health())
        .collect()
}

/// SQLite returns the usual types in capital letters.
fn integer(engine: Engine) -> &'static str {
    if engine == Engine::Postgres { "integer" } else { "INTEGER" }
}

fn searches(engine: Engine) -> Vec<Row> {
    let search = |arguments: Value, expected| ("search_schema", arguments, expected);
    vec![
        search(
            json!({"term": "dept", "limit": 2}),
            Ok(json!({"truncated": true, "matches": [
                {"table": "dept", "kind": "table", "score": 100},
                {"table": "dept", "kind": "table", "column": "dept_no", "type": integer(engine), "score": 80},
            ]})),
        ),
        search(json!({"term": "Weird"}), Ok(json!({"matches": [], "truncated": false}))),
        search(json!({"term": " "}), Err("bad_argument")),
        search(json!({"term": "a", "limit": 0}), Err("bad_argument")),
    ]
}

fn plans(engine: Engine) -> Vec<Row> {
    let explain = |sql: &str, expected| ("explain_query", json!({"query": sql}), expected);
    let parameter = if engine == Engine::Postgres { "$1" } else { "?" };
    let with_parameter = format!("SELECT name FROM emp WHERE id = {parameter}");
    vec![
        explain("DELETE FROM emp", Err("forbidden")),
        explain("INSERT INTO emp (name) VALUES ('x')", Err("forbidden")),
        explain("SELECT 1; DELETE FROM emp", Err("multiple_statements")),
        explain(
            "ANALYZE SELECT 1",
            Err(if engine == Engine::Postgres { "forbidden" } else { "sql" }),
        ),
        explain(
            "(ANALYZE) SELECT 1",
            Err(if engine == Engine::Postgres { "forbidden" } else { "sql" }),
        ),
        explain("EXPLAIN ANALYZE SELECT 1", Err("sql")),
        explain("SELECT nothing FROM emp", Err("sql")),
        explain("", Err("no_statement")),
        explain(&with_parameter, Err("bad_params")),
        ("explain_query", json!({"query": with_parameter, "params": [1, 2]}), Err("bad_params")),
    ]
}

fn profiles(engine: Engine) -> Vec<Row> {
    let is_postgres = engine == Engine::Postgres;
    let city = if is_postgres { "character varying(20)" } else { "varchar(20)" };
    vec![
        (
            "profile_table",
            json!({"table_name": "EMP", "columns": ["dept_no", "city"]}),
            Ok(json!({"table": "emp", "rows": 5, "sampled": false, "columns": [
                {
                    "name": "dept_no", "type": integer(engine), "nulls": 1, "distinct": 2, "min": 10, "max": 20,
                    "examples": [{"value": 10, "count": 2}, {"value": 20, "count": 2}],
                },
                {
                    "name": "city", "type": city, "nulls": 1, "distinct": 3, "min": "London", "max": "Rome",
                    "examples": [
                        {"value": "Oslo", "count": 2}, {"value": "London", "count": 1}, {"value": "Rome", "count": 1},
                    ],
                },
            ]})),
        ),
        (
            "profile_table",
            json!({"table_name": "emp", "columns": "id", "sample_rows": 2}),
            Ok(json!({"rows": 2, "sampled": true})),
        ),
        ("profile_table", json!({"table_name": "rich"}), Ok(json!({"rows": 3, "sampled": false}))),
        ("profile_table", json!({"table_name": "we\"ird; DROP"}), Ok(json!({"rows": 1}))),
        ("profile_table", json!({"table_name": "nothing"}), Err("unknown_table")),
        ("profile_table", json!({"table_name": "emp", "columns": ["x"]}), Err("unknown_column")),
        ("profile_table", json!({"table_name": "emp", "columns": []}), Err("bad_argument")),
        ("profile_table", json!({"table_name": "emp", "sample_rows": 0}), Err("bad_argument")),
    ]
}

fn health() -> Vec<Row> {
    let problem = json!({
        "kind": "unindexed_foreign_key", "table": "emp",
        "problem": "no index begins with the foreign key (dept_no), so a change of the referenced table scans this one",
        "remedy": "CREATE INDEX emp_dept_no ON emp (dept_no)",
    });
    vec![("database_health", json!({}), Ok(json!({"problems": [problem]})))]
}
