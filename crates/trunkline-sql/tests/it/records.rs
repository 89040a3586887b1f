//! `query_records`: filters, order, pages.

use serde_json::{Value, json};
use trunkline_sql::sqlite::SqliteConfig;
use trunkline_sql::{Error, QueryLimits, QueryRecords, Rowset};

use crate::fixture::{Fixture, kind, reply, request};

fn run(fixture: &Fixture, arguments: Value) -> Result<Rowset, Error> {
    let call = fixture.database.query_records(request(arguments));
    fixture.runtime.block_on(call)
}

/// The first value of each row, or the kind of error.
#[track_caller]
fn check(fixture: &Fixture, arguments: &Value, expected: Result<Value, &str>) {
    let outcome = run(fixture, arguments.clone());
    match expected {
        Ok(firsts) => {
            let rows = reply(outcome.unwrap())["rows"].take();
            let rows: Vec<Value> = rows.as_array().unwrap().iter().map(|r| r[0].clone()).collect();
            assert_eq!(Value::from(rows), firsts, "{arguments}");
        }
        Err(expected) => assert_eq!(kind(&outcome), expected, "{arguments}: {outcome:?}"),
    }
}

#[test]
fn filters() {
    let fixture = Fixture::new();
    let rows = [
        (json!({}), Ok(json!([1, 2, 3, 4, 5]))),
        (json!(null), Ok(json!([1, 2, 3, 4, 5]))),
        (json!({"city": "Oslo"}), Ok(json!([3, 4]))),
        (json!({"CITY": "Oslo", "dept_no": 20}), Ok(json!([4]))),
        (json!({"city": null}), Ok(json!([2]))),
        (json!({"city": {"ne": null}}), Ok(json!([1, 3, 4, 5]))),
        (json!({"city": {"ne": "Oslo"}}), Ok(json!([1, 5]))),
        (json!({"city": {"is_null": true}}), Ok(json!([2]))),
        (json!({"city": {"is_null": false}}), Ok(json!([1, 3, 4, 5]))),
        (json!({"salary": {"gt": 2500}}), Ok(json!([1, 3]))),
        (json!({"salary": {"gte": 2500, "lt": 9000.0}}), Ok(json!([1, 4]))),
        (json!({"salary": {"lte": 1500.5}}), Ok(json!([2]))),
        (json!({"id": {"in": [1, 5, 9]}}), Ok(json!([1, 5]))),
        (json!({"id": {"in": []}}), Ok(json!([]))),
        (json!({"city": {"in": ["Rome", null]}}), Ok(json!([2, 5]))),
        (json!({"city": {"in": [null]}}), Ok(json!([2]))),
        (json!({"name": {"like": "%e%"}}), Ok(json!([2, 4, 5]))),
        (json!({"delete": "no"}), Ok(json!([1]))),
        (json!({"initial": "B"}), Ok(json!([2]))),
        (json!({"name": "x' OR '1'='1"}), Ok(json!([]))),
        (json!({"name\" OR 1=1 --": 1}), Err("unknown_column")),
        (json!({"nothing": 1}), Err("unknown_column")),
        (json!({"city": ["Oslo"]}), Err("bad_filter")),
        (json!({"city": {}}), Err("bad_filter")),
        (json!({"city": {"equals": 1}}), Err("bad_filter")),
        (json!({"city": {"gt": null}}), Err("bad_filter")),
        (json!({"city": {"gt": [1]}}), Err("bad_filter")),
        (json!({"city": {"in": "Oslo"}}), Err("bad_filter")),
        (json!({"city": {"in": [[1]]}}), Err("bad_filter")),
        (json!({"city": {"like": 1}}), Err("bad_filter")),
        (json!({"city": {"is_null": 1}}), Err("bad_filter")),
        (json!({"city": {"like": "%".repeat(2_000)}}), Err("over_limit")),
        (json!({"id": {"in": vec![1; 1_001]}}), Err("over_limit")),
    ];
    for (filters, expected) in rows {
        check(&fixture, &json!({"table_name": "emp", "filters": filters}), expected);
    }
    let blob = json!({"table_name": "pair", "filters": {"c": {"$blob": "AP8="}}});
    check(&fixture, &blob, Ok(json!([1])));
}

