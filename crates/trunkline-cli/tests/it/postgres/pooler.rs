//! Processes that share the sessions of PostgreSQL through PgBouncer: each gets its own rows, in its own role.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use trunkline_test_postgres::{
    PgBouncer, PoolMode, SharingProxy, create_database, create_roles, psql, url_of,
};

use crate::support::{run, trunkline};

/// A table with one row for each process, and one whose rows belong to the roles.
const CONTENT: &str = "\
    CREATE TABLE t0 (c0 integer PRIMARY KEY, owner text, changes integer DEFAULT 0);
    CREATE TABLE t1 (c1 integer PRIMARY KEY, owner text, changes integer DEFAULT 0);
    CREATE TABLE t2 (c2 integer PRIMARY KEY, owner text, changes integer DEFAULT 0);
    CREATE TABLE t3 (c3 integer PRIMARY KEY, owner text, changes integer DEFAULT 0);
    INSERT INTO t0 VALUES (0, 'row 0'); INSERT INTO t1 VALUES (1, 'row 1');
    INSERT INTO t2 VALUES (2, 'row 2'); INSERT INTO t3 VALUES (3, 'row 3');
    CREATE TABLE document (id integer PRIMARY KEY, tenant name);
    INSERT INTO document VALUES (0, 'app'), (1, 'app'), (2, 'pooled_a'), (3, 'pooled_b');
    ALTER TABLE t0 OWNER TO app; ALTER TABLE t1 OWNER TO app;
    GRANT SELECT, UPDATE ON t2 TO pooled_a; GRANT SELECT, UPDATE ON t3 TO pooled_b;
    GRANT SELECT ON document TO app, pooled_a, pooled_b;
    ALTER TABLE document ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON document USING (tenant = current_user);";

/// The roles of the processes. All of them connect as `app`, so the pooler gives them the same sessions.
const ROLES: [&str; 4] = ["app", "app", "pooled_a", "pooled_b"];

/// `trunkline mcp`, with a client that sends several calls at once.
struct Client {
    number: usize,
    is_writable: bool,
    process: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    /// Number of changes that were acknowledged.
    changes: usize,
    /// Number of changes with an error.
    failures: usize,
    _folder: TempDir,
}

impl Client {
    fn start(number: usize, url: &str, is_writable: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = mcp(&folder, ROLES[number], url);
        command.args(is_writable.then_some("--writable")).stdin(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let requests = process.stdin.take().unwrap();
        let replies = BufReader::new(process.stdout.take().unwrap());
        let (changes, failures) = (0, 0);
        Self { number, is_writable, process, requests, replies, changes, failures, _folder: folder }
    }

    /// The calls of a round.
    fn calls(&self) -> Vec<ExpectedCall> {
        let (number, role) = (self.number, ROLES[self.number]);
        let (table, key) = (format!("t{number}"), format!("c{number}"));
        let row = json!([[number, format!("row {number}")]]);
        let own: Vec<_> = (0..ROLES.len()).filter(|id| ROLES[*id] == role).collect();
        let select = format!("SELECT {key}, owner FROM {table} WHERE {key} = $1");
        let documents = "SELECT json_agg(id ORDER BY id) FROM document";
        let page = json!({"table_name": table, "columns": [key, "owner"]});
        let sql = |sql: &str| json!({ "query": sql });
        let mut calls = vec![
            ("query_records", page, "/rows", row.clone()),
            ("execute_raw_query", json!({"query": select, "params": [number]}), "/rows", row),
            ("execute_raw_query", sql("SELECT current_user"), "/rows", json!([[role]])),
            ("execute_raw_query", sql(documents), "/rows", json!([[own]])),
            ("describe_table", json!({"table_name": table}), "/columns/0/name", json!(key)),
        ];
        if self.is_writable {
            let update = format!("UPDATE {table} SET changes = changes + 1");
            let update = json!({"query": update, "read_only": false});
            let owner = json!({"owner": format!("row {number}")});
            let same = json!({"table_name": table, "filters": {key: number}, "data": owner});
            calls.push((CHANGE.0, update, CHANGE.1, json!(1)));
            calls.push(("update_record", same, "/rows_affected", json!(1)));
        }
        calls
    }

    /// Sends calls of each tool at once, and returns whether all succeeded. A result is that of this process, and an error
    /// that of a server that was not reached, or the test fails.
    fn round(&mut self) -> bool {
        self.ask(&self.calls())
    }

    fn ask(&mut self, calls: &[ExpectedCall]) -> bool {
        for (id, (tool, arguments, ..)) in calls.iter().enumerate() {
            let params = json!({"name": tool, "arguments": arguments});
            let request =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            writeln!(self.requests, "{request}").unwrap();
        }
        let mut succeeded = 0;
        for _ in calls {
            let mut line = String::new();
            self.replies.read_line(&mut line).unwrap();
            let reply: Value = serde_json::from_str(&line).unwrap();
            let id = usize::try_from(reply["id"].as_u64().unwrap()).unwrap();
            let (tool, arguments, pointer, expected) = &calls[id];
            let result = &reply["result"];
            let is_change = (*tool, *pointer) == CHANGE;
            if result["isError"] == true {
                let text = result["content"][0]["text"].as_str().unwrap_or_default();
                assert!(is_outage(text), "{}: {tool} {arguments}: {reply}", self.number);
                self.failures += usize::from(is_change);
                continue;
            }
            let found = result.pointer(&format!("/structuredContent{pointer}"));
            assert_eq!(found, Some(expected), "{}: {tool} {arguments}: {reply}", self.number);
            self.changes += usize::from(is_change);
            succeeded += 1;
        }
        succeeded == calls.len()
    }

    /// Ends the process, and returns its log.
    fn end(self) -> String {
        drop(self.requests);
        let ended = self.process.wait_with_output().unwrap();
        assert!(ended.status.success());
        String::from_utf8(ended.stderr).unwrap()
    }
}

/// A tool, its arguments, a place in the result, and its value there.
type ExpectedCall = (&'static str, Value, &'static str, Value);

/// The call that counts changes.
const CHANGE: (&str, &str) = ("execute_raw_query", "/rows_affected");

/// Whether an error is that of a lost server.
fn is_outage(text: &str) -> bool {
    ["cannot be reached", "whether the change"].iter().any(|part| text.contains(part))
}

/// `trunkline mcp` of a database, in a role.
fn mcp(folder: &TempDir, role: &str, url: &str) -> Command {
    let role = if role == "app" { String::new() } else { format!("role = '{role}'\n") };
    let config = format!("[databases.shop]\nurl = '{url}'\n{role}");
    fs::write(folder.path().join("trunkline.toml"), config).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["mcp", "--output-schemas"]);
    command
}

