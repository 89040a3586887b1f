//! Values that a read returns, as values of inserts, updates, filters and parameters.

use serde_json::{Value, json};

use crate::fixture::{Fixture, create, kind};

/// One column of each type affinity, and a strict table.
const TABLES: &str = "
    CREATE TABLE kept (id INTEGER PRIMARY KEY, v);
    CREATE TABLE of_integer (id INTEGER PRIMARY KEY, v INTEGER);
    CREATE TABLE of_text (id INTEGER PRIMARY KEY, v TEXT);
    CREATE TABLE of_real (id INTEGER PRIMARY KEY, v REAL);
    CREATE TABLE of_strict (id INTEGER PRIMARY KEY, v ANY, i INTEGER, t TEXT) STRICT;
";

/// A value of SQL, as a read returns it.
struct Row {
    table: &'static str,
    sql: &'static str,
    read: Value,
}

fn row(table: &'static str, sql: &'static str, read: Value) -> Row {
    Row { table, sql, read }
}

/// Whether the stored rows have one value, of one type and with the same bytes.
fn look(fixture: &Fixture, table: &str) -> Value {
    fixture.look(&format!(
        "SELECT group_concat(n || ' ' || t || ' ' || h, '; ') FROM (SELECT count(*) AS n, typeof(v) AS t, \
         coalesce(hex(v), '') AS h FROM {table} GROUP BY t, h)"
    ))
}

#[track_caller]
fn check(Row { table, sql, read }: &Row) {
    let fixture = Fixture::writable();
    create(&fixture.path, TABLES);
    let call = |operation: &str, arguments: Value| {
        let outcome = fixture.call(operation, arguments.clone());
        outcome.unwrap_or_else(|error| panic!("{operation} {arguments}: {error}"))
    };
    create(&fixture.path, &format!("INSERT INTO {table} (v) VALUES ({sql})"));
    let once = look(&fixture, table);
    let kept = once.as_str().unwrap().strip_prefix("1 ").unwrap().to_owned();

    let all = call("query_records", json!({ "table_name": table, "columns": ["v"] }));
    assert_eq!(all["rows"], json!([[read]]), "{table} {sql}");
    let value = &all["rows"][0][0];
    call("insert_record", json!({ "table_name": table, "data": { "v": value } }));
    create(&fixture.path, &format!("INSERT INTO {table} (id, v) VALUES (9, 0)"));
    let data = json!({ "table_name": table, "filters": { "id": 9 }, "data": { "v": value } });
    call("update_record", data);
    assert_eq!(look(&fixture, table), format!("3 {kept}"), "{table} {sql}");

    let found = |condition: Value| {
        let arguments =
            json!({ "table_name": table, "columns": ["v"], "filters": { "v": condition } });
        call("query_records", arguments)["rows"].as_array().unwrap().len()
    };
    assert_eq!(found(value.clone()), 3, "{table} {sql}");
    if !value.is_null() {
        for (operator, count) in [("gte", 3), ("lte", 3), ("ne", 0), ("gt", 0)] {
            assert_eq!(found(json!({ operator: value })), count, "{table} {sql} {operator}");
        }
        assert_eq!(found(json!({ "in": [value] })), 3, "{table} {sql}");
        let query = format!("SELECT count(*) FROM {table} WHERE v = ?");
        let counted = call("execute_raw_query", json!({ "query": query, "params": [value] }));
        assert_eq!(counted["rows"], json!([[3]]), "{table} {sql}");
    }
    let deleted = call("delete_record", json!({ "table_name": table, "filters": { "v": value } }));
    assert_eq!(deleted["rows_affected"], 3, "{table} {sql}");
}

#[test]
fn results_are_accepted_as_arguments() {
    for row in [
        row("kept", "NULL", json!(null)),
        row("kept", "1", json!(1)),
        row("kept", "1.0", json!(1.0)),
        row("kept", "0.1", json!(0.1)),
        row("kept", "-1e308", json!(-1e308)),
        row("kept", "9e999", json!({ "$float": "Infinity" })),
        row("kept", "-9e999", json!({ "$float": "-Infinity" })),
        row("kept", "9e999 - 9e999", json!(null)),
        row("kept", "''", json!("")),
        row("kept", "'é'", json!("é")),
        row("kept", "'1'", json!("1")),
        row("kept", "CAST(x'ff00' AS TEXT)", json!({ "$text": "/wA=", "bytes": 2 })),
        row("kept", "x''", json!({ "$blob": "", "bytes": 0 })),
        row("kept", "x'00ff'", json!({ "$blob": "AP8=", "bytes": 2 })),
        row("kept", "9007199254740992", json!(9_007_199_254_740_992_i64)),
        row("of_integer", "9007199254740993", json!("9007199254740993")),
        row("of_integer", "-9223372036854775808", json!("-9223372036854775808")),
        row("of_integer", "9223372036854775807", json!("9223372036854775807")),
        row("of_integer", "9e999", json!({ "$float": "Infinity" })),
        row("of_real", "9007199254740993", json!(9_007_199_254_740_992.0)),
        row("of_real", "-9e999", json!({ "$float": "-Infinity" })),
        row("of_text", "'9007199254740993'", json!("9007199254740993")),
        row("of_text", "CAST(x'c3' AS TEXT)", json!({ "$text": "ww==", "bytes": 1 })),
        row("of_text", "x'c3'", json!({ "$blob": "ww==", "bytes": 1 })),
        row("of_strict", "CAST(x'c3' AS TEXT)", json!({ "$text": "ww==", "bytes": 1 })),
        row("of_strict", "-9e999", json!({ "$float": "-Infinity" })),
    ] {
        check(&row);
    }
}

