//! What clients are told.

use serde_json::{Value, json};
use trunkline_sql::{Error, ErrorClass, OpenError};

use crate::fixture::{Fixture, never, request};

#[track_caller]
fn check(error: &Error, class: ErrorClass, message: &str, details: &Value) {
    assert_eq!(error.client_message(), message);
    assert_eq!(error.class(), class, "{message}");
    assert_eq!(serde_json::to_value(error.details()).unwrap(), *details, "{message}");
}

#[test]
fn unknown_names_come_with_near_ones() {
    let fixture = Fixture::new();
    let ask = |arguments: Value| {
        let never = never();
        let call = fixture.database.query_records(request(arguments), &never);
        fixture.runtime.block_on(call).unwrap_err()
    };
    check(
        &ask(json!({"table_name": "employees"})),
        ErrorClass::Request,
        r#"there is no table named "employees"; did you mean "emp"?"#,
        &json!({"kind": "unknown_table", "table": "employees", "candidates": ["emp"]}),
    );
    check(
        &ask(json!({"table_name": "EMP", "columns": ["salry"]})),
        ErrorClass::Request,
        r#"table "emp" has no column named "salry"; did you mean "salary"?"#,
        &json!({"kind": "unknown_column", "table": "emp", "column": "salry", "candidates": ["salary"]}),
    );
    check(
        &ask(json!({"table_name": "emp", "filters": {"city": {"near": 1}}})),
        ErrorClass::Request,
        "filter on column \"city\": no operator \"near\"; there are gt, gte, lt, lte, ne, in, like, is_null",
        &json!({"kind": "bad_filter", "argument": "filters", "column": "city"}),
    );
}

#[test]
fn sql_mistakes_come_with_their_place() {
    let fixture = Fixture::new();
    check(
        &fixture.sql("SELECT missing FROM emp").unwrap_err(),
        ErrorClass::Request,
        "SQL error: no such column: missing",
        &json!({"kind": "sql", "offset": 7}),
    );
    check(
        &fixture.sql("DELETE FROM emp").unwrap_err(),
        ErrorClass::Forbidden,
        "the statement is not allowed: it does something else than reading tables or describing them",
        &json!({"kind": "forbidden"}),
    );
}

#[test]
fn a_file_that_went_away_is_not_named() {
    let error = Error::Unavailable(OpenError::Missing { path: "/srv/secret/a.db".into() });
    check(
        &error,
        ErrorClass::Database,
        "the database cannot be opened",
        &json!({"kind": "unavailable"}),
    );
}
