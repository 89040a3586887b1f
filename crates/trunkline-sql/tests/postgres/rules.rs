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

/// Errors name tables as the caller did, and what to write instead.
#[test]
#[ignore = "needs PostgreSQL"]
fn errors_of_tables_with_masked_columns() {
    const SCRIPT: &str = "\
        CREATE SCHEMA hr; CREATE SCHEMA \"a.b\"; \
        CREATE TABLE t (id int, secret text); CREATE TABLE hr.t (id int, secret text); \
        CREATE TABLE \"a.b\".t (id int, secret text); CREATE TABLE hr.plain (id int);";
    let fixture = masked(SCRIPT, &["t.secret"]);
    for (sql, expected) in [
        (
            "SELECT 1, public.t FROM hr.plain",
            "column \"public.t\" does not exist; the name of a table with masked",
        ),
        ("SELECT 1 IS DISTINCT FROM PUBLIC . T", "column \"public.t\" does not exist; the name"),
        ("SELECT 1, \"a.b\".t, 2", "column \"\"a.b\".t\" does not exist; the name"),
        ("SELECT coalesce(1, public.t)", "syntax error at or near \"public.t\"; the name"),
        ("SELECT substring('x' FROM hr.t)", "syntax error at or near \"hr.t\"; the name"),
        ("SELECT zz, 1 FROM public.t", "column \"zz\" does not exist"),
        ("SELECT FROM public.t WHERE WHERE", "syntax error at or near \"WHERE\""),
        (
            "SELECT 1 FROM public.t, hr.t",
            "specified more than once; give tables of the same name aliases",
        ),
        (
            "SELECT 1 FROM public.t TABLESAMPLE SYSTEM (1)",
            "or use WHERE random() < 0.1 if it has masked",
        ),
        ("SELECT 1 FROM plain TABLESAMPLE SYSTEM (1)", "does not exist"),
        ("SELECT public.t.id FROM public.t", "name its columns by an alias"),
    ] {
        for (operation, sql) in [("execute_raw_query", sql), ("explain_query", sql)] {
            let outcome = run(&fixture, operation, json!({ "query": sql }));
            let text = outcome.as_ref().map_or_else(ToString::to_string, Value::to_string);
            assert!(text.contains(expected), "{operation} {sql}: {text}");
            let all = shown(&outcome);
            assert!(!all.contains("table_"), "{operation} {sql}: {all}");
        }
    }
    for sql in [
        "SELECT x.id FROM public.t AS x, hr.t AS y",
        "SELECT t.id FROM public.t WHERE EXISTS (SELECT 1 FROM hr.t WHERE t.id = 1)",
        "SELECT id FROM hr.plain TABLESAMPLE SYSTEM (1)",
    ] {
        let outcome = run(&fixture, "execute_raw_query", json!({ "query": sql }));
        assert_eq!(kind(&outcome), "ok", "{sql}: {}", shown(&outcome));
    }
}

/// A child table can compute a generated column of its parent from other columns (since PostgreSQL 16), and the role may
/// lack the privilege to read the masked column.
#[test]
#[ignore = "needs PostgreSQL"]
fn generated_columns_of_masked_ones_are_masked() {
    const SCRIPT: &str = "\
        CREATE TABLE parent (id int, double int GENERATED ALWAYS AS (2 * id) STORED); \
        CREATE TABLE child (secret int) INHERITS (parent); \
        CREATE TABLE other (id int, double int GENERATED ALWAYS AS (2 * id) STORED);";
    let fixture = masked(SCRIPT, &["child.secret"]);
    for (sql, expected) in [
        ("SELECT double FROM parent", "masked"),
        ("SELECT double FROM public.parent", "masked"),
        ("SELECT double FROM child", "masked"),
        ("SELECT id FROM parent", "ok"),
        ("SELECT double FROM other", "ok"),
    ] {
        let outcome = run(&fixture, "execute_raw_query", json!({ "query": sql }));
        assert_eq!(kind(&outcome), expected, "{sql}: {}", shown(&outcome));
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
