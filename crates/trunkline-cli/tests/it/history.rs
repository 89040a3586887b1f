//! The history of calls: endpoints, readers, limits, log files.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::access::Issuer;
use crate::call::check;
use crate::support::{PATIENCE, Server, post, tpch, trunkline};

fn serve(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = trunkline(folder);
    command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]).args(arguments);
    command
}

fn started(arguments: &[&str]) -> (TempDir, Server) {
    let (folder, _) = tpch();
    let server = Server::start(serve(folder.path(), arguments));
    (folder, server)
}

fn history(server: &Server, query: &str) -> Value {
    let reply = server.connect().get(&format!("/history?{query}"));
    assert_eq!(reply.status, 200, "{query}: {reply:?}");
    reply.json()
}

/// The logs of a data directory, oldest first.
fn logged(data: &Path) -> Vec<Value> {
    let mut files: Vec<_> =
        fs::read_dir(data.join("logs")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    texts.concat().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Secrets are redacted in the history and the log, whatever the endpoint.
#[test]
fn calls_of_all_endpoints_are_recorded() {
    let (folder, _) = tpch();
    let arguments = ["--data-dir", "data", "--log", "--history-redact", "shelf"];
    let command = serve(folder.path(), &arguments);
    let server = Server::start_without_data_directory(command);
    let call = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let tool = json!({"name": "list_tables", "arguments": {}, "token": "s3cret-4"});
    let command = json!({"command": "create", "resource": "todo", "payload":
        {"title": "a", "password": "s3cret-5"}});
    for (path, body) in [
        ("/", call("db.list_tables", json!({}))),
        ("/rpc", call("db.list_tables", json!({"password": "s3cret-1"}))),
        ("/", call("no.such", json!({"api_key": "s3cret-2", "shelf": "s3cret-3"}))),
        ("/mcp", call("tools/call", tool)),
        ("/execute", command),
    ] {
        server.connect().ask(&post(path, &[], &body));
    }
    let page = history(&server, "");
    let entries = page["entries"].as_array().unwrap();
    let told: Vec<_> = entries
        .iter()
        .rev()
        .map(|entry| {
            let part = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
            (part("endpoint"), part("method"), part("operation"), part("status"), &entry["code"])
        })
        .collect();
    let row = |endpoint: &str, method: &str, operation: &str, status: &str| {
        let [endpoint, method, operation, status] =
            [endpoint, method, operation, status].map(str::to_owned);
        (endpoint, method, operation, status)
    };
    let expected = [
        (row("json-rpc", "db.list_tables", "-", "result"), Value::Null),
        (row("json-rpc", "db.list_tables", "-", "error"), json!(-32602)),
        (row("json-rpc", "no.such", "-", "error"), json!(-32601)),
        (row("mcp", "tools/call", "db.list_tables", "result"), Value::Null),
        (row("execute", "todo.create", "-", "error"), json!(-32602)),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|((a, b, c, d), code)| (a.clone(), b.clone(), c.clone(), d.clone(), code))
        .collect();
    assert_eq!(told, expected, "{page:#}");
    for entry in entries {
        assert!(entry["trace_id"].as_str().is_some_and(|id| id.len() == 32), "{entry:#}");
        assert!(entry["ms"].is_number() && entry["request"].is_object(), "{entry:#}");
        assert!(entry["response"].is_object(), "{entry:#}");
    }
    let only = history(&server, "status=error&endpoint=json-rpc&limit=1");
    assert_eq!(only["entries"][0]["method"], "no.such");
    assert_eq!(only["next"], 3);

    assert_eq!(server.stop().code, Some(0));
    let log = logged(&folder.path().join("data"));
    let kept: Vec<&Value> = entries.iter().rev().collect();
    assert_eq!(log.iter().collect::<Vec<_>>(), kept, "all of it is written when the server ends");
    for text in [page.to_string(), json!(log).to_string()] {
        assert!(text.contains("[redacted]") && !text.contains("s3cret"), "{text}");
    }
}

#[test]
fn each_session_has_a_log_file() {
    let (folder, _) = tpch();
    for session in 1..=2 {
        let command = serve(folder.path(), &["--data-dir", "data", "--log"]);
        let server = Server::start_without_data_directory(command);
        for _ in 0..session {
            server.call("db.list_tables", &json!({}));
        }
        let logs = server.connect().get("/logs").json();
        assert_eq!(logs["logs"].as_array().unwrap().len(), session, "{logs}");
        assert_eq!(logs["logs"][0]["current"], true, "{logs}");
        let name = logs["logs"][session - 1]["name"].as_str().unwrap();
        let first = server.connect().get(&format!("/logs?name={name}"));
        assert_eq!(
            (first.status, first.header("content-type")),
            (200, Some("application/x-ndjson"))
        );
        // Counters are updated after the calls.
        let deadline = std::time::Instant::now() + PATIENCE;
        while server.connect().get("/logs/stats").json()["calls"] != session {
            assert!(std::time::Instant::now() < deadline, "its calls are not counted");
        }
        assert_eq!(server.connect().get("/logs/current").status, 200);
        assert_eq!(server.stop().code, Some(0));
    }
    assert_eq!(logged(&folder.path().join("data")).len(), 3);
}

/// A server deletes old files, but not the file that another server writes to.
#[test]
fn servers_with_one_data_directory_keep_their_current_files() {
    let (folder, _) = tpch();
    let arguments = ["--data-dir", "data", "--log", "--log-bytes", "65536"];
    let start = || Server::start_without_data_directory(serve(folder.path(), &arguments));
    let current = |server: &Server| {
        let logs = server.connect().get("/logs").json();
        let is_current = |log: &&Value| log["current"] == true;
        let current = logs["logs"].as_array().unwrap().iter().find(is_current);
        current.unwrap_or_else(|| panic!("{logs}"))["name"].as_str().unwrap().to_owned()
    };
    // A file has 8 KiB, and all of them 64 KiB.
    let fill = |server: &Server| {
        let (first, deadline) = (current(server), std::time::Instant::now() + PATIENCE);
        while folder.path().join("data/logs").join(&first).exists() {
            assert!(std::time::Instant::now() < deadline, "{first} is not deleted");
            server.call("db.list_tables", &json!({ "pattern": "a".repeat(7_000) }));
        }
    };
    let (quiet, busy) = (start(), start());
    quiet.call("db.list_tables", &json!({}));
    let path = folder.path().join("data/logs").join(current(&quiet));
    fill(&busy);
    assert!(path.exists(), "the file of a running server was deleted");
    quiet.call("db.list_tables", &json!({}));
    let deadline = std::time::Instant::now() + PATIENCE;
    while fs::read_to_string(&path).unwrap().lines().count() < 2 {
        assert!(std::time::Instant::now() < deadline, "the second call is not written");
    }
    assert_eq!(quiet.stop().code, Some(0));
    fill(&busy);
    assert!(!path.exists(), "the file of a stopped server is old");
}

#[test]
fn flags_limit_the_history() {
    let call = |server: &Server, id: u64| {
        server.post(&json!({"jsonrpc": "2.0", "id": id, "method": "db.list_tables"}));
    };
    let (_folder, server) = started(&["--no-history"]);
    call(&server, 1);
    for path in ["/history", "/history/stream", "/logs", "/logs/current", "/logs/stats"] {
        assert_eq!(server.connect().get(path).status, 404, "{path}");
    }
    drop(server);

    let (folder, mut server) = started(&["--history-entries", "2", "--data-dir", "data"]);
    (1..=5).for_each(|id| call(&server, id));
    let page = history(&server, "");
    let ids: Vec<_> = page["entries"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [5, 4]);
    for path in ["/logs", "/logs/current", "/logs/stats"] {
        assert_eq!(server.connect().get(path).status, 404, "{path}");
    }
    let banner = server.banner();
    let line = "  history   on, last 2 calls in memory; no log files (on with --log)\n";
    assert!(banner.contains(line), "{banner}");
    assert_eq!(server.stop().code, Some(0));
    assert!(!folder.path().join("data/logs").exists(), "log files without --log");

    let arguments = ["--log", "--log-bytes", "65536", "--history-bytes", "1"];
    let (_folder, mut server) = started(&arguments);
    (1..=5).for_each(|id| call(&server, id));
    let page = history(&server, "");
    assert_eq!(page["entries"].as_array().unwrap().len(), 1, "the newest is always kept");
    let banner = server.banner();
    let line = "  history   on, last 1000 calls in memory, and log files in ";
    assert!(banner.contains(line), "{banner}");
}

/// A subject with the name of a listed token is another caller.
#[test]
fn entries_have_the_issuers_of_their_callers() {
    let (folder, _) = tpch();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    fs::write(folder.path().join("ci"), "listed").unwrap();
    let config = "[access.tokens]\nci = { file = 'ci' }\n";
    fs::write(folder.path().join("trunkline.toml"), config).unwrap();
    let arguments = ["--jwks", "jwks.json", "--audience", "trunkline"];
    let server = Server::start(serve(folder.path(), &arguments));
    let listed = "Authorization: Bearer listed".to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"});
    for token in [&listed, &issuer.token(json!({"sub": "ci"}))] {
        assert_eq!(server.connect().ask(&post("/", &[token], &body)).status, 200);
    }
    for (query, expected) in [
        ("principal=ci", &[Some("issuer"), None][..]),
        ("principal=ci&issuer=issuer", &[Some("issuer")]),
        ("principal=ci&issuer=other", &[]),
    ] {
        let head = format!("GET /history?{query} HTTP/1.1\r\nHost: localhost\r\n{listed}\r\n\r\n");
        let found = server.connect().ask(&head).json();
        let entries = found["entries"].as_array().unwrap_or_else(|| panic!("{query}: {found}"));
        let issuers: Vec<_> = entries.iter().map(|entry| entry["issuer"].as_str()).collect();
        assert_eq!(issuers, expected, "{query}");
    }
}

#[test]
fn an_unwritable_log_directory() {
    let (folder, _) = tpch();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/logs"), "").unwrap();
    let server = Server::start_without_data_directory(serve(
        folder.path(),
        &["--data-dir", "data", "--log"],
    ));
    assert_eq!(server.connect().get("/history").status, 200);
    let health = server.connect().get("/health").json();
    assert_eq!(health["problems"][0]["component"], "log", "{health}");
    let told = ["--log", "--data-dir", "data/logs"];
    check("a file is there", &server.stop(), 0, &["listening"], &told);
    let command = serve(folder.path(), &["--data-dir", "data"]);
    let server = Server::start_without_data_directory(command);
    assert_eq!(server.connect().get("/history").status, 200);
}

#[test]
fn streams_end_with_the_server() {
    let (_folder, server) = started(&[]);
    let mut stream = server.connect();
    let reply = stream.get("/history/stream");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/event-stream")));
    while !stream.line().starts_with("id: ") {}
    server.call("db.list_tables", &json!({}));
    while !stream.line().contains("event: entry") {}
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.took < PATIENCE / 2, "it waited for a stream: {:?}", ended.took);
}

/// The callers that may read the history.
#[test]
fn readers() {
    let issuer = Issuer::new();
    let signed = |claims: Value| issuer.token(claims);
    let senders = [
        ("listed", "Authorization: Bearer one".to_owned()),
        ("signed", signed(json!({}))),
        ("admin", signed(json!({"role": "admin"}))),
        ("nobody", "X-None: 0".to_owned()),
    ];
    let jwks = ["--jwks", "jwks.json", "--audience", "trunkline"];
    for (rules, expected) in [
        (&[][..], [200, 403, 403, 401]),
        (&["--require", "db.execute_raw_query=role:admin"], [403, 403, 403, 401]),
        (&["--require", "history=role:admin"], [403, 403, 200, 401]),
        (&["--require", "db.*=scope:db, history=role:admin"], [403, 403, 200, 401]),
        (&["--require", "*=role:admin"], [403, 403, 200, 401]),
    ] {
        let (folder, _) = tpch();
        issuer.publish(folder.path());
        let mut command =
            serve(folder.path(), &["--log", "--bearer", "one", "--history-resources"]);
        command.args(jwks).args(rules);
        let server = Server::start(command);
        for ((name, header), status) in senders.iter().zip(expected) {
            for path in ["/history", "/history/stream", "/logs", "/logs/current", "/logs/stats"] {
                let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n");
                let found = server.connect().ask(&request).status;
                assert_eq!(found, status, "{name} at {path} with {rules:?}");
            }
            for uri in ["history://recent", "history://recent?limit=1", "history://call/1"] {
                let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read",
                    "params": {"uri": uri}});
                let reply = server.connect().ask(&post("/", &[header], &read));
                let code = match status {
                    200 => json!(null),
                    403 => json!(-32008),
                    _ => json!(-32007),
                };
                assert_eq!(reply.json()["error"]["code"], code, "{name}: {uri} with {rules:?}");
            }
        }
    }
}

