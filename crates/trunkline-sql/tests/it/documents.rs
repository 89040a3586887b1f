//! Documents of JSON in files, which SQLite stores as their text.

use trunkline_sql::change::OnConflict;
use trunkline_sql::sqlite::SqliteConfig;
use trunkline_sql::transfer::{ImportBatch, ImportRecord, csv_field, read_json};

use crate::fixture::Fixture;

/// Imports a value of a file into a column of this type, and compares the type and the text of what is stored.
#[track_caller]
fn check(
    fixture: &Fixture,
    declared: &str,
    (json, is_field): (&str, bool),
    expected: (&str, &str),
) {
    let table = format!("DROP TABLE IF EXISTS t; CREATE TABLE t (v {declared})");
    let connection = rusqlite::Connection::open(&fixture.path).unwrap();
    connection.execute_batch(&table).unwrap();
    let mut record = read_json(format!("{{\"v\": {json}}}").as_bytes()).unwrap();
    if is_field {
        record["v"] = csv_field(json.to_owned(), true);
    }
    let batch = ImportBatch {
        table_name: "t".to_owned(),
        records: vec![ImportRecord { line: 1, data: record.as_object().unwrap().clone() }],
        on_conflict: OnConflict::Abort,
        are_texts: is_field,
        checkpoint: None,
    };
    let imported = fixture.runtime.block_on(fixture.database.import_batch(batch)).unwrap();
    assert_eq!(imported.inserted, 1, "{declared} {json}: {imported:?}");
    let sql = "SELECT typeof(v), CAST(v AS TEXT) FROM t";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (kind, text): (String, String) = connection.query_row(sql, [], row).unwrap();
    assert_eq!((kind.as_str(), text.as_str()), expected, "{declared} {json} {is_field}");
}

#[test]
fn documents_are_stored_as_their_text() {
    let fixture = Fixture::with(SqliteConfig { writable: true, ..SqliteConfig::default() });
    for declared in ["TEXT", "JSON", "JSONB", "", "BLOB", "VARCHAR(10)"] {
        for (json, expected) in [
            // The order of the members, and duplicate keys.
            (r#"{"b":1,"a":{"d":2,"c":3}}"#, None),
            (r#"{"a":1,"a":2}"#, None),
            // Numbers.
            (r#"[1.0,1.50,1e5,1E400,-0,12345678901234567890123,0.1234567890123456789]"#, None),
            // Texts.
            (r#"["\u00e9","\/","\ud800"," \" \\"]"#, None),
            ("{}", None),
            // White space.
            ("{ \"b\" : [1 ,2],\t\"a\": \" x \" }", Some(r#"{"b":[1,2],"a":" x "}"#)),
            // Objects that only look like values.
            (r#"{"$other":1,"$blob2":2}"#, None),
            (r#"[{"$blob":"AA=="}]"#, None),
        ] {
            check(&fixture, declared, (json, false), ("text", expected.unwrap_or(json)));
            check(&fixture, declared, (json, true), ("text", json));
        }
    }
}

#[test]
fn numbers_in_columns_of_texts_keep_their_text() {
    let fixture = Fixture::with(SqliteConfig { writable: true, ..SqliteConfig::default() });
    for number in [
        "7",
        "1.0",
        "1.50",
        "1e5",
        "1e300",
        "1E400",
        "-0",
        "0.1234567890123456789",
        "18446744073709551615",
        "12345678901234567890123",
    ] {
        check(&fixture, "TEXT", (number, false), ("text", number));
    }
    for (declared, number, expected) in [
        ("INTEGER", "1.0", ("integer", "1")),
        ("INTEGER", "1e3", ("integer", "1000")),
        ("REAL", "1.50", ("real", "1.5")),
        ("REAL", "1e5", ("real", "100000.0")),
        ("NUMERIC", "1.50", ("real", "1.5")),
        ("NUMERIC", "2.00", ("integer", "2")),
        ("", "1.50", ("real", "1.5")),
        ("", "1E2", ("real", "100.0")),
        ("TEXT", r#"{"$blob":"QQ=="}"#, ("blob", "A")),
        ("TEXT", r#"{"$text":"QQ=="}"#, ("text", "A")),
        ("", r#"{"$integer":"9007199254740993"}"#, ("integer", "9007199254740993")),
        ("REAL", r#"{"$float":"Infinity"}"#, ("real", "Inf")),
    ] {
        check(&fixture, declared, (number, false), expected);
    }
}
