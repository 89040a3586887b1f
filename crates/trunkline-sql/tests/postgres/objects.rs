//! Objects that SQLite does not have: schemas, partitions, materialized views, identity columns, comments.

use serde_json::{Value, json};
use trunkline_sql::RawQuery;
use trunkline_sql::postgres::PostgresConfig;

use crate::fixture::{self, Fixture};

/// Checks the values at these places of a reply, or of an error's details.
#[track_caller]
fn check(fixture: &Fixture, operation: &str, arguments: Value, expected: &[(&str, Value)]) {
    let shown = format!("{operation} {arguments}");
    let call = fixture::call(&fixture.database, operation, arguments);
    let reply = match fixture.runtime.block_on(call) {
        Ok(reply) => reply,
        Err(error) => {
            let mut details = fixture::reply(error.details());
            details["reason"] = error.to_string().into();
            details
        }
    };
    for (place, value) in expected {
        assert_eq!(reply.pointer(place), Some(value), "{shown}: {place} in {reply}");
    }
}

fn fixture() -> Fixture {
    let config = PostgresConfig { writable: true, ..PostgresConfig::default() };
    Fixture::with(include_str!("../data/objects.postgres.sql"), config)
}

#[test]
#[ignore = "needs PostgreSQL"]
fn names_and_schemas() {
    let fixture = fixture();
    let rows = |name: &str| ("query_records", json!({"table_name": name, "limit": 1}));
    fixture.look(
        r#"CREATE SCHEMA "d.s"; CREATE TABLE "x.y" (c integer); CREATE TABLE "d.s".t (e integer);
           CREATE TABLE "d.s"."T" (f integer); GRANT USAGE ON SCHEMA "d.s" TO app;
           CREATE TABLE "sales.orders" (g integer); CREATE TABLE "we""ird" (h integer);
           CREATE TABLE """sales"".""orders""" (i integer); CREATE TABLE sales."Mixed Case" (j integer);
           GRANT SELECT ON "x.y", "d.s".t, "d.s"."T", "sales.orders", "we""ird", """sales"".""orders""",
           sales."Mixed Case" TO app"#,
    );
    let unknown =
        |candidates: Value| vec![("/kind", json!("unknown_table")), ("/candidates", candidates)];
    let columns = |first: &str| vec![("/columns/0/name", json!(first))];
    for ((operation, arguments), expected) in [
        (rows("orders"), unknown(json!(["archive.orders", "sales.orders"]))),
        (rows("archive.orders"), columns("id")),
        (rows("ARCHIVE.Orders"), columns("id")),
        (rows("sales.orders"), columns("id")),
        (rows(r#""sales"."orders""#), columns("id")),
        (rows(r#"sales."orders""#), columns("id")),
        (rows(r#""SALES".ORDERS"#), columns("id")),
        (rows(r#""sales.orders""#), columns("g")),
        (rows(r#"public."sales.orders""#), columns("g")),
        (rows("public.sales.orders"), columns("g")),
        (rows(r#""we""ird""#), columns("h")),
        (rows(r#"we"ird"#), columns("h")),
        (rows(r#""""sales"".""orders""""#), columns("i")),
        (rows("sales.mixed case"), columns("j")),
        (rows(r#""sales"."Mixed Case""#), columns("j")),
        (rows(r#""sales"."none""#), vec![("/kind", json!("unknown_table"))]),
        (rows(r#""sales"."orders"#), vec![("/kind", json!("unknown_table"))]),
        (rows(r#"sales..orders"#), vec![("/kind", json!("unknown_table"))]),
        (rows("public.item"), columns("id")),
        (rows("item"), columns("id")),
        (rows("Item"), columns("id")),
        (rows("ITEM"), unknown(json!(["Item", "item"]))),
        (rows("invoice"), unknown(json!(["archive.invoice"]))),
        (rows("pg_catalog.pg_class"), vec![("/kind", json!("unknown_table"))]),
        (rows("dotted"), columns("a.b")),
        (rows("x.y"), columns("c")),
        (rows("public.x.y"), columns("c")),
        (rows("d.s.t"), columns("e")),
        (rows("d.s.T"), columns("f")),
        (rows("D.S.T"), vec![("/kind", json!("unknown_table"))]),
        (("query_records", json!({"table_name": "dotted", "filters": {"a.b": 1}})), columns("a.b")),
        (
            ("query_records", json!({"table_name": "item", "filters": {"NAME": "b"}})),
            vec![("/rows", json!([[2, "b"]]))],
        ),
        (
            ("query_records", json!({"table_name": "item", "filters": {"nam": "b"}})),
            vec![("/kind", json!("unknown_column")), ("/candidates", json!(["Name"]))],
        ),
        (
            (
                "create_table",
                json!({"table_name": "archive.new", "schema": {"id": "INTEGER PRIMARY KEY"}}),
            ),
            vec![("/table", json!("archive.new")), ("/created", json!(true))],
        ),
        (
            ("describe_table", json!({"table_name": "archive.new"})),
            vec![("/name", json!("archive.new"))],
        ),
        (
            ("create_table", json!({"table_name": "ARCHIVE.NEW", "schema": {"id": "INTEGER"}})),
            vec![("/kind", json!("table_exists"))],
        ),
        (
            (
                "create_table",
                json!({"table_name": r#""archive"."a.b""#, "schema": {"id": "INTEGER"}}),
            ),
            vec![("/table", json!(r#"archive."a.b""#)), ("/created", json!(true))],
        ),
        (
            ("describe_table", json!({"table_name": r#"archive."a.b""#})),
            vec![("/name", json!(r#"archive."a.b""#))],
        ),
        (
            ("create_table", json!({"table_name": "no.schema", "schema": {"id": "INTEGER"}})),
            vec![("/table", json!(r#""no.schema""#)), ("/created", json!(true))],
        ),
        (
            ("list_tables", json!({"pattern": "%orders%"})),
            vec![
                ("/tables/0/name", json!(r#""""sales"".""orders""""#)),
                ("/tables/1/name", json!(r#""sales.orders""#)),
                ("/tables/2/name", json!("archive.orders")),
                ("/tables/3/name", json!("sales.orders")),
            ],
        ),
    ] {
        check(&fixture, operation, arguments, &expected);
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn lists_and_descriptions() {
    let fixture = fixture();
    let list = fixture::call(&fixture.database, "list_tables", json!({}));
    let list = fixture.runtime.block_on(list).unwrap();
    let tables: Vec<(&str, &str)> = list["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| (table["name"].as_str().unwrap(), table["kind"].as_str().unwrap()))
        .collect();
    let expected = [
        ("Item", "table"),
        ("archive.invoice", "table"),
        ("archive.orders", "table"),
        ("dotted", "table"),
        ("item", "table"),
        ("log", "partitioned"),
        ("names", "view"),
        ("sales.orders", "table"),
        ("summary", "view"),
        ("totals", "materialized_view"),
    ];
    assert_eq!(tables, expected);
    for (arguments, expected) in [
        (
            json!({"table_name": "totals"}),
            vec![
                ("/kind", json!("materialized_view")),
                ("/description", json!("Entries by year")),
                ("/indexes/0/unique", json!(true)),
            ],
        ),
        (
            json!({"table_name": "log"}),
            vec![("/kind", json!("partitioned")), ("/primary_key", json!(["at", "n"]))],
        ),
        (json!({"table_name": "log_2024"}), vec![("/kind", json!("table"))]),
        (
            json!({"table_name": "names"}),
            vec![("/kind", json!("view")), ("/triggers/0/name", json!("names_insert"))],
        ),
        (
            json!({"table_name": "archive.invoice"}),
            vec![("/columns/0/generated", json!("identity"))],
        ),
    ] {
        check(&fixture, "describe_table", arguments, &expected);
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn comments_identity_and_generated_columns() {
    let fixture = fixture();
    check(
        &fixture,
        "describe_table",
        json!({"table_name": "sales.orders"}),
        &[
            ("/description", json!("Orders of customers")),
            ("/columns/0/generated", json!("identity_always")),
            ("/columns/1/description", json!("Euro, with tax")),
            ("/columns/1/type", json!("numeric(10,2)")),
            ("/columns/2/generated", json!("stored")),
        ],
    );
    let orders =
        |data: Value| json!({"table_name": "sales.orders", "data": data, "returning": "*"});
    for (arguments, expected) in [
        (
            orders(json!({"total": "1.50"})),
            vec![("/rows_affected", json!(1)), ("/rows/rows", json!([[1, "1.50", "3.00"]]))],
        ),
        (
            orders(json!({"total": 12.5})),
            vec![("/id", json!(2)), ("/rows/rows/0/1", json!("12.50"))],
        ),
        (
            orders(json!({"id": 7, "total": 1})),
            vec![("/kind", json!("sql")), ("/table", json!("sales.orders"))],
        ),
        (orders(json!({"total": 1, "doubled": 2})), vec![("/kind", json!("sql"))]),
        (orders(json!({"total": "x"})), vec![("/kind", json!("bad_column"))]),
        (
            orders(json!({"total": null})),
            vec![("/kind", json!("constraint")), ("/column", json!("total"))],
        ),
        (json!({"table_name": "archive.invoice", "data": {"id": 40}}), vec![("/id", json!(40))]),
        (json!({"table_name": "archive.invoice", "data": {"note": "x"}}), vec![("/id", json!(1))]),
    ] {
        check(&fixture, "insert_record", arguments, &expected);
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn partitions_and_views() {
    let fixture = fixture();
    let count = |table: &str, rows: u64| {
        (
            "query_records",
            json!({"table_name": table, "limit": 100}),
            vec![("/row_count", json!(rows))],
        )
    };
    let move_row = json!({"table_name": "log", "filters": {"n": 0}, "data": {"at": "2025-06-01"}, "max_affected": 3});
    for (operation, arguments, expected) in [
        count("log", 6),
        count("log_2024", 2),
        (
            "query_records",
            json!({"table_name": "log", "limit": 2, "order_by": "n desc"}),
            vec![("/rows", json!([["2025-01-04", 5], ["2025-01-03", 4]]))],
        ),
        (
            "insert_record",
            json!({"table_name": "log", "data": {"at": "2024-05-05", "n": 9}}),
            vec![("/rows_affected", json!(1))],
        ),
        count("log_2024", 3),
        (
            "insert_record",
            json!({"table_name": "log", "data": {"at": "2030-05-05", "n": 9}}),
            vec![("/kind", json!("constraint"))],
        ),
        ("update_record", move_row, vec![("/rows_affected", json!(1))]),
        count("log_2024", 2),
        (
            "delete_record",
            json!({"table_name": "log", "filters": {"at": {"lt": "2025-01-01"}}}),
            vec![("/rows_affected", json!(2))],
        ),
        count("log_2024", 0),
        (
            "query_records",
            json!({"table_name": "totals", "order_by": "year"}),
            vec![("/rows", json!([[2024, 2], [2025, 4]]))],
        ),
        (
            "insert_record",
            json!({"table_name": "totals", "data": {"year": 1}}),
            vec![("/kind", json!("sql"))],
        ),
        (
            "insert_record",
            json!({"table_name": "names", "data": {"id": 9, "name": "eve"}}),
            vec![("/rows_affected", json!(1))],
        ),
        (
            "query_records",
            json!({"table_name": "names", "filters": {"id": 9}}),
            vec![("/rows", json!([[9, "EVE"]]))],
        ),
        (
            "insert_record",
            json!({"table_name": "summary", "data": {"count": 9}}),
            vec![("/kind", json!("sql"))],
        ),
        (
            "update_record",
            json!({"table_name": "summary", "filters": {"count": 9}, "data": {"count": 1}}),
            vec![("/kind", json!("sql"))],
        ),
    ] {
        check(&fixture, operation, arguments, &expected);
    }
    // Pages of a partitioned table.
    let first =
        fixture::call(&fixture.database, "query_records", json!({"table_name": "log", "limit": 3}));
    let first = fixture.runtime.block_on(first).unwrap();
    let next = json!({"table_name": "log", "limit": 3, "cursor": first["next_cursor"]});
    check(
        &fixture,
        "query_records",
        next,
        &[("/row_count", json!(2)), ("/next_cursor", Value::Null)],
    );
}

/// Errors of unknown names in SQL have similar names.
#[test]
#[ignore = "needs PostgreSQL"]
fn unknown_names_in_sql() {
    let fixture = fixture();
    for (sql, table, column, candidates) in [
        ("SELECT * FROM itm", json!("itm"), Value::Null, json!(["Item", "item"])),
        (
            "SELECT * FROM orders",
            json!("orders"),
            Value::Null,
            json!(["archive.orders", "sales.orders"]),
        ),
        (
            "SELECT * FROM archive.invoices",
            json!("archive.invoices"),
            Value::Null,
            json!(["archive.invoice", "archive.orders"]),
        ),
        ("SELECT * FROM public.totl", json!("public.totl"), Value::Null, json!(["totals"])),
        ("SELECT * FROM item AS i WHERE i.nam = 'x'", Value::Null, json!("nam"), json!(["Name"])),
        ("SELECT name FROM item", Value::Null, json!("name"), json!(["Name"])),
        ("SELECT yeer FROM totals", Value::Null, json!("yeer"), json!(["year"])),
        ("SELECT zzzzzzzz FROM item", Value::Null, json!("zzzzzzzz"), Value::Null),
        ("SELECT * FROM zzzzzzzz", json!("zzzzzzzz"), Value::Null, Value::Null),
        ("SELECT 1 +", Value::Null, Value::Null, Value::Null),
    ] {
        let error = fixture.raw(RawQuery::new(sql)).unwrap_err();
        let details = fixture::reply(error.details());
        let found =
            (&details["kind"], &details["table"], &details["column"], &details["candidates"]);
        assert_eq!(found, (&json!("sql"), &table, &column, &candidates), "{sql}: {error}");
        assert_eq!(
            error.to_string().contains("did you mean"),
            candidates.is_array(),
            "{sql}: {error}"
        );
        assert!(!error.to_string().contains("hint"), "{sql}: {error}");
    }
}
