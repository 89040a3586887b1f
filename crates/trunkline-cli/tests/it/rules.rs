//! Rules that hide tables and mask columns, from the command line and the configuration file.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Connection, Server, run, trunkline};

/// A folder with `shop.db` and `hr.db`. Values that rules hide contain the text `S3CRET`.
fn folder(config: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tables = "\
        CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, card TEXT);
        CREATE TABLE secret_pay (id INTEGER PRIMARY KEY, amount TEXT);
        CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO customer VALUES (1, 'Ada', 'ada-S3CRET@example.org', 'S3CRET 5678');
        INSERT INTO secret_pay VALUES (1, 'S3CRET');";
    for file in ["shop.db", "hr.db"] {
        let connection = rusqlite::Connection::open(folder.path().join(file)).unwrap();
        connection.execute_batch(tables).unwrap();
    }
    fs::write(folder.path().join("key"), "0123456789abcdef\n").unwrap();
    fs::write(folder.path().join("trunkline.toml"), config).unwrap();
    folder
}

const CONFIG: &str = "\
[databases.shop]
url = 'shop.db'
writable = true
deny_tables = ['secret_*']
mask = ['customer.email=hash', { column = 'customer.card', with = 'last4' }]
mask_key = { file = 'key' }

[queries.names]
sql = 'SELECT name FROM customer'
";

fn serve(folder: &Path, arguments: &[&str]) -> Server {
    let mut command = trunkline(folder);
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
    Server::start(command)
}

/// The expected value at a pointer in the reply; of an error, its kind.
type Row = (&'static str, Value, &'static str, Value);

fn rows() -> Vec<Row> {
    const KIND: &str = "/error/data/kind";
    let sql = |query: &str| json!({ "query": query });
    let masked = json!([[1, "Ada", "uJm_xjvybu4ql-8VPRkALQ", "****5678"]]);
    vec![
        ("db.query_records", json!(["customer"]), "/result/rows", masked),
        ("db.query_records", json!(["secret_pay"]), KIND, json!("unknown_table")),
        ("db.query_records", json!(["sqlite_schema"]), KIND, json!("unknown_table")),
        (
            "db.query_records",
            json!({ "table_name": "customer", "filters": { "email": "ada-S3CRET@example.org" } }),
            KIND,
            json!("masked"),
        ),
        (
            "db.execute_raw_query",
            sql("SELECT id, name FROM customer"),
            "/result/rows",
            json!([[1, "Ada"]]),
        ),
        (
            "db.execute_raw_query",
            sql("SELECT * FROM customer"),
            "/result/rows",
            json!([[1, "Ada"]]),
        ),
        ("db.execute_raw_query", sql("SELECT *, email FROM customer"), KIND, json!("masked")),
        (
            "db.execute_raw_query",
            sql("SELECT count(*) FROM secret_pay"),
            "/error/data/reason",
            json!("SQL error: no such table: secret_pay"),
        ),
        ("db.execute_raw_query", sql("SELECT sql FROM sqlite_master"), KIND, json!("forbidden")),
        (
            "db.execute_raw_query",
            json!({ "query": "DELETE FROM item", "read_only": false }),
            KIND,
            json!("forbidden"),
        ),
        ("db.explain_query", sql("SELECT * FROM secret_pay"), KIND, json!("sql")),
        ("db.profile_table", json!({ "table_name": "secret_pay" }), KIND, json!("unknown_table")),
        ("db.search_schema", json!({ "term": "secret" }), "/result/matches", json!([])),
        ("queries.names", json!({}), "/result/rows", json!([["Ada"]])),
        (
            "db.insert_record",
            json!({ "table_name": "customer", "data": { "email": "ada-S3CRET@example.org" } }),
            KIND,
            json!("masked"),
        ),
        (
            "db.insert_record",
            json!({ "table_name": "item", "data": { "name": "a" } }),
            "/result/rows_affected",
            json!(1),
        ),
        (
            "tools/call",
            json!({ "name": "execute_raw_query", "arguments": sql("SELECT amount FROM secret_pay") }),
            "/result/isError",
            json!(true),
        ),
        (
            "tools/call",
            json!({ "name": "query_records", "arguments": { "table_name": "secret_pay" } }),
            "/result/isError",
            json!(true),
        ),
        ("resources/read", json!({ "uri": "db://shop/table/secret_pay" }), "/result", Value::Null),
        (
            "resources/read",
            json!({ "uri": "db://shop/table/secret_pay/rows?limit=1" }),
            "/result",
            Value::Null,
        ),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": "db://shop/table/{table_name}{?sample_rows}" },
                "argument": { "name": "table_name", "value": "secret" },
            }),
            "/result/completion/values",
            json!([]),
        ),
    ]
}

