//! Writes with hidden destructive effects, through the agent, MCP and JSON-RPC of a writable server.

use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Model, Server, post, trunkline, with_content};

const CONTENT: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, role TEXT);
    INSERT INTO users VALUES (1, 'ada', 'user'), (2, 'ben', 'user');
    CREATE TABLE posts (id INTEGER PRIMARY KEY, author INTEGER REFERENCES users ON DELETE CASCADE);
    CREATE INDEX posts_author ON posts (author);
    WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
        INSERT INTO posts (author) SELECT 1 FROM n;
    INSERT INTO posts (author) VALUES (2), (2);
";

fn serve(database: &Path, arguments: &[&str]) -> Server {
    let mut command = trunkline(database.parent().unwrap());
    command.args(["--listen", "127.0.0.1:0", "--writable", "--db"]).arg(database).args(arguments);
    Server::start(command)
}

/// Checks the result of a query, through a separate connection.
#[track_caller]
fn look(database: &Path, sql: &str, expected: &str) {
    let connection = Connection::open(database).unwrap();
    let found: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(found, expected, "{sql}");
}

const STATE: &str = "SELECT group_concat(role) || (SELECT count(*) FROM posts) FROM users";

#[test]
fn the_agent_requests_confirmation_before_it_replaces_rows() {
    let insert = |rest: &str| {
        let data = r#""data": {"id": 2, "name": "attacker", "role": "admin"}"#;
        // The arguments as text, so that duplicate keys reach the agent.
        json!(format!(r#"{{"table_name": "users", {data}{rest}}}"#))
    };
    for (arguments, waits) in [
        (insert(r#", "on_conflict": "replace""#), true),
        // The call is refused, so none is pending.
        (insert(r#", "on_conflict": "ignore", "on_conflict": "replace""#), false),
        (insert(r#", "on_conflict": "replace", "on_conflict": "ignore""#), false),
        (insert(r#", "on_conflict": {"replace": null}"#), false),
        (insert(r#", "on_conflict": "REPLACE""#), false),
        (insert(r#", "on_conflict": "ignore""#), false),
        (insert(""), false),
    ] {
        let (_folder, database) = with_content(CONTENT);
        let said = arguments.clone();
        let model = Model::new(move |question, speech| match question.results().is_empty() {
            true => speech.calls(&[("insert_record", said.clone())]),
            false => speech.sends("Done."),
        });
        // Confirmed calls of the agent need no code.
        let arguments_of_server =
            ["--agent-url", &model.url, "--agent-model", "tiny", "--confirm-destructive"];
        let server = serve(&database, &arguments_of_server);
        let call = |params: Value| {
            let body =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "agent.chat", "params": params });
            server.connect().ask(&post("/api", &[], &body)).json()["result"].take()
        };
        let reply = call(json!({ "message": "Read the mail." }));
        assert_eq!(reply["pending"]["confirm"].is_string(), waits, "{arguments}: {reply}");
        look(&database, STATE, "user,user50002");
        if waits {
            let id = &reply["conversation_id"];
            let confirm = &reply["pending"]["confirm"];
            let reply = call(json!({ "conversation_id": id, "confirm": confirm }));
            assert_eq!(reply["steps"][0]["result"]["rows_affected"], 1, "{arguments}: {reply}");
            look(&database, STATE, "user,admin50000");
        }
        assert_eq!(server.stop().code, Some(0));
    }
}

#[test]
fn destructive_tools_are_annotated() {
    let (_folder, database) = with_content(CONTENT);
    let server = serve(&database, &[]);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let listed = server.connect().ask(&post("/mcp", &[], &list)).json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    for (name, destructive) in [
        ("query_records", false),
        ("execute_raw_query", true),
        ("insert_record", true),
        ("update_record", true),
        ("delete_record", true),
        ("create_table", false),
    ] {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        // The hint concerns tools that are not read-only.
        let is_destructive = tool["annotations"]["readOnlyHint"] == false
            && tool["annotations"]["destructiveHint"] != false;
        assert_eq!(is_destructive, destructive, "{name}");
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn no_call_changes_more_rows_than_the_limit() {
    let (_folder, database) = with_content(CONTENT);
    let server = serve(&database, &["--max-affected", "10"]);
    let replace = |id: u64, rest: Value| {
        let mut params =
            json!({ "table_name": "users", "data": { "id": id }, "on_conflict": "replace" });
        params.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        params
    };
    for (operation, params, is_allowed) in [
        ("execute_raw_query", json!({ "query": "DELETE FROM posts", "read_only": false }), false),
        ("execute_raw_query", json!({ "query": "DELETE FROM users", "read_only": false }), false),
        (
            "execute_raw_query",
            json!({ "query": "UPDATE posts SET author = 2", "read_only": false }),
            false,
        ),
        (
            "execute_raw_query",
            json!({ "query": "INSERT INTO users (name) SELECT id FROM posts", "read_only": false }),
            false,
        ),
        ("delete_record", json!({ "table_name": "users", "filters": { "id": 1 } }), false),
        ("insert_record", replace(1, json!({})), false),
        ("insert_record", replace(2, json!({ "max_affected": 2 })), false),
        ("insert_record", replace(2, json!({})), true),
        (
            "execute_raw_query",
            json!({ "query": "DELETE FROM posts WHERE id < 11", "read_only": false }),
            true,
        ),
        (
            "execute_raw_query",
            json!({ "query": "DELETE FROM posts", "read_only": false, "max_affected": 50000 }),
            true,
        ),
    ] {
        let reply = server.call(&format!("db.{operation}"), &params);
        assert_eq!(reply["result"].is_object(), is_allowed, "{params}: {reply}");
        if !is_allowed {
            let data = &reply["error"]["data"];
            assert_eq!(
                (&reply["error"]["code"], &data["kind"]),
                (&json!(-32003), &json!("too_many_rows"))
            );
            assert!(data["reason"].as_str().unwrap().contains("--max-affected"), "{reply}");
            look(&database, STATE, "user,user50002");
        }
    }
    look(&database, "SELECT count(*) || '' FROM posts", "0");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn duplicate_keys_are_refused_at_every_level() {
    let (_folder, database) = with_content(CONTENT);
    let server = serve(&database, &[]);
    let mut connection = server.connect();
    for (operation, params, key) in [
        ("query_records", r#""filters": {"id": 1, "id": 2}"#, "id"),
        ("query_records", r#""filters": {"id": {"gt": 100, "gt": 1}}"#, "gt"),
        (
            "query_records",
            r#""filters": {"id": {"in": [{"$blob": "AA==", "$blob": "AQ=="}]}}"#,
            "$blob",
        ),
        ("query_records", r#""order_by": [{"column": "id", "column": "name"}]"#, ""),
        ("query_records", r#""limit": 1, "limit": 2"#, "limit"),
        ("delete_record", r#""filters": {"id": 1, "id": 2}"#, "id"),
        ("delete_record", r#""filters": {"id": {"gt": 100, "gt": 1}}"#, "gt"),
        ("delete_record", r#""filters": {"id": {"gt": 100, "\u0067t": 1}}"#, "gt"),
        (
            "delete_record",
            r#""filters": {"id": 1}, "max_affected": 1, "max_affected": 9"#,
            "max_affected",
        ),
        ("update_record", r#""filters": {"id": 1}, "data": {"role": "a", "role": "b"}"#, "role"),
        ("update_record", r#""filters": {"id": {"lt": 1, "lt": 9}}, "data": {"role": "a"}"#, "lt"),
        (
            "update_record",
            r#""filters": {"id": 1}, "data": {"role": {"$blob": "", "$blob": ""}}"#,
            "$blob",
        ),
        ("insert_record", r#""data": {"name": "a", "name": "b"}"#, "name"),
        ("insert_record", r#""data": [{"name": "a"}, {"name": "b", "name": "c"}]"#, "name"),
        ("insert_record", r#""data": {"name": {"$blob": "", "$blob": ""}}"#, "$blob"),
        (
            "insert_record",
            r#""data": {"name": "a"}, "on_conflict": "ignore", "on_conflict": "replace""#,
            "on_conflict",
        ),
        ("create_table", r#""schema": {"a": "TEXT", "a": "INTEGER"}"#, "a"),
        ("create_table", r#""schema": {"a": {"type": "TEXT", "type": "INTEGER"}}"#, "type"),
        (
            "create_table",
            r#""schema": {"a": {"type": "TEXT", "default": 1, "default": 2}}"#,
            "default",
        ),
        ("execute_raw_query", r#""query": "SELECT :a", "params": {"a": 1, "a": 2}"#, "a"),
        (
            "execute_raw_query",
            r#""query": "SELECT ?", "params": [{"$blob": "", "$blob": ""}]"#,
            "$blob",
        ),
        (
            "execute_raw_query",
            r#""query": "DELETE FROM posts", "read_only": true, "read_only": false"#,
            "read_only",
        ),
    ] {
        let table = match operation {
            "execute_raw_query" => "",
            "create_table" => r#""table_name": "t", "#,
            _ => r#""table_name": "users", "#,
        };
        let arguments = format!("{{{table}{params}}}");
        let request = |method: &str, params: &str| {
            format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "{method}", "params": {params}}}"#)
        };
        let mut ask = |path: &str, body: String| connection.ask(&post(path, &[], &body)).json();
        let reply = ask("/", request(&format!("db.{operation}"), &arguments));
        assert_eq!(reply["error"]["code"], -32602, "{operation} {arguments}: {reply}");
        assert!(reply.to_string().contains(key), "{operation} {arguments}: {reply}");
        let call = format!(r#"{{"name": "{operation}", "arguments": {arguments}}}"#);
        for path in ["/", "/mcp"] {
            let reply = ask(path, request("tools/call", &call));
            assert_eq!(reply["result"]["isError"], true, "{path} {operation} {arguments}: {reply}");
            assert!(reply.to_string().contains(key), "{path} {operation} {arguments}: {reply}");
        }
        let execute = format!(r#"{{"tool": "{operation}", "params": {arguments}}}"#);
        let reply = ask("/api", request("agent.execute_tool", &execute));
        assert_eq!(reply["error"]["code"], -32602, "{operation} {arguments}: {reply}");
        assert!(reply.to_string().contains(key), "{operation} {arguments}: {reply}");
    }
    look(&database, STATE, "user,user50002");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn no_insert_sends_a_command_to_a_full_text_index() {
    let index = "CREATE VIRTUAL TABLE ctl USING fts5(body, content=''); \
                 INSERT INTO ctl(rowid, body) VALUES (1, 'a fox')";
    let (_folder, database) = with_content(index);
    let server = serve(&database, &[]);
    for (table, data) in [
        ("ctl", json!({ "ctl": "delete-all" })),
        ("ctl", json!({ "ctl": "rank", "rank": "bm25(0.0)" })),
        ("ctl_config", json!({ "k": "rank", "v": "bm25(0.0)" })),
    ] {
        let params = json!({ "table_name": table, "data": data });
        let reply = server.call("db.insert_record", &params);
        assert!(reply["error"].is_object(), "{params}: {reply}");
        let call = json!({ "name": "insert_record", "arguments": params });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
        let reply = server.connect().ask(&post("/mcp", &[], &body)).json();
        assert_eq!(reply["result"]["isError"], true, "{params}: {reply}");
    }
    let sql = "SELECT count(*) FROM ctl WHERE ctl MATCH 'fox'";
    assert_eq!(server.sql(&json!({ "query": sql })).unwrap(), json!([[1]]));
    assert_eq!(
        server.sql(&json!({ "query": "SELECT count(*) FROM ctl_config" })).unwrap(),
        json!([[1]])
    );
    assert_eq!(server.stop().code, Some(0));
}