#[test]
fn order() {
    let fixture = Fixture::new();
    let rows = [
        (json!("name"), Ok(json!([1, 2, 3, 4, 5]))),
        (json!("name desc"), Ok(json!([5, 4, 3, 2, 1]))),
        (json!("NAME DESC"), Ok(json!([5, 4, 3, 2, 1]))),
        (json!("dept_no desc, salary asc"), Ok(json!([4, 1, 2, 3, 5]))),
        (json!(["dept_no DESC", "salary"]), Ok(json!([4, 1, 2, 3, 5]))),
        (
            json!([{"column": "dept_no", "desc": true}, {"column": "salary"}]),
            Ok(json!([4, 1, 2, 3, 5])),
        ),
        (json!({"column": "dept_no"}), Ok(json!([5, 2, 3, 1, 4]))),
        (json!({"column": "x"}), Err("unknown_column")),
        (json!(1), Err("")),
        (json!("name; DROP TABLE emp"), Err("unknown_column")),
        (json!("(SELECT 1)"), Err("unknown_column")),
        (json!("1"), Err("unknown_column")),
        (json!(""), Err("unknown_column")),
        (json!([]), Ok(json!([1, 2, 3, 4, 5]))),
    ];
    for (order_by, expected) in rows {
        let arguments = json!({"table_name": "emp", "order_by": order_by});
        if expected == Err("") {
            let refused = serde_json::from_value::<QueryRecords>(arguments.clone());
            assert!(refused.is_err(), "{arguments}");
        } else {
            check(&fixture, &arguments, expected);
        }
    }
    let awkward = json!({"table_name": "desc, order", "order_by": "name desc DESC"});
    check(&fixture, &awkward, Ok(json!([])));
}

#[test]
fn tables_and_columns() {
    let fixture = Fixture::new();
    let rows = [
        (json!({"table_name": "EMP", "limit": 1}), Ok(json!([1]))),
        (json!({"table_name": "emp", "columns": ["name"], "limit": 1}), Ok(json!(["Ada"]))),
        (json!({"table_name": "rich"}), Ok(json!([1, 3, 4]))),
        (json!({"table_name": "we\"ird; DROP"}), Ok(json!([1]))),
        (json!({"table_name": "we\"ird; DROP", "columns": ["x\"y"]}), Ok(json!(["it's"]))),
        (json!({"table_name": "pair", "order_by": "a"}), Ok(json!([1, 1, 2]))),
        (json!({"table_name": "docs"}), Ok(json!(["fox", "dog"]))),
        (json!({"table_name": "boxes"}), Ok(json!([1, 2]))),
        (json!({"table_name": "sqlite_schema", "limit": 1}), Ok(json!(["table"]))),
        (json!({"table_name": "emp", "columns": []}), Err("bad_argument")),
        (json!({"table_name": "emp", "columns": ["id", "*"]}), Err("unknown_column")),
        (json!({"table_name": "nothing"}), Err("unknown_table")),
        (json!({"table_name": "emp; DROP TABLE emp"}), Err("unknown_table")),
        (json!({"table_name": ""}), Err("unknown_table")),
        (json!({"table_name": "pragma_database_list"}), Err("unknown_table")),
        (json!({"table_name": "emp", "cursor": "x"}), Err("bad_cursor")),
        (json!({"table_name": "emp", "limit": u64::MAX, "offset": u64::MAX}), Err("bad_argument")),
    ];
    for (arguments, expected) in rows {
        check(&fixture, &arguments, expected);
    }
}

