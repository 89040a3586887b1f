//! `trunkline import --create`.

use std::fs;

use trunkline_test_postgres::{create_database, psql, url_of};

use crate::support::{run, trunkline};

/// Creates a table from a file, and returns its columns and rows.
#[track_caller]
fn check(table: &str, name: &str, content: &str, columns: &str, rows: &[&str]) {
    let database = create_database("CREATE SCHEMA IF NOT EXISTS sales AUTHORIZATION app;");
    let url = url_of("app", &database);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), content).unwrap();
    for options in [&["--dry-run"][..], &[]] {
        let mut command = trunkline(folder.path());
        command.args(["import", "--db", &url, "--table", table, "--create", name]).args(options);
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(0), "{name} {options:?}: {ended:?}");
        if !options.is_empty() {
            // The statement that is shown is valid, and creates the same table.
            psql("app", &database, &format!("{} DROP TABLE {table}", ended.stdout));
        }
    }
    let found = format!(
        "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) \
         FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0"
    );
    assert_eq!(psql("app", &database, &found), [columns], "{name}");
    assert_eq!(
        psql("app", &database, &format!("SELECT * FROM {table} ORDER BY 1")),
        rows,
        "{name}"
    );
    let mut command = trunkline(folder.path());
    command.args(["import", "--db", &url, "--table", table, "--create", name]);
    let again = run(&mut command);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("exists; import without --create"), "{again:?}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn tables_of_files() {
    check(
        "people",
        "t.csv",
        "id,zip,price,day,at,zoned,ok,big,tiny\n\
         1,007,1.50,2026-11-28,2026-11-28 12:00,2026-11-28T12:00:00Z,true,12345678901234567890,1e-300\n\
         2,12,3,2026-01-01,2026-01-01T00:00:00.5,2026-01-01 00:00+01,false,1,2\n",
        "id bigint, zip text, price numeric, day date, at timestamp without time zone, \
         zoned timestamp with time zone, ok boolean, big numeric, tiny double precision",
        &[
            "1|007|1.50|2026-11-28|2026-11-28 12:00:00|2026-11-28 12:00:00+00|t|12345678901234567890|1e-300",
            "2|12|3|2026-01-01|2026-01-01 00:00:00.5|2025-12-31 23:00:00+00|f|1|2",
        ],
    );
    check(
        "sales.docs",
        "t.ndjson",
        "{\"z\": 1, \"a\": {\"x\": [1]}, \"m\": \"x\"}\n{\"z\": 2, \"a\": \"s\", \"m\": 1, \"b\": {\"$blob\":\"AP8=\",\"bytes\":2}}\n",
        "z bigint, a jsonb, m text, b bytea",
        &["1|{\"x\": [1]}|x|", "2|\"s\"|1|\\x00ff"],
    );
}
