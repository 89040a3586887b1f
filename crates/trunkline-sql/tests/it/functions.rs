//! The mathematical functions, and schemas that use functions, collations and modules of another program.

use serde_json::{Value, json};
use trunkline_sql::VisibilityRules;
use trunkline_sql::sqlite::{SqliteConfig, backup};

use crate::fixture::{Fixture, kind};

#[track_caller]
fn check(fixture: &Fixture, expression: &str, expected: &Value) {
    let arguments = json!({"query": format!("SELECT {expression}")});
    let found = fixture.call("execute_raw_query", arguments).unwrap();
    assert_eq!(&found["rows"][0][0], expected, "{expression}");
}

/// The values are those of the `sqlite3` shell.
#[test]
fn values_are_those_of_the_shell() {
    let fixture = Fixture::new();
    let infinity = json!({"$float": "Infinity"});
    for (expression, expected) in [
        ("sqrt(16)", json!(4.0)),
        ("sqrt(-1)", Value::Null),
        ("sqrt(NULL)", Value::Null),
        ("sqrt('16')", json!(4.0)),
        ("sqrt(' 1.6e1 ')", json!(4.0)),
        ("sqrt('16 m')", Value::Null),
        ("sqrt('inf')", Value::Null),
        ("sqrt(x'3136')", Value::Null),
        ("pow(2, 3)", json!(8.0)),
        ("power(2, 0.5)", json!(std::f64::consts::SQRT_2)),
        ("pow(-8, 1.0 / 3)", Value::Null),
        ("pow(0, -1)", infinity.clone()),
        ("pow(2, 'x')", Value::Null),
        ("floor(1.5)", json!(1.0)),
        ("floor(-1.5)", json!(-2.0)),
        ("floor(7)", json!(7)),
        ("floor('7')", json!(7)),
        ("floor('7.5')", json!(7.0)),
        ("floor(9223372036854775807)", json!("9223372036854775807")),
        ("typeof(floor('9223372036854775808'))", json!("real")),
        ("ceil(1.2)", json!(2.0)),
        ("ceiling(-1.2)", json!(-1.0)),
        ("trunc(-1.7)", json!(-1.0)),
        ("trunc(5)", json!(5)),
        ("trunc('')", Value::Null),
        ("ln(1)", json!(0.0)),
        ("ln(0)", Value::Null),
        ("ln(-1)", Value::Null),
        ("log(100)", json!(2.0)),
        ("log10(1000)", json!(3.0)),
        ("log2(8)", json!(3.0)),
        ("round(log(2, 8), 9)", json!(3.0)),
        ("log(1, 8)", Value::Null),
        ("log(0.5, 8)", Value::Null),
        ("log(2, 0)", Value::Null),
        ("exp(0)", json!(1.0)),
        ("exp(1000)", infinity),
        ("mod(7, 3)", json!(1.0)),
        ("mod(-7, 3)", json!(-1.0)),
        ("mod(7.5, 2)", json!(1.5)),
        ("mod(7, 0)", Value::Null),
        ("pi()", json!(std::f64::consts::PI)),
        ("sin(0)", json!(0.0)),
        ("cos(0)", json!(1.0)),
        ("tan(0)", json!(0.0)),
        ("asin(2)", Value::Null),
        ("acos(1)", json!(0.0)),
        ("atan(1)", json!(std::f64::consts::FRAC_PI_4)),
        ("atan2(1, -1)", json!(2.356_194_490_192_345)),
        ("sinh(0) + tanh(0) + asinh(0) + atanh(0)", json!(0.0)),
        ("cosh(0)", json!(1.0)),
        ("acosh(0.5)", Value::Null),
        ("atanh(1) > 1e300", json!(1)),
        ("degrees(pi())", json!(180.0)),
        ("radians(180)", json!(std::f64::consts::PI)),
        ("sign(-3)", json!(-1)),
    ] {
        check(&fixture, expression, &expected);
    }
    let reason = fixture.sql("SELECT sqrt(1, 2)").unwrap_err().to_string();
    assert!(reason.contains("wrong number of arguments"), "{reason}");
}

