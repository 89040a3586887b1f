//! Documents of JSON in calls and in files, which PostgreSQL stores as their text in columns of type `json`.

use serde_json::{Value, json};
use trunkline_sql::change::OnConflict;
use trunkline_sql::postgres::PostgresConfig;
use trunkline_sql::transfer::{ImportBatch, ImportRecord, csv_field, read_json};
use trunkline_sql::{Error, InsertRecord, Params, RawQuery, UpdateRecord};

use crate::fixture::Fixture;

#[test]
#[ignore = "needs PostgreSQL"]
fn documents_keep_their_text() {
    let script = "CREATE TYPE noted AS (b json, a text); \
                  CREATE TABLE v (id serial PRIMARY KEY, j json, js json[], b jsonb, bs jsonb[], c noted, t text, n numeric, i bigint);";
    let config = PostgresConfig { writable: true, ..PostgresConfig::default() };
    let fixture = Fixture::with(script, config);
    let (runtime, database) = (&fixture.runtime, &fixture.database);
    let insert = |data: String| {
        let request = format!(r#"{{"table_name": "v", "data": {data}}}"#);
        let request: InsertRecord = serde_json::from_str(&request).unwrap();
        runtime.block_on(database.insert_record(request)).map(drop)
    };
    let update = |data: String| {
        fixture.look("INSERT INTO v DEFAULT VALUES");
        let request =
            format!(r#"{{"table_name": "v", "filters": {{}}, "all": true, "data": {data}}}"#);
        let request: UpdateRecord = serde_json::from_str(&request).unwrap();
        runtime.block_on(database.update_record(request)).map(drop)
    };
    let document =
        r#"{"b": 1, "a": {"d": 1.50, "c": 1e5}, "big": 12345678901234567890123, "x": 1e400}"#;
    let normal = r#"{"a": {"c": 100000, "d": 1.50}, "b": 1"#;
    for (column, json, expected) in [
        ("j", document.to_owned(), document.to_owned()),
        ("j", "1.50".to_owned(), "1.50".to_owned()),
        ("j", "1e5".to_owned(), "1e5".to_owned()),
        ("j", r#"[ 1.0 , "x" ]"#.to_owned(), r#"[ 1.0 , "x" ]"#.to_owned()),
        ("js", format!("[{document}]"), format!("{{\"{}\"}}", document.replace('"', "\\\""))),
        (
            "c",
            format!(r#"{{"b": {document}, "a": "x"}}"#),
            format!("(\"{}\",x)", document.replace('"', "\"\"")),
        ),
        ("b", document.to_owned(), normal.to_owned()),
        ("b", "1.50".to_owned(), "1.50".to_owned()),
        ("bs", "[1.50, {\"b\": 1.50}]".to_owned(), r#"{1.50,"{\"b\": 1.50}"}"#.to_owned()),
        ("t", "1.50".to_owned(), "1.50".to_owned()),
        ("t", "1e5".to_owned(), "1e5".to_owned()),
        ("n", "1.50".to_owned(), "1.50".to_owned()),
        ("n", "1e5".to_owned(), "100000".to_owned()),
        ("i", "1e3".to_owned(), "1000".to_owned()),
        ("i", "2.00".to_owned(), "2".to_owned()),
    ] {
        let record = || format!("{{\"{column}\": {json}}}");
        // A field of CSV is the text of the value in its type.
        let is_json = json.starts_with(['{', '[']) || column == "j" || column == "b";
        let field = csv_field(if is_json { json.clone() } else { expected.clone() }, true);
        let writes: [&dyn Fn() -> Result<(), Error>; 6] = [
            &|| insert(record()),
            &|| insert(format!("[{}]", record())),
            &|| insert(Value::from(record()).to_string()),
            &|| update(record()),
            &|| import(&fixture, false, read_json(record().as_bytes()).unwrap()),
            &|| import(&fixture, true, json!({ column: field })),
        ];
        for (index, write) in writes.into_iter().enumerate() {
            fixture.look("TRUNCATE v");
            write().unwrap_or_else(|error| panic!("{column} {json} {index}: {error}"));
            let found = fixture.look(&format!("SELECT {column}::text FROM v"));
            assert!(
                found.len() == 1 && found[0].starts_with(&*expected),
                "{column} {json} {index}: {found:?}"
            );
        }
    }
    for (kind, expected) in [("json", document), ("jsonb", normal)] {
        let params = Some(serde_json::from_str::<Params>(&format!("[{document}]")).unwrap());
        let query = RawQuery::new(format!("SELECT $1::{kind}::text"));
        let found = fixture.raw(RawQuery { params, ..query }).unwrap();
        let found: Value = serde_json::from_str(found.rows.get()).unwrap();
        assert!(found[0][0].as_str().unwrap().starts_with(expected), "{found}");
    }
    // Duplicate keys are refused in calls, and kept in files.
    let twice = r#"{"a": {"b": 1, "b": 2}}"#;
    let request = format!(r#"{{"table_name": "v", "data": {{"j": {twice}}}}}"#);
    assert!(serde_json::from_str::<InsertRecord>(&request).is_err());
    fixture.look("TRUNCATE v");
    import(&fixture, false, read_json(format!("{{\"j\": {twice}}}").as_bytes()).unwrap()).unwrap();
    assert_eq!(fixture.look("SELECT j FROM v"), [twice]);
}

/// Imports one record.
fn import(fixture: &Fixture, are_texts: bool, data: Value) -> Result<(), Error> {
    let batch = ImportBatch {
        table_name: "v".to_owned(),
        records: vec![ImportRecord { line: 1, data: data.as_object().unwrap().clone() }],
        on_conflict: OnConflict::Abort,
        are_texts,
        checkpoint: None,
    };
    let imported = fixture.runtime.block_on(fixture.database.import_batch(batch))?;
    assert_eq!(imported.inserted, 1, "{data}: {imported:?}");
    Ok(())
}
