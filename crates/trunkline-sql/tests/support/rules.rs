//! Statements under rules, as data, for both engines: hidden tables do not exist, and masked columns are refused.

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_sql::Error;

use crate::fixture::kind;
use crate::visibility::shown;

/// Runs an operation.
pub(crate) type Run<'f> = &'f dyn Fn(&str, Value) -> Result<Value, Error>;

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

/// Checks each line of a file.
#[track_caller]
pub(crate) fn check_all(run: Run<'_>, cases: &str) {
    let mut failures = Vec::new();
    for line in cases.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        if let Err(failure) = check(run, &case) {
            failures.push(format!("{}: {failure}", case.sql));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Checks that changes by SQL are refused.
#[track_caller]
pub(crate) fn check_changes(run: Run<'_>, statements: &[&str]) {
    for sql in statements {
        let outcome = run("execute_raw_query", json!({ "query": sql, "read_only": false }));
        assert_eq!(kind(&outcome), "forbidden", "{sql}: {}", shown(&outcome));
    }
    let rows = run("execute_raw_query", json!({ "query": "SELECT count(*) FROM orders" }));
    assert_eq!(rows.unwrap()["rows"], json!([[2]]));
}

fn check(run: Run<'_>, case: &Case) -> Result<(), String> {
    let outcome = run("execute_raw_query", json!({ "query": case.sql }));
    let text = shown(&outcome);
    if text.contains("S3CRET") && !case.sql.contains("S3CRET") {
        return Err(format!("reveals a value: {text}"));
    }
    if let Some(hidden) = &case.hidden {
        let sql = renamed(&case.sql, hidden);
        let absent = run("execute_raw_query", json!({ "query": sql }));
        if facts(&outcome, hidden) != facts(&absent, hidden) {
            return Err(format!("{text} instead of {}", shown(&absent)));
        }
    }
    if kind(&outcome) != "ok" && kind(&outcome) != "sql" {
        let explained = run("explain_query", json!({ "query": case.sql }));
        if kind(&explained) == "ok" {
            return Err(format!("explain_query: {}", shown(&explained)));
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