#[test]
fn a_configuration_file_restricts_all_operations() {
    let folder = folder(CONFIG);
    let server = serve(folder.path(), &[]);
    for (method, params, pointer, expected) in rows() {
        let reply = server.call(method, &params);
        let found = reply.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{method} {params}: {reply}");
        assert!(!reply.to_string().contains("S3CRET"), "{method} {params}: {reply}");
    }
    let tables = server.call("db.list_tables", &json!({}));
    assert!(!tables.to_string().contains("secret"), "{tables}");
    let resource = server.call("resources/read", &json!({ "uri": "db://shop/tables" }));
    assert!(!resource.to_string().contains("secret"), "{resource}");
    for (sql, status) in [
        ("SELECT+name+FROM+customer", 200),
        ("SELECT+email+FROM+customer", 400),
        ("SELECT+*+FROM+secret_pay", 400),
    ] {
        let reply = get(server.connect(), &format!("/db/shop/query?sql={sql}"));
        assert_eq!(reply.0, status, "{sql}: {}", reply.1);
        assert!(!reply.1.contains("S3CRET"), "{}", reply.1);
    }
}

fn get(mut connection: Connection, path: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/csv\r\n\r\n");
    let reply = connection.ask(&request);
    let mut body = reply.body.clone();
    if reply.header("transfer-encoding") == Some("chunked") {
        connection.chunks(|chunk| body.extend_from_slice(chunk));
    }
    (reply.status, String::from_utf8(body).unwrap())
}

#[test]
fn flags_apply_to_one_database_or_to_all() {
    let folder = folder("");
    let databases = ["--db", "shop=shop.db", "--db", "hr=hr.db"];
    let query = |database: &str, sql: &str| json!({ "database": database, "query": sql });
    let server = |rules: &[&str]| serve(folder.path(), &[&databases, rules].concat());
    for (rules, sql, expected) in [
        (&["--deny-table", "shop=secret_*"][..], "SELECT count(*) FROM secret_pay", ["sql", "ok"]),
        (&["--deny-table", "SECRET_PAY,item"], "SELECT count(*) FROM secret_pay", ["sql", "sql"]),
        (&["--allow-table", "hr=item"], "SELECT count(*) FROM customer", ["ok", "sql"]),
        (&["--mask", "hr=customer.email=hash"], "SELECT email FROM customer", ["ok", "masked"]),
        (&["--mask", "customer.*"], "SELECT name FROM customer", ["masked", "masked"]),
        (&["--mask", "shop=*.email"], "SELECT name FROM customer", ["ok", "ok"]),
    ] {
        let server = server(rules);
        let kind = |database: &str| {
            let reply = server.call("db.execute_raw_query", &query(database, sql));
            let kind = reply.pointer("/error/data/kind").and_then(Value::as_str);
            kind.unwrap_or("ok").to_owned()
        };
        assert_eq!(["shop", "hr"].map(kind), expected, "{rules:?} {sql}");
    }
}

/// Names with characters that separate the parts of a rule.
#[test]
fn names_in_rules_can_be_in_quotes() {
    const TABLES: &str = "\
        CREATE TABLE \"a=b,c\" (\"d,e=f\" TEXT, g TEXT);
        CREATE TABLE \"h.i\" (j TEXT);";
    let flags = [
        "--deny-table",
        "shop=\"h.i\",\"secret_pay\"",
        "--mask",
        "\"a=b,c\".\"d,e=f\"=hash,shop=\"a=b,c\".g",
    ];
    let config = "[databases.shop]\nurl = 'shop.db'\ndeny_tables = ['\"h.i\"', 'secret_pay']\n\
        mask = ['\"a=b,c\".\"d,e=f\"=hash', { column = '\"a=b,c\".g' }]\n";
    for (flags, config) in [(&flags[..], ""), (&[], config)] {
        let folder = folder(config);
        let connection = rusqlite::Connection::open(folder.path().join("shop.db")).unwrap();
        connection.execute_batch(TABLES).unwrap();
        let database: &[&str] = if config.is_empty() { &["--db", "shop=shop.db"] } else { &[] };
        let server = serve(folder.path(), &[database, flags].concat());
        for (sql, expected) in [
            ("SELECT count(*) FROM \"a=b,c\"", "ok"),
            ("SELECT \"d,e=f\" FROM \"a=b,c\"", "masked"),
            ("SELECT g FROM \"a=b,c\"", "masked"),
            ("SELECT count(*) FROM \"h.i\"", "sql"),
            ("SELECT count(*) FROM secret_pay", "sql"),
            ("SELECT name FROM item", "ok"),
        ] {
            let reply = server.call("db.execute_raw_query", &json!({ "query": sql }));
            let kind = reply.pointer("/error/data/kind").and_then(Value::as_str);
            assert_eq!(kind.unwrap_or("ok"), expected, "{config} {sql}: {reply}");
        }
    }
}