/// Indexes, generated columns, checks, views and triggers may use them, on readers and the writer.
const MATHEMATICAL: &str = "
    CREATE TABLE p (id INTEGER PRIMARY KEY, point REAL CHECK (sqrt(point) < 100),
        calc INT GENERATED ALWAYS AS (floor(point)) VIRTUAL, kept REAL GENERATED ALWAYS AS (pow(point, 2)) STORED);
    CREATE INDEX p_log ON p (ln(point + 1));
    CREATE TABLE seen (n);
    CREATE TRIGGER p_seen AFTER INSERT ON p BEGIN INSERT INTO seen VALUES (mod(new.point, 4)); END;
    CREATE VIEW roots AS SELECT id, sqrt(point) AS root FROM p;
";

#[test]
fn schemas_use_them() {
    let config = SqliteConfig { writable: true, ..SqliteConfig::default() };
    // The functions of this connection are those of the writer.
    let fixture = Fixture::of("CREATE TABLE a (b)", config);
    for statement in MATHEMATICAL.trim().split(";\n    ") {
        let statement = statement.trim_end_matches(';');
        let sql = json!({"query": statement, "read_only": false});
        fixture.call("execute_raw_query", sql).unwrap();
    }
    let row = json!({"table_name": "p", "data": {"point": 11.5}});
    fixture.call("insert_record", row).unwrap();
    let rows = |table: &str| {
        fixture.call("query_records", json!({"table_name": table})).unwrap()["rows"].clone()
    };
    assert_eq!(rows("p"), json!([[1, 11.5, 11, 132.25]]));
    assert_eq!(rows("seen"), json!([[3.5]]));
    assert_eq!(rows("roots"), json!([[1, 11.5_f64.sqrt()]]));
    let plan = json!({"query": "SELECT id FROM p WHERE ln(point + 1) = 1"});
    let plan = fixture.call("explain_query", plan).unwrap();
    assert!(plan.to_string().contains("p_log"), "{plan}");
    let health = fixture.call("database_health", json!({})).unwrap();
    assert_eq!((&health["sqlite"]["quick_check"], &health["problems"]), (&json!("ok"), &json!([])));
    let copy = backup(&fixture.path, &fixture.folder.path().join("copy.db"), |_, _| {}).unwrap();
    assert_eq!(copy.unchecked, []);
}

