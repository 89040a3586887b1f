//! `list_tables`.

use std::fmt::Write;

use serde_json::{Value, json};
use trunkline_sql::ListTables;

use crate::fixture::{Fixture, create, kind, never, reply, request};

fn run(fixture: &Fixture, arguments: Value) -> Result<Value, trunkline_sql::Error> {
    let never = never();
    let call = fixture.database.list_tables(request(arguments), &never);
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