#[test]
fn the_tools_of_a_child_process_are_restricted() {
    let folder = folder("");
    let call = |id: usize, tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let lines = [
        call(1, "execute_raw_query", json!({ "query": "SELECT * FROM secret_pay" })),
        call(2, "execute_raw_query", json!({ "query": "SELECT email FROM customer" })),
        call(3, "query_records", json!({ "table_name": "customer" })),
        call(4, "list_tables", json!({})),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.path().join("input"), text).unwrap();
    let mut command = trunkline(folder.path());
    command.args([
        "mcp",
        "--db",
        "shop.db",
        "--deny-table",
        "secret_*",
        "--mask",
        "customer.email",
    ]);
    command.args(["--mask", "customer.card", "--deny-table", "absent_*"]);
    command.stdin(fs::File::open(folder.path().join("input")).unwrap());
    let ended = run(&mut command);
    let replies: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_error = |id: usize| {
        let reply = replies.iter().find(|reply| reply["id"] == id).unwrap();
        reply["result"]["isError"] == true
    };
    assert_eq!([1, 2, 3, 4].map(is_error), [true, true, false, false], "{replies:?}");
    assert!(!ended.stdout.contains("S3CRET"), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("no table matches the denied pattern `absent_*`"),
        "{}",
        ended.stderr
    );
}

#[test]
fn mistakes_prevent_the_start() {
    for (arguments, config, expected) in [
        (
            &[][..],
            "[databases.x]\nurl = 'hr.db'\nmask = [\n  'customer.email',\n  'email']",
            "5:3: `databases.x.mask`: expected TABLE.COLUMN, as in customer.email",
        ),
        (
            &[],
            "[databases.x]\nurl = 'hr.db'\nmask = [{ column = 'a.b', with = 'rot13' }]",
            "3:9: `databases.x.mask`: unknown mask `rot13`; use null, hash or last4",
        ),
        (
            &[],
            "[databases.x]\nurl = 'hr.db'\nmask = [1]",
            "3:9: `databases.x.mask`: invalid type: integer `1`",
        ),
        (
            &[],
            "[databases.x]\nurl = 'hr.db'\ndeny_tables = ['a', '']",
            "3:21: `databases.x.deny_tables`: the pattern is empty",
        ),
        (
            &[],
            "[databases.x]\nurl = 'hr.db'\ndeny_table = ['a']",
            "3:1: unknown key `databases.x.deny_table`; did you mean `deny_tables`?",
        ),
        (
            &[],
            "[databases.x]\nurl = 'hr.db'\nmask_key = 's3cret'",
            "3:12: `databases.x.mask_key`: a secret is not written in this file",
        ),
        (
            &[],
            "[databases.x]\nurl = 'hr.db'\nmask_key = { file = 'short' }",
            "3:12: `databases.x.mask_key`: the key has fewer than 16 bytes",
        ),
        (&["--db", "hr.db", "--deny-table", ""], "", "the pattern is empty"),
        (&["--db", "hr.db", "--mask", "email"], "", "expected TABLE.COLUMN"),
        (
            &["--db", "hr=hr.db", "--deny-table", "shop=a"],
            "",
            "`shop` in --allow-table, --deny-table or --mask is not the name of a database",
        ),
        (
            &["--db", "hr.db", "--deny-table", "secret_pay"],
            "[queries.x]\nsql = 'SELECT * FROM secret_pay'",
            "query `x`: SQL error: no such table: secret_pay",
        ),
        (
            &["--db", "hr.db", "--mask", "customer.emial", "--deny-table", "secret_pays"],
            "",
            "rules of database `main` match nothing: no table matches the denied pattern `secret_pays` (did you mean \
             `secret_pay`?); no column matches the mask `customer.emial` (did you mean `customer.email`?); correct or \
             remove them (NAME= restricts a flag to one database), or give --allow-unmatched-rules",
        ),
        (
            &[
                "--db",
                "shop=shop.db",
                "--db",
                "new=new.db",
                "--writable",
                "--mask",
                "customer.email",
            ],
            "",
            "rules of database `new` match nothing: no column matches the mask `customer.email`; correct",
        ),
        (
            &[],
            "[databases.x]\nurl = 'hr.db'\nallow_tables = ['customer', 'orders']",
            "rules of database `x` match nothing: no table matches the allowed pattern `orders`; correct",
        ),
        (&[], "[databases.x]\nurl = 'hr.db'\nallow_unmatched_rules = 'yes'", "3:25: "),
    ] {
        let folder = folder(config);
        fs::write(folder.path().join("short"), "s3cret").unwrap();
        let mut command = trunkline(folder.path());
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        let ended = run(&mut command);
        assert!(ended.stderr.contains(expected), "{arguments:?} {config}: {}", ended.stderr);
        assert!(!ended.stderr.contains("s3cret"), "{}", ended.stderr);
        assert_ne!(ended.code, Some(0), "{arguments:?} {config}");
    }
}

