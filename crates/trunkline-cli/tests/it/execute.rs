//! `trunkline execute`, against the server itself and others.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::call::{check, client};
use crate::call_peer::{Peer, http, json as json_answer};
use crate::records::{place, serve};
use crate::support::trunkline;

/// A name, the arguments after the URL, the exit code, and parts of stdout and of stderr.
type Row<'r> = (&'r str, &'r [&'r str], i32, &'r [&'r str], &'r [&'r str]);

#[test]
fn prints_results() {
    let folder = place();
    let server = serve(folder.path(), &[]);
    let url = format!("http://{}", server.address);
    let none: &[&str] = &[];
    let create = r#"{"command":"create","resource":"todo","id":"a","payload":{"title":"tea \u001b[2J"},"metadata":{"requestId":"r"}}"#;
    let list = r#"{"command":"list","resource":"todo"}"#;
    let again = &create.replace(r#","metadata":{"requestId":"r"}"#, "");
    let delete = r#"{"command":"delete","resource":"todo","id":"a"}"#;
    let rows: &[Row<'_>] = &[
        ("create", &[create], 0, &["{\n  \"id\": \"a\",\n  \"title\": \"tea"], none),
        ("the same request", &[create], 0, &["\"version\": 1,"], none),
        ("create again", &[again], 1, none, &["error 409: ", "already"]),
        ("repeat", &[again, "--repeat"], 0, &["\"version\": 1,"], none),
        (
            "list",
            &[list],
            0,
            &["id  title          done", "a   tea \\u{1b}[2J  false", "1 row\n"],
            none,
        ),
        (
            "list for programs",
            &[list, "--json"],
            0,
            &["{\"items\":[{\"id\":\"a\",", "\"nextCursor\":null}\n"],
            none,
        ),
        (
            "a page",
            &[r#"{"command":"status","resource":"todo"}"#],
            0,
            &["\"counts\": {\n", "\"total\": 1"],
            none,
        ),
        (
            "an unknown field",
            &[r#"{"command":"update","resource":"todo","id":"a","payload":{"titel":"x"}}"#],
            1,
            none,
            &["error 400: ", "titel"],
        ),
        (
            "an unknown command",
            &[r#"{"command":"x","resource":"todo"}"#],
            1,
            none,
            &["error 400: "],
        ),
        ("delete", &[delete], 0, none, none),
        ("delete again", &[delete], 1, none, &["error 404: there is no todo with the id \"a\"\n"]),
        ("delete again, repeated", &[delete, "--repeat"], 0, none, none),
        ("an error for programs", &[delete, "--json"], 1, none, &["{\"error\":\"there is no todo"]),
        ("revert", &["--revert", "none"], 0, &["\"status\": \"noop\""], none),
    ];
    for (name, arguments, code, stdout, stderr) in rows {
        let ended = client(&[&["execute", &url], *arguments].concat());
        check(name, &ended, *code, stdout, stderr);
        assert!(!ended.stderr.contains("check the path"), "{name}: {}", ended.stderr);
    }
    let nowhere = client(&["execute", &format!("{url}/nope"), list]);
    check("no such path", &nowhere, 1, &[], &["error -32009: ", "try: check the path of the URL"]);
    let elsewhere =
        client(&["execute", &format!("{url}/rpc"), r#"{"command":"status","resource":"todo"}"#]);
    check("a path of JSON-RPC", &elsewhere, 1, &[], &["error -32600: "]);
}

#[test]
fn follows_cursors() {
    let folder = place();
    let server = serve(folder.path(), &[]);
    let url = server.address.to_string();
    for id in ["a", "b", "c"] {
        let created = server.call("todo.create", &json!({"id": id, "title": "t"}));
        assert!(created["error"].is_null(), "{created}");
    }
    let list = r#"{"command":"list","resource":"todo","payload":{"limit":2}}"#;
    let page = client(&["execute", &url, list]);
    check("a page", &page, 0, &["\n2 rows (more with --all)\n"], &[]);
    let ended = client(&["execute", &url, list, "--all", "--json"]);
    let all: Value = serde_json::from_str(&ended.stdout).unwrap();
    let ids: Vec<_> = all["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(ids, ["a", "b", "c"], "{ended:?}");
}

#[test]
fn reverts_a_request() {
    let folder = place();
    let server = serve(folder.path(), &[]);
    let url = format!("http://{}", server.address);
    let create = r#"{"command":"create","resource":"todo","id":"a","payload":{"title":"t"},"metadata":{"requestId":"r"}}"#;
    check("create", &client(&["execute", &url, create]), 0, &["\"id\": \"a\""], &[]);
    let ended = client(&["execute", &url, "--revert", "r", "--json"]);
    check("revert", &ended, 0, &["\n"], &[]);
    let reply: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(reply, json!({"status": "reverted", "requestId": "r"}));
    assert_eq!(server.call("todo.read", &json!(["a"]))["error"]["code"], -32011);
}

#[test]
fn sends_requests() {
    let peer = Peer::always(json_answer("{\"result\": {\"n\":\t1e400}}"));
    let sent = r#"{"command": "read", "n": 1e400}"#;
    let piped = |url: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = trunkline(folder.path());
        command.args(["execute", url, "-", "--json"]).env("TRUNKLINE_TOKEN", "t0ken");
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("\n{sent}\n").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    // Numbers keep their notation.
    assert_eq!(piped(&peer.url), (Some(0), "{\"n\": 1e400}\n".to_owned()));
    let endpoint = format!("{}/api/execute?a=b", peer.url);
    check("an endpoint", &client(&["execute", &endpoint, sent]), 0, &["1e400"], &[]);
    check("repeat", &client(&["execute", &peer.url, sent, "--repeat"]), 0, &["1e400"], &[]);
    check("revert", &client(&["execute", &peer.url, "--revert", "5"]), 0, &["1e400"], &[]);
    let asked = peer.asked();
    let paths = ["/execute", "/api/execute?a=b", "/repeat", "/revert"];
    let bodies = [sent, sent, sent, r#"{"requestId":"5"}"#];
    assert_eq!(asked.len(), paths.len());
    for (asked, (path, body)) in asked.iter().zip(paths.iter().zip(bodies)) {
        assert!(asked.head.starts_with(&format!("post {path} http/1.1\r\n")), "{asked:?}");
        assert_eq!(asked.body, body, "{path}");
        assert_eq!(asked.header("content-type"), Some("application/json"), "{path}");
    }
    assert_eq!(asked[0].header("authorization"), Some("bearer t0ken"));
}

/// A name, a reply, the exit code, and parts of stdout and of stderr.
type Answered<'r> = (&'r str, Vec<u8>, i32, &'r [&'r str], &'r [&'r str]);

/// Replies of other servers are distinguished from errors.
#[test]
fn reads_replies() {
    let body = r#"{"command":"list","resource":"todo"}"#;
    let answer = |head: &str, body: &str| http(head, body);
    let of_json = |status: &str| format!("{status}\nContent-Type: application/json");
    let none: &[&str] = &[];
    let no_reply: &[&str] = &["expected a result, a status and a requestId"];
    let rows: [Answered<'_>; 16] = [
        ("neither result nor error", json_answer(r#"{"status":"ok"}"#), 4, none, no_reply),
        ("an array", json_answer("[1]"), 4, none, no_reply),
        ("a text", json_answer("\"result\""), 4, none, no_reply),
        (
            "a reply to a revert",
            json_answer(r#"{"status":"noop","requestId":"r"}"#),
            0,
            &["\"status\": \"noop\""],
            none,
        ),
        (
            "an endpoint of JSON-RPC",
            json_answer(
                r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null}"#,
            ),
            1,
            none,
            &["error -32600: Invalid Request"],
        ),
        ("an error with 200", json_answer(r#"{"error":"no"}"#), 1, none, &["error 200: no\n"]),
        ("a null result", json_answer(r#"{"result":null}"#), 0, &["null\n"], none),
        ("nothing", answer("204 No Content", ""), 0, none, none),
        ("an empty reply", json_answer(""), 4, none, &["HTTP 200 OK, with no reply"]),
        (
            "an error with escape codes",
            answer(&of_json("400 Bad Request"), r#"{"error":"a\u001b[2J"}"#),
            1,
            none,
            &["error 400: a\\u{1b}[2J\n"],
        ),
        (
            "a token is needed",
            answer(&of_json("401 Unauthorized"), r#"{"error":"who?"}"#),
            1,
            none,
            &["error 401: who?\n  try: set a valid token"],
        ),
        (
            "an error of JSON-RPC",
            answer(
                &of_json("503 Service Unavailable"),
                r#"{"jsonrpc":"2.0","error":{"code":-32005,"message":"Server is busy"},"id":null}"#,
            ),
            1,
            none,
            &["error -32005: Server is busy"],
        ),
        (
            "a page of errors",
            answer("502 Bad Gateway\nContent-Type: text/html", "<html>"),
            4,
            none,
            &["HTTP 502", "<html>"],
        ),
        ("a page", answer("200 OK\nContent-Type: text/html", "<html>"), 4, none, &["text/html"]),
        ("no JSON", json_answer("{"), 4, none, &["unexpected result"]),
        ("a redirect", answer("302 Found\nLocation: http://else", ""), 4, none, &["http://else"]),
    ];
    for (name, answer, code, stdout, stderr) in rows {
        let peer = Peer::always(answer);
        check(name, &client(&["execute", &peer.url, body]), code, stdout, stderr);
    }
    let refused = client(&["execute", "http://127.0.0.1:1", body]);
    check(
        "no server",
        &refused,
        3,
        &[],
        &["cannot connect to http://127.0.0.1:1", "start the server"],
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let late = client(&["execute", &silent, body, "--timeout-ms", "50"]);
    check("silence", &late, 3, &[], &["50 ms", "--timeout-ms"]);
}

#[test]
fn rejects_invalid_command_lines() {
    let url = "http://127.0.0.1:1";
    let rows: &[(&str, &[&str], &str)] = &[
        ("no command", &["execute", url], "missing COMMAND"),
        ("no JSON", &["execute", url, "{"], "is not JSON"),
        ("an array", &["execute", url, "[]"], "must be a JSON object"),
        ("JSON-RPC", &["execute", url, r#"{"jsonrpc":"2.0"}"#], "use `trunkline call`"),
        (
            "JSON-RPC of no version",
            &["execute", url, r#"{"jsonrpc":null,"method":"todo.read","id":1}"#],
            "use `trunkline call`",
        ),
        (
            "JSON-RPC, with a duplicate",
            &["execute", url, r#"{"id":1,"jsonrpc":1,"jsonrpc":null}"#],
            "use `trunkline call`",
        ),
        ("a batch", &["execute", url, r#"[{"jsonrpc":"2.0"}]"#], "must be a JSON object"),
        ("both", &["execute", url, "{}", "--revert", "r"], "cannot be used"),
        ("both, without an address", &["execute", "{}", "--revert", "r"], "cannot be used"),
        ("a host without a port", &["execute", "localhost", "{}"], "`localhost` is not an address"),
        ("repeat a revert", &["execute", url, "--repeat", "--revert", "r"], "cannot be used"),
        (
            "another endpoint",
            &["execute", "http://127.0.0.1:1/execute", "{}", "--repeat"],
            "is the URL of /execute, not of /repeat; leave out the path",
        ),
        ("no type", &["records", "describe"], "<NAME>"),
        ("no action", &["resources", "nope"], "unknown action `nope`"),
    ];
    for (name, arguments, stderr) in rows {
        check(name, &client(arguments), 2, &[], &[stderr]);
    }
}
