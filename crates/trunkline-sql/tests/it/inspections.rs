//! The operations of the full toolset on SQLite, and the toolsets.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};

use serde_json::{Value, json};
use trunkline::Router;
use trunkline::tool::is_listed;
use trunkline_sql::sqlite::SqliteConfig;
use trunkline_sql::{Databases, Toolset, operations};

use crate::fixture::{Fixture, call, create, open};

#[test]
fn a_plan_is_a_tree() {
    let fixture = Fixture::new();
    let plan = |sql: &str, params: Value| {
        fixture.call("explain_query", json!({"query": sql, "params": params})).unwrap()
    };
    for (sql, params, expected) in [
        (
            "SELECT * FROM emp WHERE id = ?",
            json!([1]),
            json!([{"detail": "SEARCH emp USING INTEGER PRIMARY KEY (rowid=?)"}]),
        ),
        (
            "SELECT name FROM emp WHERE dept_no = :no UNION SELECT title FROM dept",
            json!({"no": 1}),
            json!([{"detail": "MERGE (UNION)", "steps": [
                {"detail": "LEFT", "steps": [{"detail": "SCAN emp USING INDEX emp_name"}]},
                {"detail": "RIGHT", "steps": [
                    {"detail": "SCAN dept"}, {"detail": "USE TEMP B-TREE FOR ORDER BY"},
                ]},
            ]}]),
        ),
        // Not run, though it does not end.
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
            Value::Null,
            json!([
                {"detail": "CO-ROUTINE n", "steps": [
                    {"detail": "SETUP", "steps": [{"detail": "SCAN CONSTANT ROW"}]},
                    {"detail": "RECURSIVE STEP", "steps": [{"detail": "SCAN n"}]},
                ]},
                {"detail": "SCAN n"},
            ]),
        ),
    ] {
        assert_eq!(plan(sql, params)["steps"], expected, "{sql}");
    }
}

#[test]
fn profiles_have_bounded_values() {
    let fixture = Fixture::new();
    create(
        &fixture.path,
        "CREATE TABLE big (t TEXT, b BLOB);
         INSERT INTO big SELECT printf('%.*c', 1000, 'x'), zeroblob(5000)
         FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000) SELECT i FROM n)",
    );
    let profile = fixture.call("profile_table", json!({"table_name": "big"})).unwrap();
    let text = &profile["columns"][0];
    assert_eq!(text["distinct"], 1);
    assert_eq!(text["min"].as_str().unwrap().chars().count(), 201);
    // 50 MB are not compared.
    let blob = json!({
        "name": "b", "type": "BLOB", "nulls": 0, "min": "BLOB of 5000 bytes", "max": "BLOB of 5000 bytes",
        "examples": vec![json!({"value": "BLOB of 5000 bytes"}); 3],
    });
    assert_eq!(profile["columns"][1], blob);
    let mixed = fixture.call("profile_table", json!({"table_name": "extremes"})).unwrap();
    assert_eq!(mixed["columns"][0]["nulls"], 1);
    assert_eq!(mixed["columns"][0]["distinct"], 8);
}

#[test]
fn health_of_a_file() {
    let fixture = Fixture::new();
    let health = || fixture.call("database_health", json!({})).unwrap();
    let sound = health();
    assert_eq!(sound["engine"], "SQLite");
    assert_eq!(sound["sqlite"]["quick_check"], "ok");
    assert_eq!(sound["size_bytes"], fixture.path.metadata().unwrap().len());
    // Callers still must not run the check.
    assert!(fixture.sql("PRAGMA quick_check").is_err());
    assert!(fixture.sql("SELECT 1").is_ok());

    // A page is overwritten.
    let mut file = OpenOptions::new().write(true).open(&fixture.path).unwrap();
    file.seek(SeekFrom::Start(8 * 4096)).unwrap();
    file.write_all(&[0xa5; 4096]).unwrap();
    // The first database may have the pages in its cache.
    let broken = open(&fixture.path, SqliteConfig::default()).unwrap();
    let broken = fixture.runtime.block_on(call(&broken, "database_health", json!({}))).unwrap();
    assert_eq!(broken["sqlite"]["quick_check"], "failed", "{broken}");
    assert_eq!(broken["problems"][0]["kind"], "corrupt");
}

#[test]
fn toolsets_decide_what_is_listed() {
    let fixture = Fixture::new();
    const FULL: [&str; 4] = ["search_schema", "explain_query", "profile_table", "database_health"];
    for (toolset, expected) in [(Toolset::Core, false), (Toolset::Full, true)] {
        let databases = Databases::from(fixture.database.clone()).with_toolset(toolset);
        let rpc = Router::<()>::new().nest("db", operations(databases)).build().unwrap();
        for name in FULL {
            let operations = rpc.operations();
            let found = operations.iter().find(|one| one.name() == format!("db.{name}")).unwrap();
            assert_eq!(is_listed(found.description()), expected, "{name}");
            assert!(found.description().effect == Some(trunkline::Effect::ReadOnly), "{name}");
        }
        let found: Value = fixture
            .runtime
            .block_on(rpc.call("db.search_schema", &json!({"term": "emp"})))
            .unwrap();
        assert_eq!(found["matches"][0]["table"], "emp");
    }
}
