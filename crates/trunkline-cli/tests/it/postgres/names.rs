//! Tables with odd names, by their listed names.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trunkline_test_postgres::{create_database, url_of};

use super::start;
use crate::support::{post, run, trunkline};

/// Each table contains its own number.
const CONTENT: &str = r#"
    CREATE SCHEMA sales; CREATE SCHEMA "s.t"; GRANT USAGE ON SCHEMA sales, "s.t" TO reader;
    CREATE TABLE plain AS SELECT 1 AS number;
    CREATE TABLE sales.plain AS SELECT 2 AS number;
    CREATE TABLE sales.orders AS SELECT 3 AS number;
    CREATE TABLE "sales.orders" AS SELECT 4 AS number;
    CREATE TABLE """sales"".""orders""" AS SELECT 5 AS number;
    CREATE TABLE "s.t".u AS SELECT 6 AS number;
    CREATE TABLE "s.t.u" AS SELECT 7 AS number;
    CREATE TABLE "we""ird" AS SELECT 8 AS number;
    CREATE TABLE "Käse 1/2?#%[x]" AS SELECT 9 AS number;
    CREATE TABLE "back\slash'" AS SELECT 10 AS number;
    GRANT SELECT ON ALL TABLES IN SCHEMA public, sales, "s.t" TO reader;"#;

#[test]
#[ignore = "needs PostgreSQL"]
fn listed_names_reach_their_tables() {
    let database = create_database(CONTENT);
    let url = url_of("reader", &database);
    let (server, folder) = start(&["--db", &url], "");
    let listed = server.call("db.list_tables", &json!({}));
    let names = |value: &Value, member: &str| -> Vec<String> {
        let values = value.as_array().unwrap();
        values.iter().map(|one| one[member].as_str().unwrap().to_owned()).collect()
    };
    let mut found = BTreeSet::new();
    for name in names(&listed["result"]["tables"], "name") {
        let rows = server.call("db.query_records", &json!({ "table_name": name }));
        let number =
            rows["result"]["rows"][0][0].as_i64().unwrap_or_else(|| panic!("{name}: {rows}"));
        found.insert(number);
        let described = server.call("db.describe_table", &json!({ "table_name": name }));
        assert_eq!(described["result"]["name"], name.as_str(), "{described}");
        let exported =
            run(trunkline(folder.path()).args(["export", "--db", &url, "--table", &name]));
        assert_eq!(exported.stdout, format!("number\n{number}\n"), "{name}: {}", exported.stderr);
    }
    assert_eq!(found, (1..=10).collect());
    let ask = |method: &str, params: Value| {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        server.connect().ask(&post("/mcp", &["Accept: application/json"], &request)).json()
    };
    let resources = ask("resources/list", json!({}));
    let uris = names(&resources["result"]["resources"], "uri");
    let tables: BTreeSet<&String> = uris.iter().filter(|uri| uri.contains("/table/")).collect();
    assert_eq!(tables.len(), 10, "{uris:?}");
    for uri in tables {
        let read = ask("resources/read", json!({ "uri": uri }));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("number"), "{uri}: {read}");
    }
}
