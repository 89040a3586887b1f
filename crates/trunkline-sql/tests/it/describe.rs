//! `describe_table`.

use serde_json::{Value, json};
use trunkline_sql::Error;

use crate::fixture::{Fixture, kind, reply, request};

fn run(fixture: &Fixture, arguments: Value) -> Result<Value, Error> {
    let call = fixture.database.describe_table(request(arguments));
    fixture.runtime.block_on(call).map(reply)
}

#[test]
fn a_table_with_all_features() {
    let fixture = Fixture::new();
    let mut table = run(&fixture, json!({"table_name": "Emp"})).unwrap();
    assert!(table["ddl"].take().as_str().unwrap().starts_with("CREATE TABLE emp"));
    let index_ddl = "CREATE INDEX emp_rich ON emp (lower(city), salary) WHERE salary > 5000";
    assert_eq!(
        table,
        json!({
            "name": "emp",
            "kind": "table",
            "columns": [
                {"name": "id", "type": "INTEGER", "nullable": false, "default": null},
                {"name": "name", "type": "TEXT", "nullable": false, "default": null},
                {"name": "salary", "type": "REAL", "nullable": true, "default": "1000.0"},
                {"name": "city", "type": "VARCHAR(20)", "nullable": true, "default": null},
                {"name": "dept_no", "type": "INTEGER", "nullable": true, "default": null},
                {"name": "delete", "type": "TEXT", "nullable": true, "default": null},
                {"name": "initial", "type": "TEXT", "nullable": true, "default": null, "generated": "virtual"},
            ],
            "primary_key": ["id"],
            "foreign_keys": [{
                "columns": ["dept_no"],
                "references_table": "dept",
                "references_columns": ["dept_no"],
                "on_update": "NO ACTION",
                "on_delete": "CASCADE",
            }],
            "indexes": [
                {"name": "emp_name", "unique": true, "partial": false, "columns": ["name"],
                 "ddl": "CREATE UNIQUE INDEX emp_name ON emp (name)"},
                {"name": "emp_rich", "unique": false, "partial": true, "columns": [null, "salary"],
                 "ddl": index_ddl},
            ],
            "triggers": [{
                "name": "emp_touched",
                "ddl": "CREATE TRIGGER emp_touched AFTER UPDATE ON emp BEGIN SELECT 1; END",
            }],
            "ddl": null,
        })
    );
}

#[test]
fn other_kinds_of_tables() {
    let fixture = Fixture::new();
    for (name, kind, columns, primary_key) in [
        ("rich", "view", json!(["id", "name"]), json!([])),
        ("pair", "table", json!(["a", "b", "c"]), json!(["b", "a"])),
        ("docs", "virtual", json!(["title", "body"]), json!([])),
        ("we\"ird; DROP", "table", json!(["a b", "x\"y"]), json!([])),
        ("extremes", "table", json!(["v"]), json!([])),
    ] {
        let table = run(&fixture, json!({"table_name": name})).unwrap();
        assert_eq!(table["kind"], kind, "{name}");
        assert_eq!(table["primary_key"], primary_key, "{name}");
        let names = table["columns"].as_array().unwrap().iter();
        let names: Vec<Value> = names.map(|column| column["name"].clone()).collect();
        assert_eq!(Value::from(names), columns, "{name}");
    }
}

#[test]
fn samples() {
    let fixture = Fixture::new();
    for (rows, expected) in
        [(json!(0), None), (json!(null), None), (json!(2), Some(2)), (json!(5), Some(5))]
    {
        let arguments = json!({"table_name": "emp", "sample_rows": rows});
        let table = run(&fixture, arguments).unwrap();
        assert_eq!(table["sample"]["row_count"].as_u64(), expected, "{rows}");
    }
    let too_many = run(&fixture, json!({"table_name": "emp", "sample_rows": 6}));
    assert_eq!(kind(&too_many), "bad_argument");
}

#[test]
fn a_sample_ends_before_a_large_row() {
    let fixture = Fixture::new();
    crate::fixture::create(
        &fixture.path,
        "CREATE TABLE large (body BLOB); INSERT INTO large VALUES (zeroblob(1200000)), ('b')",
    );
    let table = run(&fixture, json!({"table_name": "large", "sample_rows": 2})).unwrap();
    let sample = &table["sample"];
    assert_eq!((&sample["rows"], &sample["truncated_by"]), (&json!([]), &json!("bytes")));
}
