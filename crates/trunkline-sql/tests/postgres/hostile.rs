//! Hostile SQL: the database is unchanged, and the next call works. TLS, and roles that are refused.

use std::time::Instant;

use serde::Deserialize;

use trunkline_sql::postgres::{ConnectError, PostgresConfig};
use trunkline_sql::{Database, QueryLimits, RawQuery};

use crate::fixture::{Fixture, PATIENCE, connect, kind, patient, runtime};
use crate::server::{self, url_of};

/// A statement, and the outcomes: `ok` or kinds of errors, with alternatives separated by `|`.
#[derive(Deserialize)]
struct Text {
    sql: String,
    read: String,
    /// With `read_only: false`. Absent if the statement may then change the database.
    write: Option<String>,
}

const SCRIPT: &str = concat!(
    include_str!("../data/contract.postgres.sql"),
    "CREATE SEQUENCE seq;
     CREATE FUNCTION harm() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM emp; RETURN 1; END $$;"
);

/// The rows, and the numbers of objects of all kinds.
const STATE: &str = "SELECT count(*) || ' ' || coalesce(sum(hashtext(emp::text)), 0) FROM emp; \
    SELECT array_agg(t::text ORDER BY t::text) FROM (SELECT d::text FROM dept AS d UNION ALL \
        SELECT p::text FROM pair AS p UNION ALL SELECT k::text FROM keyless AS k) AS t; \
    SELECT count(*) FROM pg_class; SELECT count(*) FROM pg_proc; SELECT count(*) FROM pg_largeobject_metadata; \
    SELECT count(*) FROM pg_description; SELECT relowner, relacl FROM pg_class WHERE relname = 'emp'; \
    SELECT is_called FROM seq";

#[test]
#[ignore = "needs PostgreSQL"]
fn hostile_sql_is_harmless() {
    let texts: Vec<Text> = include_str!("../data/hostile.postgres.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for writable in [false, true] {
        let limits = QueryLimits { max_affected: 2, ..patient() };
        let config = PostgresConfig { writable, limits, ..PostgresConfig::default() };
        let fixture = Fixture::with(SCRIPT, config);
        let before = fixture.look(STATE);
        for Text { sql, read, write } in &texts {
            check_harmless(&fixture, sql, true, read);
            if writable && let Some(write) = write {
                check_harmless(&fixture, sql, false, write);
            }
            assert_eq!(fixture.look(STATE), before, "{sql}");
        }
    }
}

#[track_caller]
fn check_harmless(fixture: &Fixture, sql: &str, read_only: bool, expected: &str) {
    let started = Instant::now();
    let timeout_ms = expected.contains("timeout").then_some(300);
    let query = RawQuery { timeout_ms, read_only, ..RawQuery::new(sql) };
    let outcome = fixture.runtime.block_on(fixture.database.execute_raw_query(query));
    let found = kind(&outcome);
    assert!(expected.split('|').any(|one| one == found), "{sql}: {outcome:.300?}");
    assert!(started.elapsed() < PATIENCE, "{sql}: {:?}", started.elapsed());
    let next = fixture.sql("SELECT count(*), current_setting('statement_timeout') <> '0' FROM emp");
    assert_eq!(next.unwrap().rows.get(), "[[5,true]]", "{sql}");
}

