//! Statements that connections keep prepared.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_sql::postgres::PostgresConfig;
use trunkline_sql::{Database, Error, QueryLimits, RawQuery, Rowset};

use crate::fixture::{Fixture, PATIENCE, connect, kind, request};
use crate::server::url_of;

/// A database with a table, served on one connection.
fn fixture() -> Fixture {
    // Rows that are on the way are read before a statement is cancelled, which takes time on a busy machine.
    let limits = QueryLimits { timeout: Duration::from_secs(60), ..QueryLimits::default() };
    let config =
        PostgresConfig { connections: 1, writable: true, limits, ..PostgresConfig::default() };
    Fixture::with("CREATE TABLE t (id integer PRIMARY KEY); INSERT INTO t VALUES (1), (2);", config)
}

/// Runs a statement three times: prepared, kept, and kept again.
#[track_caller]
fn check(fixture: &Fixture, sql: &str, expected: &str) {
    check_each(|| fixture.sql(sql), expected, sql);
}

/// Reads the records of `t` three times.
#[track_caller]
fn check_records(fixture: &Fixture, expected: &str) {
    let read = || {
        let records = request(json!({"table_name": "t"}));
        fixture.runtime.block_on(fixture.database.query_records(records))
    };
    check_each(read, expected, "query_records");
}

