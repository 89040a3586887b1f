//! The sample database.

use std::fs;

use serde_json::json;
use trunkline_sql::RawQuery;
use trunkline_sql::sample::{self, SampleError, Scale};
use trunkline_sql::sqlite::{SqliteConfig, create_empty};

use crate::fixture::{create, files, open, reply, request, rows, runtime};

#[test]
fn the_sample_is_complete_and_consistent() {
    let _memory = crate::fixture::share_memory();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.db");
    sample::write(&path, Scale::TINY).unwrap();
    assert_eq!(files(folder.path()).len(), 1, "the file alone");

    let connection = rusqlite::Connection::open(&path).unwrap();
    let check = |pragma: &str| {
        let read = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        connection.query_row(pragma, [], read)
    };
    assert_eq!(check("PRAGMA integrity_check").unwrap(), "ok");
    let dangling = check("PRAGMA foreign_key_check");
    assert_eq!(dangling, Err(rusqlite::Error::QueryReturnedNoRows));

    let database = open(&path, SqliteConfig::default()).unwrap();
    let list = runtime().block_on(database.list_tables(request(json!({}))));
    let tables = reply(list.unwrap())["tables"].take();
    let summaries: Vec<_> = tables.as_array().unwrap().iter().collect();
    let estimates: Vec<_> = summaries
        .iter()
        .map(|t| (t["name"].as_str().unwrap(), t["row_estimate"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        estimates,
        [
            ("customer", 150),
            ("lineitem", 6_005),
            ("nation", 25),
            ("orders", 1_500),
            ("part", 200),
            ("partsupp", 700),
            ("region", 5),
            ("supplier", 10),
        ]
    );
    let query = "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue \
         FROM lineitem JOIN orders ON o_orderkey = l_orderkey JOIN customer ON c_custkey = o_custkey \
         JOIN nation ON n_nationkey = c_nationkey WHERE o_orderdate >= '1994-01-01' \
         GROUP BY n_name ORDER BY revenue DESC LIMIT 3";
    let rowset = runtime().block_on(database.execute_raw_query(RawQuery::new(query)));
    assert_eq!(rows(rowset.unwrap()).row_count, 3);
}

#[test]
fn the_sample_replaces_empty_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    create_empty(path("no bytes")).unwrap();
    create(&path("no tables"), "PRAGMA user_version = 1");
    create(&path("a table"), "CREATE TABLE t(a)");
    create(&path("a view"), "CREATE VIEW v AS SELECT 1");
    fs::write(path("text"), "text").unwrap();
    for (name, is_written) in [
        ("missing", true),
        ("no bytes", true),
        ("no tables", true),
        ("a table", false),
        ("a view", false),
        ("text", false),
    ] {
        let before = fs::read(path(name)).unwrap_or_default();
        match sample::write(path(name), Scale::TINY) {
            Ok(()) => assert!(is_written, "{name}"),
            Err(SampleError::NotEmpty) => assert!(!is_written, "{name}"),
            Err(error) => panic!("{name}: {error:?}"),
        }
        let is_same = fs::read(path(name)).unwrap() == before;
        assert_eq!(is_same, !is_written, "{name}");
    }
    assert_eq!(files(folder.path()).len(), 6, "no draft stays");
    let error = sample::write(path("no folder/a.db"), Scale::TINY).unwrap_err();
    assert!(matches!(error, SampleError::Io(_)), "{error:?}");
}