/// A schema that another program has written: with its function `foo`, its collation `own` and its module `nomod`.
const FOREIGN: &str = "
    CREATE TABLE good (id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO good VALUES (1, 'a');
    CREATE TABLE gen (id INTEGER PRIMARY KEY, x INT, y INT GENERATED ALWAYS AS (abs(x)) VIRTUAL);
    INSERT INTO gen (x) VALUES (1);
    CREATE TABLE stored (id INTEGER PRIMARY KEY, x INT, y INT GENERATED ALWAYS AS (abs(x)) STORED);
    INSERT INTO stored (x) VALUES (1);
    CREATE TABLE indexed (id INTEGER PRIMARY KEY, x INT);
    CREATE INDEX indexed_x ON indexed (abs(x));
    INSERT INTO indexed (x) VALUES (1);
    CREATE TABLE partly (id INTEGER PRIMARY KEY, x INT);
    CREATE INDEX partly_x ON partly (x) WHERE abs(x) > 0;
    CREATE TABLE checked (id INTEGER PRIMARY KEY, x INT CHECK (abs(x) > 0));
    INSERT INTO checked (x) VALUES (1);
    CREATE TABLE defaulted (id INTEGER PRIMARY KEY, x INT DEFAULT (abs(-1)));
    CREATE TABLE triggered (id INTEGER PRIMARY KEY, x INT);
    CREATE TRIGGER on_x AFTER INSERT ON triggered BEGIN UPDATE good SET v = abs(new.x); END;
    CREATE VIEW viewed AS SELECT abs(id) FROM good;
    CREATE TABLE sorted (id INTEGER PRIMARY KEY, n TEXT COLLATE NOCASE UNIQUE);
    INSERT INTO sorted VALUES (1, 'x');
    CREATE TABLE keyed (n TEXT COLLATE NOCASE PRIMARY KEY) WITHOUT ROWID;
    INSERT INTO keyed VALUES ('x');
    CREATE VIEW unified AS SELECT * FROM moduled;
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = replace(replace(sql, 'abs(', 'foo('), 'NOCASE', 'own');
    INSERT INTO sqlite_schema VALUES
        ('table', 'moduled', 'moduled', 0, 'CREATE VIRTUAL TABLE moduled USING nomod(a)');
";

const FUNCTION: &str = "function: foo";
const COLLATION: &str = "collation sequence: own";
const MODULE: &str = "module: nomod";

#[test]
fn a_missing_function_concerns_its_table_only() {
    let config = SqliteConfig { writable: true, ..SqliteConfig::default() };
    let fixture = Fixture::of(FOREIGN, config);
    let list = fixture.call("list_tables", json!({})).unwrap();
    assert_eq!(list["tables"].as_array().unwrap().len(), 13, "{list}");
    for (table, read, insert) in [
        ("good", "", ""),
        ("gen", FUNCTION, FUNCTION),
        ("stored", "", FUNCTION),
        ("indexed", "", FUNCTION),
        ("partly", "", FUNCTION),
        ("checked", "", FUNCTION),
        ("defaulted", "", FUNCTION),
        ("triggered", "", FUNCTION),
        ("viewed", FUNCTION, FUNCTION),
        ("sorted", "", COLLATION),
        ("keyed", "collation", COLLATION),
        ("moduled", MODULE, MODULE),
        ("unified", MODULE, MODULE),
    ] {
        for (operation, arguments, expected) in [
            ("query_records", json!({"table_name": table}), read),
            ("execute_raw_query", json!({"query": format!("SELECT * FROM {table}")}), read),
            ("insert_record", json!({"table_name": table, "data": {}}), insert),
        ] {
            match fixture.call(operation, arguments) {
                Ok(_) => assert_eq!(expected, "", "{operation} {table}"),
                Err(error) => {
                    let reason = error.to_string();
                    let is_expected = !expected.is_empty() && reason.contains(expected);
                    assert!(is_expected, "{operation} {table}: {reason}");
                    assert!(reason.contains("only the program"), "{operation} {table}: {reason}");
                }
            }
        }
    }
    // The other columns can be read.
    let columns = json!({"table_name": "gen", "columns": ["id", "x"]});
    assert_eq!(fixture.call("query_records", columns).unwrap()["rows"], json!([[1, 1]]));
    let described = fixture.call("describe_table", json!({"table_name": "gen"})).unwrap();
    assert_eq!(described["columns"][2]["generated"], "virtual", "{described}");
    let found = fixture.call("search_schema", json!({"term": "good"})).unwrap();
    assert_eq!(found["matches"][0]["table"], "good");
    let health = fixture.call("database_health", json!({})).unwrap();
    assert_eq!(health["sqlite"]["quick_check"], "ok", "{health}");
    let problems = health["problems"].as_array().unwrap();
    let unchecked: Vec<_> =
        problems.iter().map(|problem| problem["table"].as_str().unwrap()).collect();
    assert_eq!(unchecked, ["gen", "sorted", "keyed"], "{health}");
    assert!(problems.iter().all(|problem| problem["kind"] == "unchecked"), "{health}");
    let copy = backup(&fixture.path, &fixture.folder.path().join("copy.db"), |_, _| {}).unwrap();
    let unchecked: Vec<_> = copy.unchecked.iter().map(|(table, _)| table.as_str()).collect();
    assert_eq!(unchecked, ["gen", "indexed", "partly", "sorted", "keyed"]);
}

#[test]
fn hidden_tables_are_not_among_the_problems() {
    let rules = VisibilityRules::default().deny("sorted".parse().unwrap());
    let fixture = Fixture::of(FOREIGN, SqliteConfig { rules, ..SqliteConfig::default() });
    let health = fixture.call("database_health", json!({})).unwrap();
    assert!(!health.to_string().contains("sorted"), "{health}");
    assert_eq!(health["problems"][0]["table"], "gen", "{health}");
}

#[test]
fn unknown_functions_have_a_remedy() {
    let fixture = Fixture::new();
    for (sql, remedy) in [
        ("SELECT foo(1)", "only the program that created the database"),
        ("SELECT name FROM emp WHERE name REGEXP 'A'", "use LIKE, GLOB or instr"),
        ("SELECT median(salary) FROM emp", "use ORDER BY with LIMIT and OFFSET"),
        ("SELECT value FROM generate_series(1, 5)", "use WITH RECURSIVE"),
        ("SELECT name FROM emp ORDER BY name COLLATE german", "has this collation"),
    ] {
        let outcome = fixture.sql(sql);
        assert_eq!(kind(&outcome), "sql", "{sql}");
        let reason = outcome.unwrap_err().to_string();
        assert!(reason.contains(remedy), "{sql}: {reason}");
    }
}