#[test]
fn counts_are_whole_numbers() {
    // An integer according to JSON Schema.
    let two: QueryRecords =
        serde_json::from_value(json!({"table_name": "emp", "limit": 2.0})).unwrap();
    assert_eq!(two.limit, Some(2));
    for count in [json!(-1), json!("10; DROP"), json!(1.5), json!(1e300), json!(true), json!([1])] {
        for argument in ["limit", "offset"] {
            let arguments = json!({"table_name": "emp", argument: count});
            let error = serde_json::from_value::<QueryRecords>(arguments).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("a whole number, zero or more"), "{message}");
        }
    }
}

#[test]
fn pages_neither_overlap_nor_omit_rows() {
    let fixture = Fixture::new();
    for arguments in [
        json!({"table_name": "emp", "order_by": "dept_no", "limit": 2}),
        json!({"table_name": "emp", "order_by": "dept_no desc", "limit": 2}),
        json!({"table_name": "emp", "limit": 1, "filters": {"id": {"gt": 0}}}),
        json!({"table_name": "emp", "limit": 2, "offset": 0}),
    ] {
        let mut page = arguments.clone();
        let mut ids = Vec::new();
        loop {
            let rowset = reply(run(&fixture, page.clone()).unwrap());
            assert_eq!(rowset["truncated"], false, "the caller's own limit");
            let rows = rowset["rows"].as_array().unwrap();
            assert!(!rows.is_empty());
            ids.extend(rows.iter().map(|row| row[0].as_i64().unwrap()));
            if rowset["next_cursor"].is_null() {
                break;
            }
            page["cursor"] = rowset["next_cursor"].clone();
            page.as_object_mut().unwrap().remove("offset");
        }
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3, 4, 5], "{arguments}");
    }
}

#[test]
fn a_cursor_is_valid_for_its_own_request_only() {
    let fixture = Fixture::new();
    let first = json!({"table_name": "emp", "order_by": "name", "limit": 2});
    let cursor = run(&fixture, first).unwrap().next_cursor.unwrap();
    let rows = [
        (json!({"table_name": "emp", "order_by": "name", "cursor": cursor}), Ok(json!([3, 4, 5]))),
        (json!({"table_name": "emp", "cursor": cursor}), Err("bad_cursor")),
        (json!({"table_name": "dept", "cursor": cursor}), Err("bad_cursor")),
        (
            json!({"table_name": "emp", "order_by": "name", "filters": {"id": 1}, "cursor": cursor}),
            Err("bad_cursor"),
        ),
        (
            json!({"table_name": "emp", "order_by": "name", "offset": 1, "cursor": cursor}),
            Err("bad_argument"),
        ),
    ];
    for (arguments, expected) in rows {
        check(&fixture, &arguments, expected);
    }
}

#[test]
fn pages_truncated_by_bytes_continue() {
    let fixture = Fixture::with(SqliteConfig {
        limits: QueryLimits { max_bytes: 30, ..QueryLimits::default() },
        ..SqliteConfig::default()
    });
    let columns = json!(["id", "name"]);
    let first = run(&fixture, json!({"table_name": "emp", "columns": columns})).unwrap();
    assert_eq!(first.rows.get(), r#"[[1,"Ada"],[2,"Ben"]]"#);
    let first = reply(first);
    assert_eq!(first["truncated_by"], "bytes");
    let cursor = &first["next_cursor"];
    let second = run(&fixture, json!({"table_name": "emp", "columns": columns, "cursor": cursor}));
    assert_eq!(second.unwrap().rows.get(), r#"[[3,"Cyd"],[4,"Dee"]]"#);
}

#[test]
fn schema_changes_are_detected() {
    let fixture = Fixture::new();
    let by_floor = json!({"table_name": "dept", "filters": {"floor": 7}});
    check(&fixture, &by_floor, Err("unknown_column"));
    crate::fixture::create(&fixture.path, "ALTER TABLE dept ADD COLUMN floor DEFAULT 7");
    check(&fixture, &by_floor, Ok(json!([10, 20])));
    crate::fixture::create(&fixture.path, "ALTER TABLE dept DROP COLUMN floor");
    check(&fixture, &by_floor, Err("unknown_column"));
}
