//! Error messages and details.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline::ErrorObject;
use trunkline_sql::sqlite::OpenError;
use trunkline_sql::{Error, ErrorClass};

use crate::fixture::{Fixture, request};

#[track_caller]
fn check(error: &Error, class: ErrorClass, message: &str, details: &Value) {
    assert_eq!(error.to_string(), message);
    assert_eq!(error.class(), class, "{message}");
    assert_eq!(serde_json::to_value(error.details()).unwrap(), *details, "{message}");
}

#[test]
fn unknown_names_have_suggestions() {
    let fixture = Fixture::new();
    let ask = |arguments: Value| {
        let call = fixture.database.query_records(request(arguments));
        fixture.runtime.block_on(call).unwrap_err()
    };
    check(
        &ask(json!({"table_name": "employees"})),
        ErrorClass::Request,
        "unknown table `employees`; did you mean `emp`?",
        &json!({"kind": "unknown_table", "table": "employees", "candidates": ["emp"]}),
    );
    check(
        &ask(json!({"table_name": "EMP", "columns": ["salry"]})),
        ErrorClass::Request,
        "unknown column `salry` in table `emp`; did you mean `salary`?",
        &json!({"kind": "unknown_column", "table": "emp", "column": "salry", "candidates": ["salary"]}),
    );
    check(
        &ask(json!({"table_name": "emp", "filters": {"city": {"near": 1}}})),
        ErrorClass::Request,
        "filter on column `city`: unknown operator \"near\"; \
         the operators are eq, ne, gt, gte, lt, lte, in, like, is_null",
        &json!({"kind": "bad_filter", "argument": "filters", "column": "city"}),
    );
}

#[test]
fn sql_errors_have_their_place() {
    let fixture = Fixture::new();
    check(
        &fixture.sql("SELECT missing FROM emp").unwrap_err(),
        ErrorClass::Request,
        "SQL error: no such column: missing",
        &json!({"kind": "sql", "column": "missing", "offset": 7}),
    );
    check(
        &fixture.sql("SELECT 1 FROM nosuch").unwrap_err(),
        ErrorClass::Request,
        "SQL error: no such table: nosuch",
        &json!({"kind": "sql", "table": "nosuch"}),
    );
    // A name that begins like the message of a limit.
    check(
        &fixture.sql("SELECT * FROM \"too large. x\"").unwrap_err(),
        ErrorClass::Request,
        "SQL error: no such table: too large. x",
        &json!({"kind": "sql", "table": "too large. x"}),
    );
    check(
        &fixture.sql("DELETE FROM emp").unwrap_err(),
        ErrorClass::Forbidden,
        "statement not allowed: only statements that read or describe tables are permitted; \
         the database is served read-only; start the server with --writable to allow changes",
        &json!({"kind": "forbidden"}),
    );
}

#[test]
fn messages_are_limited_in_length() {
    let fixture = Fixture::new();
    let error = fixture.sql("SELECT json_extract('{}', hex(zeroblob(4000000)))").unwrap_err();
    let length = error.to_string().len();
    assert!(length < 2_000, "{length}");
}

#[test]
fn errors_do_not_reveal_paths() {
    let error = Error::Unavailable(OpenError::Missing { path: "/srv/secret/a.db".into() }.into());
    check(
        &error,
        ErrorClass::Database,
        "the database cannot be opened",
        &json!({"kind": "unavailable"}),
    );
}

