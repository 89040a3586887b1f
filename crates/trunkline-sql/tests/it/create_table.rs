//! `create_table`.

use serde_json::{Value, json};

use crate::fixture::{Fixture, call, kind, request};

/// The DDL, or the kind of error. The request is text, since a `Value` sorts its keys.
#[track_caller]
fn check(fixture: &Fixture, arguments: &str, expected: Result<&str, &str>) {
    let outcome = fixture.runtime.block_on(async {
        let request = serde_json::from_str(arguments).unwrap();
        fixture.database.create_table(request).await
    });
    match expected {
        Ok(ddl) => assert_eq!(outcome.unwrap().ddl.unwrap(), ddl, "{arguments}"),
        Err(expected) => assert_eq!(kind(&outcome), expected, "{arguments}: {outcome:?}"),
    }
}

#[test]
fn tables() {
    let fixture = Fixture::writable();
    for (arguments, expected) in [
        (
            r#"{"table_name": "t1", "schema": {"z": "text", "a": "INT", "m": "varchar(20) not null"}}"#,
            r#"CREATE TABLE "t1" ("z" TEXT, "a" INT, "m" VARCHAR(20) NOT NULL)"#,
        ),
        (
            r#"{"table_name": "t1b", "schema": {"n": "nvarchar(120)", "i": "int(11)", "t": "time", "u": "uuid"}}"#,
            r#"CREATE TABLE "t1b" ("n" NVARCHAR(120), "i" INT(11), "t" TIME, "u" UUID)"#,
        ),
        (
            r#"{"table_name": "t2", "schema": {"id": "INTEGER PRIMARY KEY AUTOINCREMENT", "at": "DATETIME DEFAULT CURRENT_TIMESTAMP"}}"#,
            r#"CREATE TABLE "t2" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "at" DATETIME DEFAULT CURRENT_TIMESTAMP)"#,
        ),
        (
            r#"{"table_name": "t3", "schema": {"id": "INTEGER", "b": "TEXT"}, "primary_key": "ID"}"#,
            r#"CREATE TABLE "t3" ("id" INTEGER PRIMARY KEY, "b" TEXT)"#,
        ),
        (
            r#"{"table_name": "t4", "schema": {"a": "INT", "b": "INT"}, "primary_key": ["b", "a"]}"#,
            r#"CREATE TABLE "t4" ("a" INT, "b" INT, PRIMARY KEY ("b", "a"))"#,
        ),
        (
            r#"{"table_name": "t5", "schema": {"a": {"type": "INT", "primary_key": true}, "b": {"type": "INT", "primary_key": true}}, "primary_key": ["a", "b"]}"#,
            r#"CREATE TABLE "t5" ("a" INT, "b" INT, PRIMARY KEY ("a", "b"))"#,
        ),
        (
            r#"{"table_name": "t6", "schema": {"a": {"type": "DECIMAL(10,2)", "not_null": true, "unique": true, "default": 1.5},
                "b": {"type": "TEXT", "default": "it's"}, "c": {"type": "BOOLEAN", "default": true},
                "d": {"type": "DATE", "default": "current_date"}}}"#,
            r#"CREATE TABLE "t6" ("a" DECIMAL(10, 2) NOT NULL UNIQUE DEFAULT 1.5, "b" TEXT DEFAULT 'it''s', "c" BOOLEAN DEFAULT 1, "d" DATE DEFAULT CURRENT_DATE)"#,
        ),
        (
            r#"{"table_name": "we\"ird; DROP TABLE emp; --", "schema": {"x\"); --": "TEXT", "select": "TEXT", "größe 名": "TEXT"}}"#,
            r#"CREATE TABLE "we""ird; DROP TABLE emp; --" ("x""); --" TEXT, "select" TEXT, "größe 名" TEXT)"#,
        ),
    ] {
        check(&fixture, arguments, Ok(expected));
    }
    let name = "we\"ird; DROP TABLE emp; --";
    let insert = json!({"table_name": name, "data": {"x\"); --": 1, "select": 2, "größe 名": 3}});
    assert_eq!(kind(&fixture.call("insert_record", insert)), "ok");
    assert_eq!(fixture.look("SELECT count(*) || '' FROM emp"), "5");
}