#[track_caller]
fn check_each(call: impl Fn() -> Result<Rowset, Error>, expected: &str, context: &str) {
    for run in 1..=3 {
        let outcome = call();
        let shown =
            outcome.as_ref().map_or_else(|error| error.details().kind, |rows| rows.rows.get());
        assert_eq!(shown, expected, "{context}, run {run}: {outcome:?}");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn the_schema_changes() {
    let fixture = fixture();
    let sql = "SELECT * FROM t ORDER BY 1";
    check(&fixture, sql, "[[1],[2]]");
    check_records(&fixture, "[[1],[2]]");
    for (change, expected, records) in [
        ("INSERT INTO t VALUES (3)", "[[1],[2],[3]]", "[[1],[2],[3]]"),
        (
            "ALTER TABLE t ADD name text DEFAULT 'x'",
            r#"[[1,"x"],[2,"x"],[3,"x"]]"#,
            r#"[[1,"x"],[2,"x"],[3,"x"]]"#,
        ),
        (
            "ALTER TABLE t ALTER id TYPE text",
            r#"[["1","x"],["2","x"],["3","x"]]"#,
            r#"[["1","x"],["2","x"],["3","x"]]"#,
        ),
        ("DROP TABLE t", "sql", "unknown_table"),
        ("CREATE TABLE t (a numeric)", "forbidden", "unknown_table"),
        ("GRANT SELECT ON t TO app; INSERT INTO t VALUES (0.10)", r#"[["0.10"]]"#, r#"[["0.10"]]"#),
        ("REVOKE ALL ON t FROM app", "forbidden", "unknown_table"),
        ("GRANT SELECT ON t TO app", r#"[["0.10"]]"#, r#"[["0.10"]]"#),
    ] {
        fixture.look(change);
        check(&fixture, sql, expected);
        check_records(&fixture, records);
    }
    // The connection remains usable.
    check(&fixture, "SELECT 1", "[[1]]");
    // Someone has removed its prepared statements.
    let function = "CREATE FUNCTION forget() RETURNS int LANGUAGE plpgsql AS \
                    'BEGIN DEALLOCATE ALL; RETURN 1; END'";
    fixture.look(function);
    check(&fixture, "SELECT forget()", "[[1]]");
    check_records(&fixture, r#"[["0.10"]]"#);
    check(&fixture, "SELECT 1", "[[1]]");
}

/// A kept statement has the types of its parameters, and the table that its text meant.
#[test]
#[ignore = "needs PostgreSQL"]
fn pages_belong_to_the_current_table() {
    let fixture = fixture();
    fixture.look(&format!(
        "CREATE TABLE n (id integer, at timestamp DEFAULT '2026-01-01 00:00'); \
         INSERT INTO n VALUES (1); GRANT SELECT ON n TO app; CREATE SCHEMA first; \
         GRANT USAGE ON SCHEMA first TO app; \
         ALTER ROLE app IN DATABASE {} SET search_path = first, public",
        fixture.name
    ));
    let config = PostgresConfig { connections: 1, ..PostgresConfig::default() };
    let url = url_of("app", &fixture.name);
    let database: Database = fixture.runtime.block_on(connect(&url, config)).unwrap().into();
    for (change, filters, expected) in [
        ("SELECT 1", json!({"id": 1}), "[[1]]"),
        ("ALTER TABLE n ALTER id TYPE bigint", json!({"id": 3_000_000_000_u64}), "[]"),
        ("SELECT 1", json!({"at": "2026-01-01 00:00+00"}), "[[1]]"),
        (
            "SET timezone = 'UTC'; ALTER TABLE n ALTER at TYPE timestamptz",
            json!({"at": "2026-01-01 02:00+02"}),
            "[[1]]",
        ),
        (
            "CREATE TABLE first.n (id bigint, at timestamptz); INSERT INTO first.n VALUES (2); \
             GRANT SELECT ON first.n TO app",
            json!({}),
            "[[2]]",
        ),
        ("DROP TABLE first.n", json!({}), "[[1]]"),
    ] {
        fixture.look(change);
        let read = || {
            let records =
                request(json!({"table_name": "n", "columns": ["id"], "filters": filters}));
            fixture.runtime.block_on(database.query_records(records))
        };
        check_each(read, expected, change);
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn transactions_are_read_only_and_sessions_are_reset() {
    let fixture = fixture();
    let functions = "\
        CREATE FUNCTION change() RETURNS text LANGUAGE sql AS \
        $$SELECT set_config('default_transaction_read_only', 'off', false) || \
                 set_config('work_mem', '77kB', false)$$; \
        CREATE FUNCTION write() RETURNS bigint LANGUAGE sql AS \
        'INSERT INTO t VALUES (9); SELECT count(*) FROM t'; \
        CREATE FUNCTION hold() RETURNS boolean LANGUAGE sql AS 'SELECT pg_try_advisory_lock(7)';";
    fixture.look(functions);
    check(&fixture, "SHOW transaction_read_only", r#"[["on"]]"#);
    check(&fixture, "SELECT change()", r#"[["off77kB"]]"#);
    check(&fixture, "SELECT current_setting('work_mem') = '77kB'", "[[false]]");
    check(&fixture, "SELECT write()", "forbidden");
    let writes = RawQuery { read_only: false, ..RawQuery::new("SELECT change()") };
    fixture.raw(writes).unwrap();
    check(&fixture, "SELECT current_setting('work_mem') = '77kB'", "[[false]]");
    check(&fixture, "SELECT hold()", "[[true]]");
    let until = Instant::now() + PATIENCE;
    while fixture.look("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") != ["0"] {
        assert!(Instant::now() < until, "the lock is held after the call");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn limits_apply() {
    let fixture = fixture();
    let sleep = "SELECT pg_sleep($1)";
    let run = |query: &str, params: Value| {
        let timeout = if query == sleep { 1_000 } else { 60_000 };
        let query = json!({"query": query, "params": params, "timeout_ms": timeout, "max_rows": 3});
        fixture.raw(request(query))
    };
    // Not in `FROM`, where all rows are computed before the first one is returned.
    let series = "SELECT generate_series(1, $1)";
    for _ in 0..2 {
        assert_eq!(run(series, json!([2])).unwrap().rows.get(), "[[1],[2]]");
        assert_eq!(run(sleep, json!([0])).unwrap().rows.get(), "[[null]]");
        // The statement ends by itself, or is cancelled.
        for rows in [10, 100_000_000] {
            let rows = run(series, json!([rows])).unwrap();
            assert_eq!((rows.rows.get(), rows.truncated), ("[[1],[2],[3]]", true));
        }
        let started = Instant::now();
        assert_eq!(kind(&run(sleep, json!([60]))), "timeout");
        assert!(started.elapsed() < Duration::from_secs(50), "{:?}", started.elapsed());
        assert_eq!(kind(&run(sleep, json!(["x"]))), "bad_params");
        assert_eq!(kind(&run(sleep, json!([]))), "bad_params");
    }
}
