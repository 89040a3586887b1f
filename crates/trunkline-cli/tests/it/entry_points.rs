//! All ways in, against the checks that each of them must pass: confirmation, roles, rules, limits and the audit log.
//!
//! A new way to call operations gets a row here. `trunkline import`, `export` and `backup` open a database without a
//! server, with the rights of their user on the file or of the URL: of these checks, they have limits only, which their
//! own tests cover.

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::console;
use crate::roles::bearer;
use crate::support::{Connection, Model, Reply, Server, post, run, trunkline};

const CONFIG: &str = "\
[databases.plain]
url = 'plain.db'
writable = true

[databases.shop]
url = 'shop.db'
writable = true
deny_tables = ['secret_pay']
";

const ROLES: &str = "\
[access.tokens]
reader = { file = 'reader' }
writer = { file = 'writer' }
slow = { file = 'slow' }
nobody = { file = 'nobody' }

[roles.reader]
tokens = ['reader']
operations = ['*']
read_only = true

[roles.writer]
tokens = ['writer']
operations = ['*']

[roles.slow]
tokens = ['slow']
operations = ['*']
rate_limit = 1
";

const AUDIT: &str = "audit.jsonl";

/// A folder with databases, tokens that equal their names, and a configuration file.
fn folder(config: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tables = "\
        CREATE TABLE item (id INTEGER PRIMARY KEY);
        INSERT INTO item VALUES (1), (2), (3);
        CREATE TABLE secret_pay (amount TEXT);
        INSERT INTO secret_pay VALUES ('S3CRET');";
    for file in ["plain.db", "shop.db"] {
        let connection = rusqlite::Connection::open(folder.path().join(file)).unwrap();
        connection.execute_batch(tables).unwrap();
    }
    for token in ["reader", "writer", "slow", "nobody"] {
        fs::write(folder.path().join(token), format!("{token}\n")).unwrap();
    }
    fs::write(folder.path().join("trunkline.toml"), config).unwrap();
    folder
}

const FLAGS: [&str; 5] = ["--confirm-destructive", "--audit-log", AUDIT, "--max-affected", "2"];

fn start(folder: &Path, model: &Model) -> Server {
    let mut command = trunkline(folder);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir", "data", "--console"]);
    command.args(FLAGS).args(model.flags());
    Server::start(command)
}

/// The form of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As the schema declares them.
    Values,
    /// As some models send them: JSON text for values, and null for arguments that are not set.
    Texts,
}

/// A statement, its database and its caller.
struct Statement<'a> {
    form: Form,
    token: &'a str,
    database: &'a str,
    sql: &'a str,
    is_change: bool,
    /// The text of the refusal that asked for a confirmation.
    confirmed: Option<&'a str>,
}

impl Statement<'_> {
    fn params(&self) -> Value {
        let mut params = json!({ "database": self.database, "query": self.sql });
        match (self.form, self.is_change) {
            (Form::Values, false) => {}
            (Form::Values, true) => params["read_only"] = false.into(),
            (Form::Texts, is_change) => {
                params["read_only"] = if is_change { "false".into() } else { Value::Null };
                params["params"] = "[]".into();
                params["max_rows"] = "5".into();
                params["timeout_ms"] = Value::Null;
                params["max_affected"] = Value::Null;
            }
        }
        params
    }

    fn params_with_code(&self) -> Value {
        let mut params = self.params();
        if let Some(refusal) = self.confirmed {
            params["trunkline_confirm"] = code_in(refusal).into();
        }
        params
    }

    fn tool(&self) -> Value {
        json!({ "name": "execute_raw_query", "arguments": self.params_with_code() })
    }
}

/// The confirmation code in a text of any format.
fn code_in(refusal: &str) -> String {
    let (_, rest) = refusal.split_once("trunkline_confirm").unwrap_or_else(|| panic!("{refusal}"));
    let is_code = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let mut words = rest.split(|character| !is_code(character));
    words.find(|word| word.len() > 20).unwrap_or_else(|| panic!("{refusal}")).to_owned()
}

