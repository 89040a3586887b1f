//! PgBouncer in transaction mode: each transaction may be in another session of the server.

use std::time::Duration;

use serde_json::json;
use trunkline_sql::postgres::PostgresConfig;
use trunkline_sql::{Database, RawQuery};

use crate::fixture::{self, Fixture, connect, kind, patient};
use crate::server::{PgBouncer, PoolMode};

/// A database of the fixture behind a pooler.
fn open(pooler: &PgBouncer, fixture: &Fixture) -> Database {
    let config = PostgresConfig { writable: true, limits: patient(), ..PostgresConfig::default() };
    let url = pooler.url_of("app", &fixture.name);
    fixture.runtime.block_on(connect(&url, config)).unwrap().into()
}

const TYPES: &str = "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TYPE pair AS (a mood, b integer[]);
    CREATE TABLE feeling (id integer PRIMARY KEY, mood mood); INSERT INTO feeling VALUES (1, 'sad');";

/// Several clients share two sessions of the server. Types of the database are looked up in each.
#[test]
#[ignore = "needs PostgreSQL"]
fn sessions_are_shared() {
    let fixture = Fixture::with(TYPES, PostgresConfig::default());
    let pgbouncer = PgBouncer::start(PoolMode::Transaction, 2);
    let databases = [open(&pgbouncer, &fixture), open(&pgbouncer, &fixture)];
    let run = |database: &Database, number: usize| {
        let database = database.clone();
        async move {
            let sql = "SELECT ROW('happy', ARRAY[$1::int])::pair, 'sad'::mood";
            let params = serde_json::from_value(json!([number])).unwrap();
            let query = RawQuery { params: Some(params), ..RawQuery::new(sql) };
            let rows = database.execute_raw_query(query).await.unwrap().into_rows().unwrap();
            assert_eq!(
                rows.rows.get(),
                format!("[[{{\"a\":\"happy\",\"b\":[{number}]}},\"sad\"]]")
            );
            let update =
                json!({"table_name": "feeling", "filters": {"id": 1}, "data": {"mood": "happy"}});
            let updated = fixture::call(&database, "update_record", update).await;
            assert_eq!(kind(&updated), "ok", "{updated:?}");
        }
    };
    fixture.runtime.block_on(async {
        for round in 0..5 {
            let calls =
                (0..8).map(|number| tokio::spawn(run(&databases[number % 2], round * 8 + number)));
            for call in calls.collect::<Vec<_>>() {
                call.await.unwrap();
            }
        }
    });
    // The statement itself, and the lookup of no type.
    let left = "SELECT count(*)::int FROM pg_prepared_statements";
    for _ in 0..4 {
        let query = databases[0].execute_raw_query(RawQuery::new(left));
        let rows = fixture.runtime.block_on(query).unwrap().into_rows().unwrap();
        assert_eq!(rows.rows.get(), "[[1]]");
    }
}

/// Statements end at their timeout, also after their client is lost. Later calls work.
#[test]
#[ignore = "needs PostgreSQL"]
fn statements_are_cancelled() {
    let fixture = Fixture::with(TYPES, PostgresConfig::default());
    let pgbouncer = PgBouncer::start(PoolMode::Transaction, 1);
    let database = open(&pgbouncer, &fixture);
    let endless =
        "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT i FROM r";
    // A statement that is not needed any more occupies the only session until its timeout.
    for (sql, timeout_ms, expected) in [
        ("SELECT pg_sleep(120)", Some(1_000), "timeout"),
        ("SELECT 1", None, "ok"),
        ("SELECT nothing", None, "sql"),
        (endless, Some(5_000), "ok"),
        ("SELECT 1", None, "ok"),
    ] {
        let query = RawQuery { timeout_ms, ..RawQuery::new(sql) };
        let outcome = fixture.runtime.block_on(database.execute_raw_query(query));
        assert_eq!(kind(&outcome), expected, "{sql}: {outcome:?}");
    }
    for _ in 0..5 {
        let timeout_ms = Some(1_000);
        let sleep = RawQuery { timeout_ms, ..RawQuery::new("SELECT pg_sleep(120)") };
        let call = database.execute_raw_query(sleep);
        let dropped = async { tokio::time::timeout(Duration::from_millis(100), call).await };
        assert!(fixture.runtime.block_on(dropped).is_err());
        let next = database.execute_raw_query(RawQuery::new("SELECT 1"));
        let next = fixture.runtime.block_on(next);
        assert_eq!(kind(&next), "ok", "{next:?}");
    }
}