/// Without a numeric type, only a number remains a large integer (see `Rowset`).
#[test]
fn large_integers_without_a_type_are_sent_as_numbers() {
    let fixture = Fixture::writable();
    create(&fixture.path, TABLES);
    let insert = |v: Value| {
        fixture.call("insert_record", json!({ "table_name": "kept", "data": { "v": v } }))
    };
    insert(json!(9_007_199_254_740_993_i64)).unwrap();
    assert_eq!(fixture.look("SELECT typeof(v) FROM kept"), "integer");
    let read =
        fixture.call("query_records", json!({ "table_name": "kept", "columns": ["v"] })).unwrap();
    assert_eq!(read["rows"], json!([["9007199254740993"]]));
    insert(json!("9007199254740993")).unwrap();
    assert_eq!(fixture.look("SELECT group_concat(typeof(v)) FROM kept"), "integer,text");
}

#[test]
fn invalid_markers_are_refused() {
    let fixture = Fixture::writable();
    for (value, reason) in [
        (json!({ "$float": "NaN" }), "\"$float\" must be \"Infinity\" or \"-Infinity\""),
        (json!({ "$float": 1.5 }), "\"$float\" must be \"Infinity\" or \"-Infinity\""),
        (json!({ "$text": "?" }), "\"$text\" must be base64 with padding"),
        (json!({ "$text": 1 }), "\"$text\" must be base64 with padding"),
        (json!({ "$blob": "A" }), "\"$blob\" must be base64 with padding"),
        (json!({ "$blob": "AA==", "size": 1 }), "expected null"),
        (json!({ "$blob": "AA==", "$text": "AA==" }), "expected null"),
        (json!({ "$float": "Infinity", "bytes": 8 }), "expected null"),
        (json!({ "$int": "1" }), "expected null"),
    ] {
        let data = json!({ "table_name": "extremes", "data": { "v": value } });
        let refused = fixture.call("insert_record", data);
        assert_eq!(kind(&refused), "bad_column", "{value}");
        let message = refused.unwrap_err().to_string();
        assert!(message.contains(reason), "{value}: {message}");
    }
}

/// A number that a double would round is refused, wherever it is sent.
#[test]
fn numbers_are_not_rounded() {
    let fixture = Fixture::writable();
    create(&fixture.path, TABLES);
    let database = &fixture.database;
    for (number, is_exact) in [
        ("0.1", true),
        ("0.30000000000000004", true),
        ("9223372036854775807", true),
        ("1e22", true),
        ("0.1234567890123456789", false),
        ("9223372036854775809.0", false),
        ("12345678901234567890123", false),
        ("1e-400", false),
    ] {
        let insert = format!(r#"{{"table_name": "kept", "data": {{"v": {number}}}}}"#);
        let inserted = fixture.runtime.block_on(database.insert_record(parse(&insert)));
        let rows = format!(r#"{{"table_name": "kept", "filters": {{"v": {number}}}}}"#);
        let rows = fixture.runtime.block_on(database.query_records(parse(&rows)));
        let raw = format!(r#"{{"query": "SELECT ?", "params": [{number}]}}"#);
        let raw = fixture.runtime.block_on(database.execute_raw_query(parse(&raw)));
        let kinds = [kind(&inserted), kind(&rows), kind(&raw)];
        let expected =
            if is_exact { ["ok"; 3] } else { ["bad_column", "bad_filter", "bad_params"] };
        assert_eq!(kinds, expected, "{number}");
    }
}

#[test]
fn integers_are_not_rounded_for_columns_of_floating_point_numbers() {
    let fixture = Fixture::writable();
    create(&fixture.path, TABLES);
    for (table, number, expected) in [
        ("of_real", "9007199254740992", "ok"),
        ("of_real", "1000000000000000000", "ok"),
        ("of_real", "9007199254740993", "bad_column"),
        ("of_integer", "9007199254740993", "ok"),
        ("kept", "9007199254740993", "ok"),
    ] {
        let insert = format!(r#"{{"table_name": "{table}", "data": {{"v": {number}}}}}"#);
        let inserted = fixture.runtime.block_on(fixture.database.insert_record(parse(&insert)));
        assert_eq!(kind(&inserted), expected, "{table} {number}");
    }
}

fn parse<T: serde::de::DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).unwrap()
}
