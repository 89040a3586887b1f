//! `--confirm-destructive`: confirmation codes for callers that cannot be asked.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use rusqlite::Connection as Sqlite;
use serde_json::{Value, json};

use crate::support::{Connection, Server, post, trunkline, with_content};

const CONTENT: &str = "
    CREATE TABLE team (id INTEGER PRIMARY KEY);
    CREATE TABLE member (id INTEGER PRIMARY KEY, team INTEGER REFERENCES team ON DELETE CASCADE);
    INSERT INTO team VALUES (1), (2), (3);
    INSERT INTO member VALUES (1, 1), (2, 1), (3, 2);
";

/// The param of the code.
const PARAM: &str = "trunkline_confirm";

/// A client that calls operations over one protocol.
enum Client {
    JsonRpc(Connection),
    Mcp(Connection),
    Stdio { child: Child, replies: std::io::Lines<BufReader<std::process::ChildStdout>> },
}

impl Client {
    fn stdio(folder: &Path) -> Self {
        let mut command = trunkline(folder);
        command.args(["mcp", "a.db", "--writable", "--confirm-destructive"]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let replies = BufReader::new(child.stdout.take().unwrap()).lines();
        Self::Stdio { child, replies }
    }

    /// Calls an operation. The outcome is the result; or the error object, of which MCP has only the text.
    fn call(&mut self, operation: &str, params: &Value) -> Result<Value, Value> {
        let rpc = |method: &str, params: &Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let tool = rpc("tools/call", &json!({ "name": operation, "arguments": params }));
        let mut reply = match self {
            Self::JsonRpc(connection) => {
                let body = rpc(&format!("db.{operation}"), params);
                let mut reply = connection.ask(&post("/rpc", &[], &body)).json();
                return match reply.get_mut("error") {
                    Some(error) => Err(error.take()),
                    None => Ok(reply["result"].take()),
                };
            }
            Self::Mcp(connection) => connection.ask(&post("/mcp", &[], &tool)).json(),
            Self::Stdio { child, replies } => {
                writeln!(child.stdin.as_mut().unwrap(), "{tool}").unwrap();
                serde_json::from_str(&replies.next().unwrap().unwrap()).unwrap()
            }
        };
        let result = reply["result"].take();
        match result["isError"] == true {
            true => Err(result["content"][0]["text"].clone()),
            false => Ok(result["content"].clone()),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Self::Stdio { child, .. } = self {
            drop(child.stdin.take());
            drop(child.wait());
        }
    }
}

/// The code in an error: a member of its data, and part of the text for models.
#[track_caller]
fn code_of(error: &Value) -> String {
    let text = error["data"]["reason"].as_str().or(error.as_str()).unwrap();
    let (_, rest) =
        text.split_once(&format!("\"{PARAM}\": \"")).unwrap_or_else(|| panic!("{error}"));
    let code = rest.split_once('"').unwrap().0;
    if let Some(data) = error.get("data") {
        assert_eq!(data["confirmation_code"], code, "{error}");
        assert_eq!((&error["code"], &data["expires_in"]), (&json!(-32013), &json!(300)), "{error}");
    }
    code.to_owned()
}

fn with_code(params: &Value, code: &str) -> Value {
    let mut params = params.clone();
    params[PARAM] = code.into();
    params
}

fn serve(folder: &Path, arguments: &[&str]) -> Server {
    let mut command = trunkline(folder);
    command.args([
        "serve",
        "a.db",
        "--listen",
        "127.0.0.1:0",
        "--writable",
        "--confirm-destructive",
    ]);
    command.args(arguments);
    Server::start(command)
}

/// The rows of both tables.
fn state(path: &Path) -> String {
    let sql = "SELECT (SELECT group_concat(id) FROM team) || ' ' || (SELECT count(*) FROM member)";
    Sqlite::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Calls that need a code, the affected rows of their preview, and the state afterwards.
fn destructive() -> [(&'static str, Value, Option<Value>, &'static str); 4] {
    [
        (
            "delete_record",
            json!({ "table_name": "team", "filters": { "id": 1 } }),
            Some(json!({ "rows_affected": 1, "cascaded": 2, "dry_run": true })),
            "2,3 1",
        ),
        (
            "update_record",
            json!({ "table_name": "team", "filters": { "id": 3 }, "data": { "id": 8 }, "dry_run": false }),
            Some(json!({ "rows_affected": 1, "dry_run": true })),
            "2,8 1",
        ),
        (
            "insert_record",
            json!({ "table_name": "team", "data": { "id": 2 }, "on_conflict": "replace" }),
            None,
            "2,8 0",
        ),
        (
            "execute_raw_query",
            json!({ "query": "DELETE FROM team WHERE id = ?", "params": [8], "read_only": false }),
            None,
            "2 0",
        ),
    ]
}

#[test]
fn the_same_call_with_its_code_runs_once_over_every_protocol() {
    for protocol in ["json-rpc", "mcp", "stdio"] {
        let (folder, path) = with_content(CONTENT);
        let server = (protocol != "stdio").then(|| serve(folder.path(), &[]));
        let mut client = match (&server, protocol) {
            (Some(server), "json-rpc") => Client::JsonRpc(server.connect()),
            (Some(server), _) => Client::Mcp(server.connect()),
            (None, _) => Client::stdio(folder.path()),
        };
        for (operation, params, preview, after) in destructive() {
            let before = state(&path);
            let error = client.call(operation, &params).unwrap_err();
            let code = code_of(&error);
            let about = format!("{protocol} {operation}: {error}");
            assert_eq!(state(&path), before, "{about}");
            if error.is_object() {
                assert_eq!(error["data"].get("preview"), preview.as_ref(), "{about}");
                assert_eq!(error["data"]["operation"], format!("db.{operation}"), "{about}");
                assert_eq!(error["data"]["kind"], "confirmation_required", "{about}");
            } else if let Some(preview) = &preview {
                assert!(error.as_str().unwrap().contains(&preview.to_string()), "{about}");
            }
            let confirmed = with_code(&params, &code);
            let outcome = client.call(operation, &confirmed);
            assert!(outcome.is_ok(), "{about}: {outcome:?}");
            assert_eq!(state(&path), after, "{about}");
            let again = client.call(operation, &confirmed).unwrap_err();
            assert!(again.to_string().contains("already used"), "{about}: {again}");
            assert_eq!(state(&path), after, "{about}");
        }
        // These need none.
        for (operation, params) in [
            ("query_records", json!({ "table_name": "team" })),
            ("execute_raw_query", json!({ "query": "SELECT 1" })),
            ("insert_record", json!({ "table_name": "team", "data": { "id": 20 } })),
            (
                "delete_record",
                json!({ "table_name": "team", "filters": { "id": 2 }, "dry_run": true }),
            ),
        ] {
            let outcome = client.call(operation, &params);
            assert!(outcome.is_ok(), "{protocol} {operation}: {outcome:?}");
        }
        // A call that would fail has no code.
        let unknown = json!({ "table_name": "teams", "filters": { "id": 2 } });
        let error = client.call("delete_record", &unknown).unwrap_err();
        assert!(error.to_string().contains("teams"), "{protocol}: {error}");
        assert!(!error.to_string().contains(PARAM), "{protocol}: {error}");
        drop(client);
        if let Some(server) = server {
            assert_eq!(server.stop().code, Some(0));
        }
    }
}

#[test]
fn a_code_is_bound_to_operation_params_and_process() {
    let (folder, path) = with_content(CONTENT);
    let server = serve(folder.path(), &[]);
    let mut client = Client::JsonRpc(server.connect());
    let delete = json!({ "table_name": "team", "filters": { "id": 1 } });
    let mut code = || code_of(&client.call("delete_record", &delete).unwrap_err());
    let (first, of_other_process) = (code(), {
        let other = serve(folder.path(), &[]);
        let error = Client::JsonRpc(other.connect()).call("delete_record", &delete).unwrap_err();
        code_of(&error)
    });
    let changed = |code: &str| code.chars().rev().collect::<String>();
    for (operation, params, sent, kind) in [
        (
            "delete_record",
            json!({ "table_name": "team", "filters": { "id": 2 } }),
            first.clone(),
            "confirmation_of_other_call",
        ),
        (
            "delete_record",
            json!({ "table_name": "team", "filters": {}, "all": true }),
            first.clone(),
            "confirmation_of_other_call",
        ),
        (
            "delete_record",
            json!({ "table_name": "team", "filters": { "id": 1 }, "max_affected": 9 }),
            first.clone(),
            "confirmation_of_other_call",
        ),
        (
            "execute_raw_query",
            json!({ "query": "DELETE FROM team", "read_only": false }),
            first.clone(),
            "confirmation_of_other_call",
        ),
        ("delete_record", delete.clone(), changed(&first), "confirmation_invalid"),
        ("delete_record", delete.clone(), String::new(), "confirmation_invalid"),
        ("delete_record", delete.clone(), of_other_process, "confirmation_invalid"),
    ] {
        let error = client.call(operation, &with_code(&params, &sent)).unwrap_err();
        assert_eq!(
            (&error["code"], &error["data"]["kind"]),
            (&json!(-32013), &json!(kind)),
            "{params}: {error}"
        );
        assert_eq!(state(&path), "1,2,3 3", "{params}");
    }
    let mut connection = server.connect();
    let mut ask = |params: &str| {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"db.delete_record","params":{params}}}"#);
        connection.ask(&post("/rpc", &[], &body)).json()
    };
    for (params, error_code) in [
        (format!(r#"{{"table_name":"team","filters":{{"id":1}},"{PARAM}":1}}"#), -32602),
        (
            format!(
                r#"{{"table_name":"team","filters":{{"id":1}},"{PARAM}":"{first}","{PARAM}":"{first}"}}"#
            ),
            -32602,
        ),
        // The hidden duplicate reaches neither the check nor the database.
        (
            format!(
                r#"{{"table_name":"team","filters":{{"id":2}},"filters":{{"id":1}},"{PARAM}":"{first}"}}"#
            ),
            -32013,
        ),
        (r#"["team", {"id": 1}]"#.to_owned(), -32013),
    ] {
        let reply = ask(&params);
        assert_eq!(reply["error"]["code"], error_code, "{params}: {reply}");
        assert_eq!(state(&path), "1,2,3 3", "{params}");
    }
    // The order of members, white space and escapes do not matter.
    let other_form = format!(
        "{{ \"{PARAM}\" : \"{first}\", \"filters\" : {{ \"\\u0069d\" : 1 }} , \"table_name\":\"team\" }}"
    );
    assert_eq!(ask(&other_form)["result"]["rows_affected"], 1);
    assert_eq!(state(&path), "2,3 1");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_code_is_bound_to_its_caller() {
    let (folder, path) = with_content(CONTENT);
    let server = serve(folder.path(), &["--bearer", "token-of-ada", "--bearer", "token-of-bob"]);
    let mut connection = server.connect();
    let mut ask = |token: &str, params: &Value| {
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "db.delete_record", "params": params });
        connection.ask(&post("/rpc", &[&format!("Authorization: Bearer {token}")], &body)).json()
    };
    let delete = json!({ "table_name": "team", "filters": { "id": 1 } });
    let confirmed = with_code(&delete, &code_of(&ask("token-of-ada", &delete)["error"]));
    let error = &ask("token-of-bob", &confirmed)["error"];
    assert_eq!(error["data"]["kind"], "confirmation_of_other_caller", "{error}");
    assert_eq!(state(&path), "1,2,3 3");
    assert_eq!(ask("token-of-ada", &confirmed)["result"]["rows_affected"], 1);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn schemas_have_the_param_of_the_code() {
    let (folder, _path) = with_content(CONTENT);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let server = serve(folder.path(), &[]);
    let listed = server.connect().ask(&post("/mcp", &[], &list)).json();
    for (name, expected) in [
        ("query_records", false),
        ("execute_raw_query", true),
        ("insert_record", true),
        ("update_record", true),
        ("delete_record", true),
        ("create_table", false),
    ] {
        let tools = listed["result"]["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(tool["inputSchema"]["properties"].get(PARAM).is_some(), expected, "{name}");
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn native_commands_and_edn_have_codes_too() {
    let (folder, path) = with_content(CONTENT);
    let server = serve(folder.path(), &["--data-dir", "data"]);
    let mut connection = server.connect();
    let create =
        json!({ "command": "create", "resource": "todo", "id": "a", "payload": { "title": "b" } });
    assert_eq!(connection.ask(&post("/execute", &[], &create)).status, 201);
    let update = |payload: Value| json!({ "command": "update", "resource": "todo", "id": "a", "payload": payload });
    let refused = connection.ask(&post("/execute", &[], &update(json!({ "done": true }))));
    assert_eq!(refused.status, 428, "{refused:?}");
    // Native errors are text.
    let code = code_of(&refused.json()["error"]);
    let confirmed = update(json!({ "done": true, PARAM: code }));
    let reply = connection.ask(&post("/execute", &[], &confirmed));
    assert_eq!(reply.status, 200, "{reply:?}");

    let undo = json!({ "command": "update", "resource": "todo", "id": "a", "payload": { "title": "c" }, "metadata": { "requestId": "r1" } });
    let mut confirm = |path: &str, body: &Value| {
        let refused = connection.ask(&post(path, &[], body));
        assert_eq!(refused.status, 428, "{path}: {refused:?}");
        let mut body = body.clone();
        let code = code_of(&refused.json()["error"]);
        match body.get_mut("payload") {
            Some(payload) => payload[PARAM] = code.into(),
            None => body[PARAM] = code.into(),
        }
        let reply = connection.ask(&post(path, &[], &body));
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
    };
    confirm("/execute", &undo);
    confirm("/revert", &json!({ "requestId": "r1" }));

    let mut edn = |rest: &str| {
        let body = format!(
            r#"{{:jsonrpc "2.0" :id 1 :method "db.delete_record" :params {{:table_name "team" :filters {{:id 1}}{rest}}}}}"#
        );
        let head = "Host: localhost\r\nContent-Type: application/edn";
        let request =
            format!("POST /rpc HTTP/1.1\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        String::from_utf8(connection.ask(&request).body).unwrap()
    };
    let refused = edn("");
    let code = refused.split_once(":confirmation_code \"").unwrap_or_else(|| panic!("{refused}")).1;
    let code = code.split_once('"').unwrap().0.to_owned();
    assert_eq!(state(&path), "1,2,3 3");
    let reply = edn(&format!(r#" :{PARAM} "{code}""#));
    assert!(reply.contains(":rows_affected 1"), "{reply}");
    assert_eq!(state(&path), "2,3 1");
    assert_eq!(server.stop().code, Some(0));
}
