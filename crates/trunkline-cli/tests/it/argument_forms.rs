//! Arguments in the forms that models send: JSON text for values, null for arguments that are not set, integers with a
//! fraction. Each way in and each kind of operation reads them as the values of the schema.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::roles::bearer;
use crate::support::{Model, PATIENCE, Server, mismatch, post, trunkline, with_content};

const CONTENT: &str = "
    CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, email TEXT, password TEXT);
    INSERT INTO customer VALUES (1, 'Ann', 'S3CRET', ''), (2, 'Bob', 'S3CRET', '');
";

const CONFIG: &str = "\
[databases.shop]
url = 'a.db'
writable = true
mask = ['customer.email']

[queries.first_customers]
description = 'The first customers.'
sql = 'SELECT id FROM customer WHERE name <> :name ORDER BY id LIMIT :count'
params = [{ name = 'count', type = 'integer', default = 1 }, { name = 'name', type = 'string', default = '' }]
";

const TOOL: &str = r#"
name = "echo"
description = "Returns its arguments."
command = ["./echo.sh"]
read_only = true
[input_schema]
type = "object"
properties.count.type = "integer"
properties.flag.type = "boolean"
properties.list = { type = "array", items = { type = "integer" } }
properties.record = { type = "object", properties = { count = { type = "integer" } } }
properties.text.type = "string"
"#;

const AUDIT: &str = "audit.jsonl";

fn folder() -> TempDir {
    let (folder, _) = with_content(CONTENT);
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("echo.toml"), TOOL).unwrap();
    let script = tools.join("echo.sh");
    fs::write(&script, "#!/bin/sh\nexec cat\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("trunkline.toml"), CONFIG).unwrap();
    folder
}

fn start(folder: &Path, model: &Model) -> Server {
    let upstream = format!("up={} mcp --db a.db --writable", env!("CARGO_BIN_EXE_trunkline"));
    let mut command = trunkline(folder);
    command.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--command-tools",
        "tools",
        "--audit-log",
        AUDIT,
    ]);
    command.args(["--upstream", &upstream]).args(model.flags());
    let server = Server::start(command);
    let deadline = Instant::now() + PATIENCE;
    while server.call("gateway.upstreams", &json!({}))["result"]["upstreams"][0]["state"] != "ready"
    {
        assert!(Instant::now() < deadline, "the upstream is not ready");
        sleep(Duration::from_millis(10));
    }
    server
}

