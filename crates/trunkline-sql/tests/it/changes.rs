//! `update_record` and `delete_record`.

use serde_json::{Value, json};
use trunkline_sql::sqlite::SqliteConfig;
use trunkline_sql::{DeleteRecord, QueryLimits, UpdateRecord};

use crate::fixture::{Fixture, create, kind};

const NAMES: &str = "SELECT group_concat(name) FROM (SELECT name FROM emp ORDER BY id)";

#[track_caller]
fn check(fixture: &Fixture, operation: &str, arguments: Value, expected: Result<Value, &str>) {
    let text = arguments.to_string();
    let outcome = fixture.call(operation, arguments);
    match expected {
        Ok(reply) => assert_eq!(outcome.unwrap(), reply, "{text:.200}"),
        Err(expected) => assert_eq!(kind(&outcome), expected, "{text:.200}: {outcome:?}"),
    }
}

fn changed(rows: u64) -> Result<Value, &'static str> {
    Ok(json!({"rows_affected": rows, "dry_run": false}))
}

#[test]
fn filters_are_those_of_query_records() {
    let fixture = Fixture::writable();
    for (filters, expected) in [
        (json!({"city": "Oslo"}), changed(2)),
        (json!({"CITY": "Oslo", "dept_no": 20}), changed(1)),
        (json!({"city": null}), changed(1)),
        (json!({"city": {"ne": null}}), changed(4)),
        (json!({"salary": {"gte": 2500, "lt": 9000.0}}), changed(2)),
        (json!({"id": {"in": [1, 5, 9]}}), changed(2)),
        (json!({"id": {"in": []}}), changed(0)),
        (json!({"name": {"like": "%e%"}}), changed(3)),
        (json!({"name": "x' OR '1'='1"}), changed(0)),
        (json!({"name\" OR 1=1 --": 1}), Err("unknown_column")),
        (json!({"city": {}}), Err("bad_filter")),
        (json!({"city": ["Oslo"]}), Err("bad_filter")),
        (json!({"city": {"gt": null}}), Err("bad_filter")),
        (json!({"id": {"in": vec![1; 1_001]}}), Err("over_limit")),
        (json!({"name": {"like": "%".repeat(2_000)}}), Err("over_limit")),
        (json!({}), Err("bad_argument")),
    ] {
        let update = json!({"table_name": "emp", "filters": filters, "data": {"salary": 7}, "dry_run": true});
        let dry = expected.clone().map(|mut reply| {
            reply["dry_run"] = json!(true);
            reply
        });
        check(&fixture, "update_record", update, dry.clone());
        let delete = json!({"table_name": "emp", "filters": filters, "dry_run": true});
        check(&fixture, "delete_record", delete, dry);
    }
    assert_eq!(fixture.look(NAMES), "Ada,Ben,Cyd,Dee,Eve");
    assert_eq!(fixture.look("SELECT sum(salary) || '' FROM emp"), "16000.5");
}

#[test]
fn updates() {
    let fixture = Fixture::writable();
    for (table, filters, data, expected) in [
        ("emp", json!({"id": 1}), json!({"name": "Ann", "CITY": null, "delete": "x"}), changed(1)),
        ("pair", json!({"a": 1, "b": "x"}), json!({"c": {"$blob": "AA=="}}), changed(1)),
        ("we\"ird; DROP", json!({"a b": 1}), json!({"x\"y": "new"}), changed(1)),
        ("docs", json!({"title": "fox"}), json!({"body": "slow"}), changed(1)),
        ("emp", json!({"id": 1}), json!({}), Err("bad_argument")),
        ("emp", json!({"id": 1}), json!({"nothing": 1}), Err("unknown_column")),
        ("emp", json!({"id": 1}), json!({"name": [1]}), Err("bad_column")),
        ("emp", json!({"id": 1}), json!({"name": null}), Err("constraint")),
        ("emp", json!({"id": 1}), json!({"name": "Ben"}), Err("constraint")),
        ("emp", json!({"id": 1}), json!({"dept_no": 99}), Err("constraint")),
        ("emp", json!({"id": 1}), json!({"initial": "x"}), Err("sql")),
        ("rich", json!({"id": 1}), json!({"name": "x"}), Err("sql")),
        ("sqlite_schema", json!({"name": "emp"}), json!({"name": "x"}), Err("sql")),
        ("nothing", json!({"id": 1}), json!({"name": "x"}), Err("unknown_table")),
    ] {
        let arguments = json!({"table_name": table, "filters": filters, "data": data});
        check(&fixture, "update_record", arguments, expected);
    }
    assert_eq!(fixture.look(NAMES), "Ann,Ben,Cyd,Dee,Eve");
}

