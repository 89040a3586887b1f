//! SQL of callers under rules.

use trunkline_sql::VisibilityRules;
use trunkline_sql::sqlite::SqliteConfig;

use crate::checks;
use crate::fixture::Fixture;
use crate::visibility::fixture;

#[test]
fn sql_of_callers_is_restricted() {
    let fixture = fixture(false);
    let run = |operation: &str, arguments| fixture.call(operation, arguments);
    checks::check_all(&run, include_str!("../data/rules.sql.jsonl"));
}

#[test]
fn changes_by_sql_are_refused() {
    let fixture = fixture(true);
    let run = |operation: &str, arguments| fixture.call(operation, arguments);
    checks::check_changes(&run, WRITES);
}

#[test]
fn constraints_do_not_show_masked_values() {
    let rules = checks::COMPARED_MASKS.iter();
    let rules =
        rules.fold(VisibilityRules::default(), |rules, text| rules.mask(text.parse().unwrap()));
    let config = SqliteConfig { rules, writable: true, ..SqliteConfig::default() };
    let fixture = Fixture::of(checks::COMPARED, config);
    checks::check_compared(&|operation, arguments| fixture.call(operation, arguments));
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
    "CREATE TRIGGER t AFTER INSERT ON orders BEGIN UPDATE plain SET a = (SELECT amount FROM salary); END",
    "CREATE VIRTUAL TABLE x USING fts5(a, content = 'salary')",
];
