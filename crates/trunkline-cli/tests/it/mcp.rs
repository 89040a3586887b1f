//! MCP from the outside: the eight tools over HTTP, HTTP+SSE and stdio, read-only and not.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Connection, ENDLESS, Ended, Server, files, post, run, trunkline, with_content,
};

const TOOLS: [&str; 8] = [
    "list_tables",
    "describe_table",
    "query_records",
    "execute_raw_query",
    "insert_record",
    "update_record",
    "delete_record",
    "create_table",
];

const CONTENT: &str = "CREATE TABLE emp (id INTEGER PRIMARY KEY, name TEXT NOT NULL, boss INTEGER);\
    INSERT INTO emp VALUES (1, 'Ada', NULL), (2, 'Grace', 1), (3, 'Edsger', 1)";

/// Arguments of each tool that changes a writable database.
fn changes() -> [(&'static str, Value); 5] {
    [
        ("insert_record", json!({"table_name": "emp", "data": {"name": "Barbara"}})),
        (
            "update_record",
            json!({"table_name": "emp", "filters": {"id": 1}, "data": {"name": "A"}}),
        ),
        ("delete_record", json!({"table_name": "emp", "filters": {"id": 2}})),
        ("create_table", json!({"table_name": "t", "schema": {"a": "TEXT"}})),
        ("execute_raw_query", json!({"query": "DELETE FROM emp", "read_only": false})),
    ]
}

fn request(id: usize, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(id: usize, tool: &str, arguments: &Value) -> Value {
    request(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

/// Runs `trunkline mcp` with these lines as input.
fn stdio(folder: &Path, arguments: &[&str], lines: &[Value]) -> (Vec<Value>, Ended) {
    let mut command = trunkline(folder);
    let input = folder.join("input");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&input, text).unwrap();
    command.arg("mcp").args(arguments).stdin(fs::File::open(&input).unwrap());
    let ended = run(&mut command);
    fs::remove_file(&input).unwrap();
    let replies = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (replies, ended)
}

fn reply_to(replies: &[Value], id: usize) -> &Value {
    let found = replies.iter().find(|reply| reply["id"] == id);
    &found.unwrap_or_else(|| panic!("no reply to {id} in {replies:?}"))["result"]
}

#[test]
fn tools_that_write_are_listed_by_a_writable_server_only() {
    let (folder, path) = with_content(CONTENT);
    let names = |result: &Value| -> Vec<String> {
        let tools = result["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let list = request(1, "tools/list", &json!({}));
    for writable in [&[][..], &["--writable"]] {
        let mut command = trunkline(folder.path());
        command.args(["--listen", "127.0.0.1:0", "--db"]).arg(&path).args(writable);
        let server = Server::start(command);
        let expected = if writable.is_empty() { &TOOLS[..4] } else { &TOOLS };
        for endpoint in ["/", "/rpc", "/jsonrpc", "/mcp"] {
            let reply = server.connect().ask(&post(endpoint, &[], &list)).json();
            assert_eq!(names(&reply["result"]), expected, "{endpoint} {writable:?}");
        }
        assert_eq!(server.stop().code, Some(0));
        let arguments = [&["--db", "a.db"][..], writable].concat();
        let (replies, ended) = stdio(folder.path(), &arguments, std::slice::from_ref(&list));
        assert_eq!(names(reply_to(&replies, 1)), expected, "stdio {writable:?}");
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

#[test]
fn users_confirm_destructive_calls_if_configured() {
    let (folder, _path) = with_content(CONTENT);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let calls = [
        ("delete_record", json!({"table_name": "emp", "filters": {"id": 2}}), "input_required"),
        ("execute_raw_query", json!({"query": "SELECT 1"}), "complete"),
        (
            "execute_raw_query",
            json!({"query": "DELETE FROM emp", "read_only": false}),
            "input_required",
        ),
        ("list_tables", json!({}), "complete"),
    ];
    let lines: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(id, (tool, arguments, _))| {
            let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
            request(id, "tools/call", &params)
        })
        .collect();
    let arguments = ["--db", "a.db", "--writable", "--confirm-destructive"];
    let (replies, ended) = stdio(folder.path(), &arguments, &lines);
    for (id, (tool, _, expected)) in calls.iter().enumerate() {
        let result = reply_to(&replies, id);
        assert_eq!(result["resultType"], *expected, "{tool}: {result} {}", ended.stderr);
    }
}

#[test]
fn a_cancelled_confirmation_has_a_code_if_configured() {
    let (folder, _path) = with_content(CONTENT);
    let initialize = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "t", "version": "1" },
    });
    let arguments = json!({"table_name": "emp", "filters": {"id": 2}});
    let call = json!({ "name": "delete_record", "arguments": arguments });
    let answer =
        |action: &str| json!({ "jsonrpc": "2.0", "id": 1, "result": { "action": action } });
    for (flags, action, has_code) in [
        (&[][..], "cancel", false),
        (&["--confirm-after-cancel"], "cancel", true),
        (&["--confirm-after-cancel"], "decline", false),
    ] {
        let lines = [
            request(10, "initialize", &initialize),
            request(11, "tools/call", &call),
            answer(action),
        ];
        let arguments = [&["--db", "a.db", "--writable", "--confirm-destructive"], flags].concat();
        let (replies, ended) = stdio(folder.path(), &arguments, &lines);
        let result = reply_to(&replies, 11);
        assert_eq!(result["isError"], true, "{flags:?} {action}: {result} {}", ended.stderr);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.contains("trunkline_confirm"), has_code, "{flags:?} {action}: {text}");
    }
}

#[test]
fn a_read_only_server_names_the_flag_and_changes_no_byte() {
    let (folder, path) = with_content(CONTENT);
    let before = files(folder.path());
    let server = Server::of(&path);
    for (id, (tool, arguments)) in changes().iter().enumerate() {
        for endpoint in ["/", "/mcp"] {
            let reply =
                server.connect().ask(&post(endpoint, &[], &call(id, tool, arguments))).json();
            let result = &reply["result"];
            assert_eq!(result["isError"], true, "{tool} {endpoint}: {reply}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("--writable"), "{tool} {endpoint}: {text}");
        }
        let error = &server.call(&format!("db.{tool}"), arguments)["error"];
        assert_eq!(error["code"], -32003, "{tool}: {error}");
        assert!(error["data"]["reason"].as_str().unwrap().contains("--writable"), "{error}");
    }
    assert_eq!(server.stop().code, Some(0));
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_writable_server_executes_changes() {
    let (folder, path) = with_content(CONTENT);
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--writable", "--output-schemas", "--db"]).arg(&path);
    let server = Server::start(command);
    let mut connection = server.connect();
    let mut ask = |tool: &str, arguments: &Value| {
        connection.ask(&post("/mcp", &[], &call(1, tool, arguments))).json()["result"].take()
    };
    for (tool, arguments) in &changes()[..4] {
        let result = ask(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
    }
    let all = ask("delete_record", &json!({"table_name": "emp", "filters": {}}));
    assert_eq!(all["isError"], true, "an empty filter does not delete all rows: {all}");
    let rows = ask("query_records", &json!({"table_name": "emp", "columns": ["id", "name"]}));
    assert_eq!(rows["structuredContent"]["rows"], json!([[1, "A"], [3, "Edsger"], [4, "Barbara"]]));
    let dry = ask(
        "delete_record",
        &json!({"table_name": "emp", "filters": {}, "all": true, "dry_run": true}),
    );
    assert_eq!(dry["structuredContent"], json!({"rows_affected": 3, "dry_run": true}));
    assert_eq!(server.stop().code, Some(0));
    assert_eq!(files(folder.path()).into_keys().collect::<Vec<_>>(), ["a.db"]);
}

#[test]
fn stdio_answers_all_requests_and_prints_nothing_else() {
    let (folder, _path) = with_content(CONTENT);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let mut lines = vec![
        request(0, "initialize", &hello),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    lines
        .extend((1..=50).map(|id| {
            call(id, "execute_raw_query", &json!({"query": "SELECT ?", "params": [id]}))
        }));
    lines.push(request(51, "db.list_tables", &json!({})));
    let arguments = ["--db", "a.db", "--output-schemas"];
    let (replies, ended) = stdio(folder.path(), &arguments, &lines);
    assert_eq!((ended.code, replies.len()), (Some(0), 52), "{}", ended.stderr);
    assert_eq!(reply_to(&replies, 0)["protocolVersion"], "2025-06-18");
    for id in 1..=50 {
        assert_eq!(reply_to(&replies, id)["structuredContent"]["rows"], json!([[id]]));
    }
    assert_eq!(reply_to(&replies, 51)["tables"][0]["name"], "emp");
}

const CLIENTS: &str = r#"
[clients."claude-code"]
results = "both"
[clients.reader]
results = "structured"
[clients.program]
results = "structured"
abbreviate = false
"#;

/// Whether a result has text, and whether the long cell of its structured content is abbreviated, if it has any.
fn parts(reply: &Value) -> (bool, Option<bool>) {
    let result = &reply["result"];
    let has_text = !result["content"].as_array().unwrap().is_empty();
    let cell = result.pointer("/structuredContent/rows/0/1").map(|cell| cell.as_str().unwrap());
    (has_text, cell.map(|cell| cell.ends_with("…[+200 characters]")))
}

#[test]
fn clients_receive_the_results_that_the_configuration_names() {
    let (folder, path) = with_content(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT); INSERT INTO t VALUES (1, printf('%0600d', 7))",
    );
    fs::write(folder.path().join("trunkline.toml"), CLIENTS).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--db"]).arg(&path);
    let server = Server::start(command);
    for (client, expected) in [
        ("other", (true, None)),
        ("Claude-Code", (true, Some(true))),
        ("reader", (false, Some(true))),
        ("program", (false, Some(false))),
        // The commands of this program.
        ("trunkline", (true, Some(false))),
    ] {
        let info = json!({"name": client, "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
        let hello = request(1, "initialize", &hello);
        let query = call(2, "query_records", &json!({"table_name": "t"}));

        let lines = [hello.clone(), query.clone()];
        let (replies, _) = stdio(folder.path(), &["--db", "a.db"], &lines);
        let reply = replies.iter().find(|reply| reply["id"] == 2).unwrap();
        assert_eq!(parts(reply), expected, "{client} over stdio: {reply}");

        let mut connection = server.connect();
        let opened = connection.ask(&post("/mcp", &[], &hello));
        let session = format!("Mcp-Session-Id: {}", opened.header("mcp-session-id").unwrap());
        let reply = connection.ask(&post("/mcp", &[&session], &query)).json();
        assert_eq!(parts(&reply), expected, "{client} in a session: {reply}");

        let mut stateless = query;
        stateless["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": info,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let reply = connection.ask(&post("/", &[], &stateless)).json();
        assert_eq!(parts(&reply), expected, "{client} without a session: {reply}");
    }
}

#[test]
fn writable_creates_a_missing_database() {
    let folder = tempfile::tempdir().unwrap();
    let list = [request(1, "tools/call", &json!({"name": "list_tables"}))];
    let (replies, ended) = stdio(folder.path(), &["--db", "none.db"], &list);
    assert_eq!((replies.len(), ended.code), (0, Some(1)));
    assert!(ended.stderr.contains("database file none.db does not exist"), "{}", ended.stderr);
    assert!(ended.stderr.contains("--writable"), "{}", ended.stderr);
    assert!(files(folder.path()).is_empty());

    let (replies, ended) = stdio(folder.path(), &["--db", "none.db", "--writable"], &list);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = reply_to(&replies, 1)["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("\"tables\":[]"), "{text}");
    let (replies, _) = stdio(folder.path(), &[], &list);
    assert_eq!(reply_to(&replies, 1)["isError"], false);
    let made: Vec<String> = files(folder.path()).into_keys().collect();
    assert_eq!(made, ["none.db", "trunkline.db"]);
}

#[test]
fn a_client_that_waits_at_stdin_is_stopped_by_a_signal() {
    let (folder, _path) = with_content(CONTENT);
    let mut command = trunkline(folder.path());
    command.args(["mcp", "--db", "a.db", "--writable"]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(
        stdin,
        "{}",
        call(1, "execute_raw_query", &json!({"query": ENDLESS, "timeout_ms": 5_000}))
    )
    .unwrap();
    // After the reply to a second call, it reads stdin.
    let mut line = String::new();
    writeln!(stdin, "{}", request(2, "ping", &json!({}))).unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    assert!(line.contains(r#""id":2"#), "{line}");
    let script = format!("kill -TERM {}", child.id());
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(files(folder.path()).into_keys().collect::<Vec<_>>(), ["a.db"]);
}

#[test]
fn an_open_stream_does_not_keep_the_server_from_stopping() {
    let (_folder, path) = with_content(CONTENT);
    let server = Server::of(&path);
    let mut stream = server.connect();
    let opened = stream.get("/sse");
    assert_eq!((opened.status, opened.header("content-type")), (200, Some("text/event-stream")));
    let endpoint = event(&mut stream);
    let posted = server.connect().ask(&post(&endpoint, &[], &call(7, "list_tables", &json!({}))));
    assert_eq!(posted.status, 202);
    let reply: Value = serde_json::from_str(&event(&mut stream)).unwrap();
    assert_eq!((&reply["id"], &reply["result"]["isError"]), (&json!(7), &json!(false)));
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.took < Duration::from_secs(20), "{:?}", ended.took);
}

/// The data of the next event.
fn event(stream: &mut Connection) -> String {
    loop {
        if let Some(data) = stream.line().strip_prefix("data: ") {
            return data.to_owned();
        }
    }
}

#[test]
fn all_mcp_endpoints_require_a_token() {
    let (folder, path) = with_content(CONTENT);
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--bearer", "secret", "--db"]).arg(&path);
    let server = Server::start(command);
    let ping = request(1, "ping", &json!({}));
    let ask = |method: &str, path: &str, headers: &[&str]| {
        let request = post(path, headers, &ping).replacen("POST", method, 1);
        server.connect().ask(&request).status
    };
    let token = "Authorization: Bearer secret";
    let foreign = "Origin: http://evil.example.com";
    for (method, path, good) in [
        ("POST", "/mcp", 200),
        ("GET", "/sse", 200),
        ("POST", "/messages?sessionId=0123456789abcdef0123456789abcdef", 404),
    ] {
        assert_eq!(ask(method, path, &[]), 401, "{path}");
        assert_eq!(ask(method, path, &["Authorization: Bearer wrong"]), 401, "{path}");
        assert_eq!(ask(method, path, &[token, foreign]), 403, "{path}");
        assert_eq!(ask(method, path, &[token]), good, "{path}");
    }
    let foreign_host = post("/mcp", &[token], &ping).replacen("localhost", "evil.example.com", 1);
    assert_eq!(server.connect().ask(&foreign_host).status, 403);
}

#[test]
#[ignore = "measures time: `cargo xtask soak` runs it"]
fn endless_queries_of_tools_end_and_the_server_stays_healthy() {
    let (_folder, path) = with_content(CONTENT);
    let server = Server::alone_of(&path);
    let mut connections: Vec<Connection> = (0..8).map(|_| server.connect()).collect();
    for (id, connection) in connections.iter_mut().enumerate() {
        connection.send(&post(
            "/mcp",
            &[],
            &call(id, "execute_raw_query", &json!({"query": ENDLESS, "timeout_ms": 3_000})),
        ));
    }
    server.until_all_readers_run();
    let mut health = server.connect();
    let mut latencies: Vec<Duration> = (0..400)
        .map(|_| {
            let asked = std::time::Instant::now();
            assert_eq!(health.get("/health").status, 200);
            asked.elapsed()
        })
        .collect();
    latencies.sort();
    let p99 = latencies[latencies.len() * 99 / 100];
    assert!(p99 <= Duration::from_millis(50), "p99 of /health: {p99:?}");
    for connection in &mut connections {
        let result = connection.reply().json()["result"].take();
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("3000 ms") || text.contains("busy"), "{text}");
    }
}