#[test]
fn changing_every_row_requires_all() {
    let fixture = Fixture::writable();
    let delete = json!({"table_name": "docs", "filters": {}});
    let error = fixture.call("delete_record", delete).unwrap_err();
    assert!(error.to_string().contains(r#"send "all": true"#), "{error}");
    let delete = json!({"table_name": "docs", "filters": {}, "all": true});
    check(&fixture, "delete_record", delete, changed(2));
    let delete = json!({"table_name": "emp", "filters": {"id": 5}, "all": true});
    check(&fixture, "delete_record", delete, changed(1));
    assert_eq!(fixture.look(NAMES), "Ada,Ben,Cyd,Dee");
    for arguments in [json!({"table_name": "emp"}), json!({"table_name": "emp", "filters": null})] {
        assert!(serde_json::from_value::<DeleteRecord>(arguments.clone()).is_err());
        assert!(serde_json::from_value::<UpdateRecord>(arguments).is_err());
    }
}

#[test]
fn affected_rows_are_limited() {
    let config = SqliteConfig {
        writable: true,
        limits: QueryLimits { max_affected: 3, ..QueryLimits::default() },
        ..SqliteConfig::default()
    };
    let fixture = Fixture::with(config);
    let delete = |filters, rest: Value| {
        let mut arguments = json!({"table_name": "emp", "filters": filters});
        arguments.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        arguments
    };
    let filters = json!({"id": {"gt": 1}});
    let error = fixture.call("delete_record", delete(filters.clone(), json!({}))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "more than 3 rows would be changed, including those that `replace`, foreign keys and triggers change; \
         nothing was changed; narrow the change, or raise `max_affected` (server default: `--max-affected`)"
    );
    let details = json!({
        "kind": "too_many_rows", "table": "emp", "argument": "max_affected", "max_affected": 3,
    });
    assert_eq!(serde_json::to_value(error.details()).unwrap(), details);
    for (filters, rest, expected) in [
        (json!({}), json!({"all": true}), Err("too_many_rows")),
        (json!({}), json!({"all": true, "dry_run": true}), Err("too_many_rows")),
        (filters.clone(), json!({"max_affected": 0}), Err("too_many_rows")),
        (json!({"id": 99}), json!({"max_affected": 0}), changed(0)),
        (filters, json!({"max_affected": 4}), changed(4)),
    ] {
        check(&fixture, "delete_record", delete(filters, rest), expected);
    }
    assert_eq!(fixture.look(NAMES), "Ada");
}

#[test]
fn rows_changed_by_foreign_keys_and_triggers_count() {
    let fixture = Fixture::writable();
    create(&fixture.path, "CREATE TRIGGER t AFTER DELETE ON emp BEGIN DELETE FROM docs; END");
    let delete = |rest: Value| {
        let mut arguments = json!({"table_name": "dept", "filters": {"dept_no": 10}});
        arguments.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        arguments
    };
    check(&fixture, "delete_record", delete(json!({"max_affected": 2})), Err("too_many_rows"));
    let reply = fixture.call("delete_record", delete(json!({"dry_run": true}))).unwrap();
    assert_eq!((&reply["rows_affected"], &reply["dry_run"]), (&json!(1), &json!(true)));
    // Two of `emp`. Rows of the full-text index do not count.
    assert_eq!(reply["cascaded"], 2, "{reply}");
    assert_eq!(fixture.look(NAMES), "Ada,Ben,Cyd,Dee,Eve");
    fixture.call("delete_record", delete(json!({}))).unwrap();
    assert_eq!(fixture.look(NAMES), "Ada,Dee,Eve");
}

#[test]
fn a_dry_run_changes_nothing() {
    let fixture = Fixture::writable();
    let before = fixture.files();
    let delete = json!({"table_name": "emp", "filters": {}, "all": true, "dry_run": true});
    check(&fixture, "delete_record", delete, Ok(json!({"rows_affected": 5, "dry_run": true})));
    assert!(fixture.files() == before);
    // The next call is not a dry run.
    let delete = json!({"table_name": "emp", "filters": {"id": 1}});
    check(&fixture, "delete_record", delete, changed(1));
    assert_eq!(fixture.look(NAMES), "Ben,Cyd,Dee,Eve");
}

#[test]
fn a_dry_run_reports_the_error_of_the_commit() {
    const SCHEMA: &str = "
        CREATE TABLE team (id INTEGER PRIMARY KEY);
        CREATE TABLE member (id INTEGER PRIMARY KEY,
            team INTEGER REFERENCES team DEFERRABLE INITIALLY DEFERRED,
            lead INTEGER REFERENCES member DEFERRABLE INITIALLY DEFERRED);
        INSERT INTO team VALUES (1), (2), (3);
        INSERT INTO member VALUES (1, 1, 1), (2, 2, 1), (3, 2, 3);
        -- A violation that was there before is not the fault of a call.
        PRAGMA foreign_keys = OFF;
        INSERT INTO member VALUES (9, 99, 9);
        CREATE TRIGGER repaired AFTER DELETE ON team WHEN old.id = 2 BEGIN
            UPDATE member SET team = 3 WHERE team = 2; END;
    ";
    let update = |table: &str, id: u64, data: Value| {
        ("update_record", json!({"table_name": table, "filters": {"id": id}, "data": data}))
    };
    let delete = |table: &str, id: u64| {
        ("delete_record", json!({"table_name": table, "filters": {"id": id}}))
    };
    for ((operation, arguments), expected) in [
        (delete("team", 1), "constraint"),
        (delete("team", 2), "ok"),
        (delete("team", 3), "ok"),
        (delete("member", 1), "constraint"),
        (delete("member", 2), "ok"),
        (delete("member", 3), "ok"),
        (delete("member", 9), "ok"),
        (update("team", 1, json!({"id": 7})), "constraint"),
        (update("team", 3, json!({"id": 7})), "ok"),
        (update("member", 2, json!({"team": 8})), "constraint"),
        (update("member", 2, json!({"team": 3})), "ok"),
        (update("member", 9, json!({"lead": 1})), "ok"),
    ] {
        for mode in ["DELETE", "WAL"] {
            let fixture = Fixture::writable();
            create(&fixture.path, &format!("PRAGMA journal_mode = {mode}; {SCHEMA}"));
            let state = "SELECT group_concat(id || '.' || team || '.' || lead) || \
                         (SELECT group_concat(id) FROM team) FROM member";
            let before = fixture.look(state);
            let mut dry = arguments.clone();
            dry["dry_run"] = json!(true);
            // A reader that holds a lock delays the commit, not the check.
            let reader = rusqlite::Connection::open(&fixture.path).unwrap();
            reader.execute_batch("BEGIN; SELECT count(*) FROM member").unwrap();
            let promised = fixture.call(operation, dry);
            assert_eq!(kind(&promised), expected, "dry {operation} {arguments}: {promised:?}");
            drop(reader);
            assert_eq!(fixture.look(state), before, "dry {operation} {arguments}");
            let kept = fixture.call(operation, arguments.clone());
            assert_eq!(kind(&kept), expected, "{operation} {arguments}: {kept:?}");
            if let (Ok(promised), Ok(kept)) = (promised, kept) {
                assert_eq!(promised["rows_affected"], kept["rows_affected"], "{arguments}");
            }
        }
    }
}

#[test]
fn an_optional_filter_may_be_null() {
    let none = r#"{"table_name": "emp", "filters": null}"#;
    assert!(serde_json::from_str::<trunkline_sql::QueryRecords>(none).unwrap().filters.is_none());
}
