//! The audit log: what it contains, and that no acknowledged change is missing from it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use rusqlite::Connection as Sqlite;
use serde_json::{Value, json};

use crate::storage_fault::limited;
use crate::support::{Connection, Server, cpu_time, post, run, trunkline, with_content};

const CONTENT: &str = "
    CREATE TABLE team (id INTEGER PRIMARY KEY);
    CREATE TABLE member (id INTEGER PRIMARY KEY, team INTEGER REFERENCES team ON DELETE CASCADE);
    INSERT INTO team VALUES (1), (2);
    INSERT INTO member VALUES (1, 1), (2, 1), (3, 2);
";

const LOG: &str = "audit.jsonl";

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = trunkline(folder);
    command.args(["serve", "a.db", "--listen", "127.0.0.1:0", "--writable", "--audit-log", LOG]);
    command.args(arguments);
    command
}

/// The entries of a log, without incomplete lines.
fn entries(path: &Path) -> Vec<Value> {
    let text = fs::read(path).unwrap();
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn request(id: &Value, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The calls of the tests, and the members of the last entry; `None` for a call that is not logged.
fn calls() -> Vec<(&'static str, Value, Option<Value>)> {
    vec![
        (
            "insert_record",
            json!({ "table_name": "team", "data": { "id": 7 } }),
            Some(json!({ "effect": "additive", "outcome": "ok", "rows_affected": 1 })),
        ),
        (
            "insert_record",
            json!({ "table_name": "team", "data": { "id": 7 } }),
            Some(
                json!({ "effect": "additive", "outcome": "error", "code": -32003, "rows_affected": null }),
            ),
        ),
        (
            "update_record",
            json!({ "table_name": "member", "filters": { "id": 1 }, "data": { "team": 2 } }),
            Some(json!({ "effect": "destructive", "outcome": "ok", "rows_affected": 1 })),
        ),
        (
            "update_record",
            json!({ "table_name": "member", "filters": { "id": 1 }, "data": { "team": 1 }, "dry_run": true }),
            None,
        ),
        (
            "delete_record",
            json!({ "table_name": "team", "filters": { "id": 2 } }),
            Some(json!({ "outcome": "ok", "rows_affected": 1, "cascaded": 2 })),
        ),
        (
            "create_table",
            json!({ "table_name": "t", "schema": { "a": "TEXT" } }),
            Some(json!({ "effect": "additive", "outcome": "ok" })),
        ),
        (
            "execute_raw_query",
            json!({ "query": "DELETE FROM team", "read_only": false }),
            Some(json!({ "effect": "destructive", "outcome": "ok", "rows_affected": 2 })),
        ),
        ("execute_raw_query", json!({ "query": "SELECT 1" }), None),
        (
            "execute_raw_query",
            json!({ "query": "DELETE FROM", "read_only": false }),
            Some(json!({ "outcome": "error", "code": -32003 })),
        ),
        ("query_records", json!({ "table_name": "team" }), None),
    ]
}

/// Checks the two entries of a call.
#[track_caller]
fn check(
    about: &str,
    found: &[Value],
    (operation, id): (&str, usize),
    expected: &Value,
    common: &Value,
) {
    let [begin, end] = found else { panic!("{about}: {found:?}") };
    assert_eq!((&begin["event"], &end["event"]), (&json!("begin"), &json!("end")), "{about}");
    for entry in [begin, end] {
        assert_eq!(entry["operation"], format!("db.{operation}"), "{about}: {entry}");
        assert_eq!(entry["id"], id, "{about}: {entry}");
        assert_eq!(entry["database"], "main", "{about}: {entry}");
        for (name, value) in common.as_object().unwrap() {
            assert_eq!(entry[name], *value, "{about}: {entry}");
        }
    }
    assert_eq!(begin["call"], end["call"], "{about}");
    assert_eq!(begin["params_sha256"], end["params_sha256"], "{about}");
    assert!(end["ms"].as_f64().unwrap() > 0.0 && end["time"].is_string(), "{about}: {end}");
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(end[name], *value, "{about}: {name} of {end}");
    }
}

#[test]
fn each_call_that_changes_data_has_two_entries_over_every_protocol() {
    let digests = Mutex::new(Vec::new());
    for protocol in ["json-rpc", "mcp", "edn", "mcp-stdio"] {
        let (folder, _path) = with_content(CONTENT);
        let log = folder.path().join(LOG);
        let common = match protocol {
            "mcp-stdio" | "mcp" => json!({ "endpoint": protocol }),
            _ => json!({ "endpoint": "json-rpc" }),
        };
        let calls = calls();
        let messages =
            calls.iter().enumerate().map(|(id, (operation, params, _))| match protocol {
                "json-rpc" | "edn" => request(&id.into(), &format!("db.{operation}"), params),
                _ => request(
                    &id.into(),
                    "tools/call",
                    &json!({ "name": operation, "arguments": params }),
                ),
            });
        if protocol == "mcp-stdio" {
            // Sequentially, since requests of one client run concurrently.
            for message in messages {
                let input = folder.path().join("input");
                fs::write(&input, format!("{message}\n")).unwrap();
                let mut command = trunkline(folder.path());
                command.args(["mcp", "a.db", "--writable", "--audit-log", LOG]);
                let ended = run(command.stdin(fs::File::open(&input).unwrap()));
                assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            }
        } else {
            let server = Server::start(command(folder.path(), &[]));
            let mut connection = server.connect();
            for message in messages {
                let sent = match protocol {
                    "mcp" => post("/mcp", &[], &message),
                    "edn" => edn(&message),
                    _ => post("/rpc", &[], &message),
                };
                assert_eq!(connection.ask(&sent).status, 200, "{message}");
            }
            assert_eq!(server.stop().code, Some(0));
        }
        let mode = fs::metadata(&log).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{mode:o}");
        let found = entries(&log);
        let logged = calls.iter().enumerate().filter_map(|(id, (operation, _, expected))| {
            expected.as_ref().map(|expected| (id, operation, expected))
        });
        let logged: Vec<_> = logged.collect();
        assert_eq!(found.len(), 2 * logged.len(), "{protocol}: {found:?}");
        for ((id, operation, expected), found) in logged.into_iter().zip(found.chunks(2)) {
            check(&format!("{protocol} {operation}"), found, (operation, id), expected, &common);
        }
        let of_protocol: Vec<_> =
            found.iter().map(|entry| entry["params_sha256"].clone()).collect();
        digests.lock().unwrap().push(of_protocol);
    }
    let digests = digests.into_inner().unwrap();
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{digests:?}");
    // `printf '%s' '{"query":"DELETE FROM team","read_only":false}' | sha256sum`
    let delete = &digests[0][10];
    assert_eq!(delete, "d87cf278291d6ac30b03ffbceb964030364031690edea788c1a1685a31bfff0a");
}

/// A request in EDN, which has commas and quoted keys like JSON, and no colons after keys.
fn edn(message: &Value) -> String {
    fn text(value: &Value) -> String {
        match value {
            Value::Object(members) => {
                let members =
                    members.iter().map(|(name, value)| format!("{} {}", json!(name), text(value)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            Value::Array(values) => {
                format!("[{}]", values.iter().map(text).collect::<Vec<_>>().join(" "))
            }
            Value::Null => "nil".to_owned(),
            other => other.to_string(),
        }
    }
    let members = message.as_object().unwrap().iter();
    let members = members.map(|(name, value)| format!(":{name} {}", text(value)));
    let body = format!("{{{}}}", members.collect::<Vec<_>>().join(", "));
    let head = "Host: localhost\r\nContent-Type: application/edn";
    format!("POST /rpc HTTP/1.1\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn records_and_the_agent_are_logged_with_the_caller() {
    let (folder, _path) = with_content(CONTENT);
    let mut command = command(folder.path(), &["--data-dir", "data"]);
    command.env("TRUNKLINE_BEARER", "s3cret-token");
    let server = Server::start(command);
    let mut connection = server.connect();
    let headers = ["Authorization: Bearer s3cret-token"];
    let insert =
        json!({ "tool": "insert_record", "params": { "table_name": "team", "data": { "id": 9 } } });
    for (path, body, operation, endpoint) in [
        (
            "/rpc",
            request(&json!(1), "todo.create", &json!({ "id": "a", "title": "b" })),
            "todo.create",
            "json-rpc",
        ),
        (
            "/execute",
            json!({ "command": "update", "resource": "todo", "id": "a", "payload": { "done": true } }),
            "todo.update",
            "execute",
        ),
        ("/api", request(&json!(2), "agent.execute_tool", &insert), "db.insert_record", "agent"),
    ] {
        let before = entries(&folder.path().join(LOG)).len();
        let reply = connection.ask(&post(path, &headers, &body));
        assert!(reply.status < 300, "{path} {body}: {reply:?}");
        let found = entries(&folder.path().join(LOG)).split_off(before);
        assert_eq!(found.len(), 2, "{path} {body}: {found:?}");
        for entry in found {
            assert_eq!(entry["operation"], operation, "{entry}");
            assert_eq!(entry["endpoint"], endpoint, "{entry}");
            assert!(entry["principal"].is_string(), "{entry}");
            assert!(entry["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{entry}");
            assert!(!entry.to_string().contains("s3cret"), "{entry}");
        }
    }
    assert_eq!(server.stop().code, Some(0));
}

/// The digest of params of 1 MB takes about the same CPU time, whatever their depth.
#[test]
fn the_cpu_time_of_an_entry_does_not_depend_on_the_depth() {
    const CALLS: u64 = 2;
    let (folder, _path) = with_content(CONTENT);
    let server = Server::start(command(folder.path(), &[]));
    let mut connection = server.connect();
    let mut time = |depth: usize| {
        let row = format!("{}[{}0]{}", "[".repeat(depth), "1,".repeat(500_000), "]".repeat(depth));
        let before = cpu_time(server.process());
        for id in 1..=CALLS {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"db.insert_record","params":{{"table_name":"team","data":{{"id":{row}}}}}}}"#
            );
            let reply = connection.ask(&post("/rpc", &[], &body)).json();
            assert_eq!(reply["error"]["code"], -32602, "{reply}");
        }
        cpu_time(server.process()) - before
    };
    time(1);
    let (flat, deep) = (time(1), time(110));
    assert!(deep < 2 * flat, "flat: {flat:?}, deep: {deep:?}");
    let found = entries(&folder.path().join(LOG));
    assert_eq!(found.len() as u64, 3 * 2 * CALLS);
    assert!(found.iter().all(|entry| entry["params_sha256"].is_string()));
    assert_eq!(server.stop().code, Some(0));
}

/// Inserts rows on several connections until the server is killed. The ids of acknowledged calls.
fn insert_until_killed(server: Server, first: u64) -> Vec<u64> {
    const CLIENTS: u64 = 8;
    const ENOUGH: usize = 200;
    let acknowledged = Mutex::new(Vec::new());
    let address = server.address;
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let acknowledged = &acknowledged;
            scope.spawn(move || {
                let mut connection = Connection::open(address);
                for number in 0.. {
                    let id = first + number * CLIENTS + client;
                    let params = json!({ "table_name": "team", "data": { "id": id } });
                    let body = request(&id.into(), "db.insert_record", &params);
                    let Some(reply) = connection.try_ask(&post("/rpc", &[], &body)) else { return };
                    if reply["result"]["rows_affected"] == 1 {
                        acknowledged.lock().unwrap().push(id);
                    }
                }
            });
        }
        let deadline = std::time::Instant::now() + crate::support::PATIENCE;
        while acknowledged.lock().unwrap().len() < ENOUGH {
            assert!(std::time::Instant::now() < deadline, "too few calls are acknowledged");
            thread::yield_now();
        }
        server.signal("KILL");
    });
    assert_eq!(server.end().code, None, "a signal has killed the server");
    acknowledged.into_inner().unwrap()
}

