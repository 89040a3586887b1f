//! Several servers with one store, directly and behind nginx. The step `nodes` of `cargo xtask ci` runs these tests.

mod conversations;
mod guides;
pub(crate) mod proxy;

pub(crate) use guides::documented;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;
use trunkline_test_postgres::{create_database, free_address, psql, url_of};

use crate::support::{Connection, PATIENCE, Server, post, run, trunkline};

const ACCEPT: &str = "Accept: application/json, text/event-stream";
pub(crate) const LIST: &str = "records://todo";

/// A server of records in a store, whose destructive tools are confirmed by the user.
fn start(folder: &Path, store: &str, listen: SocketAddr) -> Server {
    Server::start(command(folder, store, listen))
}

/// The command of [`start`].
pub(crate) fn command(folder: &Path, store: &str, listen: SocketAddr) -> Command {
    let mut command = trunkline(folder);
    command.args(["serve", "--listen", &listen.to_string()]);
    command.args(["--expose", "todo", "--confirm-destructive"]).env("TRUNKLINE_STORE", store);
    command
}

/// Two servers with one store.
struct Nodes {
    a: Server,
    b: Server,
    store: String,
    folder: TempDir,
}

impl Nodes {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = url_of("app", &create_database(""));
        let [a, b] = [(); 2].map(|()| start(folder.path(), &store, free_address()));
        Self { a, b, store, folder }
    }

    fn stop(self) {
        for server in [self.a, self.b] {
            let ended = server.stop();
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        }
    }
}

fn message(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Sends a message in a session, and returns the connection with its reply.
fn send(server: &Server, session: &str, body: &Value) -> Connection {
    let session = format!("Mcp-Session-Id: {session}");
    let mut connection = server.connect();
    connection.send(&post("/mcp", &[ACCEPT, &session], body));
    connection
}

/// Sends a message in a session, and returns the status and the body of the reply.
#[track_caller]
fn ask(server: &Server, session: &str, body: &Value) -> (u16, Value) {
    let reply = send(server, session, body).reply();
    (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
}

/// Opens a session, and returns its id.
#[track_caller]
fn initialize(server: &Server) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let opened = server.connect().ask(&post("/mcp", &[ACCEPT], &message(0, "initialize", &params)));
    assert_eq!(opened.status, 200, "{opened:?}");
    opened.header("mcp-session-id").unwrap().to_owned()
}

/// Opens the stream of a session, or continues one after an event.
fn listen(server: &Server, session: &str, last_event: Option<&str>) -> Connection {
    let last = last_event.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
    let mut stream = server.connect();
    stream.send(&format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n{last}\r\n"
    ));
    stream
}

/// The id and the data of the next event with data. None if the stream ends before.
fn next_event(stream: &mut Connection) -> Option<(String, Value)> {
    let (deadline, mut id) = (Instant::now() + PATIENCE, String::new());
    while Instant::now() < deadline {
        let line = stream.line();
        match line.split_once(": ") {
            Some(("id", found)) => found.clone_into(&mut id),
            Some(("data", data)) => return Some((id, serde_json::from_str(data).unwrap())),
            _ if line == "0" => return None,
            _ => {}
        }
    }
    panic!("no event");
}

#[track_caller]
fn data(stream: &mut Connection) -> Value {
    next_event(stream).unwrap_or_else(|| panic!("the stream has ended")).1
}

#[track_caller]
fn create(server: &Server, id: &str) {
    let reply = server.call("todo.create", &json!({"id": id, "title": "x"}));
    assert!(reply["error"].is_null(), "{reply}");
}

fn delete(id: u64, record: &str) -> Value {
    message(id, "tools/call", &json!({"name": "todo_delete", "arguments": {"id": record}}))
}

fn exists(server: &Server, record: &str) -> bool {
    server.call("todo.read", &json!({"id": record}))["error"].is_null()
}

