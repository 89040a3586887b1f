//! `insert_record`.

use serde_json::{Value, json};
use trunkline_sql::sqlite::SqliteConfig;
use trunkline_sql::{InsertRecord, QueryLimits};

use crate::fixture::{Fixture, create, kind, open};

/// The reply without null members, or the kind of error.
#[track_caller]
fn check(fixture: &Fixture, arguments: &Value, expected: Result<Value, &str>) {
    let outcome = fixture.call("insert_record", arguments.clone());
    match expected {
        Ok(reply) => assert_eq!(outcome.unwrap(), reply, "{arguments}"),
        Err(expected) => assert_eq!(kind(&outcome), expected, "{arguments}: {outcome:?}"),
    }
}

#[test]
fn abort_overrides_conflict_clauses_of_the_table() {
    let fixture = Fixture::writable();
    create(
        &fixture.path,
        "CREATE TABLE mild (a UNIQUE ON CONFLICT REPLACE, b UNIQUE ON CONFLICT IGNORE)",
    );
    let insert = |a, b| json!({"table_name": "mild", "data": {"a": a, "b": b}});
    check(&fixture, &insert(1, 1), Ok(json!({"rows_affected": 1, "id": 1})));
    check(&fixture, &insert(1, 2), Err("constraint"));
    check(&fixture, &insert(2, 1), Err("constraint"));
}

#[test]
fn records() {
    let fixture = Fixture::writable();
    let one = |id: Value| Ok(json!({"rows_affected": 1, "id": id}));
    for (table, data, expected) in [
        ("EMP", json!({"name": "Fay", "SALARY": 1.5}), one(json!(6))),
        (
            "emp",
            json!([{"name": "Gil"}, {"name": "Hal", "city": null}]),
            Ok(json!({"rows_affected": 2, "id": 8})),
        ),
        ("emp", json!({"id": 100, "name": "it's; DROP TABLE emp; --"}), one(json!(100))),
        (
            "emp",
            json!({"id": 9_007_199_254_740_993_i64, "name": "I"}),
            one(json!("9007199254740993")),
        ),
        ("emp", json!({"name": "Jo", "delete": true}), one(json!("9007199254740994"))),
        ("extremes", json!({}), one(json!(10))),
        ("extremes", json!({"v": {"$blob": "AAE="}}), one(json!(11))),
        ("extremes", json!([{}, {"v": 1}, {}]), Ok(json!({"rows_affected": 3, "id": 14}))),
        ("pair", json!({"a": 9, "b": "z"}), one(json!(null))),
        ("we\"ird; DROP", json!({"a b": 7, "x\"y": "größe"}), one(json!(2))),
        ("docs", json!({"title": "cat", "body": "a cat"}), one(json!(3))),
        ("boxes", json!({"id": 3, "min_x": 1, "max_x": 2}), one(json!(3))),
        ("emp", json!({"nothing": 1}), Err("unknown_column")),
        ("emp", json!({"name": "x", "NAME": "y"}), Err("bad_column")),
        ("emp", json!({"name": [1]}), Err("bad_column")),
        ("emp", json!({"name": {"$blob": "?"}}), Err("bad_column")),
        ("emp", json!({"id": u64::MAX, "name": "x"}), Err("bad_column")),
        ("emp", json!([]), Err("bad_argument")),
        ("emp", json!({"name": "Ada"}), Err("constraint")),
        ("emp", json!({"name": null}), Err("constraint")),
        ("emp", json!({"name": "K", "dept_no": 99}), Err("constraint")),
        ("emp", json!({"name": "K", "initial": "K"}), Err("sql")),
        ("dept", json!({"dept_no": "x", "title": "t"}), Err("sql")),
        ("rich", json!({"name": "K"}), Err("sql")),
        ("nothing", json!({"a": 1}), Err("unknown_table")),
        ("sqlite_schema", json!({"name": "x"}), Err("sql")),
        ("docs_data", json!({"id": 99, "block": "x"}), Err("sql")),
    ] {
        check(&fixture, &json!({"table_name": table, "data": data}), expected);
    }
    for data in [json!(1), json!("x"), json!([1]), json!(null)] {
        let arguments = json!({"table_name": "emp", "data": data});
        let error = serde_json::from_value::<InsertRecord>(arguments).unwrap_err();
        assert!(error.to_string().contains("an object of values by column name"), "{error}");
    }
    let stored = fixture.look("SELECT typeof(v) || hex(v) FROM extremes WHERE rowid = 11");
    assert_eq!(stored, "blob0001");
}

#[test]
fn all_or_none() {
    let fixture = Fixture::writable();
    let records = json!([{"name": "Fay"}, {"name": "Ada"}, {"name": "Gil"}]);
    let arguments = json!({"table_name": "emp", "data": records});
    let error = fixture.call("insert_record", arguments).unwrap_err();
    assert_eq!(error.to_string(), "constraint failed: UNIQUE constraint failed: emp.name");
    let details = serde_json::to_value(error.details()).unwrap();
    assert_eq!(details, json!({"kind": "constraint", "table": "emp", "column": "name"}));
    assert_eq!(fixture.look("SELECT count(*) || '' FROM emp"), "5");
}

