//! `GET` and `POST /db/NAME/query`: exports over HTTP.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Connection, PATIENCE, Server, post, trunkline, with_content};

const CONTENT: &str = "\
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, data BLOB);
    INSERT INTO item VALUES (1, 'a, \"b\"', x'0001'), (2, NULL, NULL), (3, '', NULL);";

/// Percent-encodes an SQL text.
fn encoded(sql: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric();
    sql.bytes()
        .map(
            |byte| {
                if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

/// Numbers from 1 to `last`, as rows with a text.
fn numbers(last: u64) -> String {
    format!(
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT {last}) \
         SELECT i, 'row number ' || i AS name FROM n"
    )
}

struct Export {
    status: u16,
    media_type: String,
    body: Vec<u8>,
    is_complete: bool,
}

fn read(mut connection: Connection, request: &str) -> Export {
    let reply = connection.ask(request);
    let media_type = reply.header("content-type").unwrap_or_default().to_owned();
    let (mut body, mut is_complete) = (reply.body.clone(), true);
    if reply.header("transfer-encoding") == Some("chunked") {
        is_complete = connection.chunks(|chunk| body.extend_from_slice(chunk));
    }
    Export { status: reply.status, media_type, body, is_complete }
}

fn get(server: &Server, path: &str, accept: &str) -> Export {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n");
    read(server.connect(), &request)
}

#[test]
fn formats() {
    let (_folder, path) = with_content(CONTENT);
    let server = Server::of(&path);
    let all = "sql=SELECT+*+FROM+item";
    let csv = "id,name,data\n1,\"a, \"\"b\"\"\",\"{\"\"$blob\"\":\"\"AAE=\"\",\"\"bytes\"\":2}\"\n2,,\n3,\"\",\n";
    let ndjson = "{\"id\":1,\"name\":\"a, \\\"b\\\"\",\"data\":{\"$blob\":\"AAE=\",\"bytes\":2}}\n\
                  {\"id\":2,\"name\":null,\"data\":null}\n{\"id\":3,\"name\":\"\",\"data\":null}\n";
    for (query, accept, media_type, body) in [
        (all.to_owned(), "text/csv", "text/csv", csv),
        (format!("{all}&format=csv"), "*/*", "text/csv", csv),
        (all.to_owned(), "application/x-ndjson", "application/x-ndjson", ndjson),
        (all.to_owned(), "application/jsonl", "application/x-ndjson", ndjson),
        (
            format!(
                "sql={}&format=csv&spreadsheet_safe=true",
                encoded("SELECT -1 AS n, '=cmd|x' AS \"@f\", '-1.50' AS d")
            ),
            "*/*",
            "text/csv",
            "n,'@f,d\n-1,'=cmd|x,-1.50\n",
        ),
        (
            format!("sql={}&spreadsheet_safe=false", encoded("SELECT '=cmd|x' AS a")),
            "text/csv",
            "text/csv",
            "a\n=cmd|x\n",
        ),
        (
            "sql=SELECT+1+AS+a,+2+AS+a".to_owned(),
            "*/*",
            "application/json",
            "[\n{\"a\":1,\"a_2\":2}\n]\n",
        ),
        ("sql=SELECT+1+AS+a+WHERE+0".to_owned(), "text/csv", "text/csv", "a\n"),
        (
            format!(
                "sql={}&params=[2]&format=ndjson",
                encoded("SELECT id FROM item WHERE id >= ?")
            ),
            "*/*",
            "application/x-ndjson",
            "{\"id\":2}\n{\"id\":3}\n",
        ),
    ] {
        let export = get(&server, &format!("/db/main/query?{query}"), accept);
        let text = String::from_utf8_lossy(&export.body).into_owned();
        assert_eq!((export.status, &*export.media_type), (200, media_type), "{query} {text}");
        assert_eq!(text, body, "{query}");
        assert!(export.is_complete, "{query}");
    }
    let body = json!({"sql": "SELECT name FROM item WHERE id = :id", "params": {"id": 1}, "format": "csv"});
    let export = read(server.connect(), &post("/db/main/query", &[], &body));
    assert_eq!(String::from_utf8_lossy(&export.body), "name\n\"a, \"\"b\"\"\"\n");
    let body = json!({"sql": "SELECT '+1' AS a", "format": "csv", "spreadsheet_safe": true});
    let export = read(server.connect(), &post("/db/main/query", &[], &body));
    assert_eq!(String::from_utf8_lossy(&export.body), "a\n'+1\n");
}

#[test]
fn errors_before_the_first_row() {
    let (_folder, path) = with_content(CONTENT);
    let mut command = trunkline(path.parent().unwrap());
    command.args(["--listen", "127.0.0.1:0", "--writable", "--db"]).arg(&path);
    let server = Server::start(command);
    for (database, query, status, kind) in [
        ("other", "sql=SELECT+1", 404, Value::Null),
        ("main", "", 400, Value::Null),
        ("main", "sql=SELECT+1&format=xml", 400, Value::Null),
        ("main", "sql=SELECT+1&x=1", 400, Value::Null),
        ("main", "sql=SELECT+1&format=json&spreadsheet_safe=true", 400, Value::Null),
        ("main", "sql=SELECT+1&format=csv&spreadsheet_safe=1", 400, Value::Null),
        ("main", "sql=SELECT+1&params=[", 400, Value::Null),
        ("main", "sql=SELECT+1&params=[1]", 400, json!("bad_params")),
        ("main", "sql=SELECT+1&timeout_ms=x", 400, Value::Null),
        ("main", "sql=SELECT+nothing", 400, json!("sql")),
        ("main", "sql=SELECT+1;DROP+TABLE+item", 400, json!("multiple_statements")),
        ("main", "sql=DELETE+FROM+item", 400, json!("forbidden")),
        ("main", "sql=ATTACH+'x.db'+AS+x", 400, json!("forbidden")),
        ("main", "sql=", 400, json!("no_statement")),
    ] {
        let export = get(&server, &format!("/db/{database}/query?{query}"), "text/csv");
        let error: Value = serde_json::from_slice(&export.body).unwrap();
        assert_eq!(export.status, status, "{query}: {error}");
        assert_eq!(error["error"]["data"]["kind"], kind, "{query}: {error}");
    }
    let slow = encoded(&numbers(1_000_000_000).replace("SELECT i,", "SELECT sum(i),"));
    let export = get(&server, &format!("/db/main/query?timeout_ms=50&sql={slow}"), "*/*");
    assert_eq!(export.status, 504);
    assert_eq!(server.sql(&json!({"query": "SELECT count(*) FROM item"})), Ok(json!([[3]])));
}

#[test]
fn errors_after_the_first_row_abort_the_response() {
    let (_folder, path) = with_content(CONTENT);
    let mut command = trunkline(path.parent().unwrap());
    command.args(["--listen", "127.0.0.1:0", "--max-export-rows", "50000", "--db"]).arg(&path);
    let server = Server::start(command);
    // The smallest integer has no absolute value.
    let overflow = numbers(40_000).replace(
        "SELECT i,",
        "SELECT abs(CASE i WHEN 30000 THEN -9223372036854775808 ELSE i END),",
    );
    for sql in [overflow, numbers(60_000)] {
        for format in ["csv", "ndjson", "json"] {
            let path = format!("/db/main/query?format={format}&sql={}", encoded(&sql));
            let export = get(&server, &path, "*/*");
            assert_eq!(export.status, 200);
            assert!(!export.is_complete, "{format} {sql}");
            assert!(export.body.len() > 64 << 10, "{format} {sql}");
        }
    }
    let all = get(&server, &format!("/db/main/query?sql={}", encoded(&numbers(50_000))), "*/*");
    assert!(all.is_complete);
    assert_eq!(serde_json::from_slice::<Vec<Value>>(&all.body).unwrap().len(), 50_000);
}

#[test]
fn memory_is_independent_of_the_number_of_rows() {
    const ROWS: u64 = 400_000;
    let (_folder, path) = with_content(CONTENT);
    let server = Server::of(&path);
    let export = |rows: u64| {
        let mut connection = server.connect();
        let sql = encoded(&numbers(rows));
        let reply = connection.get(&format!("/db/main/query?format=csv&sql={sql}"));
        assert_eq!(reply.status, 200);
        let (mut lines, mut bytes) = (0, 0);
        let is_complete = connection.chunks(|chunk| {
            lines += chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
            bytes += chunk.len() as u64;
        });
        assert!(is_complete);
        assert_eq!(lines, rows + 1);
        bytes
    };
    export(1_000);
    let before = server.peak_memory();
    assert!(export(ROWS) > 8 << 20);
    // A client that does not read: the statement waits.
    let mut stalled = server.connect();
    stalled.send(&format!(
        "GET /db/main/query?sql={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        encoded(&numbers(1_000_000_000))
    ));
    std::thread::sleep(Duration::from_millis(500));
    let grown = server.peak_memory().saturating_sub(before);
    assert!(grown < 8 << 20, "{grown} bytes");
}

#[test]
fn disconnecting_ends_the_statement() {
    let (_folder, path) = with_content(CONTENT);
    let server = Server::of(&path);
    let endless = encoded(&numbers(1_000_000_000_000));
    let path = format!("/db/main/query?sql={endless}");
    // As many as run at the same time.
    let mut running: Vec<Connection> = (0..2)
        .map(|_| {
            let mut connection = server.connect();
            assert_eq!(connection.get(&path).status, 200);
            connection
        })
        .collect();
    assert_eq!(get(&server, "/db/main/query?sql=SELECT+1", "*/*").status, 503);
    // Others have their own connections.
    assert_eq!(server.sql(&json!({"query": "SELECT 1"})), Ok(json!([[1]])));
    assert_eq!(server.connect().get("/health").status, 200);
    running.clear();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let export = get(&server, "/db/main/query?sql=SELECT+1+AS+a&format=csv", "*/*");
        if export.status == 200 {
            assert_eq!(export.body, b"a\n1\n");
            return;
        }
        assert!(Instant::now() < deadline, "the statements of disconnected clients still run");
    }
}

#[test]
fn access_rules_and_history_apply() {
    let (_folder, path) = with_content(CONTENT);
    let mut command = trunkline(path.parent().unwrap());
    command.env("TRUNKLINE_BEARER", "secret-token-0123456789");
    command.args(["--listen", "127.0.0.1:0", "--db", "a=a.db", "--db", "b=a.db"]);
    let server = Server::start(command);
    let request = |token: &str| {
        format!(
            "GET /db/B/query?sql=SELECT+7+AS+n&format=csv HTTP/1.1\r\nHost: localhost\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        )
    };
    assert_eq!(read(server.connect(), &request("wrong")).status, 401);
    let export = read(server.connect(), &request("secret-token-0123456789"));
    assert_eq!((export.status, &*export.body), (200, &b"n\n7\n"[..]));
    let history = "GET /history HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret-token-0123456789\r\n\r\n";
    let history = read(server.connect(), history);
    let text = String::from_utf8_lossy(&history.body).into_owned();
    assert!(text.contains("db.execute_raw_query") && text.contains("SELECT 7 AS n"), "{text}");
}