#[test]
fn no_acknowledged_change_is_missing_after_kill() {
    let (folder, path) = with_content(CONTENT);
    let log = folder.path().join(LOG);
    let mut acknowledged = Vec::new();
    for round in 1..=3 {
        let server = Server::start(command(folder.path(), &[]));
        acknowledged.extend(insert_until_killed(server, round * 1_000_000));
        // The kill may have hit a write.
        let mut file = fs::OpenOptions::new().append(true).open(&log).unwrap();
        file.write_all(br#"{"time":"2026-"#).unwrap();
    }
    let found = entries(&log);
    let has = |id: &u64, event: &str| {
        found.iter().any(|entry| entry["id"] == *id && entry["event"] == event)
    };
    let missing: Vec<_> =
        acknowledged.iter().filter(|id| !has(id, "begin") || !has(id, "end")).collect();
    assert!(acknowledged.len() >= 600 && missing.is_empty(), "{missing:?}");
    // Every row of the database has at least the entry before its change.
    let sqlite = Sqlite::open(path).unwrap();
    let mut rows = sqlite.prepare("SELECT id FROM team WHERE id >= 1000000").unwrap();
    let rows: Vec<u64> =
        rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(rows.iter().all(|id| has(id, "begin")));
    let lines = fs::read_to_string(&log).unwrap();
    let torn = lines.lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).count();
    assert!(torn <= 6, "{torn} lines are incomplete");
}