/// Lets each client do something, at the same time.
fn parallel(clients: &mut [Client], work: impl Fn(&mut Client) + Sync) {
    std::thread::scope(|scope| {
        for client in clients {
            scope.spawn(|| work(client));
        }
    });
}

/// Each process gets its own rows, and changes its own, also while the pooler is restarted. Otherwise no call fails.
#[track_caller]
fn check(url_of: impl Fn(&str) -> String, is_writable: bool, restart: impl FnOnce() + Send) {
    const ROUNDS: usize = 25;
    let name = create_database("");
    create_roles(&["pooled_a", "pooled_b"], &[]);
    psql("postgres", &name, CONTENT);
    let url = url_of(&name);
    let start = |number| Client::start(number, &url, is_writable);
    let mut clients: Vec<_> = (0..ROLES.len()).map(start).collect();
    let rounds = |client: &mut Client| {
        let succeeded = (0..ROUNDS).filter(|_| client.round()).count();
        assert_eq!(succeeded, ROUNDS, "{}", client.number);
    };
    parallel(&mut clients, rounds);
    let is_restarting = AtomicBool::new(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            restart();
            is_restarting.store(false, Ordering::Release);
        });
        parallel(&mut clients, |client| {
            while is_restarting.load(Ordering::Acquire) {
                client.round();
            }
            let tries = (0..100).find(|_| client.round());
            tries.expect("the server is reached again");
        });
    });
    parallel(&mut clients, rounds);
    for client in clients {
        let count = format!("SELECT changes FROM t{}", client.number);
        let count: usize = psql("postgres", &name, &count)[0].parse().unwrap();
        let possible = client.changes..=client.changes + client.failures;
        assert!(possible.contains(&count), "{}: {count}, {possible:?}", client.number);
        assert_eq!(count > 0, is_writable);
        client.end();
    }
}

