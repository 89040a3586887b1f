//! PgBouncer in transaction mode: each transaction may be in another session of the server, which other clients use, too.

use std::time::Duration;

use serde_json::json;
use trunkline_sql::change::OnConflict;
use trunkline_sql::postgres::{Pooling, PostgresConfig};
use trunkline_sql::transfer::{ImportBatch, ImportRecord};
use trunkline_sql::{Database, RawQuery};

use crate::fixture::{self, Fixture, connect, kind, patient};
use crate::server::{PgBouncer, PoolMode, psql_at, url_of};

/// A database of the fixture behind a pooler.
fn open(pooler: &PgBouncer, fixture: &Fixture) -> Database {
    open_as(pooler, fixture, Pooling::Detect)
}

fn open_as(pooler: &PgBouncer, fixture: &Fixture, pooling: Pooling) -> Database {
    let limits = patient();
    let config = PostgresConfig { writable: true, limits, pooling, ..PostgresConfig::default() };
    let url = pooler.url_of("app", &fixture.name);
    fixture.runtime.block_on(connect(&url, config)).unwrap().into()
}

const TYPES: &str = "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TYPE pair AS (a mood, b integer[]);
    CREATE TYPE shape AS ENUM ('x'); CREATE TYPE colour AS ENUM ('x');
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
            // On a connection, each call has a type that the driver has not looked up before.
            let name = ["mood", "shape", "colour"][number / 8 % 3];
            let sql = format!(
                "SELECT ROW('happy', ARRAY[$1::int])::pair, '{number}'::money, 'x'::{name}"
            );
            let sql = if name == "mood" { sql.replace("'x'", "'sad'") } else { sql };
            let params = serde_json::from_value(json!([number])).unwrap();
            let query = RawQuery { params: Some(params), ..RawQuery::new(&sql) };
            let rows = database.execute_raw_query(query).await.unwrap().into_rows().unwrap();
            let last = if name == "mood" { "sad" } else { "x" };
            assert_eq!(
                rows.rows.get(),
                format!("[[{{\"a\":\"happy\",\"b\":[{number}]}},\"${number}.00\",\"{last}\"]]")
            );
            let update =
                json!({"table_name": "feeling", "filters": {"id": 1}, "data": {"mood": "happy"}});
            let updated = fixture::call(&database, "update_record", update).await;
            assert_eq!(kind(&updated), "ok", "{updated:?}");
        }
    };
    fixture.runtime.block_on(async {
        for round in 0..6 {
            let calls =
                (0..8).map(|number| tokio::spawn(run(&databases[number % 2], round * 8 + number)));
            for call in calls.collect::<Vec<_>>() {
                call.await.unwrap();
            }
        }
    });
    // Statements of our own have no names.
    let left = "SELECT count(*)::int FROM pg_prepared_statements";
    for _ in 0..4 {
        let query = databases[0].execute_raw_query(RawQuery::new(left));
        let rows = fixture.runtime.block_on(query).unwrap().into_rows().unwrap();
        assert_eq!(rows.rows.get(), "[[0]]");
    }
}

/// State that a client of the pooler leaves in the session, and the roles that it may set.
const LEFT: &str = "\
    CREATE TEMP TABLE feeling AS SELECT 666 AS id, 'other' AS mood; SET ROLE reader; SET search_path TO pg_catalog; \
    SET default_transaction_read_only = on; SET statement_timeout = 1; SET lock_timeout = 1; SET work_mem = '77kB'; \
    SET app.tenant = 'other'; SET row_security = off; SET synchronous_commit = off; SET bytea_output = 'escape'; \
    SET IntervalStyle = 'iso_8601'; SET standard_conforming_strings = off; PREPARE s0 AS SELECT 666;";

