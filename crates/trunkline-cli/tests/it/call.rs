//! `trunkline call`, against the server itself.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::call_peer::{Peer, json as json_answer};
use crate::support::{Ended, Server, run, tpch, trunkline};

/// Runs the binary in an empty directory.
#[track_caller]
pub(crate) fn client(arguments: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    run(trunkline(folder.path()).args(arguments))
}

/// Checks the parts of stdout and stderr. Without parts, the output must be empty.
#[track_caller]
pub(crate) fn check(name: &str, ended: &Ended, code: i32, stdout: &[&str], stderr: &[&str]) {
    assert_eq!(ended.code, Some(code), "{name}: {ended:?}");
    for (output, parts) in [(&ended.stdout, stdout), (&ended.stderr, stderr)] {
        assert_eq!(output.is_empty(), parts.is_empty(), "{name}: {ended:?}");
        for part in parts {
            assert!(output.contains(part), "{name}: no {part:?} in {output}");
        }
        let steers = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
        assert!(!output.contains(steers), "{name}: {output:?}");
    }
    for leak in ["panicked", "Error {", "s3cret"] {
        assert!(!ended.stderr.contains(leak), "{name}: {}", ended.stderr);
    }
}

/// A name, the command, its params, the exit code, and parts of stdout and of stderr.
type Row<'r> = (&'r str, &'r [&'r str], &'r [&'r str], i32, &'r [&'r str], &'r [&'r str]);