#[test]
fn codes() {
    let reason = String::new;
    for (error, code, message) in [
        (Error::BadArgument { argument: "limit", reason: reason() }, -32602, "Invalid params"),
        (Error::BadFilter { column: "a".into(), reason: reason() }, -32602, "Invalid params"),
        (Error::BadCursor { reason: "" }, -32602, "Invalid params"),
        (Error::BadParams { reason: reason() }, -32602, "Invalid params"),
        (Error::Timeout { limit: Duration::from_secs(1) }, -32004, "Call timed out"),
        (Error::Busy, -32005, "Server is busy"),
        (Error::Locked, -32005, "Server is busy"),
        (Error::Changing, -32005, "Server is busy"),
        (Error::Unreachable("refused".into()), -32005, "Server is busy"),
        (Error::NoStatement, -32003, "Database error"),
        (Error::Forbidden { reason: reason() }, -32003, "Database error"),
        (Error::OutOfMemory, -32003, "Database error"),
        (Error::Cancelled, -32003, "Database error"),
        (Error::ReaderLost, -32003, "Database error"),
    ] {
        let (kind, sentence) = (error.details().kind, error.to_string());
        let object = ErrorObject::from(error);
        assert_eq!((object.code(), object.message()), (code, message), "{kind}");
        let data: Value = serde_json::from_str(object.data().unwrap().get()).unwrap();
        assert_eq!((&data["kind"], &data["reason"]), (&json!(kind), &json!(sentence)));
    }
}

#[test]
fn failures_name_the_table_or_the_column() {
    let fixture = Fixture::writable();
    let prepare = "CREATE VIEW broken AS SELECT nosuch FROM emp; \
                   CREATE TABLE checked (a CHECK (a > 0)); \
                   CREATE TABLE strict_one (a INTEGER) STRICT";
    crate::fixture::create(&fixture.path, prepare);
    for (operation, arguments, kind, table, column) in [
        ("query_records", json!({"table_name": "broken"}), "sql", "broken", "nosuch"),
        ("insert_record", json!({"table_name": "rich", "data": {"id": 1}}), "sql", "rich", ""),
        (
            "insert_record",
            json!({"table_name": "emp", "data": {"name": "K", "initial": "K"}}),
            "sql",
            "emp",
            "initial",
        ),
        (
            "update_record",
            json!({"table_name": "emp", "filters": {"id": 1}, "data": {"initial": "K"}}),
            "sql",
            "emp",
            "initial",
        ),
        (
            "insert_record",
            json!({"table_name": "checked", "data": {"a": 0}}),
            "constraint",
            "checked",
            "",
        ),
        (
            "insert_record",
            json!({"table_name": "strict_one", "data": {"a": "x"}}),
            "constraint",
            "strict_one",
            "a",
        ),
        (
            "insert_record",
            json!({"table_name": "emp", "data": {"name": "K", "dept_no": 99}}),
            "constraint",
            "emp",
            "",
        ),
        (
            "delete_record",
            json!({"table_name": "emp", "filters": {}, "all": true, "max_affected": 1}),
            "too_many_rows",
            "emp",
            "",
        ),
        (
            "execute_raw_query",
            json!({"query": "INSERT INTO emp (nam) VALUES (1)", "read_only": false}),
            "sql",
            "emp",
            "nam",
        ),
    ] {
        let details = fixture.call(operation, arguments.clone()).unwrap_err().details();
        assert_eq!(
            (details.kind, details.table.unwrap_or_default(), details.column.unwrap_or_default()),
            (kind, table.to_owned(), column.to_owned()),
            "{operation} {arguments}"
        );
    }
}

#[test]
fn refusals_depend_on_the_role() {
    let fixture = Fixture::writable();
    let refusal = |sql: &str, read_only: bool| {
        let arguments = json!({"query": sql, "read_only": read_only});
        fixture.call("execute_raw_query", arguments).unwrap_err().to_string()
    };
    for (sql, is_helped) in [
        ("/* a */ DELETE FROM emp", true),
        ("-- b\nwith x as (select 1) delete from emp", true),
        ("ATTACH 'x' AS y", false),
        ("SELECT load_extension('x')", false),
        ("PRAGMA user_version = 3", false),
    ] {
        assert_eq!(refusal(sql, true).contains("\"read_only\": false"), is_helped, "{sql}");
    }
    assert_eq!(
        refusal("ATTACH 'x' AS y", false),
        "statement not allowed: only statements that read or change the rows and the schema of this \
         database are permitted"
    );
}

#[test]
fn messages_of_limits_are_quoted() {
    let fixture = Fixture::new();
    let many = vec!["SELECT 1"; 51].join(" UNION ALL ");
    assert_eq!(
        fixture.sql(&many).unwrap_err().to_string(),
        "the query exceeds a limit: \"too many terms in compound SELECT\""
    );
}