/// A transaction begins in the state of a new session, whatever other clients have left in it.
#[test]
#[ignore = "needs PostgreSQL"]
fn transactions_do_not_depend_on_other_clients() {
    let fixture = Fixture::with(TYPES, PostgresConfig::default());
    let pgbouncer = PgBouncer::start(PoolMode::Transaction, 1);
    let url = pgbouncer.url_of("app", &fixture.name);
    // Also those of the start.
    psql_at(&url, LEFT);
    let database = open(&pgbouncer, &fixture);
    let settings = "SELECT array_to_string(ARRAY(SELECT coalesce(current_setting(name, true), '') FROM unnest(ARRAY[\
        'role', 'search_path', 'transaction_read_only', 'app.tenant', 'row_security', 'synchronous_commit', 'work_mem', \
        'bytea_output', 'IntervalStyle', 'standard_conforming_strings', 'application_name', 'client_encoding']) AS name), ' ')";
    let expected = "none \"$user\", public on  on on 4MB hex postgres on trunkline UTF8";
    let sql = |sql: &str, read_only: bool| {
        let call = database.execute_raw_query(RawQuery { read_only, ..RawQuery::new(sql) });
        let rows = fixture.runtime.block_on(call).map(|outcome| outcome.into_rows().unwrap());
        rows.map_or_else(|error| error.to_string(), |rows| rows.rows.get().to_owned())
    };
    let look =
        "SELECT current_user || current_setting('app.tenant') || to_regclass('pg_temp.feeling')";
    for _ in 0..3 {
        assert_eq!(sql(settings, true), json!([[expected]]).to_string());
        assert_eq!(sql("SELECT current_user, id, mood FROM feeling", true), r#"[["app",1,"sad"]]"#);
        assert!(sql("SELECT lastval()", true).contains("not yet defined in this session"));
        let page = fixture::call(&database, "query_records", json!({"table_name": "feeling"}));
        assert_eq!(fixture.runtime.block_on(page).unwrap()["rows"], json!([[1, "sad"]]));
        // Reading calls restore what they have found.
        assert_eq!(psql_at(&url, look), ["readerotherfeeling"]);
    }
    let written = sql("UPDATE feeling SET mood = 'happy' RETURNING current_user, mood", false);
    assert_eq!(written, r#"[["app","happy"]]"#);
    assert_eq!(fixture.look("SELECT mood FROM feeling"), ["happy"]);
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

/// A call that ends early does not end those of other callers.
#[test]
#[ignore = "needs PostgreSQL"]
fn other_calls_are_not_cancelled() {
    for (mode, sessions, pooling) in
        [(PoolMode::Transaction, 2, Pooling::Detect), (PoolMode::Session, 12, Pooling::Session)]
    {
        check_other_calls(&PgBouncer::start(mode, sessions), pooling);
    }
}

fn check_other_calls(pgbouncer: &PgBouncer, pooling: Pooling) {
    let fixture = Fixture::with(TYPES, PostgresConfig::default());
    let database = open_as(pgbouncer, &fixture, pooling);
    fixture.runtime.block_on(async {
        let other = tokio::spawn({
            let database = database.clone();
            async move { database.execute_raw_query(RawQuery::new("SELECT pg_sleep(3)")).await }
        });
        for _ in 0..10 {
            let sleep = RawQuery { timeout_ms: Some(200), ..RawQuery::new("SELECT pg_sleep(120)") };
            let call = database.execute_raw_query(sleep);
            assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
        }
        let other = other.await.unwrap();
        assert_eq!(kind(&other), "ok", "{other:?}");
    });
}

/// A trigger that runs at the commit has the role of the caller. The session has its own role again afterwards.
#[test]
#[ignore = "needs PostgreSQL"]
fn deferred_triggers_have_the_role_of_the_caller() {
    const AUDITED: &str = "\
        CREATE TABLE entry (id integer PRIMARY KEY); CREATE TABLE audit (who name);
        GRANT SELECT, INSERT ON entry, audit TO reader;
        CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN INSERT INTO audit VALUES (current_user); RETURN NULL; END$$;
        CREATE CONSTRAINT TRIGGER record AFTER INSERT ON entry DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION record();";
    let fixture = Fixture::with(AUDITED, PostgresConfig::default());
    let pgbouncer = PgBouncer::start(PoolMode::Transaction, 1);
    let pooled = pgbouncer.url_of("app", &fixture.name);
    for (id, url) in [(1, url_of("app", &fixture.name)), (2, pooled.clone())] {
        let (role, limits) = (Some("reader".to_owned()), patient());
        let config = PostgresConfig { writable: true, role, limits, ..PostgresConfig::default() };
        let database: Database = fixture.runtime.block_on(connect(&url, config)).unwrap().into();
        let data = json!({ "id": id }).as_object().unwrap().clone();
        let batch = ImportBatch {
            table_name: "entry".to_owned(),
            records: vec![ImportRecord { line: 1, data }],
            on_conflict: OnConflict::Abort,
            are_texts: false,
            checkpoint: None,
        };
        let imported = fixture.runtime.block_on(database.import_batch(batch)).unwrap();
        assert_eq!((imported.inserted, imported.rejected.len()), (1, 0), "{url}");
    }
    assert_eq!(fixture.look("SELECT who FROM audit"), ["reader", "reader"]);
    assert_eq!(psql_at(&pooled, "SELECT current_user"), ["app"]);
}