#[test]
fn the_log_continues_after_the_file_was_moved_or_removed() {
    let (folder, _path) = with_content(CONTENT);
    let (log, moved) = (folder.path().join(LOG), folder.path().join("audit.1"));
    let server = Server::start(command(folder.path(), &[]));
    let insert = |id: u64| {
        let params = json!({ "table_name": "team", "data": { "id": id } });
        assert_eq!(server.call("db.insert_record", &params)["result"]["rows_affected"], 1);
    };
    insert(10);
    fs::rename(&log, &moved).unwrap();
    insert(11);
    assert_eq!((entries(&moved).len(), entries(&log).len()), (2, 2));
    fs::remove_file(&log).unwrap();
    insert(12);
    assert_eq!(entries(&log).len(), 2);
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn calls_that_cannot_be_logged_are_refused() {
    let (folder, _path) = with_content(CONTENT);
    let log = folder.path().join(LOG);
    // Every file may have up to 256 KiB, and the log has nearly as many.
    let shell = limited(&command(folder.path(), &[]), 512);
    let probe = Command::new("sh")
        .args(["-c", "ulimit -f 512 && head -c 262100 /dev/zero > probe && stat -c %s probe"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let limit = String::from_utf8(probe.stdout).unwrap().trim().parse::<u64>().unwrap();
    assert_eq!(limit, 262_100, "blocks of `ulimit -f` have 512 bytes");
    let fill = format!("{}\n", "x".repeat(262_100 - 1));
    fs::write(&log, &fill).unwrap();
    let server = Server::start(shell);
    let insert = json!({ "table_name": "team", "data": { "id": 10 } });
    for _ in 0..2 {
        let error = &server.call("db.insert_record", &insert)["error"];
        assert_eq!(error["code"], -32014, "{error}");
        assert_eq!(error["data"]["kind"], "audit_unavailable", "{error}");
    }
    let count = json!({ "query": "SELECT count(*) FROM team" });
    assert_eq!(server.sql(&count), Ok(json!([[2]])), "nothing was changed, and reading works");
    let health = server.connect().get("/health").json();
    assert_eq!(health["status"], "degraded", "{health}");
    assert_eq!(health["problems"][0]["component"], "audit_log", "{health}");
    fs::rename(&log, folder.path().join("full")).unwrap();
    assert_eq!(server.call("db.insert_record", &insert)["result"]["rows_affected"], 1);
    assert_eq!(server.connect().get("/health").json()["status"], "healthy");
    assert_eq!(entries(&log).len(), 2);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_log_that_cannot_be_opened_prevents_the_start() {
    let (folder, _path) = with_content(CONTENT);
    fs::create_dir(folder.path().join("dir")).unwrap();
    for (path, reason) in [
        ("dir", "cannot open the audit log dir"),
        ("missing/audit", "cannot open the audit log missing/audit"),
        ("/dev/null", "the audit log /dev/null is not a regular file"),
    ] {
        for subcommand in ["serve", "mcp"] {
            let mut command = trunkline(folder.path());
            command.args([subcommand, "a.db", "--audit-log", path]);
            let ended = run(&mut command);
            assert_eq!(ended.code, Some(1), "{subcommand} {path}: {ended:?}");
            assert!(ended.stderr.contains(reason), "{subcommand} {path}: {ended:?}");
        }
    }
}

#[test]
fn the_configuration_file_sets_the_log() {
    let (folder, _path) = with_content(CONTENT);
    let config = "[server]\nlisten = \"127.0.0.1:0\"\naudit_log = \"logs/audit.jsonl\"\n\
                  [databases.main]\nurl = \"a.db\"\nwritable = true\n";
    fs::create_dir(folder.path().join("logs")).unwrap();
    fs::write(folder.path().join("trunkline.toml"), config).unwrap();
    let mut command = trunkline(folder.path());
    command.arg("serve");
    let server = Server::start(command);
    let insert = json!({ "table_name": "team", "data": { "id": 10 } });
    assert_eq!(server.call("db.insert_record", &insert)["result"]["rows_affected"], 1);
    assert_eq!(server.stop().code, Some(0));
    assert_eq!(entries(&folder.path().join("logs/audit.jsonl")).len(), 2);
}
