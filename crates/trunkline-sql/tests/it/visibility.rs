//! Hidden tables and masked columns: the structured operations.

use serde_json::{Value, json};
use trunkline_sql::sqlite::SqliteConfig;
use trunkline_sql::visibility::MaskKey;
use trunkline_sql::{Error, VisibilityRules};

use crate::fixture::{Fixture, kind};

pub(crate) fn rules() -> VisibilityRules {
    VisibilityRules::default()
        .deny("salary".parse().unwrap())
        .deny("salary_text".parse().unwrap())
        .mask("customer.email=hash".parse().unwrap())
        .mask("customer.phone=last4".parse().unwrap())
        .mask_key(MaskKey::new(b"key"))
}

pub(crate) fn fixture(writable: bool) -> Fixture {
    let config = SqliteConfig { rules: rules(), writable, ..SqliteConfig::default() };
    Fixture::of(include_str!("../data/visibility.sql"), config)
}

/// The text of a result or an error as a client receives it.
pub(crate) fn shown(outcome: &Result<Value, Error>) -> String {
    match outcome {
        Ok(value) => value.to_string(),
        Err(error) => format!("{error} {}", json!(error.details())),
    }
}

#[track_caller]
fn check(fixture: &Fixture, operation: &str, arguments: Value, expected: &str) {
    let outcome = fixture.call(operation, arguments.clone());
    let text = shown(&outcome);
    assert!(!text.contains("S3CRET"), "{operation} {arguments}: {text}");
    assert_eq!(kind(&outcome), expected, "{operation} {arguments}: {text}");
}

#[test]
fn hidden_tables_do_not_exist() {
    let fixture = fixture(true);
    for name in [
        "salary",
        "SALARY",
        "salary_text",
        "salary_text_content",
        "pay",
        "nested_pay",
        "contact",
        "names",
        "sqlite_schema",
        "sqlite_master",
        "sqlite_stat1",
    ] {
        for (operation, arguments) in [
            ("describe_table", json!({})),
            ("query_records", json!({})),
            ("insert_record", json!({ "data": { "id": 9 } })),
            ("update_record", json!({ "filters": { "id": 1 }, "data": { "id": 1 } })),
            ("delete_record", json!({ "filters": { "id": 1 } })),
        ] {
            let mut arguments = arguments;
            arguments["table_name"] = name.into();
            check(&fixture, operation, arguments, "unknown_table");
        }
    }
    let schema = json!({ "a": "TEXT" });
    for name in ["salary", "SALARY_text"] {
        check(
            &fixture,
            "create_table",
            json!({ "table_name": name, "schema": schema }),
            "bad_argument",
        );
    }
}