#[test]
fn conflicts() {
    let fixture = Fixture::writable();
    let data = json!([{"name": "Ada", "id": 50}, {"name": "Fay"}]);
    for (on_conflict, expected, names) in [
        ("abort", Err("constraint"), "Ada1,Ben2,Cyd3,Dee4,Eve5"),
        ("ignore", Ok(json!({"rows_affected": 1, "id": 6})), "Ada1,Ben2,Cyd3,Dee4,Eve5,Fay6"),
        ("ignore", Ok(json!({"rows_affected": 0, "id": null})), "Ada1,Ben2,Cyd3,Dee4,Eve5,Fay6"),
        ("replace", Ok(json!({"rows_affected": 2, "id": 51})), "Ben2,Cyd3,Dee4,Eve5,Ada50,Fay51"),
    ] {
        let arguments = json!({"table_name": "emp", "data": data, "on_conflict": on_conflict});
        check(&fixture, &arguments, expected);
        let all = "SELECT group_concat(name || id) FROM (SELECT * FROM emp ORDER BY id)";
        assert_eq!(fixture.look(all), names, "{on_conflict}");
    }
    let arguments = json!({"table_name": "emp", "data": {}, "on_conflict": "rollback"});
    assert!(serde_json::from_value::<InsertRecord>(arguments).is_err());
}

#[test]
fn inserted_rows() {
    let fixture = Fixture::writable();
    let data = json!([{"name": "Fay"}, {"name": "Gil", "salary": 5}]);
    let mut arguments = json!({"table_name": "emp", "data": data, "returning": ["ID", "salary"]});
    let reply = fixture.call("insert_record", arguments.clone()).unwrap();
    assert_eq!(reply["rows"]["rows"], json!([[6, 1000.0], [7, 5.0]]));
    assert_eq!(reply["rows"]["columns"][1], json!({"name": "salary", "type": "REAL"}));

    arguments["data"] = json!({"name": "Hal"});
    arguments["returning"] = json!(true);
    let reply = fixture.call("insert_record", arguments.clone()).unwrap();
    assert_eq!(reply["rows"]["rows"], json!([[8, "Hal", 1000.0, null, null, null, "H"]]));

    for (returning, expected) in
        [(json!([]), "bad_argument"), (json!(["x"]), "unknown_column"), (json!(false), "ok")]
    {
        arguments["data"] = json!({"name": "Ina"});
        arguments["returning"] = returning;
        assert_eq!(kind(&fixture.call("insert_record", arguments.clone())), expected);
    }
}

#[test]
fn returned_rows_are_limited_and_all_records_inserted() {
    let config = SqliteConfig {
        writable: true,
        limits: QueryLimits { max_bytes: 30, ..QueryLimits::default() },
        ..SqliteConfig::default()
    };
    let fixture = Fixture::with(config);
    let data: Vec<Value> = (0..20).map(|v| json!({"v": v})).collect();
    let arguments = json!({"table_name": "extremes", "data": data, "returning": ["v"]});
    let reply = fixture.call("insert_record", arguments).unwrap();
    assert_eq!(
        (&reply["rows_affected"], &reply["rows"]["truncated_by"]),
        (&json!(20), &json!("bytes"))
    );
    assert_eq!(fixture.look("SELECT count(*) || '' FROM extremes"), "29");
}

#[test]
fn bounds() {
    let fixture = Fixture::writable();
    let records = |count| {
        let data: Vec<Value> = (0..count).map(|v| json!({"v": v})).collect();
        json!({"table_name": "extremes", "data": data})
    };
    check(&fixture, &records(1_001), Err("bad_argument"));
    check(&fixture, &records(1_000), Ok(json!({"rows_affected": 1_000, "id": 1_009})));
    let large = "x".repeat((16 << 20) + 1);
    check(&fixture, &json!({"table_name": "extremes", "data": {"v": large}}), Err("over_limit"));
    assert_eq!(fixture.look("SELECT count(*) || '' FROM extremes"), "1009");
}

#[test]
fn a_trigger_neither_counts_nor_gives_the_id() {
    let fixture = Fixture::writable();
    create(
        &fixture.path,
        "CREATE TABLE log (at TEXT, id INTEGER PRIMARY KEY); INSERT INTO log VALUES ('x', 500); \
         CREATE TRIGGER logged AFTER INSERT ON dept BEGIN INSERT INTO log (at) VALUES ('now'); END; \
         CREATE TRIGGER diverted INSTEAD OF INSERT ON rich BEGIN INSERT INTO log (at) VALUES ('r'); END",
    );
    let dept = json!({"table_name": "dept", "data": {"title": "Legal"}});
    check(&fixture, &dept, Ok(json!({"rows_affected": 1, "id": 21})));
    let rich = json!({"table_name": "rich", "data": {"name": "x"}});
    check(&fixture, &rich, Ok(json!({"rows_affected": 0, "id": null})));
    assert_eq!(fixture.look("SELECT count(*) || '' FROM log"), "3");
}

/// `cargo test --release -p trunkline-sql --test it speed -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn speed() {
    for mode in ["DELETE", "WAL"] {
        let fixture = Fixture::new();
        create(&fixture.path, &format!("PRAGMA journal_mode = {mode}"));
        let config = SqliteConfig { writable: true, ..SqliteConfig::default() };
        let database = open(&fixture.path, config).unwrap();
        let records = |count: usize, round: usize| -> Vec<Value> {
            let record = |v| json!({"dept_no": 1_000 + round * count + v, "title": "a title of some length"});
            (0..count).map(record).collect()
        };
        for (count, rounds) in [(1, 500), (1_000, 50)] {
            let requests: Vec<Value> = (1..=rounds)
                .map(|round| {
                    let data = records(count, round * 10);
                    json!({"table_name": "dept", "data": data, "on_conflict": "replace"})
                })
                .collect();
            let started = std::time::Instant::now();
            for request in requests {
                fixture
                    .runtime
                    .block_on(crate::fixture::call(&database, "insert_record", request))
                    .unwrap();
            }
            let rows = (count * rounds) as f64 / started.elapsed().as_secs_f64();
            println!("{mode}: {count} records a call: {rows:.0} rows a second");
        }
    }
}
