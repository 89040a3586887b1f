//! Values in results and parameters.

use serde_json::{Value, json};
use trunkline_sql::postgres::PostgresConfig;
use trunkline_sql::{InsertRecord, Params, QueryRecords, RawQuery, UpdateRecord};

use crate::fixture::{Fixture, call, kind};

const TYPES: &str = "\
    CREATE TYPE mood AS ENUM ('sad', 'happy');
    CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
    CREATE TYPE place AS (name text, position point, tags text[]);";

#[test]
#[ignore = "needs PostgreSQL"]
fn results() {
    let fixture = Fixture::with(TYPES, PostgresConfig::default());
    for (sql, expected) in [
        ("NULL", json!(null)),
        ("true", json!(true)),
        ("1::int2", json!(1)),
        ("-7", json!(-7)),
        ("9007199254740992::int8", json!(9_007_199_254_740_992_i64)),
        ("9007199254740993::int8", json!("9007199254740993")),
        ("1.5::float4", json!(1.5)),
        ("0.1::float4", json!(0.1)),
        ("0.1::float8", json!(0.1)),
        ("'NaN'::float8", json!({"$float": "NaN"})),
        ("'-Infinity'::float4", json!({"$float": "-Infinity"})),
        ("123456789012345678901234567890.0001000", json!("123456789012345678901234567890.0001000")),
        ("-0.00001", json!("-0.00001")),
        ("10000::numeric", json!("10000")),
        ("0::numeric(5, 2)", json!("0.00")),
        ("1e-20::numeric", json!("0.00000000000000000001")),
        ("'NaN'::numeric", json!("NaN")),
        ("'it''s ü'", json!("it's ü")),
        ("'ab'::char(4)", json!("ab  ")),
        ("'a'::\"char\"", json!("a")),
        ("date '2024-02-29'", json!("2024-02-29")),
        ("date '0044-03-15 BC'", json!("0044-03-15 BC")),
        ("date 'infinity'", json!("infinity")),
        ("timestamp '2024-02-29 12:34:56.789'", json!("2024-02-29T12:34:56.789")),
        ("timestamptz '2024-02-29 12:34:56+02'", json!("2024-02-29T10:34:56Z")),
        ("time '23:59:59.000001'", json!("23:59:59.000001")),
        ("timetz '12:00:00-03:30'", json!("12:00:00-03:30")),
        ("interval '1 year 2 months 3 days 04:05:06.7'", json!("P1Y2M3DT4H5M6.7S")),
        ("interval '-1 day 1 hour'", json!("P-1DT1H")),
        ("'{\"b\": [1, null]}'::json", json!({"b": [1, null]})),
        ("'{\"b\": 1.0}'::jsonb", json!({"b": 1.0})),
        ("'null'::jsonb", json!(null)),
        (
            "uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
            json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ),
        ("'\\x00ff'::bytea", json!({"$blob": "AP8=", "bytes": 2})),
        ("'happy'::mood", json!("happy")),
        ("5::positive", json!(5)),
        ("'[1,10)'::int4range", json!("[1,10)")),
        ("'empty'::int4range", json!("empty")),
        ("'(,2024-01-01]'::daterange", json!("(,2024-01-02)")),
        ("'[2024-01-01 12:00,)'::tsrange", json!("[2024-01-01T12:00:00,)")),
        ("ARRAY[1, NULL, 3]", json!([1, null, 3])),
        ("ARRAY[['a', 'b'], ['c', 'd']]", json!([["a", "b"], ["c", "d"]])),
        ("'{}'::text[]", json!([])),
        ("ARRAY['happy'::mood]", json!(["happy"])),
        (
            "ROW('Oslo', point(1, 2.5), ARRAY['x'])::place",
            json!({"name": "Oslo", "position": "(1,2.5)", "tags": ["x"]}),
        ),
        ("ROW(1, 'a', NULL)", json!([1, "a", null])),
        ("'192.168.0.1'::inet", json!("192.168.0.1")),
        ("'10.0.0.0/8'::cidr", json!("10.0.0.0/8")),
        ("'::1/128'::inet", json!("::1")),
        ("'08:00:2b:01:02:03'::macaddr", json!("08:00:2b:01:02:03")),
        ("B'10110'", json!("10110")),
        ("'a:1A b:2,3'::tsvector", json!("'a':1A 'b':2,3")),
        ("'0/16B3748'::pg_lsn", json!("0/16B3748")),
        ("'<a/>'::xml", json!("<a/>")),
        ("circle '((1,2),3)'", json!("<(1,2),3>")),
        ("polygon '((0,0),(1,1))'", json!("((0,0),(1,1))")),
        ("12::oid", json!(12)),
    ] {
        let rowset =
            fixture.sql(&format!("SELECT {sql}")).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let rows: Value = serde_json::from_str(rowset.rows.get()).unwrap();
        assert_eq!(rows, json!([[expected]]), "{sql}");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn unreadable_values_have_a_remedy() {
    let fixture = Fixture::with(TYPES, PostgresConfig::default());
    // A value without a binary format in a row without a declared type, whose types are known too late.
    let sql = "SELECT ROW(relacl) AS price FROM pg_class WHERE relacl IS NOT NULL";
    let error = fixture.sql(sql).unwrap_err();
    assert_eq!(error.details().kind, "sql", "{error:?}");
    assert!(error.to_string().contains("cast the column to text"), "{error}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn parameters() {
    let fixture = Fixture::with(TYPES, PostgresConfig::default());
    for (sql, params, expected) in [
        ("$1::int + $2::int", json!([1, 2]), Ok(json!(3))),
        ("$1::int8", json!([9_007_199_254_740_993_i64]), Ok(json!("9007199254740993"))),
        ("$1::numeric", json!(["0.10"]), Ok(json!("0.10"))),
        ("$1::text", json!(["it's \"x\""]), Ok(json!("it's \"x\""))),
        ("$1::bool", json!([true]), Ok(json!(true))),
        ("$1::text IS NULL", json!([null]), Ok(json!(true))),
        ("$1::jsonb", json!([{"a": [1]}]), Ok(json!({"a": [1]}))),
        ("$1::jsonb", json!([[1, "x"]]), Ok(json!([1, "x"]))),
        ("3 = ANY($1::int[])", json!([[1, 2, 3]]), Ok(json!(true))),
        ("$1::text[]", json!([["a\"b", null, "c,d"]]), Ok(json!(["a\"b", null, "c,d"]))),
        ("$1::mood", json!(["sad"]), Ok(json!("sad"))),
        ("$1::bytea", json!([{"$blob": "AP8="}]), Ok(json!({"$blob": "AP8=", "bytes": 2}))),
        ("$1::float8", json!([{"$float": "-Infinity"}]), Ok(json!({"$float": "-Infinity"}))),
        ("$1::date", json!(["2024-02-29"]), Ok(json!("2024-02-29"))),
        ("$1::int", json!(["x"]), Err("bad_params")),
        ("$1::int", json!([1, 2]), Err("bad_params")),
        ("$1::int", json!([]), Err("bad_params")),
        ("$1::int", json!({"a": 1}), Err("bad_params")),
    ] {
        let params: Params = serde_json::from_value(params).unwrap();
        let query = RawQuery { params: Some(params), ..RawQuery::new(format!("SELECT {sql}")) };
        match (fixture.raw(query), expected) {
            (Ok(rowset), Ok(expected)) => {
                let rows: Value = serde_json::from_str(rowset.rows.get()).unwrap();
                assert_eq!(rows, json!([[expected]]), "{sql}");
            }
            (Err(error), Err(expected)) => assert_eq!(error.details().kind, expected, "{error:?}"),
            (outcome, _) => panic!("{sql}: {outcome:?}"),
        }
    }
}

const VALUES: &str = "CREATE TABLE v (id int PRIMARY KEY, n numeric, d float8, i int8, j json, b jsonb, \
                      t text, m money, f float8[], r real, bs jsonb[], \
                      v varchar(3), c char(3), p numeric(5, 2), bi bit(3), bv bit varying(3));";

/// Writes a value as a caller sends it, and reads it.
#[track_caller]
fn check_write(fixture: &Fixture, column: &str, value: &str, expected: Result<&str, &str>) {
    let data = |id: i32| format!(r#"{{"id": {id}, "{column}": {value}}}"#);
    let insert = format!(r#"{{"table_name": "v", "data": {}}}"#, data(1));
    let insert: InsertRecord = serde_json::from_str(&insert).unwrap();
    let inserted = fixture.runtime.block_on(fixture.database.insert_record(insert));
    let update = format!(r#"{{"table_name": "v", "filters": {{"id": 1}}, "data": {}}}"#, data(1));
    let update: UpdateRecord = serde_json::from_str(&update).unwrap();
    let updated = fixture.runtime.block_on(fixture.database.update_record(update));
    match expected {
        Ok(expected) => {
            assert_eq!((kind(&inserted), kind(&updated)), ("ok", "ok"), "{inserted:?} {updated:?}");
            let query = format!(r#"{{"table_name": "v", "columns": "{column}"}}"#);
            let query: QueryRecords = serde_json::from_str(&query).unwrap();
            let rows = fixture.runtime.block_on(fixture.database.query_records(query)).unwrap();
            assert_eq!(rows.rows.get(), format!("[[{expected}]]"), "{column} {value}");
            fixture.look("DELETE FROM v");
        }
        Err(reason) => {
            for error in [inserted.unwrap_err(), updated.unwrap_err()] {
                let details = error.details();
                assert_eq!((details.kind, details.column.as_deref()), ("bad_column", Some(column)));
                assert!(error.to_string().contains(reason), "{column} {value}: {error}");
            }
        }
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn values_are_read_as_they_were_written() {
    let fixture =
        Fixture::with(VALUES, PostgresConfig { writable: true, ..PostgresConfig::default() });
    for (column, value, expected) in [
        ("n", "0.1234567890123456789", Ok(r#""0.1234567890123456789""#)),
        ("n", "12345678901234567890123", Ok(r#""12345678901234567890123""#)),
        ("n", "18446744073709551615", Ok(r#""18446744073709551615""#)),
        ("n", r#""NaN""#, Ok(r#""NaN""#)),
        ("n", r#""-0.10""#, Ok(r#""-0.10""#)),
        ("d", "0.1", Ok("0.1")),
        ("d", "0.30000000000000004", Ok("0.30000000000000004")),
        ("d", "9007199254740992", Ok("9007199254740992.0")),
        ("d", "0.1234567890123456789", Err("would be rounded")),
        ("d", "12345678901234567890123", Err("would be rounded")),
        ("d", "9007199254740993", Err("would be rounded")),
        ("d", "9223372036854775807", Err("would be rounded")),
        ("d", "1000000000000000000", Ok("1e+18")),
        ("r", "16777216", Ok("16777216.0")),
        ("r", "16777217", Err("would be rounded")),
        ("r", "16777217.0", Err("would be rounded")),
        ("r", "9007199254740993", Err("would be rounded")),
        ("r", "0.1", Ok("0.1")),
        ("f", "[1,9007199254740993]", Err("would be rounded")),
        ("f", "[0.1234567890123456789]", Err("would be rounded")),
        ("b", r#"{"$text":"YQ=="}"#, Ok(r#"{"$text": "YQ=="}"#)),
        ("b", r#"{"$blob":1}"#, Ok(r#"{"$blob": 1}"#)),
        ("j", r#"{"$float":"NaN"}"#, Ok(r#"{"$float":"NaN"}"#)),
        ("j", r#"[{"$blob":"AA=="}]"#, Ok(r#"[{"$blob":"AA=="}]"#)),
        ("bs", r#"[{"$float":"NaN"}]"#, Ok(r#"[{"$float": "NaN"}]"#)),
        ("v", r#""abcd""#, Err("character varying(3)")),
        ("v", r#""äöü  ""#, Ok(r#""äöü""#)),
        ("v", "1234", Err("character varying(3)")),
        ("c", r#""abcd""#, Err("character(3)")),
        ("p", "1000", Err("numeric(5,2)")),
        ("p", r#""-1000.5""#, Err("numeric(5,2)")),
        ("p", "999.99", Ok(r#""999.99""#)),
        ("p", r#""0000999.1""#, Ok(r#""999.10""#)),
        ("bi", r#""11""#, Err("bit(3)")),
        ("bi", r#""101""#, Ok(r#""101""#)),
        ("bv", r#""1010""#, Err("bit varying(3)")),
        ("d", r#""NaN""#, Ok(r#"{"$float":"NaN"}"#)),
        ("d", r#"{"$float":"NaN"}"#, Ok(r#"{"$float":"NaN"}"#)),
        ("d", r#""-Infinity""#, Ok(r#"{"$float":"-Infinity"}"#)),
        ("i", "9007199254740993", Ok(r#""9007199254740993""#)),
        ("i", r#""9007199254740993""#, Ok(r#""9007199254740993""#)),
        ("i", r#""x""#, Err("invalid input syntax for type bigint")),
        ("i", "9223372036854775808", Err("out of range")),
        ("j", r#""a""#, Ok(r#""a""#)),
        ("j", r#""{\"a\":1}""#, Ok(r#""{\"a\":1}""#)),
        ("j", r#"{"a":[0.1234567890123456789]}"#, Ok(r#"{"a":[0.1234567890123456789]}"#)),
        ("j", "12345678901234567890123", Ok("12345678901234567890123")),
        ("b", r#""1""#, Ok(r#""1""#)),
        ("b", "true", Ok("true")),
        ("b", r#"[0.1234567890123456789,"x"]"#, Ok(r#"[0.1234567890123456789, "x"]"#)),
        ("t", "12345678901234567890123", Ok(r#""12345678901234567890123""#)),
        ("f", "[0.5,null]", Ok("[0.5,null]")),
    ] {
        check_write(&fixture, column, value, expected);
    }
    fixture.look("INSERT INTO v (id, n, m) VALUES (1, 0.1234567890123456789, 12.5), (2, 0.12345678901234568, 3)");
    for (filters, expected) in [
        (r#"{"n": 0.1234567890123456789}"#, Ok("[[1]]")),
        (r#"{"n": {"in": [0.12345678901234568, 1]}}"#, Ok("[[2]]")),
        (r#"{"d": {"$float": "NaN"}}"#, Ok("[]")),
        (r#"{"d": {"ne": {"$float": "NaN"}}}"#, Ok("[]")),
        (r#"{"d": 9007199254740993}"#, Err("d")),
        (r#"{"d": {"gt": 0.1234567890123456789}}"#, Err("d")),
        (r#"{"id": 1, "i": {"in": [1, "x"]}}"#, Err("i")),
    ] {
        let query = format!(r#"{{"table_name": "v", "columns": "id", "filters": {filters}}}"#);
        let query: QueryRecords = serde_json::from_str(&query).unwrap();
        let rows = fixture.runtime.block_on(fixture.database.query_records(query));
        match expected {
            Ok(expected) => assert_eq!(rows.unwrap().rows.get(), expected, "{filters}"),
            Err(column) => {
                let details = rows.unwrap_err().details();
                let found = (details.kind, details.column.as_deref());
                assert_eq!(found, ("bad_filter", Some(column)), "{filters}");
            }
        }
    }
    let profile = json!({ "table_name": "v", "columns": ["m"] });
    let profile = fixture.runtime.block_on(call(&fixture.database, "profile_table", profile));
    let profile = profile.unwrap();
    assert_eq!(profile["columns"][0]["max"], "$12.50", "{profile}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn parameters_keep_digits_and_have_hints() {
    let fixture = Fixture::new(PostgresConfig::default());
    for (sql, params, expected) in [
        ("SELECT $1::numeric", "[0.1234567890123456789]", Ok(r#"[["0.1234567890123456789"]]"#)),
        (
            "SELECT $1::jsonb::text",
            r#"[{"a": 12345678901234567890123}]"#,
            Ok(r#"[["{\"a\": 12345678901234567890123}"]]"#),
        ),
        (
            "SELECT $1::float8",
            "[0.1234567890123456789]",
            Err("number 1: the number has more digits"),
        ),
        ("SELECT $1::float8", "[9007199254740993]", Err("number 1: the number has more digits")),
        ("SELECT $1::float4", "[16777217]", Err("number 1: the number has more digits")),
        (
            "SELECT $1::float8[]",
            "[[9007199254740993]]",
            Err("number 1: the number has more digits"),
        ),
        ("SELECT $1::jsonb", r#"[{"$text": "YQ=="}]"#, Ok(r#"[[{"$text": "YQ=="}]]"#)),
        ("SELECT $1::int, $2::int", r#"[1, "x"]"#, Err("number 2: invalid input syntax")),
        ("SELECT * FROM emp WHERE id = ?", "[1]", Err("parameters are $1")),
        ("SELECT * FROM emp WHERE id = :id", r#"{"id": 1}"#, Err("parameters are $1")),
    ] {
        let params: Params = serde_json::from_str(params).unwrap();
        let outcome = fixture.raw(RawQuery { params: Some(params), ..RawQuery::new(sql) });
        match expected {
            Ok(expected) => assert_eq!(outcome.unwrap().rows.get(), expected, "{sql}"),
            Err(expected) => {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains(expected), "{sql}: {error}");
            }
        }
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn too_many_values_and_invalid_names_are_errors_of_the_request() {
    let fixture =
        Fixture::with(VALUES, PostgresConfig { writable: true, ..PostgresConfig::default() });
    let many = json!({ "id": { "in": (0..65_534).collect::<Vec<_>>() } });
    for (operation, arguments, expected) in [
        ("query_records", json!({ "table_name": "v", "filters": many }), "bad_argument"),
        (
            "update_record",
            json!({ "table_name": "v", "filters": many, "data": { "t": "a", "i": 1 } }),
            "bad_argument",
        ),
        ("delete_record", json!({ "table_name": "v", "filters": many, "dry_run": true }), "ok"),
        ("query_records", json!({ "table_name": "v\0" }), "unknown_table"),
        ("describe_table", json!({ "table_name": "public.v\0" }), "unknown_table"),
        ("insert_record", json!({ "table_name": "\0", "data": { "id": 1 } }), "unknown_table"),
        (
            "create_table",
            json!({ "table_name": "a\0.b", "schema": { "a": "text" } }),
            "bad_argument",
        ),
    ] {
        let name = arguments["table_name"].clone();
        let outcome = fixture.runtime.block_on(call(&fixture.database, operation, arguments));
        assert_eq!(kind(&outcome), expected, "{operation} {name}: {outcome:?}");
    }
}

/// A caller cannot write JSON text that is not parsed.
#[test]
fn the_key_of_exact_numbers_is_refused() {
    let insert = r#"{"table_name": "v", "data": {"j": {"a": {"\u0000json": "1,\"b\":2"}}}}"#;
    assert!(serde_json::from_str::<InsertRecord>(insert).is_err());
    let params = r#"[{"a": {"\u0000json": "1,\"b\":2"}}]"#;
    assert!(serde_json::from_str::<Params>(params).is_err());
}
