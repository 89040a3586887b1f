//! PgBouncer in transaction mode: each transaction may be in another session of the server.

use std::fs;
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use trunkline_sql::postgres::PostgresConfig;
use trunkline_sql::{Database, RawQuery};

use crate::fixture::{self, Fixture, PATIENCE, connect, kind, patient};
use crate::server;

struct PgBouncer {
    port: u16,
    child: Child,
    // Removed at the end.
    _folder: TempDir,
}

impl PgBouncer {
    fn start(sessions: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = server::free_address().port();
        let (_, address) = server::url().rsplit_once('@').unwrap();
        let (host, server_port) = address.rsplit_once(':').unwrap();
        let (users, log) = (folder.path().join("users"), folder.path().join("log"));
        fs::write(&users, "\"app\" \"\"\n\"postgres\" \"\"\n").unwrap();
        let config = format!(
            "[databases]\n* = host={host} port={server_port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = {sessions}\nmax_prepared_statements = 0\nserver_round_robin = 1\n",
            users.display()
        );
        // Since 1.21.
        let config = match version() >= (1, 21) {
            true => config,
            false => config.replace("max_prepared_statements = 0\n", ""),
        };
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, config).unwrap();
        server::own(folder.path());
        let mut command = server::unprivileged("pgbouncer".as_ref());
        command.arg("--quiet").arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(&log).unwrap());
        let mut child = command.spawn().expect("PgBouncer is missing: `apt-get install pgbouncer`");
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || fs::read_to_string(&log).unwrap_or_default();
            assert!(child.try_wait().unwrap().is_none(), "PgBouncer ended: {}", log());
            assert!(Instant::now() < deadline, "PgBouncer did not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { port, child, _folder: folder }
    }

    fn open(&self, fixture: &Fixture) -> Database {
        let url = format!("postgres://app@127.0.0.1:{}/{}", self.port, fixture.name);
        let config = PostgresConfig {
            writable: true,
            transaction_pooling: true,
            limits: patient(),
            ..PostgresConfig::default()
        };
        fixture.runtime.block_on(connect(&url, config)).unwrap().into()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn version() -> (u32, u32) {
    let output = server::unprivileged("pgbouncer".as_ref()).arg("--version").output();
    let output = output.expect("PgBouncer is missing: `apt-get install pgbouncer`");
    let text = String::from_utf8(output.stdout).unwrap();
    let number = text.split_whitespace().nth(1).unwrap();
    let mut parts = number.split('.').map(|part| part.parse().unwrap());
    (parts.next().unwrap(), parts.next().unwrap())
}

const TYPES: &str = "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TYPE pair AS (a mood, b integer[]);
    CREATE TABLE feeling (id integer PRIMARY KEY, mood mood); INSERT INTO feeling VALUES (1, 'sad');";

/// Several clients share two sessions of the server. Types of the database are looked up in each.
#[test]
#[ignore = "needs PostgreSQL"]
fn sessions_are_shared() {
    let fixture = Fixture::with(TYPES, PostgresConfig::default());
    let pgbouncer = PgBouncer::start(2);
    let databases = [pgbouncer.open(&fixture), pgbouncer.open(&fixture)];
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
    let pgbouncer = PgBouncer::start(1);
    let database = pgbouncer.open(&fixture);
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
