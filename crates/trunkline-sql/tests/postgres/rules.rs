//! SQL of callers under rules, in a list: hidden tables do not exist, and masked columns are refused.

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_sql::Error;

use crate::fixture::{Fixture, call, kind};
use crate::visibility::{fixture, shown};

fn run(fixture: &Fixture, operation: &str, arguments: Value) -> Result<Value, Error> {
    fixture.runtime.block_on(call(&fixture.database, operation, arguments))
}

/// A statement. If it names a hidden table, its error is that of the same statement with the name of no table.
#[derive(Deserialize)]
struct Case {
    sql: String,
    hidden: Option<String>,
    /// `ok` or kinds of errors, separated by `|`.
    expect: Option<String>,
    /// The rows of the result.
    rows: Option<Value>,
}

/// A name of no table, not similar to another one.
const ABSENT: &str = "zzqqxx";

#[test]
#[ignore = "needs PostgreSQL"]
fn sql_of_callers_is_restricted() {
    let fixture = fixture(false);
    let mut failures = Vec::new();
    for line in include_str!("../data/rules.postgres.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        if let Err(failure) = check(&fixture, &case) {
            failures.push(format!("{}: {failure}", case.sql));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(fixture: &Fixture, case: &Case) -> Result<(), String> {
    let outcome = run(fixture, "execute_raw_query", json!({ "query": case.sql }));
    let text = shown(&outcome);
    if text.contains("S3CRET") && !case.sql.contains("S3CRET") {
        return Err(format!("reveals a value: {text}"));
    }
    if let Some(hidden) = &case.hidden {
        let sql = renamed(&case.sql, hidden);
        let absent = run(fixture, "execute_raw_query", json!({ "query": sql }));
        if facts(&outcome, hidden) != facts(&absent, hidden) {
            return Err(format!("{text} instead of {}", shown(&absent)));
        }
    }
    let expected = case.expect.as_deref().unwrap_or("sql");
    if !expected.split('|').any(|one| one == kind(&outcome)) {
        return Err(format!("{text} instead of {expected}"));
    }
    match (&case.rows, &outcome) {
        (Some(rows), Ok(result)) if result["rows"] != *rows => {
            Err(format!("{text} instead of {rows}"))
        }
        _ => Ok(()),
    }
}

/// The kind, the message without similar names, and the place of an error.
fn facts(
    outcome: &Result<Value, Error>,
    hidden: &str,
) -> Option<(&'static str, String, Option<usize>)> {
    let error = outcome.as_ref().err()?;
    let (message, details) = (error.to_string(), error.details());
    let message = message.split("; did you mean").next().unwrap_or_default();
    Some((details.kind, renamed(message, hidden), details.offset))
}

/// The text with another name instead of a hidden one, in any case of letters.
fn renamed(text: &str, hidden: &str) -> String {
    let (lower, hidden) = (text.to_ascii_lowercase(), hidden.to_ascii_lowercase());
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let (mut renamed, mut end) = (String::new(), 0);
    for (start, _) in lower.match_indices(&hidden) {
        let after = start + hidden.len();
        if is_part(lower[..start].chars().next_back()) || is_part(lower[after..].chars().next()) {
            continue;
        }
        renamed.push_str(&text[end..start]);
        renamed.push_str(ABSENT);
        end = after;
    }
    renamed + &text[end..]
}

#[test]
#[ignore = "needs PostgreSQL"]
fn changes_by_sql_are_refused() {
    let fixture = fixture(true);
    for sql in WRITES {
        let outcome =
            run(&fixture, "execute_raw_query", json!({ "query": sql, "read_only": false }));
        assert_eq!(kind(&outcome), "forbidden", "{sql}: {}", shown(&outcome));
    }
    let rows =
        run(&fixture, "execute_raw_query", json!({ "query": "SELECT count(*) FROM orders" }));
    assert_eq!(rows.unwrap()["rows"], json!([[2]]));
}

const WRITES: &[&str] = &[
    "INSERT INTO orders (id, total) VALUES (9, 1)",
    "UPDATE orders SET note = (SELECT max(amount) FROM salary)",
    "DELETE FROM salary",
    "UPDATE customer SET name = email RETURNING name",
    "INSERT INTO customer (id, name, email) VALUES (9, 'x', 'a') ON CONFLICT (email) DO NOTHING",
    "CREATE VIEW v AS SELECT * FROM salary",
    "CREATE TABLE t AS SELECT * FROM salary",
    "ALTER TABLE salary RENAME TO wages",
    "ALTER TABLE customer RENAME COLUMN email TO mail",
    "CREATE UNIQUE INDEX i ON customer (phone)",
    "DROP TABLE salary",
    "SELECT name FROM customer",
    "MERGE INTO orders USING salary ON false WHEN NOT MATCHED THEN INSERT (id) VALUES (9)",
    "CREATE MATERIALIZED VIEW v AS SELECT * FROM salary",
];