#[test]
fn prints_results() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let url = format!("http://{}", server.address);
    let region = ["call", &url, "db.query_records", "table_name=region"];
    let raw = ["call", &url, "db.execute_raw_query"];
    let none: &[&str] = &[];
    let escape = "query=SELECT 'a' || char(27) || '[2J' AS x, NULL AS n, '' AS e";
    let rows: &[Row<'_>] = &[
        (
            "a table",
            &region,
            &[r#"columns=["r_regionkey","r_name"]"#, "limit=2"],
            0,
            &[
                "r_regionkey  r_name\n-----------  -------\n          0  AFRICA\n          1  AMERICA\n2 rows (more with --all)\n",
            ],
            none,
        ),
        (
            "a limit of the server",
            &raw,
            &["query=SELECT * FROM orders", "max_rows=3"],
            0,
            &["3 rows (truncated by the row limit"],
            none,
        ),
        ("no row", &raw, &["query=SELECT 1 AS one WHERE 0"], 0, &["one\n---\n0 rows\n"], none),
        (
            "escape codes",
            &raw,
            &[escape],
            0,
            &["x           n     e\n----------  ----  -\na\\u{1b}[2J  NULL\n1 row\n"],
            none,
        ),
        ("by position", &raw, &[r#"["SELECT 1 AS a"]"#], 0, &["a\n-\n1\n1 row"], none),
        ("an object", &raw, &[r#"{"query": "SELECT 1 AS a"}"#], 0, &["a\n-\n1\n1 row"], none),
        (
            "a string that looks like JSON",
            &region,
            &[r#"filters={"r_name":"1"}"#],
            0,
            &["0 rows"],
            none,
        ),
        ("forced JSON", &region, &["limit:=1"], 0, &["1 row"], none),
        (
            "a document",
            &["call", &url, "db.list_tables"],
            &["pattern=reg*"],
            0,
            &["{\n  \"tables\": ["],
            none,
        ),
        (
            "an unknown param",
            &region,
            &["limitx=1"],
            1,
            none,
            &["error -32602: Invalid params\n  reason: unknown param\n  params: [\"limitx\"]\n"],
        ),
        (
            "an unknown table",
            &["call", &url, "db.describe_table"],
            &["table_name=regionx"],
            1,
            none,
            &["error -32003: ", "\n  reason: ", "did you mean `region`?"],
        ),
        (
            "an unknown method",
            &["call", &url, "nope"],
            &[],
            1,
            none,
            &["error -32601: ", "\n  try: list the methods with `trunkline openrpc`\n"],
        ),
        (
            "a misspelled method",
            &["call", &url, "db.list_table"],
            &[],
            1,
            none,
            &["error -32601: ", "\n  try: db.list_tables\n"],
        ),
        ("a notification", &["call", &url, "nope", "--notify"], &[], 0, none, none),
        (
            "an unknown path",
            &["call", &format!("{url}/nope"), "db.list_tables"],
            &[],
            1,
            none,
            &["error -32009: ", "try: check the path of the URL"],
        ),
    ];
    for (name, command, params, code, stdout, stderr) in rows {
        check(name, &client(&[*command, *params].concat()), *code, stdout, stderr);
    }
}

#[test]
fn finds_the_server() {
    let peer = Peer::always(json_answer(
        r#"{"jsonrpc":"2.0","id":1,"result":{"openrpc":"1","methods":[]}}"#,
    ));
    let address = peer.url.strip_prefix("http://").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["call", address, "m"][..],
        &["call", &format!("{address}/rpc"), "m"],
        &["openrpc", address],
    ] {
        check("HOST:PORT", &client(arguments), 0, &["openrpc"], &[]);
    }
    for arguments in [&["call", "m"][..], &["call", "m", "a=b"], &["openrpc"]] {
        for value in [address, &peer.url] {
            let mut command = trunkline(folder.path());
            let ended = run(command.args(arguments).env("TRUNKLINE_URL", value));
            check("TRUNKLINE_URL", &ended, 0, &["openrpc"], &[]);
        }
    }
    let methods: Vec<_> = peer
        .asked()
        .iter()
        .map(|asked| asked.json()["method"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(methods[..3], ["m", "m", "rpc.discover"]);
    assert_eq!(methods[3..], ["m", "m", "m", "m", "rpc.discover", "rpc.discover"]);
    for command in ["call", "execute", "tools", "openrpc", "monitor"] {
        let mut given = trunkline(folder.path());
        let arguments: &[&str] = if command == "call" { &["m"] } else { &[] };
        let arguments: &[&str] = if command == "execute" { &["{}"] } else { arguments };
        let ended =
            run(given.arg(command).args(arguments).env("TRUNKLINE_URL", "http://127.0.0.1:1"));
        check(command, &ended, 3, &[], &["cannot connect to http://127.0.0.1:1"]);
        let mut given = trunkline(folder.path());
        let ended = run(given.arg(command).args(arguments).env("TRUNKLINE_URL", "nowhere"));
        check(command, &ended, 2, &[], &["invalid TRUNKLINE_URL: "]);
    }
}

#[test]
fn prints_formats() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let url = server.address.to_string();
    let columns = r#"columns=["r_regionkey","r_name"]"#;
    let region = ["call", &url, "db.query_records", "table_name=region", columns, "limit=2"];
    let tables = ["call", &url, "db.list_tables", "pattern=region"];
    let rows: &[(&[&str], &str, i32, &str)] = &[
        (&region, "table", 0, "r_regionkey  r_name\n-----------  -------\n          0  AFRICA\n"),
        (
            &region,
            "vertical",
            0,
            "-[ row 1 ]--------------\nr_regionkey  0\nr_name       AFRICA\n-[ ",
        ),
        (&region, "csv", 0, "r_regionkey,r_name\n0,AFRICA\n1,AMERICA\n"),
        (&region, "json", 0, "{\"columns\":[{\"name\":\"r_regionkey\""),
        (
            &region,
            "ndjson",
            0,
            "{\"r_regionkey\":0,\"r_name\":\"AFRICA\"}\n{\"r_regionkey\":1,\"r_name\":\"AMERICA\"}\n",
        ),
        (&tables, "table", 0, "name    kind   columns  row_estimate\n"),
        (&tables, "csv", 0, "name,kind,columns,row_estimate\nregion,table,3,5\n"),
        (&["call", &url, "rpc.discover"], "csv", 1, "the result is not a table; use --format json"),
        (
            &["call", &url, "db.describe_table", "table_name=region"],
            "table",
            0,
            "region (table)\n\nname         type     nullable",
        ),
    ];
    for (command, format, code, expected) in rows {
        let ended = client(&[*command, &["--format", format]].concat());
        let more = match (command.contains(&"limit=2"), *format) {
            (true, "csv" | "ndjson") => &["trunkline: more with --all\n"][..],
            _ => &[],
        };
        let (stdout, stderr) =
            if *code == 0 { (&[*expected][..], more) } else { (&[][..], &[*expected][..]) };
        check(format, &ended, *code, stdout, stderr);
    }
}

/// Formats without a place for remarks.
#[test]
fn reports_missing_rows_on_stderr() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let url = server.address.to_string();
    let raw = "query=SELECT n_nationkey FROM nation";
    let truncated = "trunkline: truncated by the row limit\n";
    for (format, flags, stderr) in [
        ("csv", &[][..], truncated),
        ("ndjson", &[], truncated),
        ("csv", &["--all"], truncated),
        ("json", &["--all"], truncated),
        ("json", &[], ""),
        ("table", &[], ""),
    ] {
        let command = ["call", &url, "db.execute_raw_query", raw, "max_rows=3", "--format", format];
        let ended = client(&[&command[..], flags].concat());
        assert_eq!((ended.code, &*ended.stderr), (Some(0), stderr), "{format} {flags:?}");
    }
    let empty = Peer::new(|asked| {
        let result = json!({"items": [], "nextCursor": "c"});
        json_answer(
            &json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": result}).to_string(),
        )
    });
    let more = "more with --all";
    for (format, stdout, stderr) in [
        ("csv", &[][..], &[more][..]),
        ("ndjson", &[], &[more]),
        ("table", &["0 rows (more with --all)\n"], &[]),
    ] {
        let ended = client(&["call", &empty.url, "m", "--format", format]);
        check(format, &ended, 0, stdout, stderr);
    }
}

#[test]
fn follows_cursors() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let url = server.address.to_string();
    let nations = |format: &str| {
        let command = ["call", &url, "db.query_records", "table_name=nation", "limit=10", "--all"];
        let ended = client(&[&command[..], &["--format", format]].concat());
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{format}");
        ended.stdout
    };
    let table = nations("table");
    assert_eq!(table.lines().count(), 2 + 25 + 1, "{table}");
    assert!(table.ends_with("\n25 rows\n"), "{table}");
    assert_eq!(nations("csv").lines().count(), 1 + 25);
    assert_eq!(nations("ndjson").lines().count(), 25);
    assert!(nations("vertical").contains("\n-[ row 25 ]-"));
    let json: Value = serde_json::from_str(&nations("json")).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 25);
    assert_eq!(json["columns"][0]["name"], "n_nationkey");

    let positional = ["call", &url, "db.execute_raw_query", r#"["SELECT 1"]"#, "--all"];
    check("one page", &client(&positional), 0, &["1 row\n"], &[]);
    let page = r#"{"jsonrpc":"2.0","id":1,"result":{"items":[{"a":1}],"nextCursor":"c"}}"#;
    let ids = Peer::new(|asked| {
        json_answer(&page.replace("\"id\":1", &format!("\"id\":{}", asked.json()["id"])))
    });
    let endless = client(&["call", &ids.url, "m", "--all", "--format", "ndjson"]);
    check("the same cursor", &endless, 4, &["{\"a\":1}\n{\"a\":1}\n"], &["cursor `c` twice"]);
    assert_eq!(ids.asked()[1].json()["params"], json!({"cursor": "c"}));
    let page = |items: &str, next: &str| {
        let result = format!(r#"{{"items":{items},"nextCursor":{next}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{result}}}"#)
    };
    let pages = [
        page("[]", "\"b\""),
        page("[{\"a\":1}]", "\"c\""),
        page("[]", "\"d\""),
        page("[{\"a\":2}]", "null"),
    ];
    let sparse = Peer::new(move |asked| {
        let asked = asked.json();
        let number = match asked["params"]["cursor"].as_str() {
            None => 0,
            Some(cursor) => usize::from(cursor.as_bytes()[0] - b'a'),
        };
        json_answer(&pages[number].replace("ID", &asked["id"].to_string()))
    });
    for (format, expected) in [
        ("table", "a\n-\n1\n2\n2 rows\n"),
        ("csv", "a\n1\n2\n"),
        ("json", "{\"items\":[{\"a\":1},{\"a\":2}]}\n"),
    ] {
        let ended = client(&["call", &sparse.url, "m", "--all", "--format", format]);
        assert_eq!((ended.code, &*ended.stdout), (Some(0), expected), "{format}");
    }
    let listed = client(&["call", &url, "db.list_tables", "--all"]);
    check("a listing in a pipe", &listed, 0, &["{\"tables\":[{\"name\":\"customer\","], &[]);
    let by_position = client(&["call", &ids.url, "m", "[1]", "--all"]);
    check("by position", &by_position, 2, &["a\n"], &["--all requires params by name"]);
}

#[test]
fn prints_json() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let url = format!("http://{}", server.address);
    let ended = client(&["call", &url, "db.list_tables", "pattern=region", "--json"]);
    check("json", &ended, 0, &["{\"tables\":["], &[]);
    assert_eq!(ended.stdout.lines().count(), 1);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(result["tables"][0]["name"], "region");

    let ended = client(&["call", &url, "db.list_tables", "x=1", "--json"]);
    check("an error", &ended, 1, &[], &["-32602"]);
    let error: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!(error["data"]["params"], json!(["x"]));

    // Numbers keep their notation; line ends become blanks.
    let peer = Peer::always(json_answer(
        "{\"jsonrpc\":\"2.0\",\r\n\"id\":1,\"result\":{\"n\":\t1e400,\n\"m\": 1.50,\"a\":\"\\n\"}}",
    ));
    let ended = client(&["call", &peer.url, "x", "--json"]);
    check("exact", &ended, 0, &["{\"n\": 1e400, \"m\": 1.50,\"a\":\"\\n\"}\n"], &[]);
}

#[test]
fn reports_write_errors() {
    let peer = Peer::always(json_answer(r#"{"jsonrpc":"2.0","id":1,"result":1}"#));
    let folder = tempfile::tempdir().unwrap();
    let mut command = trunkline(folder.path());
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    command.args(["call", &peer.url, "m"]).stdout(full);
    check("a full disk", &run(&mut command), 1, &[], &["cannot print the result: No space left"]);

    // As in `trunkline call … | head -1`.
    let mut command = trunkline(folder.path());
    let mut child = command.args(["call", &peer.url, "m"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}

#[test]
fn reads_params_from_stdin() {
    let peer = Peer::always(json_answer(r#"{"jsonrpc":"2.0","id":1,"result":0}"#));
    for (name, input, code) in [
        ("json", "\n{\"a\": 1e400}\n", 0),
        ("text", "a=1", 2),
        ("nothing", "", 2),
        ("half", "{", 2),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = trunkline(folder.path());
        command.args(["call", &peer.url, "x", "-"]).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(code), "{name}");
    }
    let asked = peer.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].body.contains(r#""params":{"a": 1e400},"#), "{asked:?}");
}

#[test]
fn sends_requests() {
    let peer = Peer::always(json_answer(r#"{"jsonrpc":"2.0","id":1,"result":"done"}"#));
    let url = format!("{}/rpc?a=b", peer.url);
    let folder = tempfile::tempdir().unwrap();
    let mut command = trunkline(folder.path());
    command.args(["call", &url, "m", "a=b", "--header", "X-One: 1", "--header", "x-one: 2"]);
    let ended = run(command.env("TRUNKLINE_TOKEN", "t0ken").env("TRUNKLINE_BEARER", "s3cret"));
    check("headers", &ended, 0, &["done\n"], &[]);
    let ended = client(&["call", &url, "m", "--bearer", "t0ken"]);
    check("no params", &ended, 0, &["done\n"], &[]);
    let asked = peer.asked();
    assert!(asked[0].head.starts_with("post /rpc?a=b http/1.1\r\n"), "{asked:?}");
    let expected = json!({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": "b"}});
    assert_eq!(asked[0].json(), expected);
    assert_eq!(asked[1].json(), json!({"jsonrpc": "2.0", "id": 1, "method": "m"}));
    for asked in &asked {
        assert_eq!(asked.header("authorization"), Some("bearer t0ken"));
        assert_eq!(asked.header("content-type"), Some("application/json"));
        assert_eq!(asked.header("accept"), Some("application/json"));
    }
    assert!(asked[0].head.contains("x-one: 1\r\nx-one: 2\r\n"), "{asked:?}");
}

#[test]
fn sends_tokens() {
    let (folder, _) = tpch();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--db", "tpch.db"]).env("TRUNKLINE_BEARER", "t0ken");
    let server = Server::start(command);
    let url = format!("http://{}", server.address);
    let call = ["call", &url, "db.list_tables"];
    let refused = ["try: set a valid token in TRUNKLINE_TOKEN"];
    check("right", &client(&[&call[..], &["--bearer", "t0ken"]].concat()), 0, &["tables"], &[]);
    check("none", &client(&call), 1, &[], &refused);
    check("wrong", &client(&[&call[..], &["--bearer", "s3cret"]].concat()), 1, &[], &refused);
}

#[test]
fn rejects_invalid_command_lines() {
    let url = "http://127.0.0.1:1";
    let rows: &[(&str, &[&str], &str)] = &[
        ("no method", &["call", url], "missing METHOD"),
        ("another scheme", &["call", "ftp://127.0.0.1", "m"], "invalid address `ftp://127.0.0.1`"),
        ("no host", &["call", "http://", "m"], "invalid address `http://`"),
        ("an invalid port", &["call", "localhost:99999", "m"], "invalid address `localhost:99999`"),
        ("a password", &["call", "http://a:b@localhost", "m"], "use --bearer"),
        ("invalid params", &["call", url, "m", "5"], "`5` is neither key=value nor"),
        ("half of an object", &["call", url, "m", "{"], "is not JSON"),
        ("forced, but no JSON", &["call", url, "m", "a:=b"], "is not JSON"),
        ("a duplicate", &["call", url, "m", "a=1", "a=2"], "duplicate key `a`"),
        ("an empty token", &["call", url, "m", "--bearer", ""], "bearer token must"),
        ("a secret token", &["call", url, "m", "--bearer", "s3cret s3cret"], "bearer token must"),
        ("an invalid header", &["call", url, "m", "--header", "s3cret"], "write `Name: value`"),
        ("a reserved header", &["call", url, "m", "--header", "Accept: a"], "by the protocol"),
        ("a header of MCP", &["tools", url, "--header", "Mcp-Name: a"], "by the protocol"),
        ("no timeout", &["call", url, "m", "--timeout-ms", "0"], "is not in 1..=86400000"),
        (
            "a long timeout",
            &["call", url, "m", "--timeout-ms", "99999999999999999999"],
            "expected a number of milliseconds",
        ),
        ("no response", &["call", url, "m", "--notify", "--json"], "cannot be used"),
        ("two formats", &["call", url, "m", "--json", "--format", "csv"], "cannot be used"),
        ("an unknown format", &["call", url, "m", "--format", "xml"], "vertical"),
        ("an array for a tool", &["tools", url, "t", "[]"], "must be a JSON object"),
        ("server flags", &["--sample", "call", url, "m"], "cannot be used"),
    ];
    for (name, arguments, stderr) in rows {
        check(name, &client(arguments), 2, &[], &[stderr]);
    }
}