#[test]
fn lists_and_suggestions_omit_hidden_tables() {
    let fixture = fixture(false);
    let list = fixture.call("list_tables", json!({})).unwrap();
    let names: Vec<&str> = list["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["customer", "orders", "plain", "totals"]);
    for name in ["salery", "pays", "contac"] {
        let error = fixture.call("query_records", json!({ "table_name": name })).unwrap_err();
        assert_eq!(error.details().candidates, Vec::<String>::new(), "{error}");
    }
}

#[test]
fn descriptions_omit_hidden_tables() {
    let fixture = fixture(false);
    for (table, targets) in [("orders", json!(["customer"])), ("plain", json!([]))] {
        let found = fixture
            .call("describe_table", json!({ "table_name": table, "sample_rows": 5 }))
            .unwrap();
        let keys = found["foreign_keys"].as_array().unwrap().iter();
        let found_targets: Vec<_> = keys.map(|key| key["references_table"].clone()).collect();
        assert_eq!(json!(found_targets), targets);
        assert_eq!(found["triggers"], json!([]));
        let text = found.to_string().replace("salary_id", "");
        assert_eq!(text.contains("salary"), table == "plain", "{text}");
    }
    let customer = fixture.call("describe_table", json!({ "table_name": "customer" })).unwrap();
    let masks: Vec<_> =
        customer["columns"].as_array().unwrap().iter().map(|c| c["masked"].clone()).collect();
    assert_eq!(json!(masks), json!([null, null, "hash", "last4", "null"]));
}

#[test]
fn masked_values_are_replaced() {
    let fixture = fixture(true);
    let rows = fixture.call("query_records", json!({ "table_name": "customer" })).unwrap();
    let expected = json!([
        [1, "Ada", "2qF_HdWLl2P_E410kZRDvg", "****1815", null],
        [2, "Ben", "ys2l00sXJ5V1ebTOOJ2ZWw", null, null],
    ]);
    assert_eq!(rows["rows"], expected);
    let sample =
        fixture.call("describe_table", json!({ "table_name": "customer", "sample_rows": 2 }));
    assert_eq!(sample.unwrap()["sample"]["rows"], expected);
    let chosen = json!({ "table_name": "customer", "columns": ["phone", "id"], "limit": 1 });
    assert_eq!(fixture.call("query_records", chosen).unwrap()["rows"], json!([["****1815", 1]]));
    let data = json!({ "id": 3, "name": "Cyd", "phone": "+44 S3CRET" });
    let insert = json!({ "table_name": "customer", "data": data, "returning": true });
    assert_eq!(fixture.call("insert_record", insert).unwrap()["rows"]["rows"], json!([[3, "Cyd"]]));
    let update = json!({ "table_name": "customer", "filters": { "id": 3 }, "data": { "phone": "new-S3CRET", "email": null } });
    assert_eq!(fixture.call("update_record", update).unwrap()["rows_affected"], 1);
}

#[test]
fn masked_columns_are_not_compared() {
    let fixture = fixture(true);
    for (operation, arguments) in [
        ("query_records", json!({ "filters": { "email": "x" } })),
        ("query_records", json!({ "filters": { "EMAIL": { "like": "a%" } } })),
        ("query_records", json!({ "filters": { "shout": { "gt": "A" } } })),
        ("query_records", json!({ "order_by": "email" })),
        ("query_records", json!({ "order_by": "id, phone desc" })),
        ("query_records", json!({ "order_by": [{ "column": "email" }] })),
        ("query_records", json!({ "order_by": ["-phone"] })),
        ("update_record", json!({ "filters": { "email": "x" }, "data": { "name": "y" } })),
        ("delete_record", json!({ "filters": { "phone": { "is_null": true } } })),
        ("insert_record", json!({ "data": { "name": "x" }, "returning": ["email"] })),
        ("insert_record", json!({ "data": { "id": 9, "name": "x", "email": "ada" } })),
        (
            "update_record",
            json!({ "filters": { "id": 1 }, "data": { "email": "ada" }, "dry_run": true }),
        ),
        ("insert_record", json!({ "data": { "name": "x" }, "returning": "shout" })),
    ] {
        let mut arguments = arguments;
        arguments["table_name"] = "customer".into();
        check(&fixture, operation, arguments, "masked");
    }
}

#[test]
fn cursors_do_not_contain_masked_keys() {
    let rules = VisibilityRules::default().mask("customer.id".parse().unwrap());
    let config = SqliteConfig { rules, ..SqliteConfig::default() };
    let fixture = Fixture::of(include_str!("../data/visibility.sql"), config);
    let page = |cursor: Option<Value>| {
        let mut arguments =
            json!({ "table_name": "customer", "columns": ["id", "name"], "limit": 1 });
        if let Some(cursor) = cursor {
            arguments["cursor"] = cursor;
        }
        fixture.call("query_records", arguments).unwrap()
    };
    let first = page(None);
    assert_eq!(first["rows"], json!([[null, "Ada"]]));
    let second = page(Some(first["next_cursor"].clone()));
    assert_eq!(second["rows"], json!([[null, "Ben"]]));
}

#[test]
fn masked_keys_are_not_revealed() {
    let rules = VisibilityRules::default().mask("account.number".parse().unwrap());
    let config = SqliteConfig { rules, writable: true, ..SqliteConfig::default() };
    let script = "CREATE TABLE account (number INTEGER PRIMARY KEY, name TEXT);
                  INSERT INTO account VALUES (1000, 'a'), (5000, 'b');";
    let fixture = Fixture::of(script, config);
    let insert = json!({ "table_name": "account", "data": { "name": "c" }, "returning": true });
    let inserted = fixture.call("insert_record", insert).unwrap();
    assert_eq!(inserted["id"], Value::Null, "{inserted}");
    assert_eq!(inserted["rows"]["rows"], json!([["c"]]));
    let list = fixture.call("list_tables", json!({})).unwrap();
    assert_eq!(list["tables"][0]["row_estimate"], Value::Null, "{list}");
    for sql in [
        "SELECT rowid FROM account",
        "SELECT max(oid) FROM account",
        "SELECT name FROM account WHERE _rowid_ > 2000",
        "SELECT name FROM account ORDER BY rowid DESC",
    ] {
        check(&fixture, "execute_raw_query", json!({ "query": sql }), "masked");
    }
    for order in ["rowid", "number"] {
        let query = json!({ "table_name": "account", "order_by": order });
        assert!(fixture.call("query_records", query).is_err(), "{order}");
    }
}

#[test]
fn errors_of_changes_do_not_name_hidden_tables() {
    let script = "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT);
                  CREATE TABLE salary (id INTEGER PRIMARY KEY, amount TEXT NOT NULL UNIQUE);
                  CREATE TRIGGER changed AFTER UPDATE ON orders
                  BEGIN INSERT INTO salary (amount) VALUES (new.note); END;
                  CREATE TRIGGER added AFTER INSERT ON orders
                  BEGIN INSERT INTO salary (amount) VALUES ('x'); END;
                  INSERT INTO orders VALUES (1, 'a');";
    let rules = rules().allow_unmatched();
    let config = SqliteConfig { rules, writable: true, ..SqliteConfig::default() };
    let fixture = Fixture::of(script, config);
    for (operation, arguments) in [
        ("insert_record", json!({ "data": { "id": 2 } })),
        ("update_record", json!({ "filters": { "id": 1 }, "data": { "note": "x" } })),
        ("update_record", json!({ "filters": { "id": 1 }, "data": { "note": null } })),
        ("insert_record", json!({ "data": { "id": 1 } })),
    ] {
        let mut arguments = arguments;
        arguments["table_name"] = "orders".into();
        let outcome = fixture.call(operation, arguments.clone());
        assert_eq!(kind(&outcome), "constraint", "{operation} {arguments}: {outcome:?}");
        let text = shown(&outcome);
        assert!(!text.contains("salary"), "{operation} {arguments}: {text}");
    }
}

#[test]
fn definitions_of_existing_tables_omit_hidden_ones() {
    let fixture = fixture(true);
    let create =
        json!({ "table_name": "orders", "schema": { "a": "TEXT" }, "if_not_exists": true });
    let found = fixture.call("create_table", create).unwrap();
    assert_eq!((&found["created"], &found["ddl"]), (&json!(false), &Value::Null), "{found}");
}

#[test]
fn definitions_that_name_a_hidden_table_with_quotes_are_omitted() {
    let script = r#"CREATE TABLE "a""b" (id INTEGER PRIMARY KEY);
                    CREATE TABLE c (id INTEGER REFERENCES "a""b" (id));
                    CREATE TABLE d (id INTEGER);"#;
    let rules = VisibilityRules::default().deny("a\"b".parse().unwrap());
    let fixture = Fixture::of(script, SqliteConfig { rules, ..SqliteConfig::default() });
    for (table, is_shown) in [("c", false), ("d", true)] {
        let found = fixture.call("describe_table", json!({ "table_name": table })).unwrap();
        assert_eq!(found["ddl"].is_string(), is_shown, "{found}");
    }
}

#[test]
fn inspections_apply_the_rules() {
    let fixture = fixture(false);
    check(&fixture, "profile_table", json!({ "table_name": "salary" }), "unknown_table");
    check(&fixture, "explain_query", json!({ "query": "SELECT amount FROM salary" }), "sql");
    check(&fixture, "explain_query", json!({ "query": "SELECT email FROM customer" }), "masked");
    for term in ["salary", "pay", "contacts", "amount"] {
        let found = fixture.call("search_schema", json!({ "term": term })).unwrap();
        let tables: Vec<&Value> =
            found["matches"].as_array().unwrap().iter().map(|one| &one["table"]).collect();
        let is_visible = |table: &&Value| ["orders", "plain"].iter().any(|name| **table == *name);
        assert!(tables.iter().all(is_visible), "{term}: {found}");
    }
    let profile = fixture.call("profile_table", json!({ "table_name": "customer" })).unwrap();
    assert!(!profile.to_string().contains("S3CRET"), "{profile}");
    let phone = json!({
        "name": "phone", "type": "TEXT", "masked": "last4", "nulls": 1, "min": null, "max": null, "examples": [],
    });
    assert_eq!(profile["columns"][3], phone);
    let health = fixture.call("database_health", json!({})).unwrap();
    assert!(!health.to_string().contains("salary"), "{health}");
}
