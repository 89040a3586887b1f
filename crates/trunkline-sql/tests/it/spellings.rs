//! Forms of arguments that the schemas do not publish, and that models send.

use serde_json::{Map, Value, json};
use trunkline_sql::{DeleteRecord, InsertRecord, QueryRecords, RawQuery};

use crate::fixture::{Fixture, request};

/// Both requests have the same result.
#[track_caller]
fn check(fixture: &Fixture, operation: &str, published: Value, also: Value) {
    let ask = |arguments: &Value| {
        let mut whole = json!({"table_name": "emp"});
        if operation == "execute_raw_query" {
            whole = json!({"query": "SELECT id FROM emp"});
        }
        whole.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let mut reply =
            fixture.call(operation, whole).unwrap_or_else(|e| panic!("{arguments}: {e}"));
        for time in ["/elapsed_ms", "/sample/elapsed_ms", "/next_cursor"] {
            reply.pointer_mut(time).map(Value::take);
        }
        reply
    };
    assert_eq!(ask(&also), ask(&published), "{operation} {also}");
}

#[test]
fn names_of_tables_are_read_as_sql_spells_them() {
    let fixture = Fixture::new();
    for operation in ["query_records", "describe_table", "profile_table"] {
        for name in ["main.emp", "MAIN.EMP", "\"emp\"", "\"main\".\"emp\"", "[main].[emp]", "`emp`"]
        {
            check(&fixture, operation, json!({}), json!({ "table_name": name }));
        }
        let odd = json!({ "table_name": "we\"ird; DROP" });
        for name in ["\"we\"\"ird; DROP\"", "main.[we\"ird; DROP]", "WE\"ird; drop"] {
            check(&fixture, operation, odd.clone(), json!({ "table_name": name }));
        }
    }
    for name in ["temp.emp", "other.emp", "main..emp", "\"emp", "'emp'", "main.main.emp", ""] {
        let error = fixture.call("query_records", json!({ "table_name": name })).unwrap_err();
        assert_eq!(error.details().kind, "unknown_table", "{name}");
    }
}

