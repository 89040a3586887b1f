//! `list_tables`.

use std::fmt::Write;

use serde_json::{Value, json};
use trunkline_sql::ListTables;

use crate::fixture::{Fixture, create, kind, reply, request};

fn run(fixture: &Fixture, arguments: Value) -> Result<Value, trunkline_sql::Error> {
    let call = fixture.database.list_tables(request(arguments));
    fixture.runtime.block_on(call).map(reply)
}

#[track_caller]
fn check(fixture: &Fixture, arguments: &Value, expected: &[&str]) {
    let list = run(fixture, arguments.clone()).unwrap();
    let tables = list["tables"].as_array().unwrap();
    let names: Vec<&str> = tables.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, expected, "{arguments}");
    assert!(list["next_cursor"].is_null());
}

#[test]
fn names() {
    let fixture = Fixture::new();
    for (arguments, expected) in [
        (
            json!({}),
            &[
                "boxes",
                "dept",
                "desc, order",
                "docs",
                "emp",
                "extremes",
                "old_docs",
                "pair",
                "rich",
                "we\"ird; DROP",
            ][..],
        ),
        (json!({"pattern": "D%"}), &["dept", "desc, order", "docs"]),
        (json!({"pattern": "emp"}), &["emp"]),
        (json!({"pattern": "' OR 1 --"}), &[]),
        (json!({"kind": "view"}), &["rich"]),
        (json!({"kind": "virtual"}), &["boxes", "docs", "old_docs"]),
        (json!({"kind": "table", "pattern": "%p%"}), &["dept", "emp", "pair", "we\"ird; DROP"]),
    ] {
        check(&fixture, &arguments, expected);
    }
    assert!(serde_json::from_value::<ListTables>(json!({"kind": "trigger"})).is_err());
}

#[test]
fn summaries() {
    let fixture = Fixture::new();
    let list = run(&fixture, json!({"pattern": "%"})).unwrap();
    let expected = [
        json!({"name": "emp", "kind": "table", "columns": 7, "row_estimate": 5}),
        json!({"name": "rich", "kind": "view", "columns": 2, "row_estimate": null}),
        json!({"name": "docs", "kind": "virtual", "columns": 2, "row_estimate": null}),
        json!({"name": "pair", "kind": "table", "columns": 3, "row_estimate": null}),
        json!({"name": "desc, order", "kind": "table", "columns": 2, "row_estimate": 0}),
    ];
    for table in expected {
        let tables = list["tables"].as_array().unwrap();
        assert!(tables.contains(&table), "{table}: {tables:#?}");
    }
    create(&fixture.path, "ANALYZE");
    let list = run(&fixture, json!({"pattern": "pair"})).unwrap();
    assert_eq!(list["tables"][0]["row_estimate"], 3, "analyzed");
}

#[test]
fn pages() {
    let fixture = Fixture::new();
    let mut sql = String::new();
    for number in 0..450 {
        write!(sql, "CREATE TABLE t{number:03}(a);").unwrap();
    }
    create(&fixture.path, &sql);
    let mut arguments = json!({"pattern": "t%"});
    let mut lengths = Vec::new();
    loop {
        let list = run(&fixture, arguments.clone()).unwrap();
        let tables = list["tables"].as_array().unwrap();
        assert_eq!(tables[0]["name"], format!("t{:03}", lengths.iter().sum::<usize>()));
        lengths.push(tables.len());
        if list["next_cursor"].is_null() {
            break;
        }
        arguments["cursor"] = list["next_cursor"].clone();
    }
    assert_eq!(lengths, [200, 200, 50]);

    arguments["pattern"] = json!("%");
    assert_eq!(kind(&run(&fixture, arguments)), "bad_cursor");
    assert_eq!(kind(&run(&fixture, json!({"cursor": "nonsense"}))), "bad_cursor");
}

#[test]
fn a_table_that_cannot_be_opened_is_listed() {
    let fixture = Fixture::new();
    create(
        &fixture.path,
        "PRAGMA writable_schema = ON; \
         INSERT INTO sqlite_schema VALUES \
         ('table', 'alien', 'alien', 0, 'CREATE VIRTUAL TABLE alien USING not_compiled_in(a)'); \
         INSERT INTO sqlite_schema VALUES \
         ('view', 'blind', 'blind', 0, 'CREATE VIEW blind AS SELECT * FROM missing')",
    );
    for (name, kind) in [("alien", "virtual"), ("blind", "view")] {
        let list = run(&fixture, json!({"pattern": name})).unwrap();
        let expected = json!([{"name": name, "kind": kind, "columns": null, "row_estimate": null}]);
        assert_eq!(list["tables"], expected);
    }
    let list = run(&fixture, json!({"kind": "virtual"})).unwrap();
    assert_eq!(list["tables"].as_array().unwrap().len(), 4);
}

#[test]
fn a_column_named_rowid_is_no_row_number() {
    let fixture = Fixture::new();
    for (definition, expected) in [
        ("(rowid TEXT)", json!(3)),
        ("(\"ROWID\", v AS (rowid))", json!(3)),
        ("(rowid, _rowid_)", json!(3)),
        ("(rowid, _rowid_, oid)", json!(null)),
        ("(rowid PRIMARY KEY) WITHOUT ROWID", json!(null)),
    ] {
        create(
            &fixture.path,
            &format!(
                "DROP TABLE IF EXISTS hidden; CREATE TABLE hidden {definition}; \
                 INSERT INTO hidden (rowid) VALUES ('x'), ('y'), ('z')"
            ),
        );
        let list = run(&fixture, json!({"pattern": "hidden"})).unwrap();
        assert_eq!(list["tables"][0]["row_estimate"], expected, "{definition}");
    }
}
