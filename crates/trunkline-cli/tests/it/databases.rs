//! Several databases, and saved queries.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Server, run, trunkline};

/// A folder with the database `hr.db`, with the table `emp`, and `shop.db`, with the table `item`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, sql) in [
        (
            "hr.db",
            "CREATE TABLE emp (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO emp VALUES (1, 'Ada'), (2, 'Bob')",
        ),
        ("shop.db", "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)"),
    ] {
        let connection = rusqlite::Connection::open(folder.path().join(file)).unwrap();
        connection.execute_batch(sql).unwrap();
    }
    folder
}

fn start(folder: &Path, arguments: &[&str], config: &str) -> Server {
    std::fs::write(folder.join("trunkline.toml"), config).unwrap();
    let mut command = trunkline(folder);
    command.args(["--listen", "127.0.0.1:0"]).args(arguments);
    Server::start(command)
}

const CONFIG: &str = "\
[databases.hr]
url = 'hr.db'

[databases.shop]
url = 'sqlite:shop.db'
writable = true

[queries.staff]
sql = 'SELECT name FROM emp WHERE id >= :first'
description = 'Names of the staff'
params = [{ name = 'first', type = 'integer', default = 1 }]

[queries.items]
sql = 'SELECT count(*) FROM item'
database = 'shop'
";

#[test]
fn flags_and_configuration() {
    let write = json!({"database": "shop", "table_name": "item", "data": {"name": "a"}});
    let rows = [
        (&[][..], CONFIG, "db.list_tables", json!({}), "/result/tables/0/name", json!("emp")),
        (&[], CONFIG, "db.insert_record", write.clone(), "/result/rows_affected", json!(1)),
        (&[], CONFIG, "queries.staff", json!({"first": 2}), "/result/rows", json!([["Bob"]])),
        (&[], CONFIG, "queries.items", json!({}), "/result/rows", json!([[1]])),
        (&[], CONFIG, "queries.staff", json!({"first": "x"}), "/error/code", json!(-32602)),
        (
            &["--db", "hr.db", "--db", "shop.db"],
            "",
            "db.list_tables",
            json!({"database": "shop"}),
            "/result/tables/0/name",
            json!("item"),
        ),
        (
            &["--db", "a=hr.db", "--db", "b=shop.db"],
            "[databases.c]\nurl = 'shop.db'\n[queries.named]\nsql = 'SELECT count(*) FROM item'\ndatabase = 'b'",
            "queries.named",
            json!({}),
            "/result/rows",
            json!([[1]]),
        ),
        (
            &["--db", "a=hr.db", "--db", "b=shop.db"],
            "[databases.c]\nurl = 'shop.db'",
            "db.list_databases",
            json!({}),
            "/result/databases",
            json!([
                {"name": "a", "engine": "SQLite", "writable": false},
                {"name": "b", "engine": "SQLite", "writable": false},
            ]),
        ),
        (
            &["--db", "hr.db", "--db", "shop.db", "--db-tools", "separate"],
            "",
            "db.shop.list_tables",
            json!({}),
            "/result/tables/0/name",
            json!("item"),
        ),
        (
            &["--db", "hr.db", "--db", "shop.db", "--db-tools", "separate"],
            "",
            "tools/list",
            json!({}),
            "/result/tools/0/name",
            json!("hr_list_tables"),
        ),
        (&["hr.db"], "", "db.describe_table", json!(["emp"]), "/error", Value::Null),
        (&["--db", "hr.db"], "", "db.list_databases", json!({}), "/error/code", json!(-32601)),
    ];
    let folder = folder();
    for (arguments, config, method, params, pointer, expected) in rows {
        let server = start(folder.path(), arguments, config);
        let reply = server.call(method, &params);
        let actual = reply.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(actual, expected, "{arguments:?} {method} {params}: {reply}");
    }
}

#[test]
fn resources_have_the_name_of_their_database() {
    let folder = folder();
    let server = start(folder.path(), &[], CONFIG);
    for (uri, expected) in [
        ("db://hr/table/emp", "CREATE TABLE emp"),
        ("db://shop/tables", "\"item\""),
        ("db://hr/table/emp/rows?limit=1", "Ada"),
    ] {
        let read = server.call("resources/read", &json!({ "uri": uri }));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(expected), "{uri}: {read}");
    }
    let list = server.call("resources/list", &json!({}));
    let uris: Vec<&str> = list["result"]["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|resource| resource["uri"].as_str())
        .collect();
    assert_eq!(uris, ["db://hr/tables", "db://shop/tables"], "{list}");
    let missing = server.call("resources/read", &json!({"uri": "db://sales/tables"}));
    assert!(missing["error"]["code"].is_i64(), "{missing}");
}