/// Patterns with wildcards may match nothing, and with a setting also names.
#[test]
fn rules_without_effect_are_reported() {
    for (setting, arguments, names_are_reported) in [
        ("allow_unmatched_rules = true", &[][..], true),
        ("", &["--allow-unmatched-rules"], true),
        ("allow_tables = ['customer']", &[], false),
    ] {
        let names = "allow_tables = ['customer', 'orders']";
        let names = if names_are_reported { names } else { "" };
        let masks = if names_are_reported { "'customer.phone', " } else { "" };
        let config = format!(
            "[databases.x]\nurl = 'hr.db'\n{setting}\n{names}\nmask = [{masks}'*.card=last4', '*.phone']\n"
        );
        let folder = folder(&config);
        let server = serve(folder.path(), arguments);
        let query = json!({ "query": "SELECT card FROM customer" });
        let reply = server.call("db.execute_raw_query", &query);
        assert_eq!(reply["error"]["data"]["kind"], "masked", "{config}: {reply}");
        let ended = server.stop();
        for (text, expected) in [
            ("no table matches the allowed pattern `orders`; it applies", names_are_reported),
            ("no column matches the mask `customer.phone`; it applies", names_are_reported),
            ("no column matches the mask `*.phone`; it applies", true),
            ("pattern `customer`", false),
            ("mask `*.card`", false),
        ] {
            assert_eq!(ended.stderr.contains(text), expected, "{config}{text}: {}", ended.stderr);
        }
    }
}

#[test]
fn every_command_refuses_rules_without_effect() {
    let arguments = ["--db", "shop.db", "--mask", "customer.mail"];
    let expected = "no column matches the mask `customer.mail` (did you mean `customer.email`?)";
    for command in [&["serve", "--port", "0"][..], &["mcp"], &["doctor", "--port", "0"]] {
        let folder = folder("");
        let mut started = trunkline(folder.path());
        started.args(command).args(arguments).stdin(std::process::Stdio::null());
        let ended = run(&mut started);
        let text = if command[0] == "doctor" { &ended.stdout } else { &ended.stderr };
        assert!(text.contains(expected), "{command:?}: {ended:?}");
        assert_eq!(ended.code, Some(1), "{command:?}: {ended:?}");
        assert_eq!(text.contains("failed   database main: "), command[0] == "doctor", "{text}");
    }
    let folder = folder("");
    let mut doctor = trunkline(folder.path());
    doctor.args(["doctor", "--port", "0", "--allow-unmatched-rules"]).args(arguments);
    let ended = run(&mut doctor);
    let warning = "warning  database main: no column matches the mask `customer.mail`; it applies";
    assert!(ended.stdout.contains(warning) && ended.code == Some(0), "{ended:?}");
}

/// Another process renames a masked column.
#[test]
fn a_renamed_column_is_not_served() {
    let folder = folder(CONFIG);
    let server = serve(folder.path(), &[]);
    let rename = |from: &str, to: &str| {
        let connection = rusqlite::Connection::open(folder.path().join("shop.db")).unwrap();
        let sql = format!("ALTER TABLE customer RENAME COLUMN {from} TO {to}");
        connection.execute_batch(&sql).unwrap();
    };
    let query = json!({ "table_name": "customer" });
    let before = server.call("db.query_records", &query);
    rename("email", "mail");
    let reply = server.call("db.query_records", &query);
    let expected = json!({
        "reason": "the rules of the database do not match its schema; the operator has to correct them",
        "kind": "unmatched_rules",
    });
    assert_eq!(reply["error"]["data"], expected, "{reply}");
    let (status, body) = get(server.connect(), "/db/shop/query?sql=SELECT+mail+FROM+customer");
    assert!(status == 503 && body.contains("unmatched_rules"), "{status} {body}");
    assert_eq!(server.connect().get("/health").json()["status"], "degraded");
    rename("mail", "email");
    let after = server.call("db.query_records", &query);
    assert_eq!(after["result"]["rows"], before["result"]["rows"]);
    let ended = server.stop();
    let reason = "no column matches the mask `customer.email` (did you mean `customer.mail`?)";
    assert!(ended.stderr.contains(reason), "{}", ended.stderr);
}
