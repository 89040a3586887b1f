//! `trunkline call`, against the server itself.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::call_peer::{Peer, json as json_answer};
use crate::support::{Ended, Server, run, tpch, trunkline};

/// Runs the binary in no special place.
#[track_caller]
pub(crate) fn client(arguments: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    run(trunkline(folder.path()).args(arguments))
}

/// Parts that an output has. One that has none is empty.
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
fn what_people_see() {
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
                "r_regionkey  r_name\n-----------  -------\n          0  AFRICA\n          1  AMERICA\n2 rows (--json shows next_cursor)\n",
            ],
            none,
        ),
        (
            "a limit of the server",
            &raw,
            &["query=SELECT * FROM orders", "max_rows=3"],
            0,
            &["3 rows (truncated by the limit of rows"],
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
            "a param that is none",
            &region,
            &["limitx=1"],
            1,
            none,
            &["error -32602: Invalid params\n  reason: unknown param\n  params: [\"limitx\"]\n"],
        ),
        (
            "a table that is none",
            &["call", &url, "db.describe_table"],
            &["table_name=regionx"],
            1,
            none,
            &["error -32003: ", "\n  reason: ", "did you mean `region`?"],
        ),
        ("a method that is none", &["call", &url, "nope"], &[], 1, none, &["error -32601: "]),
        ("a notification", &["call", &url, "nope", "--notify"], &[], 0, none, none),
        (
            "a path that is none",
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
fn what_programs_see() {
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

    // As it was received, numbers and all; on one line all the same.
    let peer = Peer::always(json_answer(
        "{\"jsonrpc\":\"2.0\",\r\n\"id\":1,\"result\":{\"n\":\t1e400,\n\"m\": 1.50,\"a\":\"\\n\"}}",
    ));
    let ended = client(&["call", &peer.url, "x", "--json"]);
    check("exact", &ended, 0, &["{\"n\": 1e400, \"m\": 1.50,\"a\":\"\\n\"}\n"], &[]);
}

#[test]
fn a_result_that_nobody_gets() {
    let peer = Peer::always(json_answer(r#"{"jsonrpc":"2.0","id":1,"result":1}"#));
    let folder = tempfile::tempdir().unwrap();
    let mut command = trunkline(folder.path());
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    command.args(["call", &peer.url, "m"]).stdout(full);
    check("a full disk", &run(&mut command), 1, &[], &["cannot print the result: No space left"]);

    // As `| head` does when it has enough.
    let mut command = trunkline(folder.path());
    let mut child = command.args(["call", &peer.url, "m"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}

#[test]
fn params_from_stdin() {
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
fn what_is_sent() {
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
fn tokens() {
    let (folder, _) = tpch();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--db", "tpch.db"]).env("TRUNKLINE_BEARER", "t0ken");
    let server = Server::start(command);
    let url = format!("http://{}", server.address);
    let call = ["call", &url, "db.list_tables"];
    let refused = ["try: a token is needed, or this one is wrong: set TRUNKLINE_TOKEN"];
    check("right", &client(&[&call[..], &["--bearer", "t0ken"]].concat()), 0, &["tables"], &[]);
    check("none", &client(&call), 1, &[], &refused);
    check("wrong", &client(&[&call[..], &["--bearer", "s3cret"]].concat()), 1, &[], &refused);
}

#[test]
fn wrong_commands() {
    let url = "http://127.0.0.1:1";
    let rows: &[(&str, &[&str], &str)] = &[
        ("no method", &["call", url], "<METHOD>"),
        ("no scheme", &["call", "127.0.0.1:8080", "m"], "write http://127.0.0.1:8080"),
        ("no scheme, IPv6", &["call", "::1:8080", "m"], "write http://[::1]:8080"),
        ("another scheme", &["call", "ftp://127.0.0.1", "m"], "unsupported scheme ftp://"),
        ("no host", &["call", "http://", "m"], "not a URL"),
        ("a port that is none", &["call", "http://localhost:99999", "m"], "not a URL"),
        ("a password", &["call", "http://a:b@localhost", "m"], "use --bearer"),
        ("params that are none", &["call", url, "m", "5"], "not like key=value"),
        ("half of an object", &["call", url, "m", "{"], "is not JSON"),
        ("forced, but no JSON", &["call", url, "m", "a:=b"], "is not JSON"),
        ("twice", &["call", url, "m", "a=1", "a=2"], "twice"),
        ("an empty token", &["call", url, "m", "--bearer", ""], "token is empty"),
        ("a secret token", &["call", url, "m", "--bearer", "s3cret s3cret"], "token is empty"),
        ("a header that is none", &["call", url, "m", "--header", "s3cret"], "like `Name: value`"),
        ("a header of ours", &["call", url, "m", "--header", "Accept: a"], "by the protocol"),
        ("a header of MCP", &["tools", url, "--header", "Mcp-Name: a"], "by the protocol"),
        ("no time", &["call", url, "m", "--timeout-ms", "0"], "1..=86400000"),
        ("nobody answers", &["call", url, "m", "--notify", "--json"], "cannot be used"),
        ("an array for a tool", &["tools", url, "t", "[]"], "are an object"),
        ("server flags", &["--sample", "call", url, "m"], "cannot be used"),
    ];
    for (name, arguments, stderr) in rows {
        check(name, &client(arguments), 2, &[], &[stderr]);
    }
}