fn rpc(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// The status and the body.
fn text(reply: &Reply) -> String {
    format!("{} {}", reply.status, String::from_utf8_lossy(&reply.body))
}

fn ask(server: &Server, token: &str, path: &str, body: &Value) -> String {
    text(&server.connect().ask(&post(path, &[&bearer(token)], body)))
}

fn json_rpc(server: &Server, statement: &Statement<'_>) -> String {
    ask(
        server,
        statement.token,
        "/rpc",
        &rpc("db.execute_raw_query", &statement.params_with_code()),
    )
}

fn batch(server: &Server, statement: &Statement<'_>) -> String {
    let call = rpc("db.execute_raw_query", &statement.params_with_code());
    ask(server, statement.token, "/", &json!([1, call]))
}

fn edn(server: &Server, statement: &Statement<'_>) -> String {
    let params = statement.params_with_code();
    let members = params.as_object().unwrap().iter();
    let members: String = members
        .map(|(name, value)| match value {
            Value::Null => format!(":{name} nil "),
            value => format!(":{name} {value} "),
        })
        .collect();
    let body =
        format!(r#"{{:jsonrpc "2.0" :id 1 :method "db.execute_raw_query" :params {{{members}}}}}"#);
    let head = format!(
        "Host: localhost\r\n{}\r\nContent-Type: application/edn\r\nContent-Length: {}",
        bearer(statement.token),
        body.len()
    );
    text(&server.connect().ask(&format!("POST /rpc HTTP/1.1\r\n{head}\r\n\r\n{body}")))
}

fn tool_at_root(server: &Server, statement: &Statement<'_>) -> String {
    ask(server, statement.token, "/", &rpc("tools/call", &statement.tool()))
}

fn legacy_mcp(server: &Server, statement: &Statement<'_>) -> String {
    ask(server, statement.token, "/mcp", &rpc("tools/call", &statement.tool()))
}

fn modern_mcp(server: &Server, statement: &Statement<'_>) -> String {
    let mut params = statement.tool();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    let headers = [
        &*bearer(statement.token),
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: execute_raw_query",
    ];
    text(&server.connect().ask(&post("/mcp", &headers, &rpc("tools/call", &params))))
}

/// The stream and the messages of revision 2024-11-05.
fn sse(server: &Server, statement: &Statement<'_>) -> String {
    let token = bearer(statement.token);
    let mut stream = server.connect();
    stream.send(&format!(
        "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{token}\r\n\r\n"
    ));
    let path = data(&mut stream);
    let accepted =
        server.connect().ask(&post(&path, &[&token], &rpc("tools/call", &statement.tool())));
    match accepted.status {
        202 => data(&mut stream),
        _ => text(&accepted),
    }
}

/// The data of the next event.
fn data(stream: &mut Connection) -> String {
    loop {
        let line = stream.line();
        if let Some(data) = line.strip_prefix("data:") {
            return data.trim().to_owned();
        }
    }
}

fn agent_tool(server: &Server, statement: &Statement<'_>) -> String {
    let params = json!({ "tool": "execute_raw_query", "params": statement.params_with_code() });
    ask(server, statement.token, "/api", &rpc("agent.execute_tool", &params))
}

/// The model calls the tool with the message as arguments.
fn agent_chat(server: &Server, statement: &Statement<'_>) -> String {
    let params = match statement.confirmed {
        None => json!({ "message": statement.params().to_string() }),
        Some(refusal) => {
            let (_, body) = refusal.split_once(' ').unwrap();
            let reply: Value = serde_json::from_str(body).unwrap();
            let reply = &reply["result"];
            json!({ "conversation_id": reply["conversation_id"], "confirm": reply["pending"]["confirm"] })
        }
    };
    ask(server, statement.token, "/api", &rpc("agent.chat", &params))
}

/// Sends a form of the console.
fn form(server: &Server, token: &str, path: &str, fields: &[(&str, &str)]) -> String {
    let page = console::send(server, path, &[console::ORIGIN, &bearer(token)], fields);
    format!("{} {}", page.reply.status, page.text)
}

fn confirm(statement: &Statement<'_>) -> &'static str {
    if statement.confirmed.is_some() { "yes" } else { "" }
}

fn console_operation(server: &Server, statement: &Statement<'_>) -> String {
    let params = statement.params();
    let fields =
        [("mode", "json"), ("json", &*params.to_string()), ("confirm", confirm(statement))];
    form(server, statement.token, "/console/operations/db.execute_raw_query", &fields)
}

fn console_query(server: &Server, statement: &Statement<'_>) -> String {
    let path = format!("/console/databases/{}/query", statement.database);
    let changes = if statement.is_change { "yes" } else { "" };
    let fields = [("sql", statement.sql), ("changes", changes), ("confirm", confirm(statement))];
    let page =
        form(server, statement.token, &path, &[("action", "run"), fields[0], fields[1], fields[2]]);
    assert!(!page.contains(r#"value="yes" checked"#), "changes stay allowed: {page}");
    page
}

fn command_line(server: &Server, token: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}", server.address);
    let mut command = trunkline(folder.path());
    let (first, rest) = arguments.split_first().unwrap();
    command.args([first, &*url]).args(rest).env("TRUNKLINE_TOKEN", token);
    let ended = run(&mut command);
    format!("{}{}", ended.stdout, ended.stderr)
}

fn call_command(server: &Server, statement: &Statement<'_>) -> String {
    let params = statement.params_with_code().to_string();
    command_line(server, statement.token, &["call", "db.execute_raw_query", &params])
}

fn tools_command(server: &Server, statement: &Statement<'_>) -> String {
    let params = statement.params_with_code().to_string();
    command_line(server, statement.token, &["tools", "call", "execute_raw_query", &params])
}

/// A way in: a name, its call, and the endpoint in the audit log.
type Way<S> = (&'static str, fn(&S, &Statement<'_>) -> String, &'static str);

/// The ways to change a database.
const WAYS: [Way<Server>; 13] = [
    ("JSON-RPC", json_rpc, "json-rpc"),
    ("a batch", batch, "json-rpc"),
    ("EDN", edn, "json-rpc"),
    ("tools/call at /", tool_at_root, "json-rpc"),
    ("MCP, 2025-11-25", legacy_mcp, "mcp"),
    ("MCP, 2026-07-28", modern_mcp, "mcp"),
    ("MCP, HTTP+SSE", sse, "mcp-sse"),
    ("agent.execute_tool", agent_tool, "agent"),
    ("agent.chat", agent_chat, "agent"),
    ("an operation of the console", console_operation, "console"),
    ("the query box of the console", console_query, "console"),
    ("trunkline call", call_command, "json-rpc"),
    ("trunkline tools", tools_command, "mcp"),
];

/// Whether no role of the caller permits the call. Lists of tools and the console do not show what is not permitted.
fn is_refused(answer: &str) -> bool {
    let has = |text| answer.contains(text);
    has("no role of the caller") || has("unknown tool") || answer.starts_with("404 ")
}

/// The number of items.
fn items(folder: &Path) -> u64 {
    let connection = rusqlite::Connection::open(folder.join("plain.db")).unwrap();
    connection.query_row("SELECT count(*) FROM item", [], |row| row.get(0)).unwrap()
}

/// The further entries of the audit log: event, operation, endpoint, principal and outcome.
fn logged(folder: &Path, seen: &mut usize) -> Vec<String> {
    let log = fs::read_to_string(folder.join(AUDIT)).unwrap_or_default();
    let entries: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let new = entries[*seen..].iter().map(|entry| {
        let of = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
        ["event", "operation", "endpoint", "principal", "outcome"].map(of).join(" ")
    });
    let new = new.collect();
    *seen = entries.len();
    new
}

/// Checks all columns of the row of one way in. `principal` is that of `writer`.
fn check_row<S>(
    folder: &Path,
    source: &S,
    (name, call, endpoint): Way<S>,
    principal: &str,
    (form, has_roles): (Form, bool),
) {
    const ONE: &str = "DELETE FROM item WHERE id = (SELECT min(id) FROM item)";
    const ALL: &str = "DELETE FROM item";
    let connection = rusqlite::Connection::open(folder.join("plain.db")).unwrap();
    connection.execute_batch("DELETE FROM item; INSERT INTO item VALUES (1), (2), (3)").unwrap();
    let name = format!("{name}, {form:?}");
    let mut seen = 0;
    logged(folder, &mut seen);
    let change = |token: &str, sql: &str, confirmed: Option<&str>| {
        let statement =
            Statement { form, token, database: "plain", sql, is_change: true, confirmed };
        call(source, &statement)
    };

    let hidden = Statement {
        form,
        token: "writer",
        database: "shop",
        sql: "SELECT amount FROM secret_pay",
        is_change: false,
        confirmed: None,
    };
    let answer = call(source, &hidden);
    assert!(answer.contains("no such table"), "{name}, rules: {answer}");
    assert!(!answer.contains("S3CRET"), "{name}, rules: {answer}");

    if has_roles {
        for token in ["reader", "nobody"] {
            // Where the call is confirmed first, the role is checked by the confirmed call.
            let mut answer = change(token, ONE, None);
            if !is_refused(&answer) {
                answer = change(token, ONE, Some(&answer));
            }
            assert!(is_refused(&answer), "{name}, role of {token}: {answer}");
        }
        assert_eq!(items(folder), 3, "{name}, role");
        let found = logged(folder, &mut seen);
        let is_done = |entry: &String| entry.ends_with(" ok");
        assert!(!found.iter().any(is_done), "{name}, role: {found:?}");
    }

    let refusal = change("writer", ALL, None);
    assert!(refusal.to_lowercase().contains("confirm"), "{name}, confirmation: {refusal}");
    assert_eq!(items(folder), 3, "{name}, confirmation: {refusal}");
    let answer = change("writer", ALL, Some(&refusal));
    assert!(answer.contains("max-affected"), "{name}, limit: {answer}");
    assert_eq!(items(folder), 3, "{name}, limit: {answer}");

    logged(folder, &mut seen);
    let refusal = change("writer", ONE, None);
    assert_eq!(items(folder), 3, "{name}, confirmation: {refusal}");
    let answer = change("writer", ONE, Some(&refusal));
    assert_eq!(items(folder), 2, "{name}, confirmed: {answer}");
    let found = logged(folder, &mut seen);
    let expected = [("begin", "-"), ("end", "ok")].map(|(event, outcome)| {
        format!("{event} db.execute_raw_query {endpoint} {principal} {outcome}")
    });
    assert!(found.ends_with(&expected), "{name}, audit: {found:?}");
}

#[test]
fn each_way_to_a_database_passes_each_check() {
    let folder = folder(&format!("{CONFIG}{ROLES}"));
    let model = Model::new(|question, speech| match &*question.results() {
        [] => {
            let arguments: Value = serde_json::from_str(question.message()).unwrap();
            speech.calls(&[("execute_raw_query", arguments)]);
        }
        [result, ..] => speech.sends(result),
    });
    let server = start(folder.path(), &model);
    for way in WAYS {
        for form in [Form::Values, Form::Texts] {
            check_row(folder.path(), &server, way, "writer", (form, true));
        }
    }
    // An export only reads.
    let path = "/db/plain/query";
    for (token, sql) in [
        ("writer", "DELETE FROM item"),
        ("reader", "DELETE FROM item"),
        ("nobody", "SELECT * FROM item"),
    ] {
        let answer = ask(&server, token, path, &json!({ "sql": sql }));
        assert!(
            answer.starts_with("400 ") || answer.starts_with("403 "),
            "{token} {sql}: {answer}"
        );
    }
    let answer =
        ask(&server, "writer", "/db/shop/query", &json!({ "sql": "SELECT * FROM secret_pay" }));
    assert!(answer.contains("no such table"), "{answer}");
    assert_eq!(items(folder.path()), 2);
    assert_eq!(server.stop().code, Some(0));
}

/// A client that started `trunkline mcp`.
struct StdioClient(RefCell<(Child, Lines<BufReader<ChildStdout>>)>);

impl StdioClient {
    fn start(folder: &Path) -> Self {
        let mut command = trunkline(folder);
        command.arg("mcp").args(FLAGS).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self(RefCell::new((child, lines)))
    }

    fn call(&self, statement: &Statement<'_>) -> String {
        let (child, lines) = &mut *self.0.borrow_mut();
        writeln!(child.stdin.as_mut().unwrap(), "{}", rpc("tools/call", &statement.tool()))
            .unwrap();
        lines.next().unwrap().unwrap()
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let (child, _) = self.0.get_mut();
        drop(child.stdin.take());
        drop(child.wait());
    }
}

/// The client over stdio started the server, with the rights of its user; roles do not apply.
#[test]
fn stdio_passes_each_check() {
    let place = folder(CONFIG);
    let client = StdioClient::start(place.path());
    let way: Way<StdioClient> = ("MCP over stdio", StdioClient::call, "mcp-stdio");
    for form in [Form::Values, Form::Texts] {
        check_row(place.path(), &client, way, "-", (form, false));
    }
}

/// A change of the record `id`.
struct Change<'a> {
    token: &'a str,
    id: &'a str,
    confirmed: Option<&'a str>,
}

impl Change<'_> {
    /// An object with the confirmation code.
    fn with_code(&self, mut object: Value) -> Value {
        if let Some(refusal) = self.confirmed {
            object["trunkline_confirm"] = code_in(refusal).into();
        }
        object
    }

    fn command(&self) -> Value {
        let payload = self.with_code(json!({ "title": "new" }));
        json!({ "command": "update", "resource": "todo", "id": self.id, "payload": payload })
    }
}

fn update(server: &Server, change: &Change<'_>) -> String {
    let params = change.with_code(json!({ "id": change.id, "title": "new" }));
    ask(server, change.token, "/rpc", &rpc("todo.update", &params))
}

fn execute(server: &Server, change: &Change<'_>) -> String {
    ask(server, change.token, "/execute", &change.command())
}

fn execute_json_rpc(server: &Server, change: &Change<'_>) -> String {
    let params = change.with_code(json!({ "id": change.id, "title": "new" }));
    ask(server, change.token, "/execute", &rpc("todo.update", &params))
}

fn repeat(server: &Server, change: &Change<'_>) -> String {
    ask(server, change.token, "/repeat", &change.command())
}

fn repeat_batch(server: &Server, change: &Change<'_>) -> String {
    let params = change.with_code(json!({ "id": change.id, "title": "new" }));
    ask(server, change.token, "/repeat", &json!([1, rpc("todo.update", &params)]))
}

/// The request that created the record.
fn revert(server: &Server, change: &Change<'_>) -> String {
    let body = change.with_code(json!({ "requestId": change.id }));
    ask(server, change.token, "/revert", &body)
}

fn record_form(server: &Server, change: &Change<'_>) -> String {
    let path = format!("/console/records/todo/item/{}", change.id);
    form(server, change.token, &path, &[("p.title", "new"), ("version", "1")])
}

fn execute_command(server: &Server, change: &Change<'_>) -> String {
    command_line(server, change.token, &["execute", &change.command().to_string()])
}

/// A name, the change, the operation and the endpoint in the audit log, and whether the call asks for a confirmation.
type RecordWay =
    (&'static str, fn(&Server, &Change<'_>) -> String, &'static str, &'static str, bool);

/// The ways to change a record. The button of a form that shows the change is its confirmation.
const RECORD_WAYS: [RecordWay; 8] = [
    ("JSON-RPC", update, "todo.update", "json-rpc", true),
    ("/execute", execute, "todo.update", "execute", true),
    ("JSON-RPC at /execute", execute_json_rpc, "todo.update", "execute", true),
    ("/repeat", repeat, "todo.update", "execute", true),
    ("a batch at /repeat", repeat_batch, "todo.update", "execute", true),
    ("/revert", revert, "todo.revert", "execute", true),
    ("a record's form", record_form, "todo.update", "console", false),
    ("trunkline execute", execute_command, "todo.update", "execute", true),
];

#[test]
fn each_way_to_a_record_passes_each_check() {
    let folder = folder(&format!("{CONFIG}{ROLES}"));
    let model = Model::listing();
    let server = start(folder.path(), &model);
    for (row, (name, call, operation, endpoint, asks)) in RECORD_WAYS.into_iter().enumerate() {
        let id = &*format!("r{row}");
        let create = json!({ "id": id, "title": "old", "metadata": { "requestId": id } });
        ask(&server, "writer", "/rpc", &rpc("todo.create", &create));
        let state = || ask(&server, "writer", "/rpc", &rpc("todo.read", &json!({ "id": id })));
        let before = state();
        assert!(before.contains("old"), "{name}: {before}");
        let change =
            |token: &str, confirmed: Option<&str>| call(&server, &Change { token, id, confirmed });

        for token in ["reader", "nobody"] {
            let mut answer = change(token, None);
            if answer.contains("trunkline_confirm") {
                answer = change(token, Some(&answer));
            }
            assert!(is_refused(&answer), "{name}, {token}: {answer}");
        }
        assert_eq!(state(), before, "{name}, roles");

        let mut seen = 0;
        logged(folder.path(), &mut seen);
        if asks {
            let refusal = change("writer", None);
            assert_eq!(state(), before, "{name}, confirmation: {refusal}");
            change("writer", Some(&refusal));
        } else {
            change("writer", None);
        }
        assert_ne!(state(), before, "{name}");
        let found = logged(folder.path(), &mut seen);
        let expected = [("begin", "-"), ("end", "ok")]
            .map(|(event, outcome)| format!("{event} {operation} {endpoint} writer {outcome}"));
        assert!(found.ends_with(&expected), "{name}, audit: {found:?}");

        // Processes may start slower than the rate, and use a way that is checked above.
        if name != "trunkline execute" {
            let is_limited = (0..40).any(|_| {
                let answer = change("slow", None);
                answer.starts_with("429 ") || answer.contains("-32010")
            });
            assert!(is_limited, "{name}, rate");
        }
    }
    assert_eq!(server.stop().code, Some(0));
}