#[test]
fn unambiguous_spellings_are_accepted() {
    let fixture = Fixture::new();
    let first = json!({"filters": {"id": 1}});
    for filters in [json!({"eq": 1}), json!({"=": 1}), json!({"$eq": 1}), json!({"==": 1})] {
        check(&fixture, "query_records", first.clone(), json!({"filters": {"id": filters}}));
    }
    for (published, also) in
        [("ne", "!="), ("ne", "<>"), ("gt", ">"), ("gte", "$gte"), ("lt", "<"), ("lte", "<=")]
    {
        let filter = |operator: &str| json!({"filters": {"id": {operator: 2}}});
        check(&fixture, "query_records", filter(published), filter(also));
    }
    for (published, also) in [
        (json!({"limit": 2}), json!({"limit": "2"})),
        (json!({"limit": 2}), json!({"limit": 2.0})),
        (json!({"offset": 1}), json!({"offset": "1"})),
        (json!({"columns": ["id"]}), json!({"columns": "id"})),
        (json!({"columns": ["id", "name"]}), json!({"columns": "id, name"})),
        (json!({}), json!({"columns": "*"})),
        (json!({}), json!({"columns": ["*"]})),
        (json!({"order_by": "name DESC"}), json!({"order_by": "name desc"})),
        (json!({"order_by": "name DESC"}), json!({"order_by": ["name desc"]})),
        (json!({"order_by": "name DESC"}), json!({"order_by": ["-name"]})),
        (json!({"order_by": "name DESC"}), json!({"order_by": {"column": "name", "desc": true}})),
        (
            json!({"order_by": "name DESC"}),
            json!({"order_by": [{"column": "name", "direction": "desc"}]}),
        ),
        (
            json!({"order_by": "name DESC"}),
            json!({"order_by": [{"column": "name", "direction": "DESC"}]}),
        ),
        (
            json!({"order_by": "name"}),
            json!({"order_by": [{"column": "name", "direction": "asc"}]}),
        ),
    ] {
        check(&fixture, "query_records", published, also);
    }
    check(&fixture, "query_records", first, json!({"filters": r#"{"id": 1}"#}));
    check(&fixture, "describe_table", json!({"sample_rows": 1}), json!({"sample_rows": "1"}));
    check(&fixture, "execute_raw_query", json!({"max_rows": 1}), json!({"max_rows": "1"}));
}

#[test]
fn objects_may_be_json_texts() {
    let insert = |data: Value| {
        let fixture = Fixture::writable();
        let insert = json!({"table_name": "emp", "data": data, "returning": "name"});
        fixture.call("insert_record", insert)
    };
    for data in [json!({"name": "Fay"}), json!([{"name": "Fay"}, {"name": "Gus"}])] {
        assert_eq!(
            insert(json!(data.to_string())).unwrap()["rows"]["rows"],
            insert(data).unwrap()["rows"]["rows"]
        );
    }
    for text in ["Fay", "7", r#"{"name": "Fay", "name": "Gus"}"#, r#""{}""#] {
        let request = json!({"table_name": "emp", "data": text});
        serde_json::from_value::<InsertRecord>(request).unwrap_err();
    }
}

#[test]
fn returned_columns_may_be_one_name() {
    for (returning, columns) in [(json!("id"), 1), (json!(["id", "name"]), 2), (json!("*"), 6)] {
        let fixture = Fixture::writable();
        let insert = json!({"table_name": "emp", "data": {"name": "Fay"}, "returning": returning});
        let reply = fixture.call("insert_record", insert).unwrap();
        assert!(reply["rows"]["columns"].as_array().unwrap().len() >= columns, "{reply}");
    }
}

#[track_caller]
fn refuse<T: serde::de::DeserializeOwned>(arguments: Value, expected: &str) {
    let mut whole: Map<String, Value> =
        request(json!({"table_name": "emp", "query": "", "data": {}, "filters": {}}));
    let arguments: Map<String, Value> = request(arguments);
    whole.retain(|name, _| {
        let own = match std::any::type_name::<T>().rsplit("::").next().unwrap() {
            "RawQuery" => &["query"][..],
            "InsertRecord" => &["table_name", "data"],
            "DeleteRecord" => &["table_name", "filters"],
            _ => &["table_name"],
        };
        own.contains(&name.as_str())
    });
    whole.extend(arguments);
    let error =
        serde_json::from_value::<T>(whole.clone().into()).err().map(|error| error.to_string());
    assert!(error.as_ref().is_some_and(|error| error.contains(expected)), "{whole:?}: {error:?}");
}

#[test]
fn ambiguous_spellings_are_refused() {
    refuse::<QueryRecords>(json!({"limit": "ten"}), "expected a whole number");
    refuse::<QueryRecords>(json!({"limit": "-1"}), "expected a whole number");
    refuse::<QueryRecords>(json!({"limit": ""}), "expected a whole number");
    refuse::<QueryRecords>(json!({"limit": "+5"}), "expected a whole number");
    refuse::<QueryRecords>(json!({"columns": 1}), "expected a list of column names");
    refuse::<QueryRecords>(json!({"order_by": 5}), "expected text such as");
    refuse::<QueryRecords>(
        json!({"order_by": [{"column": "a", "direction": "up"}]}),
        "must be \"asc\" or \"desc\"",
    );
    refuse::<QueryRecords>(
        json!({"order_by": [{"column": "a", "desc": true, "direction": "asc"}]}),
        "contradicts",
    );
    refuse::<QueryRecords>(
        json!({"order_by": [{"column": "a", "order": "asc"}]}),
        "unknown field `order`",
    );
    // The effect of a call must be known from its arguments.
    refuse::<RawQuery>(json!({"read_only": "false"}), "expected a boolean");
    refuse::<DeleteRecord>(json!({"all": "true"}), "expected a boolean");
    refuse::<InsertRecord>(
        json!({"on_conflict": "REPLACE"}),
        "expected one of `abort`, `ignore`, `replace`",
    );
}

#[test]
fn results_have_100_rows_by_default() {
    let fixture = Fixture::new();
    let many = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n";
    crate::fixture::create(&fixture.path, &format!("CREATE TABLE many AS {many}"));
    for (operation, arguments, rows) in [
        ("query_records", json!({"table_name": "many"}), 100),
        ("query_records", json!({"table_name": "many", "limit": 150}), 150),
        ("query_records", json!({"table_name": "many", "limit": 5_000}), 1_000),
        ("execute_raw_query", json!({"query": many}), 100),
        ("execute_raw_query", json!({"query": many, "max_rows": 150}), 150),
        ("execute_raw_query", json!({"query": many, "max_rows": 5_000}), 1_000),
    ] {
        let reply = fixture.call(operation, arguments.clone()).unwrap();
        assert_eq!(reply["row_count"], rows, "{operation} {arguments}");
        let is_own_limit = arguments["limit"] == 150;
        assert_eq!(reply["truncated"], !is_own_limit, "{operation} {arguments}");
        let hint = reply["hint"].as_str().unwrap_or_default();
        match (operation, rows) {
            ("query_records", _) if is_own_limit => assert_eq!(hint, ""),
            ("query_records", _) => {
                assert!(hint.contains("next_cursor") && hint.contains("narrow"), "{hint}");
            }
            (_, 1_000) => assert!(
                hint.ends_with("LIMIT and OFFSET 1000 to the query for the next rows"),
                "{hint}"
            ),
            _ => assert!(hint.contains("raise \"max_rows\" (maximum 1000)"), "{hint}"),
        }
    }
}

#[test]
fn unknown_names_in_sql_have_suggestions() {
    let fixture = Fixture::writable();
    for (sql, read_only, expected) in [
        ("SELECT * FROM employees", true, "no such table: employees; did you mean `emp`?"),
        ("SELECT salry FROM emp", true, "no such column: salry; did you mean `salary`?"),
        ("SELECT e.salry FROM emp e", true, "no such column: e.salry; did you mean `salary`?"),
        ("SELECT zzzz FROM emp", true, "SQL error: no such column: zzzz"),
        ("UPDATE emp SET salry = 1", false, "no such column: salry; did you mean `salary`?"),
        ("DELETE FROM employees", false, "no such table: employees; did you mean `emp`?"),
        (
            "INSERT INTO emp (nam) VALUES (1)",
            false,
            "table emp has no column named nam; did you mean `name`?",
        ),
    ] {
        let arguments = json!({"query": sql, "read_only": read_only});
        let error = fixture.call("execute_raw_query", arguments).unwrap_err();
        assert!(error.to_string().ends_with(expected), "{sql}: {error}");
    }
}

#[test]
fn writes_in_read_only_calls_name_the_remedy() {
    let ask = |fixture: &Fixture, sql: &str| fixture.sql(sql).unwrap_err().to_string();
    let (read_only, writable) = (Fixture::new(), Fixture::writable());
    for sql in [
        "DELETE FROM emp",
        "-- a\ncreate table t (a)",
        "INSERT INTO emp (name) VALUES ('x') RETURNING id",
    ] {
        assert!(ask(&read_only, sql).contains("--writable"), "{sql}");
        let error = ask(&writable, sql);
        assert!(
            error.contains("\"read_only\": false") && !error.contains("--writable"),
            "{sql}: {error}"
        );
    }
    assert!(!ask(&read_only, "SELECT load_extension('x')").contains("--writable"));
}
