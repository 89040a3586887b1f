//! SQL of callers under rules.

use serde_json::json;
use trunkline_sql::VisibilityRules;
use trunkline_sql::sqlite::SqliteConfig;

use crate::checks;
use crate::fixture::Fixture;
use crate::random::Random;
use crate::visibility::fixture;

#[test]
fn sql_of_callers_is_restricted() {
    let fixture = fixture(false);
    let run = |operation: &str, arguments| fixture.call(operation, arguments);
    checks::check_all(&run, include_str!("../data/rules.sql.jsonl"));
}

/// Random statements in which `NAME` is a hidden table have the outcome of those with the name of no table.
#[track_caller]
fn check_random_statements(count: usize) {
    let fixture = fixture(false);
    let mut random = Random::new();
    let seed = random.seed();
    for _ in 0..count {
        let template = statement(&mut random, 0);
        for name in ["salary", "pay", "salary_text", "salary_amount"] {
            let outcome = |name: &str| {
                let sql = template.replace("NAME", name);
                let outcome = fixture.call("execute_raw_query", json!({ "query": sql }));
                let shown = outcome.map(|result| result["rows"].to_string()).map_err(|error| {
                    format!("{:?} {error}", (error.details().kind, error.details().offset))
                });
                let shown = shown.unwrap_or_else(|error| error);
                let shown = shown.split("; did you mean").next().unwrap_or_default();
                (shown.to_lowercase().replace(name, "NAME"), sql)
            };
            // Of the same length, for offsets.
            let absent = "zzqqxx_yyvvkkww".get(..name.len()).unwrap();
            let ((found, sql), (expected, _)) = (outcome(name), outcome(absent));
            assert_eq!(found, expected, "{sql:?}, SEED={seed}");
        }
    }
}

#[test]
fn outcomes_do_not_depend_on_hidden_tables() {
    check_random_statements(300);
}

#[test]
#[ignore = "takes long: `cargo xtask soak` runs it"]
fn outcomes_of_many_statements_do_not_depend_on_hidden_tables() {
    check_random_statements(20_000);
}

/// A statement that reads, at most four levels deep.
fn statement(random: &mut Random, depth: usize) -> String {
    const EXPRESSIONS: &[&str] = &[
        "*",
        "1",
        "id",
        "amount",
        "nocolumn",
        "NAME.amount",
        "NAME.*",
        "NAME",
        "\"NAME\"",
        "'NAME'",
        "count(*)",
        "rowid",
        "NAME(1)",
        "$a(')",
        ":b::c",
        "max(total)",
        "o.total",
        "main.NAME.amount",
        "(1, 2) IN NAME",
        "1 IN main.NAME",
        "row_number() OVER (ORDER BY id)",
    ];
    const TABLES: &[&str] = &[
        "orders AS o",
        "NAME",
        "main.NAME",
        "temp.NAME",
        "[NAME]",
        "'NAME'",
        "\"NAME\"",
        "orders NAME",
        "NAME AS o",
        "NAME('x')",
        "json_each('[1]') AS NAME",
        "pragma_table_info('NAME')",
        "customer",
        "totals",
        "NAME INDEXED BY NAME_amount",
        "orders INDEXED BY NAME",
        "NAME NOT INDEXED",
        "no.NAME",
        "sqlite_schema",
    ];
    const JOINS: &[&str] = &[",", "JOIN", "NATURAL JOIN", "LEFT JOIN", "CROSS JOIN"];
    const ENDS: &[&str] = &[
        "",
        "",
        "WHERE 1 IN NAME",
        "ORDER BY 1",
        "GROUP BY NAME",
        "LIMIT 1",
        "HAVING 1",
        "; SELECT * FROM NAME",
        "-- NAME",
        "/* NAME",
        "WINDOW NAME AS ()",
        "USING (id)",
        "ON NAME.id = 1",
        "'",
        ";",
        "(",
    ];
    const SPACES: &[&str] = &[" ", " ", "\n", " \u{feff}", "/**/", "-- '\n", "\t\x0b"];
    let nested = depth < 3;
    let column = match random.below(6) {
        0 if nested => format!("({})", statement(random, depth + 1)),
        1 if nested => format!("EXISTS ({})", statement(random, depth + 1)),
        _ => random.one_of(EXPRESSIONS).to_owned(),
    };
    let mut tables = random.one_of(TABLES).to_owned();
    for _ in 0..random.below(3) {
        let table = match random.below(5) {
            0 if nested => format!("({})", statement(random, depth + 1)),
            _ => random.one_of(TABLES).to_owned(),
        };
        tables = format!("{tables} {} {table}", random.one_of(JOINS));
    }
    let before = match random.below(8) {
        0 if nested => format!("WITH NAME AS ({}) ", statement(random, depth + 1)),
        1 if nested => {
            format!("WITH a(NAME) AS ({}), b AS (SELECT * FROM a) ", statement(random, depth + 1))
        }
        2 if depth == 0 => "EXPLAIN ".to_owned(),
        3 if depth == 0 => "EXPLAIN QUERY PLAN ".to_owned(),
        _ => String::new(),
    };
    let end = match random.below(8) {
        0 if nested => format!("UNION {}", statement(random, depth + 1)),
        1 if nested => format!("WHERE id IN ({})", statement(random, depth + 1)),
        _ => random.one_of(ENDS).to_owned(),
    };
    let text = format!("{before}SELECT {column} FROM {tables} {end}");
    text.split(' ').map(|part| part.to_owned() + random.one_of(SPACES)).collect()
}

#[test]
fn changes_by_sql_are_refused() {
    let fixture = fixture(true);
    let run = |operation: &str, arguments| fixture.call(operation, arguments);
    checks::check_changes(&run, WRITES);
}

#[test]
fn calls_are_refused_while_a_rule_matches_nothing() {
    let fixture = fixture(true);
    let change = |sql: &str| {
        let connection = rusqlite::Connection::open(&fixture.path).unwrap();
        connection.execute_batch(sql).unwrap();
    };
    checks::check_renamed(&|operation, arguments| fixture.call(operation, arguments), &change);
}

/// SQLite reads a smaller index instead of the table, so the rows have its order. See `docs/operations/security.md`.
#[test]
fn the_order_of_an_indexed_masked_column_is_visible() {
    let rules = VisibilityRules::default().mask("customer.email".parse().unwrap());
    let script = "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE);
                  INSERT INTO customer VALUES (1, 'Ada', 'c'), (2, 'Ben', 'a'), (3, 'Cyd', 'b');";
    let fixture = Fixture::of(script, SqliteConfig { rules, ..SqliteConfig::default() });
    for (sql, expected) in [
        ("SELECT id FROM customer", json!([[2], [3], [1]])),
        ("SELECT id FROM customer NOT INDEXED", json!([[1], [2], [3]])),
        ("SELECT id FROM customer ORDER BY id", json!([[1], [2], [3]])),
        ("SELECT id, name FROM customer", json!([[1, "Ada"], [2, "Ben"], [3, "Cyd"]])),
    ] {
        let found = fixture.call("execute_raw_query", json!({ "query": sql })).unwrap();
        assert_eq!(found["rows"], expected, "{sql}");
    }
    let found = fixture.call("query_records", json!({ "table_name": "customer", "columns": "id" }));
    assert_eq!(found.unwrap()["rows"], json!([[1], [2], [3]]));
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