#[track_caller]
fn check_pgbouncer(mode: PoolMode, sessions: usize, parameters: &str, is_writable: bool) {
    let pooler = Mutex::new(PgBouncer::start(mode, sessions));
    let url_of = |name: &str| pooler.lock().unwrap().url_of("app", name) + parameters;
    let restart = || (0..3).for_each(|_| pooler.lock().unwrap().restart());
    check(url_of, is_writable, restart);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn transaction_mode() {
    check_pgbouncer(PoolMode::Transaction, 3, "", false);
    check_pgbouncer(PoolMode::Transaction, 3, "", true);
    check_pgbouncer(PoolMode::Transaction, 2, "?pgbouncer=true", true);
    // A wrong setting costs time, and no rows.
    check_pgbouncer(PoolMode::Transaction, 3, "?transaction_pooling=false", false);
}

/// Each connection of the processes needs a session.
#[test]
#[ignore = "needs PostgreSQL"]
fn session_mode() {
    check_pgbouncer(PoolMode::Session, 40, "", true);
    check_pgbouncer(PoolMode::Session, 40, "?transaction_pooling=false", true);
}

/// A proxy that is not noticed at the start.
#[test]
#[ignore = "needs PostgreSQL"]
fn proxies_that_pass_keys_on() {
    let proxy = SharingProxy::start();
    check(|name| proxy.url_of("app", name), true, || {});
    // Statements keep their names.
    check(|name| proxy.url_of("app", name) + "&transaction_pooling=false", false, || {});
}

/// `doctor`, the health of the database and the log report what was detected.
#[test]
#[ignore = "needs PostgreSQL"]
fn poolers_are_reported() {
    let name = create_database("");
    let transaction = PgBouncer::start(PoolMode::Transaction, 3);
    let session = PgBouncer::start(PoolMode::Session, 20);
    let pooled = transaction.url_of("app", &name);
    let direct = url_of("app", &name);
    let shared = "a connection pooler shares sessions: no statement is kept prepared";
    for (url, is_shared, is_logged) in [
        (direct.clone(), false, false),
        (direct + "?pgbouncer=true", true, false),
        (pooled.clone(), true, true),
        (pooled.clone() + "?transaction_pooling=true", true, false),
        (session.url_of("app", &name), true, true),
        (session.url_of("app", &name) + "?transaction_pooling=false", false, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let doctor = |option: &str| {
            let arguments = ["doctor", "--listen", "127.0.0.1:0", option, &url];
            let ended = run(trunkline(folder.path()).args(arguments));
            assert_eq!(ended.code, Some(0), "{url}: {ended:?}");
            ended.stdout
        };
        assert_eq!(doctor("--db").contains(shared), is_shared, "{url}");
        let store = doctor("--store");
        assert_eq!(store.contains(shared), is_shared, "{url}");
        assert_eq!(store.contains("each connection has its own session"), !is_shared, "{url}");
        let mut client = Client::start(0, &url, false);
        let sessions = if is_shared { "shared" } else { "own" };
        client.ask(&[("database_health", json!({}), "/postgres/sessions", json!(sessions))]);
        assert_eq!(client.end().contains(shared), is_logged, "{url}");
    }
}

/// Parameters of the URL that do not apply to shared sessions, or contradict each other.
#[test]
#[ignore = "needs PostgreSQL"]
fn urls_are_refused() {
    let url = url_of("app", &create_database(""));
    let options = "options=-csearch_path%3Dpg_catalog";
    for (parameters, code, expected) in [
        (format!("?{options}"), 0, ""),
        (format!("?transaction_pooling=false&{options}"), 0, ""),
        (
            format!("?transaction_pooling=true&{options}"),
            1,
            "setting `options`: a connection pooler does not apply it to each session; set the values for the role",
        ),
        ("?pgbouncer=yes".to_owned(), 2, "`pgbouncer`: expected true or false"),
        (
            "?pgbouncer=true&transaction_pooling=false".to_owned(),
            2,
            "`transaction_pooling` and `pgbouncer` contradict each other",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("{url}{parameters}");
        let ended = run(trunkline(folder.path()).args(["mcp", "--db", &url]));
        assert_eq!(ended.code, Some(code), "{parameters}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{parameters}: {}", ended.stderr);
    }
}

/// The server does not start with such a database or store, and the error has the reason.
#[test]
#[ignore = "needs PostgreSQL"]
fn statement_mode_is_refused() {
    let name = create_database("");
    let pooler = PgBouncer::start(PoolMode::Statement, 3);
    let url = pooler.url_of("app", &name);
    for arguments in [
        ["mcp", "--db", &url],
        ["mcp", "--db", &format!("{url}?pgbouncer=true")],
        ["serve", "--db", &url],
        ["serve", "--store", &url],
        ["doctor", "--db", &url],
        ["doctor", "--store", &url],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ended = run(trunkline(folder.path()).args(arguments));
        let output = ended.stdout + &ended.stderr;
        assert_eq!(ended.code, Some(1), "{arguments:?}: {output}");
        let reason = "is a connection pooler in statement mode, in which no transaction can run; set its `pool_mode`";
        assert!(output.contains(reason), "{arguments:?}: {output}");
    }
}
