//! Limits of results.

use serde_json::json;
use trunkline_sql::QueryLimits;
use trunkline_sql::sqlite::SqliteConfig;

use crate::fixture::{Fixture, create, reply, request};

const MANY: &str =
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";

#[test]
fn rows_and_bytes() {
    let fixture = Fixture::with(SqliteConfig {
        limits: QueryLimits { max_rows: 4, max_bytes: 25, ..QueryLimits::default() },
        ..SqliteConfig::default()
    });
    let rows = [
        ("as many as allowed", format!("{MANY} LIMIT 4"), json!(null), json!([4, false, null])),
        ("one more", format!("{MANY} LIMIT 5"), json!(null), json!([4, true, "rows"])),
        ("endless", MANY.to_owned(), json!(null), json!([4, true, "rows"])),
        ("fewer wanted", MANY.to_owned(), json!(2), json!([2, true, "rows"])),
        ("more wanted", MANY.to_owned(), json!(1_000), json!([4, true, "rows"])),
        (
            "just fits",
            "SELECT 'aaaaaaaaaaaaaaaaaaa'".to_owned(),
            json!(null),
            json!([1, false, null]),
        ),
        (
            "second row over",
            "VALUES ('aaaaaa'), ('bbbbbbbbbbb')".to_owned(),
            json!(null),
            json!([1, true, "bytes"]),
        ),
    ];
    for (name, query, max_rows, expected) in rows {
        let query = request(json!({"query": query, "max_rows": max_rows}));
        let rowset = fixture.raw(query).unwrap();
        assert!(rowset.rows.get().len() <= 25, "{name}");
        let rowset = reply(rowset);
        assert_eq!(rowset["rows"].as_array().unwrap().len(), rowset["row_count"], "{name}");
        let end = json!([rowset["row_count"], rowset["truncated"], rowset["truncated_by"]]);
        assert_eq!(end, expected, "{name}");
    }
}

#[test]
fn a_first_row_that_does_not_fit_is_an_error() {
    let fixture = Fixture::with(SqliteConfig {
        limits: QueryLimits { max_bytes: 25, ..QueryLimits::default() },
        ..SqliteConfig::default()
    });
    for (name, query) in [
        ("one byte over", "SELECT 'aaaaaaaaaaaaaaaaaaaa'"),
        ("escapes count", r#"SELECT '""""""""""""'"#),
        ("blob", "SELECT zeroblob(1000000)"),
        ("followed by another", "VALUES (zeroblob(1000000)), (1)"),
    ] {
        let error = fixture.sql(query).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the query exceeds a limit: the first row alone exceeds the 25 bytes of a result; \
             select fewer columns, or parts of them",
            "{name}"
        );
        assert_eq!(error.details().kind, "over_limit", "{name}");
    }
}

#[test]
fn rows_after_a_large_one_can_be_read() {
    let fixture = Fixture::new();
    create(
        &fixture.path,
        "CREATE TABLE large (id INTEGER PRIMARY KEY, body BLOB); \
         INSERT INTO large VALUES (1, 'a'), (2, zeroblob(1200000)), (3, 'c'), (4, 'd')",
    );
    let ask = |arguments| {
        let call = fixture.database.query_records(request(arguments));
        fixture.runtime.block_on(call)
    };
    let first = reply(ask(json!({"table_name": "large"})).unwrap());
    assert_eq!((&first["rows"], &first["truncated_by"]), (&json!([[1, "a"]]), &json!("bytes")));
    let cursor = &first["next_cursor"];
    let error = ask(json!({"table_name": "large", "cursor": cursor})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the query exceeds a limit: the row at offset 1 alone exceeds the 1048576 bytes of a result; \
         select fewer \"columns\", or continue with \"offset\": 2 and no cursor"
    );
    assert_eq!(error.details().kind, "over_limit");
    let past = reply(ask(json!({"table_name": "large", "offset": 2})).unwrap());
    assert_eq!(past["rows"], json!([[3, "c"], [4, "d"]]));
    let narrow = reply(ask(json!({"table_name": "large", "columns": ["id"]})).unwrap());
    assert_eq!(narrow["rows"], json!([[1], [2], [3], [4]]));
}
