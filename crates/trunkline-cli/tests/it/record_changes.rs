//! Notifications of changed tables and records, over sessions and `subscriptions/listen`.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Connection, PATIENCE, Server, post, trunkline, with_content};

const CONTENT: &str = "CREATE TABLE emp (id INTEGER PRIMARY KEY, name TEXT);\
    CREATE TABLE dept (id INTEGER PRIMARY KEY, name TEXT) WITHOUT ROWID;\
    CREATE VIEW names AS SELECT name FROM emp;\
    INSERT INTO emp VALUES (1, 'Ada'); INSERT INTO dept VALUES (1, 'R&D')";

/// A writable server of a database and of exposed records.
fn server(path: &Path) -> Server {
    let mut command = trunkline(path.parent().unwrap());
    command.args(["--listen", "127.0.0.1:0", "--writable", "--expose", "todo", "--db"]).arg(path);
    Server::start(command)
}

/// A stream of notifications.
struct Events(Connection);

impl Events {
    #[track_caller]
    fn next(&mut self) -> Value {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let line = self.0.line();
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
        panic!("no event");
    }

    /// The method of the next notification and the URI of its resource.
    #[track_caller]
    fn change(&mut self) -> (String, Value) {
        let event = self.next();
        let method = event["method"].as_str().unwrap_or_else(|| panic!("{event}"));
        (method.to_owned(), event["params"]["uri"].clone())
    }

