//! `execute_raw_query`: results and parameters.

use serde_json::{Value, json};

use crate::fixture::{Fixture, kind, reply, request};

#[track_caller]
fn check(fixture: &Fixture, arguments: &Value, expected: Result<Value, &str>) {
    let outcome = fixture.raw(request(arguments.clone()));
    match expected {
        Ok(rows) => {
            let rowset = reply(outcome.unwrap());
            assert_eq!(rowset["rows"], rows, "{arguments}");
        }
        Err(expected) => assert_eq!(kind(&outcome), expected, "{arguments}: {outcome:?}"),
    }
}

#[test]
fn parameters() {
    let fixture = Fixture::new();
    let rows = [
        ("SELECT ?, ?", json!([1, "a"]), Ok(json!([[1, "a"]]))),
        ("SELECT ?2, ?1", json!([1, "a"]), Ok(json!([["a", 1]]))),
        ("SELECT ?3", json!([1, 2, 3]), Ok(json!([[3]]))),
        ("SELECT :a, @b, $c", json!([1, 2, 3]), Ok(json!([[1, 2, 3]]))),
        ("SELECT :a, @b, $c", json!({"a": 1, "@b": 2, "c": 3}), Ok(json!([[1, 2, 3]]))),
        ("SELECT :a, :a", json!({"a": null}), Ok(json!([[null, null]]))),
        ("SELECT ?", json!([true]), Ok(json!([[1]]))),
        ("SELECT ?", json!([1.5]), Ok(json!([[1.5]]))),
        ("SELECT ?", json!([{"$blob": "AAE="}]), Ok(json!([[{"$blob": "AAE=", "bytes": 2}]]))),
        ("SELECT name FROM emp WHERE name = ?", json!(["'; DROP TABLE emp; --"]), Ok(json!([]))),
        ("SELECT 1", json!([]), Ok(json!([[1]]))),
        ("SELECT 1", json!(null), Ok(json!([[1]]))),
        ("SELECT 1", json!({}), Ok(json!([[1]]))),
        ("SELECT ?", json!([]), Err("bad_params")),
        ("SELECT ?", json!([1, 2]), Err("bad_params")),
        ("SELECT ?", json!({"a": 1}), Err("bad_params")),
        ("SELECT ?", json!([[1]]), Err("bad_params")),
        ("SELECT ?", json!([{"a": 1}]), Err("bad_params")),
        ("SELECT ?", json!([18_446_744_073_709_551_615_u64]), Err("bad_params")),
        ("SELECT :a", json!({"b": 1}), Err("bad_params")),
        ("SELECT :a", json!({"a": 1, "b": 1}), Err("bad_params")),
        ("SELECT :a", json!({"a": 1, ":a": 2}), Err("bad_params")),
    ];
    for (query, params, expected) in rows {
        check(&fixture, &json!({"query": query, "params": params}), expected);
    }
}

#[test]
fn a_statement_used_again_has_no_values_of_the_last_call() {
    let fixture = Fixture::new();
    let query = "SELECT ifnull(?, 'none')";
    for (params, expected) in [
        (json!(["a"]), Ok(json!([["a"]]))),
        (json!([]), Err("bad_params")),
        (json!([null]), Ok(json!([["none"]]))),
    ] {
        check(&fixture, &json!({"query": query, "params": params}), expected);
    }
}

#[test]
fn values() {
    let fixture = Fixture::new();
    check(
        &fixture,
        &json!({"query": "SELECT v FROM extremes"}),
        Ok(json!([
            [9_007_199_254_740_992_i64],
            ["9007199254740993"],
            ["-9223372036854775808"],
            [{"$float": "Infinity"}],
            [{"$float": "-Infinity"}],
            [{"$blob": "AAE=", "bytes": 2}],
            [{"$text": "/w==", "bytes": 1}],
            [null],
            [""],
        ])),
    );
}

#[test]
fn the_whole_reply() {
    let fixture = Fixture::new();
    let query =
        json!({"query": "SELECT name, salary, city AS name, salary * 2 FROM emp WHERE id = 1"});
    let mut rowset = reply(fixture.raw(request(query)).unwrap());
    assert!(rowset["elapsed_ms"].take().as_f64().unwrap() > 0.0);
    assert_eq!(
        rowset,
        json!({
            "columns": [
                {"name": "name", "type": "TEXT"},
                {"name": "salary", "type": "REAL"},
                {"name": "name", "type": "VARCHAR(20)"},
                {"name": "salary * 2", "type": null},
            ],
            "rows": [["Ada", 3000.0, "London", 6000.0]],
            "row_count": 1,
            "truncated": false,
            "truncated_by": null,
            "next_cursor": null,
            "elapsed_ms": null,
        })
    );
}

#[test]
fn columns_are_returned_without_rows() {
    let fixture = Fixture::new();
    let rowset = fixture.sql("SELECT id, name FROM emp WHERE 0").unwrap();
    let names: Vec<&str> = rowset.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!((names, rowset.rows.get()), (vec!["id", "name"], "[]"));
}

#[test]
fn columns_follow_a_changed_schema() {
    let fixture = Fixture::new();
    let query = "SELECT * FROM dept";
    assert_eq!(fixture.sql(query).unwrap().columns.len(), 2);
    crate::fixture::create(&fixture.path, "ALTER TABLE dept ADD COLUMN floor INTEGER DEFAULT 7");
    let rowset = fixture.sql(query).unwrap();
    assert_eq!(rowset.columns.len(), 3);
    assert_eq!(rowset.rows.get(), r#"[[10,"Sales",7],[20,"Research",7]]"#);
}

#[test]
fn arguments() {
    let fixture = Fixture::new();
    for (arguments, expected) in [
        (json!({"query": "SELECT 1", "read_only": true}), Ok(json!([[1]]))),
        (json!({"query": "SELECT 1", "read_only": false}), Err("read_only")),
        (json!({"query": "SELECT 1", "timeout_ms": 0}), Err("bad_argument")),
        (json!({"query": "VALUES (1), (2)", "max_rows": 0}), Ok(json!([]))),
        (json!({"query": "VALUES (1), (2)", "max_rows": 1}), Ok(json!([[1]]))),
        (json!({"query": "VALUES (1), (2)", "max_rows": null}), Ok(json!([[1], [2]]))),
    ] {
        check(&fixture, &arguments, expected);
    }
}

#[test]
fn errors_have_the_byte_offset() {
    let fixture = Fixture::new();
    for (query, offset) in [
        ("SELECT nothing FROM emp", Some(7)),
        ("SELECT 1 FRM emp", Some(13)),
        ("SELECT 'é', nothing", Some(13)),
        ("SELECT abs(-9223372036854775808)", None),
    ] {
        let error = fixture.sql(query).unwrap_err();
        assert_eq!(error.details().offset, offset, "{query}: {error}");
    }
}
