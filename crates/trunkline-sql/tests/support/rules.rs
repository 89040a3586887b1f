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

/// A table with constraints that compare open columns with the masked ones of [`COMPARED_MASKS`].
pub(crate) const COMPARED: &str = "\
    CREATE TABLE plan (kind text, region text, PRIMARY KEY (kind, region));
    CREATE TABLE paid (
        id integer PRIMARY KEY, name text, bonus integer CHECK (bonus >= 0), salary integer, code text, email text,
        city text, phone text, team text, level integer, kind text, region text, CHECK (salary > bonus), UNIQUE (code, email),
        FOREIGN KEY (kind, region) REFERENCES plan (kind, region)
    );
    CREATE UNIQUE INDEX paid_name ON paid (lower(name));
    CREATE UNIQUE INDEX paid_city ON paid (lower(city || phone));
    CREATE UNIQUE INDEX paid_team ON paid (team) WHERE level > 1;
    CREATE TABLE sums (
        id integer PRIMARY KEY, salary integer, extra integer, total integer GENERATED ALWAYS AS (salary + extra) STORED
    );
    CREATE UNIQUE INDEX sums_total ON sums (total);
    INSERT INTO paid (id, name, bonus, salary, code, email, city, phone, team, level)
    VALUES (1, 'Ada', 1, 5000, 'A', 'ada', 'Oslo', '1', 'x', 2), (2, 'Ben', 2, 6000, 'B', 'ben', 'Rome', '2', 'y', 3);
    INSERT INTO sums (id, salary, extra) VALUES (1, 5000, 1), (2, 6000, 2);";

pub(crate) const COMPARED_MASKS: [&str; 6] =
    ["paid.salary", "paid.email", "paid.phone", "paid.level", "paid.region", "sums.salary"];

/// Checks that constraints do not show masked values.
#[track_caller]
pub(crate) fn check_compared(run: Run<'_>) {
    for (table, data, expected) in [
        ("paid", json!({ "bonus": 4999 }), "bad_column"),
        ("paid", json!({ "BONUS": 5001 }), "bad_column"),
        ("paid", json!({ "bonus": null }), "bad_column"),
        ("paid", json!({ "code": "B" }), "bad_column"),
        ("paid", json!({ "code": "B", "email": "ben" }), "bad_column"),
        ("paid", json!({ "city": "Rome" }), "bad_column"),
        ("paid", json!({ "team": "y" }), "bad_column"),
        ("paid", json!({ "kind": "k" }), "bad_column"),
        ("paid", json!({ "level": 1 }), "masked"),
        ("paid", json!({ "email": "ben" }), "masked"),
        ("sums", json!({ "extra": 1002 }), "bad_column"),
        ("paid", json!({ "name": "Cyd" }), "ok"),
        ("paid", json!({ "name": "BEN" }), "constraint"),
        ("paid", json!({ "bonus": 1, "salary": 7000 }), "ok"),
        ("paid", json!({ "salary": 7000 }), "ok"),
    ] {
        let update =
            json!({ "table_name": table, "filters": { "id": 1 }, "data": data, "dry_run": true });
        let outcome = run("update_record", update);
        assert_eq!(kind(&outcome), expected, "{data}: {}", shown(&outcome));
    }
    for (data, expected) in [
        (json!({ "id": 9, "code": "A" }), "bad_column"),
        (json!({ "id": 9, "code": "A", "email": null }), "bad_column"),
        (json!({ "id": 9, "team": "x" }), "bad_column"),
        (json!({ "id": 9, "name": "Cyd", "bonus": 1, "salary": 2 }), "ok"),
    ] {
        let outcome = run("insert_record", json!({ "table_name": "paid", "data": data }));
        assert_eq!(kind(&outcome), expected, "{data}: {}", shown(&outcome));
    }
    let update = json!({ "table_name": "paid", "filters": { "id": 1 }, "data": { "bonus": 1 } });
    let text = shown(&run("update_record", update));
    assert!(text.contains("salary") && text.contains("remove the column"), "{text}");
}

/// Changes of names in the rules of the fixture of `visibility`, and one of another table.
const RENAMED: [(&str, &str, &str); 4] = [
    (
        "ALTER TABLE customer RENAME COLUMN email TO mail",
        "ALTER TABLE customer RENAME COLUMN mail TO email",
        "unmatched_rules",
    ),
    (
        "ALTER TABLE customer RENAME TO client",
        "ALTER TABLE client RENAME TO customer",
        "unmatched_rules",
    ),
    ("ALTER TABLE salary RENAME TO wages", "ALTER TABLE wages RENAME TO salary", "unmatched_rules"),
    ("ALTER TABLE plain ADD COLUMN more text", "ALTER TABLE plain DROP COLUMN more", "ok"),
];

/// Checks that calls are refused while another process has renamed a table or column that a rule names.
#[track_caller]
pub(crate) fn check_renamed(run: Run<'_>, change: &dyn Fn(&str)) {
    let plain = |rest: Value| {
        let mut arguments = rest;
        arguments["table_name"] = "plain".into();
        arguments
    };
    let calls = [
        ("list_tables", json!({})),
        ("search_schema", json!({ "term": "plain" })),
        ("describe_table", plain(json!({}))),
        ("profile_table", plain(json!({}))),
        ("query_records", plain(json!({}))),
        ("execute_raw_query", json!({ "query": "SELECT a FROM plain" })),
        ("execute_raw_query", json!({ "query": "SELECT 1" })),
        ("explain_query", json!({ "query": "SELECT a FROM plain" })),
        ("insert_record", plain(json!({ "data": { "id": 9, "a": "x" } }))),
        ("update_record", plain(json!({ "filters": { "id": 9 }, "data": { "a": "y" } }))),
        ("delete_record", plain(json!({ "filters": { "id": 9 } }))),
    ];
    let check = |state: &str, expected: &str| {
        for (operation, arguments) in &calls {
            let outcome = run(operation, arguments.clone());
            let text = shown(&outcome);
            assert_eq!(kind(&outcome), expected, "{state}: {operation} {arguments}: {text}");
            for name in ["S3CRET", "salary_", "wages", "client"] {
                assert!(!text.contains(name), "{state}: {operation} {arguments}: {text}");
            }
        }
    };
    for (sql, undo, expected) in RENAMED {
        check("before", "ok");
        change(sql);
        check(sql, expected);
        change(undo);
    }
    check("after", "ok");
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