/// `RESET ALL` does not reset the role.
#[test]
#[ignore = "needs PostgreSQL"]
fn a_role_that_a_function_sets_ends_with_the_call() {
    let script = "CREATE FUNCTION become() RETURNS text LANGUAGE sql \
                  AS $$ SELECT set_config('role', 'reader', false) $$";
    let config = PostgresConfig { writable: true, connections: 1, ..PostgresConfig::default() };
    let fixture = Fixture::with(script, config);
    for read_only in [true, false] {
        let query = RawQuery { read_only, ..RawQuery::new("SELECT become()") };
        assert_eq!(fixture.raw(query).unwrap().rows.get(), r#"[["reader"]]"#);
        let user = fixture.sql("SELECT current_user::text").unwrap();
        assert_eq!(user.rows.get(), r#"[["app"]]"#, "{read_only}");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn dropping_a_call_cancels_its_statement() {
    let fixture = Fixture::new(PostgresConfig { limits: patient(), ..PostgresConfig::default() });
    fixture.occupy().abort();
    fixture.until_running("SELECT pg_sleep", 0);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn privileged_roles_are_refused() {
    let fixture = Fixture::new(PostgresConfig::default());
    for role in ["postgres", "filer"] {
        let connected =
            runtime().block_on(connect(&url_of(role, &fixture.name), PostgresConfig::default()));
        assert!(
            matches!(connected, Err(ConnectError::PrivilegedRole { .. })),
            "{role}: {connected:?}"
        );
    }
}

/// The role `keeper` has a password, which the server verifies with SCRAM. The other one has none.
#[test]
#[ignore = "needs PostgreSQL"]
fn channel_binding() {
    let fixture = Fixture::new(PostgresConfig::default());
    fixture.look(&format!("GRANT CONNECT ON DATABASE {} TO keeper", fixture.name));
    let (keeper, app) = (url_of("keeper:sesame", &fixture.name), url_of("app", &fixture.name));
    let without_tls = "needs TLS and a password with SCRAM-SHA-256";
    for (url, expected) in [
        (format!("{keeper}?sslmode=require&channel_binding=require"), None),
        (format!("{keeper}?channel_binding=require"), None),
        (format!("{keeper}?sslmode=require&channel_binding=prefer"), None),
        (format!("{keeper}?sslmode=require"), None),
        (format!("{keeper}?sslmode=require&channel_binding=disable"), None),
        (format!("{keeper}?sslmode=disable&channel_binding=prefer"), None),
        (format!("{keeper}?sslmode=disable"), None),
        (format!("{app}?sslmode=require&channel_binding=prefer"), None),
        (format!("{keeper}?sslmode=disable&channel_binding=require"), Some(without_tls)),
        (format!("{app}?sslmode=require&channel_binding=require"), Some(without_tls)),
        (
            format!("{}?channel_binding=require", keeper.replace("sesame", "wrong")),
            Some("password authentication failed"),
        ),
        (format!("{keeper}?channel_binding=yes"), Some("`channel_binding`")),
    ] {
        let connected = fixture.runtime.block_on(connect(&url, PostgresConfig::default()));
        let error = connected.as_ref().err().map(ToString::to_string);
        match (&error, expected) {
            (Some(error), Some(part)) => assert!(error.contains(part), "{url}: {error}"),
            _ => assert_eq!(error.as_deref(), expected, "{url}"),
        }
        let Ok(database) = connected else { continue };
        // The first rows of an endless result, whose statement is cancelled over another connection.
        let database = Database::from(database);
        let endless = RawQuery::new("SELECT generate_series(1, 1000000000000)");
        let rows = fixture.runtime.block_on(database.execute_raw_query(endless));
        assert!(rows.unwrap().into_rows().unwrap().truncated, "{url}");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn modes_of_tls() {
    let fixture = Fixture::new(PostgresConfig::default());
    let Some(certificate) = server::certificate() else { return };
    let roots = certificate.display().to_string();
    let base = url_of("app", &fixture.name);
    let named = base.replace("127.0.0.1", "localhost");
    for (url, expected) in [
        (format!("{base}?sslmode=disable"), true),
        (format!("{base}?sslmode=require"), true),
        (format!("{base}?sslmode=verify-ca&sslrootcert={roots}"), true),
        (format!("{base}?sslmode=verify-full&sslrootcert={roots}"), false),
        (format!("{named}?sslmode=verify-full&sslrootcert={roots}"), true),
        (format!("{named}?sslmode=verify-full"), false),
    ] {
        let connected = fixture.runtime.block_on(connect(&url, PostgresConfig::default()));
        assert_eq!(connected.is_ok(), expected, "{url}: {connected:?}");
    }
}