#[test]
fn urls_of_files() {
    let folder = folder();
    let path = folder.path().canonicalize().unwrap();
    let path = path.display();
    for (url, is_writable) in [
        ("file:hr.db".to_owned(), true),
        (format!("file://{path}/hr.db"), true),
        (format!("file://localhost{path}/h%72.db?mode=rw"), true),
        (format!("file://{path}/hr.db?mode=ro"), false),
        ("sqlite:hr.db?mode=ro".to_owned(), false),
        (format!("sqlite://{path}/hr.db"), true),
        ("sqlite:~/hr.db".to_owned(), true),
        ("~/hr.db".to_owned(), true),
    ] {
        let file = format!("[databases.a]\nurl = '{url}'");
        for (arguments, variable, config) in [
            (&["--db", &url, "--writable"][..], "", ""),
            (&["--writable"], url.as_str(), ""),
            (&["--writable"], "", file.as_str()),
        ] {
            std::fs::write(folder.path().join("trunkline.toml"), config).unwrap();
            let mut command = trunkline(folder.path());
            command.args(["--listen", "127.0.0.1:0"]).args(arguments).env("HOME", folder.path());
            if !variable.is_empty() {
                command.env("TRUNKLINE_DB", variable);
            }
            let server = Server::start(command);
            let insert = json!({"table_name": "emp", "data": {"name": "C"}});
            let reply = server.call("db.insert_record", &insert);
            let is_inserted = reply.get("result").is_some();
            assert_eq!(is_inserted, is_writable, "{arguments:?} {variable} {config}: {reply}");
        }
    }
}

#[test]
fn mistakes_prevent_the_start() {
    let folder = folder();
    for (arguments, config, expected) in [
        (
            &["--db", "hr.db", "--db", "./hr.db"][..],
            "",
            "duplicate database name `hr`; name the databases: --db NAME=PATH",
        ),
        (
            &["--db", "mysql://x/y"],
            "",
            "unknown scheme `mysql`; use a path, sqlite:PATH or postgres://USER@HOST/DATABASE",
        ),
        (
            &[],
            "[databases.x]\nurl = 'file:hr.db?mode=ro'\nwritable = true",
            "2:7: `databases.x.url`: `mode=ro` contradicts `writable = true`",
        ),
        (&["--db", ":memory:"], "", "a database in memory cannot be served"),
        (&["--db", "sqlite:////none.db"], "", "database file //none.db does not exist"),
        (
            &[],
            "[databases.x]\nurl = 'hr.db'\nconnections = 2\nrole = 'reader'",
            "3:15: `databases.x.connections` requires a PostgreSQL database",
        ),
        (
            &[],
            "[databases.x]\nurl = 'postgres://a:s3cret@h/b'\nconnections = 0",
            "`databases.x.connections`: expected 1 to 1000",
        ),
        (
            &[],
            "[databases.x]\nurl = 'postgres://a:s3cret@h:port/b'",
            "2:7: `databases.x.url`: invalid PostgreSQL URL: invalid value for option `port`",
        ),
        (
            &["--db", "postgres://a:s3cret@h/b?nothing=1"],
            "",
            "invalid value for '--db <[NAME=]FILE>': invalid PostgreSQL URL: unknown option `nothing`",
        ),
        (
            &["--db", "postgres://a:s3cret@127.0.0.1:1/b"],
            "",
            "cannot connect to 127.0.0.1:1; check that the server is running, and the host and port of the URL",
        ),
        (
            &["--db", "postgres://a@127.0.0.1:1/b", "--sample"],
            "",
            "--sample requires a SQLite database, but the first database is postgres://a@127.0.0.1:1/b",
        ),
        (&["--db", "sales=missing.db"], "", "database file missing.db does not exist"),
        (&[], "[databases.x]", "1:12: `databases.x` requires `url`"),
        (&[], "[databases.'1']\nurl = 'hr.db'", "invalid name `1` in `databases`"),
        (&[], "[queries.x]", "`queries.x` requires `sql`"),
        (
            &["--db", "hr=hr.db"],
            "[databases.shop]\nurl = 'shop.db'\n[queries.x]\nsql = 'SELECT 1'\ndatabase = 'shop'",
            "5:12: `queries.x.database`: unknown database `shop`; the server has `hr`",
        ),
        (
            &["--db", "hr.db"],
            "[queries.x]\nsql = 'SELECT * FROM staff'",
            "query `x`: SQL error: no such table: staff",
        ),
        (
            &["--db", "hr.db"],
            "[queries.x]\nsql = 'SELECT 1'\nparams = [{ name = 'a', type = 'date' }]",
            "unknown variant `date`",
        ),
    ] {
        std::fs::write(folder.path().join("trunkline.toml"), config).unwrap();
        let mut command = trunkline(folder.path());
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        let ended = run(&mut command);
        assert!(ended.stderr.contains(expected), "{arguments:?} {config}: {}", ended.stderr);
        assert!(!ended.stderr.contains("s3cret"), "{}", ended.stderr);
        // A cause is not repeated.
        assert!(ended.stderr.matches("no such table").count() <= 1, "{}", ended.stderr);
        assert_ne!(ended.code, Some(0), "{arguments:?} {config}");
    }
}