/// The JSON of a resource of the history, or the error.
fn resource(server: &Server, uri: &str) -> Result<Value, Value> {
    let reply = server.call("resources/read", &json!({ "uri": uri }));
    let content = &reply["result"]["contents"][0];
    match content["text"].as_str() {
        Some(text) => Ok(serde_json::from_str(text).unwrap()),
        None => Err(reply["error"].clone()),
    }
}

#[test]
fn resources() {
    let (_folder, server) = started(&["--history-resources"]);
    let secret = json!({"query": "SELECT 1", "password": "s3cret"});
    server.call("db.execute_raw_query", &secret);
    for _ in 0..30 {
        server.call("db.list_tables", &json!({}));
    }
    let recent = resource(&server, "history://recent").unwrap();
    let entries = recent["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 20);
    let newest = entries[0]["sequence"].as_u64().unwrap();
    assert_eq!(newest, 31);
    let one = resource(&server, &format!("history://call/{newest}")).unwrap();
    assert_eq!(one, entries[0]);
    // Reads of the history are not part of its resources, but of `GET /history`.
    let again = resource(&server, "history://recent?limit=100").unwrap();
    assert_eq!(again["entries"].as_array().unwrap().len(), 31);
    assert_eq!(history(&server, "method=resources/read")["entries"].as_array().unwrap().len(), 3);
    let first = resource(&server, "history://call/1").unwrap();
    let text = first["request"]["text"].as_str().unwrap();
    assert!(text.contains("[redacted]") && !text.contains("s3cret"), "{text}");
    for (uri, code) in [
        ("history://call/0", -32002),
        ("history://call/999", -32002),
        ("history://call/18446744073709551615", -32002),
        ("history://call/x", -32002),
        ("history://recent?limit=0", -32002),
        ("history://recent?limit=101", -32002),
    ] {
        assert_eq!(resource(&server, uri).unwrap_err()["code"], code, "{uri}");
    }
    let listed = server.call("resources/list", &json!({}))["result"]["resources"].to_string();
    assert!(listed.contains("history://recent"), "{listed}");
    let tools = server.call("tools/list", &json!({})).to_string();
    assert!(!tools.contains("history"), "{tools}");

    let (_folder, server) = started(&[]);
    assert_eq!(resource(&server, "history://recent").unwrap_err()["code"], -32002);
    let (folder, _) = tpch();
    let mut command = serve(folder.path(), &["--history-resources", "--no-history"]);
    let ended = crate::support::run(&mut command);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("--no-history: remove one of them"), "{}", ended.stderr);
}