    /// Subscribes in a session of the first era.
    fn of_session(server: &Server, uris: &[&str]) -> Self {
        const BOTH: &str = "Accept: application/json, text/event-stream";
        let rpc = |method: &str, params: &Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let opened = server.connect().ask(&post("/mcp", &[BOTH], &rpc("initialize", &params)));
        let capabilities = &opened.json()["result"]["capabilities"];
        assert_eq!(capabilities["resources"], json!({"subscribe": true, "listChanged": true}));
        assert_eq!(capabilities["tools"], json!({"listChanged": true}));
        let session = format!("Mcp-Session-Id: {}", opened.header("mcp-session-id").unwrap());
        for uri in uris {
            let subscribe = rpc("resources/subscribe", &json!({"uri": uri}));
            let reply = server.connect().ask(&post("/mcp", &[BOTH, &session], &subscribe));
            assert_eq!(reply.json()["result"], json!({}), "{uri}");
        }
        let mut events = server.connect();
        events.send(&format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{session}\r\n\r\n"
        ));
        Self(events)
    }

    /// Subscribes by a request of the stateless era.
    fn of_request(server: &Server, uris: &[&str]) -> Self {
        let filter = json!({"resourcesListChanged": true, "resourceSubscriptions": uris});
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        let method = "subscriptions/listen";
        let params = json!({"notifications": filter, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": "s", "method": method, "params": params});
        let headers = [
            "Accept: application/json, text/event-stream",
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: subscriptions/listen",
        ];
        let mut connection = server.connect();
        connection.send(&post("/mcp", &headers, &body));
        let mut events = Self(connection);
        let acknowledged = events.next();
        let mut accepted = acknowledged["params"]["notifications"].clone();
        let uris_of = accepted["resourceSubscriptions"].as_array_mut().unwrap();
        assert_eq!(uris_of.len(), uris.len(), "{acknowledged}");
        assert_eq!(accepted["resourcesListChanged"], true, "{acknowledged}");
        events
    }
}

#[track_caller]
fn call(server: &Server, method: &str, params: &Value) -> Value {
    let reply = server.call(method, params);
    assert!(reply["error"].is_null(), "{method} {params}: {reply}");
    reply["result"].clone()
}

fn raw(sql: &str) -> (&'static str, Value) {
    ("db.execute_raw_query", json!({"query": sql, "read_only": false}))
}

#[test]
fn writes_notify_subscribers_of_tables() {
    const EMP: &str = "db://main/table/emp";
    const ROWS: &str = "db://main/table/EMP/rows?limit=5";
    const DEPT: &str = "db://main/table/dept";
    const NAMES: &str = "db://main/table/names";
    const LIST: (&str, Option<&str>) = ("notifications/resources/list_changed", None);
    let updated = |uri| ("notifications/resources/updated", Some(uri));
    let emp = [updated(ROWS), updated(EMP), updated(NAMES)];
    let dept = [updated(DEPT), updated(NAMES)];
    let rows = [
        ("db.insert_record", json!({"table_name": "Emp", "data": {"name": "Grace"}}), &emp[..]),
        (
            "db.update_record",
            json!({"table_name": "emp", "data": {"name": "A"}, "filters": {"id": 1}}),
            &emp,
        ),
        ("db.delete_record", json!({"table_name": "emp", "filters": {"id": 1}}), &emp),
        ("db.insert_record", json!({"table_name": "dept", "data": {"id": 2}}), &dept),
    ];
    let raws = [
        (raw("UPDATE dept SET name = 'x'"), &dept[..]),
        (raw("DELETE FROM dept"), &dept),
        (raw("CREATE TABLE other (a)"), &[LIST, updated(NAMES)]),
        (raw("CREATE INDEX by_name ON emp (name)"), &[LIST, emp[0], emp[1], emp[2]]),
        (raw("ALTER TABLE emp ADD COLUMN age"), &[LIST, emp[0], dept[0], emp[1], emp[2]]),
    ];
    let create = json!({"table_name": "t", "schema": {"a": "TEXT"}});
    let rows = rows.into_iter().chain(raws.into_iter().map(|((m, p), expected)| (m, p, expected)));
    let created = [LIST, updated(NAMES)];
    let rows = rows.chain([("db.create_table", create, &created[..])]);

    let (_folder, path) = with_content(CONTENT);
    let server = server(&path);
    let uris = [EMP, ROWS, DEPT, NAMES];
    let mut streams = [Events::of_session(&server, &uris), Events::of_request(&server, &uris)];
    // Calls that change nothing.
    call(&server, "db.delete_record", &json!({"table_name": "emp", "filters": {"id": 77}}));
    let dry = json!({"table_name": "emp", "filters": {"id": 1}, "dry_run": true});
    call(&server, "db.delete_record", &dry);
    let failed = server.call("db.insert_record", &json!({"table_name": "emp", "data": {"id": 1}}));
    assert!(failed["error"].is_object(), "{failed}");
    for (method, params, expected) in rows {
        call(&server, method, &params);
        for stream in &mut streams {
            let mut found: Vec<_> = expected.iter().map(|_| stream.change()).collect();
            let mut expected: Vec<_> =
                expected.iter().map(|(method, uri)| ((*method).to_owned(), json!(uri))).collect();
            found.sort_by_key(|change| format!("{change:?}"));
            expected.sort_by_key(|change| format!("{change:?}"));
            assert_eq!(found, expected, "{method} {params}");
        }
    }
    drop(streams);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn changes_of_other_processes_notify_subscribers() {
    for mode in ["DELETE", "WAL"] {
        let (_folder, path) = with_content(&format!("PRAGMA journal_mode={mode}; {CONTENT}"));
        for is_writable in [true, false] {
            let mut command = trunkline(path.parent().unwrap());
            command.args(["--listen", "127.0.0.1:0", "--db"]).arg(&path);
            command.args(is_writable.then_some("--writable"));
            let server = Server::start(command);
            // The server has checked the file once when it answers.
            let mut stream = Events::of_request(&server, &["db://main/table/emp"]);
            std::thread::sleep(std::time::Duration::from_millis(50));
            let other = rusqlite::Connection::open(&path).unwrap();
            other.execute("INSERT INTO emp (name) VALUES ('other')", []).unwrap();
            let mut found = [stream.change().0, stream.change().0];
            found.sort();
            let expected =
                ["notifications/resources/list_changed", "notifications/resources/updated"];
            assert_eq!(found, expected, "{mode} {is_writable}");
            drop((stream, other));
            assert_eq!(server.stop().code, Some(0), "{mode} {is_writable}");
        }
    }
}

#[test]
fn changes_of_records_notify_subscribers() {
    const RECORD: &str = "records://todo/a%20b";
    const LIST: &str = "records://todo";
    const PAGE: &str = "records://todo?limit=2";
    let request = |id: &str| json!({"requestId": id});
    let all: &[&str] = &[LIST, RECORD, PAGE];
    let rows = [
        ("todo.create", json!({"id": "a b", "title": "x"}), all),
        ("todo.create", json!({"id": "c", "title": "x"}), &[LIST, PAGE]),
        ("todo.update", json!({"id": "a b", "title": "y"}), all),
        ("todo.update", json!({"id": "a b", "title": "z", "metadata": request("r1")}), all),
        // A repetition changes nothing.
        ("todo.update", json!({"id": "a b", "title": "z", "metadata": request("r1")}), &[]),
        ("todo.revert", request("r1"), all),
        ("todo.revert", request("r1"), &[]),
        ("todo.delete", json!({"id": "a b"}), all),
    ];
    let (_folder, path) = with_content(CONTENT);
    let server = server(&path);
    let uris = [RECORD, LIST, PAGE];
    let mut streams = [Events::of_session(&server, &uris), Events::of_request(&server, &uris)];
    for (method, params, expected) in rows {
        call(&server, method, &params);
        for stream in &mut streams {
            let mut found: Vec<_> = expected.iter().map(|_| stream.change().1).collect();
            found.sort_by_key(Value::to_string);
            let mut expected: Vec<_> = expected.iter().map(|uri| json!(uri)).collect();
            expected.sort_by_key(Value::to_string);
            assert_eq!(found, expected, "{method} {params}");
        }
    }
    drop(streams);
    assert_eq!(server.stop().code, Some(0));
}
