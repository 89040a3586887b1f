//! Several databases in one service.

use serde_json::{Value, json};
use trunkline::{ErrorObject, Router, Rpc};
use trunkline_sql::sqlite::SqliteConfig;
use trunkline_sql::{Databases, DatabasesError, operations, separate_operations};

use crate::fixture::{Fixture, create, open, runtime};

/// `hr` has the employees and is read-only; `shop` has one table `item` and is writable.
struct Several {
    _hr: Fixture,
    _folder: tempfile::TempDir,
    databases: Databases,
}

impl Several {
    fn new() -> Self {
        let hr = Fixture::new();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        create(&path, "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)");
        let config = SqliteConfig { writable: true, ..SqliteConfig::default() };
        let shop = open(&path, config).unwrap();
        let databases = [("hr", hr.database.clone()), ("shop", shop)]
            .map(|(name, database)| (name.parse().unwrap(), database));
        Self { databases: Databases::new(databases).unwrap(), _hr: hr, _folder: folder }
    }
}

#[track_caller]
fn check(rpc: &Rpc, method: &str, params: &Value, pointer: &str, expected: &Value) {
    let outcome: Result<Value, ErrorObject> = runtime().block_on(rpc.call(method, params));
    let actual = match &outcome {
        Ok(result) => result.pointer(pointer).cloned(),
        Err(error) => {
            let error = json!({ "code": error.code(), "data": error.data() });
            error.pointer(pointer).cloned()
        }
    };
    assert_eq!(actual.as_ref(), Some(expected), "{method} {params}: {outcome:?}");
}

#[test]
fn an_argument_selects_the_database() {
    let several = Several::new();
    let rpc = Router::new().nest("db", operations(several.databases.clone())).build().unwrap();
    let unknown = "argument `database`: unknown database `x`; the databases are `hr`, `shop`";
    for (method, params, pointer, expected) in [
        ("db.query_records", json!({"table_name": "emp", "limit": 1}), "/row_count", json!(1)),
        ("db.list_tables", json!({"database": "shop"}), "/tables/0/name", json!("item")),
        ("db.list_tables", json!({"database": "SHOP"}), "/tables/0/name", json!("item")),
        (
            "db.list_tables",
            json!({"database": null, "pattern": "emp"}),
            "/tables/0/name",
            json!("emp"),
        ),
        ("db.describe_table", json!(["emp"]), "/name", json!("emp")),
        (
            "db.describe_table",
            json!({"table_name": "emp", "database": "shop"}),
            "/data/kind",
            json!("unknown_table"),
        ),
        (
            "db.insert_record",
            json!({"database": "shop", "table_name": "item", "data": {"name": "a"}}),
            "/rows_affected",
            json!(1),
        ),
        (
            "db.insert_record",
            json!({"table_name": "emp", "data": {}}),
            "/data/kind",
            json!("read_only"),
        ),
        (
            "db.execute_raw_query",
            json!({"query": "SELECT name FROM item", "database": "shop"}),
            "/rows/0/0",
            json!("a"),
        ),
        ("db.list_tables", json!({"database": "x"}), "/code", json!(-32602)),
        ("db.list_tables", json!({"database": "x"}), "/data/reason", json!(unknown)),
        ("db.list_tables", json!({"database": 1}), "/code", json!(-32602)),
        ("db.list_tables", json!({"databse": "hr"}), "/code", json!(-32602)),
        ("db.list_databases", json!({}), "/databases/1/name", json!("shop")),
        ("db.list_databases", json!({}), "/databases/1/writable", json!(true)),
    ] {
        check(&rpc, method, &params, pointer, &expected);
    }
    let operations = rpc.operations();
    let list = operations.iter().find(|operation| operation.name() == "db.list_tables").unwrap();
    let schema = list.description().input.as_ref().unwrap().as_value();
    assert_eq!(schema["properties"]["database"]["enum"], json!(["hr", "shop"]));
}

#[test]
fn separate_databases_have_their_own_operations() {
    let several = Several::new();
    let rpc = Router::new().merge(separate_operations(&several.databases)).build().unwrap();
    for (method, params, pointer, expected) in [
        ("hr.describe_table", json!(["emp"]), "/name", json!("emp")),
        ("shop.list_tables", json!({}), "/tables/0/name", json!("item")),
        ("shop.list_tables", json!({"database": "hr"}), "/code", json!(-32602)),
        ("db.list_tables", json!({}), "/code", json!(-32601)),
    ] {
        check(&rpc, method, &params, pointer, &expected);
    }
}

#[test]
fn names() {
    let database = Fixture::new().database;
    let named = |names: &[&str]| {
        let entries = names.iter().map(|name| (name.parse().unwrap(), database.clone()));
        Databases::new(entries)
    };
    assert!(matches!(named(&[]), Err(DatabasesError::Empty)));
    assert!(matches!(named(&["a", "A"]), Err(DatabasesError::Duplicate(_))));
    for (name, is_valid) in [
        ("main", true),
        ("a-1_B", true),
        ("", false),
        ("1a", false),
        ("a.b", false),
        ("é", false),
        (&"a".repeat(32), true),
        (&"a".repeat(33), false),
    ] {
        assert_eq!(name.parse::<trunkline_sql::DatabaseName>().is_ok(), is_valid, "{name}");
    }
}
