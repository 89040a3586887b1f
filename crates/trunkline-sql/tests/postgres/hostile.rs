//! Hostile SQL: the database is unchanged, and the next call works. TLS, and roles that are refused.

use std::time::{Duration, Instant};

use trunkline_sql::RawQuery;
use trunkline_sql::postgres::{ConnectError, PostgresConfig};

use crate::fixture::{Fixture, connect, kind, runtime};
use crate::server::{self, url_of};

const READING: &[(&str, &str)] = &[
    ("SELECT 1; DROP TABLE emp", "multiple_statements"),
    ("WITH x AS (DELETE FROM emp RETURNING *) SELECT * FROM x", "forbidden"),
    ("WITH x AS (SELECT 1) DELETE FROM emp", "forbidden"),
    ("EXPLAIN ANALYZE DELETE FROM emp", "forbidden"),
    ("SELECT * INTO copy FROM emp", "forbidden"),
    ("SELECT * FROM emp FOR UPDATE", "forbidden"),
    ("COMMIT", "forbidden"),
    ("SET transaction_read_only = off", "forbidden"),
    ("COPY emp TO PROGRAM 'true'", "forbidden"),
    ("DO $$ BEGIN DELETE FROM emp; END $$", "forbidden"),
    ("SELECT set_config('statement_timeout', '0', false)", "forbidden"),
    ("SELECT pg_read_file('/etc/passwd')", "forbidden"),
    ("SELECT query_to_xml('DELETE FROM emp', true, true, '')", "forbidden"),
    ("SELECT pg_advisory_lock(1)", "forbidden"),
    ("SELECT harm()", "forbidden"),
    ("SELECT pg_sleep(60)", "timeout"),
    (
        "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r",
        "timeout",
    ),
    ("WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT i FROM r", "ok"),
    ("SELECT repeat('x', 20000000)", "over_limit"),
    ("SELECT repeat('x', 1000) FROM pg_class a, pg_class b, pg_class c", "ok"),
    ("SELECT 1/0", "sql"),
];

const SCRIPT: &str = concat!(
    include_str!("../data/contract.postgres.sql"),
    "CREATE FUNCTION harm() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM emp; RETURN 1; END $$;"
);

const STATE: &str = "SELECT count(*) || ' ' || coalesce(sum(hashtext(emp::text)), 0) FROM emp \
                     UNION ALL SELECT count(*)::text FROM pg_class";

#[test]
#[ignore = "needs PostgreSQL"]
fn hostile_sql_is_harmless() {
    for writable in [false, true] {
        let fixture =
            Fixture::with(SCRIPT, PostgresConfig { writable, ..PostgresConfig::default() });
        let before = fixture.look(STATE);
        for (sql, expected) in READING {
            let started = Instant::now();
            let timeout_ms = (*expected == "timeout").then_some(400);
            let query = RawQuery { timeout_ms, ..RawQuery::new(*sql) };
            let outcome = fixture.runtime.block_on(fixture.database.execute_raw_query(query));
            assert_eq!(kind(&outcome), *expected, "{sql}: {outcome:.300?}");
            assert!(started.elapsed() < Duration::from_secs(6), "{sql}: {:?}", started.elapsed());
            assert_eq!(fixture.look(STATE), before, "{sql}");
            let next = fixture.sql("SELECT count(*) FROM emp").unwrap();
            assert_eq!(next.rows.get(), "[[5]]", "{sql}");
        }
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn dropping_a_call_cancels_its_statement() {
    let fixture = Fixture::new(PostgresConfig::default());
    let sleep = RawQuery::new("SELECT pg_sleep(4)");
    let call = fixture.database.execute_raw_query(sleep);
    let timed = async { tokio::time::timeout(Duration::from_millis(200), call).await };
    assert!(fixture.runtime.block_on(timed).is_err());
    let running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(4)%' \
                   AND state = 'active' AND datname = current_database()";
    let until = Instant::now() + Duration::from_secs(3);
    while fixture.look(running) != ["0"] {
        assert!(Instant::now() < until, "the statement still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
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