/// The response of a user who confirms.
fn confirmation(request: &Value) -> Value {
    let result = json!({"action": "accept", "content": {"confirm": true}});
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_session_belongs_to_all_nodes() {
    let nodes = Nodes::start();
    let Nodes { a, b, .. } = &nodes;
    let session = initialize(a);
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(ask(b, &session, &initialized).0, 202);
    let rows = [
        ("tools/list", json!({})),
        ("logging/setLevel", json!({"level": "error"})),
        ("resources/subscribe", json!({"uri": LIST})),
        ("ping", json!({})),
    ];
    for (method, params) in rows {
        for server in [b, a] {
            let (status, reply) = ask(server, &session, &message(1, method, &params));
            assert_eq!((status, reply["result"].is_object()), (200, true), "{method}: {reply}");
        }
    }
    // Each node notifies of the changes by the other, and of those that its client has missed.
    for (listening, changing, record) in [(a, b, "one"), (b, a, "two")] {
        let mut stream = listen(listening, &session, None);
        create(changing, record);
        let changed = data(&mut stream);
        assert_eq!(changed["method"], "notifications/resources/updated", "{changed}");
        assert_eq!(changed["params"]["uri"], LIST, "{changed}");
    }
    // A stream with an event of the other node.
    let mut stream = listen(a, &session, Some("0-7"));
    create(b, "three");
    assert_eq!(data(&mut stream)["params"]["uri"], LIST);
    let unsubscribe = message(2, "resources/unsubscribe", &json!({"uri": LIST}));
    assert_eq!(ask(b, &session, &unsubscribe).0, 200);
    drop(stream);

    // The end of the session is seen by all.
    let end =
        format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {session}\r\n\r\n");
    assert_eq!(b.connect().ask(&end).status, 200);
    for server in [a, b] {
        assert_eq!(ask(server, &session, &message(3, "ping", &json!({}))).0, 404);
    }
    assert_eq!(ask(b, "unknown", &message(3, "ping", &json!({}))).0, 404);
    nodes.stop();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn responses_and_cancellations_reach_the_node_of_the_call() {
    let nodes = Nodes::start();
    let Nodes { a, b, .. } = &nodes;
    let session = initialize(a);
    for record in ["confirmed", "cancelled", "continued"] {
        create(a, record);
    }
    let begin = |server, id, record| {
        let mut stream = send(server, &session, &delete(id, record));
        // The first event has no data.
        let (event, request) = loop {
            let (event, data) = next_event(&mut stream).unwrap();
            if data["method"] == "elicitation/create" {
                break (event, data);
            }
        };
        (stream, event, request)
    };
    // Requests of both nodes have different ids.
    let (mut of_a, _, asked) = begin(a, 1, "confirmed");
    let (mut of_b, _, asked_by_b) = begin(b, 2, "cancelled");
    assert_ne!(asked["id"], asked_by_b["id"]);
    assert_eq!(ask(b, &session, &confirmation(&asked)).0, 202);
    let reply = data(&mut of_a);
    assert_eq!((&reply["id"], &reply["result"]["isError"]), (&json!(1), &json!(false)), "{reply}");
    assert!(!exists(b, "confirmed"));

    let params = json!({"requestId": 2});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    assert_eq!(ask(a, &session, &cancel).0, 202);
    // The request to the user is cancelled, and no reply follows.
    while let Some((_, event)) = next_event(&mut of_b) {
        assert_eq!(event["method"], "notifications/cancelled", "{event}");
    }
    assert!(exists(a, "cancelled"));

    // The client loses the connection to the node that runs its call.
    let (stream, last, asked) = begin(a, 3, "continued");
    drop(stream);
    let mut stream = listen(b, &session, Some(&last));
    assert_eq!(ask(b, &session, &confirmation(&asked)).0, 202);
    let (event, reply) = next_event(&mut stream).unwrap();
    assert_eq!(reply["id"], 3, "{reply}");
    assert!(!exists(b, "continued"));
    assert!(next_event(&mut stream).is_none(), "{event}");
    // Also after its end, and on the node itself.
    for server in [b, a] {
        let (_, again) = next_event(&mut listen(server, &session, Some(&last))).unwrap();
        assert_eq!(again, reply);
    }
    let reply = listen(b, &session, Some("5-1")).reply();
    assert_eq!(reply.status, 404);
    nodes.stop();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn requests_of_the_stateless_era_reach_any_node() {
    let nodes = Nodes::start();
    let Nodes { a, b, .. } = &nodes;
    create(a, "one");
    let modern = |server: &Server, method: &str, name: Option<&str>, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        let (method_header, name) =
            (format!("Mcp-Method: {method}"), name.map(|name| format!("Mcp-Name: {name}")));
        let mut headers = vec![ACCEPT, "MCP-Protocol-Version: 2026-07-28", &method_header];
        headers.extend(name.as_deref());
        let mut connection = server.connect();
        connection.send(&post("/mcp", &headers, &message(1, method, &params)));
        connection
    };
    let call = json!({"name": "todo_delete", "arguments": {"id": "one"}});
    let asked = modern(a, "tools/call", Some("todo_delete"), call.clone()).reply().json();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let requests = asked["result"]["inputRequests"].as_object().unwrap();
    let answer = json!({"action": "accept", "content": {"confirm": true}});
    let mut answered = call;
    answered["requestState"] = asked["result"]["requestState"].clone();
    answered["inputResponses"] = requests.keys().map(|key| (key.clone(), answer.clone())).collect();
    let filter = json!({"notifications": {"resourceSubscriptions": [LIST]}});
    let mut stream = modern(a, "subscriptions/listen", None, filter);
    assert_eq!(data(&mut stream)["method"], "notifications/subscriptions/acknowledged");
    let reply = modern(b, "tools/call", Some("todo_delete"), answered).reply().json();
    assert_eq!(reply["result"]["resultType"], "complete", "{reply}");
    assert!(!exists(a, "one"));
    assert_eq!(data(&mut stream)["params"]["uri"], LIST);
    drop(stream);
    nodes.stop();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn confirmation_codes_are_valid_on_all_nodes() {
    let nodes = Nodes::start();
    let Nodes { a, b, .. } = &nodes;
    create(a, "one");
    let refused = a.call("todo.delete", &json!({"id": "one"}));
    let code =
        refused.pointer("/error/data/confirmation_code").unwrap_or_else(|| panic!("{refused}"));
    let confirmed = json!({"id": "one", "trunkline_confirm": code});
    let deleted = b.call("todo.delete", &confirmed);
    assert!(deleted["error"].is_null(), "{deleted}");
    assert!(!exists(a, "one"));
    nodes.stop();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn messages_of_http_sse_reach_the_node_of_the_stream() {
    let nodes = Nodes::start();
    let Nodes { a, b, .. } = &nodes;
    let mut stream = a.connect();
    stream.send("GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
    let endpoint = loop {
        if let Some(endpoint) = stream.line().strip_prefix("data: ") {
            break endpoint.to_owned();
        }
    };
    for (id, server) in [(1, b), (2, a)] {
        let posted = server.connect().ask(&post(&endpoint, &[], &message(id, "ping", &json!({}))));
        assert_eq!(posted.status, 202);
        assert_eq!(data(&mut stream)["id"], id);
    }
    let unknown =
        b.connect().ask(&post("/messages?sessionId=x", &[], &message(1, "ping", &json!({}))));
    assert_eq!(unknown.status, 404);
    drop(stream);
    nodes.stop();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_restarted_node_has_the_sessions() {
    let Nodes { a, b, store, folder } = Nodes::start();
    let session = initialize(&a);
    let subscribe = message(1, "resources/subscribe", &json!({"uri": LIST}));
    assert_eq!(ask(&a, &session, &subscribe).0, 200);
    let address = a.address;
    let stream = listen(&a, &session, None);
    assert_eq!(a.stop().code, Some(0));
    drop(stream);
    // A change that the client misses while it has no stream.
    create(&b, "one");
    let a = start(folder.path(), &store, address);
    let mut stream = listen(&a, &session, Some("0-0"));
    assert_eq!(data(&mut stream)["params"]["uri"], LIST);
    assert_eq!(ask(&a, &session, &message(1, "ping", &json!({}))).0, 200);
    drop(stream);
    Nodes { a, b, store, folder }.stop();
}

/// Calls fail with errors after which clients try again, and the log has no line for each of them.
#[test]
#[ignore = "needs PostgreSQL"]
fn an_outage_of_the_store_is_logged_once() {
    let nodes = Nodes::start();
    let session = initialize(&nodes.a);
    create(&nodes.a, "before");
    let (_, database) = nodes.store.rsplit_once('/').unwrap();
    let set_reachable = |is_reachable: bool| {
        let sql = format!(
            "ALTER DATABASE {database} ALLOW_CONNECTIONS {is_reachable}; \
             SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity \
             WHERE datname = '{database}' AND NOT {is_reachable}"
        );
        psql("postgres", "postgres", &sql);
    };
    set_reachable(false);
    for _ in 0..5 {
        let refused = nodes.a.call("todo.create", &json!({"id": "during", "title": "x"}));
        let data = json!({"kind": "unreachable", "reason": "the database server cannot be reached; try again"});
        assert_eq!((&refused["error"]["code"], &refused["error"]["data"]), (&json!(-32005), &data));
        let (status, refused) = ask(&nodes.a, &session, &message(1, "ping", &json!({})));
        assert_eq!((status, &refused["error"]["code"]), (503, &json!(-32005)));
    }
    let health = |path: &str, expected: &str| {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let health = nodes.a.connect().get(path).json();
            if health["status"] == expected {
                break;
            }
            assert!(Instant::now() < deadline, "{health} is not {expected}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    health("/health", "degraded");
    health("/health/ready", "not ready");
    set_reachable(true);
    // Without another call.
    health("/health/ready", "ready");
    health("/health", "healthy");
    create(&nodes.a, "after");
    assert_eq!(ask(&nodes.a, &session, &message(1, "ping", &json!({}))).0, 200);
    let ended = nodes.a.stop();
    for (store, text) in [
        ("nodes", "cannot be reached"),
        ("nodes", "can be reached again"),
        ("records", "cannot be reached"),
        ("records", "can be reached again"),
    ] {
        let user = format!("user=\"store {store}\"");
        let lines = ended.stderr.lines().filter(|line| line.contains(&user) && line.contains(text));
        assert_eq!(lines.count(), 1, "{store} {text}: {}", ended.stderr);
    }
    let problems =
        ended.stderr.lines().filter(|line| line.contains("WARN") || line.contains("ERROR"));
    assert_eq!(problems.count(), 2, "{}", ended.stderr);
    assert_eq!(nodes.b.stop().code, Some(0));
}

/// The output of a server that does not start with this store.
#[track_caller]
fn check_refused(store: &str, expected: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("trunkline.toml");
    for place in ["flag", "variable", "file"] {
        let mut command = trunkline(folder.path());
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        match place {
            "flag" => drop(command.args(["--store", store])),
            "variable" => drop(command.env("TRUNKLINE_STORE", store)),
            _ => {
                std::fs::write(&config, "[store]\nurl = { env = 'STORE' }").unwrap();
                command.env("STORE", store);
            }
        }
        let ended = run(&mut command);
        assert_ne!(ended.code, Some(0), "{store} {place}");
        for expected in expected {
            assert!(ended.stderr.contains(expected), "{place}: {}", ended.stderr);
        }
        assert!(!(ended.stderr + &ended.stdout).contains("sesame"), "{store} {place}");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn unusable_stores_are_refused_without_their_passwords() {
    let database = create_database("");
    let store = url_of("keeper:sesame", &database);
    check_refused("mysql://keeper:sesame@localhost/x", &["expected postgres://USER@HOST/DATABASE"]);
    check_refused(&store.replace("sesame", "sesame1"), &["cannot use the store", "authentication"]);
    check_refused(
        "postgres://keeper:sesame@127.0.0.1:1/x",
        &["cannot use the store postgres://127.0.0.1:1/x", "check the URL"],
    );
    // Without privileges.
    check_refused(&store, &["cannot use the store", "check the privileges of its user"]);
    psql(
        "app",
        &database,
        "CREATE SCHEMA trunkline; CREATE TABLE trunkline.store (name text PRIMARY KEY, version bigint NOT NULL); INSERT INTO trunkline.store VALUES ('nodes', 99); GRANT USAGE ON SCHEMA trunkline TO keeper; GRANT SELECT ON trunkline.store TO keeper",
    );
    check_refused(&store, &["version is 99, the newest supported one is 2", "update this program"]);
}

#[test]
fn the_configuration_shows_the_store_without_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let config = |arguments: &[&str], content: &str| {
        std::fs::write(folder.path().join("trunkline.toml"), content).unwrap();
        let mut command = trunkline(folder.path());
        command.arg("config").args(arguments).env("STORE", "postgres://me:sesame@h/db");
        let ended = run(&mut command);
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("sesame"), "{ended:?}");
        ended
    };
    let shown = config(&["show"], "[store]\nurl = { env = 'STORE' }");
    assert!(
        shown.stdout.contains("url = \"postgres://me:<redacted>@h/db\"  # trunkline.toml:2:7"),
        "{shown:?}"
    );
    let text = config(&["show"], "[store]\nurl = 'postgres://me:sesame@h/db'");
    assert!(text.stdout.contains("url = \"postgres://me:<redacted>@h/db\""), "{text:?}");
    let invalid = config(&["check"], "[store]\nurl = 'mysql://me:sesame@h/db'");
    assert_eq!(invalid.code, Some(2), "{invalid:?}");
    assert!(invalid.stderr.contains("expected postgres://USER@HOST/DATABASE"), "{invalid:?}");
}
