//! SQL of callers under rules.

use serde_json::{Value, json};
use trunkline_sql::postgres::PostgresConfig;
use trunkline_sql::{Error, VisibilityRules};

use crate::checks;
use crate::fixture::{Fixture, call, kind};
use crate::visibility::{fixture, shown};

fn run(fixture: &Fixture, operation: &str, arguments: Value) -> Result<Value, Error> {
    fixture.runtime.block_on(call(&fixture.database, operation, arguments))
}

#[test]
#[ignore = "needs PostgreSQL"]
fn sql_of_callers_is_restricted() {
    let fixture = fixture(false);
    let run = |operation: &str, arguments| run(&fixture, operation, arguments);
    checks::check_all(&run, include_str!("../data/rules.postgres.jsonl"));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn changes_by_sql_are_refused() {
    let fixture = fixture(true);
    let run = |operation: &str, arguments| run(&fixture, operation, arguments);
    checks::check_changes(&run, WRITES);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn calls_are_refused_while_a_rule_matches_nothing() {
    const SCRIPT: &str = "\
        CREATE TABLE customer (id int PRIMARY KEY, email text); CREATE TABLE salary (id int PRIMARY KEY); \
        CREATE TABLE plain (id int PRIMARY KEY, a text);";
    let rules = VisibilityRules::default().mask("customer.email".parse().unwrap());
    let rules = rules.deny("public.salary".parse().unwrap());
    let config = PostgresConfig { rules, writable: true, ..PostgresConfig::default() };
    let fixture = Fixture::with(SCRIPT, config);
    let run = |operation: &str, arguments| run(&fixture, operation, arguments);
    checks::check_renamed(&run, &|sql| drop(fixture.look(sql)));
}

fn masked(script: &str, masks: &[&str]) -> Fixture {
    let rules = masks.iter();
    let rules =
        rules.fold(VisibilityRules::default(), |rules, text| rules.mask(text.parse().unwrap()));
    Fixture::with(script, PostgresConfig { rules, writable: true, ..PostgresConfig::default() })
}

#[test]
#[ignore = "needs PostgreSQL"]
fn constraints_do_not_show_masked_values() {
    let fixture = masked(checks::COMPARED, &checks::COMPARED_MASKS);
    checks::check_compared(&|operation, arguments| run(&fixture, operation, arguments));
}

/// Constraints that only PostgreSQL has, of a table with the columns `id`, `a` and `secret`.
#[test]
#[ignore = "needs PostgreSQL"]
fn further_constraints_do_not_show_masked_values() {
    for (definition, expected) in [
        ("CREATE TABLE t (id int, a int, secret int)", "ok"),
        ("CREATE TABLE t (id int, a int, secret int, CHECK (a > 0 AND id > 0))", "ok"),
        ("CREATE TABLE t (id int, a int, secret int, CHECK (t IS NOT NULL))", "bad_column"),
        (
            "CREATE TABLE t (id int, a int, secret int, EXCLUDE USING gist (int4range(a, secret) WITH &&))",
            "bad_column",
        ),
        ("CREATE TABLE t (id int, a int, secret int, UNIQUE (a) INCLUDE (secret))", "ok"),
        (
            "CREATE TABLE t (id int, a int, secret int) PARTITION BY RANGE ((secret - a)); \
          CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (9)",
            "bad_column",
        ),
        (
            "CREATE TABLE t (id int, a int, secret int) PARTITION BY LIST (id); \
          CREATE TABLE t1 PARTITION OF t (CHECK (secret > a)) FOR VALUES IN (1)",
            "bad_column",
        ),
        (
            "CREATE TABLE t (id int, a int, secret int); \
          CREATE POLICY p ON t USING (true) WITH CHECK (secret > a); ALTER TABLE t ENABLE ROW LEVEL SECURITY",
            "bad_column",
        ),
    ] {
        let fixture = masked(&format!("{definition};"), &["t.secret"]);
        let update = json!({ "table_name": "t", "filters": { "id": 1 }, "data": { "a": 5 } });
        let outcome = run(&fixture, "update_record", update);
        assert_eq!(kind(&outcome), expected, "{definition}: {}", shown(&outcome));
    }
}

const WRITES: &[&str] = &[
    "INSERT INTO orders (id, total) VALUES (9, 1)",
    "UPDATE orders SET note = (SELECT max(amount) FROM salary)",
    "DELETE FROM salary",
    "UPDATE customer SET name = email RETURNING name",
    "INSERT INTO customer (id, name, email) VALUES (9, 'x', 'a') ON CONFLICT (email) DO NOTHING",
    "CREATE VIEW v AS SELECT * FROM salary",
    "CREATE TABLE t AS SELECT * FROM salary",
    "ALTER TABLE salary RENAME TO wages",
    "ALTER TABLE customer RENAME COLUMN email TO mail",
    "CREATE UNIQUE INDEX i ON customer (phone)",
    "DROP TABLE salary",
    "SELECT name FROM customer",
    "MERGE INTO orders USING salary ON false WHEN NOT MATCHED THEN INSERT (id) VALUES (9)",
    "CREATE MATERIALIZED VIEW v AS SELECT * FROM salary",
];
