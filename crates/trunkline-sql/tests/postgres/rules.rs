//! SQL of callers under rules.

use serde_json::Value;
use trunkline_sql::Error;

use crate::checks;
use crate::fixture::{Fixture, call};
use crate::visibility::fixture;

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