#[test]
fn invalid_tables_are_refused() {
    let fixture = Fixture::writable();
    let before = fixture.files();
    let table = |name: &str, rest: &str| format!(r#"{{"table_name": "{name}", "schema": {rest}}}"#);
    for (arguments, expected) in [
        (table("", r#"{"a": "TEXT"}"#), "bad_argument"),
        (table("sqlite_x", r#"{"a": "TEXT"}"#), "bad_argument"),
        (table("SQLITE_x", r#"{"a": "TEXT"}"#), "bad_argument"),
        (table("a\\u0000b", r#"{"a": "TEXT"}"#), "bad_argument"),
        (table("t", "{}"), "bad_argument"),
        (table("t", r#"{"": "TEXT"}"#), "bad_column"),
        (table("t", r#"{"a\u0000": "TEXT"}"#), "bad_column"),
        (table("t", r#"{"a": "TEXT", "A": "TEXT"}"#), "bad_column"),
        (table("t", r#"{"a": "TEXT", "a": "TEXT"}"#), "bad_column"),
        (table("t", r#"{"a": "TEXT); DROP TABLE emp;--"}"#), "bad_column"),
        (table("t", r#"{"a": {"type": "TEXT); DROP TABLE emp;--"}}"#), "bad_column"),
        (table("t", r#"{"a": {"type": "TEXT", "default": [1]}}"#), "bad_column"),
        (table("t", r#"{"a": {"type": "TEXT", "default": "a\u0000"}}"#), "bad_column"),
        (table("t", r#"{"a": "TEXT PRIMARY KEY AUTOINCREMENT"}"#), "bad_column"),
        (table("t", r#"{"a": "INTEGER AUTOINCREMENT"}"#), "bad_column"),
        (table("t", r#"{"a": "INTEGER PRIMARY KEY", "b": "TEXT PRIMARY KEY"}"#), "bad_column"),
        (table("t", r#"{"a": "TEXT"}, "primary_key": "b""#), "bad_argument"),
        (table("t", r#"{"a": "TEXT"}, "primary_key": []"#), "bad_argument"),
        (table("t", r#"{"a": "TEXT"}, "primary_key": ["a", "A"]"#), "bad_argument"),
        (
            table("t", r#"{"a": "TEXT PRIMARY KEY", "b": "TEXT"}, "primary_key": "b""#),
            "bad_argument",
        ),
        (table("EMP", r#"{"a": "TEXT"}"#), "table_exists"),
        (table("rich", r#"{"a": "TEXT"}"#), "table_exists"),
        (table("emp_name", r#"{"a": "TEXT"}"#), "sql"),
    ] {
        check(&fixture, &arguments, Err(expected));
    }
    let columns: Vec<String> = (0..501).map(|n| format!(r#""c{n}": "TEXT""#)).collect();
    check(&fixture, &table("t", &format!("{{{}}}", columns.join(", "))), Err("over_limit"));
    assert!(fixture.files() == before);
}

#[test]
fn errors_name_the_column() {
    let fixture = Fixture::writable();
    let arguments = json!({"table_name": "t", "schema": {"a": "TEXT); DROP TABLE emp;--"}});
    let error = fixture.call("create_table", arguments).unwrap_err();
    let expected = json!({"kind": "bad_column", "argument": "schema", "column": "a"});
    assert_eq!(serde_json::to_value(error.details()).unwrap(), expected);
    for (schema, expected) in [
        (json!({"a": 1}), "column \"a\": invalid type: integer `1`, expected a type such as"),
        (json!({"a": {"typ": "TEXT"}}), "column \"a\": unknown field `typ`"),
        (json!({"a": {}}), "column \"a\": missing field `type`"),
        (json!(["a"]), "expected an object of columns with their types"),
    ] {
        let arguments = json!({"table_name": "t", "schema": schema});
        let error = serde_json::from_value::<trunkline_sql::CreateTable>(arguments).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn if_not_exists_leaves_an_existing_table_unchanged() {
    let fixture = Fixture::writable();
    let arguments = json!({"table_name": "DEPT", "schema": {"a": "TEXT"}, "if_not_exists": true});
    let reply = fixture.call("create_table", arguments).unwrap();
    assert_eq!((&reply["table"], &reply["created"]), (&json!("dept"), &json!(false)));
    assert!(reply["ddl"].as_str().unwrap().contains("dept_no INTEGER PRIMARY KEY"));
}

#[test]
fn a_new_table_is_visible_to_all_readers() {
    let fixture = Fixture::writable();
    for number in 0..20 {
        let name = format!("t{number}");
        let arguments = json!({"table_name": name, "schema": {"a": "INTEGER PRIMARY KEY"}});
        fixture.call("create_table", arguments).unwrap();
        let calls = (0..8).map(|_| {
            let (database, name) = (fixture.database.clone(), name.clone());
            async move {
                let arguments: Value = request(json!({"table_name": name}));
                kind(&call(&database, "query_records", arguments).await)
            }
        });
        let runtime = &fixture.runtime;
        let tasks: Vec<_> = calls.map(|call| runtime.spawn(call)).collect();
        for task in tasks {
            assert_eq!(runtime.block_on(task).unwrap(), "ok");
        }
    }
}