fn rpc(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// The names of an operation: its namespace, its verb and its tool.
type Names = (&'static str, &'static str, &'static str);

fn json_rpc(server: &Server, (space, verb, _): Names, arguments: &Value) -> Value {
    server.call(&format!("{space}.{verb}"), arguments)
}

fn batch(server: &Server, (space, verb, _): Names, arguments: &Value) -> Value {
    let call = rpc(&format!("{space}.{verb}"), arguments);
    server.connect().ask(&post("/", &[], &json!([call, call]))).json()
}

/// Strings of EDN have the escapes of JSON.
fn edn_of(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(edn_of).collect::<Vec<_>>().join(" "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, _)| format!(":{name} {}", edn_of(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(" "))
        }
        value => value.to_string(),
    }
}

fn edn(server: &Server, (space, verb, _): Names, arguments: &Value) -> Value {
    let params = edn_of(arguments);
    let body = format!(r#"{{:jsonrpc "2.0" :id 1 :method "{space}.{verb}" :params {params}}}"#);
    let head = format!(
        "Content-Type: application/edn\r\nAccept: application/json\r\nContent-Length: {}",
        body.len()
    );
    let request = format!("POST /rpc HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n{body}");
    server.connect().ask(&request).json()
}

fn tool_at_root(server: &Server, (_, _, tool): Names, arguments: &Value) -> Value {
    server.call("tools/call", &json!({ "name": tool, "arguments": arguments }))
}

fn mcp(server: &Server, (_, _, tool): Names, arguments: &Value) -> Value {
    let call = rpc("tools/call", &json!({ "name": tool, "arguments": arguments }));
    server.connect().ask(&post("/mcp", &[], &call)).json()
}

fn mcp_text(server: &Server, names: Names, arguments: &Value) -> Value {
    mcp(server, names, &arguments.to_string().into())
}

fn native(server: &Server, (space, verb, _): Names, arguments: &Value) -> Value {
    let command = json!({ "command": verb, "resource": space, "payload": arguments });
    let mut reply = server.connect().ask(&post("/execute", &[], &command)).json();
    reply["metadata"].take();
    reply
}

fn agent_tool(server: &Server, (_, _, tool): Names, arguments: &Value) -> Value {
    let call = rpc("agent.execute_tool", &json!({ "tool": tool, "params": arguments }));
    server.connect().ask(&post("/api", &[], &call)).json()
}

/// The model calls the tool in the message.
fn agent_chat(server: &Server, (_, _, tool): Names, arguments: &Value) -> Value {
    let message = json!([tool, arguments]).to_string();
    let call = rpc("agent.chat", &json!({ "message": message }));
    let mut reply = server.connect().ask(&post("/api", &[], &call)).json();
    let step = reply["result"]["steps"][0].take();
    assert!(step.is_object(), "{reply}");
    step
}

/// Removes the parts of a reply that are different each time: durations, and the marks of data.
fn remove_varying(reply: &mut Value) {
    match reply {
        Value::Array(items) => items.iter_mut().for_each(remove_varying),
        Value::Object(members) => {
            members.retain(|name, _| name != "ms" && name != "elapsed_ms");
            members.values_mut().for_each(remove_varying);
        }
        Value::String(text) => {
            while let Some(start) = text.find("data-") {
                let mark = text[start..].split(['>', ' ']).next().unwrap().to_owned();
                *text = text.replace(&mark, "mark");
            }
        }
        _ => {}
    }
}

type Way = fn(&Server, Names, &Value) -> Value;

const WAYS: [(&str, Way); 9] = [
    ("JSON-RPC", json_rpc),
    ("a batch", batch),
    ("EDN", edn),
    ("tools/call at /", tool_at_root),
    ("MCP", mcp),
    ("arguments as text", mcp_text),
    ("/execute", native),
    ("agent.execute_tool", agent_tool),
    ("agent.chat", agent_chat),
];

const QUERY: Names = ("db", "query_records", "query_records");
const UPDATE: Names = ("db", "update_record", "update_record");
const RAW: Names = ("db", "execute_raw_query", "execute_raw_query");
const CREATE: Names = ("db", "create_table", "create_table");
const SAVED: Names = ("queries", "first_customers", "first_customers");
const ECHO: Names = ("tool", "echo", "echo");
const UPSTREAM: Names = ("up", "query_records", "up__query_records");

/// Operations, arguments in other forms, and the same arguments as values.
fn rows() -> Vec<(Names, Value, Value)> {
    let columns = |columns: Value| json!({ "table_name": "customer", "columns": columns });
    let all_unset = json!({
        "table_name": "customer", "filters": null, "columns": null, "limit": null, "offset": null, "order_by": null,
        "cursor": null, "format": null,
    });
    let change = json!({ "table_name": "customer", "filters": { "id": 1 }, "data": { "name": "b" }, "dry_run": true });
    let text_change = json!({
        "table_name": "customer", "filters": "{\"id\": 1}", "data": "{\"name\": \"b\"}", "dry_run": "true",
        "all": null, "max_affected": null,
    });
    let unset_change = json!({ "table_name": "customer", "filters": {}, "data": { "name": "b" }, "all": "true", "dry_run": "true" });
    let raw = |sql: &str| json!({ "query": sql });
    vec![
        (QUERY, columns(json!("[\"name\"]")), columns(json!(["name"]))),
        // Masked.
        (QUERY, columns(json!("[\"email\"]")), columns(json!(["email"]))),
        (QUERY, all_unset, json!({ "table_name": "customer" })),
        (
            QUERY,
            json!({ "table_name": "customer", "limit": "1", "offset": 1.0 }),
            json!({ "table_name": "customer", "limit": 1, "offset": 1 }),
        ),
        (UPDATE, text_change, change),
        (
            UPDATE,
            unset_change,
            json!({ "table_name": "customer", "filters": {}, "data": { "name": "b" }, "all": true, "dry_run": true }),
        ),
        (
            RAW,
            json!({ "query": "SELECT ? + 1", "params": "[1]", "read_only": null, "max_rows": "1", "timeout_ms": "900" }),
            json!({ "query": "SELECT ? + 1", "params": [1], "max_rows": 1, "timeout_ms": 900 }),
        ),
        (
            RAW,
            json!({ "query": "DELETE FROM customer", "read_only": "true" }),
            json!({ "query": "DELETE FROM customer", "read_only": true }),
        ),
        (
            RAW,
            json!({ "query": "DELETE FROM customer", "read_only": null }),
            raw("DELETE FROM customer"),
        ),
        (
            CREATE,
            json!({ "table_name": "customer", "schema": "{\"id\": \"INTEGER\"}", "if_not_exists": "true" }),
            json!({ "table_name": "customer", "schema": { "id": "INTEGER" }, "if_not_exists": true }),
        ),
        (SAVED, json!({ "count": "2", "name": null }), json!({ "count": 2 })),
        (SAVED, json!({ "count": 2.0, "name": "2" }), json!({ "count": 2, "name": "2" })),
        (SAVED, json!({ "count": null }), json!({})),
        (
            ECHO,
            json!({ "count": "1", "flag": "false", "list": "[\"1\", 2.0]", "record": "{\"count\": \"3\"}", "text": "4" }),
            json!({ "count": 1, "flag": false, "list": [1, 2], "record": { "count": 3 }, "text": "4" }),
        ),
        (
            ECHO,
            json!({ "count": null, "flag": null, "record": { "count": null } }),
            json!({ "record": {} }),
        ),
        (
            UPSTREAM,
            json!({ "table_name": "customer", "columns": "[\"name\"]", "limit": "1", "filters": null }),
            json!({ "table_name": "customer", "columns": ["name"], "limit": 1 }),
        ),
    ]
}

#[test]
fn each_way_reads_the_values_of_the_schema() {
    let folder = folder();
    let model = Model::new(|question, speech| match &*question.results() {
        [] => {
            let call: Value = serde_json::from_str(question.message()).unwrap();
            speech.calls(&[(call[0].as_str().unwrap(), call[1].clone())]);
        }
        [result, ..] => speech.sends(result),
    });
    let server = start(folder.path(), &model);
    for (names, forms, values) in rows() {
        for (way, call) in WAYS {
            let [found, expected] = [&forms, &values].map(|arguments| {
                let mut reply = call(&server, names, arguments);
                remove_varying(&mut reply);
                reply
            });
            assert_eq!(found, expected, "{way}, {names:?} {forms}");
            let text = found.to_string();
            assert!(
                !text.contains("Invalid") && !text.contains("S3CRET"),
                "{way}, {names:?} {forms}: {text}"
            );
        }
    }
    for (prompt, forms, values) in [
        ("explore_database", json!({ "question": null }), json!({})),
        ("explore_database", json!("{\"question\": null}"), json!({})),
        (
            "explain_table",
            json!("{\"table_name\": \"customer\"}"),
            json!({ "table_name": "customer" }),
        ),
    ] {
        let [found, expected] = [&forms, &values].map(|arguments| {
            server.call("prompts/get", &json!({ "name": prompt, "arguments": arguments }))
        });
        assert_eq!(found, expected, "{prompt} {forms}");
        assert!(found["result"].is_object(), "{prompt} {forms}: {found}");
    }
    // Params by position, and a text that the operation reads itself, since it has another meaning as well.
    for (positions, values) in [
        (
            json!(["customer", "{\"id\": 1}", "[\"name\"]", "5"]),
            json!(["customer", { "id": 1 }, ["name"], 5]),
        ),
        (
            json!({ "table_name": "customer", "order_by": "[\"-id\"]" }),
            json!({ "table_name": "customer", "order_by": ["-id"] }),
        ),
        (
            json!(["customer", null, ["name"], null]),
            json!({ "table_name": "customer", "columns": ["name"] }),
        ),
    ] {
        let [found, expected] = [&positions, &values].map(|params| {
            let mut reply = json_rpc(&server, QUERY, params);
            remove_varying(&mut reply);
            reply
        });
        assert_eq!(found, expected, "{positions}");
        assert!(found["result"].is_object(), "{positions}: {found}");
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn other_forms_are_refused() {
    let folder = folder();
    let model = Model::listing();
    let server = start(folder.path(), &model);
    let refused =
        |reason: &str| json!({ "isError": true, "content": [{ "text": { "$has": reason } }] });
    for (names, arguments, reason) in [
        (ECHO, json!({ "count": "five" }), "/count: this value is not of type \"integer\""),
        (ECHO, json!({ "count": "1.5" }), "/count: this value is not of type \"integer\""),
        (ECHO, json!({ "flag": "True" }), "/flag: this value is not of type \"boolean\""),
        (ECHO, json!({ "list": "\"[1]\"" }), "/list: this value is not of type \"array\""),
        (ECHO, json!({ "list": "[1" }), "/list: this value is not of type \"array\""),
        (ECHO, json!({ "list": [null] }), "/list/0: this value is not of type \"integer\""),
        (
            ECHO,
            json!({ "record": "{\"count\": 1, \"count\": 2}" }),
            "/record: this value is not of type \"object\"",
        ),
        (
            ECHO,
            json!({ "text": null, "flag": "null" }),
            "/flag: this value is not of type \"boolean\"",
        ),
        (UPDATE, json!({ "table_name": null, "filters": {}, "data": {} }), "expected a string"),
        (RAW, json!({ "query": "DELETE FROM customer", "read_only": "no" }), "expected a boolean"),
    ] {
        let found = &mcp(&server, names, &arguments)["result"];
        if let Some(mismatch) = mismatch(found, &refused(reason)) {
            panic!("{arguments}{mismatch}");
        }
    }
    for (arguments, reason) in [
        (json!("[1]"), "`arguments` must be an object"),
        (json!("{\"flag\": true, \"flag\": false}"), "`arguments` must be an object"),
        (json!("\"{}\""), "`arguments` must be an object"),
        (json!(5), "`arguments` must be an object"),
    ] {
        let reply = mcp(&server, ECHO, &arguments);
        assert_eq!(reply["error"]["code"], -32602, "{arguments}: {reply}");
        assert!(reply.to_string().contains(reason), "{arguments}: {reply}");
    }
    assert_eq!(server.stop().code, Some(0));
}

/// The entries of the history, newest first.
fn recorded(server: &Server) -> Vec<Value> {
    let history = server.connect().get("/history?limit=1000").json();
    history["entries"].as_array().unwrap().clone()
}

#[test]
fn the_audit_log_and_the_history_contain_the_values() {
    let folder = folder();
    let model = Model::listing();
    let server = start(folder.path(), &model);
    let values = json!({
        "table_name": "customer", "filters": { "id": 2 }, "data": { "password": "s3cret-1" }, "dry_run": false,
    });
    let forms = json!({
        "table_name": "customer", "filters": "{\"id\": 2}", "data": "{\"password\": \"s3cret-1\"}",
        "dry_run": "false", "all": null,
    });
    let mut digests = Vec::new();
    for (way, call) in WAYS.into_iter().filter(|(way, _)| *way != "agent.chat") {
        for arguments in [&values, &forms] {
            call(&server, UPDATE, arguments);
            let log = fs::read_to_string(folder.path().join(AUDIT)).unwrap();
            let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
            assert_eq!(last["outcome"], "ok", "{way}: {last}");
            digests.push((way, last["params_sha256"].as_str().unwrap().to_owned()));
        }
        // The params of a tool have no schema in a call of the agent. It makes another call, which is recorded, too.
        let is_of_agent = |entry: &Value| entry["method"] == "agent.execute_tool";
        for entry in recorded(&server).into_iter().filter(|entry| !is_of_agent(entry)) {
            let request = entry["request"]["text"].as_str().unwrap_or_default();
            assert!(!request.contains("s3cret-1"), "{way}: {request}");
            assert!(!request.contains("\"false\""), "{way}: {request}");
        }
    }
    let first = digests[0].1.clone();
    for (way, digest) in digests {
        assert_eq!(digest, first, "{way}");
    }
    assert_eq!(server.stop().code, Some(0));
}

const ROLES: &str = "
[databases.other]
url = 'a.db'

[access.tokens]
clerk = { file = 'clerk' }

[roles.clerk]
tokens = ['clerk']
operations = ['db.*']
databases = ['shop']
";

#[test]
fn a_role_reads_a_database_that_is_not_set() {
    let folder = folder();
    fs::write(folder.path().join("clerk"), "clerk\n").unwrap();
    fs::write(folder.path().join("trunkline.toml"), format!("{CONFIG}{ROLES}")).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let server = Server::start(command);
    for (params, is_permitted) in [
        (json!({ "database": null }), true),
        (json!({ "database": "shop", "pattern": null }), true),
        (json!({ "database": "other", "pattern": null }), false),
        // With several databases, params have no positions.
        (json!([null]), false),
    ] {
        let call = rpc("db.list_tables", &params);
        let reply = server.connect().ask(&post("/rpc", &[&bearer("clerk")], &call));
        assert_eq!(
            reply.status == 200 && reply.json()["result"].is_object(),
            is_permitted,
            "{params}: {reply:?}"
        );
    }
    assert_eq!(server.stop().code, Some(0));
}
